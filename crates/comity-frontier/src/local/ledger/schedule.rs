//! URLs between two visits: from the queue to the schedule, and back.

use comity_policy::{Reason, WallTime};
use comity_url::UrlKey;

use super::Ledger;
use crate::key::queue_key;
use crate::revisit::{Row, due_key, index_key, time_of};
use crate::{Ending, Hint, Keyspace, LeasedUrl, Offered, QueuedUrl, Revisit, Scheduled, Store, StoreError};

impl<S: Store> Ledger<'_, S> {
    /// Writes when a URL that leaves the queue comes again.
    pub(super) fn schedule(
        &mut self,
        leased: &LeasedUrl<'_>,
        ending: Ending,
        revisit: &Revisit,
    ) -> Result<(), StoreError> {
        let Some(queued) = self.record(&queue_key(leased.origin, leased.priority, leased.sequence))? else {
            return Ok(());
        };
        // Another spelling of the page may wait for its next visit under the same fingerprint: there is one.
        if let Some((due, _)) = self.visit_of(queued.key)? {
            self.changes.batch.delete(Keyspace::Visit, due);
            self.changes.totals.scheduled = self.changes.totals.scheduled.saturating_sub(1);
        }
        let visited = Some(Box::new(revisit.visited.clone()));
        let queued = QueuedUrl { attempts: 0, visited, ..queued };
        self.write_visit(revisit.at, &Row { priority: revisit.priority, ending, queued });
        self.changes.totals.scheduled += 1;
        Ok(())
    }

    /// A site says of a URL that was taken before that it has changed: its next visit is due, if it waits for one.
    pub(super) fn hear(&mut self, key: UrlKey, hint: Hint) -> Result<(), StoreError> {
        let (Some(modified), Some(now)) = (hint.modified, self.visits.wall(self.scheduler.latest())) else {
            return Ok(());
        };
        if !self.hinted.insert(key) {
            return Ok(());
        }
        let Some((due, row)) = self.visit_of(key)? else { return Ok(()) };
        let last = row.queued.visited.as_ref().and_then(|visited| visited.at);
        let Some(last) = last.filter(|last| *last < modified) else { return Ok(()) };
        let at = now.max(last.after(hint.least));
        if time_of(&due).is_some_and(|was| at < was) {
            self.changes.batch.delete(Keyspace::Visit, due);
            self.write_visit(at, &row);
        }
        Ok(())
    }

    /// A URL whose next visit is due goes from the schedule to the queue. What cannot be read is dropped, and said.
    pub(in crate::local) fn come_back(&mut self, due: &[u8], row: &[u8]) -> Result<(), StoreError> {
        self.changes.totals.scheduled = self.changes.totals.scheduled.saturating_sub(1);
        self.changes.batch.delete(Keyspace::Visit, due.to_vec());
        let Row { priority, ending, queued } = match Row::decode(row) {
            Ok(row) => row,
            Err(error) => {
                tracing::warn!(?due, %error, "a URL that was to be visited anew cannot be read and is dropped");
                return Ok(());
            }
        };
        self.changes.batch.delete(Keyspace::Visit, index_key(queued.key));
        let origin = queued.url.origin().clone();
        let place = match self.find(&origin)? {
            Some(place) => place,
            None => self.introduce(&origin),
        };
        let sequence = self.at(place).record.summary.come_back(priority, ending);
        self.append(place, priority, sequence, &queued);
        self.changes.returned += 1;
        Ok(())
    }

    /// Takes in a URL that was visited elsewhere, unless it was seen here or nothing more is taken in at all.
    pub(in crate::local) fn take_in(&mut self, visit: Scheduled) -> Result<Offered, StoreError> {
        let (at, row) = visit.into_row();
        let key = row.queued.key;
        if self.seen.contains(key) || self.taken.contains(&key) {
            return Ok(Offered::Seen);
        }
        let held = self.scheduler.queued() + self.changes.totals.scheduled + self.changes.appended.len() as u64;
        if held >= self.scheduler.config().queued {
            return Ok(self.turn_away(Reason::UrlBudgetQueue));
        }
        let origin = row.queued.url.origin().clone();
        let place = match self.find(&origin)? {
            Some(place) => place,
            None if self.scheduler.origins() + self.new_origins >= self.scheduler.config().origins => {
                return Ok(self.turn_away(Reason::UrlBudgetQueue));
            }
            None => self.introduce(&origin),
        };
        let summary = &mut self.at(place).record.summary;
        summary.admit(row.priority);
        summary.end(row.priority, row.ending);
        self.write_visit(at, &row);
        self.changes.totals.scheduled += 1;
        self.taken.insert(key);
        self.changes.seen.push(key);
        Ok(Offered::New)
    }

    /// The next visit of a fingerprint, with its key by time.
    fn visit_of(&self, key: UrlKey) -> Result<Option<(Vec<u8>, Row)>, StoreError> {
        let Some(due) = self.store.get(Keyspace::Visit, &index_key(key))? else { return Ok(None) };
        let Some(row) = self.store.get(Keyspace::Visit, &due)? else { return Ok(None) };
        Ok(Row::decode(&row).ok().map(|row| (due, row)))
    }

    fn write_visit(&mut self, at: WallTime, row: &Row) {
        let key = due_key(at, row.queued.url.origin(), row.queued.key);
        self.changes.batch.insert(Keyspace::Visit, index_key(row.queued.key), key.clone());
        self.changes.batch.insert(Keyspace::Visit, key.clone(), row.encode());
        self.changes.scheduled.push(key);
    }
}
