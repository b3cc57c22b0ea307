use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use comity_policy::{Exchange, Form, Names, Reason};
use comity_url::{HostKind, Origin, Scheme};
use tokio_rustls::TlsConnector;

use crate::connect::{Connecting, Found, Misses, next_with_turn};
use crate::fault::Fault;
use crate::link::{Link, Way};
use crate::net::Io;
use crate::proxy::health::Evidence;
use crate::proxy::target::Target;
use crate::proxy::verdict::Verdict;
use crate::proxy::{ExitId, Exits, NoExit, PlainHttp, Proxy, ProxyKind, check_name, http, socks};
use crate::race::{Race, STAGGER};
use crate::{names, tls};

/// The exit of one exchange, and how it is asked.
struct Passage<'a> {
    exits: &'a Exits,
    id: ExitId,
    proxy: &'a Proxy,
    origin: Origin,
    /// The checked addresses of the site; empty where the exit looks the name up.
    candidates: Vec<SocketAddr>,
    form: Form,
}

impl Connecting<'_> {
    /// The connection to use, through the exit of the origin.
    pub(crate) async fn find_through(&self, exits: &Exits, exchange: &mut Exchange) -> Result<Found, Fault> {
        let passage = self.passage(exits, exchange)?;
        if let Some(link) = self.kept_through(&passage, exchange).await {
            return Ok((link, None));
        }
        let begun = self.house.clock.now();
        let (link, tls) = match passage.form {
            Form::Tunnel => {
                let (way, io) = self.tunnel(&passage, exchange).await?;
                self.speak(&passage.origin, way, io).await?
            }
            Form::Forward => self.forward(&passage, exchange).await?,
        };
        Ok((link, Some(self.steps(&passage.origin, begun, tls))))
    }

    /// A plain stream to the site, through the exit of the origin.
    pub(crate) async fn stream_through(&self, exits: &Exits, exchange: &mut Exchange) -> Result<Box<dyn Io>, Fault> {
        let passage = Passage { form: Form::Tunnel, ..self.passage(exits, exchange)? };
        Ok(self.tunnel(&passage, exchange).await?.1)
    }

    /// Chooses the exit. Name and addresses are checked here, at the last moment.
    fn passage<'e>(&self, exits: &'e Exits, exchange: &Exchange) -> Result<Passage<'e>, Fault> {
        let origin = exchange.url().origin().clone();
        let candidates = match (exchange.candidates().is_empty(), origin.host_kind()) {
            (true, HostKind::Domain(name)) => {
                let refused = |reason| Fault::new(reason, format!("{name} may not be looked up elsewhere"));
                check_name(name, &self.house.guard).map_err(refused)?;
                Vec::new()
            }
            _ => self.guarded(exchange)?,
        };
        let knows = |proxy: &Proxy| !candidates.is_empty() || proxy.kind().names() == Names::Exit;
        let would_do = |proxy: &Proxy| proxy.vantage == exchange.vantage() && knows(proxy);
        let now = self.house.clock.now();
        let id = exits.pick(&origin, would_do, now).map_err(|none| no_exit(none, exchange))?;
        let Some(proxy) = exits.proxy(id) else { return Err(no_exit(NoExit::Never, exchange)) };
        let form = form(proxy, &origin, &candidates);
        Ok(Passage { exits, id, proxy, origin, candidates, form })
    }

    /// An idle connection through the same exit, to the same address or name.
    async fn kept_through(&self, passage: &Passage<'_>, exchange: &mut Exchange) -> Option<Box<Link>> {
        let now = self.house.clock.now();
        drop(self.house.with_pool(|pool| pool.expire(now)));
        for way in passage.ways() {
            while let Some(mut link) = self.house.with_pool(|pool| pool.take(&passage.origin, way)) {
                if !link.is_ready().await {
                    continue;
                }
                let now = self.house.clock.now();
                if way.told().is_none_or(|peer| exchange.charge(peer, now).is_ok()) {
                    return Some(link);
                }
                drop(self.house.with_pool(|pool| pool.put(&passage.origin, link, now)));
                break;
            }
        }
        None
    }

    /// A connection to the exit itself, which sends requests of its own to the site.
    async fn forward(
        &self,
        passage: &Passage<'_>,
        exchange: &mut Exchange,
    ) -> Result<(Box<Link>, Option<Duration>), Fault> {
        let (mut left, mut misses) = (passage.candidates.iter().copied(), Misses::default());
        let told = match passage.candidates.is_empty() {
            true => None,
            false => match next_with_turn(exchange, &mut left, self.house.clock.now(), &mut misses) {
                None => return Err(misses.fault()),
                peer => peer,
            },
        };
        let io = self.reach(passage, None).await?;
        self.speak(&passage.origin, passage.way(told), io).await.map_err(|fault| {
            passage.report(Evidence::Down, self);
            Fault::new(Reason::FetchProxyConnect, fault.detail)
        })
    }

    /// A stream through the exit: to the name, or to the first address that has a turn and is reached. Each address is
    /// asked for once.
    async fn tunnel(&self, passage: &Passage<'_>, exchange: &mut Exchange) -> Result<(Way, Box<dyn Io>), Fault> {
        let mut left = passage.candidates.iter().copied();
        let mut misses = Misses::default();
        loop {
            let target = if passage.candidates.is_empty() {
                Target::Name(&passage.origin)
            } else {
                match next_with_turn(exchange, &mut left, self.house.clock.now(), &mut misses) {
                    Some(peer) => Target::Address(peer),
                    None => return Err(misses.fault()),
                }
            };
            let io = match self.reach(passage, misses.last()).await {
                Ok(io) => io,
                Err(fault) if fault.reason.is_proxy() => return Err(fault),
                Err(fault) => return Err(misses.unless_busy(fault)),
            };
            match self.ask(passage, target, io).await {
                Ok(io) => {
                    passage.report(Evidence::Works, self);
                    return Ok((passage.way(target.address()), io));
                }
                Err(Verdict { fault, evidence }) => {
                    passage.report(evidence, self);
                    let fault = passage.exits.told(passage.id, fault);
                    if fault.reason.is_proxy() || left.len() == 0 {
                        return Err(misses.unless_busy(fault));
                    }
                    misses.failed(fault);
                }
            }
        }
    }

    /// Asks the exit for a stream to `target`, within the budget of connecting.
    async fn ask(&self, passage: &Passage<'_>, target: Target<'_>, io: Box<dyn Io>) -> Result<Box<dyn Io>, Verdict> {
        let (house, credentials) = (self.house, passage.proxy.credentials.as_ref());
        // An HTTP proxy says nothing until it has reached the site, or not.
        let greeted = Arc::new(AtomicBool::new(passage.proxy.kind().is_http()));
        let bounded = if passage.proxy.kind().is_http() {
            self.deadline.bound(&*house.clock, http::connect(io, target, credentials, &house.config.user_agent)).await
        } else {
            self.deadline.bound(&*house.clock, socks::connect(io, target, credentials, &greeted)).await
        };
        bounded.unwrap_or_else(|reason| {
            Err(if greeted.load(Ordering::Relaxed) {
                Verdict::new(reason, Evidence::Doubtful, "the proxy did not reach the site in time")
            } else {
                Verdict::new(Reason::FetchProxyTimeout, Evidence::Down, Reason::FetchProxyTimeout.text())
            })
        })
    }

    /// A stream to the exit itself, with TLS where it wants it. `before` is how an address of the site failed that was asked
    /// for first: when the budget of connecting ends now, the site has used it up, and nothing is said about the exit.
    async fn reach(&self, passage: &Passage<'_>, before: Option<&Fault>) -> Result<Box<dyn Io>, Fault> {
        passage.exits.begin(passage.id, self.house.clock.now());
        let reached = self.deadline.bound(&*self.house.clock, self.reach_unbounded(passage.proxy)).await;
        let fault = match reached {
            Ok(Ok(io)) => return Ok(io),
            Ok(Err(error)) => Fault::new(Reason::FetchProxyConnect, format!("the proxy: {error}")),
            Err(_) => match before {
                Some(fault) => return Err(fault.clone()),
                None => Fault::timed_out(Reason::FetchProxyTimeout),
            },
        };
        passage.report(Evidence::Down, self);
        Err(passage.exits.told(passage.id, fault))
    }

    async fn reach_unbounded(&self, proxy: &Proxy) -> io::Result<Box<dyn Io>> {
        let (house, port) = (self.house, proxy.place().port());
        let addresses = match proxy.literal() {
            Some(address) => vec![address],
            None => names::look_up(proxy.place().host(), house).await.map_err(io::Error::other)?,
        };
        let io = first_of(Race::new(&*house.net), addresses.into_iter().map(|address| (address, port).into())).await?;
        match &house.proxy_tls {
            Some(config) if proxy.kind() == ProxyKind::Https => {
                let name = tls::server_name(proxy.place()).map_err(io::Error::other)?;
                Ok(Box::new(TlsConnector::from(Arc::clone(config)).connect(name, io).await?))
            }
            _ => Ok(io),
        }
    }
}

/// The first of the addresses that takes a connection, each tried a moment after the one before (RFC 8305 §5).
async fn first_of(mut race: Race<'_>, mut left: impl ExactSizeIterator<Item = SocketAddr>) -> io::Result<Box<dyn Io>> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        if let Some(peer) = left.next() {
            race.begin(peer);
        } else if race.is_empty() {
            return Err(last);
        }
        let ended = match left.len() {
            0 => Some(race.next().await),
            _ => tokio::time::timeout(STAGGER, race.next()).await.ok(),
        };
        match ended {
            Some((_, Ok(io))) => return Ok(io),
            Some((_, Err(error))) => last = error,
            None => {}
        }
    }
}

/// A name that is mapped by the configuration is asked for by its address, which absolute-form cannot say.
fn form(proxy: &Proxy, origin: &Origin, candidates: &[SocketAddr]) -> Form {
    let says_the_target = candidates.is_empty() || !matches!(origin.host_kind(), HostKind::Domain(_));
    let plain = origin.scheme() == Scheme::Http && proxy.plain_http == PlainHttp::Forward;
    if proxy.kind().is_http() && plain && says_the_target { Form::Forward } else { Form::Tunnel }
}

fn no_exit(none: NoExit, exchange: &Exchange) -> Fault {
    let vantage = exchange.vantage();
    Fault::new(
        Reason::FetchProxyNone,
        match none {
            NoExit::Until(_) => format!("every exit of {vantage} is out of use for now"),
            NoExit::Never => format!("no exit of {vantage} is configured that could take it"),
        },
    )
}

impl Passage<'_> {
    fn way(&self, told: Option<SocketAddr>) -> Way {
        Way::through(self.id, self.form, told)
    }

    /// Every way that a kept connection may have gone.
    fn ways(&self) -> Vec<Way> {
        if self.candidates.is_empty() {
            return vec![self.way(None)];
        }
        self.candidates.iter().map(|peer| self.way(Some(*peer))).collect()
    }

    fn report(&self, evidence: Evidence, connecting: &Connecting<'_>) {
        self.exits.report(self.id, evidence, &self.origin, connecting.house.clock.now());
    }
}
