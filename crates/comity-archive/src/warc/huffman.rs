//! Prefix codes as RFC 1951 §3.2.2 has them: lengths from frequencies, codes from lengths.

/// The longest code of a literal, a length or a distance (RFC 1951 §3.2.7).
pub(super) const LONGEST: u8 = 15;
/// The longest code of a code length.
pub(super) const LONGEST_OF_LENGTHS: u8 = 7;

/// A code of each symbol: its bits in the order in which they are written, and how many.
pub(super) type Code = (u16, u8);

/// Symbols of the largest alphabet (RFC 1951 §3.2.5).
pub(super) const MOST_SYMBOLS: usize = 286;
/// Levels of a tree, at most: a deeper one needs more than 2^32 occurrences.
const LEVELS: usize = 48;

/// Lengths of an optimal code for these frequencies, none longer than `longest`; 0 for a symbol that does not occur.
/// A frequency is below 2^23.
///
/// At least two symbols get a code, so that it is complete: some inflaters take no other.
pub(super) fn lengths<const N: usize>(frequencies: &[u32; N], longest: u8) -> [u8; N] {
    // Frequency and symbol in one number: sorting these is quicker.
    let mut used = [0_u32; MOST_SYMBOLS];
    let mut count = 0;
    let occurring = frequencies.iter().zip(0_u32..).filter(|(times, _)| **times > 0);
    for (place, (times, symbol)) in used.iter_mut().zip(occurring) {
        *place = times << 9 | symbol;
        count += 1;
    }
    let absent = frequencies.iter().zip(0_u32..).filter(|(times, _)| **times == 0);
    for (place, (_, symbol)) in used.iter_mut().skip(count).zip(absent).take(2_usize.saturating_sub(count)) {
        *place = 1 << 9 | symbol;
        count += 1;
    }
    let used = used.get_mut(..count).unwrap_or_default();
    used.sort_unstable();
    let mut weights = [0_u32; MOST_SYMBOLS];
    weights.iter_mut().zip(used.iter()).for_each(|(weight, one)| *weight = one >> 9);
    let weights = weights.get_mut(..count).unwrap_or_default();
    let mut leaves = leaves(weights);
    // Weights closer to each other make a code that is less deep; equal ones a balanced one, which always fits.
    while leaves.iter().skip(usize::from(longest) + 1).any(|leaves| *leaves > 0) {
        weights.iter_mut().for_each(|weight| *weight = weight.div_ceil(2));
        leaves = self::leaves(weights);
    }
    let mut lengths = [0; N];
    let mut rarest_first = used.iter();
    for (level, leaves) in leaves.iter().enumerate().rev() {
        for one in rarest_first.by_ref().take(*leaves) {
            if let Some(length) = lengths.get_mut((one & 511) as usize) {
                *length = u8::try_from(level).unwrap_or(longest);
            }
        }
    }
    lengths
}

/// How many leaves each level of the Huffman tree over these has; the lightest come first.
///
/// Two queues: leaves as they are sorted, and inner nodes as they are made, which is sorted, too.
fn leaves(weights: &[u32]) -> [usize; LEVELS] {
    let mut sums = [0_u32; MOST_SYMBOLS];
    // Of each inner node the one above it, later its level.
    let mut above = [0_u32; MOST_SYMBOLS];
    let (mut leaf, mut inner) = (0, 0);
    let nodes = weights.len().saturating_sub(1).min(MOST_SYMBOLS);
    for made in 0..nodes {
        let mut sum = 0;
        for _ in 0..2 {
            let light = weights.get(leaf).copied().unwrap_or(u32::MAX);
            let heavy = if inner < made { sums[inner] } else { u32::MAX };
            if light <= heavy {
                leaf += 1;
            } else {
                above[inner] = u32::try_from(made).unwrap_or_default();
                inner += 1;
            }
            sum += light.min(heavy);
        }
        sums[made] = sum;
    }
    let mut inner = [0_usize; LEVELS];
    for node in (0..nodes).rev() {
        // The last one is the root; each other lies below one that was made after it.
        let level = if node + 1 == nodes { 0 } else { above.get(above[node] as usize).map_or(0, |level| level + 1) };
        above[node] = level;
        inner[(level as usize).min(LEVELS - 1)] += 1;
    }
    // Each inner node has two below it; what is not an inner one is a leaf.
    let mut leaves = [0; LEVELS];
    for (level, place) in leaves.iter_mut().enumerate().skip(1) {
        *place = 2 * inner[level - 1] - inner[level];
    }
    leaves
}

/// The codes of these lengths (RFC 1951 §3.2.2), bits turned round: a code is written from its highest bit on.
pub(super) fn codes<const N: usize>(lengths: &[u8; N]) -> [Code; N] {
    let mut next = [0_u16; 16];
    for length in lengths.iter().filter(|length| **length > 0) {
        next[usize::from(length & 15)] += 1;
    }
    let mut code = 0;
    for place in &mut next {
        let count = *place;
        *place = code;
        code = (code + count) << 1;
    }
    let mut codes = [(0, 0); N];
    for (code, length) in codes.iter_mut().zip(lengths).filter(|(_, length)| **length > 0) {
        let place = &mut next[usize::from(length & 15)];
        *code = (place.reverse_bits() >> (16 - length), *length);
        *place += 1;
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice the share of the code space that is taken, times 2^15.
    fn taken(lengths: &[u8]) -> u32 {
        lengths.iter().filter(|length| **length > 0).map(|length| 1_u32 << (15 - length)).sum()
    }

    #[test]
    fn codes_are_complete_and_no_longer_than_allowed() {
        let mut fibonacci = [0_u32; 30];
        let (mut a, mut b) = (1, 1);
        for place in &mut fibonacci {
            *place = a;
            (a, b) = (b, a + b);
        }
        let mut one = [0; 30];
        one[29] = 9;
        for (name, frequencies) in [("steep", fibonacci), ("even", [7; 30]), ("none", [0; 30]), ("one", one)] {
            for longest in [LONGEST, LONGEST_OF_LENGTHS] {
                let lengths = lengths(&frequencies, longest);
                assert_eq!(taken(&lengths), 1 << 15, "{name} {lengths:?}");
                assert!(lengths.iter().all(|length| *length <= longest), "{name} {lengths:?}");
                let occurs = frequencies.iter().zip(&lengths).all(|(times, length)| *times == 0 || *length > 0);
                assert!(occurs, "{name}");
            }
        }
    }

    #[test]
    fn codes_are_those_of_the_example_in_rfc_1951() {
        let codes = codes(&[3, 3, 3, 3, 3, 2, 4, 4]);
        let written =
            codes.map(|(bits, length)| format!("{:0>1$b}", bits.reverse_bits() >> (16 - length), length as usize));
        assert_eq!(written, ["010", "011", "100", "101", "110", "00", "1110", "1111"]);
    }
}
