//! The frontier at size: how fast offers are taken, what memory and disk they cost, how soon a full store leases again.
//!
//! `cargo bench -p comity-frontier --bench frontier -- [disk|memory|hot|beside] [millions of URLs] [URLs per origin] [offers of each]`,
//! `… push [millions of URLs] [millions to lease] [URLs per origin]` for a store on disk at size, each URL offered once,
//! `… reopen DIRECTORY [millions to lease]` for a store that is there. Stores lie in `COMITY_BENCH_DIR`, one that is killed stays
//! there; their cache of blocks has `COMITY_BENCH_CACHE` MiB instead of the default.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench fails by panicking")]
#![allow(clippy::print_stdout, reason = "it prints its figures")]
#![allow(clippy::disallowed_methods, reason = "a bench measures the machine's time")]

mod load;
mod process;

use std::time::{Duration, Instant as Watch};

use comity_frontier::{DiskSettings, DiskStore, Frontier, Local, MemoryStore, SchedulerConfig, Store};
use comity_policy::{Instant, Ready, Reason};

use load::{Everything, Load};
use process::Process;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |at: usize, default: f64| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(default);
    let load = Load {
        urls: (number(1, 1.0) * 1e6) as u64,
        on_one: 0,
        per_origin: number(2, 10.0) as u64,
        times: number(3, 3.0) as u64,
    };
    match words.first().copied() {
        Some("reopen") => reopen(words[1], (number(2, 0.02) * 1e6) as u64),
        Some("push") => push(number(1, 50.0), number(2, 1.0), number(3, 10.0)),
        Some("memory") => memory(&load),
        Some("hot") => hot(&load),
        Some("beside") => beside(&load),
        None | Some("disk") => disk(&load, (load.urls / 20).min(100_000)),
        Some(other) => panic!("unknown store {other:?}; known are disk, push, memory, hot, beside"),
    }
}

fn config() -> SchedulerConfig {
    let most = 1_000_000_000;
    SchedulerConfig {
        queued: most,
        queued_per_domain: most,
        origins: most,
        pages_per_origin: most,
        ..SchedulerConfig::default()
    }
}

fn settings() -> DiskSettings {
    let cache = std::env::var("COMITY_BENCH_CACHE").ok().and_then(|text| text.parse::<u64>().ok());
    let default = DiskSettings::default();
    DiskSettings { cache: cache.map_or(default.cache, |mebibytes| mebibytes << 20), ..default }
}

fn at_once() -> Ready {
    Ready { at: Instant::START, clock: Reason::Ok }
}

/// So many millions of URLs into a store, and some of them out again.
fn push(millions: f64, leased: f64, per_origin: f64) {
    let load = Load { urls: (millions * 1e6) as u64, on_one: 0, per_origin: per_origin as u64, times: 1 };
    disk(&load, (leased * 1e6) as u64);
}

fn disk(load: &Load, leased: u64) {
    let dir = tempfile::tempdir_in(std::env::var("COMITY_BENCH_DIR").unwrap_or_else(|_| ".".to_owned())).unwrap();
    let path = dir.path().join("store");
    let before = Process::now();
    let store = DiskStore::open(&path, settings()).unwrap();
    let frontier = Local::open_on_thread(store, config(), at_once()).unwrap();
    fill(&frontier, load, before);
    pop(&frontier, leased, "");
    let store = frontier.into_store().unwrap();
    println!("disk         {:.0} bytes per URL", store.disk_space().unwrap() as f64 / load.urls as f64);
    drop(store);
    let me = std::env::current_exe().unwrap();
    let done = std::process::Command::new(me).arg("reopen").arg(&path).status().unwrap();
    assert!(done.success());
}

/// In a process of its own, as after a restart.
fn reopen(path: &str, more: u64) {
    let started = Watch::now();
    let before = Process::now();
    let store = DiskStore::open(std::path::Path::new(path), settings()).unwrap();
    let opened = started.elapsed();
    let frontier = Local::open_on_thread(store, config(), at_once()).unwrap();
    let read = started.elapsed();
    let leased = block_on(frontier.lease(1, &Everything, Instant::from_micros(1))).unwrap();
    assert_eq!(leased.leases.len(), 1);
    println!(
        "reopen       first lease after {:.2} s (log read after {:.2} s, fingerprints after {:.2} s); {}",
        started.elapsed().as_secs_f64(),
        opened.as_secs_f64(),
        read.as_secs_f64(),
        before.since()
    );
    pop(&frontier, more, " after it");
}

fn memory(load: &Load) {
    let before = Process::now();
    let frontier = Local::open(MemoryStore::new(), config(), at_once()).unwrap();
    fill(&frontier, load, before);
    pop(&frontier, load.urls / 20, "");
}

/// One origin with everything: the last leases must be as fast as the first.
fn hot(load: &Load) {
    let dir = tempfile::tempdir_in(std::env::var("COMITY_BENCH_DIR").unwrap_or_else(|_| ".".to_owned())).unwrap();
    let store = DiskStore::open(&dir.path().join("store"), settings()).unwrap();
    let frontier = Local::open(store, config(), at_once()).unwrap();
    let load = Load { per_origin: load.urls, ..*load };
    fill(&frontier, &load, Process::now());
    for tenth in 1..=10 {
        pop(&frontier, load.urls / 10, &format!(" tenth {tenth}"));
    }
}

/// One origin with everything but 100,000 URLs, which are on origins of their own.
fn beside(load: &Load) {
    let others = 100_000;
    disk(&Load { urls: load.urls + others, on_one: load.urls, per_origin: 1, ..*load }, 100_000);
}

/// Offers every URL so many times, in batches of 4,096.
fn fill<S: Store + 'static>(frontier: &Local<S>, load: &Load, before: Process) {
    let offers = load.urls * load.times;
    let (started, mut made, mut made_cpu) = (Process::now(), Duration::ZERO, Duration::ZERO);
    for batch in load.batches() {
        let (making, making_cpu) = (Watch::now(), process::own_cpu());
        let batch = load.offers(batch);
        made += making.elapsed();
        made_cpu += process::own_cpu().saturating_sub(making_cpu);
        block_on(frontier.offer(batch)).unwrap().into_iter().for_each(drop);
    }
    let spent = started.since();
    let cpu = spent.cpu.saturating_sub(made_cpu);
    println!(
        "offers       {offers}, one in {} new: {:.0} a second, {:.0} a second of CPU ({} ms of CPU for making them apart)",
        load.times,
        offers as f64 / (spent.wall.saturating_sub(made)).as_secs_f64(),
        offers as f64 / cpu.as_secs_f64(),
        made_cpu.as_millis()
    );
    let stats = block_on(frontier.stats(Instant::START)).unwrap();
    println!("holds        {} URLs on {} origins; {}", stats.queued, stats.origins, before.since());
}

/// Leases and settles `count` URLs, 64 at a time, each origin due again a second later.
fn pop<S: Store + 'static>(frontier: &Local<S>, count: u64, what: &str) {
    let (started, mut left, mut now) = (Process::now(), count, 1);
    while left > 0 {
        let leased = block_on(frontier.lease(64, &Everything, Instant::from_micros(now))).unwrap();
        let settled: Vec<_> = leased.leases.iter().map(|lease| load::done(lease, now)).collect();
        left = left.saturating_sub(settled.len() as u64);
        now = match leased.leases.len() {
            0 => leased.wake_at.unwrap().as_micros(),
            _ => now + 1,
        };
        block_on(frontier.settle(settled, Instant::from_micros(now))).unwrap();
    }
    let spent = started.since();
    println!(
        "leases{what:6} {count}: {:.0} a second, {:.1} µs of CPU each; {}",
        count as f64 / spent.wall.as_secs_f64(),
        spent.cpu.as_secs_f64() * 1e6 / count as f64,
        spent
    );
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}
