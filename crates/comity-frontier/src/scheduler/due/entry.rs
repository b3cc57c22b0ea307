use comity_policy::Instant;

use super::{Key, TICK_BITS};

/// An entry of one tick as one number, so that order is the order of numbers: from the top the instant within the tick (16
/// bits), the ticket (64), the origin (32), and whether it was taken out (the lowest of 16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry(u128);

const ORIGIN: u32 = 16;
const TICKET: u32 = ORIGIN + u32::BITS;
const WITHIN: u32 = TICKET + u64::BITS;
const GONE: u128 = 1;

const _: () = assert!(WITHIN + TICK_BITS == u128::BITS, "the parts fill the number");

impl Entry {
    /// What stands before every other one.
    pub(super) const LEAST: Self = Self(0);

    /// The entry of a key; what tick it is of is known by where it stands.
    #[inline]
    pub(super) fn new((at, ticket, origin): Key) -> Self {
        // What the shift leaves of the instant is its place within the tick.
        let within = u128::from(at.as_micros()) << WITHIN;
        Self(within | u128::from(ticket) << TICKET | u128::from(origin) << ORIGIN)
    }

    /// Its key, in the bucket of `tick`.
    #[inline]
    pub(super) const fn key(self, tick: u64) -> Key {
        let within = (self.0 >> WITHIN) as u64;
        (Instant::from_micros(tick << TICK_BITS | within), (self.0 >> TICKET) as u64, self.origin())
    }

    /// Whose it is.
    #[inline]
    pub(super) const fn origin(self) -> u32 {
        (self.0 >> ORIGIN) as u32
    }

    /// The same, marked as taken out. Its place in the order stays.
    #[inline]
    pub(super) const fn gone(self) -> Self {
        Self(self.0 | GONE)
    }

    /// The same without the mark.
    #[inline]
    pub(super) const fn unmarked(self) -> Self {
        Self(self.0 & !GONE)
    }

    /// True when it is marked.
    #[inline]
    pub(super) const fn is_gone(self) -> bool {
        self.0 & GONE != 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tick_of;
    use super::*;

    proptest! {
        #[test]
        fn entries_of_one_tick_sort_as_their_keys_and_read_back(
            tick in prop_oneof![Just(0), 0..1_u64 << 47, Just((1_u64 << 48) - 2)],
            one: (u16, u64, u32), other: (u16, u64, u32),
        ) {
            let key = |(within, ticket, origin): (u16, u64, u32)| {
                (Instant::from_micros(tick << TICK_BITS | u64::from(within)), ticket, origin)
            };
            let (one, other) = (key(one), key(other));
            let entry = Entry::new(one);
            prop_assert_eq!(tick_of(one.0), tick);
            prop_assert_eq!((entry.key(tick), entry.origin()), (one, one.2));
            prop_assert_eq!(entry.cmp(&Entry::new(other)), one.cmp(&other));
            prop_assert!(!entry.is_gone() && entry.gone().is_gone());
            prop_assert_eq!(entry.gone().unmarked(), entry);
            prop_assert_eq!(entry.gone().cmp(&Entry::new(other)) , one.cmp(&other).then(std::cmp::Ordering::Greater));
        }
    }
}
