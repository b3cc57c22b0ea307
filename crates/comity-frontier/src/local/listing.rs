//! Reads a store page by page, beside whoever leases from it.

use comity_policy::Instant;
use comity_url::{Origin, UrlKey};

use super::inner::Inner;
use super::open::recount;
use crate::key::{origin_end, place_in, queue_key};
use crate::listing::{OriginFilter, OriginStanding, Page, QueuePlace, QueuedAt};
use crate::rest::{OriginRecord, origin_of};
use crate::revisit::{Row as Visit, Scheduled, VisitPlace, time_of, visits_begin, visits_end};
use crate::{Ending, Keyspace, QueuedUrl, Store, StoreError, WriteBatch};

/// Rows that one call looks at or gives at most: so long nobody else has the store.
const MOST_ROWS: usize = 1024;
/// Commits of the seen-set read by one call: each holds the fingerprints of one, which may be thousands.
const SEEN_ROWS: usize = 16;
/// Above every key of the queue and of the origins: they are text.
const END: [u8; 1] = [0xff];

impl<S: Store> Inner<S> {
    pub(super) fn origins(
        &self,
        filter: OriginFilter,
        after: Option<&Origin>,
        n: usize,
        now: Instant,
    ) -> Result<Page<OriginStanding, Origin>, StoreError> {
        let from = after.map(|origin| behind(origin.as_str().as_bytes())).unwrap_or_default();
        let looked = self.store.peek(Keyspace::Origin, &from, &END, MOST_ROWS)?;
        let is_last = looked.len() < MOST_ROWS;
        let now = now.max(self.scheduler.latest());
        let mut page = Page { rows: Vec::new(), next: None };
        for (key, value) in looked {
            let Some(origin) = origin_of(&key) else { continue };
            let standing = self.standing(&origin, &value, now)?;
            if filter.lets(&standing) {
                if page.rows.len() >= n.max(1) {
                    return Ok(page);
                }
                page.rows.push(standing);
            }
            // The cursor of a page that is full is its last row; of one that is not, how far was looked.
            page.next = Some(origin);
        }
        page.next = page.next.filter(|_| !is_last);
        Ok(page)
    }

    fn standing(&self, origin: &Origin, value: &[u8], now: Instant) -> Result<OriginStanding, StoreError> {
        let (waiting, leased, summary) = match self.scheduler.describe_resident(origin, now) {
            Some((waiting, leased)) => (waiting, leased, self.scheduler.summary(origin).cloned().unwrap_or_default()),
            None => {
                let record = OriginRecord::decode(value).or_else(|_| recount(&self.store, origin))?;
                let (summary, waking) = (record.summary.clone(), self.roster.read(&record));
                (self.scheduler.describe_sleeper(origin, record, waking, now), 0, summary)
            }
        };
        let ended = |ending| summary.ended(ending);
        let (done, refused, failed) = (ended(Ending::Done), ended(Ending::Refused), ended(Ending::Failed));
        Ok(OriginStanding { waiting, leased, done, refused, failed })
    }

    pub(super) fn urls(
        &self,
        of: Option<&Origin>,
        after: Option<&QueuePlace>,
        n: usize,
    ) -> Result<Page<QueuedAt, QueuePlace>, StoreError> {
        let begin = of.map(|origin| origin.as_str().as_bytes().to_vec()).unwrap_or_default();
        let cursor = after.map(|place| behind(&queue_key(&place.origin, place.priority, place.sequence)));
        let from = cursor.map_or_else(|| begin.clone(), |cursor| cursor.max(begin.clone()));
        let until = of.map_or_else(|| END.to_vec(), origin_end);
        let limit = n.clamp(1, MOST_ROWS);
        let read = self.store.peek(Keyspace::Queue, &from, &until, limit)?;
        let is_last = read.len() < limit;
        let mut page = Page { rows: Vec::with_capacity(read.len()), next: None };
        for (key, value) in read {
            let Some(place) = place_in(&key) else {
                tracing::warn!(key = %String::from_utf8_lossy(&key), "a queue record under a broken key stays where it is");
                continue;
            };
            let url = QueuedUrl::decode(&value).ok().filter(|queued| *queued.url.origin() == place.origin);
            page.rows.push(QueuedAt { place, url });
        }
        page.next = page.rows.last().map(|row| row.place.clone()).filter(|_| !is_last);
        Ok(page)
    }

    pub(super) fn visits(
        &self,
        after: Option<&VisitPlace>,
        n: usize,
    ) -> Result<Page<Scheduled, VisitPlace>, StoreError> {
        let from = after.map_or_else(|| visits_begin().to_vec(), |place| behind(place.as_bytes()));
        let limit = n.clamp(1, MOST_ROWS);
        let read = self.store.peek(Keyspace::Visit, &from, visits_end(), limit)?;
        let next = read.last().map(|(key, _)| VisitPlace::from_bytes(key.clone())).filter(|_| read.len() >= limit);
        let mut rows = Vec::with_capacity(read.len());
        for (key, value) in read {
            match (time_of(&key), Visit::decode(&value)) {
                (Some(at), Ok(row)) => rows.push(Scheduled::of(at, row)),
                _ => tracing::warn!(?key, "a URL that is to be visited anew cannot be read and is not listed"),
            }
        }
        Ok(Page { rows, next })
    }

    pub(super) fn seen(&self, after: Option<u64>, until: Option<u64>) -> Result<Page<UrlKey, u64>, StoreError> {
        let from = after.map(|commit| behind(&commit.to_be_bytes())).unwrap_or_default();
        let until = until.map_or_else(|| vec![0xff; 9], |until| behind(&until.to_be_bytes()));
        let read = self.store.peek(Keyspace::Seen, &from, &until, SEEN_ROWS)?;
        let is_last = read.len() < SEEN_ROWS;
        let last = read.last().and_then(|(key, _)| key.as_slice().try_into().ok()).map(u64::from_be_bytes);
        let keys = |prints: &[u8]| prints.as_chunks::<16>().0.iter().map(|print| UrlKey::from_bytes(*print)).collect();
        let rows = read.iter().flat_map(|(_, prints)| -> Vec<UrlKey> { keys(prints) }).collect();
        Ok(Page { rows, next: last.filter(|_| !is_last) })
    }

    /// Marks fingerprints as seen, in one commit; gives how many were new.
    pub(super) fn mark_seen(&mut self, keys: &[UrlKey]) -> Result<u64, StoreError> {
        let mut new: Vec<UrlKey> = keys.iter().copied().filter(|key| !self.seen.contains(*key)).collect();
        new.sort_unstable();
        new.dedup();
        if new.is_empty() {
            return Ok(0);
        }
        let mut batch = WriteBatch::default();
        let prints = new.iter().flat_map(|key| key.to_bytes()).collect();
        batch.insert(Keyspace::Seen, self.roster.next_commit().to_be_bytes().to_vec(), prints);
        self.store.commit(batch)?;
        self.roster.committed();
        for key in &new {
            self.seen.insert(*key);
        }
        Ok(new.len() as u64)
    }
}

/// The first key behind this one.
fn behind(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}
