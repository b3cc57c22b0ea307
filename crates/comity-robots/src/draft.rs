//! Rules on their way into a table.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::mem::take;
use core::ops::Range;

use crate::bytes::find;
use crate::compiler::Room;
use crate::order::Item;
use crate::table::{ALLOW, ANCHORED, INDEX_HTML, LINE_WIDTH, RAW, STAR};
use crate::verdict::{RuleKind, RuleVia};

/// Rules, by places in the text that they were read from or, where they are compared in another form, in a text of their own.
#[derive(Debug)]
pub(crate) struct Drafts<'a> {
    text: &'a [u8],
    own: Vec<u8>,
    list: Vec<Draft>,
    /// For each rule, what it is sorted by.
    items: Vec<Item>,
    /// Room that the records of all rules take at most.
    room: usize,
}

/// A rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draft {
    /// Where its pattern starts, in the form in which it is compared.
    at: u32,
    pub(crate) line: u32,
    /// Length of the pattern, the final `$` counted.
    pub(crate) length: u16,
    /// Length of all before its first star and a final `$`.
    pub(crate) literal: u16,
    /// Length of the pattern as written, when that differs, which then stands behind the other; else zero.
    raw_length: u16,
    /// Those of a record, but for the width of the line; and [`OWN`].
    flags: u8,
}

/// The pattern stands in the text of the drafts' own. It takes the place of a flag of a record.
const OWN: u8 = LINE_WIDTH;

/// A rule, but for its pattern.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written<'a> {
    /// The pattern as written, when it differs.
    pub(crate) raw: Option<&'a [u8]>,
    pub(crate) line: u32,
    pub(crate) kind: RuleKind,
    pub(crate) via: RuleVia,
}

impl Draft {
    /// A rule that matches nothing.
    pub(crate) const NONE: Self = Self { at: 0, line: 0, length: 0, literal: 0, raw_length: 0, flags: 0 };

    /// Those of a record, but for the width of the line.
    pub(crate) fn flags(&self) -> u8 {
        self.flags & !OWN
    }

    /// Where its pattern starts in its text.
    pub(crate) fn place(&self) -> usize {
        self.at as usize
    }

    /// Length of the pattern.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.length)
    }

    /// Length of the literal.
    pub(crate) fn literal(&self) -> usize {
        usize::from(self.literal)
    }

    /// Room that a record takes at most; the same for a rule that comes out of a table. Flags, line; sign and length of the
    /// literal of a star rule; length of what was written.
    fn room(&self) -> usize {
        let star = if self.flags & STAR == 0 { 0 } else { 4 };
        let raw = if self.flags & RAW == 0 { 0 } else { 3 };
        5 + star + raw + usize::from(self.length) + usize::from(self.raw_length)
    }
}

impl<'a> Drafts<'a> {
    pub(crate) const fn new(text: &'a [u8]) -> Self {
        Self { text, own: Vec::new(), list: Vec::new(), items: Vec::new(), room: 0 }
    }

    /// The same in room that is there already.
    pub(crate) fn within(text: &'a [u8], room: &mut Room) -> Self {
        let (own, list, items) = (take(&mut room.own), take(&mut room.list), take(&mut room.items));
        let mut drafts = Self { text, own, list, items, room: 0 };
        drafts.clear();
        drafts
    }

    /// Gives the room back.
    pub(crate) fn give_back(self, room: &mut Room) {
        (room.own, room.list, room.items) = (self.own, self.list, self.items);
    }

    /// Forgets all rules.
    pub(crate) fn clear(&mut self) {
        self.own.clear();
        self.list.clear();
        self.items.clear();
        self.room = 0;
    }

    /// So many rules will come, roughly.
    pub(crate) fn expect(&mut self, count: usize) {
        self.list.reserve(count);
        self.items.reserve(count);
    }

    pub(crate) fn list(&self) -> &[Draft] {
        &self.list
    }

    pub(crate) fn get(&self, rule: usize) -> &Draft {
        self.list.get(rule).unwrap_or(&Draft::NONE)
    }

    /// Room that the records of rules take at most, which these are of, in order.
    pub(crate) fn room(&self, order: &[Item]) -> usize {
        if order.len() == self.list.len() {
            return self.room;
        }
        // Some were repeated.
        order.iter().map(|item| self.get(item.rule()).room()).sum()
    }

    /// Takes what all rules are sorted by.
    pub(crate) fn take_items(&mut self) -> Vec<Item> {
        take(&mut self.items)
    }

    /// Gives the room of that back.
    pub(crate) fn give_items(&mut self, items: Vec<Item>) {
        self.items = items;
    }

    /// Adds a rule whose pattern stands in the text, as it is compared, and is a literal and nothing else.
    #[inline]
    pub(crate) fn push_literal(&mut self, pattern: Range<usize>, (line, kind): (u32, RuleKind)) {
        // A line has fewer bytes than 16 bits can count, a text fewer than 32.
        let (at, length) = (pattern.start as u32, (pattern.end - pattern.start) as u16);
        let flags = flags(kind, RuleVia::Pattern, false, false);
        let draft = Draft { at, line, length, literal: length, raw_length: 0, flags };
        self.add(draft, Item::of_literal(self.text, &draft, self.list.len()));
    }

    /// Adds a rule whose pattern stands in the text, as it is compared; `star` is the place of its first star, or its end.
    #[inline]
    pub(crate) fn push(&mut self, pattern: Range<usize>, star: usize, (line, kind): (u32, RuleKind)) {
        let anchored = pattern.end.checked_sub(1).and_then(|last| self.text.get(last)) == Some(&b'$');
        let has_star = star < pattern.end;
        let literal = star.min(pattern.end - usize::from(anchored)) - pattern.start;
        // A line has fewer bytes than 16 bits can count, a text fewer than 32.
        let draft = Draft {
            at: pattern.start as u32,
            line,
            length: (pattern.end - pattern.start) as u16,
            literal: literal as u16,
            raw_length: 0,
            flags: flags(kind, RuleVia::Pattern, anchored, has_star),
        };
        self.add(draft, Item::of(self.text, &draft, self.list.len()));
    }

    #[inline(always)]
    fn add(&mut self, draft: Draft, item: Item) {
        self.room += draft.room();
        self.items.push(item);
        self.list.push(draft);
    }

    /// Adds a rule whose pattern, given in parts, is in no text yet. `None`, and nothing is added, when it is longer than a line
    /// makes one.
    pub(crate) fn push_own(&mut self, pattern: &[&[u8]], written: Written<'_>) -> Option<()> {
        let at = self.own.len();
        pattern.iter().for_each(|part| self.own.extend_from_slice(part));
        let draft = self.draft(at, written);
        if let Some(draft) = draft {
            self.own.extend_from_slice(written.raw.unwrap_or_default());
            self.add(draft, Item::of(&self.own, &draft, self.list.len()));
        } else {
            self.own.truncate(at);
        }
        draft.map(drop)
    }

    fn draft(&self, at: usize, written: Written<'_>) -> Option<Draft> {
        let pattern = self.own.get(at..)?;
        let anchored = pattern.last() == Some(&b'$');
        let length = u16::try_from(pattern.len()).ok()?;
        let star = find(b'*', pattern).unwrap_or(pattern.len());
        let literal = u16::try_from(star).ok()?.min(length - u16::from(anchored));
        let raw = written.raw.unwrap_or_default();
        let raw_flag = if raw.is_empty() { 0 } else { RAW };
        Some(Draft {
            at: u32::try_from(at).ok()?,
            line: written.line,
            length,
            literal,
            raw_length: u16::try_from(raw.len()).ok()?,
            flags: flags(written.kind, written.via, anchored, star < pattern.len()) | raw_flag | OWN,
        })
    }

    /// Keeps the rules of some lines, to be sorted anew.
    pub(crate) fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        self.list.retain(|draft| keep(draft.line));
        let items = self.list.iter().enumerate().map(|(at, draft)| Item::of(self.text_of(draft), draft, at)).collect();
        self.items = items;
        self.room = self.list.iter().map(Draft::room).sum();
    }

    /// The text that holds the pattern of a rule.
    #[inline]
    pub(crate) fn text_of(&self, draft: &Draft) -> &[u8] {
        if draft.flags & OWN == 0 { self.text } else { &self.own }
    }

    /// All before the first star of a pattern and a final `$`.
    pub(crate) fn literal(&self, draft: &Draft) -> &[u8] {
        self.text_of(draft).get(draft.place()..draft.place() + draft.literal()).unwrap_or_default()
    }

    /// A pattern as it is compared.
    pub(crate) fn pattern(&self, draft: &Draft) -> &[u8] {
        self.text_of(draft).get(draft.place()..draft.place() + draft.len()).unwrap_or_default()
    }

    /// The order of two rules, as a table has them; equal when one repeats the other.
    pub(crate) fn compare(&self, a: &Draft, b: &Draft) -> Ordering {
        let longer_first = self.literal(a).cmp(self.literal(b)).then(b.length.cmp(&a.length));
        let patterns = longer_first.then_with(|| self.pattern(a).cmp(self.pattern(b)));
        patterns.then((b.flags & ALLOW).cmp(&(a.flags & ALLOW)))
    }

    /// A pattern as written, when that differs; else nothing.
    pub(crate) fn raw(&self, draft: &Draft) -> &[u8] {
        let at = draft.place() + draft.len();
        self.own.get(at..at + usize::from(draft.raw_length)).unwrap_or_default()
    }
}

#[inline]
fn flags(kind: RuleKind, via: RuleVia, anchored: bool, star: bool) -> u8 {
    let flag = |is: bool, flag: u8| if is { flag } else { 0 };
    flag(kind == RuleKind::Allow, ALLOW)
        | flag(via == RuleVia::IndexHtml, INDEX_HTML)
        | flag(anchored, ANCHORED)
        | flag(star, STAR)
}

/// Where `part`, a slice of `text`, starts in it.
pub(crate) fn place(text: &[u8], part: &[u8]) -> u32 {
    let offset = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    u32::try_from(offset).unwrap_or(u32::MAX)
}
