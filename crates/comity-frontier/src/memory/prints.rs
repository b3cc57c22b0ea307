//! The fingerprints of the seen-set as commits wrote them, each kept once: a queued URL names the place of its own.

use std::collections::BTreeMap;

use crate::Row;

/// Rows of fingerprints.
#[derive(Clone, Debug, Default)]
pub(super) struct Prints {
    /// In the order in which they came; never taken out, since others name their places.
    chunks: Vec<Vec<[u8; 16]>>,
    /// By number of the commit: where they begin, and how many.
    rows: BTreeMap<u64, (usize, usize)>,
    /// Rows that are not of this form: damaged ones.
    odd: BTreeMap<Box<[u8]>, Box<[u8]>>,
}

/// Fingerprints of a chunk: a mebibyte.
const CHUNK: usize = 1 << 16;

impl Prints {
    pub(super) fn len(&self) -> usize {
        self.rows.len() + self.odd.len()
    }

    /// Sets a row. Gives the place of its first fingerprint, if it holds any.
    pub(super) fn insert(&mut self, key: &[u8], value: &[u8]) -> Option<usize> {
        self.remove(key);
        match (number(key), value.as_chunks::<16>()) {
            (Some(number), (prints, [])) => {
                let start = self.end();
                prints.iter().for_each(|print| self.push(*print));
                self.rows.insert(number, (start, prints.len()));
                Some(start)
            }
            _ => {
                self.odd.insert(key.into(), value.into());
                None
            }
        }
    }

    pub(super) fn remove(&mut self, key: &[u8]) {
        if let Some(number) = number(key) {
            self.rows.remove(&number);
        }
        self.odd.remove(key);
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let row = number(key).and_then(|number| self.rows.get(&number));
        row.map(|row| self.bytes(*row)).or_else(|| self.odd.get(key).map(|value| value.to_vec()))
    }

    /// The first `limit` rows with `from <= key < until`.
    pub(super) fn range(&self, from: &[u8], until: &[u8], limit: usize) -> Vec<Row> {
        let bounds = (std::ops::Bound::Included(from), std::ops::Bound::Excluded(until));
        let odd = self.odd.range::<[u8], _>(bounds).take(limit);
        let mut rows: Vec<Row> = odd.map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        // No key of eight bytes lies between `from` and the one that is `from` cut or filled up to eight bytes, nor below.
        let first = from.iter().copied().chain(std::iter::repeat(0)).take(8);
        let first = first.fold(0, |number, byte| number << 8 | u64::from(byte));
        let numbered = self.rows.range(first..).map(|(number, row)| (number.to_be_bytes(), *row));
        let numbered = numbered.skip_while(|(key, _)| key.as_slice() < from);
        let numbered = numbered.take_while(|(key, _)| key.as_slice() < until).take(limit);
        rows.extend(numbered.map(|(key, row)| (key.to_vec(), self.bytes(row))));
        if !self.odd.is_empty() {
            rows.sort();
            rows.truncate(limit);
        }
        rows
    }

    /// The fingerprint at a place.
    pub(super) fn at(&self, place: usize) -> Option<&[u8; 16]> {
        self.chunks.get(place / CHUNK)?.get(place % CHUNK)
    }

    fn end(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    fn push(&mut self, print: [u8; 16]) {
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(print),
            // The first grows as it is filled: most stores are small.
            None => self.chunks.push(vec![print]),
            Some(_) => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(print);
                self.chunks.push(chunk);
            }
        }
    }

    fn bytes(&self, (start, count): (usize, usize)) -> Vec<u8> {
        (start..start + count).filter_map(|place| self.at(place)).flatten().copied().collect()
    }
}

fn number(key: &[u8]) -> Option<u64> {
    key.try_into().ok().map(u64::from_be_bytes)
}
