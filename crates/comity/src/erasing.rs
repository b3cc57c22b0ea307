//! Takes what was named out of a crawl that nobody runs: archive, evidence, queue and what the gate remembers.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use comity_archive::{
    Archive, ArchiveError, Depth, Erasure, ErasureReport, Named, OsEntropy, RealDisk, files_that_name,
};
use comity_fetch::SystemClock;
use comity_frontier::{DiskSettings, DiskStore, Forget, FrontierError, StoreError};
use comity_gate::StateDir;
use comity_policy::Clock;
use comity_url::{CrawlUrl, Origin};

use crate::config::{ArchiveConfig, ConfigFile, CrawlConfig};
use crate::control::socket::{self, Door, NoDoor};
use crate::directory::ScopeSeeds;
use crate::open::{self, Work};
use crate::{Error, archive, directory};

/// What an erasure did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// In the archive.
    pub report: ErasureReport,
    /// Rows that went, or were changed, in the queue and in what is remembered of origins.
    pub remembered: u64,
    /// Files of the directory that still name the URL or origin: configurations, opt-outs, pages of others. And those that
    /// cannot be read, with the reason.
    pub left: Vec<String>,
}

/// A stopped crawl, held by this process.
#[derive(Debug)]
pub struct StoppedCrawl {
    archive: Archive,
    dir: std::path::PathBuf,
    clock: Arc<dyn Clock>,
    keeps: ArchiveConfig,
    _held: Held,
    /// Of what was named, in the queue and in the gate's memory.
    forgotten: u64,
}

impl StoppedCrawl {
    /// Opens the crawl in `dir`, as its only user. An erasure that was cut short is done to its end. With `forget`, what that
    /// names is taken out of queue and memory, when archive and queue were found whole and brought in line.
    ///
    /// # Errors
    /// When there is none, another process has it ([`Error::is_held`]), or it cannot be read or written.
    pub fn open(dir: &Path, forget: Option<&Named>) -> Result<Self, Error> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let text = fs::read_to_string(dir.join("crawl.toml"))
            .map_err(|e| Error::directory(format!("{}/crawl.toml cannot be read: {e}", dir.display())))?;
        let file: ConfigFile = toml::from_str(&text)
            .map_err(|e| directory::no_resume(dir, &format!("its crawl.toml cannot be read: {}", e.message())))?;
        let changed = forget.and_then(|named| without(&file, named));
        let new_text = match &changed {
            Some(changed) => Some(archive::resolved_text(changed)?),
            None => None,
        };
        let config = changed.map_or_else(|| CrawlConfig::resolve(file), Ok)?;
        let mut held = hold(dir, &config, &clock)?;
        let digest = archive::digest(new_text.as_ref().unwrap_or(&text));
        let settings = archive::settings(dir, &config, &*clock, digest);
        let archive = Archive::create_on(Arc::new(RealDisk), dir, settings, clock.clone(), Box::new(OsEntropy))?;
        let mut forgotten = 0;
        if let Some(named) = forget {
            // What a power cut took from the records comes back to the queue before its rows are copied (invariant 9).
            let whole = archive.chain_head().map_or(0, |head| head.seq + 1);
            let Held { queue, state, door } = held;
            queue.map(|queue| open::in_line(queue, &config, &*clock, whole)).transpose()?;
            // Queue and memory are copied, by whoever has them alone.
            drop((state, door));
            forgotten = forget_state(dir, named, &*clock)?;
            held = hold(dir, &config, &clock)?;
        }
        if let Some(text) = new_text {
            // The first checkpoint names it before it stands there, as at every start.
            directory::write_mark(dir, &text)?;
        }
        let dir = dir.to_owned();
        Ok(Self { archive, dir, clock, keeps: config.archive, _held: held, forgotten })
    }

    /// Erases, or with `dry` only tells what would go. `tell` gets id and receipt before anything is erased: whatever
    /// comes after, they are known.
    ///
    /// # Errors
    /// As [`Archive::erase`].
    pub fn erase(
        mut self,
        erasure: &Erasure,
        dry: bool,
        tell: &mut dyn FnMut(&ErasureReport),
    ) -> Result<Erased, Error> {
        let report =
            if dry { self.archive.erase(erasure, true)? } else { self.archive.erase_telling(erasure, tell)? };
        self.archive.close()?;
        let left = if dry || erasure.depth == Depth::Payload {
            Vec::new()
        } else {
            // It is done: what cannot be looked through is told like what names it.
            files_that_name(&self.dir, &erasure.named).unwrap_or_else(|error| vec![format!("unknown: {error}")])
        };
        Ok(Erased { report, remembered: self.forgotten, left })
    }

    /// Erases what is older than `[archive] keep_payload` and `keep_records` say. Gives a report of each that is set.
    ///
    /// # Errors
    /// As [`Archive::erase`].
    pub fn prune(mut self, dry: bool) -> Result<Vec<(&'static str, ErasureReport)>, Error> {
        let reports = prune(&mut self.archive, &self.keeps, &*self.clock, dry)?;
        self.archive.close()?;
        Ok(reports)
    }
}

/// The configuration without the seeds that are named, and without the address of an origin's host; `None` where it has neither,
/// and where it would be none any more.
fn without(file: &ConfigFile, named: &Named) -> Option<CrawlConfig> {
    let goes = |seed: &String| CrawlUrl::parse(seed).is_ok_and(|url| is_named(named, &url));
    let mut kept = file.clone();
    if let Some(seeds) = &mut kept.crawl.seeds {
        seeds.retain(|seed| !goes(seed));
    }
    let seeds = kept.crawl.seeds.iter().flatten();
    let hosts: Vec<String> =
        seeds.filter_map(|seed| Some(CrawlUrl::parse(seed).ok()?.origin().host().to_owned())).collect();
    if let (Named::Origin(origin), Some(names)) = (named, &mut kept.fetch.resolve) {
        // Another port of the host may be crawled still.
        names.retain(|name, _| name != origin.host() || hosts.contains(name));
    }
    if kept == *file { None } else { CrawlConfig::resolve(kept).ok() }
}

fn is_named(named: &Named, url: &CrawlUrl) -> bool {
    match named {
        Named::Url(gone) => gone == url,
        Named::Origin(gone) => url.origin() == gone,
        Named::Payload(_) | Named::Before(_) => false,
    }
}

/// As [`StoppedCrawl::prune`], of an archive that was just opened.
pub(crate) fn prune(
    archive: &mut Archive,
    keeps: &ArchiveConfig,
    clock: &dyn Clock,
    dry: bool,
) -> Result<Vec<(&'static str, ErasureReport)>, ArchiveError> {
    let rows =
        [("keep_records", keeps.keep_records, Depth::Records), ("keep_payload", keeps.keep_payload, Depth::Payload)];
    let mut reports = Vec::new();
    for (key, kept, depth) in rows {
        let Some(kept) = kept else { continue };
        let millis = i64::try_from(kept.as_millis()).unwrap_or(i64::MAX);
        let before = clock.wall().unix_millis().saturating_sub(millis);
        let named = Named::Before(comity_policy::WallTime::from_unix_millis(before));
        let reason = format!("[archive] {key} = {}s", kept.as_secs());
        let erasure = Erasure { named, depth, mentions: false, reason, request: "retention".to_owned() };
        reports.push((key, archive.erase(&erasure, dry)?));
    }
    Ok(reports)
}

/// What keeps crawls from starting meanwhile.
#[derive(Debug)]
struct Held {
    queue: Option<DiskStore>,
    state: Option<Arc<StateDir>>,
    /// The control socket, where the queue was in memory: such a crawl holds nothing else, and is never gone on with.
    door: Option<Door>,
}

/// Keeps crawls from starting meanwhile, and is refused while one runs.
fn hold(dir: &Path, config: &CrawlConfig, clock: &Arc<dyn Clock>) -> Result<Held, Error> {
    let frontier = dir.join("state").join("frontier");
    let (queue, door) = if frontier.exists() {
        (Some(DiskStore::open(&frontier, DiskSettings::default()).map_err(FrontierError::from)?), None)
    } else {
        (None, door(dir)?)
    };
    // A state directory that crawls share is held by whichever runs.
    let state = match config.state_dir {
        None => archive::open_state(Some(dir), config, clock, Work::OnThread)?,
        Some(_) => None,
    };
    Ok(Held { queue, state, door })
}

/// Where no queue on disk is there to be held, the socket is. A system that makes none leaves this to the operator.
fn door(dir: &Path) -> Result<Option<Door>, Error> {
    let state = dir.join("state");
    fs::create_dir_all(&state).map_err(|e| Error::directory(format!("{} cannot be made: {e}", state.display())))?;
    match socket::bind(dir) {
        Ok(door) => Ok(Some(door)),
        Err(NoDoor::Taken(what)) => Err(FrontierError::from(StoreError::Held(what)).into()),
        Err(NoDoor::Cannot(_)) => Ok(None),
    }
}

/// Takes a URL or an origin out of queue, schedule, scope and the gate's memory inside the directory.
fn forget_state(dir: &Path, named: &Named, clock: &dyn Clock) -> Result<u64, Error> {
    let is_url = |url: &CrawlUrl| is_named(named, url);
    let is_origin = |origin: &Origin| matches!(named, Named::Origin(gone) if gone == origin);
    if !matches!(named, Named::Url(_) | Named::Origin(_)) {
        return Ok(0);
    }
    let state = dir.join("state");
    let mut gone = 0;
    if state.join("frontier").exists() {
        let what = Forget { url: &is_url, origin: &is_origin };
        gone +=
            DiskStore::forget(&state.join("frontier"), DiskSettings::default(), what).map_err(FrontierError::from)?;
    }
    if state.join("gate").exists() && matches!(named, Named::Origin(_)) {
        gone += StateDir::forget(&state.join("gate"), clock.wall(), &|bytes| named.is_in(bytes))?;
    }
    gone += ScopeSeeds::forget(dir, &is_url)?;
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use comity_frontier::{Frontier as _, Local, Offer, RecordMark, SchedulerConfig, Settlement};
    use comity_policy::{
        Instant, Judge, Judgement, OptOuts, Ready, Reason, RobotsEvent, RobotsLife, RobotsPolicy, SeededRandom, Terms,
        WallTime,
    };
    use comity_url::KeyHasher;

    use super::*;

    const CONFIG: &str = "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\n[crawl]\n\
                          seeds = [\"http://a.test/\", \"http://b.test/\"]\n[archive]\nmin_free = \"1MB\"\n";

    fn crawl(more: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("crawl.toml"), format!("{CONFIG}{more}")).unwrap();
        dir
    }

    fn gone() -> Named {
        Named::Origin(Origin::parse("http://a.test").unwrap())
    }

    /// A queue in memory and a state directory elsewhere: nothing of the crawl is locked but its socket.
    #[cfg(unix)]
    #[test]
    fn a_running_crawl_is_left_alone_wherever_its_queue_is() {
        let elsewhere = tempfile::tempdir().unwrap();
        let dir = crawl(&format!("[frontier]\nstore = \"memory\"\n[state]\ndir = {:?}\n", elsewhere.path()));
        fs::create_dir(dir.path().join("state")).unwrap();
        let running = socket::bind(dir.path()).unwrap();
        for forget in [None, Some(gone())] {
            let error = StoppedCrawl::open(dir.path(), forget.as_ref()).unwrap_err();
            assert!(error.is_held(), "{error:?}");
            assert!(!dir.path().join("records").exists(), "it was looked at first");
        }
        drop(running);
        let stopped = StoppedCrawl::open(dir.path(), Some(&gone())).unwrap();
        assert!(matches!(socket::bind(dir.path()), Err(NoDoor::Taken(_))), "no crawl starts meanwhile");
        drop(stopped);
        assert!(socket::bind(dir.path()).is_ok());
    }

    /// The archive is looked at first: where it is damaged, nothing was forgotten.
    #[test]
    fn nothing_is_forgotten_beside_a_damaged_archive() {
        let dir = crawl("");
        let (state, chain) = (dir.path().join("state"), dir.path().join("chain"));
        fs::create_dir(&state).unwrap();
        let seeds = state.join("scope-seeds");
        fs::write(&seeds, "http://a.test/\nhttp://b.test/\n").unwrap();
        fs::write(&chain, format!("{{\"v\":1,\"seq\":5,\"link\":\"{}\"}}\n", "ab".repeat(32))).unwrap();
        assert!(StoppedCrawl::open(dir.path(), Some(&gone())).is_err());
        assert_eq!(fs::read_to_string(&seeds).unwrap(), "http://a.test/\nhttp://b.test/\n");
        assert!(fs::read_to_string(dir.path().join("crawl.toml")).unwrap().contains("a.test"));
        fs::remove_file(&chain).unwrap();
        let stopped = StoppedCrawl::open(dir.path(), Some(&gone())).unwrap();
        assert_eq!(stopped.forgotten, 1);
        assert_eq!(fs::read_to_string(&seeds).unwrap(), "http://b.test/\n");
    }

    /// Denies everything: a URL leaves the queue without a request.
    struct Closed;

    impl Judge for Closed {
        #[expect(clippy::disallowed_methods, reason = "the test plays the gate")]
        fn judge(&self, url: &CrawlUrl) -> Judgement {
            let wall = WallTime::from_unix_millis(1_796_000_000_000);
            let policy = RobotsPolicy { strict_4xx: vec![403], ..RobotsPolicy::default() };
            let mut life = RobotsLife::new(url.origin().clone(), policy.into());
            life.apply(RobotsEvent::Absent { status: 403, max_age: None }, wall, &SeededRandom::new(1));
            comity_policy::judge(url, &life, &Terms::default(), OptOuts::nobody(), wall)
        }
    }

    /// A power cut took the records, and left the queue's commit in which their URLs left it (invariant 9).
    #[tokio::test]
    async fn what_lost_its_record_is_queued_again_before_the_queue_is_copied() {
        let dir = crawl("");
        let path = dir.path().join("state").join("frontier");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let on_disk = || DiskStore::open(&path, DiskSettings::default()).unwrap();
        let ready = Ready { at: Instant::START, clock: Reason::Ok };
        let opened = || Local::open(on_disk(), SchedulerConfig::default(), ready).unwrap();
        let (mut queue, mark) = (opened(), RecordMark::default());
        queue.records_end_at(0, mark.clone()).unwrap();
        let offer = |text: &str| {
            let url = CrawlUrl::parse(text).unwrap();
            let key = KeyHasher::new([7; 16]).key(&url);
            Offer { url, key, depth: 1, hops: 0, via: None, seed: false, priority: 1, attempts: 0, hint: None }
        };
        queue.offer(vec![offer("http://a.test/1"), offer("http://b.test/1"), offer("http://b.test/2")]).await.unwrap();
        let mut left = 0;
        for millis in 0..100 {
            let now = Instant::from_micros(millis * 1000);
            for url in queue.lease(9, &Closed, now).await.unwrap().refused {
                left += 1;
                mark.written(left);
                queue.settle(vec![Settlement::Refused { lease: url.id }], now).await.unwrap();
            }
        }
        assert_eq!(left, 3);
        drop(queue.into_store().unwrap());
        drop(StoppedCrawl::open(dir.path(), Some(&gone())).unwrap());
        let queued = opened().stats(Instant::START).await.unwrap().queued;
        assert_eq!(queued, 2, "those of the other origin");
    }
}
