//! Takes URLs out of a store, so that no byte of them is left in its files: an engine that only appends keeps what was deleted
//! until it rearranges itself. The store is copied without them, beside, and put in its place.

use std::collections::HashSet;

use comity_store::swap;
use comity_url::{CrawlUrl, Origin};

use super::{COMMIT, DiskStore, of_io};
use crate::local::{FORGOTTEN, MEND, left_without};
use crate::rest::origin_of;
use crate::revisit::Row as Visit;
use crate::{Keyspace, QueuedUrl, Row, Store, StoreError, WriteBatch};

/// What is to be forgotten.
#[derive(Clone, Copy)]
pub struct Forget<'a> {
    /// Whether this URL goes.
    pub url: &'a dyn Fn(&CrawlUrl) -> bool,
    /// Whether a capture that was written under this URL goes: archives may write URLs otherwise than they are asked for.
    pub written: &'a dyn Fn(&CrawlUrl) -> bool,
    /// Whether all of this origin goes.
    pub origin: &'a dyn Fn(&Origin) -> bool,
}

impl std::fmt::Debug for Forget<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forget").finish_non_exhaustive()
    }
}

/// Rows copied in one commit, and their bytes: a row of the seen-set is as long as a commit was.
const PAGE: (usize, usize) = (1024, 1 << 20);
/// Behind every key.
const END: [u8; 64] = [0xff; 64];

impl DiskStore {
    /// Copies the store without what is to be forgotten, puts the copy in its place and goes on with that: without queued URLs,
    /// those that wait for another visit, those that left the queue and whose records are not safe, the pages that led to
    /// others, the counts of an origin. The seen-set stays: it holds keyed fingerprints only, and what was visited is not
    /// visited again. Gives how many rows went or were changed; the files are new ones also when none was, since an engine that
    /// only appends keeps in them what was deleted before. Killed at any instant, the store is the old one or the new one.
    ///
    /// Nobody else can open it in between. Costs a copy of the store.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn forget(self, what: Forget<'_>) -> Result<(Self, u64), StoreError> {
        let beside = swap::begin(&self.path).map_err(|e| of_io(&self.path, e))?;
        let mut new = Self::open(&beside, self.settings)?;
        let mut copy = Copying { what, from: &self, to: &mut new, batch: WriteBatch::default(), changed: 0 };
        copy.all()?;
        let changed = copy.changed;
        new.unsynced = new.unsynced.max(1);
        new.sync()?;
        // A folder is locked by a file in it, which moves with it. Elsewhere than on Unix a folder with open files stands fast.
        let ((path, settings, old), (_, _, new)) = (self.close(), new.close());
        let locks = cfg!(unix).then_some((old, new));
        swap::replace(&path).map_err(|e| of_io(&path, e))?;
        let store = match locks {
            Some((_old, new)) => Self::open_held(&path, settings, new)?,
            None => Self::open(&path, settings)?,
        };
        Ok((store, changed))
    }
}

struct Copying<'a> {
    what: Forget<'a>,
    from: &'a DiskStore,
    to: &'a mut DiskStore,
    batch: WriteBatch,
    changed: u64,
}

impl Copying<'_> {
    fn all(&mut self) -> Result<(), StoreError> {
        let what = self.what;
        self.table(Keyspace::Seen, (&[], &END), |(_, value)| Some(value.clone()))?;
        self.table(Keyspace::Queue, (&[], &END), |(_, value)| queued(what, value))?;
        self.table(Keyspace::Origin, (&[], &END), |(key, value)| {
            let goes = origin_of(key).is_some_and(|origin| (what.origin)(&origin));
            (!goes).then(|| value.clone())
        })?;
        // By time first: the rows by fingerprint name those.
        let mut gone = HashSet::new();
        self.table(Keyspace::Visit, (b"t", b"u"), |(key, value)| {
            let kept = visit(what, value);
            if kept.is_none() {
                gone.extend(key.last_chunk::<16>().copied());
            }
            kept
        })?;
        self.table(Keyspace::Visit, (&[], b"t"), |(key, value)| {
            let goes = key.last_chunk::<16>().is_some_and(|print| gone.contains(print));
            (!goes).then(|| value.clone())
        })?;
        self.table(Keyspace::Visit, (b"u", &END), |(_, value)| Some(value.clone()))?;
        self.table(Keyspace::Left, (&[], &END), |(_, value)| {
            left_without(value, what.origin, |record| queued(what, record))
        })?;
        // The order in which origins come due and the sums over domains are made anew from the rest, as after a loss.
        self.table(Keyspace::Meta, (&[], &END), |(key, value)| (key != COMMIT).then(|| value.clone()))?;
        // The number of the last commit stands in every store, and is no row that went.
        self.changed = self.changed.saturating_sub(u64::from(self.from.last_commit > 0));
        if self.from.get(Keyspace::Meta, MEND)?.is_none() {
            self.batch.insert(Keyspace::Meta, MEND.to_vec(), FORGOTTEN.to_vec());
        }
        self.flush()
    }

    /// Copies rows; those without a value go.
    fn table(
        &mut self,
        space: Keyspace,
        (from, until): (&[u8], &[u8]),
        mut keep: impl FnMut(&Row) -> Option<Vec<u8>>,
    ) -> Result<(), StoreError> {
        let mut from = from.to_vec();
        loop {
            let rows = self.from.peek_within(space, &from, until, PAGE)?;
            let Some((last, _)) = rows.last() else { return self.flush() };
            from = [last, [0].as_slice()].concat();
            for row in rows {
                let kept = keep(&row);
                self.changed += u64::from(kept.as_ref() != Some(&row.1));
                if let Some(value) = kept {
                    self.batch.insert(space, row.0, value);
                }
            }
            self.flush()?;
        }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        if self.batch.is_empty() { Ok(()) } else { self.to.commit(std::mem::take(&mut self.batch)) }
    }
}

/// A record that cannot be read stays as it is: whoever reads it next tells.
fn queued(what: Forget<'_>, value: &[u8]) -> Option<Vec<u8>> {
    match QueuedUrl::decode(value) {
        Ok(url) => without(what, url).map(|url| url.encode()),
        Err(_) => Some(value.to_vec()),
    }
}

fn visit(what: Forget<'_>, value: &[u8]) -> Option<Vec<u8>> {
    match Visit::decode(value) {
        Ok(row) => without(what, row.queued).map(|queued| Visit { queued, ..row }.encode()),
        Err(_) => Some(value.to_vec()),
    }
}

fn without(what: Forget<'_>, mut queued: QueuedUrl) -> Option<QueuedUrl> {
    if (what.url)(&queued.url) {
        return None;
    }
    queued.via = queued.via.filter(|via| !(what.url)(via));
    if let Some(visited) = &mut queued.visited {
        // A capture that went can be pointed at no longer.
        let of_erased = |capture: &crate::CaptureRef| capture.url.as_ref().is_some_and(|url| (what.written)(url));
        if visited.capture.as_ref().is_some_and(of_erased) {
            visited.capture = None;
        }
    }
    Some(queued)
}

#[cfg(test)]
mod tests;
