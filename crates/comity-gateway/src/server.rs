use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use comity_fetch::BoxFuture;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::Gateway;

/// The largest request head, in bytes and in fields, and how long it may take; also how long a connection may be idle
/// (gateway reference §4).
const MOST_HEAD_BYTES: usize = 64 << 10;
const MOST_FIELDS: usize = 100;
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Wait after an accept that failed: too many open files, mostly.
const PAUSE: Duration = Duration::from_millis(20);

/// What a connection speaks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// The forward proxy.
    Proxy,
    /// The decision API with `/livez` and `/readyz`.
    Api,
}

/// Whether a gateway goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// It takes requests.
    #[default]
    Serving,
    /// It finishes what is under way, then ends.
    Draining,
    /// It ends now.
    Stopped,
}

/// The bound listeners of a gateway.
#[derive(Debug)]
pub struct Listeners {
    proxy: TcpListener,
    api: Option<TcpListener>,
}

impl Listeners {
    /// The proxy's.
    #[must_use]
    pub const fn proxy(&self) -> &TcpListener {
        &self.proxy
    }

    /// The decision API's, if it is on.
    #[must_use]
    pub const fn api(&self) -> Option<&TcpListener> {
        self.api.as_ref()
    }
}

impl Gateway {
    /// Binds the listeners of the configuration.
    ///
    /// # Errors
    /// What binding reports, with the address.
    pub async fn bind(&self) -> io::Result<Listeners> {
        let config = &self.house.config;
        let bind = async |address| {
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{address}: {error}"));
            TcpListener::bind(address).await.map_err(named)
        };
        let api = match &config.api {
            Some(api) => Some(bind(api.listen).await?),
            None => None,
        };
        Ok(Listeners { proxy: bind(config.proxy).await?, api })
    }

    /// Serves until `phase` says otherwise: on [`Phase::Draining`] the proxy stops accepting, what is under way ends
    /// within the configured time while `/readyz` says so, and this returns; on [`Phase::Stopped`], or when the sender is
    /// gone, it returns at once.
    pub fn serve(&self, listeners: Listeners, phase: watch::Receiver<Phase>) -> BoxFuture<'_, ()> {
        Box::pin(self.served(listeners, phase))
    }

    async fn served(&self, listeners: Listeners, mut phase: watch::Receiver<Phase>) {
        let Listeners { proxy, api } = listeners;
        let most = self.house.config.max_connections.clamp(1, Semaphore::MAX_PERMITS);
        let door = |listener, surface| Door {
            gateway: self.clone(),
            listener,
            surface,
            places: Arc::new(Semaphore::new(most)),
            phase: phase.clone(),
        };
        let mut proxies = JoinSet::new();
        let mut apis = JoinSet::new();
        let api = api.map(|listener| door(listener, Surface::Api));
        let answering = async {
            match &api {
                Some(door) => door.open(&mut apis).await,
                None => std::future::pending().await,
            }
        };
        let (mut answering, mut keeping) = (pin!(answering), pin!(self.house.gate.keep_safe()));
        {
            let proxy = door(proxy, Surface::Proxy);
            tokio::select! {
                biased;
                _ = phase.wait_for(|phase| *phase != Phase::Serving) => {}
                () = answering.as_mut() => {}
                never = keeping.as_mut() => match never {},
                () = proxy.open(&mut proxies) => {}
            }
        }
        self.house.drain();
        let ended = async { while proxies.join_next().await.is_some() {} };
        tokio::select! {
            biased;
            () = stopped(phase) => {}
            () = answering => {}
            // What is learnt while it drains is as safe as before.
            never = keeping => match never {},
            _ = tokio::time::timeout(self.house.config.drain, ended) => {}
        }
        proxies.shutdown().await;
        self.house.gate.shutdown();
        self.house.gate.make_safe().await;
    }

    /// Serves one connection, whatever carries it, until it ends or `phase` says otherwise.
    pub async fn serve_io(
        &self,
        io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        surface: Surface,
        phase: watch::Receiver<Phase>,
    ) {
        let house = self.house.clone();
        let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let house = house.clone();
            async move {
                Ok::<_, Infallible>(match surface {
                    Surface::Proxy => house.proxy(request).await,
                    Surface::Api => house.api(request).await,
                })
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(MOST_HEAD_BYTES)
            .max_headers(MOST_FIELDS)
            .serve_connection(TokioIo::new(io), service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            // The API says until the end that the gateway drains.
            () = draining(phase), if surface == Surface::Proxy => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, ?surface, "a connection ended early");
        }
    }
}

/// One listener with its bound on connections.
struct Door {
    gateway: Gateway,
    listener: TcpListener,
    surface: Surface,
    places: Arc<Semaphore>,
    phase: watch::Receiver<Phase>,
}

impl Door {
    /// Accepts for ever, each connection in a task of its own; a connection waits until there is a place for it.
    async fn open(&self, connections: &mut JoinSet<()>) {
        loop {
            while connections.try_join_next().is_some() {}
            let Ok(place) = self.places.clone().acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    // A response in two writes would otherwise wait for an acknowledgement.
                    drop(stream.set_nodelay(true));
                    let (gateway, surface, phase) = (self.gateway.clone(), self.surface, self.phase.clone());
                    connections.spawn(async move {
                        gateway.serve_io(stream, surface, phase).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

/// Returns when the gateway no longer serves. A sender that is gone can say nothing: then never, whoever waits is ended
/// by [`Gateway::serve`].
async fn draining(mut phase: watch::Receiver<Phase>) {
    if phase.wait_for(|phase| *phase != Phase::Serving).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Returns when the gateway shall end now.
async fn stopped(mut phase: watch::Receiver<Phase>) {
    // The sender being gone means the same: nobody is left to say when.
    drop(phase.wait_for(|phase| *phase == Phase::Stopped).await);
}
