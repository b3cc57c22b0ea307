//! URLs known but not yet fetched, and the order in which their origins come due.

mod config;
mod frontier;
mod key;
mod lease;
mod local;
mod memory;
mod offer;
mod queued;
mod scheduler;
mod settlement;
mod stats;
mod store;
mod summary;

pub use config::SchedulerConfig;
pub use frontier::{BoxFuture, Frontier, FrontierError};
pub use lease::{Lease, LeaseId, Leased, RefusedLease, Renewal, Renewed};
pub use local::Local;
pub use memory::MemoryStore;
pub use offer::{Offer, Offered};
pub use queued::{QueuedUrl, RecordError};
pub use scheduler::{Candidate, Expired, Fill, LeasedUrl, Scheduler, Step, StoredUrl};
pub use settlement::{Settled, Settlement, TurnNews};
pub use stats::{Stats, Waiting, Why};
pub use store::{Keyspace, Row, Store, StoreError, WriteBatch};
pub use summary::{Ending, Summary};
