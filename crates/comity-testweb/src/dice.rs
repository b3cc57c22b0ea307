/// A small generator (SplitMix64), seeded by the place it is used at: the same place of the same web always gives
/// the same numbers, in whatever order requests come.
pub(crate) struct Dice(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Dice {
    /// The generator of one place of a web.
    pub(crate) fn at(seed: u64, place: &[u64]) -> Self {
        Self(place.iter().fold(mix(seed.wrapping_add(STEP)), |state, part| mix(state ^ part.wrapping_add(STEP))))
    }

    /// A number in `0..bound`; zero when `bound` is zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let wide = u128::from(mix(self.0)) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }
}

const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
