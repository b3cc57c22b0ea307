//! Some rows in order, each written as what it does not share with the one before.

use std::ops::Range;

use super::entry::{Entry, Packed, read_key};
use crate::queued::Cursor;

/// Bytes above which a block is split.
const MOST: usize = 1024;
/// Bytes below which a block is joined with its neighbour.
const FEW: usize = MOST / 4;

/// Goes over the rows of a block.
pub(super) struct Walk<'a> {
    block: &'a [u8],
    room: Room,
    /// Where the row that is read begins, and ends.
    range: Range<usize>,
}

/// What a walk reads rows into.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    before: Entry,
    here: Entry,
    /// The row before one that goes, while the one behind is read.
    kept: Entry,
    /// The key ahead, while it is looked at.
    ahead: Vec<u8>,
}

/// Writes a block with another value for a key: told what stands there, `change` gives what shall. Gives how many rows there are
/// more, or less.
pub(super) fn edit(
    block: &[u8],
    key: &[u8],
    change: impl FnOnce(Option<&Packed>) -> Option<Packed>,
    (out, room): (&mut Vec<u8>, &mut Room),
) -> i8 {
    let mut walk = Walk::within(block, std::mem::take(room));
    let is_there = walk.seek(key) && walk.here().key == key;
    let start = walk.range.start;
    let new = change(is_there.then_some(&walk.here().value)).map(|value| Entry { key: key.to_vec(), value });
    let more = i8::from(new.is_some()) - i8::from(is_there);
    out.clear();
    out.extend_from_slice(block.get(..start).unwrap_or_default());
    // The row behind is written anew: another one stands before it.
    if is_there {
        let Room { before, kept, .. } = &mut walk.room;
        std::mem::swap(before, kept);
        let has_next = walk.step();
        put(&walk.room.kept, new.as_ref(), has_next.then_some(walk.here()), out);
    } else {
        let has_next = !walk.is_behind();
        put(&walk.room.before, new.as_ref(), has_next.then_some(walk.here()), out);
    }
    out.extend_from_slice(block.get(walk.range.end..).unwrap_or_default());
    *room = walk.room;
    more
}

/// Splits a block that is too large: gives the length of the first half, and the second.
pub(super) fn split(block: &[u8]) -> Option<(usize, Vec<u8>)> {
    if block.len() <= MOST {
        return None;
    }
    let mut walk = Walk::of(block);
    walk.step();
    while walk.step() {
        let Range { start, end } = walk.range;
        if end >= block.len() / 2 {
            let mut second = Vec::with_capacity(MOST);
            walk.here().write_after(&Entry::default(), &mut second);
            second.extend_from_slice(block.get(end..).unwrap_or_default());
            return Some((start, second));
        }
    }
    None
}

/// Writes two neighbours as one block, if both are small.
pub(super) fn join(first: &[u8], second: &[u8], out: &mut Vec<u8>) -> bool {
    if first.len() > FEW || second.len() > MOST / 2 {
        return false;
    }
    let (mut last, mut next) = (Walk::of(first), Walk::of(second));
    while last.step() {}
    next.step();
    out.clear();
    out.extend_from_slice(first);
    next.here().write_after(&last.room.before, out);
    out.extend_from_slice(second.get(next.range.end..).unwrap_or_default());
    true
}

/// Writes what comes behind `before`.
fn put(before: &Entry, new: Option<&Entry>, next: Option<&Entry>, out: &mut Vec<u8>) {
    if let Some(new) = new {
        new.write_after(before, out);
    }
    if let Some(next) = next {
        next.write_after(new.unwrap_or(before), out);
    }
}

impl<'a> Walk<'a> {
    /// Before the first row.
    pub(super) fn of(block: &'a [u8]) -> Self {
        Self::within(block, Room::default())
    }

    /// The same, with room that was used before.
    fn within(block: &'a [u8], mut room: Room) -> Self {
        room.before.clear();
        room.here.clear();
        Self { block, room, range: 0..0 }
    }

    /// Goes on to the next row; false behind the last one, which is then the one before.
    pub(super) fn step(&mut self) -> bool {
        let Room { before, here, .. } = &mut self.room;
        std::mem::swap(before, here);
        let start = self.range.end;
        self.range.start = start;
        let bytes = self.block.get(start..).unwrap_or_default();
        let mut cursor = Cursor(bytes);
        if bytes.is_empty() || here.read_after(before, &mut cursor).is_err() {
            return false;
        }
        self.range.end = self.block.len() - cursor.0.len();
        true
    }

    /// Goes on to the first row whose key is not below `key`; false behind the last one.
    pub(super) fn seek(&mut self, key: &[u8]) -> bool {
        while self.pass(key) {}
        self.step()
    }

    /// Goes on to the next row, if its key is below `key`, without keeping the row before: of most rows little is read.
    fn pass(&mut self, key: &[u8]) -> bool {
        let Room { here, ahead, .. } = &mut self.room;
        let start = self.range.end;
        let mut cursor = Cursor(self.block.get(start..).unwrap_or_default());
        let Ok(tag) = read_key(ahead, &here.key, &mut cursor) else { return false };
        if ahead.as_slice() >= key || here.value.turn(tag, &mut cursor).is_err() {
            return false;
        }
        std::mem::swap(&mut here.key, ahead);
        self.range = start..self.block.len() - cursor.0.len();
        true
    }

    pub(super) const fn here(&self) -> &Entry {
        &self.room.here
    }

    const fn is_behind(&self) -> bool {
        self.range.start >= self.range.end
    }
}
