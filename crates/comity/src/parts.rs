//! Opens the parts of a crawl together: what waits for the disk waits side by side.

use std::path::Path;
use std::sync::Arc;

use comity_frontier::{Frontier, OtherRules, Store};
use comity_gate::OptOutFiles;
use comity_policy::Clock;

use crate::config::{ConfigError, CrawlConfig};
use crate::directory::{self, Beginning};
use crate::keep;
use crate::open::{self, Accepted, Queue, Work};
use crate::recording::{self, Files, Held};
use crate::remembered::Remembered;
use crate::{Error, control};

/// Where a crawl keeps what it keeps.
pub(crate) struct Stores {
    pub(crate) queue: Option<Box<dyn Store>>,
    pub(crate) frontier: Option<(Arc<dyn Frontier>, [u8; 16])>,
    pub(crate) files: Files,
    pub(crate) work: Work,
}

/// The queue, the archive and the gate's memory, open.
pub(crate) struct Opened {
    pub(crate) frontier: Arc<dyn Frontier>,
    /// Of the fingerprints.
    pub(crate) key: [u8; 16],
    pub(crate) kept: Option<keep::Store>,
    pub(crate) state: Remembered,
    pub(crate) notes: Vec<String>,
    /// The queue may have had another user right before, of whom only it knows.
    pub(crate) follows: bool,
}

/// Opens all that lies in the crawl's directory, or its stand-ins in memory.
///
/// # Errors
/// When the directory holds anything else, another process holds a part of it, or one cannot be read or written.
pub(crate) fn open_all(
    dir: Option<&Path>,
    config: &mut CrawlConfig,
    clock: &Arc<dyn Clock>,
    (key, accepted): ([u8; 16], Accepted),
    stores: Stores,
) -> Result<Opened, Error> {
    let (mut notes, mut beginning, mut lock) = (Vec::new(), None, None);
    if let Some(dir) = dir {
        open::can_keep(config)?;
        // Nothing in it is read, or believed, before it is this process's alone.
        directory::claim(dir)?;
        lock = Some((dir, recording::hold(dir)?));
        (notes, beginning) = open::directory(dir, config, accepted.rules == OtherRules::Accept)?;
        config.optouts = with_own_optouts(dir, config)?;
    }
    let (config, work) = (&*config, stores.work);
    let stands = beginning.as_ref().map(|beginning| beginning.text.clone());
    let parts = || open_parts(lock, config, clock, (key, accepted), stores);
    let (begun, opened) = side_by_side(work, || beginning.map(Beginning::mark).transpose(), parts);
    let (begun, mut opened) = (begun?, opened?);
    if let Some(dir) = dir {
        open::mark(dir, config, stands.as_deref())?;
    }
    if let Some((kept, begun)) = opened.kept.as_mut().zip(begun) {
        kept.rests_on(begun);
    }
    opened.notes.splice(0..0, notes);
    Ok(opened)
}

/// What stands beside the configuration in the directory.
fn open_parts(
    locked: Option<(&Path, Held)>,
    config: &CrawlConfig,
    clock: &Arc<dyn Clock>,
    (key, accepted): ([u8; 16], Accepted),
    Stores { queue, frontier, files, work }: Stores,
) -> Result<Opened, Error> {
    let (mut notes, dir) = (Vec::new(), locked.as_ref().map(|(dir, _)| *dir));
    let exposed = Arc::new(keep::Exposed::new(clock.clone()));
    let follows = frontier.is_some();
    if follows {
        notes.extend(open::without_effect(&config.file));
    }
    let open_queue = || match frontier {
        Some((frontier, key)) => Ok((Queue::Given(frontier), key)),
        None => open::queue(dir, config, clock, (key, accepted), (queue, work, Some(&exposed))),
    };
    let (state, queue) = side_by_side(work, || Remembered::open(dir, config, clock, work), open_queue);
    let (state, (mut queue, key)) = (state?, queue?);
    // Its first checkpoint names the new configuration before that stands in the directory: `verify` takes either.
    let mut settle = |whole, mark| queue.records_end_at(whole, mark).map(|note| notes.extend(note));
    let open_archive = |(dir, held)| {
        recording::open(dir, config, clock, state.clone(), (files, work, exposed.clone(), held), &mut settle)
    };
    let kept = locked.map(open_archive).transpose()?;
    Ok(Opened { frontier: queue.frontier(), key, kept, state, notes, follows })
}

/// Does both at once, where threads may: each waits for the disk most of its time.
fn side_by_side<A: Send, B>(work: Work, one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    if work == Work::Inline {
        return (one(), other());
    }
    std::thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), other)
    })
}

/// The opt-out files of the configuration and the crawl's own, whether that exists yet or not: `comity optout add --dir`.
///
/// # Errors
/// The first line that cannot be read.
fn with_own_optouts(dir: &Path, config: &CrawlConfig) -> Result<OptOutFiles, Error> {
    let mut files = config.file.optout.files.clone().unwrap_or_default();
    files.push(control::own_optouts(dir));
    OptOutFiles::open(&files).map_err(|fault| ConfigError::from(fault).into())
}
