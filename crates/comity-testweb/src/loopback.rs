use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use comity_fetch::{BoxFuture, SystemClock};
use comity_policy::Clock;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::layout::{Layout, Placement};
use crate::live::Live;
use crate::log::Ends;
use crate::tap::Carrier;
use crate::{ConnectFault, Observer, Web};

/// How many ports are tried until one is free on every address.
const ATTEMPTS: usize = 16;
/// Wait after an accept that failed: too many open files, mostly.
const PAUSE: Duration = Duration::from_millis(20);

/// A web that is up on loopback, until it is dropped or [`shutdown`](Self::shutdown).
///
/// Dereferences to its [`Observer`]: log, audit, expected URLs.
#[derive(Debug)]
pub struct Served {
    observer: Observer,
    port: u16,
    names: BTreeMap<String, Vec<IpAddr>>,
    tasks: JoinSet<()>,
}

type Listeners = Vec<(TcpListener, SocketAddr, Option<ConnectFault>)>;

impl Web {
    /// As [`serve_loopback`](Self::serve_loopback), on a port of the caller's choice; 0 lets the system choose.
    ///
    /// # Errors
    /// What binding reports, when the port is taken on one of the addresses among others.
    pub async fn serve_loopback_on(&self, port: u16) -> io::Result<Served> {
        if port == 0 {
            return self.serve_loopback().await;
        }
        match self.try_serve(Placement::Addresses, port).await {
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                self.try_serve(Placement::Names, port).await
            }
            served => served,
        }
    }

    /// Puts the web up on loopback: origin *i* is an address of 127.0.0.0/8, all on one port that the system chooses.
    /// A client with an address guard has to allow 127.0.0.0/8. Where those addresses do not exist, as [`serve_names`](Self::serve_names).
    ///
    /// # Errors
    /// What binding reports, when no port was free on all addresses in 16 tries, or files ran out (one for each address).
    pub async fn serve_loopback(&self) -> io::Result<Served> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            match self.try_serve(Placement::Addresses, 0).await {
                Ok(served) => return Ok(served),
                Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => return self.serve_names().await,
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
    }

    /// Puts the web up on 127.0.0.1 alone: origins are names (`oN.demo.test`), told apart by the Host field. A client
    /// needs [`Served::names`] as its resolve map.
    ///
    /// # Errors
    /// What binding reports.
    pub async fn serve_names(&self) -> io::Result<Served> {
        self.try_serve(Placement::Names, 0).await
    }

    /// Boxed: the servers are compiled here, and not in every crate that puts one up.
    fn try_serve(&self, place: fn(u16) -> Placement, port: u16) -> BoxFuture<'_, io::Result<Served>> {
        Box::pin(self.put_up(place, port))
    }

    async fn put_up(&self, place: fn(u16) -> Placement, port: u16) -> io::Result<Served> {
        let first = Layout::new(&self.spec.sites, place(0)).map_err(io::Error::other)?;
        let probe = first.address(0).map_or_else(|| IpAddr::from(Ipv4Addr::LOCALHOST), |address| address.ip());
        let probe = TcpListener::bind((probe, port)).await?;
        let port = probe.local_addr()?.port();
        let layout = Layout::new(&self.spec.sites, place(port)).map_err(io::Error::other)?;
        let listeners = self.bind(&layout, probe).await?;
        let names = layout.names();
        let epoch = self.spec.epoch.unwrap_or_else(|| SystemClock::new().wall());
        let live = Live::new(self.spec.clone(), Arc::new(layout), epoch);
        let connections = Arc::new(Semaphore::new(self.spec.limits.connections));
        let mut tasks = JoinSet::new();
        for (listener, local, fault) in listeners {
            tasks.spawn(accept(live.clone(), listener, local, fault, connections.clone()));
        }
        Ok(Served { observer: Observer::new(live), port, names, tasks })
    }

    /// A listener for every address; none where nothing shall listen.
    async fn bind(&self, layout: &Layout, probe: TcpListener) -> io::Result<Listeners> {
        let mut listeners = Vec::new();
        let bound = probe.local_addr()?;
        let mut probe = Some(probe);
        for (local, sites) in layout.listeners() {
            let fault = sites.first().and_then(|site| self.spec.site(*site)?.connect_fault);
            let ready = if local == bound { probe.take() } else { None };
            if fault == Some(ConnectFault::Refused) {
                continue;
            }
            let listener = match ready {
                Some(listener) => listener,
                None => TcpListener::bind(local).await?,
            };
            listeners.push((listener, local, fault));
        }
        Ok(listeners)
    }
}

impl Served {
    /// The origins, by site number: `http://127.64.0.1:40123`.
    #[must_use]
    pub fn origins(&self) -> Vec<String> {
        self.observer.origins()
    }

    /// The port that all origins have.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Addresses of the origins that have names: the resolve map for a client.
    #[must_use]
    pub const fn names(&self) -> &BTreeMap<String, Vec<IpAddr>> {
        &self.names
    }

    /// The observer, to be kept beyond the server.
    #[must_use]
    pub fn observer(&self) -> Observer {
        self.observer.clone()
    }

    /// Ends all listeners and connections and gives the observer.
    pub async fn shutdown(mut self) -> Observer {
        self.tasks.shutdown().await;
        self.observer
    }
}

impl Deref for Served {
    type Target = Observer;

    fn deref(&self) -> &Observer {
        &self.observer
    }
}

async fn accept(
    live: Arc<Live>,
    listener: TcpListener,
    local: SocketAddr,
    fault: Option<ConnectFault>,
    places: Arc<Semaphore>,
) {
    // Dropped with this task, and every connection with it.
    let mut connections = JoinSet::new();
    while let Ok(place) = places.clone().acquire_owned().await {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, peer)) => {
                connections.spawn(converse(live.clone(), stream, Ends { peer, local }, fault, place));
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}

async fn converse(
    live: Arc<Live>,
    stream: TcpStream,
    ends: Ends,
    fault: Option<ConnectFault>,
    place: OwnedSemaphorePermit,
) {
    // A response in two writes would otherwise wait for an acknowledgement.
    let _ = stream.set_nodelay(true);
    match fault {
        Some(ConnectFault::Hang) => {
            sleep(crate::reply::SILENCE).await;
            drop(stream);
        }
        Some(ConnectFault::Reset(bytes)) => live.serve(stream, ends, Some(bytes)).await,
        Some(ConnectFault::Refused) | None => live.serve(stream, ends, None).await,
    }
    drop(place);
}

impl Carrier for TcpStream {
    fn abort(&mut self) {
        let _ = self.set_zero_linger();
    }
}
