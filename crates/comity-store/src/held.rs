//! Who has a store.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use crate::HELD;

/// A store that this process has, from before the engine looks into it until the owner lets it go: the engine locks it late, and
/// waits for a while where another has it.
///
/// It is given up by name, and not by closing its file: a child process has that file too, from the moment it is forked until it
/// becomes another program, and the system would keep the lock as long.
#[derive(Debug)]
pub struct Hold(File);

impl Hold {
    /// Takes the store in the folder `path`, if nobody has it: `None` where somebody does.
    ///
    /// # Errors
    /// When its file cannot be written or locked.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        let file = File::options().create(true).truncate(false).write(true).open(path.join(HELD))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether what is held is still what lies there: a store is put in the place of another under another lock.
    ///
    /// # Errors
    /// When it cannot be looked at.
    #[cfg(unix)]
    pub fn is_of(&self, path: &Path) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt as _;
        let (ours, there) = (self.0.metadata()?, std::fs::metadata(path.join(HELD))?);
        Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino()))
    }

    /// A folder with an open file in it is not renamed here.
    #[cfg(not(unix))]
    pub fn is_of(&self, _: &Path) -> io::Result<bool> {
        Ok(true)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // What fails here goes with the process.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_has_it_and_knows_what_was_put_in_its_place() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let [path, other] = ["store", "store.new"].map(|name| dir.path().join(name));
        std::fs::create_dir(&path)?;
        std::fs::create_dir(&other)?;
        let (held, new) = (Hold::take(&path)?.unwrap(), Hold::take(&other)?.unwrap());
        assert!(Hold::take(&path)?.is_none() && held.is_of(&path)?);
        if cfg!(unix) {
            std::fs::rename(&path, dir.path().join("store.old"))?;
            std::fs::rename(&other, &path)?;
            assert!(!held.is_of(&path)? && new.is_of(&path)?);
            assert!(Hold::take(&path)?.is_none(), "the lock moves with its folder");
        }
        Ok(())
    }

    /// A child that was forked and is not yet another program has every file of this process, and with it its locks.
    #[test]
    fn what_was_given_up_is_free_while_a_child_still_has_its_files() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let held = Hold::take(dir.path())?.unwrap();
        let of_child = held.0.try_clone()?;
        drop(held);
        let again = Hold::take(dir.path())?.unwrap();
        drop(of_child);
        assert!(Hold::take(dir.path())?.is_none(), "the child's end takes no lock from anybody");
        drop(again);
        Ok(())
    }
}
