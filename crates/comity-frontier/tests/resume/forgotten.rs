//! A store of which URLs were taken out.

use super::losses::settled_with_records;
use super::*;
use comity_frontier::Forget;

/// All bytes of all files below a directory. A mark may go meanwhile: its owner makes the store safe beside us.
fn bytes_under(dir: &std::path::Path) -> Vec<u8> {
    let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { bytes_under(&path) } else { read(&path) }).collect()
}

fn read(path: &std::path::Path) -> Vec<u8> {
    match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        read => read.unwrap(),
    }
}

/// Fetched, and its record safe or not: nothing of it is queued any more, and the files of the engine still hold it.
#[tokio::test]
async fn a_url_that_had_left_the_queue_stands_in_no_file() {
    for (how, is_safe) in [("done", true), ("done", false), ("failed", true), ("retry", true)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("frontier");
        let store = DiskStore::open(&path, DiskSettings::default()).unwrap();
        let mut frontier = Local::open(store, SchedulerConfig::default(), ready(0)).unwrap();
        let mark = RecordMark::default();
        frontier.records_end_at(0, mark.clone()).unwrap();
        add(&frontier, &["http://a.test/secret-name", "http://b.test/"]).await;
        let leases = frontier.lease(9, &TestJudge::default(), at(1)).await.unwrap().leases;
        assert_eq!(leases.len(), 2);
        for (lease, end) in leases.into_iter().zip(1..) {
            mark.written(end);
            let end = match how {
                "done" => done(lease.id, turn(1)),
                "failed" => failed(lease.id, turn(1)),
                _ => retry(lease.id, turn(1), at(5)),
            };
            settle(&frontier, end, at(1)).await;
        }
        if is_safe {
            mark.safe(99);
            add(&frontier, &["http://c.test/"]).await;
        }
        let has = |needle: &[u8]| bytes_under(dir.path()).windows(needle.len()).any(|bytes| bytes == needle);
        let store = frontier.into_store().unwrap();
        assert!(has(b"secret-name"));
        let is_url = |url: &comity_url::CrawlUrl| url.as_str().ends_with("secret-name");
        let what = Forget { url: &is_url, written: &is_url, origin: &|_| false };
        drop(store.forget(what).unwrap());
        assert!(!has(b"secret-name"), "{how}, safe: {is_safe}");
        assert!(has(b"b.test") && has(b"a.test"), "the counts of its origin stay");
    }
}

/// A power cut took records, and URLs are taken out before the crawl goes on: the others come back as they would have.
#[tokio::test]
async fn what_left_the_queue_comes_back_unless_it_was_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let store = DiskStore::open(dir.path(), DiskSettings::default()).unwrap();
    let (store, left) = settled_with_records(store).await;
    let gone = origin("http://o1.test");
    let (is_url, is_origin) = (|url: &comity_url::CrawlUrl| url.origin() == &gone, |origin: &_| *origin == gone);
    let (store, changed) = store.forget(Forget { url: &is_url, written: &is_url, origin: &is_origin }).unwrap();
    let expected: BTreeSet<String> = left[6..].iter().filter(|url| !url.contains("//o1.")).cloned().collect();
    let named = left[4..].len() - left[4..].iter().filter(|url| !url.contains("//o1.")).count();
    assert!(named > 1 && changed > named as u64, "{changed}");
    let mut frontier = Local::open(store, few(), ready(0)).unwrap();
    assert_eq!(frontier.records_end_at(6, RecordMark::default()).unwrap(), expected.len() as u64);
    let (mut leased, mut now) = (BTreeSet::new(), 1);
    while leased.len() < expected.len() && now < 100_000 {
        for lease in frontier.lease(9, &TestJudge::default(), at(now)).await.unwrap().leases {
            leased.insert(lease.url.to_string());
            settle(&frontier, done(lease.id, turn(now)), at(now)).await;
        }
        now += 1000;
    }
    assert_eq!(leased, expected);
    domains_add_up(&frontier.into_store().unwrap());
}

/// Nothing was lost: an operator who is told so looks for a fault of the disk. A loss that nobody mended yet stays one.
#[test]
fn a_store_says_why_it_is_made_anew() {
    let what = Forget { url: &|_| false, written: &|_| false, origin: &|_| false };
    for (before, after) in [(None, b"forgotten".as_slice()), (Some(Vec::new()), b"")] {
        let dir = tempfile::tempdir().unwrap();
        let mut store = DiskStore::open(dir.path(), DiskSettings::default()).unwrap();
        if let Some(loss) = before {
            let mut batch = WriteBatch::default();
            batch.insert(Keyspace::Meta, b"mend".to_vec(), loss);
            store.commit(batch).unwrap();
        }
        let (store, _) = store.forget(what).unwrap();
        assert_eq!(store.get(Keyspace::Meta, b"mend").unwrap().as_deref(), Some(after));
        let store = Local::open(store, few(), ready(0)).unwrap().into_store().unwrap();
        assert_eq!(store.get(Keyspace::Meta, b"mend").unwrap(), None);
    }
}

/// Tells how many rows of the seen-set are asked for at once.
#[derive(Debug)]
struct Asked(MemoryStore, Arc<AtomicUsize>);

impl Store for Asked {
    fn commit(&mut self, batch: WriteBatch) -> Result<(), StoreError> {
        self.0.commit(batch)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.0.sync()
    }

    fn get(&self, space: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.get(space, key)
    }

    fn peek(&self, space: Keyspace, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Row>, StoreError> {
        if space == Keyspace::Seen {
            self.1.fetch_max(limit, Ordering::AcqRel);
        }
        self.0.peek(space, from, until, limit)
    }
}

/// A row is as long as a commit was: many short ones do not say that the next ones are.
#[tokio::test]
async fn fingerprints_are_read_by_their_bytes() {
    let asked = Arc::new(AtomicUsize::new(0));
    let frontier = Local::open(Asked(MemoryStore::new(), asked.clone()), few(), ready(0)).unwrap();
    for n in 0..40 {
        add(&frontier, &[&format!("http://a.test/{n}")]).await;
    }
    let frontier = Local::open(frontier.into_store().unwrap(), few(), ready(0)).unwrap();
    assert_eq!(frontier.stats(at(0)).await.unwrap().seen, 40);
    assert!((1..=16).contains(&asked.load(Ordering::Acquire)), "{asked:?}");
}
