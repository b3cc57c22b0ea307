//! The contract of [`Frontier`], checked through the trait alone: whatever implements it runs every case.
//!
//! A new implementation adds one line to `implementations`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use comity_frontier::{DiskSettings, DiskStore, Frontier, Local, MemoryStore, SchedulerConfig};
use comity_policy::{Instant, Ready, Reason};

#[path = "conformance/suite.rs"]
mod suite;

use suite::{Made, Make};

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
