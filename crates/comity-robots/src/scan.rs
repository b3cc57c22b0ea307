//! The first byte of some kind among sixty-four, without a branch for each.
//!
//! Compilers make vector instructions of these loops wherever there are any: a comparison of many bytes at once, the place of each that
//! is meant and a larger number elsewhere, the least of them. Loops of fewer turns they take apart instead, and then they are slow.

use crate::bytes::{below_plus, non_ascii};

/// Bytes that are looked at together.
pub(crate) const WINDOW: usize = 64;

/// As many bytes.
pub(crate) type Window = [u8; WINDOW];

/// Bytes in which most values end.
pub(crate) const HALF: usize = WINDOW / 2;

/// The place of the first byte below `+` or from 0x80 on, or [`HALF`]: all that end, cut or alter a value are such, and few others. By
/// words, which know the place sooner: what is done next waits for it.
#[inline(always)]
pub(crate) fn first_mark(half: &[u8; HALF]) -> usize {
    let mut place = HALF;
    for (at, word) in half.as_chunks::<8>().0.iter().enumerate().rev() {
        let word = u64::from_le_bytes(*word);
        let marks = below_plus(word) | non_ascii(word);
        if marks != 0 {
            place = 8 * at + marks.trailing_zeros() as usize / 8;
        }
    }
    place
}

/// The place of the first LF or CR, or [`WINDOW`].
#[inline(always)]
pub(crate) fn first_line_end(window: &Window) -> usize {
    first(window, |byte| byte == b'\n' || byte == b'\r')
}

/// The place of the first byte that is neither space nor HT, or [`WINDOW`].
#[inline(always)]
pub(crate) fn first_but_blank(window: &Window) -> usize {
    first(window, |byte| byte != b' ' && byte != b'\t')
}

#[inline(always)]
fn first(window: &Window, is_meant: impl Fn(u8) -> bool) -> usize {
    let mut first = WINDOW as u8;
    for (place, byte) in window.iter().enumerate() {
        first = first.min(if is_meant(*byte) { place as u8 } else { WINDOW as u8 });
    }
    usize::from(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(window: &Window) {
        let place = |is: &dyn Fn(u8) -> bool| window.iter().position(|byte| is(*byte)).unwrap_or(WINDOW);
        let (halves, _) = window.as_chunks::<HALF>();
        for half in halves {
            let wanted = half.iter().position(|byte| *byte < b'+' || *byte >= 0x80).unwrap_or(HALF);
            assert_eq!(first_mark(half), wanted, "{}", half.escape_ascii());
        }
        let wanted = place(&|byte| matches!(byte, b'\n' | b'\r'));
        assert_eq!(first_line_end(window), wanted, "{}", window.escape_ascii());
        let wanted = place(&|byte| !matches!(byte, b' ' | b'\t'));
        assert_eq!(first_but_blank(window), wanted, "{}", window.escape_ascii());
    }

    #[test]
    fn every_byte_at_every_place_beside_every_kind() {
        for around in [0, b'\n', b' ', b'*', b'+', b',', b'a', 0x7F, 0x80, 0xFF] {
            for (byte, at) in (0..=u8::MAX).flat_map(|byte| (0..WINDOW).map(move |at| (byte, at))) {
                let mut window = [around; WINDOW];
                window[at] = byte;
                check(&window);
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), WINDOW)) {
            check(bytes.first_chunk().unwrap());
        }
    }
}
