//! What is written and not yet safe against a power cut: since when, and who is woken for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use comity_frontier::{Keyspace, Row, Store, StoreError, WriteBatch};
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

/// The store of a queue, each commit of which is told: also those that nobody asked for by name, such as the end of a lease, the
/// sleep of an origin, or a URL that comes back to be visited anew.
#[derive(Debug)]
pub(crate) struct ToldStore {
    store: Box<dyn Store>,
    exposed: Arc<Exposed>,
}

impl ToldStore {
    pub(crate) fn new(store: Box<dyn Store>, exposed: Arc<Exposed>) -> Self {
        Self { store, exposed }
    }
}

impl Store for ToldStore {
    fn commit(&mut self, batch: WriteBatch) -> Result<(), StoreError> {
        self.store.commit(batch)?;
        self.exposed.wrote();
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.store.sync()
    }

    fn get(&self, space: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.get(space, key)
    }

    fn peek(&self, space: Keyspace, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Row>, StoreError> {
        self.store.peek(space, from, until, limit)
    }

    fn peek_within(
        &self,
        space: Keyspace,
        from: &[u8],
        until: &[u8],
        most: (usize, usize),
    ) -> Result<Vec<Row>, StoreError> {
        self.store.peek_within(space, from, until, most)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use comity_fetch::SystemClock;
    use comity_frontier::MemoryStore;
    use comity_policy::WallTime;

    use super::*;

    /// Holds nothing more.
    #[derive(Debug)]
    struct Full(MemoryStore);

    impl Store for Full {
        fn commit(&mut self, _: WriteBatch) -> Result<(), StoreError> {
            Err(StoreError::Full("the test".to_owned()))
        }

        fn sync(&mut self) -> Result<(), StoreError> {
            Ok(())
        }

        fn get(&self, space: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
            self.0.get(space, key)
        }

        fn peek(&self, space: Keyspace, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Row>, StoreError> {
            self.0.peek(space, from, until, limit)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_commit_is_due_and_ends_the_sleep_that_did_not_know_of_it() {
        let clock = Arc::new(SystemClock::paused_at(WallTime::from_unix_millis(1_796_000_000_000)));
        let exposed = Arc::new(Exposed::new(clock.clone()));
        let mut store = ToldStore::new(Box::new(MemoryStore::new()), exposed.clone());
        let soon = |woken| tokio::time::timeout(Duration::from_millis(1), woken);
        for round in 0..3 {
            // Whether the sleep has begun or is only about to.
            let woken = exposed.woken();
            let first = clock.now();
            store.commit(WriteBatch::default()).unwrap();
            assert!(soon(woken).await.is_ok(), "{round}: woken");
            let known = exposed.woken();
            tokio::time::advance(Duration::from_millis(300)).await;
            store.commit(WriteBatch::default()).unwrap();
            assert!(soon(known).await.is_err(), "{round}: once for all of it");
            assert_eq!(exposed.since(), Some(first), "{round}: the oldest counts");
            exposed.sync_begins();
            store.sync().unwrap();
            assert_eq!(exposed.since(), None, "{round}");
        }
        let mut full = ToldStore::new(Box::new(Full(MemoryStore::new())), exposed.clone());
        full.commit(WriteBatch::default()).unwrap_err();
        assert_eq!(exposed.since(), None, "nothing was written");
    }
}
