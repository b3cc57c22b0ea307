//! Rules to a table.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::bytes::{find, start};
use crate::pattern::{End, split_end};
use crate::sieve::{self, PAIR};
use crate::table::{ALLOW, ANCHORED, Head, INDEX_HTML, LINE_WIDTH, MAX_SHARED, RAW, STAR, Table};
use crate::varint;
use crate::verdict::{RuleKind, RuleVia};

/// A rule on its way into a table.
#[derive(Clone, Debug)]
pub(crate) struct Rule<'a> {
    /// In the form in which it is compared.
    pub(crate) pattern: Cow<'a, [u8]>,
    /// As written, when that differs.
    pub(crate) raw: Option<&'a [u8]>,
    pub(crate) line: u32,
    pub(crate) kind: RuleKind,
    pub(crate) via: RuleVia,
}

/// What rules are sorted by: the start of the literal as a number that sorts like it, and which rule.
#[derive(Clone, Copy)]
struct Key {
    /// 16 bytes of the literal behind the slash that all but `*…` start with, zeros where there are none.
    start: u128,
    /// Length of the literal.
    literal: u16,
    rule: u32,
}

impl Key {
    fn of(rule: &Rule<'_>, at: usize) -> Self {
        let (pattern, _) = split_end(&rule.pattern);
        let literal = find(b'*', pattern).unwrap_or(pattern.len());
        let behind = pattern.get(1..literal).unwrap_or_default();
        let (high, low) = (start(behind), start(behind.get(8..).unwrap_or_default()));
        let index = u32::try_from(at).unwrap_or(u32::MAX);
        Self {
            start: u128::from(high) << 64 | u128::from(low),
            literal: u16::try_from(literal).unwrap_or(u16::MAX),
            rule: index,
        }
    }

    /// Bytes that two literals start with alike, as far as a table can tell.
    fn shared(&self, literal: &[u8], before: &Self, literal_before: &[u8]) -> u8 {
        if self.literal == 0 || before.literal == 0 {
            return 0;
        }
        let difference = self.start ^ before.start;
        if difference == 0 {
            return shared(literal, literal_before);
        }
        u8::try_from(1 + difference.leading_zeros() / 8).unwrap_or(u8::MAX)
    }
}

/// A pattern in its parts.
struct Parts<'r> {
    literal: &'r [u8],
    tail: &'r [u8],
    end: End,
    rule: &'r Rule<'r>,
}

impl<'r> Parts<'r> {
    fn of(rule: &'r Rule<'r>, key: Key) -> Self {
        let (pattern, end) = split_end(&rule.pattern);
        let (literal, tail) = pattern.split_at_checked(usize::from(key.literal)).unwrap_or((pattern, &[]));
        Self { literal, tail, end, rule }
    }
}

/// Rules by their keys.
struct Order<'r>(&'r [Rule<'r>]);

impl<'r> Order<'r> {
    /// By literal; equal patterns side by side, the allow rule and the earliest line of them first.
    fn sort(&self, keys: &mut [Key]) {
        // Stable, because that takes advantage of what a file has sorted already.
        keys.sort_by_key(|key| key.start);
        for alike in keys.chunk_by_mut(|a, b| a.start == b.start) {
            if alike.len() > 1 {
                alike.sort_by(|a, b| self.compare(a, b));
            }
        }
    }

    fn compare(&self, a: &Key, b: &Key) -> Ordering {
        let (Some(one), Some(two)) = (self.parts(*a), self.parts(*b)) else { return Ordering::Equal };
        let literals = one.literal.cmp(two.literal);
        let (one, two) = (one.rule, two.rule);
        let patterns = || two.pattern.len().cmp(&one.pattern.len()).then_with(|| one.pattern.cmp(&two.pattern));
        let lines = || one.kind.cmp(&two.kind).then(one.line.cmp(&two.line));
        literals.then_with(patterns).then_with(lines)
    }

    fn repeats(&self, later: &Key, first: &Key) -> bool {
        later.start == first.start
            && self.parts(*later).zip(self.parts(*first)).is_some_and(|(later, first)| {
                later.rule.kind == first.rule.kind && later.rule.pattern == first.rule.pattern
            })
    }

    fn parts(&self, key: Key) -> Option<Parts<'r>> {
        self.0.get(key.rule as usize).map(|rule| Parts::of(rule, key))
    }
}

impl Table {
    /// Sorts rules into a table and drops repeated ones; of those the first line stays.
    pub(crate) fn pack(rules: &[Rule<'_>]) -> Self {
        let order = Order(rules);
        let mut keys: Vec<_> = rules.iter().enumerate().map(|(at, rule)| Key::of(rule, at)).collect();
        order.sort(&mut keys);
        keys.dedup_by(|later, first| order.repeats(later, first));
        let mut packer = Packer::new(keys.len(), rules);
        let mut before = (Key { start: 0, literal: 0, rule: 0 }, &[][..]);
        for key in keys {
            let Some(parts) = order.parts(key) else { continue };
            packer.add(&parts, key.shared(parts.literal, &before.0, before.1));
            before = (key, parts.literal);
        }
        packer.finish()
    }
}

/// [`Key::shared`] of literals that are alike as far as keys can tell.
fn shared(a: &[u8], b: &[u8]) -> u8 {
    let most = a.len().min(b.len()).min(MAX_SHARED);
    let (a, b) = (a.get(..most).unwrap_or_default(), b.get(..most).unwrap_or_default());
    let words = 8 * a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0).take_while(|(a, b)| a == b).count();
    let rest = a.iter().zip(b).skip(words).take_while(|(a, b)| a == b).count();
    u8::try_from(words + rest).unwrap_or(u8::MAX)
}

struct Packer {
    heads: Vec<[u8; 2]>,
    starts: Vec<u32>,
    records: Vec<u8>,
}

impl Packer {
    fn new(count: usize, rules: &[Rule<'_>]) -> Self {
        // Flags and a line of two bytes; more is rare, and then it grows.
        let records = rules.iter().map(|rule| 3 + rule.pattern.len()).sum();
        let (heads, starts) = (Vec::with_capacity(count), Vec::with_capacity(count + 1));
        Self { heads, starts, records: Vec::with_capacity(records) }
    }

    fn add(&mut self, part: &Parts<'_>, shared: u8) {
        // At most 512,000 bytes of file: two patterns for a line, three bytes for one of its.
        self.starts.push(u32::try_from(self.records.len()).unwrap_or(u32::MAX));
        let own = part.literal.get(usize::from(shared)..).unwrap_or_default();
        let rest = own.get(1..).unwrap_or_default();
        let sign = if part.tail.is_empty() { 0 } else { sieve::sign(part.tail) };
        let in_head = own.is_empty() && sign >= PAIR;
        let first = own.first().copied().unwrap_or(if in_head { sign } else { 0 });
        self.heads.push(Head { shared, first }.to_bytes());
        let rule = part.rule;
        let raw = rule.raw;
        let line = rule.line.to_le_bytes();
        let width = 3_u8.min((31 - (rule.line | 1).leading_zeros()) as u8 / 8);
        self.records.push(flags(part, raw.is_some()) | (width * LINE_WIDTH));
        if !part.tail.is_empty() && !in_head {
            self.records.push(sign);
            varint::put(&mut self.records, length(rest));
        }
        if let Some(raw) = raw {
            varint::put(&mut self.records, length(raw));
        }
        self.records.extend_from_slice(rest);
        if !part.tail.is_empty() {
            self.records.extend_from_slice(part.tail);
        }
        if let Some(raw) = raw {
            self.records.extend_from_slice(raw);
        }
        self.records.extend_from_slice(line.get(..=usize::from(width)).unwrap_or_default());
    }

    fn finish(self) -> Table {
        let Self { heads, mut starts, records } = self;
        let count = starts.len();
        starts.push(u32::try_from(records.len()).unwrap_or(u32::MAX));
        let wide = records.len() > usize::from(u16::MAX);
        let width = if wide { 4 } else { 2 };
        let mut bytes = Vec::with_capacity(2 * count + width * starts.len() + records.len());
        bytes.extend_from_slice(heads.as_flattened());
        if wide {
            bytes.extend(starts.iter().flat_map(|start| start.to_le_bytes()));
        } else {
            bytes.extend(starts.iter().flat_map(|start| (*start as u16).to_le_bytes()));
        }
        bytes.extend_from_slice(&records);
        // Fewer rules than bytes in a file, or, of a stored set, in what was stored.
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Table { count, wide, bytes: bytes.into_boxed_slice() }
    }
}

fn flags(part: &Parts<'_>, raw: bool) -> u8 {
    let flag = |is: bool, flag: u8| if is { flag } else { 0 };
    flag(part.rule.kind == RuleKind::Allow, ALLOW)
        | flag(part.rule.via == RuleVia::IndexHtml, INDEX_HTML)
        | flag(part.end == End::Anchored, ANCHORED)
        | flag(!part.tail.is_empty(), STAR)
        | flag(raw, RAW)
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}
