use comity_policy::{Instant, OriginPace, Turn};
use comity_url::{Origin, UrlKey};

use super::leases::{Closed, Errand, Held, Late, Spot};
use super::origin::OriginState;
use super::shelf::{Entry, Shelf};
use super::{Scheduler, turn_at};
use crate::{LeaseId, Renewal, Renewed, Settlement};

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
    /// False when the lease expired, and the URL waits again.
    pub runs: bool,
}

impl Scheduler {
    /// What a lease stands for; `None` when it has ended and its URL has moved on.
    #[must_use]
    pub fn leased(&self, lease: LeaseId) -> Option<LeasedUrl<'_>> {
        let (spot, key, runs) = self.leases.look(lease)?;
        let origin = self.particulars.get(spot.origin as usize)?.origin.as_ref()?;
        Some(LeasedUrl { origin, priority: spot.priority, sequence: spot.sequence, key, runs })
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
            self.with(index, |state, _| {
                state.heads = state.heads.saturating_sub(u16::from(was_outstanding));
                state.tell(turn);
            });
        }
        if let Some(deadline) = change.deadline {
            self.leases.postpone(lease, deadline);
        }
        Renewed::Held
    }

    /// Ends one lease whose deadline has passed; its URL is due again with the origin's told turn. A fetch counts as
    /// an attempt, which is to be written. Call until `None`.
    pub fn expire(&mut self, now: Instant) -> Option<Expired> {
        self.advance(now);
        let held = self.leases.expire(self.latest)?;
        self.since_start.expired += 1;
        let (spot, errand) = (held.spot, held.errand);
        let origin = self.particulars.get(spot.origin as usize)?.origin.clone()?;
        self.with(spot.origin, |state, shelf| {
            state.vacate(errand);
            state.take_back(shelf, spot, None);
        });
        let Spot { priority, sequence, .. } = spot;
        Some(Expired { origin, priority, sequence, is_attempt: errand != Errand::Refusal })
    }

    /// Everything changes at once: an origin that was not eligible for a moment would lose its place among those that
    /// are due.
    #[inline]
    fn settle_held(&mut self, held: Held, settlement: &Settlement) {
        let (spot, errand) = (held.spot, held.errand);
        let index = spot.origin;
        match settlement {
            Settlement::Done { pace, turn, .. }
            | Settlement::Failed { pace, turn, .. }
            | Settlement::Again { told: Some((pace, turn)), .. } => self.with(index, |state, _| {
                state.vacate(errand);
                state.learn(*pace, *turn);
            }),
            Settlement::Refused { .. } | Settlement::Again { told: None, .. } => {
                self.with(index, |state, _| state.vacate(errand))
            }
            Settlement::Retry { pace, turn, not_before, .. } => {
                let defer = Some(*not_before).filter(|at| *at > self.latest);
                self.with(index, |state, shelf| {
                    state.vacate(errand);
                    state.take_back(shelf, spot, defer);
                    state.learn(*pace, *turn);
                });
            }
            Settlement::Snooze { pace, turn, until, reason, .. } => {
                self.with(index, |state, shelf| {
                    state.vacate(errand);
                    state.take_back(shelf, spot, None);
                    state.learn(*pace, *turn);
                    state.tell(turn_at(*turn, *until, *reason));
                });
            }
        }
    }

    /// The URL waits again already: it is taken out, or stays.
    fn settle_late(&mut self, late: Late, settlement: &Settlement) {
        let spot = late.spot;
        match settlement {
            Settlement::Done { pace, turn, .. }
            | Settlement::Failed { pace, turn, .. }
            | Settlement::Again { told: Some((pace, turn)), .. } => {
                self.forget(late);
                self.with(spot.origin, |state, _| state.learn(*pace, *turn));
            }
            Settlement::Refused { .. } | Settlement::Again { told: None, .. } => self.forget(late),
            Settlement::Retry { pace, turn, .. } => self.with(spot.origin, |state, _| state.learn(*pace, *turn)),
            Settlement::Snooze { pace, turn, until, reason, .. } => self.with(spot.origin, |state, _| {
                state.learn(*pace, *turn);
                state.tell(turn_at(*turn, *until, *reason));
            }),
        }
    }

    /// Takes a waiting URL out.
    fn forget(&mut self, late: Late) {
        let Late { spot, .. } = late;
        self.with(spot.origin, |state, shelf| state.queue.forget(shelf, spot.priority, spot.sequence));
    }
}

impl OriginState {
    /// Frees what a lease held.
    #[inline]
    fn vacate(&mut self, errand: Errand) {
        let (head, open) = match errand {
            Errand::Head => (1, 1),
            Errand::Body => (0, 1),
            Errand::Refusal => (0, 0),
        };
        self.heads = self.heads.saturating_sub(head);
        self.open = self.open.saturating_sub(open);
        self.out = self.out.saturating_sub(1);
    }

    /// Takes in what the pacer says after a settlement.
    #[inline]
    fn learn(&mut self, pace: OriginPace, turn: Turn) {
        self.set_pace(pace);
        self.tell(turn);
    }

    /// Puts the URL of an ended lease back to its place, or among the retries that wait for `defer`.
    fn take_back(&mut self, shelf: &mut Shelf, spot: Spot, defer: Option<Instant>) {
        match defer {
            Some(at) => {
                self.change_rare(|rare| rare.deferred.insert((at, spot.priority, spot.sequence)));
            }
            None => self.queue.put(shelf, spot.priority, Entry { sequence: spot.sequence, queued: None }),
        }
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
    /// It was a fetch, which counts as an attempt; false for a refusal that nobody recorded.
    pub is_attempt: bool,
}
