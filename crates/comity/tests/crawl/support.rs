use std::sync::Arc;
use std::time::Duration;

use comity::policy::{SeededRandom, WallTime};
use comity::{Crawler, CrawlerBuilder, Summary};
use comity_fetch::SystemClock;
use comity_testweb::{Auditor, MemoryNet, Observer, Sighting, Site, Web};

/// When crawls and webs begin: 2026-11-30 00:53:20 UTC.
pub(crate) const START: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

/// A web of named sites in memory.
pub(crate) fn web(sites: impl IntoIterator<Item = Site>) -> (MemoryNet, Observer) {
    sites.into_iter().fold(Web::builder(1).epoch(START), |web, site| web.site(site)).build().unwrap().in_memory()
}

/// A crawler over a web in memory, whose addresses are its own.
pub(crate) fn crawler(net: &MemoryNet, seeds: &[&str]) -> CrawlerBuilder {
    let clock = SystemClock::paused_at(START);
    let builder = Crawler::builder("TestBot/1.0 (+https://example.com/bot)")
        .net(Arc::new(net.clone()))
        .clock(Arc::new(clock))
        .random(Arc::new(SeededRandom::new(1)))
        .allow_addresses("10.0.0.0/8");
    seeds.iter().fold(builder, |builder, seed| builder.seed(seed))
}

/// Runs it to its end, and prints what it says of itself: read it when a test fails.
pub(crate) async fn run(builder: CrawlerBuilder) -> Summary {
    let summary = builder.build().unwrap().run().await.unwrap();
    eprintln!("{summary}");
    summary
}

/// The audit with the default floor of one second; it has to be clean.
pub(crate) fn assert_clean(observer: &Observer) {
    let audit = Auditor::new().floor(Duration::from_secs(1)).examine(observer);
    assert!(audit.is_clean(), "{audit}\n{}", audit.to_json());
}

/// Every request that the web saw, as URL and microseconds since it was put up, in order of arrival.
pub(crate) fn arrivals(observer: &Observer) -> Vec<(String, u64)> {
    let url = |seen: &Sighting| {
        let target = String::from_utf8_lossy(seen.request.target()).into_owned();
        seen.site.and_then(|site| observer.url(site, &target)).unwrap_or(target)
    };
    observer.log().iter().map(|seen| (url(seen), seen.arrived_us)).collect()
}

/// Every URL that the web was asked for, in order of arrival.
pub(crate) fn requests(observer: &Observer) -> Vec<String> {
    arrivals(observer).into_iter().map(|(url, _)| url).collect()
}

/// How often a URL was asked for.
pub(crate) fn asked(observer: &Observer, url: &str) -> usize {
    requests(observer).iter().filter(|seen| *seen == url).count()
}
