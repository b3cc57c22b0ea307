//! Stores as earlier versions wrote them.

use super::*;

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

/// `store-3` was written by version 3, `store-4` by `version_4_as_it_is_written`.
#[tokio::test]
async fn stores_of_versions_3_and_4_are_read() {
    for text in [include_str!("../fixtures/store-3.rows"), include_str!("../fixtures/store-4.rows")] {
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
    assert_eq!(text, include_str!("../fixtures/store-4.rows"));
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

/// With a URL that came back and one that is to, each with what its last visit has shown.
#[tokio::test]
async fn visits_in_a_store_of_version_3_are_read() {
    let stored = || rows(include_str!("../fixtures/store-3-visits.rows"));
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
