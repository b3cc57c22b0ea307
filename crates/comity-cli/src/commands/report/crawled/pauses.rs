//! The time between two requests to an origin, held against what was due.

use std::collections::BTreeMap;
use std::time::Duration;

use comity::policy::{Politeness, WallTime, parse_retry_after};
use serde::Serialize;

use super::entry::Entry;

/// What milliseconds cut off hide: one of the begin, one of the head (as `comity audit` has it).
const ROUNDED_MS: i64 = 2;
/// A gap of this much more than what was due is still the doing of what was due: jitter, and a busy machine (our choice).
const JITTER: (i64, i64) = (5, 4);
const SLACK_MS: i64 = 250;
/// Requests of an origin that wait for one that was begun before them and recorded later.
const WINDOW: usize = 3;

/// What held a request back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Clock {
    Floor,
    CrawlDelay,
    Adaptive,
    RetryAfter,
    Address,
    Other,
}

impl Clock {
    pub(super) const ALL: [Self; 6] =
        [Self::Floor, Self::CrawlDelay, Self::Adaptive, Self::RetryAfter, Self::Address, Self::Other];

    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Floor => "own floor",
            Self::CrawlDelay => "Crawl-delay",
            Self::Adaptive => "twice the time of its answers",
            Self::RetryAfter => "Retry-After",
            Self::Address => "gap of the address",
            Self::Other => "no clock of the origin: nothing queued, other work, back-off or a stop",
        }
    }
}

/// One request, as the gaps need it.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// When it was begun, and when its head came, or its end: milliseconds since the epoch.
    pub(super) at: i64,
    pub(super) head: i64,
    pub(super) floor_ms: i64,
    pub(super) asked_ms: i64,
    pub(super) adaptive: bool,
    /// What an override lifted is not held against it.
    pub(super) is_excepted: bool,
    pub(super) latency_ms: Option<i64>,
    /// Until when its answer asks to be left alone.
    pub(super) alone_until: Option<i64>,
    /// When the address was asked last, by whichever origin, and the gap that holds there.
    pub(super) address: Option<(i64, i64)>,
    pub(super) seq: u64,
}

/// A pause that was waited.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Pause {
    pub(super) gap_ms: i64,
    pub(super) due_ms: i64,
    pub(super) clock: Clock,
    /// Shorter than what robots.txt or our own floor asked for, and no override lifted that.
    pub(super) is_violation: bool,
    /// When it ended.
    pub(super) at: i64,
    /// Line of the request that ended it.
    pub(super) seq: u64,
}

/// The gaps of one origin.
#[derive(Debug, Default, Serialize)]
pub(super) struct Gaps {
    /// Gaps that were measured, and their sum where they are none below zero.
    pub(super) measured: u64,
    pub(super) sum_ms: u64,
    pub(super) least_ms: Option<i64>,
    /// The gap with the least above what was due: the gap, what was due.
    pub(super) tightest: Option<(i64, i64)>,
    /// The least gap before a request for which a Crawl-delay held.
    pub(super) kept_ms: Option<i64>,
    pub(super) violations: u64,
    /// The longest pause that a clock made.
    pub(super) longest: Option<Pause>,
    #[serde(skip)]
    last: Option<Last>,
    #[serde(skip)]
    window: Vec<Sent>,
}

/// What is remembered of the requests before.
#[derive(Debug)]
struct Last {
    head: i64,
    floor_ms: i64,
    alone_until: i64,
    /// Smoothed time of its answers, in microseconds.
    latency_us: Option<i64>,
}

impl Gaps {
    /// Takes in a request; gives the pauses that are known by now.
    pub(super) fn take(&mut self, sent: Sent) -> Option<Pause> {
        let is_full = self.window.len() == WINDOW;
        let oldest = match self.window.first() {
            Some(first) if is_full && sent.at < first.at => return self.settle(&sent),
            Some(_) if is_full => Some(self.window.remove(0)),
            Some(_) => None,
            None => {
                self.window.reserve_exact(WINDOW);
                None
            }
        };
        let place = self.window.partition_point(|one| one.at <= sent.at);
        self.window.insert(place, sent);
        oldest.and_then(|oldest| self.settle(&oldest))
    }

    /// The requests that are left, when there are no more.
    pub(super) fn end(&mut self) -> Vec<Pause> {
        let left = std::mem::take(&mut self.window);
        left.iter().filter_map(|sent| self.settle(sent)).collect()
    }

    fn settle(&mut self, sent: &Sent) -> Option<Pause> {
        let mut pause = self.last.as_ref().map(|last| pause(sent, last));
        if let Some(pause) = &mut pause {
            self.measure(sent, pause);
        }
        let (latency_us, alone) =
            self.last.as_ref().map_or((None, i64::MIN), |last| (last.latency_us, last.alone_until));
        let latency_us = match (latency_us, sent.latency_ms.map(|ms| ms.saturating_mul(1000))) {
            (Some(old), Some(new)) => Some(old - old / 4 + new / 4),
            (old, new) => old.or(new),
        };
        self.last = Some(Last {
            head: self.last.as_ref().map_or(sent.head, |last| last.head.max(sent.head)),
            floor_ms: sent.floor_ms,
            alone_until: alone.max(sent.alone_until.unwrap_or(i64::MIN)),
            latency_us,
        });
        pause
    }

    fn measure(&mut self, sent: &Sent, pause: &mut Pause) {
        let gap = pause.gap_ms;
        self.measured += 1;
        self.sum_ms = self.sum_ms.saturating_add(u64::try_from(gap).unwrap_or(0));
        self.least_ms = Some(self.least_ms.map_or(gap, |least| least.min(gap)));
        if pause.clock != Clock::Other && self.longest.is_none_or(|longest| longest.gap_ms < gap) {
            self.longest = Some(*pause);
        }
        if sent.is_excepted {
            return;
        }
        let due = self.last.as_ref().map_or(0, |last| plain_due(sent, last));
        if sent.asked_ms > 0 {
            self.kept_ms = Some(self.kept_ms.map_or(gap, |least| least.min(gap)));
        }
        // Where nobody asks for a delay, requests may overlap.
        if due > 0 {
            if self.tightest.is_none_or(|(other, its_due)| gap - due < other - its_due) {
                self.tightest = Some((gap, due));
            }
            pause.is_violation = gap + ROUNDED_MS < due;
            self.violations += u64::from(pause.is_violation);
        }
    }
}

/// What robots.txt and our own floor ask for. Right after a reload the old floor may hold still.
fn plain_due(sent: &Sent, last: &Last) -> i64 {
    sent.asked_ms.max(sent.floor_ms.min(last.floor_ms))
}

fn pause(sent: &Sent, last: &Last) -> Pause {
    let gap = sent.at.saturating_sub(last.head);
    let cap = i64::try_from(Politeness::ADAPTIVE_CAP.as_millis()).unwrap_or(i64::MAX);
    let adaptive = last.latency_us.filter(|_| sent.adaptive).map_or(0, |us| (us.saturating_mul(2) / 1000).min(cap));
    let alone = last.alone_until.saturating_sub(last.head).max(0);
    let clocks = [
        (sent.floor_ms.min(last.floor_ms), Clock::Floor),
        (adaptive, Clock::Adaptive),
        (sent.asked_ms, Clock::CrawlDelay),
        (alone, Clock::RetryAfter),
    ];
    let (due_ms, latest) = clocks.into_iter().max_by_key(|(due, _)| *due).unwrap_or((0, Clock::Other));
    let is_near =
        |due: i64, gap: i64| due > 0 && gap <= (due.saturating_mul(JITTER.0) / JITTER.1).saturating_add(SLACK_MS);
    let clock = match sent.address {
        _ if is_near(due_ms, gap) => latest,
        Some((before, asked)) if before > last.head && is_near(asked, sent.at.saturating_sub(before)) => Clock::Address,
        _ => Clock::Other,
    };
    Pause { gap_ms: gap, due_ms, clock, is_violation: false, at: sent.at, seq: sent.seq }
}

/// Until when the answer asks to be left alone (RFC 9110 §10.2.3), at most as long as that is obeyed.
pub(super) fn alone_until(entry: &Entry<'_>, head: i64) -> Option<i64> {
    let response = entry.response.as_ref().filter(|one| matches!(one.status, 300..=399 | 429 | 503))?;
    let fields: Vec<(String, serde_json::Value)> = serde_json::from_str(response.fields.get()).ok()?;
    let find = |name: &str| {
        fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).and_then(|(_, value)| value.as_str())
    };
    let now = WallTime::from_unix_millis(head);
    let wait: Duration = parse_retry_after(find("retry-after")?, find("date"), now)?;
    Some(now.after(wait.min(Politeness::RETRY_AFTER_CAP)).unix_millis())
}

/// Pauses of a whole crawl: by clock, and the longest.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    /// How many, and their sum in milliseconds.
    pub(super) by_clock: BTreeMap<Clock, (u64, u64)>,
}

impl Pauses {
    pub(super) fn add(&mut self, pause: &Pause) {
        let (count, sum) = self.by_clock.entry(pause.clock).or_default();
        *count += 1;
        *sum = sum.saturating_add(u64::try_from(pause.gap_ms).unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(at: i64, floor_ms: i64, asked_ms: i64) -> Sent {
        Sent {
            at,
            head: at + 10,
            floor_ms,
            asked_ms,
            adaptive: false,
            is_excepted: false,
            latency_ms: Some(10),
            alone_until: None,
            address: None,
            seq: 0,
        }
    }

    fn gaps(all: &[Sent]) -> (Gaps, Vec<Pause>) {
        let mut gaps = Gaps::default();
        let mut pauses: Vec<Pause> = all.iter().filter_map(|one| gaps.take(one.clone())).collect();
        pauses.extend(gaps.end());
        (gaps, pauses)
    }

    #[test]
    fn a_gap_below_what_was_due_is_a_violation_and_one_below_by_rounding_is_none() {
        let table = [
            (1000, 0, 1000, 0),
            (1000, 0, 998, 0),
            (1000, 0, 997, 1),
            (1000, 3000, 2900, 1),
            (1000, 3000, 3000, 0),
            (0, 0, -5, 0),
        ];
        for (floor, asked, gap, violations) in table {
            let (found, _) = gaps(&[sent(0, floor, asked), sent(10 + gap, floor, asked)]);
            assert_eq!((found.violations, found.least_ms), (violations, Some(gap)), "{floor} {asked} {gap}");
        }
        let excepted = Sent { is_excepted: true, ..sent(20, 1000, 0) };
        assert_eq!(gaps(&[sent(0, 1000, 0), excepted]).0.violations, 0);
    }

    #[test]
    fn the_tightest_is_the_one_nearest_to_what_was_due() {
        // 1,500 after a floor of 1,000; 3,100 after a Crawl-delay of 3,000.
        let (found, _) = gaps(&[sent(0, 1000, 0), sent(1510, 1000, 0), sent(4620, 1000, 3000)]);
        assert_eq!((found.tightest, found.least_ms, found.kept_ms), (Some((3100, 3000)), Some(1500), Some(3100)));
    }

    #[test]
    fn records_that_come_late_are_put_in_their_place() {
        let ordered = [sent(0, 1000, 0), sent(1010, 1000, 0), sent(2020, 1000, 0), sent(3030, 1000, 0)];
        let mut shuffled = ordered.to_vec();
        shuffled.swap(1, 2);
        assert_eq!(gaps(&shuffled).0.violations, gaps(&ordered).0.violations);
        assert_eq!(gaps(&shuffled).0.measured, 3);
    }

    #[test]
    fn a_pause_names_what_held_it() {
        let alone = Sent { alone_until: Some(5000), ..sent(0, 1000, 0) };
        let slow = Sent { latency_ms: Some(2000), adaptive: true, ..sent(0, 1000, 0) };
        let address = Sent { address: Some((9000, 500)), ..sent(9510, 1000, 0) };
        let table = [
            (sent(0, 1000, 0), sent(1100, 1000, 0), Clock::Floor),
            (sent(0, 1000, 2000), sent(2100, 1000, 2000), Clock::CrawlDelay),
            (alone, sent(5100, 1000, 0), Clock::RetryAfter),
            (slow, Sent { adaptive: true, ..sent(4200, 1000, 0) }, Clock::Adaptive),
            (sent(0, 1000, 0), address, Clock::Address),
            (sent(0, 1000, 0), sent(90_000, 1000, 0), Clock::Other),
        ];
        for (before, after, clock) in table {
            let (_, pauses) = gaps(&[before, after]);
            assert_eq!(pauses.iter().map(|one| one.clock).collect::<Vec<_>>(), [clock]);
        }
    }
}
