//! A crawl with an archive: what comes to pass is written there.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use bytes::Bytes;
use comity_archive::{
    ArchiveError, Basis, ConfigFacts, Context, Event, EvidenceKind, EvidenceStore, Fetched, NotFetched, SharedArchive,
    Target,
};
pub(crate) use comity_archive::{Earlier, TermsLink};
use comity_frontier::RecordMark;
use comity_gate::{RecalledFile, RecalledRobots, RobotsVisit, SiteFileOutcome, SiteFileVisit};
use comity_policy::{Capture, Decision, Digest, Errand, Instant, Reason};
use comity_url::CrawlUrl;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tracing::Instrument as _;

use super::{Exposed, Keeper, SYNC_EVERY, Trip};
use crate::Error;
use crate::config::CrawlConfig;
use crate::open::Work;
use crate::pending::Pending;
use crate::recording::{Held, robots_policy};
use crate::remembered::Remembered;

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
    _lock: Held,
}

/// What is made safe together with the archive.
#[derive(Debug)]
struct Beside {
    evidence: EvidenceStore,
    state: Remembered,
    /// The mark of a new crawl, on its way to the disk.
    begun: Pending,
    /// When that was last.
    synced: Instant,
}

/// Links to terms that are looked at, of one answer.
pub(crate) const MOST_TERMS: usize = Context::MOST_TERMS;

/// What records say of a configuration.
pub(crate) fn facts(config: &CrawlConfig, digest: Digest) -> ConfigFacts {
    ConfigFacts { config_digest: Some(digest), robots: robots_policy(config), overrides: config.overrides.clone() }
}

impl Trip {
    fn context(&self) -> Context {
        Context {
            via: self.via.clone(),
            depth: self.depth,
            hops: self.hops,
            seed: self.seed,
            attempt: self.attempt,
            file: None,
            query: comity_archive::QueryForm::Keep,
            terms: Vec::new(),
        }
    }
}

impl Keeper {
    /// Makes everything recorded so far safe against a power cut: the queue follows.
    pub(crate) async fn sync(&self) -> Result<(), Error> {
        let now = self.clock.now();
        self.blocking(move |store| store.sync(&mut store.beside(), now)).await?;
        self.queue_follows();
        Ok(())
    }

    /// The archive is safe; whoever sleeps until the next sync makes the queue safe now.
    fn queue_follows(&self) {
        self.synced.store(true, Ordering::Relaxed);
        if let Some(store) = &self.store {
            store.exposed.wake();
        }
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
        let (Some(store), Ok(worker)) = (&self.store, self.workers.clone().acquire_owned().await) else {
            return Ok(None);
        };
        let now = self.clock.now();
        let stored_and_synced = async {
            let stored = self.hand_over(store.mark.clone(), event, worker).await?;
            let is_due = store.due(now).is_some();
            let is_synced = is_due && self.blocking(move |store| store.sync_if_due(now)).await?;
            Ok::<_, Error>((stored, is_synced))
        };
        let (stored, is_synced) = stored_and_synced.instrument(tracing::debug_span!("archive")).await?;
        if is_synced {
            self.queue_follows();
        } else {
            self.wrote();
        }
        Ok(stored)
    }

    /// Prepares the event, and waits without a thread until it is stored.
    async fn hand_over(
        &self,
        mark: RecordMark,
        event: Event,
        worker: OwnedSemaphorePermit,
    ) -> Result<Option<Earlier>, Error> {
        let (tell, told) = oneshot::channel();
        self.blocking(move |store| {
            let prepared = store.archive.prepare(event)?;
            // While it waits for its turn, another may be prepared.
            drop(worker);
            store.archive.hand_over(prepared, move |stored| {
                if let Ok(Some(stored)) = &stored {
                    mark.written(stored.seq + 1);
                }
                // It is stored, also where nobody waits for it any more.
                drop(tell.send(stored));
            });
            Ok(())
        })
        .await?;
        let stored = told.await.map_err(|_| Error::internal("a thread panicked while it wrote to the archive"))??;
        Ok(stored.and_then(|stored| stored.capture))
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

impl Keeper {
    /// A request for a robots.txt: the sighting first, then the record.
    pub(super) async fn keep_robots(&self, visit: RobotsVisit) -> Result<(), Error> {
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

    pub(super) async fn keep_recalled_file(&self, recalled: RecalledFile) -> Result<(), Error> {
        let RecalledFile { kind, file, fetched, status, copy } = recalled;
        self.blocking(move |store| {
            let bytes = copy.as_ref().map(|(_, bytes)| bytes.as_ref());
            store.beside().evidence.put(kind.into(), &file, fetched, status, bytes).map(drop)
        })
        .await
    }

    pub(super) async fn keep_recalled_robots(&self, recalled: RecalledRobots) -> Result<(), Error> {
        let RecalledRobots { for_origin, fetched, status, file } = recalled;
        self.blocking(move |store| {
            let bytes = file.as_ref().map(|(_, bytes)| bytes.as_ref());
            let url = for_origin.robots_url();
            store.beside().evidence.put(EvidenceKind::RobotsTxt, &url, fetched, status, bytes).map(drop)
        })
        .await
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
            let url = store.archive.written(&url);
            texts.iter().try_for_each(|(_, text)| {
                store.beside().evidence.put(EvidenceKind::Licence, &url, now, WITHIN_A_PAGE, Some(text)).map(drop)
            })
        })
        .await
    }

    /// A request for a file in which a site speaks about use: the sighting first, absence too, then the record.
    pub(super) async fn keep_file(&self, visit: SiteFileVisit) -> Result<(), Error> {
        let SiteFileVisit { kind, file: place, hop, url, decision, outcome } = visit;
        let kind = EvidenceKind::from(kind);
        // Whoever reads the record of a hop sees whose file it was.
        let via = (hop > 0).then_some(place);
        let context = Context { via: via.clone(), hops: hop, attempt: 1, file: Some(kind), ..Context::default() };
        let event = match outcome {
            SiteFileOutcome::Asked(capture, file) => {
                if let Some(status) = capture.status {
                    // What redirects led to is seen where the terms were named, too: reviews are held against that.
                    let moved = via.clone().filter(|_| kind == EvidenceKind::Terms && file.is_some());
                    let (places, fetched) = ([Some(url.clone()), moved], capture.started);
                    self.blocking(move |store| {
                        let bytes = file.as_ref().map(|(_, bytes)| bytes.as_ref());
                        let mut places = places.iter().flatten();
                        places.try_for_each(|url| {
                            store.beside().evidence.put(kind, url, fetched, status, bytes).map(drop)
                        })
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
        state: Remembered,
        (now, mark, exposed): (Instant, RecordMark, Arc<Exposed>),
        lock: Held,
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

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) const fn exposed(&self) -> &Arc<Exposed> {
        &self.exposed
    }

    /// Once a second everything so far is made safe against power loss (invariant 9). True when it was.
    fn sync_if_due(&self, now: Instant) -> Result<bool, ArchiveError> {
        let Some(mut beside) = self.due(now) else { return Ok(false) };
        self.sync(&mut beside, now)?;
        Ok(true)
    }

    /// What a sync is made with, where one is due.
    fn due(&self, now: Instant) -> Option<MutexGuard<'_, Beside>> {
        let beside = match self.beside.try_lock() {
            Ok(beside) => beside,
            Err(TryLockError::Poisoned(broken)) => broken.into_inner(),
            // Somebody is at it, or keeps evidence: the next outcome looks again.
            Err(TryLockError::WouldBlock) => return None,
        };
        (now.since(beside.synced) >= SYNC_EVERY).then_some(beside)
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
        beside.state.sync();
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

/// The status of the sighting of a licence that stands within a page: that page's answer is a record of its own.
const WITHIN_A_PAGE: u16 = 200;

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
