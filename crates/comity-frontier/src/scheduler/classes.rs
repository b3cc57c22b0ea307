use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::QueuedUrl;
use crate::rest::Waits;

/// The waiting URLs of one origin by priority: a few of each held ready, the others in the store behind a cursor.
///
/// The first stands in the origin's record itself: most have one, and a turn should not fetch it from elsewhere in memory.
#[derive(Debug, Default)]
pub(super) struct Classes(SmallVec<[Class; 1]>);

/// One priority of one origin. Dropped when nothing of it waits.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) priority: u8,
    /// Everything of this priority below is either held ready here, out under a lease, deferred, or gone: the store
    /// is never read from the head again.
    pub(super) cursor: u64,
    /// Records in the store at or behind the cursor.
    pub(super) beyond: u64,
    /// Held ready, by sequence.
    pub(super) ready: VecDeque<Entry>,
    /// Records to read next time: doubles, so that an origin that is held at once reads one.
    pub(super) next_fill: u32,
}

impl Class {
    /// What waits, counted as if nothing were held ready.
    pub(super) fn as_waits(&self) -> Waits {
        let cursor = self.low();
        Waits { priority: self.priority, cursor, beyond: self.beyond + self.ready.len() as u64 }
    }

    /// Nothing that waits here has a sequence below. The cursor means nothing while nothing lies beyond it.
    pub(super) fn low(&self) -> u64 {
        match self.ready.front() {
            Some(first) if self.beyond == 0 => first.sequence,
            Some(first) => first.sequence.min(self.cursor),
            None => self.cursor,
        }
    }

    /// True when the first of those that wait is held ready: nothing in the store comes before it.
    pub(super) fn is_first_ready(&self) -> bool {
        self.ready.front().is_some_and(|first| self.beyond == 0 || first.sequence < self.cursor)
    }
}

/// A queued URL with its place within its priority.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) sequence: u64,
    pub(super) queued: QueuedUrl,
}

impl Classes {
    /// True when nothing waits here.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every priority with something waiting, in order.
    pub(super) fn all(&self) -> &[Class] {
        &self.0
    }

    /// Takes over what waits in the store.
    pub(super) fn waits(&mut self, waits: Waits) {
        if waits.beyond > 0 {
            let class = self.class(waits.priority);
            (class.cursor, class.beyond) = (waits.cursor, waits.beyond);
        }
    }

    /// The URL held ready that comes first.
    pub(super) fn peek(&self) -> Option<&QueuedUrl> {
        self.0.first()?.ready.front().map(|entry| &entry.queued)
    }

    /// The most urgent priority with something waiting.
    pub(super) fn first(&mut self) -> Option<&mut Class> {
        self.0.first_mut()
    }

    /// Counts `count` records that were written at `sequence` and behind.
    pub(super) fn append(&mut self, priority: u8, sequence: u64, count: u64) {
        let class = self.class(priority);
        if class.beyond == 0 {
            class.cursor = class.cursor.max(sequence);
        }
        class.beyond += count;
    }

    /// Puts a URL back to its place.
    pub(super) fn put(&mut self, priority: u8, entry: Entry) {
        let ready = &mut self.class(priority).ready;
        let at = ready.partition_point(|other| other.sequence < entry.sequence);
        if ready.get(at).is_none_or(|other| other.sequence != entry.sequence) {
            ready.insert(at, entry);
        }
    }

    /// Takes the first URL of the most urgent priority, if it is held ready.
    pub(super) fn pop(&mut self) -> Option<(u8, Entry)> {
        let class = self.0.first_mut().filter(|class| class.is_first_ready())?;
        let entry = class.ready.pop_front()?;
        let priority = class.priority;
        if class.is_empty() {
            self.0.remove(0);
        }
        Some((priority, entry))
    }

    /// Takes in what the store holds from the cursor on; `exhausted` when that was all. Gives how many records were
    /// counted on but are not there.
    pub(super) fn fill(&mut self, priority: u8, entries: Vec<Entry>, read: u64, cursor: u64, exhausted: bool) -> u64 {
        let class = self.class(priority);
        class.cursor = class.cursor.max(cursor);
        class.beyond = class.beyond.saturating_sub(read);
        let missing = if exhausted { std::mem::take(&mut class.beyond) } else { 0 };
        // Behind those that are held ready already, unless the origin slept: then a retry may have come before its turn.
        for entry in entries {
            let at = class.ready.partition_point(|other| other.sequence < entry.sequence);
            class.ready.insert(at, entry);
        }
        self.drop_empty(priority);
        missing
    }

    /// Forgets a URL that was settled while it waited here; true when it was held ready.
    pub(super) fn forget(&mut self, priority: u8, sequence: u64) -> bool {
        let Some(class) = self.0.iter_mut().find(|class| class.priority == priority) else { return false };
        let was_ready = match class.ready.binary_search_by_key(&sequence, |entry| entry.sequence) {
            Ok(at) => class.ready.remove(at).is_some(),
            Err(_) => false,
        };
        self.drop_empty(priority);
        was_ready
    }

    /// URLs held ready.
    pub(super) fn ready(&self) -> u64 {
        self.0.iter().map(|class| class.ready.len() as u64).sum()
    }

    fn class(&mut self, priority: u8) -> &mut Class {
        let at = self.0.partition_point(|class| class.priority < priority);
        if self.0.get(at).is_none_or(|class| class.priority != priority) {
            let class = Class { priority, cursor: 0, beyond: 0, ready: VecDeque::new(), next_fill: 1 };
            self.0.insert(at, class);
        }
        &mut self.0[at]
    }

    fn drop_empty(&mut self, priority: u8) {
        self.0.retain(|class| class.priority != priority || !class.is_empty());
    }
}

impl Class {
    /// Nothing of it waits.
    fn is_empty(&self) -> bool {
        self.beyond == 0 && self.ready.is_empty()
    }
}
