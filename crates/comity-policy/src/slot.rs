use std::any::Any;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use comity_url::Origin;

use crate::{Instant, Pacer, Random, Ready, Reason};

/// The right to send one request to one origin now. Only the [`Pacer`] makes it; it cannot be cloned.
///
/// It holds a drop guard: dropped unsent it charges nothing; dropped after the first written byte it counts as
/// "failed now", so that no delay is ever cut short by a cancelled future.
pub struct Slot {
    origin: Origin,
    candidates: Vec<SocketAddr>,
    charged: Option<IpAddr>,
    minted: Instant,
    /// From here on the hours of the day forbid what they allowed when it was minted.
    closes: Option<Instant>,
    sent: Option<Instant>,
    state: SlotState,
    pacer: Pacer,
    /// Given back together with the slot: a place of the total concurrency, for instance.
    attached: Vec<Box<dyn Any + Send + Sync>>,
}

/// How far the exchange of a slot got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotState {
    /// Nothing was written.
    Minted,
    /// At least one byte of the request was written.
    Written,
    /// The response head arrived.
    Headed,
    /// It ended without a head, and the end is on the books.
    Failed { written: bool },
}

impl Slot {
    pub(crate) fn new(
        origin: Origin,
        candidates: Vec<SocketAddr>,
        (charged, closes): (Option<IpAddr>, Option<Instant>),
        minted: Instant,
        pacer: Pacer,
    ) -> Self {
        let (sent, state, attached) = (None, SlotState::Minted, Vec::new());
        Self { origin, candidates, charged, minted, closes, sent, state, pacer, attached }
    }

    /// The origin it was minted for.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The checked addresses in the order of preference; empty behind a proxy that resolves.
    #[must_use]
    pub fn candidates(&self) -> &[SocketAddr] {
        &self.candidates
    }

    /// When it was minted.
    #[must_use]
    pub const fn minted(&self) -> Instant {
        self.minted
    }

    /// Ties something to the slot that is dropped with it.
    pub fn attach(&mut self, held: impl Any + Send + Sync) {
        self.attached.push(Box::new(held));
    }

    pub(crate) const fn sent(&self) -> Option<Instant> {
        self.sent
    }

    pub(crate) const fn state(&self) -> SlotState {
        self.state
    }

    /// Charges `peer` instead of the first candidate.
    pub(crate) fn charge(&mut self, peer: IpAddr, now: Instant) -> Result<(), Ready> {
        if self.state == SlotState::Minted && self.charged != Some(peer) {
            self.pacer.table().recharge((&self.pacer.rules(), &self.origin), self.charged, peer, now)?;
            self.charged = Some(peer);
        }
        Ok(())
    }

    /// Whether the hours of the day still allow what they allowed when it was minted.
    pub(crate) fn may_write(&self, now: Instant) -> Result<(), Ready> {
        match self.closes {
            Some(closes) if closes <= now && self.state == SlotState::Minted => {
                Err(Ready { at: now, clock: Reason::RateVisitTime })
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn mark_written(&mut self, now: Instant) {
        self.mark_written_between(now, now);
    }

    /// The origin's clocks count from `earliest`, the address's from `latest`.
    pub(crate) fn mark_written_between(&mut self, earliest: Instant, latest: Instant) {
        if self.state == SlotState::Minted {
            self.state = SlotState::Written;
            self.sent = Some(earliest);
            self.pacer.table().on_written(self.charged, latest);
        }
    }

    pub(crate) fn mark_head(&mut self, now: Instant) {
        if matches!(self.state, SlotState::Minted | SlotState::Written) {
            self.mark_written(now);
            self.state = SlotState::Headed;
            let latency = self.sent.map(|sent| now.since(sent));
            self.end_wait(now, latency);
        }
    }

    pub(crate) fn mark_failed(&mut self, now: Instant, random: &dyn Random) {
        if matches!(self.state, SlotState::Minted | SlotState::Written) {
            self.state = SlotState::Failed { written: self.state == SlotState::Written };
            self.pacer.table().on_head(&self.origin, now, None, random);
        }
    }

    fn end_wait(&self, now: Instant, latency: Option<Duration>) {
        self.pacer.table().on_head(&self.origin, now, latency, self.pacer.random());
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.pacer.table().on_drop(&self.origin, self.charged, self.state);
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("origin", &self.origin)
            .field("candidates", &self.candidates)
            .field("minted", &self.minted)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
