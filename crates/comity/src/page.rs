use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use comity_extract::{Charset, Link, Page as Extracted};
use comity_fetch::Fetcher;
use comity_frontier::UserData;
use comity_policy::{Capture, Decision};
use comity_signals::{HeadFacts, Preferences};
use comity_url::CrawlUrl;
use encoding_rs::{Encoding, UTF_8};
use serde::de::DeserializeOwned;

use crate::keep::Trip;

/// A page beside the one that its last visit found.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not seen before, or its last body was not whole.
    First,
    /// Another body, or another status.
    Changed,
    /// The same body, byte for byte in its content coding. Of an answer 304 handlers are not told.
    Unchanged,
}

/// A fetched page, as handlers see it. Owned, and cheap to clone: clones share what is there.
///
/// A page is held once: its body as it was received, coded, up to 1 MiB of it in memory and more in a file
/// (`fetch.spool_dir`, `fetch.spool_max`). Its links and head were read while it arrived. The decoded body exists only for
/// a handler that asks for it, and until the last clone of the page is dropped:
///
/// | asked for | memory | time |
/// |---|---|---|
/// | nothing, links, head, fields | none | none |
/// | [`Page::body`], [`Page::bytes`] of an uncoded body up to 1 MiB | none: shared with the capture | none |
/// | the same of any other body | its decoded length, `fetch.max_body` (10 MiB) at most | one more decoding, at the first call |
/// | [`Page::text`] | as before, and as much again where it is not UTF-8 | a decoding to characters, at every call |
/// | [`Page::read_body`] | 16 KiB and the coding's window | one more decoding, at every call |
///
/// Plain handlers ([`CrawlerBuilder::each_page`](crate::CrawlerBuilder::each_page)) run on the crawl's own threads, so that there
/// are as many decoded bodies at once as threads. Of asynchronous ones there are as many as may run at once
/// ([`CrawlerBuilder::handlers_at_once`](crate::CrawlerBuilder::handlers_at_once)). Reading a body above 1 MiB reads its file, and
/// blocks that thread meanwhile. A page that is kept beyond its handler keeps its body, in memory or in its file.
#[derive(Clone)]
pub struct Page(Arc<Inner>);

struct Inner {
    fetcher: Fetcher,
    capture: Capture,
    decision: Arc<Decision>,
    extracted: Option<Extracted>,
    trip: Trip,
    change: Change,
    /// Decoded when first asked for.
    body: OnceLock<Bytes>,
}

impl Page {
    pub(crate) fn new(
        fetcher: &Fetcher,
        capture: Capture,
        decision: &Arc<Decision>,
        extracted: Option<Extracted>,
        (trip, change): (&Trip, Change),
    ) -> Self {
        let (fetcher, decision, trip) = (fetcher.clone(), decision.clone(), trip.clone());
        Self(Arc::new(Inner { fetcher, capture, decision, extracted, trip, change, body: OnceLock::new() }))
    }

    /// Gives the capture back. Its head is copied only where somebody holds the page still; its body never is.
    pub(crate) fn into_capture(self) -> Capture {
        Arc::try_unwrap(self.0).map_or_else(|shared| shared.capture.clone(), |own| own.capture)
    }

    /// The URL that was judged and sent. A redirect is a URL of its own, so this is the final one.
    #[must_use]
    pub fn url(&self) -> &CrawlUrl {
        &self.0.capture.url
    }

    /// HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.0.capture.status.unwrap_or(0)
    }

    /// The first value of a response field, compared case-insensitively, if it is text.
    #[must_use]
    pub fn header<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.0.capture.field(name)
    }

    /// Response fields in wire order, names as received, values as bytes.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.capture.fields.iter().map(|(name, value)| (name.as_str(), &**value))
    }

    /// The decoded body, as far as it was received. Decoded when first asked for; see [`Page`] for what that costs.
    ///
    /// Empty, with an error in the log, when the file that holds it cannot be read: [`Page::read_body`] says so itself.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.decoded()
    }

    /// [`Page::body`], to keep beyond the page without a copy. It is held in memory for as long as that takes.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.decoded().clone()
    }

    /// The body as characters: in the charset of the page, else of its Content-Type, else UTF-8; a byte-order mark wins over all.
    /// What is no character is U+FFFD.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        let label = self.charset().map(|charset| charset.name).or_else(|| charset_of(self.header("content-type")?));
        let encoding = label.and_then(|label| Encoding::for_label(label.as_bytes())).unwrap_or(UTF_8);
        encoding.decode(self.body()).0
    }

    /// The body as JSON (RFC 8259: UTF-8), whatever it was served as.
    ///
    /// # Errors
    /// When it is none, or not of this shape.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        let body = self.body();
        serde_json::from_slice(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body))
    }

    /// Hands the decoded body on in pieces of some KiB: never whole in memory.
    ///
    /// # Errors
    /// When the file that holds it cannot be read.
    pub fn read_body(&self, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        self.0.fetcher.decode(&self.0.capture, &mut take).map(drop)
    }

    fn decoded(&self) -> &Bytes {
        self.0.body.get_or_init(|| {
            self.0.fetcher.decoded(&self.0.capture).unwrap_or_else(|error| {
                tracing::error!(%error, url = %self.url(), "the body of a page cannot be read back");
                Bytes::new()
            })
        })
    }

    /// Everything that was sent and received.
    #[must_use]
    pub fn capture(&self) -> &Capture {
        &self.0.capture
    }

    /// Why it was allowed: rule, line, robots copy, preferences.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        &self.0.decision
    }

    /// What the site says of the use of the page, per purpose, with where it says so.
    #[must_use]
    pub fn signals(&self) -> &Preferences {
        &self.0.decision.preferences
    }

    /// Links in document order, those of `Link` fields among them; empty for what has none, and for a sitemap or a feed.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        self.0.extracted.as_ref().map_or(&[], |page| &page.links)
    }

    /// What its head says: title, metas, canonical URL, licences. Without any of it for what is not HTML: plain text, a PDF, an image. `None`
    /// for a sitemap or a feed. What its response fields say too stands in [`Page::signals`].
    #[must_use]
    pub fn head(&self) -> Option<&HeadFacts> {
        self.0.extracted.as_ref().map(|page| &page.head)
    }

    /// Its title, when it is HTML that has one.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.head()?.title.as_deref()
    }

    /// Its charset, when it is an HTML page.
    #[must_use]
    pub fn charset(&self) -> Option<Charset> {
        self.0.extracted.as_ref().and_then(|page| page.charset)
    }

    /// Whether the page is another one than at its last visit; always [`Change::First`] where pages are visited once.
    #[must_use]
    pub fn change(&self) -> Change {
        self.0.change
    }

    /// Links away from a seed.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.0.trip.depth
    }

    /// Redirects in a row that led here.
    #[must_use]
    pub fn hops(&self) -> u8 {
        self.0.trip.hops
    }

    /// Requests of it so far, 1 for the first.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.trip.attempt
    }

    /// True when it was given as a seed, or a seed redirects to it.
    #[must_use]
    pub fn is_seed(&self) -> bool {
        self.0.trip.seed
    }

    /// The page that linked here; `None` for a seed.
    #[must_use]
    pub fn via(&self) -> Option<&CrawlUrl> {
        self.0.trip.via.as_ref()
    }

    /// What was kept with its URL ([`Enqueue::user_data`](crate::Enqueue::user_data)), read as a value; `None` when there is nothing.
    ///
    /// # Errors
    /// When it is not of this shape: what a queue holds may be older than the program that reads it.
    pub fn user_data<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        self.user_bytes().map(serde_json::from_slice).transpose()
    }

    /// What was kept with its URL, as bytes.
    #[must_use]
    pub fn user_bytes(&self) -> Option<&[u8]> {
        self.0.trip.user_data().map(UserData::as_bytes)
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").field("url", self.url()).field("status", &self.status()).finish_non_exhaustive()
    }
}

/// The charset parameter of a Content-Type (RFC 9110 §8.3.2).
fn charset_of(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charset_is_read_from_its_parameter() {
        let table = [
            ("text/plain; charset=latin1", Some("latin1")),
            ("text/plain;Charset=\"utf-16le\" ; x=y", Some("utf-16le")),
            ("text/plain; boundary=charset", None),
            ("charset=latin1", None),
            ("", None),
        ];
        for (field, expected) in table {
            assert_eq!(charset_of(field), expected, "{field}");
        }
    }
}
