use std::fmt;
use std::path::{Path, PathBuf};

/// The state directory could not be used.
#[derive(Debug)]
pub struct StateError {
    path: PathBuf,
    cause: fjall::Error,
}

impl StateError {
    pub(crate) fn new(path: &Path, cause: fjall::Error) -> Self {
        Self { path: path.to_owned(), cause }
    }

    /// True when another process holds the directory.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self.cause, fjall::Error::Locked)
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        if self.is_held() {
            "one process at a time keeps the paces of one agent: wait for the other crawl, or give this one another [state] dir"
        } else {
            "give another [state] dir, or move this one away: then every robots.txt is asked anew"
        }
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.cause {
            fjall::Error::Locked => write!(f, "{path} is in use by another process"),
            fjall::Error::Io(error) => write!(f, "{path}: {error}"),
            cause => write!(f, "{path} cannot be used: {cause:?}"),
        }
    }
}

impl std::error::Error for StateError {}
