//! Routes, hooks, events, the stream of pages, pauses, sinks: what else a crawl's author can hold on to.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use comity::frontier::{Frontier, Local, SchedulerConfig};
use comity::policy::{Clock, Reason};
use comity::{End, Event, Page, UrlEnding};
use comity_testweb::{Answer, Site};

use super::support::{arrivals, asked, assert_clean, crawler, requests, run, web};

pub(crate) fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub(crate) fn list(pages: usize) -> Site {
    let links: Vec<String> = (0..pages).map(|n| format!("/{n}")).collect();
    let front = Site::new().name("a.test").page("/", Answer::page(links.iter().map(String::as_str)));
    links.iter().fold(front, |site, path| site.page(path.as_str(), Answer::text("a page")))
}

#[tokio::test(start_paused = true)]
async fn the_first_route_that_matches_has_the_page_and_the_others_go_on() {
    let (net, _) = web([
        Site::new()
            .name("a.test")
            .page("/", Answer::page(["/docs/x.html", "/docs/x.pdf", "http://b.test/docs/"]))
            .page("/docs/x.html", Answer::text("x"))
            .page("/docs/x.pdf", Answer::text("x")),
        Site::new().name("b.test").page("/docs/", Answer::text("x")),
    ]);
    let told: Arc<Mutex<BTreeMap<String, &str>>> = Arc::default();
    let note = |by: &'static str| {
        let told = told.clone();
        move |page: &Page| {
            told.lock().unwrap().insert(page.url().to_string(), by);
        }
    };
    let (pdf, host) = (note("pdf"), note("host"));
    let builder = crawler(&net, &["http://a.test/", "http://b.test/docs/"])
        .route("*.pdf$", move |page, _| {
            pdf(&page);
            async {}
        })
        .route_each("http://b.test/", host)
        .route_each("/docs/", note("docs"))
        .each_page(note("default"));
    run(builder).await;
    let expected = [
        ("http://a.test/", "default"),
        ("http://a.test/docs/x.html", "docs"),
        ("http://a.test/docs/x.pdf", "pdf"),
        ("http://b.test/docs/", "host"),
    ];
    assert_eq!(*told.lock().unwrap(), expected.map(|(url, by)| (url.to_owned(), by)).into());
    let wrong = crawler(&net, &["http://a.test/"]).route_each("docs", |_| {}).build().unwrap_err();
    assert!(wrong.is_config() && wrong.to_string().starts_with("route: "), "{wrong}");
}

#[tokio::test(start_paused = true)]
async fn hooks_hear_of_all_that_was_left_out_refused_failed_and_done() {
    let (net, observer) = web([Site::new()
        .name("a.test")
        .robots("User-agent: *\nDisallow: /no\n")
        .page("/", Answer::page(["/no", "/gone", "/moved", "/secret", "http://elsewhere.test/", "/fails"]))
        .page("/gone", Answer::status(404))
        .page("/moved", Answer::redirect(302, "/secret/too"))
        .page("/fails", Answer::reset())]);
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let note = |kind: &'static str| {
        let heard = heard.clone();
        move |what: String| heard.lock().unwrap().push(format!("{kind} {what}"))
    };
    let (skip, robots, refused) = (note("skip"), note("robots"), note("refused"));
    let (failed, done) = (note("error"), note("done"));
    let builder = crawler(&net, &["http://a.test/"])
        .filter(|proposed| !proposed.url.path().starts_with("/secret") && proposed.via.path() != "/none")
        .on_skip(move |url, reason| skip(format!("{} {reason}", url.path())))
        .on_robots(move |seen| robots(format!("{} {:?} {}", seen.origin, seen.status, seen.digest.is_some())))
        .on_refused(move |url, reason| refused(format!("{} {reason}", url.path())))
        .on_error(move |url, reason| failed(format!("{} {reason}", url.path())))
        .on_done(move |url, status| done(format!("{} {status}", url.path())))
        .on_event(|event| {
            assert!(!matches!(event, Event::Ended { attempt: 1, .. }), "a hook that panics changes nothing")
        });
    let summary = run(builder).await;
    let mut heard = heard.lock().unwrap().clone();
    heard.sort();
    let expected = [
        "done / 200",
        "done /gone 404",
        "done /moved 302",
        "error /fails fetch.reset",
        "refused /no robots.disallow",
        "robots http://a.test Some(200) true",
        "skip / url.scope",
        "skip /secret url.filter",
        "skip /secret/too url.filter",
    ];
    assert_eq!(heard, expected);
    assert_eq!(summary.links_left[&Reason::UrlFilter], 2);
    assert_eq!(asked(&observer, "http://a.test/secret"), 0);
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn every_filter_takes_away() {
    let (net, observer) = web([list(4)]);
    let but = |path: &'static str| move |proposed: comity::Proposed<'_>| proposed.url.path() != path;
    let summary = run(crawler(&net, &["http://a.test/"]).filter(but("/0")).filter(but("/1")).filter(but("/2"))).await;
    assert_eq!((summary.pages(), summary.links_left[&Reason::UrlFilter]), (2, 3));
    assert_eq!(requests(&observer), ["/robots.txt", "/", "/3"].map(|path| format!("http://a.test{path}")));
}

#[tokio::test(start_paused = true)]
async fn events_come_in_order_and_a_slow_reader_is_told_what_it_missed() {
    let (net, _) = web([list(3)]);
    let crawl = crawler(&net, &["http://a.test/"]).build().unwrap();
    let mut events = crawl.events();
    let running = tokio::spawn(crawl.run());
    let mut ended = Vec::new();
    while let Some(event) = events.next().await {
        if let Event::Ended { url, ending: UrlEnding::Fetched(200), .. } = event {
            ended.push(url.path().to_owned());
        }
    }
    assert_eq!((ended, events.missed()), (["/", "/0", "/1", "/2"].map(str::to_owned).to_vec(), 0));
    running.await.unwrap().unwrap();

    // 6,000 links that are left out, and nobody who reads.
    let links: Vec<String> = (0..6000).map(|n| format!("http://elsewhere.test/{n}")).collect();
    let (net, _) = web([Site::new().name("a.test").page("/", Answer::page(links.iter().map(String::as_str)))]);
    let crawl = crawler(&net, &["http://a.test/"]).build().unwrap();
    let mut events = crawl.events();
    crawl.run().await.unwrap();
    let mut read = 0;
    while events.next().await.is_some() {
        read += 1;
    }
    assert_eq!(read, comity::Events::HELD, "the newest are held");
    // Beside the links: robots.txt, and the page.
    assert_eq!(events.missed() + read as u64, 6002);
}

#[tokio::test(start_paused = true)]
async fn held_it_sends_nothing_and_goes_on_no_sooner_than_it_might_have() {
    let (net, observer) = web([list(6)]);
    let crawl = crawler(&net, &["http://a.test/"]).build().unwrap();
    let (pause, mut events) = (crawl.pause_handle(), crawl.events());
    let running = tokio::spawn(crawl.run());
    tokio::time::sleep(Duration::from_millis(2500)).await;
    pause.pause();
    let before = requests(&observer).len();
    // Longer than a crawl lingers where nothing is due.
    tokio::time::sleep(secs(3600)).await;
    assert!(pause.is_paused() && !running.is_finished());
    assert_eq!(requests(&observer).len(), before);
    pause.resume();
    let summary = running.await.unwrap().unwrap();
    assert_eq!((summary.pages(), summary.end), (7, End::Finished));
    assert!(arrivals(&observer).last().unwrap().1 > 3_600_000_000);
    let mut heard = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Event::Paused => heard.push("paused"),
            Event::Resumed => heard.push("resumed"),
            _ => {}
        }
    }
    assert_eq!(heard, ["paused", "resumed"]);
    assert_clean(&observer);
    // Held, it can still be ended.
    let (net, _) = web([list(6)]);
    let crawl = crawler(&net, &["http://a.test/"]).build().unwrap();
    let (pause, stop) = (crawl.pause_handle(), crawl.stop_handle());
    pause.pause();
    let running = tokio::spawn(crawl.run());
    tokio::time::sleep(secs(60)).await;
    stop.drain();
    let summary = running.await.unwrap().unwrap();
    assert_eq!((summary.pages(), summary.left, summary.end), (0, 1, End::Stopped));
}

/// A clock at one of whose readings a held crawl is let go: whatever it was about to do there.
#[derive(Debug)]
struct LetsGo {
    clock: comity_fetch::SystemClock,
    pause: std::sync::OnceLock<comity::PauseHandle>,
    readings: AtomicUsize,
}

impl Clock for LetsGo {
    fn now(&self) -> comity::policy::Instant {
        if let Some(pause) = self.pause.get().filter(|pause| pause.is_paused())
            && self.readings.fetch_sub(1, Ordering::Relaxed) == 1
        {
            pause.resume();
        }
        self.clock.now()
    }

    fn wall(&self) -> comity::policy::WallTime {
        self.clock.wall()
    }
}

#[tokio::test(start_paused = true)]
async fn a_crawl_that_is_let_go_at_any_moment_goes_on_to_its_end() {
    let mut in_time = 0;
    for n in 1..=8 {
        let (net, observer) = web([list(2)]);
        let clock = comity_fetch::SystemClock::paused_at(super::support::START);
        let clock = Arc::new(LetsGo { clock, pause: std::sync::OnceLock::new(), readings: AtomicUsize::new(n) });
        let crawl = crawler(&net, &["http://a.test/"]).clock(clock.clone()).build().unwrap();
        let (pause, mut events) = (crawl.pause_handle(), crawl.events());
        pause.pause();
        clock.pause.set(pause.clone()).unwrap();
        // Where it is read less often, while it is held.
        let late = tokio::spawn(async move {
            tokio::time::sleep(secs(3600)).await;
            pause.resume();
        });
        let summary = crawl.run().await.unwrap();
        assert_eq!((summary.end, summary.pages(), summary.left), (End::Finished, 3, 0), "reading {n}");
        in_time += u32::from(summary.elapsed < secs(3600));
        late.abort();
        let mut is_held = false;
        while let Some(event) = events.next().await {
            if let Event::Paused | Event::Resumed = event {
                let now_held = matches!(event, Event::Paused);
                assert_ne!(now_held, is_held, "reading {n}: told in turn");
                is_held = now_held;
            }
        }
        assert_clean(&observer);
    }
    assert!(in_time > 0, "no reading was ever between two looks");
}

#[tokio::test(start_paused = true)]
async fn a_stream_settles_what_it_gives_and_the_crawl_waits_for_its_reader() {
    let (net, observer) = web([list(4).page("/by", Answer::text("enqueued"))]);
    let outcomes: Arc<Mutex<BTreeMap<String, UrlEnding>>> = Arc::default();
    let told = outcomes.clone();
    let builder = crawler(&net, &["http://a.test/"]).handler_time(secs(5)).on_outcome(move |outcome| {
        told.lock().unwrap().insert(outcome.url.path().to_owned(), outcome.ending);
    });
    let mut pages = builder.build().unwrap().pages();
    let first = pages.next().await.unwrap();
    assert_eq!((first.status(), first.links().len()), (200, 4));
    first.context().enqueue("/by").unwrap().priority(0);
    // Much longer than a handler may take: whoever reads has the time that it wants.
    tokio::time::sleep(secs(600)).await;
    assert_eq!(requests(&observer).len(), 2, "robots.txt and the page: nothing is fetched ahead of its settlement");
    first.done();
    let second = pages.next().await.unwrap();
    assert_eq!(second.url().path(), "/by");
    second.fail("not to my liking");
    let mut paths = Vec::new();
    while let Some(page) = pages.next().await {
        paths.push(page.url().path().to_owned());
    }
    assert_eq!(paths, ["/0", "/1", "/2", "/3"]);
    let summary = pages.finish().await.unwrap();
    assert_eq!((summary.end, summary.pages(), summary.left), (End::Finished, 5, 0));
    assert_eq!(outcomes.lock().unwrap()["/by"], UrlEnding::Failed(Reason::CrawlHandler));
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_left_early_leaves_the_rest_in_the_queue() {
    let (net, observer) = web([list(4)]);
    let mut pages = crawler(&net, &["http://a.test/"]).build().unwrap().pages();
    drop(pages.next().await);
    let held = pages.next().await.unwrap();
    let summary = pages.finish().await.unwrap();
    assert_eq!((summary.end, summary.pages(), summary.left), (End::Stopped, 1, 4));
    assert_eq!(held.url().path(), "/0", "what is kept stays readable");
    let asked = requests(&observer).len();
    tokio::time::sleep(secs(60)).await;
    assert_eq!(requests(&observer).len(), asked);
}

/// Four sites of one page each, and the URLs of these pages.
pub(crate) fn four() -> ([Site; 4], Vec<String>) {
    let names = [0, 1, 2, 3].map(|n| format!("s{n}.test"));
    let urls = names.iter().map(|name| format!("http://{name}/")).collect();
    (names.map(|name| Site::new().name(name).page("/", Answer::text("x"))), urls)
}

/// A reader works on one page while the next ones wait for it, and then it drops the stream: what it was not given comes again.
#[tokio::test(start_paused = true)]
async fn a_page_that_waited_for_a_reader_who_left_comes_again() {
    let dir = tempfile::tempdir().unwrap();
    let (sites, urls) = four();
    let (net, observer) = web(sites);
    let build = || {
        crawler(&net, &[])
            .seeds(&urls)
            .dir(dir.path())
            .configure(|file| file.archive.min_free = Some(comity::config::ByteSize(0)))
    };
    let mut pages = build().build().unwrap().pages();
    let held = pages.next().await.unwrap();
    let read = held.url().to_string();
    tokio::time::sleep(secs(30)).await;
    assert_eq!(requests(&observer).len(), 8, "all are here, and one is on its way to the reader");
    held.done();
    drop(pages);
    tokio::time::sleep(secs(1)).await;
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = seen.clone();
    run(build().each_page(move |page| told.lock().unwrap().push(page.url().to_string()))).await;
    let seen = seen.lock().unwrap();
    for url in urls {
        assert!(url == read || seen.contains(&url), "{url} was never read: {read}, then {seen:?}");
    }
}

/// The same where the crawl's tasks run beside the one that ends it, at whatever moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn what_no_reader_was_given_is_still_queued_when_the_stream_is_finished() {
    for round in 0..20 {
        let (sites, urls) = four();
        let (net, observer) = web(sites);
        let builder = crawler(&net, &[]).seeds(&urls).delay(Duration::ZERO);
        let mut pages = builder.clock(Arc::new(comity_fetch::SystemClock::new())).build().unwrap().pages();
        let held = pages.next().await.unwrap();
        while requests(&observer).len() < 8 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(round % 5)).await;
        let summary = pages.finish().await.unwrap();
        assert_eq!((summary.pages(), summary.left), (0, 4), "{summary}");
        drop(held);
    }
}

#[tokio::test(start_paused = true)]
async fn a_crawl_runs_on_a_frontier_that_it_was_given() {
    let (net, observer) = web([list(3)]);
    let frontier: Arc<dyn Frontier> = Arc::new(Local::in_memory(SchedulerConfig::default()));
    let summary = run(crawler(&net, &["http://a.test/"]).frontier(frontier.clone(), [7; 16])).await;
    assert_eq!((summary.pages(), summary.left), (4, 0));
    let stats = frontier.stats(comity::policy::Instant::START).await.unwrap();
    assert_eq!((stats.seen, stats.queued), (4, 0));
    assert_clean(&observer);
}

/// Processes after one another: each opens the queue anew, and nothing of the instants that the one before was told means anything to it.
#[tokio::test(start_paused = true)]
async fn a_frontier_that_outlives_a_process_is_gone_on_with_no_sooner_than_a_delay_later() {
    let (net, observer) = web([list(3)]);
    for _ in 0..4 {
        let frontier: Arc<dyn Frontier> = Arc::new(Local::in_memory(SchedulerConfig::default()));
        let summary = run(crawler(&net, &["http://a.test/"]).frontier(frontier, [7; 16]).max_pages(1)).await;
        assert_eq!((summary.pages(), summary.left), (1, 3));
    }
    // Without a directory each reads robots.txt anew.
    let at: Vec<u64> = arrivals(&observer).into_iter().map(|(_, at)| at).collect();
    assert_eq!(at.len(), 8);
    assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= 1_000_000), "no two within a second: {at:?}");
}

#[tokio::test(start_paused = true)]
async fn settings_that_a_given_frontier_does_not_have_are_named() {
    let notes = async |configure: fn(&mut comity::config::ConfigFile)| {
        let (net, _) = web([list(0)]);
        let frontier: Arc<dyn Frontier> = Arc::new(Local::in_memory(SchedulerConfig::default()));
        let builder = crawler(&net, &["http://a.test/"]).frontier(frontier, [7; 16]).configure(configure);
        run(builder).await.notes.join("\n")
    };
    assert!(!notes(|_| {}).await.contains("no effect"));
    let notes = notes(|file| {
        file.crawl.max_pages_per_origin = Some(5);
        file.frontier.first_class = Some(vec!["a.test".to_owned()]);
    });
    let notes = notes.await;
    assert!(notes.contains("[crawl] max_pages_per_origin, [frontier] first_class have no effect"), "{notes}");
}
