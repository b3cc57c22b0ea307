//! Visits over processes whose clock is set: none comes early by the clock that its process had, and none is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use comity::config::ByteSize;
use comity::policy::{Clock as _, WallTime};
use comity_fetch::SystemClock;
use tokio::time::Instant;

use super::crawl::{START, process};
use super::watch::Watch;
use super::{Size, THREE_DAYS};
use crate::disk::SimStore;

const fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours * 3600)
}

const HOUR: i64 = 3_600_000;
/// 1970, as `faults.rs` has it.
const EPOCH: i64 = -1_795_990_000_000;

/// How far the clock is ahead when a process begins, how long that lasts, and to what the clock is set meanwhile, after how long.
type Process = (i64, Duration, &'static [(Duration, i64)]);

const PROCESSES: [Process; 6] = [
    (0, hours(30), &[(hours(5), HOUR), (hours(10), -24 * HOUR)]),
    (0, hours(30), &[(hours(3), 24 * HOUR)]),
    (24 * HOUR, hours(30), &[(hours(6), 0)]),
    // A day behind the one before.
    (0, hours(60), &[]),
    (EPOCH, hours(30), &[]),
    (0, hours(30), &[]),
];

/// The machine, whose clock is so far ahead.
#[derive(Clone)]
struct Machine(Instant, Arc<AtomicI64>);

impl Machine {
    fn wall(&self) -> WallTime {
        let ahead = self.1.load(Ordering::Relaxed);
        WallTime::from_unix_millis(START.after(self.0.elapsed()).unix_millis() + ahead)
    }
}

#[expect(clippy::disallowed_methods, reason = "the machine stands outside of the crawl")]
async fn crawl(watch: &Watch) {
    let machine = Machine(Instant::now(), Arc::default());
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let store = SimStore::default();
    for (number, (ahead, lasts, steps)) in PROCESSES.into_iter().enumerate() {
        machine.1.store(ahead, Ordering::Relaxed);
        watch.begins(machine.wall().unix_millis());
        let began_us = u64::try_from(machine.0.elapsed().as_micros()).unwrap();
        let read = machine.clone();
        let clock = Arc::new(SystemClock::following(move || read.wall()));
        let size = Size { lasts, ..SIZE };
        let builder = process(size, watch, clock.clone(), (number, began_us))
            .dir(dir.path())
            .frontier_store(Box::new(store.clone()))
            .configure(|file| {
                file.archive.warc = Some(false);
                file.archive.min_free = Some(ByteSize(0));
            });
        let setting = async {
            for (after, ahead) in steps {
                tokio::time::sleep_until(machine.0 + Duration::from_micros(began_us) + *after).await;
                machine.1.store(*ahead, Ordering::Relaxed);
                // A time that nobody reads is none.
                clock.wall();
            }
            std::future::pending::<()>().await;
        };
        let summary = tokio::select! {
            summary = builder.build().unwrap().run() => summary.unwrap(),
            () = setting => unreachable!("it waits for ever"),
        };
        eprintln!("process {number}: {watch}\n{summary}");
        let known = u64::from(size.origins) * u64::from(size.pages);
        assert_eq!(summary.left + summary.scheduled, known, "process {number}: no visit is lost");
        assert_eq!(watch.broken(), Vec::<String>::new(), "process {number}");
    }
}

const SIZE: Size = Size { origins: 20, pages: 5, is_lenient: true, ..THREE_DAYS };

#[test]
fn a_clock_that_is_set_loses_no_visit_and_brings_none_early() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let watch = Watch::new(SIZE);
    runtime.block_on(crawl(&watch));
    drop(runtime);
    // Once in each of the six processes, but in 1970, which is long before any is due, and in the one that follows a clock a
    // day ahead at once.
    assert_eq!(watch.visited_less_than(4), 0, "pages that waited for a clock that was wrong once");
}
