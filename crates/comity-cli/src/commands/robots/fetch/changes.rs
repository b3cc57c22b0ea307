//! What changed between two copies, line by line.

use std::borrow::Cow;
use std::time::Duration;

use similar::{ChangeTag, TextDiff, TextDiffConfig};

/// Longer than any file of this size takes; then a coarser answer is given, never a wrong one.
const PATIENCE: Duration = Duration::from_secs(2);
/// Unchanged lines shown around a change.
const AROUND: usize = 2;

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// `-` for one of the old copy, `+` for one of the new, a blank for one of both.
    pub(super) sign: char,
    /// Its number, from 1, in the copy that it stands in: the new one where it stands in both.
    pub(super) number: usize,
    pub(super) text: String,
}

/// Both copies compared, in groups of neighbouring lines; none when they are the same.
pub(super) fn diff(old: &[u8], new: &[u8]) -> Vec<Vec<Line>> {
    let (old, new) = (lines(old), lines(new));
    let (old, new): (Vec<&str>, Vec<&str>) = (old.iter().map(|l| &**l).collect(), new.iter().map(|l| &**l).collect());
    let found: TextDiff<'_, '_, str> = TextDiffConfig::default().timeout(PATIENCE).diff_slices(&old, &new);
    let groups = found.grouped_ops(AROUND);
    let line = |change: similar::Change<&str>| {
        let (sign, at) = match change.tag() {
            ChangeTag::Delete => ('-', change.old_index()),
            ChangeTag::Insert => ('+', change.new_index()),
            ChangeTag::Equal => (' ', change.new_index()),
        };
        Line { sign, number: at.unwrap_or(0) + 1, text: change.value().to_owned() }
    };
    groups.iter().map(|group| group.iter().flat_map(|op| found.iter_changes(op)).map(line).collect()).collect()
}

/// The lines of a file as crawlers count them: LF, CR and CRLF end one (RFC 9309 §2.2). A last line end begins none.
pub(super) fn lines(text: &[u8]) -> Vec<Cow<'_, str>> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
        let (line, tail) = rest.split_at(end);
        lines.push(String::from_utf8_lossy(line));
        rest = tail.strip_prefix(b"\r\n").or_else(|| tail.get(1..)).unwrap_or_default();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_crawlers_do() {
        assert_eq!(lines(b"a\nb\r\nc\rd\n\n"), ["a", "b", "c", "d", ""]);
        assert_eq!(lines(b"a\xff"), ["a\u{fffd}"]);
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn changes_with_their_neighbours() {
        let old = b"1\n2\n3\n4\nold\n6\n7\n8\n9\n";
        let new = b"1\n2\n3\n4\nnew\nmore\n6\n7\n8\n9\n";
        let groups = diff(old, new);
        let text: Vec<String> = groups.concat().iter().map(|l| format!("{}{} {}", l.sign, l.number, l.text)).collect();
        assert_eq!(groups.len(), 1);
        assert_eq!(text, [" 3 3", " 4 4", "-5 old", "+5 new", "+6 more", " 7 6", " 8 7"]);
        assert!(diff(old, old).is_empty());
        assert!(diff(b"a\r\nb\n", b"a\nb").is_empty(), "line ends are no change of rules");
    }

    #[test]
    fn files_of_the_largest_size_end_in_time() {
        let file = |seed: usize| (0..60_000).map(|n| format!("{}\n", (n * seed) % 7919)).collect::<String>();
        assert!(!diff(file(31).as_bytes(), file(37).as_bytes()).is_empty());
    }
}
