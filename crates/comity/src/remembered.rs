//! What the gate knows of origins beyond the process: `[state] dir`, or the state inside a crawl directory.

use std::path::Path;
use std::sync::Arc;

use comity_gate::GateConfig;
#[cfg(feature = "disk")]
use comity_gate::StateDir;
use comity_policy::Clock;

use crate::Error;
use crate::config::CrawlConfig;
use crate::open::Work;

/// Held by this process, or nothing. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remembered {
    #[cfg(feature = "disk")]
    held: Option<Arc<StateDir>>,
}

#[cfg(feature = "disk")]
impl Remembered {
    /// Opens the directory that crawls share, or one inside the crawl directory `dir`; nothing for a crawl that keeps nothing.
    ///
    /// # Errors
    /// When another process holds it, or it cannot be read or written.
    pub(crate) fn open(
        dir: Option<&Path>,
        config: &CrawlConfig,
        clock: &Arc<dyn Clock>,
        work: Work,
    ) -> Result<Self, Error> {
        let inside = || dir.map(|dir| dir.join("state"));
        let Some(folder) = config.state_dir.clone().or_else(inside) else { return Ok(Self::default()) };
        let state = StateDir::open(&folder.join("gate"), clock.wall())?;
        let state = if work == Work::Inline { state.inline() } else { state };
        Ok(Self { held: Some(Arc::new(state)) })
    }

    /// Makes it safe against a power cut. It only spares requests: what it loses is asked of the sites again.
    pub(crate) fn sync(&self) {
        if let Some(Err(error)) = self.held.as_ref().map(|state| state.sync()) {
            tracing::error!(%error, hint = error.hint(), "state directory");
        }
    }

    /// Lets a gate remember.
    pub(crate) fn put(self, gate: &mut GateConfig) {
        gate.state = self.held;
    }
}

/// Nothing outlives the process: a `[state] dir` is refused where the configuration is resolved.
#[cfg(not(feature = "disk"))]
impl Remembered {
    pub(crate) fn open(_: Option<&Path>, _: &CrawlConfig, _: &Arc<dyn Clock>, _: Work) -> Result<Self, Error> {
        Ok(Self::default())
    }

    #[cfg(feature = "warc")]
    pub(crate) const fn sync(&self) {}

    pub(crate) const fn put(self, _: &mut GateConfig) {}
}
