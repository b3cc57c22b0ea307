//! The engine's log, read before the engine reads it: whether it is whole, and where it ends.
//!
//! The engine takes the first damaged place for the end of a log and cuts off what follows, silently; in a log that is not the
//! last one the rest goes on behind the gap. So the log is walked first, and what a torn end does not explain is found
//! before anything is changed. The form is that of fjall 3: batches of a start (1, count, number), items (2, kind,
//! compression, table, lengths, key, value) and an end (3, checksum over the items, four bytes), numbers little-endian.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Result as IoResult, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::COMMIT;

/// What the logs of a store hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Log {
    /// Number of the last commit in it.
    pub(super) last_commit: Option<u64>,
    /// The engine's number of the last batch.
    pub(super) last_batch: Option<u64>,
    /// The last file goes on behind its last whole commit: torn by a kill or a power cut, or damaged.
    pub(super) torn: Option<Place>,
    /// What neither can explain.
    pub(super) damage: Option<(Place, Damage)>,
}

/// What a torn end does not explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// A log that was closed goes on behind its last whole commit.
    NotWhole,
    /// A batch has a number that does not follow the one before.
    Order,
    /// A commit does not follow the one before.
    Gap,
}

impl Damage {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::NotWhole => "a log that was closed is not whole",
            Self::Order => "a batch of the log has a number out of its order",
            Self::Gap => "commits are missing in the middle of the log",
        }
    }
}

/// A place in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: PathBuf,
    pub(super) at: u64,
}

/// A whole batch.
#[derive(Debug)]
struct Batch {
    number: u64,
    /// The number of the commit that it is; batches of format 2 have none.
    commit: Option<u64>,
}

/// Why there is no further batch.
enum Stop {
    /// Nothing but zeros follows.
    End,
    /// Something that is no whole batch.
    Torn,
}

/// The engine draws numbers for its own ends too, but never this many between two commits.
const MOST_BETWEEN: u64 = 1 << 24;
/// What stands behind a batch's checksum.
const TRAILER: [u8; 4] = *b"FJL\x03";

/// Walks the logs in `path`. Gaps before commit `accepted` are known. Costs one reading of them, at most some hundred MiB; memory: the largest value.
///
/// # Errors
/// When they cannot be read.
pub(super) fn walk(path: &Path, accepted: u64) -> IoResult<Log> {
    let mut log = Log::default();
    let mut files = files(path)?.into_iter().peekable();
    while let Some(file) = files.next() {
        let open = File::open(&file)?;
        let length = open.metadata()?.len();
        let reader = Reader::new(BufReader::with_capacity(64 << 10, open), length);
        log.read_in(file, reader, accepted, files.peek().is_none())?;
        if log.damage.is_some() {
            break;
        }
    }
    Ok(log)
}

impl Log {
    /// Reads the next file of it.
    fn read_in<R: Read + Seek>(
        &mut self,
        file: PathBuf,
        mut reader: Reader<R>,
        accepted: u64,
        is_last: bool,
    ) -> IoResult<()> {
        let stop = loop {
            let batch = match reader.batch()? {
                Ok(batch) => batch,
                Err(stop) => break stop,
            };
            let is_known = batch.commit.is_some_and(|commit| commit <= accepted);
            if let Some(what) = self.follows(&batch).filter(|_| !is_known) {
                self.damage = Some((Place { file, at: reader.whole }, what));
                return Ok(());
            }
            (self.last_batch, self.last_commit) = (Some(batch.number), batch.commit.or(self.last_commit));
            reader.whole = reader.at;
        };
        let place = Place { file, at: reader.whole };
        match stop {
            Stop::End => {}
            Stop::Torn if is_last => self.torn = Some(place),
            Stop::Torn => self.damage = Some((place, Damage::NotWhole)),
        }
        Ok(())
    }

    /// What is wrong with `batch` as the next one.
    fn follows(&self, batch: &Batch) -> Option<Damage> {
        if self.last_batch.is_some_and(|last| !(1..=MOST_BETWEEN).contains(&batch.number.wrapping_sub(last))) {
            return Some(Damage::Order);
        }
        let (last, next) = (self.last_commit?, batch.commit);
        (next != last.checked_add(1)).then_some(Damage::Gap)
    }
}

/// Cuts off what would keep the engine from reading on, once a loss is accepted; what is behind a gap stays.
///
/// # Errors
/// When a log cannot be read or cut.
pub(super) fn cut(path: &Path, accepted: u64) -> IoResult<()> {
    loop {
        let log = walk(path, accepted)?;
        let place = match log.damage {
            Some((_, Damage::Gap)) | None => log.torn,
            Some((place, Damage::NotWhole | Damage::Order)) => Some(place),
        };
        let Some(Place { file, at }) = place else { return Ok(()) };
        let file = std::fs::OpenOptions::new().write(true).open(file)?;
        file.set_len(at)?;
        file.sync_all()?;
    }
}

/// The torn end of a log as it was, until it is known that nothing that was safe was lost with it. Memory: at most a log.
pub(super) struct Saved {
    place: Place,
    length: u64,
    bytes: Vec<u8>,
}

impl Saved {
    /// # Errors
    /// When it cannot be read.
    pub(super) fn new(place: &Place) -> IoResult<Self> {
        let mut file = File::open(&place.file)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(place.at))?;
        let mut bytes = Vec::new();
        file.take(length.saturating_sub(place.at)).read_to_end(&mut bytes)?;
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        bytes.truncate(end);
        bytes.shrink_to_fit();
        Ok(Self { place: place.clone(), length, bytes })
    }

    /// Puts it back, the engine being closed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn put_back(&self) -> IoResult<()> {
        let mut file = std::fs::OpenOptions::new().write(true).open(&self.place.file)?;
        file.seek(SeekFrom::Start(self.place.at))?;
        file.write_all(&self.bytes)?;
        file.set_len(self.length)?;
        file.sync_all()
    }
}

/// The logs, the oldest first.
fn files(path: &Path) -> IoResult<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let file = entry?.path();
        let number = file.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse::<u64>().ok());
        if let Some(number) = number.filter(|_| file.extension().is_some_and(|end| end == "jnl")) {
            files.push((number, file));
        }
    }
    files.sort();
    Ok(files.into_iter().map(|(_, file)| file).collect())
}

struct Reader<R> {
    input: R,
    length: u64,
    /// Where the next byte is read.
    at: u64,
    /// Where the last whole batch ends.
    whole: u64,
    /// The item under way.
    item: Vec<u8>,
}

impl<R: Read + Seek> Reader<R> {
    const fn new(input: R, length: u64) -> Self {
        Self { input, length, at: 0, whole: 0, item: Vec::new() }
    }

    /// The next batch, or why there is none.
    fn batch(&mut self) -> IoResult<Result<Batch, Stop>> {
        match self.try_batch() {
            Ok(Some(batch)) => Ok(Ok(batch)),
            Ok(None) => self.rest().map(Err),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => self.rest().map(Err),
            Err(error) => Err(error),
        }
    }

    /// A whole batch; `None` when what stands here is none.
    fn try_batch(&mut self) -> IoResult<Option<Batch>> {
        let [tag] = self.array()?;
        if tag != 1 {
            return Ok(None);
        }
        let count = u32::from_le_bytes(self.array()?);
        let mut batch = Batch { number: u64::from_le_bytes(self.array()?), commit: None };
        let mut sum = Xxh3::new();
        for _ in 0..count {
            if !self.item(&mut batch, &mut sum)? {
                return Ok(None);
            }
        }
        let ([tag], stated, trailer) = (self.array()?, self.array()?, self.array::<4>()?);
        let is_whole = tag == 3 && u64::from_le_bytes(stated) == sum.digest() && trailer == TRAILER;
        Ok(is_whole.then_some(batch))
    }

    /// Reads an item; false when what stands here is none.
    fn item(&mut self, batch: &mut Batch, sum: &mut Xxh3) -> IoResult<bool> {
        let head: [u8; 21] = self.array()?;
        let [2, _, _, _, _, _, _, _, _, _, _, key_low, key_high, _, _, _, _, a, b, c, d] = head else {
            return Ok(false);
        };
        let key = usize::from(u16::from_le_bytes([key_low, key_high]));
        let value = u64::from(u32::from_le_bytes([a, b, c, d]));
        let bytes = key as u64 + value;
        if bytes > self.length.saturating_sub(self.at) {
            return Ok(false);
        }
        self.item.clear();
        let read = self.input.by_ref().take(bytes).read_to_end(&mut self.item)? as u64;
        self.at += read;
        if read < bytes {
            return Ok(false);
        }
        sum.update(&head);
        sum.update(&self.item);
        if let Some((COMMIT, value)) = self.item.split_at_checked(key) {
            batch.commit = value.try_into().ok().map(u64::from_be_bytes);
        }
        Ok(true)
    }

    fn array<const N: usize>(&mut self) -> IoResult<[u8; N]> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        self.at += N as u64;
        Ok(bytes)
    }

    /// Whether anything but zeros stands behind the last whole batch: a log is longer than what was written to it.
    fn rest(&mut self) -> IoResult<Stop> {
        self.input.seek(SeekFrom::Start(self.whole))?;
        let mut bytes = [0; 16 << 10];
        loop {
            match self.input.read(&mut bytes)? {
                0 => return Ok(Stop::End),
                read if bytes.iter().take(read).all(|byte| *byte == 0) => {}
                _ => return Ok(Stop::Torn),
            }
        }
    }
}

#[cfg(test)]
mod tests;
