//! A queue that tells of its commits.

use std::sync::Arc;

use comity_frontier::{Keyspace, Row, Store, StoreError, WriteBatch};

use super::Exposed;

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
