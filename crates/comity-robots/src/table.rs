//! The rules of a set in one block of bytes, sorted and front-coded.
//!
//! A pattern is a *literal*, all before its first `*`, and a *tail*, the rest. Rules are sorted by literal; of each, only what
//! differs from the one before is kept. So the literals that start a target lie on one ascending way through the table, which
//! a few single-byte comparisons follow, and a long list of similar rules takes less room than its text.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::pack::Rule;
use crate::pattern::{End, matches};
use crate::sieve::{PAIR, Sieve};
use crate::varint;
use crate::verdict::{RuleKind, RuleRef, RuleVia};

/// How much of a literal may be left to the one before: what a byte holds.
pub(crate) const MAX_SHARED: usize = 255;

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

/// Sorted rules. The bytes hold, for `count` rules: a [`Head`] each; where each record starts and the last ends, in two or
/// four bytes; the records. A record is its flags, its text, and its line in as many bytes as that needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Table {
    pub(crate) count: u32,
    /// Whether starts have four bytes.
    pub(crate) wide: bool,
    pub(crate) bytes: Box<[u8]>,
}

/// What of a rule is looked at first, in two bytes: how much of its literal it does *not* share with the one before (255 less
/// what it shares, so that a head that is too small fails for that alone), and the first byte that it does not share. In place
/// of that byte stands 0 where there is none (no pattern holds NUL: its line ended there), or, of such a star rule, its sign if
/// that is a pair (above all bytes of a pattern, which are ASCII).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) shared: u8,
    pub(crate) first: u8,
}

/// A record, read.
#[derive(Clone, Copy, Debug, Default)]
struct Row<'a> {
    flags: u8,
    /// See [`Sieve`]; only of star rules.
    sign: u8,
    /// The literal behind its first byte of its own.
    rest: &'a [u8],
    /// From the first star on, a final `$` taken off.
    tail: &'a [u8],
    raw: Option<&'a [u8]>,
    line: &'a [u8],
}

/// What decides between matching rules: the longer pattern, then allow before disallow (RFC 9309 §2.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(u32);

/// The best rule that matches so far; none at rank 0.
#[derive(Clone, Copy, Debug, Default)]
struct Best {
    rank: Rank,
    at: u32,
}

impl Head {
    pub(crate) const fn to_bytes(self) -> [u8; 2] {
        [self.first, u8::MAX - self.shared]
    }

    const fn of([first, unshared]: [u8; 2]) -> Self {
        Self { shared: u8::MAX - unshared, first }
    }

    /// The byte of its own that the literal starts with.
    fn own(self) -> Option<u8> {
        Some(self.first).filter(|first| *first != 0 && *first < PAIR)
    }
}

impl Rank {
    /// A pattern is shorter than 65,536 bytes.
    const fn of(length: usize, flags: u8) -> Self {
        Self((length as u32) << 1 | (flags & ALLOW) as u32)
    }

    const fn priority(self) -> u32 {
        self.0 >> 1
    }

    /// Whether it is an allow rule's, or nobody's.
    const fn allows(self) -> bool {
        self.0 == 0 || self.0 & 1 == 1
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
    fn read_long(mut self, head: Head) -> Option<Self> {
        let mut left = self.rest;
        let mut star = None;
        if self.flags & STAR != 0 {
            star = Some(0);
            self.sign = head.first;
            if head.first < PAIR {
                let (sign, after) = left.split_first()?;
                (self.sign, left) = (*sign, after);
                star = Some(varint::take(&mut left)? as usize);
            }
        }
        if self.flags & RAW != 0 {
            let length = varint::take(&mut left)? as usize;
            let (before, written) = left.split_at_checked(left.len().checked_sub(length)?)?;
            (left, self.raw) = (before, Some(written));
        }
        (self.rest, self.tail) = left.split_at_checked(star.unwrap_or(left.len()))?;
        Some(self)
    }

    const fn end(&self) -> End {
        if self.flags & ANCHORED == 0 { End::Open } else { End::Anchored }
    }

    fn line(&self) -> u32 {
        self.line.iter().rev().fold(0, |line, byte| line << 8 | u32::from(*byte))
    }
}

impl Table {
    pub(crate) const fn len(&self) -> usize {
        self.count as usize
    }

    /// The rule that decides for `target`, in the form in which it is compared. `group_line` tells the group of a line.
    pub(crate) fn decide<'a>(&'a self, target: &[u8], group_line: impl Fn(u32) -> u32) -> Option<RuleRef<'a>> {
        let best = Search::new(self, target).run();
        (best.rank.0 > 0).then(|| self.rule(best, group_line))
    }

    /// Whether that rule, if there is one, allows.
    pub(crate) fn allows(&self, target: &[u8]) -> bool {
        Search::new(self, target).run().rank.allows()
    }

    fn rule(&self, best: Best, group_line: impl Fn(u32) -> u32) -> RuleRef<'_> {
        let row = self.row(best.at as usize);
        RuleRef {
            kind: kind(row.flags),
            table: self,
            at: best.at,
            line: row.line(),
            group_line: group_line(row.line()),
            priority: best.rank.priority(),
            via: via(row.flags),
        }
    }

    /// The pattern of a rule as written.
    pub(crate) fn written(&self, at: u32) -> Cow<'_, [u8]> {
        match self.row(at as usize).raw {
            Some(raw) => Cow::Borrowed(raw),
            None => Cow::Owned(self.pattern(at as usize)),
        }
    }

    /// The pattern of a rule as it is compared. Cost: a walk back to the literals that it shares bytes with.
    pub(crate) fn pattern(&self, at: usize) -> Vec<u8> {
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
        let mut known = usize::from(self.head(at).shared);
        let mut literal = alloc::vec![0; known];
        literal.extend(own);
        for before in (0..at).rev() {
            let shared = usize::from(self.head(before).shared);
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

    /// The rules, in order. Cost: linear in what they are made of.
    pub(crate) fn rules(&self) -> impl Iterator<Item = Rule<'_>> {
        let mut literal = Vec::new();
        (0..self.len()).map(move |at| {
            literal.truncate(usize::from(self.head(at).shared));
            literal.extend(self.own(at));
            let row = self.row(at);
            let end: &[u8] = if row.end() == End::Anchored { b"$" } else { b"" };
            Rule {
                pattern: Cow::Owned([&literal, row.tail, end].concat()),
                raw: row.raw,
                line: row.line(),
                kind: kind(row.flags),
                via: via(row.flags),
            }
        })
    }

    fn heads(&self) -> &[[u8; 2]] {
        self.bytes.get(..2 * self.len()).unwrap_or_default().as_chunks().0
    }

    fn head(&self, at: usize) -> Head {
        Head::of(self.heads().get(at).copied().unwrap_or([0, u8::MAX]))
    }

    fn row(&self, at: usize) -> Row<'_> {
        self.record(at).and_then(|record| Row::read(record, self.head(at))).unwrap_or_default()
    }

    #[inline]
    fn record(&self, at: usize) -> Option<&[u8]> {
        if self.wide { self.wide_record(at) } else { self.narrow_record(at) }
    }

    #[inline]
    fn narrow_record(&self, at: usize) -> Option<&[u8]> {
        let (starts, records) = self.bytes.get(2 * self.len()..)?.split_at_checked(2 * (self.len() + 1))?;
        let [a, b, c, d] = *starts.get(2 * at..)?.first_chunk()?;
        records.get(usize::from(u16::from_le_bytes([a, b]))..usize::from(u16::from_le_bytes([c, d])))
    }

    fn wide_record(&self, at: usize) -> Option<&[u8]> {
        let (starts, records) = self.bytes.get(2 * self.len()..)?.split_at_checked(4 * (self.len() + 1))?;
        let ([start, end, ..], _) = starts.get(4 * at..)?.as_chunks::<4>() else { return None };
        records.get(u32::from_le_bytes(*start) as usize..u32::from_le_bytes(*end) as usize)
    }
}

/// Bytes of the line at the end of a record.
const fn line_width(flags: u8) -> usize {
    1 + ((flags / LINE_WIDTH) & 3) as usize
}

const fn kind(flags: u8) -> RuleKind {
    if flags & ALLOW == 0 { RuleKind::Disallow } else { RuleKind::Allow }
}

const fn via(flags: u8) -> RuleVia {
    if flags & INDEX_HTML == 0 { RuleVia::Pattern } else { RuleVia::IndexHtml }
}

/// One question.
struct Search<'a> {
    table: &'a Table,
    target: &'a [u8],
    best: Best,
    sieve: Option<Sieve>,
}

/// Where a search stands: how much of the target the last literal has, and what heads look like that matter there.
#[derive(Clone, Copy)]
struct Level {
    matched: usize,
    /// The byte of the target behind that; 0 at its end.
    next: u8,
    /// A head that shares just as much and has no byte of its own.
    unshared: u16,
    /// The least other head that matters.
    least: u16,
}

impl Level {
    #[inline]
    fn new(matched: usize, target: &[u8]) -> Self {
        let shared = matched.min(MAX_SHARED);
        let next = target.get(shared).copied().unwrap_or_default();
        let unshared = (MAX_SHARED - shared) as u16 * 256;
        // Signs, from PAIR on, always matter.
        Self { matched: shared, next, unshared, least: unshared | u16::from(next.min(PAIR)) }
    }

    /// Heads that share more with the one before do not, nor those that share just as much and go on with a byte before the
    /// next.
    #[inline]
    fn matters(&self, head: [u8; 2]) -> bool {
        let head = u16::from_le_bytes(head);
        (head >= self.least) | (head == self.unshared)
    }
}

impl<'a> Search<'a> {
    const fn new(table: &'a Table, target: &'a [u8]) -> Self {
        Self { table, target, best: Best { rank: Rank(0), at: 0 }, sieve: None }
    }

    /// Follows the target down the table. A literal that shares more with the one before than the target does fails where
    /// that one did; one that shares less comes behind the target, and so do all that follow.
    #[inline]
    fn run(mut self) -> Best {
        let heads = self.table.heads();
        let mut level = Level::new(0, self.target);
        let mut at = 0;
        while let Some(head) = heads.get(at) {
            if !level.matters(*head) {
                at += 1;
                if heads.len() > LONG {
                    at += skip(heads.get(at..).unwrap_or_default(), level);
                }
                continue;
            }
            let head = Head::of(*head);
            if usize::from(head.shared) < level.matched
                || head.first < PAIR && head.first > level.next && head.first != 0
            {
                break;
            }
            if head.first < PAIR || self.sieve().may_hold(head.first, &[]) {
                let matched = self.visit(at, head, level.matched).unwrap_or_default();
                level = Level::new(matched, self.target);
            }
            at += 1;
        }
        self.best
    }

    #[inline]
    fn sieve(&mut self) -> &Sieve {
        self.sieve.get_or_insert_with(|| Sieve::of(self.target))
    }

    /// A rule whose literal goes on as the target does; returns how far. `None` for what no packer wrote.
    #[inline]
    fn visit(&mut self, at: usize, head: Head, level: usize) -> Option<usize> {
        let record = self.table.record(at)?;
        if record.first()? & (STAR | RAW) != 0 {
            return self.visit_long(at, head, level);
        }
        let flags = *record.first()?;
        let rest = record.get(1..record.len().checked_sub(line_width(flags))?)?;
        let from = level + usize::from(head.own().is_some());
        let left = self.target.get(from..)?;
        if !left.starts_with(rest) {
            return Some(from + alike(rest, left));
        }
        let literal = from + rest.len();
        let anchored = flags & ANCHORED != 0;
        if !anchored || literal == self.target.len() {
            self.matched(Rank::of(literal + usize::from(anchored), flags), at);
        }
        Some(literal)
    }

    /// The same for a star rule, and one whose pattern was written otherwise.
    fn visit_long(&mut self, at: usize, head: Head, level: usize) -> Option<usize> {
        let row = self.table.row(at);
        let from = level + usize::from(head.own().is_some());
        let left = self.target.get(from..)?;
        let Some(behind) = left.strip_prefix(row.rest) else {
            return Some(from + alike(row.rest, left));
        };
        let literal = from + row.rest.len();
        let rank = Rank::of(literal + row.tail.len() + usize::from(row.end() == End::Anchored), row.flags);
        if rank >= self.best.rank && self.goes_on(&row, behind) {
            self.matched(rank, at);
        }
        Some(literal)
    }

    /// Whether what is behind the literal fits too.
    fn goes_on(&mut self, row: &Row<'_>, behind: &[u8]) -> bool {
        if row.flags & STAR == 0 {
            return row.end() == End::Open || behind.is_empty();
        }
        self.sieve().may_hold(row.sign, behind) && matches(row.tail, row.end(), behind)
    }

    /// A rule matches. Of equal rules the earlier line is named: evidence has to be one rule (our choice).
    #[inline]
    fn matched(&mut self, rank: Rank, at: usize) {
        let line = |at| self.table.row(at).line();
        if rank > self.best.rank || rank == self.best.rank && line(at) < line(self.best.at as usize) {
            // A table has fewer rules than 32 bits can count.
            self.best = Best { rank, at: u32::try_from(at).unwrap_or(u32::MAX) };
        }
    }
}

/// How many bytes are alike from the start on.
fn alike(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// How many of the next heads do not matter: a block at a time, which is one question for the processor.
fn skip(heads: &[[u8; 2]], level: Level) -> usize {
    let (blocks, _) = heads.as_chunks::<BLOCK>();
    let none = |block: &&[[u8; 2]; BLOCK]| !block.iter().fold(false, |any, head| any | level.matters(*head));
    BLOCK * blocks.iter().take_while(none).count()
}

/// Heads that are looked at together.
const BLOCK: usize = 16;

/// From so many rules on, blocks are worth it.
const LONG: usize = 32;
