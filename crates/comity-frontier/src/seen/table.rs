use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::cells::Cells;

/// A value of a table: a fingerprint, as wide as the table keeps it. All bits are alike random.
pub(super) trait Print: Copy + Ord + FromBytes + IntoBytes + Immutable {
    /// No fingerprint: an empty slot. All bits are zero.
    const NONE: Self;

    /// Which of the slots of a table it belongs to: rising with the value, so that a table is sorted.
    fn slot(self, slots: usize) -> usize;
}

impl Print for u64 {
    const NONE: Self = 0;

    fn slot(self, slots: usize) -> usize {
        scale(self, slots)
    }
}

impl Print for u128 {
    const NONE: Self = 0;

    fn slot(self, slots: usize) -> usize {
        scale((self >> 64) as u64, slots)
    }
}

/// The upper bits of `value`, scaled to `0..slots`: less than `slots`, so nothing is cut off.
const fn scale(value: u64, slots: usize) -> usize {
    ((value as u128 * slots as u128) >> 64) as usize
}

/// A set of fingerprints as a sorted list with gaps: a value stands at its slot, or behind smaller ones that came too
/// close. Looking one up reads a few neighbours; filled to nine tenths at most, grown by an eighth.
#[derive(Debug)]
pub(super) struct Table<P> {
    cells: Cells<P>,
    /// Slots that values are scaled to; the cells behind them take what is pushed over the end.
    slots: usize,
    len: usize,
    /// Whether the value that stands for "empty" is in the set.
    has_none: bool,
}

/// Cells behind the last slot.
const TAIL: usize = 64;

impl<P: Print> Table<P> {
    pub(super) const fn new() -> Self {
        Self { cells: Cells::none(), slots: 0, len: 0, has_none: false }
    }

    pub(super) fn len(&self) -> usize {
        self.len + usize::from(self.has_none)
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.cells.all())
    }

    pub(super) fn contains(&self, print: P) -> bool {
        if print == P::NONE {
            return self.has_none;
        }
        self.cells.all().get(self.place(print)).is_some_and(|found| *found == print)
    }

    /// Adds a value; true when it was not in the set.
    pub(super) fn insert(&mut self, print: P) -> bool {
        if print == P::NONE {
            return !std::mem::replace(&mut self.has_none, true);
        }
        if self.contains(print) {
            return false;
        }
        if (self.len + 1) * 10 > self.slots * 9 {
            self.grow();
        }
        self.put(print);
        true
    }

    /// Where `print` stands, or would: the first cell from its slot on that is empty or not smaller.
    fn place(&self, print: P) -> usize {
        let slot = print.slot(self.slots);
        let rest = self.cells.all().get(slot..).unwrap_or_default();
        slot + rest.iter().position(|found| *found == P::NONE || *found >= print).unwrap_or(rest.len())
    }

    /// Puts a value that is not there to its place, moving those behind it up to the next gap.
    fn put(&mut self, print: P) {
        let at = self.place(print);
        let rest = self.cells.all().get(at..).unwrap_or_default();
        let gap = at + rest.iter().position(|found| *found == P::NONE).unwrap_or(rest.len());
        if gap >= self.cells.all().len() {
            self.cells.lengthen(TAIL);
        }
        if let Some(moved) = self.cells.all_mut().get_mut(at..=gap) {
            moved.rotate_right(1);
            if let Some(first) = moved.first_mut() {
                *first = print;
            }
        }
        self.len += 1;
    }

    fn grow(&mut self) {
        let slots = self.slots + self.slots / 8 + 64;
        let old = std::mem::replace(&mut self.cells, Cells::none());
        self.spread(slots, old.all().iter().copied().filter(|print| *print != P::NONE));
    }

    /// Makes room for `slots`, and puts values there that rise.
    fn spread(&mut self, slots: usize, prints: impl Iterator<Item = P>) {
        (self.cells, self.slots) = (Cells::zeroed(slots + TAIL), slots);
        // Each goes behind the last one: no cell is moved twice.
        let mut next = 0;
        for print in prints {
            let at = print.slot(slots).max(next);
            if at >= self.cells.all().len() {
                self.cells.lengthen(TAIL);
            }
            if let Some(cell) = self.cells.all_mut().get_mut(at) {
                *cell = print;
            }
            next = at + 1;
        }
    }
}

/// Values for a table, in any order: a table is made of them at once, for a part of what as many insertions cost.
#[derive(Debug)]
pub(super) struct Heap<P> {
    cells: Cells<P>,
    len: usize,
    has_none: bool,
}

impl<P: Print> Heap<P> {
    /// With room for `len` values before it grows.
    pub(super) fn with_room(len: usize) -> Self {
        Self { cells: Cells::zeroed(len), len: 0, has_none: false }
    }

    pub(super) fn push(&mut self, print: P) {
        if print == P::NONE {
            self.has_none = true;
            return;
        }
        if self.len == self.cells.all().len() {
            self.cells.lengthen(self.len / 8 + 64);
        }
        if let Some(cell) = self.cells.all_mut().get_mut(self.len) {
            *cell = print;
            self.len += 1;
        }
    }

    pub(super) fn into_table(mut self) -> Table<P> {
        let mut table = Table { has_none: self.has_none, ..Table::new() };
        let prints = self.cells.all_mut().get_mut(..self.len).unwrap_or_default();
        if prints.is_empty() {
            return table;
        }
        prints.sort_unstable();
        let mut last = P::NONE;
        let prints = prints.iter().copied().filter(|print| std::mem::replace(&mut last, *print) != *print);
        let mut count = 0;
        table.spread(self.len + self.len / 8 + 64, prints.inspect(|_| count += 1));
        table.len = count;
        table
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Made at once or value by value, it holds the same, and goes on taking in values.
        #[test]
        fn a_table_of_many_values_is_the_same_set(values in prop::collection::vec(prop_oneof![
            any::<u64>(), 0_u64..50, (u64::MAX - 200)..=u64::MAX,
        ], 0..2000), room in 0_usize..300, more in prop::collection::vec(any::<u64>(), 0..300)) {
            let (mut heap, mut one) = (Heap::with_room(room), Table::new());
            for value in &values {
                heap.push(*value);
                one.insert(*value);
            }
            let mut table = heap.into_table();
            prop_assert_eq!(table.len(), one.len());
            for value in values.iter().chain(&more) {
                prop_assert_eq!(table.contains(*value), one.contains(*value));
                prop_assert_eq!(table.insert(*value), one.insert(*value));
            }
            prop_assert_eq!(table.len(), one.len());
        }

        /// Crowded values make long runs, and runs over the end.
        #[test]
        fn a_table_is_a_set(values in prop::collection::vec(prop_oneof![
            any::<u64>(), 0_u64..50, (u64::MAX - 200)..=u64::MAX, (1_u64 << 40)..((1 << 40) + 300),
        ], 0..2000)) {
            let (mut table, mut set) = (Table::new(), BTreeSet::new());
            for value in &values {
                prop_assert_eq!(table.insert(*value), set.insert(*value));
                prop_assert!(table.contains(*value));
            }
            prop_assert_eq!(table.len(), set.len());
            for value in &values {
                prop_assert!(table.contains(*value));
                prop_assert_eq!(table.contains(value.wrapping_add(1)), set.contains(&value.wrapping_add(1)));
            }
        }
    }

    /// Long runs over the end, in a table that has pages of its own.
    #[test]
    fn a_large_table_grows_at_its_end() {
        let (mut table, mut heap) = (Table::new(), Heap::with_room(10_000));
        let values = || (1..10_000_u64).map(|n| n << 50).chain(u64::MAX - 1000..=u64::MAX);
        for value in values() {
            assert!(table.insert(value), "{value}");
            heap.push(value);
        }
        let made = heap.into_table();
        assert_eq!((table.len(), made.len()), (10_999 + 1, 10_999 + 1));
        assert!(values().all(|value| table.contains(value) && made.contains(value)));
        assert!((1..10_000).all(|n| !table.contains(n << 50 | 1) && !made.contains(n << 50 | 1)));
    }

    #[test]
    fn wide_values_differ_in_their_lower_half_too() {
        let mut table = Table::<u128>::new();
        assert!(table.insert(7 << 64 | 1) && table.insert(7 << 64 | 2) && !table.insert(7 << 64 | 1));
        assert!(!table.contains(7 << 64));
    }
}
