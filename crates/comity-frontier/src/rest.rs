use comity_policy::{Instant, OriginPace, Overlap, Ready, Reason, Turn};
use comity_url::Origin;
use smallvec::SmallVec;

use crate::Summary;
use crate::queued::{Cursor, RecordError, put_number};

/// The record of an origin.
///
/// Stored form, version 2: the counts ([`Summary`]), flags (1: bit 0 row, bit 1 rest), the row (its three numbers), the
/// rest. Numbers are of variable length. A record with another version in front is not read.
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
    pub(crate) waiting: SmallVec<[Waits; 1]>,
    /// Retries that wait for an instant of their own: when, priority, sequence.
    pub(crate) deferred: Vec<(Instant, u8, u64)>,
    /// Places whose records cannot be read, counted already: priority, sequence.
    pub(crate) damaged: Vec<(u8, u64)>,
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

const FREE: u8 = 1;
const ROBOTS: u8 = 2;
const HOLD: u8 = 4;
const PARK: u8 = 8;
const REFUSALS: u8 = 16;
const PACE: u8 = 32;
const DAMAGED: u8 = 64;

impl Row {
    pub(crate) fn to_key(self) -> Vec<u8> {
        let mut key = Vec::with_capacity(24);
        self.put_key(&mut key);
        key
    }

    /// Appends what [`Row::to_key`] gives.
    pub(crate) fn put_key(self, key: &mut Vec<u8>) {
        [self.run, self.at.as_micros(), self.ticket].into_iter().for_each(|number| key.extend(number.to_be_bytes()));
    }

    pub(crate) fn from_key(bytes: &[u8]) -> Option<Self> {
        let (numbers, []) = bytes.as_chunks::<8>() else { return None };
        let &[run, at, ticket] = numbers else { return None };
        let at = Instant::from_micros(u64::from_be_bytes(at));
        Some(Self { run: u64::from_be_bytes(run), at, ticket: u64::from_be_bytes(ticket) })
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, RecordError> {
        Ok(Self { run: cursor.number()?, at: instant(cursor)?, ticket: cursor.number()? })
    }
}

impl OriginRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        self.encode_into(&mut out);
        out
    }

    pub(crate) fn encode_into(&self, out: &mut Vec<u8>) {
        self.summary.encode_into(out);
        out.push(if self.row.is_some() { ROW } else { 0 } | if self.rest.is_some() { REST } else { 0 });
        if let Some(row) = self.row {
            [row.run, row.at.as_micros(), row.ticket].into_iter().for_each(|number| put_number(out, number));
        }
        if let Some(rest) = &self.rest {
            rest.encode_into(out);
        }
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
    /// Nothing was told yet.
    pub(crate) fn untold(run: u64, since: Instant) -> Self {
        let turn = Turn { ready: Ready { at: Instant::START, clock: Reason::Ok }, overlap: Overlap::AfterHead };
        Self {
            run,
            since,
            turn,
            robots: None,
            hold: None,
            park: None,
            refusals: 0,
            pace: OriginPace::default(),
            waiting: SmallVec::new(),
            deferred: Vec::new(),
            damaged: Vec::new(),
        }
    }

    /// Flags (1), run, since, instant of the turn, its reason; then what the flags name; then what waits and the retries,
    /// each with a count in front; then the damaged places in the same way, where there are any.
    fn encode_into(&self, out: &mut Vec<u8>) {
        let is_free = self.turn.overlap == Overlap::Free;
        let set = [
            (FREE, is_free),
            (ROBOTS, self.robots.is_some()),
            (HOLD, self.hold.is_some()),
            (PARK, self.park.is_some()),
            (REFUSALS, self.refusals > 0),
            (PACE, self.pace != OriginPace::default()),
            (DAMAGED, !self.damaged.is_empty()),
        ];
        out.push(set.into_iter().filter(|flag| flag.1).fold(0, |flags, flag| flags | flag.0));
        put_number(out, self.run);
        put_number(out, self.since.as_micros());
        put_held(out, Held { until: self.turn.ready.at, reason: self.turn.ready.clock });
        if let Some(robots) = self.robots {
            put_number(out, robots.as_micros());
        }
        [self.hold, self.park].into_iter().flatten().for_each(|held| put_held(out, held));
        if self.refusals > 0 {
            out.push(self.refusals);
        }
        if self.pace != OriginPace::default() {
            out.extend(self.pace.to_bytes());
        }
        put_number(out, self.waiting.len() as u64);
        for waits in &self.waiting {
            out.push(waits.priority);
            put_number(out, waits.cursor);
            put_number(out, waits.beyond);
        }
        put_number(out, self.deferred.len() as u64);
        for (at, priority, sequence) in &self.deferred {
            put_number(out, at.as_micros());
            out.push(*priority);
            put_number(out, *sequence);
        }
        if !self.damaged.is_empty() {
            put_number(out, self.damaged.len() as u64);
            for (priority, sequence) in &self.damaged {
                out.push(*priority);
                put_number(out, *sequence);
            }
        }
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, RecordError> {
        let flags = cursor.byte()?;
        if flags & !(FREE | ROBOTS | HOLD | PARK | REFUSALS | PACE | DAMAGED) != 0 {
            return Err(RecordError::Field("flags"));
        }
        let has = |flag: u8| flags & flag != 0;
        let run = cursor.number()?;
        let since = instant(cursor)?;
        let Held { until: at, reason: clock } = read_held(cursor)?;
        let overlap = if has(FREE) { Overlap::Free } else { Overlap::AfterHead };
        let turn = Turn { ready: Ready { at, clock }, overlap };
        let robots = if has(ROBOTS) { Some(instant(cursor)?) } else { None };
        let hold = if has(HOLD) { Some(read_held(cursor)?) } else { None };
        let park = if has(PARK) { Some(read_held(cursor)?) } else { None };
        let refusals = if has(REFUSALS) { cursor.byte()? } else { 0 };
        let pace = if has(PACE) {
            OriginPace::from_bytes(cursor.array()?).ok_or(RecordError::Field("pace"))?
        } else {
            OriginPace::default()
        };
        let mut waiting = SmallVec::new();
        for _ in 0..cursor.number()? {
            waiting.push(Waits { priority: cursor.byte()?, cursor: cursor.number()?, beyond: cursor.number()? });
        }
        let mut deferred = Vec::new();
        for _ in 0..cursor.number()? {
            deferred.push((instant(cursor)?, cursor.byte()?, cursor.number()?));
        }
        let mut damaged = Vec::new();
        for _ in 0..if has(DAMAGED) { cursor.number()? } else { 0 } {
            damaged.push((cursor.byte()?, cursor.number()?));
        }
        Ok(Self { run, since, turn, robots, hold, park, refusals, pace, waiting, deferred, damaged })
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

fn put_held(out: &mut Vec<u8>, held: Held) {
    let code = held.reason.code().as_bytes();
    // The longest code has some twenty bytes.
    out.push(u8::try_from(code.len()).unwrap_or(0));
    out.extend(code);
    put_number(out, held.until.as_micros());
}

fn read_held(cursor: &mut Cursor<'_>) -> Result<Held, RecordError> {
    let length = cursor.byte()?;
    let code = std::str::from_utf8(cursor.take(length.into())?).map_err(|_| RecordError::Field("reason"))?;
    let reason = Reason::from_code(code).ok_or(RecordError::Field("reason"))?;
    Ok(Held { until: instant(cursor)?, reason })
}

fn instant(cursor: &mut Cursor<'_>) -> Result<Instant, RecordError> {
    cursor.number().map(Instant::from_micros)
}

/// An origin's key in the store, read back; `None` for one that no origin has.
pub(crate) fn origin_of(key: &[u8]) -> Option<Origin> {
    Origin::parse(std::str::from_utf8(key).ok()?).ok().filter(|origin| origin.as_str().as_bytes() == key)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_instant() -> impl Strategy<Value = Instant> {
        prop_oneof![any::<u64>().prop_map(Instant::from_micros), Just(Instant::NEVER), Just(Instant::START)]
    }

    fn any_held() -> impl Strategy<Value = Held> {
        let reasons = prop::sample::select(Reason::ALL.to_vec());
        (any_instant(), reasons).prop_map(|(until, reason)| Held { until, reason })
    }

    prop_compose! {
        fn any_rest()(
            run: u64, since in any_instant(), ready in any_held(), free: bool, robots in prop::option::of(any_instant()),
            hold in prop::option::of(any_held()), park in prop::option::of(any_held()), refusals: u8, paced: bool,
            waiting in prop::collection::vec((any::<u8>(), any::<u64>(), any::<u64>()), 0..4),
            deferred in prop::collection::vec((any_instant(), any::<u8>(), any::<u64>()), 0..4),
            damaged in prop::collection::vec((any::<u8>(), any::<u64>()), 0..4),
        ) -> Rest {
            let mut pace = OriginPace::default();
            if paced {
                pace.close(since, Reason::RateVisitTime);
            }
            let waiting =
                waiting.into_iter().map(|(priority, cursor, beyond)| Waits { priority, cursor, beyond }).collect();
            let overlap = if free { Overlap::Free } else { Overlap::AfterHead };
            let turn = Turn { ready: Ready { at: ready.until, clock: ready.reason }, overlap };
            Rest { run, since, turn, robots, hold, park, refusals, pace, waiting, deferred, damaged }
        }
    }

    proptest! {
        #[test]
        fn records_of_origins_read_back(
            rest in prop::option::of(any_rest()), row in prop::option::of((any::<u64>(), any_instant(), any::<u64>())),
            admitted in 0_u8..4,
        ) {
            let mut summary = Summary::default();
            for priority in 0..admitted {
                summary.admit(priority);
            }
            let row = row.map(|(run, at, ticket)| Row { run, at, ticket });
            let record = OriginRecord { summary, row, rest: rest.map(Box::new) };
            let bytes = record.encode();
            prop_assert_eq!(OriginRecord::decode(&bytes), Ok(record));
            for cut in 0..bytes.len() {
                prop_assert!(OriginRecord::decode(&bytes[..cut]).is_err(), "cut at {}", cut);
            }
            prop_assert_eq!(row.and_then(|row| Row::from_key(&row.to_key())), row);
        }

        #[test]
        fn any_bytes_are_a_record_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(record) = OriginRecord::decode(&bytes) {
                prop_assert_eq!(OriginRecord::decode(&record.encode()), Ok(record));
            }
        }

        #[test]
        fn keys_sort_as_the_origins_come_due(a: (u64, u64, u64), b: (u64, u64, u64)) {
            let row = |(run, at, ticket)| Row { run, at: Instant::from_micros(at), ticket };
            prop_assert_eq!(row(a).cmp(&row(b)), row(a).to_key().cmp(&row(b).to_key()));
        }
    }
}
