use comity_url::{CrawlUrl, UrlKey};

use crate::{QueuedUrl, Visited};

/// The URLs held ready, of all origins, each in one line of the processor's cache.
///
/// They are taken one at a time, at random and once. In places of their own, each taking would give memory back and each
/// reading would ask for some, far apart; here the place that was just emptied is filled next. Which one that is does not stand
/// in the emptied places themselves: then each would have to be read before the next one is known.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    slots: Vec<Slot>,
    /// The emptied slots, the last one at the end.
    free: Vec<Link>,
    held: u32,
}

/// URLs of one list on the shelf, by sequence. To be emptied before it is dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct List {
    first: Link,
    last: Link,
    len: u32,
}

/// A place within a priority, and the URL that stands there.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) sequence: u64,
    /// `None` when a lease of it came to nothing: its URL was handed out, and is read from the store again.
    pub(super) queued: Option<QueuedUrl>,
}

/// The number of a slot, or of none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link(u32);

/// An [`Entry`] without room between its parts, and what comes behind it.
#[derive(Debug)]
#[repr(align(64))]
struct Slot {
    /// `None` when the slot is empty, too.
    url: Option<CrawlUrl>,
    via: Option<CrawlUrl>,
    visited: Option<Box<Visited>>,
    key: UrlKey,
    sequence: u64,
    depth: u32,
    attempts: u32,
    next: Link,
    hops: u8,
    seed: bool,
}

const _: () = assert!(size_of::<Slot>() == 64, "a slot is one cache line: taking a URL reads one");

impl Slot {
    #[inline]
    fn new(entry: Entry, next: Link) -> Self {
        let Entry { sequence, queued } = entry;
        let Some(queued) = queued else { return Self { sequence, ..Self::empty(next) } };
        let QueuedUrl { url, key, depth, hops, via, seed, attempts, visited } = queued;
        Self { url: Some(url), via, visited, key, sequence, depth, attempts, next, hops, seed }
    }

    #[inline]
    fn empty(next: Link) -> Self {
        let key = UrlKey::from_bytes([0; 16]);
        Self {
            url: None,
            via: None,
            visited: None,
            key,
            sequence: 0,
            depth: 0,
            attempts: 0,
            next,
            hops: 0,
            seed: false,
        }
    }

    /// Gives what is here and leaves an empty slot.
    #[inline]
    fn take(&mut self) -> (Entry, Link) {
        let Self { url, via, visited, key, sequence, depth, attempts, next, hops, seed } = self;
        let (via, visited) = (via.take(), visited.take());
        let (key, depth, hops, seed, attempts) = (*key, *depth, *hops, *seed, *attempts);
        let queued = url.take().map(|url| QueuedUrl { url, key, depth, hops, via, seed, attempts, visited });
        (Entry { sequence: *sequence, queued }, *next)
    }
}

impl Shelf {
    /// URLs on it.
    #[inline]
    pub(super) const fn held(&self) -> u32 {
        self.held
    }

    #[inline]
    fn slot(&self, link: Link) -> Option<&Slot> {
        self.slots.get(link.0 as usize)
    }

    #[inline]
    fn put(&mut self, entry: Entry, next: Link) -> Link {
        self.held += 1;
        if let Some(link) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(link.0 as usize)
        {
            *slot = Slot::new(entry, next);
            return link;
        }
        self.slots.push(Slot::new(entry, next));
        Link(u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX))
    }

    /// Empties a slot; gives what it held, and what came behind.
    #[inline]
    fn take(&mut self, link: Link) -> Option<(Entry, Link)> {
        let taken = self.slots.get_mut(link.0 as usize)?.take();
        self.free.push(link);
        self.held -= 1;
        Some(taken)
    }

    #[inline]
    fn chain(&mut self, before: Link, next: Link) {
        if let Some(slot) = self.slots.get_mut(before.0 as usize) {
            slot.next = next;
        }
    }
}

impl List {
    #[inline]
    pub(super) const fn len(self) -> u32 {
        self.len
    }

    #[inline]
    pub(super) const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Sequence of the first, and whether its URL is there.
    #[inline]
    pub(super) fn front(self, shelf: &Shelf) -> Option<(u64, bool)> {
        shelf.slot(self.first).map(|slot| (slot.sequence, slot.url.is_some()))
    }

    /// Takes the first.
    #[inline]
    pub(super) fn pop_front(&mut self, shelf: &mut Shelf) -> Option<Entry> {
        let (entry, next) = shelf.take(self.first)?;
        self.first = next;
        self.len -= 1;
        if self.len == 0 {
            self.last = Link::NONE;
        }
        Some(entry)
    }

    /// Puts an entry to its place, unless one of its sequence is there.
    #[inline]
    pub(super) fn insert(&mut self, shelf: &mut Shelf, entry: Entry) {
        let (before, next) = match shelf.slot(self.last) {
            Some(last) if last.sequence < entry.sequence => (self.last, Link::NONE),
            Some(_) => self.find(shelf, entry.sequence),
            None => (Link::NONE, Link::NONE),
        };
        if shelf.slot(next).is_some_and(|other| other.sequence == entry.sequence) {
            return;
        }
        let link = shelf.put(entry, next);
        shelf.chain(before, link);
        if before == Link::NONE {
            self.first = link;
        }
        if next == Link::NONE {
            self.last = link;
        }
        self.len += 1;
    }

    /// Takes the entry of a sequence out; true when there was one.
    pub(super) fn remove(&mut self, shelf: &mut Shelf, sequence: u64) -> bool {
        let (before, link) = self.find(shelf, sequence);
        if shelf.slot(link).is_none_or(|slot| slot.sequence != sequence) {
            return false;
        }
        let Some((_, next)) = shelf.take(link) else { return false };
        shelf.chain(before, next);
        if before == Link::NONE {
            self.first = next;
        }
        if next == Link::NONE {
            self.last = before;
        }
        self.len -= 1;
        true
    }

    /// Takes everything out.
    pub(super) fn clear(&mut self, shelf: &mut Shelf) {
        while self.pop_front(shelf).is_some() {}
    }

    /// The last slot before `sequence`, and the first that is not.
    fn find(self, shelf: &Shelf, sequence: u64) -> (Link, Link) {
        let (mut before, mut link) = (Link::NONE, self.first);
        while let Some(slot) = shelf.slot(link)
            && slot.sequence < sequence
        {
            (before, link) = (link, slot.next);
        }
        (before, link)
    }
}

impl Link {
    const NONE: Self = Self(u32::MAX);
}

impl Default for Link {
    fn default() -> Self {
        Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(sequence: u64) -> Entry {
        let url = CrawlUrl::parse(&format!("http://a.test/{sequence}")).unwrap();
        let key = UrlKey::from_bytes([0; 16]);
        let queued = QueuedUrl { url, key, depth: 0, hops: 0, via: None, seed: false, attempts: 0, visited: None };
        Entry { sequence, queued: Some(queued) }
    }

    proptest! {
        #[test]
        fn two_lists_on_one_shelf_are_two_ordered_maps(
            events in prop::collection::vec((0_u8..8, 0_usize..2, 0_u64..12), 1..200),
        ) {
            let (mut shelf, mut lists) = (Shelf::default(), [List::default(); 2]);
            let mut models = [const { std::collections::BTreeSet::new() }; 2];
            for (event, which, sequence) in events {
                let (list, model) = (&mut lists[which], &mut models[which]);
                match event {
                    0..4 => {
                        list.insert(&mut shelf, entry(sequence));
                        model.insert(sequence);
                    }
                    4 | 5 => {
                        let popped = list.pop_front(&mut shelf).map(|entry| entry.sequence);
                        prop_assert_eq!(popped, model.pop_first());
                    }
                    6 => prop_assert_eq!(list.remove(&mut shelf, sequence), model.remove(&sequence)),
                    _ if sequence == 0 => {
                        list.clear(&mut shelf);
                        model.clear();
                    }
                    _ => {}
                }
                for (list, model) in lists.iter().zip(&models) {
                    prop_assert_eq!(list.len() as usize, model.len());
                    prop_assert_eq!(list.is_empty(), model.is_empty());
                    prop_assert_eq!(list.front(&shelf), model.first().map(|first| (*first, true)));
                }
                prop_assert_eq!(shelf.held() as usize, models[0].len() + models[1].len());
            }
            prop_assert!(shelf.slots.len() <= 24, "emptied slots are used again");
        }
    }
}
