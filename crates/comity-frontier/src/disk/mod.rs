//! A store on disk, over the embedded key-value engine fjall.

mod fault;
mod forget;
mod form;
mod log;
mod marker;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use comity_store::{Hold, Pending, swap};
use fjall::{AbstractTree as _, CompressionType, Database, PersistMode};

use self::fault::{behind, explain, is_low, of_io};
pub use self::forget::Forget;
use self::form::{Form, PARTS, form};
use self::log::{Log, Saved};
use self::marker::Marker;
use crate::{Keyspace, Row, Store, StoreError, WriteBatch};

/// The bounds of a [`DiskStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSettings {
    /// Bytes of the block cache. Default 24 MiB: with 64 a lease costs the same (decision 0064), the rest is the system's cache.
    pub cache: u64,
    /// Bytes of the write buffers of all tables together, before they are written out. Default 16 MiB. While they are,
    /// new ones fill beside them.
    pub write_buffers: u64,
    /// A commit is refused, by [`StoreError::Full`], while less than this is free on the disk: the engine needs room to
    /// rearrange its files. Default 32 MiB.
    pub reserve: u64,
    /// Opens a store although a part of what was safe is missing, or its log is damaged in the middle; without it that is
    /// [`StoreError::Behind`]. What is left is then rebuilt from the queue. Default false.
    pub accept_loss: bool,
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
    /// Number of the last commit.
    last_commit: u64,
    /// What stands beside the store.
    marker: Marker,
    /// The files of a new store, on their way to the disk.
    made: Pending,
    /// Bytes committed since the last sync.
    unsynced: u64,
    /// Bytes that may be committed before the free space is looked at again.
    until_look: u64,
    /// Given up last, after the engine has closed.
    lock: Hold,
}

/// In the order of [`Keyspace::ALL`].
struct Tables([Table; Keyspace::ALL.len()]);

struct Table {
    rows: fjall::Keyspace,
    /// Bytes of the write buffer above which it is written out.
    most: u64,
}

/// Looks for room, and the pause between two of them: four seconds in all, then the engine's own bound of four buffers holds.
const LOOKS: u32 = 2000;
const PAUSE: Duration = Duration::from_millis(2);

impl Table {
    /// Waits until at most one full buffer is being written out: with four, which the engine would allow, a busy machine needs
    /// several times the memory that was set.
    fn wait_for_room(&self) {
        for _ in 0..LOOKS {
            if self.rows.tree.sealed_memtable_count() <= 1 {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// In [`Keyspace::Meta`]: the number of the commit, in each of them. So the log tells of commits that are missing in it.
const COMMIT: &[u8] = b"commit";

/// The log is read when a store is opened, about a second per 27 MiB: the least that the engine takes.
const LOG: u64 = 64 << 20;
/// Commits are made safe against a power cut after so many bytes.
const SYNC_AFTER: u64 = 16 << 20;
/// Free space is looked at again after so many bytes.
const LOOK_AFTER: u64 = 1 << 20;

impl Default for DiskSettings {
    fn default() -> Self {
        Self { cache: 24 << 20, write_buffers: 16 << 20, reserve: 32 << 20, accept_loss: false }
    }
}

impl DiskStore {
    /// Opens the store in `path`, which is made when it is missing.
    ///
    /// A log whose end was cut off or holds garbage is repaired: the commits before it are whole, those that it cuts are
    /// gone as a whole, and had not been made safe by [`Store::sync`].
    ///
    /// # Errors
    /// When another process holds it, it cannot be read or written, or it is of another version or damaged otherwise;
    /// [`StoreError::Behind`] when a part of what was safe is missing. Then nothing in it was changed.
    pub fn open(path: &Path, settings: DiskSettings) -> Result<Self, StoreError> {
        let of_file = |error| of_io(path, error);
        swap::finish(path).map_err(of_file)?;
        std::fs::create_dir_all(path).map_err(of_file)?;
        let lock = hold(path)?;
        if !swap::clear(path, &lock).map_err(of_file)? {
            return Err(StoreError::Held(path.display().to_string()));
        }
        let made = comity_store::make(path, |draft| open_engine(draft, settings).map(drop));
        let made = made.map_err(|error| explain(path, error))?;
        Ok(Self { made, ..Self::open_held(path, settings, lock)? })
    }

    /// Whether a store is in `path`: also one that a kill left between the two renames of [`DiskStore::forget`], which the next
    /// [`DiskStore::open`] puts in its place.
    #[must_use]
    pub fn exists(path: &Path) -> bool {
        path.is_dir() || swap::is_between(path)
    }

    /// As [`DiskStore::open`], of a directory that this process holds.
    fn open_held(path: &Path, settings: DiskSettings, lock: Hold) -> Result<Self, StoreError> {
        let wrap = |error| explain(path, error);
        let of_file = |error| of_io(path, error);
        let marker = marker::read(path).map_err(of_file)?;
        let log = log::walk(path, marker.accepted).map_err(of_file)?;
        let mut loss = loss_in_log(&log, marker.commit);
        refuse_loss(path, loss.as_deref(), settings)?;
        // It is cut, and only then the tables tell whether something safe was in it.
        let saved = log.torn.as_ref().filter(|_| loss.is_none()).map(Saved::new).transpose().map_err(of_file)?;
        let put_back = || saved.as_ref().map_or(Ok(()), Saved::put_back).map_err(of_file);
        if loss.is_some() || log.torn.is_some() {
            // The engine would cut some torn ends, and refuse others: those with a wrong checksum.
            log::cut(path, marker.accepted).map_err(of_file)?;
        }
        let (db, tables, last_commit) = match open_engine(path, settings) {
            Ok(opened) => opened,
            Err(error) => {
                put_back()?;
                return Err(wrap(error));
            }
        };
        loss = loss.or_else(|| tables.loss(&log, last_commit, marker.commit));
        if let Err(error) = refuse_loss(path, loss.as_deref(), settings) {
            drop((tables, db));
            put_back()?;
            return Err(error);
        }
        drop(saved);
        let path = path.to_owned();
        let made = Pending::default();
        let mut store =
            Self { path, settings, db, tables, last_commit, marker, made, unsynced: 0, until_look: 0, lock };
        if loss.is_some() {
            store.mark_for_mending()?;
        }
        Ok(store)
    }

    /// Closes the engine, and keeps the directory.
    fn close(self) -> (PathBuf, DiskSettings, Hold) {
        let Self { path, settings, lock, .. } = self;
        (path, settings, lock)
    }

    /// What is left is gone on with. It is looked through by whoever reads it next, however often that is begun.
    ///
    /// The loss is accepted up to this very commit: where the tables are newer than the log, the log has a gap before it.
    fn mark_for_mending(&mut self) -> Result<(), StoreError> {
        let mut batch = WriteBatch::default();
        batch.insert(Keyspace::Meta, crate::local::MEND.to_vec(), Vec::new());
        self.commit(batch)?;
        self.marker.accepted = self.last_commit;
        self.unsynced = self.unsynced.max(1);
        self.sync()
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
        &self.tables.of(space).rows
    }

    /// Has full write buffers written out. The engine would ask for it by itself, once for each commit while its thread is
    /// busy, until that thread waits for room in its own queue, for ever.
    fn write_out(&self) -> Result<(), StoreError> {
        for table in &self.tables.0 {
            if table.rows.tree.active_memtable().size() > table.most {
                table.wait_for_room();
                table.rows.rotate_memtable().map_err(|error| explain(&self.path, error))?;
            }
        }
        Ok(())
    }

    /// What follows a commit.
    fn after_commit(&mut self) -> Result<(), StoreError> {
        self.write_out()?;
        if self.unsynced >= SYNC_AFTER { self.sync() } else { Ok(()) }
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

/// Takes the store for this process, before anything in it is read: the log of one that is being written reads like a damaged
/// one. The engine's own lock comes too late for that.
fn hold(path: &Path) -> Result<Hold, StoreError> {
    Hold::take(path).map_err(|error| of_io(path, error))?.ok_or_else(|| StoreError::Held(path.display().to_string()))
}

/// Opens the engine. Gives the number of the last commit in its tables.
fn open_engine(path: &Path, settings: DiskSettings) -> Result<(Database, Tables, u64), fjall::Error> {
    let db = Database::builder(path)
        .cache_size(settings.cache)
        .max_journaling_size(LOG)
        // Of all rows only those of fingerprints are long, and they are random.
        .journal_compression(CompressionType::None)
        .worker_threads(1)
        .open()?;
    let tables = Tables::open(&db, settings)?;
    let last_commit = tables.last_commit()?;
    Ok((db, tables, last_commit))
}

impl Tables {
    fn open(db: &Database, settings: DiskSettings) -> Result<Self, fjall::Error> {
        let mut tables = Vec::with_capacity(Keyspace::ALL.len());
        for space in Keyspace::ALL {
            let Form { name, parts, options } = form(space);
            let most = (settings.write_buffers / PARTS).saturating_mul(parts).max(64 << 10);
            tables.push(Table { rows: db.keyspace(name, || options)?, most });
        }
        let tables = tables.try_into().map_err(|_| fjall::Error::Unrecoverable)?;
        Ok(Self(tables))
    }

    const fn of(&self, space: Keyspace) -> &Table {
        let [queue, seen, origin, domain, due, visit, meta, left] = &self.0;
        match space {
            Keyspace::Queue => queue,
            Keyspace::Seen => seen,
            Keyspace::Origin => origin,
            Keyspace::Domain => domain,
            Keyspace::Due => due,
            Keyspace::Visit => visit,
            Keyspace::Meta => meta,
            Keyspace::Left => left,
        }
    }

    /// Number of the last commit; 0 before the first, and in a store of format 2.
    fn last_commit(&self) -> Result<u64, fjall::Error> {
        let bytes = self.of(Keyspace::Meta).rows.get(COMMIT)?;
        Ok(bytes.and_then(|bytes| Some(u64::from_be_bytes(bytes.as_ref().try_into().ok()?))).unwrap_or(0))
    }

    /// What the tables show to be missing in the log, or to be missing as a whole.
    fn loss(&self, log: &Log, last_commit: u64, safe: u64) -> Option<String> {
        let written = self.0.iter().filter_map(|table| table.rows.tree.get_highest_persisted_seqno()).max();
        if log.last_batch.zip(written).is_some_and(|(logged, written)| logged < written) {
            return Some("its log ends before what was written out of it".to_owned());
        }
        if log.last_commit.is_some_and(|logged| logged != last_commit) {
            return Some(format!("its log ends with commit {:?}, its tables with {last_commit}", log.last_commit));
        }
        (last_commit < safe).then(|| missing(last_commit, safe))
    }
}

/// What the log shows to be lost.
fn loss_in_log(log: &Log, safe: u64) -> Option<String> {
    if let Some((place, what)) = &log.damage {
        return Some(format!("{} at byte {}: {}", place.file.display(), place.at, what.text()));
    }
    let short = log.last_commit.filter(|last| *last < safe);
    if let (Some(place), None) = (&log.torn, short) {
        let (file, at) = (place.file.display(), place.at);
        tracing::warn!(%file, at, "the end of the frontier's log is torn: commits that had not been made safe are dropped");
    }
    short.map(|last| missing(last, safe))
}

fn missing(last: u64, safe: u64) -> String {
    format!("it ends with commit {last}, and commit {safe} was safe on the disk")
}

fn refuse_loss(path: &Path, loss: Option<&str>, settings: DiskSettings) -> Result<(), StoreError> {
    match loss {
        Some(what) if settings.accept_loss => {
            tracing::warn!(path = %path.display(), what, "the frontier store lost a part of what was safe; that is accepted");
            Ok(())
        }
        Some(what) => Err(behind(path, what)),
        None => Ok(()),
    }
}

impl Store for DiskStore {
    fn commit(&mut self, mut batch: WriteBatch) -> Result<(), StoreError> {
        batch.sort();
        let bytes = batch.bytes();
        self.look_at_space(bytes)?;
        let rows = batch.deletes().len() + batch.inserts().len() + 1;
        let writes = fjall::OwnedWriteBatch::with_capacity(self.db.clone(), rows);
        let mut writes = writes.durability(Some(PersistMode::Buffer));
        for (space, key) in batch.deletes() {
            writes.remove(self.table(space), key);
        }
        for (space, key, value) in batch.inserts() {
            writes.insert(self.table(space), key, value);
        }
        writes.insert(self.table(Keyspace::Meta), COMMIT, (self.last_commit + 1).to_be_bytes());
        writes.commit().map_err(|error| explain(&self.path, error))?;
        self.last_commit += 1;
        self.unsynced += bytes;
        self.after_commit().unwrap_or_else(|error| {
            // It is made: the next commit meets the same fault and tells it.
            tracing::warn!(%error, "the frontier store");
        });
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        // Rows in a store that is not safe itself are not.
        self.made.finish().map_err(|error| of_io(&self.path, error))?;
        if self.unsynced > 0 {
            self.db.persist(PersistMode::SyncData).map_err(|error| explain(&self.path, error))?;
            self.marker.commit = self.last_commit;
            marker::write(&self.path, self.marker).map_err(|error| of_io(&self.path, error))?;
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

    fn peek_within(
        &self,
        space: Keyspace,
        from: &[u8],
        until: &[u8],
        (limit, bytes): (usize, usize),
    ) -> Result<Vec<Row>, StoreError> {
        let (mut rows, mut read) = (Vec::new(), 0);
        if from >= until {
            return Ok(rows);
        }
        for row in self.table(space).range(from..until).take(limit) {
            let (key, value) = row.into_inner().map_err(|error| explain(&self.path, error))?;
            read += key.len() + value.len();
            rows.push((key.to_vec(), value.to_vec()));
            if read >= bytes {
                break;
            }
        }
        Ok(rows)
    }
}

impl fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskStore").field("path", &self.path).field("settings", &self.settings).finish_non_exhaustive()
    }
}
