//! How a store of the engine fjall begins.
//!
//! The engine makes a store in many steps and syncs each of them, 80 to 150 in all, which takes a busy disk a second. So it does that in
//! memory ([`make`]), and the files, a few kilobytes, are put on the disk from there. They are made safe against a power cut
//! together, while their owner goes on already ([`Pending`]).
//!
//! | file in the store's folder | means |
//! |---|---|
//! | `version` | to the engine: a store |
//! | `version.making` | it is being made: what stands beside it was never whole, and holds nothing |
//! | `version.unsafe` | whole, and not safe yet: after a power cut anything may be missing. It names the boot of the machine in which it was made |
//!
//! The files' names and what is in them are our choice; `docs/decisions/0071-what-is-safe-before-the-first-request.md` says why.

mod draft;
mod held;
mod mark;
mod pending;
pub mod swap;

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::draft::Draft;
pub use crate::held::Hold;
use crate::mark::Mark;
use crate::pending::Bytes;
pub use crate::pending::Pending;

/// A folder with this file in it is a store to the engine.
const WHOLE: &str = "version";
/// What stands beside this file is half made, and holds nothing.
const MAKING: &str = "version.making";
/// What stands beside this file is whole, and was not safe against a power cut when it was written.
const UNSAFE: &str = "version.unsafe";
/// Locked by the engine while it has the store open, and here while the store is made.
const LOCK: &str = "lock";
/// Locked by the owner of a store before the engine is: never taken away.
const HELD: &str = "held";
/// The engine's first log. Nothing stands in it yet but room for 64 MiB.
const LOG: &str = "0.jnl";
/// What the owner of a store says of its last sync.
const OWNERS: &str = "synced";
/// The engine's folder of tables.
const TABLES: &str = "keyspaces";
/// Where files lie in memory, on Linux.
const MEMORY: &str = "/dev/shm";
/// The kernel's name of its own run, on Linux.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Makes a store in the folder `path`, unless one is there: `draft` has the engine make an empty one in the folder it is
/// given. What a kill left of an earlier try is removed, in memory too, and so is a store that was made before the machine
/// went down and was not safe by then: nothing in it was promised. A folder that holds anything else is left to the engine.
///
/// The store is whole when this returns: a kill at any line leaves none or a whole one. Against a power cut it is safe when
/// [`Pending::finish`] has returned. Where a boot of the machine has no name that can be read (other systems than Linux), that is
/// waited for here.
///
/// # Errors
/// When another process makes it, or it cannot be written.
pub fn make(path: &Path, draft: impl Fn(&Path) -> Result<(), fjall::Error>) -> Result<Pending, fjall::Error> {
    make_on(path, boot().as_deref(), draft)
}

/// The name of this run of the kernel; `None` where it has none.
fn boot() -> Option<String> {
    std::fs::read_to_string(BOOT).ok().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

fn make_on(
    path: &Path,
    boot: Option<&str>,
    draft: impl Fn(&Path) -> Result<(), fjall::Error>,
) -> Result<Pending, fjall::Error> {
    if let Some(pending) = found(path, boot)? {
        return Ok(pending);
    }
    let _lock = lock(path)?;
    // Somebody may have made it until now.
    if let Some(pending) = found(path, boot)? {
        return Ok(pending);
    }
    if !path.join(MAKING).try_exists()? && !path.join(UNSAFE).try_exists()? && is_foreign(path)? {
        return Ok(Pending::default());
    }
    clear(path)?;
    let made = drafted(Path::new(MEMORY), (path, boot), &draft).or_else(|_| drafted(path, (path, boot), &draft))?;
    let mut written = vec![parent(path)];
    copy(&made.path().join(TABLES), &path.join(TABLES), &mut written)?;
    File::create(path.join(LOG))?;
    std::fs::copy(made.path().join(WHOLE), path.join(WHOLE))?;
    drop(made);
    written.extend([path.join(LOG), path.join(WHOLE)]);
    if boot.is_none() {
        pending::safe(&path.join(MAKING), &written, Bytes::Written)?;
        return Ok(Pending::default());
    }
    std::fs::rename(path.join(MAKING), path.join(UNSAFE))?;
    Ok(Pending::marked(path.join(UNSAFE), written, Bytes::Written))
}

/// What is still to be made safe of the store in the folder; `None` where one is to be made: in an empty folder, in one in which
/// making it was begun, and in one whose store was not safe when the machine went down.
fn found(path: &Path, boot: Option<&str>) -> io::Result<Option<Pending>> {
    if path.join(MAKING).try_exists()? {
        return Ok(None);
    }
    if let Some(mark) = Mark::read(&path.join(UNSAFE))? {
        if boot.is_none() || mark.boot.as_deref() != boot {
            return Ok(None);
        }
        // A kill came before it was safe: the kernel has all of it. Or the disk failed.
        write_logs_again(path)?;
        let mut all = vec![parent(path)];
        all_under(path, &mut all)?;
        return Ok(Some(Pending::marked(path.join(UNSAFE), all, Bytes::Doubtful)));
    }
    for name in [WHOLE, LOG, TABLES] {
        if path.join(name).try_exists()? {
            return Ok(Some(Pending::default()));
        }
    }
    Ok(None)
}

/// Writes the logs of a store that nobody has open as they are: a disk that failed told the process that had them, and it tells only once.
/// The engine appends to them and would take its next sync for all of them.
fn write_logs_again(path: &Path) -> io::Result<()> {
    let _lock = match lock(path) {
        Ok(lock) => lock,
        // Whoever has it open wrote them, and was told.
        Err(fjall::Error::Locked) => return Ok(()),
        Err(fjall::Error::Io(error)) => return Err(error),
        Err(error) => return Err(io::Error::other(error)),
    };
    for entry in std::fs::read_dir(path)? {
        let log = entry?.path();
        if is_log(&log) && log.is_file() {
            missing_is_fine(pending::write_again(&log))?;
        }
    }
    Ok(())
}

/// Locks a store as the engine does, while it is made.
fn lock(path: &Path) -> Result<File, fjall::Error> {
    let file = File::options().create(true).truncate(false).write(true).open(path.join(LOCK))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(fjall::Error::Locked),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Whether there is anything in a folder without our marks: then it is somebody else's, and nothing of it is touched here.
fn is_foreign(path: &Path) -> io::Result<bool> {
    for entry in std::fs::read_dir(path)? {
        let name = entry?.file_name();
        if name != LOCK && name != HELD && !is_draft(&name) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_draft(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(draft::PREFIX.as_bytes())
}

/// Names of the engine's and of its owner's marker: what making a store, and using it before it was safe, can have left.
fn is_of_a_store(name: &OsStr) -> bool {
    let known = [TABLES, WHOLE, OWNERS].into_iter().any(|known| name == known);
    known || is_draft(name) || is_log(Path::new(name))
}

/// The engine appends to these.
fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "jnl")
}

/// Takes away what was never a store, or never a safe one. What else somebody put there stays.
fn clear(path: &Path) -> io::Result<()> {
    if let Some(Mark { draft: Some(left), .. }) = Mark::read(&path.join(MAKING))? {
        draft::remove(Path::new(MEMORY), &left);
    }
    let last = [MAKING, UNSAFE];
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        if !is_of_a_store(&name) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    // Last the files that say so.
    last.iter().try_for_each(|name| missing_is_fine(std::fs::remove_file(path.join(name))))
}

/// The store as the engine makes it, in a folder in `place`: in memory, or else inside the store, where the engine's syncs take
/// their time. The mark of the store that is made names it: a kill leaves it, and the next start takes it away.
fn drafted(
    place: &Path,
    (store, boot): (&Path, Option<&str>),
    draft: impl Fn(&Path) -> Result<(), fjall::Error>,
) -> Result<Draft, fjall::Error> {
    let made = Draft::named(place);
    let mark = Mark { boot: boot.map(str::to_owned), draft: Some(made.path().to_owned()) };
    mark.write(&store.join(MAKING))?;
    made.begin()?;
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

/// Every file and folder in a folder. What goes meanwhile is left out.
fn all_under(path: &Path, all: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries = match std::fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let place = entry?.path();
        if place.is_dir() {
            all_under(&place, all)?;
        }
        all.push(place);
    }
    Ok(())
}

fn missing_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn parent(path: &Path) -> PathBuf {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new(".")).to_owned()
}

#[cfg(test)]
mod tests;
