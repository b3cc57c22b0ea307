//! What a power cut took, and a store that is made anew from its queue.

use super::*;

/// Twelve pages of three origins and a refused one; each settled after its record was written, the first four of them safe.
pub(super) async fn settled_with_records<S: Store + 'static>(store: S) -> (S, Vec<String>) {
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
