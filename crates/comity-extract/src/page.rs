//! Reading a page, chunk by chunk.

use std::fmt;

use comity_signals::HeadFacts;
use comity_url::CrawlUrl;
use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8};

use crate::charset::{self, Answer, Charset, CharsetSource, Hints};
use crate::collect::Collector;
use crate::content_type::{self, Declared};
use crate::embedded::Embedded;
use crate::html::{Tokenizer, Tree};
use crate::resolve::{self, Base};
use crate::{ContentKind, Link, Notes, PageLimits, PageOptions, Stopped};

/// Bytes decoded at once, at the most.
const BLOCK_BYTES: usize = 16 * 1024;
/// And at the least: what any one step of a decoder may write.
const LEAST_BLOCK_BYTES: usize = 64;

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
    /// Its links: those of `Link` fields, then those of the document in its order, repeated ones too.
    pub links: Vec<Link>,
    /// What its head says, raw.
    pub head: HeadFacts,
    /// What was left out.
    pub notes: Notes,
}

/// Reads one page: bytes in, after content decoding, in chunks cut anywhere; a [`Page`] out.
///
/// Nothing is an error: what cannot be read is left out and counted in [`Page::notes`]. The result depends
/// on the bytes alone, not on how they were cut. Memory is bounded by [`PageLimits`].
pub struct PageReader {
    url: CrawlUrl,
    declared: Declared,
    header: Option<&'static Encoding>,
    limits: PageLimits,
    tree: Tree,
    /// The start of the page until its charset is decided.
    head: Vec<u8>,
    /// Bytes of `head` with which to ask for the charset again.
    wanted: usize,
    decoding: Option<Decoding>,
    read: u64,
    /// Looks for metadata, in a document that may embed some.
    embedded: Option<Embedded>,
}

/// What works once the charset is known.
struct Decoding {
    encoding: &'static Encoding,
    source: CharsetSource,
    decoder: Decoder,
    /// As large as was needed so far.
    block: Vec<u8>,
    /// The page is UTF-8, and came in whole characters so far: what comes next may be read where it stands.
    is_whole: bool,
    tokenizer: Tokenizer,
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
        Self::with_options(url, content_type, limits, PageOptions::default())
    }

    /// The same, for a page that is to be read for more than its links.
    #[must_use]
    pub fn with_options(url: &CrawlUrl, content_type: Option<&str>, limits: PageLimits, options: PageOptions) -> Self {
        Self {
            url: url.clone(),
            declared: content_type::kind(content_type),
            header: content_type.and_then(content_type::charset),
            limits,
            tree: Tree::new(Collector::new(limits, options)),
            head: Vec::new(),
            wanted: 1,
            decoding: None,
            read: 0,
            embedded: Embedded::of(content_type),
        }
    }

    /// Takes the value of one `Link` field of the response, of any Content-Type; before or after the bytes. Its links
    /// come first on the page ([`LinkTag::Header`](crate::LinkTag::Header)); those with an `anchor` are other documents'
    /// and are left out (RFC 8288 §3.2).
    pub fn link_field(&mut self, value: &str) {
        self.tree.collector.link_field(value);
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if let Some(scan) = &mut self.embedded {
            scan.push(bytes);
        }
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

    /// What the head has said so far, without its title; later elements add to it.
    #[must_use]
    pub const fn head(&self) -> &HeadFacts {
        &self.tree.collector.head
    }

    /// True when the head is over as far as bytes came: an element or text was seen that belongs to no head, or this is no page of
    /// HTML and may embed nothing. Bytes that wait for the charset to be decided were not looked at yet.
    #[must_use]
    pub fn is_past_head(&self) -> bool {
        (self.is_no_page() && !self.may_embed()) || self.tree.collector.past_head
    }

    /// True for a document or image that may hold words about its use anywhere: they are known at its end, in [`Page::head`].
    #[must_use]
    pub const fn may_embed(&self) -> bool {
        self.embedded.is_some()
    }

    /// True when this is known to be no page of HTML, by its type or by its first byte: it has no head, and no meta follows.
    #[must_use]
    pub fn is_no_page(&self) -> bool {
        let is_other = self.decoding.as_ref().is_some_and(|decoding| decoding.sniff == Sniff::Other);
        self.declared == Declared::Other || is_other
    }

    /// Ends the page and resolves what was found.
    #[must_use]
    pub fn finish(mut self) -> Page {
        if self.declared != Declared::Other {
            self.start_when_decided(true);
            self.decode(&[], true);
        }
        let (charset, encoding, content) = self.close();
        let mut collector = self.tree.collector;
        collector.head.embedded = self.embedded.map(Embedded::finish).unwrap_or_default();
        collector.finish();
        let base_href = collector.base.as_deref().map(|href| crate::query::in_charset(href, encoding));
        let mut base = Base::of(&self.url, base_href.as_deref());
        let mut notes = collector.notes;
        let mut room = self.limits.url_bytes;
        // A Link field is resolved against the page itself (RFC 8288 §3.1), and is ASCII.
        let mut itself = Base::of(&self.url, None);
        let mut links = resolve::links(collector.of_fields, &mut itself, UTF_8, &mut room, &mut notes);
        links.extend(resolve::links(collector.found, &mut base, encoding, &mut room, &mut notes));
        Page { content, charset, base: base.as_str().to_owned(), links, head: collector.head, notes }
    }

    fn within_limit<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let room = usize::try_from(self.limits.bytes.saturating_sub(self.read)).unwrap_or(usize::MAX);
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.read = self.read.saturating_add(taken.len() as u64);
        if taken.len() < bytes.len() {
            self.tree.collector.notes.stop(Stopped::Bytes);
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
            block: Vec::new(),
            is_whole: false,
            tokenizer: Tokenizer::new(self.limits.memory),
            sniff: if is_html { Sniff::Html } else { Sniff::Pending },
        });
        let head = std::mem::take(&mut self.head);
        self.decode(&head, false);
    }

    fn decode(&mut self, mut bytes: &[u8], last: bool) {
        let Some(decoding) = &mut self.decoding else { return };
        loop {
            if decoding.sniff == Sniff::Other || decoding.take_as_it_is(bytes, &mut self.tree) {
                return;
            }
            let whole = bytes;
            let (result, read, written, replaced) = decoding.decode(bytes, last);
            bytes = bytes.get(read..).unwrap_or_default();
            decoding.take_decoded(written, &mut self.tree);
            decoding.is_whole = result == CoderResult::InputEmpty && decoding.is_utf8(whole);
            self.tree.collector.notes.replaced |= replaced && decoding.sniff == Sniff::Html;
            if result == CoderResult::InputEmpty {
                return;
            }
        }
    }

    /// Ends decoder and tokeniser; says what the page was.
    fn close(&mut self) -> (Option<Charset>, &'static Encoding, ContentKind) {
        let header = self.header.map(|encoding| Charset { name: encoding.name(), source: CharsetSource::Header });
        let Some(mut decoding) = self.decoding.take() else {
            return (header, self.header.unwrap_or(UTF_8), ContentKind::Other);
        };
        let content = match (self.declared, decoding.sniff) {
            (Declared::Html, _) => ContentKind::Html,
            (_, Sniff::Html) => ContentKind::Sniffed,
            _ => return (header, decoding.encoding, ContentKind::Other),
        };
        let (encoding, source) = (decoding.encoding, decoding.source);
        decoding.tokenizer.finish(&mut self.tree);
        (Some(Charset { name: encoding.name(), source }), encoding, content)
    }
}

impl fmt::Debug for PageReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageReader").field("url", &self.url).field("read", &self.read).finish_non_exhaustive()
    }
}

impl Decoding {
    /// Text, some bytes at least, that stands for itself, whatever came before: a mark at its start, which is none of the text, is
    /// whole.
    fn is_utf8(&self, bytes: &[u8]) -> bool {
        self.encoding == UTF_8 && !bytes.is_empty() && simdutf8::basic::from_utf8(bytes).is_ok()
    }

    /// Passes UTF-8 on without decoding it into anywhere. False when it has to be decoded.
    fn take_as_it_is(&mut self, bytes: &[u8], tree: &mut Tree) -> bool {
        let is_taken = self.is_whole && self.is_utf8(bytes);
        if is_taken {
            self.take(bytes, tree);
        }
        is_taken
    }

    /// Decodes the next bytes into the block, or as many of them as it holds.
    fn decode(&mut self, bytes: &[u8], last: bool) -> (CoderResult, usize, usize, bool) {
        let most = bytes.len().saturating_mul(3).clamp(LEAST_BLOCK_BYTES, BLOCK_BYTES);
        if self.block.len() < most {
            self.block.resize(most, 0);
        }
        self.decoder.decode_to_utf8(bytes, &mut self.block, last)
    }

    /// Passes on `written` bytes of the block.
    fn take_decoded(&mut self, written: usize, tree: &mut Tree) {
        let block = std::mem::take(&mut self.block);
        self.take(block.get(..written).unwrap_or_default(), tree);
        self.block = block;
    }

    fn take(&mut self, text: &[u8], tree: &mut Tree) {
        if self.sniff == Sniff::Pending {
            self.sniff = sniff(text);
        }
        if self.sniff == Sniff::Html {
            self.tokenizer.write(text, tree);
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

    fn read(page: &[u8], chunk_bytes: usize) -> Page {
        let url = CrawlUrl::parse("http://h.test/").unwrap();
        let mut reader = PageReader::new(&url, Some("text/html;charset=utf-8"), PageLimits::default());
        page.chunks(chunk_bytes).for_each(|chunk| reader.push(chunk));
        reader.finish()
    }

    #[test]
    fn the_tokeniser_finds_the_same_in_chunks_of_any_size() {
        let whole = read(PAGE.as_bytes(), PAGE.len());
        let paths: Vec<_> = whole.links.iter().map(|link| link.url.request_target()).collect();
        assert_eq!(paths, ["/b/x?a&b=%C3%A9", "/b/n.png", "/b/in", "/b/s", "/b/r", "/b/last"]);
        for chunk_bytes in 1..PAGE.len() {
            assert_eq!(read(PAGE.as_bytes(), chunk_bytes), whole, "chunks of {chunk_bytes} bytes");
        }
    }

    #[test]
    fn utf8_is_read_where_it_stands_as_it_would_be_decoded() {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        let ends: [&[u8]; 6] = [b"", b"\xe2\x82\xac", b"\xe2\x82", b"\xff", b"\xf0\x9f\x98\x80", MARK];
        for (start, middle, end) in [b"".as_slice(), MARK, &MARK[..2]].into_iter().flat_map(|start| {
            ends.into_iter().flat_map(move |middle| ends.into_iter().map(move |end| (start, middle, end)))
        }) {
            let page = [start, b"<a href=1", middle, b">", middle, b"</a><a href=2>", end].concat();
            let (text, _) = UTF_8.decode_with_bom_removal(&page);
            let expected = read(text.as_bytes(), text.len());
            for chunk_bytes in 1..=page.len() {
                let found = read(&page, chunk_bytes);
                assert_eq!(found.links, expected.links, "{page:?} in chunks of {chunk_bytes} bytes");
                assert_eq!(found.notes.replaced, std::str::from_utf8(&page).is_err(), "{page:?}, {chunk_bytes}");
            }
        }
    }

    #[test]
    fn a_reader_may_move_between_threads() {
        fn is_send<T: Send>() {}
        is_send::<PageReader>();
        is_send::<Page>();
    }
}
