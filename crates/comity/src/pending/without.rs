//! What is on its way to the disk, in a program without the feature `disk`: it is made safe at once, and nobody waits for it later.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Files and folders that were written: safe against a power cut, or not for good.
#[derive(Debug, Default)]
pub(crate) struct Pending(
    #[cfg_attr(not(feature = "warc"), expect(dead_code, reason = "nothing is recorded that could rest on it"))]
    Option<(ErrorKind, String)>,
);

impl Pending {
    /// Makes these safe.
    pub(crate) fn of(paths: Vec<PathBuf>) -> Self {
        let done = paths.iter().try_for_each(|path| sync(path));
        Self(done.err().map(|error| (error.kind(), error.to_string())))
    }

    /// # Errors
    /// When they could not be made safe.
    #[cfg(feature = "warc")]
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.0.clone().map_or(Ok(()), |(kind, what)| Err(io::Error::new(kind, what)))
    }
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
