use std::collections::BTreeSet;
use std::ops::Bound;

use comity_policy::Instant;

use super::Key;

/// Entries in order: a list of those that were there when they were ordered, and a tree of those that came later.
///
/// The list costs one sort and then nothing: it is served from its end. What is taken out of its middle is marked, not
/// moved, so that taking out costs a search whatever the length.
///
/// Invariant: the end of the list is not marked.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The first stands last.
    listed: Vec<Listed>,
    /// Those of the list that are not marked.
    live: usize,
    added: BTreeSet<Key>,
}

#[derive(Clone, Copy, Debug)]
struct Listed {
    at: Instant,
    ticket: u64,
    origin: u32,
    is_gone: bool,
}

impl Order {
    /// Puts entries in order. The list's room is used again.
    pub(super) fn new(keys: Vec<Key>) -> Self {
        let mut listed: Vec<Listed> = keys.into_iter().map(Listed::new).collect();
        listed.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.key()));
        Self { live: listed.len(), listed, added: BTreeSet::new() }
    }

    pub(super) fn first(&self) -> Option<Key> {
        let listed = self.listed.last().map(Listed::key);
        match (listed, self.added.first()) {
            (Some(listed), Some(added)) => Some(listed.min(*added)),
            (listed, added) => listed.or(added.copied()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.live == 0 && self.added.is_empty()
    }

    pub(super) fn insert(&mut self, key: Key) {
        self.added.insert(key);
    }

    pub(super) fn remove(&mut self, key: Key) {
        if self.listed.last().is_some_and(|last| last.key() == key) {
            self.listed.pop();
        } else {
            let place = self.listed.binary_search_by(|entry| key.cmp(&entry.key()));
            match place.ok().and_then(|at| self.listed.get_mut(at)).filter(|entry| !entry.is_gone) {
                Some(entry) => entry.is_gone = true,
                None => {
                    self.added.remove(&key);
                    return;
                }
            }
        }
        self.live -= 1;
        while self.listed.pop_if(|last| last.is_gone).is_some() {}
    }

    /// The entries behind `after`, in order; all of them without one.
    pub(super) fn behind(&self, after: Option<Key>) -> impl Iterator<Item = Key> + '_ {
        let end = after.map_or(self.listed.len(), |after| self.listed.partition_point(|entry| entry.key() > after));
        let listed = self.listed.get(..end).unwrap_or_default().iter().rev();
        let mut listed = listed.filter(|entry| !entry.is_gone).map(Listed::key).peekable();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut added = self.added.range((from, Bound::Unbounded)).copied().peekable();
        std::iter::from_fn(move || match (listed.peek(), added.peek()) {
            (Some(one), Some(other)) if other < one => added.next(),
            (Some(_), _) => listed.next(),
            (None, _) => added.next(),
        })
    }
}

impl Listed {
    const fn new((at, ticket, origin): Key) -> Self {
        Self { at, ticket, origin, is_gone: false }
    }

    const fn key(&self) -> Key {
        (self.at, self.ticket, self.origin)
    }
}
