//! Takes an origin out of a state directory, so that no byte of it is left in its files: it is copied without, beside, and put
//! in its place.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use comity_policy::WallTime;
use fjall::PersistMode;

use super::{StateDir, StateError, Tables, file, format, tables};

impl StateDir {
    /// Copies the directory without the entries whose key or value `names`, and without copies that no life names any more, puts
    /// the copy in its place and goes on with that. Gives how many entries went; the files are new ones also when none did,
    /// since an engine that only appends keeps in them what was dropped or overwritten before. Killed at any instant, it is the
    /// old one or the new one.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn forget(self, now: WallTime, names: &dyn Fn(&[u8]) -> bool) -> Result<(Self, u64), StateError> {
        let (path, is_inline) = (self.path.clone(), self.is_inline);
        let of_io = |error: io::Error| StateError::new(&path, error.into());
        let (new, away) = (beside(&path, "new"), beside(&path, "old"));
        if new.exists() {
            std::fs::remove_dir_all(&new).map_err(of_io)?;
        }
        let gone = copy(&self, &new, names).map_err(|error| StateError::new(&path, error))?;
        drop(self);
        std::fs::rename(&path, &away).and_then(|()| std::fs::rename(&new, &path)).map_err(of_io)?;
        sync_folder(&path).and_then(|()| std::fs::remove_dir_all(&away)).map_err(of_io)?;
        sync_folder(&path).map_err(of_io)?;
        let state = Self::open(&path, now)?;
        Ok((if is_inline { state.inline() } else { state }, gone))
    }

    /// Whether one is in `path`: also one that a kill left between the two renames of [`StateDir::forget`], which the next
    /// [`StateDir::open`] puts in its place.
    #[must_use]
    pub fn exists(path: &Path) -> bool {
        path.is_dir() || beside(path, "new").exists()
    }
}

fn copy(old: &StateDir, path: &Path, names: &dyn Fn(&[u8]) -> bool) -> Result<u64, fjall::Error> {
    std::fs::create_dir_all(path)?;
    let made = comity_store::make(path, |draft| tables(draft).map(drop))?;
    let Tables { db, runs, lives, copies, paces, files } = tables(path)?;
    runs.insert("run", old.run.to_be_bytes())?;
    runs.insert("latest", old.latest.unix_millis().to_be_bytes())?;
    let (mut gone, mut kept) = (0, HashSet::new());
    for entry in old.lives.iter() {
        let (key, value) = entry.into_inner()?;
        if names(&key) || names(&value) {
            gone += 1;
            continue;
        }
        kept.extend(format::read_life(&value).and_then(|life| life.memory.digest()));
        lives.insert(key, value)?;
    }
    for entry in old.paces.iter() {
        let (key, value) = entry.into_inner()?;
        if names(&key) {
            gone += 1;
        } else {
            paces.insert(key, value)?;
        }
    }
    for entry in old.files.iter() {
        let (key, value) = entry.into_inner()?;
        if names(&key) || names(&value) {
            gone += 1;
            continue;
        }
        kept.extend(file::read(&value).and_then(|file| file.digest()));
        files.insert(key, value)?;
    }
    for digest in kept {
        if let Some(bytes) = old.copies.get(digest.as_bytes())? {
            copies.insert(digest.as_bytes().as_slice(), bytes)?;
        }
    }
    made.finish()?;
    db.persist(PersistMode::SyncAll)?;
    Ok(gone)
}

/// A kill came between the two renames: the copy was whole by then.
pub(super) fn finish_swap(path: &Path) -> io::Result<()> {
    let new = beside(path, "new");
    if !path.exists() && new.exists() { std::fs::rename(new, path).and_then(|()| sync_folder(path)) } else { Ok(()) }
}

/// What a kill left beside a directory, which is held.
pub(super) fn clear_swap(path: &Path) -> io::Result<()> {
    for end in ["new", "old"] {
        let left = beside(path, end);
        if left.exists() {
            std::fs::remove_dir_all(left)?;
        }
    }
    Ok(())
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{end}"));
    PathBuf::from(name)
}

/// Only Unix opens folders.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    if cfg!(unix) { std::fs::File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests;
