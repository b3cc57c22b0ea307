//! A question to a table.

use crate::draft::place;
use crate::normal::Target;
use crate::pattern::{End, matches_tail};
use crate::sieve::{PAIR, Sieve};
use crate::table::{ANCHORED, Head, Layout, MAX_SHARED, RAW, STAR, Table, line_width};
use crate::varint;
use crate::verdict::RuleRef;

/// What decides between matching rules: the longer pattern, then allow before disallow (RFC 9309 §2.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(u32);

/// The best rule that matches so far; none at rank 0.
#[derive(Clone, Copy, Debug, Default)]
struct Best {
    rank: Rank,
    at: u32,
}

impl Rank {
    /// A pattern is shorter than 65,536 bytes.
    const fn of(length: usize, flags: u8) -> Self {
        Self((length as u32) << 1 | (flags & crate::table::ALLOW) as u32)
    }

    const fn priority(self) -> u32 {
        self.0 >> 1
    }

    /// Whether it is an allow rule's, or nobody's.
    const fn allows(self) -> bool {
        self.0 == 0 || self.0 & 1 == 1
    }
}

impl Table {
    /// The rule that decides for a target. `group_line` tells the group of a line.
    pub(crate) fn decide<'a>(&'a self, target: Target<'_>, group_line: impl Fn(u32) -> u32) -> Option<RuleRef<'a>> {
        let best = Search::new(self, target).run();
        (best.rank.0 > 0).then(|| {
            let row = self.layout().row(best.at as usize);
            RuleRef {
                kind: row.kind(),
                table: self,
                at: best.at,
                line: row.line(),
                group_line: group_line(row.line()),
                priority: best.rank.priority(),
                via: row.via(),
            }
        })
    }

    /// Whether that rule, if there is one, allows.
    pub(crate) fn allows(&self, target: Target<'_>) -> bool {
        Search::new(self, target).run().rank.allows()
    }
}

/// One question.
struct Search<'a> {
    layout: Layout<'a>,
    target: Target<'a>,
    best: Best,
    sieve: Sieve,
    is_filled: bool,
}

/// Where a search stands: how much of the target the last literal has, and what heads look like that matter there.
#[derive(Clone, Copy)]
struct Level {
    matched: usize,
    /// The byte of the target behind that; 0 at its end.
    next: u8,
    /// The least head that matters: those that share more with the one before do not, nor those that share just as much and go
    /// on with a byte before the next. Those without a byte of their own always do.
    least: u16,
    /// The greatest head that shares just as much.
    most: u16,
}

impl Level {
    #[inline]
    fn new(matched: usize, target: Target<'_>) -> Self {
        let matched = matched.min(MAX_SHARED);
        let next = target.byte(matched);
        let unshared = (MAX_SHARED - matched) as u16 * 256;
        Self { matched, next, least: unshared | u16::from(next.min(PAIR)), most: unshared | 0xFF }
    }

    /// Which of four heads matter: a mark at the top of each. Heads have fifteen bits, so that bit is free to tell.
    #[inline]
    const fn marks(&self, four: u64) -> u64 {
        ((four | TOPS) - self.least as u64 * 0x0001_0001_0001_0001) & TOPS
    }
}

/// The top bit of each of four heads.
const TOPS: u64 = 0x8000_8000_8000_8000;

/// Heads that are looked at together.
const FOUR: usize = 4;

impl<'a> Search<'a> {
    fn new(table: &'a Table, target: Target<'a>) -> Self {
        Self { layout: table.layout(), target, best: Best::default(), sieve: Sieve::EMPTY, is_filled: false }
    }

    fn run(mut self) -> Best {
        let (at, level) = self.general_rules();
        self.follow(at, level);
        self.best
    }

    /// Asks the rules whose literal is empty or `/`, with which every target starts. They come first, and nearly all are star
    /// rules with a sign in their head. Returns where the others start.
    #[inline]
    fn general_rules(&mut self) -> (usize, Level) {
        let (heads, _) = self.layout.heads.as_chunks::<2>();
        let mut level = Level::new(0, self.target);
        for (at, head) in heads.iter().take(self.layout.count).enumerate() {
            let Head { shared, first } = Head::of(*head);
            if shared > 1 {
                return (at, level);
            }
            if first < PAIR {
                // Not the first one that starts with `/`: it goes on.
                if shared == 1 {
                    return (at, level);
                }
                level = Level::new(self.visit(at, first, 1).unwrap_or_default(), self.target);
                if level.matched != 1 {
                    return (at + 1, level);
                }
            } else if first == Head::BARE || self.sieve().may_hold_pair(first) {
                self.visit(at, first, level.matched);
            }
        }
        (self.layout.count, level)
    }

    /// Follows the target down the table. A literal that shares more with the one before than the target does fails where
    /// that one did; one that shares less comes behind the target, and so do all that follow.
    #[inline]
    fn follow(&mut self, start: usize, mut level: Level) {
        let count = self.layout.count;
        // The last four may be fewer, and other bytes behind them.
        let fours = self.layout.heads.as_chunks::<{ 2 * FOUR }>().0.get(..count.div_ceil(FOUR)).unwrap_or_default();
        let (mut group, mut left) = (start / FOUR, TOPS << (16 * (start % FOUR)));
        while let Some(four) = fours.get(group) {
            let four = u64::from_le_bytes(*four);
            let marks = level.marks(four) & left;
            if marks == 0 {
                (group, left) = (group + 1, TOPS);
                if fours.len() > LONG {
                    group += skip(fours.get(group..).unwrap_or_default(), level.least);
                }
                continue;
            }
            // From the first bit of the head on.
            let lane = marks.trailing_zeros() - 15;
            let head = (four >> lane) as u16;
            let at = FOUR * group + lane as usize / 16;
            let first = head as u8;
            if head > level.most || first < PAIR && first != level.next || at >= count {
                return;
            }
            left = TOPS << lane << 16;
            if first < PAIR || first == Head::BARE || self.sieve().may_hold_pair(first) {
                let own = usize::from(first < PAIR);
                let matched = self.visit(at, first, level.matched + own).unwrap_or_default();
                level = Level::new(matched, self.target);
            }
        }
    }

    /// The sieve is filled when the first star rule asks for it.
    #[inline]
    fn sieve(&mut self) -> &Sieve {
        if !self.is_filled {
            self.fill();
        }
        &self.sieve
    }

    #[inline(never)]
    fn fill(&mut self) {
        self.is_filled = true;
        self.sieve.fill(self.target.bytes());
    }

    /// A rule whose literal goes on as the target does, up to `from`; returns how far. `None` for what no packer wrote.
    #[inline]
    fn visit(&mut self, at: usize, first: u8, from: usize) -> Option<usize> {
        let (start, end) = self.layout.place(at);
        let flags = *self.layout.records.get(start)?;
        if flags & (STAR | RAW) != 0 {
            return if flags & RAW == 0 { self.visit_star(at, first, from) } else { self.visit_raw(at, from) };
        }
        let rest = end.checked_sub(start + 1 + line_width(flags))?;
        let same = self.target.alike(from, (self.layout.records, start + 1), rest);
        let literal = from + same;
        let anchored = flags & ANCHORED != 0;
        if same == rest && (!anchored || literal == self.target.len()) {
            self.matched(Rank::of(literal + usize::from(anchored), flags), at);
        }
        Some(literal)
    }

    /// The same for a star rule. Reads what [`Layout::row`] reads, in place.
    #[inline(never)]
    fn visit_star(&mut self, at: usize, first: u8, from: usize) -> Option<usize> {
        let (start, end) = self.layout.place(at);
        let records = self.layout.records;
        let flags = *records.get(start)?;
        let end = end.checked_sub(line_width(flags))?;
        let (mut sign, mut text, mut rest) = (first, start + 1, 0);
        if first < PAIR || first == Head::BARE {
            let (in_record, mut left) = records.get(text..end)?.split_first()?;
            sign = *in_record;
            rest = varint::take(&mut left)? as usize;
            text = end - left.len();
        }
        // Of most the literal is `/`, which every target starts with.
        let literal = from + if rest == 0 { 0 } else { self.target.alike(from, (records, text), rest) };
        if literal == from + rest {
            let tail = records.get(text + rest..end)?;
            let anchored = flags & ANCHORED != 0;
            let rank = Rank::of(literal + tail.len() + usize::from(anchored), flags);
            let end = if anchored { End::Anchored } else { End::Open };
            if rank >= self.best.rank && self.tail_fits(sign, tail, end, literal) {
                self.matched(rank, at);
            }
        }
        Some(literal)
    }

    /// The same for a rule whose pattern was written otherwise.
    #[inline(never)]
    fn visit_raw(&mut self, at: usize, from: usize) -> Option<usize> {
        let row = self.layout.row(at);
        let rest = place(self.layout.records, row.rest) as usize;
        let literal = from + self.target.alike(from, (self.layout.records, rest), row.rest.len());
        if literal == from + row.rest.len() {
            let rank = Rank::of(literal + row.tail.len() + usize::from(row.end() == End::Anchored), row.flags);
            let fits = if row.flags & STAR == 0 {
                row.end() == End::Open || literal == self.target.len()
            } else {
                self.tail_fits(row.sign, row.tail, row.end(), literal)
            };
            if rank >= self.best.rank && fits {
                self.matched(rank, at);
            }
        }
        Some(literal)
    }

    /// Whether what is behind the literal fits too.
    #[inline]
    fn tail_fits(&mut self, sign: u8, tail: &[u8], end: End, literal: usize) -> bool {
        let behind = self.target.bytes().get(literal..).unwrap_or_default();
        let sieve = self.sieve();
        sieve.may_hold(sign, behind) && sieve.may_go_on(tail) && matches_tail(tail, end, behind)
    }

    /// A rule matches.
    #[inline]
    fn matched(&mut self, rank: Rank, at: usize) {
        if rank > self.best.rank {
            // A table has fewer rules than 32 bits can count.
            self.best = Best { rank, at: at as u32 };
        } else if rank == self.best.rank {
            self.matched_alike(at);
        }
    }

    /// Of equal rules the earlier line is named: evidence has to be one rule (our choice).
    #[inline(never)]
    fn matched_alike(&mut self, at: usize) {
        let line = |at| self.layout.row(at).line();
        if line(at) < line(self.best.at as usize) {
            self.best.at = at as u32;
        }
    }
}

/// How many of the next fours have no head that matters, as far as can be told a block at a time.
#[inline(never)]
fn skip(fours: &[[u8; 2 * FOUR]], least: u16) -> usize {
    // Fifteen bits have no sign.
    let matters = |head: &[u8; 2]| i16::from_le_bytes(*head) >= least as i16;
    let (blocks, _) = fours.as_chunks::<BLOCK>();
    let any = |block: &[[u8; 2 * FOUR]; BLOCK]| {
        block.as_flattened().as_chunks::<2>().0.iter().fold(false, |any, head| any | matters(head))
    };
    BLOCK * blocks.iter().take_while(|block| !any(block)).count()
}

/// Fours that are looked at together in a long table.
const BLOCK: usize = 8;

/// From so many fours on, blocks are worth it.
const LONG: usize = 16;
