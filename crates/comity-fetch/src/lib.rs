//! The HTTP client: every door takes a permit.

mod clock;
mod coding;
mod config;
mod connect;
mod dead;
mod deadline;
mod fault;
mod fetcher;
mod guard;
mod head;
mod intake;
mod link;
mod names;
mod net;
mod pool;
mod request;
mod sink;
mod system;
mod tap;
mod tls;
mod visit;

pub use clock::{SystemClock, SystemRandom};
pub use config::{ConfigError, FetchConfig, Limits};
pub use fetcher::{Fetched, Fetcher, Request};
pub use guard::AddressGuard;
pub use names::Refused;
pub use net::{BoxFuture, Io, Net, ResolveError};
pub use sink::{Collect, HeadOnly, ResponseHead, Sink, Want};
pub use system::SystemNet;
