//! A new store. The engine makes one in many steps and syncs each of them, 80 in all, which takes a busy disk a second. So it does that
//! in memory, and the files, a few kilobytes, are put on the disk from there and made safe together.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A folder with this file in it is a store to the engine: it comes last.
const WHOLE: &str = "version";
/// The same file before: what stands beside it is half made, and holds nothing.
const MAKING: &str = "version.making";
/// Locked by the engine while it has the store open, and here while the store is made.
const LOCK: &str = "lock";
/// The engine's first log. Nothing stands in it yet but room for 64 MiB.
const LOG: &str = "0.jnl";
/// The engine's folder of tables.
const TABLES: &str = "keyspaces";
/// Where files lie in memory, on Linux.
const MEMORY: &str = "/dev/shm";
/// How the folder begins in which the engine makes the store.
const DRAFT: &str = "comity-draft-";
/// Files that are synced at once: a file system commits those that wait for it together.
const AT_ONCE: usize = 64;

/// Makes a store in the folder `path`, unless one is there: `draft` has the engine make an empty one in the folder it is
/// given. What a kill left of an earlier try is removed. A folder that holds anything else is left to the engine.
///
/// When this returns, the store is safe against a power cut. A kill at any line leaves no store or a whole one.
///
/// # Errors
/// When another process makes it, or it cannot be written.
pub(super) fn make(path: &Path, draft: impl Fn(&Path) -> Result<(), fjall::Error>) -> Result<(), fjall::Error> {
    if !is_to_be_made(path)? {
        return Ok(());
    }
    let _lock = lock(path)?;
    // Somebody may have made it until now.
    if !is_to_be_made(path)? {
        return Ok(());
    }
    clear(path)?;
    File::create(path.join(MAKING))?;
    let made = drafted(Path::new(MEMORY), &draft).or_else(|_| drafted(path, &draft))?;
    let mut written = vec![path.to_owned(), parent(path)];
    copy(&made.path().join(TABLES), &path.join(TABLES), &mut written)?;
    File::create(path.join(LOG))?;
    std::fs::copy(made.path().join(WHOLE), path.join(MAKING))?;
    made.close()?;
    written.extend([path.join(LOG), path.join(MAKING)]);
    sync_all(&written)?;
    std::fs::rename(path.join(MAKING), path.join(WHOLE))?;
    sync(path)?;
    Ok(())
}

/// True of a folder without a store, and of one in which making it was begun.
fn is_to_be_made(path: &Path) -> io::Result<bool> {
    if path.join(MAKING).try_exists()? {
        return Ok(true);
    }
    for name in [WHOLE, LOG, TABLES] {
        if path.join(name).try_exists()? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn lock(path: &Path) -> Result<File, fjall::Error> {
    let file = File::options().create(true).truncate(false).write(true).open(path.join(LOCK))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(fjall::Error::Locked),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Takes away what a kill left of a store that was never whole.
fn clear(path: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == TABLES || name.to_string_lossy().starts_with(DRAFT) {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    // Last the file that says so.
    for name in [LOG, MAKING] {
        match std::fs::remove_file(path.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The store as the engine makes it, in a folder in `place`: in memory, where a kill leaves it until the machine stops, or else
/// inside the store, where the engine's syncs take their time.
fn drafted(place: &Path, draft: impl Fn(&Path) -> Result<(), fjall::Error>) -> Result<tempfile::TempDir, fjall::Error> {
    let made = tempfile::Builder::new().prefix(DRAFT).tempdir_in(place)?;
    draft(made.path())?;
    Ok(made)
}

/// Copies a folder, and adds to `written` what is to be synced.
fn copy(from: &Path, to: &Path, written: &mut Vec<PathBuf>) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &place, written)?;
        } else {
            std::fs::copy(entry.path(), &place)?;
            written.push(place);
        }
    }
    written.push(to.to_owned());
    Ok(())
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

/// Only Unix opens folders, and only Unix syncs a file that was opened to be read.
fn sync(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(path)?.sync_all()
    } else if path.is_file() {
        File::options().write(true).open(path)?.sync_all()
    } else {
        Ok(())
    }
}

fn parent(path: &Path) -> PathBuf {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new(".")).to_owned()
}

#[cfg(test)]
mod tests;
