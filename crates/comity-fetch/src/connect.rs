use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use comity_policy::{Exchange, Instant, Reason, TlsFacts, Vantage};
use comity_url::{Origin, Scheme};

use crate::deadline::Deadline;
use crate::fault::Fault;
use crate::fetcher::House;
use crate::link::{Link, Spoken, Way};
use crate::net::Io;
use crate::proxy::Exits;
use crate::race::{Race, STAGGER};
use crate::tap::Books;
use crate::tls;

/// Finds the connection of one exchange: an idle one to any of its candidates, or a new one to the first that takes it.
pub(crate) struct Connecting<'a> {
    pub(crate) house: &'a House,
    pub(crate) deadline: Deadline,
}

/// A connection, and how long its parts took when it is new.
pub(crate) type Found = (Box<Link>, Option<Steps>);

/// How long it took to come to a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// The look-up that this connection is the first to rest on.
    pub(crate) dns: Option<Duration>,
    /// All of connecting, TLS included; through a proxy, what the proxy takes too.
    pub(crate) connect: Duration,
    /// The handshake with the site.
    pub(crate) tls: Option<Duration>,
    /// When it was there.
    pub(crate) ended: Instant,
}

impl<'a> Connecting<'a> {
    /// The connect budget runs from `start`, when the permit was spent, and ends with the exchange's.
    pub(crate) fn new(house: &'a House, start: Instant) -> Self {
        let limits = &house.config.limits;
        let total = Deadline::after(start, limits.total, Reason::FetchTimeoutTotal);
        Self { house, deadline: Deadline::after(start, limits.connect, Reason::FetchTimeoutConnect).or(total) }
    }

    /// The connection to use, as of `now`. Whichever it is, its peer has passed the guard and is charged (invariants 4 and
    /// 11).
    pub(crate) async fn find(&self, exchange: &mut Exchange, now: Instant) -> Result<Found, Fault> {
        // What comes of a kept connection is the common way: the state of the others, which is large, has room of its own.
        if let Some(exits) = self.exits(exchange)? {
            return Box::pin(self.find_through(exits, exchange)).await;
        }
        match self.kept(exchange, now).await {
            Some(link) => Ok((link, None)),
            None => Box::pin(self.open(exchange)).await,
        }
    }

    /// A new connection.
    async fn open(&self, exchange: &mut Exchange) -> Result<Found, Fault> {
        let origin = exchange.url().origin().clone();
        let candidates = self.guarded(exchange)?;
        let begun = self.house.clock.now();
        let (peer, io) = self.dial(exchange, &candidates, begun).await?;
        let (link, tls) = self.speak(&origin, Way::direct(peer), io).await?;
        Ok((link, Some(self.steps(&origin, begun, tls))))
    }

    /// What a connection took that was begun then and is here now.
    pub(crate) fn steps(&self, origin: &Origin, begun: Instant, tls: Option<Duration>) -> Steps {
        let ended = self.house.clock.now();
        Steps { dns: self.house.names.take_took(origin), connect: ended.since(begun), tls, ended }
    }

    /// A new plain stream to a guarded peer, for whoever speaks through it; its address, unless an exit stands between.
    pub(crate) async fn stream(&self, exchange: &mut Exchange) -> Result<(Option<SocketAddr>, Box<dyn Io>), Fault> {
        if let Some(exits) = self.exits(exchange)? {
            return Ok((None, self.stream_through(exits, exchange).await?));
        }
        let candidates = self.guarded(exchange)?;
        let (peer, io) = self.dial(exchange, &candidates, self.house.clock.now()).await?;
        Ok((Some(peer), io))
    }

    /// The exits, when this exchange leaves through one. A permit for another vantage than this fetcher has is used by
    /// nobody: least of all directly.
    fn exits(&self, exchange: &Exchange) -> Result<Option<&Exits>, Fault> {
        let vantage = exchange.vantage();
        match (&self.house.exits, vantage) {
            (None, Vantage::Direct) => Ok(None),
            (Some(exits), Vantage::Exit | Vantage::Country(_)) => Ok(Some(exits)),
            _ => Err(Fault::new(
                Reason::FetchProxyNone,
                format!("the permit is for {vantage}, and nothing leaves there"),
            )),
        }
    }

    /// Checked again here, at the last moment: whoever minted the slot may have made its candidates otherwise.
    pub(crate) fn guarded(&self, exchange: &Exchange) -> Result<Vec<SocketAddr>, Fault> {
        let named = exchange.candidates();
        let passed: Vec<SocketAddr> =
            named.iter().copied().filter(|addr| self.house.guard.check(addr.ip()).is_ok()).collect();
        match (passed.is_empty(), named.is_empty()) {
            (false, _) => Ok(passed),
            (true, true) => Err(Fault::new(Reason::AddressNone, "the permit names no address")),
            (true, false) => Err(Fault::new(Reason::AddressPrivate, "no address of the permit is public or listed")),
        }
    }

    /// An idle connection that is alive and whose peer has a turn.
    async fn kept(&self, exchange: &mut Exchange, now: Instant) -> Option<Box<Link>> {
        let origin = exchange.url().origin().clone();
        let mut at = 0;
        while let Some(peer) = exchange.candidates().get(at).copied() {
            at += 1;
            if self.house.guard.check(peer.ip()).is_err() {
                continue;
            }
            loop {
                let (gone, link) =
                    self.house.with_pool(|pool| (pool.expire(now), pool.take(&origin, Way::direct(peer))));
                drop(gone);
                let Some(mut link) = link else { break };
                if !link.is_ready().await {
                    continue;
                }
                if exchange.charge(peer, now).is_ok() {
                    return Some(link);
                }
                drop(self.house.with_pool(|pool| pool.put(&origin, link, now)));
                break;
            }
        }
        None
    }

    /// A plain stream to one of the candidates (RFC 8305): they are tried in order, each a moment after the one before
    /// or when that failed, and the first that connects is used. Its address is charged, the others' charge is lifted.
    async fn dial(
        &self,
        exchange: &mut Exchange,
        candidates: &[SocketAddr],
        now: Instant,
    ) -> Result<(SocketAddr, Box<dyn Io>), Fault> {
        let mut race = Race::new(&*self.house.net);
        let mut misses = Misses::default();
        let run = self.run((exchange, candidates), now, &mut race, &mut misses);
        let ended = self.deadline.bound_from(now, run).await;
        // Whoever is still at it had its start before the winner, or all the time there was: it comes last for a while.
        race.peers().for_each(|peer| self.house.dead.note(peer, self.house.clock.now()));
        match ended {
            Ok(Some((peer, io))) => {
                self.house.dead.forget(peer);
                Ok((peer, io))
            }
            Ok(None) => Err(misses.fault()),
            Err(reason) => {
                misses.last = Some(Fault::new(reason, "no address took a connection in time"));
                Err(misses.fault())
            }
        }
    }

    /// Runs the race; `None` when every candidate was busy or failed.
    async fn run(
        &self,
        (exchange, candidates): (&mut Exchange, &[SocketAddr]),
        mut now: Instant,
        race: &mut Race<'_>,
        misses: &mut Misses,
    ) -> Option<(SocketAddr, Box<dyn Io>)> {
        let mut left = candidates.iter().copied();
        let mut charged = None;
        loop {
            if let Some(peer) = next_with_turn(exchange, &mut left, now, misses) {
                race.begin(peer);
                charged = Some(peer);
            }
            if race.is_empty() {
                return None;
            }
            let ended = match left.len() {
                0 => Some(race.next().await),
                _ => tokio::time::timeout(STAGGER, race.next()).await.ok(),
            };
            if let Some((peer, Ok(io))) = ended {
                if charged == Some(peer) {
                    return Some((peer, io));
                }
                now = self.house.clock.now();
                match exchange.charge(peer, now) {
                    Ok(()) => return Some((peer, io)),
                    // Its turn went to somebody else while a later address was charged.
                    Err(ready) => misses.is_busy(peer, ready.at.since(now)),
                }
            } else {
                now = self.house.clock.now();
                if let Some((peer, Err(error))) = ended {
                    misses.last = Some(refused(peer, &error));
                    self.house.dead.note(peer, now);
                }
            }
        }
    }

    /// TLS where the origin wants it, then HTTP.
    pub(crate) async fn speak(
        &self,
        origin: &Origin,
        way: Way,
        io: Box<dyn Io>,
    ) -> Result<(Box<Link>, Option<Duration>), Fault> {
        let begun = (origin.scheme() == Scheme::Https).then(|| self.house.clock.now());
        let (io, spoken, tls) = self.secure(origin, way, io).await?;
        let took = begun.map(|begun| self.house.clock.now().since(begun));
        let books = Arc::new(Books::new(Arc::clone(&self.house.clock)));
        let open = Link::open(io, spoken, books, (way, tls), &self.house.config.limits);
        let opened = match spoken {
            Spoken::Http1 => open.await, // Nothing is sent: there is nothing to wait for.
            Spoken::Http2 => self.deadline.bound(&*self.house.clock, open).await.map_err(Fault::timed_out)?,
        };
        let mut link = opened.map_err(|error| Fault::before_head(&error))?;
        if link.is_ready().await {
            Ok((link, took))
        } else {
            Err(Fault::new(Reason::FetchReset, format!("{way} hung up before it was asked")))
        }
    }

    async fn secure(
        &self,
        origin: &Origin,
        way: Way,
        io: Box<dyn Io>,
    ) -> Result<(Box<dyn Io>, Spoken, Option<TlsFacts>), Fault> {
        if origin.scheme() == Scheme::Http {
            return Ok((io, Spoken::Http1, None));
        }
        let handshake = tls::handshake(Arc::clone(&self.house.tls), origin, io);
        let shaken = self.deadline.bound(&*self.house.clock, handshake).await.map_err(Fault::timed_out)?;
        let (io, spoken, facts) = shaken.map_err(|error| Fault::new(Reason::FetchTls, format!("{way}: {error}")))?;
        Ok((io, spoken, Some(facts)))
    }
}

/// The next candidate whose address has a turn; it is charged. Without a turn an address is left in peace.
pub(crate) fn next_with_turn(
    exchange: &mut Exchange,
    left: &mut impl Iterator<Item = SocketAddr>,
    now: Instant,
    misses: &mut Misses,
) -> Option<SocketAddr> {
    left.find(|&peer| match exchange.charge(peer, now) {
        Ok(()) => true,
        Err(ready) => {
            misses.is_busy(peer, ready.at.since(now));
            false
        }
    })
}

/// Why the candidates so far were not used.
#[derive(Debug, Default)]
pub(crate) struct Misses {
    busy: Option<Fault>,
    last: Option<Fault>,
}

impl Misses {
    #[cfg(feature = "proxy")]
    /// Why the address tried last was not reached.
    pub(crate) const fn last(&self) -> Option<&Fault> {
        self.last.as_ref()
    }

    #[cfg(feature = "proxy")]
    pub(crate) fn failed(&mut self, fault: Fault) {
        self.last = Some(fault);
    }

    #[cfg(feature = "proxy")]
    /// `fault`, unless an address was left in peace.
    pub(crate) fn unless_busy(self, fault: Fault) -> Fault {
        self.busy.unwrap_or(fault)
    }

    fn is_busy(&mut self, peer: SocketAddr, wait: Duration) {
        self.busy.get_or_insert_with(|| no_turn(peer, wait));
    }

    /// While one address was not tried, the site has not failed: the request goes back for its turn there.
    pub(crate) fn fault(self) -> Fault {
        self.busy.or(self.last).unwrap_or_else(|| Fault::new(Reason::AddressNone, "the permit names no address"))
    }
}

fn no_turn(peer: SocketAddr, wait: Duration) -> Fault {
    Fault::new(Reason::RateAddress, format!("{peer} has no turn for {} ms", wait.as_millis()))
}

fn refused(peer: SocketAddr, error: &io::Error) -> Fault {
    if error.kind() == io::ErrorKind::TimedOut {
        return Fault::new(Reason::FetchTimeoutConnect, format!("{peer}: connecting took too long"));
    }
    Fault::new(Reason::FetchRefused, format!("{peer}: {error}"))
}
