//! A table whose rows are written over and over: those written last stand beside it, as they are.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::entry::{Entry, Packed};
use super::rows::Rows;
use crate::Row;

/// Rows beside the table above which they are taken into it.
const MOST: usize = 256;

/// Rows in the order of their keys, of which the ones written last are found and changed without going through a block. A crawl
/// settles each page with the counts of its origin, its domain and the whole, and mostly those of a page before.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    rows: Rows,
    /// Newer than what `rows` has under the same keys.
    recent: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.rows.len() + self.recent.keys().filter(|key| self.rows.get(key, |_| ()).is_none()).count()
    }

    pub(super) fn insert(&mut self, key: &[u8], value: &[u8]) {
        if let Some(old) = self.recent.get_mut(key) {
            old.clear();
            old.extend_from_slice(value);
            return;
        }
        if self.recent.len() >= MOST {
            for (key, text) in std::mem::take(&mut self.recent) {
                self.rows.insert(&key, |_| Packed { text, ..Packed::default() });
            }
        }
        self.recent.insert(key.to_vec(), value.to_vec());
    }

    pub(super) fn remove(&mut self, key: &[u8]) {
        self.recent.remove(key);
        self.rows.remove(key);
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let recent = self.recent.get(key).cloned();
        recent.or_else(|| self.rows.get(key, |entry| entry.value.text.clone()))
    }

    /// The first `limit` rows with `from <= key < until`.
    pub(super) fn range(&self, from: &[u8], until: &[u8], limit: usize) -> Vec<Row> {
        let row = |entry: &Entry| (entry.key.clone(), entry.value.text.clone());
        let mut older = self.rows.range(from, until, limit, row).into_iter().peekable();
        let bounds = (Bound::Included(from), Bound::Excluded(until));
        let mut recent = self.recent.range::<[u8], _>(bounds).peekable();
        let next = || {
            let Some((key, value)) = recent.peek() else { return older.next() };
            match older.peek() {
                Some((old, _)) if old < *key => return older.next(),
                Some((old, _)) if old == *key => drop(older.next()),
                _ => {}
            }
            let row = ((*key).clone(), (*value).clone());
            recent.next();
            Some(row)
        };
        std::iter::from_fn(next).take(limit).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(number: u16) -> Vec<u8> {
        number.to_be_bytes().to_vec()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// More rows than stand beside: what was written last counts, wherever it and what was there before it stand.
        #[test]
        fn it_is_a_map_of_bytes(
            changes in prop::collection::vec((0_u16..3 * MOST as u16, prop::option::weighted(0.8, 0_u8..9)), 0..5 * MOST),
            ranges in prop::collection::vec((0_u16..800, 0_u16..400, 0_usize..300), 1..6),
        ) {
            let (mut table, mut model) = (Table::default(), BTreeMap::new());
            for (number, value) in changes {
                let key = key(number);
                match value {
                    Some(length) => {
                        let value = vec![length; length.into()];
                        table.insert(&key, &value);
                        model.insert(key, value);
                    }
                    None => {
                        table.remove(&key);
                        model.remove(&key);
                    }
                }
            }
            prop_assert_eq!(table.len(), model.len());
            for number in 0..3 * MOST as u16 {
                prop_assert_eq!(table.get(&key(number)), model.get(&key(number)).cloned());
            }
            for (from, more, limit) in ranges {
                let (from, until) = (key(from), key(from + more));
                let expected: Vec<Row> =
                    model.range(from.clone()..until.clone()).take(limit).map(|(key, value)| (key.clone(), value.clone())).collect();
                prop_assert_eq!(table.range(&from, &until, limit), expected);
            }
        }
    }
}
