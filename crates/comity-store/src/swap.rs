//! A store that is put in the place of another one: made beside it, whole and safe, it takes its name by two renames.
//!
//! | folder | means |
//! |---|---|
//! | `NAME` | the store |
//! | `NAME.new` | its copy; whole once `NAME` is not there |
//! | `NAME.old` | what it was, until the copy is in its place |
//!
//! Killed at any instant, it is the old one or the new one.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{HELD, Hold, parent};

/// The place of the copy is tried so often while others make a folder there.
const TRIES: u32 = 1000;
const PAUSE: Duration = Duration::from_millis(1);

/// Where the copy of a store is made.
#[must_use]
pub fn copy_of(path: &Path) -> PathBuf {
    beside(path, "new")
}

/// Removes what an earlier try left where the copy of a store is made.
///
/// # Errors
/// When that cannot be removed, and where the store is a symbolic link: the link would be put elsewhere and taken away, and what
/// it leads to would stay.
pub fn begin(path: &Path) -> io::Result<PathBuf> {
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Err(io::Error::other(
            "it is a symbolic link, and what it leads to would stay: put the folder itself in its place first",
        ));
    }
    let copy = copy_of(path);
    crate::missing_is_fine(std::fs::remove_dir_all(&copy)).map(|()| copy)
}

/// Puts the copy, which is whole and safe, in the place of a store that nobody has open.
///
/// # Errors
/// When it cannot be done: then the copy is whole, and the next [`finish`] does it.
pub fn replace(path: &Path) -> io::Result<()> {
    let away = beside(path, "old");
    std::fs::rename(path, &away)?;
    finish(path)?;
    if copy_of(path).exists() {
        return Err(io::Error::other(
            "somebody else made a store in its place; the whole one is in the folder beside it, .new",
        ));
    }
    sync_folder(path)?;
    std::fs::remove_dir_all(&away)?;
    sync_folder(path)
}

/// A kill came between the two renames, or somebody looks between them: the copy was whole by then. Whoever comes first does it.
///
/// # Errors
/// When it cannot be renamed.
pub fn finish(path: &Path) -> io::Result<()> {
    for _ in 0..TRIES {
        if !is_between(path) {
            return Ok(());
        }
        match make_room(path).and_then(|()| std::fs::rename(copy_of(path), path)) {
            Ok(()) => return sync_folder(path),
            Err(error) if is_moved(&error) => std::thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Takes away a folder that was made by somebody who came between the renames, and is refused. Only who has it may: by now a store may have
/// been put there, whose lock is not to be taken from under whoever holds it.
fn make_room(path: &Path) -> io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let held = Hold::take(path)?.ok_or(ErrorKind::DirectoryNotEmpty)?;
    if !held.is_of(path)? || !is_between(path) {
        return Err(ErrorKind::DirectoryNotEmpty.into());
    }
    std::fs::remove_file(path.join(HELD))?;
    std::fs::remove_dir(path)
}

/// Whether a store is between the two renames: in its place is nothing, or a folder that was just made and is still empty.
#[must_use]
pub fn is_between(path: &Path) -> bool {
    let is_store = std::fs::read_dir(path)
        .is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(|entry| entry.file_name() != HELD)));
    !is_store && copy_of(path).exists()
}

/// Removes what a kill left beside the store that `held` has. False where it has no store: another is about to be put, or was put, in this
/// place.
///
/// Who puts a copy in the place of a store holds both until it is there. So beside one that is held, and is in its place, lies
/// nothing that anybody works at.
///
/// # Errors
/// When it cannot be removed.
pub fn clear(path: &Path, held: &Hold) -> io::Result<bool> {
    let left = left(path);
    if is_between(path) || !held.is_of(path)? {
        return Ok(false);
    }
    for left in left {
        let Some(taken) = Hold::take(&left)? else { return Ok(false) };
        std::fs::remove_dir_all(&left)?;
        drop(taken);
    }
    Ok(true)
}

/// What lies beside a store.
fn left(path: &Path) -> Vec<PathBuf> {
    ["new", "old"].map(|end| beside(path, end)).into_iter().filter(|left| left.exists()).collect()
}

/// Whether an error only says that a folder came or went meanwhile: by whoever puts a store in the place of another, and holds it.
#[must_use]
pub fn is_moved(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty)
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{end}"));
    PathBuf::from(name)
}

/// Only Unix opens folders. One above that we may not read is its owner's.
fn sync_folder(path: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match std::fs::File::open(parent(path)) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
        opened => opened?.sync_all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: &str = "store";

    fn folder(path: &Path, text: &str) {
        std::fs::create_dir_all(path).unwrap();
        std::fs::write(path.join("rows"), text).unwrap();
    }

    fn finished(dir: &Path) -> String {
        let path = dir.join(STORE);
        finish(&path).unwrap();
        let held = Hold::take(&path).unwrap().unwrap();
        assert!(clear(&path, &held).unwrap());
        assert_eq!(std::fs::read_dir(dir).unwrap().count(), 1, "nothing stands beside it");
        std::fs::read_to_string(path.join("rows")).unwrap()
    }

    /// A kill at each step leaves one of the two, and the next start has it.
    #[test]
    fn killed_at_any_step_it_is_the_old_one_or_the_new_one() {
        for (step, whole) in ["old", "old", "new", "new", "new"].into_iter().enumerate() {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join(STORE);
            folder(&path, "old");
            if step > 0 {
                folder(&begin(&path).unwrap(), "new");
            }
            if step > 1 {
                std::fs::rename(&path, beside(&path, "old")).unwrap();
            }
            if step == 3 {
                // Somebody looked in between.
                std::fs::create_dir(&path).unwrap();
                std::fs::write(path.join(HELD), "").unwrap();
            }
            if step == 4 {
                std::fs::rename(copy_of(&path), &path).unwrap();
            }
            assert_eq!(is_between(&path), step == 2 || step == 3);
            assert_eq!(finished(dir.path()), whole, "step {step}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_refused_before_anything_is_done() {
        let dir = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (dir.path().join(STORE), dir.path().join("elsewhere"));
        folder(&elsewhere, "old");
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(begin(&path).unwrap_err().to_string().contains("symbolic link"));
        assert_eq!(std::fs::read_to_string(path.join("rows")).unwrap(), "old");
        assert!(!copy_of(&path).exists());
    }

    #[test]
    fn the_copy_takes_the_place_and_what_was_there_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(STORE);
        folder(&path, "old");
        folder(&copy_of(&path), "of an earlier try");
        folder(&begin(&path).unwrap(), "new");
        replace(&path).unwrap();
        assert_eq!(finished(dir.path()), "new");
    }
}
