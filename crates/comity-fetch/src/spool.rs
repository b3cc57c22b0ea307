use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use comity_policy::{ContentPermit, Reason, Spool, StoredBody};

use crate::fault::Fault;

/// Keeps bodies while they arrive: in memory up to a bound each, then in files without a name that the system removes
/// when they are closed, also after a kill. The files together have a bound too.
#[derive(Debug)]
pub(crate) struct Spooler {
    folder: PathBuf,
    in_memory: usize,
    most: u64,
    used: Arc<AtomicU64>,
}

/// What a site claims is believed up to here (our choice: most pages are smaller, and 32 lies cost 8 MiB).
const MOST_EXPECTED: usize = 256 << 10;

/// A shorter piece is copied out of the buffer that it was read into, which may be 128 KiB (our choice: a copy of so little
/// costs less than the memory that it gives back).
const LEAST_KEPT: usize = 8 << 10;

/// A body under way.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    spooler: &'a Spooler,
    /// What is not yet in the file.
    memory: Memory,
    /// How long the whole is said to become, within bounds; 0 when nothing is said.
    expected: usize,
    file: Option<SpoolFile>,
}

#[derive(Debug)]
enum Memory {
    /// The only piece so far, as it was read: not copied.
    Piece(Bytes),
    Grown(Vec<u8>),
}

#[derive(Debug)]
struct SpoolFile {
    file: File,
    length: u64,
    room: Room,
}

/// A part of the bound on all files; given back when dropped.
#[derive(Debug)]
struct Room {
    used: Arc<AtomicU64>,
    taken: u64,
}

impl Spooler {
    /// Files go to `folder`, `most` bytes of them at once.
    pub(crate) fn new(folder: Option<&Path>, in_memory: usize, most: u64) -> Self {
        let folder = folder.map_or_else(std::env::temp_dir, Path::to_path_buf);
        Self { folder, in_memory, most, used: Arc::default() }
    }

    pub(crate) fn draft(&self) -> Draft<'_> {
        Draft { spooler: self, memory: Memory::Piece(Bytes::new()), expected: 0, file: None }
    }

    /// Bytes in files now.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

impl Draft<'_> {
    /// Prepares for a body of `bytes`, if that is what comes: then it is not moved about while it grows.
    pub(crate) fn expect(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.expected = bytes.min(self.spooler.in_memory).min(MOST_EXPECTED);
    }

    /// Takes the next piece. The first is kept as it is if it may be the whole body; later ones are joined.
    pub(crate) fn push(&mut self, piece: Bytes) {
        let all = piece.len().saturating_add(self.memory.as_ref().len()).max(self.expected);
        match &mut self.memory {
            Memory::Piece(only) if only.is_empty() && piece.len() >= self.expected => *only = piece,
            Memory::Piece(only) => {
                let mut grown = Vec::with_capacity(all);
                grown.extend_from_slice(only);
                grown.extend_from_slice(&piece);
                self.memory = Memory::Grown(grown);
            }
            Memory::Grown(grown) => grown.extend_from_slice(&piece),
        }
    }

    /// True when what is in memory has to go to the file before more comes.
    pub(crate) fn is_full(&self) -> bool {
        self.memory.as_ref().len() >= self.spooler.in_memory
    }

    /// Moves what is in memory into the file, off the runtime's own threads. A file is kept: it takes a permit. After a failure the body is what it was.
    ///
    /// Dropped while it runs, the file goes when the write has ended.
    ///
    /// # Errors
    /// `fetch.spool` when the files would be too large together, or the disk fails.
    pub(crate) async fn flush(&mut self, permit: &ContentPermit) -> Result<(), Fault> {
        let _ = permit;
        let room = Room::take(self.spooler, self.memory.as_ref().len() as u64)?;
        let mut memory = std::mem::take(&mut self.memory);
        let mut file = self.file.take();
        let folder = self.spooler.folder.clone();
        let write = tokio::task::spawn_blocking(move || {
            let written = append(&mut file, room, &folder, memory.as_ref());
            if written.is_ok() {
                memory.clear();
            }
            (file, memory, written.map_err(|error| lost(format!("{}: {error}", folder.display()))))
        });
        let (file, memory, written) = write.await.map_err(|stopped| lost(format!("a write was stopped: {stopped}")))?;
        (self.file, self.memory) = (file, memory);
        written
    }

    /// Moves the rest of a body that has a file into it.
    ///
    /// # Errors
    /// As [`Draft::flush`].
    pub(crate) async fn settle(&mut self, permit: &ContentPermit) -> Result<(), Fault> {
        if self.file.is_some() && !self.memory.as_ref().is_empty() { self.flush(permit).await } else { Ok(()) }
    }

    /// The body, once settled; what could not be moved to its file is left out. Without a permit there is none.
    pub(crate) fn finish(self, permit: ContentPermit) -> Spool {
        drop(permit);
        // The capture may live long after this: no spare room goes with it.
        match (self.file, self.memory) {
            (Some(file), _) => Spool::stored(Arc::new(file)),
            (None, Memory::Piece(only)) if only.len() < LEAST_KEPT => Spool::in_memory(Bytes::copy_from_slice(&only)),
            (None, Memory::Piece(only)) => Spool::in_memory(only),
            (None, Memory::Grown(mut grown)) => {
                grown.shrink_to_fit();
                Spool::in_memory(Bytes::from(grown))
            }
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::Grown(Vec::new())
    }
}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Piece(only) => only,
            Self::Grown(grown) => grown,
        }
    }
}

impl Memory {
    /// Empties it; room that it has stays.
    fn clear(&mut self) {
        match self {
            Self::Piece(_) => *self = Self::default(),
            Self::Grown(grown) => grown.clear(),
        }
    }
}

fn append(file: &mut Option<SpoolFile>, room: Room, folder: &Path, bytes: &[u8]) -> io::Result<()> {
    if file.is_none() {
        let room = Room { used: Arc::clone(&room.used), taken: 0 };
        *file = Some(SpoolFile { file: tempfile::tempfile_in(folder)?, length: 0, room });
    }
    let Some(file) = file else { return Ok(()) };
    // Half a piece that was written before the disk failed lies beyond the length, and is overwritten or left.
    file.file.seek(SeekFrom::Start(file.length))?;
    file.file.write_all(bytes)?;
    file.length += bytes.len() as u64;
    file.room.join(room);
    Ok(())
}

fn lost(what: String) -> Fault {
    Fault::new(Reason::FetchSpool, what)
}

impl Room {
    fn take(spooler: &Spooler, bytes: u64) -> Result<Self, Fault> {
        let room = Self { used: Arc::clone(&spooler.used), taken: bytes };
        let before = spooler.used.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > spooler.most {
            return Err(lost(format!("bodies on disk would be larger than {} bytes together", spooler.most)));
        }
        Ok(room)
    }

    fn join(&mut self, mut other: Self) {
        self.taken += std::mem::take(&mut other.taken);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.used.fetch_sub(self.taken, Ordering::Relaxed);
    }
}

impl StoredBody for SpoolFile {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX).min(buffer.len());
        let buffer = buffer.get_mut(..rest).unwrap_or_default();
        read_at(&self.file, buffer, offset)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[expect(clippy::disallowed_methods, reason = "the test plays the judge")]
    async fn fill(spooler: &Spooler, pieces: usize) -> Result<Spool, Fault> {
        let mut draft = spooler.draft();
        for n in 0..pieces {
            draft.push(Bytes::copy_from_slice(&[u8::try_from(n % 251).unwrap(); 10]));
            if draft.is_full() {
                draft.flush(&ContentPermit::unjudged()).await?;
            }
        }
        draft.settle(&ContentPermit::unjudged()).await?;
        Ok(draft.finish(ContentPermit::unjudged()))
    }

    fn bytes(spool: &Spool) -> Vec<u8> {
        let mut bytes = Vec::new();
        spool.reader().unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[tokio::test]
    async fn bodies_are_the_same_in_memory_and_on_disk_and_files_go() {
        let folder = tempfile::tempdir().unwrap();
        let spooler = Spooler::new(Some(folder.path()), 100, 10_000);
        for (pieces, on_disk) in [(0, 0), (9, 0), (10, 100), (11, 110), (57, 570)] {
            let spool = fill(&spooler, pieces).await.unwrap();
            let expected: Vec<u8> = (0..pieces).flat_map(|n| [u8::try_from(n).unwrap(); 10]).collect();
            assert_eq!((bytes(&spool), bytes(&spool.clone())), (expected.clone(), expected), "{pieces}");
            assert_eq!((spool.len(), spooler.used()), (pieces as u64 * 10, on_disk), "{pieces}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
            drop(spool);
            assert_eq!(spooler.used(), 0);
        }
    }

    #[tokio::test]
    async fn the_bound_on_all_files_has_a_name_and_room_comes_back() {
        let spooler = Spooler::new(None, 100, 1000);
        let first = fill(&spooler, 60).await.unwrap();
        let fault = fill(&spooler, 60).await.unwrap_err();
        assert_eq!(fault.reason, Reason::FetchSpool);
        assert_eq!(spooler.used(), 600, "what failed gave its room back");
        drop(first);
        assert!(fill(&spooler, 60).await.is_ok());
    }

    #[tokio::test]
    async fn a_folder_that_is_not_there_is_named() {
        let spooler = Spooler::new(Some(Path::new("/nowhere/at/all")), 100, 1000);
        let fault = fill(&spooler, 60).await.unwrap_err();
        assert!(fault.detail.starts_with("/nowhere/at/all: "), "{}", fault.detail);
        assert_eq!((fault.reason, spooler.used()), (Reason::FetchSpool, 0));
    }
}
