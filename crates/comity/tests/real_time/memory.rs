//! What pages cost while they are under way: 32 of 8 MiB at once, on real sockets. Linux, where the peak can be read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use comity::config::{ByteSize, Span};
use comity::{Crawler, CrawlerBuilder};
use comity_testweb::{Answer, Served, Site, Web};

use crate::alone;

const PAGES: u32 = 32;
const BYTES: u64 = 8 << 20;

/// What all pages may cost together, in MiB above the baseline: a page has 1 MiB of its body in memory, and as much on its
/// way to the file. Held whole, they would cost 256.
const FLAT: u64 = 80;

/// A line of /proc/self/status, in MiB.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// Each page comes over a second or so, so that all are under way together.
async fn serve() -> Served {
    let page = || Answer::page(["/"]).bytes(BYTES).trickle(32 << 10, Duration::from_millis(4));
    let site = |_| Site::new().robots("").page("/", page());
    (0..PAGES).fold(Web::builder(3), |web, n| web.site(site(n))).build().unwrap().serve_loopback().await.unwrap()
}

fn crawler(served: &Served) -> CrawlerBuilder {
    let resolve: BTreeMap<String, String> =
        served.names().iter().map(|(name, addresses)| (name.clone(), addresses[0].to_string())).collect();
    let seeds = served.seeds();
    Crawler::builder("WideBot/1.0 (+https://example.com/bot)").allow_addresses("127.0.0.0/8").configure(|file| {
        file.crawl.seeds = Some(seeds);
        file.politeness.delay = Some(Span(Duration::from_millis(200)));
        file.politeness.total = Some(PAGES);
        file.fetch.resolve = Some(resolve);
        file.archive.min_free = Some(ByteSize(0));
    })
}

/// Crawls all pages at once; how many MiB the peak was above what was there before.
async fn risen(shape: impl FnOnce(CrawlerBuilder) -> CrawlerBuilder) -> u64 {
    let _alone = alone().await;
    let served = serve().await;
    let crawler = shape(crawler(&served)).build().unwrap();
    let baseline = status("VmRSS:");
    // From here on the peak counts anew (proc(5), clear_refs).
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let summary = crawler.run().await.unwrap();
    let risen = status("VmHWM:").saturating_sub(baseline);
    eprintln!("{PAGES} pages of {} MiB at once: {risen} MiB above {baseline} MiB", BYTES >> 20);
    assert_eq!((summary.fetched.get(&200), summary.bytes), (Some(&u64::from(PAGES)), u64::from(PAGES) * BYTES));
    risen
}

/// A handler that reads every body, and how many bytes it has read.
fn reading(builder: CrawlerBuilder) -> (CrawlerBuilder, Arc<AtomicU64>) {
    let read = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&read);
    let builder = builder.each_page(move |page| {
        count.fetch_add(page.body().len() as u64, Ordering::Relaxed);
    });
    (builder, read)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_pages_into_the_archive_and_read_stay_flat() {
    let dir = tempfile::tempdir().unwrap();
    let (mut read, crawl) = (Arc::default(), dir.path().join("crawl"));
    let risen = risen(|builder| {
        let (builder, count) = reading(builder);
        read = count;
        builder.dir(crawl)
    })
    .await;
    assert_eq!(read.load(Ordering::Relaxed), u64::from(PAGES) * BYTES);
    assert!(risen <= FLAT, "{risen} MiB");
}

/// The parts of it, with `COMITY_TEST_SIZE=all`: the test above is their sum.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_pages_stay_flat_in_every_kind_of_crawl() {
    if !std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let bare = risen(|builder| builder).await;
    let archived = risen(|builder| builder.dir(dir.path().join("crawl"))).await;
    let read = risen(|builder| reading(builder).0).await;
    assert!(bare.max(archived).max(read) <= FLAT, "{bare}, {archived}, {read} MiB");
}
