use std::collections::BTreeMap;

use crate::{Keyspace, Row, Store, StoreError, WriteBatch};

/// A store in memory: for small crawls, tests and simulations. Gone with the process.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    queue: Table,
    seen: Table,
    origin: Table,
    domain: Table,
    due: Table,
    visit: Table,
    meta: Table,
    left: Table,
}

type Table = BTreeMap<Box<[u8]>, Box<[u8]>>;

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows in a keyspace.
    #[must_use]
    pub fn len(&self, space: Keyspace) -> usize {
        self.table(space).len()
    }

    /// True when nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        Keyspace::ALL.into_iter().all(|space| self.table(space).is_empty())
    }

    const fn table(&self, space: Keyspace) -> &Table {
        match space {
            Keyspace::Queue => &self.queue,
            Keyspace::Seen => &self.seen,
            Keyspace::Origin => &self.origin,
            Keyspace::Domain => &self.domain,
            Keyspace::Due => &self.due,
            Keyspace::Visit => &self.visit,
            Keyspace::Meta => &self.meta,
            Keyspace::Left => &self.left,
        }
    }

    const fn table_mut(&mut self, space: Keyspace) -> &mut Table {
        match space {
            Keyspace::Queue => &mut self.queue,
            Keyspace::Seen => &mut self.seen,
            Keyspace::Origin => &mut self.origin,
            Keyspace::Domain => &mut self.domain,
            Keyspace::Due => &mut self.due,
            Keyspace::Visit => &mut self.visit,
            Keyspace::Meta => &mut self.meta,
            Keyspace::Left => &mut self.left,
        }
    }
}

impl Store for MemoryStore {
    fn commit(&mut self, batch: WriteBatch) -> Result<(), StoreError> {
        for (space, key) in batch.deletes {
            self.table_mut(space).remove(key.as_slice());
        }
        for (space, key, value) in batch.inserts {
            self.table_mut(space).insert(key.into(), value.into());
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn get(&self, space: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.table(space).get(key).map(|value| value.to_vec()))
    }

    fn peek(&self, space: Keyspace, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Row>, StoreError> {
        if from >= until {
            return Ok(Vec::new());
        }
        let rows =
            self.table(space).range::<[u8], _>((std::ops::Bound::Included(from), std::ops::Bound::Excluded(until)));
        Ok(rows.take(limit).map(|(key, value)| (key.to_vec(), value.to_vec())).collect())
    }
}
