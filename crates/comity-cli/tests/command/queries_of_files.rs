//! Queries that are not written: the files in which a site speaks keep theirs, and today's rules are not asked without one.

use std::path::Path;
use std::sync::Arc;

use comity::Crawler;
use comity::config::ByteSize;
use comity::policy::{SeededRandom, WallTime};
use comity_archive::read_records;
use comity_fetch::SystemClock;
use comity_testweb::{Answer, Site, Target, Web};
use tempfile::TempDir;

use super::audit;

async fn crawl(dir: &Path, form: &str) {
    let moved = |to: &str| Answer::redirect(302, Target::here(to));
    let site = Site::new()
        .name("a.test")
        .robots_answer(moved("/robots.txt?token=1"))
        .page("/robots.txt?token=1", Answer::text("User-agent: *\nAllow: /\n"))
        .page("/.well-known/tdmrep.json", moved("/.well-known/tdmrep.json?v=2"))
        .page("/.well-known/tdmrep.json?v=2", Answer::text(r#"[{"location":"/","tdm-reservation":0}]"#))
        .page("/", Answer::page(["/one?name=Ada"].map(Target::here)))
        .page("/one?name=Ada", Answer::text("one"));
    let epoch = WallTime::from_unix_millis(1_796_000_000_000);
    let (net, _observer) = Web::builder(1).epoch(epoch).site(site).build().unwrap().in_memory();
    let crawler = Crawler::builder("QueryBot/1.0 (+https://example.com/bot)")
        .net(Arc::new(net))
        .clock(Arc::new(SystemClock::paused_at(epoch)))
        .random(Arc::new(SeededRandom::new(1)))
        .allow_addresses("10.0.0.0/8")
        .dir(dir)
        .configure(|file| {
            file.crawl.seeds = Some(vec!["http://a.test/".to_owned()]);
            file.agent.purposes = Some(vec!["tdm".to_owned()]);
            file.archive.min_free = Some(ByteSize(0));
            file.archive.query = Some(form.to_owned());
        });
    assert_eq!(crawler.build().unwrap().run().await.unwrap().pages(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_robots_txt_behind_a_query_is_believed() {
    for form in ["keep", "drop", "hash"] {
        let (home, dir) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        crawl(dir.path(), form).await;
        let (code, found) = audit::audited(&home, dir.path(), &[]);
        assert_eq!(code, Some(0), "{form}: {found}");
        let records: Vec<_> =
            read_records(dir.path()).unwrap().filter_map(|line| line.unwrap().record().unwrap()).collect();
        assert!(records.iter().any(|record| record.url.ends_with("/robots.txt?token=1")), "{form}");
        let named = records.iter().filter(|record| record.url.contains("Ada")).count();
        assert_eq!(named > 0, form == "keep", "{form}");
    }
}
