//! Opens the queue of a crawl: in its directory, where it outlives the process, or in memory.

#[cfg(feature = "disk")]
mod kept;
#[cfg(not(feature = "disk"))]
#[path = "open/without.rs"]
mod kept;

use std::path::Path;
use std::sync::Arc;

use comity_frontier::{Frontier, Local, MemoryStore, OtherRules, QueueLimits, SchedulerConfig, Store as FrontierStore};
use comity_policy::{Clock, WallTime};
use comity_url::CrawlUrl;

use crate::config::{ConfigError, ConfigFile, CrawlConfig, QueueStore, RevisitPolicy, accept, changes};
use crate::directory::{self, Beginning, Claim};
use crate::keep::Exposed;
use crate::{Error, marking};
#[cfg(feature = "disk")]
pub(crate) use kept::on_store;
pub(crate) use kept::queue;

/// Where the store does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// On a thread of its own.
    OnThread,
    /// Inline: on a clock that is not the machine's, nothing may take time that it does not know of.
    Inline,
}

/// Refuses what this program cannot keep in a directory.
///
/// # Errors
/// When the queue is to be on disk, and it was built without.
pub(crate) fn can_keep(config: &CrawlConfig) -> Result<(), Error> {
    if cfg!(not(feature = "disk")) && config.store == QueueStore::Disk {
        let why = ConfigError::new("this program was built without a queue on disk").at("[frontier] store");
        let hint =
            "build it with the feature `disk` of comity, or set store = \"memory\": a crawl that nobody can go on with";
        return Err(why.hint(hint).into());
    }
    Ok(())
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
            let text = marking::resolved_text(config)?;
            return Ok((notes, Some(directory::begin(dir, text)?)));
        }
        Claim::Crawl(text) => {
            let before = ConfigFile::of_text(&text)
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
    let text = marking::resolved_text(config)?;
    if stands == Some(text.as_str()) { Ok(()) } else { directory::write_mark(dir, &text) }
}

/// The queue of a crawl, open, before anything is asked of it.
#[derive(Debug)]
pub(crate) enum Queue {
    #[cfg(feature = "disk")]
    Disk(Local<Box<dyn FrontierStore>>),
    Memory(Local<MemoryStore>),
    /// Somebody else's.
    Given(Arc<dyn Frontier>),
}

/// The store of a queue where somebody brings one, where it does its work, and who hears of its commits.
pub(crate) type Brought<'a> = (Option<Box<dyn FrontierStore>>, Work, Option<&'a Arc<Exposed>>);

/// What a store may have lost, and is gone on with all the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accepted {
    /// Its fingerprints were made under other key rules.
    pub(crate) rules: OtherRules,
    /// A part of what was safe is missing.
    #[cfg_attr(not(feature = "disk"), expect(dead_code, reason = "there is no store that could lose anything"))]
    pub(crate) loss: bool,
}

impl Queue {
    /// Open for whoever crawls.
    pub(crate) fn frontier(self) -> Arc<dyn Frontier> {
        match self {
            Self::Memory(local) => Arc::new(local),
            #[cfg(feature = "disk")]
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
