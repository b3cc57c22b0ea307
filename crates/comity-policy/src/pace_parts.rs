use crate::OriginPace;
use crate::pace::{Closed, Park};

/// What is known of the pace of nearly every origin: of an [`OriginPace`], all but what holds some back for a while. 28 bytes, for
/// a scheduler that reads one record for each turn of a million origins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsualPace {
    /// In two halves, so that it has no padding to an alignment of eight.
    last_head: [u32; 2],
    crawl_delay_ms: u32,
    floor_ms: u32,
    latency_us: u32,
    jitter_permille: u16,
    failures: u16,
    seen: bool,
}

const _: () = assert!(size_of::<UsualPace>() == 28, "it is to fit into a record of two cache lines");

/// What holds some origins back for a while, or did: back-off, parks, hours of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldPace {
    backoff_until: u64,
    parked_until: u64,
    backoff_since: u64,
    closed_until: u64,
    park: Option<Park>,
    closed: Option<Closed>,
}

impl HeldPace {
    /// Nothing holds it, and nothing did.
    pub const NONE: Self =
        Self { backoff_until: 0, parked_until: 0, backoff_since: 0, closed_until: 0, park: None, closed: None };
}

impl OriginPace {
    /// Its two parts; [`OriginPace::joined`] makes the same of them again.
    #[must_use]
    pub const fn split(self) -> (UsualPace, HeldPace) {
        let Self { last_head, backoff_until, parked_until, backoff_since, closed_until, .. } = self;
        let Self { crawl_delay_ms, floor_ms, latency_us, jitter_permille, failures, park, closed, seen, .. } = self;
        let last_head = [(last_head >> 32) as u32, last_head as u32];
        let usual = UsualPace { last_head, crawl_delay_ms, floor_ms, latency_us, jitter_permille, failures, seen };
        (usual, HeldPace { backoff_until, parked_until, backoff_since, closed_until, park, closed })
    }

    /// What was [split](OriginPace::split).
    #[must_use]
    pub const fn joined(usual: UsualPace, held: HeldPace) -> Self {
        let UsualPace { last_head, crawl_delay_ms, floor_ms, latency_us, jitter_permille, failures, seen } = usual;
        let HeldPace { backoff_until, parked_until, backoff_since, closed_until, park, closed } = held;
        let last_head = (last_head[0] as u64) << 32 | last_head[1] as u64;
        Self {
            last_head,
            backoff_until,
            parked_until,
            backoff_since,
            closed_until,
            crawl_delay_ms,
            floor_ms,
            latency_us,
            jitter_permille,
            failures,
            park,
            closed,
            seen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each byte of a pace comes back from its parts.
    #[test]
    fn parts_make_the_same_pace_again() {
        let none = OriginPace::default().split();
        assert_eq!(none, (UsualPace::default(), HeldPace::NONE));
        for at in 0..OriginPace::BYTES {
            for value in [1, 2, 3, 255] {
                let mut bytes = [0; OriginPace::BYTES];
                bytes[at] = value;
                let Some(pace) = OriginPace::from_bytes(bytes) else { continue };
                let (usual, held) = pace.split();
                assert_eq!(OriginPace::joined(usual, held), pace, "byte {at} = {value}");
                assert_ne!((usual, held), none, "byte {at} = {value}");
            }
        }
    }
}
