use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use comity_fetch::{BoxFuture, Io, Net, ResolveError, Resolved};

use super::{Hostile, Scenario};

/// A network in memory: every scenario is the site `NAME.hostile.test`, at an address of 10.66.0.0/16 of its own.
///
/// The name `rebind.hostile.test` is at the address of [`Scenario::Good`] when it is first asked for, and at 127.0.0.1
/// from then on; `inside.hostile.test` is always there.
#[derive(Clone, Debug)]
pub struct HostileNet {
    hostile: Hostile,
    rebound: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

/// Bytes in flight in each direction of a connection.
const PIPE_BYTES: usize = 64 << 10;

impl HostileNet {
    pub(super) fn new(hostile: Hostile) -> Self {
        Self { hostile, rebound: Arc::default(), connections: Arc::default() }
    }

    /// Connections so far, to all sites.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    fn address(index: usize) -> IpAddr {
        let index = u16::try_from(index).unwrap_or_default();
        let [high, low] = index.to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(10, 66, high, low))
    }

    fn look_up(&self, host: &str) -> Result<IpAddr, ResolveError> {
        if host == "rebind.hostile.test" {
            let first = self.rebound.fetch_add(1, Ordering::Relaxed) == 0;
            return Ok(if first { Self::address(0) } else { IpAddr::V4(Ipv4Addr::LOCALHOST) });
        }
        if host == "inside.hostile.test" {
            return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        let index = Scenario::ALL.iter().position(|scenario| scenario.host() == host);
        index.map(Self::address).ok_or(ResolveError::NoSuchName)
    }
}

impl Net for HostileNet {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Resolved, ResolveError>> {
        let found = self.look_up(host).map(|address| Resolved::from(vec![address]));
        Box::pin(async move { found })
    }

    fn connect(&self, addr: SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Io>>> {
        let scenario = Scenario::ALL.iter().enumerate().find(|(index, _)| Self::address(*index) == addr.ip());
        let Some((_, &scenario)) = scenario else {
            return Box::pin(async { Err(io::ErrorKind::ConnectionRefused.into()) });
        };
        self.connections.fetch_add(1, Ordering::Relaxed);
        let hostile = self.hostile.clone();
        Box::pin(async move {
            let (near, far) = tokio::io::duplex(PIPE_BYTES);
            tokio::spawn(async move { hostile.serve(scenario, far).await });
            Ok(Box::new(near) as Box<dyn Io>)
        })
    }
}
