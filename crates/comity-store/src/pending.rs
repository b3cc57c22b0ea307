//! What is on its way to the disk.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::{missing_is_fine, parent};

/// Files that are synced at once: a file system commits those that wait for it together.
const AT_ONCE: usize = 16;

/// Files and folders that are written and will be safe against a power cut in a moment: a thread is at it. Nothing that rests on them
/// may be called safe before [`Self::finish`] has returned. When this goes, it is waited for.
#[derive(Debug, Default)]
pub struct Pending(Mutex<Stage>);

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Safe,
    UnderWay(JoinHandle<io::Result<()>>),
    /// For good: what the kernel could not write once it says only once.
    Failed(ErrorKind, String),
}

impl Pending {
    /// Begins to make these files and folders safe. One that is gone by then is no fault.
    #[must_use]
    pub fn of(paths: Vec<PathBuf>) -> Self {
        Self::begun(move || sync_all(&paths))
    }

    /// As [`Self::of`]; what stands beside `mark` is not safe for as long as that stands.
    pub(crate) fn marked(mark: PathBuf, paths: Vec<PathBuf>) -> Self {
        Self::begun(move || safe(&mark, &paths))
    }

    fn begun(work: impl FnOnce() -> io::Result<()> + Clone + Send + 'static) -> Self {
        let here = work.clone();
        let stage = match std::thread::Builder::new().name("comity-safe".to_owned()).spawn(work) {
            Ok(thread) => Stage::UnderWay(thread),
            Err(_) => Stage::after(here()),
        };
        Self(Mutex::new(stage))
    }

    /// Waits until all of it is safe.
    ///
    /// # Errors
    /// When it could not be written: then it is not safe, and never will be by this process.
    pub fn finish(&self) -> io::Result<()> {
        let mut stage = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *stage = match std::mem::take(&mut *stage) {
            Stage::UnderWay(thread) => Stage::after(thread.join().unwrap_or_else(|_| Err(ErrorKind::Other.into()))),
            over => over,
        };
        match &*stage {
            Stage::Failed(kind, what) => Err(io::Error::new(*kind, what.clone())),
            Stage::Safe | Stage::UnderWay(_) => Ok(()),
        }
    }
}

impl Stage {
    fn after(done: io::Result<()>) -> Self {
        done.map_or_else(|error| Self::Failed(error.kind(), error.to_string()), |()| Self::Safe)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        drop(self.finish());
    }
}

/// Makes them safe, and takes the mark away that says that they are not. The mark is safe before any of them may be.
pub(crate) fn safe(mark: &Path, paths: &[PathBuf]) -> io::Result<()> {
    let folder = parent(mark);
    sync_all(&[mark.to_owned(), folder.clone()])?;
    sync_all(paths)?;
    missing_is_fine(std::fs::remove_file(mark))?;
    sync(&folder)
}

fn sync_all(paths: &[PathBuf]) -> io::Result<()> {
    for some in paths.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            let waiting = some.iter().map(|path| scope.spawn(|| sync(path))).collect::<Vec<_>>();
            waiting.into_iter().try_for_each(|one| one.join().unwrap_or_else(|_| Err(ErrorKind::Other.into())))
        })?;
    }
    Ok(())
}

/// Only Unix opens folders, and only Unix syncs a file that was opened to be read. What the engine replaced meanwhile it synced itself.
fn sync(path: &Path) -> io::Result<()> {
    missing_is_fine(if cfg!(unix) {
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
