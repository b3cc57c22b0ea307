//! The order of rules in a table: by literal, six characters at a time.
//!
//! Sorting compares numbers only. Rules that are alike in six characters are sorted among themselves by the next six, so a long
//! start that many share is read once for each, however many they are.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::bytes::word;
use crate::draft::{Draft, Drafts};
use crate::table::{ALLOW, MAX_SHARED};

/// A rule in the order: a number that sorts like a part of it, above the place of the rule in its list. All differ, and what has
/// the same number stays as it was. Once its place is settled, the number is what it shares with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Item(u64);

/// Bits of a place: there are fewer rules than a file, or what is stored of one, has bytes.
const PLACE: u32 = 22;

/// Bits of a character: patterns are ASCII.
const CHARACTER: u32 = 7;

/// Characters of a key.
const KEY: usize = ((u64::BITS - PLACE) / CHARACTER) as usize;

/// Behind the slash that all literals but the empty one start with.
const FIRST: usize = 1;

impl Item {
    /// In place of an item that repeats another.
    const REPEATED: Self = Self(u64::MAX);

    /// A rule before it is sorted.
    #[inline]
    pub(crate) fn of(text: &[u8], rule: &Draft, place: usize) -> Self {
        Self::new(key(text, rule, FIRST), place)
    }

    const fn new(key: u64, rule: usize) -> Self {
        Self(key << PLACE | rule as u64)
    }

    const fn key(self) -> u64 {
        self.0 >> PLACE
    }

    /// The place of the rule in its list.
    pub(crate) const fn rule(self) -> usize {
        (self.0 & ((1 << PLACE) - 1)) as usize
    }

    /// How much of its literal it shares with the one before, as far as a table can tell; of a settled item.
    pub(crate) const fn shared(self) -> usize {
        self.key() as usize
    }

    fn settle(&mut self, shared: usize) {
        *self = Self::new(shared.min(MAX_SHARED) as u64, self.rule());
    }
}

/// Sorts rules by literal; those of one literal the longest pattern first, then by pattern, the allow rule first. Of equal rules
/// only that of the earliest line is left. Cost: linear in the literals, but for the sorting of numbers.
pub(crate) fn sort(drafts: &mut Drafts<'_>) -> Vec<Item> {
    let mut items = drafts.take_items();
    let mut order = Order { drafts, deeper: Vec::new(), repeats: false };
    items.sort_unstable();
    order.settle(&mut items, Run { start: 0, end: 0, from: FIRST, shared: 0 });
    while let Some(run) = order.deeper.pop() {
        let Some(items) = items.get_mut(run.start..run.end) else { continue };
        order.sort_by_key(items, |drafts, rule| key(drafts.text_of(rule), rule, run.from));
        order.settle(items, run);
    }
    if order.repeats {
        items.retain(|item| *item != Item::REPEATED);
    }
    items
}

/// Items that are alike up to a place.
#[derive(Clone, Copy)]
struct Run {
    start: usize,
    end: usize,
    /// That place.
    from: usize,
    /// What each of them shares with the one before them.
    shared: usize,
}

struct Order<'o, 'a> {
    drafts: &'o mut Drafts<'a>,
    deeper: Vec<Run>,
    repeats: bool,
}

impl<'a> Order<'_, 'a> {
    /// Settles the items of a run, sorted by their keys from its place on. Of those that are alike, some have ended there and are
    /// put in their last order; the others have to be sorted by what follows.
    fn settle(&mut self, items: &mut [Item], run: Run) {
        let (mut rest, mut start, mut shared) = (items, run.start, run.shared);
        while let Some(key) = rest.first().map(|first| first.key()) {
            let alike = 1 + rest.iter().skip(1).take_while(|item| item.key() == key).count();
            let Some((items, behind)) = rest.split_at_mut_checked(alike) else { return };
            let next = behind.first().map_or(0, |next| run.from + characters_alike(key, next.key()));
            match items {
                [item] => item.settle(shared),
                // No literal holds NUL, so this is behind its end.
                _ if key & 0x7F == 0 => self.settle_alike(items, shared),
                _ => self.deeper.push(Run { start, end: start + alike, from: run.from + KEY, shared }),
            }
            (rest, start, shared) = (behind, start + alike, next);
        }
    }

    /// Settles rules of one literal, or of the empty one and `/`.
    fn settle_alike(&mut self, items: &mut [Item], mut shared: usize) {
        self.sort_by_key(items, key_alike);
        for run in items.chunk_by_mut(|a, b| a.key() == b.key()) {
            if run.len() > 1 {
                self.sort_slowly(run);
            }
        }
        for item in items.iter_mut().filter(|item| **item != Item::REPEATED) {
            item.settle(shared);
            shared = self.drafts.get(item.rule()).literal();
        }
    }

    fn sort_slowly(&mut self, items: &mut [Item]) {
        let drafts = &*self.drafts;
        let compare = |a: Item, b: Item| -> Ordering {
            let (a, b) = (drafts.get(a.rule()), drafts.get(b.rule()));
            drafts.pattern(a).cmp(drafts.pattern(b)).then((b.flags() & ALLOW).cmp(&(a.flags() & ALLOW)))
        };
        items.sort_unstable_by(|a, b| compare(*a, *b).then(a.cmp(b)));
        let mut first = None;
        let mut repeated = Vec::new();
        for item in items {
            if first.is_some_and(|first| compare(first, *item) == Ordering::Equal) {
                repeated.push(item.rule());
                *item = Item::REPEATED;
            } else {
                first = Some(*item);
            }
        }
        self.repeats |= !repeated.is_empty();
        repeated.into_iter().for_each(|rule| self.drafts.drop_room(rule));
    }

    fn sort_by_key(&self, items: &mut [Item], key: impl Fn(&Drafts<'a>, &Draft) -> u64) {
        for item in &mut *items {
            *item = Item::new(key(self.drafts, self.drafts.get(item.rule())), item.rule());
        }
        items.sort_unstable();
    }
}

/// Characters of the literal from a place on, as a number that sorts like them; zeros behind its end.
#[inline]
fn key(text: &[u8], rule: &Draft, from: usize) -> u64 {
    let left = rule.literal().saturating_sub(from).min(KEY);
    // The first byte at the top; those behind the end of the literal go.
    let bytes = word(text, rule.place() + from).swap_bytes() >> 16 >> (8 * (KEY - left)) << (8 * (KEY - left));
    // The top bit of each byte is left out: by twos, then all.
    let twos = bytes & 0x007F_007F_007F | (bytes & 0x7F00_7F00_7F00) >> 1;
    twos & 0x3FFF | twos >> 2 & 0x3FFF << 14 | twos >> 4 & 0x3FFF << 28
}

/// Of rules of one literal: the empty literal first, then the longest pattern, then three characters behind the star.
fn key_alike(drafts: &Drafts<'_>, rule: &Draft) -> u64 {
    let slash = u64::from(rule.literal() > 0);
    let unlength = u64::from(u16::MAX) - rule.len() as u64;
    let tail = drafts.pattern(rule).get(rule.literal() + 1..).unwrap_or_default().iter().take(3);
    let tail = tail.zip([14, 7, 0]).fold(0, |key, (byte, place)| key | u64::from(byte & 0x7F) << place);
    slash << 37 | unlength << 21 | tail
}

/// How many characters two keys start with alike.
const fn characters_alike(a: u64, b: u64) -> usize {
    ((a ^ b).leading_zeros() - PLACE).div_euclid(CHARACTER) as usize
}
