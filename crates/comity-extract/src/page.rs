//! Reading a page, chunk by chunk.

use std::fmt;

use comity_signals::HeadFacts;
use comity_url::CrawlUrl;
use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8};

use crate::charset::{self, Answer, Charset, CharsetSource, Hints};
use crate::content_type::{self, Declared};
use crate::markup::{Markup, Shared};
use crate::resolve::{self, Base};
use crate::{ContentKind, Link, Notes, PageLimits, Stopped};

/// The tokeniser gets the page in blocks of this many bytes, wherever the caller cut it: so what is found,
/// and whether a limit is met, depends on the page alone.
const BLOCK_BYTES: usize = 16 * 1024;

/// What was found on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// Whether it was read as HTML.
    pub content: ContentKind,
    /// Its charset; `None` where nothing says it and the content was not read.
    pub charset: Option<Charset>,
    /// What its references were resolved against: the first `base[href]`, else the page's own URL.
    pub base: String,
    /// Its links in document order, repeated ones too.
    pub links: Vec<Link>,
    /// What its head says, raw.
    pub head: HeadFacts,
    /// What was left out.
    pub notes: Notes,
}

/// Reads one page: bytes in, after content decoding, in chunks cut anywhere; a [`Page`] out.
///
/// Nothing is an error: what cannot be read is left out and counted in [`Page::notes`]. The result depends
/// on the bytes alone, not on how they were cut. Some 100 MB/s; memory is bounded by [`PageLimits`].
pub struct PageReader {
    url: CrawlUrl,
    declared: Declared,
    header: Option<&'static Encoding>,
    limits: PageLimits,
    shared: Shared,
    /// The start of the page until its charset is decided.
    head: Vec<u8>,
    /// Bytes of `head` with which to ask for the charset again.
    wanted: usize,
    decoding: Option<Decoding>,
    read: u64,
    block_bytes: usize,
}

/// What works once the charset is known.
struct Decoding {
    encoding: &'static Encoding,
    source: CharsetSource,
    decoder: Decoder,
    scratch: Box<[u8; 8192]>,
    block: Vec<u8>,
    /// `None` before a sniff, and for good when the page turned out not to be HTML.
    markup: Option<Markup>,
    sniff: Sniff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sniff {
    Pending,
    Html,
    Other,
}

impl PageReader {
    /// A reader for the page at `url`, the one the response came from, after redirects. `content_type` is
    /// the header's value; `text/html` and `application/xhtml+xml` are read, without a usable one what
    /// starts with `<`, other types give an empty page.
    #[must_use]
    pub fn new(url: &CrawlUrl, content_type: Option<&str>, limits: PageLimits) -> Self {
        Self {
            url: url.clone(),
            declared: content_type::kind(content_type),
            header: content_type.and_then(content_type::charset),
            limits,
            shared: Shared::new(limits),
            head: Vec::new(),
            wanted: 1,
            decoding: None,
            read: 0,
            block_bytes: BLOCK_BYTES,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.declared == Declared::Other {
            return;
        }
        let mut bytes = self.within_limit(bytes);
        while self.decoding.is_none() && !bytes.is_empty() {
            let missing = self.wanted.saturating_sub(self.head.len());
            let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
            self.head.extend_from_slice(taken);
            bytes = rest;
            if self.head.len() >= self.wanted {
                self.start_when_decided(false);
            }
        }
        self.decode(bytes, false);
    }

    /// Ends the page and resolves what was found.
    #[must_use]
    pub fn finish(mut self) -> Page {
        if self.declared != Declared::Other {
            self.start_when_decided(true);
            self.decode(&[], true);
        }
        let (charset, encoding, content) = self.close();
        let mut collector = std::mem::take(&mut *self.shared.lock());
        collector.finish();
        let base_href = collector.base.as_deref().map(|href| crate::query::in_charset(href, encoding));
        let mut base = Base::of(&self.url, base_href.as_deref());
        let mut notes = collector.notes;
        let links = resolve::links(collector.found, &mut base, encoding, self.limits.url_bytes, &mut notes);
        Page { content, charset, base: base.as_str().to_owned(), links, head: collector.head, notes }
    }

    fn within_limit<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let room = usize::try_from(self.limits.bytes.saturating_sub(self.read)).unwrap_or(usize::MAX);
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.read = self.read.saturating_add(taken.len() as u64);
        if taken.len() < bytes.len() {
            self.shared.lock().notes.stop(Stopped::Bytes);
        }
        taken
    }

    fn start_when_decided(&mut self, ended: bool) {
        if self.decoding.is_some() {
            return;
        }
        let hints = Hints { header: self.header, origin: self.url.origin() };
        match charset::decide(&self.head, ended, hints) {
            Answer::More(wanted) => self.wanted = wanted,
            Answer::Decided(encoding, source) => self.start(encoding, source),
        }
    }

    fn start(&mut self, encoding: &'static Encoding, source: CharsetSource) {
        let is_html = self.declared == Declared::Html;
        self.decoding = Some(Decoding {
            encoding,
            source,
            decoder: encoding.new_decoder_with_bom_removal(),
            scratch: Box::new([0; 8192]),
            block: Vec::with_capacity(self.block_bytes),
            markup: is_html.then(|| Markup::new(self.shared.clone(), self.limits)),
            sniff: if is_html { Sniff::Html } else { Sniff::Pending },
        });
        let head = std::mem::take(&mut self.head);
        self.decode(&head, false);
    }

    fn decode(&mut self, mut bytes: &[u8], last: bool) {
        let Some(decoding) = &mut self.decoding else { return };
        loop {
            if decoding.sniff == Sniff::Other {
                return;
            }
            let (result, read, written, replaced) =
                decoding.decoder.decode_to_utf8(bytes, decoding.scratch.as_mut_slice(), last);
            bytes = bytes.get(read..).unwrap_or_default();
            if replaced {
                self.shared.lock().notes.replaced = true;
            }
            decoding.take(written, self.block_bytes, &self.shared, self.limits);
            if result == CoderResult::InputEmpty {
                return;
            }
        }
    }

    /// Ends decoder and tokeniser; says what the page was.
    fn close(&mut self) -> (Option<Charset>, &'static Encoding, ContentKind) {
        let header = self.header.map(|encoding| Charset { name: encoding.name(), source: CharsetSource::Header });
        let Some(decoding) = self.decoding.take() else {
            return (header, self.header.unwrap_or(UTF_8), ContentKind::Other);
        };
        let content = match (self.declared, decoding.sniff) {
            (Declared::Html, _) => ContentKind::Html,
            (_, Sniff::Html) => ContentKind::Sniffed,
            _ => return (header, decoding.encoding, ContentKind::Other),
        };
        let (encoding, source) = (decoding.encoding, decoding.source);
        decoding.finish();
        (Some(Charset { name: encoding.name(), source }), encoding, content)
    }
}

impl fmt::Debug for PageReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageReader").field("url", &self.url).field("read", &self.read).finish_non_exhaustive()
    }
}

impl Decoding {
    /// Passes on `written` bytes of decoded text, in whole blocks.
    fn take(&mut self, written: usize, block_bytes: usize, shared: &Shared, limits: PageLimits) {
        let text = self.scratch.get(..written).unwrap_or_default();
        if self.sniff == Sniff::Pending {
            self.sniff = sniff(text);
            if self.sniff == Sniff::Html {
                self.markup = Some(Markup::new(shared.clone(), limits));
            }
        }
        let Some(markup) = &mut self.markup else { return };
        let mut rest = text;
        while !rest.is_empty() {
            let room = block_bytes.saturating_sub(self.block.len()).max(1);
            let (taken, behind) = rest.split_at(room.min(rest.len()));
            self.block.extend_from_slice(taken);
            rest = behind;
            if self.block.len() >= block_bytes {
                markup.write(&self.block);
                self.block.clear();
            }
        }
    }

    fn finish(self) {
        if let Some(mut markup) = self.markup {
            markup.write(&self.block);
            markup.finish();
        }
    }
}

/// Leading white space decides nothing, and need not be kept: it holds no markup.
fn sniff(text: &[u8]) -> Sniff {
    match text.trim_ascii_start().first() {
        None => Sniff::Pending,
        Some(b'<') => Sniff::Html,
        Some(_) => Sniff::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<!doctype html><html lang=de><title>Ein &ouml; </title><!-- <a href=no> --><base href='/b/'>\
        <a\nhref = \"x?a&amp;b=\u{e9}\" rel=nofollow>\u{e9}</a><noscript><img src=n.png><a href=in>x</a></noscript>\
        <template><a href=no><noscript><a href=no></noscript></template><script>'<a href=no>'</script>\
        <svg><a xlink:href=s /></svg><meta content='5; url=r' http-equiv=refresh><a href=last>";

    fn read(block_bytes: usize) -> Page {
        let url = CrawlUrl::parse("http://h.test/").unwrap();
        let mut reader = PageReader::new(&url, Some("text/html;charset=utf-8"), PageLimits::default());
        reader.block_bytes = block_bytes;
        reader.push(PAGE.as_bytes());
        reader.finish()
    }

    #[test]
    fn the_tokeniser_finds_the_same_in_blocks_of_any_size() {
        let whole = read(BLOCK_BYTES);
        let paths: Vec<_> = whole.links.iter().map(|link| link.url.request_target()).collect();
        assert_eq!(paths, ["/b/x?a&b=%C3%A9", "/b/n.png", "/b/in", "/b/s", "/b/r", "/b/last"]);
        for block_bytes in 1..PAGE.len() {
            assert_eq!(read(block_bytes), whole, "blocks of {block_bytes} bytes");
        }
    }

    #[test]
    fn a_reader_may_move_between_threads() {
        fn is_send<T: Send>() {}
        is_send::<PageReader>();
        is_send::<Page>();
    }
}
