//! A compiled rule: 20 bytes, and its text beside it.

use alloc::borrow::Cow;
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

/// A rule on its way into a set.
#[derive(Clone, Debug)]
pub(crate) struct Draft<'a> {
    /// The pattern in the form in which it is compared; for [`RuleVia::IndexHtml`] the directory and `$`.
    pub(crate) pattern: Cow<'a, [u8]>,
    /// The pattern as written.
    pub(crate) raw: &'a [u8],
    pub(crate) kind: RuleKind,
    pub(crate) via: RuleVia,
    pub(crate) line: u32,
    pub(crate) group: u16,
    /// Whether the usage pass gives the rule to the same agents.
    pub(crate) usage: bool,
}

impl<'a> Draft<'a> {
    /// The second chance of an allow rule: from its last `/` on it starts with `/index.htm`, so it also allows exactly the
    /// directory (Google's parser).
    pub(crate) fn index_html(&self) -> Option<Self> {
        let slash = memchr::memrchr(b'/', &self.pattern)?;
        let (directory, name) = self.pattern.split_at_checked(slash + 1)?;
        let applies = self.kind == RuleKind::Allow && name.starts_with(b"index.htm");
        applies.then(|| {
            let pattern: Vec<u8> = [directory, b"$"].concat();
            Self { pattern: Cow::Owned(pattern), via: RuleVia::IndexHtml, ..self.clone() }
        })
    }

    /// The order in which rules are asked.
    fn rank(&self) -> (Reverse<usize>, RuleKind) {
        (Reverse(self.pattern.len()), self.kind)
    }

    fn entry(&self, start: u32) -> Entry {
        let behind_slash = self.pattern.strip_prefix(b"/").unwrap_or_default();
        let (literal, _) = split_end(behind_slash);
        let known = memchr::memchr(b'*', literal).unwrap_or(literal.len()).min(4);
        let raw_len = if self.raw == &*self.pattern { 0 } else { self.raw.len() };
        // A line has at most 16,663 bytes, so an escaped pattern has fewer than 50,000.
        let short = |length: usize| u16::try_from(length).unwrap_or(u16::MAX);
        Entry {
            start,
            line: self.line,
            head: head(literal.get(..known).unwrap_or_default()),
            len: short(self.pattern.len()),
            raw_len: short(raw_len),
            group: self.group,
            head_len: u8::try_from(known).unwrap_or_default(),
            shape: match self.via {
                RuleVia::Pattern => Shape::Rule(self.kind),
                RuleVia::IndexHtml => Shape::IndexHtml,
            },
        }
    }
}

/// Sorts rules into the order in which they are asked, drops repeated ones (the first line stays), and lays them out.
pub(crate) fn lay_out(mut drafts: Vec<Draft<'_>>) -> (Vec<Entry>, Vec<u8>) {
    drafts.sort_unstable_by(|a, b| {
        let same_rank = || a.pattern.cmp(&b.pattern).then(a.line.cmp(&b.line));
        a.rank().cmp(&b.rank()).then_with(same_rank)
    });
    drafts.dedup_by(|later, first| later.kind == first.kind && later.pattern == first.pattern);
    drafts.sort_by_key(|draft| (draft.rank(), draft.line));
    let mut entries = Vec::with_capacity(drafts.len());
    let mut text = Vec::with_capacity(drafts.iter().map(|draft| draft.pattern.len()).sum());
    for draft in &drafts {
        let entry = draft.entry(u32::try_from(text.len()).unwrap_or(u32::MAX));
        text.extend_from_slice(&draft.pattern);
        if entry.raw_len > 0 {
            text.extend_from_slice(draft.raw);
        }
        entries.push(entry);
    }
    (entries, text)
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
