//! What is written and not yet safe against a power cut: since when, and who is woken for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use comity_policy::{Clock, Instant};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Since when something is written, to the archive or into the queue, that a power cut would take.
#[derive(Debug)]
pub(crate) struct Exposed {
    clock: Arc<dyn Clock>,
    /// A lock: whoever takes it away sees all that was written before it was set.
    since: Mutex<Option<Instant>>,
    /// Wakes whoever sleeps until the next sync, and does not know of this write yet.
    woken: Notify,
}

impl Exposed {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, since: Mutex::default(), woken: Notify::new() }
    }

    /// Something was written. Called after the write: a sync that comes between the two would take the mark and not the write.
    pub(crate) fn wrote(&self) {
        let mut since = self.lock();
        if since.is_none() {
            // The oldest counts.
            *since = Some(self.clock.now());
            drop(since);
            self.wake();
        }
    }

    /// When the oldest of it was written.
    pub(crate) fn since(&self) -> Option<Instant> {
        *self.lock()
    }

    /// A sync begins: what is written from here on is due anew.
    #[cfg(feature = "warc")]
    pub(crate) fn sync_begins(&self) {
        self.lock().take();
    }

    /// The one who sleeps until the next sync is to look again.
    pub(crate) fn wake(&self) {
        self.woken.notify_waiters();
    }

    /// Ends with the next [`Self::wake`] after this call, also when that comes before anybody waits.
    pub(crate) fn woken(&self) -> Notified<'_> {
        self.woken.notified()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
