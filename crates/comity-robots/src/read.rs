//! From text to records: every line is read once, and handed on.

use alloc::vec::Vec;
use core::ops::Range;

use crate::bytes::{chunk, is_blank, is_space, trim_start};
use crate::draft::place;
use crate::lines::{MAX_LINE_BYTES, content, end_of_line, key_value, start_of_first, start_of_next};
use crate::record::{Kind, Record, classify};
use crate::scan::{HALF, WINDOW, Window, first_but_blank, marks};
use crate::skip::{DELAY, Wanted, skip};
use crate::verdict::RuleKind;
use crate::window::{EasyValue, Windows};

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
        // A line of a rule has about thirty bytes.
        let mut records = Self { list: Vec::with_capacity(text.len() / 32), groups: Vec::new() };
        read(text, &mut records);
        records
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

/// Who is handed the recognised lines of a text, in order.
///
/// Rules close a list of user-agent lines, and a user-agent line behind a rule opens a group (RFC 9309 §2.2.1); nothing else
/// matters.
pub(crate) trait LineSink {
    /// Whether every line is of interest: also sitemaps, and rules before the first group.
    const EVERYTHING: bool;

    /// A user-agent line opens a group; it is handed over next.
    fn open(&mut self);

    fn agent(&mut self, record: Record);

    /// The list of user-agent lines is complete. Says whether the rest of the group is of interest; if not, none of it comes.
    fn close(&mut self) -> bool;

    /// A rule, of a group or of none.
    fn rule(&mut self, kind: RuleKind, record: Record);

    /// The same for a rule whose key starts at a place and whose value is easy.
    #[inline(always)]
    fn easy_rule(&mut self, kind: RuleKind, line: u32, key: usize, value: EasyValue) {
        self.rule(kind, easy_record(Kind::Rule(kind), line, key, value));
    }

    /// The same for a value without any mark.
    #[inline(always)]
    fn literal_rule(&mut self, kind: RuleKind, line: u32, key: usize, value: Range<usize>) {
        let (start, end) = (value.start, value.end);
        self.easy_rule(kind, line, key, EasyValue { start, end, star: end, plain: true, line_end: end });
    }

    fn extension(&mut self, record: Record);

    fn sitemap(&mut self, record: Record);
}

/// A record of a line whose key starts at a place and whose value is easy. A line is shorter than 16 bits can count, a text than
/// 32.
fn easy_record(kind: Kind, line: u32, key: usize, value: EasyValue) -> Record {
    let star = if value.plain { (value.star - value.start) as u16 } else { Record::UNREAD };
    Record {
        value: value.start as u32,
        line,
        value_len: (value.end - value.start) as u16,
        value_behind: (value.start - key) as u16,
        star,
        kind,
    }
}

impl LineSink for Records {
    const EVERYTHING: bool = true;

    fn open(&mut self) {
        self.groups.push(u32::try_from(self.list.len()).unwrap_or(u32::MAX));
    }

    fn agent(&mut self, record: Record) {
        self.list.push(record);
    }

    fn close(&mut self) -> bool {
        true
    }

    #[inline]
    fn rule(&mut self, _: RuleKind, record: Record) {
        self.list.push(record);
    }

    fn extension(&mut self, record: Record) {
        self.list.push(record);
    }

    fn sitemap(&mut self, record: Record) {
        self.list.push(record);
    }
}

/// Hands over the lines of a text. Of groups that are not of interest only the user-agent lines are looked for that end them; so
/// they cost little.
pub(crate) fn read(text: &[u8], lines: &mut impl LineSink) {
    let mut reader = Reader::new(text, lines);
    let (mut at, mut number) = (start_of_first(text), 0_u32);
    while at < text.len() {
        number = number.saturating_add(1);
        at = reader.line(at, number);
        if at >= reader.skip_from {
            (at, number) = reader.skip(at, number);
        }
    }
}

struct Reader<'a, L> {
    windows: Windows<'a>,
    lines: &'a mut L,
    /// Whether the list of user-agent lines is complete: the next one opens a group.
    closed: bool,
    /// Whether this is the rest of a group that is not of interest.
    foreign: bool,
    /// Which lines are of interest before the first group, and in such a rest.
    wanted: Wanted,
    /// From where on it is worth passing over others; nowhere in a group of interest.
    skip_from: usize,
}

impl<'a, L: LineSink> Reader<'a, L> {
    fn new(text: &'a [u8], lines: &'a mut L) -> Self {
        let skip_from = if L::EVERYTHING { usize::MAX } else { DELAY };
        let wanted = Wanted::AgentsAndSignals;
        Self { windows: Windows::new(text), lines, closed: true, foreign: false, wanted, skip_from }
    }

    /// Passes over lines that are not of interest, from the start of one on.
    #[inline(never)]
    fn skip(&mut self, at: usize, number: u32) -> (usize, u32) {
        let skipped = skip(self.windows.text, at, self.wanted);
        self.skip_from = skipped.again;
        (skipped.at, number.saturating_add(skipped.lines))
    }

    /// Reads the line that starts at a place; returns where the next one does.
    #[inline(always)]
    fn line(&mut self, at: usize, number: u32) -> usize {
        let window = self.windows.at(at);
        // The most frequent first.
        if !self.foreign && has(window, 0, *b"disallow") && window[8] == b':' {
            self.spelled::<9>(Kind::Rule(RuleKind::Disallow), at, number)
        } else if window[0] == b'\n' {
            at + 1
        } else if has(window, 0, *b"user-age") && has(window, 3, *b"r-agent:") {
            self.spelled::<11>(Kind::Agent, at, number)
        } else if !self.foreign && has(window, 0, *b"allo") && has(window, 2, *b"low:") {
            self.spelled::<6>(Kind::Rule(RuleKind::Allow), at, number)
        } else {
            self.other_line(at, number)
        }
    }

    /// Takes a line whose key, with its colon, has so many bytes; returns where the next one starts.
    #[inline(always)]
    fn spelled<const KEY: usize>(&mut self, kind: Kind, at: usize, number: u32) -> usize {
        const { assert!(KEY + 1 + HALF < WINDOW) };
        let window = self.windows.at(at);
        let behind = KEY + usize::from(window[KEY] == b' ');
        let marks = chunk(window, behind).map_or(0, marks);
        let length = marks.trailing_zeros() as usize;
        // Most values hold no mark but the end of their line, and that is near.
        let (start, end) = (at + behind, at + behind + length);
        let next = match window.get(behind + length) {
            Some(b'\n') => end + 1,
            Some(b'\r') => end + 1 + usize::from(self.windows.text.get(end + 1) == Some(&b'\n')),
            _ => return self.marked(kind, (at, start), marks, number),
        };
        match kind {
            Kind::Rule(kind) => {
                if self.opens_rules(at) {
                    self.lines.literal_rule(kind, number, at, start..end);
                }
            }
            _ => self.take(easy_record(
                kind,
                number,
                at,
                EasyValue { start, end, star: end, plain: true, line_end: end },
            )),
        }
        next
    }

    /// The same for a value with a mark in it, or a long one.
    #[inline(never)]
    fn marked(&mut self, kind: Kind, (at, start): (usize, usize), marks: u32, number: u32) -> usize {
        let Some(value) = EasyValue::read(&self.windows, at, start, marks) else { return self.slow_line(at, number) };
        self.easy(kind, at, value, number);
        start_of_next(self.windows.text, value.line_end)
    }

    #[inline(always)]
    fn easy(&mut self, kind: Kind, at: usize, value: EasyValue, number: u32) {
        match kind {
            Kind::Rule(kind) => {
                if self.opens_rules(at) {
                    self.lines.easy_rule(kind, number, at, value);
                }
            }
            _ => self.take(easy_record(kind, number, at, value)),
        }
    }

    /// Closes the list of user-agent lines before a rule at a place; says whether that is of interest.
    #[inline(always)]
    fn opens_rules(&mut self, at: usize) -> bool {
        if !self.closed {
            self.close(at);
        }
        !self.foreign
    }

    /// A line that starts with none of the usual keys.
    #[inline(never)]
    fn other_line(&mut self, at: usize, number: u32) -> usize {
        let window = self.windows.at(at);
        let blanks = if is_blank(window[0]) { first_but_blank(window) } else { 0 };
        match window.get(blanks..) {
            Some([b'\n' | b'\r', ..]) => start_of_next(self.windows.text, at + blanks),
            Some(line @ [first, _, ..]) if !is_space(*first) && !self.may_matter(line) => {
                start_of_next(self.windows.text, end_of_line(self.windows.text, at + blanks))
            }
            _ => self.slow_line(at, number),
        }
    }

    /// A line that needs a search for its key, or trimming.
    #[inline(never)]
    fn slow_line(&mut self, at: usize, number: u32) -> usize {
        let text = self.windows.text;
        let end = end_of_line(text, at);
        let line = trim_start(text.get(at..end.min(at + MAX_LINE_BYTES)).unwrap_or_default());
        if self.may_matter(line)
            && let Some(parts) = key_value(content(line))
        {
            for kind in classify(parts.key).into_iter().flatten() {
                // A line is at most 16,663 bytes long, a text 512,000.
                let (key, value) = (place(text, parts.key), place(text, parts.value));
                let value_len = u16::try_from(parts.value.len()).unwrap_or(u16::MAX);
                let value_behind = u16::try_from(value.saturating_sub(key)).unwrap_or(u16::MAX);
                self.take(Record { value, line: number, value_len, value_behind, star: Record::UNREAD, kind });
            }
        }
        start_of_next(text, end)
    }

    /// Whether a line may be of interest, by what every key starts with.
    #[inline(always)]
    fn may_matter(&self, line: &[u8]) -> bool {
        let [first, second, ..] = line else { return false };
        match [first | 0x20, second | 0x20] {
            [b'u', b's'] => true,
            [b's', b'i'] => L::EVERYTHING,
            [b'd', b'i'] | [b'a', b'l'] => !self.foreign,
            // The first two letters of all extensions but those.
            [b'c', b'r' | b'o' | b'l']
            | [b'r', b'e' | b'o']
            | [b'v', b'i']
            | [b'l', b'i' | b'l']
            | [b'h' | b'n', b'o'] => !self.foreign,
            _ => false,
        }
    }

    #[inline(never)]
    fn close(&mut self, at: usize) {
        self.closed = true;
        self.foreign = !self.lines.close();
        if self.foreign {
            (self.wanted, self.skip_from) = (Wanted::Agents, at + DELAY);
        }
    }

    /// Hands a record over, when it is of interest.
    #[inline(never)]
    fn take(&mut self, record: Record) {
        match record.kind {
            Kind::Rule(kind) => {
                if self.opens_rules(record.key()) {
                    self.lines.rule(kind, record);
                }
            }
            Kind::Agent => {
                if self.closed {
                    (self.closed, self.foreign, self.skip_from) = (false, false, usize::MAX);
                    self.lines.open();
                }
                self.lines.agent(record);
            }
            Kind::Extension(_) if !self.foreign => self.lines.extension(record),
            Kind::Sitemap if L::EVERYTHING => self.lines.sitemap(record),
            Kind::Extension(_) | Kind::Sitemap => {}
        }
    }
}

/// Whether these bytes stand at a place, letters in any case; `wanted` has them in lower case.
#[inline(always)]
fn has<const N: usize>(window: &Window, at: usize, wanted: [u8; N]) -> bool {
    let case = wanted.map(|byte| if byte.is_ascii_lowercase() { 0x20 } else { 0 });
    chunk::<N>(window, at).is_some_and(|bytes| number(*bytes) | number(case) == number(wanted))
}

/// Up to eight bytes as a number.
#[inline(always)]
fn number<const N: usize>(bytes: [u8; N]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Lines;
    use crate::record::EXTENSIONS;
    use alloc::format;
    use alloc::string::String;

    type Read<'t> = Vec<(u32, Kind, usize, &'t [u8])>;

    fn quickly(text: &[u8]) -> Read<'_> {
        let records = Records::read(text);
        let read = records.list.iter().map(|record| (record.line, record.kind, record.key(), record.value_in(text)));
        read.collect()
    }

    /// Line by line, every one the slow way.
    fn slowly(text: &[u8]) -> Read<'_> {
        let mut all = Vec::new();
        for line in Lines::new(text) {
            let Some(parts) = key_value(content(line.bytes)) else { continue };
            let kinds = classify(parts.key).into_iter().flatten();
            all.extend(kinds.map(|kind| (line.number, kind, place(text, parts.key) as usize, parts.value)));
        }
        all
    }

    #[test]
    fn values_of_every_length_with_every_mark_at_every_place() {
        for key in ["Disallow:", "allow: ", "USER-AGENT:", "user-agent:  ", "disallow :", " Allow:", "crawl-delay: "] {
            for length in (0..=WINDOW).chain([MAX_LINE_BYTES]) {
                let step = [1, 5, MAX_LINE_BYTES][usize::from(length > 12) + usize::from(length > WINDOW)];
                for (mark, at) in
                    "\n\r %*#$+\t\0~é".chars().flat_map(|mark| (0..=length).step_by(step).map(move |at| (mark, at)))
                {
                    let mut value = "v".repeat(length);
                    value.insert(at, mark);
                    let line = format!("{key}{value}");
                    for text in [line.clone(), format!("x\r\n{line}\r\nallow:/{}", "y".repeat(WINDOW))] {
                        assert!(quickly(text.as_bytes()) == slowly(text.as_bytes()), "{text:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_short_value() {
        let marks = ["", "a", "*", " ", "#", "%", "\t", "\r", "\n", "$", "\0", "é", "\u{b}"];
        let values =
            marks.into_iter().flat_map(|a| marks.into_iter().flat_map(move |b| marks.map(move |c| [a, b, c].concat())));
        for value in values {
            for start in ["Disallow:", "Disallow: ", "allow: /", "user-agent:", " ", "\t x", ""] {
                for end in ["", "a #a", "\nallow:/", &"y".repeat(WINDOW)] {
                    let text = format!("{start}{value}{end}");
                    assert!(quickly(text.as_bytes()) == slowly(text.as_bytes()), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn no_key_is_passed_over() {
        let keys = ["user-agent", "useragent", "user agent", "allow", "disallow", "diasllow", "sitemap", "site-map"];
        for key in keys.into_iter().chain(EXTENSIONS.map(|(key, _)| key)) {
            let spellings = [key.into(), key.to_uppercase(), format!(" {key}"), format!("\t\u{b}{key} ")];
            for text in spellings.map(|key: String| format!("{key}: /v\n{key}/w")) {
                assert!(!quickly(text.as_bytes()).is_empty(), "{text:?}");
                assert_eq!(quickly(text.as_bytes()), slowly(text.as_bytes()), "{text:?}");
            }
        }
    }
}
