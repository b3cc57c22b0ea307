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
use crate::sieve::Sieve;
use crate::varint;
use crate::verdict::{RuleKind, RuleRef, RuleVia};

/// How much of a literal may be left to the one before: what a byte holds.
pub(crate) const MAX_SHARED: usize = 255;

/// Star rules that wait until the literal rules are known; most of them then need no look.
const WAITING: usize = 8;

/// Flags of a record.
pub(crate) const ALLOW: u8 = 1;
pub(crate) const INDEX_HTML: u8 = 2;
/// The pattern ends in `$`, which is not stored.
pub(crate) const ANCHORED: u8 = 4;
/// A tail follows the literal; the record has a sign and the length of the rest of its literal.
pub(crate) const STAR: u8 = 8;
/// The pattern as written differs and ends the record.
pub(crate) const RAW: u8 = 16;

/// Sorted rules. The bytes hold, for `count` rules: a byte each, how much of the literal the one before has already; a byte
/// each, the first byte that it has not, 0 when there is none (no pattern holds NUL: its line ended there); where each record
/// starts, in two or four bytes; the records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Table {
    pub(crate) count: u32,
    /// Whether starts have four bytes.
    pub(crate) wide: bool,
    pub(crate) bytes: Box<[u8]>,
}

/// A record, read.
#[derive(Clone, Copy, Debug)]
struct Row<'a> {
    flags: u8,
    line: u32,
    /// See [`Sieve`]; only of star rules.
    sign: u8,
    /// The literal behind its first byte of its own.
    rest: &'a [u8],
    /// From the first star on, a final `$` taken off.
    tail: &'a [u8],
    raw: Option<&'a [u8]>,
}

/// What decides between matching rules: the longer pattern, allow before disallow, the earlier line (RFC 9309 §2.2.2; the
/// line is our choice: evidence has to be one rule).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(u64);

/// A rule that matches, or a star rule that may.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    rank: Rank,
    at: u32,
    /// Bytes of the target that its literal takes.
    literal: u32,
}

const NO_CANDIDATE: Candidate = Candidate { rank: Rank(0), at: 0, literal: 0 };

impl Rank {
    fn of(row: &Row<'_>, literal: usize) -> Self {
        let length = literal + row.tail.len() + usize::from(row.flags & ANCHORED != 0);
        let allow = u64::from(row.flags & ALLOW != 0);
        Self((length as u64) << 33 | allow << 32 | u64::from(!row.line))
    }

    const fn priority(self) -> u32 {
        (self.0 >> 33) as u32
    }
}

impl Row<'_> {
    const fn end(&self) -> End {
        if self.flags & ANCHORED == 0 { End::Open } else { End::Anchored }
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

    fn rule(&self, best: Candidate, group_line: impl Fn(u32) -> u32) -> RuleRef<'_> {
        let row = self.row(best.at as usize);
        RuleRef {
            kind: kind(row.flags),
            table: self,
            at: best.at,
            line: row.line,
            group_line: group_line(row.line),
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
        let mut known = usize::from(self.shared().get(at).copied().unwrap_or_default());
        let mut literal = alloc::vec![0; known];
        literal.extend(own);
        for before in (0..at).rev() {
            let shared = usize::from(self.shared().get(before).copied().unwrap_or_default());
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
        let first = self.firsts().get(at).copied().filter(|first| *first != 0);
        first.into_iter().chain(self.row(at).rest.iter().copied())
    }

    /// The rules, in order. Cost: linear in what they are made of.
    pub(crate) fn rules(&self) -> impl Iterator<Item = Rule<'_>> {
        let mut literal = Vec::new();
        (0..self.len()).map(move |at| {
            literal.truncate(usize::from(self.shared().get(at).copied().unwrap_or_default()));
            literal.extend(self.own(at));
            let row = self.row(at);
            let end: &[u8] = if row.end() == End::Anchored { b"$" } else { b"" };
            Rule {
                pattern: Cow::Owned([&literal, row.tail, end].concat()),
                raw: row.raw,
                line: row.line,
                kind: kind(row.flags),
                via: via(row.flags),
            }
        })
    }

    fn shared(&self) -> &[u8] {
        self.bytes.get(..self.len()).unwrap_or_default()
    }

    fn firsts(&self) -> &[u8] {
        self.bytes.get(self.len()..2 * self.len()).unwrap_or_default()
    }

    fn start(&self, at: usize) -> usize {
        if self.wide { self.start_of::<4>(at) } else { self.start_of::<2>(at) }
    }

    /// Where record `at` starts among the bytes; the end for the first that is not there.
    fn start_of<const WIDTH: usize>(&self, at: usize) -> usize {
        let records = (2 + WIDTH) * self.len();
        if at >= self.len() {
            return self.bytes.len();
        }
        let field = self.bytes.get(2 * self.len() + WIDTH * at..).and_then(|rest| rest.first_chunk::<WIDTH>());
        let mut value = [0; 4];
        value.iter_mut().zip(field.into_iter().flatten()).for_each(|(to, byte)| *to = *byte);
        records + u32::from_le_bytes(value) as usize
    }

    #[inline]
    fn row(&self, at: usize) -> Row<'_> {
        let record = self.bytes.get(self.start(at)..self.start(at + 1)).unwrap_or_default();
        Row::read(record).unwrap_or(Row { flags: 0, line: 0, sign: 0, rest: &[], tail: &[], raw: None })
    }
}

impl<'a> Row<'a> {
    /// `None` for what no packer wrote.
    #[inline]
    fn read(record: &'a [u8]) -> Option<Self> {
        let (flags, mut left) = record.split_first()?;
        let line = varint::take(&mut left)?;
        if flags & (STAR | RAW) == 0 {
            return Some(Self { flags: *flags, line, sign: 0, rest: left, tail: &[], raw: None });
        }
        Self::read_long(*flags, line, left)
    }

    fn read_long(flags: u8, line: u32, mut left: &'a [u8]) -> Option<Self> {
        let mut star = None;
        if flags & STAR != 0 {
            let (sign, after) = left.split_first()?;
            left = after;
            star = Some((*sign, varint::take(&mut left)? as usize));
        }
        let mut raw = None;
        if flags & RAW != 0 {
            let length = varint::take(&mut left)? as usize;
            let (before, written) = left.split_at_checked(left.len().checked_sub(length)?)?;
            (left, raw) = (before, Some(written));
        }
        let (sign, rest) = star.unwrap_or((0, left.len()));
        let (rest, tail) = left.split_at_checked(rest)?;
        Some(Self { flags, line, sign, rest, tail, raw })
    }
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
    best: Candidate,
    waiting: [Candidate; WAITING],
    waiting_count: usize,
    sieve: Option<Sieve>,
}

impl<'a> Search<'a> {
    const fn new(table: &'a Table, target: &'a [u8]) -> Self {
        let waiting = [NO_CANDIDATE; WAITING];
        Self { table, target, best: NO_CANDIDATE, waiting, waiting_count: 0, sieve: None }
    }

    /// Follows the target down the table. `matched` is how much of it the literal before has; a literal that shares more
    /// with that one fails where it did, one that shares less comes behind the target, and so do all that follow.
    fn run(mut self) -> Candidate {
        let (shared, firsts) = (self.table.shared(), self.table.firsts());
        let (mut at, mut matched) = (0, 0_usize);
        while let Some((own, first)) = shared.get(at).zip(firsts.get(at)) {
            let level = matched.min(MAX_SHARED);
            if usize::from(*own) > level {
                at += 1 + skip(shared.get(at + 1..).unwrap_or_default(), level);
                continue;
            }
            let next = self.target.get(level).copied().unwrap_or_default();
            if usize::from(*own) < level || (*first > next && *first != 0) {
                break;
            }
            if *first == next || *first == 0 {
                matched = self.visit(at, level, *first);
            }
            at += 1;
        }
        self.ask_waiting();
        self.best
    }

    /// A rule whose literal goes on as the target does; returns how far.
    #[inline]
    fn visit(&mut self, at: usize, level: usize, first: u8) -> usize {
        let row = self.table.row(at);
        let from = level + usize::from(first != 0);
        let left = self.target.get(from..).unwrap_or_default();
        if !left.starts_with(row.rest) {
            return from + row.rest.iter().zip(left).take_while(|(a, b)| a == b).count();
        }
        let literal = from + row.rest.len();
        let rank = Rank::of(&row, literal);
        let candidate = Candidate { rank, at: at as u32, literal: literal as u32 };
        if rank <= self.best.rank {
            return literal;
        }
        if row.flags & STAR != 0 {
            self.wait(candidate);
        } else if row.end() == End::Open || literal == self.target.len() {
            self.best = candidate;
        }
        literal
    }

    fn wait(&mut self, candidate: Candidate) {
        if self.waiting_count == WAITING {
            self.ask_waiting();
        }
        if let Some(place) = self.waiting.get_mut(self.waiting_count) {
            *place = candidate;
            self.waiting_count += 1;
        }
    }

    /// Asks the star rules that would still win.
    fn ask_waiting(&mut self) {
        for candidate in self.waiting.into_iter().take(self.waiting_count) {
            if candidate.rank > self.best.rank && self.tail_matches(&candidate) {
                self.best = candidate;
            }
        }
        self.waiting_count = 0;
    }

    fn tail_matches(&mut self, candidate: &Candidate) -> bool {
        let row = self.table.row(candidate.at as usize);
        let sieve = self.sieve.get_or_insert_with(|| Sieve::of(self.target));
        sieve.may_hold(row.sign)
            && matches(row.tail, row.end(), self.target.get(candidate.literal as usize..).unwrap_or_default())
    }
}

/// How many of the next rules share more than `level` bytes with the one before; eight at a time where the arithmetic allows.
fn skip(shared: &[u8], level: usize) -> usize {
    let mut skipped = 0;
    if let Some(bound) = u8::try_from(level + 1).ok().filter(|bound| *bound <= 128) {
        let ones = u64::from_ne_bytes([1; 8]);
        let (words, _) = shared.as_chunks::<8>();
        let none_below = |word: &&[u8; 8]| {
            let word = u64::from_le_bytes(**word);
            word.wrapping_sub(ones * u64::from(bound)) & !word & (ones << 7) == 0
        };
        skipped = 8 * words.iter().take_while(none_below).count();
    }
    let rest = shared.get(skipped..).unwrap_or_default();
    skipped + rest.iter().take_while(|own| usize::from(**own) > level).count()
}
