//! The crate spider, a `Website` for each origin, all at once: `crawl-spider DIRECTORY SECONDS`.

use spider::website::Website;

#[tokio::main]
async fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let seeds = std::fs::read_to_string(std::path::Path::new(&dir).join("seeds.txt")).unwrap();
    let crawl = |seed: &str| {
        let mut site = Website::new(seed);
        site.with_respect_robots_txt(true).with_user_agent(Some("BenchBot/1.0 (+https://example.com/bot)"));
        site.with_budget(None).with_depth(0).with_no_control_thread(true);
        tokio::spawn(async move { site.crawl_raw().await })
    };
    let crawls: Vec<_> = seeds.lines().map(crawl).collect();
    for crawl in crawls {
        crawl.await.unwrap();
    }
}
