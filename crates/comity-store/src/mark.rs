//! The file that says how far a store has come.

use std::io;
use std::path::{Path, PathBuf};

/// What stands in `version.making` and `version.unsafe`: two lines of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The boot of the machine in which it was written; `None` where that has no name, or the mark cannot be read.
    pub(crate) boot: Option<String>,
    /// The folder in which the engine makes the store.
    pub(crate) draft: Option<PathBuf>,
}

impl Mark {
    /// Reads it; `None` where there is none. What cannot be understood, as a power cut leaves it, says nothing.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let text = String::from_utf8(bytes).unwrap_or_default();
        // Each line is whole or says nothing.
        let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        let boot = lines.next().and_then(|line| line.strip_prefix("boot ")).map(str::to_owned);
        let draft = lines.next().and_then(|line| line.strip_prefix("draft ")).map(PathBuf::from);
        Ok(Some(Self { boot: boot.filter(|name| !name.is_empty()), draft }))
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let draft = self.draft.as_deref().map_or_else(String::new, |path| format!("draft {}\n", path.display()));
        std::fs::write(path, format!("boot {}\n{draft}", self.boot.as_deref().unwrap_or_default()))
    }
}
