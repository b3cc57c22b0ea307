use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use comity_frontier::Frontier;
use comity_gate::Gate;
use comity_policy::{Clock, Reason};
use comity_url::{CrawlUrl, UrlKey};

use super::reload::slim;
use super::stopped::Stopped;
use super::{ControlError, ParkFile, Prints};
use crate::Error;
use crate::config::CrawlConfig;
use crate::directory::ScopeSeeds;
use crate::engine::Shared;

/// Whom something is asked of.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// A crawl in this process, unless it is over.
    Running(Weak<Shared>),
    /// A crawl that nobody runs, held by this process.
    #[cfg_attr(not(feature = "disk"), expect(dead_code, reason = "its type has no value there"))]
    Stopped(Arc<Stopped>),
}

/// A crawl that is there: held while one thing is done with it.
#[derive(Clone, Debug)]
pub(super) enum Held {
    Running(Arc<Shared>),
    Stopped(Arc<Stopped>),
}

/// What a running crawl keeps for whoever steers it.
#[derive(Debug)]
pub(crate) struct Running {
    pub(super) dir: Option<PathBuf>,
    /// What is in force.
    pub(super) config: tokio::sync::Mutex<CrawlConfig>,
    parks: Mutex<ParkFile>,
    pub(super) prints: Prints,
    /// Whether the crawl has decided that it is over. Read for as long as something is taken in, so that it is decided before or
    /// after, never meanwhile.
    over: tokio::sync::RwLock<bool>,
}

/// While it is held, the crawl does not come to its end: what is taken in is looked at.
pub(super) type TakingIn<'a> = Option<tokio::sync::RwLockReadGuard<'a, bool>>;

impl Running {
    /// Opens what is kept in `dir`, and puts the parks that are in force to the gate.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn open(
        dir: Option<&Path>,
        (config, key): (CrawlConfig, [u8; 16]),
        gate: &Gate,
        clock: &dyn Clock,
    ) -> Result<Self, Error> {
        let parks = dir.map(|dir| ParkFile::open(dir, clock.wall())).transpose()?.unwrap_or_default();
        parks.all().cloned().for_each(|park| gate.park(park));
        let prints = Prints::of(config.keys, key);
        let config = tokio::sync::Mutex::new(slim(config));
        let over = tokio::sync::RwLock::new(false);
        Ok(Self { dir: dir.map(Path::to_owned), config, parks: Mutex::new(parks), prints, over })
    }

    /// Ends the crawl, unless `is_wanted` says that something has come in since its loop looked last. Waits for whoever takes
    /// something in: who comes later is told that the crawl is over.
    pub(crate) async fn end(&self, is_wanted: impl AsyncFnOnce() -> bool) -> bool {
        let mut over = self.over.write().await;
        *over = !is_wanted().await;
        *over
    }
}

impl Subject {
    pub(super) fn hold(&self) -> Result<Held, ControlError> {
        match self {
            Self::Running(shared) => shared.upgrade().map(Held::Running).ok_or_else(is_over),
            Self::Stopped(stopped) => Ok(Held::Stopped(stopped.clone())),
        }
    }
}

fn is_over() -> ControlError {
    ControlError::engine("the crawl is over").hint("ask again: what is stopped is opened")
}

impl Held {
    /// For as long as URLs are taken in.
    ///
    /// # Errors
    /// When the crawl has come to its end, and would not look at them any more.
    pub(super) async fn taking_in(&self) -> Result<TakingIn<'_>, ControlError> {
        let Self::Running(shared) = self else { return Ok(None) };
        let over = shared.control.over.read().await;
        if *over { Err(is_over()) } else { Ok(Some(over)) }
    }

    pub(super) fn frontier(&self) -> &dyn Frontier {
        match self {
            Self::Running(shared) => &*shared.frontier,
            Self::Stopped(stopped) => stopped.frontier(),
        }
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        match self {
            Self::Running(shared) => &*shared.clock,
            Self::Stopped(stopped) => stopped.clock(),
        }
    }

    pub(super) fn parks(&self) -> MutexGuard<'_, ParkFile> {
        let parks = match self {
            Self::Running(shared) => &shared.control.parks,
            Self::Stopped(stopped) => stopped.parks(),
        };
        parks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The gate of a crawl that runs.
    pub(super) fn gate(&self) -> Option<&Gate> {
        match self {
            Self::Running(shared) => Some(&shared.gate),
            Self::Stopped(_) => None,
        }
    }

    /// The fingerprint of a URL in this crawl.
    pub(super) fn key(&self, url: &CrawlUrl) -> UrlKey {
        match self {
            Self::Running(shared) => shared.keys.key(url, &shared.sites),
            Self::Stopped(stopped) => stopped.key(url),
        }
    }

    /// Why a seed would leave the queue unasked: a pattern that leaves it out. Seeds open the scope around them, and are judged by `include`
    /// and `exclude` as every URL is.
    pub(super) fn left_out(&self, url: &CrawlUrl) -> Option<Reason> {
        let by_patterns = match self {
            Self::Running(shared) => shared.scope().admits_by_patterns(url),
            Self::Stopped(stopped) => stopped.scope().admits_by_patterns(url),
        };
        by_patterns.err().map(|_| Reason::UrlScope)
    }

    /// Opens the scope around URLs, in this run and in those that go on with it.
    pub(super) fn widen(&self, urls: &[CrawlUrl]) -> Result<(), Error> {
        match self {
            _ if urls.is_empty() => Ok(()),
            Self::Running(shared) => shared.widen_scope(urls),
            Self::Stopped(stopped) => ScopeSeeds::open(stopped.dir())?.0.add(urls),
        }
    }

    pub(super) fn dir(&self) -> Option<&Path> {
        match self {
            Self::Running(shared) => shared.control.dir.as_deref(),
            Self::Stopped(stopped) => Some(stopped.dir()),
        }
    }

    /// By what the fingerprints of this crawl are made.
    pub(super) fn prints(&self) -> Prints {
        match self {
            Self::Running(shared) => shared.control.prints.clone(),
            Self::Stopped(stopped) => stopped.prints().clone(),
        }
    }

    /// Something may be leasable that was not: tells whoever leases, and that it is to be made safe within a second.
    pub(super) fn poke(&self) {
        if let Self::Running(shared) = self {
            shared.keeper.wrote();
            shared.poke.notify_one();
        }
    }
}
