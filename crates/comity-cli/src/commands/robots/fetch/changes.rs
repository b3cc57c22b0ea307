//! What changed between two copies, line by line.

use std::borrow::Cow;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, Interner};

/// Unchanged lines shown around a change.
const AROUND: u32 = 2;

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// `-` for one of the old copy, `+` for one of the new, a blank for one of both.
    pub(super) sign: char,
    /// Its number, from 1, in the copy that it stands in: the new one where it stands in both.
    pub(super) number: usize,
    pub(super) text: String,
}

/// Both copies compared, in groups of neighbouring lines; none when they are the same. Files of the largest size take a fraction
/// of a second, whatever they hold: what is common and what is rare is told apart, and the search is cut short.
pub(super) fn diff(old: &[u8], new: &[u8]) -> Vec<Vec<Line>> {
    let (old, new) = (lines(old), lines(new));
    let interner = Interner::new(old.len() + new.len());
    let mut input = InternedInput { before: Vec::new(), after: Vec::new(), interner };
    input.update_before(old.iter().map(|line| &**line));
    input.update_after(new.iter().map(|line| &**line));
    let mut found = Diff::compute(Algorithm::Histogram, &input);
    found.postprocess_no_heuristic(&input);
    let mut groups: Vec<Vec<Hunk>> = Vec::new();
    for hunk in found.hunks() {
        let is_near = |last: &Hunk| hunk.after.start.saturating_sub(last.after.end) <= 2 * AROUND;
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(is_near) => group.push(hunk),
            _ => groups.push(vec![hunk]),
        }
    }
    groups.iter().map(|group| shown(group, &old, &new)).collect()
}

/// The changes of one group, with the unchanged lines between and around them.
fn shown(group: &[Hunk], old: &[Cow<'_, str>], new: &[Cow<'_, str>]) -> Vec<Line> {
    let mut told = Vec::new();
    let mut tell = |sign, of: &[Cow<'_, str>], from: u32, to: u32| {
        let (from, to) = (from as usize, (to as usize).min(of.len()));
        let texts = of.get(from..to).unwrap_or_default().iter().zip(from + 1..);
        told.extend(texts.map(|(text, number)| Line { sign, number, text: text.clone().into_owned() }));
    };
    let mut at = group.first().map_or(0, |first| first.after.start.saturating_sub(AROUND));
    for hunk in group {
        tell(' ', new, at, hunk.after.start);
        tell('-', old, hunk.before.start, hunk.before.end);
        tell('+', new, hunk.after.start, hunk.after.end);
        at = hunk.after.end;
    }
    tell(' ', new, at, at.saturating_add(AROUND));
    told
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
