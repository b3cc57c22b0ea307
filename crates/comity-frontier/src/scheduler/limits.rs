//! Bounds that may change while a crawl runs.

use super::Scheduler;
use crate::SchedulerConfig;

/// What of a [`SchedulerConfig`] may change while it is in force: see its fields of the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Leases of one origin at once.
    pub per_origin: u32,
    /// URLs taken per origin.
    pub pages_per_origin: u64,
    /// Body bytes received of an origin above which no URL of it is taken any more.
    pub bytes_per_origin: u64,
    /// URLs taken per registrable domain.
    pub pages_per_domain: u64,
    /// URLs queued per registrable domain.
    pub queued_per_domain: u64,
}

impl QueueLimits {
    /// Of each the lower one.
    #[must_use]
    pub fn narrower(self, other: Self) -> Self {
        Self {
            per_origin: self.per_origin.min(other.per_origin),
            pages_per_origin: self.pages_per_origin.min(other.pages_per_origin),
            bytes_per_origin: self.bytes_per_origin.min(other.bytes_per_origin),
            pages_per_domain: self.pages_per_domain.min(other.pages_per_domain),
            queued_per_domain: self.queued_per_domain.min(other.queued_per_domain),
        }
    }
}

impl SchedulerConfig {
    /// This one, with these limits.
    #[must_use]
    pub fn limited(self, limits: QueueLimits) -> Self {
        let QueueLimits { per_origin, pages_per_origin, bytes_per_origin, pages_per_domain, queued_per_domain } =
            limits;
        Self { per_origin, pages_per_origin, bytes_per_origin, pages_per_domain, queued_per_domain, ..self }
    }
}

impl Scheduler {
    /// Puts other limits in force. What is queued and what is leased stays; where more is out than a lower limit allows, the
    /// next lease of that origin waits for the ends of others. Cost: a look at each origin in memory.
    pub fn set_limits(&mut self, limits: QueueLimits) {
        self.widest = self.widest.max(limits.per_origin);
        self.config = self.config.clone().limited(limits);
        for index in 0..u32::try_from(self.origins.len()).unwrap_or(u32::MAX) {
            // Only where something is out the number of leases decides when the next one is due.
            if self.origins.get(index as usize).is_some_and(|state| state.open > 0) {
                self.with(index, |_, _| {});
            }
        }
    }
}
