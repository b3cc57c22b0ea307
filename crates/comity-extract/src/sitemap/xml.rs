//! From text that arrives in pieces to the events of XML, read leniently.

use quick_xml::Error;
use quick_xml::Reader;
use quick_xml::errors::SyntaxError;
use quick_xml::events::Event;

use super::elements::Elements;
use super::entries::Entries;
use super::notes::SitemapStop;
use super::reference;
use crate::notes::bump;

/// Text is read in blocks of about this size.
const BLOCK: usize = 64 * 1024;
/// A tag, comment or declaration longer than this is broken: the search for its end is given up.
const LONGEST: usize = 64 * 1024;
/// Broken pieces of markup after which the file is given up; it bounds the work that they make.
const MOST_BROKEN: u32 = 64;

/// The reader of one file.
#[derive(Debug, Default)]
pub(super) struct Xml {
    text: String,
    /// Bytes of `text` that make it worth reading on: doubles while an unfinished piece of markup grows.
    wanted: usize,
    elements: Elements,
    ended: bool,
}

/// Where reading a block came to an end.
enum Stop {
    /// Everything of it was read.
    Read,
    /// From here on a piece of markup is unfinished.
    Unfinished(usize),
    /// Here stands a `<` whose markup cannot be read.
    Broken(usize),
    /// Here the file is over, in the middle of a comment or declaration.
    Cut,
}

impl Xml {
    pub(super) fn push(&mut self, text: &str, out: &mut Entries) {
        if self.is_over() {
            return;
        }
        self.text.push_str(text);
        if self.text.len() >= BLOCK.max(self.wanted) {
            self.read(Turn::More, out);
        }
    }

    /// Ends the file; gives what its elements were.
    pub(super) fn finish(mut self, out: &mut Entries) -> Elements {
        self.read(Turn::Last, out);
        if !self.is_over() {
            self.elements.finish(out);
        }
        self.elements
    }

    const fn is_over(&self) -> bool {
        self.ended || self.elements.is_foreign()
    }

    fn read(&mut self, turn: Turn, out: &mut Entries) {
        self.wanted = 0;
        while !self.is_over() {
            let end = if turn == Turn::Last { self.text.len() } else { whole(&self.text) };
            let block = self.text.get(..end).unwrap_or_default();
            match events(block, turn, &mut self.elements, out) {
                Stop::Read => {
                    self.text.drain(..end);
                    return;
                }
                Stop::Unfinished(from) => {
                    self.text.drain(..from);
                    self.wanted = self.text.len().saturating_mul(2);
                    return;
                }
                Stop::Broken(at) => {
                    self.text.drain(..(at + 1).min(self.text.len()));
                    self.elements.spoil();
                    bump(&mut out.notes.broken_markup);
                    if out.notes.broken_markup >= MOST_BROKEN {
                        out.notes.stop(SitemapStop::Markup);
                        self.ended = true;
                    }
                }
                Stop::Cut => {
                    self.text.clear();
                    return;
                }
            }
        }
    }
}

/// Whether more text follows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    More,
    Last,
}

/// How much of `text` can be read whatever follows: up to the last `<`, or, in a long stretch of plain text, up to a
/// reference that may be unfinished.
fn whole(text: &str) -> usize {
    if let Some(at) = text.rfind('<').filter(|at| *at > 0) {
        return at;
    }
    if text.starts_with('<') {
        return 0;
    }
    let mut tail = text.len().saturating_sub(reference::LONGEST + 2);
    while !text.is_char_boundary(tail) {
        tail -= 1;
    }
    let pending = text.get(tail..).and_then(|end| end.rfind('&'));
    pending.map_or(text.len(), |at| tail + at)
}

fn events(block: &str, turn: Turn, elements: &mut Elements, out: &mut Entries) -> Stop {
    let mut reader = Reader::from_str(block);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    loop {
        let start = place(reader.buffer_position());
        match reader.read_event() {
            Ok(Event::Eof) => {
                return if turn == Turn::More && block.is_empty() { Stop::Unfinished(0) } else { Stop::Read };
            }
            Ok(event) => {
                let is_text = matches!(event, Event::Text(_) | Event::GeneralRef(_));
                if !is_text && place(reader.buffer_position()).saturating_sub(start) > LONGEST {
                    return Stop::Broken(opening(block, start));
                }
                take(&event, elements, out);
                if elements.is_foreign() {
                    return Stop::Read;
                }
            }
            // Told of, and passed over.
            Err(Error::IllFormed(_)) => {}
            Err(error) => return at_fault(&error, opening(block, start), block.len(), turn, out),
        }
    }
}

fn at_fault(error: &Error, from: usize, len: usize, turn: Turn, out: &mut Entries) -> Stop {
    let Error::Syntax(fault) = error else { return Stop::Broken(from) };
    if *fault == SyntaxError::InvalidBangMarkup || len.saturating_sub(from) > LONGEST {
        return Stop::Broken(from);
    }
    let is_aside = matches!(
        fault,
        SyntaxError::UnclosedComment
            | SyntaxError::UnclosedPI
            | SyntaxError::UnclosedXmlDecl
            | SyntaxError::UnclosedDoctype
    );
    match turn {
        Turn::More => Stop::Unfinished(from),
        // What it would hide is hidden: nobody knows where it was to end.
        Turn::Last if is_aside => {
            out.notes.truncated = true;
            Stop::Cut
        }
        Turn::Last => Stop::Broken(from),
    }
}

fn take(event: &Event<'_>, elements: &mut Elements, out: &mut Entries) {
    match event {
        Event::Start(tag) => elements.open(tag, out),
        Event::Empty(tag) => {
            elements.open(tag, out);
            elements.close(tag.name().as_ref(), out);
        }
        Event::End(tag) => elements.close(tag.name().as_ref(), out),
        Event::Text(text) => {
            // A reference would be an event of its own.
            let ampersands = text.bytes().filter(|byte| *byte == b'&').count();
            let odd = &mut out.notes.odd_references;
            *odd = odd.saturating_add(u32::try_from(ampersands).unwrap_or(u32::MAX));
            elements.text(text, out);
        }
        Event::CData(text) => elements.text(text, out),
        Event::GeneralRef(name) => match reference::resolve(name) {
            Some(resolved) => elements.text(resolved.encode_utf8(&mut [0; 4]), out),
            None => {
                bump(&mut out.notes.odd_references);
                elements.text("&", out);
                elements.text(name, out);
                elements.text(";", out);
            }
        },
        Event::DocType(_) => bump(&mut out.notes.doctypes),
        Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::Eof => {}
    }
}

/// The `<` that a fault belongs to: the first from where the reader stood before it. What the reader itself says is not always
/// a place where markup begins.
fn opening(block: &str, from: usize) -> usize {
    block.as_bytes().iter().skip(from).position(|byte| *byte == b'<').map_or(block.len(), |at| from + at)
}

/// A place in a block: blocks are held in memory, so it fits.
fn place(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}
