use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use comity_frontier::{Ending, LeaseId, Leased, Offer, Offered, Settlement, Spent, TurnNews};
use comity_gate::RobotsNews;
use comity_policy::{Decision, Instant, Ready, Reason};
use comity_url::{CrawlUrl, Origin};
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};

use super::{Shared, licences};
use crate::handler::PageHandler;
use crate::keep::Trip;
use crate::summary::End;
use crate::{Error, Event, Progress, Stop, Summary, UrlEnding};

/// Refused URLs and robots.txt flights that may be under way beside the visits, per place of the total concurrency.
const BESIDE: usize = 4;
/// Seeds offered in one commit: about as many as the links of a large page.
const SEEDS_AT_ONCE: usize = 4096;

/// The loop. It owns the tasks and the end of the crawl; everything else belongs to somebody else.
#[derive(Debug)]
pub(crate) struct Engine {
    shared: Arc<Shared>,
    started: Instant,
    tasks: JoinSet<Result<(), Error>>,
    /// Which lease a task works on: should the task panic, the lease goes back.
    works: HashMap<Id, Work>,
    visits: usize,
    robots_waiting: VecDeque<Origin>,
    stop: watch::Receiver<Stop>,
    pause: watch::Receiver<bool>,
    /// Whether it was told last that it is held.
    told_paused: bool,
    progress: watch::Sender<Progress>,
    published: Option<Instant>,
    /// Something changed that was not published: it follows when the pause is over.
    unpublished: bool,
    /// URLs that earlier runs of this crawl took in, and how many of them they left.
    earlier: u64,
    found: u64,
    /// What earlier runs of this crawl spent.
    before: Spent,
}

/// What a task works on.
#[derive(Debug)]
struct Work {
    lease: LeaseId,
    trip: Trip,
    decision: Arc<Decision>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Visit,
    Refusal,
}

/// What the loop does next.
enum Turnout {
    /// Look for work again.
    Again,
    /// The crawl is over.
    End(End),
}

/// Nothing more is sent by a crawl that was dropped: flights for robots.txt run in tasks of the gate's, which nobody else
/// would end.
impl Drop for Engine {
    fn drop(&mut self) {
        self.shared.gate.shutdown();
    }
}

impl Engine {
    pub(crate) fn new(
        shared: Arc<Shared>,
        (stop, pause): (watch::Receiver<Stop>, watch::Receiver<bool>),
        progress: watch::Sender<Progress>,
    ) -> Self {
        Self {
            started: shared.clock.now(),
            tasks: JoinSet::new(),
            works: HashMap::new(),
            visits: 0,
            robots_waiting: VecDeque::new(),
            shared,
            stop,
            pause,
            told_paused: false,
            progress,
            published: None,
            unpublished: false,
            earlier: 0,
            found: 0,
            before: Spent::default(),
        }
    }

    /// Gives the pages that have no handler to this one.
    pub(crate) fn deliver_to(&self, handler: PageHandler) {
        // Set once: a crawler is run once.
        drop(self.shared.handlers.stream.set(handler));
    }

    /// What its visits share.
    pub(crate) fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    /// Runs the crawl to its end.
    pub(crate) async fn run(mut self, seeds: &[CrawlUrl]) -> Result<Summary, Error> {
        let outcome = match self.crawl(seeds).await {
            Ok(end) => self.land().await.map(|()| end),
            Err(error) => Err(error),
        };
        self.shared.gate.shutdown();
        self.tasks.shutdown().await;
        let outcome = self.shared.keeper.fault().map_or(outcome, Err);
        let closed = self.shared.keeper.close().await;
        let end = outcome?;
        self.shared.frontier.sync().await?;
        self.summary(end, closed?).await
    }

    /// Lets every robots.txt that is on its way arrive and be recorded, unless the crawl is to end now. What is written meanwhile
    /// is made safe as ever.
    async fn land(&mut self) -> Result<(), Error> {
        let shared = self.shared.clone();
        shared.gate.drain();
        let mut landed = std::pin::pin!(shared.gate.landed());
        loop {
            let woken = awaited(shared.keeper.woken());
            let nap = napping(shared.keeper.nap());
            tokio::select! {
                biased;
                // A handle is kept by the crawler itself, so the channel stays open.
                _ = self.stop.wait_for(|stop| *stop == Stop::Now) => return Ok(()),
                () = &mut landed => return Ok(()),
                () = woken => {}
                () = tokio::time::sleep(nap) => {}
            }
            self.keep_safe().await?;
        }
    }

    async fn crawl(&mut self, seeds: &[CrawlUrl]) -> Result<End, Error> {
        let found = self.shared.frontier.stats(self.started).await?;
        (self.earlier, self.found, self.before) = (found.seen, found.queued, found.spent);
        self.note_spent();
        self.offer_seeds(seeds).await?;
        loop {
            self.keep_safe().await?;
            let wake_at = self.dispatch().await?;
            self.publish().await?;
            match self.wait(wake_at).await? {
                Turnout::Again => {}
                Turnout::End(end) => {
                    // What was acknowledged to its sender after the queue was asked is not overtaken by the end of the crawl.
                    let is_wanted = async || end == End::Finished && self.was_poked().await;
                    if self.shared.control.end(is_wanted).await {
                        return Ok(end);
                    }
                }
            }
        }
    }

    /// Makes safe what was recorded a while ago and nothing since: a slow crawl loses no more to a power cut than a fast one.
    async fn keep_safe(&self) -> Result<(), Error> {
        let Shared { keeper, frontier, clock, .. } = &*self.shared;
        if let Some(error) = keeper.fault() {
            return Err(error);
        }
        if keeper.sync_due().is_some_and(|due| due <= clock.now()) {
            keeper.sync().await?;
        }
        if keeper.has_synced() {
            // Archive first: no page is safe out of the queue whose record is not safe (invariant 9).
            frontier.sync().await?;
        }
        Ok(())
    }

    /// In parts: an offer is one commit, and one row of the seen-set.
    async fn offer_seeds(&self, seeds: &[CrawlUrl]) -> Result<(), Error> {
        for part in seeds.chunks(SEEDS_AT_ONCE) {
            self.offer_some_seeds(part).await?;
        }
        Ok(())
    }

    async fn offer_some_seeds(&self, seeds: &[CrawlUrl]) -> Result<(), Error> {
        let mut offers = Vec::new();
        for url in seeds {
            self.shared.scope().add_seed(url);
            self.shared.traps.add_seed(url);
            let offer = Offer::seed(url.clone(), self.shared.keys.key(url, &self.shared.sites));
            let with = self.shared.seeds_with.get(url).cloned().unwrap_or_default();
            offers.push(Offer { priority: with.priority, user_data: with.user_data, ..offer });
        }
        let urls: Vec<CrawlUrl> = offers.iter().map(|offer| offer.url.clone()).collect();
        let taken = self.shared.frontier.offer(offers).await?;
        self.shared.keeper.wrote();
        for (url, offered) in urls.iter().zip(taken) {
            self.shared.keys.offered(url, offered, &self.shared.sites);
            if let Offered::Refused(reason) = offered {
                self.shared.tally().refused(reason);
            }
        }
        Ok(())
    }

    /// Leases what may be leased now and starts a task for each; says when to look again.
    async fn dispatch(&mut self) -> Result<Option<Instant>, Error> {
        self.shared.offer_announced().await?;
        self.start_robots();
        let places = self.places();
        if places == 0 || !self.may_send() || self.limit().is_some() {
            return Ok(None);
        }
        let shared = self.shared.clone();
        let leased = shared.frontier.lease(places, &*shared, shared.clock.now()).await?;
        let Leased { leases, refused, needs_robots, wake_at } = leased;
        for lease in leases {
            let (trip, decision) = (Trip::of(&lease), lease.allowance.decision().clone());
            let work = Work { lease: lease.id, trip, decision, kind: Kind::Visit };
            // Its state is some ten kilobytes: in a box of its own it is moved once, and not with every turn of its task.
            let task = self.tasks.spawn(Box::pin(shared.clone().visit(lease)));
            self.works.insert(task.id(), work);
            self.visits += 1;
        }
        for refused in refused {
            let (trip, decision) = (Trip::of_refused(&refused), refused.refusal.decision().clone());
            let work = Work { lease: refused.id, trip, decision, kind: Kind::Refusal };
            let task = self.tasks.spawn(shared.clone().refuse(refused));
            self.works.insert(task.id(), work);
        }
        self.robots_waiting.extend(needs_robots);
        self.start_robots();
        Ok(wake_at)
    }

    /// Starts robots.txt flights, bounded beside the visits.
    fn start_robots(&mut self) {
        let most = self.shared.live().places().saturating_mul(BESIDE);
        while self.may_send() && self.tasks_but_handlers() < most {
            let Some(origin) = self.robots_waiting.pop_front() else { return };
            self.tasks.spawn(self.shared.clone().ask_robots(origin));
        }
    }

    /// Nobody has asked it to end or to pause.
    fn may_send(&self) -> bool {
        *self.stop.borrow() == Stop::Run && !*self.pause.borrow()
    }

    fn tasks_but_handlers(&self) -> usize {
        self.tasks.len().saturating_sub(self.shared.desk.at_work())
    }

    /// How many visits may start: free places, and never more than the page limit leaves.
    fn places(&self) -> usize {
        let total = self.shared.live().places();
        // Pages at their handlers take no place.
        let free = total.saturating_sub(self.visits.saturating_sub(self.shared.desk.at_work()));
        let beside = total.saturating_mul(BESIDE).saturating_sub(self.tasks_but_handlers());
        let pages = self.spent().pages;
        let left = self.shared.live().limits.max_pages.map_or(usize::MAX, |most| {
            usize::try_from(most.saturating_sub(pages)).unwrap_or(usize::MAX).saturating_sub(self.visits)
        });
        free.min(beside).min(left)
    }

    /// Pages and bytes of this crawl, over all runs (docs/decisions/0047).
    fn spent(&self) -> Spent {
        let tally = self.shared.tally();
        Spent { pages: self.before.pages + tally.summary.pages(), bytes: self.before.bytes + tally.summary.bytes }
    }

    /// Says what earlier runs took of the limits.
    fn note_spent(&self) {
        let (live, Spent { pages, bytes }) = (self.shared.live(), self.before);
        let told =
            [("max_pages", live.limits.max_pages, pages, "page"), ("max_bytes", live.limits.max_bytes, bytes, "byte")];
        for (key, most, spent, what) in told {
            if let Some(most) = most.filter(|_| spent > 0) {
                let more = if spent >= most { "; a higher one goes on" } else { "" };
                let s = if spent == 1 { "" } else { "s" };
                self.shared
                    .tally()
                    .summary
                    .notes
                    .push(format!("{key} = {most}: earlier runs took {spent} {what}{s} of it{more}"));
            }
        }
    }

    /// The limit that is reached, by its key.
    fn limit(&self) -> Option<&'static str> {
        let live = self.shared.live();
        let limits = &live.limits;
        let spent = self.spent();
        let pages = limits.max_pages.is_some_and(|most| spent.pages >= most);
        let bytes = limits.max_bytes.is_some_and(|most| spent.bytes >= most);
        let time = limits.max_duration.is_some_and(|most| self.elapsed() >= most);
        [("max_pages", pages), ("max_bytes", bytes), ("max_duration", time)]
            .iter()
            .find(|(_, hit)| *hit)
            .map(|(key, _)| *key)
    }

    /// Waits for the next thing to happen, or finds that nothing will.
    async fn wait(&mut self, wake_at: Option<Instant>) -> Result<Turnout, Error> {
        let stop = *self.stop.borrow_and_update();
        let limit = self.limit();
        if stop == Stop::Now {
            return Ok(Turnout::End(End::Stopped));
        }
        if self.tasks.is_empty() {
            if stop == Stop::Drain {
                return Ok(Turnout::End(End::Stopped));
            }
            if let Some(key) = limit {
                return Ok(Turnout::End(End::Limit(key)));
            }
            // What waits for the end of a pause is not at its end; nor was work looked for yet where the pause ended since.
            let is_held = *self.pause.borrow() || self.pause.has_changed().unwrap_or(false);
            if !self.is_due_soon(wake_at) && !is_held {
                return Ok(Turnout::End(End::Finished));
            }
        }
        let until_wake = wake_at.map(|at| at.since(self.shared.clock.now()));
        let until_limit = self.shared.live().limits.max_duration.map(|most| most.saturating_sub(self.elapsed()));
        // Nothing due, no wake-up (invariant 8): without an instant to wait for, only an event wakes the loop.
        let until_news = self.unpublished.then_some(PUBLISH_EVERY);
        // Before it is asked how long to sleep: a write that comes after that ends the sleep.
        let woken = awaited(self.shared.keeper.woken());
        let until_sync = self.shared.keeper.nap();
        let until_limit = until_limit.filter(|_| limit.is_none());
        let nap = napping([until_wake, until_limit, until_news, until_sync].into_iter().flatten().min());
        tokio::select! {
            biased;
            // A handle is kept by the crawler itself, so the channel stays open.
            Ok(()) = self.stop.changed() => match *self.stop.borrow() {
                Stop::Run => {}
                Stop::Drain => self.shared.gate.drain(),
                Stop::Now => self.shared.gate.shutdown(),
            },
            Ok(()) = self.pause.changed() => {
                let is_paused = *self.pause.borrow();
                // Held and let go between two looks: nothing was held up, and nothing is told.
                if std::mem::replace(&mut self.told_paused, is_paused) != is_paused {
                    self.shared.listeners.tell(|| if is_paused { Event::Paused } else { Event::Resumed });
                }
            }
            Some(ended) = self.tasks.join_next_with_id() => {
                self.ended(ended).await?;
                // Whatever else has ended meanwhile: one look for work does for all of it.
                while let Some(ended) = self.tasks.try_join_next_with_id() {
                    self.ended(ended).await?;
                }
            }
            () = self.shared.poke.notified() => {}
            () = woken => {}
            () = tokio::time::sleep(nap) => {}
        }
        Ok(Turnout::Again)
    }

    /// Whether something came in since the last look. Waits for nothing.
    async fn was_poked(&self) -> bool {
        tokio::select! {
            biased;
            () = self.shared.poke.notified() => true,
            () = std::future::ready(()) => false,
        }
    }

    fn is_due_soon(&self, wake_at: Option<Instant>) -> bool {
        wake_at.is_some_and(|at| at.since(self.shared.clock.now()) <= self.shared.live().limits.linger)
    }

    /// Takes in a finished task; a panicked one gives its URL back and ends nothing else.
    async fn ended(&mut self, ended: Result<(Id, Result<(), Error>), JoinError>) -> Result<(), Error> {
        let (id, outcome) = match ended {
            Ok((id, outcome)) => (id, outcome),
            Err(error) => (error.id(), Err(Error::internal(format!("a visit failed inside: {error}")))),
        };
        let work = self.works.remove(&id);
        if work.as_ref().is_some_and(|work| work.kind == Kind::Visit) {
            self.visits -= 1;
        }
        match (outcome, work) {
            (Err(error), Some(work)) if !error.is_storage() => {
                tracing::error!(%error, "visit given back");
                self.shared.meters.failed_inside();
                self.give_back(work, &error).await
            }
            // A robots.txt: the frontier asks for it again, and allows nothing meanwhile.
            (Err(error), None) if !error.is_storage() => {
                tracing::error!(%error, "robots.txt is asked for again later");
                Ok(())
            }
            (outcome, _) => outcome,
        }
    }

    /// Gives the URL of a broken visit back, or ends it once its retries are spent: what panics on one page must not keep the
    /// crawl going for ever. Both are on record, since the site may have been asked.
    async fn give_back(&self, work: Work, error: &Error) -> Result<(), Error> {
        let Work { lease, trip, decision, .. } = work;
        let shared = &self.shared;
        let reason = Reason::CrawlPanic;
        shared.keeper.not_fetched(&trip, &decision, reason, Some(error.to_string())).await?;
        let (pace, mut turn) = (shared.gate.pace(trip.url.origin()), shared.gate.turn(trip.url.origin()));
        let later = shared.clock.now().after(Duration::from_secs(5));
        if turn.ready.at < later {
            turn.ready = Ready { at: later, clock: Reason::RateBackoff };
        }
        if trip.attempt <= shared.live().limits.retries {
            let retry = Settlement::Retry { lease, pace, turn, not_before: later, spent: Spent::default() };
            shared.tally().summary.retries += 1;
            return shared.settle(retry, None).await;
        }
        shared.tally().failed(reason);
        let settlement = match shared.next_try(&trip, reason) {
            Some(revisit) => {
                let (ending, told) = (Ending::Failed, Some((pace, turn)));
                Settlement::Again { lease, ending, links: Vec::new(), told, revisit, spent: Spent::default() }
            }
            None => Settlement::Failed { lease, pace, turn, spent: Spent::default() },
        };
        shared.settle(settlement, Some(trip.outcome(UrlEnding::Failed(reason)))).await
    }

    fn elapsed(&self) -> Duration {
        self.shared.clock.now().since(self.started)
    }

    /// Publishes progress, ten times a second at most.
    async fn publish(&mut self) -> Result<(), Error> {
        let now = self.shared.clock.now();
        let fresh = self.published.is_some_and(|at| now.since(at) < PUBLISH_EVERY);
        self.unpublished = fresh && !self.progress.is_closed();
        if self.progress.is_closed() || fresh {
            return Ok(());
        }
        self.published = Some(now);
        let stats = self.shared.frontier.stats(now).await?;
        let summary = self.shared.tally().summary.clone();
        self.progress.send_replace(Progress {
            pages: summary.pages(),
            spent_pages: stats.spent.pages,
            refused: summary.refusals(),
            failed: summary.failed.values().sum(),
            bytes: summary.bytes,
            queued: stats.queued,
            in_flight: self.visits,
            origins: stats.origins,
            waiting: stats.waiting,
            elapsed: self.elapsed(),
            at: now,
        });
        Ok(())
    }

    async fn summary(&self, end: End, files: Vec<std::path::PathBuf>) -> Result<Summary, Error> {
        let now = self.shared.clock.now();
        let stats = self.shared.frontier.stats(now).await?;
        let mut summary = self.shared.tally().summary.clone();
        summary.origins = stats.origins;
        summary.robots = self.shared.keeper.robots_requests();
        summary.queued = stats.seen - self.earlier + self.found + stats.returned;
        summary.next_visit = stats.next_visit.map(|at| at.since(now));
        summary.scheduled = if stats.next_visit.is_some() { stats.scheduled } else { 0 };
        summary.merged = self.shared.keys.merged();
        summary.left = stats.queued + stats.leased;
        summary.waiting = stats.waiting;
        summary.elapsed = self.elapsed();
        summary.end_overrides(self.shared.clock.wall());
        let outdated = self.shared.gate.outdated_reviews();
        summary.notes.extend(outdated.iter().map(|(review, found)| licences::outdated(review, *found)));
        summary.files = files;
        summary.end = end;
        summary.now = now;
        Ok(summary)
    }
}

/// Progress is published this often at most.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);

/// As good as never, and within what timers take.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// So long, within what timers take.
fn napping(nap: Option<Duration>) -> Duration {
    nap.unwrap_or(FAR).clamp(Duration::from_micros(100), FAR)
}

/// Never ends where there is nothing to await.
async fn awaited(event: Option<impl Future<Output = ()>>) {
    match event {
        Some(event) => event.await,
        None => std::future::pending().await,
    }
}

impl Shared {
    /// One robots.txt flight of the gate's, and its news to the frontier.
    async fn ask_robots(self: Arc<Self>, origin: Origin) -> Result<(), Error> {
        let RobotsNews { turn, hold, .. } = self.gate.robots(&origin).await;
        let now = self.clock.now();
        let news = match hold {
            Some(hold) => TurnNews::Hold { until: hold.wait.map(|wait| now.after(wait)), reason: hold.reason },
            None => TurnNews::RobotsReady { turn },
        };
        self.meters.robots(&self.gate.robots_life(&origin).standing(self.clock.wall()));
        self.tally().waited(&turn, now);
        self.frontier.turn(origin, news, now).await?;
        Ok(())
    }
}
