//! URLs known but not yet fetched, and the order in which their origins come due.
//!
//! What it is: the trait [`Frontier`], against which the engine is written; the pure [`Scheduler`], which knows which
//! origin is due; and [`Local`], which drives it over a [`Store`] and makes every change one atomic commit. A waiting
//! URL costs its record in the store and nothing else.
//!
//! What it is not: it fetches nothing, reads no clock, and computes no delay. An origin is due at the one instant
//! that the pacer told with its last settlement. It does not decide either: every URL goes through a
//! [`Judge`](comity_policy::Judge) right before it is leased.
//!
//! ```
//! use comity_frontier::{Frontier, Local, Offer, Offered, SchedulerConfig};
//! use comity_policy::{Instant, Judge, Judgement};
//! use comity_url::{CrawlUrl, KeyHasher};
//!
//! /// Knows no robots.txt yet: fails closed.
//! struct Nothing;
//! impl Judge for Nothing {
//!     fn judge(&self, url: &CrawlUrl) -> Judgement {
//!         Judgement::NeedsRobots(url.origin().clone())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let frontier = Local::in_memory(SchedulerConfig::default());
//! let hasher = KeyHasher::new([7; 16]);
//! let url = CrawlUrl::parse("https://example.test/")?;
//! let seed = Offer::seed(url.clone(), hasher.key(&url));
//! assert_eq!(frontier.offer(vec![seed.clone(), seed]).await?, [Offered::New, Offered::Seen]);
//!
//! let leased = frontier.lease(16, &Nothing, Instant::START).await?;
//! assert!(leased.leases.is_empty());
//! assert_eq!(leased.needs_robots, [url.origin().clone()], "robots.txt first, then pages");
//! # Ok(())
//! # }
//! ```
//!
//! # The life of a URL
//!
//! | word | what happens |
//! |---|---|
//! | offer | marked seen and queued in one commit, or [`Offered::Seen`], or refused by a budget |
//! | lease | its origin is due and the judge allows it: somebody may fetch it until a deadline. Not written: after a kill it is simply queued |
//! | settle done | leaves the queue in the same commit in which its links enter it |
//! | settle retry | stays in its place, the attempt counted, not due before its own instant |
//! | settle snooze | stays in its place, the attempt not counted, the origin waits |
//! | settle refused, failed | leaves the queue; its state in the seen-set says how it ended |
//! | settle again | leaves the queue like one that is done, refused or failed, and comes back at a time of its own; the time outlives the process |
//! | renew | the deadline moves, or the head has arrived and bodies may overlap |
//! | park, release | the operator stops and restarts an origin |
//! | stats | counts, the next due instant, who waits for what |
//! | origins, urls, seen | everything it holds, page by page |
//!
//! | module | what it holds |
//! |---|---|
//! | `frontier` | [`Frontier`], [`FrontierError`] |
//! | `offer`, `lease`, `settlement`, `stats`, `listing` | the values that go in and out |
//! | `class` | [`Classes`]: which origins get more turns when more is due than can be served |
//! | `config` | [`SchedulerConfig`]: every bound |
//! | `scheduler` | [`Scheduler`]: due origins, leases, the URLs held ready |
//! | `local` | [`Local`]: the scheduler over a store, inline or on a thread |
//! | `store`, `batch`, `memory`, `disk` | [`Store`], the key-value contract, and [`WriteBatch`]; [`MemoryStore`], `DiskStore` (feature `disk`) |
//! | `records` | [`RecordMark`]: how far the records have come that a power cut may take |
//! | `seen` | the seen-set: fingerprints in memory |
//! | `revisit` | [`Revisit`], [`Visited`], [`Hint`]: URLs that are visited anew; [`RevisitPolicy`]: when |
//! | `key`, `queued`, `summary`, `rest`, `totals` | the stored forms, versioned |

mod batch;
mod class;
mod config;
#[cfg(feature = "disk")]
mod disk;
mod frontier;
mod key;
mod lease;
mod listing;
mod local;
mod memory;
mod offer;
mod queued;
mod records;
mod rest;
mod revisit;
mod scheduler;
mod seen;
mod settlement;
mod stats;
mod store;
mod summary;
mod totals;
mod user_data;

pub use batch::WriteBatch;
pub use class::{Class, Classes};
pub use config::SchedulerConfig;
#[cfg(feature = "disk")]
pub use disk::{DiskSettings, DiskStore, Forget};
pub use frontier::{BoxFuture, Frontier, FrontierError};
pub use lease::{Lease, LeaseId, Leased, RefusedLease, Renewal, Renewed};
pub use listing::{OriginFilter, OriginStanding, Page, QueuePlace, QueuedAt};
pub use local::{Local, OtherRules};
pub use memory::MemoryStore;
pub use offer::{Offer, Offered};
pub use queued::{QueuedUrl, RecordError};
pub use records::RecordMark;
pub use revisit::{
    CaptureRef, Finding, GONE_FOR_GOOD, Hint, Intervals, LONGEST_VALIDATOR, NextVisit, Revisit, RevisitPolicy,
    Scheduled, VisitPlace, Visited,
};
pub use scheduler::{Candidate, Expired, Fill, LeasedUrl, QueueLimits, Scheduler, Step, StoredUrl};
pub use seen::SeenBits;
pub use settlement::{Settled, Settlement, Spent, TurnNews};
pub use stats::{Stats, Waiting, Why};
pub use store::{Keyspace, Row, Store, StoreError};
pub use summary::{Ending, Lane, Summary};
pub use user_data::{UserData, UserDataTooLong};
