//! From text to records, for everybody or for a few names.

use alloc::vec::Vec;
use core::ops::Range;

use crate::bytes::{chunk, is_space, trim_start};
use crate::draft::place;
use crate::lines::{EasyValue, MAX_LINE_BYTES, content, end_of_line, key_value, start_of_first, start_of_next};
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
        // A line of a rule has about thirty bytes.
        let records = Records { list: Vec::with_capacity(text.len() / 32), groups: Vec::new() };
        let mut reader = Self { text, tokens, records, closed: true, wanted: tokens.is_none(), foreign: false };
        let (mut at, mut number) = (start_of_first(text), 0_u32);
        while let Some(first) = text.get(at) {
            number = number.saturating_add(1);
            at = start_of_next(text, reader.line(at, *first, number));
        }
        reader.records
    }

    /// Reads the line that starts at a place; returns where it ends.
    #[inline]
    fn line(&mut self, at: usize, first: u8, number: u32) -> usize {
        let letter = first | 0x20;
        // The most frequent first.
        let easy = if letter == b'd' && !self.foreign {
            self.spelled(Kind::Rule(RuleKind::Disallow), at, 9, number)
        } else if first == b'\n' || first == b'\r' {
            return at;
        } else if letter == b'u' {
            self.spelled(Kind::Agent, at, 11, number)
        } else if letter == b'a' && !self.foreign {
            self.spelled(Kind::Rule(RuleKind::Allow), at, 6, number)
        } else if self.foreign && !is_space(first) {
            return end_of_line(self.text, at);
        } else {
            None
        };
        easy.unwrap_or_else(|| self.other_line(at, number))
    }

    /// Takes a line that starts with the key of its kind, in any case, and a colon, and has an easy value, as most lines are;
    /// returns where it ends.
    #[inline(always)]
    fn spelled(&mut self, kind: Kind, at: usize, key: usize, number: u32) -> Option<usize> {
        let is_spelled = match kind {
            Kind::Agent => starts(self.text, at, *b"user-age") && starts(self.text, at + 3, *b"r-agent:"),
            Kind::Rule(RuleKind::Disallow) => {
                starts(self.text, at, *b"disallow") && self.text.get(at + 8) == Some(&b':')
            }
            Kind::Rule(RuleKind::Allow) => starts(self.text, at, *b"allo") && starts(self.text, at + 2, *b"low:"),
            _ => false,
        };
        if !is_spelled {
            return None;
        }
        let value = EasyValue::read(self.text, at + key).filter(|value| value.end - at <= MAX_LINE_BYTES)?;
        let text = if kind == Kind::Agent { self.text.get(value.start..value.end)? } else { &[] };
        if self.admit(kind, text) {
            // A line is shorter than 16 bits can count, a text than 32.
            let star = if value.plain { (value.star - value.start) as u16 } else { Record::UNREAD };
            self.records.list.push(Record {
                value: value.start as u32,
                line: number,
                value_len: (value.end - value.start) as u16,
                value_behind: (value.start - at) as u16,
                star,
                kind,
            });
        }
        Some(value.end)
    }

    /// A line that needs a search for its key, or trimming.
    #[inline(never)]
    fn other_line(&mut self, at: usize, number: u32) -> usize {
        let end = end_of_line(self.text, at);
        let line = trim_start(self.text.get(at..end.min(at + MAX_LINE_BYTES)).unwrap_or_default());
        let may_matter = match line.first().map(u8::to_ascii_lowercase) {
            Some(b'u') => true,
            // Only for those who ask for all is a sitemap kept.
            Some(b's') => self.tokens.is_none(),
            // What any other key starts with.
            Some(b'd' | b'a' | b'c' | b'r' | b'v' | b'l' | b'h' | b'n') => !self.foreign,
            _ => false,
        };
        if may_matter && let Some(parts) = key_value(content(line)) {
            for kind in classify(parts.key).into_iter().flatten() {
                self.take(kind, parts.key, parts.value, number);
            }
        }
        end
    }

    #[inline(never)]
    fn take(&mut self, kind: Kind, key: &[u8], value: &[u8], line: u32) {
        if self.admit(kind, value) {
            // A line is at most 16,663 bytes long, a text 512,000.
            let (key, start) = (place(self.text, key), place(self.text, value));
            let value_len = u16::try_from(value.len()).unwrap_or(u16::MAX);
            let value_behind = u16::try_from(start.saturating_sub(key)).unwrap_or(u16::MAX);
            let record = Record { value: start, line, value_len, value_behind, star: Record::UNREAD, kind };
            self.records.list.push(record);
        }
    }

    /// Follows the groups: rules close a list of user-agent lines, a user-agent line behind a rule opens a group (RFC 9309
    /// §2.2.1), nothing else matters. Says whether the record is kept.
    #[inline(always)]
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

    #[inline(never)]
    fn open(&mut self) {
        self.records.groups.push(u32::try_from(self.records.list.len()).unwrap_or(u32::MAX));
        (self.closed, self.foreign, self.wanted) = (false, false, self.tokens.is_none());
    }

    /// The list of user-agent lines is complete; a group of nobody wanted is forgotten.
    #[inline(never)]
    fn close(&mut self) {
        self.closed = true;
        self.foreign = !self.wanted;
        if self.foreign
            && let Some(start) = self.records.groups.pop()
        {
            self.records.list.truncate(start as usize);
        }
    }

    #[inline(never)]
    fn names_wanted(&self, value: &[u8]) -> bool {
        let named = |tokens: &[&str]| tokens.iter().any(|token| names(value, token.as_bytes()));
        Named::read(value) == Named::Global || self.tokens.is_none_or(named)
    }
}

/// Whether these bytes stand at a place, letters in any case; `wanted` has them in lower case.
#[inline]
fn starts<const N: usize>(text: &[u8], at: usize, wanted: [u8; N]) -> bool {
    let case = wanted.map(|byte| if byte.is_ascii_lowercase() { 0x20 } else { 0 });
    chunk::<N>(text, at).is_some_and(|bytes| number(*bytes) | number(case) == number(wanted))
}

/// Up to eight bytes as a number.
#[inline]
fn number<const N: usize>(bytes: [u8; N]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
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
