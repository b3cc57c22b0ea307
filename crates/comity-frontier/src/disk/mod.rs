//! A store on disk, over the embedded key-value engine fjall.

mod fault;

use std::fmt;
use std::path::{Path, PathBuf};

use fjall::config::{BlockSizePolicy, FilterPolicy};
use fjall::{Database, KeyspaceCreateOptions, PersistMode};

use self::fault::{explain, is_low};
use crate::{Keyspace, Row, Store, StoreError, WriteBatch};

/// The bounds of a [`DiskStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSettings {
    /// Bytes of the block cache. Default 64 MiB.
    pub cache: u64,
    /// Bytes of the write buffers of all tables together, before they are written out. Default 16 MiB. While they are,
    /// new ones fill beside them.
    pub write_buffers: u64,
    /// A commit is refused, by [`StoreError::Full`], while less than this is free on the disk: the engine needs room to
    /// rearrange its files. Default 32 MiB.
    pub reserve: u64,
}

/// A frontier store in a directory: for crawls that outlive their process, and queues larger than memory.
///
/// What a commit acknowledged was handed to the operating system: it survives `kill -9`. [`Store::sync`] makes it safe
/// against a power cut; after 16 MiB of commits the store does so by itself. One process at a time holds the directory.
///
/// Cost: a commit some microseconds and about 2 per row; disk about 100 bytes per queued URL of 76 bytes; memory the
/// settings, and about the same again while buffers are written out. A log of at most 64 MiB is read when it is opened.
pub struct DiskStore {
    path: PathBuf,
    settings: DiskSettings,
    db: Database,
    tables: Tables,
    /// Bytes committed since the last sync.
    unsynced: u64,
    /// Bytes that may be committed before the free space is looked at again.
    until_look: u64,
}

struct Tables {
    queue: fjall::Keyspace,
    seen: fjall::Keyspace,
    origin: fjall::Keyspace,
    due: fjall::Keyspace,
    visit: fjall::Keyspace,
    meta: fjall::Keyspace,
}

/// The log is read when a store is opened, about a second per 27 MiB: the least that the engine takes.
const LOG: u64 = 64 << 20;
/// Commits are made safe against a power cut after so many bytes.
const SYNC_AFTER: u64 = 16 << 20;
/// Free space is looked at again after so many bytes.
const LOOK_AFTER: u64 = 1 << 20;

impl Default for DiskSettings {
    fn default() -> Self {
        Self { cache: 64 << 20, write_buffers: 16 << 20, reserve: 32 << 20 }
    }
}

impl DiskStore {
    /// Opens the store in `path`, which is made when it is missing.
    ///
    /// A log whose end was cut off or holds garbage is repaired: the commits before it are whole, those that it cuts are
    /// gone as a whole and had not been acknowledged.
    ///
    /// # Errors
    /// When another process holds it, it cannot be read or written, or it is of another version or damaged otherwise.
    pub fn open(path: &Path, settings: DiskSettings) -> Result<Self, StoreError> {
        let wrap = |error| explain(path, error);
        std::fs::create_dir_all(path).map_err(|error| wrap(error.into()))?;
        let db = Database::builder(path)
            .cache_size(settings.cache)
            .max_journaling_size(LOG)
            .worker_threads(1)
            .open()
            .map_err(wrap)?;
        let table = |name: &str, parts: u64, filter: bool| {
            let options = || {
                let bytes = (settings.write_buffers / 17).saturating_mul(parts).max(64 << 10);
                let options = KeyspaceCreateOptions::default()
                    .max_memtable_size(bytes)
                    .data_block_size_policy(BlockSizePolicy::all(8 << 10));
                // What is only read in order needs no filter.
                if filter { options } else { options.filter_policy(FilterPolicy::disabled()) }
            };
            db.keyspace(name, options).map_err(wrap)
        };
        let tables = Tables {
            queue: table("queue", 8, false)?,
            seen: table("seen", 1, false)?,
            origin: table("origin", 4, true)?,
            due: table("due", 2, false)?,
            visit: table("visit", 1, true)?,
            meta: table("meta", 1, false)?,
        };
        Ok(Self { path: path.to_owned(), settings, db, tables, unsynced: 0, until_look: 0 })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes on disk, the log included.
    ///
    /// # Errors
    /// When the files cannot be looked at.
    pub fn disk_space(&self) -> Result<u64, StoreError> {
        self.db.disk_space().map_err(|error| explain(&self.path, error))
    }

    const fn table(&self, space: Keyspace) -> &fjall::Keyspace {
        match space {
            Keyspace::Queue => &self.tables.queue,
            Keyspace::Seen => &self.tables.seen,
            Keyspace::Origin => &self.tables.origin,
            Keyspace::Due => &self.tables.due,
            Keyspace::Visit => &self.tables.visit,
            Keyspace::Meta => &self.tables.meta,
        }
    }

    /// Refuses before anything is written, while little space is left: a store that ran out in the middle of a write has to
    /// be opened anew.
    fn look_at_space(&mut self, bytes: u64) -> Result<(), StoreError> {
        if self.until_look < bytes {
            if is_low(&self.path, self.settings.reserve.saturating_add(bytes)) {
                return Err(StoreError::Full(self.path.display().to_string()));
            }
            self.until_look = LOOK_AFTER.max(bytes);
        }
        self.until_look -= bytes;
        Ok(())
    }
}

impl Store for DiskStore {
    fn commit(&mut self, batch: WriteBatch) -> Result<(), StoreError> {
        let rows = batch.inserts.iter().map(|(_, key, value)| key.len() + value.len());
        let bytes = rows.chain(batch.deletes.iter().map(|(_, key)| key.len())).sum::<usize>() as u64;
        self.look_at_space(bytes)?;
        let mut writes = self.db.batch().durability(Some(PersistMode::Buffer));
        for (space, key) in batch.deletes {
            writes.remove(self.table(space), key);
        }
        for (space, key, value) in batch.inserts {
            writes.insert(self.table(space), key, value);
        }
        writes.commit().map_err(|error| explain(&self.path, error))?;
        self.unsynced += bytes;
        if self.unsynced >= SYNC_AFTER { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        if self.unsynced > 0 {
            self.db.persist(PersistMode::SyncData).map_err(|error| explain(&self.path, error))?;
            self.unsynced = 0;
        }
        Ok(())
    }

    fn get(&self, space: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let value = self.table(space).get(key).map_err(|error| explain(&self.path, error))?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn peek(&self, space: Keyspace, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Row>, StoreError> {
        if from >= until {
            return Ok(Vec::new());
        }
        let rows = self.table(space).range(from..until).take(limit);
        rows.map(|row| row.into_inner().map(|(key, value)| (key.to_vec(), value.to_vec())))
            .collect::<Result<_, _>>()
            .map_err(|error| explain(&self.path, error))
    }
}

impl fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskStore").field("path", &self.path).field("settings", &self.settings).finish_non_exhaustive()
    }
}
