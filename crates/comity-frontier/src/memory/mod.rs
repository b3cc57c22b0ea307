//! A store in memory, in which a queued URL takes less than its own bytes.

mod arena;
mod block;
mod entry;
mod packing;
mod prints;
mod rows;
mod table;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use self::packing::{named, pack, unpack};
use self::prints::Prints;
use self::rows::Rows;
use self::table::Table;
use crate::{Keyspace, Row, Store, StoreError, WriteBatch};

/// A store in memory: for small crawls, tests and simulations. Gone with the process.
///
/// Rows stand in blocks, each written as what it does not share with its neighbour: of a queued URL neither the origin nor the
/// beginning of the path, and its fingerprint once, in the seen-set. A row costs about a microsecond, one of those that were
/// written last a fraction of it: the counts of origins and domains, which each page changes.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    queue: Rows,
    seen: Prints,
    origin: Table,
    domain: Table,
    due: Table,
    visit: Table,
    meta: Table,
    left: Table,
}

/// How the rows of a keyspace are kept.
enum Space<Q, S, T> {
    Queue(Q),
    Seen(S),
    Table(T),
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows in a keyspace.
    #[must_use]
    pub fn len(&self, space: Keyspace) -> usize {
        match self.space(space) {
            Space::Queue(rows) => rows.len(),
            Space::Seen(prints) => prints.len(),
            Space::Table(table) => table.len(),
        }
    }

    /// True when nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        Keyspace::ALL.into_iter().all(|space| self.len(space) == 0)
    }

    const fn space(&self, space: Keyspace) -> Space<&Rows, &Prints, &Table> {
        Space::Table(match space {
            Keyspace::Queue => return Space::Queue(&self.queue),
            Keyspace::Seen => return Space::Seen(&self.seen),
            Keyspace::Origin => &self.origin,
            Keyspace::Domain => &self.domain,
            Keyspace::Due => &self.due,
            Keyspace::Visit => &self.visit,
            Keyspace::Meta => &self.meta,
            Keyspace::Left => &self.left,
        })
    }

    const fn space_mut(&mut self, space: Keyspace) -> Space<&mut Rows, &mut Prints, &mut Table> {
        Space::Table(match space {
            Keyspace::Queue => return Space::Queue(&mut self.queue),
            Keyspace::Seen => return Space::Seen(&mut self.seen),
            Keyspace::Origin => &mut self.origin,
            Keyspace::Domain => &mut self.domain,
            Keyspace::Due => &mut self.due,
            Keyspace::Visit => &mut self.visit,
            Keyspace::Meta => &mut self.meta,
            Keyspace::Left => &mut self.left,
        })
    }

    /// Takes rows of fingerprints in; gives where each of them lies.
    fn mark(&mut self, batch: &WriteBatch) -> HashMap<[u8; 16], usize> {
        let mut places = HashMap::new();
        for (_, key, value) in batch.inserts().filter(|(space, ..)| *space == Keyspace::Seen) {
            if let Some(start) = self.seen.insert(key, value) {
                places.extend(value.as_chunks::<16>().0.iter().copied().zip(start..));
            }
        }
        places
    }

    fn enqueue(&mut self, key: &[u8], value: &[u8], places: &HashMap<[u8; 16], usize>) {
        let Self { queue, seen, .. } = self;
        queue.insert(key, |old| {
            // One that was there, as when its attempts are counted, has its fingerprint where it had it.
            let before = old.and_then(named);
            let still = |print: &[u8; 16]| before.filter(|place| seen.at(*place) == Some(print));
            pack(key, value, |print| places.get(print).copied().or_else(|| still(print)))
        });
    }
}

impl Store for MemoryStore {
    fn commit(&mut self, mut batch: WriteBatch) -> Result<(), StoreError> {
        for (space, key) in batch.deletes() {
            match self.space_mut(space) {
                Space::Queue(rows) => rows.remove(key),
                Space::Seen(prints) => prints.remove(key),
                Space::Table(table) => table.remove(key),
            }
        }
        let places = self.mark(&batch);
        batch.sort();
        for (space, key, value) in batch.inserts() {
            match self.space_mut(space) {
                Space::Queue(_) => self.enqueue(key, value, &places),
                // Taken in by `mark`.
                Space::Seen(_) => {}
                Space::Table(table) => table.insert(key, value),
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn get(&self, space: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(match self.space(space) {
            Space::Queue(rows) => rows.get(key, |entry| unpack(entry, &self.seen)),
            Space::Seen(prints) => prints.get(key),
            Space::Table(table) => table.get(key),
        })
    }

    fn peek(&self, space: Keyspace, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Row>, StoreError> {
        if from >= until {
            return Ok(Vec::new());
        }
        Ok(match self.space(space) {
            Space::Queue(rows) => {
                rows.range(from, until, limit, |entry| (entry.key.clone(), unpack(entry, &self.seen)))
            }
            Space::Seen(prints) => prints.range(from, until, limit),
            Space::Table(table) => table.range(from, until, limit),
        })
    }
}
