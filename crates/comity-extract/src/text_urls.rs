//! URLs in running text, which comes in pieces cut anywhere between characters.
//!
//! No standard says where they end; the rules are our choice, along what people write: see
//! [`PageOptions::with_text_urls`](crate::PageOptions::with_text_urls).

use std::borrow::Cow;

use memchr::memmem;

use crate::attribute;

const SCHEMES: [&str; 2] = ["http://", "https://"];
/// No scheme is longer.
const LONGEST: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No URL, behind a character that may be part of another scheme or not.
    Between {
        in_word: bool,
    },
    /// In what may become a scheme.
    Scheme,
    Within,
    /// In a run that is too long.
    TooLong,
}

/// What may hold URLs: from a scheme up to what ends one, character references as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Run<'a> {
    Whole(&'a str),
    TooLong,
}

/// Reads text up to its next interruption.
#[derive(Debug)]
pub(crate) struct TextUrls {
    state: State,
    run: String,
    most: usize,
}

impl TextUrls {
    /// `most` bytes of a run are kept.
    pub(crate) fn new(most: usize) -> Self {
        Self { state: State::Between { in_word: false }, run: String::new(), most }
    }

    pub(crate) fn read(&mut self, text: &str, each: &mut impl FnMut(Run<'_>)) {
        let mut rest = text;
        while !rest.is_empty() {
            let read = match self.state {
                State::Between { in_word } => self.between(in_word, rest),
                State::Scheme => self.scheme(rest),
                State::Within => self.within(rest, each),
                State::TooLong => self.pass(rest),
            };
            rest = rest.get(read..).unwrap_or_default();
        }
    }

    /// A tag, or the end of the page.
    pub(crate) fn end(&mut self, each: &mut impl FnMut(Run<'_>)) {
        if self.state == State::Within {
            each(Run::Whole(&self.run));
        }
        self.leave(false);
    }

    fn leave(&mut self, in_word: bool) {
        self.run.clear();
        self.state = State::Between { in_word };
    }

    fn between(&mut self, mut in_word: bool, rest: &str) -> usize {
        // Before this no scheme begins that is whole in the text, or may go on in the next piece.
        let found = memmem::find(rest.as_bytes(), b"://").unwrap_or(rest.len());
        let from = rest.floor_char_boundary(found.saturating_sub(LONGEST));
        let (passed, near) = rest.split_at(from);
        if let Some(last) = passed.chars().next_back() {
            in_word = is_word(last);
        }
        for (at, c) in near.char_indices() {
            if !in_word && matches!(c, 'h' | 'H') {
                self.state = State::Scheme;
                return from + at;
            }
            in_word = is_word(c);
        }
        self.state = State::Between { in_word };
        rest.len()
    }

    fn scheme(&mut self, rest: &str) -> usize {
        for (at, c) in rest.char_indices() {
            let in_word = self.run.chars().next_back().is_some_and(is_word);
            self.run.push(c);
            match SCHEMES.iter().find(|scheme| starts_with(scheme, &self.run)) {
                Some(scheme) if scheme.len() == self.run.len() => {
                    self.state = State::Within;
                    return at + 1;
                }
                Some(_) => {}
                None => {
                    self.leave(in_word);
                    return at;
                }
            }
        }
        rest.len()
    }

    fn within(&mut self, rest: &str, each: &mut impl FnMut(Run<'_>)) -> usize {
        let end = rest.find(is_end);
        let piece = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        if self.run.len().saturating_add(piece.len()) > self.most {
            each(Run::TooLong);
            self.run.clear();
            self.state = State::TooLong;
            return piece.len();
        }
        self.run.push_str(piece);
        if end.is_some() {
            each(Run::Whole(&self.run));
            self.leave(false);
        }
        piece.len()
    }

    fn pass(&mut self, rest: &str) -> usize {
        let Some(end) = rest.find(is_end) else { return rest.len() };
        self.leave(false);
        end
    }
}

/// The URLs of a run: decoded it may hold characters that end one, and then others.
pub(crate) fn urls(run: &str, each: &mut impl FnMut(&str)) {
    let mut whole = |run: Run<'_>| {
        if let Run::Whole(text) = run
            && let Some(url) = trimmed(text)
        {
            each(url);
        }
    };
    match attribute::text(run) {
        Cow::Borrowed(text) => whole(Run::Whole(text)),
        Cow::Owned(decoded) => {
            let mut again = TextUrls::new(usize::MAX);
            again.read(&decoded, &mut whole);
            again.end(&mut whole);
        }
    }
}

/// Without the punctuation of the sentence around it; `None` for what is cut short, or has no host.
fn trimmed(text: &str) -> Option<&str> {
    let surplus = |open: char, close: char| text.matches(close).count().saturating_sub(text.matches(open).count());
    let (mut round, mut square) = (surplus('(', ')'), surplus('[', ']'));
    let without = |c: char| match c {
        '.' | ',' | ';' | ':' | '!' | '?' | '\'' => true,
        ')' => take_one(&mut round),
        ']' => take_one(&mut square),
        _ => false,
    };
    let kept = text.trim_end_matches(without);
    if kept.contains('\u{2026}') || text.get(kept.len()..).is_some_and(|cut| cut.contains("...")) {
        return None;
    }
    let (_, behind) = kept.split_once("://")?;
    behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[' || !c.is_ascii()).then_some(kept)
}

fn take_one(count: &mut usize) -> bool {
    let some = *count > 0;
    *count = count.saturating_sub(1);
    some
}

fn starts_with(scheme: &str, run: &str) -> bool {
    scheme.get(..run.len()).is_some_and(|start| start.eq_ignore_ascii_case(run))
}

/// Before a scheme it makes another one of it: `xhttp:`, `git+https:`.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '+'
}

/// White space, what no URL may hold unescaped, and the quotes and stops of scripts that write no blanks.
fn is_end(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || "<>\"`{}|\\^".contains(c)
        || "\u{200b}\u{feff}«»‹›‘’‚‛“”„‟。、，；：？！（）「」『』【】《》〈〉".contains(c)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{prop_assert_eq, proptest};
    use proptest::sample::select;

    use super::*;

    fn read<'a>(most: usize, pieces: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut reader = TextUrls::new(most);
        let mut found = Vec::new();
        let mut each = |run: Run<'_>| match run {
            Run::Whole(run) => urls(run, &mut |url| found.push(url.to_owned())),
            Run::TooLong => found.push("too long".to_owned()),
        };
        pieces.into_iter().for_each(|piece| reader.read(piece, &mut each));
        reader.end(&mut each);
        found
    }

    proptest! {
        /// Cut between any two characters, and against a reading that jumps nowhere.
        #[test]
        fn pieces_change_nothing(words in vec(select(&[
            "http", "https", "HTTPS", "s", ":", "/", "://", "h", "x", " ", ".", "(", ")", "é", "&amp;", "&gt;", "+", "…", "、", "...", "a.test",
        ][..]), 0..40)) {
            let text = words.concat();
            let places: Vec<usize> = text.char_indices().map(|(place, c)| place + c.len_utf8()).collect();
            let mut start = 0;
            let single: Vec<&str> = places.iter().map(|end| &text[std::mem::replace(&mut start, *end)..*end]).collect();
            for most in [20, 8192] {
                prop_assert_eq!(read(most, single.iter().copied()), read(most, [text.as_str()]));
                for place in &places {
                    let (before, behind) = text.split_at(*place);
                    prop_assert_eq!(read(most, [before, behind]), read(most, [text.as_str()]));
                }
            }
        }
    }
}
