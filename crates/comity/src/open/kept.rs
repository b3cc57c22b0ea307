//! The queue in a crawl directory.

use std::path::Path;
use std::sync::Arc;

use comity_frontier::{DiskSettings, DiskStore, FrontierError, Local, RecordMark, Store as FrontierStore};
use comity_policy::{Clock, Ready, Reason};

use super::{Accepted, Brought, Queue, Work, scheduling};
use crate::Error;
use crate::config::{CrawlConfig, QueueStore};
use crate::keep::ToldStore;

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
}
