//! From text to records, for everybody or for a few names.

use alloc::vec::Vec;
use core::ops::Range;

use crate::bytes::{trim, trim_start};
use crate::lines::{Lines, content, key_value};
use crate::record::{Kind, Record, classify};
use crate::token::{Named, names};
use crate::verdict::RuleKind;

/// The recognised lines of a text, in order, and where its groups start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    list: Vec<Record>,
    /// For each group of the access pass, the record of its first user-agent line.
    groups: Vec<u32>,
}

impl Records {
    /// Every recognised line.
    pub(crate) fn read(text: &[u8]) -> Self {
        Reader::read(text, None)
    }

    /// What can matter to these tokens: the groups that name one of them, those for `*`, and what stands before the first
    /// group. Of other groups only the user-agent lines are looked for that end them; so most of a file costs little.
    pub(crate) fn read_for(text: &[u8], tokens: &[&str]) -> Self {
        Reader::read(text, Some(tokens))
    }

    pub(crate) fn list(&self) -> &[Record] {
        &self.list
    }

    pub(crate) fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// Record ranges of the groups; each runs to the next group.
    pub(crate) fn group_ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let ends = self.groups.iter().skip(1).map(|end| *end as usize).chain([self.list.len()]);
        self.groups.iter().zip(ends).map(|(start, end)| *start as usize..end)
    }

    /// The records of each group.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[Record]> {
        self.group_ranges().filter_map(|range| self.list.get(range))
    }

    /// The records before the first user-agent line.
    pub(crate) fn prelude(&self) -> &[Record] {
        let end = self.groups.first().map_or(self.list.len(), |first| *first as usize);
        self.list.get(..end).unwrap_or_default()
    }

    /// The user-agent lines.
    pub(crate) fn agents(&self) -> impl Iterator<Item = &Record> {
        self.list.iter().filter(|record| record.kind == Kind::Agent)
    }
}

struct Reader<'a> {
    text: &'a [u8],
    /// Whose groups are wanted; everybody's, if `None`.
    tokens: Option<&'a [&'a str]>,
    records: Records,
    /// Whether the list of user-agent lines is complete: the next one opens a group.
    closed: bool,
    /// Whether the open group names somebody wanted.
    wanted: bool,
    /// Whether this is the rest of a group of nobody wanted.
    foreign: bool,
}

impl<'a> Reader<'a> {
    fn read(text: &'a [u8], tokens: Option<&'a [&'a str]>) -> Records {
        // A line of a rule has about thirty bytes; many lines are none.
        let records = Records { list: Vec::with_capacity(text.len() / 64), groups: Vec::new() };
        let mut reader = Self { text, tokens, records, closed: true, wanted: tokens.is_none(), foreign: false };
        for line in Lines::new(text) {
            reader.line(trim_start(line.bytes), line.number);
        }
        reader.records
    }

    #[inline]
    fn line(&mut self, line: &'a [u8], number: u32) {
        let Some(first) = line.first() else { return };
        let (kind, value) = match first | 0x20 {
            b'u' => (Kind::Agent, spelled(line, *b"user-age", *b"nt")),
            _ if self.foreign => return,
            b'd' => (Kind::Rule(RuleKind::Disallow), spelled(line, *b"disallow", [])),
            b'a' => (Kind::Rule(RuleKind::Allow), spelled(line, *b"allo", *b"w")),
            // What any other key starts with.
            b's' | b'c' | b'r' | b'v' | b'l' | b'h' | b'n' => (Kind::Agent, None),
            _ => return,
        };
        match value {
            Some(value) => self.take(kind, line, trim(content(value)), number),
            None => self.other_line(line, number),
        }
    }

    /// A line that needs a search for its key.
    #[inline(never)]
    fn other_line(&mut self, line: &'a [u8], number: u32) {
        let Some(parts) = key_value(content(line)) else { return };
        for kind in classify(parts.key).into_iter().flatten() {
            self.take(kind, parts.key, parts.value, number);
        }
    }

    #[inline]
    fn take(&mut self, kind: Kind, key: &[u8], value: &[u8], number: u32) {
        if self.admit(kind, value) {
            let record = self.record(kind, key, value, number);
            self.records.list.push(record);
        }
    }

    fn record(&self, kind: Kind, key: &[u8], value: &[u8], line: u32) -> Record {
        // A line is at most 16,663 bytes long.
        let value_len = u16::try_from(value.len()).unwrap_or(u16::MAX);
        Record { key: place(self.text, key), value: place(self.text, value), line, value_len, kind }
    }

    /// Follows the groups: rules close a list of user-agent lines, a user-agent line behind a rule opens a group (RFC 9309
    /// §2.2.1), nothing else matters. Says whether the record is kept.
    #[inline]
    fn admit(&mut self, kind: Kind, value: &[u8]) -> bool {
        match kind {
            Kind::Agent => {
                if self.closed {
                    self.open();
                }
                self.wanted = self.wanted || self.names_wanted(value);
                true
            }
            Kind::Rule(_) => {
                if !self.closed {
                    self.close();
                }
                self.wanted
            }
            // Sitemaps and lines before the first group: of those, a rule set keeps the signals.
            Kind::Sitemap => self.tokens.is_none(),
            Kind::Extension(_) => !self.foreign,
        }
    }

    fn open(&mut self) {
        self.records.groups.push(u32::try_from(self.records.list.len()).unwrap_or(u32::MAX));
        (self.closed, self.foreign, self.wanted) = (false, false, self.tokens.is_none());
    }

    /// The list of user-agent lines is complete; a group of nobody wanted is forgotten.
    fn close(&mut self) {
        self.closed = true;
        self.foreign = !self.wanted;
        if self.foreign
            && let Some(start) = self.records.groups.pop()
        {
            self.records.list.truncate(start as usize);
        }
    }

    fn names_wanted(&self, value: &[u8]) -> bool {
        let named = |tokens: &[&str]| tokens.iter().any(|token| names(value, token.as_bytes()));
        Named::read(value) == Named::Global || self.tokens.is_none_or(named)
    }
}

/// What follows this very key and its colon: most lines are spelled so, and need no search. The key is given in two parts, the
/// first of which is a number for the processor.
#[inline]
fn spelled<const M: usize, const N: usize>(line: &[u8], first: [u8; M], second: [u8; N]) -> Option<&[u8]> {
    let (start, rest) = line.split_first_chunk::<M>()?;
    let (end, rest) = rest.split_first_chunk::<N>()?;
    let value = rest.strip_prefix(b":")?;
    (lower(*start) == first && lower(*end) == second).then_some(value)
}

/// Letters in lower case. What is no letter may change, but never to a letter; and only CR, which ends a line, becomes `-`.
#[inline]
fn lower<const N: usize>(bytes: [u8; N]) -> [u8; N] {
    bytes.map(|byte| byte | 0x20)
}

/// Where `part`, a slice of `text`, starts in it. Below [`crate::MAX_BYTES`], so it fits.
fn place(text: &[u8], part: &[u8]) -> u32 {
    let offset = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    u32::try_from(offset).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn kept(text: &str, tokens: &[&str]) -> Vec<(u32, usize)> {
        let records = Records::read_for(text.as_bytes(), tokens);
        records.groups().map(|group| (group[0].line, group.len())).collect()
    }

    #[test]
    fn groups_of_others_are_left_out() {
        let text = "license: /l\nuser-agent: a\ncrawl-delay: 1\nuser-agent: b\ndisallow: /1\nhost: x\n\
                    user-agent: c\nallow: /2\nuser-agent: *\nallow: /3\ncrawl-delay: 2\nuser-agent: d";
        // The last list is still open.
        assert_eq!(kept(text, &["b"]), vec![(2, 5), (9, 3), (12, 1)]);
        assert_eq!(kept(text, &["c"]), vec![(7, 2), (9, 3), (12, 1)]);
        assert_eq!(kept(text, &["x", "y"]), vec![(9, 3), (12, 1)]);
        let prelude = Records::read_for(text.as_bytes(), &[]);
        assert_eq!(prelude.prelude().len(), 1);
    }
}
