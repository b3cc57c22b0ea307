//! Texts with `*`, matched in linear time.

/// Literal pieces with any run of bytes between them; the first stands at the start of the text, the last
/// at its end when `anchored`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Glob {
    first: Box<str>,
    pieces: Box<[Box<str>]>,
    anchored: bool,
}

impl Glob {
    /// `pattern` is without its final `$`, which `anchored` stands for; `**` is `*`.
    pub(crate) fn new(pattern: &str, anchored: bool) -> Self {
        let (first, rest) = pattern.split_once('*').map_or((pattern, None), |(first, rest)| (first, Some(rest)));
        let pieces = rest.map_or_else(Vec::new, |rest| rest.split('*').map(Box::from).collect());
        Self { first: first.into(), pieces: pieces.into(), anchored }
    }

    /// Each piece is taken where it first occurs, which leaves the most room for those after it; only an
    /// anchored last piece is looked for at the end. So no piece is ever looked for twice.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let Some(mut rest) = text.strip_prefix(&*self.first) else { return false };
        let Some((last, between)) = self.pieces.split_last() else { return !self.anchored || rest.is_empty() };
        for piece in between {
            let Some(tail) = after(rest, piece) else { return false };
            rest = tail;
        }
        if self.anchored { rest.ends_with(&**last) } else { rest.contains(&**last) }
    }
}

fn after<'a>(text: &'a str, piece: &str) -> Option<&'a str> {
    text.split_once(piece).map(|(_, tail)| tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pattern (a final `$` anchors), text, whether it matches.
    const ROWS: &[(&str, &str, bool)] = &[
        ("", "", true),
        ("", "a", true),
        ("$", "", true),
        ("$", "a", false),
        ("a", "ab", true),
        ("a", "ba", false),
        ("a$", "a", true),
        ("a$", "ab", false),
        ("*", "", true),
        ("*$", "ab", true),
        ("**", "ab", true),
        ("a*", "a", true),
        ("a*c", "abcd", true),
        ("a*c$", "abcd", false),
        ("*b$", "abab", true),
        ("a*a$", "a", false),
        ("ab*ba$", "aba", false),
        ("ab*ba$", "abba", true),
        ("*ab*ab$", "ab", false),
        ("*a*b*c", "xcxbxaxbxc", true),
        ("*a*b*c", "cba", false),
        ("a**b", "ab", true),
        ("*ü$", "aü", true),
    ];

    #[test]
    fn rows_match() {
        for &(pattern, text, expected) in ROWS {
            let body = pattern.strip_suffix('$').unwrap_or(pattern);
            let glob = Glob::new(body, body.len() < pattern.len());
            assert_eq!(glob.matches(text), expected, "row {pattern:?} on {text:?}");
        }
    }

    #[test]
    fn agrees_with_a_table_of_positions() {
        let texts: Vec<String> = words(&['a', 'b'], 5);
        for pattern in words(&['a', 'b', '*'], 4) {
            for anchored in [false, true] {
                let glob = Glob::new(&pattern, anchored);
                for text in &texts {
                    let expected = slow(pattern.as_bytes(), text.as_bytes(), anchored);
                    assert_eq!(glob.matches(text), expected, "{pattern:?} anchored {anchored} on {text:?}");
                }
            }
        }
    }

    fn words(letters: &[char], longest: usize) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut start = 0;
        for _ in 0..longest {
            let end = words.len();
            for at in start..end {
                words.extend(letters.iter().map(|letter| format!("{}{letter}", words[at])).collect::<Vec<_>>());
            }
            start = end;
        }
        words
    }

    fn slow(pattern: &[u8], text: &[u8], anchored: bool) -> bool {
        match (pattern, text) {
            ([], _) => !anchored || text.is_empty(),
            ([b'*', rest @ ..], _) => (0..=text.len()).any(|at| slow(rest, &text[at..], anchored)),
            ([p, rest @ ..], [t, tail @ ..]) => p == t && slow(rest, tail, anchored),
            _ => false,
        }
    }
}
