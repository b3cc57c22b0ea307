/// A value of a table: a fingerprint, as wide as the table keeps it. All bits are alike random.
pub(super) trait Print: Copy + Ord {
    /// No fingerprint: an empty slot.
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
/// close. Looking one up reads a few neighbours; filled to nine tenths at most, grown by a quarter.
#[derive(Debug)]
pub(super) struct Table<P> {
    cells: Vec<P>,
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
        Self { cells: Vec::new(), slots: 0, len: 0, has_none: false }
    }

    pub(super) fn len(&self) -> usize {
        self.len + usize::from(self.has_none)
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.cells.capacity() * size_of::<P>()
    }

    pub(super) fn contains(&self, print: P) -> bool {
        if print == P::NONE {
            return self.has_none;
        }
        self.cells.get(self.place(print)).is_some_and(|found| *found == print)
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
        let rest = self.cells.get(slot..).unwrap_or_default();
        slot + rest.iter().position(|found| *found == P::NONE || *found >= print).unwrap_or(rest.len())
    }

    /// Puts a value that is not there to its place, moving those behind it up to the next gap.
    fn put(&mut self, print: P) {
        let at = self.place(print);
        let rest = self.cells.get(at..).unwrap_or_default();
        let gap = at + rest.iter().position(|found| *found == P::NONE).unwrap_or(rest.len());
        if gap >= self.cells.len() {
            self.cells.resize(gap + TAIL, P::NONE);
        }
        if let Some(moved) = self.cells.get_mut(at..=gap) {
            moved.rotate_right(1);
            if let Some(first) = moved.first_mut() {
                *first = print;
            }
        }
        self.len += 1;
    }

    fn grow(&mut self) {
        let slots = self.slots + self.slots / 4 + 64;
        let old = std::mem::replace(&mut self.cells, vec![P::NONE; slots + TAIL]);
        self.slots = slots;
        // In rising order each goes behind the last one: no cell is moved twice.
        let mut next = 0;
        for print in old.into_iter().filter(|print| *print != P::NONE) {
            let at = print.slot(slots).max(next);
            if at >= self.cells.len() {
                self.cells.resize(at + TAIL, P::NONE);
            }
            if let Some(cell) = self.cells.get_mut(at) {
                *cell = print;
            }
            next = at + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
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

    #[test]
    fn wide_values_differ_in_their_lower_half_too() {
        let mut table = Table::<u128>::new();
        assert!(table.insert(7 << 64 | 1) && table.insert(7 << 64 | 2) && !table.insert(7 << 64 | 1));
        assert!(!table.contains(7 << 64));
    }
}
