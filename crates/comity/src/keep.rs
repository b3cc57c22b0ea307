//! What a crawl leaves behind: every outcome goes to the archive before its URL leaves the queue.

mod exposed;
#[cfg(feature = "warc")]
mod recorded;
#[cfg(not(feature = "warc"))]
#[path = "keep/without.rs"]
mod recorded;
#[cfg(feature = "disk")]
mod told;

use std::collections::HashMap;
#[cfg(feature = "warc")]
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use comity_fetch::BoxFuture;
use comity_frontier::{Lease, RefusedLease, UserData, Visited};
use comity_gate::{RecalledFile, RecalledRobots, Recorder, RobotsVisit, SiteFileVisit};
use comity_policy::{Clock, Digest, Instant};
use comity_url::{CrawlUrl, Origin};
#[cfg(feature = "warc")]
use tokio::sync::Semaphore;
use tokio::sync::futures::Notified;

use crate::events::Listeners;
use crate::sites::Sites;
use crate::{Error, RobotsSeen, UrlEnding, UrlOutcome};
pub(crate) use exposed::Exposed;
pub(crate) use recorded::{Earlier, MOST_TERMS, Store, TermsLink, facts};
#[cfg(feature = "disk")]
pub(crate) use told::ToldStore;

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
    #[cfg(feature = "warc")]
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
}

impl Keeper {
    /// Keeps everything in `store`; `None` keeps nothing.
    pub(crate) fn new(store: Option<Store>, clock: Arc<dyn Clock>, sites: Arc<Sites>, listeners: Listeners) -> Self {
        Self {
            store: store.map(Arc::new),
            #[cfg(feature = "warc")]
            workers: Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(1, NonZero::get))),
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
        self.store.as_ref().map(|store| store.dir())
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
        self.store.as_ref()?.exposed().since().map(|since| since.after(SYNC_EVERY))
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
        self.store.as_ref().map(|store| store.exposed().woken())
    }

    /// Something was written, here or into a queue of somebody else's, that is not safe against a power cut yet. Called after the
    /// write. Our own queue tells each commit by itself (`ToldStore`).
    pub(crate) fn wrote(&self) {
        if let Some(store) = &self.store {
            store.exposed().wrote();
        }
    }

    /// What kept a robots.txt from being recorded.
    pub(crate) fn fault(&self) -> Option<Error> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
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
            if let Err(error) = self.keep_recalled_file(recalled).await {
                tracing::error!(%error, "a file of an earlier crawl could not be kept as evidence");
                self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        })
    }

    fn robots_recalled(&self, recalled: RecalledRobots) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.learn(&recalled.for_origin, Some(recalled.status), recalled.file.as_ref().map(|(_, bytes)| bytes));
            if let Err(error) = self.keep_recalled_robots(recalled).await {
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
}

/// Origins whose robots.txt is held against the next one, for listeners. Of more a change is not told.
const MOST_SEEN: usize = 65_536;

/// What a power cut may cost, in time.
const SYNC_EVERY: Duration = Duration::from_secs(1);
