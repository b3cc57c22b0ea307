//! Rules to a table.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::bytes::chunk;
use crate::draft::{Draft, Drafts};
use crate::order::{self, COMPARED, Item};
use crate::sieve::{self, PAIR};
use crate::table::{ANCHORED, Head, LINE_WIDTH, MAX_SHARED, PADDING, RAW, STAR, Table};

impl Table {
    /// Sorts rules into a table and drops repeated ones; of those the first line stays.
    /// A large table is written into room for it first.
    pub(crate) fn pack(drafts: &mut Drafts<'_>, room: &mut Vec<u8>) -> Self {
        let items = drafts.take_items();
        let order = order::sort(drafts, items);
        let table = Self::write(drafts, &order, room);
        drafts.give_items(order);
        table
    }

    fn write(drafts: &Drafts<'_>, order: &[Item], large: &mut Vec<u8>) -> Self {
        let count = order.len();
        let Some(first) = order.first() else { return Self::default() };
        // Known before a record is written, and from the rules alone, so that equal rules make equal tables.
        let room = drafts.room(order);
        let wide = room > usize::from(u16::MAX);
        let most = 2 * count + if wide { 4 } else { 2 } * (count + 1) + room + PADDING.max(LONG_WINDOW);
        // Most tables are small: so they are allocated once, as large as they are.
        let bytes = if most <= SMALL / 4 {
            write_small(drafts, order, *first, &mut [0; SMALL / 4])
        } else if most <= SMALL {
            write_small(drafts, order, *first, &mut [0; SMALL])
        } else {
            if large.len() < most {
                large.resize(most, 0);
            }
            let length = write(drafts, order, *first, wide, large);
            large.get(..length).unwrap_or_default().into()
        };
        // Fewer rules than bytes in a file, or, of a stored set, in what was stored.
        Self { count: u32::try_from(count).unwrap_or(u32::MAX), wide, bytes }
    }
}

/// Bytes of a small table.
const SMALL: usize = 1024;

/// The bytes of a small table, written into room for them first.
fn write_small(drafts: &Drafts<'_>, order: &[Item], first: Item, room: &mut [u8]) -> Box<[u8]> {
    let length = write(drafts, order, first, false, room);
    room.get(..length).unwrap_or_default().into()
}

/// Writes the bytes of a table into room for them; returns how many they are.
fn write(drafts: &Drafts<'_>, order: &[Item], first: Item, wide: bool, bytes: &mut [u8]) -> usize {
    let (heads, rest) = bytes.split_at_mut(2 * order.len());
    let (starts, records) = rest.split_at_mut(if wide { 4 } else { 2 } * (order.len() + 1));
    let before = heads.len() + starts.len();
    let mut packer = Packer { drafts, records, end: 0 };
    let heads = heads.as_chunks_mut().0;
    if wide {
        packer.rules(order, first, heads, starts.as_chunks_mut::<4>().0);
    } else {
        packer.rules(order, first, heads, starts.as_chunks_mut::<2>().0);
    }
    before + packer.finish()
}

struct Packer<'p> {
    drafts: &'p Drafts<'p>,
    records: &'p mut [u8],
    /// Where the next record starts.
    end: usize,
}

/// How many bytes the literals of two neighbours start with alike, as far as a table can tell.
#[inline]
fn shared(drafts: &Drafts<'_>, (one, a): (Item, &Draft), (other, b): (Item, &Draft)) -> usize {
    let most = a.literal().min(b.literal()).min(MAX_SHARED);
    let alike = one.alike(other);
    if alike < COMPARED || most <= COMPARED {
        most.min(alike)
    } else {
        shared_further(drafts.literal(a), drafts.literal(b)).min(most)
    }
}

#[inline(never)]
fn shared_further(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    let words = 8 * words.take_while(|(a, b)| a == b).count();
    let rest = a.iter().zip(b).skip(words);
    words + rest.take_while(|(a, b)| a == b).count()
}

impl Packer<'_> {
    /// Writes all rules, their heads, and where they start in `WIDTH` bytes each.
    fn rules<const WIDTH: usize>(
        &mut self,
        order: &[Item],
        first: Item,
        heads: &mut [[u8; 2]],
        starts: &mut [[u8; WIDTH]],
    ) {
        let mut last = (first, &Draft::NONE);
        let mut starts = starts.iter_mut();
        for ((item, head), start) in order.iter().zip(heads).zip(&mut starts) {
            write_start(start, self.end);
            let rule = (*item, self.drafts.get(item.rule()));
            let shared = shared(self.drafts, last, rule);
            *head = self.add(rule.1, shared).to_bytes();
            last = rule;
        }
        starts.for_each(|start| write_start(start, self.end));
    }

    #[inline(always)]
    fn add(&mut self, rule: &Draft, shared: usize) -> Head {
        let (text, at) = (self.drafts.text_of(rule), rule.place() + shared);
        // What the literal has of its own; the first byte of that is the head's.
        let own = rule.literal().saturating_sub(shared);
        let behind = own.max(1);
        // Nearly always one or two.
        let width = 3.min((31 - (rule.line | 1).leading_zeros()) / 8) as u8;
        let flags = rule.flags();
        if flags & (STAR | RAW) == 0
            && behind <= COPY
            && let Some(window) = window::<WINDOW>(self.records, self.end)
            && let Some(copied) = chunk::<COPY>(text, at)
        {
            if let Some(to) = window.first_chunk_mut() {
                *to = *copied;
            }
            // In the place of the first byte.
            window[0] = flags | (width * LINE_WIDTH);
            if let Some(to) = window.get_mut(behind..behind + 4) {
                to.copy_from_slice(&rule.line.to_le_bytes());
            }
            self.end += behind + 1 + usize::from(width);
            return Head { shared, first: if own == 0 { Head::BARE } else { copied[0] } };
        }
        let first = text.get(at).copied().filter(|_| own > 0).unwrap_or(Head::BARE);
        let taken = own.min(1);
        self.add_longer(rule, Head { shared, first }, (at + taken, own - taken), width)
    }

    /// The same for a star rule or a longer literal.
    #[inline(never)]
    fn add_longer(&mut self, rule: &Draft, mut head: Head, (from, rest): (usize, usize), width: u8) -> Head {
        let (text, flags) = (self.drafts.text_of(rule), rule.flags());
        let length = rule.len() - usize::from(flags & ANCHORED != 0) + rule.place() - from;
        if flags & RAW == 0
            && length <= LONG_COPY
            && let Some(window) = window::<LONG_WINDOW>(self.records, self.end)
            && let Some(copied) = chunk::<LONG_COPY>(text, from)
        {
            window[0] = flags | (width * LINE_WIDTH);
            let mut at = 1;
            if flags & STAR != 0 {
                let sign = sieve::sign(copied.get(rest..length).unwrap_or_default());
                if head.first == Head::BARE && sign >= PAIR && sign != Head::BARE {
                    head.first = sign;
                } else {
                    // A length of one byte.
                    (window[1], window[2], at) = (sign, rest as u8, 3);
                }
            }
            if let Some(to) = window.get_mut(at..at + LONG_COPY) {
                to.copy_from_slice(copied);
            }
            if let Some(to) = window.get_mut(at + length..at + length + 4) {
                to.copy_from_slice(&rule.line.to_le_bytes());
            }
            self.end += at + length + 1 + usize::from(width);
            return head;
        }
        self.add_slowly(rule, head, (from, rest), width)
    }

    #[inline(never)]
    fn add_slowly(&mut self, rule: &Draft, mut head: Head, (from, rest): (usize, usize), width: u8) -> Head {
        let flags = rule.flags();
        self.byte(flags | (width * LINE_WIDTH));
        if flags & (STAR | RAW) == 0 {
            self.copy(self.drafts.text_of(rule), from, rest);
        } else {
            self.add_long(rule, &mut head, rule.literal() - rest);
        }
        if let Some(to) = self.records.get_mut(self.end..self.end + 4) {
            to.copy_from_slice(&rule.line.to_le_bytes());
        }
        self.end += usize::from(width) + 1;
        head
    }

    /// The text of a star rule, or of one that was written otherwise.
    #[inline]
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
#[inline(always)]
fn write_start<const WIDTH: usize>(start: &mut [u8; WIDTH], place: usize) {
    start.iter_mut().zip((place as u32).to_le_bytes()).for_each(|(to, byte)| *to = byte);
}

/// Room for a record at a place.
#[inline(always)]
fn window<const ROOM: usize>(records: &mut [u8], at: usize) -> Option<&mut [u8; ROOM]> {
    records.get_mut(at..)?.first_chunk_mut()
}

/// Bytes that are copied at a time.
const COPY: usize = 16;

/// As many bytes as are copied at a time, of which the first becomes a flag, and a line.
const WINDOW: usize = COPY + 4;

/// Bytes of a star rule that are copied at a time.
const LONG_COPY: usize = 32;

/// A flag, a sign, a length, as many bytes, and a line.
const LONG_WINDOW: usize = 3 + LONG_COPY + 4;
