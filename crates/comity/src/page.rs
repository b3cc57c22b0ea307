use std::io;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use comity_extract::{Charset, Link, Page as Extracted};
use comity_fetch::Fetcher;
use comity_policy::{Capture, Decision};
use comity_signals::HeadFacts;
use comity_url::CrawlUrl;

use crate::keep::Trip;

/// A page beside the one that its last visit found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not seen before, or its last body was not whole.
    First,
    /// Another body, or another status.
    Changed,
    /// The same body, byte for byte in its content coding. Of an answer 304 handlers are not told.
    Unchanged,
}

/// A fetched page, as handlers see it.
///
/// A page is held once: its body as it was received, coded, up to 1 MiB of it in memory and more in a file
/// (`fetch.spool_dir`, `fetch.spool_max`). Its links and head were read while it arrived. The decoded body exists only for
/// a handler that asks for it, and only until the handler returns:
///
/// | asked for | memory | time |
/// |---|---|---|
/// | nothing, links, head, fields | none | none |
/// | [`Page::body`], [`Page::body_bytes`] of an uncoded body up to 1 MiB | none: shared with the capture | none |
/// | the same of any other body | its decoded length, `fetch.max_body` (10 MiB) at most | one more decoding, at the first call |
/// | [`Page::read_body`] | 16 KiB and the coding's window | one more decoding, at every call |
///
/// Handlers run on the crawl's own threads, so that there are as many decoded bodies at once as threads, whatever the number
/// of pages under way. Reading a body above 1 MiB reads its file, and blocks that thread meanwhile.
#[derive(Debug)]
pub struct Page<'a> {
    fetcher: &'a Fetcher,
    capture: &'a Capture,
    decision: &'a Arc<Decision>,
    extracted: Option<&'a Extracted>,
    depth: u32,
    via: Option<&'a CrawlUrl>,
    change: Change,
    /// Decoded when first asked for.
    body: OnceLock<Bytes>,
}

impl<'a> Page<'a> {
    pub(crate) fn new(
        fetcher: &'a Fetcher,
        capture: &'a Capture,
        decision: &'a Arc<Decision>,
        extracted: Option<&'a Extracted>,
        (trip, change): (&'a Trip, Change),
    ) -> Self {
        let (depth, via) = (trip.depth, trip.via.as_ref());
        Self { fetcher, capture, decision, extracted, depth, via, change, body: OnceLock::new() }
    }
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

    /// The decoded body, as far as it was received. Decoded when first asked for; see [`Page`] for what that costs.
    ///
    /// Empty, with an error in the log, when the file that holds it cannot be read: [`Page::read_body`] says so itself.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.decoded()
    }

    /// [`Page::body`] to keep beyond the handler, or to hand to another thread, without a copy. It is held in memory for as
    /// long as that takes.
    #[must_use]
    pub fn body_bytes(&self) -> Bytes {
        self.decoded().clone()
    }

    /// Hands the decoded body on in pieces of some KiB: never whole in memory.
    ///
    /// # Errors
    /// When the file that holds it cannot be read.
    pub fn read_body(&self, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        self.fetcher.decode(self.capture, &mut take).map(drop)
    }

    fn decoded(&self) -> &Bytes {
        self.body.get_or_init(|| {
            self.fetcher.decoded(self.capture).unwrap_or_else(|error| {
                tracing::error!(%error, url = %self.capture.url, "the body of a page cannot be read back");
                Bytes::new()
            })
        })
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

    /// Its charset, when it is an HTML page.
    #[must_use]
    pub fn charset(&self) -> Option<Charset> {
        self.extracted.and_then(|page| page.charset)
    }

    /// Whether the page is another one than at its last visit; always [`Change::First`] where pages are visited once.
    #[must_use]
    pub const fn change(&self) -> Change {
        self.change
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
