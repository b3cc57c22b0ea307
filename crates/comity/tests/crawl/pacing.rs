//! When: Crawl-delay, back-off, address limits, fairness, concurrency.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use comity::policy::{Clock, Instant, Reason, WallTime};
use comity_fetch::SystemClock;
use comity_testweb::{Answer, Auditor, Generated, Site, Web};

use crate::support::{arrivals, asked, assert_clean, crawler, run, web};

#[tokio::test(start_paused = true)]
async fn the_demo_web_is_crawled_whole_and_without_a_violation() {
    for seed in 1..4 {
        let demo = Web::demo(seed);
        let (net, observer) = demo.in_memory();
        let seeds = observer.seeds();
        let summary = run(crawler(&net, &seeds.iter().map(String::as_str).collect::<Vec<_>>())).await;
        let expected = observer.expected(&["TestBot"], &seeds);
        let audit = Auditor::new().floor(Duration::from_secs(1)).examine(&observer);
        assert!(audit.is_clean(), "seed {seed}: {audit}");
        let missing: Vec<_> = expected.allowed.iter().filter(|url| asked(&observer, url) == 0).collect();
        assert!(missing.is_empty(), "seed {seed}: never asked for {missing:?}");
        let refused = summary.refused.get(&Reason::RobotsDisallow).copied().unwrap_or(0);
        assert_eq!(refused, expected.refused.len() as u64, "seed {seed}");
        assert_eq!(summary.left, 0, "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_crawl_delay_is_kept_exactly_and_uses_nearly_every_slot() {
    let pages = Generated::new(40, 5).off_origin_percent(0);
    let site = Site::new().name("a.test").robots("User-agent: *\nCrawl-delay: 2\n").generated(pages);
    let (net, observer) = web([site.latency(Duration::from_millis(20))]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_clean(&observer);
    assert_eq!(summary.pages(), 40);
    let least = Duration::from_secs(80);
    assert!(summary.elapsed >= least && summary.elapsed < least * 102 / 100, "{:?}", summary.elapsed);
}

#[tokio::test(start_paused = true)]
async fn one_slow_site_holds_nobody_else() {
    let site = |name: String, delay: &str, pages: u32, links: u32| {
        let rules = format!("User-agent: *\nCrawl-delay: {delay}\n");
        Site::new().name(name).robots(rules).generated(Generated::new(pages, links).off_origin_percent(0))
    };
    // Every link of the slow site is queued from its first pages on.
    let slow = site("slow.test".to_owned(), "5", 1000, 400);
    let quick = (0..10).map(|n| site(format!("q{n}.test"), "0.2", 20, 40));
    let (net, observer) = web(std::iter::once(slow).chain(quick));
    let seeds = observer.seeds();
    let builder = crawler(&net, &seeds.iter().map(String::as_str).collect::<Vec<_>>())
        .delay(Duration::from_millis(100))
        .configure(|file| {
            file.politeness.total = Some(16);
            file.crawl.max_duration = Some(comity::config::Span(Duration::from_secs(30)));
        });
    let summary = run(builder).await;
    let audit = Auditor::new().examine(&observer);
    assert!(audit.is_clean(), "{audit}");
    let quick_ones: Vec<u64> =
        arrivals(&observer).into_iter().filter(|(url, _)| url.contains("/q")).map(|(_, at)| at).collect();
    assert_eq!(quick_ones.len(), 10 * 21, "20 pages and a robots.txt each");
    let last = quick_ones.iter().max().copied().unwrap_or(0);
    assert!(last < 4_200_000, "done in about four seconds, whatever the slow one does: {last}");
    let slow_ones = arrivals(&observer).iter().filter(|(url, _)| url.contains("slow")).count();
    assert_eq!(slow_ones, 6, "robots.txt, then a page every five seconds; at thirty the crawl ends");
    assert!(summary.left > 600, "hundreds of its URLs waited all the time: {}", summary.left);
}

#[tokio::test(start_paused = true)]
async fn a_429_pauses_its_origin_as_told_and_no_other() {
    let busy = Site::new()
        .name("busy.test")
        .page("/", Answer::page(["/a", "/b", "/c"]))
        .page_answers("/a", [Answer::retry_after(429, 7), Answer::text("a")])
        .page_answers("/b", [Answer::retry_text(503, "abc"), Answer::text("b")])
        .page("/c", Answer::text("c"));
    let other = Site::new().name("other.test").generated(Generated::new(6, 3).off_origin_percent(0));
    let (net, observer) = web([busy, other]);
    let summary = run(crawler(&net, &["http://busy.test/", "http://other.test/"])).await;
    assert_clean(&observer);
    assert_eq!((summary.pages(), summary.left), (10, 0), "{summary}");
    assert_eq!(summary.retries, 2);
    let last_other = arrivals(&observer).iter().filter(|(url, _)| url.contains("other")).map(|(_, at)| *at).max();
    assert!(last_other.unwrap() < 10_000_000, "the other origin went on");
}

#[tokio::test(start_paused = true)]
async fn sixty_hosts_on_one_address_share_its_gap_and_its_places() {
    let address: IpAddr = "203.0.114.9".parse().unwrap();
    let host = |n: usize| {
        Site::new().name(format!("v{n}.test")).address(address).generated(Generated::new(3, 2).off_origin_percent(0))
    };
    let (net, observer) = web((0..60).map(host));
    let seeds: Vec<String> = (0..60).map(|n| format!("http://v{n}.test/")).collect();
    let summary = run(crawler(&net, &seeds.iter().map(String::as_str).collect::<Vec<_>>())).await;
    let audit = Auditor::new()
        .floor(Duration::from_secs(1))
        .address_gap(Duration::from_millis(500))
        .per_address(2)
        .examine(&observer);
    assert!(audit.is_clean(), "{audit}");
    assert_eq!(summary.pages(), 180);
    let slots = Duration::from_millis(500) * 240;
    assert!(summary.elapsed < slots * 12 / 10, "{:?} for {slots:?} of slots", summary.elapsed);
}

#[tokio::test(start_paused = true)]
async fn bodies_overlap_up_to_per_origin_and_heads_never() {
    let slow_body = || Answer::text("x".repeat(40_000)).trickle(4_000, Duration::from_millis(500));
    let links: Vec<String> = (0..12).map(|n| format!("/b{n}")).collect();
    let site = links
        .iter()
        .fold(Site::new().name("a.test").page("/", Answer::page(links.iter().map(String::as_str))), |site, path| {
            site.page(path.clone(), slow_body())
        });
    let elapsed = |per_origin: u32| {
        let (net, observer) = web([site.clone()]);
        async move {
            let builder =
                crawler(&net, &["http://a.test/"]).configure(|file| file.politeness.per_origin = Some(per_origin));
            let summary = run(builder).await;
            assert_clean(&observer);
            assert_eq!(summary.pages(), 13);
            summary.elapsed
        }
    };
    let (alone, together) = (elapsed(1).await, elapsed(4).await);
    assert!(together * 2 < alone, "{together:?} against {alone:?}");
}

#[tokio::test(start_paused = true)]
async fn the_crawls_own_rate_holds_over_all_origins() {
    let site =
        |n: usize| Site::new().name(format!("r{n}.a.test")).generated(Generated::new(5, 3).off_origin_percent(0));
    let (net, observer) = web((0..8).map(site));
    let seeds: Vec<String> = (0..8).map(|n| format!("http://r{n}.a.test/")).collect();
    let builder = crawler(&net, &seeds.iter().map(String::as_str).collect::<Vec<_>>())
        .configure(|file| file.politeness.max_rate_domain = Some("2/s".into()));
    run(builder).await;
    let mut arrivals: Vec<u64> = arrivals(&observer).iter().map(|(_, at)| *at).collect();
    arrivals.sort_unstable();
    assert!(arrivals.windows(2).all(|pair| pair[1] - pair[0] >= 499_000), "{arrivals:?}");
    assert_eq!(arrivals.len(), 48);
}

/// A clock that counts how often it is read: every turn of the loop reads it.
#[derive(Debug)]
struct CountingClock {
    inner: SystemClock,
    reads: AtomicU64,
}

impl Clock for CountingClock {
    fn now(&self) -> Instant {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.inner.now()
    }

    fn wall(&self) -> WallTime {
        self.inner.wall()
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_wakes_nobody() {
    let mut reads = Vec::new();
    for delay in [2, 20, 200] {
        let rules = format!("User-agent: *\nCrawl-delay: {delay}\n");
        let (net, _observer) =
            web([Site::new().name("a.test").robots(rules).generated(Generated::new(5, 3).off_origin_percent(0))]);
        let clock = SystemClock::paused_at(WallTime::from_unix_millis(1_796_000_000_000));
        let clock = Arc::new(CountingClock { inner: clock, reads: AtomicU64::new(0) });
        let builder = crawler(&net, &["http://a.test/"]).clock(clock.clone());
        // An opt-out file is looked at by whoever judges, and wakes nobody either.
        let file = std::env::temp_dir().join("comity-no-such-optout.jsonl");
        let summary = run(builder.configure(|config| config.optout.files = Some(vec![file]))).await;
        assert_eq!(summary.pages(), 5);
        reads.push(clock.reads.load(Ordering::Relaxed));
    }
    // A connection that was kept too long is opened anew, which reads the clock a few times; looking round does not.
    assert!(reads.iter().all(|n| *n < reads[0] + 20), "a hundred times longer, and hardly a look more: {reads:?}");
}
