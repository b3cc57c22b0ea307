//! What a target holds, roughly: turns most star rules down without a search.
//!
//! Of each star rule one *sign* is kept that every match has: a pair of neighbours in its tail, or a byte. A sieve is the set
//! of the pairs of a target.

/// Signs of this bit are pairs, hashed to seven bits; others are the byte itself.
pub(crate) const PAIR: u8 = 0x80;

/// The sign of a rule that has none: its tail is stars alone.
const NO_SIGN: u8 = 0;

/// The pairs of a target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sieve {
    low: u64,
    high: u64,
}

impl Sieve {
    /// Every pair of a target. Cost: a few operations for each byte.
    pub(crate) fn of(target: &[u8]) -> Self {
        let (mut low, mut high) = (0_u64, 0_u64);
        for (a, b) in target.iter().zip(target.iter().skip(1)) {
            let pair = hash(*a, *b);
            let bit = 1 << (pair & 63);
            // All ones for the upper half: no branch that could be guessed wrongly.
            let upper = 0_u64.wrapping_sub(u64::from(pair >> 6));
            low |= bit & !upper;
            high |= bit & upper;
        }
        Self { low, high }
    }

    /// Whether the target, of which this is the sieve, may hold what the sign stands for.
    pub(crate) fn may_hold(&self, sign: u8, target: &[u8]) -> bool {
        if sign & PAIR == 0 {
            return sign == NO_SIGN || memchr::memchr(sign, target).is_some();
        }
        let word = if sign & 64 == 0 { self.low } else { self.high };
        word >> (sign & 63) & 1 == 1
    }
}

/// The sign of a tail: its rarest pair, or, when it has none, its rarest byte. A tail is part of a normal form: ASCII.
pub(crate) fn sign(tail: &[u8]) -> u8 {
    let (mut sign, mut least) = (NO_SIGN, NEVER.1);
    let mut before = NEVER;
    for byte in tail.iter().copied() {
        let own = commonness(byte);
        let pair = own.saturating_add(before.1);
        if pair < least {
            (sign, least) = (PAIR | hash(before.0, byte), pair);
        } else if own.saturating_add(ALONE) < least {
            (sign, least) = (byte, own + ALONE);
        }
        before = (byte, own);
    }
    sign
}

/// No byte, and more common than any.
const NEVER: (u8, u8) = (0, 100);

/// Above the commonness of every pair.
const ALONE: u8 = 20;

/// Seven bits of a pair.
const fn hash(a: u8, b: u8) -> u8 {
    (a.wrapping_mul(37) ^ b) & 0x7F
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

    #[test]
    fn a_target_holds_the_signs_of_its_parts() {
        let target = b"/Shop/item-42.html?color=red&sort=price%2C\xFF$z";
        let sieve = Sieve::of(target);
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
        let sieve = Sieve::of(target);
        let tails = ["*?", "*.pdf", "*sessionid=", "*/print/", "*&", "*Mail", "*~", "*qq"];
        let held = tails.iter().filter(|tail| sieve.may_hold(sign(tail.as_bytes()), target)).count();
        assert!(held <= 3, "{held}");
        assert!(sieve.may_hold(sign(b"**"), target));
    }
}
