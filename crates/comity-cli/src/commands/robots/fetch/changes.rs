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

/// Lines between the first change and the last, of either copy, that are searched for what both have (our choice: files of people have
/// some thousand). It takes the square of them at worst, where there are few different lines; so many take a third of a second.
const MOST_SEARCHED: usize = 20_000;

/// Both copies compared, in groups of neighbouring lines; none when they are the same. Where more than 20,000 lines lie between the first
/// change and the last, these are one change.
pub(super) fn diff(old: &[u8], new: &[u8]) -> Vec<Vec<Line>> {
    let (old, new) = (lines(old), lines(new));
    let hunks = hunks(&old, &new);
    let mut groups: Vec<Vec<Hunk>> = Vec::new();
    for hunk in hunks {
        let is_near = |last: &Hunk| hunk.after.start.saturating_sub(last.after.end) <= 2 * AROUND;
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(is_near) => group.push(hunk),
            _ => groups.push(vec![hunk]),
        }
    }
    groups.iter().map(|group| shown(group, &old, &new)).collect()
}

/// What changed, in order.
fn hunks(old: &[Cow<'_, str>], new: &[Cow<'_, str>]) -> Vec<Hunk> {
    let same = |(one, other): &(&Cow<'_, str>, &Cow<'_, str>)| one == other;
    let before = old.iter().zip(new).take_while(same).count();
    let (old, new) = (old.get(before..).unwrap_or_default(), new.get(before..).unwrap_or_default());
    let behind = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    let inner = |of: &[Cow<'_, str>]| u32::try_from(of.len() - behind).unwrap_or(u32::MAX);
    let (from, removed, added) = (u32::try_from(before).unwrap_or(u32::MAX), inner(old), inner(new));
    if removed.max(added) as usize > MOST_SEARCHED {
        return vec![Hunk { before: from..from + removed, after: from..from + added }];
    }
    let interner = Interner::new((removed + added) as usize);
    let mut input = InternedInput { before: Vec::new(), after: Vec::new(), interner };
    input.update_before(old.iter().take(removed as usize).map(|line| &**line));
    input.update_after(new.iter().take(added as usize).map(|line| &**line));
    let mut found = Diff::compute(Algorithm::Myers, &input);
    found.postprocess_no_heuristic(&input);
    let moved = |range: std::ops::Range<u32>| range.start + from..range.end + from;
    found.hunks().map(|hunk| Hunk { before: moved(hunk.before), after: moved(hunk.after) }).collect()
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
    use proptest::collection::vec;
    use proptest::prelude::*;

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

    /// Half a megabyte each, as a site may send: what takes the square of it takes minutes here.
    #[test]
    fn files_of_the_largest_size_end_in_time() {
        type File = fn(usize) -> String;
        let shapes: [(&str, File); 5] = [
            ("lines that come again", |seed| (0..60_000).map(|n| format!("{}\n", (n * seed) % 7919)).collect()),
            ("every second line is another", |seed| (0..30_000).map(|n| format!("/{n:x}\n{seed}{n:x}\n")).collect()),
            ("the same lines in another order", |seed| {
                (0..60_000).map(|n| format!("{}\n", (n * seed) % 60_013)).collect()
            }),
            ("no line of the other", |seed| (0..60_000).map(|n| format!("{seed}{n:x}\n")).collect()),
            ("two lines alone", |seed| {
                (0..250_000).map(|n| if (n * n / seed) % 3 == 0 { "a\n" } else { "b\n" }).collect()
            }),
        ];
        for (what, file) in shapes {
            assert!(!diff(file(31).as_bytes(), file(37).as_bytes()).is_empty(), "{what}");
        }
    }

    proptest! {
        /// What is told, taken from the new file and put back, gives the old one; groups are in order, and have no line in common.
        #[test]
        fn what_is_told_is_what_changed(old in vec(0..5_u8, 0..30), new in vec(0..5_u8, 0..30)) {
            let text = |lines: &[u8]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let (old, new) = (text(&old), text(&new));
            let (before, after) = (lines(old.as_bytes()), lines(new.as_bytes()));
            let told = diff(old.as_bytes(), new.as_bytes());
            prop_assert_eq!(told.is_empty(), before == after);
            let told = told.concat();
            let numbers = |is: fn(char) -> bool| told.iter().filter(|line| is(line.sign)).map(|line| line.number).collect::<Vec<_>>();
            let (removed, added) = (numbers(|sign| sign == '-'), numbers(|sign| sign == '+'));
            let kept = before.iter().zip(1..).filter(|(_, number)| !removed.contains(number)).map(|(line, _)| line);
            let same = after.iter().zip(1..).filter(|(_, number)| !added.contains(number)).map(|(line, _)| line);
            prop_assert!(kept.eq(same), "{:?}", told);
            prop_assert!(numbers(|sign| sign != '-').windows(2).all(|two| two[0] < two[1]), "{:?}", told);
        }
    }
}
