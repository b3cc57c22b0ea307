use crate::log::Death;

/// The clients' civil clock, against the true one.
#[derive(Debug, Default)]
pub(super) struct ClientClock {
    /// In order of time: what happened to it.
    events: Vec<(u64, Event)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// It is ahead by so many microseconds from here on.
    Set(i64),
    /// Another process reads it.
    NewProcess,
}

impl ClientClock {
    pub(super) fn new(errors: &[(u64, i64)], deaths: &[Death]) -> Self {
        let set = errors.iter().map(|(from_us, millis)| (*from_us, Event::Set(millis.saturating_mul(1000))));
        let died = deaths.iter().filter_map(|death| Some((death.reborn_us?, Event::NewProcess)));
        let mut events: Vec<(u64, Event)> = set.chain(died).collect();
        events.sort_by_key(|(at_us, _)| *at_us);
        Self { events }
    }

    /// How far a client is ahead at `at_us`, in microseconds. Within a process its civil time never goes back.
    fn ahead(&self, at_us: u64) -> i64 {
        self.ahead_after(|from_us| from_us <= at_us)
    }

    /// How far a client is ahead after the first events, those whose moment is `among` them.
    fn ahead_after(&self, among: impl Fn(u64) -> bool) -> i64 {
        let (mut error, mut held) = (0_i64, i64::MIN);
        for (_, event) in self.events.iter().take_while(|(from_us, _)| among(*from_us)) {
            match event {
                Event::Set(next) => {
                    held = held.max(error);
                    error = *next;
                }
                Event::NewProcess => held = i64::MIN,
            }
        }
        error.max(held)
    }

    /// Some process between the two moments took the first for one that is still to come: what began then was over for it.
    pub(super) fn was_before(&self, from_us: u64, until_us: u64) -> bool {
        let changes = self.events.iter().map(|(at_us, _)| *at_us).filter(|at_us| (from_us..=until_us).contains(at_us));
        changes.chain([until_us]).any(|at_us| self.between(from_us, at_us) < 0)
    }

    /// As [`Self::between`], from just before and just after what happened to the clock at the very moment `from_us`: an answer
    /// and the end of the process that heard it may share a microsecond, and the machine is set in it too.
    pub(super) fn readings(&self, from_us: u64, until_us: u64) -> [i64; 2] {
        let after = self.between(from_us, until_us);
        let earlier = self.ahead_after(|event_us| event_us < from_us);
        [after.saturating_add(self.ahead(from_us)).saturating_sub(earlier), after]
    }

    /// What a client measures between two moments of the web by its civil clock, in microseconds; negative where it was set
    /// back in between.
    pub(super) fn between(&self, from_us: u64, until_us: u64) -> i64 {
        let truly = i64::try_from(until_us.saturating_sub(from_us)).unwrap_or(i64::MAX);
        truly.saturating_add(self.ahead(until_us)).saturating_sub(self.ahead(from_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_set_back_counts_in_the_next_process() {
        const S: u64 = 1_000_000;
        let deaths = [Death { order: 1, at_us: 40 * S, reborn_us: Some(50 * S) }];
        let clock = ClientClock::new(&[(10 * S, 60_000), (20 * S, 0), (60 * S, -5_000)], &deaths);
        // From, until, seconds as the client measures them.
        let rows = [
            (0, 9, 9),
            (0, 10, 70),
            // Set back within the process: it goes on from where it was.
            (10, 30, 20),
            (0, 30, 90),
            // The next process reads what the clock says.
            (30, 51, -39),
            (51, 61, 10),
        ];
        for (from, until, seconds) in rows {
            assert_eq!(clock.between(from * S, until * S), seconds * 1_000_000, "{from} to {until}");
        }
        assert!(clock.was_before(30 * S, 100 * S) && !clock.was_before(0, 9 * S) && !clock.was_before(51 * S, 61 * S));
        // At the very moment at which it is set: by either reading.
        assert_eq!(clock.readings(10 * S, 11 * S), [61_000_000, 1_000_000]);
        assert_eq!(clock.readings(12 * S, 13 * S), [1_000_000; 2]);
        assert_eq!(ClientClock::default().between(3, 5), 2);
    }
}
