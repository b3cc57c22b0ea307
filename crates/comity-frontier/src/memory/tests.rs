use std::collections::BTreeMap;

use comity_url::{CrawlUrl, UrlKey};
use proptest::prelude::*;

use super::*;
use crate::key::queue_key;
use crate::{Offer, QueuedUrl};

type Model = BTreeMap<(Keyspace, Vec<u8>), Vec<u8>>;

#[derive(Clone, Debug)]
enum Change {
    Insert(Keyspace, Vec<u8>, Vec<u8>),
    Delete(Keyspace, Vec<u8>),
}

const ORIGINS: [&str; 3] = ["http://a.test", "http://ab.test:81", "https://a.test"];

/// Few keys, so that they are met again; many of them those of the queue, and of the fingerprints.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        (prop::sample::select(ORIGINS.to_vec()), 0_u8..2, prop_oneof![0_u64..300, Just(u64::MAX)]).prop_map(
            |(origin, priority, sequence)| [origin.as_bytes(), &[0, priority], &sequence.to_be_bytes()].concat()
        ),
        (0_u64..30).prop_map(|number| number.to_be_bytes().to_vec()),
        prop::collection::vec(prop::sample::select(vec![0, 1, 0xff]), 0..9),
    ]
}

/// Records of the queue, rows of fingerprints, and anything else.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let print = || prop::sample::select(vec![[1_u8; 16], [2; 16], [3; 16], [0xff; 16]]);
    let record = (
        (prop::sample::select(ORIGINS.to_vec()), "/[ab]{0,30}", prop::option::of("/[ab]{0,30}")),
        (any::<bool>(), any::<u32>(), 0_u8..2, prop_oneof![Just(0), any::<u32>()]),
        print(),
    );
    let record = record.prop_map(|((origin, path, via), (seed, depth, hops, attempts), print)| {
        let url = |path: String| CrawlUrl::parse(&format!("{origin}{path}")).unwrap();
        let key = UrlKey::from_bytes(print);
        let (url, via) = (url(path), via.map(url));
        QueuedUrl { url, key, depth, hops, via, seed, attempts, visited: None }.encode()
    });
    prop_oneof![
        4 => record,
        1 => prop::collection::vec(print(), 0..4).prop_map(|prints| prints.concat()),
        1 => prop::collection::vec(any::<u8>(), 0..80),
        1 => (0_usize..3000).prop_map(|length| vec![7; length]),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let space = || prop::sample::select(vec![Keyspace::Queue, Keyspace::Queue, Keyspace::Seen, Keyspace::Due]);
    prop_oneof![
        2 => (space(), key(), value()).prop_map(|(space, key, value)| Change::Insert(space, key, value)),
        1 => (space(), key()).prop_map(|(space, key)| Change::Delete(space, key)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is written is read back byte by byte, in order.
    #[test]
    fn it_is_a_map_of_bytes(
        batches in prop::collection::vec(prop::collection::vec(change(), 0..60), 0..8),
        ranges in prop::collection::vec((key(), key(), 0_usize..40), 1..8),
    ) {
        let (mut store, mut model) = (MemoryStore::new(), Model::new());
        for changes in batches {
            let mut batch: BTreeMap<(Keyspace, Vec<u8>), Option<Vec<u8>>> = BTreeMap::new();
            for change in changes {
                match change {
                    Change::Insert(space, key, value) => batch.insert((space, key), Some(value)),
                    Change::Delete(space, key) => batch.insert((space, key), None),
                };
            }
            let mut writes = WriteBatch::default();
            for ((space, key), value) in batch {
                match value {
                    Some(value) => {
                        model.insert((space, key.clone()), value.clone());
                        writes.insert(space, key, value);
                    }
                    None => {
                        model.remove(&(space, key.clone()));
                        writes.delete(space, key);
                    }
                }
            }
            store.commit(writes).unwrap();
        }
        for space in [Keyspace::Queue, Keyspace::Seen, Keyspace::Due] {
            let all = store.peek(space, &[], &[0xff; 20], usize::MAX).unwrap();
            let expected: Vec<Row> =
                model.iter().filter(|((of, _), _)| *of == space).map(|((_, key), value)| (key.clone(), value.clone())).collect();
            prop_assert_eq!(store.len(space), expected.len());
            prop_assert_eq!(&all, &expected);
            for (key, value) in &expected {
                prop_assert_eq!(store.get(space, key).unwrap(), Some(value.clone()));
            }
            for (from, until, limit) in &ranges {
                let found = store.peek(space, from, until, *limit).unwrap();
                let expected: Vec<Row> =
                    expected.iter().filter(|(key, _)| key >= from && key < until).take(*limit).cloned().collect();
                prop_assert_eq!(found, expected);
                let value = model.get(&(space, from.clone())).cloned();
                prop_assert_eq!(store.get(space, from).unwrap(), value);
            }
        }
        prop_assert_eq!(store.is_empty(), model.is_empty());
    }
}

/// URLs of 76 bytes, ten to an origin, taken in in any order: each costs less than its path, and its fingerprint stands once.
#[test]
fn a_queued_url_takes_less_than_its_own_bytes() {
    let (urls, origins) = (40_000_u64, 4_000);
    let mut store = MemoryStore::new();
    let mut numbers: Vec<u64> = (0..urls).map(|n| n.wrapping_mul(0x9e37_79b1) % urls).collect();
    numbers.dedup();
    for (commit, page) in (0_u64..).zip(numbers.chunks(1000)) {
        let (mut batch, mut prints) = (WriteBatch::default(), Vec::new());
        for number in page {
            let text =
                format!("https://site-{:09}.test/section/page-with-a-long-name/{number:012}.html", number % origins);
            let url = CrawlUrl::parse(&text).unwrap();
            let key = UrlKey::from_bytes(
                (u128::from(*number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)).to_be_bytes(),
            );
            prints.extend(key.to_bytes());
            let row = queue_key(url.origin(), 1, number / origins);
            let record = QueuedUrl::from(Offer { priority: 1, depth: 3, seed: false, ..Offer::seed(url, key) });
            batch.insert(Keyspace::Queue, row, record.encode());
        }
        batch.insert(Keyspace::Seen, commit.to_be_bytes().to_vec(), prints);
        store.commit(batch).unwrap();
    }
    assert_eq!(store.len(Keyspace::Queue), urls as usize);
    let each = store.queue.bytes() as f64 / urls as f64;
    assert!(each < 30.0, "{each} bytes per queued URL beside its fingerprint");
    // What is left where most origins are gone is smaller too.
    let rows = store.peek(Keyspace::Queue, &[], &[0xff], usize::MAX).unwrap();
    let full = store.queue.bytes();
    let mut batch = WriteBatch::default();
    let gone = rows.into_iter().enumerate().filter(|(at, _)| at / 10 % 8 != 0);
    gone.for_each(|(_, (key, _))| batch.delete(Keyspace::Queue, key));
    store.commit(batch).unwrap();
    assert!(store.queue.bytes() * 4 < full, "{} of {full} bytes for an eighth of the URLs", store.queue.bytes());
}
