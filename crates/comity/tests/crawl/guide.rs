//! Every call that the guide's table shows stands here, as it compiles and as it does what is said.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use comity::frontier::BoxFuture;
use comity::{BoxError, CrawlerBuilder, HandlerResult, Seed, Sink, UrlOutcome};
use comity_testweb::{Answer, Site};
use serde::Deserialize;

use super::support::{asked, assert_clean, crawler, web};

/// What `/item` holds.
#[derive(Deserialize)]
struct Item {
    id: u32,
    next: String,
}

async fn store(item: Item) -> Result<(), BoxError> {
    tokio::task::yield_now().await;
    if item.id == 7 { Ok(()) } else { Err("another item".into()) }
}

/// Counts what it is told.
#[derive(Default)]
struct MySink(AtomicUsize);

impl Sink for MySink {
    fn outcome<'a>(&'a self, outcome: UrlOutcome<'a>) -> BoxFuture<'a, HandlerResult> {
        assert!(outcome.attempt > 0);
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The calls of the table on a builder.
fn told(builder: CrawlerBuilder, my_sink: Arc<MySink>) -> CrawlerBuilder {
    builder
        .seed_with(Seed::new("http://example.org/list").priority(3))
        .route("/news/", |page, _ctx| async move { eprintln!("{}", page.url()) })
        .route_each("*.pdf$", |page| eprintln!("{}", page.url()))
        .filter(|found| !found.url.path().starts_with("/tag/"))
        .on_skip(|url, reason| eprintln!("{url}: {reason}"))
        .on_refused(|url, reason| eprintln!("{url}: {reason}"))
        .on_error(|url, reason| eprintln!("{url}: {reason}"))
        .on_done(|url, status| eprintln!("{url}: {status}"))
        .on_robots(|seen| eprintln!("{}: {:?}", seen.url, seen.status))
        .on_outcome(|outcome| eprintln!("{}: {}", outcome.url, outcome.ending))
        .on_event(|event| eprintln!("{event:?}"))
        .configure(|file| file.crawl.max_depth = Some(2))
        .sink(my_sink)
}

fn site() -> Site {
    let html = |text: &str| Answer::text("").content("text/html", text.to_owned());
    Site::new()
        .name("example.org")
        .robots("User-agent: *\nDisallow: /private/\n")
        .page("/", html("<a href=/tag/x>1</a><a href=/private/x>2</a><a href=/list>3</a><a href=/item>4</a>"))
        .page("/list", html("<title>List</title>"))
        .page("/item", Answer::text("").content("application/json", "{\"id\": 7, \"next\": \"/news/1\"}"))
        .page("/news/1", html("<title>News</title>"))
        .page("/tag/x", html("never"))
        .page("/private/x", html("never"))
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_the_guide_do_what_it_says() {
    let (net, observer) = web([site()]);
    let my_sink = Arc::new(MySink::default());
    let builder = told(crawler(&net, &["http://example.org/"]), my_sink.clone()).on_page(|page, ctx| async move {
        if page.url().path() != "/item" {
            return Ok(());
        }
        let item: Item = page.json()?;
        ctx.enqueue(&item.next)?.priority(0).user_data(&item.id)?;
        store(item).await?;
        Ok::<(), BoxError>(())
    });
    let crawler = builder.build().unwrap();
    let mut events = crawler.events();
    let heard = tokio::spawn(async move {
        let mut count = 0;
        while let Some(event) = events.next().await {
            count += usize::from(!format!("{event:?}").is_empty());
        }
        count
    });
    let pause = crawler.pause_handle();
    pause.pause();
    pause.resume();
    let progress = crawler.progress();
    let summary = crawler.run().await.unwrap();
    assert_eq!(summary.pages(), 4, "{summary}");
    assert!((3..=4).contains(&progress.borrow().pages), "a tenth of a second old at most: {:?}", progress.borrow());
    assert_eq!(my_sink.0.load(Ordering::Relaxed), 5, "four pages and a refusal");
    assert_eq!(asked(&observer, "http://example.org/tag/x"), 0);
    assert!(heard.await.unwrap() >= 5);
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn pages_in_a_loop_end_with_the_summary() {
    let (net, _) = web([site()]);
    let crawler = crawler(&net, &["http://example.org/"]).build().unwrap();
    let stop = crawler.stop_handle();
    let mut pages = crawler.pages();
    while let Some(page) = pages.next().await {
        if page.status() == 200 {
            page.context().enqueue("/news/1").unwrap().user_data(&7).unwrap();
            stop.drain();
        }
    }
    assert_eq!(pages.finish().await.unwrap().exit_code(), 4);
    stop.now();
}

/// Without its blanks: rustfmt breaks lines where it likes.
fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn every_call_of_the_guide_stands_in_this_file() {
    let guide = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide.md")).unwrap();
    let section = guide.split("## 7. From Rust").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let compiled = bare(include_str!("guide.rs"));
    let table = section.split("| you want | write |").nth(1).unwrap();
    let mut calls = Vec::new();
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        calls.extend(row.replace("\\|", "\u{1}").split('`').skip(1).step_by(2).map(|call| call.replace('\u{1}', "|")));
    }
    let block = section
        .lines()
        .skip_while(|line| !line.starts_with("    .on_page"))
        .take_while(|line| line.starts_with("    "));
    let lines: Vec<String> = block.map(bare).collect();
    assert!(lines.len() > 4, "{lines:?}");
    calls.extend(lines);
    let calls: Vec<String> = calls.into_iter().filter(|call| call.contains('(') && call.len() > 4).collect();
    assert!(calls.len() > 25, "{}: the table is not read any more", calls.len());
    let missing: Vec<&String> = calls.iter().filter(|call| !compiled.contains(&bare(call))).collect();
    assert!(missing.is_empty(), "these are shown and not compiled: {missing:#?}");
}
