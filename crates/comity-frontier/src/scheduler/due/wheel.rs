use std::collections::BTreeMap;

use super::bucket::{Bucket, LOOSE};
use super::entry::Entry;

/// Buckets by tick: those of the coming minute in a ring, where finding one costs nothing, the others in a tree.
///
/// The ring's window begins at a tick that only moves forward. What it leaves behind goes to the tree, what it comes to
/// leaves the tree; a bucket moves as a whole, twice at most.
#[derive(Debug, Default)]
pub(super) struct Wheel {
    /// By tick modulo [`SLOTS`]; allocated with the first entry.
    ring: Vec<Bucket>,
    /// Which of the ring's buckets have entries, one bit each.
    filled: Vec<u64>,
    /// The first tick of the window.
    start: u64,
    /// The buckets of all other ticks, none empty.
    outside: BTreeMap<u64, Bucket>,
    /// The room of buckets that were served, for the next ones: as fast as one is served another one fills.
    rooms: Vec<Vec<Entry>>,
}

/// Ticks in the window. A power of two; with a tick of 65.5 ms a bit more than a minute, so that usual delays fall into it.
const SLOTS: u64 = 1024;
/// The window moves when its start lies so far behind.
const STRIDE: u64 = SLOTS / 8;
/// Rooms that are kept: a megabyte.
const ROOMS: usize = 4;

impl Wheel {
    /// The bucket of a tick, to put something into it.
    #[inline]
    pub(super) fn bucket(&mut self, tick: u64) -> &mut Bucket {
        if !self.is_inside(tick) {
            return self.outside.entry(tick).or_insert(Bucket::EMPTY);
        }
        if self.ring.is_empty() {
            self.ring.resize_with(index(SLOTS), || Bucket::EMPTY);
            self.filled.resize(index(SLOTS / 64), 0);
        }
        let slot = tick % SLOTS;
        let (word, bit) = (&mut self.filled[index(slot / 64)], 1 << (slot % 64));
        let bucket = &mut self.ring[index(slot)];
        if *word & bit == 0 {
            *word |= bit;
            *bucket = Bucket::within(self.rooms.pop().unwrap_or_default());
        }
        bucket
    }

    /// Changes the bucket of a tick, if there is one, and drops it when that leaves it empty.
    pub(super) fn change(&mut self, tick: u64, change: impl FnOnce(&mut Bucket)) {
        if !self.is_inside(tick) {
            if let Some(bucket) = self.outside.get_mut(&tick) {
                change(bucket);
                if bucket.is_empty() {
                    self.outside.remove(&tick);
                }
            }
        } else if let Some(bucket) = self.ring.get_mut(index(tick % SLOTS)) {
            change(bucket);
            if bucket.is_empty() {
                self.take_slot(tick);
            }
        }
    }

    /// Reads where an entry of a tick of the window would go.
    #[inline]
    pub(super) fn touch(&self, tick: u64) -> u64 {
        self.ring.get(index(tick % SLOTS)).map_or(0, Bucket::touch)
    }

    /// Takes over room for entries.
    pub(super) fn reuse(&mut self, room: Vec<Entry>) {
        if self.rooms.len() < ROOMS && room.capacity() <= LOOSE {
            self.rooms.push(room);
        }
    }

    /// Takes the first bucket out.
    pub(super) fn take_first(&mut self) -> Option<(u64, Bucket)> {
        let tick = self.first()?;
        let bucket = if self.is_inside(tick) { Some(self.take_slot(tick)) } else { self.outside.remove(&tick) };
        bucket.map(|bucket| (tick, bucket))
    }

    /// Buckets from a tick on, in order. A step costs at most a look at each word of the ring's bits.
    pub(super) fn from(&self, tick: u64) -> impl Iterator<Item = (u64, &Bucket)> {
        let ticks = std::iter::successors(self.first_from(tick), |tick| self.first_from(tick.checked_add(1)?));
        ticks.filter_map(|tick| {
            let bucket =
                if self.is_inside(tick) { self.ring.get(index(tick % SLOTS)) } else { self.outside.get(&tick) };
            bucket.map(|bucket| (tick, bucket))
        })
    }

    /// Tells that nothing before `tick` will be put in any more, but for latecomers.
    #[inline]
    pub(super) fn advance(&mut self, tick: u64) {
        if tick >= self.start.saturating_add(STRIDE) {
            self.turn_to(tick);
        }
    }

    /// Moves the window.
    fn turn_to(&mut self, tick: u64) {
        while let Some(passed) = self.first_in_ring(self.start).filter(|passed| *passed < tick) {
            let bucket = self.take_slot(passed);
            self.outside.insert(passed, bucket);
        }
        self.start = tick;
        let end = tick.saturating_add(SLOTS);
        while let Some(reached) = self.outside.range(tick..end).next().map(|(reached, _)| *reached) {
            if let Some(bucket) = self.outside.remove(&reached) {
                *self.bucket(reached) = bucket;
            }
        }
    }

    /// The first tick that has a bucket.
    pub(super) fn first(&self) -> Option<u64> {
        self.first_from(0)
    }

    /// The first tick from `tick` on that has a bucket.
    pub(super) fn first_from(&self, tick: u64) -> Option<u64> {
        let outside = self.outside.range(tick..).next().map(|(tick, _)| *tick);
        [self.first_in_ring(tick.max(self.start)), outside].into_iter().flatten().min()
    }

    /// The first tick of the window from `tick` on that has a bucket.
    fn first_in_ring(&self, tick: u64) -> Option<u64> {
        let (offset, words) = (tick - self.start, self.filled.len() as u64);
        if offset >= SLOTS || words == 0 {
            return None;
        }
        let slot = tick % SLOTS;
        // The word of the slot comes first, without the bits before the slot, and once more at the end, with them.
        for step in 0..=words {
            let word = (slot / 64 + step) % words;
            let mask = if step == 0 { u64::MAX << (slot % 64) } else { u64::MAX };
            let bits = self.filled[index(word)] & mask;
            if bits != 0 {
                let ahead = (word * 64 + u64::from(bits.trailing_zeros()) + SLOTS - slot) % SLOTS;
                // What lies behind the window's end is the window's beginning.
                return (offset + ahead < SLOTS).then(|| tick + ahead);
            }
        }
        None
    }

    fn take_slot(&mut self, tick: u64) -> Bucket {
        let slot = tick % SLOTS;
        self.filled[index(slot / 64)] &= !(1 << (slot % 64));
        std::mem::replace(&mut self.ring[index(slot)], Bucket::EMPTY)
    }

    #[inline]
    const fn is_inside(&self, tick: u64) -> bool {
        // Also false before the window: the difference wraps to a large one.
        tick.wrapping_sub(self.start) < SLOTS
    }
}

/// A slot or word number, which is below [`SLOTS`].
#[inline]
const fn index(number: u64) -> usize {
    number as usize
}
