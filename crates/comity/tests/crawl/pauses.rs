//! What sites ask for in their answers: Retry-After in all its forms, quotas, bursts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use comity::policy::Reason;
use comity_testweb::{Answer, Generated, Site, Target};

use crate::support::{arrivals, assert_clean, crawler, requests, run, web};

/// Pages `/p/1` to `/p/n` behind a front page; every third page request gets `busy`, whatever it asks for.
fn every_third(pages: u32, busy: impl Fn() -> Answer + Send + Sync + 'static) -> Site {
    let asked = Arc::new(AtomicU64::new(0));
    let links = move || (1..=pages).map(|n| Target::here(format!("/p/{n}")));
    Site::new().name("busy.test").otherwise(move |request| {
        let nth = asked.fetch_add(1, Ordering::Relaxed) + 1;
        match request.target_text().as_ref() {
            _ if nth.is_multiple_of(3) => busy(),
            "/" => Answer::page(links()),
            _ => Answer::text("x"),
        }
    })
}

/// Arrivals at `busy.test` in microseconds, with the gap before each that follows a busy answer.
fn gaps_after_busy(observer: &comity_testweb::Observer) -> Vec<u64> {
    let log = observer.log();
    let busy: Vec<_> = log.iter().filter(|seen| seen.site == Some(0)).collect();
    let after = |pair: &[&comity_testweb::Sighting]| matches!(pair[0].status, Some(429 | 503));
    busy.windows(2).filter(|pair| after(pair)).map(|pair| pair[1].arrived_us - pair[0].arrived_us).collect()
}

const SECOND: u64 = 1_000_000;

#[tokio::test(start_paused = true)]
async fn every_third_answer_is_busy_and_the_whole_host_pauses_as_told_while_others_go_on() {
    /// Name, the busy answer, and the shortest pause after it in seconds.
    type Row = (&'static str, fn() -> Answer, u64);
    let rows: [Row; 7] = [
        ("429, seven seconds", || Answer::retry_after(429, 7), 7),
        ("503, seven seconds", || Answer::retry_after(503, 7), 7),
        ("a date", || Answer::retry_at(429, Duration::from_secs(7)), 7),
        // Garbage and nothing fall back to the own back-off, never to no pause.
        ("a past date", || Answer::retry_text(429, "Sun, 06 Nov 1994 08:49:37 GMT"), 2),
        ("zero", || Answer::retry_after(429, 0), 2),
        ("garbage", || Answer::retry_text(429, "abc"), 2),
        ("none", || Answer::status(429), 2),
    ];
    for (name, busy, pause) in rows {
        let other = Site::new().name("other.test").generated(Generated::new(20, 5).off_origin_percent(0));
        let (net, observer) = web([every_third(9, busy), other]);
        let summary = run(crawler(&net, &["http://busy.test/", "http://other.test/"])).await;
        assert_clean(&observer);
        let gaps = gaps_after_busy(&observer);
        assert!(gaps.len() >= 4, "{name}: {gaps:?}");
        assert!(gaps.iter().all(|gap| *gap >= pause * SECOND), "{name}: {gaps:?}");
        assert!(gaps.iter().all(|gap| *gap < (pause + 1) * SECOND), "{name}: no longer than told either: {gaps:?}");
        assert_eq!((summary.fetched.get(&200), summary.left), (Some(&30), 0), "{name}: nothing is lost");
        let others = arrivals(&observer).into_iter().filter(|(url, _)| url.contains("other"));
        let last = others.map(|(_, at)| at).max().unwrap_or(0);
        assert!(last < 30 * SECOND, "{name}: others go on, until {last}");
    }
}

#[tokio::test(start_paused = true)]
async fn ten_days_park_the_host_until_the_next_try_and_the_crawl_ends() {
    let (net, observer) = web([every_third(9, || Answer::retry_after(429, 864_000))]);
    let summary = run(crawler(&net, &["http://busy.test/"])).await;
    assert_clean(&observer);
    assert_eq!(requests(&observer).len(), 4, "robots.txt, two pages, and the one that was told to wait");
    assert_eq!((summary.left, summary.exit_code()), (8, 4));
    assert!(summary.to_string().contains("asked to be left alone"), "{summary}");
    let waits = summary.waiting.first().and_then(|waiting| waiting.until).unwrap();
    assert!(waits.as_micros() > 86_000 * SECOND, "a day at most, then one probe");
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_eight_busy_answers_is_one_event() {
    // Eight at once: an own site without any delay, where every page is busy in the first second.
    let links: Vec<String> = (1..=8).map(|n| format!("/p/{n}")).collect();
    let page = |site: Site, path: &String| {
        let busy = Answer::status(429).delay(Duration::from_millis(100));
        site.page_answers(path.clone(), [busy, Answer::text("x")])
    };
    let front = Site::new().name("busy.test").page("/", Answer::page(links.iter().map(String::as_str)));
    let (net, observer) = web([links.iter().fold(front, page)]);
    let builder = crawler(&net, &["http://busy.test/"]).delay(Duration::ZERO).configure(|file| {
        file.politeness.per_origin = Some(8);
        file.politeness.adaptive = Some(false);
    });
    let summary = run(builder).await;
    let log = observer.log();
    let busy: Vec<u64> = log.iter().filter(|seen| seen.status == Some(429)).map(|seen| seen.arrived_us).collect();
    assert_eq!(busy.len(), 8);
    assert!(busy[7] - busy[0] < 50_000, "at the same moment: {busy:?}");
    let first_again = log.iter().filter(|seen| seen.arrived_us > busy[7] + 50_000).map(|seen| seen.arrived_us).min();
    let pause = first_again.unwrap() - busy[7] - 100_000;
    assert!((2 * SECOND..2 * SECOND + 50_000).contains(&pause), "the base, not base times 2⁸: {pause}");
    assert_eq!((summary.pages(), summary.left, summary.retries), (9, 0, 8));
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_of_zero_turns_no_back_off_off_and_crawl_delay_is_another_clock() {
    let rules = "User-agent: *\nCrawl-delay: 5\n";
    let zero = || Answer::retry_after(429, 0);
    let site = Site::new()
        .name("busy.test")
        .robots(rules)
        .page("/", Answer::page(["/a"]))
        .page_answers("/a", [zero(), zero(), Answer::text("a")]);
    let (net, observer) = web([site]);
    run(crawler(&net, &["http://busy.test/"])).await;
    assert_clean(&observer);
    let at: Vec<u64> = arrivals(&observer).into_iter().map(|(_, at)| at / 10_000).collect();
    let gaps: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The back-off of two and four seconds lies inside the Crawl-delay of five, and adds nothing to it.
    assert_eq!(gaps, [500, 500, 500, 500], "hundredths of a second");
}

#[tokio::test(start_paused = true)]
async fn quotas_slow_down_and_count_no_failure() {
    // Answer of the front page, and the seconds to the next request.
    let front = || Answer::page(["/a", "/b"]);
    let rows = [
        ("spent", front().field("RateLimit", "\"m\";r=0;t=30"), 30),
        ("spread", front().field("RateLimit", "\"m\";r=10;t=100").field("RateLimit-Policy", "\"m\";q=60;w=100"), 10),
        ("X-RateLimit", front().field("X-RateLimit-Remaining", "0").field("X-RateLimit-Reset", "20"), 20),
        ("unreadable", front().field("RateLimit", "\"m;r=0;t=30"), 1),
        ("redirect", Answer::redirect(302, "/a").field("Retry-After", "9"), 9),
    ];
    for (name, answer, wait) in rows {
        let site = Site::new().name("a.test").page("/", answer).page("/a", Answer::text("a"));
        let (net, observer) = web([site]);
        let summary = run(crawler(&net, &["http://a.test/"])).await;
        assert_clean(&observer);
        let at: Vec<u64> = arrivals(&observer).into_iter().map(|(_, at)| at).collect();
        let gap = at[2] - at[1];
        assert!((wait * SECOND..(wait + 1) * SECOND).contains(&gap), "{name}: {gap}");
        assert_eq!((summary.left, summary.retries), (0, 0), "{name}");
        assert_eq!(summary.waited.contains_key(&Reason::RateBackoff), wait > 1, "{name}: a clock with a name");
    }
}

#[tokio::test(start_paused = true)]
async fn a_robots_chain_that_is_told_to_wait_at_every_hop_ends_the_crawl() {
    let hop = || Answer::redirect(302, "/rules.txt").field("Retry-After", "120");
    let (net, observer) = web([Site::new().name("a.test").robots_answer(hop()).page("/rules.txt", Answer::text(""))]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_clean(&observer);
    assert_eq!((summary.pages(), summary.left), (0, 1));
    assert!(requests(&observer).len() < 8, "{:?}", requests(&observer));
}
