//! The folder in which the engine makes a store.

use std::fs::DirBuilder;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};

/// How its name begins.
pub(crate) const PREFIX: &str = "comity-draft-";

/// It goes when this goes.
#[derive(Debug)]
pub(crate) struct Draft(PathBuf);

impl Draft {
    /// One in `place`, which is not there yet: whoever is to remove it after a kill writes its name down first.
    pub(crate) fn named(place: &Path) -> Self {
        // The map's seed is the one randomness that costs no dependency; a name that is taken is an error, and no harm.
        let name = RandomState::new().build_hasher().finish();
        Self(place.join(format!("{PREFIX}{name:016x}")))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the folder; only this user may look into it.
    pub(crate) fn begin(&self) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.0)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Takes away what a kill left in `memory`. A file says its name, so nothing else is touched than a folder of such a name right there;
/// one that cannot be taken away is somebody else's.
pub(crate) fn remove(memory: &Path, left: &Path) {
    let is_one = left.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let is_folder = std::fs::symlink_metadata(left).is_ok_and(|found| found.is_dir());
    if left.parent() == Some(memory) && is_one && is_folder {
        drop(std::fs::remove_dir_all(left));
    }
}
