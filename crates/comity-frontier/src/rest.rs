use comity_policy::{Instant, OriginPace, Overlap, Ready, Reason, Turn};
use comity_url::Origin;

use crate::Summary;
use crate::queued::{Cursor, RecordError};

/// The record of an origin.
///
/// Stored form, version 2, numbers big-endian: the counts ([`Summary`]), flags (1: bit 0 row, bit 1 rest), the row (24),
/// the rest. A record with another version in front is not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OriginRecord {
    pub(crate) summary: Summary,
    /// Under which key it stands among those that come due; an origin with queued URLs has one.
    pub(crate) row: Option<Row>,
    /// What it took along when it left memory.
    pub(crate) rest: Option<Box<Rest>>,
}

/// A key of the order in which sleeping origins come due.
///
/// Instants and tickets are of one run; those of an earlier run only tell the order in which it left things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    /// Which opening of the store wrote it.
    pub(crate) run: u64,
    pub(crate) at: Instant,
    pub(crate) ticket: u64,
}

/// Not before an instant, for a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) until: Instant,
    pub(crate) reason: Reason,
}

/// What an origin takes along when it leaves memory: all that the scheduler knew of it. Means something to the run that
/// wrote it; to a later one every origin is due one full delay after the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    pub(crate) run: u64,
    /// Since when it has been eligible.
    pub(crate) since: Instant,
    pub(crate) turn: Turn,
    pub(crate) robots: Option<Instant>,
    pub(crate) hold: Option<Held>,
    pub(crate) park: Option<Held>,
    pub(crate) refusals: u8,
    pub(crate) pace: OriginPace,
    /// Of each priority: the first sequence that may wait, and how many do.
    pub(crate) waiting: Vec<Waits>,
    /// Retries that wait for an instant of their own: when, priority, sequence.
    pub(crate) deferred: Vec<(Instant, u8, u64)>,
}

/// The waiting records of one priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waits {
    pub(crate) priority: u8,
    pub(crate) cursor: u64,
    pub(crate) beyond: u64,
}

const ROW: u8 = 1;
const REST: u8 = 2;

impl Row {
    pub(crate) fn to_key(self) -> Vec<u8> {
        [self.run, self.at.as_micros(), self.ticket].into_iter().flat_map(u64::to_be_bytes).collect()
    }

    pub(crate) fn from_key(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor(bytes);
        let row = Self::read(&mut cursor).ok()?;
        cursor.0.is_empty().then_some(row)
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, RecordError> {
        let (run, at, ticket) = (number(cursor)?, instant(cursor)?, number(cursor)?);
        Ok(Self { run, at, ticket })
    }
}

impl OriginRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + if self.rest.is_some() { 160 } else { 0 });
        self.summary.encode_into(&mut out);
        out.push(if self.row.is_some() { ROW } else { 0 } | if self.rest.is_some() { REST } else { 0 });
        if let Some(row) = self.row {
            out.extend(row.to_key());
        }
        if let Some(rest) = &self.rest {
            rest.encode_into(&mut out);
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut cursor = Cursor(bytes);
        let summary = Summary::read(&mut cursor)?;
        let flags = cursor.byte()?;
        if flags & !(ROW | REST) != 0 {
            return Err(RecordError::Field("flags"));
        }
        let row = if flags & ROW != 0 { Some(Row::read(&mut cursor)?) } else { None };
        let rest = if flags & REST != 0 { Some(Box::new(Rest::read(&mut cursor)?)) } else { None };
        if cursor.0.is_empty() { Ok(Self { summary, row, rest }) } else { Err(RecordError::Length) }
    }
}

impl Rest {
    fn encode_into(&self, out: &mut Vec<u8>) {
        out.extend(self.run.to_be_bytes());
        out.extend(self.since.as_micros().to_be_bytes());
        put_held(out, Some(Held { until: self.turn.ready.at, reason: self.turn.ready.clock }));
        out.push(u8::from(self.turn.overlap == Overlap::Free));
        out.push(u8::from(self.robots.is_some()));
        out.extend(self.robots.unwrap_or(Instant::START).as_micros().to_be_bytes());
        put_held(out, self.hold);
        put_held(out, self.park);
        out.push(self.refusals);
        out.extend(self.pace.to_bytes());
        out.extend(count(self.waiting.len()).to_be_bytes());
        for waits in &self.waiting {
            out.push(waits.priority);
            out.extend(waits.cursor.to_be_bytes());
            out.extend(waits.beyond.to_be_bytes());
        }
        out.extend(count(self.deferred.len()).to_be_bytes());
        for (at, priority, sequence) in &self.deferred {
            out.extend(at.as_micros().to_be_bytes());
            out.push(*priority);
            out.extend(sequence.to_be_bytes());
        }
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, RecordError> {
        let run = number(cursor)?;
        let since = instant(cursor)?;
        let ready = read_held(cursor)?.ok_or(RecordError::Field("turn"))?;
        let overlap = if flag(cursor)? { Overlap::Free } else { Overlap::AfterHead };
        let turn = Turn { ready: Ready { at: ready.until, clock: ready.reason }, overlap };
        let has_robots = flag(cursor)?;
        let robots = instant(cursor)?;
        let (hold, park) = (read_held(cursor)?, read_held(cursor)?);
        let refusals = cursor.byte()?;
        let pace = OriginPace::from_bytes(cursor.array()?).ok_or(RecordError::Field("pace"))?;
        let mut waiting = Vec::new();
        for _ in 0..u32::from_be_bytes(cursor.array()?) {
            waiting.push(Waits { priority: cursor.byte()?, cursor: number(cursor)?, beyond: number(cursor)? });
        }
        let mut deferred = Vec::new();
        for _ in 0..u32::from_be_bytes(cursor.array()?) {
            deferred.push((instant(cursor)?, cursor.byte()?, number(cursor)?));
        }
        let robots = has_robots.then_some(robots);
        Ok(Self { run, since, turn, robots, hold, park, refusals, pace, waiting, deferred })
    }

    /// True when a new URL may be counted to it while it sleeps: when it is due does not change by that.
    pub(crate) fn may_sleep_on(&self) -> bool {
        self.deferred.is_empty() && self.waiting.iter().any(|waits| waits.beyond > 0)
    }

    /// Counts a new record to it.
    pub(crate) fn append(&mut self, priority: u8, sequence: u64) {
        match self.waiting.iter_mut().find(|waits| waits.priority == priority) {
            Some(waits) => waits.beyond += 1,
            None => self.waiting.push(Waits { priority, cursor: sequence, beyond: 1 }),
        }
    }
}

/// Every priority and every retry: far below 2³².
fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn put_held(out: &mut Vec<u8>, held: Option<Held>) {
    let code = held.map_or("", |held| held.reason.code()).as_bytes();
    // The longest code has some twenty bytes.
    out.push(u8::try_from(code.len()).unwrap_or(0));
    out.extend(code);
    out.extend(held.map_or(Instant::START, |held| held.until).as_micros().to_be_bytes());
}

fn read_held(cursor: &mut Cursor<'_>) -> Result<Option<Held>, RecordError> {
    let length = cursor.byte()?;
    let code = std::str::from_utf8(cursor.take(length.into())?).map_err(|_| RecordError::Field("reason"))?;
    let until = instant(cursor)?;
    if code.is_empty() {
        return Ok(None);
    }
    let reason = Reason::from_code(code).ok_or(RecordError::Field("reason"))?;
    Ok(Some(Held { until, reason }))
}

fn flag(cursor: &mut Cursor<'_>) -> Result<bool, RecordError> {
    match cursor.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(RecordError::Field("flag")),
    }
}

fn instant(cursor: &mut Cursor<'_>) -> Result<Instant, RecordError> {
    number(cursor).map(Instant::from_micros)
}

fn number(cursor: &mut Cursor<'_>) -> Result<u64, RecordError> {
    cursor.array().map(u64::from_be_bytes)
}

/// An origin's key in the store, read back; `None` for one that no origin has.
pub(crate) fn origin_of(key: &[u8]) -> Option<Origin> {
    Origin::parse(std::str::from_utf8(key).ok()?).ok().filter(|origin| origin.as_str().as_bytes() == key)
}
