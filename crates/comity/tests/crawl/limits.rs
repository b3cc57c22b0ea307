//! A frontier of somebody else's that cannot take new limits: nothing of the configuration comes into force.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use comity::CrawlerBuilder;
use comity::config::ConfigFile;
use comity::control::Reload;
use comity_frontier::{
    BoxFuture, Frontier, FrontierError, LeaseId, Leased, Local, MemoryStore, Offer, Offered, OriginFilter,
    OriginStanding, Page, QueueLimits, QueuePlace, QueuedAt, Renewal, Renewed, Scheduled, SchedulerConfig, Settled,
    Settlement, Stats, TurnNews, VisitPlace,
};
use comity_policy::{Instant, Judge, Ready, Reason};
use comity_testweb::{Answer, Observer, Site, Target};
use comity_url::{Origin, UrlKey};
use tempfile::TempDir;

use crate::control::{Steered, fetched};
use crate::support::{assert_clean, crawler, web};

type Said<'a, T> = BoxFuture<'a, Result<T, FrontierError>>;

/// A queue in memory that is told to fail.
#[derive(Debug)]
struct Failing {
    queue: Local<MemoryStore>,
    fails: AtomicBool,
    /// Where the crawl writes its configuration.
    dir: std::path::PathBuf,
    /// Of each change: pages per origin, and whether the configuration there says 9 of them.
    set: std::sync::Mutex<Vec<(u64, bool)>>,
}

impl Frontier for Failing {
    fn set_limits<'a>(&'a self, limits: QueueLimits) -> Said<'a, bool> {
        if self.fails.load(Ordering::Relaxed) {
            return Box::pin(std::future::ready(Err(FrontierError::Poisoned)));
        }
        let text = std::fs::read_to_string(self.dir.join("crawl.toml")).unwrap();
        self.set.lock().unwrap().push((limits.pages_per_origin, text.contains("max_pages_per_origin = 9\n")));
        self.queue.set_limits(limits)
    }

    fn offer<'a>(&'a self, batch: Vec<Offer>) -> Said<'a, Vec<Offered>> {
        self.queue.offer(batch)
    }

    fn lease<'a>(&'a self, n: usize, judge: &'a dyn Judge, now: Instant) -> Said<'a, Leased> {
        self.queue.lease(n, judge, now)
    }

    fn settle<'a>(&'a self, batch: Vec<Settlement>, now: Instant) -> Said<'a, Vec<Settled>> {
        self.queue.settle(batch, now)
    }

    fn renew<'a>(&'a self, lease: LeaseId, change: Renewal, now: Instant) -> Said<'a, Renewed> {
        self.queue.renew(lease, change, now)
    }

    fn turn<'a>(&'a self, origin: Origin, news: TurnNews, now: Instant) -> Said<'a, ()> {
        self.queue.turn(origin, news, now)
    }

    fn park<'a>(&'a self, origin: Origin, reason: Reason, until: Option<Instant>, now: Instant) -> Said<'a, ()> {
        self.queue.park(origin, reason, until, now)
    }

    fn release<'a>(&'a self, origin: Origin, now: Instant) -> Said<'a, ()> {
        self.queue.release(origin, now)
    }

    fn stats<'a>(&'a self, now: Instant) -> Said<'a, Stats> {
        self.queue.stats(now)
    }

    fn origins<'a>(
        &'a self,
        filter: OriginFilter,
        after: Option<Origin>,
        n: usize,
        now: Instant,
    ) -> Said<'a, Page<OriginStanding, Origin>> {
        self.queue.origins(filter, after, n, now)
    }

    fn urls<'a>(
        &'a self,
        of: Option<Origin>,
        after: Option<QueuePlace>,
        n: usize,
    ) -> Said<'a, Page<QueuedAt, QueuePlace>> {
        self.queue.urls(of, after, n)
    }

    fn seen<'a>(&'a self, after: Option<u64>, until: Option<u64>) -> Said<'a, Page<UrlKey, u64>> {
        self.queue.seen(after, until)
    }

    fn visits<'a>(&'a self, after: Option<VisitPlace>, n: usize) -> Said<'a, Page<Scheduled, VisitPlace>> {
        self.queue.visits(after, n)
    }

    fn schedule<'a>(&'a self, batch: Vec<Scheduled>) -> Said<'a, Vec<Offered>> {
        self.queue.schedule(batch)
    }

    fn last_taken<'a>(&'a self) -> Said<'a, u64> {
        self.queue.last_taken()
    }

    fn mark_seen<'a>(&'a self, keys: Vec<UrlKey>) -> Said<'a, u64> {
        self.queue.mark_seen(keys)
    }

    fn sync<'a>(&'a self) -> Said<'a, ()> {
        self.queue.sync()
    }
}

/// A crawl in `dir` of one site, whose first page leads to so many others; its queue may fail to take limits.
fn one_site(pages: u32, dir: &Path) -> (Arc<Failing>, CrawlerBuilder, Observer) {
    let links = (0..pages).map(|n| format!("/{n}"));
    let first = Site::new().name("a.test").page("/", Answer::page(links.map(Target::here)));
    let (net, observer) = web([first.otherwise(|_| Answer::text("x"))]);
    let ready = Ready { at: Instant::START, clock: Reason::Ok };
    let queue = Local::open(MemoryStore::new(), SchedulerConfig::default(), ready).unwrap();
    let failing =
        Arc::new(Failing { queue, fails: AtomicBool::new(false), dir: dir.to_owned(), set: Default::default() });
    let builder = crawler(&net, &["http://a.test/"]).frontier(failing.clone(), [7; 16]).dir(dir);
    (failing, builder, observer)
}

/// Whichever of the two fails: records name the configuration that they were decided under, and that is the one in force.
#[tokio::test(start_paused = true)]
async fn limits_are_in_force_exactly_where_they_are_recorded() {
    for cannot_be_written in [false, true] {
        let dir = TempDir::new().unwrap();
        let d = dir.path().join("d");
        let (failing, builder, observer) = one_site(20, &d);
        let mut crawl = Steered::start(builder);
        fetched(&mut crawl.progress, 5).await;
        let before = std::fs::read_to_string(d.join("crawl.toml")).unwrap();
        if cannot_be_written {
            std::fs::create_dir(d.join("crawl.toml.new")).unwrap();
        } else {
            failing.fails.store(true, Ordering::Relaxed);
        }
        let mut file = ConfigFile::read(&d.join("crawl.toml")).unwrap();
        file.crawl.max_pages_per_origin = Some(5);
        crawl.control.reload(file, Reload::Apply).await.unwrap_err();
        assert_eq!(crawl.end().await.pages(), 21, "the old limits hold");
        assert_eq!(std::fs::read_to_string(d.join("crawl.toml")).unwrap(), before);
        let records = comity_archive::read_records(&d).unwrap().map(|line| line.unwrap().record().unwrap().unwrap());
        let digests: std::collections::BTreeSet<_> = records.map(|record| record.agent.config_digest).collect();
        assert_eq!(digests.len(), 1, "not written: {cannot_be_written}: {digests:?}");
        assert_clean(&observer);
    }
}

/// At no instant more is let in than the configuration on record says.
#[tokio::test(start_paused = true)]
async fn what_is_narrower_holds_before_it_is_recorded_and_what_is_wider_after() {
    for (old, expected) in [(20, [(9, false), (9, true)]), (5, [(5, false), (9, true)])] {
        let dir = TempDir::new().unwrap();
        let d = dir.path().join("d");
        let (failing, builder, observer) = one_site(30, &d);
        let builder = builder.configure(|file| file.crawl.max_pages_per_origin = Some(old));
        let mut crawl = Steered::start(builder);
        fetched(&mut crawl.progress, 2).await;
        let mut file = ConfigFile::read(&d.join("crawl.toml")).unwrap();
        file.crawl.max_pages_per_origin = Some(9);
        crawl.control.reload(file, Reload::Apply).await.unwrap();
        let set = failing.set.lock().unwrap().clone();
        assert_eq!(set[set.len() - 2..], expected, "{old}: {set:?}");
        crawl.end().await;
        assert_clean(&observer);
    }
}
