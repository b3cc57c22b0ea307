//! The same crawl in real time over loopback: sockets, threads and a busy machine instead of a paused clock.
//!
//! A short form runs always, the whole with `COMITY_TEST_SIZE=all` (`cargo xtask test --all`).
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[cfg(target_os = "linux")]
mod memory;
mod telemetry;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use comity::Crawler;
use comity::config::Span;
use comity_testweb::{Answer, Audit, Auditor, Generated, Observer, Served, Site, Target, Web};
use tokio::sync::{Mutex, MutexGuard};

/// Tests of this process take turns: they measure it.
async fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

/// How large the test is.
#[derive(Clone, Copy, Debug)]
struct Size {
    origins: u32,
    on_one_address: u32,
    flapping: u32,
    runs: Duration,
}

const SHORT: Size = Size { origins: 40, on_one_address: 12, flapping: 4, runs: Duration::from_secs(8) };
const WHOLE: Size = Size { origins: 200, on_one_address: 60, flapping: 10, runs: Duration::from_secs(60) };

const FLOOR: Duration = Duration::from_millis(200);
const GAP: Duration = Duration::from_millis(100);
const SHARED: &str = "127.77.0.1";

impl Size {
    fn asked() -> Self {
        if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") { WHOLE } else { SHORT }
    }

    /// 0.2 s to 3 s, evenly.
    fn delay(self, n: u32) -> f64 {
        0.2 + 2.8 * f64::from(n) / f64::from(self.origins - 1)
    }

    fn is_flapping(self, n: u32) -> bool {
        n >= self.origins - self.flapping
    }

    fn web(self) -> Web {
        (0..self.origins).fold(Web::builder(7), |web, n| web.site(self.site(n))).build().unwrap()
    }

    fn site(self, n: u32) -> Site {
        let rules = format!("User-agent: *\nCrawl-delay: {:.3}\nDisallow: /no\n", self.delay(n));
        let latency = Duration::from_millis(u64::from(n % 7) * 4);
        if self.is_flapping(n) {
            return flapping(&rules).latency(latency);
        }
        let site = Site::new().robots(rules).latency(latency);
        let site = site.generated(Generated::new(500, 12).bytes(1500).off_origin_percent(2));
        if n < self.on_one_address { site.address(SHARED.parse().unwrap()) } else { site }
    }
}

/// robots.txt and every page are 503 at every other request.
fn flapping(rules: &str) -> Site {
    let busy = || Answer::retry_after(503, 1);
    let links = (0..60).map(|n| Target::here(format!("/f/{n}"))).chain([Target::here("/no")]);
    let site = Site::new().robots_cycle([busy(), Answer::text(rules)]).page_cycle("/", [busy(), Answer::page(links)]);
    (0..60).fold(site, |site, n| site.page_cycle(format!("/f/{n}"), [Answer::text("x"), busy()]))
}

async fn crawl(size: Size, served: &Served) {
    let resolve: BTreeMap<String, String> =
        served.names().iter().map(|(name, addresses)| (name.clone(), addresses[0].to_string())).collect();
    let seeds = served.seeds();
    let crawler =
        Crawler::builder("RealBot/1.0 (+https://example.com/bot)").allow_addresses("127.0.0.0/8").configure(|file| {
            file.crawl.seeds = Some(seeds);
            file.crawl.max_duration = Some(Span(size.runs));
            file.politeness.delay = Some(Span(FLOOR));
            file.politeness.total = Some(64);
            file.politeness.per_address = Some(2);
            file.politeness.address_gap = Some(Span(GAP));
            file.fetch.resolve = Some(resolve);
        });
    let summary = crawler.build().unwrap().run().await.unwrap();
    eprintln!("{summary}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn origins_of_all_delays_over_loopback_see_no_violation() {
    let _alone = alone().await;
    let size = Size::asked();
    let served = size.web().serve_loopback().await.unwrap();
    crawl(size, &served).await;
    let observer = served.shutdown().await;
    // The gap of the address is kept from write to write: a busy machine blurs it on its way, so it is counted below.
    let audit = Auditor::new().floor(FLOOR).per_address(2).examine(&observer);
    eprintln!("{audit}");
    assert!(audit.is_clean(), "{audit}");
    assert_once_a_life(size, &observer);
    assert_shared_address(size, &observer);
    assert_used(size, &audit);
}

/// robots.txt is asked for once per origin and life: a good answer ends the asking, a 503 does not.
fn assert_once_a_life(size: Size, observer: &Observer) {
    let mut good: BTreeMap<usize, u32> = BTreeMap::new();
    let mut asked: BTreeMap<usize, u32> = BTreeMap::new();
    for seen in observer.log().iter().filter(|seen| seen.request.is_robots_txt()) {
        let site = seen.site.unwrap();
        *asked.entry(site).or_default() += 1;
        *good.entry(site).or_default() += u32::from(seen.status == Some(200));
    }
    assert_eq!(good.len() as u32, size.origins, "every origin was asked");
    assert!(good.values().all(|times| *times <= 1), "{good:?}");
    let flapping = |site: &usize| size.is_flapping(u32::try_from(*site).unwrap());
    assert!(asked.iter().all(|(site, times)| *times == if flapping(site) { 2 } else { 1 }), "{asked:?}");
}

/// All origins on one address together get one request per gap.
fn assert_shared_address(size: Size, observer: &Observer) {
    let shared: IpAddr = SHARED.parse().unwrap();
    let log = observer.log();
    let arrivals: Vec<u64> = log.iter().filter(|seen| seen.local.ip() == shared).map(|seen| seen.arrived_us).collect();
    if arrivals.is_empty() {
        // Where only 127.0.0.1 exists, all origins stand there.
        return;
    }
    let sites: std::collections::BTreeSet<_> =
        log.iter().filter(|seen| seen.local.ip() == shared).filter_map(|seen| seen.site).collect();
    assert_eq!(sites.len() as u32, size.on_one_address);
    let span = arrivals.last().unwrap() - arrivals.first().unwrap();
    let most = u128::from(span) / GAP.as_micros() + 2;
    eprintln!("the shared address saw {} requests of {most} that its gap allows", arrivals.len());
    assert!(arrivals.len() as u128 <= most, "{} of {most}", arrivals.len());
}

/// How much of the slots was used, where a slot is the largest of the delay, the floor and the address gap times the
/// origins on the address (design: slots). A busy machine uses less; only that the crawl moves is asserted.
fn assert_used(size: Size, audit: &Audit) {
    let mut used = [(0, 0.0); 2];
    for (n, row) in (0..).zip(&audit.origins) {
        let shared = n < size.on_one_address;
        let gap = if shared { GAP * size.on_one_address } else { GAP };
        let slot = size.delay(n).max(gap.as_secs_f64());
        if !size.is_flapping(n) {
            let (pages, slots) = &mut used[usize::from(shared)];
            *pages += row.slots_used;
            *slots += size.runs.as_secs_f64() / slot;
        }
    }
    for ((pages, slots), what) in used.into_iter().zip(["on addresses of their own", "on one address"]) {
        eprintln!("{what}: {pages} of {slots:.0} slots used in {:?}", size.runs);
        assert!(pages > 0);
    }
}
