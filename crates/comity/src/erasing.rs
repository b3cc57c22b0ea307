//! Takes what was named out of a crawl that nobody runs: archive, evidence, queue and what the gate remembers.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use comity_archive::{
    Archive, CrawlLock, Depth, Erasure, ErasureReport, Named, OsEntropy, RealDisk, Use, files_that_name, meant,
};
use comity_fetch::SystemClock;
use comity_frontier::{DiskSettings, DiskStore, Forget, FrontierError, Keyspace, RecordMark, Store as _};
use comity_gate::StateDir;
use comity_policy::Clock;
use comity_url::{CrawlUrl, Origin};

use crate::config::{ArchiveConfig, ConfigFile, CrawlConfig};
use crate::directory::ScopeSeeds;
use crate::engine::forget_traps;
use crate::recording::{self, prune};
use crate::{Error, directory, marking, open};

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
    lock: Arc<CrawlLock>,
}

impl StoppedCrawl {
    /// Opens the crawl in `dir`, as its only user. An erasure that was cut short is done to its end. With `forget`, what that
    /// names is taken out of queue and memory, when archive and queue were found whole and brought in line.
    ///
    /// # Errors
    /// When there is none, another process has it ([`Error::is_held`]), or it cannot be read or written.
    pub fn open(dir: &Path, forget: Option<&Named>) -> Result<Self, Error> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        // Before anything is read: a crawl that starts this moment has it, wherever its queue is.
        let lock = Arc::new(CrawlLock::take(dir, Use::Erase)?);
        let text = fs::read_to_string(dir.join("crawl.toml"))
            .map_err(|e| Error::directory(format!("{}/crawl.toml cannot be read: {e}", dir.display())))?;
        let file = ConfigFile::of_text(&text)
            .map_err(|e| directory::no_resume(dir, &format!("its crawl.toml cannot be read: {}", e.message())))?;
        let form = CrawlConfig::resolve(file.clone())?.archive.query;
        let forget = forget.map(|named| meant(dir, named, form));
        let forget = forget.as_ref();
        let changed = forget.and_then(|named| without(&file, named));
        let new_text = match &changed {
            Some(changed) => Some(marking::resolved_text(changed)?),
            None => None,
        };
        let config = changed.map_or_else(|| CrawlConfig::resolve(file), Ok)?;
        let mut held = Held::new(dir, &config, &clock)?;
        let digest = marking::digest(new_text.as_ref().unwrap_or(&text));
        let mut settings = recording::settings(dir, &config, &*clock, digest);
        settings.lock = Some(lock.clone());
        let archive = Archive::create_on(Arc::new(RealDisk), dir, settings, clock.clone(), Box::new(OsEntropy))?;
        // An erasure is a line like others: counted before it is written, or pages whose records a power cut took would not
        // be missed by the next start.
        let whole = archive.chain_head().map_or(0, |head| head.seq + 1);
        held.settle_queue(whole, &config, &clock)?;
        let forgotten = forget.map_or(Ok(0), |named| held.forget(dir, named, &*clock))?;
        if let Some(text) = new_text {
            // The first checkpoint names it before it stands there, as at every start.
            directory::write_mark(dir, &text)?;
        }
        let dir = dir.to_owned();
        Ok(Self { archive, dir, clock, keeps: config.archive, _held: held, forgotten, lock })
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
        // Asked before the records are gone by which it is known that a name stands for every query.
        let looks = !dry && erasure.depth != Depth::Payload;
        let named = looks.then(|| meant(&self.dir, &erasure.named, self.keeps.query));
        let report =
            if dry { self.archive.erase(erasure, true)? } else { self.archive.erase_telling(erasure, tell)? };
        self.archive.close()?;
        let left = named.map_or_else(Vec::new, |named| {
            // It is done: what cannot be looked through is told like what names it.
            files_that_name(&self.dir, &named).unwrap_or_else(|error| vec![format!("unknown: {error}")])
        });
        Ok(Erased { report, remembered: self.forgotten, left })
    }

    /// Erases what is older than `[archive] keep_payload` and `keep_records` say. Gives a report of each that is set.
    ///
    /// # Errors
    /// As [`Archive::erase`].
    pub fn prune(mut self, dry: bool) -> Result<Vec<(&'static str, ErasureReport)>, Error> {
        self.lock.says(Use::Prune)?;
        let reports = prune(&mut self.archive, &self.keeps, &*self.clock, dry)?;
        self.archive.close()?;
        Ok(reports)
    }
}

/// The configuration without the seeds that are named, and without the address of an origin's host; `None` where it has neither,
/// and where it would be none any more.
fn without(file: &ConfigFile, named: &Named) -> Option<CrawlConfig> {
    let goes = |seed: &String| CrawlUrl::parse(seed).is_ok_and(|url| named.is(&url));
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

/// What a crawl keeps beside its archive, held as a crawl holds it: one of an earlier version knows no other lock.
#[derive(Debug)]
struct Held {
    state: Option<StateDir>,
    queue: Option<DiskStore>,
}

impl Held {
    /// Is refused while a crawl runs.
    fn new(dir: &Path, config: &CrawlConfig, clock: &Arc<dyn Clock>) -> Result<Self, Error> {
        let (gate, frontier) = (dir.join("state").join("gate"), dir.join("state").join("frontier"));
        // A state directory that crawls share is held by whichever runs; one from before it was shared may lie here still.
        let has_state = config.state_dir.is_none() || StateDir::exists(&gate);
        let state = has_state.then(|| StateDir::open(&gate, clock.wall())).transpose()?;
        let open = || DiskStore::open(&frontier, DiskSettings::default()).map_err(FrontierError::from);
        let queue = DiskStore::exists(&frontier).then(open).transpose()?;
        Ok(Self { state, queue })
    }

    /// Pages whose records a power cut took are queued again, as when a crawl starts.
    fn settle_queue(&mut self, whole: u64, config: &CrawlConfig, clock: &Arc<dyn Clock>) -> Result<(), Error> {
        let Some(store) = self.queue.take() else { return Ok(()) };
        let lost = whole.saturating_add(1).to_be_bytes();
        if store.peek(Keyspace::Left, &lost, &[0xff; 17], 1).map_err(FrontierError::from)?.is_empty() {
            self.queue = Some(store);
            return Ok(());
        }
        let mut local = open::on_store(store, config, clock)?;
        let back = local.records_end_at(whole, RecordMark::default())?;
        tracing::warn!(back, "URLs are queued again: they had left the queue, and their records were lost");
        self.queue = Some(local.into_store()?);
        Ok(())
    }

    /// Takes a URL or an origin out of queue, schedule, scope and the gate's memory inside the directory.
    fn forget(&mut self, dir: &Path, named: &Named, clock: &dyn Clock) -> Result<u64, Error> {
        let (is_url, written) = (|url: &CrawlUrl| named.is(url), |url: &CrawlUrl| named.may_be(url));
        let is_origin = |origin: &Origin| matches!(named, Named::Origin(gone) if gone == origin);
        if !matches!(named, Named::Url(_) | Named::Path(_) | Named::Origin(_)) {
            return Ok(0);
        }
        let mut gone = 0;
        if let Some(queue) = self.queue.take() {
            let what = Forget { url: &is_url, written: &written, origin: &is_origin };
            let (queue, rows) = queue.forget(what).map_err(FrontierError::from)?;
            (self.queue, gone) = (Some(queue), gone + rows);
        }
        if let (Named::Origin(_), Some(state)) = (named, self.state.take()) {
            let (state, entries) = state.forget(clock.wall(), &|bytes| named.is_in(bytes))?;
            (self.state, gone) = (Some(state), gone + entries);
        }
        forget_traps(dir)?;
        Ok(gone + ScopeSeeds::forget(dir, &is_url)?)
    }
}

#[cfg(test)]
mod stopped_tests;
#[cfg(test)]
mod tests;
