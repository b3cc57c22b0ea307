//! Hours of the day: the crawl begins at 00:53:20 UTC, and the auditor's clock agrees.

use std::time::Duration;

use comity::policy::Reason;
use comity_testweb::{Answer, Generated, Site};

use crate::support::{arrivals, assert_clean, crawler, run, web};

fn site(name: &str, lines: &str) -> Site {
    let rules = format!("User-agent: *\n{lines}\n");
    Site::new().name(name).robots(rules).generated(Generated::new(40, 5).off_origin_percent(0))
}

/// When pages were asked for, in microseconds since 00:53:20.
fn pages(observer: &comity_testweb::Observer, host: &str) -> Vec<u64> {
    let of_host = arrivals(observer).into_iter().filter(|(url, _)| url.contains(host) && !url.ends_with("/robots.txt"));
    of_host.map(|(_, at)| at).collect()
}

const SECOND: u64 = 1_000_000;

#[tokio::test(start_paused = true)]
async fn an_origin_is_visited_in_its_hours_only_and_from_their_first_moment_on() {
    // Opens after 700 s, closes 360 s later; 59 s a page.
    let (net, observer) =
        web([site("a.test", "Visit-time: 0105-0110\nCrawl-delay: 59"), site("b.test", "Crawl-delay: 2")]);
    let summary = run(crawler(&net, &["http://a.test/", "http://b.test/"])).await;
    assert_clean(&observer);
    let visits = pages(&observer, "a.test");
    assert_eq!(visits.len(), 7);
    assert!((700 * SECOND..700 * SECOND + 5000).contains(&visits[0]), "at the opening: {}", visits[0]);
    assert!(arrivals(&observer)[0].1 < SECOND, "robots.txt is asked at any hour");
    assert_eq!(pages(&observer, "b.test").len(), 40, "nobody else waits");
    assert!(summary.left > 0 && summary.exit_code() == 4, "the rest waits for tomorrow");
    assert!(summary.to_string().contains("outside Visit-time"), "{summary}");
    assert!(summary.waited.contains_key(&Reason::RateVisitTime));
}

#[tokio::test(start_paused = true)]
async fn a_window_over_midnight_is_open_now_and_closes_today() {
    let (net, observer) = web([site("a.test", "Visit-time: 2200-0055\nCrawl-delay: 9")]);
    run(crawler(&net, &["http://a.test/"])).await;
    assert_clean(&observer);
    let visits = pages(&observer, "a.test");
    // Until 00:56:00 there are 160 s.
    assert_eq!((visits.len(), visits.last().copied().unwrap_or(0) < 160 * SECOND), (17, true), "{visits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_connects_past_the_closing_is_not_sent() {
    // Every answer ends its connection, and each new one takes five seconds: the last is open when the window is not.
    let page = |path: &'static str| (path, Answer::page(["/1", "/2", "/3", "/4", "/5"]).field("Connection", "close"));
    let site = Site::new()
        .name("a.test")
        .robots_answer(
            Answer::text("User-agent: *\nVisit-time: 0000-0053\nCrawl-delay: 7\n").field("Connection", "close"),
        )
        .connect_latency(Duration::from_secs(5));
    let site = ["/", "/1", "/2", "/3", "/4", "/5"]
        .into_iter()
        .map(page)
        .fold(site, |site, (path, page)| site.page(path, page));
    let (net, observer) = web([site]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_clean(&observer);
    // robots.txt after 5 s, pages after 17 and 29; the next would be written at 41 s, and 00:54:00 is after 40.
    assert_eq!(pages(&observer, "a.test").len(), 2);
    assert_eq!((summary.left, summary.failed.len(), summary.retries), (4, 0, 0), "no attempt was spent");
}

#[tokio::test(start_paused = true)]
async fn a_rate_of_some_hours_holds_in_them_and_nowhere_else() {
    // In force from 00:54:20, 60 s after the start, to 00:55:59.
    let (net, observer) = web([site("a.test", "Request-rate: 1/20s 0054-0055\nCrawl-delay: 4")]);
    run(crawler(&net, &["http://a.test/"])).await;
    assert_clean(&observer);
    let visits = pages(&observer, "a.test");
    let within =
        |from: u64, until: u64| visits.iter().filter(|at| (from * SECOND..until * SECOND).contains(*at)).count();
    assert_eq!((within(0, 40), within(40, 160), visits.len()), (9, 6, 40), "{visits:?}");
}

#[tokio::test(start_paused = true)]
async fn hours_of_a_rate_that_is_too_slow_are_closed_and_the_others_open() {
    let (net, observer) = web([site("a.test", "Request-rate: 1/1h 0054-0057\nCrawl-delay: 5")]);
    run(crawler(&net, &["http://a.test/"])).await;
    assert_clean(&observer);
    let visits = pages(&observer, "a.test");
    let closed = 40 * SECOND..280 * SECOND;
    assert_eq!((visits.len(), visits.iter().filter(|at| closed.contains(*at)).count()), (40, 0), "{visits:?}");
}
