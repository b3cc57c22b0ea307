//! Who sleeps in the store, and who of them is due first.

use std::collections::VecDeque;

use comity_policy::{Instant, Ready};
use comity_url::Origin;

use super::ledger;
use super::open::recount;
use crate::rest::{OriginRecord, Row, origin_of};
use crate::scheduler::Waking;
use crate::{Keyspace, Scheduler, Store, StoreError, Waiting, WriteBatch};

/// The sleeping origins, read in the order in which they come due and never from the head again.
///
/// Rows of earlier runs come first in the store, and count as due at one instant: one full delay after the start. An
/// origin that is in memory keeps its row, so that a kill forgets nobody; such rows are passed over.
#[derive(Debug)]
pub(super) struct Roster {
    run: u64,
    ready: Ready,
    /// Rows of earlier runs.
    earlier: Reading,
    /// Rows of this one.
    current: Reading,
    /// The place among those of earlier runs of the next one to wake.
    next_ticket: u64,
    /// Number of the last commit that marked URLs seen.
    last_commit: u64,
}

/// One range of rows, read from a cursor on.
#[derive(Debug)]
struct Reading {
    /// Every sleeper of the range that is not in `page` stands here or behind.
    from: Vec<u8>,
    until: Vec<u8>,
    page: VecDeque<(Row, Origin)>,
    is_exhausted: bool,
    /// A row could not be read: some origin stands under no key.
    has_lost: bool,
}

/// Rows read at once.
const PAGE: usize = 64;
/// Origins of earlier runs are due in the order of tickets below this one; everybody else draws higher ones.
pub(super) const EARLIER_TICKETS: u64 = 1 << 40;

impl Roster {
    pub(super) fn new(run: u64, ready: Ready, last_commit: u64) -> Self {
        let split = run.to_be_bytes().to_vec();
        Self {
            run,
            ready,
            earlier: Reading::new(Vec::new(), split.clone()),
            current: Reading::new(split, run.saturating_add(1).to_be_bytes().to_vec()),
            next_ticket: 1,
            last_commit,
        }
    }

    pub(super) const fn run(&self) -> u64 {
        self.run
    }

    pub(super) const fn row(&self, at: Instant, ticket: u64) -> Row {
        ledger::row(self.run, at, ticket)
    }

    /// Number of the next commit that marks URLs seen.
    pub(super) const fn next_commit(&self) -> u64 {
        self.last_commit + 1
    }

    pub(super) const fn committed(&mut self) {
        self.last_commit += 1;
    }

    /// The record of an origin that is not in memory. One that cannot be read is counted anew.
    pub(super) fn record<S: Store>(&self, store: &S, origin: &Origin) -> Result<Option<OriginRecord>, StoreError> {
        let Some(bytes) = store.get(Keyspace::Origin, origin.as_str().as_bytes())? else { return Ok(None) };
        match OriginRecord::decode(&bytes) {
            // A key that stands for nothing is deleted where it is met, so it counts as gone.
            Ok(record) if record.summary.queued() == 0 => Ok(Some(OriginRecord { row: None, ..record })),
            Ok(record) => Ok(Some(record)),
            Err(_) => recount(store, origin).map(Some),
        }
    }

    /// How a record is read when its origin has to come to memory for a new URL; `None` when it may sleep on.
    pub(super) fn waking(&self, record: &OriginRecord) -> Option<Waking> {
        match &record.rest {
            Some(rest) if rest.run == self.run => {
                let may_sleep = record.row.is_some() && rest.may_sleep_on();
                (!may_sleep).then_some(Waking::ThisRun)
            }
            _ => {
                let may_sleep = record.row.is_some() && record.summary.queued() > 0;
                (!may_sleep).then_some(self.earlier(None))
            }
        }
    }

    /// How a record is read when its origin comes to memory in any case.
    pub(super) fn read(&self, record: &OriginRecord) -> Waking {
        match &record.rest {
            Some(rest) if rest.run == self.run => Waking::ThisRun,
            _ => self.earlier(None),
        }
    }

    /// An origin went to sleep under this key.
    pub(super) fn note(&mut self, row: Row, origin: &Origin) {
        self.forget(origin);
        self.current.note(row, origin);
    }

    /// An origin that nobody had heard of sleeps under this key.
    pub(super) fn note_new(&mut self, row: Row, origin: &Origin) {
        self.current.note(row, origin);
    }

    /// An origin went to sleep with nothing that waits: a key that it had before wakes nobody.
    pub(super) fn forget(&mut self, origin: &Origin) {
        self.current.page.retain(|other| other.1 != *origin);
    }

    /// A key among those of the last run, before those that waited: what a power cut brought back had had its turn.
    pub(super) const fn row_of_earlier(&self, number: u64) -> Row {
        ledger::row(self.run.saturating_sub(1), Instant::START, u64::MAX - number)
    }

    /// Reads the rows of earlier runs from the first one again: only before anybody woke.
    pub(super) fn rewind(&mut self) {
        self.earlier = Reading::new(Vec::new(), self.run.to_be_bytes().to_vec());
    }

    /// Instant and ticket of the sleeper that is due first.
    pub(super) fn horizon(&self) -> Option<(Instant, u64)> {
        let earlier = self.earlier.page.front().map(|_| (self.ready.at, self.next_ticket));
        let current = self.current.page.front().map(|(row, _)| (row.at, row.ticket));
        [earlier, current].into_iter().flatten().min()
    }

    /// Finds the sleepers that are due first. Rows that stand for nobody are deleted on the way.
    pub(super) fn look<S: Store>(&mut self, store: &mut S, scheduler: &mut Scheduler) -> Result<(), StoreError> {
        let found = self.find(store, scheduler);
        scheduler.set_horizon(self.horizon());
        found
    }

    fn find<S: Store>(&mut self, store: &mut S, scheduler: &mut Scheduler) -> Result<(), StoreError> {
        let mut graves = WriteBatch::default();
        self.current.look(store, scheduler, |_, _| Ok(true), &mut graves)?;
        let validate = |row: Row, origin: &Origin| -> Result<bool, StoreError> {
            let Some(bytes) = store.get(Keyspace::Origin, origin.as_str().as_bytes())? else { return Ok(false) };
            // A record that cannot be read is counted anew when its origin wakes.
            Ok(OriginRecord::decode(&bytes)
                .map_or(true, |record| record.row == Some(row) && record.summary.queued() > 0))
        };
        self.earlier.look(store, scheduler, validate, &mut graves)?;
        if !graves.is_empty() {
            store.commit(graves)?;
        }
        if self.current.has_lost || self.earlier.has_lost {
            self.reclaim(store, scheduler)?;
            (self.current.has_lost, self.earlier.has_lost) = (false, false);
        }
        Ok(())
    }

    /// Gives a key to each sleeping origin that has none, and something queued. Walks over all origins: for damage only.
    fn reclaim<S: Store>(&mut self, store: &mut S, scheduler: &mut Scheduler) -> Result<(), StoreError> {
        let mut from = Vec::new();
        loop {
            let rows = store.peek(Keyspace::Origin, &from, &[0xff], PAGE)?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            from.clone_from(last);
            from.push(0);
            let (mut batch, mut given) = (WriteBatch::default(), Vec::new());
            for (name, bytes) in rows {
                let Some(origin) = origin_of(&name).filter(|origin| !scheduler.knows(origin)) else { continue };
                let mut record = OriginRecord::decode(&bytes).or_else(|_| recount(store, &origin))?;
                let stands = match record.row {
                    Some(row) => store.get(Keyspace::Due, &row.to_key())?.as_ref() == Some(&name),
                    None => false,
                };
                if stands || record.summary.queued() == 0 {
                    continue;
                }
                tracing::warn!(%origin, "an origin that stood under no key is due again");
                scheduler.skip_tickets(scheduler.last_ticket() + 1);
                let row = self.row(self.due_at(&record, scheduler.latest()), scheduler.last_ticket());
                record.row = Some(row);
                batch.insert(Keyspace::Due, row.to_key(), name.clone());
                batch.insert(Keyspace::Origin, name, record.encode());
                given.push((row, origin));
            }
            if !batch.is_empty() {
                store.commit(batch)?;
                given.iter().for_each(|(row, origin)| self.note(*row, origin));
            }
        }
    }

    /// When a sleeping origin may be asked, for all that its record says: never before anything that it was told.
    fn due_at(&self, record: &OriginRecord, latest: Instant) -> Instant {
        match &record.rest {
            Some(rest) if rest.run == self.run => {
                let held = [rest.hold, rest.park].into_iter().flatten().map(|held| held.until);
                held.fold(rest.turn.ready.at.max(latest), Instant::max)
            }
            _ => self.ready.at.max(latest),
        }
    }

    /// Brings the sleepers that are due at `now` to memory, a page of them at most.
    pub(super) fn wake_due<S: Store>(
        &mut self,
        store: &mut S,
        scheduler: &mut Scheduler,
        now: Instant,
    ) -> Result<(), StoreError> {
        for _ in 0..PAGE {
            let Some(first) = self.horizon().filter(|horizon| horizon.0 <= now) else { break };
            let is_earlier = self.earlier.page.front().is_some() && first == (self.ready.at, self.next_ticket);
            let reading = if is_earlier { &self.earlier } else { &self.current };
            let Some((row, origin)) = reading.page.front().cloned() else { break };
            if let Some(mut record) = self.record(store, &origin)?.filter(|_| !scheduler.knows(&origin)) {
                let waking = match &record.rest {
                    Some(rest) if rest.run == self.run => Waking::ThisRun,
                    _ => self.earlier(Some(self.next_ticket)),
                };
                // Counted anew: this is its key.
                record.row = record.row.or(Some(row));
                // With nothing queued the row was deleted since this page was read: the entry is a leftover.
                if record.row == Some(row) && record.summary.queued() > 0 {
                    scheduler.recall(&origin, record, waking);
                }
            }
            if is_earlier {
                self.next_ticket += 1;
                self.earlier.page.pop_front();
            } else {
                self.current.page.pop_front();
            }
            self.look(store, scheduler)?;
        }
        Ok(())
    }

    /// Up to `count` sleepers that are not due at `now`, the earliest first.
    pub(super) fn waiting<S: Store>(
        &self,
        store: &S,
        scheduler: &Scheduler,
        now: Instant,
        count: usize,
    ) -> Result<Vec<Waiting>, StoreError> {
        let mut waiting = Vec::new();
        for (reading, at) in [(&self.earlier, Some(self.ready.at)), (&self.current, None)] {
            let mut rows: Vec<(Row, Origin)> = reading.page.iter().cloned().collect();
            if rows.len() < count && !reading.is_exhausted {
                let more = store.peek(Keyspace::Due, &reading.from, &reading.until, count)?;
                rows.extend(more.iter().filter_map(|(key, value)| Row::from_key(key).zip(origin_of(value))));
            }
            for (row, origin) in rows {
                if waiting.len() >= count {
                    break;
                }
                if at.unwrap_or(row.at) <= now || scheduler.knows(&origin) {
                    continue;
                }
                let record = self.record(store, &origin)?.filter(|record| record.row == Some(row));
                waiting.extend(record.map(|record| {
                    let waking = self.read(&record);
                    scheduler.describe_sleeper(&origin, record, waking, now)
                }));
            }
        }
        Ok(waiting)
    }

    const fn earlier(&self, ticket: Option<u64>) -> Waking {
        Waking::EarlierRun { ready: self.ready, ticket }
    }
}

impl Reading {
    fn new(from: Vec<u8>, until: Vec<u8>) -> Self {
        Self { from, until, page: VecDeque::new(), is_exhausted: false, has_lost: false }
    }

    /// Takes in a row that was just written: one that lies before what is read next has to stand in the page.
    fn note(&mut self, row: Row, origin: &Origin) {
        if row.to_key() >= self.from {
            self.is_exhausted = false;
            return;
        }
        let at = self.page.partition_point(|other| other.0 < row);
        self.page.insert(at, (row, origin.clone()));
        if self.page.len() > 4 * PAGE
            && let Some((first, _)) = self.page.get(PAGE)
        {
            self.from = first.to_key();
            self.page.truncate(PAGE);
            self.is_exhausted = false;
        }
    }

    /// Drops rows from the front of the page, and reads the next one, until a sleeper stands in front.
    fn look<S: Store>(
        &mut self,
        store: &S,
        scheduler: &Scheduler,
        is_valid: impl Fn(Row, &Origin) -> Result<bool, StoreError>,
        graves: &mut WriteBatch,
    ) -> Result<(), StoreError> {
        loop {
            while let Some((row, origin)) = self.page.front() {
                if !scheduler.knows(origin) {
                    if is_valid(*row, origin)? {
                        return Ok(());
                    }
                    graves.delete(Keyspace::Due, row.to_key());
                }
                self.page.pop_front();
            }
            if self.is_exhausted {
                return Ok(());
            }
            let rows = store.peek(Keyspace::Due, &self.from, &self.until, PAGE)?;
            self.is_exhausted = rows.len() < PAGE;
            if let Some((last, _)) = rows.last() {
                self.from.clone_from(last);
                self.from.push(0);
            }
            for (key, value) in rows {
                match (Row::from_key(&key), origin_of(&value)) {
                    (Some(row), Some(origin)) => self.page.push_back((row, origin)),
                    _ => {
                        tracing::warn!(?key, "a row of the due origins cannot be read and is dropped");
                        self.has_lost = true;
                        graves.delete(Keyspace::Due, key);
                    }
                }
            }
        }
    }
}
