use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use comity_policy::{Capture, Clock, Instant, Names, Outcome, Permit, Receipt, Vantage};
use comity_url::Origin;
use http::HeaderMap;
use rustls::ClientConfig;
use tracing::Instrument as _;

use crate::cookies::Jar;
use crate::dead::DeadPeers;
use crate::names::{self, NameCache};
use crate::net::{BoxFuture, Net};
use crate::pool::Pool;
use crate::proxy::Exits;
use crate::request::Own;
use crate::spool::Spooler;
use crate::visit::Visit;
use crate::{
    AddressGuard, Answer, ConfigError, Cookies, Dialed, FetchConfig, Forward, Refused, Sink, Tunnel, config, request,
    tls, tunnel,
};

/// The HTTP client. Clones share one pool of connections and one cache of names.
///
/// No request leaves without a permit, and a permit is spent by the request. This compiles, those below do not:
///
/// ```
/// async fn fine(fetcher: comity_fetch::Fetcher, permit: comity_policy::Permit, sink: &mut comity_fetch::Collect) {
///     fetcher.fetch(permit, sink).await;
/// }
/// ```
///
/// ```compile_fail
/// async fn no_permit(fetcher: comity_fetch::Fetcher, url: comity_url::CrawlUrl, sink: &mut comity_fetch::Collect) {
///     fetcher.fetch(url, sink).await; // a URL is no permit
/// }
/// ```
///
/// ```compile_fail
/// async fn twice(fetcher: comity_fetch::Fetcher, permit: comity_policy::Permit, sink: &mut comity_fetch::Collect) {
///     fetcher.fetch(permit.clone(), sink).await; // no Clone
///     fetcher.fetch(permit, sink).await;
/// }
/// ```
///
/// ```compile_fail
/// async fn no_door_without(fetcher: comity_fetch::Fetcher, url: comity_url::CrawlUrl) {
///     fetcher.dial(url).await; // nor is it one for a tunnel
/// }
/// ```
///
/// ```compile_fail
/// async fn two_doors(fetcher: comity_fetch::Fetcher, permit: comity_policy::Permit, post: comity_fetch::Forward) {
///     fetcher.send(permit, post).await;
///     fetcher.dial(permit).await; // moved
/// }
/// ```
///
/// ```compile_fail
/// async fn used(fetcher: comity_fetch::Fetcher, permit: comity_policy::Permit, sink: &mut comity_fetch::Collect) {
///     fetcher.fetch(permit, sink).await;
///     fetcher.fetch(permit, sink).await; // moved
/// }
/// ```
#[derive(Clone)]
pub struct Fetcher {
    house: Arc<House>,
}

/// What all exchanges of a fetcher share.
pub(crate) struct House {
    pub(crate) net: Arc<dyn Net>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) config: FetchConfig,
    pub(crate) guard: AddressGuard,
    pub(crate) tls: Arc<ClientConfig>,
    /// `None`: everything leaves directly.
    pub(crate) exits: Option<Exits>,
    #[cfg(feature = "proxy")]
    pub(crate) proxy_tls: Option<Arc<ClientConfig>>,
    pub(crate) pool: Mutex<Pool>,
    pub(crate) dead: DeadPeers,
    pub(crate) spooler: Spooler,
    pub(crate) own: Own,
    /// Cookies, where the configuration keeps any.
    pub(crate) jar: Option<Jar>,
    pub(crate) names: NameCache,
}

/// Optional parts of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// GET or HEAD.
    pub method: Method,
    /// What a proxy forwards: these fields instead of the fetcher's own Accept and Accept-Encoding, and its own
    /// User-Agent only where they have none. Host is always the URL's; fields that frame or route a message
    /// (Content-Length, Transfer-Encoding, Connection, Upgrade, TE, Trailer, Proxy-*, Keep-Alive, Expect) are left out.
    pub fields: Option<HeaderMap>,
    /// Value of If-None-Match: the ETag as received (RFC 9110 §13).
    pub if_none_match: Option<String>,
    /// Value of If-Modified-Since: the Last-Modified as received (RFC 9110 §13).
    pub if_modified_since: Option<String>,
    /// The largest body that is taken of this answer, instead of [`crate::Limits::max_body`]: for files of which only so
    /// much is read anyway.
    pub max_body: Option<u64>,
    /// Whether the fetcher's cookies are sent, and taken, where it keeps any.
    pub cookies: CookieUse,
}

/// Whether one request of our own has to do with [`Cookies::Memory`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CookieUse {
    /// Like a page. What is forwarded and what is fetched as robots.txt has nothing to do with them in any case.
    #[default]
    Jar,
    /// Neither sent nor taken: for files that say the same to everybody.
    None,
}

/// The methods that the door `fetch` knows: both safe, both without content (RFC 9110 §9.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// GET
    #[default]
    Get,
    /// HEAD
    Head,
}

/// How a fetch ended.
#[derive(Debug)]
pub struct Fetched {
    /// What was sent and received.
    pub capture: Capture,
    /// To be settled with the pacer; `None` for a permit that was stale, whose slot is given back already.
    pub receipt: Option<Receipt>,
    /// What the pacer has to know: answered whenever a response head came, failed otherwise.
    pub outcome: Outcome,
}

impl Fetcher {
    /// A fetcher over `net` whose time is `clock`.
    ///
    /// # Errors
    /// Settings that cannot work; see [`ConfigError`].
    pub fn new(net: Arc<dyn Net>, clock: Arc<dyn Clock>, config: FetchConfig) -> Result<Self, ConfigError> {
        config::check(&config)?;
        let tls = tls::client_config(&config, Arc::clone(&clock))?;
        let exits = Exits::of(&config);
        let house = House {
            #[cfg(feature = "proxy")]
            proxy_tls: exits.is_some().then(|| tls::towards_proxies(&tls)),
            tls,
            exits,
            guard: AddressGuard::new(config.allow_addresses.clone()),
            pool: Mutex::new(Pool::new(config.max_idle_per_origin, config.max_idle_total, config.idle_timeout)),
            dead: DeadPeers::default(),
            spooler: Spooler::new(config.spool_dir.as_deref(), config.spool_in_memory, config.spool_max),
            own: Own::of(&config),
            jar: (config.cookies == Cookies::Memory).then(Jar::default),
            names: NameCache::default(),
            net,
            clock,
            config,
        };
        Ok(Self { house: Arc::new(house) })
    }

    /// From where `origin` is asked now: the vantage of its exit, [`Vantage::Direct`] without exits.
    ///
    /// It stays the same over restarts, and while the exit is in use. Some nanoseconds per exit.
    #[must_use]
    pub fn vantage(&self, origin: &Origin) -> Vantage {
        self.house.exits.as_ref().map_or(Vantage::Direct, |exits| exits.vantage(origin, self.house.clock.now()))
    }

    /// Whether a request for `origin` may leave from `vantage` now.
    ///
    /// # Errors
    /// `fetch.proxy.none`, and when to look again: as soon as any exit may be tried ([`Instant::NEVER`]: when the configuration
    /// changes).
    pub fn way_out(&self, origin: &Origin, vantage: Vantage) -> Result<(), Instant> {
        let Some(exits) = &self.house.exits else {
            return if vantage == Vantage::Direct { Ok(()) } else { Err(Instant::NEVER) };
        };
        exits.way_out(origin, vantage, self.house.clock.now())
    }

    /// How many exits are out of use or on probation, and how many there are.
    #[must_use]
    pub fn exits_out(&self) -> (usize, usize) {
        self.house.exits.as_ref().map_or((0, 0), Exits::out)
    }

    /// The addresses that `origin` may be connected at, in the order in which they are tried; at most 16.
    ///
    /// A literal address, the configured map, or the resolver, whose answers are kept as long as they say, a minute at
    /// least and an hour at most (refusals for ten seconds). Every answer passes the address guard (invariant 11); what it refuses is left out. Families take turns,
    /// and addresses that did not take a connection within the last minute come last.
    ///
    /// # Errors
    /// `fetch.dns` when the name does not exist or has no address, `fetch.dns.timeout` when the resolver could not
    /// say in time, `address.private` when the guard refused all, `address.none` when the map has an empty entry.
    pub async fn candidates(&self, origin: &Origin) -> Result<Vec<SocketAddr>, Refused> {
        self.candidates_from(origin, self.vantage(origin)).await
    }

    /// [`Fetcher::candidates`] for a request that leaves from `vantage`. Empty where an exit looks the name up: then no
    /// address is checked, seen or charged, and the name itself must not stand for an inner place.
    ///
    /// # Errors
    /// As [`Fetcher::candidates`]; `address.private` also for names of this machine and of local networks.
    pub async fn candidates_from(&self, origin: &Origin, vantage: Vantage) -> Result<Vec<SocketAddr>, Refused> {
        if self.names_at(origin, vantage) == Names::Exit {
            return names::told(origin, &self.house.config, &self.house.guard);
        }
        let House { net, clock, config, guard, names, dead, .. } = &*self.house;
        let begun = tracing::enabled!(tracing::Level::DEBUG).then(|| clock.now());
        let found = names::candidates(origin, (&**net, &**clock), config, guard, names).await;
        if let Some(begun) = begun {
            let dns_ms = clock.now().since(begun).as_secs_f64() * 1000.0;
            let (addresses, reason) =
                (found.as_ref().map_or(0, Vec::len), found.as_ref().err().map(|r| r.reason.code()));
            tracing::debug!(%origin, dns_ms, addresses, reason, "names");
        }
        let mut found = found?;
        dead.order(&mut found, clock.now());
        Ok(found)
    }

    fn names_at(&self, origin: &Origin, vantage: Vantage) -> Names {
        let exits = self.house.exits.as_ref();
        exits.map_or(Names::Here, |exits| exits.names(origin, vantage, self.house.clock.now()))
    }

    /// Fetches a page or a robots.txt: the door `fetch`. One request, one response; redirects are not followed.
    ///
    /// The decoded body goes to `sink`, the coded one into the capture. Never fails: what went wrong is in
    /// [`Capture::fault`]. Runs within a tokio runtime with its time enabled. The future may be dropped at any await; then nothing goes on behind it, and the permit's
    /// slot keeps the books (invariant 6).
    pub async fn fetch(&self, permit: Permit, sink: &mut dyn Sink) -> Fetched {
        self.fetch_with(permit, &Request::default(), sink).await
    }

    /// [`Fetcher::fetch`] with optional parts of the request. A value that cannot be sent is left out, which makes
    /// the request unconditional. Nothing happens before the first poll.
    ///
    /// Boxed, one allocation: an exchange is compiled here, not once more in every crate that awaits one.
    pub fn fetch_with<'a>(
        &'a self,
        permit: Permit,
        request: &'a Request,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Fetched> {
        Box::pin(async move {
            let visit = Visit::begin(Arc::clone(&self.house), &permit);
            if visit.span.is_disabled() {
                return visit.fetch(permit, request, sink).await;
            }
            let span = visit.span.clone();
            visit.fetch(permit, request, sink).instrument(span).await
        })
    }

    /// Sends somebody else's request: the door `send`. The answer is streamed through in its content coding.
    ///
    /// The URL asked for is the permit's. All bounds on time, head and bytes hold; the least rate counts the time for
    /// which the site is waited for, not its taker's. The future may be dropped at any await, like [`Fetcher::fetch`]'s.
    ///
    /// # Errors
    /// When no head came: the fault is in the capture, the receipt to be settled.
    pub async fn send(&self, permit: Permit, mut forward: Forward) -> Result<Answer, Box<Fetched>> {
        let mut visit = Visit::begin(Arc::clone(&self.house), &permit);
        let exchange = match permit.redeem(visit.started()) {
            Ok(exchange) => exchange,
            Err(stale) => return Err(Box::new(visit.refuse(&stale))),
        };
        let (url, body) = (visit.url().clone(), forward.take_body(&self.house));
        let (method, fields) = (&forward.method, &forward.fields);
        let build = || request::forward(&url, method, fields, body.clone());
        match visit.head(exchange, &build).await {
            Ok((link, body)) => Ok(Answer::new(visit, link, body)),
            Err(unanswered) => Err(Box::new(visit.give_up(unanswered))),
        }
    }

    /// Opens a plain stream to a checked peer: the door `dial`, for tunnels. Always a connection of its own.
    ///
    /// # Errors
    /// When there is no stream: why, and the receipt to be settled.
    pub async fn dial(&self, permit: Permit) -> Result<Tunnel, Box<Dialed>> {
        tunnel::dial(&self.house, permit).await.map_err(Box::new)
    }

    /// Closes the idle connections that have been idle for too long; all exchanges do so in passing.
    ///
    /// For an engine that goes to sleep: a pool has no timer of its own.
    pub fn close_idle(&self) {
        let now = self.house.clock.now();
        drop(self.house.with_pool(|pool| pool.expire(now)));
    }

    /// Closes all idle connections.
    pub fn close_all_idle(&self) {
        drop(self.house.with_pool(Pool::clear));
    }

    pub(crate) fn max_body(&self) -> u64 {
        self.house.config.limits.max_body
    }

    /// Bytes of bodies that are in files now, those of captures that are still held among them.
    #[must_use]
    pub fn spooled_bytes(&self) -> u64 {
        self.house.spooler.used()
    }

    /// How many connections are open and idle.
    #[must_use]
    pub fn idle_connections(&self) -> usize {
        self.house.with_pool(|pool| pool.len())
    }
}

impl House {
    pub(crate) fn with_pool<T>(&self, act: impl FnOnce(&mut Pool) -> T) -> T {
        // A panic inside leaves at worst one connection uncounted; the bounds still hold for all others.
        act(&mut self.pool.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher")
            .field("net", &self.house.net)
            .field("config", &self.house.config)
            .finish_non_exhaustive()
    }
}
