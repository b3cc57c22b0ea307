//! comity, without a directory: nothing is archived. `crawl-comity DIRECTORY SECONDS`.

use std::path::Path;
use std::time::Duration;

use comity::config::Span;

#[tokio::main]
pub async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [dir, seconds] = words.as_slice() else { panic!("directory and seconds: {words:?}") };
    let seeds = std::fs::read_to_string(Path::new(dir).join("seeds.txt")).unwrap();
    let origins = u32::try_from(seeds.lines().count()).unwrap();
    let mut builder =
        comity::Crawler::builder("BenchBot/1.0 (+https://example.com/bot)").allow_addresses("127.0.0.0/8");
    for seed in seeds.lines() {
        builder = builder.seed(seed);
    }
    // The floors bend on networks that are the operator's own; a Crawl-delay does not.
    let crawler = builder.delay(Duration::ZERO).configure(|file| {
        file.politeness.total = Some(origins);
        file.politeness.address_gap = Some(Span(Duration::ZERO));
        file.politeness.adaptive = Some(false);
        file.crawl.max_duration = Some(Span(Duration::from_secs(seconds.parse().unwrap())));
    });
    let summary = tokio::spawn(crawler.build().unwrap().run()).await.unwrap().unwrap();
    eprintln!("{summary}");
}
