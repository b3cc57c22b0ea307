//! Whole crawls over the synthetic web in memory, on paused time.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::Arc;
use std::time::Duration;

use comity::policy::{SeededRandom, WallTime};
use comity::{Crawler, CrawlerBuilder, Summary};
use comity_fetch::SystemClock;
use comity_testweb::{MemoryNet, Observer, Web};

/// A crawler over a web in memory.
fn crawler(net: &MemoryNet, seeds: &[String]) -> CrawlerBuilder {
    let clock = SystemClock::paused_at(WallTime::from_unix_millis(1_796_000_000_000));
    let mut builder = Crawler::builder("TestBot/1.0", "https://example.com/bot")
        .net(Arc::new(net.clone()))
        .clock(Arc::new(clock))
        .random(Arc::new(SeededRandom::new(1)));
    for seed in seeds {
        builder = builder.seed(seed);
    }
    builder
}

async fn run(builder: CrawlerBuilder) -> Summary {
    builder.build().unwrap().run().await.unwrap()
}

fn memory(web: &Web) -> (MemoryNet, Observer) {
    web.in_memory()
}

#[tokio::test(start_paused = true)]
async fn a_plain_web_is_crawled_whole() {
    let (net, observer) = memory(&Web::plain(3, 20, 5));
    let summary =
        run(crawler(&net, &observer.seeds()).allow_addresses("10.0.0.0/8").delay(Duration::from_millis(200))).await;
    println!("{summary}");
    assert_eq!(summary.pages(), 60);
    assert_eq!(summary.left, 0);
}
