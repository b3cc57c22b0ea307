//! A text by windows: the value of a line, taken without a look at each byte.

use crate::bytes::chunk;
use crate::lines::{MAX_LINE_BYTES, end_of_line};
use crate::scan::{self, HALF, WINDOW, Window};

/// A text that can be read a window at a time from any place: behind its end stand line ends.
pub(crate) struct Windows<'a> {
    pub(crate) text: &'a [u8],
    /// The last bytes of the text, and line ends.
    last: [u8; 2 * WINDOW],
    /// Where these bytes start.
    last_at: usize,
}

impl<'a> Windows<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        let mut last = [b'\n'; 2 * WINDOW];
        if let (Some(to), Some(from)) = (last.first_chunk_mut::<WINDOW>(), text.last_chunk()) {
            *to = *from;
        } else if let Some(to) = last.get_mut(..text.len()) {
            to.copy_from_slice(text);
        }
        Self { text, last, last_at: text.len().saturating_sub(WINDOW) }
    }

    /// The window from a place on that is not behind the end.
    #[inline(always)]
    pub(crate) fn at(&self, at: usize) -> &Window {
        chunk(self.text, at).unwrap_or_else(|| self.last_at(at))
    }

    /// Where the line ends that a place is in, if nothing but blanks, and maybe a comment, stands before it.
    fn end_behind_blanks(&self, mut at: usize) -> Option<usize> {
        loop {
            match self.text.get(at) {
                Some(b' ' | b'\t') => at += 1,
                Some(b'#') => return Some(end_of_line(self.text, at)),
                None | Some(b'\n' | b'\r') => return Some(at),
                Some(_) => return None,
            }
        }
    }

    #[inline(never)]
    fn last_at(&self, at: usize) -> &Window {
        chunk(&self.last, at.saturating_sub(self.last_at)).unwrap_or(&[b'\n'; WINDOW])
    }
}

/// A value that is compared as it is written, and found without trimming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EasyValue {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The place of the first star in the text, or the end.
    pub(crate) star: usize,
    /// Whether no dialect compares it in another form: it holds no `%`.
    pub(crate) plain: bool,
    /// Where its line ends.
    pub(crate) line_end: usize,
}

impl EasyValue {
    /// Reads the value from `start` on in the line that starts at `line`; `marks` are those of the half window from there on. `None`
    /// for a value that is not easy: blanks in it or twice before it, control characters, bytes from 0x80 on, an overlong line.
    #[inline(always)]
    pub(crate) fn read(windows: &Windows<'_>, line: usize, start: usize, mut marks: u32) -> Option<Self> {
        let (mut star, mut plain, mut half) = (usize::MAX, true, start);
        loop {
            while marks != 0 {
                let at = half + marks.trailing_zeros() as usize;
                let byte = *windows.text.get(at).unwrap_or(&b'\n');
                let class = class(byte);
                if class & ENDS == 0 {
                    star = star.min(if class == STAR { at } else { usize::MAX });
                    plain &= class != ESCAPE;
                    marks &= marks - 1;
                    continue;
                }
                let line_end = if class == LINE_END {
                    at
                } else if byte == b'#' {
                    end_of_line(windows.text, at)
                } else if class == BLANK && at > start {
                    windows.end_behind_blanks(at)?
                } else {
                    return None;
                };
                let whole = line_end - line <= MAX_LINE_BYTES;
                return whole.then_some(Self { start, end: at, star: star.min(at), plain, line_end });
            }
            half += HALF;
            marks = windows.at(half).first_chunk().map_or(0, scan::marks);
        }
    }
}

/// What a mark does to a value. A table, because which mark comes next can hardly be guessed.
const fn class(byte: u8) -> u8 {
    CLASSES[byte as usize]
}

/// Nothing.
const NOTHING: u8 = 0;
/// Ends a literal.
const STAR: u8 = 1;
/// Makes the compared form another one, maybe.
const ESCAPE: u8 = 2;
/// The bit of all that end a value, or make it a difficult one.
const ENDS: u8 = 4;
const LINE_END: u8 = ENDS;
const BLANK: u8 = ENDS + 1;
const OTHER: u8 = ENDS + 2;

const CLASSES: [u8; 256] = {
    let mut table = [NOTHING; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'*' => STAR,
            b'%' => ESCAPE,
            b'\n' | b'\r' => LINE_END,
            b' ' | b'\t' => BLANK,
            b'#' | 0..b' ' | 0x80.. => OTHER,
            _ => NOTHING,
        };
        byte += 1;
    }
    table
};
