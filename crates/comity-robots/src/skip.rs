//! Passing over lines that cannot be of interest, many bytes at a time.
//!
//! A line is of interest by the letters that its key starts with, and a key is at the start of its line, or behind blanks there. Whether
//! any of 64 bytes can be the first of such a key is asked of all of them alike, without a branch, so that the compiler takes sixteen
//! together. What looks like a key behind two blanks or a control character inside a line is a false alarm, and costs little.

use memchr::memrchr2;

use crate::bytes::chunk;
use crate::lines::{end_of_line, start_of_next};

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// Bytes that are read line by line before a search, which would not pay for fewer.
pub(crate) const DELAY: usize = 256;

/// These, two before and one behind them.
const AROUND: usize = 2 + BLOCK + 1;

/// Which keys are of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// User-agent lines.
    Agents,
    /// These, and those of signals.
    AgentsAndSignals,
}

/// Where reading goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// Where a line starts.
    pub(crate) at: usize,
    /// Lines that end before it, of those from where the search started.
    pub(crate) lines: u32,
    /// From where on it is worth searching again.
    pub(crate) again: usize,
}

/// Passes over lines from the start of one on, which is not the first of the text, as long as they cannot be of interest. Cost: linear
/// in what is passed over.
pub(crate) fn skip(text: &[u8], start: usize, wanted: Wanted) -> Skipped {
    let (mut start, mut at, mut lines, mut again) = (start, start, 0_u32, usize::MAX);
    while let Some(around) = at.checked_sub(2).and_then(|before| chunk::<AROUND>(text, before)) {
        let found = match wanted {
            Wanted::Agents => agents(around),
            Wanted::AgentsAndSignals => agents_and_signals(around),
        };
        if found.key {
            again = at + BLOCK;
            break;
        }
        at += BLOCK;
        lines = lines.saturating_add(found.line_ends.into());
        // Its last byte.
        if found.line_ends == 0 && around[AROUND - 2] > b' ' {
            // A long line, of which more than blanks has been seen, so no key starts in the rest; its end is found quicker.
            (start, at, lines) = next_line(text, at, lines);
        }
    }
    // Back to the start of the line: its key may be what was found.
    let passed = text.get(start..at).unwrap_or_default();
    let at = memrchr2(b'\n', b'\r', passed).map_or(start, |end| start + end + 1);
    Skipped { at, lines, again }
}

/// The start of the line behind the one that a place is in, twice, and how many lines end before it.
#[inline(always)]
fn next_line(text: &[u8], at: usize, lines: u32) -> (usize, usize, u32) {
    let next = start_of_next(text, end_of_line(text, at));
    (next, next, lines.saturating_add(1))
}

/// What a block holds.
struct Found {
    /// A key of interest starts there, maybe.
    key: bool,
    /// Lines that end there, with the last byte of their end.
    line_ends: u8,
}

#[inline(never)]
fn agents(around: &[u8; AROUND]) -> Found {
    look(around, |[first, second]| (first == b'u') & (second == b's'))
}

#[inline(never)]
fn agents_and_signals(around: &[u8; AROUND]) -> Found {
    look(around, |[first, second]| {
        ((first == b'u') & (second == b's'))
            | ((first == b'c') & (second == b'o'))
            | ((first == b'l') & ((second == b'i') | (second == b'l')))
            | ((first == b'd') & (second == b'i'))
            | ((first == b'a') & (second == b'l'))
    })
}

/// Looks at every byte of a block. There is no branch in it: the bits are put together by `&` and `|` alone.
#[inline(always)]
fn look(around: &[u8; AROUND], is_wanted: impl Fn([u8; 2]) -> bool) -> Found {
    let mut found = Found { key: false, line_ends: 0 };
    for at in 0..BLOCK {
        let (before, blank, first, second) = (around[at], around[at + 1], around[at + 2], around[at + 3]);
        let starts = (blank < b' ') | ((blank == b' ') & (before <= b' '));
        found.key |= starts & is_wanted([first | 0x20, second | 0x20]);
        found.line_ends += u8::from((first == b'\n') | ((first == b'\r') & (second != b'\n')));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::{Lines, content, key_value};
    use crate::record::{Kind, classify};
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    fn is_of_interest(line: &[u8], wanted: Wanted) -> bool {
        let kinds = key_value(content(line)).map(|parts| classify(parts.key)).unwrap_or_default();
        kinds.into_iter().flatten().any(|kind| match kind {
            Kind::Agent => true,
            Kind::Extension(kind) => wanted == Wanted::AgentsAndSignals && kind.is_signal(),
            Kind::Rule(_) | Kind::Sitemap => false,
        })
    }

    /// From every line on: where it ends is the start of a line, with the number that it has; nothing of interest is passed over.
    fn check(text: &str) {
        let lines: Vec<_> = Lines::new(text.as_bytes()).collect();
        for from in lines.iter().filter(|line| line.start >= 2) {
            for wanted in [Wanted::Agents, Wanted::AgentsAndSignals] {
                let skipped = skip(text.as_bytes(), from.start, wanted);
                let passed: Vec<_> =
                    lines.iter().filter(|line| (from.start..skipped.at).contains(&line.start)).collect();
                assert!(passed.iter().all(|line| !is_of_interest(line.bytes, wanted)), "{text:?} {wanted:?}");
                if let Some(next) = lines.iter().find(|line| line.start >= skipped.at) {
                    // In the middle of CR LF the rest of the end is a line for itself, in place of the one that it ends.
                    let splits = text.as_bytes().get(skipped.at.wrapping_sub(1)..=skipped.at) == Some(b"\r\n");
                    assert_eq!(next.number, from.number + skipped.lines + u32::from(splits), "{text:?} {wanted:?}");
                    assert!(splits || next.start == skipped.at, "{text:?} {wanted:?}");
                }
                assert!(skipped.again > from.start);
            }
        }
    }

    #[test]
    fn nothing_of_interest_is_passed_over_whatever_stands_before_it() {
        let keys = ["user-agent:a", "Useragent: b", "USER AGENT:c", "Content-Signal: a", "license:x", "LLM-policy: x"];
        let others = ["DisallowAITraining: /", "allowAITraining:/", "disallow: /", "sitemap: x", "<a>", "", "\t"];
        for key in keys.into_iter().chain(others) {
            for (end, blanks) in [("\n", ""), ("\r\n", " "), ("\r", "\t"), ("\n\r", "  \u{b}"), ("\r\r\n", "\u{c}")] {
                for length in (0..4).chain(BLOCK - 6..BLOCK + 6).chain([2 * BLOCK - 1, 2 * BLOCK]) {
                    let filler = "x".repeat(length);
                    check(&format!("ab{end}{filler}{end}{blanks}{key}{end}{filler}{end}{key}{end}"));
                    check(&format!("ab{end}{}{key}{end}{filler}", end.repeat(length)));
                    check(&format!("ab{end}{}{key}{end}{filler}", " ".repeat(length)));
                }
            }
        }
    }

    #[test]
    fn long_lines_are_passed_over_in_one_step() {
        let text = format!("ab\n{}\n{}user-agent: a\n", "x ".repeat(50_000), "y: z\r\n".repeat(100));
        let skipped = skip(text.as_bytes(), 3, Wanted::Agents);
        assert!(text[..skipped.at].ends_with('\n') && text.len() - skipped.at < 2 * BLOCK);
        check(&text[text.len() - 1000..]);
    }

    proptest::proptest! {
        #[test]
        fn any_pieces(pieces in proptest::collection::vec(0_usize..20, 0..120)) {
            let kinds = [
                "\n", "\r", "\r\n", " ", "\t", "us", "user-agent", "useragent", ":", "content-usage", "license", "#", "x", "é",
                "\0", "\u{b}", "llm-policy", "disallowaitraining:", "a long piece of some text", "  ",
            ];
            check(&pieces.into_iter().map(|piece| kinds[piece]).collect::<String>());
        }
    }
}
