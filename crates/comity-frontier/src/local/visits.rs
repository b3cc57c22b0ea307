//! When URLs are to be visited anew: of the schedule, which lies in the store, only where it begins is in memory.

use comity_policy::{Instant, WallTime};

use crate::revisit::{due_until, time_of};
use crate::{Keyspace, Row, Store, StoreError};

/// Where the schedule begins.
///
/// It is read in order from a cursor on and never from its head again, where the graves lie.
#[derive(Debug)]
pub(super) struct Visits {
    /// Civil time at the start of the clock; `None`: nothing comes back.
    epoch: Option<WallTime>,
    /// No row lies before.
    from: Vec<u8>,
    /// When the first row at or behind the cursor is due.
    next: Option<WallTime>,
    /// URLs that came back since the start.
    pub(super) returned: u64,
}

/// Rows that come back in one commit. Our choice: some milliseconds of work.
const PAGE: usize = 256;
/// Behind all rows by time.
const END: &[u8] = b"u";

impl Visits {
    /// Finds the first row.
    pub(super) fn open<S: Store>(store: &S, epoch: Option<WallTime>) -> Result<Self, StoreError> {
        let from = Self::start();
        let mut visits = Self { epoch, from, next: None, returned: 0 };
        if epoch.is_some() {
            visits.look(store)?;
        }
        Ok(visits)
    }

    /// Nothing is scheduled.
    pub(super) fn none(epoch: Option<WallTime>) -> Self {
        Self { epoch, from: Self::start(), next: None, returned: 0 }
    }

    fn start() -> Vec<u8> {
        b"t".to_vec()
    }

    /// When the next URL comes back.
    pub(super) fn next(&self) -> Option<Instant> {
        let (epoch, next) = (self.epoch?, self.next?);
        Some(Instant::START.after(next.since(epoch)))
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next().is_some_and(|next| next <= now)
    }

    /// Civil time at `now`; `None` when nothing comes back.
    pub(super) fn wall(&self, now: Instant) -> Option<WallTime> {
        self.epoch.map(|epoch| epoch.after(now.since(Instant::START)))
    }

    /// A row was written under `key`.
    pub(super) fn note(&mut self, key: &[u8]) {
        let Some(at) = time_of(key).filter(|_| self.epoch.is_some()) else { return };
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
        if key < self.from.as_slice() {
            self.from = key.to_vec();
        }
    }

    /// The rows that are due at `now`, a page of them at most.
    pub(super) fn due<S: Store>(&self, store: &S, now: Instant) -> Result<Vec<Row>, StoreError> {
        let Some(wall) = self.wall(now) else { return Ok(Vec::new()) };
        store.peek(Keyspace::Visit, &self.from, &due_until(wall), PAGE)
    }

    /// The rows up to `last` came back.
    pub(super) fn passed<S: Store>(&mut self, store: &S, last: Option<&Row>) -> Result<(), StoreError> {
        if let Some((key, _)) = last {
            self.from.clone_from(key);
            self.from.push(0);
        }
        self.look(store)
    }

    fn look<S: Store>(&mut self, store: &S) -> Result<(), StoreError> {
        let first = store.peek(Keyspace::Visit, &self.from, END, 1)?;
        self.next = first.first().and_then(|(key, _)| time_of(key));
        Ok(())
    }
}
