use std::time::Duration;

use comity_robots::{RuleSet, VisitTime};

use crate::{Reason, WallTime};

/// What an origin's robots.txt asks about pace: delays, and hours of the day.
///
/// Taken from the rule sets of all token lists; at every moment the strictest of them counts. Without windows, which is
/// nearly always, it holds nothing on the heap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedPace {
    /// Crawl-delay, and Request-rates that hold at all hours.
    delay: Option<Duration>,
    windows: Vec<Window>,
}

/// A wish that depends on the hour (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    time: VisitTime,
    wish: Wish,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// Visit-time: nothing outside the window.
    Visits,
    /// Request-rate with a window: this delay inside it.
    Delay(Duration),
}

/// What a request is for, as far as hours are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// A page: every window holds.
    Page,
    /// robots.txt and the redirects of its chain: at any hour, since it says which hours there are. A Request-rate of the
    /// hour is kept.
    RobotsTxt,
}

/// The earliest moment that the windows leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// When; `None` when they leave none.
    pub at: Option<WallTime>,
    /// What held until then: `rate.visit_time`, `rate.crawl_delay`, `park.crawl_delay`; `ok` when nothing did.
    pub clock: Reason,
}

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// A reading of civil time is up to so many milliseconds behind ([`crate::Moment::wall_at`]): a window is taken as
/// closed, and its delay as asked, when that holds at either end.
pub(crate) const BEHIND: Duration = Duration::from_millis(2);

/// Looking for an opening ends after so many windows: more than a year of days.
const MOST_WINDOWS: u32 = 1024;

impl AskedPace {
    /// What these rule sets ask for, the strictest counting.
    #[must_use]
    pub fn of(lists: &[RuleSet]) -> Self {
        let mut asked = Self::default();
        for set in lists {
            asked.delay = asked.delay.max(set.crawl_delay());
            let hours = set.visit_time().filter(is_part_of_the_day);
            asked.windows.extend(hours.map(|time| Window { time, wish: Wish::Visits }));
            let Some(rate) = set.request_rate() else { continue };
            match rate.window.filter(is_part_of_the_day) {
                None => asked.delay = asked.delay.max(Some(rate.delay())),
                Some(time) => asked.windows.push(Window { time, wish: Wish::Delay(rate.delay()) }),
            }
        }
        asked
    }

    /// One delay at all hours.
    #[must_use]
    pub const fn fixed(delay: Option<Duration>) -> Self {
        Self { delay, windows: Vec::new() }
    }

    /// What is left of it under a rate override: delays above `most` are cut to it, others go, Visit-times stay.
    pub(crate) fn bent(mut self, most: Duration) -> Self {
        let cut = |delay: Duration| (delay > most).then_some(most);
        self.delay = self.delay.and_then(cut);
        self.windows.retain_mut(|window| match window.wish {
            Wish::Visits => true,
            Wish::Delay(delay) => {
                window.wish = Wish::Delay(most);
                cut(delay).is_some()
            }
        });
        self
    }

    /// The delay that holds at all hours: Crawl-delay, and Request-rate without a window.
    #[must_use]
    pub const fn delay(&self) -> Option<Duration> {
        self.delay
    }

    /// The delay in force at `at`, that of Request-rates with a window included.
    #[must_use]
    pub fn delay_at(&self, at: WallTime) -> Option<Duration> {
        let within = |window: &&Window| window.time.contains(minute(at));
        self.windows.iter().filter(within).filter_map(Window::delay).max().max(self.delay)
    }

    /// True when nothing depends on the hour.
    #[must_use]
    pub const fn holds_at_all_hours(&self) -> bool {
        self.windows.is_empty()
    }

    /// True when a Request-rate holds at some hours.
    #[must_use]
    pub fn has_hourly_delay(&self) -> bool {
        self.windows.iter().any(|window| window.delay().is_some())
    }

    /// The earliest moment from `from` on at which a request may leave, by the windows alone; the last head arrived at
    /// `head`. A Request-rate slower than `slowest` closes its window to pages.
    #[must_use]
    pub fn opening(&self, aim: Aim, head: Option<WallTime>, from: WallTime, slowest: Duration) -> Opening {
        let mut opening = Opening { at: Some(from), clock: Reason::Ok };
        for _ in 0..MOST_WINDOWS {
            let at = opening.at.unwrap_or(from);
            let holds = self.windows.iter().filter_map(|window| window.hold(aim, head, at, slowest));
            let Some((until, clock)) = holds.max_by_key(|(until, _)| *until) else { return opening };
            opening = Opening { at: Some(until), clock };
        }
        Opening { at: None, ..opening }
    }

    /// Until when what may leave at `at` still may: the first end of a window, or beginning of a stricter one.
    #[must_use]
    pub fn closing(&self, aim: Aim, head: Option<WallTime>, at: WallTime, slowest: Duration) -> Option<WallTime> {
        self.windows.iter().filter_map(|window| window.closing(aim, head, at, slowest)).min()
    }
}

impl Window {
    const fn delay(&self) -> Option<Duration> {
        match self.wish {
            Wish::Visits => None,
            Wish::Delay(delay) => Some(delay),
        }
    }

    /// Until when nothing may leave at `at`, and by which clock.
    fn hold(&self, aim: Aim, head: Option<WallTime>, at: WallTime, slowest: Duration) -> Option<(WallTime, Reason)> {
        let later = at.after(BEHIND);
        let (now, soon) = (self.time.contains(minute(at)), self.time.contains(minute(later)));
        match self.wish {
            Wish::Visits if aim == Aim::RobotsTxt || (now && soon) => None,
            Wish::Visits => Some((self.begin(if now { later } else { at }), Reason::RateVisitTime)),
            Wish::Delay(_) if !now && !soon => None,
            Wish::Delay(delay) => {
                let end = self.end(if soon { later } else { at });
                if delay > slowest && aim == Aim::Page {
                    return Some((end, Reason::ParkCrawlDelay));
                }
                let due = head?.after(delay);
                (due > at).then(|| (due.min(end), Reason::RateCrawlDelay))
            }
        }
    }

    fn closing(&self, aim: Aim, head: Option<WallTime>, at: WallTime, slowest: Duration) -> Option<WallTime> {
        match self.wish {
            Wish::Visits if aim == Aim::RobotsTxt => None,
            Wish::Visits => Some(self.end(at)),
            Wish::Delay(_) if self.time.contains(minute(at)) => None,
            Wish::Delay(delay) => {
                let begin = self.begin(at);
                let closed = delay > slowest && aim == Aim::Page;
                let stricter = closed || head.is_some_and(|head| head.after(delay) > begin);
                stricter.then_some(begin)
            }
        }
    }

    /// The next moment after `at` at which the window begins, or `at` in its first minute's first millisecond.
    fn begin(&self, at: WallTime) -> WallTime {
        forward(at, i64::from(self.time.first_minute()) * MINUTE)
    }

    /// The next moment from `at` on at which the window has ended: both minutes belong to it.
    fn end(&self, at: WallTime) -> WallTime {
        forward(at, (i64::from(self.time.last_minute()) + 1) * MINUTE)
    }
}

/// False for a window that leaves no minute out, which is none.
const fn is_part_of_the_day(time: &VisitTime) -> bool {
    const MINUTES: u16 = 24 * 60;
    (time.last_minute() + MINUTES - time.first_minute()) % MINUTES + 1 < MINUTES
}

/// The minute of the day (UTC).
fn minute(at: WallTime) -> u16 {
    u16::try_from(at.unix_millis().rem_euclid(DAY) / MINUTE).unwrap_or(0)
}

/// The first moment from `at` on that lies so many milliseconds after a midnight (UTC).
fn forward(at: WallTime, after_midnight: i64) -> WallTime {
    let wait = (after_midnight - at.unix_millis().rem_euclid(DAY)).rem_euclid(DAY);
    at.after(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
}
