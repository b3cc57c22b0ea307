use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::{Hostile, Scenario};

/// A scenario on a port of loopback; dropped, it takes no more connections.
#[derive(Debug)]
pub struct Listening {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

/// Connections of one scenario at most, over its whole life.
const MOST: usize = 10_000;

impl Listening {
    pub(super) async fn new(hostile: Hostile, scenario: Scenario, address: IpAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((address, 0)).await?;
        let address = listener.local_addr()?;
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let accepting = tokio::spawn(async move {
            while count.load(Ordering::Relaxed) < MOST {
                let Ok((stream, _)) = listener.accept().await else { return };
                count.fetch_add(1, Ordering::Relaxed);
                let hostile = hostile.clone();
                tokio::spawn(async move { hostile.serve(scenario, prepared(scenario, stream)).await });
            }
        });
        Ok(Self { address, connections, accepting })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Where hanging up is the point, it is done by a reset.
fn prepared(scenario: Scenario, stream: TcpStream) -> TcpStream {
    let resets = [
        Scenario::HangUp,
        Scenario::ResetAfterRequest,
        Scenario::ResetInHead,
        Scenario::ResetInBody,
        Scenario::TlsReset,
        Scenario::Http2HangUp,
        Scenario::Http2ResetInBody,
    ];
    if resets.contains(&scenario) {
        // Without it the client sees an ordinary end, which is a scenario as well.
        let _set = stream.set_zero_linger();
    }
    stream
}
