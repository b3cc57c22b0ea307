//! Sitemaps and feeds: lists of locations, read chunk by chunk.

mod elements;
mod entries;
mod entry;
mod json;
mod limits;
mod notes;
mod reference;
mod text;
mod unpack;
mod xml;

use std::fmt;

use comity_url::CrawlUrl;
use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8};

use self::entries::Entries;
use self::text::Text;
use self::unpack::Unpack;
use self::xml::Xml;
use crate::{content_type, prescan};

pub use self::entry::{Alternate, ChangeFreq, EntryKind, LastMod, Media, MediaKind, SitemapEntry, SitemapPriority};
pub use self::limits::SitemapLimits;
pub use self::notes::{BrokenFile, SitemapNotes, SitemapStop};

/// What a sitemap or feed lists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sitemap {
    /// What the file is.
    pub format: SitemapFormat,
    /// Its entries in document order, repeated ones too.
    pub entries: Vec<SitemapEntry>,
    /// What was left out or read leniently.
    pub notes: SitemapNotes,
}

/// What a file is: told by its content alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SitemapFormat {
    /// `urlset` (sitemaps.org).
    UrlSet,
    /// `sitemapindex` (sitemaps.org).
    Index,
    /// A list of URLs, one a line.
    Text,
    /// RSS 0.9x and 2.0.
    Rss,
    /// RSS 1.0.
    Rdf,
    /// Atom 0.3 and 1.0.
    Atom,
    /// JSON Feed.
    JsonFeed,
    /// A page. It may say whatever it likes about sitemaps: it is none.
    Html,
    /// None of these.
    Unknown,
}

impl SitemapFormat {
    /// Its name for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UrlSet => "sitemap",
            Self::Index => "sitemap index",
            Self::Text => "list of URLs",
            Self::Rss => "RSS 2.0",
            Self::Rdf => "RSS 1.0",
            Self::Atom => "Atom",
            Self::JsonFeed => "JSON Feed",
            Self::Html => "HTML page",
            Self::Unknown => "no sitemap or feed",
        }
    }

    /// Whether it is a sitemap or feed at all.
    #[must_use]
    pub const fn is_known(self) -> bool {
        !matches!(self, Self::Html | Self::Unknown)
    }

    const fn if_so(self, is_so: bool) -> Self {
        if is_so { self } else { Self::Unknown }
    }

    fn of_root(local: &str) -> Self {
        match local {
            "urlset" => Self::UrlSet,
            "sitemapindex" => Self::Index,
            "rss" => Self::Rss,
            "RDF" => Self::Rdf,
            "feed" => Self::Atom,
            _ if local.eq_ignore_ascii_case("html") => Self::Html,
            _ => Self::Unknown,
        }
    }
}

impl Sitemap {
    /// Whether something may be lost which a whole copy would give: another try may bring it.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.notes.is_damaged()
    }
}

/// Reads one sitemap or feed: bytes in, after content decoding, in chunks cut anywhere; a [`Sitemap`] out.
///
/// XML sitemaps and indexes with any namespace or prefix, lists of URLs, RSS, Atom and JSON Feed, each also packed with
/// gzip. What a file is, is told by its content: media types and names lie. Nothing is an error: a flaw costs the entry it
/// stands in at most, and is counted in [`Sitemap::notes`]. The result depends on the bytes alone, not on how they were
/// cut. No entity but the five of XML is ever resolved, and nothing is fetched. Memory is bounded by [`SitemapLimits`].
///
/// ```
/// use comity_extract::{EntryKind, SitemapFormat, SitemapLimits, SitemapReader};
/// use comity_url::CrawlUrl;
///
/// let url = CrawlUrl::parse("https://example.com/sitemap.xml")?;
/// let mut reader = SitemapReader::new(&url, Some("application/xml"), SitemapLimits::default());
/// reader.push(b"<urlset><url><loc>/a?b=1&c=2</loc><lastmod>2026-11-30</las");
/// reader.push(b"tmod></url></urlset>");
/// let sitemap = reader.finish();
///
/// assert_eq!(sitemap.format, SitemapFormat::UrlSet);
/// let entry = &sitemap.entries[0];
/// assert_eq!((entry.loc.as_str(), entry.kind), ("https://example.com/a?b=1&c=2", EntryKind::Url));
/// assert_eq!(entry.lastmod.as_ref().map(|date| &*date.text), Some("2026-11-30"));
/// assert_eq!(sitemap.notes.odd_references, 1);
/// # Ok::<(), comity_url::UrlError>(())
/// ```
pub struct SitemapReader {
    unpack: Unpack,
    inner: Inner,
}

/// What works on unpacked bytes.
struct Inner {
    header: Option<&'static Encoding>,
    read: u64,
    /// The start of the file until its charset is decided.
    head: Vec<u8>,
    decoder: Option<Decoder>,
    scratch: String,
    syntax: Syntax,
    out: Entries,
}

/// What the file is written in.
enum Syntax {
    /// Only white space so far.
    Undecided,
    Xml(Box<Xml>),
    Json(String),
    Text(Text),
    /// Longer than feeds in JSON may be.
    TooLong,
}

/// Bytes looked at for a byte order mark and an XML declaration.
const HEAD_BYTES: usize = 1024;

impl SitemapReader {
    /// A reader for the file at `url`, the one the answer came from, after redirects. Of `content_type`, the header's
    /// value, only the charset counts.
    #[must_use]
    pub fn new(url: &CrawlUrl, content_type: Option<&str>, limits: SitemapLimits) -> Self {
        let inner = Inner {
            header: content_type.and_then(content_type::charset),
            read: 0,
            head: Vec::new(),
            decoder: None,
            scratch: String::new(),
            syntax: Syntax::Undecided,
            out: Entries::new(url.clone(), limits),
        };
        Self { unpack: Unpack::new(), inner }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let inner = &mut self.inner;
        self.unpack.push(bytes, &mut |unpacked| inner.push(unpacked));
    }

    /// Ends the file.
    #[must_use]
    pub fn finish(self) -> Sitemap {
        let Self { unpack, mut inner } = self;
        let is_whole = unpack.finish(&mut |unpacked| inner.push(unpacked));
        // A file that was cut at our own bound is not broken.
        if !is_whole && inner.out.notes.stopped.is_none() {
            inner.out.notes.broken = Some(BrokenFile::Gzip);
        }
        inner.finish()
    }
}

impl Inner {
    /// False when no more is wanted.
    fn push(&mut self, bytes: &[u8]) -> bool {
        let room = usize::try_from(self.out.limits.bytes.saturating_sub(self.read)).unwrap_or(usize::MAX);
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.read = self.read.saturating_add(taken.len() as u64);
        let is_cut = taken.len() < bytes.len();
        if self.decoder.is_none() {
            self.head.extend_from_slice(taken);
            if self.head.len() >= HEAD_BYTES {
                self.start();
            }
        } else {
            self.decode(taken, false);
        }
        if is_cut {
            self.out.notes.stop(SitemapStop::Bytes);
        }
        !is_cut
    }

    /// Decides the charset: byte order mark, header, XML declaration, UTF-8.
    fn start(&mut self) {
        let head = std::mem::take(&mut self.head);
        let looked_at = head.get(..HEAD_BYTES).unwrap_or(&head);
        let marked = Encoding::for_bom(&head).map(|(encoding, _)| encoding);
        let encoding = marked.or(self.header).or_else(|| prescan::xml_encoding(looked_at)).unwrap_or(UTF_8);
        self.decoder = Some(encoding.new_decoder_with_bom_removal());
        self.decode(&head, false);
    }

    fn decode(&mut self, mut bytes: &[u8], last: bool) {
        loop {
            let Some(decoder) = &mut self.decoder else { return };
            let mut text = std::mem::take(&mut self.scratch);
            text.clear();
            text.reserve(SCRATCH);
            let (result, read, replaced) = decoder.decode_to_string(bytes, &mut text, last);
            bytes = bytes.get(read..).unwrap_or_default();
            self.out.notes.replaced |= replaced;
            self.text(&text);
            self.scratch = text;
            if result == CoderResult::InputEmpty {
                return;
            }
        }
    }

    fn text(&mut self, text: &str) {
        let mut text = text;
        if matches!(self.syntax, Syntax::Undecided) {
            text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}' || c == '\0');
            self.syntax = match text.chars().next() {
                None => return,
                Some('<') => Syntax::Xml(Box::default()),
                Some('{') => Syntax::Json(String::new()),
                Some(_) => Syntax::Text(Text::default()),
            };
        }
        match &mut self.syntax {
            Syntax::Undecided | Syntax::TooLong => {}
            Syntax::Xml(xml) => xml.push(text, &mut self.out),
            Syntax::Text(list) => list.push(text, &mut self.out),
            Syntax::Json(held) => {
                held.push_str(text);
                if held.len() > self.out.limits.json_bytes {
                    self.out.notes.stop(SitemapStop::Bytes);
                    self.syntax = Syntax::TooLong;
                }
            }
        }
    }

    fn finish(mut self) -> Sitemap {
        if self.decoder.is_none() {
            self.start();
        }
        self.decode(&[], true);
        let Self { syntax, mut out, .. } = self;
        let format = match syntax {
            Syntax::Undecided | Syntax::TooLong => SitemapFormat::Unknown,
            Syntax::Xml(xml) => xml.finish(&mut out).format().unwrap_or(SitemapFormat::Unknown),
            Syntax::Json(text) => SitemapFormat::JsonFeed.if_so(json::read(&text, &mut out)),
            Syntax::Text(list) => SitemapFormat::Text.if_so(list.finish(&mut out)),
        };
        let Entries { mut list, mut notes, .. } = out;
        if !format.is_known() {
            // What is no sitemap has no flaws as one.
            (list, notes) =
                (Vec::new(), SitemapNotes { stopped: notes.stopped, broken: notes.broken, ..SitemapNotes::default() });
        }
        Sitemap { format, entries: list, notes }
    }
}

/// Room for decoded text at once.
const SCRATCH: usize = 16 * 1024;

impl fmt::Debug for SitemapReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (url, read) = (&self.inner.out.base, self.inner.read);
        f.debug_struct("SitemapReader").field("url", url).field("read", &read).finish_non_exhaustive()
    }
}
