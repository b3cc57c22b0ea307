use comity_policy::{Instant, OriginPace, Reason, Turn};

use crate::{Ending, LeaseId, Offer, Offered, Revisit};

/// How a lease ended.
///
/// `pace` and `turn` are what the pacer says afterwards; the frontier keeps the first for the next lease and takes its
/// one instant from the second. Where two settlements tell different instants, the later holds.
#[derive(Clone, Debug)]
pub enum Settlement {
    /// Fetched and recorded. The page leaves the queue in the same commit in which its links enter it.
    Done {
        /// The lease.
        lease: LeaseId,
        /// What it links or redirects to.
        links: Vec<Offer>,
        /// The origin's pace now.
        pace: OriginPace,
        /// The origin's next turn.
        turn: Turn,
        /// What it cost.
        spent: Spent,
    },
    /// As [`Settlement::Done`], `Refused` or `Failed` by its ending, and it comes again: from the queue to the schedule, in the
    /// same commit.
    Again {
        /// The lease.
        lease: LeaseId,
        /// How this visit ended: under that its origin counts it until the next.
        ending: Ending,
        /// What it links or redirects to.
        links: Vec<Offer>,
        /// The origin's pace and next turn now; `None` when no turn was used.
        told: Option<(OriginPace, Turn)>,
        /// The next visit.
        revisit: Box<Revisit>,
        /// What it cost.
        spent: Spent,
    },
    /// It failed and shall be tried again: the attempt counts, the place in the queue stays.
    Retry {
        /// The lease.
        lease: LeaseId,
        /// The origin's pace now.
        pace: OriginPace,
        /// The origin's next turn.
        turn: Turn,
        /// This URL is not due before; other URLs of the origin are.
        not_before: Instant,
        /// What it cost.
        spent: Spent,
    },
    /// It must not be fetched: recorded, and out of the queue. No turn was used.
    Refused {
        /// The lease, or the refused lease.
        lease: LeaseId,
    },
    /// Its turn had not come: back to its place, the attempt not counted, and the whole origin waits.
    Snooze {
        /// The lease.
        lease: LeaseId,
        /// The origin's pace now.
        pace: OriginPace,
        /// The origin's next turn.
        turn: Turn,
        /// The origin is not due before, whatever `turn` says.
        until: Instant,
        /// What binds until then.
        reason: Reason,
    },
    /// It failed for good: recorded, and out of the queue.
    Failed {
        /// The lease.
        lease: LeaseId,
        /// The origin's pace now.
        pace: OriginPace,
        /// The origin's next turn.
        turn: Turn,
        /// What it cost.
        spent: Spent,
    },
}

/// What a lease cost, for budgets that outlive the process: counted in the commit that settles it.
///
/// A settlement that is stale counts nothing, and neither does a lease that a kill ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Pages fetched, in the sense of whoever settles: 0 or 1.
    pub pages: u64,
    /// Body bytes received.
    pub bytes: u64,
}

impl Settlement {
    /// The links that it brings.
    pub(crate) fn links(&self) -> &[Offer] {
        match self {
            Self::Done { links, .. } | Self::Again { links, .. } => links,
            _ => &[],
        }
    }

    /// What it cost.
    #[must_use]
    pub const fn spent(&self) -> Spent {
        match self {
            Self::Done { spent, .. }
            | Self::Again { spent, .. }
            | Self::Retry { spent, .. }
            | Self::Failed { spent, .. } => *spent,
            Self::Refused { .. } | Self::Snooze { .. } => Spent { pages: 0, bytes: 0 },
        }
    }

    /// The lease it ends.
    #[must_use]
    pub const fn lease(&self) -> LeaseId {
        match self {
            Self::Done { lease, .. }
            | Self::Again { lease, .. }
            | Self::Retry { lease, .. }
            | Self::Refused { lease }
            | Self::Snooze { lease, .. }
            | Self::Failed { lease, .. } => *lease,
        }
    }

    /// When its origin is due again by what it tells of it; `None` when it tells nothing.
    pub(crate) fn ready_at(&self) -> Option<Instant> {
        match self {
            Self::Done { turn, .. }
            | Self::Retry { turn, .. }
            | Self::Failed { turn, .. }
            | Self::Again { told: Some((_, turn)), .. } => Some(turn.ready.at),
            Self::Snooze { turn, until, .. } => Some(turn.ready.at.max(*until)),
            Self::Refused { .. } | Self::Again { told: None, .. } => None,
        }
    }
}

/// What became of a settlement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It holds. A lease that had expired counts, as long as nobody holds its URL again.
    Applied {
        /// What became of the links of [`Settlement::Done`] or [`Settlement::Again`], in their order; empty otherwise.
        links: Vec<Offered>,
    },
    /// The lease had ended and its URL has moved on: nothing was changed, and the links were not taken.
    Stale,
}

/// What was learnt about an origin outside a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnNews {
    /// robots.txt is known: judge its URLs from `turn` on. Replaces the instant told before, ends any hold.
    RobotsReady {
        /// The origin's next turn; the fetch of robots.txt counted as a request.
        turn: Turn,
    },
    /// robots.txt is known not to let us, for now: the origin waits, its URLs stay.
    Hold {
        /// Until when; `None`: until told.
        until: Option<Instant>,
        /// Why.
        reason: Reason,
    },
}
