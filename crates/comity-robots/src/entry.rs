//! A compiled rule: 20 bytes, and its text beside it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::pattern::{matches, split_end};
use crate::verdict::{RuleKind, RuleRef, RuleVia};

/// For each number of known bytes, the mask that leaves just these of a head.
const MASKS: [u32; 5] = [0, 0xFF, 0xFFFF, 0x00FF_FFFF, 0xFFFF_FFFF];

/// A rule of a set. Its head, the literal bytes behind the leading `/`, turns most targets down without a look at the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    /// Where the pattern stands in the text of the set, its final `$` included; the pattern as written follows it when it
    /// differs.
    start: u32,
    line: u32,
    head: u32,
    /// Length of the pattern, its final `$` included.
    len: u16,
    /// Length of the pattern as written; 0 when it is the compared one.
    raw_len: u16,
    /// Place of the group's line among the group lines of the set.
    group: u16,
    head_len: u8,
    shape: Shape,
}

/// Kind and way in one byte: only allow rules have the way of index.html.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shape {
    Rule(RuleKind),
    IndexHtml,
}

/// The first bytes behind the `/` of a target, zeros where there are none. A pattern holds no NUL (its line ended there), so
/// a zero is never taken for a byte of it.
pub(crate) fn head(behind_slash: &[u8]) -> u32 {
    let mut bytes = behind_slash.iter().copied();
    u32::from_le_bytes([0; 4].map(|zero: u8| bytes.next().unwrap_or(zero)))
}

impl Entry {
    /// Whether the head leaves a match possible.
    pub(crate) fn may_match(&self, target_head: u32) -> bool {
        let mask = MASKS.get(usize::from(self.head_len)).copied().unwrap_or_default();
        (self.head ^ target_head) & mask == 0
    }

    /// Whether the pattern matches `target`; `text` is that of the set.
    pub(crate) fn matches(&self, text: &[u8], target: &[u8]) -> bool {
        let (pattern, end) = split_end(self.pattern(text));
        matches(pattern, end, target)
    }

    /// The rule as evidence.
    pub(crate) fn rule<'a>(&self, text: &'a [u8], group_lines: &[u32]) -> RuleRef<'a> {
        let (kind, via) = match self.shape {
            Shape::Rule(kind) => (kind, RuleVia::Pattern),
            Shape::IndexHtml => (RuleKind::Allow, RuleVia::IndexHtml),
        };
        let group_line = group_lines.get(usize::from(self.group)).copied().unwrap_or_default();
        RuleRef { kind, raw: self.raw(text), line: self.line, group_line, priority: u32::from(self.len), via }
    }

    /// The order in which rules are asked: the longest first, allow before disallow.
    const fn rank(&self) -> (Reverse<u16>, RuleKind) {
        let kind = match self.shape {
            Shape::Rule(kind) => kind,
            Shape::IndexHtml => RuleKind::Allow,
        };
        (Reverse(self.len), kind)
    }

    fn pattern<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let start = self.start as usize;
        text.get(start..start + usize::from(self.len)).unwrap_or_default()
    }

    fn raw<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        if self.raw_len == 0 {
            return self.pattern(text);
        }
        let start = self.start as usize + usize::from(self.len);
        text.get(start..start + usize::from(self.raw_len)).unwrap_or_default()
    }
}

/// The rules of a set while it is made: entries in file order, their patterns in one text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    entries: Vec<Entry>,
    text: Vec<u8>,
}

/// Where a rule comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub(crate) kind: RuleKind,
    pub(crate) line: u32,
    pub(crate) group: u16,
}

impl Entries {
    /// Adds a rule: `pattern` in the form in which it is compared, `raw` as written. An allow rule whose pattern starts, from
    /// its last `/` on, with `/index.htm` also allows exactly the directory (Google's parser).
    pub(crate) fn add(&mut self, pattern: &[u8], raw: &[u8], source: Source) {
        self.push(&[pattern], raw, source, Shape::Rule(source.kind));
        if source.kind == RuleKind::Disallow {
            return;
        }
        let slash = memchr::memrchr(b'/', pattern);
        let Some((directory, name)) = slash.and_then(|slash| pattern.split_at_checked(slash + 1)) else { return };
        if name.starts_with(b"index.htm") {
            self.push(&[directory, b"$"], raw, source, Shape::IndexHtml);
        }
    }

    fn push(&mut self, parts: &[&[u8]], raw: &[u8], source: Source, shape: Shape) {
        let start = self.text.len();
        parts.iter().for_each(|part| self.text.extend_from_slice(part));
        let pattern = self.text.get(start..).unwrap_or_default();
        let (literal, _) = split_end(pattern.strip_prefix(b"/").unwrap_or_default());
        let known = literal.iter().take(4).take_while(|byte| **byte != b'*').count();
        let raw_len = if raw == pattern { 0 } else { raw.len() };
        // A line has at most 16,663 bytes, so an escaped pattern has fewer than 50,000.
        let short = |length: usize| u16::try_from(length).unwrap_or(u16::MAX);
        self.entries.push(Entry {
            // Two patterns and one line as written, at most, for each line of a file of 512,000 bytes.
            start: u32::try_from(start).unwrap_or(u32::MAX),
            line: source.line,
            head: head(literal.get(..known).unwrap_or_default()),
            len: short(pattern.len()),
            raw_len: short(raw_len),
            group: source.group,
            head_len: u8::try_from(known).unwrap_or_default(),
            shape,
        });
        if raw_len > 0 {
            self.text.extend_from_slice(raw);
        }
    }

    /// The same rules without those of some lines; `lines` ascends.
    pub(crate) fn without_lines(&self, lines: &[u32]) -> Self {
        let mut rest = self.clone();
        rest.entries.retain(|entry| lines.binary_search(&entry.line).is_err());
        rest
    }

    /// Sorts the rules into the order in which they are asked and drops repeated ones; the first line stays.
    pub(crate) fn finish(self) -> (Box<[Entry]>, Box<[u8]>) {
        let Self { mut entries, text } = self;
        entries.sort_unstable_by_key(|entry| (entry.rank(), entry.line));
        // Patterns are compared only within a rank, and only behind equal heads: few, in files that people wrote.
        for equals in entries.chunk_by_mut(|a, b| a.rank() == b.rank()) {
            equals.sort_unstable_by(|a, b| {
                let patterns = || a.pattern(&text).cmp(b.pattern(&text));
                a.head.cmp(&b.head).then_with(patterns).then(a.line.cmp(&b.line))
            });
        }
        let before = entries.len();
        entries.dedup_by(|later, first| later.rank() == first.rank() && later.pattern(&text) == first.pattern(&text));
        let repeated = entries.len() < before;
        for equals in entries.chunk_by_mut(|a, b| a.rank() == b.rank()) {
            equals.sort_unstable_by_key(|entry| entry.line);
        }
        let text = if repeated { repack(&mut entries, &text) } else { text };
        (entries.into_boxed_slice(), text.into_boxed_slice())
    }
}

/// Copies only the text that entries still use.
fn repack(entries: &mut [Entry], text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(text.len());
    for entry in entries {
        let from = entry.start as usize;
        let length = usize::from(entry.len) + usize::from(entry.raw_len);
        entry.start = u32::try_from(packed.len()).unwrap_or(u32::MAX);
        packed.extend_from_slice(text.get(from..from + length).unwrap_or_default());
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_small() {
        assert_eq!(size_of::<Entry>(), 20);
    }

    #[test]
    fn heads() {
        assert_eq!(head(b""), 0);
        assert_eq!(head(b"ab"), head(b"abcd") & 0xFFFF);
        assert_ne!(head(b"abcd"), head(b"abce"));
    }
}
