use super::entry::Entry;
use super::order::Order;

/// The entries of one tick.
#[derive(Debug)]
pub(super) enum Bucket {
    /// As they came: nobody has asked for the first of them yet.
    Loose(Loose),
    /// In order, with at least one entry.
    Ordered(Box<Order>),
}

/// Entries as they came. The last few stand here and not in the list: at a million origins each insertion goes to another
/// bucket, and a list of which nothing was read for long costs the processor a walk through its page tables. So it does once in
/// [`FRESH`].
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Loose {
    older: Vec<Entry>,
    fresh: [Entry; FRESH],
    count: u8,
}

const FRESH: usize = 6;
const _: () = assert!(size_of::<Bucket>() == 128, "a bucket is two cache lines");

/// Entries that are kept without order at most, so that ordering a bucket, or taking one out of it, is bounded. At a
/// million origins with delays of 1 to 30 s a bucket holds about 4,000.
pub(super) const LOOSE: usize = 16_384;
/// Entries that are searched through to take one out; above it the bucket is ordered first.
const SEARCHED: usize = 64;

impl Loose {
    #[inline]
    fn push(&mut self, entry: Entry) {
        if let Some(place) = self.fresh.get_mut(usize::from(self.count)) {
            *place = entry;
            self.count += 1;
        } else {
            self.older.extend_from_slice(&self.fresh);
            (self.fresh[0], self.count) = (entry, 1);
        }
    }

    #[inline]
    fn touch(&self) -> u64 {
        let Self { older, fresh: [first, .., last], count } = self;
        let end = if usize::from(*count) < FRESH { None } else { older.last() };
        let origin = end.map_or(0, |end| end.origin());
        u64::from(first.origin() ^ last.origin() ^ origin ^ u32::from(*count))
    }

    fn fresh(&self) -> &[Entry] {
        self.fresh.get(..usize::from(self.count)).unwrap_or_default()
    }

    fn remove(&mut self, entry: Entry) {
        let mut entries = std::mem::replace(self, Self::within(Vec::new())).into_entries();
        if let Some(at) = entries.iter().position(|other| *other == entry) {
            entries.swap_remove(at);
        }
        self.older = entries;
    }

    #[inline]
    const fn len(&self) -> usize {
        self.older.len() + self.count as usize
    }

    fn into_entries(self) -> Vec<Entry> {
        let fresh = self.fresh;
        let mut entries = self.older;
        entries.extend(fresh.into_iter().take(self.count.into()));
        entries
    }

    const fn within(room: Vec<Entry>) -> Self {
        Self { older: room, fresh: [Entry::LEAST; FRESH], count: 0 }
    }
}

impl Bucket {
    pub(super) const EMPTY: Self = Self::within(Vec::new());

    /// An empty one that uses the room of a list.
    pub(super) const fn within(room: Vec<Entry>) -> Self {
        Self::Loose(Loose::within(room))
    }

    #[inline]
    pub(super) fn insert(&mut self, entry: Entry) {
        match self {
            Self::Loose(entries) if entries.len() < LOOSE => entries.push(entry),
            Self::Loose(_) => self.order().insert(entry),
            Self::Ordered(entries) => entries.insert(entry),
        }
    }

    /// Reads where the next entry would go: both lines of the bucket, and the end of its list only where that entry moves those
    /// that stand here to it.
    #[inline]
    pub(super) fn touch(&self) -> u64 {
        match self {
            Self::Loose(entries) => entries.touch(),
            Self::Ordered(_) => 0,
        }
    }

    pub(super) fn remove(&mut self, entry: Entry) {
        match self {
            Self::Loose(entries) if entries.len() <= SEARCHED => entries.remove(entry),
            Self::Loose(_) => self.order().remove(entry),
            Self::Ordered(entries) => entries.remove(entry),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Loose(entries) => entries.len() == 0,
            Self::Ordered(entries) => entries.is_empty(),
        }
    }

    /// The entries behind `after`, in order; all of them without one. Costs an ordering when nobody has asked for one, at
    /// most of [`LOOSE`].
    pub(super) fn behind(&self, after: Option<Entry>) -> Box<dyn Iterator<Item = Entry> + '_> {
        match self {
            Self::Loose(loose) => {
                let behind = |entry: &Entry| after.is_none_or(|after| *entry > after);
                let all = loose.older.iter().chain(loose.fresh()).copied();
                let mut entries: Vec<Entry> = all.filter(behind).collect();
                entries.sort_unstable();
                Box::new(entries.into_iter())
            }
            Self::Ordered(entries) => Box::new(entries.behind(after)),
        }
    }

    pub(super) fn into_ordered(self) -> Order {
        match self {
            Self::Loose(entries) => Order::new(entries.into_entries()),
            Self::Ordered(entries) => *entries,
        }
    }

    /// The entries in order, in which they are from then on.
    pub(super) fn order(&mut self) -> &mut Order {
        if let Self::Loose(_) = self {
            let ordered = std::mem::replace(self, Self::EMPTY).into_ordered();
            *self = Self::Ordered(Box::new(ordered));
        }
        match self {
            Self::Ordered(entries) => entries,
            Self::Loose(_) => unreachable!("it was ordered in the line above"),
        }
    }
}
