//! Small questions about bytes that several modules ask.

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

/// The top bit of every byte from 0x80 on.
pub(crate) const fn non_ascii(word: u64) -> u64 {
    word & (ONES << 7)
}

/// Whether `test` finds a mark in the bytes; for texts that are too short for a search to pay. `test` must not mark spaces,
/// which fill the last word.
#[inline]
pub(crate) fn any(bytes: &[u8], test: impl Fn(u64) -> u64) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    let last = bytes.last_chunk::<8>().map_or_else(|| filled(rest), |word| u64::from_le_bytes(*word));
    words.iter().fold(test(last), |marks, word| marks | test(u64::from_le_bytes(*word))) != 0
}

/// The first place of `byte`; for texts that are too short for a search to pay.
#[inline]
pub(crate) fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let marks = equals(u64::from_le_bytes(*word), byte);
        if marks != 0 {
            return Some(8 * place + marks.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|other| *other == byte).map(|place| 8 * words.len() + place)
}

/// Fewer than eight bytes as a word, spaces behind them.
fn filled(short: &[u8]) -> u64 {
    short.iter().rev().fold(u64::from_le_bytes([b' '; 8]), |word, byte| word << 8 | u64::from(*byte))
}

/// Eight bytes as a number that sorts like them, zeros where there are none.
#[inline]
pub(crate) fn start(bytes: &[u8]) -> u64 {
    if let Some(word) = bytes.first_chunk() {
        return u64::from_be_bytes(*word);
    }
    let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else {
        return bytes.iter().zip([56, 48, 40]).fold(0, |word, (byte, shift)| word | u64::from(*byte) << shift);
    };
    // The two halves may overlap: there they are alike.
    let last = u64::from(u32::from_be_bytes(*last)) << (64 - 8 * bytes.len());
    u64::from(u32::from_be_bytes(*first)) << 32 | last
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
                for byte in *b"#%*$/\0\xA9" {
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
                assert_eq!(start(part), u64::from_be_bytes(wanted), "{}", part.escape_ascii());
            }
        }
    }
}
