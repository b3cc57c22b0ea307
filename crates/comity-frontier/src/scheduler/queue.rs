use smallvec::SmallVec;

use super::shelf::{Entry, List, Shelf};
use crate::QueuedUrl;
use crate::rest::Waits;

/// The waiting URLs of one origin by priority: a few of each held ready, the others in the store behind a cursor.
///
/// The first priority stands in the origin's record itself: most have one, and a turn should not fetch it from elsewhere
/// in memory.
#[derive(Debug, Default)]
pub(super) struct Queue(SmallVec<[Level; 1]>);

/// One priority of one origin. Dropped when nothing of it waits.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) priority: u8,
    /// Everything of this priority below is either held ready here, out under a lease, deferred, or gone: the store
    /// is never read from the head again.
    pub(super) cursor: u64,
    /// Records in the store at or behind the cursor.
    pub(super) beyond: u64,
    /// Held ready, and the places of those that were handed out and came back.
    ready: List,
    /// Records to read next time: doubles, so that an origin that is held at once reads one.
    pub(super) next_fill: u16,
}

const _: () = assert!(size_of::<Queue>() == 40, "it stands in a record of two cache lines");

impl Level {
    /// What waits, counted as if nothing were held ready.
    pub(super) fn as_waits(&self, shelf: &Shelf) -> Waits {
        let cursor = self.low(shelf);
        Waits { priority: self.priority, cursor, beyond: self.beyond + u64::from(self.ready.len()) }
    }

    /// Nothing that waits here has a sequence below. The cursor means nothing while nothing lies beyond it.
    pub(super) fn low(&self, shelf: &Shelf) -> u64 {
        match self.ready.front(shelf) {
            Some((first, _)) if self.beyond == 0 => first,
            Some((first, _)) => first.min(self.cursor),
            None => self.cursor,
        }
    }

    /// True when the first of those that wait is held ready: nothing in the store comes before it.
    #[inline]
    pub(super) fn is_first_ready(&self, shelf: &Shelf) -> bool {
        self.front(shelf).is_some_and(|first| first.1)
    }

    /// The first of those that wait, when it is the URL alone that has to be read from the store.
    #[inline]
    pub(super) fn first_hollow(&self, shelf: &Shelf) -> Option<u64> {
        self.front(shelf).filter(|first| !first.1).map(|first| first.0)
    }

    /// The first that stands here, if nothing in the store comes before it, and whether its URL is here.
    #[inline]
    fn front(&self, shelf: &Shelf) -> Option<(u64, bool)> {
        self.ready.front(shelf).filter(|first| self.beyond == 0 || first.0 < self.cursor)
    }

    /// Nothing of it waits.
    #[inline]
    const fn is_empty(&self) -> bool {
        self.beyond == 0 && self.ready.is_empty()
    }
}

impl Queue {
    /// True when nothing waits here.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every priority with something waiting, in order.
    #[inline]
    pub(super) fn levels(&self) -> &[Level] {
        &self.0
    }

    /// Takes over what waits in the store.
    pub(super) fn waits(&mut self, waits: Waits) {
        if waits.beyond > 0 {
            let level = self.level(waits.priority);
            (level.cursor, level.beyond) = (waits.cursor, waits.beyond);
        }
    }

    /// The sequence of the URL held ready that comes first.
    #[inline]
    pub(super) fn first_sequence(&self, shelf: &Shelf) -> Option<u64> {
        self.0.first()?.ready.front(shelf).map(|first| first.0)
    }

    /// Where the first priority is read on.
    #[inline]
    pub(super) fn first_cursor(&self) -> u64 {
        self.0.first().map_or(0, |level| level.cursor)
    }

    /// The most urgent priority with something waiting.
    #[inline]
    pub(super) fn first(&mut self) -> Option<&mut Level> {
        self.0.first_mut()
    }

    /// Counts `count` records that were written at `sequence` and behind.
    #[inline]
    pub(super) fn append(&mut self, priority: u8, sequence: u64, count: u64) {
        let level = self.level(priority);
        if level.beyond == 0 {
            level.cursor = level.cursor.max(sequence);
        }
        level.beyond += count;
    }

    /// Puts a URL back to its place.
    pub(super) fn put(&mut self, shelf: &mut Shelf, priority: u8, entry: Entry) {
        self.level(priority).ready.insert(shelf, entry);
    }

    /// Takes the first URL of the most urgent priority, if it is held ready.
    #[inline]
    pub(super) fn pop(&mut self, shelf: &mut Shelf) -> Option<(u8, u64, QueuedUrl)> {
        let level = self.0.first_mut().filter(|level| level.is_first_ready(shelf))?;
        let Entry { sequence, queued } = level.ready.pop_front(shelf)?;
        let priority = level.priority;
        if level.is_empty() {
            self.0.remove(0);
        }
        Some((priority, sequence, queued?))
    }

    /// Takes in the URL of a place that was held without it; without one the place is given up.
    pub(super) fn refill(&mut self, shelf: &mut Shelf, priority: u8, sequence: u64, queued: Option<QueuedUrl>) {
        let Some(level) = self.0.iter_mut().find(|level| level.priority == priority) else { return };
        if level.ready.remove(shelf, sequence) && queued.is_some() {
            level.ready.insert(shelf, Entry { sequence, queued });
        }
        self.drop_empty(priority);
    }

    /// Takes in what the store holds from the cursor on; `exhausted` when that was all. Gives how many records were
    /// counted on but are not there.
    #[inline]
    pub(super) fn fill(
        &mut self,
        shelf: &mut Shelf,
        priority: u8,
        entries: impl Iterator<Item = Entry>,
        (read, cursor, exhausted): (u64, u64, bool),
    ) -> u64 {
        let level = self.level(priority);
        level.cursor = level.cursor.max(cursor);
        level.beyond = level.beyond.saturating_sub(read);
        let missing = if exhausted { std::mem::take(&mut level.beyond) } else { 0 };
        // Behind those that are held ready already, unless the origin slept: then a retry may have come before its turn.
        entries.for_each(|entry| level.ready.insert(shelf, entry));
        self.drop_empty(priority);
        missing
    }

    /// Forgets a URL that was settled while it waited here, if it was held ready.
    pub(super) fn forget(&mut self, shelf: &mut Shelf, priority: u8, sequence: u64) {
        let Some(level) = self.0.iter_mut().find(|level| level.priority == priority) else { return };
        level.ready.remove(shelf, sequence);
        self.drop_empty(priority);
    }

    /// Gives back what is held ready: the origin leaves memory.
    pub(super) fn clear(&mut self, shelf: &mut Shelf) {
        self.0.iter_mut().for_each(|level| level.ready.clear(shelf));
        self.0.clear();
    }

    #[inline]
    fn level(&mut self, priority: u8) -> &mut Level {
        let at = self.0.partition_point(|level| level.priority < priority);
        if self.0.get(at).is_none_or(|level| level.priority != priority) {
            let level = Level { priority, cursor: 0, beyond: 0, ready: List::default(), next_fill: 1 };
            self.0.insert(at, level);
        }
        &mut self.0[at]
    }

    #[inline]
    fn drop_empty(&mut self, priority: u8) {
        self.0.retain(|level| level.priority != priority || !level.is_empty());
    }
}
