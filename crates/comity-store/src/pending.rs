//! What is on its way to the disk.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::{is_log, missing_is_fine, parent};

/// Files that are synced at once: a file system commits those that wait for it together.
const AT_ONCE: usize = 16;

/// Bytes that are written again at a time.
const BLOCK: usize = 256 << 10;

/// Files and folders that are written and will be safe against a power cut in a moment: a thread is at it. Nothing that rests on them
/// may be called safe before [`Self::finish`] has returned. When this goes, it is waited for.
#[derive(Debug, Default)]
pub struct Pending {
    work: Work,
    stage: Mutex<Stage>,
}

/// What is to be made safe.
#[derive(Clone, Debug, Default)]
struct Work {
    /// For as long as this file stands, the others are not safe.
    mark: Option<PathBuf>,
    paths: Vec<PathBuf>,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Safe,
    UnderWay(JoinHandle<io::Result<()>>),
    /// It was told that it is not safe. Whoever asks next has it tried again.
    Failed,
}

/// What is known of the bytes of a file that is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bytes {
    /// They are on their way.
    Written,
    /// The kernel may have tried before and given up, which it tells only once: they are written again.
    Doubtful,
}

impl Pending {
    /// Begins to make these files and folders safe. One that is gone by then is no fault.
    #[must_use]
    pub fn of(paths: Vec<PathBuf>) -> Self {
        Self::begun(Work { mark: None, paths }, Bytes::Written)
    }

    /// As [`Self::of`]; what stands beside `mark` is not safe for as long as that stands.
    pub(crate) fn marked(mark: PathBuf, paths: Vec<PathBuf>, bytes: Bytes) -> Self {
        Self::begun(Work { mark: Some(mark), paths }, bytes)
    }

    fn begun(work: Work, bytes: Bytes) -> Self {
        let its = work.clone();
        let thread = std::thread::Builder::new().name("comity-safe".to_owned()).spawn(move || its.make_safe(bytes));
        // Without a thread whoever waits for it does it.
        Self { work, stage: Mutex::new(thread.map_or(Stage::Failed, Stage::UnderWay)) }
    }

    /// Waits until all of it is safe. After a failure it is tried again each time: a disk may have room later.
    ///
    /// # Errors
    /// When it could not be written: then it is not safe, and whoever starts after the next power cut makes it anew.
    pub fn finish(&self) -> io::Result<()> {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let done = match std::mem::take(&mut *stage) {
            Stage::Safe => Ok(()),
            Stage::UnderWay(thread) => thread.join().unwrap_or_else(|_| Err(ErrorKind::Other.into())),
            Stage::Failed => self.work.make_safe(Bytes::Doubtful),
        };
        if done.is_err() {
            *stage = Stage::Failed;
        }
        done
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        drop(self.finish());
    }
}

impl Work {
    fn make_safe(&self, bytes: Bytes) -> io::Result<()> {
        match &self.mark {
            Some(mark) => safe(mark, &self.paths, bytes),
            None => sync_all(&self.paths, bytes),
        }
    }
}

/// Makes them safe, and takes the mark away that says that they are not. The mark is safe before any of them may be.
pub(crate) fn safe(mark: &Path, paths: &[PathBuf], bytes: Bytes) -> io::Result<()> {
    let folder = parent(mark);
    sync_all(&[mark.to_owned(), folder.clone()], bytes)?;
    sync_all(paths, bytes)?;
    missing_is_fine(std::fs::remove_file(mark))?;
    sync(&folder, Bytes::Written)
}

fn sync_all(paths: &[PathBuf], bytes: Bytes) -> io::Result<()> {
    for some in paths.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            let waiting = some.iter().map(|path| scope.spawn(move || sync(path, bytes))).collect::<Vec<_>>();
            waiting.into_iter().try_for_each(|one| one.join().unwrap_or_else(|_| Err(ErrorKind::Other.into())))
        })?;
    }
    Ok(())
}

/// Only Unix opens folders, and only Unix syncs a file that was opened to be read. What the engine replaced meanwhile it synced itself.
fn sync(path: &Path, bytes: Bytes) -> io::Result<()> {
    missing_is_fine(if bytes == Bytes::Doubtful && path.is_file() && !is_log(path) {
        write_again(path)
    } else if cfg!(unix) {
        match File::open(path) {
            // The folder above may be one that we may not read: then its owner answers for it.
            Err(error) if error.kind() == ErrorKind::PermissionDenied && path.is_dir() => Ok(()),
            opened => opened.and_then(|file| file.sync_all()),
        }
    } else if path.is_file() {
        File::options().write(true).open(path).and_then(|file| file.sync_all())
    } else {
        Ok(())
    })
}

/// Writes a file as it is read, block by block: a table may be large, and several are written at once. The engine's files are never
/// changed, but for its logs, which it appends to and syncs itself, and which are written again before it has them.
pub(crate) fn write_again(path: &Path) -> io::Result<()> {
    let mut file = File::options().read(true).write(true).open(path)?;
    let (mut block, mut at) = (vec![0; BLOCK], 0);
    loop {
        file.seek(SeekFrom::Start(at))?;
        let count = match file.read(&mut block) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        let Some(bytes) = block.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)?;
        at += count as u64;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_again_is_what_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1.sst");
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            write_again(&path).unwrap();
            assert!(std::fs::read(&path).unwrap() == bytes, "{length} bytes");
        }
    }
}
