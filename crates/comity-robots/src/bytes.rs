//! Small questions about bytes that several modules ask.

use memchr::memchr;

/// ASCII white space as Google's parser trims it: space, HT, LF, VT, FF, CR. The standard library leaves out VT.
pub(crate) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 0x09..=0x0D)
}

/// Space or horizontal tab, the only separators inside a line (RFC 9309 §2.2).
pub(crate) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// A character of a product token (RFC 9309 §2.2.1).
pub(crate) const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_')
}

/// `bytes` without white space at both ends.
pub(crate) const fn trim(bytes: &[u8]) -> &[u8] {
    trim_end(trim_start(bytes))
}

/// `bytes` without white space at the start.
pub(crate) const fn trim_start(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes {
        if !is_space(*first) {
            break;
        }
        bytes = rest;
    }
    bytes
}

const fn trim_end(mut bytes: &[u8]) -> &[u8] {
    while let [rest @ .., last] = bytes {
        if !is_space(*last) {
            break;
        }
        bytes = rest;
    }
    bytes
}

/// Whether `bytes` starts with `prefix`, ASCII letters compared without case.
pub(crate) fn starts_with_ignore_case(bytes: &[u8], prefix: &[u8]) -> bool {
    bytes.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
}

/// Splits where `keep` first says no.
pub(crate) fn split_while(bytes: &[u8], keep: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let at = bytes.iter().position(|&byte| !keep(byte)).unwrap_or(bytes.len());
    bytes.split_at(at)
}

/// Ones in every byte of a word.
const ONES: u64 = u64::from_ne_bytes([1; 8]);

/// The top bit of every byte that is zero; above the lowest of these maybe more. None when none is zero.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

/// The top bit of every byte that is `byte`, as [`zeros`].
pub(crate) const fn equals(word: u64, byte: u8) -> u64 {
    zeros(word ^ (ONES * byte as u64))
}

/// The top bit of every byte that is not `byte`, and of no other.
pub(crate) const fn differs(word: u64, byte: u8) -> u64 {
    let difference = word ^ (ONES * byte as u64);
    (((difference & !(ONES << 7)) + !(ONES << 7)) | difference) & (ONES << 7)
}

/// The top bit of every byte from 0x80 on.
pub(crate) const fn non_ascii(word: u64) -> u64 {
    word & (ONES << 7)
}

/// The top bit of every byte below `+` or from 0x80 on, and of each `+` right behind one below it or behind such a `+`, which the
/// borrow reaches: one subtraction tells. Of no other.
pub(crate) const fn special(word: u64) -> u64 {
    (word.wrapping_sub(ONES * b'+' as u64) | word) & (ONES << 7)
}

/// Whether `test` finds a mark in the bytes; for texts that are too short for a search to pay. `test` must not mark spaces,
/// which fill the last word.
#[inline]
pub(crate) fn any(bytes: &[u8], test: impl Fn(u64) -> u64) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    let last = bytes.last_chunk::<8>().map_or_else(|| filled(rest), |word| u64::from_le_bytes(*word));
    words.iter().fold(test(last), |marks, word| marks | test(u64::from_le_bytes(*word))) != 0
}

/// The first place of `byte`, which is not NUL; in a few words of text without the start of a search, which would not pay.
#[inline]
pub(crate) fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    if bytes.len() > SHORT {
        return memchr(byte, bytes);
    }
    let mut at = 0;
    while at < bytes.len() {
        let marks = equals(word(bytes, at), byte);
        if marks != 0 {
            return Some(at + marks.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    None
}

/// Texts that are too short for a search to pay.
pub(crate) const SHORT: usize = 48;

/// Fewer than eight bytes as a word, spaces behind them.
fn filled(short: &[u8]) -> u64 {
    short.iter().rev().fold(u64::from_le_bytes([b' '; 8]), |word, byte| word << 8 | u64::from(*byte))
}

/// So many bytes from a place on, when there are.
#[inline]
pub(crate) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    // No slice is longer; and a sum that cannot overflow need not be looked at.
    let at = at & (usize::MAX >> 1);
    bytes.get(at..at + N)?.first_chunk()
}

/// Eight bytes from a place on, the first one lowest; zero when there are not so many.
#[inline]
pub(crate) fn whole_word(bytes: &[u8], at: usize) -> u64 {
    chunk(bytes, at).map_or(0, |word| u64::from_le_bytes(*word))
}

/// Eight bytes from a place on, the first one lowest; zeros where the bytes end.
#[inline]
pub(crate) fn word(bytes: &[u8], at: usize) -> u64 {
    chunk(bytes, at).map_or_else(|| last_word(bytes, at), |word| u64::from_le_bytes(*word))
}

/// The same near the end.
#[inline(never)]
fn last_word(bytes: &[u8], at: usize) -> u64 {
    match bytes.last_chunk() {
        Some(last) => behind(u64::from_le_bytes(*last), at - (bytes.len() - 8)),
        None => behind(short_word(bytes), at),
    }
}

/// A word without its first bytes, zeros behind them.
#[inline]
pub(crate) fn behind(word: u64, bytes: usize) -> u64 {
    u32::try_from(8 * bytes).ok().and_then(|bits| word.checked_shr(bits)).unwrap_or(0)
}

/// Fewer than eight bytes, zeros behind them.
#[inline]
pub(crate) fn short_word(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        // Where the two overlap they are alike.
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (bytes.len() - 4));
    }
    bytes.iter().zip([0, 8, 16]).fold(0, |word, (byte, place)| word | u64::from(*byte) << place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_see_what_bytes_see() {
        let text = b"/a b#c%d\0e*\xC3\xA9/index.html#$";
        for from in 0..text.len() {
            for to in from..=text.len() {
                let part = &text[from..to];
                for byte in *b"#%*$/\xA9" {
                    let place = part.iter().position(|other| *other == byte);
                    assert_eq!(find(byte, part), place, "{byte} in {}", part.escape_ascii());
                    assert_eq!(
                        any(part, |word| equals(word, byte)),
                        place.is_some(),
                        "{byte} in {}",
                        part.escape_ascii()
                    );
                }
                assert_eq!(any(part, non_ascii), !part.is_ascii());
                let mut wanted = [0; 8];
                wanted.iter_mut().zip(part).for_each(|(to, byte)| *to = *byte);
                assert_eq!(word(&text[..to], from), u64::from_le_bytes(wanted), "{}", part.escape_ascii());
            }
        }
        assert_eq!((word(text, text.len() + 9), word(b"/", 9)), (0, 0));
    }
}
