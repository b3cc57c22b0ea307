use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::ArchiveError;
use crate::disk::sync_folder;

/// Copies of evidence that a power cut may still take, shared between the store that keeps them and the archive whose
/// records and checkpoints rest on them: whichever syncs first makes them safe.
#[derive(Clone, Debug)]
pub struct UnsyncedEvidence(Arc<Mutex<Unsynced>>);

#[derive(Debug)]
struct Unsynced {
    folder: PathBuf,
    copies: Vec<PathBuf>,
    /// Whether entries of the folder itself may be lost: its index, new shelves.
    entries: bool,
}

/// Copies waiting for a sync, at most.
const MAX_UNSYNCED: usize = 256;

impl UnsyncedEvidence {
    /// That of a store just opened: what an earlier process left there may not be safe yet.
    pub(crate) fn of(folder: &Path) -> Self {
        Self(Arc::new(Mutex::new(Unsynced { folder: folder.to_owned(), copies: Vec::new(), entries: true })))
    }

    /// A copy was written; on a new shelf, whose own name is not safe either. Syncs when many wait.
    pub(crate) fn add(&self, copy: PathBuf, is_new_shelf: bool) -> Result<(), ArchiveError> {
        let is_full = {
            let mut unsynced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            unsynced.entries |= is_new_shelf;
            unsynced.copies.push(copy);
            unsynced.copies.len() >= MAX_UNSYNCED
        };
        if is_full { self.sync() } else { Ok(()) }
    }

    /// Every copy so far is safe against power loss, with its name. Whoever else asks meanwhile waits.
    pub(crate) fn sync(&self) -> Result<(), ArchiveError> {
        // What the lock guards is whole between any two steps.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).sync()
    }
}

impl Unsynced {
    fn sync(&mut self) -> Result<(), ArchiveError> {
        // One that fails stays on the list, with the rest: the next sync must not call it safe.
        while let Some(copy) = self.copies.last() {
            sync_copy(copy).map_err(|e| ArchiveError::io(copy, e))?;
            self.copies.pop();
        }
        if self.entries {
            let above = self.folder.parent().filter(|above| !above.as_os_str().is_empty());
            let synced = sync_folder(&self.folder).and_then(|()| sync_folder(above.unwrap_or(Path::new("."))));
            synced.map_err(|e| ArchiveError::io(&self.folder, e))?;
            self.entries = false;
        }
        Ok(())
    }
}

/// A copy reaches the device, with its name.
fn sync_copy(copy: &Path) -> io::Result<()> {
    File::open(copy)?.sync_all()?;
    copy.parent().map_or(Ok(()), sync_folder)
}
