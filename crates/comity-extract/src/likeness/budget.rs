use std::collections::{HashMap, VecDeque};

use comity_url::Origin;

use super::Likeness;

/// What near-duplicates of one page may still add to a crawl: a budget per origin that diminishes.
///
/// All links of the first `free` near-duplicates of a page count. Of the next `free / 8` at most 64 of each, then 32, and so on
/// to none: a site whose pages are one page under names without end is left after less than twice `free` of them. The pages
/// themselves are kept; only what they link to is not followed.
///
/// An origin with fewer pages than half of `free` costs nothing: no fingerprint is asked for. From there on one page of four is
/// looked at and counts for four, until a group has spent what is free; then every page is. Bounded: 32 groups of pages per
/// origin, the smallest making room, and 65,536 origins, the first making room.
#[derive(Debug)]
pub struct DuplicateBudget {
    free: u32,
    origins: HashMap<Origin, Pages>,
    order: VecDeque<Origin>,
}

/// How many links of a page count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkAllowance {
    /// All.
    All,
    /// So many.
    AtMost(usize),
}

impl LinkAllowance {
    /// Whether `taken` links are all that count.
    #[must_use]
    pub const fn is_spent(self, taken: usize) -> bool {
        match self {
            Self::All => false,
            Self::AtMost(most) => taken >= most,
        }
    }
}

#[derive(Debug, Default)]
struct Pages {
    seen: u32,
    /// Whether a group has spent what is free.
    is_spent: bool,
    groups: Vec<Group>,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first: Likeness,
    pages: u32,
}

/// One page of so many is looked at while nothing is spent.
const SAMPLE: u32 = 4;
const MOST_GROUPS: usize = 32;
const MOST_ORIGINS: usize = 65_536;
/// Links of a page once its group has spent what is free.
const FIRST_CUT: usize = 64;

impl DuplicateBudget {
    /// The default: 1,000 pages (our choice: more than a site has pages of one text by accident).
    pub const USUAL: u32 = 1_000;

    /// Nothing seen yet; 0 turns the budget off.
    #[must_use]
    pub fn new(free: u32) -> Self {
        Self { free, origins: HashMap::new(), order: VecDeque::new() }
    }

    /// Whether the fingerprint of the next page of `origin` is wanted.
    #[must_use]
    pub fn wants(&self, origin: &Origin) -> bool {
        let is_wanted =
            |pages: &Pages| pages.seen >= self.free / 2 && (pages.is_spent || pages.seen.is_multiple_of(SAMPLE));
        self.free > 0 && self.origins.get(origin).is_some_and(is_wanted)
    }

    /// Counts a page; gives how many of its links count.
    pub fn count(&mut self, origin: &Origin, likeness: Option<Likeness>) -> LinkAllowance {
        if self.free == 0 {
            return LinkAllowance::All;
        }
        let free = self.free;
        let pages = self.pages(origin);
        pages.seen = pages.seen.saturating_add(1);
        let Some(likeness) = likeness else { return LinkAllowance::All };
        // The pages before the first fingerprint may have been any page: half of the budget is theirs.
        let beyond = pages.add(likeness).saturating_sub(free / 2);
        pages.is_spent |= beyond > 0;
        match beyond.div_ceil((free / 8).max(1)) {
            0 => LinkAllowance::All,
            step => LinkAllowance::AtMost(FIRST_CUT.checked_shr(step - 1).unwrap_or(0)),
        }
    }

    fn pages(&mut self, origin: &Origin) -> &mut Pages {
        if !self.origins.contains_key(origin) {
            if self.order.len() >= MOST_ORIGINS
                && let Some(first) = self.order.pop_front()
            {
                self.origins.remove(&first);
            }
            self.order.push_back(origin.clone());
        }
        self.origins.entry(origin.clone()).or_default()
    }
}

impl Pages {
    /// How many pages the group of this one has, with it.
    fn add(&mut self, likeness: Likeness) -> u32 {
        let weight = if self.is_spent { 1 } else { SAMPLE };
        if let Some(group) = self.groups.iter_mut().find(|group| group.first.is_near(likeness)) {
            group.pages = group.pages.saturating_add(weight);
            return group.pages;
        }
        let group = Group { first: likeness, pages: weight };
        if self.groups.len() < MOST_GROUPS {
            self.groups.push(group);
        } else if let Some(least) = self.groups.iter_mut().min_by_key(|group| group.pages) {
            *least = group;
        }
        weight
    }
}
