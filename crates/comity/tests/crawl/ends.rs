//! How a crawl ends: nothing left, limits, parks, names that do not exist, stops.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use comity::config::ByteSize;
use comity::policy::{Reason, WallTime};
use comity::{End, UrlEnding};
use comity_fetch::{ResolveError, SystemClock};
use comity_testweb::{Answer, ConnectFault, Generated, Site};

use crate::support::{START, asked, assert_clean, crawler, requests, run, web};

#[tokio::test(start_paused = true)]
async fn names_that_do_not_exist_and_refused_addresses_end_at_once_and_the_crawl_goes_on() {
    let (net, observer) = web([
        Site::new().name("a.test").page("/", Answer::text("a")),
        Site::new().name("inside.test").address("192.168.1.1".parse().unwrap()).page("/", Answer::text("no")),
    ]);
    net.set_resolve_fault("gone.test", Some(ResolveError::NoSuchName));
    let summary =
        run(crawler(&net, &["http://gone.test/", "http://inside.test/", "http://127.1/", "http://a.test/"])).await;
    assert_eq!((summary.pages(), summary.left, summary.exit_code()), (1, 0, 0));
    assert_eq!(summary.refused.get(&Reason::FetchDns), Some(&1));
    assert_eq!(summary.refused.get(&Reason::AddressPrivate), Some(&2));
    assert!(summary.elapsed < Duration::from_secs(10), "nothing waits: {:?}", summary.elapsed);
    assert_eq!(requests(&observer).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_never_worked_ends_its_urls_after_three_tries_and_says_so() {
    let (net, observer) = web([Site::new().name("a.test")]);
    net.set_resolve_fault("a.test", Some(ResolveError::Temporary("no server answers".into())));
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_eq!(summary.refused.get(&Reason::FetchDnsTimeout), Some(&1));
    assert!(summary.elapsed < Duration::from_secs(60), "{:?}", summary.elapsed);
    assert!(summary.why_nothing().unwrap().contains("fetch.dns.timeout"));
    assert!(requests(&observer).is_empty());
}

#[tokio::test(start_paused = true)]
async fn limits_end_the_crawl_with_their_key() {
    for (key, pages) in [("max_pages", 7), ("max_duration", 5), ("max_bytes", 3)] {
        let (net, observer) =
            web([Site::new().name("a.test").generated(Generated::new(50, 5).bytes(1000).off_origin_percent(0))]);
        let builder = crawler(&net, &["http://a.test/"]).configure(|file| match key {
            "max_pages" => file.crawl.max_pages = Some(7),
            "max_duration" => file.crawl.max_duration = Some(comity::config::Span(Duration::from_millis(6500))),
            _ => file.crawl.max_bytes = Some(comity::config::ByteSize(2500)),
        });
        let summary = run(builder).await;
        assert_eq!((summary.end, summary.exit_code()), (End::Limit(key), 3));
        assert_eq!(summary.pages(), pages, "{key}");
        assert_clean(&observer);
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_counts_over_all_runs_of_a_crawl() {
    for key in ["max_pages", "max_bytes"] {
        let dir = tempfile::tempdir().unwrap();
        let (net, observer) =
            web([Site::new().name("a.test").generated(Generated::new(50, 5).bytes(1000).off_origin_percent(0))]);
        // The next run begins later than the one before, as runs do.
        let go_on = async |limit: u64, hours: i64| {
            let at = WallTime::from_unix_millis(START.unix_millis() + hours * 3_600_000);
            let clock = Arc::new(SystemClock::paused_at(at));
            run(crawler(&net, &["http://a.test/"]).dir(dir.path()).clock(clock).configure(|file| match key {
                "max_pages" => file.crawl.max_pages = Some(limit),
                _ => file.crawl.max_bytes = Some(ByteSize(limit * 1000 - 500)),
            }))
            .await
        };
        let first = go_on(3, 0).await;
        assert_eq!(
            (first.pages(), first.end, first.notes.iter().any(|note| note.starts_with(key))),
            (3, End::Limit(key), false),
            "{key}: {first}"
        );
        let again = go_on(3, 1).await;
        assert_eq!((again.pages(), again.robots, again.end), (0, 0, End::Limit(key)), "{key}: spent is spent: {again}");
        assert!(again.notes.iter().any(|note| note.starts_with(key) && note.contains("goes on")), "{again}");
        let more = go_on(5, 2).await;
        assert_eq!((more.pages(), more.end), (2, End::Limit(key)), "{key}: {more}");
        let pages: usize = requests(&observer).iter().filter(|url| !url.ends_with("/robots.txt")).count();
        assert_eq!(pages, 5, "{key}");
        assert_clean(&observer);
    }
}

#[tokio::test(start_paused = true)]
async fn an_origin_that_sent_its_bytes_is_asked_for_nothing_more_and_others_go_on() {
    let page = || Answer::text("x".repeat(600));
    let site = |name: &str| Site::new().name(name).page("/1", page()).page("/2", page()).page("/3", page());
    let (net, observer) = web([site("a.test"), site("b.test")]);
    let seeds = ["http://a.test/1", "http://a.test/2", "http://a.test/3", "http://b.test/1"];
    let builder = crawler(&net, &seeds).configure(|file| file.crawl.max_bytes_per_origin = Some(ByteSize(1000)));
    let summary = run(builder).await;
    assert_eq!((asked(&observer, "http://a.test/3"), asked(&observer, "http://b.test/1")), (0, 1));
    assert_eq!((summary.pages(), summary.left, summary.exit_code()), (3, 0, 0), "{summary}");
    assert_eq!(summary.refused.get(&Reason::UrlBudgetBytes), Some(&1), "{summary}");
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn an_over_long_crawl_delay_parks_its_origin_and_never_speeds_up() {
    let (net, observer) = web([
        Site::new().name("a.test").robots("User-agent: *\nCrawl-delay: 301\n").page("/", Answer::text("a")),
        Site::new().name("b.test").page("/", Answer::text("b")),
    ]);
    let summary = run(crawler(&net, &["http://a.test/", "http://b.test/"])).await;
    assert_eq!((asked(&observer, "http://a.test/"), asked(&observer, "http://b.test/")), (0, 1));
    assert_eq!((summary.left, summary.exit_code()), (1, 4));
    assert!(summary.to_string().contains("Crawl-delay is above max_crawl_delay"), "{summary}");
}

#[tokio::test(start_paused = true)]
async fn a_dead_origin_fails_after_its_retries_and_others_go_on() {
    let (net, observer) = web([
        Site::new().name("dead.test").connect_fault(ConnectFault::Refused),
        Site::new()
            .name("flaky.test")
            .page("/", Answer::page(["/x"]))
            .page_answers("/x", [Answer::reset(), Answer::reset(), Answer::text("x")]),
        Site::new().name("never.test").page("/", Answer::reset()),
    ]);
    let summary = run(crawler(&net, &["http://dead.test/", "http://flaky.test/", "http://never.test/"])).await;
    assert_eq!(asked(&observer, "http://flaky.test/x"), 3, "two retries");
    assert_eq!(asked(&observer, "http://never.test/"), 3);
    assert_eq!(summary.failed.get(&Reason::FetchReset), Some(&1));
    assert_eq!((summary.pages(), summary.left), (2, 1), "the dead origin's robots.txt is unreachable: it waits");
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn asked_once_it_finishes_what_is_open_and_asked_twice_it_stops() {
    for twice in [false, true] {
        let slow = || Answer::text("slow").delay(Duration::from_secs(8));
        let (net, observer) = web([Site::new()
            .name("a.test")
            .page("/", Answer::page(["/s", "/t", "/u"]))
            .page("/s", slow())
            .page("/t", slow())]);
        let crawler = crawler(&net, &["http://a.test/"]).build().unwrap();
        let stop = crawler.stop_handle();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(4)).await;
            stop.drain();
            if twice {
                tokio::time::sleep(Duration::from_secs(1)).await;
                stop.now();
            }
        });
        let summary = crawler.run().await.unwrap();
        assert_eq!((summary.end, summary.exit_code()), (End::Stopped, 4), "twice: {twice}");
        assert_eq!(asked(&observer, "http://a.test/t"), 0, "nothing new is sent");
        assert_eq!(summary.pages(), if twice { 1 } else { 2 }, "twice: {twice}");
        assert_eq!(summary.left, if twice { 3 } else { 2 }, "what was not fetched is still queued");
    }
}

#[tokio::test(start_paused = true)]
async fn seeds_twice_and_links_in_many_spellings_are_fetched_once() {
    let spellings = ["/x", "/x#f", "/./x", "/%78", "http://A.TEST:80/x", "/x?"];
    let (net, observer) =
        web([Site::new().name("a.test").page("/", Answer::page(spellings)).page("/x", Answer::text("x"))]);
    let summary = run(crawler(&net, &["http://a.test/", "http://a.test:80/"])).await;
    assert_eq!(summary.pages(), 2, "{:?}", requests(&observer));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_fails_its_page_by_name_asks_nobody_again_and_loses_no_link() {
    let (net, observer) = web([Site::new()
        .name("a.test")
        .page("/", Answer::page(["/bad", "/good"]))
        .page("/bad", Answer::page(["/behind"]))
        .page("/behind", Answer::text("b"))
        .page("/good", Answer::text("g"))]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = told.clone();
    let builder = crawler(&net, &["http://a.test/"])
        .each_page(|page| assert!(!page.url().as_str().ends_with("/bad"), "a fault of the handler's"))
        .on_outcome(move |outcome| {
            seen.lock().unwrap().push((outcome.url.to_string(), outcome.ending));
            assert!(!outcome.url.as_str().ends_with("/good"), "a fault of the other handler's");
        });
    let summary = run(builder).await;
    for path in ["bad", "good", "behind"] {
        assert_eq!(asked(&observer, &format!("http://a.test/{path}")), 1, "{path}");
    }
    assert_eq!((summary.pages(), summary.left), (3, 0));
    assert_eq!(summary.failed, [(Reason::CrawlHandler, 1)].into());
    let ending = UrlEnding::Failed(Reason::CrawlHandler);
    assert!(told.lock().unwrap().contains(&("http://a.test/bad".to_owned(), ending)));
    assert_clean(&observer);
}
