use comity_policy::{Instant, OriginPace, Turn};
use comity_url::{Origin, UrlKey};

use super::classes::Entry;
use super::leases::{Closed, Errand, Held, Late};
use super::{Scheduler, turn_at};
use crate::{LeaseId, QueuedUrl, Renewal, Renewed, Settlement};

/// A lease as the store has to know it.
#[derive(Clone, Copy, Debug)]
pub struct LeasedUrl<'a> {
    /// The origin.
    pub origin: &'a Origin,
    /// The priority.
    pub priority: u8,
    /// Its place within the priority.
    pub sequence: u64,
    /// The fingerprint.
    pub key: UrlKey,
    /// The URL; `None` when the lease expired, and the URL waits again.
    pub queued: Option<&'a QueuedUrl>,
}

impl Scheduler {
    /// What a lease stands for; `None` when it has ended and its URL has moved on.
    #[must_use]
    pub fn leased(&self, lease: LeaseId) -> Option<LeasedUrl<'_>> {
        let (spot, key, queued) = self.leases.look(lease)?;
        let origin = &self.origins.get(spot.origin as usize)?.origin;
        Some(LeasedUrl { origin, priority: spot.priority, sequence: spot.sequence, key, queued })
    }

    /// Takes in how a lease ended, after its effects on the store were committed. The links are the store's business.
    pub fn settle(&mut self, settlement: &Settlement, now: Instant) {
        self.advance(now);
        match (self.leases.close(settlement.lease()), settlement) {
            (None, _) => self.since_start.stale += 1,
            (Some(Closed::Held(held)), settlement) => self.settle_held(held, settlement),
            (Some(Closed::Late(late)), settlement) => self.settle_late(late, settlement),
        }
    }

    /// Counts a settlement that came too late to count.
    pub const fn stale(&mut self) {
        self.since_start.stale += 1;
    }

    /// Moves the deadline of a lease, or tells that its head arrived, or both.
    pub fn renew(&mut self, lease: LeaseId, change: Renewal, now: Instant) -> Renewed {
        self.advance(now);
        let Some(held) = self.leases.held_mut(lease) else { return Renewed::Stale };
        let index = held.spot.origin;
        if let Some(turn) = change.head {
            let was_outstanding = held.errand == Errand::Head;
            if was_outstanding {
                held.errand = Errand::Body;
            }
            self.with(index, |state| {
                state.heads = state.heads.saturating_sub(u32::from(was_outstanding));
                state.tell(turn);
            });
        }
        if let Some(deadline) = change.deadline {
            self.leases.postpone(lease, deadline);
        }
        Renewed::Held
    }

    /// Ends one lease whose deadline has passed; its URL is due again with the origin's told turn. A fetch counts as
    /// an attempt: then the record to write is given. Call until `None`.
    pub fn expire(&mut self, now: Instant) -> Option<Expired> {
        self.advance(now);
        let held = self.leases.expire(self.latest)?;
        self.since_start.expired += 1;
        let origin = held.queued.url.origin().clone();
        let (priority, sequence) = (held.spot.priority, held.spot.sequence);
        let failed = held.errand != Errand::Refusal;
        let queued = self.give_back(held, u32::from(failed), None);
        Some(Expired { origin, priority, sequence, record: failed.then_some(queued) })
    }

    /// The place is freed first and the turn told then: told while the head still counts as outstanding, the origin
    /// would not be eligible for a moment, and lose its place among those that are due.
    fn settle_held(&mut self, held: Held, settlement: &Settlement) {
        let index = held.spot.origin;
        match settlement {
            Settlement::Done { pace, turn, .. } | Settlement::Failed { pace, turn, .. } => {
                self.vacate(&held);
                self.tell(index, *pace, *turn);
            }
            Settlement::Refused { .. } => self.vacate(&held),
            Settlement::Retry { pace, turn, not_before, .. } => {
                let defer = Some(*not_before).filter(|at| *at > self.latest);
                self.give_back(held, 1, defer);
                self.tell(index, *pace, *turn);
            }
            Settlement::Snooze { pace, turn, until, reason, .. } => {
                self.give_back(held, 0, None);
                self.tell(index, *pace, *turn);
                self.tell(index, *pace, turn_at(*turn, *until, *reason));
            }
        }
    }

    /// The URL waits again already: it is taken out, or stays.
    fn settle_late(&mut self, late: Late, settlement: &Settlement) {
        let spot = late.spot;
        match settlement {
            Settlement::Done { pace, turn, .. } | Settlement::Failed { pace, turn, .. } => {
                self.forget(late);
                self.tell(spot.origin, *pace, *turn);
            }
            Settlement::Refused { .. } => self.forget(late),
            Settlement::Retry { pace, turn, .. } => self.tell(spot.origin, *pace, *turn),
            Settlement::Snooze { pace, turn, until, reason, .. } => {
                self.tell(spot.origin, *pace, *turn);
                self.tell(spot.origin, *pace, turn_at(*turn, *until, *reason));
            }
        }
    }

    fn tell(&mut self, index: u32, pace: OriginPace, turn: Turn) {
        self.with(index, |state| {
            state.pace = pace;
            state.tell(turn);
        });
    }

    /// Frees what a lease held of its origin.
    fn vacate(&mut self, held: &Held) {
        let (head, open) = match held.errand {
            Errand::Head => (1, 1),
            Errand::Body => (0, 1),
            Errand::Refusal => (0, 0),
        };
        self.with(held.spot.origin, |state| {
            state.heads = state.heads.saturating_sub(head);
            state.open = state.open.saturating_sub(open);
            state.out = state.out.saturating_sub(1);
        });
    }

    /// Puts the URL of an ended lease back to its place, or among the retries that wait for `defer`.
    fn give_back(&mut self, held: Held, attempts: u32, defer: Option<Instant>) -> QueuedUrl {
        self.vacate(&held);
        let Held { spot, mut queued, .. } = held;
        queued.attempts = queued.attempts.saturating_add(attempts);
        self.ready += u64::from(defer.is_none());
        self.with(spot.origin, |state| match defer {
            Some(at) => {
                state.deferred.insert((at, spot.priority, spot.sequence));
            }
            None => state.classes.put(spot.priority, Entry { sequence: spot.sequence, queued: queued.clone() }),
        });
        queued
    }

    /// Takes a waiting URL out.
    fn forget(&mut self, late: Late) {
        let Late { spot, .. } = late;
        let mut was_ready = false;
        self.with(spot.origin, |state| {
            was_ready = state.classes.forget(spot.priority, spot.sequence);
        });
        self.ready -= u64::from(was_ready);
    }
}

/// A lease that ended at its deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired {
    /// The origin.
    pub origin: Origin,
    /// The priority.
    pub priority: u8,
    /// Its place within the priority.
    pub sequence: u64,
    /// The record with the counted attempt; `None` for a refusal that nobody recorded.
    pub record: Option<QueuedUrl>,
}
