//! The first byte of some kind among a few, without a branch for each.

use crate::bytes::{differs, special};

/// Bytes that are looked at together.
pub(crate) const WINDOW: usize = 64;

/// As many bytes.
pub(crate) type Window = [u8; WINDOW];

/// Bytes in which most values end.
pub(crate) const HALF: usize = WINDOW / 2;

/// The bytes below `+` or from 0x80 on, a bit each, that of the first byte lowest: all that end, cut or alter a value are such, and few
/// others. A `+` right behind one of these may be marked, too; so the first mark is always a true one.
#[inline(always)]
pub(crate) fn marks(half: &[u8; HALF]) -> u32 {
    let words = half.as_chunks::<8>().0.iter();
    words.rev().fold(0, |marks, word| marks << 8 | u32::from(side_by_side(special(u64::from_le_bytes(*word)))))
}

/// The top bits of eight bytes.
#[inline(always)]
const fn side_by_side(tops: u64) -> u8 {
    // A copy for each bit, in which that one stands at its place in the highest byte; no two others meet.
    (tops.wrapping_mul(0x0002_0408_1020_4081) >> 56) as u8
}

/// The place of the first byte that is neither space nor HT, or [`WINDOW`].
#[inline(always)]
pub(crate) fn first_but_blank(window: &Window) -> usize {
    for (at, word) in window.as_chunks::<8>().0.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let others = differs(word, b' ') & differs(word, b'\t');
        if others != 0 {
            return 8 * at + others.trailing_zeros() as usize / 8;
        }
    }
    WINDOW
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(window: &Window) {
        for half in window.as_chunks::<HALF>().0 {
            let mut wanted = 0;
            for (place, byte) in half.iter().enumerate() {
                let low = |place: usize| {
                    // A borrow starts below `+` and goes on through `+`, within a word.
                    half[place / 8 * 8..=place]
                        .iter()
                        .rev()
                        .find(|byte| **byte != b'+')
                        .is_some_and(|byte| *byte < b'+')
                };
                wanted |= u32::from(low(place) || *byte >= 0x80) << place;
            }
            assert_eq!(marks(half), wanted, "{}", half.escape_ascii());
        }
        let wanted = window.iter().position(|byte| !matches!(byte, b' ' | b'\t')).unwrap_or(WINDOW);
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
