//! What a crawl leaves behind: every outcome goes to the archive before its URL leaves the queue.

mod exposed;

use std::collections::HashMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use bytes::Bytes;
use comity_archive::{
    ArchiveError, Basis, ConfigFacts, Context, Earlier, Event, EvidenceKind, EvidenceStore, Fetched, NotFetched,
    SharedArchive, Target, TermsLink,
};
use comity_fetch::BoxFuture;
use comity_frontier::{Lease, RecordMark, RefusedLease, UserData, Visited};
use comity_gate::{RecalledFile, RecalledRobots, Recorder, RobotsVisit, SiteFileOutcome, SiteFileVisit, StateDir};
use comity_policy::{Capture, Clock, Decision, Digest, Errand, Instant, Reason};
use comity_url::{CrawlUrl, Origin};
use tokio::sync::Semaphore;
use tokio::sync::futures::Notified;
use tracing::Instrument as _;

use crate::events::Listeners;
use crate::open::Work;
use crate::sites::Sites;
use crate::{Error, RobotsSeen, UrlEnding, UrlOutcome};
pub(crate) use exposed::{Exposed, ToldStore};

/// How a URL came to be visited: what offers and records of it need.
#[derive(Clone, Debug)]
pub(crate) struct Trip {
    pub(crate) url: CrawlUrl,
    pub(crate) depth: u32,
    pub(crate) hops: u8,
    pub(crate) via: Option<CrawlUrl>,
    pub(crate) seed: bool,
    pub(crate) priority: u8,
    /// 1 for the first.
    pub(crate) attempt: u32,
    /// What earlier visits have shown.
    pub(crate) visited: Option<Box<Visited>>,
    /// Body bytes received of its origin before.
    pub(crate) received: u64,
}

/// The archive of a crawl, or none: cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    store: Option<Arc<Store>>,
    /// Digests and compression at once, at most: the event loop wants the machine too.
    workers: Arc<Semaphore>,
    clock: Arc<dyn Clock>,
    robots: Arc<AtomicU64>,
    /// Told of every robots.txt: what it says beside its rules.
    sites: Arc<Sites>,
    /// Who hears of every robots.txt.
    listeners: Listeners,
    /// The robots.txt of each origin, while anybody listens.
    seen: Arc<Mutex<HashMap<Origin, Digest>>>,
    /// Set when the archive was made safe against a power cut: the queue follows.
    synced: Arc<AtomicBool>,
    /// A robots.txt that could not be recorded: nobody waits for that write, so it ends the crawl from here.
    fault: Arc<Mutex<Option<Error>>>,
}

/// The crawl directory, open.
#[derive(Debug)]
pub(crate) struct Store {
    archive: SharedArchive,
    dir: PathBuf,
    /// Where its files are written.
    work: Work,
    beside: Mutex<Beside>,
    /// Tells the queue how far the records have come.
    mark: RecordMark,
    /// Since when something is written that is not safe yet, here or into the queue.
    exposed: Arc<Exposed>,
}

/// What is made safe together with the archive.
#[derive(Debug)]
struct Beside {
    evidence: EvidenceStore,
    state: Option<Arc<StateDir>>,
    /// When that was last.
    synced: Instant,
}

impl Trip {
    pub(crate) fn of(lease: &Lease) -> Self {
        Self {
            url: lease.url.clone(),
            depth: lease.depth,
            hops: lease.hops,
            via: lease.via.clone(),
            seed: lease.seed,
            priority: lease.priority,
            attempt: lease.attempt,
            visited: lease.visited.clone(),
            received: lease.received,
        }
    }

    pub(crate) fn of_refused(refused: &RefusedLease) -> Self {
        Self {
            url: refused.url.clone(),
            depth: refused.depth,
            hops: refused.hops,
            via: refused.via.clone(),
            seed: refused.seed,
            priority: refused.priority,
            attempt: refused.attempts + 1,
            visited: refused.visited.clone(),
            received: 0,
        }
    }

    /// True when it was asked for before, at another visit.
    pub(crate) fn was_visited(&self) -> bool {
        self.visited.as_deref().is_some_and(Visited::is_visited)
    }

    /// What the crawl's author keeps with it.
    pub(crate) fn user_data(&self) -> Option<&UserData> {
        self.visited.as_deref()?.user_data.as_ref()
    }

    pub(crate) const fn outcome(&self, ending: UrlEnding) -> UrlOutcome<'_> {
        UrlOutcome { url: &self.url, ending, attempt: self.attempt }
    }

    fn context(&self) -> Context {
        Context {
            via: self.via.clone(),
            depth: self.depth,
            hops: self.hops,
            seed: self.seed,
            attempt: self.attempt,
            file: None,
            terms: Vec::new(),
        }
    }
}

impl Keeper {
    /// Keeps everything in `store`; `None` keeps nothing.
    pub(crate) fn new(store: Option<Store>, clock: Arc<dyn Clock>, sites: Arc<Sites>, listeners: Listeners) -> Self {
        let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
        let workers = Arc::new(Semaphore::new(workers));
        Self {
            store: store.map(Arc::new),
            workers,
            clock,
            robots: Arc::default(),
            sites,
            listeners,
            seen: Arc::default(),
            synced: Arc::default(),
            fault: Arc::default(),
        }
    }

    /// The crawl's directory, if it has one.
    pub(crate) fn dir(&self) -> Option<&Path> {
        self.store.as_ref().map(|store| store.dir.as_path())
    }

    /// robots.txt requests so far, redirects among them.
    pub(crate) fn robots_requests(&self) -> u64 {
        self.robots.load(Ordering::Relaxed)
    }

    /// True once after each time the archive was made safe against a power cut.
    pub(crate) fn has_synced(&self) -> bool {
        self.synced.swap(false, Ordering::Relaxed)
    }

    /// When what is written has to be made safe, if nothing is recorded before.
    pub(crate) fn sync_due(&self) -> Option<Instant> {
        self.store.as_ref()?.exposed.since().map(|since| since.after(SYNC_EVERY))
    }

    /// For how long whoever makes things safe may sleep: not at all when the queue is to follow the archive, `None` for as long
    /// as nothing is written. Asked after [`Self::woken`].
    pub(crate) fn nap(&self) -> Option<Duration> {
        if self.synced.load(Ordering::Relaxed) {
            return Some(Duration::ZERO);
        }
        self.sync_due().map(|due| due.since(self.clock.now()))
    }

    /// Ends when a nap that began after this call may be too long. `None` where nothing is kept.
    pub(crate) fn woken(&self) -> Option<Notified<'_>> {
        self.store.as_ref().map(|store| store.exposed.woken())
    }

    /// Makes everything recorded so far safe against a power cut: the queue follows.
    pub(crate) async fn sync(&self) -> Result<(), Error> {
        let now = self.clock.now();
        self.blocking(move |store| store.sync(&mut store.beside(), now)).await?;
        self.queue_follows();
        Ok(())
    }

    /// Something was written, here or into a queue of somebody else's, that is not safe against a power cut yet. Called after the
    /// write. Our own queue tells each commit by itself ([`ToldStore`]).
    pub(crate) fn wrote(&self) {
        if let Some(store) = &self.store {
            store.exposed.wrote();
        }
    }

    /// The archive is safe; whoever sleeps until the next sync makes the queue safe now.
    fn queue_follows(&self) {
        self.synced.store(true, Ordering::Relaxed);
        if let Some(store) = &self.store {
            store.exposed.wake();
        }
    }

    /// What kept a robots.txt from being recorded.
    pub(crate) fn fault(&self) -> Option<Error> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Records an exchange; `earlier` is the capture that it repeats, `terms` are links of the answer. Gives what a later one can
    /// point at.
    pub(crate) async fn fetched(
        &self,
        trip: &Trip,
        capture: Capture,
        decision: Arc<Decision>,
        (earlier, terms): (Option<Earlier>, Vec<TermsLink>),
    ) -> Result<Option<Earlier>, Error> {
        let errand = Errand::Judged(decision);
        let context = Context { terms, ..trip.context() };
        let event = Fetched { capture, errand, robots_copy: None, earlier, context };
        self.append(Event::Fetched(Box::new(event))).await
    }

    /// Records a URL that was not requested.
    pub(crate) async fn not_fetched(
        &self,
        trip: &Trip,
        decision: &Arc<Decision>,
        reason: Reason,
        detail: Option<String>,
    ) -> Result<(), Error> {
        let event = NotFetched {
            target: Target::Url(trip.url.clone()),
            reason,
            basis: Basis::Decision(decision.clone()),
            at: self.clock.wall(),
            until: None,
            detail,
            context: trip.context(),
        };
        self.append(Event::NotFetched(Box::new(event))).await.map(drop)
    }

    /// From the next record on another configuration is in force: its digest, the robots policy in words, the overrides. New
    /// files begin with it.
    pub(crate) async fn reconfigured(&self, facts: ConfigFacts) -> Result<Option<ConfigFacts>, Error> {
        self.blocking(|store| {
            // The files are closed, and a checkpoint written.
            store.beside().evidence.sync()?;
            store.archive.reconfigure(facts).map(Some)
        })
        .await
    }

    /// Closes the archive: every file whole, synced and under its final name.
    pub(crate) async fn close(&self) -> Result<Vec<PathBuf>, Error> {
        self.blocking(|store| {
            // What the last records rest on comes first.
            store.beside().evidence.sync()?;
            store.archive.close()?;
            Ok(written_files(&store.dir))
        })
        .await
    }

    async fn append(&self, event: Event) -> Result<Option<Earlier>, Error> {
        let (Some(_), Ok(worker)) = (&self.store, self.workers.clone().acquire_owned().await) else { return Ok(None) };
        let now = self.clock.now();
        let stored_and_synced = self.blocking(move |store| {
            let prepared = store.archive.prepare(event)?;
            // While it waits for its turn, another may be prepared.
            drop(worker);
            let stored = store.archive.append(prepared)?;
            if let Some(stored) = &stored {
                store.mark.written(stored.seq + 1);
            }
            Ok((stored.and_then(|stored| stored.capture), store.sync_if_due(now)?))
        });
        let (stored, is_synced) = stored_and_synced.instrument(tracing::debug_span!("archive")).await?;
        if is_synced {
            self.queue_follows();
        } else {
            self.wrote();
        }
        Ok(stored)
    }

    /// Runs one piece of file work off the loop, or inline where nothing may take time that the clock does not know of.
    async fn blocking<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, Error> {
        let Some(store) = self.store.clone() else { return Ok(T::default()) };
        if store.work == Work::Inline {
            return Ok(work(&store)?);
        }
        let outcome = tokio::task::spawn_blocking(move || work(&store)).await;
        Ok(outcome.map_err(|e| Error::internal(format!("the archive's thread failed: {e}")))??)
    }
}

impl Recorder for Keeper {
    fn robots_visit(&self, visit: RobotsVisit) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.robots.fetch_add(1, Ordering::Relaxed);
            self.learn(&visit.for_origin, visit.capture.status, visit.file.as_ref().map(|(_, bytes)| bytes));
            self.listeners.tell(|| crate::Event::Robots(self.robots_seen(&visit)));
            let kept = self.keep_robots(visit).await;
            if let Err(error) = kept {
                tracing::error!(%error, "robots.txt could not be recorded");
                self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        })
    }

    fn site_file_visit(&self, visit: SiteFileVisit) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = self.keep_file(visit).await {
                tracing::error!(%error, "a site's file could not be recorded");
                self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        })
    }

    fn site_file_recalled(&self, recalled: RecalledFile) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let RecalledFile { kind, file, fetched, status, copy } = recalled;
            let kept = self.blocking(move |store| {
                let bytes = copy.as_ref().map(|(_, bytes)| bytes.as_ref());
                store.beside().evidence.put(kind.into(), &file, fetched, status, bytes).map(drop)
            });
            if let Err(error) = kept.await {
                tracing::error!(%error, "a file of an earlier crawl could not be kept as evidence");
                self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        })
    }

    fn robots_recalled(&self, recalled: RecalledRobots) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let RecalledRobots { for_origin, fetched, status, file } = recalled;
            self.learn(&for_origin, Some(status), file.as_ref().map(|(_, bytes)| bytes));
            let kept = self.blocking(move |store| {
                let bytes = file.as_ref().map(|(_, bytes)| bytes.as_ref());
                let url = for_origin.robots_url();
                store.beside().evidence.put(EvidenceKind::RobotsTxt, &url, fetched, status, bytes).map(drop)
            });
            if let Err(error) = kept.await {
                tracing::error!(%error, "the robots.txt of an earlier crawl could not be kept as evidence");
            }
        })
    }
}

impl Keeper {
    fn robots_seen(&self, visit: &RobotsVisit) -> RobotsSeen {
        let (origin, digest) = (visit.for_origin.clone(), visit.file.as_ref().map(|(digest, _)| *digest));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match digest {
            Some(digest) if seen.len() < MOST_SEEN || seen.contains_key(&origin) => seen.insert(origin.clone(), digest),
            _ => None,
        };
        let changed = before.is_some() && before != digest;
        RobotsSeen { origin, url: visit.capture.url.clone(), status: visit.capture.status, digest, changed }
    }

    fn learn(&self, origin: &Origin, status: Option<u16>, file: Option<&Bytes>) {
        match (file, status) {
            (Some(bytes), _) => self.sites.learn(origin, bytes),
            (None, Some(400..=428 | 430..=499)) => self.sites.learn_absent(origin),
            (None, _) => {}
        }
    }

    async fn keep_robots(&self, visit: RobotsVisit) -> Result<(), Error> {
        let RobotsVisit { for_origin, hop, capture, file } = visit;
        let (url, fetched, status) = (capture.url.clone(), capture.started, capture.status);
        let context = Context { hops: hop, attempt: 1, ..Context::default() };
        let errand = Errand::Robots { for_origin, hop };
        let robots_copy = file.as_ref().map(|(digest, _)| *digest);
        self.blocking(move |store| {
            // Absence is evidence too: an answer without a file is a sighting without bytes.
            let Some(status) = status else { return Ok(()) };
            let bytes = file.as_ref().map(|(_, bytes)| bytes.as_ref());
            store.beside().evidence.put(EvidenceKind::RobotsTxt, &url, fetched, status, bytes).map(drop)
        })
        .await?;
        let event = Fetched { capture, errand, robots_copy, earlier: None, context };
        self.append(Event::Fetched(Box::new(event))).await.map(drop)
    }
}

impl Keeper {
    /// Keeps the licences that stand within a page as evidence: the page itself may be withheld for them.
    pub(crate) async fn licences_within(&self, page: &CrawlUrl, texts: Vec<(Digest, Bytes)>) -> Result<(), Error> {
        if texts.is_empty() {
            return Ok(());
        }
        let (url, now) = (page.clone(), self.clock.wall());
        self.blocking(move |store| {
            texts.iter().try_for_each(|(_, text)| {
                store.beside().evidence.put(EvidenceKind::Licence, &url, now, WITHIN_A_PAGE, Some(text)).map(drop)
            })
        })
        .await
    }

    /// A request for a file in which a site speaks about use: the sighting first, absence too, then the record.
    async fn keep_file(&self, visit: SiteFileVisit) -> Result<(), Error> {
        let SiteFileVisit { kind, file: place, hop, url, decision, outcome } = visit;
        let kind = EvidenceKind::from(kind);
        // Whoever reads the record of a hop sees whose file it was.
        let via = (hop > 0).then_some(place);
        let context = Context { via, hops: hop, attempt: 1, file: Some(kind), ..Context::default() };
        let event = match outcome {
            SiteFileOutcome::Asked(capture, file) => {
                if let Some(status) = capture.status {
                    let (url, fetched) = (url.clone(), capture.started);
                    self.blocking(move |store| {
                        let bytes = file.as_ref().map(|(_, bytes)| bytes.as_ref());
                        store.beside().evidence.put(kind, &url, fetched, status, bytes).map(drop)
                    })
                    .await?;
                }
                let errand = Errand::Judged(decision);
                Event::Fetched(Box::new(Fetched {
                    capture: *capture,
                    errand,
                    robots_copy: None,
                    earlier: None,
                    context,
                }))
            }
            SiteFileOutcome::NotAsked(reason, detail) => Event::NotFetched(Box::new(NotFetched {
                target: Target::Url(url),
                reason,
                basis: Basis::Decision(decision),
                at: self.clock.wall(),
                until: None,
                detail,
                context,
            })),
        };
        self.append(event).await.map(drop)
    }
}

impl Store {
    /// What is `now`; `mark` says how many records are there, and `exposed` since when something is written.
    pub(crate) fn new(
        archive: SharedArchive,
        evidence: EvidenceStore,
        dir: PathBuf,
        work: Work,
        state: Option<Arc<StateDir>>,
        (now, mark, exposed): (Instant, RecordMark, Arc<Exposed>),
    ) -> Self {
        Self { archive, dir, work, beside: Mutex::new(Beside { evidence, state, synced: now }), mark, exposed }
    }

    /// Once a second everything so far is made safe against power loss (invariant 9). True when it was.
    fn sync_if_due(&self, now: Instant) -> Result<bool, ArchiveError> {
        let mut beside = match self.beside.try_lock() {
            Ok(beside) => beside,
            Err(TryLockError::Poisoned(broken)) => broken.into_inner(),
            // Somebody is at it, or keeps evidence: the next outcome looks again.
            Err(TryLockError::WouldBlock) => return Ok(false),
        };
        if now.since(beside.synced) < SYNC_EVERY {
            return Ok(false);
        }
        self.sync(&mut beside, now)?;
        Ok(true)
    }

    fn sync(&self, beside: &mut Beside, now: Instant) -> Result<(), ArchiveError> {
        beside.synced = now;
        // Before it is read how far the records have come: what others write from here on, during the sync too, is due anew.
        self.exposed.sync_begins();
        // Appended before the sync begins, so safe when it is over.
        let end = self.mark.written_end();
        // Evidence before the records and checkpoints that rest on it.
        beside.evidence.sync()?;
        self.archive.sync()?;
        self.mark.safe(end);
        if let Some(Err(error)) = beside.state.as_ref().map(|state| state.sync()) {
            // It only spares requests: what it loses is asked of the sites again.
            tracing::error!(%error, hint = error.hint(), "state directory");
        }
        Ok(())
    }

    /// A panic under the lock leaves an index line at worst, which is whole or cut off at the next start.
    fn beside(&self) -> MutexGuard<'_, Beside> {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The status of the sighting of a licence that stands within a page: that page's answer is a record of its own.
const WITHIN_A_PAGE: u16 = 200;

/// Origins whose robots.txt is held against the next one, for listeners. Of more a change is not told.
const MOST_SEEN: usize = 65_536;

/// What a power cut may cost, in time.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The closed files of a crawl directory, in order.
fn written_files(dir: &Path) -> Vec<PathBuf> {
    let folders = ["warc", "records"].map(|name| dir.join(name));
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let mut files: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests;
