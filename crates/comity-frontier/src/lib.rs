//! URLs known but not yet fetched, and the order in which their origins come due.

mod config;
mod frontier;
mod lease;
mod memory;
mod offer;
mod settlement;
mod stats;
mod store;

pub use config::SchedulerConfig;
pub use frontier::{BoxFuture, Frontier, FrontierError};
pub use lease::{Lease, LeaseId, Leased, RefusedLease, Renewal, Renewed};
pub use memory::MemoryStore;
pub use offer::{Offer, Offered};
pub use settlement::{Settled, Settlement, TurnNews};
pub use stats::{Stats, Waiting, Why};
pub use store::{Keyspace, Row, Store, StoreError, WriteBatch};
