//! Which charset a page is in, and what decided it.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use comity_url::{HostKind, Origin};
use encoding_rs::{Encoding, UTF_8};

use crate::prescan;

/// Bytes looked at for a declaration. Source: the HTML standard, "determining the character encoding".
pub(crate) const PRESCAN_BYTES: usize = 1024;
/// Bytes given to the detector. Our choice: it reads some 5 MB/s.
pub(crate) const DETECT_BYTES: usize = 64 * 1024;

/// The charset of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Charset {
    /// Its name in the Encoding standard: `UTF-8`, `windows-1252`.
    pub name: &'static str,
    /// What decided it.
    pub source: CharsetSource,
}

/// What decided a charset; the first that answers, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CharsetSource {
    /// A byte order mark.
    ByteOrderMark,
    /// The charset parameter of Content-Type.
    Header,
    /// A meta element in the first 1,024 bytes.
    Meta,
    /// The encoding of an XML declaration.
    XmlDeclaration,
    /// A detector, from the first 64 KiB and the top-level domain.
    Detector,
    /// Nothing: the first 64 KiB are ASCII, and UTF-8 is assumed (our choice: it is what undeclared
    /// pages of today use).
    Assumed,
}

/// What is known besides the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hints<'a> {
    pub(crate) header: Option<&'static Encoding>,
    pub(crate) origin: &'a Origin,
}

/// The answer for a prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Decided(&'static Encoding, CharsetSource),
    /// Ask again with this many bytes, or at the end of the page.
    More(usize),
}

/// Decides from a prefix of the page; `ended` says that the prefix is all of it. The answer depends on
/// the bytes of the page only, not on where a caller cut them.
pub(crate) fn decide(prefix: &[u8], ended: bool, hints: Hints<'_>) -> Answer {
    let has = |count: usize| ended || prefix.len() >= count;
    if !has(3) {
        return Answer::More(3);
    }
    if let Some((encoding, _)) = Encoding::for_bom(prefix) {
        return Answer::Decided(encoding, CharsetSource::ByteOrderMark);
    }
    if let Some(encoding) = hints.header {
        return Answer::Decided(encoding, CharsetSource::Header);
    }
    if !has(PRESCAN_BYTES) {
        return Answer::More(PRESCAN_BYTES);
    }
    if let Some((encoding, source)) = declared(cut(prefix, PRESCAN_BYTES)) {
        return Answer::Decided(encoding, source);
    }
    if !has(DETECT_BYTES) {
        return Answer::More(DETECT_BYTES);
    }
    detect(prefix, hints.origin)
}

fn declared(head: &[u8]) -> Option<(&'static Encoding, CharsetSource)> {
    let xml = || prescan::xml_encoding(head).map(|found| (found, CharsetSource::XmlDeclaration));
    prescan::meta_charset(head).map(|found| (found, CharsetSource::Meta)).or_else(xml)
}

fn detect(prefix: &[u8], origin: &Origin) -> Answer {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    let is_whole = prefix.len() < DETECT_BYTES;
    let prefix = cut(prefix, DETECT_BYTES);
    let beyond_ascii = detector.feed(prefix, is_whole);
    if !beyond_ascii && !prefix.contains(&0x1b) {
        return Answer::Decided(UTF_8, CharsetSource::Assumed);
    }
    let top_level = top_level_domain(origin);
    Answer::Decided(detector.guess(top_level, Utf8Detection::Allow), CharsetSource::Detector)
}

/// The last label of a name; hosts of URLs are lower-case ASCII, which the detector demands.
fn top_level_domain(origin: &Origin) -> Option<&[u8]> {
    let HostKind::Domain(name) = origin.host_kind() else { return None };
    let label = name.rsplit('.').next().filter(|label| !label.is_empty())?;
    let is_plain = label.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    is_plain.then_some(label.as_bytes())
}

fn cut(bytes: &[u8], len: usize) -> &[u8] {
    bytes.get(..len).unwrap_or(bytes)
}
