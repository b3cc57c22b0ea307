use std::path::{Path, PathBuf};

use crate::ArchiveError;
use crate::disk::{Backing, Disk, sync_folder};

/// The suffix of a file that is still written to (Heritrix convention).
pub(crate) const OPEN_SUFFIX: &str = ".open";

/// A file that only grows by whole appends: its content up to `end` is valid at every moment. What is written ahead lies
/// beyond it, as what a kill in the middle of an append leaves does.
#[derive(Debug)]
pub(crate) struct AppendFile {
    backing: Box<dyn Backing>,
    folder: PathBuf,
    name: String,
    end: u64,
    /// Bytes of the next append that are written already.
    ahead: u64,
    torn: bool,
    /// Whether the name is on the device: content that nobody finds is lost.
    named: bool,
}

impl AppendFile {
    /// Creates `name.open`; neither it nor `name` may exist.
    pub(crate) fn create(disk: &dyn Disk, folder: &Path, name: &str) -> Result<Self, ArchiveError> {
        let open = folder.join(format!("{name}{OPEN_SUFFIX}"));
        let backing = disk.create(&open).map_err(|e| ArchiveError::io(&open, e))?;
        Ok(Self {
            backing,
            folder: folder.to_owned(),
            name: name.to_owned(),
            end: 0,
            ahead: 0,
            torn: false,
            named: false,
        })
    }

    /// The final name, without a suffix.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Where the next append will start.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Bytes of the next append that are written already.
    pub(crate) const fn ahead(&self) -> u64 {
        self.ahead
    }

    /// Writes a first part of the next append, which does not count before [`Self::append`] brings the last. A failed write
    /// is cut off again, with all that was written ahead.
    pub(crate) fn write_ahead(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        self.check_whole()?;
        match self.backing.write_all(bytes) {
            Ok(()) => {
                self.ahead += bytes.len() as u64;
                Ok(())
            }
            Err(source) => self.take_back(source),
        }
    }

    /// Appends what was written ahead and all of `bytes`, or nothing: a failed write is cut off again.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        self.check_whole()?;
        match self.backing.write_all(bytes).and_then(|()| self.backing.flush()) {
            Ok(()) => {
                self.end += std::mem::take(&mut self.ahead) + bytes.len() as u64;
                Ok(())
            }
            Err(source) => self.take_back(source),
        }
    }

    fn take_back(&mut self, source: std::io::Error) -> Result<(), ArchiveError> {
        let error = ArchiveError::io(&self.open_path(), source);
        self.cut(self.end)?;
        Err(error)
    }

    /// Takes back everything from `end` on.
    pub(crate) fn cut(&mut self, end: u64) -> Result<(), ArchiveError> {
        if self.backing.cut(end).is_err() {
            self.torn = true;
        }
        (self.end, self.ahead) = (end, 0);
        self.check_whole()
    }

    /// Everything appended reaches the device, the first time with the file's name.
    pub(crate) fn sync(&mut self) -> Result<(), ArchiveError> {
        self.backing.sync().map_err(|e| ArchiveError::io(&self.open_path(), e))?;
        if !self.named {
            sync_folder(&self.folder).map_err(|e| ArchiveError::io(&self.folder, e))?;
            self.named = true;
        }
        Ok(())
    }

    /// Syncs and gives the file its final name; a torn file keeps its suffix, an empty one is removed.
    pub(crate) fn close(mut self) -> Result<(), ArchiveError> {
        self.check_whole()?;
        if self.end == 0 {
            let open = self.open_path();
            return std::fs::remove_file(&open).map_err(|e| ArchiveError::io(&open, e));
        }
        // The rename is synced below: the first name need not be.
        self.named = true;
        self.sync()?;
        let (open, last) = (self.open_path(), self.folder.join(&self.name));
        drop(self.backing);
        std::fs::rename(&open, &last).map_err(|e| ArchiveError::io(&last, e))?;
        sync_folder(&self.folder).map_err(|e| ArchiveError::io(&self.folder, e))
    }

    /// Where it lies until it is closed.
    pub(crate) fn open_path(&self) -> PathBuf {
        self.folder.join(format!("{}{OPEN_SUFFIX}", self.name))
    }

    fn check_whole(&self) -> Result<(), ArchiveError> {
        if self.torn { Err(ArchiveError::Torn { path: self.open_path(), end: self.end }) } else { Ok(()) }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    /// A folder that cannot be found cannot be synced.
    #[test]
    fn the_first_sync_makes_the_name_safe_too() {
        let dir = tempfile::tempdir().unwrap();
        let (here, gone) = (dir.path().join("here"), dir.path().join("gone"));
        std::fs::create_dir(&here).unwrap();
        let mut file = AppendFile::create(&RealDisk, &here, "name").unwrap();
        file.append(b"content").unwrap();
        std::fs::rename(&here, &gone).unwrap();
        for _ in 0..2 {
            file.sync().unwrap_err();
        }
        std::fs::rename(&gone, &here).unwrap();
        file.sync().unwrap();
        std::fs::rename(&here, &gone).unwrap();
        file.sync().unwrap();
    }
}
