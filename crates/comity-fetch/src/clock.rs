use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use comity_policy::{Clock, Instant, Random, SeededRandom, WallTime};

/// The clock of a running process, over tokio's: where tokio's time is paused, so is this one.
///
/// Instants count from the clock's construction, plus one second: no reading is [`Instant::START`].
#[derive(Debug)]
pub struct SystemClock {
    start: tokio::time::Instant,
    wall: Wall,
}

#[derive(Debug)]
enum Wall {
    /// The machine's civil time; the highest reading so far, in milliseconds.
    Machine(AtomicI64),
    /// Civil time at construction: moves with the monotonic clock.
    From(WallTime),
}

impl SystemClock {
    /// Civil time from the machine; a machine's clock that is set back stands still here until it has caught up.
    #[must_use]
    pub fn new() -> Self {
        Self { start: now(), wall: Wall::Machine(AtomicI64::new(i64::MIN)) }
    }

    /// Civil time that starts at `wall` and moves with tokio's clock: for simulation and tests.
    #[must_use]
    pub fn paused_at(wall: WallTime) -> Self {
        Self { start: now(), wall: Wall::From(wall) }
    }

    fn elapsed(&self) -> Duration {
        now().saturating_duration_since(self.start)
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::START.after(Duration::from_secs(1) + self.elapsed())
    }

    fn wall(&self) -> WallTime {
        match &self.wall {
            Wall::From(start) => start.after(self.elapsed()),
            Wall::Machine(highest) => {
                let reading = machine_millis();
                let before = highest.fetch_max(reading, Ordering::Relaxed);
                WallTime::from_unix_millis(before.max(reading))
            }
        }
    }
}

/// Randomness for jitter, seeded anew in every process. Never for secrets.
#[derive(Debug)]
pub struct SystemRandom(SeededRandom);

impl SystemRandom {
    /// A generator whose seed comes from the operating system, through std's hasher keys.
    #[must_use]
    pub fn new() -> Self {
        Self(SeededRandom::new(RandomState::new().hash_one(0_u64)))
    }
}

impl Default for SystemRandom {
    fn default() -> Self {
        Self::new()
    }
}

impl Random for SystemRandom {
    fn next_u64(&self) -> u64 {
        self.0.next_u64()
    }
}

#[expect(clippy::disallowed_methods, reason = "this clock is where the monotonic clock is read")]
fn now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "this clock is where civil time is read")]
fn machine_millis() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn both_readings_obey_paused_time() {
        let clock = SystemClock::paused_at(WallTime::from_unix_millis(5_000));
        let (instant, wall) = (clock.now(), clock.wall());
        tokio::time::advance(Duration::from_millis(1500)).await;
        assert_eq!(clock.now().since(instant), Duration::from_millis(1500));
        assert_eq!((wall.unix_millis(), clock.wall().unix_millis()), (5_000, 6_500));
        assert!(instant > Instant::START);
    }

    #[test]
    fn machine_time_never_goes_backwards() {
        let clock = SystemClock::new();
        let first = clock.wall();
        assert!(first.civil().0 >= 2024, "{first}");
        // As if the machine's clock had been an hour ahead and was set back.
        let ahead = first.after(Duration::from_secs(3600));
        let Wall::Machine(highest) = &clock.wall else { panic!("not the machine's time") };
        highest.store(ahead.unix_millis(), Ordering::Relaxed);
        assert_eq!(clock.wall(), ahead);
    }

    #[test]
    fn two_generators_differ() {
        assert_ne!(SystemRandom::new().next_u64(), SystemRandom::new().next_u64());
    }
}
