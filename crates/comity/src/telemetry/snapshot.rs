use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use comity_frontier::Stats;
use comity_policy::{Instant, Reason};
use tokio::sync::Mutex;

use super::metrics;
use super::page;
use crate::engine::Shared;
use crate::progress::describe;
use crate::{Error, Summary};

/// Everything that is told, at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(super) summary: Summary,
    pub(super) stats: Stats,
    pub(super) in_flight: u64,
    /// Origins that are parked or outside their hours.
    pub(super) parked: u64,
    pub(super) robots_requests: u64,
    pub(super) robots: Vec<(&'static str, u64)>,
    pub(super) internal: u64,
    pub(super) archive_bytes: u64,
    pub(super) uptime: Duration,
    /// Origin, queued URLs, and what it waits for.
    pub(super) waiting: Vec<(String, u64, String)>,
    pub(super) agent: String,
}

/// A moment of the past: how long the crawl had run, and what it had done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) at: Duration,
    pub(super) pages: u64,
    pub(super) refused: u64,
    pub(super) failed: u64,
    pub(super) bytes: u64,
}

/// The latest snapshot. However often it is asked for, the crawl is looked at once a second at most.
#[derive(Debug)]
pub(super) struct Latest {
    started: Instant,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    taken: Option<Instant>,
    measured: Option<Instant>,
    snapshot: Snapshot,
    marks: VecDeque<Mark>,
}

const EVERY: Duration = Duration::from_secs(1);
/// Files are looked at this often at most.
const MEASURE_EVERY: Duration = Duration::from_secs(10);
/// Moments of the past that are kept: they are taken as somebody looks.
const MOST_MARKS: usize = 120;
/// Origins that are looked through for those that are parked.
const MOST_PARKED: usize = 100_000;

impl Latest {
    pub(super) fn new(started: Instant) -> Self {
        Self { started, held: Mutex::default() }
    }

    pub(super) async fn metrics(&self, shared: &Shared) -> Result<String, Error> {
        let mut held = self.held.lock().await;
        self.refresh(&mut held, shared).await?;
        metrics::encode(&held.snapshot, &shared.meters).map_err(|_| Error::internal("metrics cannot be written"))
    }

    pub(super) async fn page(&self, shared: &Shared) -> Result<String, Error> {
        let mut held = self.held.lock().await;
        self.refresh(&mut held, shared).await?;
        Ok(page::page(&held.snapshot, &held.marks))
    }

    async fn refresh(&self, held: &mut Held, shared: &Shared) -> Result<(), Error> {
        let now = shared.clock.now();
        if held.taken.is_some_and(|taken| now.since(taken) < EVERY) {
            return Ok(());
        }
        let mut archive_bytes = held.snapshot.archive_bytes;
        if held.measured.is_none_or(|measured| now.since(measured) >= MEASURE_EVERY) {
            archive_bytes = measured(shared).await;
            held.measured = Some(now);
        }
        let stats = shared.frontier.stats(now).await?;
        let summary = shared.tally().summary.clone();
        let faults = shared.robots_faults(&stats.waiting);
        let waiting = stats.waiting.iter();
        let waiting = waiting.map(|one| (one.origin.to_string(), one.queued, describe(one, now, &faults))).collect();
        held.snapshot = Snapshot {
            in_flight: shared.gate.in_flight() as u64,
            parked: shared.gate.parked(MOST_PARKED).len() as u64,
            robots_requests: shared.keeper.robots_requests(),
            robots: shared.meters.robots_by_state().collect(),
            internal: shared.meters.internal.load(Ordering::Relaxed),
            archive_bytes,
            uptime: now.since(self.started),
            waiting,
            agent: shared.identity.user_agent(),
            summary,
            stats,
        };
        held.taken = Some(now);
        held.mark();
        Ok(())
    }
}

impl Held {
    fn mark(&mut self) {
        let Snapshot { summary, uptime, .. } = &self.snapshot;
        if self.marks.len() == MOST_MARKS {
            self.marks.pop_front();
        }
        self.marks.push_back(Mark {
            at: *uptime,
            pages: summary.pages(),
            refused: summary.refusals(),
            failed: summary.failed.values().sum(),
            bytes: summary.bytes,
        });
    }
}

/// Bytes of WARC files and records, open ones too.
async fn measured(shared: &Shared) -> u64 {
    let Some(dir) = shared.keeper.dir().map(Path::to_owned) else { return 0 };
    let sum = move || ["warc", "records"].iter().map(|folder| bytes_in(&dir.join(folder))).sum();
    tokio::task::spawn_blocking(sum).await.unwrap_or(0)
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.metadata().ok()).map(|one| one.len()).sum()
}

impl Snapshot {
    /// Pages by the first digit of their status.
    pub(super) fn by_class(&self) -> BTreeMap<u16, u64> {
        let mut classes: BTreeMap<u16, u64> = (1..=5).map(|class| (class, 0)).collect();
        for (status, n) in &self.summary.fetched {
            *classes.entry((status / 100).clamp(1, 5)).or_default() += n;
        }
        classes
    }

    /// Pages that were answered and of whose bodies nothing is kept, and the like.
    pub(super) fn reasons(counts: &BTreeMap<Reason, u64>) -> impl Iterator<Item = (&'static str, u64)> {
        counts.iter().map(|(reason, n)| (reason.code(), *n))
    }
}
