use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use comity_fetch::{BoxFuture, Io, Net, ResolveError, Resolved};
use comity_testweb::MemoryNet;
use comity_testweb::hostile::HostileNet;

use crate::faults::perhaps_panic;

/// The network of a run: the web, and beside it the hostile sites.
#[derive(Clone, Debug)]
pub(crate) struct SimNet {
    web: MemoryNet,
    hostile: HostileNet,
    inside: Arc<AtomicU64>,
    /// Of a hundred calls so many panic.
    panics: u64,
    seed: u64,
    calls: Arc<AtomicU64>,
}

impl SimNet {
    pub(crate) fn new((web, hostile): (MemoryNet, HostileNet), (seed, panics): (u64, u64)) -> Self {
        Self { web, hostile, inside: Arc::default(), panics, seed, calls: Arc::default() }
    }

    fn perhaps_panic(&self) {
        perhaps_panic(self.seed, 3, self.calls.fetch_add(1, Ordering::Relaxed), self.panics);
    }

    /// Connections to where no site may lead a crawler.
    pub(crate) fn inside(&self) -> u64 {
        self.inside.load(Ordering::Relaxed)
    }
}

/// Where hostile sites are, and nothing else: the one inner network that is open to the crawl.
pub(crate) const HOSTILE_NETWORK: &str = "10.66.0.0/16";

fn is_hostile(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(v4) if v4.octets().starts_with(&[10, 66]))
}

/// The documentation networks in which sites of the web are, or are not.
fn is_of_the_web(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(v4) if v4.octets().starts_with(&[203, 0]))
}

impl Net for SimNet {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Resolved, ResolveError>> {
        self.perhaps_panic();
        if host.ends_with(".hostile.test") { self.hostile.resolve(host) } else { self.web.resolve(host) }
    }

    fn connect(&self, addr: SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Io>>> {
        self.perhaps_panic();
        if is_hostile(addr.ip()) {
            return self.hostile.connect(addr);
        }
        self.inside.fetch_add(u64::from(!is_of_the_web(addr.ip())), Ordering::Relaxed);
        self.web.connect(addr)
    }
}
