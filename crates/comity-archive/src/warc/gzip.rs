use std::{fmt, io};

use flate2::{Compress, Compression, FlushCompress, Status};
use libdeflater::{CompressionLvl, Compressor, Crc};

/// Header of every member: deflate, no flags, mtime 0, no extra flags, unknown system (RFC 1952 §2.3).
///
/// No time and no name, so that the output depends on the content only.
pub(super) const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// The longest text that is compressed at once: a body of 1 MiB, the most that waits in memory, with its heads.
const MOST_AT_ONCE: usize = (1 << 20) + (128 << 10);

/// Room that is kept between two texts.
const MOST_KEPT: usize = 256 * 1024;

/// Below this a text has too few repetitions for a deeper search to find more: a level of 1 to 6 is 1 there, half as quick
/// again and as small to one in 170 (docs/decisions/0082).
const SHORT: u64 = 4 * 1024;
const MOST_SHORT_LEVEL: u32 = 6;

/// Free room kept ahead of the streaming compressor.
const ROOM: usize = 32 * 1024;

/// Writes gzip members one after the other. The compressors are used again, never rebuilt.
pub(crate) struct Gzip {
    level: u32,
    whole: Compressor,
    short: Compressor,
    /// For texts that are too long to be held; made when there is one.
    stream: Option<Compress>,
    /// A member that is compressed at once, until it is whole.
    text: Vec<u8>,
    way: Way,
    crc: Crc,
    /// Bytes of the member under way.
    taken: u64,
    failed: bool,
}

impl fmt::Debug for Gzip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gzip").field("level", &self.level).field("way", &self.way).finish_non_exhaustive()
    }
}

/// How the member under way is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As it is.
    Stored,
    /// At once, when it is whole; a short one by the compressor for those.
    Whole { is_short: bool },
    /// As it comes.
    Stream,
}

impl Gzip {
    /// `level` 0 to 9.
    pub(crate) fn new(level: u32) -> Self {
        let compressor = |level: u32| {
            // Above 9 it knows levels that no other gzip has.
            let level = i32::try_from(level.min(9)).unwrap_or(9);
            Compressor::new(CompressionLvl::new(level).unwrap_or_default())
        };
        let short = if level <= MOST_SHORT_LEVEL { 1 } else { level };
        Self {
            level,
            whole: compressor(level),
            short: compressor(short),
            stream: None,
            text: Vec::new(),
            way: Way::Stored,
            crc: Crc::new(),
            taken: 0,
            failed: false,
        }
    }

    /// Starts a member of `len` bytes at the end of `out`.
    pub(crate) fn begin(&mut self, len: u64, out: &mut Vec<u8>) {
        self.way = match self.level {
            0 => Way::Stored,
            _ if len <= MOST_AT_ONCE as u64 => Way::Whole { is_short: len < SHORT },
            _ => Way::Stream,
        };
        if self.way == Way::Stream {
            stream(&mut self.stream, self.level).reset();
        }
        self.text.clear();
        self.text.shrink_to(MOST_KEPT);
        (self.crc, self.taken) = (Crc::new(), 0);
        self.failed = false;
        out.extend_from_slice(&HEADER);
    }

    /// Compresses more of the member.
    pub(crate) fn write(&mut self, input: &[u8], out: &mut Vec<u8>) {
        self.crc.update(input);
        self.taken += input.len() as u64;
        match self.way {
            Way::Stored => input.chunks(usize::from(u16::MAX)).for_each(|part| stored_block(part, false, out)),
            // Longer than was said: such a member is never used.
            Way::Whole { .. } if self.text.len() + input.len() > MOST_AT_ONCE => self.failed = true,
            Way::Whole { .. } => self.text.extend_from_slice(input),
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
            Way::Whole { is_short } => {
                let compressor = if is_short { &mut self.short } else { &mut self.whole };
                self.failed |= !deflate(compressor, &self.text, out);
            }
            Way::Stream => self.run(&[], FlushCompress::Finish, out),
        }
        out.extend_from_slice(&self.crc.sum().to_le_bytes());
        // Modulo 2^32, as the format wants it.
        out.extend_from_slice(&(self.taken as u32).to_le_bytes());
        if self.failed { Err(io::Error::other("deflate failed")) } else { Ok(()) }
    }

    fn run(&mut self, mut input: &[u8], flush: FlushCompress, out: &mut Vec<u8>) {
        let compress = stream(&mut self.stream, self.level);
        loop {
            out.reserve(ROOM);
            let before = compress.total_in();
            let status = compress.compress_vec(input, out, flush);
            let taken = usize::try_from(compress.total_in() - before).unwrap_or(input.len());
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

fn stream(made: &mut Option<Compress>, level: u32) -> &mut Compress {
    made.get_or_insert_with(|| Compress::new(Compression::new(level), false))
}

/// Writes `text` as a deflate stream to the end of `out`; false where the library finds too little room, which it never does
/// with as much as it asks for.
fn deflate(compressor: &mut Compressor, text: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.resize(start + compressor.deflate_compress_bound(text.len()), 0);
    let made = compressor.deflate_compress(text, out.get_mut(start..).unwrap_or_default());
    out.truncate(start + made.as_ref().copied().unwrap_or_default());
    made.is_ok()
}

/// Writes at most 65,535 bytes as they are (RFC 1951 §3.2.4). Where it begins, a byte must begin.
fn stored_block(part: &[u8], is_last: bool, out: &mut Vec<u8>) {
    let length = u16::try_from(part.len()).unwrap_or_default();
    out.push(u8::from(is_last));
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(part);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;

    /// One member after the other, each said to be as long as it is, in pieces; and as another library inflates them.
    fn there_and_back(gzip: &mut Gzip, texts: &[&[u8]]) -> (Vec<u8>, Vec<u8>) {
        let (mut out, mut back) = (Vec::new(), Vec::new());
        for text in texts {
            gzip.begin(text.len() as u64, &mut out);
            text.chunks(70_001).for_each(|chunk| gzip.write(chunk, &mut out));
            gzip.finish(&mut out).unwrap();
        }
        flate2::read::MultiGzDecoder::new(&out[..]).read_to_end(&mut back).unwrap();
        (out, back)
    }

    fn noise(words: u32) -> Vec<u8> {
        (0..words).flat_map(|n| (n.wrapping_mul(2_654_435_761) >> 7).to_le_bytes()).collect()
    }

    #[test]
    fn members_inflate_to_what_was_written_at_every_level() {
        // As long as each way takes, and one byte on either side.
        let text = noise(300_001);
        let lengths = [0, 1, SHORT as usize - 1, SHORT as usize, MOST_AT_ONCE, MOST_AT_ONCE + 1, text.len()];
        for level in 0..=9 {
            let texts = lengths.map(|length| &text[..length]);
            let (_, back) = there_and_back(&mut Gzip::new(level), &texts);
            assert!(back == texts.concat(), "level {level}");
        }
    }

    #[test]
    fn what_was_compressed_before_makes_no_difference() {
        let (text, other) = (noise(20_000), noise(300_001));
        for level in 0..=9 {
            let fresh = |text: &[u8]| there_and_back(&mut Gzip::new(level), &[text]).0;
            let mut used = Gzip::new(level);
            let (out, _) = there_and_back(&mut used, &[&other, &text, &text[..900], &text, &other]);
            assert!(
                out == [&other, &text[..], &text[..900], &text, &other].map(fresh).concat(),
                "level {level}: a member depends on those before it"
            );
        }
    }

    #[test]
    fn a_member_longer_than_was_said_fails_and_the_next_does_not() {
        let text = noise(300_001);
        let mut gzip = Gzip::new(3);
        let mut out = Vec::new();
        gzip.begin(5, &mut out);
        gzip.write(&text, &mut out);
        gzip.finish(&mut out).unwrap_err();
        assert_eq!(there_and_back(&mut gzip, &[b"text"]).1, b"text");
    }

    #[test]
    fn room_for_a_long_member_is_not_kept() {
        let mut gzip = Gzip::new(3);
        there_and_back(&mut gzip, &[&noise(250_000), b"text"]);
        assert!(gzip.text.capacity() <= MOST_KEPT, "{}", gzip.text.capacity());
    }

    proptest! {
        #[test]
        fn any_text_comes_back(level in 0..10_u32, words in prop::collection::vec("[ab]{0,9}|[ -~]{0,40}|\\PC{0,9}", 0..600)) {
            let text = words.concat().into_bytes();
            let (_, back) = there_and_back(&mut Gzip::new(level), &[&text, &text]);
            prop_assert!(back == [&text[..], &text].concat());
        }
    }
}
