//! Which URLs were ever taken: a set of fingerprints in memory, rebuilt from the store when a frontier is opened.
//!
//! Seen is not done: what became of a URL stands in the queue and in the counts of its origin. So a retry is only a
//! record that stays, and a visit anew would be a record that comes back; neither takes anything out of this set.

mod cells;
mod table;

use comity_url::UrlKey;

use self::table::{Heap, Print, Table};

/// How much of a fingerprint the set in memory keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SeenBits {
    /// 64 bits, about 9.5 bytes of memory per URL, and 8 more by which of 256 tables they stand in. A URL that was never
    /// taken is taken for seen with a chance of one in 2⁷² per URL in the set: the expected number of URLs lost so is
    /// n²/2⁷³, 0.0001 among a billion and 0.01 among ten billion. The hash is keyed, so no site can aim at them.
    #[default]
    Half,
    /// All 128 bits, about 19 bytes: no two URLs are ever confused (expected at a billion: 10⁻²¹).
    Whole,
}

/// A set of fingerprints. It only grows.
///
/// Memory grows by an eighth of a 256th at a time, never by a copy of the whole. A look-up is about 0.1 µs at ten
/// million, most of it the wait for memory.
#[derive(Debug)]
pub(crate) struct SeenSet(Tables);

#[derive(Debug)]
enum Tables {
    Half(Vec<Table<u64>>),
    Whole(Vec<Table<u128>>),
}

/// One table for each value of the lowest byte.
const TABLES: usize = 256;

impl SeenSet {
    pub(crate) fn new(bits: SeenBits) -> Self {
        Self(match bits {
            SeenBits::Half => Tables::Half((0..TABLES).map(|_| Table::new()).collect()),
            SeenBits::Whole => Tables::Whole((0..TABLES).map(|_| Table::new()).collect()),
        })
    }

    pub(crate) fn contains(&self, key: UrlKey) -> bool {
        match &self.0 {
            Tables::Half(tables) => table(tables, key).is_some_and(|table| table.contains(half(key))),
            Tables::Whole(tables) => table(tables, key).is_some_and(|table| table.contains(whole(key))),
        }
    }

    /// Adds a fingerprint; true when it is new.
    pub(crate) fn insert(&mut self, key: UrlKey) -> bool {
        match &mut self.0 {
            Tables::Half(tables) => tables.get_mut(index(key)).is_some_and(|table| table.insert(half(key))),
            Tables::Whole(tables) => tables.get_mut(index(key)).is_some_and(|table| table.insert(whole(key))),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match &self.0 {
            Tables::Half(tables) => tables.iter().map(Table::len).sum(),
            Tables::Whole(tables) => tables.iter().map(Table::len).sum(),
        }
    }

    /// Memory taken, in bytes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        match &self.0 {
            Tables::Half(tables) => tables.iter().map(Table::bytes).sum(),
            Tables::Whole(tables) => tables.iter().map(Table::bytes).sum(),
        }
    }
}

/// Fingerprints of which a set is made at once, as when a frontier is opened: sorted, they are put to their places in one go. Hardly
/// more memory than the set itself. The same one may come twice.
#[derive(Debug)]
pub(crate) struct SeenHeap(Heaps);

#[derive(Debug)]
enum Heaps {
    Half(Vec<Heap<u64>>),
    Whole(Vec<Heap<u128>>),
}

impl SeenHeap {
    /// With room for so many.
    pub(crate) fn new(bits: SeenBits, urls: u64) -> Self {
        // Of random values no table gets many more than its share.
        let each = usize::try_from(urls / TABLES as u64).map_or(0, |each| each + each / 64);
        Self(match bits {
            SeenBits::Half => Heaps::Half((0..TABLES).map(|_| Heap::with_room(each)).collect()),
            SeenBits::Whole => Heaps::Whole((0..TABLES).map(|_| Heap::with_room(each)).collect()),
        })
    }

    pub(crate) fn push(&mut self, key: UrlKey) {
        match &mut self.0 {
            Heaps::Half(heaps) => heaps.get_mut(index(key)).into_iter().for_each(|heap| heap.push(half(key))),
            Heaps::Whole(heaps) => heaps.get_mut(index(key)).into_iter().for_each(|heap| heap.push(whole(key))),
        }
    }

    pub(crate) fn into_set(self) -> SeenSet {
        SeenSet(match self.0 {
            Heaps::Half(heaps) => Tables::Half(heaps.into_iter().map(Heap::into_table).collect()),
            Heaps::Whole(heaps) => Tables::Whole(heaps.into_iter().map(Heap::into_table).collect()),
        })
    }
}

fn table<P: Print>(tables: &[Table<P>], key: UrlKey) -> Option<&Table<P>> {
    tables.get(index(key))
}

fn index(key: UrlKey) -> usize {
    key.to_bytes().last().copied().map_or(0, usize::from)
}

/// The upper half: where a store keeps 128 bits, memory keeps these.
fn half(key: UrlKey) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = key.to_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

fn whole(key: UrlKey) -> u128 {
    u128::from_be_bytes(key.to_bytes())
}

#[cfg(test)]
mod tests {
    use comity_url::{CrawlUrl, KeyHasher};

    use super::*;

    /// Field report 35: a million URLs, none of them dropped falsely.
    #[test]
    fn a_million_urls_are_each_new_once() {
        let hasher = KeyHasher::new([3; 16]);
        let keys: Vec<UrlKey> = (0..1_000_000_u64)
            .map(|n| {
                let page = CrawlUrl::parse("http://a.test/").unwrap_or_else(|e| panic!("{e}"));
                // One URL is parsed; the fingerprints of the others are as random as the hash makes them.
                let bits = u128::from_be_bytes(hasher.key(&page).to_bytes());
                UrlKey::from_bytes(
                    (bits
                        .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
                        .wrapping_add(u128::from(n).wrapping_mul(0xd1b5_4a32_d192_ed03_8cb9_2ba7_2f3d_8dd7)))
                    .to_be_bytes(),
                )
            })
            .collect();
        for bits in [SeenBits::Half, SeenBits::Whole] {
            let mut set = SeenSet::new(bits);
            assert_eq!(keys.iter().filter(|key| set.insert(**key)).count(), keys.len(), "{bits:?}");
            assert_eq!(keys.iter().filter(|key| set.insert(**key)).count(), 0, "{bits:?}");
            let wide = if bits == SeenBits::Half { 1 } else { 2 };
            let each = set.bytes() / set.len();
            assert!((8 * wide..=11 * wide).contains(&each), "{bits:?}: {each} bytes per URL");
            let mut heap = SeenHeap::new(bits, keys.len() as u64);
            keys.iter().for_each(|key| heap.push(*key));
            let made = heap.into_set();
            assert_eq!(
                (made.len(), keys.iter().filter(|key| !made.contains(**key)).count()),
                (keys.len(), 0),
                "{bits:?}"
            );
        }
    }
}
