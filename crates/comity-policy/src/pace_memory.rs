use std::time::Duration;

use crate::pace::Park;
use crate::{Instant, OriginPace, Politeness, WallTime};

/// What of an [`OriginPace`] outlives its process: back-off and park, in civil time. Crawl-delays come back with the
/// robots.txt that asks for them, and the last instant is not needed: after a restart every origin waits one full delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PaceMemory {
    /// Until when the origin is left alone after 429, 503 or failures.
    pub backoff_until: Option<WallTime>,
    /// Until when a long `Retry-After` parks it.
    pub parked_until: Option<WallTime>,
    /// Failures in a row, from which the next back-off is computed.
    pub failures: u16,
}

impl PaceMemory {
    /// Nothing that is worth remembering.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }

    /// Nothing that still holds at `now`, nor a run of failures that is younger than the longest wait.
    #[must_use]
    pub fn is_over(&self, now: WallTime) -> bool {
        let last = self.backoff_until.max(self.parked_until);
        last.is_none_or(|last| now.since(last) > Politeness::RETRY_AFTER_CAP)
    }
}

impl OriginPace {
    /// What is to be remembered of it, where `now` and `wall` are the same moment on both clocks.
    #[must_use]
    pub fn memory(&self, now: Instant, wall: WallTime) -> PaceMemory {
        let civil = |until: u64| {
            let left = Instant::from_micros(until).since(now);
            // Rounded up: a civil time is in milliseconds, and nothing may end early.
            (!left.is_zero()).then(|| wall.after(left + Duration::from_micros(999)))
        };
        PaceMemory {
            backoff_until: civil(self.backoff_until),
            parked_until: if self.park == Some(Park::RetryAfter) { civil(self.parked_until) } else { None },
            failures: self.failures,
        }
    }

    /// The pace of an origin that was known to an earlier process: one full delay from `now` on, and what is left of its
    /// back-off and park. No wait is longer than the longest that this house gives, whatever the wall clock did meanwhile.
    #[must_use]
    pub fn recall(memory: PaceMemory, now: Instant, wall: WallTime) -> Self {
        let left = |until: Option<WallTime>| {
            let left = until.map(|until| until.since(wall)).filter(|left| !left.is_zero());
            left.map(|left| now.after(left.min(Politeness::RETRY_AFTER_CAP)).as_micros())
        };
        let parked = left(memory.parked_until);
        Self {
            backoff_until: left(memory.backoff_until).unwrap_or_default(),
            parked_until: parked.unwrap_or_default(),
            park: parked.map(|_| Park::RetryAfter),
            failures: memory.failures,
            backoff_since: now.as_micros(),
            ..Self::restarted(now)
        }
    }

    /// The pace of an origin of which nothing is known but that an earlier process may just have asked it.
    pub(crate) fn restarted(now: Instant) -> Self {
        Self { last_head: now.as_micros(), seen: true, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, Reason, SeededRandom};

    const WALL: WallTime = WallTime::from_unix_millis(1_796_030_100_000);

    fn at(seconds: u64) -> Instant {
        Instant::from_micros(seconds * 1_000_000)
    }

    fn answered(status: u16, retry_after: u64) -> Outcome {
        let retry_after = (retry_after > 0).then(|| Duration::from_secs(retry_after));
        Outcome::Answered { status, retry_after, rate_limit: None }
    }

    #[test]
    fn a_park_and_a_back_off_end_at_the_same_civil_time_in_the_next_process() {
        let rules = Politeness::default();
        for (status, retry_after, clock) in [(503, 7200, Reason::ParkRetryAfter), (429, 600, Reason::RateBackoff)] {
            let mut pace = OriginPace::default();
            pace.on_head(at(100), None, &SeededRandom::new(1));
            pace.on_outcome(answered(status, retry_after), at(99), at(100));
            let memory = pace.memory(at(100), WALL);
            // Ten minutes less a second later another process starts, whose clock begins at 5 s.
            let meanwhile = Duration::from_secs(599);
            let recalled = OriginPace::recall(memory, at(5), WALL.after(meanwhile));
            let ready = recalled.ready_at(&rules);
            assert_eq!(ready.clock, clock);
            let ends = at(5).after(Duration::from_secs(retry_after)).since(Instant::START) - meanwhile;
            let told = ready.at.since(Instant::START);
            assert!(told >= ends && told <= ends + Duration::from_millis(1), "{told:?} {ends:?}");
            assert_eq!(recalled.failures(), 1);
        }
    }

    #[test]
    fn an_idle_origin_waits_one_full_delay_and_nothing_else() {
        let rules = Politeness { delay: Duration::from_secs(3), ..Politeness::default() };
        let mut pace = OriginPace::recall(PaceMemory::default(), at(50), WALL);
        pace.set_floor(rules.delay);
        assert_eq!(pace.ready_at(&rules).at, at(53));
        assert!(OriginPace::default().memory(at(1), WALL).is_idle());
    }

    #[test]
    fn a_wall_clock_that_jumped_cannot_park_an_origin_for_years() {
        let memory =
            PaceMemory { parked_until: Some(WALL.after(Duration::from_secs(86_400 * 3650))), ..PaceMemory::default() };
        let ready = OriginPace::recall(memory, at(0), WALL).ready_at(&Politeness::default());
        assert_eq!(ready.at, Instant::START.after(Politeness::RETRY_AFTER_CAP));
        assert!(!memory.is_over(WALL));
        let past = PaceMemory { backoff_until: Some(WALL), failures: 3, ..PaceMemory::default() };
        assert!(!past.is_over(WALL.after(Duration::from_secs(3600))), "a young run of failures still counts");
        assert!(past.is_over(WALL.after(Duration::from_secs(86_400 * 2))));
    }
}
