use crate::Keyspace;

/// Changes that are made together or not at all. A key is deleted or inserted at most once.
///
/// Keys and values lie one behind the other in one piece of memory: a batch of thousands of rows asks for a few pieces, not for
/// two a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteBatch {
    bytes: Vec<u8>,
    inserts: Vec<Span>,
    deletes: Vec<Span>,
}

/// Where a row lies: its key from `key` to `value`, its value from there to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    space: Keyspace,
    key: usize,
    value: usize,
    end: usize,
}

impl WriteBatch {
    /// Adds a row to write, over an old value if there is one.
    pub fn insert(&mut self, space: Keyspace, key: Vec<u8>, value: Vec<u8>) {
        self.put(space, |out| out.extend(key), |out| out.extend(value));
    }

    /// Adds a key to delete; a missing one is no error.
    pub fn delete(&mut self, space: Keyspace, key: Vec<u8>) {
        let span = self.write(space, |out| out.extend(key), |_| {});
        self.deletes.push(span);
    }

    /// Adds a row to write, whose key and value are appended to what is there.
    pub(crate) fn put(&mut self, space: Keyspace, key: impl FnOnce(&mut Vec<u8>), value: impl FnOnce(&mut Vec<u8>)) {
        let span = self.write(space, key, value);
        self.inserts.push(span);
    }

    fn write(&mut self, space: Keyspace, key: impl FnOnce(&mut Vec<u8>), value: impl FnOnce(&mut Vec<u8>)) -> Span {
        let start = self.bytes.len();
        key(&mut self.bytes);
        let middle = self.bytes.len();
        value(&mut self.bytes);
        Span { space, key: start, value: middle, end: self.bytes.len() }
    }

    /// Rows to write: table, key, value.
    #[must_use]
    pub fn inserts(&self) -> impl ExactSizeIterator<Item = (Keyspace, &[u8], &[u8])> {
        self.inserts.iter().map(|span| (span.space, span.key_in(&self.bytes), span.value_in(&self.bytes)))
    }

    /// Keys to delete, with their table.
    #[must_use]
    pub fn deletes(&self) -> impl ExactSizeIterator<Item = (Keyspace, &[u8])> {
        self.deletes.iter().map(|span| (span.space, span.key_in(&self.bytes)))
    }

    /// Puts the rows to write in the order of tables and keys. Neighbours find their places in a store by the same way, which is
    /// then in the processor's cache.
    pub fn sort(&mut self) {
        let Self { bytes, inserts, .. } = self;
        inserts.sort_unstable_by(|one, other| (one.space, one.key_in(bytes)).cmp(&(other.space, other.key_in(bytes))));
    }

    /// Bytes of all keys and values.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// True when it changes nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.inserts.is_empty() && self.deletes.is_empty()
    }
}

impl Span {
    fn key_in(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.key..self.value).unwrap_or_default()
    }

    fn value_in(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.value..self.end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back_and_sort_by_table_and_key() {
        let mut batch = WriteBatch::default();
        assert!(batch.is_empty());
        batch.insert(Keyspace::Origin, b"b".to_vec(), Vec::new());
        batch.delete(Keyspace::Queue, b"gone".to_vec());
        batch.put(Keyspace::Queue, |out| out.extend(b"ab"), |out| out.extend(b"2"));
        batch.insert(Keyspace::Queue, b"a".to_vec(), b"1".to_vec());
        let rows = [
            (Keyspace::Queue, b"a".as_slice(), b"1".as_slice()),
            (Keyspace::Queue, b"ab", b"2"),
            (Keyspace::Origin, b"b", b""),
        ];
        let [first, second, third] = rows;
        assert!(batch.inserts().eq([third, second, first]), "as they came");
        batch.sort();
        assert!(batch.inserts().eq(rows));
        assert!(batch.deletes().eq([(Keyspace::Queue, b"gone".as_slice())]));
        assert_eq!((batch.bytes(), batch.is_empty()), (10, false));
    }
}
