use std::fmt;
use std::time::Duration;

use comity_frontier::{Waiting, Why};
use comity_policy::{Instant, Reason};
use comity_url::Origin;

use crate::count::Count;

/// A crawl at one moment, for whoever watches.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Answers that were no redirect.
    pub pages: u64,
    /// Pages of all runs together, of URLs that are settled: what `[crawl] max_pages` counts.
    pub spent_pages: u64,
    /// URLs not requested.
    pub refused: u64,
    /// Requests that failed for good.
    pub failed: u64,
    /// Body bytes received.
    pub bytes: u64,
    /// URLs queued.
    pub queued: u64,
    /// Visits under way.
    pub in_flight: usize,
    /// Origins known.
    pub origins: u64,
    /// The origins that become due next, with what holds them.
    pub waiting: Vec<Waiting>,
    /// Why the robots.txt of those among them that wait for it cannot be had.
    pub unreachable: Vec<RobotsFault>,
    /// Since the start.
    pub elapsed: Duration,
    /// When this was taken.
    pub at: Instant,
}

/// Why the robots.txt of an origin cannot be had.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsFault {
    /// The origin.
    pub origin: Origin,
    /// What went wrong at the last try: `fetch.refused`, `fetch.dns`; `robots.unreachable` is an answer that is none, as a 503.
    pub cause: Reason,
    /// The status of the last answer, when there was one.
    pub status: Option<u16>,
    /// Tries so far, one after the other.
    pub tries: u32,
}

/// `no address accepted a connection, 3 tries`.
impl fmt::Display for RobotsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.cause, self.status) {
            (Reason::RobotsUnreachable, Some(status)) => write!(f, "it answers {status}")?,
            (cause, _) => f.write_str(cause.text())?,
        }
        write!(f, ", {}", Count(self.tries.into(), "try"))
    }
}

impl Progress {
    /// What the crawl waits for, in words: `waiting 1.0 s: own floor`; `None` while something is in flight.
    #[must_use]
    pub fn waiting_for(&self, now: Instant) -> Option<String> {
        let first = self.waiting.first()?;
        (self.in_flight == 0 || first.why == Why::AwaitingRobots).then(|| describe(first, now, &self.unreachable))
    }
}

impl Progress {
    /// How many of the origins that become due next wait, and what binds most of them; `None` when none waits.
    #[must_use]
    pub fn binds(&self) -> Option<(usize, &'static str)> {
        let mut counts: Vec<(&'static str, usize)> = Vec::new();
        for waiting in &self.waiting {
            let words = match waiting.why {
                Why::AwaitingRobots => "robots.txt",
                Why::Reason(reason) => clock_words(reason),
            };
            match counts.iter_mut().find(|(known, _)| *known == words) {
                Some((_, count)) => *count += 1,
                None => counts.push((words, 1)),
            }
        }
        let (words, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        Some((self.waiting.len(), words))
    }
}

/// One waiting origin in words.
pub(crate) fn describe(waiting: &Waiting, now: Instant, unreachable: &[RobotsFault]) -> String {
    let reason = match waiting.why {
        Why::AwaitingRobots => return "waiting for robots".to_owned(),
        Why::Reason(reason) => reason,
    };
    let clock = clock_words(reason);
    let why = match unreachable.iter().find(|fault| fault.origin == waiting.origin) {
        Some(fault) if reason == Reason::ParkRobots => format!("{clock} ({fault})"),
        // The back-off after a fault ends before the next try of robots.txt is due.
        Some(fault) => format!("{clock}; robots.txt is unreachable ({fault})"),
        None => clock.to_owned(),
    };
    match waiting.until {
        Some(until) => format!("waiting {:.1} s: {why}", until.since(now).as_secs_f64()),
        None if reason == Reason::ParkCrawlDelay => format!("waiting: {why}, until that is raised"),
        None => format!("waiting: {why}"),
    }
}

/// A clock in two or three words.
const fn clock_words(reason: Reason) -> &'static str {
    match reason {
        Reason::RateOrigin => "own floor",
        Reason::RateCrawlDelay => "Crawl-delay",
        Reason::RateVisitTime => "outside Visit-time",
        Reason::RateBackoff => "back-off",
        Reason::RateAddress => "address gap",
        Reason::RateTotal => "rate of the crawl",
        Reason::RateDomain => "rate of the domain",
        Reason::ConcOrigin => "origin is busy",
        Reason::ConcAddress => "address is busy",
        Reason::ParkRobots => "robots.txt is unreachable",
        Reason::ParkCrawlDelay => "Crawl-delay is above max_crawl_delay",
        Reason::ParkRetryAfter => "asked to be left alone",
        Reason::ParkOperator => "parked by the operator",
        other => other.text(),
    }
}
