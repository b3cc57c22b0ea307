use std::io::{self, BufRead, Read as _};

use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::Crc;

use super::gzip::HEADER;
use super::reader::{Damage, WarcError};
use super::record::{Grammar, Head, parse_head};
use super::text::end_of_head;
use crate::counting::Counting;

/// How a zstd frame begins (RFC 8878 §3.1.1).
const ZSTD: u8 = 0x28;

/// The longest record header that is read: a URL of 65,534 bytes, escaped, and what stands around it.
const MAX_HEADER_BYTES: usize = 320 * 1024;

/// Reads a WARC file of comity's own, record by record, without holding a block: each is handed on in pieces.
///
/// Strict as [`crate::WarcReader`], and stricter about gzip: a member begins with the very ten bytes that comity writes.
/// Memory: 64 KiB and a record header, whatever the size of a block.
#[derive(Debug)]
pub struct WarcStream<R> {
    input: Counting<R>,
    inflate: Decompress,
    out: Vec<u8>,
    failed: bool,
}

/// A record without its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarcHead {
    /// Where its gzip member begins.
    pub offset: u64,
    /// Length of its gzip member; 0 while its block is handed on.
    pub length: u64,
    /// Field names and values in the order of the file, repeats kept.
    pub fields: Vec<(String, String)>,
    /// `Content-Length`.
    pub block_length: u64,
}

impl WarcHead {
    /// The first value of a field; names are compared case-insensitively.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// `WARC-Type`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.field("WARC-Type").unwrap_or_default()
    }

    /// `WARC-Record-ID` without its angle brackets.
    #[must_use]
    pub fn id(&self) -> &str {
        self.field("WARC-Record-ID").unwrap_or_default().trim_start_matches('<').trim_end_matches('>')
    }
}

impl<R: BufRead> WarcStream<R> {
    /// Reads from the start of a file, or from `offset`, where `input` stands and a member begins.
    #[must_use]
    pub fn new(input: R, offset: u64) -> Self {
        let input = Counting::starting_at(input, offset);
        Self { input, inflate: Decompress::new(false), out: vec![0; 64 * 1024], failed: false }
    }

    /// Where the next member begins.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.input.consumed()
    }

    /// What is read from.
    pub fn into_inner(self) -> R {
        self.input.into_inner()
    }

    /// The next record, its block handed to `each` in pieces; `None` at the end of the file, or after an error.
    pub fn next_record(&mut self, mut each: impl FnMut(&WarcHead, &[u8])) -> Option<Result<WarcHead, WarcError>> {
        if self.failed {
            return None;
        }
        let offset = self.input.consumed();
        let result = match self.input.at_end() {
            Ok(true) => return None,
            Ok(false) => self.member(Parser::new(offset), &mut each),
            Err(error) => Err(Damage::Io(error)),
        };
        self.failed = result.is_err();
        Some(result.map_err(|damage| WarcError { offset, damage }))
    }

    fn member(&mut self, mut parser: Parser, each: &mut dyn FnMut(&WarcHead, &[u8])) -> Result<WarcHead, Damage> {
        if self.input.fill_buf().map_err(torn)?.first() == Some(&ZSTD) {
            self.frame(&mut parser, each)?;
        } else {
            self.gzip(&mut parser, each)?;
        }
        let mut head = parser.finish().map_err(Damage::Grammar)?;
        head.length = self.input.consumed() - head.offset;
        Ok(head)
    }

    /// A zstd frame, which carries a checksum of its own.
    fn frame(&mut self, parser: &mut Parser, each: &mut dyn FnMut(&WarcHead, &[u8])) -> Result<(), Damage> {
        let broken = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Damage::Torn,
            _ => Damage::Zstd(error.to_string()),
        };
        let decoder = zstd::stream::read::Decoder::with_buffer(&mut self.input).map_err(broken)?;
        let mut decoder = decoder.single_frame();
        loop {
            let read = decoder.read(&mut self.out).map_err(broken)?;
            if read == 0 {
                return Ok(());
            }
            parser.feed(self.out.get(..read).unwrap_or_default(), each).map_err(Damage::Grammar)?;
        }
    }

    fn gzip(&mut self, parser: &mut Parser, each: &mut dyn FnMut(&WarcHead, &[u8])) -> Result<(), Damage> {
        let mut header = [0; HEADER.len()];
        self.input.read_exact(&mut header).map_err(torn)?;
        if header != HEADER {
            return Err(Damage::Gzip("the member does not begin as comity begins one".to_owned()));
        }
        self.inflate.reset(false);
        let mut crc = Crc::new();
        loop {
            let input = self.input.fill_buf().map_err(torn)?;
            if input.is_empty() {
                return Err(Damage::Torn);
            }
            let (taken, given) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self.inflate.decompress(input, &mut self.out, FlushDecompress::None);
            let status = status.map_err(|e| Damage::Gzip(e.to_string()))?;
            let taken = usize::try_from(self.inflate.total_in() - taken).unwrap_or_default();
            let given = usize::try_from(self.inflate.total_out() - given).unwrap_or_default();
            self.input.consume(taken);
            let piece = self.out.get(..given).unwrap_or_default();
            crc.update(piece);
            parser.feed(piece, each).map_err(Damage::Grammar)?;
            match status {
                Status::StreamEnd => break,
                _ if taken == 0 && given == 0 => return Err(Damage::Gzip("deflate does not go on".to_owned())),
                _ => {}
            }
        }
        let mut trailer = [0; 8];
        self.input.read_exact(&mut trailer).map_err(torn)?;
        let mut computed = [0; 8];
        computed[..4].copy_from_slice(&crc.sum().to_le_bytes());
        // Modulo 2^32, as the format wants it.
        computed[4..].copy_from_slice(&(self.inflate.total_out() as u32).to_le_bytes());
        if trailer != computed {
            return Err(Damage::Gzip("CRC or length of the member is wrong".to_owned()));
        }
        Ok(())
    }
}

fn torn(error: io::Error) -> Damage {
    if error.kind() == io::ErrorKind::UnexpectedEof { Damage::Torn } else { Damage::Io(error) }
}

/// Finds header, block and closing CRLF pair in what comes in pieces.
struct Parser {
    offset: u64,
    header: Vec<u8>,
    head: Option<WarcHead>,
    /// Bytes of the block that are still to come.
    left: u64,
    tail: Vec<u8>,
}

impl Parser {
    const fn new(offset: u64) -> Self {
        Self { offset, header: Vec::new(), head: None, left: 0, tail: Vec::new() }
    }

    fn feed(&mut self, piece: &[u8], each: &mut dyn FnMut(&WarcHead, &[u8])) -> Result<(), Grammar> {
        if self.head.is_some() {
            return self.block(piece, each);
        }
        let Some(of_head) = end_of_head(&self.header, piece) else {
            self.header.extend_from_slice(piece);
            let long = self.header.len() > MAX_HEADER_BYTES;
            return if long { Err(Grammar::new("the header is too long")) } else { Ok(()) };
        };
        let (of_head, block) = piece.split_at_checked(of_head).unwrap_or((piece, &[]));
        self.header.extend_from_slice(of_head);
        let header = std::mem::take(&mut self.header);
        let Head { fields, length, .. } = parse_head(header.strip_suffix(b"\r\n\r\n").unwrap_or(&header))?;
        self.left = length;
        self.head = Some(WarcHead { offset: self.offset, length: 0, fields, block_length: length });
        self.block(block, each)
    }

    fn block(&mut self, piece: &[u8], each: &mut dyn FnMut(&WarcHead, &[u8])) -> Result<(), Grammar> {
        let of_block = usize::try_from(self.left).unwrap_or(usize::MAX).min(piece.len());
        let (block, tail) = piece.split_at(of_block);
        self.left -= block.len() as u64;
        if let (Some(head), false) = (&self.head, block.is_empty()) {
            each(head, block);
        }
        if self.tail.len() + tail.len() > 4 {
            return Err(Grammar::new("bytes follow the block and its closing CRLF pair"));
        }
        self.tail.extend_from_slice(tail);
        Ok(())
    }

    fn finish(self) -> Result<WarcHead, Grammar> {
        let head = self.head.ok_or_else(|| Grammar::new("no empty line ends the header"))?;
        if self.left > 0 {
            return Err(Grammar::new("the block is shorter than its Content-Length"));
        }
        if self.tail == b"\r\n\r\n" { Ok(head) } else { Err(Grammar::new("no CRLF pair closes the block")) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::gzip::Gzip;
    use super::*;

    fn member(text: &[u8]) -> Vec<u8> {
        let (mut gzip, mut out) = (Gzip::new(3), Vec::new());
        gzip.begin(text.len() as u64, &mut out);
        gzip.write(text, &mut out);
        gzip.finish(&mut out).unwrap();
        out
    }

    fn record(block: &[u8]) -> Vec<u8> {
        let head = format!(
            "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Date: 2026-11-30T00:00:00Z\r\n\
             Content-Length: {}\r\n\r\n",
            block.len()
        );
        [head.as_bytes(), block, b"\r\n\r\n"].concat()
    }

    type Found = (u64, u64, Vec<u8>);

    fn read(bytes: &[u8]) -> (Vec<Found>, Option<WarcError>) {
        let (mut stream, mut all) = (WarcStream::new(bytes, 0), Vec::new());
        loop {
            let mut block = Vec::new();
            match stream.next_record(|_, piece| block.extend_from_slice(piece)) {
                None => return (all, None),
                Some(Err(error)) => return (all, Some(error)),
                Some(Ok(head)) => all.push((head.offset, head.length, block)),
            }
        }
    }

    #[test]
    fn blocks_come_whole_whatever_their_size() {
        let blocks =
            [b"".to_vec(), b"\r\n\r\n".to_vec(), vec![b'x'; 70_000], (0..=255).cycle().take(300_001).collect()];
        let members: Vec<Vec<u8>> = blocks.iter().map(|block| member(&record(block))).collect();
        let (all, error) = read(&members.concat());
        assert!(error.is_none(), "{error:?}");
        assert_eq!(all.iter().map(|(_, _, block)| block.clone()).collect::<Vec<_>>(), blocks);
        let ends: Vec<u64> = all.iter().map(|(offset, length, _)| offset + length).collect();
        assert_eq!(ends.last().copied(), Some(members.concat().len() as u64));
    }

    #[test]
    fn whatever_is_not_written_by_us_is_an_error() {
        let good = member(&record(b"block"));
        for at in 0..good.len() {
            assert!(read(&good[..at]).1.is_some() || at == 0, "cut at {at}");
        }
        let mut named = good.clone();
        named[9] = 3;
        let rows = [
            named,
            member(&[record(b"block"), b"x".to_vec()].concat()),
            member(record(b"block").strip_suffix(b"\n").unwrap()),
            member(b"WARC/1.1\r\n"),
            member(&vec![b'a'; MAX_HEADER_BYTES + 10]),
            [good, b"more".to_vec()].concat(),
        ];
        for (n, row) in rows.iter().enumerate() {
            assert!(read(row).1.is_some(), "row {n}");
        }
    }
}
