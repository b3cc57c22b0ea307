//! Counts over time and over sizes: bounded, however long a crawl runs.

use std::collections::BTreeMap;

use serde::Serialize;

/// Most buckets of a timeline: about as many as a screen can show.
const MOST: i64 = 240;

/// What happened in one span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Moment {
    pub(super) answered: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    pub(super) bytes: u64,
}

impl Moment {
    const fn add(&mut self, other: Self) {
        self.answered += other.answered;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.bytes += other.bytes;
    }
}

/// Counts over time. Buckets are a second wide at first, and twice as wide whenever there would be too many.
#[derive(Debug)]
pub(super) struct Timeline {
    /// Milliseconds of a bucket.
    pub(super) width_ms: i64,
    /// By the number of its bucket since the epoch.
    buckets: BTreeMap<i64, Moment>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { width_ms: 1000, buckets: BTreeMap::new() }
    }
}

impl Timeline {
    pub(super) fn add(&mut self, at_ms: i64, moment: Moment) {
        self.buckets.entry(at_ms.div_euclid(self.width_ms)).or_default().add(moment);
        while self.span() > MOST {
            self.width_ms = self.width_ms.saturating_mul(2);
            for (bucket, moment) in std::mem::take(&mut self.buckets) {
                self.buckets.entry(bucket.div_euclid(2)).or_default().add(moment);
            }
        }
    }

    fn span(&self) -> i64 {
        let first_last = self.buckets.keys().next().zip(self.buckets.keys().next_back());
        first_last.map_or(0, |(first, last)| last.saturating_sub(*first).saturating_add(1))
    }

    /// Every bucket from the first to the last, empty ones too, with the moment at which it begins.
    pub(super) fn rows(&self) -> Vec<(i64, Moment)> {
        let Some(first) = self.buckets.keys().next() else { return Vec::new() };
        let at = |n: i64| first.saturating_add(n);
        (0..self.span())
            .map(|n| (at(n).saturating_mul(self.width_ms), self.buckets.get(&at(n)).copied().unwrap_or_default()))
            .collect()
    }
}

/// Counts by size: bucket 0 holds zero, bucket n what is below 2^n and not below half of it.
#[derive(Debug, Default)]
pub(super) struct Powers(BTreeMap<u32, u64>);

impl Powers {
    pub(super) fn add(&mut self, value: u64) {
        *self.0.entry(u64::BITS - value.leading_zeros()).or_default() += 1;
    }

    /// The least and the greatest value of a bucket, and how many there are; empty ones between others, too.
    pub(super) fn rows(&self) -> Vec<(u64, u64, u64)> {
        let Some((first, last)) = self.0.keys().next().zip(self.0.keys().next_back()) else { return Vec::new() };
        let least = |n: u32| if n == 0 { 0 } else { 1_u64 << (n - 1) };
        let most = |n: u32| if n == 0 { 0 } else { u64::MAX >> (u64::BITS - n) };
        (*first..=*last).map(|n| (least(n), most(n), self.0.get(&n).copied().unwrap_or(0))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_keeps_every_count_and_stays_short() {
        let mut line = Timeline::default();
        // Out of order, before the epoch, and a year apart.
        for at in [5_000, 1, -3_000, 31_536_000_000, 5_400, 77_000_000] {
            line.add(at, Moment { answered: 1, bytes: 10, ..Moment::default() });
        }
        let rows = line.rows();
        assert!(rows.len() <= 240, "{}", rows.len());
        assert_eq!(
            rows.iter().map(|(_, one)| (one.answered, one.bytes)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)),
            (6, 60)
        );
        assert!(rows.windows(2).all(|pair| pair[1].0 - pair[0].0 == line.width_ms));
    }

    #[test]
    fn powers_hold_every_value_between_their_ends() {
        for value in [0, 1, 2, 3, 4, 1023, 1024, u64::MAX] {
            let mut powers = Powers::default();
            powers.add(value);
            let rows = powers.rows();
            assert!(matches!(rows[..], [(least, most, 1)] if least <= value && value <= most), "{value}: {rows:?}");
        }
    }
}
