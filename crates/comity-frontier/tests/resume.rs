//! What survives a stop, and what a store that fails or is damaged does to the frontier above it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;
#[path = "resume/damage.rs"]
mod damage;
#[path = "resume/failing.rs"]
mod failing;
#[path = "resume/forgotten.rs"]
mod forgotten;
#[path = "resume/going_on.rs"]
mod going_on;
#[path = "resume/losses.rs"]
mod losses;
#[path = "resume/versions.rs"]
mod versions;
#[path = "resume/visits.rs"]
mod visits;

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

/// Two origins in memory.
fn few() -> SchedulerConfig {
    SchedulerConfig { resident_origins: 2, ..SchedulerConfig::default() }
}
