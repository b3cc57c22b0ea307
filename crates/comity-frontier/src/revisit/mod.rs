//! Visiting a URL anew: what is kept of it meanwhile, when it comes again, and how often a policy wants that.

mod policy;
mod row;
mod scheduled;
mod visited;

use std::time::Duration;

use comity_policy::WallTime;

pub use self::policy::{Finding, GONE_FOR_GOOD, Intervals, NextVisit, RevisitPolicy};
pub(crate) use self::row::{Row, due_key, due_until, index_key, time_of, visits_begin, visits_end};
pub use self::scheduled::{Scheduled, VisitPlace};
pub use self::visited::{CaptureRef, LONGEST_VALIDATOR, Visited};

/// The next visit of a URL whose lease ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revisit {
    /// When it is due. Civil time, since it may be long after the process has ended.
    pub at: WallTime,
    /// The priority within its origin that it will have.
    pub priority: u8,
    /// What is known of it by then.
    pub visited: Visited,
}

/// What somebody else says of a URL: the site's sitemap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// When it last changed. A URL that was visited before and waits for its next visit becomes due.
    pub modified: Option<WallTime>,
    /// How long from its first visit to the second.
    pub interval: Option<Duration>,
    /// Whatever is said, not within this of the last visit.
    pub least: Duration,
}
