//! URLs that left the queue and whose records a power cut may still take.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use comity_url::Origin;

use super::domains::Shifts;
use super::open::{TOTALS, recount};
use super::roster::Roster;
use crate::key::{place_of, queue_key};
use crate::queued::{Cursor, RecordError};
use crate::rest::{OriginRecord, origin_of};
use crate::revisit::index_key;
use crate::totals::Totals;
use crate::{Ending, Keyspace, QueuedUrl, RecordMark, Scheduler, Store, StoreError, WriteBatch};

/// The rows of [`Keyspace::Left`] that this run wrote.
#[derive(Debug)]
pub(super) struct Left {
    mark: RecordMark,
    /// How many rows there were.
    count: u64,
    /// Those that stand, the oldest first: 16 bytes for each URL of about a second.
    rows: VecDeque<Place>,
}

/// The key of a row: how many records were written, and a running number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) records: u64,
    pub(super) number: u64,
}

/// A row, read.
#[derive(Debug)]
struct Departed {
    ending: Ending,
    origin: Origin,
    priority: u8,
    sequence: u64,
    record: Vec<u8>,
}

/// Rows deleted by one commit.
const PRUNED: usize = 4096;
/// Rows read at once.
const PAGE: usize = 1024;

impl Left {
    pub(super) const fn new(mark: RecordMark) -> Self {
        Self { mark, count: 0, rows: VecDeque::new() }
    }

    /// The place of the next row; `None` while all records are safe.
    pub(super) fn next(&self) -> Option<Place> {
        let records = self.mark.written_end();
        (records > self.mark.safe_end()).then_some(Place { records, number: self.count })
    }

    /// Deletes, with a commit that is made anyhow, rows whose records are safe. Gives how many.
    pub(super) fn prune(&self, batch: &mut WriteBatch) -> usize {
        let safe = self.mark.safe_end();
        let done = self.rows.iter().take(PRUNED).take_while(|place| place.records <= safe);
        let before = batch.deletes().len();
        done.for_each(|place| batch.delete(Keyspace::Left, place.key()));
        batch.deletes().len() - before
    }

    /// The commit was made.
    pub(super) fn committed(&mut self, pruned: usize, added: Vec<Place>) {
        self.rows.drain(..pruned.min(self.rows.len()));
        self.count += added.len() as u64;
        self.rows.extend(added);
    }
}

impl Place {
    pub(super) fn key(self) -> Vec<u8> {
        [self.records, self.number].into_iter().flat_map(u64::to_be_bytes).collect()
    }

    pub(super) const fn after(self) -> Self {
        Self { number: self.number + 1, ..self }
    }
}

/// Stored form, version 1: version (1), ending (1: 0 done, 1 refused, 2 failed), length of the queue key (2, big-endian), the
/// key, the record.
pub(super) fn encode(ending: Ending, key: &[u8], record: &[u8]) -> Vec<u8> {
    let code = match ending {
        Ending::Done => 0,
        Ending::Refused => 1,
        Ending::Failed => 2,
    };
    // An origin has at most some hundred bytes.
    let length = u16::try_from(key.len()).unwrap_or(u16::MAX);
    let mut out = Vec::with_capacity(4 + key.len() + record.len());
    out.extend([VERSION, code]);
    out.extend(length.to_be_bytes());
    out.extend(key);
    out.extend(record);
    out
}

const VERSION: u8 = 1;

impl Departed {
    fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut cursor = Cursor(bytes);
        match cursor.byte()? {
            VERSION => {}
            other => return Err(RecordError::Version(other)),
        }
        let ending = match cursor.byte()? {
            0 => Ending::Done,
            1 => Ending::Refused,
            2 => Ending::Failed,
            _ => return Err(RecordError::Field("ending")),
        };
        let length = u16::from_be_bytes(cursor.array()?);
        let key = cursor.take(length.into())?;
        let name = key.split(|byte| *byte == 0).next().unwrap_or_default();
        let origin = origin_of(name).ok_or(RecordError::Field("origin"))?;
        let (priority, sequence) = place_of(&origin, key).ok_or(RecordError::Field("key"))?;
        Ok(Self { ending, origin, priority, sequence, record: cursor.0.to_vec() })
    }
}

/// A row without what is to be forgotten, of which `origin` and `record` tell: the record that stays, if one does. A row that cannot
/// be read stays as it is: whoever reads it next tells.
#[cfg(feature = "disk")]
pub(crate) fn without(
    row: &[u8],
    origin: impl FnOnce(&Origin) -> bool,
    record: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let Ok(departed) = Departed::decode(row) else { return Some(row.to_vec()) };
    if origin(&departed.origin) {
        return None;
    }
    let key = queue_key(&departed.origin, departed.priority, departed.sequence);
    record(&departed.record).map(|record| encode(departed.ending, &key, &record))
}

/// Brings back what left the queue when there were more than `whole` records, and forgets the rest. Gives how many came back.
/// Every page of rows is one commit; begun anew after a kill, it goes on.
pub(super) fn bring_back<S: Store>(
    store: &mut S,
    scheduler: &mut Scheduler,
    roster: &mut Roster,
    whole: u64,
) -> Result<u64, StoreError> {
    let mut back = 0;
    loop {
        let rows = store.peek(Keyspace::Left, &[], &[0xff; 17], PAGE)?;
        if rows.is_empty() {
            break;
        }
        let mut page =
            Page { batch: WriteBatch::default(), totals: scheduler.totals(), first: back, back, ..Page::default() };
        for (key, value) in rows {
            let is_safe = key.first_chunk().is_some_and(|count| u64::from_be_bytes(*count) <= whole);
            page.batch.delete(Keyspace::Left, key);
            match Departed::decode(&value) {
                _ if is_safe => {}
                Ok(departed) => page.take_back(store, departed)?,
                Err(error) => {
                    tracing::warn!(%error, "a URL that left the queue without a safe record cannot be read and is lost");
                }
            }
        }
        back = page.back;
        let (batch, totals) = page.close(store, roster)?;
        store.commit(batch)?;
        scheduler.set_totals(totals);
    }
    if back > 0 {
        roster.rewind();
        roster.look(store, scheduler)?;
    }
    Ok(back)
}

/// What a page of rows changes.
#[derive(Debug, Default)]
struct Page {
    batch: WriteBatch,
    origins: BTreeMap<String, OriginRecord>,
    /// Rows of the schedule that go.
    visits: BTreeSet<Vec<u8>>,
    shifts: Shifts,
    totals: Totals,
    /// How many came back before this page, and with it.
    first: u64,
    back: u64,
}

impl Page {
    fn take_back<S: Store>(&mut self, store: &S, departed: Departed) -> Result<(), StoreError> {
        let Departed { ending, origin, priority, sequence, record } = departed;
        // Its next visit was counted from the one that is lost.
        if let Ok(queued) = QueuedUrl::decode(&record)
            && let Some(due) = store.get(Keyspace::Visit, &index_key(queued.key))?
            && self.visits.insert(due)
        {
            self.visits.insert(index_key(queued.key));
            self.totals.scheduled = self.totals.scheduled.saturating_sub(1);
        }
        let known = match self.origins.entry(origin.as_str().to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let found = store.get(Keyspace::Origin, origin.as_str().as_bytes())?;
                let found = found.map(|bytes| OriginRecord::decode(&bytes).or_else(|_| recount(store, &origin)));
                new.insert(found.transpose()?.unwrap_or_default())
            }
        };
        let before = known.summary.clone();
        known.summary.restore(priority, sequence, ending);
        self.totals.subtract(&before);
        self.totals.add(&known.summary);
        self.shifts.note(&origin, &before, &known.summary);
        self.batch.insert(Keyspace::Queue, queue_key(&origin, priority, sequence), record);
        self.back += 1;
        Ok(())
    }

    /// Everything that changes, with the records of the origins and their keys.
    fn close<S: Store>(self, store: &S, roster: &Roster) -> Result<(WriteBatch, Totals), StoreError> {
        let Self { mut batch, origins, visits, shifts, totals, first, back: _ } = self;
        shifts.write(store, &mut batch)?;
        for (number, (name, mut record)) in (first..).zip(origins) {
            // The key of an origin where nothing waits may have been deleted already.
            let stands = match record.row {
                Some(row) => store.get(Keyspace::Due, &row.to_key())?.as_deref() == Some(name.as_bytes()),
                None => false,
            };
            if !stands {
                let row = roster.row_of_earlier(number);
                batch.insert(Keyspace::Due, row.to_key(), name.clone().into_bytes());
                record.row = Some(row);
            }
            batch.insert(Keyspace::Origin, name.into_bytes(), record.encode());
        }
        visits.into_iter().for_each(|key| batch.delete(Keyspace::Visit, key));
        batch.insert(Keyspace::Meta, TOTALS.to_vec(), totals.encode());
        Ok((batch, totals))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_left_reads_back_and_parts_of_it_are_errors() {
        let key = b"http://a.test\0\x01\0\0\0\0\0\0\0\x09";
        for ending in [Ending::Done, Ending::Refused, Ending::Failed] {
            let bytes = encode(ending, key, b"record");
            let read = Departed::decode(&bytes).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((read.ending, read.priority, read.sequence), (ending, 1, 9));
            assert_eq!((read.origin.as_str(), read.record.as_slice()), ("http://a.test", b"record".as_slice()));
            for cut in 0..4 + key.len() {
                assert!(Departed::decode(&bytes[..cut]).is_err(), "cut at {cut}");
            }
        }
    }
}
