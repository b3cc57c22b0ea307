use std::fmt;

use comity_policy::{Instant, Reason};
use comity_url::Origin;

use crate::Spent;

/// What a frontier holds.
///
/// `seen = queued + leased + done + refused + failed + damaged`, always.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// URLs that wait.
    pub queued: u64,
    /// URLs under a lease, refused ones that are not yet settled among them.
    pub leased: u64,
    /// URLs ever taken.
    pub seen: u64,
    /// URLs fetched and settled.
    pub done: u64,
    /// URLs settled as refused.
    pub refused: u64,
    /// URLs settled as failed for good.
    pub failed: u64,
    /// Queue records that cannot be read: left in the store, never leased.
    pub damaged: u64,
    /// URLs that come again: each is among the done, refused and failed ones.
    pub scheduled: u64,
    /// URLs that came again since the start.
    pub returned: u64,
    /// When the first of those that come again is due; `None` when none is, or none shall ([`SchedulerConfig::epoch`](crate::SchedulerConfig::epoch)).
    pub next_visit: Option<Instant>,
    /// Pages and body bytes of all settlements, over all runs.
    pub spent: Spent,
    /// Origins known, empty ones too.
    pub origins: u64,
    /// Origins with waiting URLs that only an event can make due: parked or held until told.
    pub stuck: u64,
    /// Offers turned away by a budget since the start.
    pub turned_away: u64,
    /// Leases that ended at their deadline since the start.
    pub expired: u64,
    /// Settlements that came too late to count since the start.
    pub stale: u64,
    /// When the next origin, or the next visit of a URL, is due; not after `now` when one is due already. `None`: time alone makes none due.
    pub next_due: Option<Instant>,
    /// Origins that wait, the earliest first, then those that are stuck: as many as the settings list.
    pub waiting: Vec<Waiting>,
}

/// An origin that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The origin.
    pub origin: Origin,
    /// What for.
    pub why: Why,
    /// Until when; `None`: until told.
    pub until: Option<Instant>,
    /// URLs that wait with it.
    pub queued: u64,
}

/// What an origin waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its robots.txt is being fetched.
    AwaitingRobots,
    /// A clock, a park or a hold.
    Reason(Reason),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AwaitingRobots => f.write_str("robots.txt is being fetched"),
            Self::Reason(reason) => reason.fmt(f),
        }
    }
}
