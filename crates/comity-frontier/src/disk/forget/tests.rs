use std::path::Path;

use super::*;
const HELD: &str = "held";
use crate::{DiskSettings, Frontier as _, Local, Offer, OtherRules, SchedulerConfig};
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

fn forget(path: &Path, what: Forget<'_>) -> u64 {
    DiskStore::open(path, DiskSettings::default()).unwrap().forget(what).unwrap().1
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

/// All bytes of all files below a directory. A mark may go meanwhile: its owner makes the store safe beside us.
fn bytes_under(dir: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        all.append(&mut if path.is_dir() { bytes_under(&path) } else { read(&path) });
    }
    all
}

fn read(path: &Path) -> Vec<u8> {
    match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        read => read.unwrap(),
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn what_is_forgotten_stands_in_no_file_and_the_rest_is_queued_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("frontier");
    let local = open(&path);
    block_on(local.offer(offers())).unwrap();
    drop(local.into_store().unwrap());
    let has = |needle: &[u8]| bytes_under(dir.path()).windows(needle.len()).any(|window| window == needle);
    assert!(has(b"origin17.test"));
    let gone = Origin::parse("http://origin17.test").unwrap();
    let what = Forget {
        url: &|url| url.origin() == &gone,
        written: &|url| url.origin() == &gone,
        origin: &|origin| *origin == gone,
    };
    // Three URLs, the counts of their origin, and the via of the three that were found there.
    assert_eq!(forget(&path, what), 7);
    assert!(!has(b"origin17.test") && has(b"origin18.test"));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    assert_eq!(forget(&path, what), 0);
    let local = open(&path);
    assert_eq!(block_on(local.stats(Instant::START)).unwrap().queued, 39 * 3);
    let again = block_on(local.offer(offers())).unwrap();
    assert!(again.iter().all(|answer| matches!(answer, crate::Offered::Seen)), "the seen-set stays");
}

#[test]
fn a_kill_between_the_renames_leaves_the_new_store() {
    for made in [None, Some(HELD)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("frontier");
        let local = open(&path);
        block_on(local.offer(offers())).unwrap();
        drop(local.into_store().unwrap());
        std::fs::rename(&path, swap::copy_of(&path)).unwrap();
        std::fs::create_dir(dir.path().join("frontier.old")).unwrap();
        if let Some(name) = made {
            // Somebody who came just then.
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join(name), b"").unwrap();
        }
        assert!(DiskStore::exists(&path), "whoever asks is not told that there is none");
        assert_eq!(block_on(open(&path).stats(Instant::START)).unwrap().queued, 40 * 3);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
    assert!(!DiskStore::exists(Path::new("/nowhere/frontier")));
}

#[test]
fn nobody_opens_a_store_while_it_is_swapped() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("frontier");
    let local = open(&path);
    block_on(local.offer(offers())).unwrap();
    let (store, is_over) = (local.into_store().unwrap(), AtomicBool::new(false));
    let nothing = Forget { url: &|_| false, written: &|_| false, origin: &|_| false };
    let store = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut opened = 0;
            while !is_over.load(Ordering::Acquire) {
                opened += u32::from(DiskStore::open(&path, DiskSettings::default()).is_ok());
            }
            opened
        });
        let swapped = store.forget(nothing).and_then(|(store, _)| store.forget(nothing));
        is_over.store(true, Ordering::Release);
        assert_eq!(other.join().unwrap(), 0);
        swapped.unwrap().0
    });
    drop(store);
    assert_eq!(block_on(open(&path).stats(Instant::START)).unwrap().queued, 40 * 3);
}

#[test]
fn long_rows_are_copied_by_their_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("frontier");
    let mut store = DiskStore::open(&path, DiskSettings::default()).unwrap();
    for number in 0..40_u64 {
        let mut batch = WriteBatch::default();
        batch.insert(Keyspace::Seen, number.to_be_bytes().to_vec(), vec![7; 160_000]);
        store.commit(batch).unwrap();
    }
    let rows = store.peek_within(Keyspace::Seen, &[], &END, (1024, 300_000)).unwrap();
    assert_eq!(rows.len(), 2);
    let (store, changed) = store.forget(Forget { url: &|_| false, written: &|_| false, origin: &|_| false }).unwrap();
    assert_eq!((changed, store.peek(Keyspace::Seen, &[], &END, 99).unwrap().len()), (0, 40));
    // Six megabytes, one or a little more in each commit.
    assert!(store.last_commit >= 6, "{}", store.last_commit);
}
