//! What goes on where it was, and what was spent stays spent.

use super::*;

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
