//! The HTTP client: every door takes a permit.

mod clock;
mod config;
mod guard;
mod names;
mod net;
mod sink;
mod system;

pub use clock::{SystemClock, SystemRandom};
pub use config::{ConfigError, FetchConfig, Limits};
pub use guard::AddressGuard;
pub use names::Refused;
pub use net::{BoxFuture, Io, Net, ResolveError};
pub use sink::{Collect, HeadOnly, ResponseHead, Sink, Want};
pub use system::SystemNet;
