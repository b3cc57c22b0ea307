//! Rows that cannot be read hold nobody, and lose nothing else.

use std::sync::Mutex;

use super::*;

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

/// Origins with unreadable records leave memory like any other; each damaged place counts once, and the others come once.
#[tokio::test]
async fn an_origin_with_damaged_records_sleeps_and_wakes() {
    const ORIGINS: usize = 12;
    let names: Vec<String> = (0..ORIGINS * 9).map(|n| format!("http://o{}.test/{n}", n % ORIGINS)).collect();
    for damaged in [&[1][..], &[2, 3], &[1, 4, 8], &[5]] {
        let frontier = Local::open(MemoryStore::new(), few(), ready(0)).unwrap();
        add(&frontier, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let (mut store, mut batch) = (frontier.into_store().unwrap(), WriteBatch::default());
        for origin in 0..ORIGINS {
            let from = format!("http://o{origin}.test\0").into_bytes();
            let until = format!("http://o{origin}.test\u{1}").into_bytes();
            let rows = store.peek(Keyspace::Queue, &from, &until, 99).unwrap();
            assert_eq!(rows.len(), 9);
            damaged.iter().for_each(|at| batch.insert(Keyspace::Queue, rows[*at].0.clone(), b"garbage".to_vec()));
        }
        store.commit(batch).unwrap();
        let store = Looked(Arc::new(Mutex::new(store)));
        let frontier = Local::open(store.clone(), few(), ready(0)).unwrap();
        let (judge, mut leased, mut now, mut asleep) = (TestJudge::default(), BTreeSet::new(), 1, 0);
        while let Some(wake) = {
            let out = frontier.lease(3, &judge, at(now)).await.unwrap();
            for lease in out.leases {
                assert!(leased.insert(lease.url.to_string()), "once: {}", lease.url);
                // A long wait for one's own turn: meanwhile the others' come.
                settle(&frontier, done(lease.id, turn(now + 40)), at(now)).await;
            }
            out.wake_at
        } {
            let records = store.peek(Keyspace::Origin, &[], &[0xff], 99).unwrap();
            asleep = asleep.max(records.iter().filter(|(_, record)| took_damage_along(record)).count());
            now = (now + 1).max(wake.as_micros().div_ceil(1000));
        }
        let (lost, stats) = (damaged.len() * ORIGINS, frontier.stats(at(now)).await.unwrap());
        assert_eq!(leased.len(), names.len() - lost, "{damaged:?}");
        assert_eq!((stats.queued, stats.damaged), (0, lost as u64), "{damaged:?}: each counts once");
        assert!(asleep >= ORIGINS - 4, "{damaged:?}: {asleep} of {ORIGINS} slept with what they had met");
    }
}

/// The record of an origin that left memory, with places that it knows for damaged: behind the counts flags, the three numbers of
/// its key, and the flags of what it took along.
fn took_damage_along(record: &[u8]) -> bool {
    let end = (1..=record.len()).find(|end| Summary::decode(&record[..*end]).is_ok()).unwrap();
    let (flags, behind) = record[end..].split_first().unwrap();
    let numbers = if flags & 1 == 0 { 0 } else { 3 };
    let ends = behind.iter().enumerate().filter(|(_, byte)| **byte < 0x80).map(|(at, _)| at + 1);
    let at = if numbers == 0 { 0 } else { ends.take(numbers).last().unwrap() };
    flags & 2 != 0 && behind[at] & 64 != 0
}

/// A store that the test looks into while the frontier has it.
#[derive(Clone, Debug)]
struct Looked(Arc<Mutex<MemoryStore>>);

impl Store for Looked {
    fn commit(&mut self, batch: WriteBatch) -> Result<(), StoreError> {
        self.0.lock().unwrap().commit(batch)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.0.lock().unwrap().sync()
    }

    fn get(&self, space: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.lock().unwrap().get(space, key)
    }

    fn peek(&self, space: Keyspace, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Row>, StoreError> {
        self.0.lock().unwrap().peek(space, from, until, limit)
    }
}
