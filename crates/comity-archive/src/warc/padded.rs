//! A record in a member of a given length: what takes the place of another without moving what follows it.
//!
//! Both codings have blocks that hold nothing. RFC 1951 §3.2.4: an empty stored block, five bytes from a byte's begin; behind an
//! empty block of fixed codes, six. RFC 8878 §3.1.1.2: an empty raw block, three zero bytes. Any length but the very smallest
//! is a sum of these; those are reached by another text.

use std::io::{self, Write};

use flate2::{Compress, Compression, Crc, FlushCompress};

use super::gzip::HEADER;
use crate::WarcFormat;

const FIVE: &[u8] = &[0x00, 0x00, 0x00, 0xff, 0xff];
const SIX: &[u8] = &[0x02, 0x00, 0x00, 0x00, 0xff, 0xff];
/// The last block, empty: of fixed codes, or stored.
const LAST: [&[u8]; 2] = [&[0x03, 0x00], &[0x01, 0x00, 0x00, 0xff, 0xff]];
const THREE: &[u8] = &[0, 0, 0];

/// A member, with its filling counted and not held: it may be gigabytes.
#[derive(Debug)]
pub(crate) struct Padded {
    begin: Vec<u8>,
    filling: [(&'static [u8], u64); 2],
    end: Vec<u8>,
}

impl Padded {
    /// `text` in a member of exactly `length` bytes; `None` where it does not fit, or no filling has what is left.
    pub(crate) fn new(format: WarcFormat, text: &[u8], length: u64) -> io::Result<Option<Self>> {
        match format {
            WarcFormat::Gzip => gzip(text, length),
            WarcFormat::Zstd => zstd(text, length),
        }
    }

    pub(crate) fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        const AT_ONCE: u64 = 4096;
        to.write_all(&self.begin)?;
        for (block, mut count) in self.filling {
            let many = block.repeat(AT_ONCE as usize);
            while count > 0 {
                let now = count.min(AT_ONCE);
                let bytes = usize::try_from(now).unwrap_or_default() * block.len();
                to.write_all(many.get(..bytes).unwrap_or_default())?;
                count -= now;
            }
        }
        to.write_all(&self.end)
    }
}

fn gzip(text: &[u8], length: u64) -> io::Result<Option<Padded>> {
    let mut begin = HEADER.to_vec();
    let mut deflate = Compress::new(Compression::best(), false);
    // One call does it all where there is room for all of it; a few bytes of overhead per 16 KiB.
    begin.reserve(text.len() * 2 + 1024);
    deflate.compress_vec(text, &mut begin, FlushCompress::Sync).map_err(io::Error::other)?;
    if deflate.total_in() != text.len() as u64 {
        return Err(io::Error::other("deflate did not take the text at once"));
    }
    let mut crc = Crc::new();
    crc.update(text);
    let trailer = [crc.sum().to_le_bytes(), crc.amount().to_le_bytes()].concat();
    let Some(left) = length.checked_sub((begin.len() + trailer.len()) as u64) else { return Ok(None) };
    for last in LAST {
        let Some(left) = left.checked_sub(last.len() as u64) else { continue };
        let sixes = left % 5;
        if let Some(rest) = left.checked_sub(6 * sixes) {
            let end = [last, &trailer].concat();
            return Ok(Some(Padded { begin, filling: [(FIVE, rest / 5), (SIX, sixes)], end }));
        }
    }
    Ok(None)
}

fn zstd(text: &[u8], length: u64) -> io::Result<Option<Padded>> {
    let mut coder = zstd::bulk::Compressor::new(19)?;
    coder.set_parameter(zstd::zstd_safe::CParameter::ChecksumFlag(true))?;
    let mut begin = coder.compress(text)?;
    let Some(left) = length.checked_sub(begin.len() as u64).filter(|left| left % 3 == 0) else { return Ok(None) };
    let end = begin.split_off(frame_header(&begin).min(begin.len()));
    Ok(Some(Padded { begin, filling: [(THREE, left / 3), (THREE, 0)], end }))
}

/// Length of the header of a frame (RFC 8878 §3.1.1.1).
fn frame_header(frame: &[u8]) -> usize {
    let descriptor = frame.get(4).copied().unwrap_or_default();
    let is_single = descriptor & 0x20 != 0;
    let size = match descriptor >> 6 {
        0 => usize::from(is_single),
        n => 1 << n,
    };
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    5 + usize::from(!is_single) + dictionary + size
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn a_member_of_any_length_inflates_to_its_text_and_ends_where_it_should() {
        let text = b"WARC/1.1\r\nWARC-Type: metadata\r\n\r\nblock\r\n\r\n";
        for (format, least) in [(WarcFormat::Gzip, 100), (WarcFormat::Zstd, 90)] {
            let mut none = 0;
            for length in (least..least + 60).chain([40_000, 40_001, 40_002, 1_000_003]) {
                let Some(padded) = Padded::new(format, text, length).unwrap() else {
                    none += 1;
                    continue;
                };
                let mut member = Vec::new();
                padded.write(&mut member).unwrap();
                assert_eq!(member.len() as u64, length, "{format:?}");
                let mut back = Vec::new();
                match format {
                    WarcFormat::Gzip => {
                        let mut decoder = flate2::bufread::GzDecoder::new(&member[..]);
                        decoder.read_to_end(&mut back).unwrap();
                        assert!(decoder.into_inner().is_empty(), "{length}");
                    }
                    WarcFormat::Zstd => back = zstd::decode_all(&member[..]).unwrap(),
                }
                assert_eq!(back, text, "{format:?} {length}");
            }
            // Three of four lengths of a zstd frame need another text.
            assert!(none <= if format == WarcFormat::Gzip { 4 } else { 44 }, "{format:?} {none}");
        }
        assert!(Padded::new(WarcFormat::Gzip, text, 20).unwrap().is_none());
    }
}
