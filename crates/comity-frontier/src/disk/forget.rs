//! Takes URLs out of a store, so that no byte of them is left in its files: an engine that only appends keeps what was deleted
//! until it rearranges itself. The store is copied without them, beside, and put in its place.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use comity_url::{CrawlUrl, Origin};

use super::{COMMIT, DiskSettings, DiskStore, of_io};
use crate::local::MEND;
use crate::rest::origin_of;
use crate::revisit::Row as Visit;
use crate::{Keyspace, QueuedUrl, Row, Store, StoreError, WriteBatch};

/// What is to be forgotten.
#[derive(Clone, Copy)]
pub struct Forget<'a> {
    /// Whether this URL goes.
    pub url: &'a dyn Fn(&CrawlUrl) -> bool,
    /// Whether all of this origin goes.
    pub origin: &'a dyn Fn(&Origin) -> bool,
}

impl std::fmt::Debug for Forget<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forget").finish_non_exhaustive()
    }
}

/// Rows copied in one commit.
const PAGE: usize = 1024;
/// Behind every key.
const END: [u8; 64] = [0xff; 64];

impl DiskStore {
    /// Copies the store in `path` without what is to be forgotten: queued URLs and those that wait for another visit, the
    /// pages that led to others, the counts of an origin. The seen-set stays: it holds keyed fingerprints only, and what was
    /// visited is not visited again. Gives how many rows went or were changed. Killed at any instant, the store is the old one
    /// or the new one.
    ///
    /// Costs a copy of the store. URLs that had left the queue are not kept for a power cut any more: every record must be safe.
    ///
    /// # Errors
    /// When another process holds it, or it cannot be read or written.
    pub fn forget(path: &Path, settings: DiskSettings, what: Forget<'_>) -> Result<u64, StoreError> {
        let wrong = |e: io::Error| of_io(path, e);
        let old = Self::open(path, settings)?;
        let beside = beside(path, "new");
        let mut new = Self::open(&beside, settings)?;
        let mut copy = Copying { what, from: &old, to: &mut new, batch: WriteBatch::default(), changed: 0 };
        copy.all()?;
        let changed = copy.changed;
        new.unsynced = new.unsynced.max(1);
        new.sync()?;
        drop(new);
        if changed == 0 {
            drop(old);
            std::fs::remove_dir_all(&beside).map_err(wrong)?;
            return Ok(0);
        }
        let away = self::beside(path, "old");
        drop(old);
        std::fs::rename(path, &away).and_then(|()| std::fs::rename(&beside, path)).map_err(wrong)?;
        sync_folder(path).map_err(wrong)?;
        std::fs::remove_dir_all(&away).and_then(|()| sync_folder(path)).map_err(wrong)?;
        Ok(changed)
    }
}

/// A kill came between the two renames: the copy was whole by then.
pub(super) fn finish_swap(path: &Path) -> io::Result<()> {
    let new = beside(path, "new");
    if !path.exists() && new.exists() { std::fs::rename(new, path).and_then(|()| sync_folder(path)) } else { Ok(()) }
}

/// What a kill left beside a store, which is held.
pub(super) fn clear_swap(path: &Path) -> io::Result<()> {
    for end in ["new", "old"] {
        let left = beside(path, end);
        if left.exists() {
            std::fs::remove_dir_all(left)?;
        }
    }
    Ok(())
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{end}"));
    PathBuf::from(name)
}

/// Only Unix opens folders.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    if cfg!(unix) { std::fs::File::open(folder)?.sync_all() } else { Ok(()) }
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
        // The order in which origins come due and the sums over domains are made anew from the rest, as after a loss; what left
        // the queue has records that are safe.
        self.table(Keyspace::Meta, (&[], &END), |(key, value)| (key != COMMIT).then(|| value.clone()))?;
        // The number of the last commit stands in every store, and is no row that went.
        self.changed = self.changed.saturating_sub(u64::from(self.from.last_commit > 0));
        self.batch.insert(Keyspace::Meta, MEND.to_vec(), Vec::new());
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
            let rows = self.from.peek(space, &from, until, PAGE)?;
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
        let of_erased = |capture: &crate::CaptureRef| capture.url.as_ref().is_some_and(|url| (what.url)(url));
        if visited.capture.as_ref().is_some_and(of_erased) {
            visited.capture = None;
        }
    }
    Some(queued)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Local, Offer, OtherRules, SchedulerConfig};
    use comity_policy::{Instant, Ready, Reason};
    use comity_url::{KeyRules, UrlKey};

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).unwrap()
    }

    fn open(path: &Path) -> Local<DiskStore> {
        let ready = Ready { at: Instant::START, clock: Reason::Ok };
        let store = DiskStore::open(path, DiskSettings::default()).unwrap();
        let mut local = Local::open(store, SchedulerConfig::default(), ready).unwrap();
        local.fingerprint_key([1; 16], KeyRules::default(), OtherRules::Refuse).unwrap();
        local
    }

    fn offers() -> Vec<Offer> {
        let all = (0..40_u8).flat_map(|n| (0..3_u8).map(move |page| (n, page)));
        let offer = |(n, page): (u8, u8)| {
            let text = format!("http://origin{n:02}.test/page{page}");
            let mut offer = Offer::seed(url(&text), UrlKey::from_bytes([n * 3 + page; 16]));
            offer.seed = false;
            offer.via = Some(url(&format!("http://origin{:02}.test/page9", n.saturating_sub(1))));
            offer
        };
        all.map(offer).collect()
    }

    fn bytes_under(dir: &Path) -> Vec<u8> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            all.append(&mut if path.is_dir() { bytes_under(&path) } else { std::fs::read(&path).unwrap() });
        }
        all
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn what_is_forgotten_stands_in_no_file_and_the_rest_is_queued_as_before() {
        use crate::Frontier as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("frontier");
        let local = open(&path);
        block_on(local.offer(offers())).unwrap();
        drop(local.into_store().unwrap());
        let has = |needle: &[u8]| bytes_under(dir.path()).windows(needle.len()).any(|window| window == needle);
        assert!(has(b"origin17.test"));
        let gone = Origin::parse("http://origin17.test").unwrap();
        let what = Forget { url: &|url| url.origin() == &gone, origin: &|origin| *origin == gone };
        // Three URLs, the counts of their origin, and the via of the three that were found there.
        assert_eq!(DiskStore::forget(&path, DiskSettings::default(), what).unwrap(), 7);
        assert!(!has(b"origin17.test") && has(b"origin18.test"));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        assert_eq!(DiskStore::forget(&path, DiskSettings::default(), what).unwrap(), 0);
        let local = open(&path);
        assert_eq!(block_on(local.stats(Instant::START)).unwrap().queued, 39 * 3);
        let again = block_on(local.offer(offers())).unwrap();
        assert!(again.iter().all(|answer| matches!(answer, crate::Offered::Seen)), "the seen-set stays");
    }

    #[test]
    fn a_kill_between_the_renames_leaves_the_new_store() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("frontier");
        drop(open(&path).into_store().unwrap());
        std::fs::rename(&path, beside(&path, "new")).unwrap();
        std::fs::create_dir(beside(&path, "old")).unwrap();
        drop(open(&path).into_store().unwrap());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
