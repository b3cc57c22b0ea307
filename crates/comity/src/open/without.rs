//! A program without the feature `disk`: queues are in memory.

use std::path::Path;
use std::sync::Arc;

use comity_frontier::{Local, RecordMark};
use comity_policy::Clock;

use super::{Accepted, Brought, Queue, scheduling};
use crate::Error;
use crate::config::CrawlConfig;

pub(crate) fn queue(
    _: Option<&Path>,
    config: &CrawlConfig,
    clock: &Arc<dyn Clock>,
    (fresh, _): ([u8; 16], Accepted),
    _: Brought<'_>,
) -> Result<(Queue, [u8; 16]), Error> {
    Ok((Queue::Memory(Local::in_memory(scheduling(config, &**clock))), fresh))
}

impl Queue {
    /// Nobody goes on with it: it owes nothing to earlier records.
    pub(crate) fn records_end_at(&mut self, _: u64, _: RecordMark) -> Result<Option<String>, Error> {
        Ok(None)
    }
}
