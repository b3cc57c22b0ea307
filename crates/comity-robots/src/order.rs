//! The order of rules in a table: by literal; those of one literal the longest pattern first, then by pattern, the allow rule
//! first.
//!
//! That is the order of texts: the literal, NUL, a number that falls with the length, the rest of the pattern. All but the number is ASCII.
//! Sorting compares numbers only, each of which stands for fourteen bytes of such a text, behind the slash that all literals but the
//! empty one start with. Rules that are alike in those, which few are, are compared as a whole; where many are alike, they are sorted
//! among themselves by the next fourteen, so a long start that many share is read once for each, however many they are.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

use crate::MAX_BYTES;
use crate::bytes::{chunk, word};
use crate::draft::{Draft, Drafts};
use crate::table::ALLOW;

/// A rule in the order: a number that sorts like a part of its text, above the place of the rule in its list. All differ, and
/// what has the same number stays as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Item(u128);

/// Bits of a place.
const PLACE: u32 = 16;

/// Rules that can be sorted: no file makes so many.
pub(crate) const MAX_RULES: usize = 1 << PLACE;

// The shortest line of a rule that counts: `allow:/` and its end. One that makes two rules is longer than two.
const _: () = assert!(MAX_BYTES / 8 < MAX_RULES);

/// Bytes of a key. The top bit of the first one, which no byte of a text has, tells whether there is a slash before.
const KEY: usize = ((u128::BITS - PLACE) / 8) as usize;

/// How many bytes of two literals can be compared by their items: those of a key, and the slash.
pub(crate) const COMPARED: usize = KEY + 1;

/// Rules alike in their keys that are compared as a whole, at most.
const FEW: usize = 16;

impl Item {
    /// In place of an item that repeats another.
    const REPEATED: Self = Self(u128::MAX);

    /// A rule before it is sorted.
    #[inline(always)]
    pub(crate) fn of(text: &[u8], rule: &Draft, place: usize) -> Self {
        Self::new(first_key(text, rule), place)
    }

    /// The same for a rule that is a literal and nothing else.
    #[inline(always)]
    pub(crate) fn of_literal(text: &[u8], rule: &Draft, place: usize) -> Self {
        let left = rule.literal().saturating_sub(1).min(KEY);
        let end = END_ALONE.get(left).copied().unwrap_or_default();
        Self::new(first_bytes(text, rule.place() + 1, left) | end, place)
    }

    #[inline(always)]
    const fn new(key: u128, rule: usize) -> Self {
        Self(key | rule as u128)
    }

    const fn key(self) -> u128 {
        self.0 >> PLACE
    }

    /// The place of the rule in its list.
    pub(crate) const fn rule(self) -> usize {
        self.0 as usize & (MAX_RULES - 1)
    }

    /// How many bytes two literals start with alike, as far as their items can tell: at most [`COMPARED`]. What is behind a
    /// shorter literal may be alike, too.
    pub(crate) const fn alike(self, other: Self) -> usize {
        // The bit behind the key says that all of it is alike.
        let difference = ((self.0 ^ other.0) & OF_KEY) | (1 << (PLACE - 2));
        (difference.leading_zeros() as usize).div_ceil(8)
    }

    const fn with_rule(self, rule: usize) -> Self {
        Self::new(self.key() << PLACE, rule)
    }
}

/// Sorts rules. Of equal ones only that of the earliest line is left. Cost: linear in the texts, but for the sorting of numbers.
pub(crate) fn sort(drafts: &Drafts<'_>, mut items: Vec<Item>) -> Vec<Item> {
    items.sort_unstable();
    let mut order = Order { drafts, list: Vec::new(), deeper: Vec::new(), repeats: false };
    let mut rest = items.as_mut_slice();
    while let [first, second, ..] = rest {
        let length = if first.key() == second.key() { order.settle_first(rest) } else { 1 };
        rest = rest.get_mut(length..).unwrap_or_default();
    }
    if order.repeats {
        items.retain(|item| *item != Item::REPEATED);
    }
    items
}

/// Sorts what is alike in its first bytes.
struct Order<'o, 'a> {
    drafts: &'o Drafts<'a>,
    /// The items of a run, with the keys that they are sorted by.
    list: Vec<Item>,
    deeper: Vec<Run>,
    repeats: bool,
}

/// Items of the list whose texts are alike up to a place.
struct Run {
    items: Range<usize>,
    /// That place.
    from: usize,
}

impl Order<'_, '_> {
    /// Puts the first items in order, as many as have one key; returns how many these are.
    #[inline(never)]
    fn settle_first(&mut self, items: &mut [Item]) -> usize {
        let run = items.chunk_by_mut(|a, b| a.key() == b.key()).next().unwrap_or_default();
        let length = run.len();
        match run {
            [first, second] => self.settle_two(first, second),
            run if length <= FEW => self.settle_few(run),
            run => self.settle(run),
        }
        length
    }

    /// Puts two items of one key in order, of which the first stands before the other in the list.
    fn settle_two(&mut self, first: &mut Item, second: &mut Item) {
        match self.compare(*first, *second) {
            Ordering::Less => {}
            Ordering::Greater => core::mem::swap(first, second),
            Ordering::Equal => {
                *second = Item::REPEATED;
                self.repeats = true;
            }
        }
    }

    /// Compares the rules of two items of one key: by the next bytes of their literals, mostly.
    #[inline]
    fn compare(&self, a: Item, b: Item) -> Ordering {
        let (a, b) = (self.drafts.get(a.rule()), self.drafts.get(b.rule()));
        let next = |rule: &Draft| {
            let left = rule.literal().saturating_sub(COMPARED).min(KEY);
            first_bytes(self.drafts.text_of(rule), rule.place() + COMPARED, left)
        };
        next(a).cmp(&next(b)).then_with(|| self.drafts.compare(a, b))
    }

    /// Puts a few items of one key in order.
    fn settle_few(&mut self, items: &mut [Item]) {
        items.sort_unstable_by(|a, b| self.compare(*a, *b).then(a.cmp(b)));
        let mut before: Option<Item> = None;
        for item in items {
            let this = *item;
            if before.is_some_and(|before| self.compare(before, this) == Ordering::Equal) {
                *item = Item::REPEATED;
                self.repeats = true;
            }
            before = Some(this);
        }
    }

    /// Puts items of one key in order. Each keeps the key.
    fn settle(&mut self, items: &mut [Item]) {
        let mut list = core::mem::take(&mut self.list);
        list.clear();
        list.extend_from_slice(items);
        self.deeper.push(Run { items: 0..list.len(), from: KEY });
        while let Some(run) = self.deeper.pop() {
            if let Some(items) = list.get_mut(run.items.clone()) {
                self.settle_run(items, run);
            }
        }
        for (item, settled) in items.iter_mut().zip(&list) {
            *item = if *settled == Item::REPEATED { *settled } else { item.with_rule(settled.rule()) };
        }
        self.list = list;
    }

    fn settle_run(&mut self, items: &mut [Item], run: Run) {
        let texts_end = items.first().is_some_and(|first| run.from >= text_length(self.drafts.get(first.rule())));
        if texts_end {
            return self.drop_repeated(items);
        }
        for item in &mut *items {
            let rule = self.drafts.get(item.rule());
            *item = Item::new(key(self.drafts.text_of(rule), rule, run.from), item.rule());
        }
        items.sort_unstable();
        let mut start = run.items.start;
        for alike in items.chunk_by(|a, b| a.key() == b.key()) {
            let end = start + alike.len();
            if alike.len() > 1 {
                self.deeper.push(Run { items: start..end, from: run.from + KEY });
            }
            start = end;
        }
    }

    /// Rules of one pattern: the first allow rule, and the first disallow rule.
    fn drop_repeated(&mut self, items: &mut [Item]) {
        for item in &mut *items {
            let is_disallow = self.drafts.get(item.rule()).flags() & ALLOW == 0;
            *item = Item::new(u128::from(is_disallow) << PLACE, item.rule());
        }
        items.sort_unstable();
        for kind in items.chunk_by_mut(|a, b| a.key() == b.key()) {
            for repeated in kind.iter_mut().skip(1) {
                *repeated = Item::REPEATED;
                self.repeats = true;
            }
        }
    }
}

/// Bytes of the text that a rule is sorted by, at most: its pattern, and three behind the literal.
fn text_length(rule: &Draft) -> usize {
    rule.len() + BETWEEN
}

/// Bytes between the literal and the rest: NUL, and the number.
const BETWEEN: usize = 3;

/// The first bytes of that text, from a place behind the slash on, as a number that sorts like them, above the bits of a place; zeros
/// behind its end.
#[inline(always)]
fn key(text: &[u8], rule: &Draft, from: usize) -> u128 {
    let slash = rule.literal().min(1);
    let left = (rule.literal() - slash).saturating_sub(from).min(KEY);
    let literal = first_bytes(text, rule.place() + slash + from, left);
    let behind =
        if left < KEY { behind_literal(text, rule, (slash + from).saturating_sub(rule.literal()), left) } else { 0 };
    literal | behind | (SLASH * slash as u128)
}

/// The same from the slash on: its literal and the rest stand side by side in the text, and are moved apart.
#[inline(always)]
fn first_key(text: &[u8], rule: &Draft) -> u128 {
    let slash = rule.literal().min(1);
    let slash_bit = SLASH * slash as u128;
    let (left, whole) = (rule.literal() - slash, rule.len().saturating_sub(slash));
    let bytes = first_bytes(text, rule.place() + slash, whole.min(KEY));
    let Some(shift) = (u128::BITS - 24).checked_sub(8 * left.min(KEY) as u32) else {
        // What is between ends behind the key, or starts there.
        return key(text, rule, 0);
    };
    let literal = bytes & KEPT.get(left).copied().unwrap_or_default();
    let tail = (bytes ^ literal) >> (8 * BETWEEN);
    literal | (u128::from(unlength(rule)) << shift | tail) & OF_KEY | slash_bit
}

/// A number that falls with the length.
#[inline(always)]
const fn unlength(rule: &Draft) -> u16 {
    if rule.length > rule.literal { u16::MAX - rule.length } else { ALONE }
}

/// Whether there is a slash before a key.
const SLASH: u128 = 1 << (u128::BITS - 1);

/// The number that falls with the length, of a literal that nothing follows: no other rule of the literal is as short.
const ALONE: u16 = u16::MAX;

/// What [`key`] has behind a literal alone of so many bytes, and the slash before it.
const END_ALONE: [u128; KEY + 1] = {
    let mut ends = [SLASH; KEY + 1];
    let mut count = 0;
    while count < KEY {
        ends[count] |= ((ALONE as u128) << (u128::BITS - 24) >> (8 * count)) & OF_KEY;
        count += 1;
    }
    ends
};

/// The bits of a key.
const OF_KEY: u128 = u128::MAX << PLACE;

/// What follows the literal, from its `passed` bytes on, moved behind the `left` bytes of the literal that are left.
#[inline(always)]
fn behind_literal(text: &[u8], rule: &Draft, passed: usize, left: usize) -> u128 {
    let tail_at = rule.literal() + passed.saturating_sub(BETWEEN);
    let tail = first_bytes(text, rule.place() + tail_at, rule.len().saturating_sub(tail_at).min(KEY));
    if passed >= BETWEEN {
        return tail;
    }
    // No literal holds NUL, so that sorts before all that go on.
    let between = u128::from(unlength(rule)) << (u128::BITS - 24) << (8 * passed);
    ((between | tail >> (8 * (BETWEEN - passed))) >> (8 * left)) & OF_KEY
}

/// So many bytes from a place on, at most [`KEY`], as the top of a number.
#[inline(always)]
fn first_bytes(text: &[u8], at: usize, count: usize) -> u128 {
    let bytes = chunk(text, at).map_or_else(|| last_bytes(text, at), |bytes| u128::from_be_bytes(*bytes));
    bytes & KEPT.get(count).copied().unwrap_or_default()
}

/// For each number of bytes, which bits of sixteen bytes are theirs.
const KEPT: [u128; KEY + 1] = {
    let mut kept = [0; KEY + 1];
    let mut count = 1;
    while count <= KEY {
        kept[count] = u128::MAX << (128 - 8 * count);
        count += 1;
    }
    kept
};

/// Sixteen bytes near the end of a text.
#[cold]
fn last_bytes(text: &[u8], at: usize) -> u128 {
    u128::from(word(text, at).swap_bytes()) << 64 | u128::from(word(text, at + 8).swap_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::Written;
    use crate::table::Table;
    use crate::verdict::{RuleKind, RuleVia};
    use core::cmp::Reverse;

    /// What is sorted, as the order is defined.
    fn place_of(pattern: &[u8], kind: RuleKind, line: u32) -> impl Ord {
        let anchored = usize::from(pattern.last() == Some(&b'$'));
        let end = pattern.iter().position(|byte| *byte == b'*').unwrap_or(pattern.len() - anchored);
        (pattern[..end].to_vec(), Reverse(pattern.len()), pattern.to_vec(), kind == RuleKind::Disallow, line)
    }

    #[test]
    fn rules_of_every_length_of_start_and_tail_are_in_order_and_once() {
        let mut rules = Vec::new();
        for length in (0..=50).rev().chain([126, 127, 128, 129, 300]) {
            for (number, end) in ["", "$", "*", "b", "*b$", "*bb", "a*", "zz", "c/d*e*f$", "*?"].iter().enumerate() {
                let tail = "t".repeat(length % 7 * 5);
                for pattern in
                    [["/", &"a".repeat(length), end].concat(), ["/x", &"a".repeat(length), end, &tail].concat()]
                {
                    rules.push(pattern);
                }
                rules.push(["*", &"a".repeat(length), ["", "$", "b"][number % 3]].concat());
            }
        }
        let kinds = [RuleKind::Disallow, RuleKind::Allow, RuleKind::Disallow];
        let all: Vec<_> =
            rules.iter().flat_map(|rule| kinds.map(|kind| (rule.as_bytes(), kind))).zip(1_u32..).collect();
        let mut drafts = Drafts::new(b"");
        for ((pattern, kind), line) in &all {
            let written = Written { raw: None, line: *line, kind: *kind, via: RuleVia::Pattern };
            assert!(drafts.push_own(&[pattern], written).is_some());
        }
        let mut wanted = all;
        wanted.sort_by_key(|((pattern, kind), line)| place_of(pattern, *kind, *line));
        wanted.dedup_by_key(|(rule, _)| *rule);
        let table = Table::pack(&mut drafts, &mut Vec::new());
        let unpacked = table.unpack().unwrap();
        let found =
            unpacked.list().iter().map(|draft| (unpacked.pattern(draft), draft.flags() & ALLOW != 0, draft.line));
        let wanted = wanted.iter().map(|((pattern, kind), line)| (*pattern, *kind == RuleKind::Allow, *line));
        assert!(found.eq(wanted));
    }

    /// The same rules, whatever their order, make one table.
    #[test]
    fn as_many_rules_as_can_be_sorted() {
        for start in ["/", "/a-start-longer-than-a-key-and-another-one"] {
            let table = |from: usize| {
                let mut drafts = Drafts::new(b"");
                for number in (from..MAX_RULES).chain(0..from) {
                    let rule = alloc::format!("{start}{number:05}");
                    let (line, kind, via) = (number as u32, RuleKind::Disallow, RuleVia::Pattern);
                    assert!(drafts.push_own(&[rule.as_bytes()], Written { raw: None, line, kind, via }).is_some());
                }
                Table::pack(&mut drafts, &mut Vec::new())
            };
            let table_in_order = table(0);
            let unpacked = table_in_order.unpack().unwrap();
            assert!(unpacked.list().iter().map(|draft| draft.line as usize).eq(0..MAX_RULES), "{start}");
            assert!(table(MAX_RULES / 3) == table_in_order, "{start}");
        }
    }
}
