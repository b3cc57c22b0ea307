use std::fmt;

use comity_policy::{Allowance, Instant, OriginPace, Refusal, Turn};
use comity_url::{CrawlUrl, Origin};

use crate::Visited;

/// Names one lease: a place in the frontier's table and how often that place was used before.
///
/// Never reused within 2³² uses of a place, so that a late answer cannot end somebody else's lease.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(u64);

/// The right to fetch one URL until a deadline.
#[derive(Debug)]
pub struct Lease {
    /// Ends it with a [`Settlement`](crate::Settlement).
    pub id: LeaseId,
    /// The URL.
    pub url: CrawlUrl,
    /// Links followed from the nearest seed.
    pub depth: u32,
    /// Redirects in a row so far.
    pub hops: u8,
    /// The page that named it.
    pub via: Option<CrawlUrl>,
    /// Given by the operator.
    pub seed: bool,
    /// Priority within its origin: 0 first.
    pub priority: u8,
    /// Which attempt this is, 1 for the first.
    pub attempt: u32,
    /// What earlier visits have shown.
    pub visited: Option<Box<Visited>>,
    /// From here on somebody else may get the URL: abandon the fetch before.
    pub deadline: Instant,
    /// What was last told about the origin's pace: the pacer adopts it.
    pub pace: OriginPace,
    /// Body bytes received of the origin before, over all runs.
    pub received: u64,
    /// The judge's answer: half of a permit.
    pub allowance: Allowance,
}

/// A URL that its judge refused: it costs no turn and no delay.
///
/// It stays queued until it is settled [`Settlement::Refused`](crate::Settlement::Refused), after its record was
/// written; unsettled at the lease's deadline it is judged again.
#[derive(Clone, Debug)]
pub struct RefusedLease {
    /// Ends it.
    pub id: LeaseId,
    /// The URL.
    pub url: CrawlUrl,
    /// Links followed from the nearest seed.
    pub depth: u32,
    /// Redirects in a row so far.
    pub hops: u8,
    /// The page that named it.
    pub via: Option<CrawlUrl>,
    /// Given by the operator.
    pub seed: bool,
    /// Priority within its origin: 0 first.
    pub priority: u8,
    /// Attempts made before it was refused.
    pub attempts: u32,
    /// What earlier visits have shown.
    pub visited: Option<Box<Visited>>,
    /// Why, with the evidence for its record.
    pub refusal: Refusal,
}

/// What a call of [`Frontier::lease`](crate::Frontier::lease) gave.
#[must_use = "leases that are dropped come back only at their deadline"]
#[derive(Debug, Default)]
pub struct Leased {
    /// To fetch now.
    pub leases: Vec<Lease>,
    /// To record and settle.
    pub refused: Vec<RefusedLease>,
    /// Origins whose robots.txt has to be fetched first. Each is told once and waits until
    /// [`Frontier::turn`](crate::Frontier::turn) says how that ended; if nothing is said for long, it is told again.
    pub needs_robots: Vec<Origin>,
    /// When to ask again if nothing happens before: the next due origin or the next deadline of a lease. Not after
    /// `now` when more is due than was asked for. `None`: time alone makes nothing due.
    pub wake_at: Option<Instant>,
}

/// A change of a lease that goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Renewal {
    /// The new deadline; `None` leaves it.
    pub deadline: Option<Instant>,
    /// The response head arrived, and this is the origin's turn from there: from `ready.at` on it may be leased
    /// again, so that bodies overlap up to `per_origin`.
    pub head: Option<Turn>,
}

/// Whether a renewed lease is still held.
#[must_use = "a stale lease may be held by somebody else: abandon its fetch"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// It is, with the change.
    Held,
    /// It ended: settled, expired or unknown.
    Stale,
}

impl LeaseId {
    /// The lease whose [`LeaseId::to_u64`] is `token`.
    #[must_use]
    pub const fn from_u64(token: u64) -> Self {
        Self(token)
    }

    /// As a number, for logs and wire formats.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeaseId({self})")
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 & 0xffff_ffff, self.0 >> 32)
    }
}

impl Renewal {
    /// Moves the deadline.
    #[must_use]
    pub const fn until(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), head: None }
    }

    /// Tells that the response head arrived.
    #[must_use]
    pub const fn head_arrived(turn: Turn) -> Self {
        Self { deadline: None, head: Some(turn) }
    }
}
