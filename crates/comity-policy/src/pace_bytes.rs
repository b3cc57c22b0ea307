use crate::OriginPace;
use crate::pace::{Closed, Park};

impl OriginPace {
    /// Length of [`OriginPace::to_bytes`].
    pub const BYTES: usize = 59;

    /// Every field, for a frontier that moves origins out of memory. Its instants mean something to this process alone:
    /// what another one may know is [`PaceMemory`](crate::PaceMemory).
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let Self { last_head, backoff_until, parked_until, backoff_since, closed_until, .. } = *self;
        let Self { crawl_delay_ms, floor_ms, latency_us, jitter_permille, failures, park, closed, seen, .. } = *self;
        let long = [last_head, backoff_until, parked_until, backoff_since, closed_until].map(u64::to_be_bytes);
        let middle = [crawl_delay_ms, floor_ms, latency_us].map(u32::to_be_bytes);
        let short = [jitter_permille, failures].map(u16::to_be_bytes);
        let park = park.map_or(0, |park| match park {
            Park::RetryAfter => 1,
            Park::CrawlDelay => 2,
        });
        let closed = closed.map_or(0, |closed| match closed {
            Closed::VisitTime => 1,
            Closed::RequestRate => 2,
            Closed::TooSlow => 3,
        });
        let mut out = [0; Self::BYTES];
        let parts = long.iter().flatten().chain(middle.iter().flatten()).chain(short.iter().flatten());
        let parts = parts.copied().chain([park, closed, u8::from(seen)]);
        out.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
        out
    }

    /// Reads [`OriginPace::to_bytes`]; `None` for bytes that it never writes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Option<Self> {
        let mut rest = bytes.as_slice();
        let mut long = || take::<8>(&mut rest).map(u64::from_be_bytes);
        let [last_head, backoff_until, parked_until, backoff_since, closed_until] =
            [long()?, long()?, long()?, long()?, long()?];
        let mut middle = || take::<4>(&mut rest).map(u32::from_be_bytes);
        let [crawl_delay_ms, floor_ms, latency_us] = [middle()?, middle()?, middle()?];
        let mut short = || take::<2>(&mut rest).map(u16::from_be_bytes);
        let [jitter_permille, failures] = [short()?, short()?];
        let [park, closed, seen] = take::<3>(&mut rest)?;
        let park = match park {
            0 => None,
            1 => Some(Park::RetryAfter),
            2 => Some(Park::CrawlDelay),
            _ => return None,
        };
        let closed = match closed {
            0 => None,
            1 => Some(Closed::VisitTime),
            2 => Some(Closed::RequestRate),
            3 => Some(Closed::TooSlow),
            _ => return None,
        };
        Some(Self {
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
            seen: match seen {
                0 => false,
                1 => true,
                _ => return None,
            },
        })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte of the form is part of the value: bytes that are read are written again, alike.
    #[test]
    fn what_is_read_is_written_again() {
        for at in 0..OriginPace::BYTES {
            for value in [1, 2, 3, 4, 255] {
                let mut bytes = [0; OriginPace::BYTES];
                bytes[at] = value;
                let most = [u8::MAX; 56].into_iter().chain([2, 3, 1]).nth(at).unwrap_or(0);
                let read = OriginPace::from_bytes(bytes);
                assert_eq!(read.map(|pace| pace.to_bytes()), (value <= most).then_some(bytes), "byte {at} = {value}");
            }
        }
    }
}
