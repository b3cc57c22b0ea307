//! An HTTP client that knows nothing of comity, over a web in memory.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use comity_fetch::{FetchConfig, Fetcher, Net as _, SystemClock};
use comity_gate::{Gate, GateConfig, Polite, PoliteLayer};
use comity_policy::{Identity, Politeness, SeededRandom, WallTime};
use comity_testweb::{MemoryNet, Observer, Site, Web};
use http::header::{HOST, USER_AGENT};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tower_layer::Layer as _;
use tower_service::Service;

pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type Client = Polite<Foreign>;

/// A web, a gate before it, and a client of somebody else.
pub(crate) struct Room {
    pub(crate) gate: Gate,
    pub(crate) observer: Observer,
    foreign: Foreign,
}

impl Room {
    pub(crate) fn client(&self) -> Foreign {
        self.foreign.clone()
    }

    pub(crate) fn polite(&self) -> Client {
        PoliteLayer::new(self.gate.clone()).layer(self.client())
    }

    /// Connections that the foreign client has opened.
    pub(crate) fn connects(&self) -> u64 {
        self.foreign.connects.load(Ordering::Relaxed)
    }
}

pub(crate) fn room(sites: impl IntoIterator<Item = Site>) -> Room {
    room_for(sites, 10_000)
}

pub(crate) fn room_for(sites: impl IntoIterator<Item = Site>, max_waiting: usize) -> Room {
    let web = sites.into_iter().fold(Web::builder(1), comity_testweb::WebBuilder::site).build().unwrap();
    let (net, observer) = web.in_memory();
    let clock = Arc::new(SystemClock::paused_at(WallTime::from_unix_millis(1_796_000_000_000)));
    let own = vec!["10.0.0.0/8".parse().unwrap()];
    let identity = Identity::new("TestBot/1.0", "a@example.com", &[], Vec::new()).unwrap();
    let mut fetch = FetchConfig::new(identity.user_agent());
    fetch.allow_addresses.clone_from(&own);
    let fetcher = Fetcher::new(Arc::new(net.clone()), clock.clone(), fetch).unwrap();
    let foreign = Foreign { net, user_agent: identity.user_agent(), connects: Arc::default() };
    let config = GateConfig {
        max_waiting,
        politeness: Politeness { own_networks: own, ..Politeness::default() },
        ..GateConfig::new(identity)
    };
    let gate = Gate::new(fetcher, clock, Arc::new(SeededRandom::new(1)), config);
    Room { gate, observer, foreign }
}

pub(crate) fn get(url: &str) -> Request<Empty<Bytes>> {
    Request::get(url).body(Empty::new()).unwrap()
}

/// One connection for each request.
#[derive(Clone, Debug)]
pub(crate) struct Foreign {
    net: MemoryNet,
    user_agent: String,
    connects: Arc<AtomicU64>,
}

impl Foreign {
    async fn send(self, mut request: Request<Empty<Bytes>>) -> Result<Response<Incoming>, Error> {
        let uri = request.uri().clone();
        let host = uri.host().ok_or("no host")?;
        let address = *self.net.resolve(host).await?.addresses.first().ok_or("no address")?;
        self.connects.fetch_add(1, Ordering::Relaxed);
        let io = self.net.connect(SocketAddr::new(address, uri.port_u16().unwrap_or(80))).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(io)).await?;
        tokio::spawn(connection);
        *request.uri_mut() = Uri::from(uri.path_and_query().ok_or("no path")?.clone());
        let authority = uri.authority().ok_or("no authority")?;
        request.headers_mut().insert(HOST, HeaderValue::from_str(authority.as_str())?);
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_str(&self.user_agent)?);
        Ok(sender.send_request(request).await?)
    }
}

impl Service<Request<Empty<Bytes>>> for Foreign {
    type Response = Response<Incoming>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Empty<Bytes>>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}

/// Polls a future so many times, then drops it; true when it was done before.
pub(crate) async fn dropped_after(polls: usize, future: impl Future) -> bool {
    let mut future = pin!(future);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(false);
        }
        left -= 1;
        future.as_mut().poll(context).map(|_| true)
    })
    .await
}
