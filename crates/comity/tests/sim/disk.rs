//! The machine's disk, as far as a crawl's storage goes: it outlives the crawl, fills up when told, and forgets at a power cut
//! what was not made safe.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use comity_archive::{Backing, Disk, RealDisk};
use comity_frontier::{Keyspace, MemoryStore, Row, Store, StoreError, WriteBatch};
use comity_testweb::Observer;
use tokio::time::Instant;

use crate::plan::Dice;
use crate::state::SimState;

/// The queue's store. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimStore(Arc<Mutex<Rows>>);

#[derive(Debug, Default)]
struct Rows {
    live: MemoryStore,
    safe: MemoryStore,
    /// Committed and not yet safe, with the instant of each commit.
    unsafe_yet: Vec<(Instant, WriteBatch)>,
    /// When the process began that writes.
    began: Option<Instant>,
    /// For how long anything that it wrote was not safe, at most, of what is by now.
    exposed: Duration,
    is_full: bool,
    refused: u64,
}

/// What a power cut took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cut {
    pub(crate) commits: u64,
    /// URLs that are in the queue again.
    pub(crate) urls: u64,
    /// How old the oldest commit was that is gone.
    pub(crate) age: Duration,
    /// Writes to records and WARC files that are gone, whole or in part. Their sizes differ from run to run.
    pub(crate) archived: u64,
    /// How old the oldest of these was.
    pub(crate) archived_age: Duration,
    /// Answers to robots.txt that the gate does not remember.
    pub(crate) robots: u64,
}

impl SimStore {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap()
    }

    pub(crate) fn set_full(&self, is_full: bool) {
        self.lock().is_full = is_full;
    }

    /// Commits that were refused for want of room.
    pub(crate) fn refused(&self) -> u64 {
        self.lock().refused
    }

    /// A process begins: what was left to it by the last one is its own to make safe, from now on.
    pub(crate) fn process_begins(&self) {
        let mut rows = self.lock();
        (rows.began, rows.exposed) = (Some(now()), Duration::ZERO);
    }

    /// For how long a commit of this process was not safe, at most: a power cut in that time would have taken it.
    pub(crate) fn exposed(&self) -> Duration {
        let rows = self.lock();
        rows.exposed.max(rows.exposed_now())
    }

    /// The power fails: of the commits that were not safe the first ones may be on the disk all the same, as the kernel writes a log
    /// back, in half of all cuts none of them and in the others any number up to all; the rest is gone.
    pub(crate) fn cut_power(&self, dice: &Dice) -> Cut {
        let mut rows = self.lock();
        let mut written = std::mem::take(&mut rows.unsafe_yet);
        let most = if dice.percent(50) { 0 } else { written.len() as u64 };
        let kept = usize::try_from(dice.below(most + 1)).unwrap();
        let lost = written.split_off(kept);
        written.into_iter().try_for_each(|(_, batch)| rows.safe.commit(batch)).unwrap();
        rows.live = rows.safe.clone();
        let left = |batch: &WriteBatch| batch.deletes().filter(|(space, _)| *space == Keyspace::Queue).count();
        Cut {
            commits: lost.len() as u64,
            urls: lost.iter().map(|(_, batch)| left(batch) as u64).sum(),
            age: lost.first().map_or(Duration::ZERO, |(at, _)| at.elapsed()),
            ..Cut::default()
        }
    }

    /// URLs queued.
    pub(crate) fn queued(&self) -> u64 {
        self.lock().live.len(Keyspace::Queue) as u64
    }

    /// URLs ever taken in.
    pub(crate) fn seen(&self) -> u64 {
        let rows = self.lock().live.peek(Keyspace::Seen, &[], &[0xff; 9], usize::MAX).unwrap();
        rows.iter().map(|(_, prints)| prints.len() as u64 / 16).sum()
    }
}

impl Rows {
    fn exposed_now(&self) -> Duration {
        let oldest = self.unsafe_yet.first().map(|(at, _)| (*at).max(self.began.unwrap_or(*at)));
        oldest.map_or(Duration::ZERO, |oldest| oldest.elapsed())
    }
}

#[expect(clippy::disallowed_methods, reason = "the simulated disk stands outside of the crawl")]
fn now() -> Instant {
    Instant::now()
}

impl Store for SimStore {
    fn commit(&mut self, batch: WriteBatch) -> Result<(), StoreError> {
        let mut rows = self.lock();
        if rows.is_full {
            rows.refused += 1;
            return Err(StoreError::Full("the simulated disk".to_owned()));
        }
        rows.unsafe_yet.push((now(), batch.clone()));
        rows.live.commit(batch)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        let mut rows = self.lock();
        rows.exposed = rows.exposed.max(rows.exposed_now());
        let pending = std::mem::take(&mut rows.unsafe_yet);
        pending.into_iter().try_for_each(|(_, batch)| rows.safe.commit(batch))
    }

    fn get(&self, space: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.lock().live.get(space, key)
    }

    fn peek(&self, space: Keyspace, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Row>, StoreError> {
        self.lock().live.peek(space, from, until, limit)
    }
}

/// Files of the archive: real ones, on a disk of which only so many bytes are left, and that forgets at a power cut some of what
/// was not synced.
#[derive(Clone, Debug)]
pub(crate) struct SimFiles {
    room: Arc<AtomicU64>,
    refused: Arc<AtomicU64>,
    written: Arc<Mutex<BTreeMap<PathBuf, Written>>>,
    /// What the gate remembers is synced right after the archive.
    state: Arc<Mutex<SimState>>,
    observer: Observer,
}

/// A file that this process has written.
#[derive(Clone, Debug, Default)]
struct Written {
    len: u64,
    /// What of it is on the device for certain.
    safe: u64,
    /// Writes that are not, each with its end and its instant.
    unsafe_yet: Vec<(u64, Instant)>,
}

const PLENTY: u64 = u64::MAX;

impl SimFiles {
    pub(crate) fn new(dir: Option<&Path>, observer: Observer) -> Self {
        let (room, state) = (Arc::new(AtomicU64::new(PLENTY)), Arc::new(Mutex::new(SimState::of(dir))));
        Self { room, refused: Arc::default(), written: Arc::default(), state, observer }
    }

    /// What the gate has written is safe.
    pub(crate) fn state_synced(&self) {
        self.state.lock().unwrap().synced(self.observer.now_us());
    }

    /// The power fails: tells from when on the gate remembers nothing, if it does at all.
    pub(crate) fn cut_state(&self) -> Option<u64> {
        self.state.lock().unwrap().cut_power()
    }

    fn note(&self, path: &Path, change: impl FnOnce(&mut Written)) {
        change(self.written.lock().unwrap().entry(path.to_owned()).or_default());
    }

    /// The power fails: of each file any part of what was not synced is gone, from its end on; one that never was may be gone
    /// whole. Gives how many writes, and how old the oldest was.
    pub(crate) fn cut_power(&self, dice: &Dice) -> (u64, Duration) {
        let (mut writes, mut age) = (0, Duration::ZERO);
        for (path, Written { len: _, safe, unsafe_yet }) in std::mem::take(&mut *self.written.lock().unwrap()) {
            let Some((_, since)) = unsafe_yet.first().filter(|_| path.exists()) else { continue };
            let whole = usize::try_from(dice.below(unsafe_yet.len() as u64 + 1)).unwrap();
            let begins = unsafe_yet[..whole].last().map_or(safe, |(end, _)| *end);
            let next = unsafe_yet.get(whole).map_or(0, |(end, _)| end - begins);
            let kept = begins + next * dice.below(100) / 100;
            if kept == 0 && dice.percent(50) {
                std::fs::remove_file(&path).unwrap();
            } else {
                File::options().write(true).open(&path).unwrap().set_len(kept).unwrap();
            }
            if whole < unsafe_yet.len() {
                (writes, age) = (writes + (unsafe_yet.len() - whole) as u64, age.max(since.elapsed()));
            }
        }
        (writes, age)
    }

    /// The process ends: what it wrote is the machine's, which goes on.
    pub(crate) fn process_ended(&self) {
        self.written.lock().unwrap().clear();
    }

    /// Lets so many bytes more be written; `None` as many as are wanted.
    pub(crate) fn set_room(&self, bytes: Option<u64>) {
        self.room.store(bytes.unwrap_or(PLENTY), Ordering::Relaxed);
    }

    /// Writes that were refused for want of room, and that something would be lost by. What fits to the last byte is not among
    /// them, nor is the packing of a closed file: that is whole and synced as it was written, and stays so.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

impl Disk for SimFiles {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Backing>> {
        let is_copy = path.extension().is_some_and(|end| end == "tmp");
        let file = SimFile { file: File::create_new(path)?, path: path.to_owned(), is_copy, disk: self.clone() };
        self.note(path, |written| *written = Written::default());
        Ok(Box::new(file))
    }

    fn free(&self, folder: &Path) -> io::Result<Option<u64>> {
        RealDisk.free(folder)
    }
}

#[derive(Debug)]
struct SimFile {
    file: File,
    path: PathBuf,
    /// It is to take the place of a file that is whole, or to go.
    is_copy: bool,
    disk: SimFiles,
}

impl Write for SimFile {
    /// The write that meets the end is cut short.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.disk.room.load(Ordering::Relaxed);
        let fits = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        if fits == 0 && !bytes.is_empty() {
            self.disk.refused.fetch_add(u64::from(!self.is_copy), Ordering::Relaxed);
            return Err(io::ErrorKind::StorageFull.into());
        }
        let written = self.file.write(&bytes[..fits])?;
        if room != PLENTY {
            self.disk.room.store(room - written as u64, Ordering::Relaxed);
        }
        self.disk.note(&self.path, |file| {
            file.len += written as u64;
            file.unsafe_yet.push((file.len, now()));
        });
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Backing for SimFile {
    fn cut(&mut self, len: u64) -> io::Result<()> {
        Backing::cut(&mut self.file, len)?;
        self.disk.note(&self.path, |file| {
            (file.len, file.safe) = (len, file.safe.min(len));
            file.unsafe_yet.retain(|(end, _)| *end <= len);
        });
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Backing::sync(&self.file)?;
        self.disk.state_synced();
        self.disk.note(&self.path, |file| (file.safe, file.unsafe_yet) = (file.len, Vec::new()));
        Ok(())
    }
}
