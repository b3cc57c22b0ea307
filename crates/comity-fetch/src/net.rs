use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A stream of bytes in both directions. Implemented for everything that fits.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// Where names and bytes come from (invariant 13): the machine's network, or one in memory.
///
/// Address guard, TLS, pool and limits sit above it; an implementation decides nothing. Waits are bounded by the
/// caller, which drops the future when it has waited long enough.
pub trait Net: Send + Sync + fmt::Debug {
    /// Every address of `host`, a lower-case name without brackets, port or trailing dot, in the order of preference.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Resolved, ResolveError>>;

    /// A plain byte stream to exactly `addr`.
    fn connect(&self, addr: SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Io>>>;
}

/// What a name stands for, and for how long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// In the order of preference.
    pub addresses: Vec<IpAddr>,
    /// The shortest life among the records (RFC 2181 §5.2), as received; `None` when the source tells none.
    pub life: Option<Duration>,
}

impl From<Vec<IpAddr>> for Resolved {
    fn from(addresses: Vec<IpAddr>) -> Self {
        Self { addresses, life: None }
    }
}

/// Why a name gave no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolveError {
    /// The name does not exist: final for now, `fetch.dns`.
    NoSuchName,
    /// The name exists and has no address: `fetch.dns` as well.
    NoAddress,
    /// The resolver could not say; what it said. `fetch.dns.timeout`: worth another try later.
    Temporary(String),
    /// The resolver did not answer in time: `fetch.dns.timeout`.
    Timeout,
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchName => f.write_str("the name does not exist"),
            Self::NoAddress => f.write_str("the name has no address"),
            Self::Temporary(cause) => write!(f, "name resolution failed for now: {cause}"),
            Self::Timeout => f.write_str("name resolution took too long"),
        }
    }
}

impl std::error::Error for ResolveError {}
