//! The contract of [`Frontier`], checked through the trait alone: whatever implements it runs every case.
//!
//! A new implementation adds one line to `implementations`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use comity_frontier::{
    DiskSettings, DiskStore, Frontier, Leased, Local, MemoryStore, Offer, Offered, Renewal, Renewed, SchedulerConfig,
    Settled, Settlement, Spent, TurnNews, Why,
};
use comity_policy::{Hold, Instant, OriginPace, Overlap, Ready, Reason};

use common::*;

type Make = fn(SchedulerConfig) -> Made;

/// A frontier, and the directory that goes when it has gone.
struct Made(Box<dyn Frontier>, #[expect(dead_code, reason = "it is there to be dropped")] Option<tempfile::TempDir>);

fn at_once() -> Ready {
    Ready { at: Instant::START, clock: Reason::Ok }
}

fn on_disk(make: impl FnOnce(DiskStore) -> Box<dyn Frontier>) -> Made {
    let dir = tempfile::tempdir().unwrap();
    let frontier = make(DiskStore::open(&dir.path().join("store"), DiskSettings::default()).unwrap());
    Made(frontier, Some(dir))
}

fn implementations() -> Vec<(&'static str, Make)> {
    vec![
        ("memory, new", |config| Made(Box::new(Local::in_memory(config)), None)),
        ("memory, opened", |config| Made(Box::new(Local::open(MemoryStore::new(), config, at_once()).unwrap()), None)),
        ("memory, one origin awake", |config| {
            Made(Box::new(Local::in_memory(SchedulerConfig { resident_origins: 1, ..config })), None)
        }),
        ("memory, on a thread", |config| {
            let config = SchedulerConfig { resident_origins: 2, ..config };
            Made(Box::new(Local::open_on_thread(MemoryStore::new(), config, at_once()).unwrap()), None)
        }),
        ("disk, on a thread", |config| {
            on_disk(|store| Box::new(Local::open_on_thread(store, config, at_once()).unwrap()))
        }),
        ("disk, one origin awake", |config| {
            let config = SchedulerConfig { resident_origins: 1, ..config };
            on_disk(|store| Box::new(Local::open(store, config, at_once()).unwrap()))
        }),
    ]
}

/// Runs a case against every implementation, each time on a fresh frontier.
macro_rules! cases {
    ($($name:ident($frontier:ident, $judge:ident, $config:expr) $body:block)+) => {
        $(#[tokio::test]
        async fn $name() {
            for (implementation, make) in implementations() {
                println!("{implementation}");
                let made = make($config);
                let $frontier: &dyn Frontier = &*made.0;
                let $judge = TestJudge::default();
                $body
            }
        })+
    };
}

#[path = "conformance/budgets.rs"]
mod budgets;
#[path = "conformance/judged.rs"]
mod judged;
#[path = "conformance/leases.rs"]
mod leases;
#[path = "conformance/listing.rs"]
mod listing;
#[path = "conformance/turns.rs"]
mod turns;
#[path = "conformance/visits.rs"]
mod visits;

fn config() -> SchedulerConfig {
    SchedulerConfig::default()
}

fn three_at_once() -> SchedulerConfig {
    SchedulerConfig { per_origin: 3, ..config() }
}

fn small_budgets() -> SchedulerConfig {
    SchedulerConfig { pages_per_origin: 2, queued: 5, origins: 2, ..config() }
}

fn small_domains() -> SchedulerConfig {
    SchedulerConfig { pages_per_domain: 3, queued_per_domain: 2, ..config() }
}

async fn lease(frontier: &dyn Frontier, n: usize, judge: &TestJudge, millis: u64) -> Leased {
    frontier.lease(n, judge, at(millis)).await.unwrap()
}
