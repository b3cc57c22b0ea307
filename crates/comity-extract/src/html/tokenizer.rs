//! The states between tags.

use memchr::memchr;

use super::Tree;
use super::script::{Next, Script, raw_text, script};
use super::tag::{self, Passed, StartTag, Values, Within};

/// What the text behind a start tag is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Markup,
    /// Text up to the end tag of this name.
    Raw(&'static str),
    Script,
    /// Text up to the end of the page.
    Plain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Markup,
    Raw(&'static str),
    Script(Script),
    Plain,
    Comment,
    /// What is read up to the next `>`: doctypes, processing instructions and other false comments.
    FalseComment,
    CdataSection,
    /// A tag that was too long to be kept; what its content will be.
    LongTag(Within, Content),
}

/// Reads markup in UTF-8, in chunks cut anywhere between characters. Holds one unfinished tag, and otherwise nothing.
///
/// Source: the HTML standard, "Tokenization", for a parser that runs no scripts.
#[derive(Debug)]
pub(crate) struct Tokenizer {
    state: State,
    /// What could not be read yet.
    rest: Vec<u8>,
    /// Bytes of `rest` before another try: twice as many each time, so that a long tag costs no square.
    wanted: usize,
    /// Bytes of a tag that is kept.
    limit: usize,
    /// Room for the attributes of a tag, which is copied nowhere.
    values: Values,
}

/// Bytes by which an unfinished tag grows at the least, before another try.
const PIECE: usize = 512;

/// How far a state came.
enum Step {
    /// So many bytes are done with.
    On(usize),
    /// The same, and more bytes are needed.
    More(usize),
}

impl Tokenizer {
    /// `limit` bytes of one tag are kept, a kilobyte at the least and two gigabytes at the most.
    pub(crate) fn new(limit: usize) -> Self {
        let limit = limit.clamp(1 << 10, 1 << 31);
        Self { state: State::Markup, rest: Vec::new(), wanted: 0, limit, values: Values::default() }
    }

    pub(crate) fn write(&mut self, chunk: &[u8], tree: &mut Tree) {
        let chunk = self.end_rest(chunk, tree);
        if chunk.is_empty() {
            return;
        }
        let read = self.run(chunk, tree);
        self.rest.extend_from_slice(chunk.get(read..).unwrap_or_default());
    }

    /// Reads on in what is left of earlier chunks, with no more of this one than that takes; gives what is still to be read, where
    /// it stands.
    fn end_rest<'a>(&mut self, chunk: &'a [u8], tree: &mut Tree) -> &'a [u8] {
        let mut taken = 0;
        while !self.rest.is_empty() {
            let ahead = chunk.get(taken..).unwrap_or_default();
            let missing = self.wanted.saturating_sub(self.rest.len()).max(self.rest.len()).max(PIECE);
            let piece = ahead.get(..char_end(ahead, missing)).unwrap_or(ahead);
            self.rest.extend_from_slice(piece);
            taken += piece.len();
            if self.rest.len() < self.wanted {
                return &[];
            }
            self.run_rest(tree);
            if self.rest.len() <= taken {
                // All that is left is of this chunk.
                taken -= self.rest.len();
                self.rest.clear();
            } else if taken == chunk.len() {
                return &[];
            }
        }
        chunk.get(taken..).unwrap_or_default()
    }

    /// The end of the page: an unfinished tag is none, unfinished text is text.
    pub(crate) fn finish(&mut self, tree: &mut Tree) {
        self.run_rest(tree);
        if let State::Raw(name) = self.state
            && !matches!(raw_text(&self.rest, name.as_bytes()), Next::EndTag(_))
        {
            tree.raw_text(&self.rest);
        }
    }

    fn run_rest(&mut self, tree: &mut Tree) {
        let mut rest = std::mem::take(&mut self.rest);
        let read = self.run(&rest, tree);
        rest.drain(..read);
        self.rest = rest;
    }

    /// Answers how many bytes are done with.
    fn run(&mut self, bytes: &[u8], tree: &mut Tree) -> usize {
        self.wanted = 0;
        let mut place = 0;
        while let Some(rest) = bytes.get(place..).filter(|rest| !rest.is_empty()) {
            match self.step(rest, tree) {
                Step::On(read) => place += read,
                Step::More(read) => return place + read,
            }
        }
        place
    }

    fn step(&mut self, rest: &[u8], tree: &mut Tree) -> Step {
        match self.state {
            State::Markup => self.markup(rest, tree),
            State::Raw(name) => self.raw(raw_text(rest, name.as_bytes()), rest, tree),
            State::Script(state) => self.raw(script(state, rest), rest, tree),
            State::Plain => Step::On(rest.len()),
            State::Comment => self.until(rest, &[b"--", b"--!"]),
            State::FalseComment => self.until(rest, &[b""]),
            State::CdataSection => self.until(rest, &[b"]]"]),
            State::LongTag(within, content) => self.long_tag(within, content, rest),
        }
    }

    fn markup(&mut self, rest: &[u8], tree: &mut Tree) -> Step {
        let Some(at) = memchr(b'<', rest) else {
            tree.text(rest);
            return Step::On(rest.len());
        };
        let (text, tag) = rest.split_at(at);
        tree.text(text);
        tree.text_end();
        match tag {
            [_, letter, ..] if letter.is_ascii_alphabetic() => self.tag(at, tag, 1, tree),
            [_, b'/', letter, ..] if letter.is_ascii_alphabetic() => self.tag(at, tag, 2, tree),
            [_, b'/', b'>', ..] => Step::On(at + 3),
            [_, b'/', _, ..] => self.enter(State::FalseComment, at + 2),
            [_, b'?', ..] => self.enter(State::FalseComment, at + 1),
            [_, b'!', ..] => self.declaration(at, tag, tree.is_foreign()),
            [_] | [_, b'/'] => Step::More(at),
            _ => {
                tree.text(b"<");
                Step::On(at + 1)
            }
        }
    }

    fn enter(&mut self, state: State, read: usize) -> Step {
        self.state = state;
        Step::On(read)
    }

    /// `<!`.
    fn declaration(&mut self, at: usize, tag: &[u8], is_foreign: bool) -> Step {
        const CDATA: &[u8] = b"<![CDATA[";
        if let Some(comment) = tag.strip_prefix(b"<!--") {
            return match comment {
                [b'>', ..] => Step::On(at + 5),
                [b'-', b'>', ..] => Step::On(at + 6),
                [] | [b'-'] => Step::More(at),
                _ => self.enter(State::Comment, at + 4),
            };
        }
        if is_foreign && tag.starts_with(CDATA) {
            return self.enter(State::CdataSection, at + CDATA.len());
        }
        if b"<!--".starts_with(tag) || (is_foreign && CDATA.starts_with(tag)) {
            return Step::More(at);
        }
        self.enter(State::FalseComment, at + 2)
    }

    /// Up to a `>` behind one of these.
    fn until(&mut self, rest: &[u8], endings: &[&[u8]]) -> Step {
        let mut from = 0;
        while let Some(found) = rest.get(from..).and_then(|rest| memchr(b'>', rest)) {
            let at = from + found;
            if rest.get(..at).is_some_and(|before| endings.iter().any(|ending| before.ends_with(ending))) {
                return self.enter(State::Markup, at + 1);
            }
            from = at + 1;
        }
        // What may be the start of an ending is looked at again.
        Step::More(rest.len().saturating_sub(3))
    }

    fn raw(&mut self, next: Next, rest: &[u8], tree: &mut Tree) -> Step {
        let (Next::EndTag(read) | Next::State(_, read) | Next::More(read)) = next;
        match self.state {
            State::Raw(_) => tree.raw_text(rest.get(..read).unwrap_or_default()),
            State::Script(_) => {
                tree.script_text(rest.get(..read).unwrap_or_default(), matches!(next, Next::EndTag(_)));
            }
            _ => {}
        }
        match next {
            Next::More(_) => Step::More(read),
            Next::State(state, _) => self.enter(State::Script(state), read),
            Next::EndTag(_) => self.tag(read, rest.get(read..).unwrap_or_default(), 2, tree),
        }
    }

    fn tag(&mut self, at: usize, bytes: &[u8], name_start: usize, tree: &mut Tree) -> Step {
        let forms = tree.collector.reads_forms();
        if let Some(tag) = tag::read(bytes, name_start, self.limit, forms, &mut self.values) {
            let (content, len) = (take(name_start, &tag.start, tree), tag.len);
            if len > self.limit {
                tree.tag_cut();
            }
            return self.enter(State::of(content), at + len);
        }
        if bytes.len() <= self.limit {
            self.wanted = (bytes.len() * 2).min(self.limit + 1);
            return Step::More(at);
        }
        // Its end is not known yet, and what it would do is done now, as if it had no attributes.
        tree.tag_cut();
        let content = take(name_start, &StartTag::without_attributes(tag::name(bytes, name_start)), tree);
        let from = bytes.get(name_start..).unwrap_or_default();
        let within = match tag::pass(Within::TagName, from) {
            Passed::Within(within) => within,
            // It was not whole a moment ago.
            Passed::End(_) => Within::TagName,
        };
        self.enter(State::LongTag(within, content), at + bytes.len())
    }

    fn long_tag(&mut self, within: Within, content: Content, rest: &[u8]) -> Step {
        match tag::pass(within, rest) {
            Passed::Within(within) => self.enter(State::LongTag(within, content), rest.len()),
            Passed::End(read) => self.enter(State::of(content), read),
        }
    }
}

/// `at`, or where the character ends that it lies within: text is passed on in whole characters.
fn char_end(text: &[u8], at: usize) -> usize {
    let is_inside = |byte: &&u8| matches!(byte, 0x80..=0xbf);
    at + text.get(at..).unwrap_or_default().iter().take_while(is_inside).count()
}

/// Gives the tree a start tag, or an end tag, whose name begins behind the slash.
fn take(name_start: usize, tag: &StartTag<'_>, tree: &mut Tree) -> Content {
    if name_start == 1 {
        return tree.start_tag(tag);
    }
    tree.end_tag(tag.name);
    Content::Markup
}

impl State {
    fn of(content: Content) -> Self {
        match content {
            Content::Markup => Self::Markup,
            Content::Raw(name) => Self::Raw(name),
            Content::Script => Self::Script(Script::Plain),
            Content::Plain => Self::Plain,
        }
    }
}
