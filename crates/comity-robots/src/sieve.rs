//! What a target holds, roughly: turns most star rules down without a search.
//!
//! Of each star rule one *sign* is kept that every match has: a byte of its tail, or a pair of neighbours. A sieve is the set
//! of all signs of a target.

/// Signs of this bit are pairs, hashed to seven bits; others are the byte itself.
const PAIR: u8 = 0x80;

/// The sign of a rule that has none: its tail is stars alone.
const NO_SIGN: u8 = 0;

/// A set of signs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sieve([u64; 4]);

impl Sieve {
    /// Every sign of a target. Cost: a few operations for each byte.
    pub(crate) fn of(target: &[u8]) -> Self {
        let (mut low, mut high) = (1_u64, 0_u64);
        let mut pairs = [0_u64; 2];
        let mut before = 0;
        for byte in target.iter().copied() {
            let bit = 1 << (byte & 63);
            if byte & 64 == 0 {
                low |= bit
            } else {
                high |= bit
            }
            let pair = hash(before, byte);
            if let Some(word) = pairs.get_mut(usize::from(pair >> 6 & 1)) {
                *word |= 1 << (pair & 63);
            }
            before = byte;
        }
        let [first, second] = pairs;
        Self([low, high, first, second])
    }

    /// Whether the target may hold what the sign stands for.
    pub(crate) fn may_hold(&self, sign: u8) -> bool {
        self.0.get(usize::from(sign >> 6)).is_some_and(|word| word >> (sign & 63) & 1 == 1)
    }
}

/// The sign of a tail: its rarest byte if that is rare at all, else its rarest pair. A tail is a tail of a normal form: ASCII.
pub(crate) fn sign(tail: &[u8]) -> u8 {
    let (mut sign, mut least) = (NO_SIGN, u8::MAX);
    let mut before = NEVER;
    for byte in tail.iter().copied() {
        let own = commonness(byte);
        let pair = own.saturating_add(before.1);
        // A byte alone says little, unless it is rare; and any says more than nothing.
        let alone = if own == 0 { 0 } else { own.saturating_add(ALONE) };
        if own < NEVER.1 && alone < least {
            (sign, least) = (byte, alone);
        }
        if pair < ALONE && pair < least {
            (sign, least) = (PAIR | hash(before.0, byte), pair);
        }
        before = (byte, own);
    }
    sign
}

/// No byte, and more common than any pair.
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
                assert!(sieve.may_hold(sign(part)), "{}", part.escape_ascii());
                assert!(sieve.may_hold(sign(&[b"*", part, b"**"].concat())), "{}", part.escape_ascii());
            }
        }
    }

    #[test]
    fn most_others_are_turned_down() {
        let sieve = Sieve::of(b"/news/2026/11/page.html");
        let tails = ["*?", "*.pdf", "*sessionid=", "*/print/", "*&", "*Mail", "*~", "*qq"];
        let held = tails.iter().filter(|tail| sieve.may_hold(sign(tail.as_bytes()))).count();
        assert!(held <= 3, "{held}");
        assert!(sieve.may_hold(sign(b"**")));
    }
}
