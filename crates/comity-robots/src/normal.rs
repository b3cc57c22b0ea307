//! Escaping and the normal form of paths.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::Dialect;
use crate::bytes::{behind, equals, find, non_ascii, short_word, whole_word, word};

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// A rule as it is compared and ranked: bytes from 0x80 on escaped, hex digits raised (Google's parser), in the standard
/// dialect escaped unreserved characters decoded as well (RFC 9309 §2.2.2). Nothing else changes.
pub(crate) fn rule_form(raw: &[u8], dialect: Dialect) -> Cow<'_, [u8]> {
    normal_form(raw, dialect == Dialect::Standard)
}

/// A target as it is compared: as written in the google dialect, in normal form in the standard one.
pub(crate) fn target_form(raw: &[u8], dialect: Dialect) -> Cow<'_, [u8]> {
    match dialect {
        Dialect::Google => Cow::Borrowed(raw),
        Dialect::Standard => normal_form(raw, true),
    }
}

#[inline]
fn normal_form(raw: &[u8], decode: bool) -> Cow<'_, [u8]> {
    if is_plain(raw) { Cow::Borrowed(raw) } else { Cow::Owned(escaped(raw, decode)) }
}

/// Whether nothing needs escaping, raising or decoding: ASCII without `%`.
#[inline]
fn is_plain(bytes: &[u8]) -> bool {
    let both = |pair: &[u8; 16]| special(whole_word(pair, 0)) | special(whole_word(pair, 8));
    let marks = match (bytes.first_chunk(), bytes.last_chunk(), bytes.last_chunk()) {
        (.., Some(last)) => bytes.as_chunks().0.iter().fold(both(last), |marks, pair| marks | both(pair)),
        (Some(first), Some(last), None) => special(u64::from_le_bytes(*first)) | special(u64::from_le_bytes(*last)),
        _ => special(short_word(bytes)),
    };
    marks == 0
}

/// Whether what holds `%` needs no rewriting all the same, as most escaped targets do not.
#[inline(never)]
fn is_normal(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(escape) = find(b'%', rest).and_then(|at| rest.get(at + 1..)) {
        rest = match escape {
            [high, low, tail @ ..] => {
                // Tables, because branches on digits are often guessed wrongly.
                let (high, low) = (digit(*high), digit(*low));
                if (high | low) & NO_DIGIT != 0 {
                    escape
                } else if (high | low) & LOWER != 0 || is_unreserved(high << 4 | low) {
                    return false;
                } else {
                    tail
                }
            }
            _ => escape,
        };
    }
    bytes.is_ascii()
}

const NO_DIGIT: u8 = 0x80;
const LOWER: u8 = 0x10;

/// The value of a hex digit, with [`LOWER`] if it is a small letter, or [`NO_DIGIT`].
const fn digit(byte: u8) -> u8 {
    DIGITS[byte as usize]
}

const DIGITS: [u8; 256] = {
    let mut table = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        table[HEX[value as usize] as usize] = value;
        if value > 9 {
            table[HEX[value as usize].to_ascii_lowercase() as usize] = value | LOWER;
        }
        value += 1;
    }
    table
};

/// A target in the form in which it is compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'t> {
    /// At least eight bytes; zeros behind the target, if anything.
    padded: &'t [u8],
    length: usize,
}

impl<'t> Target<'t> {
    /// Of bytes in the form in which they are compared, with eight zeros behind them.
    pub(crate) const fn of_padded(padded: &'t [u8], length: usize) -> Self {
        Self { padded, length }
    }

    pub(crate) fn bytes(&self) -> &'t [u8] {
        self.padded.get(..self.length).unwrap_or_default()
    }

    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    /// One byte; 0 behind the end.
    #[inline]
    pub(crate) fn byte(&self, at: usize) -> u8 {
        self.padded.get(at).copied().unwrap_or_default()
    }

    /// Eight bytes from a place on, the first one lowest; zeros behind the end.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> u64 {
        let from = at.min(self.padded.len().saturating_sub(8));
        behind(whole_word(self.padded, from), at - from)
    }

    /// How many bytes from a place on are those of a text from a place on, at most `most`. The text holds no NUL, and eight bytes
    /// can be read wherever it has one of those.
    #[inline(always)]
    pub(crate) fn alike(&self, at: usize, (text, text_at): (&[u8], usize), most: usize) -> usize {
        let difference = whole_word(text, text_at) ^ self.word(at);
        if difference != 0 || most <= 8 {
            most.min(difference.trailing_zeros() as usize / 8)
        } else {
            self.alike_further(at, (text, text_at), most)
        }
    }

    /// The same when eight bytes are alike.
    #[inline(never)]
    fn alike_further(&self, at: usize, (text, text_at): (&[u8], usize), most: usize) -> usize {
        let mut done = 8;
        loop {
            let difference = whole_word(text, text_at + done) ^ self.word(at + done);
            if difference != 0 || done + 8 >= most {
                return most.min(done + difference.trailing_zeros() as usize / 8);
            }
            done += 8;
        }
    }
}

/// Targets whose rewritten form may have up to so many bytes cost no allocation: three bytes for one, and a slash.
const ON_STACK: usize = 8192;

/// Nearly all targets that need rewriting; less to clear.
const SHORT: usize = 256;

/// Lends `target` in the form in which it is compared, with `/` in front if it has none.
#[inline]
pub(crate) fn with_target<R>(target: &[u8], dialect: Dialect, ask: impl Fn(Target<'_>) -> R) -> R {
    let escapes = dialect == Dialect::Standard;
    let is_rooted = matches!(target, [b'/', ..]);
    if !is_rooted || escapes && !is_plain(target) && !is_normal(target) {
        with_rewritten(target, escapes, ask)
    } else if target.len() < 8 {
        ask(Target { padded: &short_word(target).to_le_bytes(), length: target.len() })
    } else {
        ask(Target { padded: target, length: target.len() })
    }
}

#[inline(never)]
fn with_rewritten<R>(target: &[u8], escapes: bool, ask: impl Fn(Target<'_>) -> R) -> R {
    let room = target.len().saturating_mul(3).saturating_add(1);
    if room <= SHORT {
        ask(rewrite(target, escapes, &mut [0; SHORT + 8]))
    } else if room <= ON_STACK {
        ask(rewrite(target, escapes, &mut [0; ON_STACK + 8]))
    } else {
        ask(rewrite(target, escapes, &mut alloc::vec![0; room.saturating_add(8)]))
    }
}

/// Writes the form into `room`, which is long enough for it and eight bytes more.
fn rewrite<'r>(target: &[u8], escapes: bool, room: &'r mut [u8]) -> Target<'r> {
    let mut out = Room { bytes: room, length: 0 };
    if !matches!(target, [b'/', ..]) {
        out.put(b"/");
    }
    if escapes {
        escape(target, true, &mut out);
    } else {
        out.put(target);
    }
    let Room { bytes, length } = out;
    // What was written too much.
    bytes.get_mut(length..length + 8).unwrap_or_default().fill(0);
    Target { padded: bytes, length }
}

/// Where an escaped form is written to.
trait Output {
    fn put(&mut self, bytes: &[u8]);

    /// The first `length` bytes of a word.
    fn put_word(&mut self, word: u64, length: usize);
}

impl Output for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn put_word(&mut self, word: u64, length: usize) {
        self.extend(word.to_le_bytes().iter().take(length));
    }
}

/// A place that is long enough.
struct Room<'r> {
    bytes: &'r mut [u8],
    length: usize,
}

impl Output for Room<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        if let Some(place) = self.bytes.get_mut(self.length..end) {
            place.copy_from_slice(bytes);
            self.length = end;
        }
    }

    #[inline]
    fn put_word(&mut self, word: u64, length: usize) {
        if let Some(place) = self.bytes.get_mut(self.length..self.length + 8) {
            place.copy_from_slice(&word.to_le_bytes());
            self.length += length;
        }
    }
}

#[cold]
fn escaped(raw: &[u8], decode: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len() + 8);
    escape(raw, decode, &mut out);
    out
}

/// Gives the form piece by piece.
fn escape(raw: &[u8], decode: bool, out: &mut impl Output) {
    let mut at = 0;
    while at < raw.len() {
        let word = word(raw, at);
        let marks = special(word);
        let plain = (marks.trailing_zeros() as usize / 8).min(raw.len() - at);
        out.put_word(word, plain);
        at += plain;
        if marks != 0 {
            at += escape_one(raw.get(at..).unwrap_or_default(), decode, out);
        }
    }
}

/// A byte that is not plain, or an escaped one; returns how many bytes that is.
fn escape_one(raw: &[u8], decode: bool, out: &mut impl Output) -> usize {
    match raw {
        [b'%', high, low, ..] if (digit(*high) | digit(*low)) & NO_DIGIT == 0 => {
            // The mark of a small letter falls off at the top, or is taken off.
            let octet = digit(*high) << 4 | digit(*low) & !LOWER;
            if decode && is_unreserved(octet) {
                out.put_word(octet.into(), 1)
            } else {
                put_escaped(octet, out)
            }
            3
        }
        [b'%', ..] => {
            out.put_word(b'%'.into(), 1);
            1
        }
        [byte, ..] => {
            put_escaped(*byte, out);
            1
        }
        [] => 0,
    }
}

fn put_escaped(octet: u8, out: &mut impl Output) {
    let digit = |value: u8| HEX.get(usize::from(value)).copied().unwrap_or_default();
    let [high, low] = [digit(octet >> 4), digit(octet & 0x0F)];
    out.put_word(u32::from_le_bytes([b'%', high, low, 0]).into(), 3);
}

/// What of a word is not plain: bytes from 0x80 on, and `%`.
#[inline]
const fn special(word: u64) -> u64 {
    equals(word, b'%') | non_ascii(word)
}

/// RFC 3986 §2.3.
const fn is_unreserved(byte: u8) -> bool {
    UNRESERVED[byte as usize]
}

const UNRESERVED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'-' | b'.' | b'_' | b'~');
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let rows: &[(&[u8], &[u8], &[u8])] = &[
            (b"/a b\"{<|", b"/a b\"{<|", b"/a b\"{<|"),
            (b"/%c3%a9", b"/%C3%A9", b"/%C3%A9"),
            ("/é".as_bytes(), b"/%C3%A9", b"/%C3%A9"),
            (b"/\xE9", b"/%E9", b"/%E9"),
            (b"/%7euser", b"/%7Euser", b"/~user"),
            (b"/%2f%3F%2a%24", b"/%2F%3F%2A%24", b"/%2F%3F%2A%24"),
            (b"/%2561", b"/%2561", b"/%2561"),
            (b"/%%361", b"/%%361", b"/%61"),
            (b"/%g1%4", b"/%g1%4", b"/%g1%4"),
            (b"%", b"%", b"%"),
            (b"?a=b c", b"?a=b c", b"?a=b c"),
        ];
        for (raw, google, standard) in rows {
            assert_eq!(rule_form(raw, Dialect::Google).as_ref(), *google, "{}", raw.escape_ascii());
            assert_eq!(rule_form(raw, Dialect::Standard).as_ref(), *standard, "{}", raw.escape_ascii());
            assert_eq!(target_form(raw, Dialect::Google).as_ref(), *raw, "{}", raw.escape_ascii());
            assert_eq!(target_form(raw, Dialect::Standard).as_ref(), *standard, "{}", raw.escape_ascii());
            for (dialect, wanted) in [(Dialect::Google, raw), (Dialect::Standard, standard)] {
                // Also a target that needs more room.
                for copies in [1, 100, 1000] {
                    let target = raw.repeat(copies);
                    let slash: &[u8] = if raw.starts_with(b"/") { b"" } else { b"/" };
                    let wanted = [slash, &wanted.repeat(copies)].concat();
                    with_target(&target, dialect, |form| assert!(form.bytes() == wanted, "{}", raw.escape_ascii()));
                }
            }
        }
    }

    #[test]
    fn words_and_bytes_of_targets_of_every_length() {
        let text: Vec<_> = (b'/'..b'/' + 40).collect();
        let padded = [&text[..], &[0; 8]].concat();
        for length in 1..text.len() {
            with_target(&text[..length], Dialect::Standard, |target| {
                assert_eq!((target.bytes(), target.len()), (&text[..length], length));
                for at in 0..=length {
                    let mut wanted = [0; 8];
                    wanted.iter_mut().zip(&text[at..length]).for_each(|(to, byte)| *to = *byte);
                    assert_eq!(target.word(at).to_le_bytes(), wanted, "{at} of {length}");
                    assert_eq!(target.byte(at), wanted[0]);
                    for most in 0..=text.len() - at {
                        assert_eq!(target.alike(at, (&padded, at), most), most.min(length - at), "{at} of {length}");
                    }
                }
            });
        }
    }

    #[test]
    fn what_is_plain() {
        for length in 1..70 {
            let mut text = alloc::vec![b'a'; length];
            assert!(is_plain(&text));
            for (at, byte) in (0..length).flat_map(|at| [b'%', 0x80, 0xFF].map(|byte| (at, byte))) {
                text[at] = byte;
                assert!(!is_plain(&text), "{byte} at {at} of {length}");
                text[at] = b'a';
            }
        }
    }
}
