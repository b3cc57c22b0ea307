use comity_extract::{Link, Page as Extracted};
use comity_policy::{Capture, Decision};
use comity_signals::HeadFacts;
use comity_url::CrawlUrl;
use std::sync::Arc;

/// A fetched page, as handlers see it.
#[derive(Debug)]
pub struct Page<'a> {
    pub(crate) capture: &'a Capture,
    pub(crate) decision: &'a Arc<Decision>,
    pub(crate) extracted: Option<&'a Extracted>,
    pub(crate) body: &'a [u8],
    pub(crate) depth: u32,
    pub(crate) via: Option<&'a CrawlUrl>,
}

impl Page<'_> {
    /// The URL that was judged and sent.
    #[must_use]
    pub const fn url(&self) -> &CrawlUrl {
        &self.capture.url
    }

    /// HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.capture.status.unwrap_or(0)
    }

    /// The decoded body, as far as it was received.
    #[must_use]
    pub const fn body(&self) -> &[u8] {
        self.body
    }

    /// Everything that was sent and received.
    #[must_use]
    pub const fn capture(&self) -> &Capture {
        self.capture
    }

    /// Why it was allowed: rule, line, robots copy, preferences.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        self.decision
    }

    /// Links in document order; empty when it is no HTML page.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        self.extracted.map_or(&[], |page| &page.links)
    }

    /// What its head says, when it is an HTML page.
    #[must_use]
    pub fn head(&self) -> Option<&HeadFacts> {
        self.extracted.map(|page| &page.head)
    }

    /// Links away from a seed.
    #[must_use]
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    /// The page that linked here; `None` for a seed.
    #[must_use]
    pub const fn via(&self) -> Option<&CrawlUrl> {
        self.via
    }
}
