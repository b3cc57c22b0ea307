//! The stored forms: what is written reads back, and any other bytes are an error, never a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use comity_frontier::{
    DiskSettings, DiskStore, Ending, Keyspace, MemoryStore, QueuedUrl, RecordError, Store, StoreError, Summary,
    UserData, Visited, WriteBatch,
};
use comity_url::UrlKey;
use proptest::prelude::*;

use common::{offer, url};

fn any_url() -> impl Strategy<Value = comity_url::CrawlUrl> {
    "https?://[a-z0-9]{1,12}\\.test(:[1-9][0-9]{0,3})?(/[ -~]{0,20}){0,3}"
        .prop_filter_map("no crawl URL", |text| comity_url::CrawlUrl::parse(&text).ok())
}

prop_compose! {
    fn any_queued()(
        url in any_url(), key in any::<[u8; 16]>(), depth: u32, hops: u8, via in proptest::option::of(any_url()),
        seed: bool, attempts: u32, interval in proptest::option::of(any::<u64>()),
        user_data in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40)),
    ) -> QueuedUrl {
        let user_data = user_data.map(|bytes| UserData::new(bytes).unwrap());
        let with = |interval| Visited { user_data, ..Visited::hinted(std::time::Duration::from_millis(interval)) };
        let visited = interval.map(|interval| Box::new(with(interval)));
        QueuedUrl { url, key: UrlKey::from_bytes(key), depth, hops, via, seed, attempts, visited }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn records_read_back(queued in any_queued()) {
        prop_assert_eq!(QueuedUrl::decode(&queued.encode()), Ok(queued));
    }

    #[test]
    fn any_bytes_give_a_record_that_writes_them_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(queued) = QueuedUrl::decode(&bytes) {
            prop_assert_eq!(queued.encode(), bytes);
        } else {
            let _ = Summary::decode(&bytes);
        }
    }

    #[test]
    fn damaged_records_are_an_error_or_another_record(queued in any_queued(), at: prop::sample::Index, xor in 1_u8..) {
        let mut bytes = queued.encode();
        let at = at.index(bytes.len());
        bytes[at] ^= xor;
        if let Ok(read) = QueuedUrl::decode(&bytes) {
            prop_assert_eq!(read.encode(), bytes);
        }
    }

    #[test]
    fn cut_records_are_an_error(queued in any_queued(), at: prop::sample::Index) {
        let bytes = queued.encode();
        let cut = &bytes[..at.index(bytes.len())];
        // A via that is cut may still be a URL: then it is another record, but never this one.
        prop_assert_ne!(QueuedUrl::decode(cut), Ok(queued));
    }

    #[test]
    fn summaries_read_back_and_add_up(steps in proptest::collection::vec((0_u8..4, 0_u8..6), 0..200)) {
        let (mut summary, mut last) = (Summary::default(), None);
        for (priority, step) in steps {
            let waits = summary.lanes().iter().any(|lane| lane.priority == priority);
            match step {
                0 if waits => summary.end(priority, Ending::Done),
                1 if waits => summary.end(priority, Ending::Refused),
                2 if waits => summary.end(priority, Ending::Failed),
                3 => {
                    let before = summary.admitted();
                    let any = [Ending::Done, Ending::Refused, Ending::Failed].into_iter().find(|end| summary.ended(*end) > 0);
                    let sequence = summary.come_back(priority, any.unwrap_or(Ending::Failed));
                    prop_assert!(last < Some(sequence), "each record behind the one before");
                    prop_assert_eq!(summary.admitted(), before + u64::from(any.is_none()));
                    last = Some(sequence);
                }
                4 => summary.receive(u64::from(priority) << 40),
                _ => {
                    let (before, sequence) = (summary.admitted(), summary.admit(priority));
                    prop_assert!(last < Some(sequence), "each record behind the one before");
                    prop_assert_eq!(summary.admitted(), before + 1);
                    last = Some(sequence);
                }
            }
            let ended: u64 = [Ending::Done, Ending::Refused, Ending::Failed].map(|end| summary.ended(end)).iter().sum();
            prop_assert_eq!(summary.queued() + ended, summary.admitted());
        }
        prop_assert_eq!(Summary::decode(&summary.encode()), Ok(summary));
    }
}

#[test]
fn what_is_not_written_by_us_is_named() {
    let queued = QueuedUrl::from(offer("http://a.test/1"));
    let good = queued.encode();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let upper = [&good[..29], b"HTTP://a.test/1"].concat();
    let table: [(&str, Vec<u8>, RecordError); 6] = [
        ("empty", Vec::new(), RecordError::Length),
        ("later version", with(0, 3), RecordError::Version(3)),
        ("unknown flag", with(1, 4), RecordError::Field("flags")),
        ("more than it says", [&good[..], b"x"].concat(), RecordError::Length),
        ("via promised, none there", with(1, 2), RecordError::Field("via")),
        ("not the form of a crawl URL", upper, RecordError::Field("url")),
    ];
    for (name, bytes, expected) in table {
        assert_eq!(QueuedUrl::decode(&bytes), Err(expected), "{name}");
    }
}

/// A record as it was written before there was user data, and one with it: what is on a disk is read by later builds.
#[test]
fn the_stored_form_with_user_data_is_pinned_and_the_one_before_it_reads_as_none() {
    let head = [&[2, 1, 0, 0, 0, 3, 1, 0, 0, 0, 2][..], &[7; 16], &[0, 15], b"http://a.test/1", &[0, 0]].concat();
    let before = [&head[..], &[1, 0, 0x88, 0x27, 1]].concat();
    let with = [&head[..], &[2, 0, 0x88, 0x27, 1, 3], b"{1}"].concat();
    for (bytes, user_data) in [(before, None), (with, Some(UserData::new(*b"{1}").unwrap()))] {
        let read = QueuedUrl::decode(&bytes).unwrap();
        let visited = read.visited.as_deref().unwrap();
        assert_eq!((visited.interval.as_millis(), visited.gone, &visited.user_data), (5000, 1, &user_data));
        assert_eq!((read.depth, read.hops, read.seed, read.attempts), (3, 1, true, 2));
        assert_eq!(read.encode(), bytes);
    }
    let most = UserData::MOST;
    assert!(UserData::new(vec![0; most]).is_ok());
    assert_eq!(UserData::new(vec![0; most + 1]).unwrap_err().bytes, most + 1);
    let too_long = [&head[..], &[2, 0, 0x88, 0x27, 1, 0x81, 0x20], &vec![0; most + 1]].concat();
    assert_eq!(QueuedUrl::decode(&too_long), Err(RecordError::Field("user data")));
}

#[test]
fn the_longest_crawl_url_is_stored_whole() {
    let text = format!("http://a.test/{}", "x".repeat(comity_url::MAX_CRAWL_URL_BYTES - 14));
    let queued = QueuedUrl { url: url(&text), via: Some(url(&text)), ..QueuedUrl::from(offer("http://a.test/1")) };
    assert_eq!(QueuedUrl::decode(&queued.encode()), Ok(queued));
}

#[test]
fn every_store_keeps_the_contract() {
    keeps_the_contract(&mut MemoryStore::new());
    let dir = tempfile::tempdir().unwrap();
    let settings = DiskSettings::default();
    keeps_the_contract(&mut DiskStore::open(dir.path(), settings).unwrap());
    let store = DiskStore::open(dir.path(), settings).unwrap();
    assert_eq!(store.peek(Keyspace::Queue, b"", b"z", 1).unwrap(), [(b"b".to_vec(), b"new".to_vec())]);
    let held = DiskStore::open(dir.path(), settings).unwrap_err();
    assert!(matches!(held, StoreError::Held(_)), "{held:?}");
}

fn keeps_the_contract(store: &mut dyn Store) {
    let mut batch = WriteBatch::default();
    for key in [b"b", b"a", b"d", b"c"] {
        batch.insert(Keyspace::Queue, key.to_vec(), key.to_vec());
    }
    batch.insert(Keyspace::Seen, b"a".to_vec(), b"q".to_vec());
    store.commit(batch).unwrap();
    let keys = |store: &dyn Store, from: &[u8], until: &[u8], limit| -> Vec<u8> {
        store.peek(Keyspace::Queue, from, until, limit).unwrap().into_iter().flat_map(|row| row.0).collect()
    };
    assert_eq!(keys(store, b"a", b"e", 9), b"abcd");
    assert_eq!(keys(store, b"a", b"e", 2), b"ab");
    assert_eq!(keys(store, b"b", b"d", 9), b"bc");
    assert_eq!(keys(store, b"aa", b"c", 9), b"b");
    assert_eq!(keys(store, b"d", b"a", 9), b"");
    assert_eq!(keys(store, b"a", b"a", 9), b"");
    assert_eq!(store.get(Keyspace::Seen, b"a").unwrap(), Some(b"q".to_vec()));
    assert_eq!(store.get(Keyspace::Seen, b"b").unwrap(), None);
    let mut batch = WriteBatch::default();
    batch.delete(Keyspace::Queue, b"a".to_vec());
    batch.delete(Keyspace::Queue, b"never".to_vec());
    batch.insert(Keyspace::Queue, b"b".to_vec(), b"new".to_vec());
    store.commit(batch).unwrap();
    assert_eq!(store.peek(Keyspace::Queue, b"", b"z", 1).unwrap(), [(b"b".to_vec(), b"new".to_vec())]);
    store.sync().unwrap();
}
