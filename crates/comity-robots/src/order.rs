//! The order of rules in a table: by literal; those of one literal the longest pattern first, then by pattern, the allow rule
//! first.
//!
//! That is the order of texts: the literal, NUL, a number that falls with the length, the rest of the pattern. All of it is ASCII. Sorting
//! compares numbers only, each of which stands for fifteen characters of such a text, behind the slash that all literals but the
//! empty one start with. Rules that are alike in those, which few are, are sorted among themselves by the next fifteen, so a long
//! start that many share is read once for each, however many they are.

use alloc::vec::Vec;
use core::ops::Range;

use crate::bytes::{chunk, word};
use crate::draft::{Draft, Drafts};
use crate::table::ALLOW;

/// A rule in the order: a number that sorts like a part of its text, above the place of the rule in its list. All differ, and
/// what has the same number stays as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Item(u128);

/// Bits of a place: there are fewer rules than a file, or what is stored of one, has bytes.
const PLACE: u32 = 22;

/// Bits of a character.
const CHARACTER: u32 = 7;

/// Characters of a key. One bit more stands above them: whether there is a slash before.
const KEY: usize = ((u128::BITS - PLACE - 1) / CHARACTER) as usize;

/// How many characters of two literals can be compared by their items: those of a key, and the slash.
pub(crate) const COMPARED: usize = KEY + 1;

impl Item {
    /// In place of an item that repeats another.
    const REPEATED: Self = Self(u128::MAX);

    /// A rule before it is sorted.
    #[inline]
    pub(crate) fn of(text: &[u8], rule: &Draft, place: usize) -> Self {
        Self::new(first_key(text, rule), place)
    }

    const fn new(key: u128, rule: usize) -> Self {
        Self(key << PLACE | rule as u128)
    }

    const fn key(self) -> u128 {
        self.0 >> PLACE
    }

    /// The place of the rule in its list.
    pub(crate) const fn rule(self) -> usize {
        (self.0 as u32 & ((1 << PLACE) - 1)) as usize
    }

    /// How many characters two literals start with alike, as far as their items can tell: at most [`COMPARED`]. What is
    /// behind a shorter literal may be alike, too.
    pub(crate) const fn alike(self, other: Self) -> usize {
        ((self.0 ^ other.0).leading_zeros() + CHARACTER - 1).div_euclid(CHARACTER) as usize
    }

    const fn with_rule(self, rule: usize) -> Self {
        Self::new(self.key(), rule)
    }
}

/// Sorts rules. Of equal ones only that of the earliest line is left. Cost: linear in the texts, but for the sorting of numbers.
pub(crate) fn sort(drafts: &Drafts<'_>) -> Vec<Item> {
    let mut items = drafts.items();
    items.sort_unstable();
    let mut order = Order { drafts, list: Vec::new(), deeper: Vec::new(), repeats: false };
    for run in items.chunk_by_mut(|a, b| a.key() == b.key()) {
        if run.len() > 1 {
            order.settle(run);
        }
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
            *item = Item::new(u128::from(is_disallow), item.rule());
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

/// Characters of the text that a rule is sorted by, at most: its pattern, and four behind the literal.
fn text_length(rule: &Draft) -> usize {
    rule.len() + 4
}

/// The first characters of that text, as a number that sorts like them; zeros behind its end.
#[inline(always)]
fn first_key(text: &[u8], rule: &Draft) -> u128 {
    if rule.literal == rule.length {
        // Nothing is looked up behind it.
        let left = rule.literal().saturating_sub(1).min(KEY);
        let end = END_ALONE.get(left).copied().unwrap_or_default();
        return in_order(first_bytes(text, rule.place() + 1, left)) | end;
    }
    key(text, rule, 0)
}

/// What [`key`] has behind a literal alone of so many characters, and the slash before it.
const END_ALONE: [u128; KEY + 1] = {
    let mut ends = [SLASH; KEY + 1];
    let mut count = 0;
    while count < KEY {
        ends[count] |= (ALONE as u128) << (KEY as u32 * CHARACTER - 28) >> (CHARACTER * count as u32);
        count += 1;
    }
    ends
};

/// Three characters behind the NUL that ends a literal, when nothing follows it: no other rule of the literal is as short.
const ALONE: u32 = (1 << (3 * CHARACTER)) - 1;

/// Whether there is a slash before a key.
const SLASH: u128 = 1 << (KEY as u32 * CHARACTER);

/// Characters of that text from a place behind the slash on.
#[inline(never)]
fn key(text: &[u8], rule: &Draft, from: usize) -> u128 {
    let slash = rule.literal().min(1);
    let left = (rule.literal() - slash).saturating_sub(from).min(KEY);
    let literal = first_bytes(text, rule.place() + slash + from, left);
    let passed = (slash + from).saturating_sub(rule.literal());
    let bytes = if left < KEY { literal | behind_literal(text, rule, passed, left) } else { literal };
    in_order(bytes) | (SLASH * slash as u128)
}

/// The first [`KEY`] of sixteen characters, without the top bit that none of them has.
#[inline(always)]
fn in_order(bytes: u128) -> u128 {
    u128::from(seven_bits((bytes >> 64) as u64)) << 49 | u128::from(seven_bits(bytes as u64) >> CHARACTER)
}

/// What follows the literal, from its `passed` bytes on, moved behind the `left` bytes of the literal that are left.
#[inline(always)]
fn behind_literal(text: &[u8], rule: &Draft, passed: usize, left: usize) -> u128 {
    let tail_at = rule.literal() + passed.saturating_sub(4);
    let tail = match rule.len().saturating_sub(tail_at).min(KEY) {
        0 => 0,
        length => first_bytes(text, rule.place() + tail_at, length),
    };
    if passed >= 4 {
        return tail;
    }
    // No literal holds NUL, so that sorts before all that go on.
    let unlength = if rule.len() > rule.literal() { usize::from(u16::MAX) - rule.len() } else { ALONE as usize };
    let unlength = unlength >> 14 << 16 | (unlength >> 7 & 0x7F) << 8 | unlength & 0x7F;
    ((unlength as u128) << 96 << (8 * passed) | tail >> (8 * (4 - passed))) >> (8 * left)
}

/// So many bytes from a place on, at most [`KEY`], as the top of a number.
#[inline(always)]
fn first_bytes(text: &[u8], at: usize, count: usize) -> u128 {
    let bytes = chunk(text, at).map_or_else(|| last_bytes(text, at), |bytes| u128::from_be_bytes(*bytes));
    bytes & KEPT.get(count).copied().unwrap_or_default()
}

/// For each number of bytes, which bits of sixteen bytes are theirs; those of characters.
const KEPT: [u128; KEY + 1] = {
    let mut kept = [0; KEY + 1];
    let mut count = 1;
    while count <= KEY {
        kept[count] = u128::from_ne_bytes([0x7F; 16]) & u128::MAX << (128 - 8 * count);
        count += 1;
    }
    kept
};

/// Sixteen bytes near the end of a text.
#[cold]
fn last_bytes(text: &[u8], at: usize) -> u128 {
    u128::from(word(text, at).swap_bytes()) << 64 | u128::from(word(text, at + 8).swap_bytes())
}

#[inline(always)]
const fn seven_bits(bytes: u64) -> u64 {
    let twos = bytes & 0x007F_007F_007F_007F | (bytes & 0x7F00_7F00_7F00_7F00) >> 1;
    let fours = twos & 0x0000_3FFF_0000_3FFF | (twos & 0x3FFF_0000_3FFF_0000) >> 2;
    fours & 0x0FFF_FFFF | (fours & 0x0FFF_FFFF_0000_0000) >> 4
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
        let table = Table::pack(&drafts);
        let unpacked = table.unpack().unwrap();
        let found =
            unpacked.list().iter().map(|draft| (unpacked.pattern(draft), draft.flags() & ALLOW != 0, draft.line));
        let wanted = wanted.iter().map(|((pattern, kind), line)| (*pattern, *kind == RuleKind::Allow, *line));
        assert!(found.eq(wanted));
    }
}
