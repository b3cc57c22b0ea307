use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::net::{BoxFuture, Io, Net, ResolveError};

/// The machine's own network: `getaddrinfo` and TCP.
///
/// At most [`SystemNet::LOOKUPS`] look-ups run at once, also those whose asker has given up, since a blocking
/// look-up cannot be stopped. Clones share this bound.
#[derive(Clone, Debug)]
pub struct SystemNet {
    lookups: Arc<Semaphore>,
}

impl SystemNet {
    /// Look-ups that run at once (our choice: each holds a thread).
    pub const LOOKUPS: usize = 32;

    /// A network with its own bound on look-ups.
    #[must_use]
    pub fn new() -> Self {
        Self { lookups: Arc::new(Semaphore::new(Self::LOOKUPS)) }
    }
}

impl Default for SystemNet {
    fn default() -> Self {
        Self::new()
    }
}

impl Net for SystemNet {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, ResolveError>> {
        Box::pin(async move {
            if never_exists(host) {
                return Err(ResolveError::NoSuchName);
            }
            let temporary = |cause: &dyn std::fmt::Display| ResolveError::Temporary(cause.to_string());
            let place = Arc::clone(&self.lookups).acquire_owned().await.map_err(|closed| temporary(&closed))?;
            let name = host.to_owned();
            let look_up = tokio::task::spawn_blocking(move || {
                let _place = place;
                (name.as_str(), 0).to_socket_addrs().map(|found| found.map(|addr| addr.ip()).collect::<Vec<_>>())
            });
            let answer = look_up.await.map_err(|stopped| temporary(&stopped))?;
            answer.map_err(|error| lookup_error(host, &error))
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
fn never_exists(host: &str) -> bool {
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

/// Tells the errors of `getaddrinfo` apart. std keeps its code only as the text of `gai_strerror`; what is not known
/// here counts as temporary, so that no site is given up by mistake.
fn lookup_error(host: &str, error: &io::Error) -> ResolveError {
    const NO_NAME: [&str; 4] = [
        "Name or service not known",      // glibc EAI_NONAME
        "nodename nor servname provided", // Apple and BSD EAI_NONAME
        "Name does not resolve",          // musl EAI_NONAME
        "No such host is known",          // Windows WSAHOST_NOT_FOUND
    ];
    const NO_ADDRESS: [&str; 2] = ["No address associated with", "Name has no usable address"]; // EAI_NODATA
    let text = error.to_string();
    if NO_NAME.iter().any(|known| text.contains(known)) {
        ResolveError::NoSuchName
    } else if NO_ADDRESS.iter().any(|known| text.contains(known)) {
        ResolveError::NoAddress
    } else if is_reserved(host) {
        // Without a resolver in reach the answer is "try again"; for these names no later answer can differ.
        ResolveError::NoSuchName
    } else {
        ResolveError::Temporary(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_getaddrinfo_are_told_apart() {
        let temporary = |text: &str| ResolveError::Temporary(text.to_owned());
        let again = "failed to lookup address information: Temporary failure in name resolution";
        let rows = [
            ("a.com", "failed to lookup address information: Name or service not known", ResolveError::NoSuchName),
            (
                "a.com",
                "failed to lookup address information: No address associated with hostname",
                ResolveError::NoAddress,
            ),
            ("a.com", again, temporary(again)),
            ("a.com", "something new", temporary("something new")),
            ("a.test", again, ResolveError::NoSuchName),
            ("test.com", again, temporary(again)),
        ];
        for (host, text, expected) in rows {
            assert_eq!(lookup_error(host, &io::Error::other(text)), expected, "{host}: {text}");
        }
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
        let addresses = SystemNet::new().resolve("localhost").await.unwrap();
        assert!(addresses.iter().all(IpAddr::is_loopback) && !addresses.is_empty(), "{addresses:?}");
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = server.local_addr().unwrap();
        let (client, _) = tokio::join!(SystemNet::new().connect(addr), server.accept());
        assert!(client.is_ok());
    }
}
