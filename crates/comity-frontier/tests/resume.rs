//! What survives a stop, and what a store that fails or is damaged does to the frontier above it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use comity_frontier::{
    DiskSettings, DiskStore, Ending, Frontier, FrontierError, Keyspace, Local, MemoryStore, Offered, OtherRules,
    QueuedUrl, RecordMark, Revisit, Row, SchedulerConfig, Settlement, Spent, Store, StoreError, Summary, Visited,
    WriteBatch,
};
use comity_policy::{Digest, OriginPace, Ready, Reason, WallTime};
use comity_url::KeyRules;

use common::*;

fn ready(millis: u64) -> Ready {
    Ready { at: at(millis), clock: Reason::RateOrigin }
}

fn open(store: MemoryStore, millis: u64) -> Local<MemoryStore> {
    Local::open(store, SchedulerConfig::default(), ready(millis)).unwrap()
}

#[tokio::test]
async fn a_stopped_crawl_goes_on_where_it_was() {
    let judge = TestJudge::default();
    let frontier = open(MemoryStore::new(), 0);
    let names = [
        "http://a.test/done",
        "http://a.test/retry",
        "http://a.test/leased",
        "http://a.test/private",
        "http://b.test/failed",
    ];
    add(&frontier, &names).await;
    let first = frontier.lease(9, &judge, at(0)).await.unwrap();
    assert_eq!(urls(&first), ["http://a.test/done", "http://b.test/failed"]);
    settle(&frontier, done_with(first.leases[0].id, offers(["http://c.test/link"]), turn(0)), at(0)).await;
    settle(&frontier, failed(first.leases[1].id, turn(0)), at(0)).await;
    let second = frontier.lease(9, &judge, at(0)).await.unwrap();
    assert_eq!(urls(&second), ["http://c.test/link", "http://a.test/retry"]);
    settle(&frontier, retry(second.leases[1].id, turn(0), at(99_000)), at(0)).await;
    let third = frontier.lease(9, &judge, at(0)).await.unwrap();
    assert_eq!(urls(&third), ["http://a.test/leased"]);

    let frontier = open(frontier.into_store().unwrap(), 1000);
    let early = frontier.lease(9, &judge, at(999)).await.unwrap();
    assert_eq!((early.leases.len(), early.wake_at), (0, Some(at(1000))), "every origin waits one delay");
    let stats = frontier.stats(at(999)).await.unwrap();
    assert_eq!((stats.queued, stats.leased, stats.done, stats.failed, stats.seen), (4, 0, 1, 1, 6));
    assert!(frontier.offer(offers(names)).await.unwrap().iter().all(|answer| *answer == Offered::Seen));

    let mut order = Vec::new();
    for now in 1000..1010 {
        let leased = frontier.lease(9, &judge, at(now)).await.unwrap();
        for lease in leased.leases {
            order.push((lease.url.path().to_owned(), lease.attempt));
            settle(&frontier, done(lease.id, turn(now)), at(now)).await;
        }
        for refused in leased.refused {
            settle(&frontier, Settlement::Refused { lease: refused.id }, at(now)).await;
        }
    }
    order.sort();
    let expected = [("/leased".to_owned(), 1), ("/link".to_owned(), 1), ("/retry".to_owned(), 2)];
    assert_eq!(order, expected);
    let stats = frontier.stats(at(2000)).await.unwrap();
    assert_eq!((stats.queued, stats.done, stats.refused, stats.failed), (0, 4, 1, 1));
    let store = frontier.into_store().unwrap();
    assert_eq!((store.len(Keyspace::Queue), store.len(Keyspace::Origin)), (0, 3));
    let seen: usize = store.peek(Keyspace::Seen, b"", &[0xff; 9], 9).unwrap().iter().map(|row| row.1.len()).sum();
    assert_eq!(seen, 6 * 16, "seen is not done: each fingerprint stands once, whatever became of its URL");
}

#[tokio::test]
async fn an_attempt_that_killed_its_worker_counts_after_a_restart_too() {
    let judge = TestJudge::default();
    let frontier = open(MemoryStore::new(), 0);
    add(&frontier, &["http://a.test/1"]).await;
    assert_eq!(frontier.lease(1, &judge, at(0)).await.unwrap().leases.len(), 1);
    assert_eq!(frontier.lease(0, &judge, at(120_000)).await.unwrap().leases.len(), 0);
    let frontier = open(frontier.into_store().unwrap(), 0);
    assert_eq!(frontier.lease(1, &judge, at(120_000)).await.unwrap().leases[0].attempt, 2);
}

#[test]
fn a_store_of_another_format_is_not_touched() {
    let mut store = MemoryStore::new();
    let mut batch = WriteBatch::default();
    batch.insert(Keyspace::Meta, b"format".to_vec(), vec![0, 9, 0, 1]);
    store.commit(batch).unwrap();
    let error = Local::open(store, SchedulerConfig::default(), ready(0)).unwrap_err();
    assert_eq!(error.to_string(), "frontier store failed");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(
        cause,
        "frontier store: format 9/1, this build reads 4/1; go on with the version that wrote it, or crawl anew into another directory"
    );
}

#[tokio::test]
async fn damaged_counts_are_rebuilt_from_the_queue() {
    // Field report 34: summaries are rebuilt when in doubt.
    let judge = TestJudge::default();
    let frontier = open(MemoryStore::new(), 0);
    add(&frontier, &["http://a.test/1", "http://a.test/2", "http://a.test/3", "http://b.test/1"]).await;
    let id = frontier.lease(1, &judge, at(0)).await.unwrap().leases[0].id;
    settle(&frontier, done(id, turn(0)), at(0)).await;
    let mut store = frontier.into_store().unwrap();
    let mut batch = WriteBatch::default();
    batch.insert(Keyspace::Origin, b"http://a.test".to_vec(), b"\x01garbage".to_vec());
    store.commit(batch).unwrap();
    let frontier = open(store, 0);
    let stats = frontier.stats(at(0)).await.unwrap();
    assert_eq!((stats.queued, stats.done, stats.seen), (3, 1, 4));
    add(&frontier, &["http://a.test/4"]).await;
    let mut order = Vec::new();
    for now in 0..4 {
        for lease in frontier.lease(9, &judge, at(now)).await.unwrap().leases {
            order.push(lease.url.path().to_owned());
            settle(&frontier, done(lease.id, turn(now)), at(now)).await;
        }
    }
    assert_eq!(order, ["/1", "/2", "/3", "/4"], "counted anew for a new URL, it stands behind the other origin");
}

#[tokio::test]
async fn a_damaged_record_stays_and_holds_nobody() {
    let judge = TestJudge::default();
    let frontier = open(MemoryStore::new(), 0);
    add(&frontier, &["http://a.test/1", "http://a.test/2", "http://a.test/3"]).await;
    let mut store = frontier.into_store().unwrap();
    let rows = store.peek(Keyspace::Queue, b"http", b"i", 2).unwrap();
    let mut batch = WriteBatch::default();
    batch.insert(Keyspace::Queue, rows[0].0.clone(), b"garbage".to_vec());
    batch.delete(Keyspace::Queue, rows[1].0.clone());
    store.commit(batch).unwrap();
    let frontier = open(store, 0);
    let leased = frontier.lease(9, &judge, at(0)).await.unwrap();
    assert_eq!(urls(&leased), ["http://a.test/3"]);
    settle(&frontier, done(leased.leases[0].id, turn(0)), at(0)).await;
    assert_eq!(frontier.lease(9, &judge, at(0)).await.unwrap().wake_at, None);
    let stats = frontier.stats(at(0)).await.unwrap();
    assert_eq!((stats.damaged, stats.done, stats.seen), (2, 1, 3), "one is unreadable, one is gone");
    assert_eq!(frontier.into_store().unwrap().len(Keyspace::Queue), 1, "it is kept for whoever can read it");
}

#[tokio::test]
async fn a_broken_key_holds_nobody() {
    for broken in [&b"\x00\x00\x00"[..], b"\x00\x00\x00\x00\x00\x00\x00\x01\x07", b"\xff"] {
        let judge = TestJudge::default();
        let frontier = open(MemoryStore::new(), 0);
        add(&frontier, &["http://a.test/1", "http://a.test/2", "http://a.test/3"]).await;
        let mut store = frontier.into_store().unwrap();
        let (key, value) = store.peek(Keyspace::Queue, b"http", b"i", 2).unwrap().remove(1);
        let mut batch = WriteBatch::default();
        batch.delete(Keyspace::Queue, key);
        batch.insert(Keyspace::Queue, [b"http://a.test\x00\x01", broken].concat(), value);
        store.commit(batch).unwrap();
        let frontier = open(store, 0);
        let mut order = Vec::new();
        for now in 0..4 {
            for lease in frontier.lease(9, &judge, at(now)).await.unwrap().leases {
                order.push(lease.url.path().to_owned());
                settle(&frontier, done(lease.id, turn(now)), at(now)).await;
            }
        }
        assert_eq!(order, ["/1", "/3"], "{broken:?}");
        let stats = frontier.stats(at(9)).await.unwrap();
        assert_eq!((stats.damaged, stats.done, stats.queued), (1, 2, 0), "{broken:?}");
    }
}

/// A memory store whose calls fail once a number of them have passed.
#[derive(Debug)]
struct Failing {
    store: MemoryStore,
    commits: Arc<AtomicUsize>,
    peeks: Arc<AtomicUsize>,
}

fn spend(budget: &AtomicUsize) -> Result<(), StoreError> {
    let spent = budget.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    spent.map(|_| ()).map_err(|_| StoreError::Full("test disk".to_owned()))
}

impl Store for Failing {
    fn commit(&mut self, batch: WriteBatch) -> Result<(), StoreError> {
        spend(&self.commits)?;
        self.store.commit(batch)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.store.sync()
    }

    fn get(&self, space: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.get(space, key)
    }

    fn peek(&self, space: Keyspace, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Row>, StoreError> {
        spend(&self.peeks)?;
        self.store.peek(space, from, until, limit)
    }
}

/// A memory store with the commits that no sync has followed.
#[derive(Debug)]
struct Unsynced(MemoryStore, Arc<AtomicUsize>);

impl Store for Unsynced {
    fn commit(&mut self, batch: WriteBatch) -> Result<(), StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.commit(batch)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.1.store(0, Ordering::SeqCst);
        Ok(())
    }

    fn get(&self, space: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.get(space, key)
    }

    fn peek(&self, space: Keyspace, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Row>, StoreError> {
        self.0.peek(space, from, until, limit)
    }
}

#[tokio::test]
async fn what_an_earlier_process_left_unsynced_is_safe_once_the_next_one_has_opened() {
    let unsynced = Arc::new(AtomicUsize::new(0));
    let mut store = Unsynced(MemoryStore::new(), Arc::clone(&unsynced));
    for run in 0..3 {
        let frontier = Local::open(store, SchedulerConfig::default(), ready(0)).unwrap();
        assert_eq!(unsynced.load(Ordering::SeqCst), 0, "run {run}");
        add(&frontier, &[&format!("http://a.test/{run}")]).await;
        assert!(unsynced.load(Ordering::SeqCst) > 0, "nothing is left to be lost in run {run}");
        // It dies here.
        store = frontier.into_store().unwrap();
    }
}

fn failing() -> (Local<Failing>, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (commits, peeks) = (Arc::new(AtomicUsize::new(1_000_000)), Arc::new(AtomicUsize::new(1_000_000)));
    let store = Failing { store: MemoryStore::new(), commits: Arc::clone(&commits), peeks: Arc::clone(&peeks) };
    (Local::open(store, SchedulerConfig::default(), ready(0)).unwrap(), commits, peeks)
}

#[tokio::test]
async fn a_commit_that_fails_changes_nothing_and_can_be_repeated() {
    let judge = TestJudge::default();
    let (frontier, commits, _) = failing();
    add(&frontier, &["http://a.test/1", "http://a.test/2"]).await;
    let id = frontier.lease(1, &judge, at(0)).await.unwrap().leases[0].id;
    let before = frontier.stats(at(0)).await.unwrap();

    commits.store(0, Ordering::SeqCst);
    let error = frontier.offer(offers(["http://b.test/1"])).await.unwrap_err();
    assert!(matches!(error, FrontierError::Store(StoreError::Full(_))), "{error:?}");
    let end = done_with(id, offers(["http://c.test/1"]), turn(0));
    frontier.settle(vec![end.clone()], at(0)).await.unwrap_err();
    assert_eq!(frontier.stats(at(0)).await.unwrap(), before);

    commits.store(1000, Ordering::SeqCst);
    assert_eq!(frontier.offer(offers(["http://b.test/1"])).await.unwrap(), [Offered::New]);
    assert_eq!(settle(&frontier, end, at(0)).await, [Offered::New]);
    assert_eq!(frontier.lease(9, &judge, at(0)).await.unwrap().leases.len(), 3);
}

#[tokio::test]
async fn a_read_that_fails_loses_no_lease_and_no_url() {
    let judge = TestJudge::default();
    let (frontier, _, peeks) = failing();
    add(&frontier, &["http://a.test/1", "http://b.test/1", "http://a.test/2"]).await;
    peeks.store(1, Ordering::SeqCst);
    let leased = frontier.lease(9, &judge, at(0)).await.unwrap();
    assert_eq!(urls(&leased), ["http://a.test/1"], "what was leased before the failure is given");
    frontier.lease(9, &judge, at(0)).await.unwrap_err();
    settle(&frontier, retry(leased.leases[0].id, turn(0), at(10)), at(0)).await;
    frontier.lease(9, &judge, at(10)).await.unwrap_err();
    peeks.store(1000, Ordering::SeqCst);
    let mut order = Vec::new();
    for now in 10..15 {
        for lease in frontier.lease(9, &judge, at(now)).await.unwrap().leases {
            order.push(lease.url.as_str().to_owned());
            settle(&frontier, done(lease.id, turn(now)), at(now)).await;
        }
    }
    order.sort();
    assert_eq!(order, ["http://a.test/1", "http://a.test/2", "http://b.test/1"]);
    assert_eq!(frontier.stats(at(20)).await.unwrap().damaged, 0);
}

#[tokio::test]
async fn a_retry_that_cannot_be_read_is_read_again() {
    let judge = TestJudge::default();
    let (frontier, _, peeks) = failing();
    add(&frontier, &["http://a.test/1"]).await;
    let id = frontier.lease(9, &judge, at(0)).await.unwrap().leases[0].id;
    settle(&frontier, retry(id, turn(0), at(10)), at(0)).await;
    peeks.store(0, Ordering::SeqCst);
    frontier.lease(9, &judge, at(10)).await.unwrap_err();
    peeks.store(1000, Ordering::SeqCst);
    let again = frontier.lease(9, &judge, at(10)).await.unwrap();
    assert_eq!((urls(&again), again.leases[0].attempt), (vec!["http://a.test/1"], 2));
}

#[tokio::test]
async fn no_origin_is_read_from_the_head_again() {
    let judge = TestJudge::default();
    let (frontier, _, peeks) = failing();
    let names: Vec<String> = (0..5000).map(|n| format!("http://a.test/{n}")).collect();
    add(&frontier, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let before = peeks.load(Ordering::SeqCst);
    for now in 0..5000 {
        let id = frontier.lease(1, &judge, at(now)).await.unwrap().leases[0].id;
        settle(&frontier, done(id, turn(now)), at(now)).await;
    }
    let reads = before - peeks.load(Ordering::SeqCst);
    assert!(reads <= 5000 / 64 + 8, "{reads} reads of 64 records for 5,000");
}

#[test]
fn counts_that_cannot_be_are_refused() {
    let mut summary = Summary::default();
    summary.admit(1);
    let good = summary.encode();
    assert_eq!(
        good,
        [4, 0, 0, 0, 0, 0, 1, 1, 1, 0],
        "version, done, refused, failed, returned, bytes, lanes; priority, queued, low"
    );
    for (at, byte) in [(0, 1), (6, 2), (8, 0), (9, 1)] {
        let mut bytes = good.clone();
        bytes[at] = byte;
        assert!(Summary::decode(&bytes).is_err(), "byte {at} = {byte}");
    }
}

/// A store as an earlier version wrote it, row by row: keyspace, key, value. Kept for as long as the version is read.
fn rows(text: &str) -> WriteBatch {
    let bytes = |hex: &str| -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    };
    let mut batch = WriteBatch::default();
    for line in text.lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        let space = Keyspace::ALL.into_iter().find(|space| format!("{space:?}") == name).unwrap();
        batch.insert(space, bytes(words.next().unwrap()), bytes(words.next().unwrap()));
    }
    batch
}

fn version_2() -> WriteBatch {
    rows(include_str!("fixtures/store-2.rows"))
}

/// `store-3` was written by version 3, `store-4` by `version_4_as_it_is_written`.
#[tokio::test]
async fn stores_of_versions_3_and_4_are_read() {
    for text in [include_str!("fixtures/store-3.rows"), include_str!("fixtures/store-4.rows")] {
        reads_version_3_or_4(text).await;
    }
}

async fn reads_version_3_or_4(text: &str) {
    let mut memory = MemoryStore::new();
    memory.commit(rows(text)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut disk = DiskStore::open(dir.path(), DiskSettings::default()).unwrap();
    disk.commit(rows(text)).unwrap();
    goes_on_from_version_3_or_4(memory).await;
    goes_on_from_version_3_or_4(disk).await;
}

async fn goes_on_from_version_3_or_4<S: Store + 'static>(store: S) {
    let config = SchedulerConfig { epoch: Some(WallTime::from_unix_millis(0)), ..SchedulerConfig::default() };
    let mut frontier = Local::open(store, config, ready(0)).unwrap();
    let stats = frontier.stats(at(0)).await.unwrap();
    assert_eq!((stats.queued, stats.done, stats.refused, stats.failed), (1, 3, 1, 0));
    assert_eq!((stats.seen, stats.origins, stats.scheduled), (5, 3, 1));
    // Of the five records, the last is gone.
    assert_eq!(frontier.records_end_at(4, RecordMark::default()).unwrap(), 1);
    let stats = frontier.stats(at(0)).await.unwrap();
    assert_eq!((stats.queued, stats.done, stats.refused, stats.failed), (2, 2, 1, 0));
    let leased = frontier.lease(9, &TestJudge::default(), at(1)).await.unwrap();
    assert_eq!(urls(&leased), ["http://b.test/unsafe", "http://c.test/waits"], "what came back had its turn before");
    let leased = frontier.lease(9, &TestJudge::default(), at(99_000)).await.unwrap();
    assert_eq!(urls(&leased), ["http://a.test/again"]);
}

/// What this version writes is what the fixture holds: once it is released, a change of the form is a new version, with a fixture
/// of its own. `COMITY_WRITE_FIXTURE=1` writes it.
#[tokio::test]
async fn version_4_as_it_is_written() {
    let config = SchedulerConfig { epoch: Some(WallTime::from_unix_millis(0)), ..SchedulerConfig::default() };
    let mut frontier = Local::open(MemoryStore::new(), config, ready(0)).unwrap();
    let (mark, judge) = (RecordMark::default(), TestJudge::default());
    frontier.fingerprint_key([7; 16], KeyRules::default(), OtherRules::Refuse).unwrap();
    frontier.records_end_at(0, mark.clone()).unwrap();
    add(&frontier, &["http://a.test/done", "http://a.test/again", "http://a.test/private"]).await;
    for (number, now) in (1..).zip([1, 2, 3, 4]) {
        mark.written(number);
        if number == 4 {
            add(&frontier, &["http://b.test/unsafe"]).await;
        }
        let out = frontier.lease(1, &judge, at(now)).await.unwrap();
        let end = match (out.leases.first(), out.refused.first()) {
            (Some(lease), _) if lease.url.path() == "/again" => {
                let revisit =
                    Revisit { at: WallTime::from_unix_millis(99_000), priority: 2, visited: Visited::default() };
                let told = Some((OriginPace::default(), turn(now)));
                let (revisit, links) = (Box::new(revisit), Vec::new());
                Settlement::Again {
                    lease: lease.id,
                    spent: Spent::default(),
                    ending: Ending::Done,
                    links,
                    told,
                    revisit,
                }
            }
            (Some(lease), _) => done(lease.id, turn(now)),
            (None, Some(refused)) => Settlement::Refused { lease: refused.id },
            (None, None) => panic!("nothing leased"),
        };
        if number == 4 {
            mark.safe(4);
            mark.written(5);
        }
        settle(&frontier, end, at(now)).await;
    }
    add(&frontier, &["http://c.test/waits"]).await;
    let store = frontier.into_store().unwrap();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut text = String::new();
    for space in Keyspace::ALL {
        for (key, value) in store.peek(space, &[], &[0xff; 40], 99).unwrap() {
            text += &format!("{space:?} {} {}\n", hex(&key), hex(&value));
        }
    }
    if std::env::var("COMITY_WRITE_FIXTURE").is_ok() {
        std::fs::write("tests/fixtures/store-4.rows", &text).unwrap();
    }
    assert_eq!(text, include_str!("fixtures/store-4.rows"));
}

#[tokio::test]
async fn a_store_of_version_2_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut disk = DiskStore::open(dir.path(), DiskSettings::default()).unwrap();
    disk.commit(version_2()).unwrap();
    let mut memory = MemoryStore::new();
    memory.commit(version_2()).unwrap();
    goes_on_from_version_2(Local::open(disk, SchedulerConfig::default(), ready(1000)).unwrap()).await;
    goes_on_from_version_2(Local::open(memory, SchedulerConfig::default(), ready(1000)).unwrap()).await;
}

async fn goes_on_from_version_2<S: Store + 'static>(mut frontier: Local<S>) {
    let judge = TestJudge::default();
    assert_eq!(frontier.fingerprint_key([1; 16], KeyRules::default(), OtherRules::Refuse).unwrap(), [7; 16]);
    let stats = frontier.stats(at(0)).await.unwrap();
    assert_eq!((stats.queued, stats.done, stats.refused, stats.failed), (4, 1, 1, 1));
    assert_eq!((stats.seen, stats.origins), (7, 4));
    let known = ["http://a.test/done", "http://a.test/retry", "http://c.test/private", "http://d.test/link?q=1"];
    assert!(frontier.offer(offers(known)).await.unwrap().iter().all(|answer| *answer == Offered::Seen));
    assert_eq!(frontier.lease(9, &judge, at(999)).await.unwrap().leases.len(), 0);
    let mut order = Vec::new();
    for now in 1000..1003 {
        for lease in frontier.lease(9, &judge, at(now)).await.unwrap().leases {
            order.push((lease.url.to_string(), lease.attempt, lease.priority));
            settle(&frontier, done(lease.id, turn(now)), at(now)).await;
        }
    }
    let expected = [
        ("http://d.test/link?q=1", 1, 3),
        ("http://a.test/retry", 2, 1),
        ("http://b.test/waits", 1, 1),
        ("http://a.test/waits", 1, 1),
    ];
    assert_eq!(order, expected.map(|(url, attempt, priority)| (url.to_owned(), attempt, priority)));
}

/// Field report 34: sums and counts that were lost are counted anew.
#[tokio::test]
async fn sums_that_cannot_be_read_are_added_up_anew() {
    for damage in ["gone", "garbage"] {
        let mut store = MemoryStore::new();
        store.commit(version_2()).unwrap();
        let mut batch = WriteBatch::default();
        match damage {
            "gone" => batch.delete(Keyspace::Meta, b"totals".to_vec()),
            _ => batch.insert(Keyspace::Meta, b"totals".to_vec(), b"garbage".to_vec()),
        }
        store.commit(batch).unwrap();
        let stats = open(store, 0).stats(at(0)).await.unwrap();
        assert_eq!((stats.queued, stats.seen, stats.origins, stats.done), (4, 7, 4, 1), "{damage}");
        assert_eq!(stats.spent, Spent { pages: 1, bytes: 0 }, "{damage}: what is done counts as a page");
    }
}

#[test]
fn fingerprints_without_their_key_or_format_are_refused() {
    for (lost, says) in [("key", "key of its fingerprints is missing"), ("format", "no format")] {
        let mut store = MemoryStore::new();
        store.commit(version_2()).unwrap();
        let mut batch = WriteBatch::default();
        batch.delete(Keyspace::Meta, lost.as_bytes().to_vec());
        store.commit(batch).unwrap();
        let opened = Local::open(store, SchedulerConfig::default(), ready(0));
        let error = opened
            .and_then(|mut frontier| frontier.fingerprint_key([1; 16], KeyRules::default(), OtherRules::Refuse))
            .unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains(says), "{cause}");
    }
}

/// When a URL is visited anew outlives the process, and with it the clock by which it was said.
#[tokio::test]
async fn the_schedule_of_visits_outlives_the_process_and_its_clock() {
    let dir = tempfile::tempdir().unwrap();
    let disk = || DiskStore::open(dir.path(), DiskSettings::default()).unwrap();
    goes_on_with_visits(MemoryStore::new(), |store| store).await;
    goes_on_with_visits(disk(), |store| {
        drop(store);
        disk()
    })
    .await;
}

async fn goes_on_with_visits<S: Store + 'static>(store: S, reopen: impl Fn(S) -> S) {
    let judge = TestJudge::default();
    let wall = |millis: i64| WallTime::from_unix_millis(1_796_000_000_000 + millis);
    let begun_at = |store, epoch| {
        let config = SchedulerConfig { epoch: Some(epoch), ..SchedulerConfig::default() };
        Local::open(store, config, ready(10)).unwrap()
    };
    let frontier = begun_at(store, wall(0));
    add(&frontier, &["http://a.test/soon", "http://b.test/late", "http://c.test/leased"]).await;
    let leased = frontier.lease(9, &judge, at(10)).await.unwrap();
    for (lease, next) in leased.leases.iter().zip([60_000, 3_600_000, 1_000]) {
        let visited = Visited { at: Some(wall(10)), gone: 1, ..Visited::default() };
        let revisit = Box::new(Revisit { at: wall(next), priority: 2, visited });
        let told = Some((OriginPace::default(), turn(10)));
        let end = Settlement::Again {
            lease: lease.id,
            spent: Spent::default(),
            ending: Ending::Done,
            links: Vec::new(),
            told,
            revisit,
        };
        settle(&frontier, end, at(10)).await;
    }
    let again = frontier.lease(9, &judge, at(1_000)).await.unwrap();
    assert_eq!(urls(&again), ["http://c.test/leased"]);

    // The process ends; the next one begins half a minute later, with a clock that begins at nothing.
    let frontier = begun_at(reopen(frontier.into_store().unwrap()), wall(30_000));
    let stats = frontier.stats(at(0)).await.unwrap();
    assert_eq!(
        (stats.scheduled, stats.queued, stats.done, stats.seen, stats.next_visit),
        (2, 1, 2, 3, Some(at(30_000)))
    );
    let left = frontier.lease(9, &judge, at(29_999)).await.unwrap();
    assert_eq!(urls(&left), ["http://c.test/leased"], "what was in flight is queued, as ever");
    assert_eq!(left.leases[0].visited.as_ref().map(|visited| visited.gone), Some(1));
    assert_eq!(urls(&frontier.lease(9, &judge, at(30_000)).await.unwrap()), ["http://a.test/soon"]);

    // Two hours later: what was due meanwhile is due now. Without an epoch it stays.
    let store = reopen(frontier.into_store().unwrap());
    let frontier = Local::open(store, SchedulerConfig::default(), ready(10)).unwrap();
    assert_eq!(frontier.lease(9, &judge, at(10)).await.unwrap().leases.len(), 2);
    assert_eq!(frontier.stats(at(9_000_000)).await.unwrap().next_visit, None);
    let frontier = begun_at(reopen(frontier.into_store().unwrap()), wall(7_200_000));
    let mut last = urls(&frontier.lease(9, &judge, at(10)).await.unwrap()).join(" ");
    last.push_str(&frontier.stats(at(10)).await.unwrap().scheduled.to_string());
    assert!(last.contains("http://b.test/late") && last.ends_with('0'), "{last}");
}

#[tokio::test]
async fn a_next_visit_that_cannot_be_read_is_dropped_and_the_others_come() {
    let judge = TestJudge::default();
    let config = || SchedulerConfig { epoch: Some(WallTime::from_unix_millis(0)), ..SchedulerConfig::default() };
    let frontier = Local::open(MemoryStore::new(), config(), ready(0)).unwrap();
    add(&frontier, &["http://a.test/x", "http://b.test/y"]).await;
    for lease in frontier.lease(9, &judge, at(0)).await.unwrap().leases {
        let visited = Visited::default();
        let revisit = Box::new(Revisit { at: WallTime::from_unix_millis(1000), priority: 2, visited });
        let told = Some((OriginPace::default(), turn(0)));
        let end = Settlement::Again {
            lease: lease.id,
            spent: Spent::default(),
            ending: Ending::Done,
            links: Vec::new(),
            told,
            revisit,
        };
        settle(&frontier, end, at(0)).await;
    }
    let mut store = frontier.into_store().unwrap();
    let rows = store.peek(Keyspace::Visit, b"t", b"u", 9).unwrap();
    let mut batch = WriteBatch::default();
    batch.insert(Keyspace::Visit, rows[0].0.clone(), b"garbage".to_vec());
    batch.delete(Keyspace::Meta, b"totals".to_vec());
    store.commit(batch).unwrap();
    let frontier = Local::open(store, config(), ready(0)).unwrap();
    assert_eq!(frontier.stats(at(0)).await.unwrap().scheduled, 2, "counted anew");
    assert_eq!(urls(&frontier.lease(9, &judge, at(1000)).await.unwrap()), ["http://b.test/y"]);
    let stats = frontier.stats(at(1000)).await.unwrap();
    assert_eq!((stats.scheduled, stats.next_visit, stats.seen), (0, None, 2));
    assert_eq!(frontier.into_store().unwrap().peek(Keyspace::Visit, b"t", b"u", 9).unwrap(), []);
}

/// Twelve pages of three origins and a refused one; each settled after its record was written, the first four of them safe.
async fn settled_with_records<S: Store + 'static>(store: S) -> (S, Vec<String>) {
    let mut frontier = Local::open(store, few(), ready(0)).unwrap();
    let mark = RecordMark::default();
    assert_eq!(frontier.records_end_at(0, mark.clone()).unwrap(), 0);
    let names: Vec<String> = (0..12).map(|n| format!("http://o{}.test/{n}", n % 3)).collect();
    add(&frontier, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    add(&frontier, &["http://o1.test/private"]).await;
    let (judge, mut left, mut now) = (TestJudge::default(), Vec::new(), 0);
    while left.len() < 13 {
        now += 1;
        let leased = frontier.lease(1, &judge, at(now)).await.unwrap();
        let refused = leased.refused.iter().map(|url| (url.url.to_string(), Settlement::Refused { lease: url.id }));
        let ended = leased.leases.iter().map(|lease| {
            let end = if left.len() == 9 { failed(lease.id, turn(now)) } else { done(lease.id, turn(now)) };
            (lease.url.to_string(), end)
        });
        for (name, end) in refused.chain(ended).collect::<Vec<_>>() {
            mark.written(left.len() as u64 + 1);
            settle(&frontier, end, at(now)).await;
            left.push(name);
            if left.len() == 4 {
                mark.safe(4);
            }
        }
    }
    (frontier.into_store().unwrap(), left)
}

/// What is stored of the domains is what a walk over the origins gives.
fn domains_add_up(store: &impl Store) {
    let mut expected = BTreeMap::<String, [u64; 2]>::new();
    for (name, record) in store.peek(Keyspace::Origin, &[], &[0xff], 999).unwrap() {
        // The counts of an origin come first in its record, up to its lanes: version, done, refused, failed, ...
        let summary = (1..=record.len()).find_map(|end| Summary::decode(&record[..end]).ok()).unwrap();
        let origin = origin(std::str::from_utf8(&name).unwrap());
        let sums = expected.entry(origin.registrable_domain().unwrap().to_owned()).or_default();
        *sums = [sums[0] + summary.pages(), sums[1] + summary.queued()];
    }
    expected.retain(|_, sums| *sums != [0, 0]);
    let found = store.peek(Keyspace::Domain, &[], &[0xff], 999).unwrap().into_iter().map(|(name, row)| {
        assert!(row.len() == 3 && row[1] < 128 && row[2] < 128, "version and two small numbers: {row:?}");
        (String::from_utf8(name).unwrap(), [row[1].into(), row[2].into()])
    });
    assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
}

/// A store from before domains were counted, and one whose counts are damaged, refuse as if they had always been counted.
#[tokio::test]
async fn budgets_of_domains_outlive_the_process_older_stores_and_damage() {
    let config = || SchedulerConfig { pages_per_domain: 3, ..SchedulerConfig::default() };
    let frontier = Local::open(MemoryStore::new(), config(), ready(0)).unwrap();
    add(&frontier, &["http://a.d.test/1", "http://b.d.test/1", "http://c.d.test/1"]).await;
    let whole = frontier.into_store().unwrap();
    for what in ["whole", "older", "damaged"] {
        let (mut store, mut batch) = (whole.clone(), WriteBatch::default());
        match what {
            "older" => {
                batch.delete(Keyspace::Domain, b"d.test".to_vec());
                batch.insert(Keyspace::Meta, b"format".to_vec(), vec![0, 3, 0, 1]);
            }
            "damaged" => batch.insert(Keyspace::Domain, b"d.test".to_vec(), b"\x01\xff".to_vec()),
            _ => {}
        }
        store.commit(batch).unwrap();
        let frontier = Local::open(store, config(), ready(0)).unwrap();
        let more = frontier.offer(offers(["http://d.d.test/1", "http://a.d.test/1", "http://e.test/1"])).await.unwrap();
        let expected = [Offered::Refused(Reason::UrlBudgetDomain), Offered::Seen, Offered::New];
        assert_eq!(more, expected, "{what}");
    }
}

/// What was spent outlives the process, sums that cannot be read, and a store that is mended: no budget grows by a loss.
#[tokio::test]
async fn what_was_spent_is_never_less_after_a_restart() {
    let judge = TestJudge::default();
    let frontier = open(MemoryStore::new(), 0);
    add(&frontier, &["http://a.test/1", "http://b.test/1", "http://a.test/waits"]).await;
    for lease in frontier.lease(2, &judge, at(0)).await.unwrap().leases {
        let spent = Spent { pages: 1, bytes: 700 };
        let (pace, links) = (OriginPace::default(), Vec::new());
        settle(&frontier, Settlement::Done { lease: lease.id, spent, links, pace, turn: turn(0) }, at(0)).await;
    }
    let whole = frontier.into_store().unwrap();
    for what in ["whole", "no sums", "mended"] {
        let (mut store, mut batch) = (whole.clone(), WriteBatch::default());
        match what {
            "no sums" => batch.insert(Keyspace::Meta, b"totals".to_vec(), b"garbage".to_vec()),
            "mended" => batch.insert(Keyspace::Meta, b"mend".to_vec(), Vec::new()),
            _ => {}
        }
        store.commit(batch).unwrap();
        let frontier = open(store, 0);
        assert_eq!(frontier.stats(at(0)).await.unwrap().spent, Spent { pages: 2, bytes: 1400 }, "{what}");
        let leased = frontier.lease(9, &judge, at(1)).await.unwrap();
        assert_eq!((urls(&leased), leased.leases[0].received), (vec!["http://a.test/waits"], 700), "{what}");
    }
}

/// Two origins in memory.
fn few() -> SchedulerConfig {
    SchedulerConfig { resident_origins: 2, ..SchedulerConfig::default() }
}

/// A power cut leaves so many records, and all that the queue wrote: what has no record is fetched again, and nothing else.
async fn comes_back<S: Store + 'static>(store: S, left: &[String], whole: usize) -> S {
    let mut frontier = Local::open(store, few(), ready(0)).unwrap();
    let back = frontier.records_end_at(whole as u64, RecordMark::default()).unwrap();
    assert_eq!(back as usize, 13 - whole.max(4), "{whole} records are there");
    let stats = frontier.stats(at(0)).await.unwrap();
    assert_eq!((stats.queued, stats.seen), (back, 13));
    let again: BTreeSet<String> = left[whole.max(4)..].iter().cloned().collect();
    let (judge, mut leased, mut now) = (TestJudge::default(), BTreeSet::new(), 1);
    loop {
        let out = frontier.lease(9, &judge, at(now)).await.unwrap();
        let refused = out.refused.iter().map(|url| (url.url.to_string(), Settlement::Refused { lease: url.id }));
        let ended = out.leases.iter().map(|lease| (lease.url.to_string(), done(lease.id, turn(now))));
        let all: Vec<_> = refused.chain(ended).collect();
        let Some(wake) = out.wake_at.or((!all.is_empty()).then_some(at(now))) else { break };
        for (name, end) in all {
            assert!(leased.insert(name), "once");
            settle(&frontier, end, at(now)).await;
        }
        now = (now + 1).max(wake.as_micros().div_ceil(1000));
    }
    assert_eq!(leased, again, "{whole} records are there");
    let stats = frontier.stats(at(now)).await.unwrap();
    assert_eq!((stats.queued, stats.done + stats.failed, stats.refused), (0, 12, 1), "each counts once");
    let store = frontier.into_store().unwrap();
    domains_add_up(&store);
    store
}

#[tokio::test]
async fn what_left_the_queue_comes_back_where_a_power_cut_took_its_record() {
    let (store, left) = settled_with_records(MemoryStore::new()).await;
    assert_eq!(left.len(), 13);
    for whole in [0, 4, 5, 9, 10, 12, 13, 99] {
        let after = comes_back(store.clone(), &left, whole.min(13)).await;
        assert_eq!(after.len(Keyspace::Left), 0, "nothing is kept that is decided");
    }
    let dir = tempfile::tempdir().unwrap();
    let disk = DiskStore::open(dir.path(), DiskSettings::default()).unwrap();
    let (store, left) = settled_with_records(disk).await;
    comes_back(store, &left, 6).await;
}

/// What is kept for a power cut goes as soon as its record is safe.
#[tokio::test]
async fn rows_of_what_left_go_with_the_next_commit_after_their_records_are_safe() {
    let (store, _) = settled_with_records(MemoryStore::new()).await;
    // Four were safe when the fifth was settled.
    assert_eq!(store.len(Keyspace::Left), 13 - 4);
}

/// Tables that no longer agree, after a loss that was accepted: the queue counts.
#[tokio::test]
async fn a_store_that_is_to_be_mended_is_made_anew_from_its_queue() {
    let frontier = Local::open(MemoryStore::new(), few(), ready(0)).unwrap();
    let names: Vec<String> = (0..40).map(|n| format!("http://o{}.test/{n}", n % 7)).collect();
    add(&frontier, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let judge = TestJudge::default();
    for lease in frontier.lease(5, &judge, at(0)).await.unwrap().leases {
        settle(&frontier, done(lease.id, turn(0)), at(0)).await;
    }
    let whole = frontier.into_store().unwrap();
    let lost = |space: Keyspace| {
        let mut batch = WriteBatch::default();
        for from in [Keyspace::Queue, Keyspace::Seen, Keyspace::Origin, Keyspace::Domain, Keyspace::Due, Keyspace::Meta]
        {
            let rows = whole.peek(from, &[], &[0xff; 30], 999).unwrap();
            let kept = rows.into_iter().enumerate().filter(|(at, _)| from != space || at % 3 == 0);
            kept.for_each(|(_, (key, value))| batch.insert(from, key, value));
        }
        batch.insert(Keyspace::Meta, b"mend".to_vec(), Vec::new());
        batch
    };
    for space in [Keyspace::Queue, Keyspace::Seen, Keyspace::Origin, Keyspace::Domain, Keyspace::Due] {
        let mut store = MemoryStore::new();
        store.commit(lost(space)).unwrap();
        let queued: BTreeSet<String> = store
            .peek(Keyspace::Queue, &[], &[0xff; 30], 999)
            .unwrap()
            .iter()
            .map(|(_, value)| QueuedUrl::decode(value).unwrap().url.to_string())
            .collect();
        let frontier = Local::open(store, few(), ready(0)).unwrap();
        let known = frontier.offer(offers(queued.iter().map(String::as_str))).await.unwrap();
        assert!(known.iter().all(|answer| *answer == Offered::Seen), "{space:?}: what is queued is seen");
        let (mut leased, mut now) = (BTreeSet::new(), 1);
        while let Some(wake) = {
            let out = frontier.lease(9, &judge, at(now)).await.unwrap();
            for lease in out.leases {
                assert!(leased.insert(lease.url.to_string()));
                settle(&frontier, done(lease.id, turn(now)), at(now)).await;
            }
            out.wake_at
        } {
            now = (now + 1).max(wake.as_micros().div_ceil(1000));
        }
        assert_eq!(leased, queued, "{space:?}: every queued URL comes out, once");
        assert_eq!(frontier.stats(at(now)).await.unwrap().queued, 0, "{space:?}");
        let store = frontier.into_store().unwrap();
        assert_eq!(store.get(Keyspace::Meta, b"mend").unwrap(), None, "{space:?}: done");
        domains_add_up(&store);
    }
}

/// What waits for its next visit when the fingerprints are lost: a link to it does not queue it beside that.
#[tokio::test]
async fn what_waits_for_its_next_visit_is_seen_after_mending() {
    let frontier = Local::open(MemoryStore::new(), few(), ready(0)).unwrap();
    let names: Vec<String> = (0..20).map(|n| format!("http://o{n}.test/")).collect();
    add(&frontier, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    for lease in frontier.lease(20, &TestJudge::default(), at(0)).await.unwrap().leases {
        let revisit =
            Box::new(Revisit { at: WallTime::from_unix_millis(99_000), priority: 2, visited: Visited::default() });
        let told = Some((OriginPace::default(), turn(0)));
        let again = Settlement::Again {
            lease: lease.id,
            spent: Spent::default(),
            ending: Ending::Done,
            links: Vec::new(),
            told,
            revisit,
        };
        settle(&frontier, again, at(0)).await;
    }
    let mut store = frontier.into_store().unwrap();
    let mut batch = WriteBatch::default();
    for (key, _) in store.peek(Keyspace::Seen, &[], &[0xff; 30], 999).unwrap() {
        batch.delete(Keyspace::Seen, key);
    }
    batch.insert(Keyspace::Meta, b"mend".to_vec(), Vec::new());
    store.commit(batch).unwrap();
    // Twice: the second start reads what the first has written.
    for _ in 0..2 {
        let frontier = Local::open(store, few(), ready(0)).unwrap();
        let known = frontier.offer(offers(names.iter().map(String::as_str))).await.unwrap();
        assert!(known.iter().all(|answer| *answer == Offered::Seen), "{known:?}");
        store = frontier.into_store().unwrap();
    }
}

/// A key of the due origins that cannot be read strands nobody: the origins are walked, and each gets one.
#[tokio::test]
async fn an_origin_whose_key_is_damaged_is_found_again() {
    let frontier = Local::open(MemoryStore::new(), few(), ready(0)).unwrap();
    let names: Vec<String> = (0..150).map(|n| format!("http://o{n}.test/")).collect();
    add(&frontier, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let whole = frontier.into_store().unwrap();
    let rows = whole.peek(Keyspace::Due, &[], &[0xff; 30], 999).unwrap();
    for damage in ["value", "key", "both"] {
        let (mut store, mut batch) = (whole.clone(), WriteBatch::default());
        for (key, value) in rows.iter().step_by(7) {
            match damage {
                "value" => batch.insert(Keyspace::Due, key.clone(), b"no origin".to_vec()),
                _ => {
                    batch.delete(Keyspace::Due, key.clone());
                    let value = if damage == "key" { value.clone() } else { vec![0xff] };
                    batch.insert(Keyspace::Due, key[..20].to_vec(), value);
                }
            }
        }
        store.commit(batch).unwrap();
        let frontier = Local::open(store, few(), ready(0)).unwrap();
        let (judge, mut leased, mut now) = (TestJudge::default(), BTreeSet::new(), 1);
        while let Some(wake) = {
            let out = frontier.lease(9, &judge, at(now)).await.unwrap();
            for lease in out.leases {
                assert!(leased.insert(lease.url.to_string()));
                settle(&frontier, done(lease.id, turn(now)), at(now)).await;
            }
            out.wake_at
        } {
            now = (now + 1).max(wake.as_micros().div_ceil(1000));
        }
        assert_eq!(leased.len(), names.len(), "{damage}");
    }
}

/// The store fails to read, once the commit of a settlement is made: the settlement holds.
#[tokio::test]
async fn a_settlement_whose_commit_was_made_holds_though_the_next_sleeper_cannot_be_read() {
    let fails = Arc::new(AtomicUsize::new(0));
    let store = Reads { inner: MemoryStore::new(), fails: fails.clone() };
    let frontier = Local::open(store, few(), ready(0)).unwrap();
    let names: Vec<String> = (0..9).map(|n| format!("http://o{n}.test/")).collect();
    add(&frontier, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let judge = TestJudge::default();
    let lease = frontier.lease(1, &judge, at(1)).await.unwrap().leases.remove(0);
    fails.store(1, Ordering::Relaxed);
    let links = offers(["http://o8.test/new", "http://new.test/"]);
    settle(&frontier, done_with(lease.id, links, turn(1)), at(1)).await;
    fails.store(0, Ordering::Relaxed);
    let (mut count, mut now) = (1, 2);
    while let Some(wake) = {
        let out = frontier.lease(9, &judge, at(now)).await.unwrap();
        for lease in out.leases {
            count += 1;
            settle(&frontier, done(lease.id, turn(now)), at(now)).await;
        }
        out.wake_at
    } {
        now = (now + 1).max(wake.as_micros().div_ceil(1000));
    }
    assert_eq!((count, frontier.stats(at(now)).await.unwrap().queued), (11, 0), "each once, and nobody is stranded");
}

/// A store whose reads of the due origins fail while that is set.
#[derive(Debug)]
struct Reads {
    inner: MemoryStore,
    fails: Arc<AtomicUsize>,
}

impl Store for Reads {
    fn commit(&mut self, batch: WriteBatch) -> Result<(), StoreError> {
        self.inner.commit(batch)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn get(&self, space: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.get(space, key)
    }

    fn peek(&self, space: Keyspace, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Row>, StoreError> {
        if space == Keyspace::Due && self.fails.load(Ordering::Relaxed) > 0 {
            return Err(StoreError::Io(std::io::Error::other("the disk says no")));
        }
        self.inner.peek(space, from, until, limit)
    }
}

/// With a URL that came back and one that is to, each with what its last visit has shown.
#[tokio::test]
async fn visits_in_a_store_of_version_3_are_read() {
    let stored = || rows(include_str!("fixtures/store-3-visits.rows"));
    let dir = tempfile::tempdir().unwrap();
    let mut disk = DiskStore::open(dir.path(), DiskSettings::default()).unwrap();
    disk.commit(stored()).unwrap();
    let mut memory = MemoryStore::new();
    memory.commit(stored()).unwrap();
    goes_on_with_stored_visits(disk).await;
    goes_on_with_stored_visits(memory).await;
}

async fn goes_on_with_stored_visits<S: Store + 'static>(store: S) {
    const DAY: u64 = 86_400_000;
    let (judge, visited_at) = (TestJudge::default(), WallTime::from_unix_millis(1_796_000_001_000));
    // A day and a second after the last visits.
    let epoch = Some(visited_at.after(ms(DAY)));
    let config = SchedulerConfig { epoch, ..SchedulerConfig::default() };
    let mut frontier = Local::open(store, config, ready(1000)).unwrap();
    assert_eq!(frontier.fingerprint_key([1; 16], KeyRules::default(), OtherRules::Refuse).unwrap(), [7; 16]);
    let stats = frontier.stats(at(0)).await.unwrap();
    assert_eq!((stats.queued, stats.done, stats.refused, stats.failed, stats.scheduled), (3, 2, 1, 1, 1));
    assert_eq!((stats.seen, stats.origins, stats.next_visit), (7, 4, Some(at(29 * DAY))));
    let mut found = Vec::new();
    for now in [1000, 1001, 29 * DAY - 1, 29 * DAY] {
        for lease in frontier.lease(9, &judge, at(now)).await.unwrap().leases {
            if let Some(visited) = &lease.visited {
                assert_eq!((visited.at, visited.payload), (Some(visited_at), Some(Digest::from_bytes([7; 32]))));
                assert_eq!(visited.validators.etag.as_deref(), Some("W/\"1\""));
                assert_eq!(visited.validators.last_modified.as_deref(), Some("Mon, 30 Nov 2026 00:53:20 GMT"));
                let id = visited.capture.as_ref().and_then(|capture| capture.record_id.as_deref());
                assert_eq!(id, Some("urn:uuid:01234567-89ab-4def-8123-456789abcdef"));
            }
            let interval = lease.visited.as_ref().map_or(0, |visited| visited.interval.as_secs() / 86_400);
            found.push((lease.url.to_string(), lease.priority, interval, now));
            settle(&frontier, done(lease.id, turn(now)), at(now)).await;
        }
    }
    found.sort();
    let expected = [
        ("http://a.test/retry", 3, 30, 29 * DAY),
        ("http://a.test/waits", 1, 0, 1000),
        ("http://b.test/waits", 1, 0, 1000),
        ("http://d.test/link?q=1", 3, 1, 1000),
    ];
    assert_eq!(found, expected.map(|(url, priority, days, now)| (url.to_owned(), priority, days, now)));
}
