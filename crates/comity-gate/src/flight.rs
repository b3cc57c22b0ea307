use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use comity_fetch::{CookieUse, Refused, Request};
use comity_policy::{
    AskedPace, Capture, Form, Hold, Instant, Permit, Ready, Reason, RobotsChain, RobotsEvent, RobotsLife, Slot,
    Standing, Vantage,
};
use comity_url::{HostKind, Origin};
use tokio::sync::watch;
use tracing::Instrument as _;

use crate::admit::Errand;
use crate::cache::{Barred, RobotsKey};
use crate::files::{FileKey, FileNews};
use crate::gate::{Gate, Inner};
use crate::reading::{Asked, FileSink, Hop, KeptFile, MOST_READ, Reading, read_hop};
use crate::trail::Trail;
use crate::{RobotsNews, RobotsVisit};

/// A fetch under way: whoever wants the result waits on the same channel.
#[derive(Debug)]
pub(crate) struct Flight<News> {
    pub(crate) news: watch::Receiver<Option<News>>,
    pub(crate) task: tokio::task::AbortHandle,
}

impl<News> Flight<News> {
    pub(crate) fn is_flying(&self) -> bool {
        !self.task.is_finished()
    }
}

/// A turn that lies further ahead than this is told instead of waited for: the origin is left alone meanwhile.
const PATIENCE: Duration = Duration::from_secs(60);

/// How one flight ended.
pub(crate) enum Landing {
    /// Something was learnt.
    Event(RobotsEvent),
    /// Nothing may be asked: the name does not exist or the address check refuses.
    Barred(Refused),
    /// Not asked: the origin's turn is far ahead.
    Later(Ready),
    /// Not asked: the origin is opted out, or parked by the operator. Nothing is learnt, and the judge says so by itself.
    LeftAlone(Reason),
}

impl Gate {
    /// Makes sure that robots.txt of `origin` is known as well as it can be now, and says how it went.
    ///
    /// A flight under way is joined; a copy within its life is not asked again. The fetch runs in a task of the
    /// gate's own: a caller that stops waiting neither kills nor restarts it (invariant 7).
    ///
    /// The same holds for the other files of the site that are asked for, once robots.txt is known.
    pub async fn robots(&self, origin: &Origin) -> RobotsNews {
        let news = self.robots_when(origin, When::Due).await;
        if news.hold.is_some() {
            return news;
        }
        match self.site_files(origin).await {
            Some(hold) => RobotsNews { hold: Some(hold), ..news },
            None => RobotsNews { turn: self.turn(origin), ..news },
        }
    }

    /// As [`Gate::robots`], with a say in when a flight is started.
    pub(crate) async fn robots_when(&self, origin: &Origin, when: When) -> RobotsNews {
        let key = self.key(origin);
        let Some(mut news) = self.join(&key, when) else { return self.news(origin, None) };
        loop {
            if let Some(found) = news.borrow_and_update().clone() {
                return found;
            }
            if news.changed().await.is_err() {
                // The task was aborted or panicked: nothing was learnt, so nothing is allowed; ask again later.
                let hold = Hold { reason: Reason::FetchCancelled, wait: Some(Duration::from_secs(60)) };
                return self.news(origin, Some(hold));
            }
        }
    }

    /// No robots.txt is asked for any more. What is under way is finished and recorded; [`Gate::landed`] waits for that.
    pub fn drain(&self) {
        self.inner.closing.send_replace(true);
    }

    /// True after [`Gate::drain`]: what is not known by now is not asked for any more.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        *self.inner.closing.borrow()
    }

    /// Waits until no flight is under way; after [`Gate::drain`] that is one exchange at most.
    pub async fn landed(&self) {
        loop {
            let robots = self.flights().values().find(|one| one.is_flying()).map(|one| one.news.clone());
            let file = self.file_flights().values().find(|one| one.is_flying()).map(|one| one.news.clone());
            // Landed, or its task was aborted or panicked.
            let _ = match (robots, file) {
                (Some(mut news), _) => news.changed().await,
                (None, Some(mut news)) => news.changed().await,
                (None, None) => return,
            };
            // The sender goes before its task has ended.
            tokio::task::yield_now().await;
        }
    }

    /// Ends every flight at once: nothing more is sent, and what is under way is given up.
    pub fn shutdown(&self) {
        self.drain();
        for (_, flight) in self.flights().drain() {
            flight.task.abort();
        }
        for (_, flight) in self.file_flights().drain() {
            flight.task.abort();
        }
    }

    pub(crate) fn file_flights(&self) -> std::sync::MutexGuard<'_, HashMap<FileKey, Flight<FileNews>>> {
        self.inner.file_flights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The channel of the flight for `key`, started now unless one is under way; `None` when none is due.
    fn join(&self, key: &RobotsKey, when: When) -> Option<watch::Receiver<Option<RobotsNews>>> {
        let mut flights = self.flights();
        if let Some(flight) = flights.get(key).filter(|flight| flight.is_flying()) {
            return Some(flight.news.clone());
        }
        let now = self.inner.clock.wall();
        if when == When::Due && !self.inner.cache.is_due(key, now) {
            // Whoever asks is about to judge by it.
            self.inner.cache.hold(key, now);
            return None;
        }
        let (sender, news) = watch::channel(None);
        let span = tracing::debug_span!("robots", origin = %key.0);
        let task = tokio::spawn(fly(self.clone(), key.clone(), when, sender).instrument(span)).abort_handle();
        flights.insert(key.clone(), Flight { news: news.clone(), task });
        Some(news)
    }

    fn flights(&self) -> std::sync::MutexGuard<'_, HashMap<RobotsKey, Flight<RobotsNews>>> {
        self.inner.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn news(&self, origin: &Origin, hold: Option<Hold>) -> RobotsNews {
        RobotsNews { origin: origin.clone(), turn: self.turn(origin), hold, trail: None }
    }
}

/// The task of one flight.
async fn fly(gate: Gate, key: RobotsKey, when: When, sender: watch::Sender<Option<RobotsNews>>) {
    let mut trail = Trail::default();
    let hold = gate.learn(&key, when, &mut trail).await;
    gate.flights().remove(&key);
    let news = RobotsNews { trail: Some(trail.into()), ..gate.news(&key.0, hold) };
    drop(sender.send(Some(news)));
}

impl Gate {
    /// Recalls or fetches what robots.txt of `key` says, and puts it in force.
    async fn learn(&self, key: &RobotsKey, when: When, trail: &mut Trail) -> Option<Hold> {
        let inner: &Inner = &self.inner;
        if inner.cache.is_unknown(key) && self.recall(key).await && when != When::Anew {
            return None;
        }
        let mut life = inner.cache.life(key);
        let (landing, file) = self.chase((&life, key.1), when, trail).await;
        let now = inner.clock.wall();
        trail.landed(&landing, file.as_ref());
        match landing {
            Landing::Event(event) => {
                life.apply(event, now, &*inner.random);
                self.remember(key, &life, file).await;
                self.put_in_force(key, life);
            }
            Landing::Barred(refused) => {
                tracing::info!(origin = %key.0, reason = %refused.reason, detail = %refused.detail, "origin cannot be asked");
                let until = now.after(BARRED_FOR);
                inner.cache.store(key.clone(), life, Some(Barred { reason: refused.reason, until }), now);
            }
            Landing::Later(ready) => {
                let wait = ready.at.since(inner.clock.now());
                return Some(Hold { reason: ready.clock, wait: Some(wait) });
            }
            Landing::LeftAlone(_) => {}
        }
        None
    }

    /// From here on the origin is judged and paced by this life.
    pub(crate) fn put_in_force(&self, key: &RobotsKey, life: RobotsLife) {
        // A failure says nothing about pace: what was asked before, by whatever way it was learnt, still is.
        if life.fetched().is_some() {
            self.set_asked(&key.0, life.asked_pace());
        }
        self.inner.cache.store(key.clone(), life, None, self.inner.clock.wall());
    }

    /// Asks ahead of the end of a life, without anybody waiting for it.
    pub(crate) fn refresh_ahead(&self, key: &RobotsKey) {
        if self.inner.cache.is_worth_refreshing(key, self.inner.clock.wall()) {
            drop(self.join(key, When::Ahead));
        }
    }
}

/// When a flight is worth starting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Only when the life is over or the next try has come.
    Due,
    /// Also before.
    Ahead,
    /// Also before, and whole: without the validators of the copy at hand.
    Anew,
}

/// A refused address or a missing name is looked at again after this (our choice: as long as a robots retry at most).
const BARRED_FOR: Duration = Duration::from_secs(3600);

impl Gate {
    /// Follows the chain from `/robots.txt` over at most five redirects, each hop with a turn of its own.
    async fn chase(
        &self,
        (life, vantage): (&RobotsLife, Vantage),
        when: When,
        trail: &mut Trail,
    ) -> (Landing, Option<KeptFile>) {
        let origin = life.origin();
        #[expect(clippy::disallowed_methods, reason = "this is the gate: the one place where chains begin")]
        let mut chain = RobotsChain::new(origin).seen_from(vantage);
        loop {
            let (target, status) = match self.ask(&chain, life, when, trail).await {
                Ok(Reading { hop: Hop::Event(event), file }) => {
                    self.pace_hosts(&chain, &event);
                    return (Landing::Event(event), file);
                }
                Ok(Reading { hop: Hop::Redirect { target, status }, .. }) => (target, status),
                Err(landing) => return (landing, None),
            };
            if let Err(end) = chain.follow(target) {
                tracing::info!(%origin, %end, "robots.txt counts as absent");
                trail.not_followed(end);
                return (Landing::Event(RobotsEvent::RedirectLimit { status }), None);
            }
        }
    }

    /// A file to which another origin's own `/robots.txt` led asks for that origin's pace too, whoever it was read for: its
    /// own fetch, which is still to come, keeps it.
    fn pace_hosts(&self, chain: &RobotsChain, event: &RobotsEvent) {
        let RobotsEvent::Parsed { copy, .. } = event else { return };
        let now = self.inner.clock.wall();
        for url in chain.urls().iter().skip(1).filter(|url| url.is_robots_txt()) {
            let own = self.inner.cache.life(&(url.origin().clone(), chain.vantage()));
            if matches!(own.standing(now), Standing::Unknown | Standing::Unreachable(_)) {
                self.set_asked(url.origin(), AskedPace::of(&copy.rules));
            }
        }
    }

    /// One hop: addresses, turn, permit, fetch, record.
    async fn ask(
        &self,
        chain: &RobotsChain,
        life: &RobotsLife,
        when: When,
        trail: &mut Trail,
    ) -> Result<Reading, Landing> {
        let slot = self.turn_for_robots(chain, trail).await?;
        let permit = Permit::for_robots(chain, slot).map_err(|wrong| {
            tracing::error!(%wrong, "slot and chain disagree");
            Landing::Event(unreachable(Reason::PermitStale))
        })?;
        let request = if when == When::Anew { Request::default() } else { conditional(chain, life) };
        let conditional = request != Request::default();
        let request = Request { max_body: Some(MOST_READ), cookies: CookieUse::None, ..request };
        let mut sink = FileSink::default();
        let fetched = self.inner.fetcher.fetch_with(permit, &request, &mut sink).await;
        if let Some(receipt) = fetched.receipt {
            // The origin's turn goes to the frontier with the news of this flight.
            let _paced = self.settle(receipt, fetched.outcome);
        }
        let asked = Asked { origin: chain.origin(), conditional, compiler: &self.inner.compiler };
        let body = sink.finish();
        let reading = read_hop(&asked, &fetched.capture, &body, self.inner.clock.wall());
        trail.asked(&fetched.capture, &reading.hop, body.bytes);
        let visit = RobotsVisit {
            for_origin: chain.origin().clone(),
            hop: chain.hops(),
            capture: fetched.capture,
            file: reading.file.clone(),
        };
        let again = self.exit_failed(&visit.capture);
        self.inner.recorder.robots_visit(visit).await;
        again.map_or(Ok(reading), |again| Err(Landing::Later(again)))
    }

    /// Waits for the turn of the chain's next URL, or tells that it is far ahead.
    async fn turn_for_robots(&self, chain: &RobotsChain, trail: &mut Trail) -> Result<Slot, Landing> {
        let origin = chain.next_url().origin();
        self.recall_pace(origin).await;
        let mut tries = 0;
        let mut closing = self.inner.closing.subscribe();
        loop {
            self.may_begin()?;
            self.may_be_asked(chain, trail)?;
            self.may_leave(chain)?;
            let candidates = match self.addresses(origin, chain.vantage()).await {
                Ok(candidates) => candidates,
                Err(refused) if refused.reason == Reason::FetchDnsTimeout && tries < RESOLVER_RETRIES => {
                    tries += 1;
                    tokio::time::sleep(RESOLVER_WAIT * tries).await;
                    continue;
                }
                Err(refused) => {
                    trail.not_asked(chain.next_url(), &refused);
                    return Err(self.not_connectable(chain, refused));
                }
            };
            let ready = match self.take_turn(Errand::Robots(chain), candidates).await {
                // Looked at again: the turn may have taken long.
                Ok(slot) => return self.may_begin().and_then(|()| self.may_be_asked(chain, trail)).map(|()| slot),
                Err(ready) => ready,
            };
            let wait = ready.at.since(self.inner.clock.now());
            if wait > PATIENCE {
                return Err(self.far_ahead(chain, ready, wait));
            }
            tokio::select! {
                biased;
                _ = closing.wait_for(|closing| *closing) => {}
                () = self.sleep_until(ready.at) => {}
            }
        }
    }

    /// Nothing more is asked for once the gate is closing; nothing is learnt then.
    fn may_begin(&self) -> Result<(), Landing> {
        let at = self.inner.clock.now().after(PATIENCE);
        if *self.inner.closing.borrow() {
            Err(Landing::Later(Ready { at, clock: Reason::FetchCancelled }))
        } else {
            Ok(())
        }
    }
}

/// A resolver that fails for now is asked again so often, after this wait and twice it.
pub(crate) const RESOLVER_RETRIES: u32 = 2;
/// After an exit that failed the next try waits as long as after a first failure of a site.
const EXIT_WAIT: Duration = comity_policy::Politeness::BACKOFF_BASE;
pub(crate) const RESOLVER_WAIT: Duration = Duration::from_secs(2);
/// A resolver that answered for another name within this time is at work: the fault is this name's.
const RESOLVER_AT_WORK: Duration = Duration::from_secs(60);

impl Gate {
    /// An origin whose exits went out of use is asked from elsewhere soon, and by whatever its robots.txt says there; without
    /// any exit it waits.
    fn may_leave(&self, chain: &RobotsChain) -> Result<(), Landing> {
        let elsewhere = self.vantage(chain.origin()) != chain.vantage();
        let told = |ready: Ready| {
            let soon = self.inner.clock.now().after(EXIT_WAIT);
            Landing::Later(if elsewhere { Ready { at: soon, ..ready } } else { ready })
        };
        self.way_out(chain.next_url().origin(), chain.vantage()).map_err(told)
    }

    /// When to look again after an exit that serves nobody: it says nothing about the site, whose robots.txt is as unknown as
    /// before. So often that the exit goes out of use; then another one serves, or all wait for it.
    fn exit_failed(&self, capture: &Capture) -> Option<Ready> {
        let clock = capture.fault.filter(|fault| fault.is_proxy_down() && capture.status.is_none())?;
        let forwarded = capture.via.as_ref().is_some_and(|via| via.form == Form::Forward);
        if forwarded && clock == Reason::FetchProxyAuth {
            // The site itself may answer so. Unreachable is the closed side, with its own times to look again.
            return None;
        }
        Some(Ready { at: self.inner.clock.now().after(EXIT_WAIT), clock })
    }

    /// A turn that is not waited for. At the origin itself it is told. Behind a redirect the try has failed: told, the
    /// chain would begin anew, and meet the same wait again and again.
    fn far_ahead(&self, chain: &RobotsChain, ready: Ready, wait: Duration) -> Landing {
        if chain.hops() == 0 {
            return Landing::Later(ready);
        }
        Landing::Event(RobotsEvent::Unreachable { cause: ready.clock, status: None, retry_after: Some(wait) })
    }

    /// An origin that is opted out, or parked by the operator, sees no request, also where somebody else's robots.txt redirects
    /// to it: robots.txt is unreachable then, since its rules are not known.
    fn may_be_asked(&self, chain: &RobotsChain, trail: &mut Trail) -> Result<(), Landing> {
        let Some(refused) = self.left_alone(chain.next_url().origin()) else { return Ok(()) };
        let Refused { reason, detail } = &refused;
        tracing::info!(origin = %chain.origin(), target = %chain.next_url(), %reason, %detail, "robots.txt not asked");
        trail.not_asked(chain.next_url(), &refused);
        let reason = refused.reason;
        Err(if chain.hops() == 0 { Landing::LeftAlone(reason) } else { Landing::Event(unreachable(reason)) })
    }

    /// Why `origin` is to see no request at all now.
    fn left_alone(&self, origin: &Origin) -> Option<Refused> {
        if let Some(refusal) = self.opted_out(origin) {
            let line = refusal.decision().optout.as_ref().map(|found| format!("{}:{}", found.file, found.number));
            return Some(Refused { reason: Reason::Optout, detail: line.unwrap_or_default() });
        }
        self.parked_by_operator(origin).map(|hold| Refused { reason: hold.reason, detail: String::new() })
    }

    /// At the origin itself a refused address or a missing name ends the matter; behind a redirect it makes robots.txt
    /// unreachable (robots semantics §2.2).
    fn not_connectable(&self, chain: &RobotsChain, refused: Refused) -> Landing {
        let final_here = refused.reason != Reason::FetchDnsTimeout || self.resolver_blames_the_name();
        if chain.hops() == 0 && final_here {
            Landing::Barred(refused)
        } else {
            Landing::Event(unreachable(refused.reason))
        }
    }

    /// Whether a resolver that fails "for now" settles the matter for a name: it answers for others meanwhile, or has
    /// never answered at all, so that waiting would be waiting for nothing (docs/decisions/0010). When it worked and
    /// stopped for every name, the network is down and the origin waits.
    fn resolver_blames_the_name(&self) -> bool {
        match self.inner.resolved.load(Ordering::Relaxed) {
            0 => true,
            at => self.inner.clock.now().since(Instant::from_micros(at)) < RESOLVER_AT_WORK,
        }
    }

    /// The checked addresses of an origin; notes when the resolver last answered for a name.
    pub(crate) async fn addresses(&self, origin: &Origin, vantage: Vantage) -> Result<Vec<SocketAddr>, Refused> {
        let candidates = self.inner.fetcher.candidates_from(origin, vantage).await?;
        if matches!(origin.host_kind(), HostKind::Domain(_)) && !candidates.is_empty() {
            self.inner.resolved.store(self.inner.clock.now().as_micros().max(1), Ordering::Relaxed);
        }
        Ok(candidates)
    }
}

/// The validators of the copy at hand, at the URL that it came from and nowhere else on the chain.
fn conditional(chain: &RobotsChain, life: &RobotsLife) -> Request {
    let Some((at, validators)) = life.validators() else { return Request::default() };
    let here = at.map_or_else(|| *chain.next_url() == life.origin().robots_url(), |at| at == chain.next_url());
    if !here {
        return Request::default();
    }
    let own = |text: &Option<Box<str>>| text.as_deref().map(ToOwned::to_owned);
    Request {
        if_none_match: own(&validators.etag),
        if_modified_since: own(&validators.last_modified),
        ..Request::default()
    }
}

const fn unreachable(cause: Reason) -> RobotsEvent {
    RobotsEvent::Unreachable { cause, status: None, retry_after: None }
}
