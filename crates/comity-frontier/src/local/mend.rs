//! Puts a store in order whose tables no longer agree, after a loss that was accepted: the queue and the schedule count,
//! everything else is made from them.

use comity_policy::Instant;
use comity_url::Origin;

use super::domains;
use super::open::{TOTALS, scheduled};
use crate::key::place_of;
use crate::rest::{OriginRecord, Row, origin_of};
use crate::revisit::Row as Visit;
use crate::seen::SeenSet;
use crate::totals::Totals;
use crate::{Keyspace, QueuedUrl, Spent, Store, StoreError, Summary, WriteBatch};

/// In [`Keyspace::Meta`] of a store that is to be put in order.
pub(crate) const MEND: &[u8] = b"mend";
/// Its value where nothing was lost: URLs were taken out on purpose. After a loss it is empty.
pub(crate) const FORGOTTEN: &[u8] = b"forgotten";

/// Rows read at once.
const PAGE: usize = 1024;
/// The rows of the schedule by time begin here, and end before that.
const BY_TIME: &[u8] = b"t";
const BEHIND_TIME: &[u8] = b"u";

/// Puts the store in order, if it asks for it. Begun anew after a kill it does everything once more. Gives the number of the
/// last commit that marked URLs seen.
pub(super) fn mend<S: Store>(store: &mut S, seen: &mut SeenSet, run: u64, last_seen: u64) -> Result<u64, StoreError> {
    match store.get(Keyspace::Meta, MEND)? {
        None => return Ok(last_seen),
        Some(why) if why == FORGOTTEN => {
            tracing::info!("URLs were taken out of the frontier: origins, order and sums are made anew from the queue");
        }
        Some(_) => {
            tracing::warn!("the frontier lost a part of its log: origins, order and sums are made anew from the queue");
        }
    }
    clear_due(store)?;
    let mut mending = Mending { row: Row { run: run.saturating_sub(1), at: Instant::START, ticket: 0 }, last_seen };
    mending.queue(store, seen)?;
    mending.schedule(store, seen)?;
    let mut totals = idle_origins(store)?;
    // No budget grows by a loss.
    if let Some(Ok(before)) = store.get(Keyspace::Meta, TOTALS)?.as_deref().map(Totals::decode) {
        totals.spent.pages = totals.spent.pages.max(before.spent.pages);
        totals.spent.bytes = totals.spent.bytes.max(before.spent.bytes);
    }
    domains::rebuild(store)?;
    let mut batch = WriteBatch::default();
    batch.delete(Keyspace::Meta, MEND.to_vec());
    batch.insert(Keyspace::Meta, TOTALS.to_vec(), totals.encode());
    store.commit(batch)?;
    store.sync()?;
    Ok(mending.last_seen)
}

fn clear_due<S: Store>(store: &mut S) -> Result<(), StoreError> {
    loop {
        let rows = store.peek(Keyspace::Due, &[], &[0xff; 25], PAGE)?;
        if rows.is_empty() {
            return Ok(());
        }
        let mut batch = WriteBatch::default();
        rows.into_iter().for_each(|(key, _)| batch.delete(Keyspace::Due, key));
        store.commit(batch)?;
    }
}

struct Mending {
    /// The key of the last origin that was put in its place.
    row: Row,
    last_seen: u64,
}

/// An origin whose queue is read.
struct Counted {
    origin: Origin,
    summary: Summary,
}

impl Mending {
    /// Walks the queue: each origin gets its counts and a key, each URL counts as seen.
    fn queue<S: Store>(&mut self, store: &mut S, seen: &mut SeenSet) -> Result<(), StoreError> {
        let (mut from, mut counted): (Vec<u8>, Option<Counted>) = (Vec::new(), None);
        loop {
            let rows = store.peek(Keyspace::Queue, &from, &[0xff], PAGE)?;
            let Some((last, _)) = rows.last() else { break };
            from.clone_from(last);
            from.push(0);
            let (mut batch, mut prints) = (WriteBatch::default(), Vec::new());
            for (key, value) in rows {
                let name = key.split(|byte| *byte == 0).next().unwrap_or_default();
                let Some(origin) = origin_of(name) else {
                    tracing::warn!("a queue record under a broken key stays where it is");
                    continue;
                };
                let Some((priority, sequence)) = place_of(&origin, &key) else { continue };
                if counted.as_ref().is_none_or(|counted| counted.origin != origin)
                    && let Some(last) = counted.replace(Counted { origin, summary: Summary::default() })
                {
                    self.place(store, &mut batch, last)?;
                }
                if let Some(counted) = &mut counted {
                    counted.summary.count(priority, sequence);
                }
                if let Ok(queued) = QueuedUrl::decode(&value)
                    && seen.insert(queued.key)
                {
                    prints.extend(queued.key.to_bytes());
                }
            }
            self.mark_seen(&mut batch, prints);
            store.commit(batch)?;
        }
        let mut batch = WriteBatch::default();
        if let Some(last) = counted {
            self.place(store, &mut batch, last)?;
        }
        store.commit(batch)
    }

    /// Walks the schedule: a page that waits for its next visit counts as seen, or a link to it would queue it beside that.
    fn schedule<S: Store>(&mut self, store: &mut S, seen: &mut SeenSet) -> Result<(), StoreError> {
        let mut from = BY_TIME.to_vec();
        loop {
            let rows = store.peek(Keyspace::Visit, &from, BEHIND_TIME, PAGE)?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            from.clone_from(last);
            from.push(0);
            let mut prints = Vec::new();
            // What cannot be read is dropped, and said, when it is due.
            for visit in rows.iter().filter_map(|(_, value)| Visit::decode(value).ok()) {
                if seen.insert(visit.queued.key) {
                    prints.extend(visit.queued.key.to_bytes());
                }
            }
            let mut batch = WriteBatch::default();
            if self.mark_seen(&mut batch, prints) {
                store.commit(batch)?;
            }
        }
    }

    /// False when there was nothing to mark.
    fn mark_seen(&mut self, batch: &mut WriteBatch, prints: Vec<u8>) -> bool {
        if prints.is_empty() {
            return false;
        }
        self.last_seen += 1;
        batch.insert(Keyspace::Seen, self.last_seen.to_be_bytes().to_vec(), prints);
        true
    }

    /// Writes the record of an origin, and its key.
    fn place<S: Store>(&mut self, store: &S, batch: &mut WriteBatch, counted: Counted) -> Result<(), StoreError> {
        let name = counted.origin.as_str().as_bytes().to_vec();
        let before = store.get(Keyspace::Origin, &name)?.and_then(|bytes| OriginRecord::decode(&bytes).ok());
        let mut summary = counted.summary;
        summary.recall_endings(before.map(|record| record.summary).as_ref());
        self.row.ticket += 1;
        batch.insert(Keyspace::Due, self.row.to_key(), name.clone());
        let record = OriginRecord { summary, row: Some(self.row), rest: None };
        batch.insert(Keyspace::Origin, name, record.encode());
        Ok(())
    }
}

/// Looks through the origins: one whose queue is empty has no key and counts nothing as queued. Gives the sums.
fn idle_origins<S: Store>(store: &mut S) -> Result<Totals, StoreError> {
    let (mut totals, mut from) = (Totals { scheduled: scheduled(store)?, ..Totals::default() }, Vec::new());
    loop {
        let rows = store.peek(Keyspace::Origin, &from, &[0xff], PAGE)?;
        let Some((last, _)) = rows.last() else {
            totals.spent = totals.spent_at_least();
            return Ok(totals);
        };
        from.clone_from(last);
        from.push(0);
        let mut batch = WriteBatch::default();
        for (key, value) in rows {
            let Some(origin) = origin_of(&key) else { continue };
            let known = OriginRecord::decode(&value).ok();
            // Those that wait were written anew just now, with a key that stands.
            let waits = match known.as_ref().and_then(|record| record.row) {
                Some(row) => store.get(Keyspace::Due, &row.to_key())?.as_deref() == Some(origin.as_str().as_bytes()),
                None => false,
            };
            let mut record = known.unwrap_or_default();
            if !waits {
                let mut summary = Summary::default();
                summary.recall_endings(Some(&record.summary));
                record = OriginRecord { summary, row: None, rest: None };
                batch.insert(Keyspace::Origin, key, record.encode());
            }
            totals.origins += 1;
            totals.add(&record.summary);
            totals.spend(Spent { pages: 0, bytes: record.summary.bytes() });
        }
        store.commit(batch)?;
    }
}
