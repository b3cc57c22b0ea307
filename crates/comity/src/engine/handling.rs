//! Pages at their handlers: how many at once, for how long, and what their URLs hold on to meanwhile.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use comity_frontier::{LeaseId, Offer, Renewal, Renewed};
use comity_policy::{Capture, Reason};
use tokio::sync::Semaphore;

use super::Shared;
use crate::context::{Context, Enqueued, Handles};
use crate::handler::{self, Fault, HandlerResult, PageHandler, Panicked};
use crate::keep::Trip;
use crate::{Error, Page, UrlOutcome};

/// Where asynchronous handlers work. A page at its handler gives its place among the visits to another one, so that a slow
/// handler holds up no origin but its page's own; with all places here taken, pages wait in theirs, and the crawl is as fast
/// as its handlers. So `total` and these places are what may be in memory, and neither grows with the crawl.
#[derive(Debug)]
pub(crate) struct Desk {
    places: Semaphore,
    at_work: AtomicUsize,
    time: Duration,
    handles: Handles,
}

/// What a handler may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandlerBounds {
    pub(crate) at_once: usize,
    pub(crate) time: Duration,
}

impl HandlerBounds {
    /// Our choice: as many as twice the visits under way at once.
    pub(crate) const AT_ONCE: usize = 64;
    /// Our choice: as long as an exchange may take in all.
    pub(crate) const TIME: Duration = Duration::from_secs(60);
    /// Nobody waits longer for a handler.
    pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 3600);
}

impl Default for HandlerBounds {
    fn default() -> Self {
        Self { at_once: Self::AT_ONCE, time: Self::TIME }
    }
}

/// What came of a page at its handler.
#[derive(Debug, Default)]
pub(super) struct Handled {
    pub(super) enqueued: Vec<Enqueued>,
    pub(super) has_failed: bool,
}

/// Counts a handler at work, however it ends.
struct AtWork<'a>(&'a AtomicUsize);

/// A lease is renewed this often while its page is at a handler or a sink, and for this long: it outlives several renewals that
/// come late.
const RENEW_EVERY: Duration = Duration::from_secs(20);
const RENEW_FOR: Duration = Duration::from_secs(120);

impl Desk {
    pub(crate) fn new(bounds: HandlerBounds, handles: Handles) -> Self {
        let HandlerBounds { at_once, time } = bounds;
        let places = Semaphore::new(at_once.clamp(1, Semaphore::MAX_PERMITS));
        Self { places, at_work: AtomicUsize::new(0), time: time.min(HandlerBounds::LONGEST), handles }
    }

    /// Handlers at work: their visits take no places.
    pub(super) fn at_work(&self) -> usize {
        self.at_work.load(Ordering::Relaxed)
    }
}

impl<'a> AtWork<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    /// Gives a page to its handler, and waits until that has ended. A handler that fails says nothing about the site and does
    /// not ask it again: the page counts as failed, its links are followed, what was enqueued stays so, and the crawl goes on
    /// (docs/decisions/0039, 0058).
    pub(super) async fn handle(
        &self,
        lease: LeaseId,
        handler: &PageHandler,
        page: Page,
    ) -> Result<(Capture, Handled), Error> {
        let url = page.url().clone();
        let (enqueued, ended) = match handler {
            PageHandler::Plain(handler) => {
                let ended = handler::call(|| handler(&page));
                (Vec::new(), ended.and_then(|given| given.map_err(Fault::failed)))
            }
            PageHandler::Async { call, patient } => {
                let context = Context::new(url.clone(), self.desk.handles.clone());
                let (theirs, copy) = (context.clone(), page.clone());
                let time = if *patient { HandlerBounds::LONGEST } else { self.desk.time };
                let ended = self.at_desk(lease, time, handler::run(move || call(copy, theirs))).await?;
                (context.settle(), ended)
            }
        };
        let (mut capture, has_failed) = (page.into_capture(), ended.is_err());
        if let Err(Fault(words)) = ended {
            tracing::error!(%url, "{words}; the crawl goes on");
            // What was wrong with the exchange itself is why it is not whole; what its handler said of it stands behind that.
            if capture.fault.is_none() {
                (capture.fault, capture.detail) = (Some(Reason::CrawlHandler), Some(words));
            } else {
                let before = capture.detail.take().map(|detail| format!("{detail}; ")).unwrap_or_default();
                capture.detail = Some(before + &words);
            }
        }
        Ok((capture, Handled { enqueued, has_failed }))
    }

    /// Runs a handler in a place of the desk, within its time; the lease stays held for as long as both take.
    async fn at_desk(
        &self,
        lease: LeaseId,
        time: Duration,
        handling: impl Future<Output = Result<(), Fault>>,
    ) -> Result<Result<(), Fault>, Error> {
        let Desk { places, at_work, .. } = &self.desk;
        let in_time = async {
            // The semaphore is never closed.
            let place = places.acquire().await;
            let at_work = AtWork::new(at_work);
            // A place among the visits is free.
            self.poke.notify_one();
            let ended = tokio::time::timeout(time, handling).await;
            drop((at_work, place));
            ended.unwrap_or_else(|_| Err(Fault(format!("the handler took longer than {} s", time.as_secs_f64()))))
        };
        self.held(lease, in_time).await
    }

    /// Keeps a lease for as long as something takes that is bounded by itself. What is not done at once renews it at once: what
    /// came before has taken a part of its life.
    async fn held<T>(&self, lease: LeaseId, work: impl Future<Output = T>) -> Result<T, Error> {
        let mut work = pin!(work);
        let mut pause = Duration::ZERO;
        loop {
            tokio::select! {
                biased;
                ended = &mut work => return Ok(ended),
                () = tokio::time::sleep(pause) => pause = RENEW_EVERY,
            }
            let now = self.clock.now();
            match self.frontier.renew(lease, Renewal::until(now.after(RENEW_FOR)), now).await? {
                Renewed::Held => tracing::trace!("renewed, at its handler or sink"),
                // It was asked for, so its record is written all the same; the queue takes nothing of it any more.
                Renewed::Stale => tracing::warn!("the lease ended before its page was through: it is asked for again"),
            }
        }
    }

    /// Gives a page to the sink, which acknowledges it before it may leave the queue.
    pub(super) async fn write_page(&self, lease: LeaseId, page: &Page) -> Result<(), Error> {
        let Some(sink) = &self.handlers.sink else { return Ok(()) };
        self.acknowledged(lease, handler::caught(|| sink.0.page(page))).await
    }

    /// Tells the sink how a URL leaves the queue, before it does; the lease stays held meanwhile.
    pub(super) async fn write_outcome(&self, lease: LeaseId, outcome: UrlOutcome<'_>) -> Result<(), Error> {
        let Some(sink) = &self.handlers.sink else { return Ok(()) };
        self.acknowledged(lease, handler::caught(|| sink.0.outcome(outcome))).await
    }

    /// Waits for the sink. Nothing of it is acknowledged by an error, a panic, or a time that is over: each ends the crawl.
    async fn acknowledged(
        &self,
        lease: LeaseId,
        written: impl Future<Output = Result<HandlerResult, Panicked>>,
    ) -> Result<(), Error> {
        let time = self.desk.time;
        match self.held(lease, tokio::time::timeout(time, written)).await? {
            Ok(Ok(acknowledged)) => acknowledged.map_err(Error::sink),
            Ok(Err(Panicked)) => Err(Error::sink("it panicked".into())),
            Err(_) => Err(Error::sink(format!("nothing was acknowledged within {} s", time.as_secs_f64()).into())),
        }
    }

    /// The offers for what a handler enqueued, each held to what a link is held to; the rest is counted by reason.
    pub(super) fn enqueued(&self, trip: &Trip, enqueued: Vec<Enqueued>) -> Vec<Offer> {
        let mut offers = Vec::with_capacity(enqueued.len());
        for Enqueued { url, priority, user_data } in enqueued {
            let admitted = self.admits_link(&url, trip.depth + 1, false);
            match admitted.and_then(|()| self.listeners.admits(&url, &trip.url, trip.depth + 1)) {
                Ok(()) => {
                    let key = self.keys.key(&url, &self.sites);
                    let link = Offer::link(url, key, trip.url.clone(), trip.depth + 1);
                    offers.push(Offer { priority, user_data, ..link });
                }
                Err(reason) => self.skip(&url, &trip.url, reason),
            }
        }
        offers
    }
}
