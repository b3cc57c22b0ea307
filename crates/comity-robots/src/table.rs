//! The rules of a set in one block of bytes, sorted and front-coded.
//!
//! A pattern is a *literal*, all before its first `*`, and a *tail*, the rest. Rules are sorted by literal; of each, only what
//! differs from the one before is kept. So the literals that start a target lie on one ascending way through the table, which
//! a few comparisons of two bytes follow, and a long list of similar rules takes less room than its text.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::bytes::chunk;
use crate::draft::{Drafts, Written};
use crate::pattern::End;
use crate::sieve::PAIR;
use crate::varint;
use crate::verdict::{RuleKind, RuleVia};

/// How much of a literal may be left to the one before: what seven bits hold, so that heads can be compared side by side.
pub(crate) const MAX_SHARED: usize = 127;

/// Flags of a record.
pub(crate) const ALLOW: u8 = 1;
pub(crate) const INDEX_HTML: u8 = 2;
/// The pattern ends in `$`, which is not stored.
pub(crate) const ANCHORED: u8 = 4;
/// A tail follows the literal; the record has a sign and the length of the rest of its literal.
pub(crate) const STAR: u8 = 8;
/// The pattern as written differs and ends the text of the record.
pub(crate) const RAW: u8 = 16;
/// How many bytes more than one the line has, in the two bits from here on.
pub(crate) const LINE_WIDTH: u8 = 32;

/// Zeros behind the records: eight bytes can be read wherever a record has one.
pub(crate) const PADDING: usize = 8;

/// Sorted rules. The bytes hold, for `count` rules: a [`Head`] each; where each record starts and the last ends, in two or
/// four bytes; the records; [`PADDING`]. A record is its flags, its text, and its line in as many bytes as that needs. A table
/// without rules has no bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Table {
    pub(crate) count: u32,
    /// Whether starts have four bytes.
    pub(crate) wide: bool,
    pub(crate) bytes: Box<[u8]>,
}

/// What of a rule is looked at first, in fifteen bits: how much of its literal it does *not* share with the one before
/// ([`MAX_SHARED`] less what it shares, so that a head that is too small fails for that alone), and the first byte that it does
/// not share. In place of that byte stands, where there is none, the sign of a star rule if that is a pair, else [`Head::BARE`]:
/// both above all bytes of a pattern, which are ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) shared: usize,
    pub(crate) first: u8,
}

/// The parts of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<'a> {
    /// Two bytes a rule, and what follows them.
    pub(crate) heads: &'a [u8],
    pub(crate) count: usize,
    wide: bool,
    starts: &'a [u8],
    pub(crate) records: &'a [u8],
}

/// A record, read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row<'a> {
    pub(crate) flags: u8,
    /// See [`crate::sieve::Sieve`]; only of star rules.
    pub(crate) sign: u8,
    /// The literal behind its first byte of its own.
    pub(crate) rest: &'a [u8],
    /// From the first star on, a final `$` taken off.
    pub(crate) tail: &'a [u8],
    raw: Option<&'a [u8]>,
    line: &'a [u8],
}

impl Head {
    /// No byte of its own, and no sign.
    pub(crate) const BARE: u8 = u8::MAX;

    pub(crate) const fn to_bytes(self) -> [u8; 2] {
        [self.first, MAX_SHARED.saturating_sub(self.shared) as u8]
    }

    pub(crate) const fn of([first, unshared]: [u8; 2]) -> Self {
        Self { shared: MAX_SHARED.saturating_sub(unshared as usize), first }
    }

    /// The byte of its own that the literal starts with.
    pub(crate) fn own(self) -> Option<u8> {
        Some(self.first).filter(|first| *first < PAIR)
    }

    const fn sign(self) -> Option<u8> {
        if self.first >= PAIR && self.first != Self::BARE { Some(self.first) } else { None }
    }
}

impl<'a> Row<'a> {
    /// `None` for what no packer wrote.
    #[inline]
    fn read(record: &'a [u8], head: Head) -> Option<Self> {
        let (flags, text) = record.split_first()?;
        let (text, line) = text.split_at_checked(text.len().checked_sub(line_width(*flags))?)?;
        let row = Self { flags: *flags, rest: text, line, ..Self::default() };
        if flags & (STAR | RAW) == 0 { Some(row) } else { row.read_long(head) }
    }

    /// Takes the text apart. A sign in the head says that the literal has no rest.
    #[inline]
    fn read_long(mut self, head: Head) -> Option<Self> {
        let mut left = self.rest;
        let mut literal = None;
        if self.flags & STAR != 0 {
            literal = Some(0);
            self.sign = head.first;
            if head.sign().is_none() {
                let (sign, after) = left.split_first()?;
                (self.sign, left) = (*sign, after);
                literal = Some(varint::take(&mut left)? as usize);
            }
        }
        if self.flags & RAW != 0 {
            let length = varint::take(&mut left)? as usize;
            let (before, written) = left.split_at_checked(left.len().checked_sub(length)?)?;
            (left, self.raw) = (before, Some(written));
        }
        (self.rest, self.tail) = left.split_at_checked(literal.unwrap_or(left.len()))?;
        Some(self)
    }

    pub(crate) const fn end(&self) -> End {
        if self.flags & ANCHORED == 0 { End::Open } else { End::Anchored }
    }

    pub(crate) fn line(&self) -> u32 {
        self.line.iter().rev().fold(0, |line, byte| line << 8 | u32::from(*byte))
    }

    pub(crate) const fn kind(&self) -> RuleKind {
        if self.flags & ALLOW == 0 { RuleKind::Disallow } else { RuleKind::Allow }
    }

    pub(crate) const fn via(&self) -> RuleVia {
        if self.flags & INDEX_HTML == 0 { RuleVia::Pattern } else { RuleVia::IndexHtml }
    }
}

impl Table {
    pub(crate) const fn len(&self) -> usize {
        self.count as usize
    }

    /// The parts; those of no rules for what no packer wrote.
    #[inline]
    pub(crate) fn layout(&self) -> Layout<'_> {
        let (count, width) = (self.len(), if self.wide { 4 } else { 2 });
        let starts = self.bytes.get(2 * count..);
        let parts = starts.and_then(|starts| starts.split_at_checked(width * (count + 1)));
        let (starts, records) = parts.unwrap_or_default();
        let count = if records.is_empty() { 0 } else { count };
        Layout { heads: &self.bytes, count, wide: self.wide, starts, records }
    }

    /// The pattern of a rule as written.
    pub(crate) fn written(&self, at: u32) -> Cow<'_, [u8]> {
        let layout = self.layout();
        match layout.row(at as usize).raw {
            Some(raw) => Cow::Borrowed(raw),
            None => Cow::Owned(layout.pattern(at as usize)),
        }
    }

    /// Literal, tail and end of each rule, in order.
    pub(crate) fn each(&self, mut see: impl FnMut(&[u8], &[u8], End)) {
        let layout = self.layout();
        let mut literal = Vec::new();
        for at in 0..layout.count {
            literal.truncate(layout.head(at).shared);
            literal.extend(layout.own(at));
            let row = layout.row(at);
            see(&literal, row.tail, row.end());
        }
    }

    /// The rules, in order, as what they can be packed from again. Cost: linear in what they are made of. `None` when a pattern
    /// is longer than any line makes one.
    pub(crate) fn unpack(&self) -> Option<Drafts<'_>> {
        let layout = self.layout();
        let mut drafts = Drafts::new(layout.records);
        drafts.expect(layout.count);
        let mut literal = Vec::new();
        for at in 0..layout.count {
            literal.truncate(layout.head(at).shared);
            literal.extend(layout.own(at));
            let row = layout.row(at);
            let end: &[u8] = if row.end() == End::Anchored { b"$" } else { b"" };
            let written = Written { raw: row.raw, line: row.line(), kind: row.kind(), via: row.via() };
            drafts.push_own(&[&literal, row.tail, end], written)?;
        }
        Some(drafts)
    }
}

impl<'a> Layout<'a> {
    /// The pattern of a rule as it is compared. Cost: a walk back to the literals that it shares bytes with.
    fn pattern(&self, at: usize) -> Vec<u8> {
        let row = self.row(at);
        let mut pattern = self.literal(at);
        pattern.extend_from_slice(row.tail);
        if row.end() == End::Anchored {
            pattern.push(b'$');
        }
        pattern
    }

    /// A literal, put together from the end: each rule before it that shares less gives what is still missing.
    fn literal(&self, at: usize) -> Vec<u8> {
        let own = self.own(at);
        let mut known = self.head(at).shared;
        let mut literal = alloc::vec![0; known];
        literal.extend(own);
        for before in (0..at).rev() {
            let shared = self.head(before).shared;
            if known == 0 {
                break;
            }
            if shared < known {
                let missing = literal.get_mut(shared..known).unwrap_or_default();
                missing.iter_mut().zip(self.own(before)).for_each(|(to, byte)| *to = byte);
                known = shared;
            }
        }
        literal
    }

    /// What the literal has beyond the one before.
    fn own(&self, at: usize) -> impl Iterator<Item = u8> {
        self.head(at).own().into_iter().chain(self.row(at).rest.iter().copied())
    }

    fn head(&self, at: usize) -> Head {
        let head = self.heads.get(2 * at..).and_then(<[u8]>::first_chunk);
        Head::of(head.copied().unwrap_or([Head::BARE, MAX_SHARED as u8]))
    }

    pub(crate) fn row(&self, at: usize) -> Row<'a> {
        let (start, end) = self.place(at);
        self.records.get(start..end).and_then(|record| Row::read(record, self.head(at))).unwrap_or_default()
    }

    /// Where a record starts and ends.
    #[inline]
    pub(crate) fn place(&self, at: usize) -> (usize, usize) {
        let place = if self.wide { self.wide_place(at) } else { self.narrow_place(at) };
        place.unwrap_or_default()
    }

    #[inline]
    fn narrow_place(&self, at: usize) -> Option<(usize, usize)> {
        let both = u32::from_le_bytes(*chunk(self.starts, 2 * at)?);
        Some(((both & 0xFFFF) as usize, (both >> 16) as usize))
    }

    #[cold]
    fn wide_place(&self, at: usize) -> Option<(usize, usize)> {
        let ([start, end, ..], _) = self.starts.get(4 * at..)?.as_chunks::<4>() else { return None };
        Some((u32::from_le_bytes(*start) as usize, u32::from_le_bytes(*end) as usize))
    }
}

/// Bytes of the line at the end of a record.
pub(crate) const fn line_width(flags: u8) -> usize {
    1 + ((flags / LINE_WIDTH) & 3) as usize
}
