use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far the records of a crawl have come: told by whoever writes them, read by the frontier.
///
/// A page leaves the queue after its record was written. That survives a kill; a power cut takes what had not reached the
/// disk, and may take the record and leave the queue's commit. So the frontier keeps, with each URL that leaves, how many
/// records there were, until those are safe; [`Local::records_end_at`](crate::Local::records_end_at) brings back the URLs
/// whose record is gone.
///
/// Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub struct RecordMark(Arc<Ends>);

#[derive(Debug, Default)]
struct Ends {
    written: AtomicU64,
    safe: AtomicU64,
}

impl RecordMark {
    /// Records that were written stand before `end`: told before the URL of the last one is settled.
    pub fn written(&self, end: u64) {
        self.0.written.fetch_max(end, Ordering::AcqRel);
    }

    /// Records before `end` are safe against a power cut, with all that belongs to them.
    pub fn safe(&self, end: u64) {
        self.written(end);
        self.0.safe.fetch_max(end, Ordering::AcqRel);
    }

    /// The end that was told last of what is written.
    #[must_use]
    pub fn written_end(&self) -> u64 {
        self.0.written.load(Ordering::Acquire)
    }

    pub(crate) fn safe_end(&self) -> u64 {
        self.0.safe.load(Ordering::Acquire)
    }
}
