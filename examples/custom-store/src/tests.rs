use std::sync::Arc;

use comity::config::ByteSize;
use comity::fetch::SystemClock;
use comity::frontier::{Keyspace, Local, Store, StoreError, WriteBatch};
use comity::policy::{Instant, Ready, Reason, WallTime};
use comity_testweb::{Generated, Site, Web};

use self::suite::{Made, Make};
use super::*;

/// The suite that every frontier has to pass, comity's own and this one.
#[path = "../../../crates/comity-frontier/tests/conformance/suite.rs"]
mod suite;

fn implementations() -> Vec<(&'static str, Make)> {
    vec![("the log", |config| {
        let dir = scratch();
        let store = LogStore::open(&dir.path().join("log")).unwrap();
        let at_once = Ready { at: Instant::START, clock: Reason::Ok };
        Made(Box::new(Local::open(store, config, at_once).unwrap()), Some(dir))
    })]
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn insert(key: u8, value: &[u8]) -> WriteBatch {
    let mut batch = WriteBatch::default();
    batch.insert(Keyspace::Queue, vec![key], value.to_vec());
    batch
}

/// Keys of the queue.
fn keys(store: &LogStore) -> Vec<u8> {
    let rows = store.peek(Keyspace::Queue, &[], &[0xff], 99).unwrap();
    rows.into_iter().map(|(key, _)| key[0]).collect()
}

#[test]
fn cut_anywhere_it_holds_the_batches_before() {
    let dir = scratch();
    let path = dir.path().join("log");
    let mut ends = Vec::new();
    let mut store = LogStore::open(&path).unwrap();
    for key in 1..=3 {
        store.commit(insert(key, b"value")).unwrap();
        ends.push(std::fs::metadata(&path).unwrap().len());
    }
    assert!(matches!(LogStore::open(&path), Err(StoreError::Held(_))), "one process at a time");
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    for cut in 0..=whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let mut store = LogStore::open(&path).unwrap();
        let held: Vec<u8> = (1..=3).zip(&ends).filter(|(_, end)| **end <= cut as u64).map(|(key, _)| key).collect();
        assert_eq!(keys(&store), held, "cut at {cut}");
        store.commit(insert(9, b"more")).unwrap();
        drop(store);
        assert_eq!(keys(&LogStore::open(&path).unwrap()), [held, vec![9]].concat(), "cut at {cut}, then more");
    }
}

#[test]
fn another_byte_is_refused_or_cut_and_never_believed() {
    let dir = scratch();
    let path = dir.path().join("log");
    let mut store = LogStore::open(&path).unwrap();
    (1..=3).for_each(|key| store.commit(insert(key, b"value")).unwrap());
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&path, damaged).unwrap();
        if let Ok(store) = LogStore::open(&path) {
            assert!([1, 2, 3].starts_with(&keys(&store)) && keys(&store).len() < 3, "byte {at}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_crawl_that_was_stopped_goes_on_from_it() {
    const START: WallTime = WallTime::from_unix_millis(1_796_000_000_000);
    let pages = Generated::new(12, 3).off_origin_percent(0);
    let site = Site::new().name("a.test").robots("User-agent: *\nCrawl-delay: 2\n").generated(pages);
    let (net, observer) = Web::builder(1).epoch(START).site(site).build().unwrap().in_memory();
    let clock = Arc::new(SystemClock::paused_at(START));
    let dir = scratch();
    let dir = dir.path().join("crawl");
    let run = async |most: u64| {
        let builder = crawler(&dir, "http://a.test/").unwrap().max_pages(most).allow_addresses("10.0.0.0/8");
        let builder = builder.configure(|file| file.archive.min_free = Some(ByteSize(0)));
        let crawler = builder.net(Arc::new(net.clone())).clock(clock.clone()).build().unwrap();
        crawler.run().await.unwrap()
    };
    let first = run(5).await;
    assert_eq!(first.pages(), 5, "{first}");
    assert!(first.left > 0 && !dir.join("state/frontier").exists(), "comity's own store is not used");
    let second = run(100).await;
    assert_eq!((second.pages(), second.left), (7, 0), "{second}");
    let audit = observer.audit();
    assert!(audit.is_clean(), "{audit}");
    assert_eq!((audit.distinct_pages, audit.repeats), (12, 0));
}
