use std::fmt;
use std::time::Duration;

use comity_policy::{Reason, StalePermit};

use super::Unsendable;
use crate::NoPermit;

/// Why a polite client has no response: refused before anything was sent, or failed afterwards.
#[non_exhaustive]
#[derive(Debug)]
pub enum PoliteError<E> {
    /// The request cannot be judged as it stands. Nothing was sent.
    Unsendable(Unsendable),
    /// The site, the guard or the clocks say no; the refusal names rule and line. Nothing was sent.
    NoPermit(NoPermit),
    /// The inner client was not ready before the permit's end. Nothing was sent.
    Stale(StalePermit),
    /// The inner client had no response head after this long; its request was dropped.
    HeadTimeout(Duration),
    /// The inner client failed.
    Client(E),
}

impl<E> PoliteError<E> {
    /// The stable code; `None` for the inner client's own failures, which have no code of ours.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Unsendable(unsendable) => Some(unsendable.reason()),
            Self::NoPermit(no) => Some(no.reason()),
            Self::Stale(_) => Some(Reason::PermitStale),
            Self::HeadTimeout(_) => Some(Reason::FetchTimeoutHead),
            Self::Client(_) => None,
        }
    }

    /// The refusal, when that is what it is.
    #[must_use]
    pub const fn no_permit(&self) -> Option<&NoPermit> {
        match self {
            Self::NoPermit(no) => Some(no),
            _ => None,
        }
    }
}

impl<E> From<NoPermit> for PoliteError<E> {
    fn from(no: NoPermit) -> Self {
        Self::NoPermit(no)
    }
}

impl<E> From<Unsendable> for PoliteError<E> {
    fn from(unsendable: Unsendable) -> Self {
        Self::Unsendable(unsendable)
    }
}

impl<E> From<StalePermit> for PoliteError<E> {
    fn from(stale: StalePermit) -> Self {
        Self::Stale(stale)
    }
}

impl<E> fmt::Display for PoliteError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsendable(unsendable) => write!(f, "{}: {unsendable}", unsendable.reason()),
            Self::NoPermit(no) => no.fmt(f),
            Self::Stale(stale) => write!(f, "{}: {stale}", Reason::PermitStale),
            Self::HeadTimeout(after) => {
                write!(f, "{}: no response head within {} s", Reason::FetchTimeoutHead, after.as_secs_f64())
            }
            Self::Client(_) => f.write_str("the client failed"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for PoliteError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Client(error) => Some(error),
            _ => None,
        }
    }
}
