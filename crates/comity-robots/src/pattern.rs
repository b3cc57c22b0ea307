//! Path patterns: prefix match with `*` and a final `$`, in linear time.

use alloc::borrow::Cow;
use alloc::boxed::Box;

use memchr::memmem;

use crate::Dialect;
use crate::bytes;
use crate::normal::{rule_form, target_form};

/// A path pattern as allow and disallow rules use it, for other records that borrow their syntax (`Content-Usage` paths,
/// `location` of TDMRep).
///
/// ```
/// # use comity_robots::{Dialect, Pattern};
/// let pattern = Pattern::new(b"/*.pdf$", Dialect::Standard);
/// assert!(pattern.matches(b"/a/b.pdf"));
/// assert!(!pattern.matches(b"/a/b.pdf?x"));
/// assert_eq!(pattern.priority(), 7);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    text: Box<[u8]>,
    dialect: Dialect,
}

impl Pattern {
    /// Takes a pattern as written and brings it to the form in which `dialect` compares it.
    #[must_use]
    pub fn new(raw: &[u8], dialect: Dialect) -> Self {
        Self { text: rule_form(raw, dialect).into_owned().into_boxed_slice(), dialect }
    }

    /// Whether the pattern matches a target (path and query, starting with `/`) from its first byte on. Linear in pattern
    /// and target together. The empty pattern matches everything.
    #[must_use]
    pub fn matches(&self, target: &[u8]) -> bool {
        let target: Cow<'_, [u8]> = target_form(target, self.dialect);
        let (pattern, end) = split_end(&self.text);
        matches(pattern, end, &target)
    }

    /// The place of the first of `patterns` that matches `target`: as [`Self::matches`] of each in turn, and the form in which
    /// the target is compared is worked out once.
    #[must_use]
    pub fn first_match<'p>(patterns: impl IntoIterator<Item = &'p Self>, target: &[u8]) -> Option<usize> {
        let standard = target_form(target, Dialect::Standard);
        patterns.into_iter().position(|pattern| {
            let form = if pattern.dialect == Dialect::Standard { &*standard } else { target };
            let (text, end) = split_end(&pattern.text);
            matches(text, end, form)
        })
    }

    pub(crate) const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Length of the escaped pattern in octets, `*` and `$` counted: the longer of two matching patterns wins (RFC 9309
    /// §2.2.2).
    #[must_use]
    pub fn priority(&self) -> u32 {
        u32::try_from(self.text.len()).unwrap_or(u32::MAX)
    }

    /// The pattern in the form in which it is compared.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }
}

/// Where a match has to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Anywhere: a prefix of the target is enough.
    Open,
    /// At the end of the target: the pattern ended in `$`.
    Anchored,
}

/// Takes the `$` off the end of a pattern; it is special nowhere else (RFC 9309 §2.2.3, Google's parser).
pub(crate) const fn split_end(pattern: &[u8]) -> (&[u8], End) {
    match pattern {
        [rest @ .., b'$'] => (rest, End::Anchored),
        _ => (pattern, End::Open),
    }
}

/// Whether `pattern`, its final `$` taken off, matches `target`.
pub(crate) fn matches(pattern: &[u8], end: End, target: &[u8]) -> bool {
    let Some((literal, tail)) = bytes::find(b'*', pattern).and_then(|star| pattern.split_at_checked(star)) else {
        return match end {
            End::Open => target.starts_with(pattern),
            End::Anchored => target == pattern,
        };
    };
    target.strip_prefix(literal).is_some_and(|left| matches_tail(tail, end, left))
}

/// The same for a pattern that starts with `*`.
///
/// With `*` as the only wildcard the leftmost place of each piece never loses a match: it leaves the most to the pieces
/// behind it. Only the last piece before `$` has a fixed place, the end of the target. Each piece is searched once in what
/// the pieces before it left, by linear search, so no pattern is slow.
pub(crate) fn matches_tail(tail: &[u8], end: End, target: &[u8]) -> bool {
    let (mut pieces, mut left) = (tail, target);
    // `pieces` always starts at a star here.
    while let [_, rest @ ..] = pieces {
        let Some((piece, next)) = bytes::find(b'*', rest).and_then(|star| rest.split_at_checked(star)) else {
            return match end {
                End::Open => find(rest, left).is_some(),
                End::Anchored => left.ends_with(rest),
            };
        };
        let Some(after) = find(piece, left).and_then(|at| left.get(at + piece.len()..)) else { return false };
        (left, pieces) = (after, next);
    }
    true
}

/// The leftmost place of `piece` in `text`.
fn find(piece: &[u8], text: &[u8]) -> Option<usize> {
    match piece {
        [] => Some(0),
        [byte] => bytes::find(*byte, text),
        [first, second, rest @ ..] if text.len() <= bytes::SHORT => find_short([*first, *second], rest, text),
        _ => memmem::find(text, piece),
    }
}

/// Goes from one first pair to the next, which in short texts beats a search that prepares itself; so short that it stays cheap
/// for the worst of pieces.
fn find_short([a, b]: [u8; 2], rest: &[u8], text: &[u8]) -> Option<usize> {
    for at in (0..text.len()).step_by(8) {
        // Above the lowest mark there may be more than there should.
        let mut marks = bytes::equals(bytes::word(text, at), a) & bytes::equals(bytes::word(text, at + 1), b);
        while marks != 0 {
            let place = at + marks.trailing_zeros() as usize / 8;
            if let Some([first, second, left @ ..]) = text.get(place..)
                && (*first, *second) == (a, b)
                && left.starts_with(rest)
            {
                return Some(place);
            }
            marks &= marks - 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn rows() {
        let rows = [
            ("/", "/a", true),
            ("/fish", "/fish.html", true),
            ("/fish", "/Fish", false),
            ("/fish*", "/fishheads/yummy.html", true),
            ("/*.php$", "/a.php", true),
            ("/*.php$", "/a.php?x", false),
            ("/*.php$", "/a.php5", false),
            ("/fish*.php", "/fishheads/catfish.php?parameters", true),
            ("/*b$", "/abab", true),
            ("*/pdf/*", "/x/pdf/a", true),
            ("/a$b", "/a$b", true),
            ("/a$$", "/a$", true),
            ("/a$$", "/a", false),
            ("/a$*", "/a$xyz", true),
            ("/a*$", "/abc", true),
            ("/a*$", "/b", false),
            ("*$", "/anything", true),
            ("$", "/", false),
            ("/$", "/", true),
            ("/$", "/a", false),
            ("/**a", "/xxa", true),
            ("/a*a$", "/a", false),
            ("/ab*ab$", "/abab", true),
            ("/ab*ab$", "/ab", false),
            ("/aba*aba$", "/ababa", false),
            ("", "/x", true),
        ];
        for (pattern, target, wanted) in rows {
            let answer = Pattern::new(pattern.as_bytes(), Dialect::Google).matches(target.as_bytes());
            assert_eq!(answer, wanted, "{pattern} on {target}");
        }
    }

    #[test]
    fn the_first_of_many_is_the_first_that_matches_alone() {
        let texts =
            ["/x$", "/%C3%A9", "/\u{e9}a", "/%41", "/%2541", "/a%2fb", "/~a", "/b*c", "/%%34%31", "/A", "/%zz", ""];
        let all: Vec<_> = [Dialect::Google, Dialect::Standard]
            .iter()
            .flat_map(|dialect| texts.map(|text| Pattern::new(text.as_bytes(), *dialect)))
            .collect();
        let targets =
            ["/", "/x", "/\u{e9}", "/%c3%a9a", "/%41", "/A", "/%2541", "/a%2Fb", "/%7Ea", "/bxc", "/%%34%31", "/%ZZ"];
        for target in targets.map(str::as_bytes) {
            for from in 0..=all.len() {
                let wanted = all[from..].iter().position(|pattern| pattern.matches(target));
                let shown = target.escape_ascii();
                assert_eq!(Pattern::first_match(&all[from..], target), wanted, "{shown} from {from}");
            }
        }
    }
}
