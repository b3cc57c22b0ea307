use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::dns::Dns;
use crate::net::{BoxFuture, Io, Net, ResolveError, Resolved};

/// The machine's own network: DNS and TCP.
///
/// Names are looked up in the hosts file, then asked of the name servers that the system names (`/etc/resolv.conf`,
/// read at the first look-up), A and AAAA at once, each name as it stands: search domains are not tried. At most
/// [`SystemNet::LOOKUPS`] look-ups run at once, the others wait. Each ends after two tries of 3 s. A name server has
/// up to two tasks of the runtime, one for each socket in use; they sleep until an answer comes. Clones share all this.
#[derive(Clone, Debug)]
pub struct SystemNet {
    dns: Arc<Dns>,
    lookups: Arc<Semaphore>,
}

impl SystemNet {
    /// Look-ups that run at once (our choice: each may hold two sockets).
    pub const LOOKUPS: usize = 64;

    /// The machine's network, with its own bound on look-ups.
    #[must_use]
    pub fn new() -> Self {
        Self::over(Dns::default())
    }

    /// Asks these name servers, over UDP and TCP, and neither those of the machine nor its hosts file.
    #[must_use]
    pub fn asking(servers: &[SocketAddr]) -> Self {
        Self::over(Dns::asking(servers))
    }

    fn over(dns: Dns) -> Self {
        Self { dns: Arc::new(dns), lookups: Arc::new(Semaphore::new(Self::LOOKUPS)) }
    }
}

impl Default for SystemNet {
    fn default() -> Self {
        Self::new()
    }
}

impl Net for SystemNet {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Resolved, ResolveError>> {
        Box::pin(async move {
            if never_exists(host) {
                return Err(ResolveError::NoSuchName);
            }
            let closed = |error: tokio::sync::AcquireError| ResolveError::Temporary(error.to_string());
            let _place = self.lookups.acquire().await.map_err(closed)?;
            self.dns.look_up(host).await.map_err(|error| final_if_reserved(host, error))
        })
    }

    fn connect(&self, addr: SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Io>>> {
        Box::pin(async move {
            let stream = TcpStream::connect(addr).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Io>)
        })
    }
}

/// Names that no resolver may be asked for: `.invalid` (RFC 6761 §6.4), `.onion` (RFC 7686 §2), `.alt` (RFC 9476 §2).
pub(crate) fn never_exists(host: &str) -> bool {
    has_top_label(host, &["invalid", "onion", "alt"])
}

/// Names that the public DNS never has, but a hosts file or a private resolver may (RFC 6761 §6.2, §6.5).
fn is_reserved(host: &str) -> bool {
    has_top_label(host, &["test", "example"])
}

fn has_top_label(host: &str, labels: &[&str]) -> bool {
    let top = host.rsplit('.').next().unwrap_or(host);
    labels.iter().any(|label| label.eq_ignore_ascii_case(top))
}

/// Without a resolver in reach the answer is "not now"; for reserved names no later answer can differ.
fn final_if_reserved(host: &str, error: ResolveError) -> ResolveError {
    match error {
        ResolveError::Temporary(_) | ResolveError::Timeout if is_reserved(host) => ResolveError::NoSuchName,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    #[test]
    fn reserved_names_are_not_waited_for() {
        for passing in [ResolveError::Timeout, ResolveError::Temporary("x".into())] {
            assert_eq!(final_if_reserved("a.test", passing.clone()), ResolveError::NoSuchName);
            assert_eq!(final_if_reserved("test.com", passing.clone()), passing);
        }
        assert_eq!(final_if_reserved("a.test", ResolveError::NoAddress), ResolveError::NoAddress);
    }

    #[tokio::test]
    async fn names_that_never_exist_are_not_asked_for() {
        for host in ["nothing.invalid", "a.b.INVALID", "invalid", "x.onion", "y.alt"] {
            assert_eq!(SystemNet::new().resolve(host).await, Err(ResolveError::NoSuchName), "{host}");
        }
        assert!(!never_exists("invalid.com") && !never_exists("notinvalid"));
    }

    #[tokio::test]
    async fn loopback_names_resolve_and_connect() {
        let addresses = SystemNet::new().resolve("localhost").await.unwrap().addresses;
        assert!(addresses.iter().all(IpAddr::is_loopback) && !addresses.is_empty(), "{addresses:?}");
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = server.local_addr().unwrap();
        let (client, _) = tokio::join!(SystemNet::new().connect(addr), server.accept());
        assert!(client.is_ok());
    }
}
