use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why something could not be stored. `Display` is one line: place, fact, limit.
#[non_exhaustive]
#[derive(Debug)]
pub enum ArchiveError {
    /// The file system refused an operation.
    Io {
        /// What it was asked for.
        path: PathBuf,
        /// What it answered.
        source: io::Error,
    },
    /// The device is full, a quota is spent, or less than `min_free` is left. Everything stored before stays valid.
    Full {
        /// Where.
        path: PathBuf,
        /// Bytes free, if they could be read.
        free: Option<u64>,
        /// Bytes that must stay free.
        min_free: u64,
    },
    /// A failed write could not be taken back: the file may end in a torn record, nothing more is written to it.
    Torn {
        /// The file.
        path: PathBuf,
        /// Its last valid end.
        end: u64,
    },
    /// A setting cannot be used.
    Setting {
        /// Its name.
        name: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// More outcomes were staged than are held between two flushes.
    Staged {
        /// How many are held at most.
        limit: usize,
    },
    /// No unused file name was found.
    Names {
        /// The folder.
        folder: PathBuf,
        /// How many serial numbers were tried.
        tried: u32,
    },
    /// Another process has the crawl directory, or reads it.
    Held {
        /// Its lock file.
        path: PathBuf,
        /// Who, and what they do.
        by: String,
        /// What to do next.
        advice: &'static str,
    },
    /// A crawl cannot be written in another form.
    Export {
        /// The file that stands in the way.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// What is there already cannot be continued: the chain of records does not hold together.
    Chain {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl ArchiveError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let path = path.to_owned();
        match source.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => Self::Full { path, free: None, min_free: 0 },
            _ => Self::Io { path, source },
        }
    }

    pub(crate) fn export(path: &Path, problem: impl Into<String>) -> Self {
        Self::Export { path: path.to_owned(), problem: problem.into() }
    }

    /// The same error for another event that met it too.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Io { path, source } => {
                Self::Io { path: path.clone(), source: io::Error::new(source.kind(), source.to_string()) }
            }
            Self::Full { path, free, min_free } => Self::Full { path: path.clone(), free: *free, min_free: *min_free },
            Self::Torn { path, end } => Self::Torn { path: path.clone(), end: *end },
            Self::Setting { name, problem } => Self::Setting { name, problem: problem.clone() },
            Self::Staged { limit } => Self::Staged { limit: *limit },
            Self::Names { folder, tried } => Self::Names { folder: folder.clone(), tried: *tried },
            Self::Held { path, by, advice } => Self::Held { path: path.clone(), by: by.clone(), advice },
            Self::Export { path, problem } => Self::Export { path: path.clone(), problem: problem.clone() },
            Self::Chain { path, problem } => Self::Chain { path: path.clone(), problem: problem.clone() },
        }
    }

    /// True when the device is full: stop fetching, nothing stored before is lost.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// True when another process has the directory: nothing was read or changed.
    #[must_use]
    pub const fn is_held(&self) -> bool {
        matches!(self, Self::Held { .. })
    }
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Full { path, free: Some(free), min_free } => {
                write!(f, "{}: {free} bytes are free, at least {min_free} must stay free", path.display())
            }
            Self::Full { path, .. } => write!(f, "{}: the device is full", path.display()),
            Self::Torn { path, end } => {
                write!(f, "{}: a failed write could not be taken back, valid up to byte {end}", path.display())
            }
            Self::Setting { name, problem } => write!(f, "{name}: {problem}"),
            Self::Staged { limit } => write!(f, "{limit} outcomes are staged, flush before staging more"),
            Self::Names { folder, tried } => write!(f, "{}: {tried} file names are taken", folder.display()),
            Self::Held { path, by, .. } => write!(f, "{}: the crawl directory is in use: {by}", path.display()),
            Self::Export { path, problem } | Self::Chain { path, problem } => {
                write!(f, "{}: {problem}", path.display())
            }
        }
    }
}

impl std::error::Error for ArchiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
