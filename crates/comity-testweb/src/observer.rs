use std::sync::Arc;

use crate::live::Live;
use crate::log::Sighting;

/// Eyes on a web that is or was up: what arrived, and what it means. Cloning copies a pointer.
#[derive(Clone, Debug)]
pub struct Observer {
    pub(crate) live: Arc<Live>,
}

impl Observer {
    pub(crate) const fn new(live: Arc<Live>) -> Self {
        Self { live }
    }

    /// The origins, by site number: `http://o0.demo.test`.
    #[must_use]
    pub fn origins(&self) -> Vec<String> {
        self.live.layout.origins().iter().map(ToString::to_string).collect()
    }

    /// The front page of every origin.
    #[must_use]
    pub fn seeds(&self) -> Vec<String> {
        self.live.layout.origins().iter().map(|origin| format!("{origin}/")).collect()
    }

    /// The absolute URL of a path on site `site`; `None` when there is no such site.
    #[must_use]
    pub fn url(&self, site: usize, path: &str) -> Option<String> {
        Some(format!("{}{path}", self.live.layout.origin(site)?))
    }

    /// Every request so far, in order of arrival.
    #[must_use]
    pub fn log(&self) -> Vec<Sighting> {
        self.live.log.snapshot().0
    }

    /// Requests that no longer fitted into the log.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.live.log.snapshot().1
    }
}
