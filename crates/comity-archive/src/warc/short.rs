//! Deflate for short texts.
//!
//! Of three records a page two are heads of hardly a kilobyte. A compressor that is made for streams spends 17 µs on such a one:
//! it clears tables for 64 KiB of text, and makes codes for all 286 symbols of which 80 occur. This one executes a quarter of its
//! instructions, at the same size (docs/decisions/0056). One block of RFC 1951 a text.

use super::huffman::{Code, LONGEST, LONGEST_OF_LENGTHS, codes, lengths};

/// The longest text that is taken: one byte less than 4 KiB. Above it a stream is as quick, and smaller.
pub(super) const MOST: usize = 4 * 1024 - 1;

/// The window is the whole text; of each four bytes the last place is known.
const SLOTS: u32 = 11;
/// The longest match (RFC 1951 §3.2.5).
const LONGEST_MATCH: usize = 258;
const SHORTEST_MATCH: usize = 4;
const END_OF_BLOCK: usize = 256;
const LITERALS: usize = 286;
const DISTANCES: usize = 30;

/// Compresses texts one after the other; nothing of one is left in the next.
#[derive(Debug)]
pub(super) struct Short {
    /// Places of four bytes, by their hash: one more than where they begin, 0 for none.
    places: Box<[u16; 1 << SLOTS]>,
    tokens: Vec<Token>,
    literals: [u32; LITERALS],
    distances: [u32; DISTANCES],
}

/// A literal, or a match of at least [`SHORTEST_MATCH`] bytes: length, and how far in front; 0 for a literal.
#[derive(Clone, Copy, Debug)]
struct Token {
    literal_or_length: u16,
    distance: u16,
}

impl Short {
    pub(super) fn new() -> Self {
        Self {
            places: Box::new([0; 1 << SLOTS]),
            tokens: Vec::new(),
            literals: [0; LITERALS],
            distances: [0; DISTANCES],
        }
    }

    /// Writes `text`, at most [`MOST`] bytes, as a deflate stream to the end of `out`.
    pub(super) fn deflate(&mut self, text: &[u8], out: &mut Vec<u8>) {
        self.tokens.clear();
        self.literals = [0; LITERALS];
        self.distances = [0; DISTANCES];
        self.places.fill(0);
        self.find(text);
        self.literals[END_OF_BLOCK] = 1;
        // More than it may take: then it is stored. A flush needs eight bytes.
        let (start, most) = (out.len(), text.len() + STORED_HEADER);
        out.resize(start + most + 8, 0);
        let bytes = self.write(out.get_mut(start..).unwrap_or_default());
        if bytes <= most {
            out.truncate(start + bytes);
        } else {
            out.truncate(start);
            stored_block(text, true, out);
        }
    }

    /// Takes the text apart: at each place the last earlier one with the same four bytes, as far as both agree.
    fn find(&mut self, text: &[u8]) {
        self.tokens.reserve(text.len());
        let mut at = 0;
        while let Some(word) = word(text, at) {
            match self.place(word, at).filter(|from| self::word(text, *from) == Some(word)) {
                Some(from) => {
                    let length = agreeing(text, from, at);
                    self.matched(length, at - from);
                    for inside in at + 1..at + length {
                        let Some(word) = self::word(text, inside) else { break };
                        self.place(word, inside);
                    }
                    at += length;
                }
                None => {
                    let [byte, ..] = word.to_le_bytes();
                    self.literal(byte);
                    at += 1;
                }
            }
        }
        text.get(at..).unwrap_or_default().iter().for_each(|byte| self.literal(*byte));
    }

    /// Where the hash of these four bytes was last; from now on `at` is known for it.
    fn place(&mut self, word: u32, at: usize) -> Option<usize> {
        let slot = &mut self.places[(word.wrapping_mul(0x9e37_79b1) >> (32 - SLOTS)) as usize];
        let last = std::mem::replace(slot, low16(at + 1));
        usize::from(last).checked_sub(1)
    }

    fn literal(&mut self, byte: u8) {
        self.literals[usize::from(byte)] += 1;
        self.tokens.push(Token { literal_or_length: byte.into(), distance: 0 });
    }

    fn matched(&mut self, length: usize, distance: usize) {
        let (length, distance) = (low16(length), low16(distance));
        self.literals[LENGTH_SYMBOLS[usize::from(length - 3) & 255] as usize] += 1;
        self.distances[distance_symbol(distance)] += 1;
        self.tokens.push(Token { literal_or_length: length, distance });
    }

    /// Gives the length, also where the room is too small.
    fn write(&self, room: &mut [u8]) -> usize {
        let (literals, distances) = (lengths(&self.literals, LONGEST), lengths(&self.distances, LONGEST));
        let mut bits = Bits { room, bytes: 0, waiting: 0, count: 0 };
        write_lengths(&literals, &distances, &mut bits);
        let (literals, distances) = (codes(&literals), codes(&distances));
        for Token { literal_or_length, distance } in &self.tokens {
            if *distance == 0 {
                bits.code(literals[usize::from(*literal_or_length) & 255]);
            } else {
                // 48 bits at most.
                let over = literal_or_length - 3;
                let symbol = LENGTH_SYMBOLS[usize::from(over) & 255] as usize;
                let extra = length_extra(symbol);
                bits.code(literals[symbol]);
                bits.put(u32::from(over) & ((1 << extra) - 1), extra);
                let symbol = distance_symbol(*distance);
                let extra = distance_extra(symbol);
                bits.code(distances[symbol]);
                bits.put(u32::from(distance - 1) & ((1 << extra) - 1), extra);
            }
            bits.flush();
        }
        bits.code(literals[END_OF_BLOCK]);
        bits.end()
    }
}

/// A place or length of a text, which has no more than [`MOST`].
fn low16(number: usize) -> u16 {
    u16::try_from(number & 0xffff).unwrap_or_default()
}

fn word(text: &[u8], at: usize) -> Option<u32> {
    text.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes))
}

/// How many bytes are the same from `from` and from `at` on, at most as long as a match can be.
fn agreeing(text: &[u8], from: usize, at: usize) -> usize {
    let (earlier, here) = (text.get(from..).unwrap_or_default(), text.get(at..).unwrap_or_default());
    let here = here.get(..LONGEST_MATCH).unwrap_or(here);
    let mut length = SHORTEST_MATCH;
    loop {
        let pair = (
            earlier.get(length..).and_then(<[u8]>::first_chunk::<8>),
            here.get(length..).and_then(<[u8]>::first_chunk::<8>),
        );
        let (Some(one), Some(other)) = pair else { break };
        let differs = u64::from_le_bytes(*one) ^ u64::from_le_bytes(*other);
        if differs != 0 {
            return length + (differs.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    let rest = earlier.get(length..).unwrap_or_default().iter().zip(here.get(length..).unwrap_or_default());
    length + rest.take_while(|(one, other)| one == other).count()
}

/// The symbol of each length less three (RFC 1951 §3.2.5): 3 to 10 have one each, from there on the symbols double what they
/// span every four; 258 has the last.
const LENGTH_SYMBOLS: [u16; 256] = {
    let mut symbols = [285; 256];
    let mut over = 0;
    while over < 255_usize {
        symbols[over] = if over < 8 {
            257 + over as u16
        } else {
            let extra = over.ilog2() - 2;
            257 + 4 * extra as u16 + (over >> extra) as u16
        };
        over += 1;
    }
    symbols
};

/// How many extra bits follow the symbol of a length: the lowest of the length less three.
const fn length_extra(symbol: usize) -> u32 {
    if symbol < 265 || symbol >= 285 { 0 } else { (symbol as u32 - 261) / 4 }
}

/// The symbol of a distance from 1 to 32,768 (RFC 1951 §3.2.5): the symbols double what they span every two.
const fn distance_symbol(distance: u16) -> usize {
    let over = distance.saturating_sub(1) & 0x7fff;
    if over < 4 {
        return over as usize;
    }
    let extra = over.ilog2() - 1;
    2 * extra as usize + (over >> extra) as usize
}

/// How many extra bits follow the symbol of a distance: the lowest of the distance less one.
const fn distance_extra(symbol: usize) -> u32 {
    if symbol < 4 { 0 } else { (symbol as u32 - 2) / 2 }
}

/// The order in which lengths of the codes of lengths are written (RFC 1951 §3.2.7).
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// The head of the last block, with codes of its own (RFC 1951 §3.2.7).
fn write_lengths(literals: &[u8; LITERALS], distances: &[u8; DISTANCES], bits: &mut Bits<'_>) {
    let used =
        |lengths: &[u8], least: usize| lengths.iter().rposition(|l| *l > 0).map_or(least, |at| least.max(at + 1));
    let (literal_count, distance_count) = (used(literals, 257), used(distances, 1));
    let mut all = [0; LITERALS + DISTANCES];
    let both = literals.iter().take(literal_count).chain(distances.iter().take(distance_count));
    all.iter_mut().zip(both).for_each(|(place, length)| *place = *length);
    let runs = runs(all.get(..literal_count + distance_count).unwrap_or_default());
    let mut frequencies = [0; 19];
    runs.iter().for_each(|(symbol, ..)| frequencies[usize::from(*symbol).min(18)] += 1);
    let of_lengths = lengths(&frequencies, LONGEST_OF_LENGTHS);
    let shown = ORDER.iter().rposition(|symbol| of_lengths[*symbol] > 0).map_or(4, |at| 4.max(at + 1));
    // Last block, codes of its own.
    bits.put(0b101, 3);
    bits.put(u32::try_from(literal_count - 257).unwrap_or_default(), 5);
    bits.put(u32::try_from(distance_count - 1).unwrap_or_default(), 5);
    bits.put(u32::try_from(shown - 4).unwrap_or_default(), 4);
    bits.flush();
    for symbol in ORDER.iter().take(shown) {
        bits.put(of_lengths[*symbol].into(), 3);
        bits.flush();
    }
    let codes = codes(&of_lengths);
    for (symbol, extra, count) in runs {
        bits.code(codes[usize::from(symbol).min(18)]);
        bits.put(extra, count);
        bits.flush();
    }
}

/// Lengths with their repetitions taken together: a symbol, its extra bits, and how many these are.
fn runs(lengths: &[u8]) -> Vec<(u8, u32, u32)> {
    let mut runs = Vec::with_capacity(lengths.len());
    for run in lengths.chunk_by(|one, next| one == next) {
        let length = run.first().copied().unwrap_or_default();
        let mut times = u32::try_from(run.len()).unwrap_or_default();
        if length > 0 {
            runs.push((length, 0, 0));
            times -= 1;
        }
        while times >= 3 {
            let now = match (length, times) {
                (0, 11..) => {
                    let now = times.min(138);
                    runs.push((18, now - 11, 7));
                    now
                }
                (0, _) => {
                    runs.push((17, times - 3, 3));
                    times
                }
                _ => {
                    let now = times.min(6);
                    runs.push((16, now - 3, 2));
                    now
                }
            };
            times -= now;
        }
        runs.extend((0..times).map(|_| (length, 0, 0)));
    }
    runs
}

/// What a stored block has beside its bytes (RFC 1951 §3.2.4).
const STORED_HEADER: usize = 5;
/// Writes at most 65,535 bytes as they are (RFC 1951 §3.2.4). Where it begins, a byte must begin.
pub(super) fn stored_block(part: &[u8], is_last: bool, out: &mut Vec<u8>) {
    let length = u16::try_from(part.len()).unwrap_or_default();
    out.push(u8::from(is_last));
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(part);
}

/// Bits in the order of RFC 1951 §3.1.1: the lowest of each byte first.
struct Bits<'a> {
    room: &'a mut [u8],
    /// Whole bytes written.
    bytes: usize,
    waiting: u64,
    /// How many wait.
    count: u32,
}

impl Bits<'_> {
    /// At most 56 of them fit between two calls of [`Self::flush`].
    fn put(&mut self, bits: u32, count: u32) {
        self.waiting |= u64::from(bits) << self.count;
        self.count += count;
    }

    fn code(&mut self, (bits, count): Code) {
        self.put(bits.into(), count.into());
    }

    /// Writes what waits; less than a byte waits on. Beyond the room nothing is written, only counted.
    fn flush(&mut self) {
        let place = self.room.get_mut(self.bytes..).and_then(<[u8]>::first_chunk_mut::<8>);
        if let Some(place) = place {
            *place = self.waiting.to_le_bytes();
        }
        self.bytes += (self.count / 8) as usize;
        self.waiting >>= self.count & !7;
        self.count &= 7;
    }

    /// Fills the last byte up; gives how many bytes there are.
    fn end(mut self) -> usize {
        self.count = self.count.next_multiple_of(8);
        self.flush();
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::DeflateDecoder;
    use proptest::prelude::*;
    use std::io::Read as _;

    /// Compressed by one compressor after `before`, and inflated by another library.
    fn there_and_back(before: &[u8], text: &[u8]) -> (usize, Vec<u8>) {
        let (mut short, mut out, mut back) = (Short::new(), Vec::new(), Vec::new());
        short.deflate(before, &mut out);
        out.clear();
        short.deflate(text, &mut out);
        DeflateDecoder::new(&out[..]).read_to_end(&mut back).unwrap();
        (out.len(), back)
    }

    /// Pieces of every length at every distance: each symbol of both alphabets occurs.
    #[test]
    fn every_length_and_distance_comes_back() {
        let powers = (2..12).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]);
        for distance in powers.chain((4..40).step_by(5)).filter(|at| (4..MOST - 260).contains(at)).chain([MOST - 260]) {
            for length in [4, 5, 10, 11, 18, 19, 34, 35, 66, 67, 130, 131, 257, 258, 259] {
                let noise = |n: usize| ((n as u32 + 1).wrapping_mul(2_654_435_761) >> 13) as u8;
                let mut text: Vec<u8> = (0..distance).map(noise).collect();
                for at in 0..length.min(MOST - distance) {
                    text.push(text[at]);
                }
                assert_eq!(there_and_back(b"other", &text).1, text, "{length} at {distance}");
            }
        }
    }

    #[test]
    fn texts_of_few_symbols_come_back() {
        for text in [&b""[..], b"a", b"ab", b"abc", b"abcd", &[0; MOST], &[255; 5], b"abababababababab"] {
            assert_eq!(there_and_back(b"before", text).1, text);
        }
    }

    #[test]
    fn noise_grows_by_the_head_of_a_stored_block() {
        let mut state = 1_u64;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        });
        let noise: Vec<u8> = noise.take(MOST).collect();
        let (length, back) = there_and_back(b"", &noise);
        assert_eq!((length, back), (MOST + STORED_HEADER, noise));
    }

    proptest! {
        #[test]
        fn whatever_is_compressed_comes_back(
            before in proptest::collection::vec(any::<u8>(), 0..200),
            words in proptest::collection::vec("[a-d]{1,9}|[\\x00-\\x7f]{1,40}|(ab){1,200}", 0..60),
        ) {
            let mut text = words.concat().into_bytes();
            text.truncate(MOST);
            prop_assert_eq!(there_and_back(&before, &text).1, text);
        }

        #[test]
        fn nothing_of_one_text_is_left_in_the_next(before in "[a-z]{0,500}", text in "[a-e ]{0,900}") {
            let alone = { let mut out = Vec::new(); Short::new().deflate(text.as_bytes(), &mut out); out };
            let (mut short, mut out) = (Short::new(), Vec::new());
            short.deflate(before.as_bytes(), &mut out);
            out.clear();
            short.deflate(text.as_bytes(), &mut out);
            prop_assert_eq!(out, alone);
        }
    }
}
