use std::fmt;

use crate::config::ConfigError;
use crate::handler::BoxError;

/// Why a crawl could not start, or had to stop. One level only; causes through [`std::error::Error::source`].
#[derive(Debug)]
pub struct Error {
    kind: Box<Kind>,
}

#[derive(Debug)]
enum Kind {
    Config(ConfigError),
    Fetch(comity_fetch::ConfigError),
    Directory(String),
    #[cfg(feature = "warc")]
    Archive(comity_archive::ArchiveError),
    #[cfg(feature = "disk")]
    State(comity_gate::StateError),
    Frontier(comity_frontier::FrontierError),
    Internal(String),
    Sink(BoxError),
}

impl Error {
    pub(crate) fn directory(what: impl Into<String>) -> Self {
        Self { kind: Box::new(Kind::Directory(what.into())) }
    }

    pub(crate) fn internal(what: impl Into<String>) -> Self {
        Self { kind: Box::new(Kind::Internal(what.into())) }
    }

    pub(crate) fn sink(error: BoxError) -> Self {
        Self { kind: Box::new(Kind::Sink(error)) }
    }

    /// A setting is wrong: nothing was sent and nothing written.
    #[must_use]
    pub const fn is_config(&self) -> bool {
        matches!(*self.kind, Kind::Config(_) | Kind::Fetch(_))
    }

    /// The crawl directory cannot be used or written, or the sink failed: disk full, no permission, another crawl's.
    #[must_use]
    pub const fn is_storage(&self) -> bool {
        match *self.kind {
            Kind::Directory(_) | Kind::Frontier(_) | Kind::Sink(_) => true,
            #[cfg(feature = "warc")]
            Kind::Archive(_) => true,
            #[cfg(feature = "disk")]
            Kind::State(_) => true,
            Kind::Config(_) | Kind::Fetch(_) | Kind::Internal(_) => false,
        }
    }

    /// Another process has what is asked for.
    #[must_use]
    pub fn is_held(&self) -> bool {
        match &*self.kind {
            Kind::Frontier(error) => {
                matches!(error, comity_frontier::FrontierError::Store(comity_frontier::StoreError::Held(_)))
            }
            #[cfg(feature = "disk")]
            Kind::State(error) => error.is_held(),
            #[cfg(feature = "warc")]
            Kind::Archive(error) => error.is_held(),
            _ => false,
        }
    }

    /// What to do next, if there is an obvious step.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        match &*self.kind {
            Kind::Config(error) => error.advice(),
            #[cfg(feature = "disk")]
            Kind::State(error) => Some(error.hint()),
            #[cfg(feature = "warc")]
            Kind::Archive(comity_archive::ArchiveError::Held { advice, .. }) => Some(advice),
            _ => None,
        }
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self { kind: Box::new(Kind::Config(error)) }
    }
}

impl From<comity_fetch::ConfigError> for Error {
    fn from(error: comity_fetch::ConfigError) -> Self {
        Self { kind: Box::new(Kind::Fetch(error)) }
    }
}

#[cfg(feature = "warc")]
impl From<comity_archive::ArchiveError> for Error {
    fn from(error: comity_archive::ArchiveError) -> Self {
        Self { kind: Box::new(Kind::Archive(error)) }
    }
}

#[cfg(feature = "disk")]
impl From<comity_gate::StateError> for Error {
    fn from(error: comity_gate::StateError) -> Self {
        Self { kind: Box::new(Kind::State(error)) }
    }
}

impl From<comity_frontier::FrontierError> for Error {
    fn from(error: comity_frontier::FrontierError) -> Self {
        Self { kind: Box::new(Kind::Frontier(error)) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            Kind::Config(error) => error.fmt(f),
            Kind::Fetch(error) => error.fmt(f),
            #[cfg(feature = "disk")]
            Kind::State(error) => write!(f, "[state] dir {error}"),
            Kind::Directory(what) | Kind::Internal(what) => f.write_str(what),
            #[cfg(feature = "warc")]
            Kind::Archive(error) if error.is_held() => error.fmt(f),
            #[cfg(feature = "warc")]
            Kind::Archive(_) => {
                f.write_str("the archive cannot be written; the crawl stopped, what was written is whole")
            }
            Kind::Frontier(_) => f.write_str("the frontier failed; the crawl stopped"),
            Kind::Sink(_) => {
                f.write_str("the sink failed; the crawl stopped, what was not acknowledged is still queued")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.kind {
            // One that is held is told in full.
            #[cfg(feature = "warc")]
            Kind::Archive(error) if error.is_held() => None,
            #[cfg(feature = "warc")]
            Kind::Archive(error) => Some(error),
            Kind::Frontier(error) => Some(error),
            Kind::Sink(error) => Some(&**error),
            #[cfg(feature = "disk")]
            Kind::State(_) => None,
            Kind::Config(_) | Kind::Fetch(_) | Kind::Directory(_) | Kind::Internal(_) => None,
        }
    }
}
