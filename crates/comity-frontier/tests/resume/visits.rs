//! The schedule of visits outlives the process.

use super::*;

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
