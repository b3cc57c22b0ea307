use std::collections::BTreeSet;
use std::ops::Bound;

use super::entry::Entry;

/// Entries of one tick in order: a list of those that were there when they were ordered, and a tree of those that came later.
///
/// The list costs one sort and then nothing: it is served from its end. What is taken out of its middle is marked, not
/// moved, so that taking out costs a search whatever the length.
///
/// Invariant: the end of the list is not marked.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The first stands last.
    listed: Vec<Entry>,
    /// Those of the list that are not marked.
    live: usize,
    added: BTreeSet<Entry>,
}

impl Order {
    /// Puts entries in order. The list's room is used again.
    pub(super) fn new(mut listed: Vec<Entry>) -> Self {
        listed.sort_unstable_by(|one, other| other.cmp(one));
        Self { live: listed.len(), listed, added: BTreeSet::new() }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<Entry> {
        match (self.listed.last(), self.added.first()) {
            (Some(listed), Some(added)) => Some(*listed.min(added)),
            (listed, added) => listed.or(added).copied(),
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.live == 0 && self.added.is_empty()
    }

    #[inline]
    pub(super) fn insert(&mut self, entry: Entry) {
        self.added.insert(entry);
    }

    #[inline]
    pub(super) fn remove(&mut self, entry: Entry) {
        if self.listed.last() == Some(&entry) {
            self.listed.pop();
        } else {
            let place = self.listed.binary_search_by(|other| entry.cmp(&other.unmarked()));
            match place.ok().and_then(|at| self.listed.get_mut(at)).filter(|other| !other.is_gone()) {
                Some(other) => *other = other.gone(),
                None => {
                    self.added.remove(&entry);
                    return;
                }
            }
        }
        self.live -= 1;
        while self.listed.pop_if(|last| last.is_gone()).is_some() {}
    }

    /// The entries behind `after`, in order; all of them without one.
    pub(super) fn behind(&self, after: Option<Entry>) -> impl Iterator<Item = Entry> + '_ {
        let end =
            after.map_or(self.listed.len(), |after| self.listed.partition_point(|entry| entry.unmarked() > after));
        let listed = self.listed.get(..end).unwrap_or_default().iter().rev();
        let mut listed = listed.filter(|entry| !entry.is_gone()).copied().peekable();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut added = self.added.range((from, Bound::Unbounded)).copied().peekable();
        std::iter::from_fn(move || match (listed.peek(), added.peek()) {
            (Some(one), Some(other)) if other < one => added.next(),
            (Some(_), _) => listed.next(),
            (None, _) => added.next(),
        })
    }

    /// Adds the origins of the entries up to and with `last` to `origins`, in order, while those are fewer than `most`.
    pub(super) fn collect(&self, last: Entry, most: usize, origins: &mut Vec<u32>) {
        if !self.added.is_empty() {
            let due = self.behind(None).take_while(|entry| *entry <= last);
            origins.extend(due.map(Entry::origin).take(most.saturating_sub(origins.len())));
            return;
        }
        for entry in self.listed.iter().rev() {
            if entry.unmarked() > last || origins.len() >= most {
                break;
            }
            if !entry.is_gone() {
                origins.push(entry.origin());
            }
        }
    }

    /// The emptied list, for its room.
    pub(super) fn into_room(self) -> Vec<Entry> {
        let mut room = self.listed;
        room.clear();
        room
    }
}
