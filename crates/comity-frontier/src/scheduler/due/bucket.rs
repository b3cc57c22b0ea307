use super::Key;
use super::order::Order;

/// The entries of one tick.
#[derive(Debug)]
pub(super) enum Bucket {
    /// As they came: nobody has asked for the first of them yet.
    Loose(Vec<Key>),
    /// In order, with at least one entry.
    Ordered(Box<Order>),
}

/// Entries that are kept without order at most, so that ordering a bucket, or taking one out of it, is bounded. At a
/// million origins with delays of 1 to 30 s a bucket holds about 4,000.
const LOOSE: usize = 16_384;
/// Entries that are searched through to take one out; above it the bucket is ordered first.
const SEARCHED: usize = 64;

impl Bucket {
    pub(super) const EMPTY: Self = Self::Loose(Vec::new());

    pub(super) fn insert(&mut self, key: Key) {
        match self {
            Self::Loose(keys) if keys.len() < LOOSE => keys.push(key),
            Self::Loose(_) => self.order().insert(key),
            Self::Ordered(keys) => keys.insert(key),
        }
    }

    pub(super) fn remove(&mut self, key: Key) {
        match self {
            Self::Loose(keys) if keys.len() <= SEARCHED => {
                if let Some(at) = keys.iter().position(|other| *other == key) {
                    keys.swap_remove(at);
                }
            }
            Self::Loose(_) => self.order().remove(key),
            Self::Ordered(keys) => keys.remove(key),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Loose(keys) => keys.is_empty(),
            Self::Ordered(keys) => keys.is_empty(),
        }
    }

    /// The entries behind `after`, in order. Costs an ordering when nobody has asked for one, at most of [`LOOSE`].
    pub(super) fn behind(&self, after: Key) -> Box<dyn Iterator<Item = Key> + '_> {
        match self {
            Self::Loose(keys) => {
                let mut keys: Vec<Key> = keys.iter().copied().filter(|key| *key > after).collect();
                keys.sort_unstable();
                Box::new(keys.into_iter())
            }
            Self::Ordered(keys) => Box::new(keys.behind(Some(after))),
        }
    }

    pub(super) fn into_ordered(self) -> Box<Order> {
        match self {
            Self::Loose(keys) => Box::new(Order::new(keys)),
            Self::Ordered(keys) => keys,
        }
    }

    /// The entries in order, in which they are from then on.
    fn order(&mut self) -> &mut Order {
        let ordered = std::mem::replace(self, Self::EMPTY).into_ordered();
        *self = Self::Ordered(ordered);
        match self {
            Self::Ordered(keys) => keys,
            Self::Loose(_) => unreachable!("it was ordered in the line above"),
        }
    }
}
