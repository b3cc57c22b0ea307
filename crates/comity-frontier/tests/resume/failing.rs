//! A store whose calls fail.

use super::*;

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
        // A new store holds nothing that anybody was promised: its owner makes it safe with what comes first.
        assert!(run == 0 || unsynced.load(Ordering::SeqCst) == 0, "run {run}");
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
