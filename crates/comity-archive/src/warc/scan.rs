use std::io::{BufRead, Read};

use super::grammar::WarcType;
use super::open_member::OpenMember;
use super::reader::{Damage, damage};
use super::record::{Grammar, check_fields, parse_header};
use crate::counting::Counting;
use crate::index::IndexEntry;

/// The longest record header that is read: a URL of 65,534 bytes, escaped, and what stands around it.
const MAX_HEADER: usize = 512 * 1024;
/// The longest HTTP head that is looked at for the index.
const MAX_HTTP_HEAD: usize = 1024 * 1024;
const END: &[u8] = b"\r\n\r\n";

/// Goes through a WARC file member by member, checks each whole, and holds none: memory is the same for a body of any size.
#[derive(Debug)]
pub(crate) struct Scan<R> {
    input: Counting<R>,
}

/// A whole member.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) offset: u64,
    pub(crate) end: u64,
    pub(crate) is_metadata: bool,
    /// Of responses and revisits.
    pub(crate) entry: Option<IndexEntry>,
}

impl<R: BufRead> Scan<R> {
    pub(crate) const fn new(input: R) -> Self {
        Self { input: Counting::new(input) }
    }

    /// The next member; `None` at the end of the file.
    ///
    /// # Errors
    /// When it is not whole: the file is valid up to the end of the one before.
    pub(crate) fn next(&mut self) -> Result<Option<Scanned>, Damage> {
        let offset = self.input.consumed();
        if self.input.at_end().map_err(damage)? {
            return Ok(None);
        }
        let mut member = OpenMember::new(&mut self.input).map_err(damage)?;
        let (header, block) = read_header(&mut member)?;
        let (is_metadata, entry) = read_block(&mut member, &header, block)?;
        Ok(Some(Scanned { offset, end: self.input.consumed(), is_metadata, entry }))
    }
}

/// The header without its empty line, and the begin of the block.
fn read_header(member: &mut impl Read) -> Result<(Vec<u8>, Vec<u8>), Damage> {
    let mut text = Vec::new();
    while find_end(&text).is_none() {
        if text.len() > MAX_HEADER || read_more(member, &mut text)? == 0 {
            return Err(Damage::Grammar(Grammar::new("no empty line ends the header")));
        }
    }
    let at = find_end(&text).unwrap_or_default();
    let block = text.split_off(at + END.len());
    text.truncate(at);
    Ok((text, block))
}

/// Reads the block to its end and checks its length; gives what the index says of it.
fn read_block(member: &mut impl Read, header: &[u8], mut block: Vec<u8>) -> Result<(bool, Option<IndexEntry>), Damage> {
    let wrong = |problem: &str| Damage::Grammar(Grammar::new(problem));
    let header = std::str::from_utf8(header).map_err(|_| wrong("the header is not UTF-8"))?;
    let (_, fields) = parse_header(header).map_err(Damage::Grammar)?;
    check_fields(&fields).map_err(Damage::Grammar)?;
    let field = |name: &str| fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str());
    let stated = field("Content-Length").and_then(|text| text.parse::<u64>().ok());
    let stated = stated.ok_or_else(|| wrong("Content-Length is no number"))?;
    let kind = match field("WARC-Type") {
        Some("response") => Some(WarcType::Response),
        Some("revisit") => Some(WarcType::Revisit),
        _ => None,
    };
    while kind.is_some() && find_end(&block).is_none() && block.len() < MAX_HTTP_HEAD {
        if read_more(member, &mut block)? == 0 {
            break;
        }
    }
    let head = find_end(&block).and_then(|at| block.get(..at + END.len())).unwrap_or(&block);
    let entry = kind
        .zip(field("WARC-Target-URI"))
        .zip(field("WARC-Date"))
        .map(|((kind, uri), date)| IndexEntry::of(kind, uri, date, head, field("WARC-Payload-Digest")));
    let is_metadata = field("WARC-Type") == Some("metadata");
    check_end(member, block, stated)?;
    Ok((is_metadata, entry))
}

/// Reads what is left of a member of which `read` is there: the stated block and the closing CRLF pair, nothing else.
fn check_end(member: &mut impl Read, mut read: Vec<u8>, stated: u64) -> Result<(), Damage> {
    let mut passed = 0;
    loop {
        let gone = read.len().saturating_sub(END.len());
        passed += gone as u64;
        read.drain(..gone);
        if read_more(member, &mut read)? == 0 {
            break;
        }
    }
    if read == END && passed == stated {
        return Ok(());
    }
    Err(Damage::Grammar(Grammar::new("block and closing CRLF pair are not as long as stated")))
}

/// Adds a piece; 0 at the end of the member.
fn read_more(member: &mut impl Read, text: &mut Vec<u8>) -> Result<usize, Damage> {
    member.take(64 * 1024).read_to_end(text).map_err(damage)
}

fn find_end(text: &[u8]) -> Option<usize> {
    text.windows(END.len()).position(|window| window == END)
}
