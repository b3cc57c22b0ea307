//! Rights in the package document of an EPUB: `tdm:reservation` and `tdm:policy` (TDMRep, 10 May 2024; signals reference §6.2).
//!
//! An EPUB is a ZIP file, whose list of members stands at its end. The bytes come from the front, so members are found by their
//! own heads; only those named `*.opf` are inflated. One pass, bounded.

use std::io::Read as _;

use comity_signals::EmbeddedFacts;
use flate2::bufread::DeflateDecoder;
use memchr::memmem;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::held::Held;
use crate::xmp::character;

/// How the head of a member begins, its bytes before the name, and how long a name is looked at.
const HEAD: &[u8] = b"PK\x03\x04";
const HEAD_BYTES: usize = 30;
const MAX_NAME: usize = 1024;
/// Bytes of a package document, packed and not, that are read (our choice: a book of a thousand chapters takes a tenth), and of all.
const MAX_PACKED: usize = 512 * 1024;
const MAX_TEXT: usize = 2 << 20;
const MAX_TEXT_OF_ALL: usize = 8 << 20;
/// Package documents of a book that are read: one for each rendition, and by far more than any book has.
const MAX_DOCUMENTS: usize = 64;
const MAX_VALUE: usize = EmbeddedFacts::MAX_VALUE_BYTES;

/// Looks for package documents in bytes that come in pieces.
#[derive(Debug, Default)]
pub(crate) struct EpubScan {
    /// What was not looked at yet; within a document all of it.
    pub(crate) held: Held,
    within: Option<Packing>,
    documents: usize,
    /// Bytes of documents that were read, unpacked.
    text: usize,
    facts: EmbeddedFacts,
}

/// How a member is packed.
#[derive(Clone, Copy, Debug)]
enum Packing {
    /// So many bytes as they are.
    Stored(usize),
    /// As they are, and how many is said behind them.
    Streamed,
    Deflated,
}

impl Packing {
    fn wanted(self) -> usize {
        match self {
            Self::Stored(bytes) => bytes.min(MAX_PACKED),
            Self::Streamed | Self::Deflated => MAX_PACKED,
        }
    }
}

impl EpubScan {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.has_room() {
            self.held.take(bytes);
            while self.has_room() && self.step(false) {}
        }
    }

    fn has_room(&self) -> bool {
        self.documents < MAX_DOCUMENTS && self.text < MAX_TEXT_OF_ALL
    }

    /// What was found.
    pub(crate) fn finish(mut self) -> EmbeddedFacts {
        while self.has_room() && self.step(true) {}
        self.facts
    }

    /// True when there may be more to find in what is held.
    fn step(&mut self, ended: bool) -> bool {
        let Some(packing) = self.within else { return self.seek() };
        if self.held.rest().len() < packing.wanted() && !ended {
            return false;
        }
        let read = self.read(packing);
        self.held.pass(read);
        self.within = None;
        self.documents += 1;
        true
    }

    /// Goes on to the next member; true when one that matters begins, or this one does not.
    fn seek(&mut self) -> bool {
        let found = self.held.find(0, HEAD);
        self.held.pass(found.unwrap_or_else(|| self.held.rest().len().saturating_sub(HEAD.len() - 1)));
        let rest = self.held.rest();
        let number = |at: usize| rest.get(at..at + 2).map(|two| usize::from(u16::from_le_bytes([two[0], two[1]])));
        let (Some(_), Some(name), Some(extra)) = (found, number(26), number(28)) else { return false };
        let name_is_short = name <= MAX_NAME;
        let begin = HEAD_BYTES + name + extra;
        if name_is_short && rest.len() < begin {
            return false;
        }
        let is_document = rest.get(HEAD_BYTES..HEAD_BYTES + name).is_some_and(|name| {
            let end = name.len().checked_sub(4).and_then(|at| name.get(at..));
            end.is_some_and(|end| end.eq_ignore_ascii_case(b".opf"))
        });
        let packed =
            rest.get(18..22).map_or(0, |four| four.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte)));
        let packing = match number(8) {
            Some(0) if packed > 0 => Some(Packing::Stored(packed)),
            Some(0) if number(6).is_some_and(|flags| flags & 8 != 0) => Some(Packing::Streamed),
            Some(8) => Some(Packing::Deflated),
            _ => None,
        };
        self.within = packing.filter(|_| is_document && name_is_short);
        self.held.pass(if self.within.is_some() { begin } else { HEAD.len() });
        true
    }

    /// Reads the document; gives how many bytes of it were packed.
    fn read(&mut self, packing: Packing) -> usize {
        let rest = self.held.rest();
        let packed = rest.get(..packing.wanted()).unwrap_or(rest);
        let (mut text, read) = (Vec::new(), packed.len());
        let read = match packing {
            Packing::Stored(_) => {
                text.extend_from_slice(packed);
                read
            }
            Packing::Streamed => {
                // Up to the next mark of the format: of XML none is part.
                let is_mark =
                    |at: &usize| packed.get(at + 2..at + 4).is_some_and(|two| two.iter().all(|byte| *byte <= 8));
                let end = memmem::find_iter(packed, b"PK").find(is_mark).unwrap_or(read);
                text.extend_from_slice(packed.get(..end).unwrap_or(packed));
                end
            }
            Packing::Deflated => {
                let mut inflating = DeflateDecoder::new(packed).take(MAX_TEXT as u64);
                // Broken, or cut: what came is what there is.
                drop(inflating.read_to_end(&mut text));
                usize::try_from(inflating.into_inner().total_in()).unwrap_or(read).clamp(1, read.max(1))
            }
        };
        self.text += text.len();
        // UTF-16 has its mark (XML 1.0 §4.3.3).
        let (text, ..) = encoding_rs::UTF_8.decode(&text);
        properties(&text, &mut self.facts);
        read
    }
}

/// Reads until the end or the first fault. EPUB 2 writes `<meta name=… content=…/>`, EPUB 3 `<meta property=…>value</meta>`.
fn properties(text: &str, facts: &mut EmbeddedFacts) {
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut open: Option<(bool, String)> = None;
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(start) if start.local_name().into_inner() == "meta" => {
                open = meta(&start, facts).map(|is_policy| (is_policy, String::new()));
            }
            Event::Text(words) => add_text(open.as_mut(), &words.xml10_content()),
            Event::CData(words) => add_text(open.as_mut(), &words.xml10_content()),
            Event::GeneralRef(named) => add_text(open.as_mut(), character(&named).encode_utf8(&mut [0; 4])),
            Event::End(_) => {
                if let Some((is_policy, value)) = open.take() {
                    add(facts, is_policy, &value);
                }
            }
            Event::DocType(_) | Event::Eof => return,
            _ => {}
        }
    }
}

fn add_text(open: Option<&mut (bool, String)>, words: &str) {
    if let Some((_, value)) = open {
        let room = MAX_VALUE.saturating_sub(value.len());
        value.push_str(words.get(..words.floor_char_boundary(room)).unwrap_or_default());
    }
}

/// One element; whether its text is a policy, where that is the value of a property of ours.
fn meta(start: &BytesStart<'_>, facts: &mut EmbeddedFacts) -> Option<bool> {
    let value = |name: &str| {
        let attribute = start.try_get_attribute(name).ok().flatten()?;
        attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0).ok().map(|value| value.trim().to_owned())
    };
    let is_policy = |name: String| match name.as_str() {
        "tdm:reservation" => Some(false),
        "tdm:policy" => Some(true),
        _ => None,
    };
    if let (Some(is_policy), Some(content)) = (value("name").and_then(is_policy), value("content")) {
        add(facts, is_policy, &content);
    }
    value("property").and_then(is_policy)
}

fn add(facts: &mut EmbeddedFacts, is_policy: bool, value: &str) {
    if is_policy { facts.add_policy(value) } else { facts.add_reservation(value) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn member(name: &str, text: &[u8], packing: u16) -> Vec<u8> {
        let packed = if packing == 8 {
            let mut to = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            to.write_all(text).unwrap();
            to.finish().unwrap()
        } else {
            text.to_vec()
        };
        // As streaming writers do, the sizes of what is deflated stand behind it.
        let size = if packing == 8 { 0 } else { u32::try_from(packed.len()).unwrap() };
        let mut bytes = HEAD.to_vec();
        bytes.extend_from_slice(&[20, 0, 0, 0]);
        bytes.extend_from_slice(&packing.to_le_bytes());
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&u16::try_from(name.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(&3u16.to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b"abc");
        bytes.extend_from_slice(&packed);
        bytes
    }

    fn book(opf: &str, packing: u16) -> Vec<u8> {
        let first = member("mimetype", b"application/epub+zip", 0);
        let chapter = member("OEBPS/1.xhtml", b"<meta name=\"tdm:reservation\" content=\"0\"/>", 8);
        [first, chapter, member("OEBPS/Book.OPF", opf.as_bytes(), packing), member("z.css", b"PK\x03\x04", 8)].concat()
    }

    /// The size of the document stands behind it.
    fn streamed(opf: &str) -> Vec<u8> {
        let mut bytes = member("b.opf", opf.as_bytes(), 0);
        bytes[6] = 8;
        bytes[18..22].fill(0);
        let chapter = member("1.xhtml", b"<meta name=\"tdm:reservation\" content=\"0\"/>", 0);
        [bytes, b"PK\x07\x08".to_vec(), vec![0; 12], chapter].concat()
    }

    fn utf_16(opf: &str) -> Vec<u8> {
        let text: Vec<u8> = std::iter::once(0xfeff).chain(opf.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        member("b.opf", &text, 8)
    }

    fn scanned(bytes: &[u8], len: usize) -> EmbeddedFacts {
        let mut scan = EpubScan::default();
        bytes.chunks(len).for_each(|piece| scan.push(piece));
        scan.finish()
    }

    #[test]
    fn both_editions_are_read_however_they_are_packed() {
        let rows: [(&str, &[&str], &[&str]); 8] = [
            ("<meta name=\"tdm:reservation\" content=\"1\"/><meta name='tdm:policy' content='/p'/>", &["1"], &["/p"]),
            ("<meta property=\"tdm:reservation\">1</meta><meta property=\"tdm:policy\">/p</meta>", &["1"], &["/p"]),
            ("<meta property=\"dcterms:modified\">1</meta><meta name=\"cover\" content=\"1\"/>", &[], &[]),
            ("<meta property=\"tdm:reservation\">0</meta><open>", &["0"], &[]),
            ("<meta property=\"tdm:reservation\"><![CDATA[1]]></meta>", &["1"], &[]),
            ("<meta property=\"tdm:reservation\">&#49;</meta>", &["1"], &[]),
            ("<meta property=\"tdm:policy\">/p?a&amp;b</meta>", &[], &["/p?a&b"]),
            ("<!DOCTYPE x [<!ENTITY a \"1\">]><meta property=\"tdm:reservation\">1</meta>", &[], &[]),
        ];
        for (said, reservation, policy) in rows {
            let opf = format!("{said}<!-- {} -->", "x".repeat(3000));
            for (packing, bytes) in [book(&opf, 0), book(&opf, 8), streamed(&opf), utf_16(&opf)].into_iter().enumerate()
            {
                for len in [1, 3, 29, 64, 1 << 20] {
                    let found = scanned(&bytes, len);
                    assert_eq!(found.tdm_reservation, reservation, "{said}, packed {packing}, in pieces of {len}");
                    assert_eq!(found.tdm_policy, policy, "{said}, packed {packing}, in pieces of {len}");
                }
            }
        }
    }

    #[test]
    fn no_denial_is_crowded_out() {
        let said = |value: &str| format!("<meta property=\"tdm:reservation\">{value}</meta>");
        let others: String = (2..40).map(|n| said(&n.to_string())).collect();
        let rows = [
            ("behind zeros", book(&format!("{}{}", said("0").repeat(100), said("1")), 8)),
            ("behind what is neither", book(&format!("{others}{}", said("1")), 8)),
            ("of another rendition", [book(&said("0"), 8).repeat(30), book(&said("1"), 8)].concat()),
        ];
        for (name, bytes) in rows {
            assert!(scanned(&bytes, 4096).tdm_reservation.contains(&"1".to_owned()), "{name}");
        }
    }

    #[test]
    fn what_is_hostile_is_bounded() {
        let bomb = vec![b' '; 64 << 20];
        let rows = [
            ("heads and nothing else", HEAD.repeat(100_000)),
            ("an endless name", [HEAD, &[0xff; 1 << 20]].concat()),
            ("a bomb", member("a.opf", &bomb, 8)),
            ("bombs", member("a.opf", &bomb[..4 << 20], 8).repeat(100)),
            ("no deflate", [&member("a.opf", b"", 0)[..4], &[8; 26], b"a.opf", &[0xff; 1 << 20]].concat()),
            ("an endless document", [member("a.opf", b"x", 0), vec![b'x'; 4 << 20]].concat()),
        ];
        for (name, bytes) in rows {
            let mut scan = EpubScan::default();
            for piece in bytes.chunks(16 * 1024) {
                scan.push(piece);
                let held = scan.held.rest().len();
                assert!(held <= MAX_PACKED + 128 * 1024, "{name}: {held}");
            }
            assert!(scan.text < MAX_TEXT_OF_ALL + MAX_TEXT, "{name}: {}", scan.text);
            assert_eq!(scan.finish(), EmbeddedFacts::default(), "{name}");
        }
    }
}
