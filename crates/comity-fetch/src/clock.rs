use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use comity_policy::{Clock, Instant, Random, SeededRandom, WallTime};

/// The clock of a running process, over tokio's: where tokio's time is paused, so is this one.
///
/// Instants count from the clock's construction, plus one second: no reading is [`Instant::START`].
///
/// Civil time follows the machine's, but for this: when that is set back, civil time goes on from where it was, at the pace of
/// the monotonic clock, until the machine's has caught up or the process ends. It never goes back, since it orders records;
/// and it never stands still, since a robots.txt would live for ever (our choice: docs/decisions/0039). A machine's
/// clock that jumps ahead is believed at once.
pub struct SystemClock {
    start: tokio::time::Instant,
    wall: Wall,
}

enum Wall {
    /// Civil time that somebody else keeps: the machine.
    Kept { read: Box<dyn Fn() -> WallTime + Send + Sync>, highest: Mutex<Option<Reading>> },
    /// Civil time at construction: moves with the monotonic clock.
    From(WallTime),
}

/// A civil time, and when it was read.
#[derive(Clone, Copy, Debug)]
struct Reading {
    wall: WallTime,
    at: tokio::time::Instant,
}

impl SystemClock {
    /// Civil time from the machine.
    #[must_use]
    pub fn new() -> Self {
        Self::following(|| WallTime::from_unix_millis(machine_millis()))
    }

    /// Civil time from `read`, as if that were the machine: for simulations of clocks that are set.
    #[must_use]
    pub fn following(read: impl Fn() -> WallTime + Send + Sync + 'static) -> Self {
        Self { start: now(), wall: Wall::Kept { read: Box::new(read), highest: Mutex::default() } }
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
            Wall::Kept { read, highest } => {
                let mut highest = highest.lock().unwrap_or_else(PoisonError::into_inner);
                let reading = Reading { wall: read(), at: now() };
                let going_on = highest.map(|last| last.wall.after(reading.at.saturating_duration_since(last.at)));
                match going_on {
                    // From the last reading of the machine: many short steps would lose their fractions.
                    Some(going_on) if going_on > reading.wall => going_on,
                    _ => {
                        *highest = Some(reading);
                        reading.wall
                    }
                }
            }
        }
    }
}

impl fmt::Debug for SystemClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemClock").field("start", &self.start).finish_non_exhaustive()
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

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
    fn the_machine_is_read() {
        let clock = SystemClock::new();
        let first = clock.wall();
        assert!(first.civil().0 >= 2024, "{first}");
        assert!(clock.wall() >= first);
    }

    #[tokio::test(start_paused = true)]
    async fn civil_time_neither_goes_back_nor_stands_still_when_the_machine_is_set() {
        const HOUR: i64 = 3_600_000;
        /// What the machine says after another hour, and what the clock says then, in hours.
        const STEPS: [(i64, i64); 8] =
            [(101, 101), (100, 102), (0, 103), (1, 104), (105, 105), (200, 200), (102, 201), (300, 300)];
        let machine = Arc::new(AtomicI64::new(100 * HOUR));
        let read = machine.clone();
        let clock = SystemClock::following(move || WallTime::from_unix_millis(read.load(Ordering::Relaxed)));
        for (set, told) in STEPS {
            // In steps that are no whole milliseconds.
            for _ in 0..7 {
                tokio::time::advance(Duration::from_secs(3600) / 7).await;
                if set * HOUR < machine.load(Ordering::Relaxed) {
                    machine.store(set * HOUR, Ordering::Relaxed);
                }
                clock.wall();
            }
            machine.store(set * HOUR, Ordering::Relaxed);
            let (told, found) = (told * HOUR, clock.wall().unix_millis());
            assert!((told - 10..=told).contains(&found), "{set}: {found} instead of {told}");
        }
    }

    #[test]
    fn two_generators_differ() {
        assert_ne!(SystemRandom::new().next_u64(), SystemRandom::new().next_u64());
    }
}
