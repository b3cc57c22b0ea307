//! What a crawl leaves behind: every outcome goes to the archive before its URL leaves the queue.

mod exposed;
mod told;

use std::collections::HashMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use comity_archive::{
    ArchiveError, Basis, ConfigFacts, Context, CrawlLock, Earlier, Event, EvidenceStore, Fetched, NotFetched,
    SharedArchive, Target, TermsLink,
};
use comity_frontier::{Lease, RecordMark, RefusedLease, UserData, Visited};
use comity_gate::StateDir;
use comity_policy::{Capture, Clock, Decision, Digest, Errand, Instant, Reason};
use comity_store::Pending;
use comity_url::{CrawlUrl, Origin};
use tokio::sync::Semaphore;
use tokio::sync::futures::Notified;
use tracing::Instrument as _;

use crate::events::Listeners;
use crate::open::Work;
use crate::sites::Sites;
use crate::{Error, UrlEnding, UrlOutcome};
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
    /// Of the directory, until nobody writes there any more.
    _lock: Arc<CrawlLock>,
}

/// What is made safe together with the archive.
#[derive(Debug)]
struct Beside {
    evidence: EvidenceStore,
    state: Option<Arc<StateDir>>,
    /// The mark of a new crawl, on its way to the disk.
    begun: Pending,
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

    pub(crate) fn outcome(&self, ending: UrlEnding) -> UrlOutcome<'_> {
        UrlOutcome { url: &self.url, via: self.via.as_ref(), ending, attempt: self.attempt }
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
            store.sync_before(&mut store.beside())?;
            store.archive.reconfigure(facts).map(Some)
        })
        .await
    }

    /// Closes the archive: every file whole, synced and under its final name.
    pub(crate) async fn close(&self) -> Result<Vec<PathBuf>, Error> {
        self.blocking(|store| {
            // What the last records rest on comes first.
            store.sync_before(&mut store.beside())?;
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

impl Store {
    /// What is `now`; `mark` says how many records are there, and `exposed` since when something is written.
    pub(crate) fn new(
        archive: SharedArchive,
        evidence: EvidenceStore,
        dir: PathBuf,
        work: Work,
        state: Option<Arc<StateDir>>,
        (now, mark, exposed): (Instant, RecordMark, Arc<Exposed>),
        lock: Arc<CrawlLock>,
    ) -> Self {
        Self {
            archive,
            dir,
            work,
            beside: Mutex::new(Beside { evidence, state, begun: Pending::default(), synced: now }),
            mark,
            exposed,
            _lock: lock,
        }
    }

    /// Nothing is called safe before this is.
    pub(crate) fn rests_on(&mut self, begun: Pending) {
        self.beside.get_mut().unwrap_or_else(PoisonError::into_inner).begun = begun;
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
        self.sync_before(beside)?;
        self.archive.sync()?;
        self.mark.safe(end);
        if let Some(Err(error)) = beside.state.as_ref().map(|state| state.sync()) {
            // It only spares requests: what it loses is asked of the sites again.
            tracing::error!(%error, hint = error.hint(), "state directory");
        }
        Ok(())
    }

    /// Makes safe what records rest on.
    fn sync_before(&self, beside: &mut Beside) -> Result<(), ArchiveError> {
        beside.begun.finish().map_err(|source| ArchiveError::Io { path: self.dir.clone(), source })?;
        beside.evidence.sync()
    }

    /// A panic under the lock leaves an index line at worst, which is whole or cut off at the next start.
    fn beside(&self) -> MutexGuard<'_, Beside> {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
