//! Faults of other crawlers around robots.txt, with the inputs of their reports.
//!
//! The others of the kind: 3 (a robots.txt that never answers), 9 (five and six redirects) and the odd answers in
//! `robots.rs`; 10 (redirects into refused paths and hosts) in `hops.rs`; 5 (http and https) and 9 (to and fro between them)
//! in `comity-gate/tests/schemes.rs`; 6, 7 and 8 for the parser in `comity-robots/tests/lines.rs` and `groups.rs`.

use std::time::Duration;

use comity::policy::Reason;
use comity_testweb::{Answer, Auditor, Observer, Site};

use crate::support::{arrivals, asked, assert_clean, crawler, requests, run, web};

/// When the pages of a host were asked for, in microseconds, robots.txt first.
fn times(observer: &Observer, host: &str) -> Vec<u64> {
    let here = format!("http://{host}/");
    arrivals(observer).iter().filter(|(url, _)| url.starts_with(&here)).map(|(_, at)| *at).collect()
}

fn gaps(times: &[u64]) -> Vec<u64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// scrapy#892: Disallow obeyed, Crawl-delay not seen.
#[tokio::test(start_paused = true)]
async fn report_1_five_pages_at_a_crawl_delay_of_two_seconds() {
    let links = ["/1", "/2", "/3", "/4"];
    let site = Site::new().name("a.test").robots("User-agent: *\nCrawl-delay: 2\n").page("/", Answer::page(links));
    let site = links.iter().fold(site, |site, path| site.page(*path, Answer::text("x")));
    let (net, observer) = web([site]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    let gaps = gaps(&times(&observer, "a.test"));
    assert_eq!((summary.pages(), gaps.len()), (5, 5));
    // Kept exactly: no jitter is laid on a number of the site's.
    assert!(gaps.iter().all(|gap| (2_000_000..2_100_000).contains(gap)), "{gaps:?}");
    assert_clean(&observer);
}

/// colly#191, #266, #604: a delay per worker or per glob instead of per host.
#[tokio::test(start_paused = true)]
async fn report_2_two_hosts_see_a_request_a_second_each_at_any_concurrency() {
    let site =
        |name: &str| (0..6).fold(Site::new().name(name), |site, n| site.page(format!("/{n}"), Answer::text("x")));
    for total in [1, 6, 8] {
        let (net, observer) = web([site("a.test"), site("b.test")]);
        let seeds: Vec<String> =
            ["a", "b"].iter().flat_map(|host| (0..6).map(move |n| format!("http://{host}.test/{n}"))).collect();
        let builder = crawler(&net, &seeds.iter().map(String::as_str).collect::<Vec<_>>())
            .delay(Duration::from_secs(1))
            .configure(|file| file.politeness.total = Some(total));
        let summary = run(builder).await;
        for host in ["a.test", "b.test"] {
            let gaps = gaps(&times(&observer, host));
            assert_eq!(gaps.len(), 6, "{host}: robots.txt and six pages");
            assert!(gaps.iter().all(|gap| (1_000_000..1_300_000).contains(gap)), "{total} at once, {host}: {gaps:?}");
        }
        assert!(summary.elapsed < Duration::from_secs(9), "{total} at once: side by side, {:?}", summary.elapsed);
        let audit = Auditor::new().floor(Duration::from_secs(1)).examine(&observer);
        assert!(audit.is_clean(), "{audit}");
    }
}

/// crawlee-python#2065: the page of a 5xx parsed as rules, and kept.
#[tokio::test(start_paused = true)]
async fn report_4_a_503_closes_for_now_and_its_page_is_no_rules() {
    let site = Site::new()
        .name("a.test")
        .robots_answers([
            Answer::status(503).content("text/html", "<h1>busy</h1>"),
            Answer::text("User-agent: *\nDisallow: /p"),
        ])
        .page("/", Answer::page(["/p", "/q"]))
        .page("/p", Answer::text("p"))
        .page("/q", Answer::text("q"));
    let (net, observer) = web([site]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_eq!(requests(&observer)[..2], ["http://a.test/robots.txt"; 2].map(String::from), "closed meanwhile");
    let waited = gaps(&times(&observer, "a.test"))[0];
    assert!((60_000_000..=75_000_000).contains(&waited), "asked again after a minute: {waited} µs");
    assert_eq!((asked(&observer, "http://a.test/p"), asked(&observer, "http://a.test/q")), (0, 1));
    assert_eq!(summary.refused.get(&Reason::RobotsDisallow), Some(&1));
    assert_clean(&observer);
}

/// scrapy#6195, BUbiNG#17, rep-cpp#13: a byte-order mark hides the first line.
#[tokio::test(start_paused = true)]
async fn report_6_marks_of_all_kinds_as_the_reference_parser_reads_them() {
    let utf16: Vec<u8> = "\u{feff}User-agent: *\nDisallow: /\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let rows: [(&str, Vec<u8>, u64); 4] = [
        ("whole", b"\xEF\xBB\xBFUser-agent: *\nDisallow: /".to_vec(), 0),
        ("two bytes of it", b"\xEF\xBBUser-agent: *\nDisallow: /".to_vec(), 0),
        ("in the middle: ordinary bytes", b"User-agent: *\n\xEF\xBB\xBFDisallow: /".to_vec(), 1),
        ("UTF-16: no line is read", utf16, 1),
    ];
    for (name, file, pages) in rows {
        let site = Site::new().name("a.test").robots_answer(Answer::status(200).content("text/plain", file));
        let (net, observer) = web([site.page("/x", Answer::text("x"))]);
        let summary = run(crawler(&net, &["http://a.test/x"])).await;
        assert_eq!(summary.pages(), pages, "{name}");
        assert_eq!(asked(&observer, "http://a.test/x") as u64, pages, "{name}");
    }
}

/// httrack#1702, robotstxt#6: the own group and `*` both obeyed, and of two own groups only the last.
#[tokio::test(start_paused = true)]
async fn report_8_own_groups_count_together_and_the_others_not_at_all() {
    let file = "User-agent: testbot\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\nUser-agent: testbot\nDisallow: /b";
    let site = ["/a", "/b", "/c"]
        .iter()
        .fold(Site::new().name("a.test").robots(file), |site, path| site.page(*path, Answer::text("x")));
    let (net, observer) = web([site]);
    let summary = run(crawler(&net, &["http://a.test/a", "http://a.test/b", "http://a.test/c"])).await;
    assert_eq!((summary.pages(), summary.refused.get(&Reason::RobotsDisallow)), (1, Some(&2)));
    assert_eq!(asked(&observer, "http://a.test/c"), 1);
}
