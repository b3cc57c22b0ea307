use std::pin::pin;
use std::sync::Arc;

use comity_extract::{Page as Extracted, Sitemap};
use comity_fetch::{Fetched, Refused, Request};
use comity_frontier::{
    Ending, Lease, LeaseId, Offer, RefusedLease, Renewal, Revisit, Settled as Applied, Settlement, Spent,
};
use comity_gate::Admission;
use comity_policy::{Allowance, Capture, Decision, Instant, OriginPace, Outcome, Permit, Reason, Refusal, Turn};
use tokio::sync::oneshot;
use tracing::Instrument as _;

use super::content::ContentJudge;
use super::errand::Errand;
use super::handling::Handled;
use super::links::Watched;
use super::outcome::{Next, next};
use super::reading::{Found, Reading};
use super::revisit::{self, News, Seen};
use super::sink::PageSink;
use super::{Live, Shared};
use crate::handler;
use crate::keep::Trip;
use crate::{Error, Page, UrlEnding, UrlOutcome};

/// What is known of an origin after a visit: its pace, and when it may be asked next.
type Paced = (OriginPace, Turn);

/// How a lease ends, and what became of the URL if it leaves the queue.
type Settled = (Settlement, Option<UrlEnding>);

impl Shared {
    /// One leased URL: admitted, fetched, recorded, settled. In this order, so that a URL leaves the queue only after
    /// its record was written, and together with its links (invariant 9).
    pub(crate) async fn visit(self: Arc<Self>, lease: Lease) -> Result<(), Error> {
        let (id, deadline, pace) = (lease.id, lease.deadline, lease.pace);
        let trip = Trip::of(&lease);
        let decision = lease.allowance.decision().clone();
        let live = self.live();
        let (settlement, ending) = match self.admitted(&trip, &live, lease.allowance, pace).await {
            Err(refusal) | Ok(Admission::OptedOut(refusal)) => self.refused(id, &trip, &refusal).await?,
            Ok(Admission::Wait(turn)) => (self.snooze(id, &trip, turn), None),
            Ok(Admission::Refuse(refused)) => self.unconnectable(id, &trip, decision, refused).await?,
            Ok(Admission::Permit(permit)) => self.exchange(id, &trip, decision, permit.until(deadline)).await?,
        };
        self.settle(settlement, ending.map(|ending| trip.outcome(ending))).await
    }

    /// Asks the gate, unless the URL does not belong to the crawl any more; that is looked at again when the turn has come, and a
    /// permit that is dropped unsent charges nothing.
    async fn admitted(
        &self,
        trip: &Trip,
        live: &Live,
        allowance: Allowance,
        pace: OriginPace,
    ) -> Result<Admission, Refusal> {
        let check = || self.left_out(trip, live).map_or(Ok(()), |reason| Err(self.before_robots(reason)));
        check()?;
        let admission = self.gate.admit(allowance, pace).await;
        check().map(|()| admission)
    }

    fn before_robots(&self, reason: Reason) -> Refusal {
        Refusal::before_robots(reason, self.clock.wall())
    }

    /// A URL that its judge refused: recorded, then out of the queue.
    pub(crate) async fn refuse(self: Arc<Self>, refused: RefusedLease) -> Result<(), Error> {
        let trip = Trip::of_refused(&refused);
        let (settlement, ending) = self.refused(refused.id, &trip, &refused.refusal).await?;
        self.settle(settlement, ending.map(|ending| trip.outcome(ending))).await
    }

    async fn refused(&self, id: LeaseId, trip: &Trip, refusal: &Refusal) -> Result<Settled, Error> {
        self.keeper.not_fetched(trip, refusal.decision(), refusal.reason(), None).await?;
        self.tally().refused(refusal.reason());
        self.tally().denied(refusal.decision());
        Ok((self.turned_away(id, trip, refusal.reason()), Some(UrlEnding::Refused(refusal.reason()))))
    }

    /// Out of the queue without a request; a page that was visited before is asked about again.
    fn turned_away(&self, lease: LeaseId, trip: &Trip, reason: Reason) -> Settlement {
        match self.next_try(trip, reason) {
            Some(revisit) => {
                let ending = Ending::Refused;
                Settlement::Again { lease, ending, links: Vec::new(), told: None, revisit, spent: Spent::default() }
            }
            None => Settlement::Refused { lease },
        }
    }

    /// When a page is asked for anew, if it is.
    fn again(
        &self,
        trip: &Trip,
        errand: Errand,
        fate: &Fate,
        (next, news): (&Next, News),
        seen: &Seen,
    ) -> Option<Box<Revisit>> {
        match *fate {
            Fate::Done(_) | Fate::Withheld(_) | Fate::Unhandled => self.next_visit(trip, errand, (next, news), seen),
            Fate::Failed(reason) => self.next_try(trip, reason),
            Fate::Retry => None,
        }
    }

    async fn exchange(
        &self,
        id: LeaseId,
        trip: &Trip,
        decision: Arc<Decision>,
        permit: Permit,
    ) -> Result<Settled, Error> {
        let (head, arrived) = oneshot::channel();
        let errand = self.errand(trip);
        let mut sink = self.sink(trip, errand, decision.clone(), head);
        // The exchange's own span knows neither how it was come by nor how often it was tried.
        let span = tracing::debug_span!("visit", hop = trip.hops, depth = trip.depth, attempt = trip.attempt);
        let request = revisit::request(trip);
        let fetched = self.fetch(id, (permit, &request), &mut sink, arrived).instrument(span).await?;
        let Fetched { mut capture, receipt, outcome } = self.meters.exchanged(fetched);
        revisit::refuse_unasked(&mut capture, &request);
        let sent = receipt.as_ref().is_some_and(|receipt| receipt.sent().is_some());
        let paced = match receipt {
            Some(receipt) => self.gate.settle(receipt, outcome),
            None => self.paced(trip),
        };
        self.tally().waited(&paced.1, self.clock.now());
        let retries = self.live().limits.retries.saturating_sub(trip.attempt - 1);
        if let Next::NotSent(reason) = next(&capture, outcome, sent, retries) {
            tracing::debug!(url = %trip.url, %reason, "not sent, comes again");
            return Ok((self.snooze(id, trip, paced.1), None));
        }
        let (mut found, ruling) = self.with_licences(trip, sink.finish(), &mut capture).await?;
        // What a licence refuses is done, whatever cut it.
        let mut next = next(&capture, outcome, sent, retries);
        let is_silent = ruling.as_ref().is_some_and(|ruling| ruling.is_silent);
        let (follow, decision) = ruling.map_or((true, decision), |ruling| (ruling.follow, ruling.decision));
        let is_withheld = decision.is_withheld();
        let errand = self.turned_out(errand, trip, &mut found);
        let news = self.news(trip, &capture).await?;
        if !news.is_unchanged() {
            next = retried_if_damaged(next, errand, found.list.as_ref(), retries);
        }
        if let (Next::Redirect(target), true) = (&next, trip.seed) {
            self.widen_scope(std::slice::from_ref(target))?;
        }
        let mut seen = Seen::of(&capture, found.list.is_some(), is_silent);
        let links =
            if news.is_unchanged() { Vec::new() } else { self.read(trip, errand, &next, &found, (follow, &seen)) };
        let bytes = capture.body.len();
        self.tally().summary.bytes += bytes;
        let mut fate = Fate::of(&next, outcome).withheld(&next, &decision, capture.fault);
        let terms = self.terms(&capture, &decision, found.page.as_ref());
        let is_told = errand == Errand::Page && next == Next::Done && !is_withheld;
        let told = is_told.then(|| found.page.take());
        let (capture, handled) = self.tell_handler(id, (trip, news), capture, &decision, told).await?;
        if handled.has_failed {
            fate = Fate::Unhandled;
        }
        let offers = both(self.enqueued(trip, handled.enqueued), links);
        seen.stored = self.recorded(trip, capture, &decision, (revisit::earlier(trip, news), terms)).await?;
        self.count(&fate, &next, &decision, errand);
        self.count_visit(trip, &next, news);
        if !news.is_unchanged() {
            self.count_list(&next, errand, found.list.as_ref());
        }
        let again = self.again(trip, errand, &fate, (&next, news), &seen);
        let spent = Spent { pages: fate.is_page(&next, errand).into(), bytes };
        Ok((self.settlement(id, (fate, again), offers, paced, spent), fate.ending(&next)))
    }

    fn sink(&self, trip: &Trip, errand: Errand, decision: Arc<Decision>, head: oneshot::Sender<()>) -> PageSink {
        let reading = Reading { errand, options: self.page, sketch: self.traps.sketch(trip.url.origin()) };
        let content = ContentJudge::new(self.gate.clone(), self.identity.tokens(), trip.url.clone(), decision);
        PageSink::new(trip.url.clone(), reading, content, head, self.types.clone())
    }

    /// Fetches; where bodies may overlap, the origin's turn is given on as soon as the head is here.
    async fn fetch(
        &self,
        id: LeaseId,
        (permit, request): (Permit, &Request),
        sink: &mut PageSink,
        arrived: oneshot::Receiver<()>,
    ) -> Result<Fetched, Error> {
        let origin = permit.url().origin().clone();
        let mut fetching = pin!(self.fetcher.fetch_with(permit, request, sink));
        if self.live().per_origin <= 1 {
            return Ok(fetching.await);
        }
        let renewing = async {
            if arrived.await.is_ok() {
                let turn = self.gate.turn(&origin);
                let renewed = self.frontier.renew(id, Renewal::head_arrived(turn), self.clock.now()).await?;
                tracing::trace!(?renewed, %origin, "head arrived");
                self.poke.notify_one();
            }
            Ok::<(), Error>(())
        };
        // A fetch that ends first has no head to tell of, or its settlement tells all that the head would.
        tokio::select! {
            biased;
            fetched = &mut fetching => return Ok(fetched),
            renewed = renewing => renewed?,
        }
        Ok(fetching.await)
    }

    /// What a page or redirect adds to the frontier.
    fn read(
        &self,
        trip: &Trip,
        errand: Errand,
        next: &Next,
        found: &Found,
        (follow, seen): (bool, &Seen),
    ) -> Vec<Offer> {
        match next {
            Next::Redirect(target) => match self.redirect_offer(trip, errand, target.clone()) {
                Ok(offer) => vec![offer],
                Err(reason) => {
                    self.skip(target, &trip.url, reason);
                    Vec::new()
                }
            },
            Next::Done => {
                if let Some(list) = &found.list {
                    return self.listed(trip, errand, list, (follow, seen));
                }
                let Some(page) = &found.page else { return Vec::new() };
                // A page is like itself: a later visit of it is no copy.
                let likeness = if trip.was_visited() { None } else { found.likeness };
                let most = self.traps.count_page(trip.url.origin(), likeness);
                self.offers(trip, &page.links, follow, most)
            }
            Next::DeadRedirect | Next::Retry(_) | Next::GiveUp(_) | Next::NotSent(_) => Vec::new(),
        }
    }

    /// Gives the page to its handler, if there is one and it is told of it; gives the capture back.
    async fn tell_handler(
        &self,
        id: LeaseId,
        (trip, news): (&Trip, News),
        capture: Capture,
        decision: &Arc<Decision>,
        told: Option<Option<Extracted>>,
    ) -> Result<(Capture, Handled), Error> {
        // 304 is no page: the page is the one that the handler was told of before.
        let is_wanted = capture.status != Some(304) && self.handlers.want_pages();
        let Some(extracted) = told.filter(|_| is_wanted) else { return Ok((capture, Handled::default())) };
        let handler = self.handlers.of(&trip.url);
        let page = Page::new(&self.fetcher, capture, decision, extracted, (trip, news.change()));
        self.write_page(id, &page).await?;
        match handler {
            Some(handler) => self.handle(id, handler, page).await,
            None => Ok((page.into_capture(), Handled::default())),
        }
    }

    async fn unconnectable(
        &self,
        id: LeaseId,
        trip: &Trip,
        decision: Arc<Decision>,
        refused: Refused,
    ) -> Result<Settled, Error> {
        let paced = self.paced(trip);
        if refused.reason == Reason::FetchDnsTimeout && trip.attempt <= self.live().limits.retries {
            self.tally().summary.retries += 1;
            let not_before = self.clock.now().after(self.gate.politeness().delay * trip.attempt * 4);
            let (pace, turn) = paced;
            let spent = Spent::default();
            return Ok((Settlement::Retry { lease: id, pace, turn, not_before, spent }, None));
        }
        self.keeper.not_fetched(trip, &decision, refused.reason, Some(refused.detail)).await?;
        self.tally().refused(refused.reason);
        Ok((self.turned_away(id, trip, refused.reason), Some(UrlEnding::Refused(refused.reason))))
    }

    fn snooze(&self, id: LeaseId, trip: &Trip, turn: Turn) -> Settlement {
        self.tally().waited(&turn, self.clock.now());
        if matches!(turn.ready.clock, Reason::RateAddress | Reason::ConcAddress)
            && let Some(address) = self.gate.clocks(trip.url.origin()).and_then(|clocks| clocks.address)
        {
            self.tally().waited_at(address.address, &turn, self.clock.now());
        }
        let pace = self.gate.pace(trip.url.origin());
        Settlement::Snooze { lease: id, pace, turn, until: turn.ready.at, reason: turn.ready.clock }
    }

    fn settlement(
        &self,
        lease: LeaseId,
        (fate, again): (Fate, Option<Box<Revisit>>),
        links: Vec<Offer>,
        (pace, turn): Paced,
        spent: Spent,
    ) -> Settlement {
        let told = Some((pace, turn));
        match (fate, again) {
            (Fate::Retry, _) => {
                Settlement::Retry { lease, pace, turn, not_before: turn.ready.at.max(self.later()), spent }
            }
            (Fate::Done(_) | Fate::Withheld(_) | Fate::Unhandled, None) => {
                Settlement::Done { lease, links, pace, turn, spent }
            }
            (Fate::Failed(_), None) => Settlement::Failed { lease, pace, turn, spent },
            (Fate::Done(_) | Fate::Withheld(_), Some(revisit)) => {
                Settlement::Again { lease, ending: Ending::Done, links, told, revisit, spent }
            }
            (Fate::Failed(_) | Fate::Unhandled, Some(revisit)) => {
                Settlement::Again { lease, ending: Ending::Failed, links, told, revisit, spent }
            }
        }
    }

    /// A retry is never immediate (design §7), also where the origin has no back-off.
    fn later(&self) -> Instant {
        self.clock.now().after(comity_policy::Politeness::BACKOFF_BASE)
    }

    fn count(&self, fate: &Fate, next: &Next, decision: &Decision, errand: Errand) {
        let mut tally = self.tally();
        if !matches!(fate, Fate::Retry) {
            tally.let_through(decision);
            tally.denied(decision);
        }
        match (fate, next) {
            // No page, kept or not.
            (Fate::Withheld(_), _) if errand == Errand::Sitemap => tally.summary.sitemaps += 1,
            (Fate::Withheld(reason), _) => tally.withheld(*reason),
            (Fate::Unhandled, _) => tally.failed(Reason::CrawlHandler),
            (Fate::Done(_), Next::Redirect(_) | Next::DeadRedirect) => tally.summary.redirects += 1,
            (Fate::Done(_), _) if errand == Errand::Sitemap => tally.summary.sitemaps += 1,
            (Fate::Done(status), _) => tally.fetched(*status),
            (Fate::Retry, _) => tally.summary.retries += 1,
            (Fate::Failed(reason), _) => tally.failed(*reason),
        }
    }

    fn count_visit(&self, trip: &Trip, next: &Next, news: News) {
        if trip.was_visited() && *next == Next::Done {
            self.tally().visited_anew(news.is_unchanged());
        }
    }

    fn count_list(&self, next: &Next, errand: Errand, list: Option<&Sitemap>) {
        let Next::Done = next else { return };
        let mut tally = self.tally();
        tally.summary.listed += list.map_or(0, |list| list.entries.len() as u64);
        let is_sound = list.is_some_and(|list| list.format.is_known() && !list.is_damaged());
        if errand == Errand::Sitemap && !is_sound {
            tally.summary.sitemaps_damaged += 1;
        }
    }

    fn paced(&self, trip: &Trip) -> Paced {
        (self.gate.pace(trip.url.origin()), self.gate.turn(trip.url.origin()))
    }

    /// Settles a lease; a URL that leaves the queue with that is told to whoever wants to know.
    pub(super) async fn settle(&self, settlement: Settlement, outcome: Option<UrlOutcome<'_>>) -> Result<(), Error> {
        if let Some(outcome) = outcome {
            self.write_outcome(settlement.lease(), outcome).await?;
        }
        let watched = match &settlement {
            Settlement::Done { links, .. } | Settlement::Again { links, .. } => self.watched(links),
            _ => Watched::default(),
        };
        let settled = self.frontier.settle(vec![settlement], self.clock.now()).await?;
        self.keeper.wrote();
        if self.keeper.has_synced() {
            // Archive first: no page is safe out of the queue whose record is not safe (invariant 9).
            self.frontier.sync().await?;
        }
        for settled in settled {
            let Applied::Applied { links } = settled else { continue };
            self.count_queued(&watched, &links);
            if let Some(outcome) = outcome {
                self.listeners.ended(outcome);
            }
            if let (Some(handler), Some(outcome)) = (&self.handlers.on_outcome, outcome) {
                // It has left the queue: a handler that panics changes nothing any more.
                if handler::call(|| handler(outcome)).is_err() {
                    tracing::error!(url = %outcome.url, "the on_outcome handler panicked; the crawl goes on");
                }
            }
        }
        Ok(())
    }
}

/// One after the other. Mostly there are none of the first, and nothing is moved.
fn both(mut enqueued: Vec<Offer>, links: Vec<Offer>) -> Vec<Offer> {
    if enqueued.is_empty() {
        return links;
    }
    enqueued.extend(links);
    enqueued
}

/// A sitemap that came damaged comes again later: another try may bring it whole.
fn retried_if_damaged(next: Next, errand: Errand, list: Option<&Sitemap>, retries: u32) -> Next {
    let is_damaged = errand == Errand::Sitemap && list.is_some_and(Sitemap::is_damaged);
    if next == Next::Done && is_damaged && retries > 0 { Next::Retry(Reason::RateBackoff) } else { next }
}

/// Where a URL goes after its exchange.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Done(u16),
    /// Answered, and nothing of the body may be kept.
    Withheld(Reason),
    Retry,
    Failed(Reason),
    /// Fetched, and the page handler failed on it.
    Unhandled,
}

impl Fate {
    const fn of(next: &Next, outcome: Outcome) -> Self {
        match (next, outcome) {
            (Next::Retry(_), _) => Self::Retry,
            (Next::GiveUp(reason) | Next::NotSent(reason), _) => Self::Failed(*reason),
            (_, Outcome::Failed(reason)) => Self::Failed(reason),
            (_, Outcome::Answered { status, .. }) => Self::Done(status),
        }
    }

    /// The same for an answer that may not be kept. A redirect is followed all the same: where it leads is judged by its own
    /// words; and what comes again is not done yet. What was cut before it broke a silence is a fault of the exchange.
    fn withheld(self, next: &Next, decision: &Decision, fault: Option<Reason>) -> Self {
        let is_cut = fault.is_some() && decision.reason == Reason::SignalUnspecified;
        let is_done = *next == Next::Done && matches!(self, Self::Done(_));
        if is_done && !is_cut && decision.is_withheld() { Self::Withheld(decision.reason) } else { self }
    }

    /// True for what `max_pages` counts: as [`Shared::count`] does.
    fn is_page(self, next: &Next, errand: Errand) -> bool {
        let is_redirect = matches!(next, Next::Redirect(_) | Next::DeadRedirect);
        matches!(self, Self::Done(_) | Self::Withheld(_)) && !is_redirect && errand != Errand::Sitemap
    }

    const fn ending(self, next: &Next) -> Option<UrlEnding> {
        match (self, next) {
            (Self::Done(status), Next::Redirect(_) | Next::DeadRedirect) => Some(UrlEnding::Redirected(status)),
            (Self::Done(status), _) => Some(UrlEnding::Fetched(status)),
            (Self::Withheld(reason), _) => Some(UrlEnding::Withheld(reason)),
            (Self::Failed(reason), _) => Some(UrlEnding::Failed(reason)),
            (Self::Unhandled, _) => Some(UrlEnding::Failed(Reason::CrawlHandler)),
            (Self::Retry, _) => None,
        }
    }
}
