//! A web of many origins, in real time over loopback: every page that is there is fetched once, and no guard takes one away.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use comity::config::Span;
use comity::{Crawler, UrlEnding};
use comity_testweb::{Auditor, Web};

/// 64 origins of 400 pages with `COMITY_TEST_SIZE=all`, 16 of 60 otherwise; 50 links a page.
fn size() -> (usize, u32) {
    if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") { (64, 400) } else { (16, 60) }
}

const FLOOR: Duration = Duration::from_millis(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_web_of_many_origins_loses_no_page() {
    let (origins, pages) = size();
    let served = Web::plain(origins, pages, 50).serve_loopback().await.unwrap();
    let (names, seeds) = (served.names(), served.seeds());
    let resolve: BTreeMap<String, String> =
        names.iter().map(|(name, addresses)| (name.clone(), addresses[0].to_string())).collect();
    let fetched = Arc::new(Mutex::new(Vec::new()));
    let told = fetched.clone();
    let crawler = Crawler::builder("WholeBot/1.0 (+https://example.com/bot)")
        .allow_addresses("127.0.0.0/8")
        .configure(|file| {
            file.crawl.seeds = Some(seeds.clone());
            file.politeness.delay = Some(Span(FLOOR));
            file.politeness.adaptive = Some(false);
            file.politeness.total = Some(64);
            file.fetch.resolve = Some(resolve);
        })
        .on_outcome(move |outcome| {
            if outcome.ending == UrlEnding::Fetched(200) {
                told.lock().unwrap().push(outcome.url.to_string());
            }
        });
    let cpu = cpu_ticks();
    let summary = crawler.build().unwrap().run().await.unwrap();
    let (elapsed, ticks) = (summary.elapsed, cpu_ticks().saturating_sub(cpu));
    let observer = served.shutdown().await;
    let wanted = observer.expected(&["WholeBot"], &seeds).allowed;
    let fetched = std::mem::take(&mut *fetched.lock().unwrap());
    let distinct: BTreeSet<String> = fetched.iter().cloned().collect();
    // Ticks are of 10 ms on Linux, and of the web that is served too.
    eprintln!("{} pages in {elapsed:.1?}, {:.1} s of CPU, web and crawl together", fetched.len(), ticks as f64 / 100.0);
    eprintln!("{summary}");
    assert_eq!((fetched.len(), summary.left, summary.refusals()), (distinct.len(), 0, 0));
    assert_eq!(distinct, wanted, "every page once");
    assert_eq!(distinct.len(), origins * pages as usize, "the web is connected");
    let audit = Auditor::new().floor(FLOOR).examine(&observer);
    assert!(audit.is_clean(), "{audit}");
}

/// CPU time of this process in clock ticks; 0 where `/proc` does not say.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    // User and system time are the fields 14 and 15; the name is the second.
    behind_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}
