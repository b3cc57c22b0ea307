//! One row, written as what it does not share with the row before it.

use crate::queued::{Cursor, RecordError, put_number};

/// A row in full, while it is read or changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: Vec<u8>,
    pub(super) value: Packed,
}

/// A value in parts: what is alike from row to row is kept once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Packed {
    /// Often begins with the same two bytes as that of the row before; the rest is written as it is.
    pub(super) head: Vec<u8>,
    /// Begins and ends like that of the row before.
    pub(super) text: Vec<u8>,
    /// Begins like that of the row before, and often is the same.
    pub(super) second: Vec<u8>,
}

// A row begins with a tag: these bits, and in the upper four the length of what it has of a head.
/// The key is that of the row before, one higher.
const NEXT: u8 = 1;
/// The second text is that of the row before.
const SAME: u8 = 2;
/// The text ends like that of the row before.
const TAIL: u8 = 4;
/// The head begins with the [`FRONT`] bytes of that of the row before.
const ALIKE: u8 = 8;
const HEAD_SHIFT: u32 = 4;
/// The length is written apart.
const LONG_HEAD: u8 = 15;
/// Bytes of a head that are often those of the row before.
const FRONT: usize = 2;

impl Entry {
    /// Keeps its room.
    pub(super) fn clear(&mut self) {
        let Packed { head, text, second } = &mut self.value;
        [&mut self.key, head, text, second].into_iter().for_each(Vec::clear);
    }

    pub(super) fn write_after(&self, before: &Self, out: &mut Vec<u8>) {
        let Packed { head, text, second } = &self.value;
        let is_next = is_next(&before.key, &self.key);
        let is_same = before.value.second == *second;
        let shared = common(&before.value.text, text);
        let tail = common_end(before.value.text.get(shared..), text.get(shared..));
        let front = head.get(..FRONT).filter(|front| before.value.head.get(..FRONT) == Some(*front));
        let head = head.get(front.map_or(0, <[u8]>::len)..).unwrap_or_default();
        let length = u8::try_from(head.len()).unwrap_or(LONG_HEAD).min(LONG_HEAD);
        let set = [(NEXT, is_next), (SAME, is_same), (TAIL, tail > 0), (ALIKE, front.is_some())];
        out.push(set.into_iter().filter(|flag| flag.1).fold(length << HEAD_SHIFT, |tag, flag| tag | flag.0));
        if !is_next {
            put_end(out, &self.key, common(&before.key, &self.key));
        }
        if length == LONG_HEAD {
            put_number(out, head.len() as u64);
        }
        out.extend(head);
        if tail > 0 {
            put_number(out, tail as u64);
        }
        put_end(out, text.get(..text.len() - tail).unwrap_or_default(), shared);
        if !is_same {
            put_end(out, second, common(&before.value.second, second));
        }
    }

    /// Reads what [`Entry::write_after`] wrote with the same row before.
    pub(super) fn read_after(&mut self, before: &Self, cursor: &mut Cursor<'_>) -> Result<(), RecordError> {
        let tag = read_key(&mut self.key, &before.key, cursor)?;
        let (Packed { head, text, second }, before) = (&mut self.value, &before.value);
        head.clone_from(&before.head);
        text.clone_from(&before.text);
        second.clone_from(&before.second);
        self.value.turn(tag, cursor)
    }
}

/// Reads the key of the row behind the one with the key `before`; gives that row's tag.
#[inline]
pub(super) fn read_key(key: &mut Vec<u8>, before: &[u8], cursor: &mut Cursor<'_>) -> Result<u8, RecordError> {
    let tag = cursor.byte()?;
    key.clear();
    if tag & NEXT != 0 {
        key.extend_from_slice(before);
        increment(key);
    } else {
        let (shared, rest) = (length(cursor)?, length(cursor)?);
        key.extend_from_slice(before.get(..shared).ok_or(RecordError::Length)?);
        key.extend_from_slice(cursor.take(rest)?);
    }
    Ok(tag)
}

impl Packed {
    /// Turns the value of a row into that of the row behind it, whose key was read: what both have stays where it stands.
    #[inline]
    pub(super) fn turn(&mut self, tag: u8, cursor: &mut Cursor<'_>) -> Result<(), RecordError> {
        let head = match tag >> HEAD_SHIFT {
            LONG_HEAD => length(cursor)?,
            short => short.into(),
        };
        let front = if tag & ALIKE != 0 { FRONT } else { 0 };
        let tail = |cursor: &mut Cursor<'_>| if tag & TAIL != 0 { length(cursor) } else { Ok(0) };
        replace(&mut self.head, front, head, 0, cursor)?;
        let tail = tail(cursor)?;
        let (shared, rest) = (length(cursor)?, length(cursor)?);
        replace(&mut self.text, shared, rest, tail, cursor)?;
        if tag & SAME != 0 {
            return Ok(());
        }
        let (shared, rest) = (length(cursor)?, length(cursor)?);
        replace(&mut self.second, shared, rest, 0, cursor)
    }
}

/// Replaces what stands between the first `shared` bytes and the last `tail` by the next `rest` of the cursor.
#[inline]
fn replace(
    text: &mut Vec<u8>,
    shared: usize,
    rest: usize,
    tail: usize,
    cursor: &mut Cursor<'_>,
) -> Result<(), RecordError> {
    let rest = cursor.take(rest)?;
    let end = text.len().checked_sub(tail).filter(|end| shared <= *end).ok_or(RecordError::Length)?;
    if tail == 0 {
        text.truncate(shared);
        text.extend_from_slice(rest);
    } else if let Some(same) = text.get_mut(shared..end).filter(|old| old.len() == rest.len()) {
        same.copy_from_slice(rest);
    } else {
        text.splice(shared..end, rest.iter().copied());
    }
    Ok(())
}

/// How much is shared, and the rest with its length.
fn put_end(out: &mut Vec<u8>, text: &[u8], shared: usize) {
    let rest = text.get(shared..).unwrap_or_default();
    put_number(out, shared as u64);
    put_number(out, rest.len() as u64);
    out.extend(rest);
}

/// The key of the row at the front, which has none before it.
pub(super) fn first_key(bytes: &[u8]) -> &[u8] {
    let mut cursor = Cursor(bytes);
    let mut read = || {
        cursor.byte()?;
        length(&mut cursor)?;
        let length = length(&mut cursor)?;
        cursor.take(length)
    };
    read().unwrap_or_default()
}

#[inline]
fn length(cursor: &mut Cursor<'_>) -> Result<usize, RecordError> {
    // Most lengths take one byte.
    match cursor.0 {
        [small @ 0..0x80, rest @ ..] => {
            cursor.0 = rest;
            Ok(usize::from(*small))
        }
        _ => usize::try_from(cursor.number()?).map_err(|_| RecordError::Length),
    }
}

/// How long the beginning is that both have.
fn common(one: &[u8], other: &[u8]) -> usize {
    let words = one.as_chunks::<8>().0.iter().zip(other.as_chunks::<8>().0).take_while(|(a, b)| a == b).count() * 8;
    let rest = one.iter().zip(other).skip(words).take_while(|(a, b)| a == b).count();
    words + rest
}

/// How long the end is that both have.
fn common_end(one: Option<&[u8]>, other: Option<&[u8]>) -> usize {
    let (one, other) = (one.unwrap_or_default(), other.unwrap_or_default());
    one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Whether `key` is `before` as a number, one higher.
fn is_next(before: &[u8], key: &[u8]) -> bool {
    let carried =
        key.iter().rev().zip(before.iter().rev()).take_while(|(new, old)| (**new, **old) == (0, 0xff)).count();
    let end = key.len() - carried;
    let (Some((new, key)), Some((old, before))) = (
        key.get(..end).and_then(<[u8]>::split_last),
        before.len().checked_sub(carried).and_then(|end| before.get(..end)).and_then(<[u8]>::split_last),
    ) else {
        return false;
    };
    old.checked_add(1) == Some(*new) && key == before
}

fn increment(key: &mut [u8]) {
    for byte in key.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Texts that are much alike.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(vec![0, 1, 0xfe, 0xff]), 0..12)
    }

    prop_compose! {
        fn entry()(key in text(), head in prop::collection::vec(0_u8..2, 0..40), text in text(), second in text()) -> Entry {
            Entry { key, value: Packed { head, text, second } }
        }
    }

    proptest! {
        #[test]
        fn rows_read_back_whatever_stands_before(before in entry(), entry in entry(), next: bool) {
            let mut entry = entry;
            if next {
                entry.key.clone_from(&before.key);
                increment(&mut entry.key);
            }
            let mut out = Vec::new();
            entry.write_after(&before, &mut out);
            let (mut read, mut cursor) = (Entry::default(), Cursor(&out));
            prop_assert_eq!(read.read_after(&before, &mut cursor), Ok(()));
            prop_assert_eq!((&read, cursor.0.len()), (&entry, 0));
            let mut first = Vec::new();
            entry.write_after(&Entry::default(), &mut first);
            prop_assert_eq!(first_key(&first), entry.key.as_slice());
        }
    }
}
