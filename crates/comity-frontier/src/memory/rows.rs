//! A sorted table of rows that have much in common.

use super::arena::{Arena, Piece};
use super::block::{Room, Walk, edit, join, split};
use super::entry::{Entry, Packed, first_key};

/// Rows in the order of their keys, in blocks of up to a kilobyte: a row costs what it does not share with its neighbours, and
/// a part of its block's eight bytes and up to 64 that it has too many. Finding one costs two binary searches and a walk over
/// half a block, about a microsecond.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    arena: Arena,
    /// None is empty, and no block is, but for the only one.
    groups: Vec<Vec<Piece>>,
    len: usize,
    /// Kept for its room.
    scratch: Vec<u8>,
    /// The same, for whoever changes a row.
    room: Room,
}

/// Blocks of a group above which it is split.
const MOST: usize = 256;

impl Rows {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Sets the value of a key: told the old one, `value` gives the new one.
    pub(super) fn insert(&mut self, key: &[u8], value: impl FnOnce(Option<&Packed>) -> Packed) {
        if self.groups.is_empty() {
            self.groups.push(vec![Piece::default()]);
        }
        let (group, at) = self.place(key);
        let Self { arena, groups, len, scratch, room } = self;
        let Some(blocks) = groups.get_mut(group) else { return };
        let Some(block) = blocks.get_mut(at) else { return };
        *len = len.saturating_add_signed(edit(arena.get(*block), key, |old| Some(value(old)), (scratch, room)).into());
        let Some((first, second)) = split(scratch) else {
            *block = arena.replace(*block, scratch);
            return;
        };
        *block = arena.replace(*block, scratch.get(..first).unwrap_or_default());
        blocks.insert(at + 1, arena.replace(Piece::default(), &second));
        if blocks.len() > MOST {
            let second = blocks.split_off(MOST / 2);
            groups.insert(group + 1, second);
        }
    }

    pub(super) fn remove(&mut self, key: &[u8]) {
        let (group, at) = self.place(key);
        let Self { arena, groups, len, scratch, room } = self;
        let Some(blocks) = groups.get_mut(group) else { return };
        let Some(block) = blocks.get_mut(at) else { return };
        let more = edit(arena.get(*block), key, |_| None, (scratch, room));
        if more == 0 {
            return;
        }
        *len = len.saturating_add_signed(more.into());
        *block = arena.replace(*block, scratch);
        if block.is_empty() {
            blocks.remove(at);
            if blocks.is_empty() {
                groups.remove(group);
            }
            return;
        }
        if let Some([first, second]) = blocks.get_mut(at..).and_then(|rest| rest.first_chunk_mut())
            && join(arena.get(*first), arena.get(*second), scratch)
        {
            *first = arena.replace(*first, scratch);
            arena.free(*second);
            blocks.remove(at + 1);
        }
    }

    pub(super) fn get<T>(&self, key: &[u8], read: impl FnOnce(&Entry) -> T) -> Option<T> {
        let (group, at) = self.place(key);
        let mut walk = Walk::of(self.arena.get(*self.groups.get(group)?.get(at)?));
        (walk.seek(key) && walk.here().key == key).then(|| read(walk.here()))
    }

    /// The first `limit` rows with `from <= key < until`.
    pub(super) fn range<T>(&self, from: &[u8], until: &[u8], limit: usize, read: impl Fn(&Entry) -> T) -> Vec<T> {
        let (group, at) = self.place(from);
        let mut rows = Vec::new();
        for block in self.groups.iter().skip(group).flatten().skip(at) {
            let mut walk = Walk::of(self.arena.get(*block));
            let mut is_there = walk.seek(from);
            while is_there {
                if rows.len() >= limit || walk.here().key.as_slice() >= until {
                    return rows;
                }
                rows.push(read(walk.here()));
                is_there = walk.step();
            }
        }
        rows
    }

    /// Group and block in which a key stands, or would.
    fn place(&self, key: &[u8]) -> (usize, usize) {
        let begins = |block: &Piece| first_key(self.arena.get(*block)) <= key;
        let group = self.groups.partition_point(|blocks| blocks.first().is_some_and(begins)).saturating_sub(1);
        let blocks = self.groups.get(group).map(Vec::as_slice).unwrap_or_default();
        (group, blocks.partition_point(begins).saturating_sub(1))
    }

    /// Memory taken, in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let blocks: usize = self.groups.iter().map(Vec::capacity).sum();
        self.arena.bytes() + blocks * size_of::<Piece>()
    }
}
