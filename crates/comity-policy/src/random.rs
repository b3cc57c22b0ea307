use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where randomness comes from: jitter of delays and retries. Passed in, so that one seed is one run.
pub trait Random: Send + Sync + fmt::Debug {
    /// The next 64 random bits.
    fn next_u64(&self) -> u64;

    /// A number in `0..bound`; zero when `bound` is zero. The bias is below 2⁻³² for bounds below 2³².
    fn below(&self, bound: u64) -> u64 {
        let wide = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }
}

/// A small deterministic generator (SplitMix64): good enough for jitter, never for secrets.
///
/// The algorithm is part of the simulation's promise "same seed, same log".
#[derive(Debug)]
pub struct SeededRandom(AtomicU64);

impl SeededRandom {
    /// A generator whose whole sequence follows from `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

impl Random for SeededRandom {
    fn next_u64(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_sequence_within_bounds() {
        let (a, b) = (SeededRandom::new(7), SeededRandom::new(7));
        for bound in 1..1000 {
            let drawn = a.below(bound);
            assert_eq!(drawn, b.below(bound));
            assert!(drawn < bound);
        }
        assert_eq!(a.below(0), 0);
    }
}
