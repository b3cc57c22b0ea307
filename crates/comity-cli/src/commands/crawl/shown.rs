//! What is said of a crawl while it runs.

use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use comity::Progress;
use comity::config::ConfigFile;
use comity::policy::{Clock, Instant};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::watch;

use crate::commands::{asker, many};
use crate::log::{is_json, say};

/// How progress is shown, and against which budget.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// Nothing at all.
    pub(crate) quiet: bool,
    /// Where the crawl is written: how much of the disk it takes is told.
    pub(crate) dir: Option<PathBuf>,
    /// Pages of all runs together.
    pub(crate) max_pages: Option<u64>,
    /// Of this run.
    pub(crate) max_duration: Option<Duration>,
}

impl Shown {
    pub(crate) fn new(quiet: bool, dir: &Path, file: &ConfigFile) -> Self {
        let (max_pages, max_duration) = (file.crawl.max_pages, file.crawl.max_duration.map(|span| span.0));
        Self { quiet, dir: Some(dir.to_owned()), max_pages, max_duration }
    }
}

/// The rate is that of the last half minute (our choice: long enough for a Crawl-delay of ten seconds to be seen).
const WINDOW: Duration = Duration::from_secs(30);
/// How often a crawl directory is measured.
const MEASURE: Duration = Duration::from_secs(5);

/// A line that rewrites itself on a terminal, a plain line every ten seconds elsewhere, until the crawl is over.
pub(crate) async fn show(progress: watch::Receiver<Progress>, clock: Arc<dyn Clock>, shown: Shown) {
    if shown.quiet {
        return closed(progress).await;
    }
    let terminal = std::io::stderr().is_terminal() && !is_json();
    let bar = if terminal { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    // Off a terminal a line every ten looks.
    let (every, looks) = if terminal { (Duration::from_millis(200), 1) } else { (Duration::from_secs(1), 10) };
    let disk = Arc::new(AtomicU64::new(0));
    let measured = shown.dir.clone().map(|dir| tokio::spawn(measure(dir, Arc::clone(&disk))));
    let mut rate = Rate::default();
    let mut warned = false;
    for look in 1_u64.. {
        tokio::select! {
            biased;
            () = closed(progress.clone()) => break,
            () = tokio::time::sleep(every) => {}
        }
        let now = progress.borrow().clone();
        rate.add(now.at, now.pages);
        if let Some(warning) = warning(&now).filter(|_| !warned) {
            warned = true;
            bar.suspend(|| say(&warning));
        }
        if !look.is_multiple_of(looks) {
            continue;
        }
        let line = line(&now, clock.now(), rate.per_second(), disk.load(Ordering::Relaxed), &shown);
        if terminal {
            bar.set_message(line);
            bar.tick();
        } else {
            say(&line);
        }
    }
    if let Some(measured) = measured {
        measured.abort();
    }
    bar.finish_and_clear();
}

/// Returns when the crawl is over.
async fn closed(mut progress: watch::Receiver<Progress>) {
    while progress.changed().await.is_ok() {}
}

/// Pages per second over the last half minute.
#[derive(Debug, Default)]
struct Rate {
    seen: VecDeque<(Instant, u64)>,
}

impl Rate {
    fn add(&mut self, at: Instant, pages: u64) {
        self.seen.push_back((at, pages));
        while self.seen.len() > 2 && self.seen.get(1).is_some_and(|(first, _)| at.since(*first) >= WINDOW) {
            self.seen.pop_front();
        }
    }

    fn per_second(&self) -> Option<f64> {
        let ((first, before), (last, after)) = (self.seen.front()?, self.seen.back()?);
        let span = last.since(*first).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "pages of half a minute")]
        let pages = after.saturating_sub(*before) as f64;
        (span > 0.5).then(|| pages / span)
    }
}

/// Once, as soon as all that is left cannot be reached and no page came: most often a seed is mistyped, or its server is not up.
fn warning(progress: &Progress) -> Option<String> {
    let fault = progress.unreachable.first()?;
    let is_all = progress.pages == 0 && progress.in_flight == 0 && progress.unreachable.len() == progress.waiting.len();
    let remedy = asker::words::remedy(fault.cause).filter(|_| is_all)?;
    let origin = &fault.origin;
    Some(format!("warning: {origin}: robots.txt cannot be had ({fault}): {remedy}; the crawl goes on asking"))
}

fn line(progress: &Progress, now: Instant, rate: Option<f64>, disk: u64, shown: &Shown) -> String {
    let mut parts = vec![many(progress.pages, "page")];
    parts.extend(rate.map(|rate| format!("{rate:.1}/s")));
    parts.push(format!("{} queued", progress.queued));
    parts.push(format!("{} open", progress.in_flight));
    parts.push(format!("{} refused", progress.refused));
    if progress.failed > 0 {
        parts.push(format!("{} failed", progress.failed));
    }
    parts.push(format!("{} received", size(progress.bytes)));
    if disk > 0 {
        parts.push(format!("{} on disk", size(disk)));
    }
    if let Some((origins, why)) = progress.binds() {
        let many = if origins == 1 { "origin waits" } else { "origins wait" };
        parts.push(format!("{origins} {many}, most for: {why}"));
    }
    parts.extend(progress.waiting_for(now));
    parts.extend(eta(progress, rate, shown));
    parts.join(" · ")
}

/// When the first budget is spent, at the rate of now; nothing without a budget.
fn eta(progress: &Progress, rate: Option<f64>, shown: &Shown) -> Option<String> {
    let left = shown.max_pages.map(|most| most.saturating_sub(progress.spent_pages));
    // Where less is queued the budget may never be spent: then that is told, as far as is known by now.
    let queued = progress.queued + progress.in_flight as u64;
    let (left, of) = match left {
        Some(left) if queued < left => (Some(queued), "what is queued"),
        left => (left, "max_pages"),
    };
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let pages = left.and_then(|left| rate.filter(|rate| *rate > 0.0).map(|rate| left as f64 / rate));
    let time = shown.max_duration.map(|most| most.saturating_sub(progress.elapsed).as_secs_f64());
    let least = [pages, time].into_iter().flatten().min_by(f64::total_cmp)?;
    let of = if time.is_some_and(|time| time <= least) { "max_duration" } else { of };
    Some(format!("{of} in about {}", words(least)))
}

/// A span in one unit.
pub(super) fn words(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

/// Bytes in one unit.
fn size(bytes: u64) -> String {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let (unit, factor) = units.into_iter().find(|(_, factor)| bytes >= *factor).unwrap_or(("B", 1));
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let shown = bytes as f64 / factor as f64;
    if factor == 1 { format!("{bytes} B") } else { format!("{shown:.1} {unit}") }
}

/// Measures the crawl directory now and then: its files are few, whatever it holds.
async fn measure(dir: PathBuf, disk: Arc<AtomicU64>) {
    loop {
        let (dir, disk) = (dir.clone(), Arc::clone(&disk));
        drop(tokio::task::spawn_blocking(move || disk.store(bytes_of(&dir), Ordering::Relaxed)).await);
        tokio::time::sleep(MEASURE).await;
    }
}

/// What the files below a folder take on the disk, as far as they can be read.
fn bytes_of(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let of = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(about) if about.is_dir() => bytes_of(&entry.path()),
        Ok(about) => taken(&about),
        Err(_) => 0,
    };
    entries.flatten().map(of).sum()
}

/// Queues have files with holes, whose length says nothing.
#[cfg(unix)]
fn taken(about: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    // POSIX leaves the unit open; Linux, macOS and the BSDs count in 512 bytes.
    about.blocks() * 512
}

#[cfg(not(unix))]
fn taken(about: &std::fs::Metadata) -> u64 {
    about.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Instant {
        Instant::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn the_rate_is_that_of_the_last_half_minute() {
        let mut rate = Rate::default();
        assert_eq!(rate.per_second(), None);
        for (second, pages) in [(0, 0), (10, 100), (20, 200), (30, 300)] {
            rate.add(at(second), pages);
        }
        assert_eq!(rate.per_second(), Some(10.0));
        for second in 31..=70 {
            rate.add(at(second), 300);
        }
        assert_eq!(rate.per_second(), Some(0.0), "nothing came in the last half minute");
    }

    #[test]
    fn the_budget_that_ends_first_is_told_with_its_time() {
        let mut progress = Progress::default();
        (progress.spent_pages, progress.elapsed, progress.queued) = (400, Duration::from_secs(60), 5000);
        let shown = |pages, seconds: Option<u64>| Shown {
            max_pages: pages,
            max_duration: seconds.map(Duration::from_secs),
            ..Shown::default()
        };
        let rows = [
            (shown(None, None), Some(2.0), None),
            (shown(Some(1000), None), None, None),
            (shown(Some(1000), None), Some(0.0), None),
            (shown(Some(1000), None), Some(2.0), Some("max_pages in about 5 min")),
            (shown(Some(1000), Some(100)), Some(2.0), Some("max_duration in about 40 s")),
            (shown(Some(1000), Some(7_200)), Some(0.01), Some("max_duration in about 119 min")),
        ];
        for (shown, rate, says) in rows {
            assert_eq!(eta(&progress, rate, &shown).as_deref(), says, "{shown:?}");
        }
        progress.queued = 40;
        let few = eta(&progress, Some(2.0), &shown(Some(1000), None));
        assert_eq!(few.as_deref(), Some("what is queued in about 20 s"), "a budget that so few do not spend");
    }

    #[test]
    fn sizes_and_spans_are_told_in_one_unit() {
        let sizes = [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (2_000_000, "2.0 MB"), (3_200_000_000, "3.2 GB")];
        for (bytes, says) in sizes {
            assert_eq!(size(bytes), says);
        }
        for (seconds, says) in [(5.0, "5 s"), (600.0, "10 min"), (9_000.0, "2.5 h"), (259_200.0, "3.0 days")] {
            assert_eq!(words(seconds), says);
        }
    }
}
