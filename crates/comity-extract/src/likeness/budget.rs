use std::collections::{HashMap, VecDeque};

use comity_url::{CountedPages, GrowthRow, Origin};

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
    /// By the name that rows give an origin.
    origins: HashMap<u64, Pages>,
    order: VecDeque<u64>,
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
        self.free > 0 && self.origins.get(&GrowthRow::origin(origin)).is_some_and(is_wanted)
    }

    /// Counts a page; gives how many of its links count, and what was counted, which [`DuplicateBudget::restore`] counts in another
    /// process.
    pub fn count(&mut self, origin: &Origin, likeness: Option<Likeness>) -> (LinkAllowance, Option<GrowthRow>) {
        if self.free == 0 {
            return (LinkAllowance::All, None);
        }
        let (free, origin) = (self.free, GrowthRow::origin(origin));
        let pages = self.pages(origin);
        let like = likeness.map(|Likeness(print)| (print, if pages.is_spent { 1 } else { SAMPLE }));
        let counted = CountedPages { seen: 1, like };
        let beyond = pages.add(counted, free);
        let allowance = match beyond.div_ceil((free / 8).max(1)) {
            0 => LinkAllowance::All,
            step => LinkAllowance::AtMost(FIRST_CUT.checked_shr(step - 1).unwrap_or(0)),
        };
        (allowance, Some(GrowthRow::of_pages(origin, counted)))
    }

    /// Counts what a row says: one of [`DuplicateBudget::count`], or of [`DuplicateBudget::rows`]. In the order in which they were
    /// given all rows make the same counts. Rows of anything else are none of these.
    pub fn restore(&mut self, row: &GrowthRow) {
        if let Some((origin, counted)) = row.pages().filter(|_| self.free > 0) {
            let free = self.free;
            self.pages(origin).add(counted, free);
        }
    }

    /// All that is counted, a row for each group of pages of an origin.
    pub fn rows(&self) -> impl Iterator<Item = GrowthRow> {
        let held = self.order.iter().filter_map(|origin| Some((*origin, self.origins.get(origin)?)));
        held.flat_map(|(origin, pages)| {
            let all = CountedPages { seen: pages.seen, like: None };
            let groups =
                pages.groups.iter().map(|group| CountedPages { seen: 0, like: Some((group.first.0, group.pages)) });
            std::iter::once(all).chain(groups).map(move |counted| GrowthRow::of_pages(origin, counted))
        })
    }

    fn pages(&mut self, origin: u64) -> &mut Pages {
        if !self.origins.contains_key(&origin) {
            if self.order.len() >= MOST_ORIGINS
                && let Some(first) = self.order.pop_front()
            {
                self.origins.remove(&first);
            }
            self.order.push_back(origin);
        }
        self.origins.entry(origin).or_default()
    }
}

impl Pages {
    /// Counts pages; gives how many their group has beyond what is free.
    fn add(&mut self, CountedPages { seen, like }: CountedPages, free: u32) -> u32 {
        self.seen = self.seen.saturating_add(seen);
        let Some((print, count)) = like else { return 0 };
        // The pages before the first fingerprint may have been any page: half of the budget is theirs.
        let beyond = self.group(Likeness(print), count).saturating_sub(free / 2);
        self.is_spent |= beyond > 0;
        beyond
    }

    /// How many pages the group of these has, with them.
    fn group(&mut self, likeness: Likeness, count: u32) -> u32 {
        if let Some(group) = self.groups.iter_mut().find(|group| group.first.is_near(likeness)) {
            group.pages = group.pages.saturating_add(count);
            return group.pages;
        }
        let group = Group { first: likeness, pages: count };
        if self.groups.len() < MOST_GROUPS {
            self.groups.push(group);
        } else if let Some(least) = self.groups.iter_mut().min_by_key(|group| group.pages) {
            *least = group;
        }
        count
    }
}
