use std::time::Duration;

use comity_policy::WallTime;

use crate::{Classes, SeenBits};

/// The bounds of a frontier. Every one has a named outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// Leases of one origin at once, 1 to 65,535. Default 1 (design §7).
    pub per_origin: u32,
    /// How long a lease lasts unless renewed. Default 2 min: longer than a fetch may take in all.
    pub lease_life: Duration,
    /// How long an origin waits to be told about its robots.txt before it is asked for again. Default 10 min.
    pub robots_patience: Duration,
    /// Leases at once in all, unsettled refusals among them: when they are out, nothing is leased. Default 65,536.
    pub leases: u32,
    /// Refusals handed out per call; the rest comes with the next call. Default 256.
    pub refusals_per_call: usize,
    /// URLs taken per origin, refused ones not counted; above it `url.budget.pages`. Default 100,000 (design §7).
    pub pages_per_origin: u64,
    /// Body bytes received of an origin above which no URL of it is taken any more: `url.budget.bytes`. What is queued is leased;
    /// the lease tells what was received. Default none.
    pub bytes_per_origin: u64,
    /// URLs taken per registrable domain, refused ones not counted; above it `url.budget.domain`. An address or a single label
    /// is a domain of its own, whatever its ports. Default none.
    pub pages_per_domain: u64,
    /// URLs queued per registrable domain; above it `url.budget.pending`. Those that come back to be visited anew are queued
    /// in any case. Default 1 million (our choice: a tenth of the whole queue, so that ten domains are needed to fill it).
    pub queued_per_domain: u64,
    /// URLs queued in all, with those that are to be visited anew; above it `url.budget.queue`. Default 10 million (our choice: 0.6 GB in the memory store).
    pub queued: u64,
    /// Origins known in all; a URL of one more is `url.budget.queue`. Default 1 million (about 300 MB).
    pub origins: u64,
    /// Origins in memory; beyond it those that are due last sleep in the store. Those with leases out come on top.
    /// Default 16,384.
    pub resident_origins: u32,
    /// How much of each fingerprint the seen-set keeps in memory. Default 64 bits.
    pub seen: SeenBits,
    /// URL records held ready per origin and priority. Default 64.
    pub resident_per_origin: u32,
    /// URL records held ready in all; near it origins are served record by record. Default 65,536 (about 17 MB of URLs of 76 bytes).
    pub resident: u32,
    /// Retries of one origin waiting for their own instant; when as many wait, the origin waits for the earliest.
    /// Default 256.
    pub deferred_per_origin: u32,
    /// Civil time at the start of the clock. URLs that are to be visited anew come back by it; without it those that a store
    /// holds stay where they are. Default none.
    pub epoch: Option<WallTime>,
    /// Which origins get more turns than others, or fewer, when more is due than can be served. Default: all alike.
    pub classes: Classes,
    /// Origins listed in [`Stats::waiting`](crate::Stats::waiting). Default 50.
    pub waiting_listed: usize,
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self {
            per_origin: 1,
            lease_life: Duration::from_secs(120),
            robots_patience: Duration::from_secs(600),
            leases: 65_536,
            refusals_per_call: 256,
            pages_per_origin: 100_000,
            bytes_per_origin: u64::MAX,
            pages_per_domain: u64::MAX,
            queued_per_domain: 1_000_000,
            queued: 10_000_000,
            origins: 1_000_000,
            resident_origins: 16_384,
            seen: SeenBits::Half,
            resident_per_origin: 64,
            resident: 65_536,
            deferred_per_origin: 256,
            epoch: None,
            classes: Classes::default(),
            waiting_listed: 50,
        }
    }
}
