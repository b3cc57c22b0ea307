use std::collections::HashMap;
use std::future::pending;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use comity_fetch::{BoxFuture, Io, Net, ResolveError, Resolved};
use comity_policy::WallTime;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::live::Live;
use crate::log::Ends;
use crate::tap::Carrier;
use crate::{ConnectFault, Observer, Web};

/// Bytes in flight in each direction of a connection in memory.
const PIPE_BYTES: usize = 64 * 1024;

/// What a web in memory believes the time to be when it is put up: 2026-11-30 00:00 UTC.
const EPOCH: WallTime = WallTime::from_unix_millis(1_795_996_800_000);

/// The network of a web in memory: names, addresses and connections exist only inside this process.
///
/// Obeys tokio's clock: under paused time hours of crawling take moments. Every connection's server runs in a task of
/// the runtime that connects. Cloning copies pointers.
#[derive(Clone, Debug)]
pub struct MemoryNet {
    live: Arc<Live>,
    names: Arc<HashMap<String, IpAddr>>,
    /// Each address with the first site on it.
    sites: Arc<HashMap<SocketAddr, usize>>,
    faults: Arc<Mutex<Faults>>,
    connections: Arc<Semaphore>,
    ports: Arc<AtomicU16>,
}

#[derive(Debug, Default)]
struct Faults {
    connect: HashMap<IpAddr, ConnectFault>,
    resolve: HashMap<String, ResolveError>,
    moved: HashMap<String, IpAddr>,
}

impl Web {
    /// Puts the web up in memory: the network for a crawler, and the observer for its test.
    ///
    /// Origins are `http://oN.demo.test` or the sites' own names, addresses are 10.64.0.1 and up or the sites' own: a
    /// client with an address guard has to allow 10.0.0.0/8, or the sites are given public addresses.
    #[must_use]
    pub fn in_memory(&self) -> (MemoryNet, Observer) {
        let spec = self.spec.clone();
        let layout = spec.memory.clone();
        let names = layout.names().into_iter().filter_map(|(name, all)| Some((name, *all.first()?))).collect();
        let sites = layout.listeners().into_iter().filter_map(|(at, sites)| Some((at, *sites.first()?))).collect();
        let connections = Arc::new(Semaphore::new(spec.limits.connections));
        let epoch = spec.epoch.unwrap_or(EPOCH);
        let live = Live::new(spec, layout, epoch);
        let net = MemoryNet {
            live: live.clone(),
            names: Arc::new(names),
            sites: Arc::new(sites),
            faults: Arc::default(),
            connections,
            ports: Arc::new(AtomicU16::new(1024)),
        };
        (net, Observer::new(live))
    }
}

impl MemoryNet {
    /// Sets how connecting to an address fails from now on, or with `None` as its site says again.
    pub fn set_connect_fault(&self, address: IpAddr, fault: Option<ConnectFault>) {
        let faults = &mut self.faults.lock().unwrap_or_else(PoisonError::into_inner).connect;
        match fault {
            Some(fault) => faults.insert(address, fault),
            None => faults.remove(&address),
        };
    }

    /// Sets how resolving a name fails from now on, or with `None` that it works again.
    pub fn set_resolve_fault(&self, host: &str, fault: Option<ResolveError>) {
        let faults = &mut self.faults.lock().unwrap_or_else(PoisonError::into_inner).resolve;
        match fault {
            Some(fault) => faults.insert(host.to_owned(), fault),
            None => faults.remove(host),
        };
    }

    /// Sets where a name leads from now on, or with `None` that it leads to its site again. Nothing answers at an address that
    /// is no site's.
    pub fn set_address(&self, host: &str, address: Option<IpAddr>) {
        let moved = &mut self.faults.lock().unwrap_or_else(PoisonError::into_inner).moved;
        match address {
            Some(address) => moved.insert(host.to_owned(), address),
            None => moved.remove(host),
        };
    }

    fn look_up(&self, host: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        match faults.resolve.get(host) {
            Some(fault) => Err(fault.clone()),
            None => {
                let address = faults.moved.get(host).or_else(|| self.names.get(host));
                address.map(|address| vec![*address]).ok_or(ResolveError::NoSuchName)
            }
        }
    }

    fn connect_fault(&self, address: IpAddr, site: usize) -> Option<ConnectFault> {
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.connect.get(&address).copied().or_else(|| self.live.spec.site(site)?.connect_fault)
    }

    async fn dial(self, address: SocketAddr) -> io::Result<Box<dyn Io>> {
        let site = *self.sites.get(&address).ok_or(io::ErrorKind::ConnectionRefused)?;
        let fault = self.connect_fault(address.ip(), site);
        if fault == Some(ConnectFault::Hang) {
            return pending().await;
        }
        if let Some(latency) = self.live.spec.site(site).map(|site| site.connect_latency).filter(|l| !l.is_zero()) {
            sleep(latency).await;
        }
        let reset_after = match fault {
            Some(ConnectFault::Refused) => return Err(io::ErrorKind::ConnectionRefused.into()),
            Some(ConnectFault::Reset(bytes)) => Some(bytes),
            Some(ConnectFault::Hang) | None => None,
        };
        let place = self.connections.acquire_owned().await.map_err(io::Error::other)?;
        let (near, far) = duplex(PIPE_BYTES);
        let reset = Arc::new(AtomicBool::new(false));
        let port = self.ports.fetch_add(1, Ordering::Relaxed);
        let ends = Ends { peer: SocketAddr::new(Ipv4Addr::new(192, 0, 2, 1).into(), port), local: address };
        let server = MemoryStream { pipe: far, reset: reset.clone() };
        tokio::spawn(async move {
            self.live.serve(server, ends, reset_after).await;
            drop(place);
        });
        Ok(Box::new(MemoryStream { pipe: near, reset }))
    }
}

impl Net for MemoryNet {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Resolved, ResolveError>> {
        let found = self.look_up(host).map(Resolved::from);
        Box::pin(async move { found })
    }

    fn connect(&self, addr: SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Io>>> {
        Box::pin(self.clone().dial(addr))
    }
}

/// One end of a connection in memory. The server's end can make the client's see a reset instead of an end.
#[derive(Debug)]
struct MemoryStream {
    pipe: DuplexStream,
    reset: Arc<AtomicBool>,
}

impl Carrier for MemoryStream {
    fn abort(&mut self) {
        self.reset.store(true, Ordering::Release);
    }
}

impl AsyncRead for MemoryStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.pipe).poll_read(cx, buffer))?;
        let ended = buffer.filled().len() == before && buffer.remaining() > 0;
        if ended && self.reset.load(Ordering::Acquire) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for MemoryStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(cx)
    }
}
