use std::io;

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

use super::short::{MOST, Short, stored_block};

/// Header of every member: deflate, no flags, mtime 0, no extra flags, unknown system (RFC 1952 §2.3).
///
/// No time and no name, so that the output depends on the content only.
pub(super) const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Free room kept ahead of the compressor.
const ROOM: usize = 32 * 1024;

/// The highest level at which short texts have a compressor of their own: above it the last byte counts.
const MOST_SHORT_LEVEL: u32 = 6;

/// Writes gzip members one after the other; the compressor is reset between them, never rebuilt.
#[derive(Debug)]
pub(crate) struct Gzip {
    level: u32,
    compress: Compress,
    short: Short,
    /// A short member, until it is whole.
    text: Vec<u8>,
    way: Way,
    crc: Crc,
    failed: bool,
}

/// How the member under way is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As it is.
    Stored,
    /// At once, when it is whole.
    Short,
    /// As it comes.
    Stream,
}

impl Gzip {
    /// `level` 0 to 9.
    pub(crate) fn new(level: u32) -> Self {
        Self {
            level,
            compress: Compress::new(Compression::new(level), false),
            short: Short::new(),
            text: Vec::new(),
            way: Way::Stream,
            crc: Crc::new(),
            failed: false,
        }
    }

    /// Starts a member of `len` bytes at the end of `out`.
    pub(crate) fn begin(&mut self, len: u64, out: &mut Vec<u8>) {
        self.way = match self.level {
            0 => Way::Stored,
            1..=MOST_SHORT_LEVEL if len <= MOST as u64 => Way::Short,
            _ => Way::Stream,
        };
        if self.way == Way::Stream {
            self.compress.reset();
        }
        self.text.clear();
        self.crc.reset();
        self.failed = false;
        out.extend_from_slice(&HEADER);
    }

    /// Compresses more of the member.
    pub(crate) fn write(&mut self, input: &[u8], out: &mut Vec<u8>) {
        self.crc.update(input);
        match self.way {
            Way::Stored => input.chunks(usize::from(u16::MAX)).for_each(|part| stored_block(part, false, out)),
            // Longer than was said: such a member is never used.
            Way::Short if self.text.len() + input.len() > MOST => self.failed = true,
            Way::Short => self.text.extend_from_slice(input),
            Way::Stream => self.run(input, FlushCompress::None, out),
        }
    }

    /// Ends the member: CRC and length (RFC 1952 §2.3.1).
    ///
    /// # Errors
    /// When the compressor failed anywhere in the member: `out` must not be used then.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        match self.way {
            Way::Stored => stored_block(&[], true, out),
            Way::Short => self.short.deflate(&self.text, out),
            Way::Stream => self.run(&[], FlushCompress::Finish, out),
        }
        out.extend_from_slice(&self.crc.sum().to_le_bytes());
        out.extend_from_slice(&self.crc.amount().to_le_bytes());
        if self.failed { Err(io::Error::other("deflate failed")) } else { Ok(()) }
    }

    fn run(&mut self, mut input: &[u8], flush: FlushCompress, out: &mut Vec<u8>) {
        loop {
            out.reserve(ROOM);
            let before = self.compress.total_in();
            let status = self.compress.compress_vec(input, out, flush);
            let taken = usize::try_from(self.compress.total_in() - before).unwrap_or(input.len());
            input = input.get(taken..).unwrap_or_default();
            self.failed |= status.is_err();
            let done = match flush {
                FlushCompress::Finish => matches!(status, Ok(Status::StreamEnd)),
                _ => input.is_empty(),
            };
            if done || self.failed {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn members_inflate_to_what_was_written_at_every_level() {
        let text: Vec<u8> = (0..200_000_u32).flat_map(|n| (n.wrapping_mul(2_654_435_761) >> 7).to_le_bytes()).collect();
        for level in 0..=9 {
            let mut gzip = Gzip::new(level);
            let mut out = Vec::new();
            for part in [&text[..], b"", b"x"] {
                gzip.begin(part.len() as u64, &mut out);
                part.chunks(70_001).for_each(|chunk| gzip.write(chunk, &mut out));
                gzip.finish(&mut out).unwrap();
            }
            let mut back = Vec::new();
            flate2::read::MultiGzDecoder::new(&out[..]).read_to_end(&mut back).unwrap();
            assert!(back.starts_with(&text) && back.len() == text.len() + 1, "level {level}");
        }
    }
}
