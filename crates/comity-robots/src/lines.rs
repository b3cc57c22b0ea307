//! Bytes to lines to keys and values, as Google's parser cuts them.

use memchr::{memchr, memchr2};

use crate::bytes::{any, equals, is_blank, split_while, trim, trim_start};

/// Bytes of a line that are kept: 2,083 × 8 − 1 (Google's parser; the browser limit of a URL, eightfold). The rest of an
/// overlong line is dropped, the kept part is used.
pub const MAX_LINE_BYTES: usize = 2083 * 8 - 1;

/// One line without its line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Counted from 1.
    pub(crate) number: u32,
    /// Where the line starts in the text.
    pub(crate) start: usize,
    /// The line, at most [`MAX_LINE_BYTES`] of it.
    pub(crate) bytes: &'a [u8],
}

/// The lines of a text: LF, CR and CRLF end one (RFC 9309 §2.2), nothing else does.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'a> {
    text: &'a [u8],
    next: Option<usize>,
    number: u32,
}

impl<'a> Lines<'a> {
    /// Starts behind a byte-order mark.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, next: Some(start_of_first(text)), number: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.next?;
        let rest = self.text.get(start..)?;
        self.number = self.number.saturating_add(1);
        let end = end_of_line(self.text, start);
        self.next = (end < self.text.len()).then(|| start_of_next(self.text, end));
        let length = (end - start).min(MAX_LINE_BYTES);
        Some(Line { number: self.number, start, bytes: rest.get(..length)? })
    }
}

/// Where the first line starts: behind a byte-order mark, also behind the first one or two bytes of one (Google's parser).
pub(crate) fn start_of_first(text: &[u8]) -> usize {
    text.iter().zip([0xEF, 0xBB, 0xBF]).take_while(|(byte, mark)| **byte == *mark).count()
}

/// Where the line that a place is in ends.
#[inline]
pub(crate) fn end_of_line(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + memchr2(b'\n', b'\r', rest).unwrap_or(rest.len())
}

/// Where the line behind that end starts, which may be behind the end of the text.
#[inline]
pub(crate) fn start_of_next(text: &[u8], end: usize) -> usize {
    let is_pair = text.get(end) == Some(&b'\r') && text.get(end + 1) == Some(&b'\n');
    end + 1 + usize::from(is_pair)
}

/// A line, or the rest of one, without a comment and what follows a NUL byte (Google's parser).
#[inline]
pub(crate) fn content(line: &[u8]) -> &[u8] {
    if any(line, |word| equals(word, b'#') | equals(word, 0)) { cut(line) } else { line }
}

fn cut(line: &[u8]) -> &[u8] {
    memchr2(b'#', 0, line).and_then(|end| line.get(..end)).unwrap_or(line)
}

/// A line cut in two; both parts trimmed, the key not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyValue<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

/// Cuts the content of a line at its first `:`, or, without one, between exactly two words (Google's parser).
pub(crate) fn key_value(content: &[u8]) -> Option<KeyValue<'_>> {
    let content = trim_start(content);
    let (key, value) = match memchr(b':', content).and_then(|colon| content.split_at_checked(colon)) {
        Some((key, [_, value @ ..])) => (trim(key), trim(value)),
        _ => two_words(trim(content))?,
    };
    (!key.is_empty()).then_some(KeyValue { key, value })
}

/// The two words of a line that has exactly two, separated by blanks.
fn two_words(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (first, rest) = split_while(line, |byte| !is_blank(byte));
    let (_, second) = split_while(rest, is_blank);
    let only_two = !second.is_empty() && !second.iter().copied().any(is_blank);
    only_two.then(|| (trim(first), trim(second)))
}

/// The column of byte `offset` of `text`, counted in bytes from 1.
pub(crate) fn column(text: &[u8], offset: usize) -> u32 {
    let before = text.get(..offset).unwrap_or_default();
    let start = memchr::memrchr2(b'\n', b'\r', before).map_or(0, |end| end + 1);
    u32::try_from(offset - start).map_or(u32::MAX, |column| column.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn cut(text: &str) -> Option<(&str, &str)> {
        let parts = key_value(content(Lines::new(text.as_bytes()).next()?.bytes))?;
        Some((core::str::from_utf8(parts.key).unwrap(), core::str::from_utf8(parts.value).unwrap()))
    }

    #[test]
    fn keys_and_values() {
        let rows: &[(&str, Option<(&str, &str)>)] = &[
            ("", None),
            ("  \t\u{b}", None),
            ("# x: y", None),
            ("a#: y", None),
            ("a: b # c", Some(("a", "b"))),
            (" \u{b}a\u{c} :\tb:c ", Some(("a", "b:c"))),
            ("a:", Some(("a", ""))),
            (": b", None),
            ("disallow /a", Some(("disallow", "/a"))),
            ("disallow \t /a # c", Some(("disallow", "/a"))),
            ("disallow \u{c}/a", Some(("disallow", "/a"))),
            ("disallow /a /b", None),
            ("disallow", None),
            ("disallow /a:b", Some(("disallow /a", "b"))),
            ("a\0: b", None),
            ("a: b\0c", Some(("a", "b"))),
            ("a b\0 c", Some(("a", "b"))),
            ("a b: c", Some(("a b", "c"))),
        ];
        for (text, wanted) in rows {
            assert_eq!(cut(text), *wanted, "{text:?}");
        }
    }

    #[test]
    fn line_numbers_and_ends() {
        let text = b"\xEF\xBBa\r\nb\rc\n\r\rd\x0be\xC2\x85f";
        let lines: Vec<_> = Lines::new(text).map(|line| (line.number, line.start, line.bytes)).collect();
        let wanted: [(u32, usize, &[u8]); 6] =
            [(1, 2, b"a"), (2, 5, b"b"), (3, 7, b"c"), (4, 9, b""), (5, 10, b""), (6, 11, b"d\x0be\xC2\x85f")];
        assert_eq!(lines, wanted);
        assert_eq!(column(text, 13), 3);
    }

    /// Line by line and byte by byte.
    fn slow_lines(text: &[u8]) -> Vec<(usize, &[u8], &[u8])> {
        let (mut lines, mut start) = (Vec::new(), 0);
        loop {
            let end = (start..text.len()).find(|at| matches!(text[*at], b'\n' | b'\r')).unwrap_or(text.len());
            let cut = (start..end).find(|at| matches!(text[*at], b'#' | 0)).unwrap_or(end);
            let kept = |end: usize| &text[start..end.min(start + MAX_LINE_BYTES)];
            lines.push((start, kept(end), kept(cut)));
            match text.get(end..) {
                Some([b'\r', b'\n', ..]) => start = end + 2,
                Some([_, ..]) => start = end + 1,
                _ => return lines,
            }
        }
    }

    #[test]
    fn lines_of_every_length_against_a_slow_reader() {
        let marks = b"\n\r#\0x";
        for length in [0, 1, 30, 61, 62, 63, 64, 65, 66, 127, 128, 129, 200, MAX_LINE_BYTES + 3] {
            for (first, second) in marks.iter().flat_map(|first| marks.map(|second| (*first, second))) {
                let mut text = alloc::vec![b'y'; length];
                text.extend([first, second, b'z', first]);
                text.extend(alloc::vec![b'y'; length]);
                text.extend([second, first]);
                let lines: Vec<_> =
                    Lines::new(&text).map(|line| (line.start, line.bytes, content(line.bytes))).collect();
                assert_eq!(lines, slow_lines(&text), "{length} {first} {second}");
            }
        }
    }
}
