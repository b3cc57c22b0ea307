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
    pub(super) fn tidy(&mut self, held: u32, holds: impl Fn(Instant, LeaseId) -> bool) {
        while self.queue.pop_front_if(|(deadline, id)| !holds(*deadline, *id)).is_some() {}
        if self.queue.len() > 2 * held as usize + SLACK {
            self.queue.retain(|(deadline, id)| holds(*deadline, *id));
        }
    }
}
