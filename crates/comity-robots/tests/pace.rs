//! Crawl-delay, Request-rate, Visit-time: what is read, whose it is, which counts.

use std::time::Duration;

use comity_robots::{Dialect, Note, Robots, RuleSet};

fn rules(text: &str, agent: &str) -> RuleSet {
    Robots::parse(text.as_bytes()).rules(&[agent], Dialect::Standard)
}

fn delay(text: &str, agent: &str) -> Option<f64> {
    rules(text, agent).crawl_delay().map(|delay| delay.as_secs_f64())
}

#[test]
fn crawl_delay_values() {
    let rows = [
        ("5", Some(5.0)),
        ("0", Some(0.0)),
        ("2.5", Some(2.5)),
        ("2,5", Some(2.5)),
        (".5", Some(0.5)),
        ("5.", Some(5.0)),
        ("007", Some(7.0)),
        ("10s", Some(10.0)),
        ("10 sec", Some(10.0)),
        ("10 SECONDS", Some(10.0)),
        ("3600", Some(3600.0)),
        ("1.0000000001", Some(1.000_000_001)),
        ("1e309", None),
        ("1e3", None),
        ("-5", None),
        ("+5", None),
        ("inf", None),
        ("nan", None),
        ("0x10", None),
        ("1_0", None),
        ("[5]", None),
        ("5 minutes", None),
        ("5 5", None),
        ("1.2.3", None),
        (".", None),
        ("s", None),
        ("", None),
        ("\u{664}", None),
    ];
    for (value, wanted) in rows {
        let text = format!("User-agent: *\nDisallow:\nCrawl-delay: {value}\n");
        assert_eq!(delay(&text, "FooBot"), wanted, "{value}");
        let notes = rules(&text, "FooBot").notes().to_vec();
        let expected = if wanted.is_none() { vec![Note::CrawlDelayUnreadable { line: 3 }] } else { vec![] };
        assert_eq!(notes, expected, "{value}");
    }
}

#[test]
fn a_number_beyond_all_bounds_is_the_longest_delay() {
    let huge = format!("User-agent: *\nCrawl-delay: {}.9999999999\n", "9".repeat(400));
    assert_eq!(rules(&huge, "FooBot").crawl_delay(), Some(Duration::MAX));
}

#[test]
fn whose_crawl_delay() {
    let rows = [
        ("group", "User-agent: FooBot\nCrawl-delay: 5\nDisallow: /a\n", Some(5.0)),
        ("after_rules", "User-agent: FooBot\nDisallow: /a\nCrawl-delay: 5\n", Some(5.0)),
        ("blank_lines", "User-agent: FooBot\n\nDisallow: /a\n\n\nCrawl-delay: 5\n", Some(5.0)),
        ("before_any_group", "Crawl-delay: 5\nUser-agent: FooBot\nDisallow: /a\n", None),
        ("star", "User-agent: *\nCrawl-delay: 5\n", Some(5.0)),
        ("no_inheritance", "User-agent: *\nCrawl-delay: 5\nDisallow: /\n\nUser-agent: FooBot\nDisallow: /a\n", None),
        ("largest_in_a_group", "User-agent: FooBot\nCrawl-delay: 5\nCrawl-delay: 9\nCrawl-delay: 1\n", Some(9.0)),
        (
            "largest_across_groups",
            "User-agent: FooBot\nCrawl-delay: 9\nAllow: /\n\nUser-agent: FooBot\nAllow: /\nCrawl-delay: 5\n",
            Some(9.0),
        ),
        ("garbage_beside_a_value", "User-agent: FooBot\nCrawl-delay: 5\nCrawl-delay: inf\n", Some(5.0)),
        ("a_later_agent_of_the_list", "User-agent: A\nCrawl-delay: 5\nUser-agent: FooBot\nDisallow: /\n", None),
        ("an_earlier_agent_of_the_list", "User-agent: FooBot\nCrawl-delay: 5\nUser-agent: B\nDisallow: /\n", Some(5.0)),
        (
            "the_access_pass_keeps_the_list_open",
            "User-agent: FooBot\nCrawl-delay: 5\nUser-agent: B\nCrawl-delay: 10\nDisallow: /\n",
            Some(10.0),
        ),
        ("a_foreign_group", "User-agent: A\nDisallow: /\nCrawl-delay: 5\n\nUser-agent: FooBot\nAllow: /\n", None),
        ("missing_colon", "User-agent: FooBot\nCrawl-delay 5\n", Some(5.0)),
        ("any_case", "User-agent: FooBot\nCRAWL-DELAY: 5\n", Some(5.0)),
        ("comment", "User-agent: FooBot\nCrawl-delay: 5 # s\n", Some(5.0)),
    ];
    for (name, text, wanted) in rows {
        assert_eq!(delay(text, "FooBot"), wanted, "{name}");
    }
}

#[test]
fn request_rate() {
    let rows = [
        ("1/5", Some((1, 5, None))),
        ("1/10m", Some((1, 600, None))),
        ("30/1H", Some((30, 3600, None))),
        ("2/1d", Some((2, 86_400, None))),
        ("1/5s", Some((1, 5, None))),
        ("1/10m 1300-1659", Some((1, 600, Some((780, 1019))))),
        ("10", None),
        ("0/5", None),
        ("1/0", None),
        ("/5", None),
        ("1/", None),
        ("1/5w", None),
        ("-1/5", None),
        ("1/5 noon", None),
        ("", None),
    ];
    for (value, wanted) in rows {
        let rules = rules(&format!("User-agent: *\nRequest-rate: {value}\n"), "FooBot");
        let found = rules.request_rate().map(|rate| {
            let window = rate.window.map(|window| (window.first_minute(), window.last_minute()));
            (rate.requests.get(), rate.per.as_secs(), window)
        });
        assert_eq!(found, wanted, "{value}");
        assert_eq!(rules.notes().len(), usize::from(wanted.is_none()), "{value}");
    }
    let several = [
        ("1/5", "1/10", 10, false),
        ("1/10", "1/5", 10, false),
        ("1/10 0000-0100", "1/5", 10, false),
        ("1/10 0000-0100", "1/5 0000-0100", 10, true),
        ("10/1m", "1/5", 6, false),
    ];
    for (one, two, seconds, window) in several {
        let rules = rules(&format!("User-agent: *\nRequest-rate: {one}\nRequest-rate: {two}\n"), "FooBot");
        let rate = rules.request_rate().unwrap();
        assert_eq!((rate.delay().as_secs(), rate.window.is_some()), (seconds, window), "{one} and {two}");
    }
}

#[test]
fn visit_time() {
    let rows = [
        ("0400-0845", Some((240, 525))),
        ("04:00 - 08:45", Some((240, 525))),
        ("2200-0600", Some((1320, 360))),
        ("0000-2359", Some((0, 1439))),
        ("0000-2400", Some((0, 1439))),
        ("2400-0100", None),
        ("0460-0500", None),
        ("2500-2600", None),
        ("400-845", None),
        ("0400", None),
        ("0400-", None),
        ("0400-0845 UTC", None),
        ("", None),
    ];
    for (value, wanted) in rows {
        let rules = rules(&format!("User-agent: *\nVisit-time: {value}\n"), "FooBot");
        let found = rules.visit_time().map(|window| (window.first_minute(), window.last_minute()));
        assert_eq!(found, wanted, "{value}");
        assert_eq!(rules.notes().len(), usize::from(wanted.is_none()), "{value}");
    }
}

#[test]
fn visit_time_windows() {
    let window = |value: &str| rules(&format!("User-agent: *\nVisit-time: {value}\n"), "FooBot").visit_time().unwrap();
    let rows = [
        ("0400-0845", "03:59:59", 1),
        ("0400-0845", "04:00:00", 0),
        ("0400-0845", "08:45:59", 0),
        ("0400-0845", "08:46:00", 19 * 3600 + 14 * 60),
        ("2200-0600", "23:00:00", 0),
        ("2200-0600", "00:00:00", 0),
        ("2200-0600", "06:01:00", 15 * 3600 + 59 * 60),
        ("0000-2400", "23:59:59", 0),
    ];
    for (value, time, wait) in rows {
        let parts: Vec<u32> = time.split(':').map(|part| part.parse().unwrap()).collect();
        let second = parts[0] * 3600 + parts[1] * 60 + parts[2];
        assert_eq!(window(value).wait(second), Duration::from_secs(wait), "{value} at {time}");
        assert_eq!(window(value).contains(u16::try_from(second / 60).unwrap()), wait == 0, "{value} at {time}");
    }
    let shortest =
        rules("User-agent: *\nVisit-time: 0400-0845\nVisit-time: 2350-0010\nVisit-time: 0100-0800\n", "FooBot");
    assert_eq!(shortest.visit_time().unwrap().first_minute(), 23 * 60 + 50);
}
