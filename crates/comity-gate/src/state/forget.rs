//! Takes an origin out of a state directory, so that no byte of it is left in its files: it is copied without, beside, and put
//! in its place.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use comity_policy::WallTime;
use comity_store::{Hold, swap};
use fjall::PersistMode;

use super::{StateDir, StateError, Tables, file, format, hold, tables};

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
        let new = swap::begin(&path).map_err(of_io)?;
        std::fs::create_dir_all(&new).map_err(of_io)?;
        let copied = hold(&new)?;
        let gone = copy(&self, &new, names).map_err(|error| StateError::new(&path, error))?;
        // Both are held until one is in the place of the other: a folder is locked by a file in it, which moves with it. Elsewhere than on
        // Unix a folder with open files stands fast.
        let holds = (self.close(), copied);
        let holds = cfg!(unix).then_some(holds);
        swap::replace(&path).map_err(of_io)?;
        let state = match holds {
            Some((_old, new)) => Self::open_held(&path, now, new)?,
            None => Self::open(&path, now)?,
        };
        Ok((if is_inline { state.inline() } else { state }, gone))
    }

    /// Closes the engine, and keeps the directory.
    fn close(self) -> Hold {
        self.hold
    }

    /// Whether one is in `path`: also one that a kill left between the two renames of [`StateDir::forget`], which the next
    /// [`StateDir::open`] puts in its place.
    #[must_use]
    pub fn exists(path: &Path) -> bool {
        path.is_dir() || swap::is_between(path)
    }
}

fn copy(old: &StateDir, path: &Path, names: &dyn Fn(&[u8]) -> bool) -> Result<u64, fjall::Error> {
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

#[cfg(test)]
mod tests;
