//! What outlives the process: robots lives with their bytes, files in which sites speak about use, back-offs and parks (`[state] dir`).

mod error;
mod file;
mod forget;
mod format;
mod safe;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use comity_policy::{Digest, LifeMemory, PaceMemory, WallTime};
use comity_store::{Hold, Pending, swap};
use comity_url::Origin;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use tokio::sync::Notify;

use crate::cache::RobotsKey;
pub use error::StateError;
pub(crate) use file::RecalledCopy;
use format::WrittenLife;

/// The state directory: robots copies, back-offs and parks of successive crawls of one agent.
///
/// One process at a time holds it; a second one is refused. What a method acknowledged survives `kill -9`; a power cut
/// may cost what was written since the last [`StateDir::sync`], which is then asked of the sites again. Lives that
/// nobody asked for in [`StateDir::KEPT`] are forgotten when the directory is opened.
///
/// Cost: a look-up or a write of some microseconds; memory for the write buffer and the block cache, 16 MiB each at most.
pub struct StateDir {
    path: PathBuf,
    /// The files of a new directory, on their way to the disk.
    made: Pending,
    db: Database,
    /// `origin TAB vantage` → life.
    lives: Keyspace,
    /// SHA-256 → bytes, once however many origins serve them.
    copies: Keyspace,
    /// `origin` → back-off and park.
    paces: Keyspace,
    /// `kind TAB place TAB vantage` → a file in which a site speaks about use.
    files: Keyspace,
    /// This opening of the directory, one more than the last.
    run: u64,
    /// The latest civil time at which it was ever opened: nothing is dated before it.
    latest: WallTime,
    /// Told of each write.
    wrote: Notify,
    /// The gate reads and writes it where it stands, and not on a thread of its own.
    pub(crate) is_inline: bool,
    /// Given up last.
    hold: Hold,
}

/// A life as it was found, with the bytes of its copy.
#[derive(Debug)]
pub(crate) struct Recalled {
    pub(crate) memory: LifeMemory,
    pub(crate) file: Option<Bytes>,
    pub(crate) by: WrittenBy,
}

/// What is remembered of one origin, asked directly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RememberedOrigin {
    /// The life of its robots.txt.
    pub life: LifeMemory,
    /// Its back-off and park.
    pub pace: PaceMemory,
}

/// Which process remembered a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrittenBy {
    /// This one: its pacer knows the origin.
    ThisRun,
    /// An earlier one.
    AnEarlierRun,
}

impl StateDir {
    /// A copy and the time of a first failure are kept this long after they were last written (design §6: 60 days at
    /// least).
    pub const KEPT: Duration = Duration::from_secs(90 * 24 * 3600);
    /// The beginning of 2025: nothing was remembered before there was anybody to do so. A clock that says less was never set.
    const FIRST_DATE: WallTime = WallTime::from_unix_millis(1_735_689_600_000);
    /// Bytes of the block cache.
    const CACHE: u64 = 16 << 20;

    /// Opens the directory, which is made when it is missing, and forgets what is too old at `now`.
    ///
    /// # Errors
    /// When another process holds it, or it cannot be read or written.
    pub fn open(path: &Path, now: WallTime) -> Result<Self, StateError> {
        let of_io = |error| moved(path, error);
        swap::finish(path).map_err(of_io)?;
        std::fs::create_dir_all(path).map_err(of_io)?;
        let held = hold(path)?;
        if swap::clear(path, &held).map_err(of_io)? {
            Self::open_held(path, now, held)
        } else {
            Err(StateError::new(path, fjall::Error::Locked))
        }
    }

    /// As [`StateDir::open`], of a directory that this process holds.
    fn open_held(path: &Path, now: WallTime, hold: Hold) -> Result<Self, StateError> {
        let wrap = |error| StateError::new(path, error);
        let made = comity_store::make(path, |draft| tables(draft).map(drop)).map_err(wrap)?;
        let Tables { db, runs, lives, copies, paces, files } = tables(path).map_err(wrap)?;
        let last = runs.get("run").map_err(wrap)?.and_then(|bytes| Some(u64::from_be_bytes((*bytes).try_into().ok()?)));
        let run = last.unwrap_or(0) + 1;
        runs.insert("run", run.to_be_bytes()).map_err(wrap)?;
        let latest = runs.get("latest").map_err(wrap)?;
        let latest = latest.and_then(|bytes| Some(i64::from_be_bytes((*bytes).try_into().ok()?)));
        let latest = latest.map_or(now, |latest| now.max(WallTime::from_unix_millis(latest)));
        runs.insert("latest", latest.unix_millis().to_be_bytes()).map_err(wrap)?;
        let (path, wrote) = (path.to_owned(), Notify::new());
        let state = Self { run, latest, is_inline: false, lives, copies, paces, files, path, wrote, made, db, hold };
        state.forget_old(now).map_err(|error| StateError::new(&state.path, error))?;
        Ok(state)
    }

    /// The gate reads and writes it inline from here on: for a clock that is passed in, on which nothing may take time that
    /// it does not know of. Otherwise that is done on a thread of its own.
    #[must_use]
    pub fn inline(self) -> Self {
        Self { is_inline: true, ..self }
    }

    /// True when an earlier process used it: what that one asked last is unknown, so everybody waits one delay.
    #[must_use]
    pub const fn follows_another_process(&self) -> bool {
        self.run > 1
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes everything acknowledged so far safe against a power cut.
    ///
    /// # Errors
    /// When the disk fails; nothing more is accepted then, but where it failed while the directory was made: then the next call
    /// tries again.
    pub fn sync(&self) -> Result<(), StateError> {
        // What is in a directory that is not safe itself is not.
        let made = self.made.finish().map_err(fjall::Error::from);
        made.and_then(|()| self.db.persist(PersistMode::SyncData)).map_err(|error| StateError::new(&self.path, error))
    }

    /// What is remembered of one origin, its robots.txt as it was last written from any vantage; `None` when nothing is.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn look_up(&self, origin: &Origin) -> Result<Option<RememberedOrigin>, StateError> {
        let mut lives = Vec::new();
        for entry in self.lives.prefix(format!("{origin}\t")) {
            let (_, value) = entry.into_inner().map_err(|error| StateError::new(&self.path, error))?;
            lives.extend(format::read_life(&value));
        }
        let life = lives.into_iter().max_by_key(|life| life.written).map(|life| life.memory);
        let pace = self.recall_pace(origin)?;
        let known = life.is_some() || pace.is_some();
        Ok(known.then(|| RememberedOrigin { life: life.unwrap_or_default(), pace: pace.unwrap_or_default() }))
    }

    /// The last good copies of one origin's robots.txt, one for each vantage from which it was read, whatever their age.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn last_copies(&self, origin: &Origin) -> Result<Vec<Bytes>, StateError> {
        let wrap = |error| StateError::new(&self.path, error);
        let mut copies = Vec::new();
        for entry in self.lives.prefix(format!("{origin}\t")) {
            let (_, value) = entry.into_inner().map_err(wrap)?;
            let Some(digest) = format::read_life(&value).and_then(|life| life.memory.digest()) else { continue };
            copies.extend(self.copies.get(digest.as_bytes()).map_err(wrap)?.map(|bytes| Bytes::from(bytes.to_vec())));
        }
        Ok(copies)
    }

    /// The life of one origin's robots.txt as it was last remembered. An entry that cannot be read counts as none:
    /// then the file is asked anew.
    pub(crate) fn recall(&self, key: &RobotsKey) -> Result<Option<Recalled>, StateError> {
        let wrap = |error| StateError::new(&self.path, error);
        let Some(entry) = self.lives.get(life_key(key)).map_err(wrap)? else { return Ok(None) };
        let Some(WrittenLife { memory, run, .. }) = format::read_life(&entry) else { return Ok(None) };
        let by = if run == self.run { WrittenBy::ThisRun } else { WrittenBy::AnEarlierRun };
        let file = match memory.digest() {
            None => None,
            Some(digest) => self.copies.get(digest.as_bytes()).map_err(wrap)?.map(|bytes| Bytes::from(bytes.to_vec())),
        };
        Ok(Some(Recalled { memory, file, by }))
    }

    /// Remembers a life and, when it has just been received, the file it stands on: both or neither.
    pub(crate) fn remember(
        &self,
        key: &RobotsKey,
        memory: &LifeMemory,
        file: Option<(Digest, &[u8])>,
        now: WallTime,
    ) -> Result<(), StateError> {
        let wrap = |error| StateError::new(&self.path, error);
        // A process whose clock is behind must not make a life look old: the next one would forget it.
        let before = self.lives.get(life_key(key)).map_err(wrap)?.and_then(|entry| format::read_life(&entry));
        let now = before.map_or(now, |before| before.written.max(now)).max(self.latest);
        let mut batch = self.db.batch().durability(Some(PersistMode::Buffer));
        if let Some((digest, bytes)) = file {
            batch.insert(&self.copies, digest.as_bytes().as_slice(), bytes);
        }
        batch.insert(&self.lives, life_key(key), format::write_life(memory, now, self.run));
        self.written(batch.commit())
    }

    /// The back-off and park of one origin as last remembered.
    pub(crate) fn recall_pace(&self, origin: &Origin) -> Result<Option<PaceMemory>, StateError> {
        let entry = self.paces.get(origin.as_str()).map_err(|error| StateError::new(&self.path, error))?;
        Ok(entry.and_then(|entry| format::read_pace(&entry)))
    }

    /// Remembers a back-off and park; forgets the origin when there is none.
    pub(crate) fn remember_pace(&self, origin: &Origin, pace: &PaceMemory) -> Result<(), StateError> {
        let done = if pace.is_idle() {
            self.paces.remove(origin.as_str())
        } else {
            self.paces.insert(origin.as_str(), format::write_pace(pace))
        };
        self.written(done)
    }

    /// What follows a write.
    fn written(&self, done: Result<(), fjall::Error>) -> Result<(), StateError> {
        self.wrote.notify_one();
        done.map_err(|error| StateError::new(&self.path, error))
    }

    /// Over for so long that no clock makes it hold again. What is over by this process's clock alone may hold by the next one's,
    /// which reads it only where it does.
    fn is_old(pace: &PaceMemory, now: WallTime) -> bool {
        let last = pace.backoff_until.max(pace.parked_until);
        last.is_none_or(|last| last >= Self::FIRST_DATE && now.since(last) > Self::KEPT)
    }

    /// Forgets lives that were last written too long ago, copies that no life names, back-offs that have long been over.
    fn forget_old(&self, now: WallTime) -> Result<(), fjall::Error> {
        let mut named = HashSet::new();
        for entry in self.lives.iter() {
            let (key, value) = entry.into_inner()?;
            match format::read_life(&value) {
                Some(life) if now.since(life.written) <= Self::KEPT => named.extend(life.memory.digest()),
                // Its clock was never set: nobody knows how old it is, and from here on it grows old by one that is.
                Some(life) if life.written < Self::FIRST_DATE => {
                    self.lives.insert(key, format::write_life(&life.memory, now, life.run))?;
                    named.extend(life.memory.digest());
                }
                _ => self.lives.remove(key)?,
            }
        }
        for entry in self.files.iter() {
            let (key, value) = entry.into_inner()?;
            match file::read(&value) {
                // Nothing is to be asked for again before a file's life is over, and a copy holds on while it cannot be asked.
                Some(found) if now.since(found.written) <= Self::KEPT => named.extend(found.digest()),
                _ => self.files.remove(key)?,
            }
        }
        for entry in self.copies.iter() {
            let key = entry.key()?;
            let is_named = <[u8; 32]>::try_from(&*key).is_ok_and(|d| named.contains(&Digest::from_bytes(d)));
            if !is_named {
                self.copies.remove(key)?;
            }
        }
        for entry in self.paces.iter() {
            let (key, value) = entry.into_inner()?;
            if format::read_pace(&value).is_none_or(|pace| Self::is_old(&pace, now)) {
                self.paces.remove(key)?;
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for StateDir {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateDir").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What a directory holds, open.
struct Tables {
    db: Database,
    /// How often it was opened.
    runs: Keyspace,
    lives: Keyspace,
    copies: Keyspace,
    paces: Keyspace,
    files: Keyspace,
}

/// Opens the engine in `path`. Tables that are missing are made.
fn tables(path: &Path) -> Result<Tables, fjall::Error> {
    let db = Database::builder(path).cache_size(StateDir::CACHE).worker_threads(1).open()?;
    let keyspace = |name: &str| db.keyspace(name, || KeyspaceCreateOptions::default().max_memtable_size(4 << 20));
    let (runs, lives, copies) = (keyspace("runs")?, keyspace("lives")?, keyspace("copies")?);
    let (paces, files) = (keyspace("paces")?, keyspace("files")?);
    Ok(Tables { db, runs, lives, copies, paces, files })
}

/// As long as the engine waits, twice, for a lock of its own.
const A_LOOK: Duration = Duration::from_millis(100);

/// Takes a directory for this process. Whoever only looks something up has it for a moment where it holds few origins, and is waited for. Of
/// many a look takes seconds, since it opens the directory as everybody does: a crawl that begins just then is refused.
fn hold(path: &Path) -> Result<Hold, StateError> {
    for is_last in [false, false, true] {
        match Hold::take(path).map_err(|error| moved(path, error))? {
            Some(held) => return Ok(held),
            None if is_last => {}
            None => std::thread::sleep(A_LOOK),
        }
    }
    Err(StateError::new(path, fjall::Error::Locked))
}

/// What comes and goes meanwhile is being put elsewhere by whoever holds it.
fn moved(path: &Path, error: io::Error) -> StateError {
    StateError::new(path, if swap::is_moved(&error) { fjall::Error::Locked } else { error.into() })
}

fn life_key((origin, vantage): &RobotsKey) -> String {
    format!("{origin}\t{vantage}")
}
