//! What a frontier holds, page by page: for people who look at a crawl, and for moving one.

use comity_policy::Reason;
use comity_url::Origin;

use crate::{QueuedUrl, Waiting, Why};

/// Part of a list, and where the next part begins.
///
/// A page may be shorter than what was asked for, and even empty, while there is more: a call looks at a bounded number of
/// rows. The list is over when `next` is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T, C> {
    /// The rows, in the order of the list.
    pub rows: Vec<T>,
    /// To be handed to the next call; `None` when this was the last page.
    pub next: Option<C>,
}

/// Which origins [`Frontier::origins`](crate::Frontier::origins) lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OriginFilter {
    /// Those with URLs in the queue, leased ones among them.
    #[default]
    Queued,
    /// Those of them that time alone does not make due: parked, or held until told.
    Stuck,
    /// Every origin that ever had a URL.
    All,
}

/// An origin: what waits with it and for what, and what became of the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginStanding {
    /// What it waits for, and how many URLs wait with it.
    pub waiting: Waiting,
    /// URLs under a lease.
    pub leased: u64,
    /// URLs fetched and settled.
    pub done: u64,
    /// URLs settled as refused.
    pub refused: u64,
    /// URLs settled as failed for good.
    pub failed: u64,
}

/// Where a URL stands in the queue: by origin, within one by priority, within one in the order of arrival.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueuePlace {
    /// Its origin.
    pub origin: Origin,
    /// Its priority: 0 first.
    pub priority: u8,
    /// Its number among the URLs of the origin, in the order in which they were taken.
    pub sequence: u64,
}

/// A URL of the queue, leased or not, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedAt {
    /// Where.
    pub place: QueuePlace,
    /// The URL; `None` for a record that cannot be read.
    pub url: Option<QueuedUrl>,
}

impl OriginStanding {
    /// URLs in the queue, leased ones among them.
    #[must_use]
    pub const fn queued(&self) -> u64 {
        self.waiting.queued + self.leased
    }

    /// True when URLs wait and time alone makes none of them due.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        let told = !matches!(self.waiting.why, Why::AwaitingRobots | Why::Reason(Reason::Ok));
        self.waiting.queued > 0 && self.leased == 0 && self.waiting.until.is_none() && told
    }
}

impl OriginFilter {
    pub(crate) fn lets(self, standing: &OriginStanding) -> bool {
        match self {
            Self::Queued => standing.queued() > 0,
            Self::Stuck => standing.is_stuck(),
            Self::All => true,
        }
    }
}
