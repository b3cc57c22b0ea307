use std::collections::{BTreeSet, VecDeque};

use comity_policy::Instant;

use crate::LeaseId;

/// When leases end, the earliest first.
///
/// A lease that is not renewed ends one life after its start, so those stand in a queue in the order of their starts; one
/// that ended before stays in it until it comes to the front or every second one is such. Renewed ones stand in a set.
///
/// Invariant: what stands at the front of either runs.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    queue: VecDeque<(Instant, LeaseId)>,
    renewed: BTreeSet<(Instant, LeaseId)>,
}

/// Leases that ended and still stand in the queue, at least before it is searched for them.
const SLACK: usize = 64;

impl Deadlines {
    #[inline]
    pub(super) fn add(&mut self, deadline: Instant, id: LeaseId) {
        if self.queue.back().is_none_or(|last| last.0 <= deadline) {
            self.queue.push_back((deadline, id));
        } else {
            self.renewed.insert((deadline, id));
        }
    }

    /// Moves a deadline; to be followed by [`Deadlines::tidy`].
    pub(super) fn postpone(&mut self, old: Instant, new: Instant, id: LeaseId) {
        self.renewed.remove(&(old, id));
        self.renewed.insert((new, id));
    }

    /// The lease has ended; to be followed by [`Deadlines::tidy`].
    #[inline]
    pub(super) fn remove(&mut self, deadline: Instant, id: LeaseId) {
        if !self.renewed.is_empty() {
            self.renewed.remove(&(deadline, id));
        }
    }

    /// The earliest deadline.
    pub(super) fn next(&self) -> Option<Instant> {
        let fronts = [self.queue.front(), self.renewed.first()];
        fronts.into_iter().flatten().map(|first| first.0).min()
    }

    /// Takes the lease with the earliest deadline out if that has passed; to be followed by [`Deadlines::tidy`].
    pub(super) fn pop(&mut self, now: Instant) -> Option<LeaseId> {
        let next = self.next().filter(|next| *next <= now)?;
        match self.queue.pop_front_if(|first| first.0 == next) {
            // It may stand in both, when its deadline was moved away and back.
            Some(first) => {
                self.renewed.remove(&first);
                Some(first.1)
            }
            None => self.renewed.pop_first().map(|first| first.1),
        }
    }

    /// Drops what no longer holds, of `held` leases that run.
    #[inline]
    pub(super) fn tidy(&mut self, held: u32, holds: impl Fn(Instant, LeaseId) -> bool) {
        while self.queue.pop_front_if(|(deadline, id)| !holds(*deadline, *id)).is_some() {}
        if self.queue.len() > 2 * held as usize + SLACK {
            self.queue.retain(|(deadline, id)| holds(*deadline, *id));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Leases begin and end, are renewed, and run out; times are microseconds, each lease lasts [`LIFE`].
    #[derive(Clone, Debug)]
    enum Event {
        Begin,
        End {
            which: usize,
        },
        Renew {
            which: usize,
            wait: u64,
        },
        /// Back to the deadline that it had at first: it then stands twice.
        Restore {
            which: usize,
        },
        Pass {
            micros: u64,
        },
    }

    const LIFE: u64 = 100;

    fn event() -> impl Strategy<Value = Event> {
        let which = 0_usize..300;
        prop_oneof![
            6 => Just(Event::Begin),
            3 => which.clone().prop_map(|which| Event::End { which }),
            2 => (which.clone(), 0_u64..300).prop_map(|(which, wait)| Event::Renew { which, wait }),
            1 => which.prop_map(|which| Event::Restore { which }),
            3 => (0_u64..30).prop_map(|micros| Event::Pass { micros }),
        ]
    }

    /// Beside the deadlines, each lease with its deadline and the one that it had at first.
    #[derive(Default)]
    struct Pair {
        real: Deadlines,
        model: BTreeMap<LeaseId, (Instant, Instant)>,
        now: u64,
        begun: u64,
    }

    impl Pair {
        fn play(&mut self, event: Event) {
            match event {
                Event::Begin => {
                    self.begun += 1;
                    let (id, deadline) = (LeaseId::from_u64(self.begun), Instant::from_micros(self.now + LIFE));
                    self.real.add(deadline, id);
                    self.model.insert(id, (deadline, deadline));
                }
                Event::End { which } => {
                    if let Some((id, (deadline, _))) = self.pick(which) {
                        self.model.remove(&id);
                        self.real.remove(deadline, id);
                    }
                }
                Event::Renew { which, wait } => self.renew(which, |pair, _| Instant::from_micros(pair.now + wait)),
                Event::Restore { which } => self.renew(which, |_, first| first),
                Event::Pass { micros } => self.pass(micros),
            }
            self.tidy();
            assert_eq!(self.real.next(), self.model.values().map(|deadlines| deadlines.0).min());
            assert!(self.real.queue.len() <= 2 * self.model.len() + SLACK, "leases that ended do not pile up");
        }

        fn pick(&self, which: usize) -> Option<(LeaseId, (Instant, Instant))> {
            self.model.iter().nth(which % self.model.len().max(1)).map(|(id, deadlines)| (*id, *deadlines))
        }

        fn renew(&mut self, which: usize, until: impl FnOnce(&Self, Instant) -> Instant) {
            let Some((id, (old, first))) = self.pick(which) else { return };
            let new = until(self, first);
            self.real.postpone(old, new, id);
            self.model.insert(id, (new, first));
        }

        /// Time passes, and everything whose deadline has come runs out, the earliest first.
        fn pass(&mut self, micros: u64) {
            self.now += micros;
            let now = Instant::from_micros(self.now);
            while let Some(id) = self.real.pop(now) {
                let (deadline, _) = self.model.remove(&id).expect("only what runs runs out");
                assert!(deadline <= now, "{id} runs out early");
                assert!(self.model.values().all(|other| other.0 >= deadline), "the earliest first");
                self.tidy();
            }
            assert!(self.model.values().all(|deadlines| deadlines.0 > now), "everything over has run out");
        }

        fn tidy(&mut self) {
            let model = &self.model;
            let held = u32::try_from(model.len()).unwrap();
            let holds = |deadline, id| model.get(&id).is_some_and(|deadlines| deadlines.0 == deadline);
            self.real.tidy(held, holds);
        }
    }

    proptest! {
        #[test]
        fn deadlines_are_those_of_a_list_that_is_searched(events in prop::collection::vec(event(), 1..400)) {
            let mut pair = Pair::default();
            events.into_iter().for_each(|event| pair.play(event));
            pair.pass(LIFE + 300);
            prop_assert!(pair.model.is_empty());
        }
    }
}
