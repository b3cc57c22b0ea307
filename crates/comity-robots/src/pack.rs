//! Rules to a table.

use alloc::vec;

use crate::bytes::chunk;
use crate::draft::{Draft, Drafts};
use crate::order;
use crate::sieve::{self, PAIR};
use crate::table::{ANCHORED, Head, LINE_WIDTH, PADDING, RAW, STAR, Table};

impl Table {
    /// Sorts rules into a table and drops repeated ones; of those the first line stays.
    pub(crate) fn pack(drafts: &mut Drafts<'_>) -> Self {
        let order = order::sort(drafts);
        let count = order.len();
        if count == 0 {
            return Self::default();
        }
        // Known before a record is written, and from the rules alone, so that equal rules make equal tables.
        let room = drafts.room();
        let wide = room > usize::from(u16::MAX);
        let width = if wide { 4 } else { 2 };
        let before = 2 * count + width * (count + 1);
        let mut bytes = vec![0; before + room + PADDING.max(COPY)];
        let (heads, rest) = bytes.split_at_mut(2 * count);
        let (starts, records) = rest.split_at_mut(before - 2 * count);
        let mut packer = Packer { drafts, records, end: 0, before: 0 };
        let mut starts = starts.chunks_exact_mut(width);
        for ((item, head), start) in order.into_iter().zip(heads.as_chunks_mut().0).zip(&mut starts) {
            write(start, packer.end);
            *head = packer.add(drafts.get(item.rule()), item.shared()).to_bytes();
        }
        starts.for_each(|start| write(start, packer.end));
        let end = packer.finish();
        bytes.truncate(before + end);
        // Fewer rules than bytes in a file, or, of a stored set, in what was stored.
        Self { count: u32::try_from(count).unwrap_or(u32::MAX), wide, bytes: bytes.into_boxed_slice() }
    }
}

struct Packer<'p> {
    drafts: &'p Drafts<'p>,
    records: &'p mut [u8],
    /// Where the next record starts.
    end: usize,
    /// Length of the literal of the rule before.
    before: usize,
}

impl Packer<'_> {
    #[inline]
    fn add(&mut self, rule: &Draft, shared: usize) -> Head {
        let (text, at) = (self.drafts.text_of(rule), rule.place());
        let literal = rule.literal();
        // The order looks behind the slash, which the empty literal has not.
        let shared = shared.min(self.before);
        self.before = literal;
        let first = if shared < literal { text.get(at + shared).copied() } else { None };
        let rest = (shared + 1).min(literal);
        let mut head = Head { shared, first: first.unwrap_or(Head::BARE) };
        // Nearly always one or two.
        let width = 3.min((31 - (rule.line | 1).leading_zeros()) / 8) as u8;
        let flags = rule.flags();
        self.byte(flags | (width * LINE_WIDTH));
        if flags & (STAR | RAW) == 0 {
            self.copy(text, at + rest, literal - rest);
        } else {
            self.add_long(rule, &mut head, rest);
        }
        if let Some(to) = self.records.get_mut(self.end..self.end + 4) {
            to.copy_from_slice(&rule.line.to_le_bytes());
        }
        self.end += usize::from(width) + 1;
        head
    }

    /// The text of a star rule, or of one that was written otherwise.
    #[inline(never)]
    fn add_long(&mut self, rule: &Draft, head: &mut Head, rest: usize) {
        let (text, at, flags) = (self.drafts.text_of(rule), rule.place(), rule.flags());
        let end = rule.len() - usize::from(flags & ANCHORED != 0);
        if flags & STAR != 0 {
            let sign = sieve::sign(text.get(at + rule.literal()..at + end).unwrap_or_default());
            if head.first == Head::BARE && sign >= PAIR && sign != Head::BARE {
                head.first = sign;
            } else {
                self.byte(sign);
                self.number(rule.literal() - rest);
            }
        }
        let raw = self.drafts.raw(rule);
        if flags & RAW != 0 {
            self.number(raw.len());
        }
        // The rest of the literal, and the tail.
        self.copy(text, at + rest, end - rest);
        if flags & RAW != 0 {
            self.copy(raw, 0, raw.len());
        }
    }

    fn byte(&mut self, byte: u8) {
        if let Some(place) = self.records.get_mut(self.end) {
            *place = byte;
        }
        self.end += 1;
    }

    /// As [`crate::varint`] reads it.
    fn number(&mut self, mut value: usize) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    /// Copies a part of a text, many bytes at a time: what is written too much is overwritten by what follows.
    #[inline]
    fn copy(&mut self, text: &[u8], at: usize, length: usize) {
        let mut done = 0;
        while done < length {
            let to = self.records.get_mut(self.end + done..self.end + done + COPY);
            match (to, chunk::<COPY>(text, at + done)) {
                (Some(to), Some(from)) => to.copy_from_slice(from),
                _ => return self.copy_last(text.get(at + done..at + length).unwrap_or_default(), done),
            }
            done += COPY;
        }
        self.end += length;
    }

    #[cold]
    fn copy_last(&mut self, text: &[u8], done: usize) {
        self.end += done;
        text.iter().for_each(|byte| self.byte(*byte));
    }

    /// Clears what was written too much; returns where the padding ends.
    fn finish(self) -> usize {
        let end = self.end + PADDING;
        self.records.get_mut(self.end..end).unwrap_or_default().fill(0);
        end
    }
}

/// Writes where a record starts: within what a file makes of itself, or what was stored.
#[inline]
fn write(start: &mut [u8], place: usize) {
    start.iter_mut().zip((place as u32).to_le_bytes()).for_each(|(to, byte)| *to = byte);
}

/// Bytes that are copied at a time.
const COPY: usize = 16;
