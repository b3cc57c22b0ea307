use std::future::Future;
use std::time::Duration;

use comity_policy::{Clock, Instant, Reason};

/// When a wait ends, and what its end is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline {
    at: Instant,
    reason: Reason,
}

impl Deadline {
    pub(crate) fn after(from: Instant, wait: Duration, reason: Reason) -> Self {
        Self { at: from.after(wait), reason }
    }

    /// The earlier of two; the first at a tie.
    pub(crate) fn or(self, other: Self) -> Self {
        if other.at < self.at { other } else { self }
    }

    /// Waits for `work` until the deadline; `work` is polled at least once.
    pub(crate) async fn bound<T>(self, clock: &dyn Clock, work: impl Future<Output = T>) -> Result<T, Reason> {
        self.bound_from(clock.now(), work).await
    }

    /// [`Deadline::bound`] where the time is known.
    pub(crate) async fn bound_from<T>(self, now: Instant, work: impl Future<Output = T>) -> Result<T, Reason> {
        tokio::time::timeout(self.at.since(now), work).await.map_err(|_elapsed| self.reason)
    }
}
