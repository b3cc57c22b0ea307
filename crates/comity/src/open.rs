//! Opens the queue of a crawl: in its directory, where it outlives the process, or in memory.

use std::path::Path;
use std::sync::Arc;

use comity_frontier::{
    DiskSettings, DiskStore, Frontier, FrontierError, Local, MemoryStore, OtherRules, QueueLimits, RecordMark,
    SchedulerConfig, Store as FrontierStore,
};
use comity_policy::{Clock, Ready, Reason, WallTime};
use comity_url::CrawlUrl;

use crate::config::{ConfigFile, CrawlConfig, QueueStore, RevisitPolicy, accept, changes};
use crate::directory::{self, Beginning, Claim};
use crate::keep::{Exposed, ToldStore};
use crate::{Error, archive};

/// Where the store does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// On a thread of its own.
    OnThread,
    /// Inline: on a clock that is not the machine's, nothing may take time that it does not know of.
    Inline,
}

/// Checks the directory, and begins to mark a new one as this crawl's; one that goes on is marked by [`mark`] once its parts are
/// open. Gives notes: what changed since the crawl in it began; and the mark of a new one. The seeds that it began with stay seeds: they
/// are its scope.
///
/// # Errors
/// When it holds anything else, or a crawl that cannot go on, or one of another meaning.
pub(crate) fn directory(
    dir: &Path,
    config: &mut CrawlConfig,
    accept_config: bool,
) -> Result<(Vec<String>, Option<Beginning>), Error> {
    let mut notes = Vec::new();
    match directory::claim(dir)? {
        Claim::Fresh => {
            let text = archive::resolved_text(config)?;
            return Ok((notes, Some(directory::begin(dir, text)?)));
        }
        Claim::Crawl(text) => {
            let before: ConfigFile = toml::from_str(&text)
                .map_err(|e| directory::no_resume(dir, &format!("its crawl.toml cannot be read: {}", e.message())))?;
            if before.frontier.store.as_deref() != Some(QueueStore::Disk.as_str()) {
                return Err(directory::no_resume(dir, "its queue was not kept on disk"));
            }
            if config.store != QueueStore::Disk {
                return Err(directory::no_resume(
                    dir,
                    "its queue is on disk, and [frontier] store names another place",
                ));
            }
            for seed in before.crawl.seeds.iter().flatten().filter_map(|seed| CrawlUrl::parse(seed).ok()) {
                if !config.seeds.contains(&seed) {
                    config.seeds.push(seed);
                }
            }
            notes = accept(&changes(&before, &config.resolved()), accept_config)?;
            notes.insert(0, format!("goes on with the crawl in {}", dir.display()));
        }
    }
    Ok((notes, None))
}

/// Writes the configuration in force into the directory. Where a crawl goes on, not before state and queue are open, and so
/// this process's alone: else one that is refused would leave its own configuration behind. What this process wrote before,
/// `stands`, is not written again.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn mark(dir: &Path, config: &CrawlConfig, stands: Option<&str>) -> Result<(), Error> {
    let text = archive::resolved_text(config)?;
    if stands == Some(text.as_str()) { Ok(()) } else { directory::write_mark(dir, &text) }
}

/// The queue of a crawl, open, before anything is asked of it.
#[derive(Debug)]
pub(crate) enum Queue {
    Disk(Local<Box<dyn FrontierStore>>),
    Memory(Local<MemoryStore>),
    /// Somebody else's.
    Given(Arc<dyn Frontier>),
}

/// The store of a queue where somebody brings one, where it does its work, and who hears of its commits.
type Brought<'a> = (Option<Box<dyn FrontierStore>>, Work, Option<&'a Arc<Exposed>>);

/// What a store may have lost, and is gone on with all the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accepted {
    /// Its fingerprints were made under other key rules.
    pub(crate) rules: OtherRules,
    /// A part of what was safe is missing.
    pub(crate) loss: bool,
}

/// Opens the queue, with the key of its fingerprints: `fresh` for a new one. `exposed` hears of each commit; nobody does where
/// the caller makes it safe by himself.
///
/// # Errors
/// When another process holds it, or it cannot be read or written, is of another format, or lost something that is not accepted.
pub(crate) fn queue(
    dir: Option<&Path>,
    config: &CrawlConfig,
    clock: &Arc<dyn Clock>,
    (fresh, accepted): ([u8; 16], Accepted),
    (store, work, exposed): Brought<'_>,
) -> Result<(Queue, [u8; 16]), Error> {
    let Some(dir) = dir.filter(|_| config.store == QueueStore::Disk) else {
        return Ok((Queue::Memory(Local::in_memory(scheduling(config, &**clock))), fresh));
    };
    let (settings, ready) = (scheduling(config, &**clock), ready(config, &**clock));
    let store = match store {
        Some(store) => store,
        None => Box::new(on_disk(dir, accepted)?) as Box<dyn FrontierStore>,
    };
    let store = match exposed {
        Some(exposed) => Box::new(ToldStore::new(store, exposed.clone())),
        None => store,
    };
    let mut local = match work {
        Work::OnThread => Local::open_on_thread(store, settings, ready)?,
        Work::Inline => Local::open(store, settings, ready)?,
    };
    let key = local.fingerprint_key(fresh, config.keys, accepted.rules)?;
    Ok((Queue::Disk(local), key))
}

/// What was asked just before the stop is not known: everybody waits one delay (invariant 4). Longer delays of an origin are the
/// gate's, which remembers that another process was here.
fn ready(config: &CrawlConfig, clock: &dyn Clock) -> Ready {
    Ready { at: clock.now().after(config.politeness.delay), clock: Reason::RateOrigin }
}

/// The queue in a store that was opened, of a crawl that nobody runs.
///
/// # Errors
/// As [`queue`].
pub(crate) fn on_store(
    store: DiskStore,
    config: &CrawlConfig,
    clock: &Arc<dyn Clock>,
) -> Result<Local<DiskStore>, FrontierError> {
    Local::open(store, scheduling(config, &**clock), ready(config, &**clock))
}

fn on_disk(dir: &Path, accepted: Accepted) -> Result<DiskStore, FrontierError> {
    let settings = DiskSettings { accept_loss: accepted.loss, ..DiskSettings::default() };
    Ok(DiskStore::open(&dir.join("state").join("frontier"), settings)?)
}

impl Queue {
    /// Holds the queue to the records that are there (invariant 9). Pages whose records a power cut took come back; the note
    /// says how many.
    ///
    /// # Errors
    /// When the queue cannot be read or written.
    pub(crate) fn records_end_at(&mut self, whole: u64, mark: RecordMark) -> Result<Option<String>, Error> {
        let Self::Disk(local) = self else { return Ok(None) };
        let back = local.records_end_at(whole, mark)?;
        let note = format!("{back} URLs are queued again: they had left the queue, and their records were lost");
        Ok((back > 0).then_some(note))
    }

    /// Open for whoever crawls.
    pub(crate) fn frontier(self) -> Arc<dyn Frontier> {
        match self {
            Self::Memory(local) => Arc::new(local),
            Self::Disk(local) => Arc::new(local),
            Self::Given(frontier) => frontier,
        }
    }
}

fn scheduling(config: &CrawlConfig, clock: &dyn Clock) -> SchedulerConfig {
    let defaults = SchedulerConfig::default().limited(limits(config));
    SchedulerConfig {
        classes: config.classes.clone(),
        // A lease outlives the longest exchange, and what is done with it before and after.
        lease_life: defaults.lease_life.max(config.fetch.limits.total * 2),
        epoch: (config.revisit.policy != RevisitPolicy::Never).then(|| epoch(clock)),
        ..defaults
    }
}

/// What of a configuration the queue takes in while it runs, too.
pub(crate) fn limits(config: &CrawlConfig) -> QueueLimits {
    QueueLimits {
        per_origin: config.politeness.per_origin,
        pages_per_origin: config.limits.max_pages_per_origin,
        bytes_per_origin: config.limits.max_bytes_per_origin.unwrap_or(u64::MAX),
        pages_per_domain: config.limits.max_pages_per_domain.unwrap_or(u64::MAX),
        queued_per_domain: config.limits.max_pending_per_domain,
    }
}

/// What a note says of the keys that were set and are not for a frontier that was given: only [`scheduling`] reads them.
pub(crate) fn without_effect(file: &ConfigFile) -> Option<String> {
    let ConfigFile { crawl, frontier, .. } = file;
    let keys = [
        ("[crawl] max_pages_per_origin", crawl.max_pages_per_origin.is_some()),
        ("[crawl] max_bytes_per_origin", crawl.max_bytes_per_origin.is_some()),
        ("[crawl] max_pages_per_domain", crawl.max_pages_per_domain.is_some()),
        ("[crawl] max_pending_per_domain", crawl.max_pending_per_domain.is_some()),
        ("[frontier] first_class", frontier.first_class.is_some()),
        ("[frontier] third_class", frontier.third_class.is_some()),
        ("[frontier] fourth_class", frontier.fourth_class.is_some()),
    ];
    let set: Vec<&str> = keys.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key).collect();
    (!set.is_empty()).then(|| format!("{} have no effect: the frontier that was given has its own", set.join(", ")))
}

/// Civil time at the start of the clock.
fn epoch(clock: &dyn Clock) -> WallTime {
    let now = clock.moment();
    let since = i64::try_from(now.now.as_micros() / 1000).unwrap_or(i64::MAX);
    WallTime::from_unix_millis(now.wall.unix_millis().saturating_sub(since))
}
