//! What a target holds, roughly: turns most star rules down without a search.
//!
//! Of each star rule one *sign* is kept that every match has: a pair of neighbours in its tail, or a byte. A sieve is the set
//! of the pairs of a target.

use crate::bytes::find;

/// Signs of this bit are pairs, hashed to seven bits; others are the byte itself.
pub(crate) const PAIR: u8 = 0x80;

/// The sign of a rule that has none: its tail is stars alone.
const NO_SIGN: u8 = 0;

/// The pairs of a target, by their hash: a byte each, because a bit is dearer to set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sieve([bool; PAIR as usize]);

impl Sieve {
    /// That of no target.
    pub(crate) const EMPTY: Self = Self([false; PAIR as usize]);

    /// Adds every pair of a target. Cost: a few operations for each byte.
    pub(crate) fn fill(&mut self, target: &[u8]) {
        for (a, b) in target.iter().zip(target.iter().skip(1)) {
            if let Some(place) = self.0.get_mut(usize::from(hash(*a, *b))) {
                *place = true;
            }
        }
    }

    /// Whether the target, of which this is the sieve, may hold what the sign stands for.
    pub(crate) fn may_hold(&self, sign: u8, target: &[u8]) -> bool {
        if sign & PAIR == 0 {
            return sign == NO_SIGN || find(sign, target).is_some();
        }
        self.may_hold_pair(sign)
    }

    /// The same for a sign that is a pair.
    #[inline]
    pub(crate) fn may_hold_pair(&self, sign: u8) -> bool {
        self.0.get(usize::from(sign & !PAIR)).is_some_and(|held| *held)
    }

    /// Whether it may hold the pair behind the star that a tail starts with.
    #[inline]
    pub(crate) fn may_go_on(&self, tail: &[u8]) -> bool {
        match tail {
            [_, a, b, ..] if *a != b'*' && *b != b'*' => self.may_hold_pair(hash(*a, *b)),
            _ => true,
        }
    }
}

/// The sign of a tail: its rarest pair, or, when it has none, its rarest byte. A tail is part of a normal form: ASCII.
#[inline]
pub(crate) fn sign(tail: &[u8]) -> u8 {
    // How common it is, above the sign itself: so there is no branch that could be guessed wrongly.
    let mut best = u16::MAX;
    let mut before = NEVER;
    for byte in tail.iter().copied() {
        let own = commonness(byte);
        best = best.min(u16::from(own + before.1) << 8 | u16::from(PAIR | hash(before.0, byte)));
        before = (byte, own);
    }
    if best >> 8 < u16::from(NEVER.1) { best as u8 } else { lone_sign(tail) }
}

/// The rarest byte.
#[inline(never)]
fn lone_sign(tail: &[u8]) -> u8 {
    let rarest =
        tail.iter().copied().filter(|byte| commonness(*byte) < NEVER.1).min_by_key(|byte| (commonness(*byte), *byte));
    rarest.unwrap_or(NO_SIGN)
}

/// No byte, and more common than any.
const NEVER: (u8, u8) = (0, 100);

/// Seven bits of a pair.
const fn hash(a: u8, b: u8) -> u8 {
    (a.wrapping_mul(37) ^ b) & !PAIR
}

/// How common a byte is in paths and queries: 0 to 6, and [`NEVER`] for what is no byte of a target.
const fn commonness(byte: u8) -> u8 {
    COMMONNESS[byte as usize]
}

const COMMONNESS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'*' | 0 | 0x80.. => NEVER.1,
            b'e' | b'a' | b'i' | b's' | b't' | b'o' | b'n' | b'r' | b'/' => 6,
            b'c' | b'd' | b'l' | b'm' | b'p' | b'-' | b'h' | b'u' => 5,
            b'b' | b'f' | b'g' | b'.' | b'w' | b'v' | b'_' => 4,
            b'0'..=b'9' => 3,
            b'a'..=b'z' => 2,
            b'A'..=b'Z' => 1,
            _ => 0,
        };
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn sieve(target: &[u8]) -> Sieve {
        let mut sieve = Sieve::EMPTY;
        sieve.fill(target);
        sieve
    }

    #[test]
    fn a_target_holds_the_signs_of_its_parts() {
        let target = b"/Shop/item-42.html?color=red&sort=price%2C\xFF$z";
        let sieve = sieve(target);
        for start in 0..target.len() {
            for end in start..=target.len() {
                let part = &target[start..end];
                assert!(sieve.may_hold(sign(part), target), "{}", part.escape_ascii());
                assert!(sieve.may_hold(sign(&[b"*", part, b"**"].concat()), target), "{}", part.escape_ascii());
            }
        }
    }

    #[test]
    fn most_others_are_turned_down() {
        let target = b"/news/2026/11/page.html";
        let sieve = sieve(target);
        let tails = ["*?", "*.pdf", "*sessionid=", "*/print/", "*&", "*Mail", "*~", "*qq"];
        let held = tails.iter().filter(|tail| sieve.may_hold(sign(tail.as_bytes()), target)).count();
        assert!(held <= 3, "{held}");
        assert!(sieve.may_hold(sign(b"**"), target));
    }
}
