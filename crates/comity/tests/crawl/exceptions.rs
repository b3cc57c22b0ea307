//! Overrides bend what they name while they hold, opt-outs end everything at once.

use std::path::Path;
use std::time::Duration;

use comity::config::{ConfigFile, Moment, OverrideSection, Span};
use comity::policy::{OptOutAction, OptOutLine, Reason, WallTime};
use comity_gate::append_optout;
use comity_testweb::{Answer, Auditor, Site, Target};
use tempfile::TempDir;

use crate::support::{arrivals, asked, crawler, requests, run, web};

/// The begin of every crawl here: the clock of `support::crawler`.
const START: i64 = 1_796_000_000_000;

fn at(millis: i64) -> Moment {
    Moment(WallTime::from_unix_millis(START + millis))
}

/// An override for `http://a.test` that ends so many milliseconds after the begin.
fn excepted(file: &mut ConfigFile, scope: &[&str], ends: i64) {
    let words = |words: &[&str]| Some(words.iter().map(ToString::to_string).collect());
    file.overrides = Some(vec![OverrideSection {
        id: Some("own".into()),
        origins: words(&["http://a.test"]),
        scope: words(scope),
        robots_5xx_as_404: Some(scope.is_empty()),
        basis: Some("own_site".into()),
        justification: Some("Our own site, looked at before release".into()),
        approved_by: Some("Ann".into()),
        created: Some(at(-86_400_000)),
        expires: Some(at(ends)),
    }]);
}

const DAY: i64 = 86_400_000;

fn opt_out(file: &Path, target: &str) {
    let line = OptOutLine::new(OptOutAction::Add, target.parse().unwrap(), "owner", "letter", WallTime::default());
    append_optout(file, &line.unwrap()).unwrap();
}

/// Pages `/0` to `/n`, each reached from the first.
fn pages(name: &str, n: usize) -> Site {
    let path = |i: usize| format!("/{i}");
    let first = Site::new().name(name).page("/", Answer::page((0..n).map(|i| Target::here(path(i)))));
    (0..n).fold(first, |site, i| site.page(path(i), Answer::text("x")))
}

#[tokio::test(start_paused = true)]
async fn a_robots_override_lets_through_what_it_names_and_says_so_first() {
    let refusing = |name| pages(name, 3).robots("User-agent: *\nDisallow: /\n");
    let (net, observer) = web([refusing("a.test"), refusing("b.test")]);
    let dir = TempDir::new().unwrap();
    let crawl = dir.path().join("d");
    let builder = crawler(&net, &["http://a.test/", "http://b.test/"])
        .configure(|file| {
            excepted(file, &["robots"], DAY);
            file.archive.min_free = Some(comity::config::ByteSize(0));
        })
        .dir(&crawl);
    let summary = run(builder).await;
    assert_eq!((summary.pages(), summary.refused.get(&Reason::RobotsDisallow)), (4, Some(&1)));
    assert!(requests(&observer).iter().filter(|url| url.contains("b.test")).all(|url| url.ends_with("/robots.txt")));
    let used = &summary.overrides[0];
    assert_eq!((used.by.id(), used.urls, used.lifted.get(&Reason::RobotsDisallow)), ("own", 4, Some(&4)));
    assert!(!used.ran_out);
    let said = summary.to_string();
    assert!(said.starts_with("override   own: robots for http://a.test, from "), "{said}");
    assert!(said.contains("for 4 URLs it lifted: 4 robots.disallow\n"), "{said}");
    assert!(said.contains("note       override own runs out at "), "within two weeks: {said}");
    let resolved = std::fs::read_to_string(crawl.join("crawl.toml")).unwrap();
    assert!(resolved.starts_with("[[override]]\nid = \"own\"\n"), "{resolved}");
    let lines = comity_archive::read_records(&crawl).unwrap().map(|line| line.unwrap().record().unwrap().unwrap());
    let page = lines.into_iter().find(|record| record.url == "http://a.test/1").unwrap();
    let decision = page.decision.unwrap();
    assert_eq!((page.reason.as_str(), page.rule.unwrap().line), ("ok.override", 2));
    assert_eq!(decision.r#override.unwrap().lifted[0].reason, "robots.disallow");
}

#[tokio::test(start_paused = true)]
async fn an_override_that_runs_out_ends_at_that_instant() {
    let (net, observer) = web([pages("a.test", 40).robots("User-agent: *\nDisallow: /\n")]);
    let ends = 15_000;
    let builder = crawler(&net, &["http://a.test/"]).configure(|file| excepted(file, &["robots"], ends));
    let summary = run(builder).await;
    let last = arrivals(&observer).iter().map(|(_, at)| *at).max().unwrap();
    assert!(last < 15_000_000, "nothing arrives after it: {last}");
    assert!(summary.pages() >= 12, "one a second until then: {}", summary.pages());
    assert_eq!(summary.refused.get(&Reason::RobotsDisallow), Some(&(41 - summary.pages())));
    assert!(summary.overrides[0].ran_out);
    assert!(summary.to_string().contains("it ran out during the crawl"), "{summary}");
}

#[tokio::test(start_paused = true)]
async fn an_override_that_ran_out_before_the_begin_is_refused_by_name() {
    let (net, observer) = web([pages("a.test", 1)]);
    let dir = TempDir::new().unwrap();
    let crawl = dir.path().join("d");
    let built = crawler(&net, &["http://a.test/"]).configure(|file| excepted(file, &["robots"], 0)).dir(&crawl).build();
    let error = built.unwrap_err();
    assert!(error.is_config(), "{error}");
    assert!(error.to_string().starts_with("[[override]] 1 (http://a.test), expires: it ran out at "), "{error}");
    assert!(!crawl.exists() && observer.log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_rate_override_replaces_a_crawl_delay_and_cuts_one_that_would_park() {
    let gaps = |crawl_delay: u32, scope: &'static [&'static str]| async move {
        let (net, observer) = web([pages("a.test", 4).robots(format!("User-agent: *\nCrawl-delay: {crawl_delay}\n"))]);
        let builder = crawler(&net, &["http://a.test/"]).configure(|file| {
            excepted(file, scope, DAY);
            file.politeness.max_crawl_delay = Some(Span(Duration::from_secs(60)));
        });
        let summary = run(builder).await;
        let times: Vec<u64> = arrivals(&observer).iter().map(|(_, at)| *at / 1000).collect();
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).skip(1).collect();
        (summary, gaps)
    };
    let (summary, replaced) = gaps(30, &["rate"]).await;
    assert!(replaced.iter().all(|gap| (1000..=1300).contains(gap)), "the own delay: {replaced:?}");
    assert_eq!(summary.overrides[0].lifted.get(&Reason::RateCrawlDelay), Some(&5));
    let (summary, cut) = gaps(61, &["rate"]).await;
    assert!(cut.iter().all(|gap| (60_000..60_100).contains(gap)), "the longest accepted: {cut:?}");
    assert_eq!((summary.pages(), summary.overrides[0].lifted.get(&Reason::ParkCrawlDelay)), (5, Some(&5)));
    let (summary, kept) = gaps(30, &["robots", "signals"]).await;
    assert!(kept.iter().all(|gap| (30_000..30_100).contains(gap)), "not of this scope: {kept:?}");
    assert_eq!(summary.overrides[0].urls, 0);
    let (summary, none) = gaps(61, &["robots", "signals"]).await;
    assert_eq!((none.len(), summary.pages(), summary.left), (0, 0, 1), "parked as ever");
}

#[tokio::test(start_paused = true)]
async fn only_a_rate_override_lets_a_delay_below_the_floor_hold_at_a_public_address() {
    for (scope, least, most) in [("robots", 200, 250), ("rate", 50, 70)] {
        let (net, observer) = web([pages("a.test", 10).address("203.0.114.7".parse().unwrap())]);
        let builder = crawler(&net, &["http://a.test/"]).configure(|file| {
            excepted(file, &[scope], DAY);
            file.politeness.delay = Some(Span(Duration::from_millis(50)));
            file.politeness.address_gap = Some(Span(Duration::from_millis(10)));
            file.politeness.adaptive = Some(false);
        });
        let summary = run(builder).await;
        let times: Vec<u64> = arrivals(&observer).iter().map(|(_, at)| *at / 1000).collect();
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).skip(1).collect();
        assert!(gaps.iter().all(|gap| (least..=most).contains(gap)), "{scope}: {gaps:?}");
        assert_eq!(summary.overrides[0].lifted.contains_key(&Reason::RateOrigin), scope == "rate");
    }
}

#[tokio::test(start_paused = true)]
async fn back_off_and_retry_after_hold_under_every_override() {
    let busy = pages("a.test", 2)
        .robots("User-agent: *\nCrawl-delay: 5\nDisallow: /\n")
        .page_answers("/0", [Answer::retry_after(429, 50), Answer::text("x")]);
    let (net, observer) = web([busy]);
    let builder =
        crawler(&net, &["http://a.test/"]).configure(|file| excepted(file, &["robots", "rate", "signals"], DAY));
    let summary = run(builder).await;
    let times: Vec<u64> = arrivals(&observer).iter().map(|(_, at)| *at).collect();
    assert!(times.windows(2).any(|pair| pair[1] - pair[0] >= 50_000_000), "{times:?}");
    assert_eq!(summary.pages(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_5xx_counts_as_absent_where_an_override_says_so_and_is_asked_again_on_time() {
    let broken = |name| pages(name, 3).robots_answer(Answer::status(503));
    let (net, observer) = web([broken("a.test"), broken("b.test")]);
    let builder = crawler(&net, &["http://a.test/", "http://b.test/"]).configure(|file| excepted(file, &[], DAY));
    let summary = run(builder).await;
    assert_eq!((summary.pages(), summary.left), (4, 1), "b.test waits");
    assert_eq!(summary.overrides[0].lifted.get(&Reason::RobotsUnreachable), Some(&4));
    assert_eq!(asked(&observer, "http://a.test/robots.txt"), 1, "done within the first minute");
    let (net, _) = web([pages("a.test", 1).robots_answer(Answer::status(429))]);
    let builder = crawler(&net, &["http://a.test/"]).configure(|file| excepted(file, &[], DAY));
    assert_eq!(run(builder).await.pages(), 0, "429 is no 5xx");
}

#[tokio::test(start_paused = true)]
async fn an_opt_out_in_the_middle_of_a_crawl_stops_the_next_request() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("optout.jsonl");
    let open = "User-agent: *\nAllow: /\n";
    let (net, observer) =
        web([pages("a.test", 20).robots(open), pages("www.a.test", 20).robots(open), pages("b.test", 20).robots(open)]);
    let (seen, crawl) = (file.clone(), dir.path().join("d"));
    let clock = comity_fetch::SystemClock::paused_at(WallTime::from_unix_millis(START));
    let clock = std::sync::Arc::new(clock);
    let asked_at = std::sync::Arc::new(std::sync::OnceLock::new());
    let (told, read) = (asked_at.clone(), clock.clone());
    let builder = crawler(&net, &["http://a.test/", "http://www.a.test/", "http://b.test/"])
        .clock(clock)
        .dir(&crawl)
        .configure(|config| {
            config.optout.files = Some(vec![file]);
            config.archive.min_free = Some(comity::config::ByteSize(0));
        })
        .each_page(move |page| {
            if page.url().as_str() == "http://a.test/5" {
                opt_out(&seen, "a.test");
                use comity::policy::Clock as _;
                told.set(read.now().as_micros()).unwrap();
            }
        });
    let summary = run(builder).await;
    let told = *asked_at.get().unwrap();
    let late = |(url, at): &&(String, u64)| url.contains("a.test") && *at > told + 250_000;
    let seen = arrivals(&observer);
    assert_eq!(seen.iter().filter(late).count(), 0, "{told}: {seen:?}");
    assert_eq!(seen.iter().filter(|(url, _)| url.contains("b.test")).count(), 22, "the other one is crawled whole");
    let out = summary.refused.get(&Reason::Optout).copied().unwrap();
    assert_eq!(summary.pages() + out, 63, "every URL has its outcome");
    assert_eq!(summary.left, 0);
    assert!(Auditor::new().floor(Duration::from_secs(1)).examine(&observer).is_clean());
    let lines = comity_archive::read_records(&crawl).unwrap().map(|line| line.unwrap().record().unwrap().unwrap());
    let refused = lines.into_iter().find(|record| record.reason == "optout").unwrap();
    let found = refused.decision.unwrap().optout.unwrap();
    assert_eq!((found.target.as_str(), found.line, found.requested_by.as_str()), ("a.test", 1, "owner"));
}

#[tokio::test(start_paused = true)]
async fn who_is_opted_out_sees_nothing_whatever_an_override_says() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("optout.jsonl");
    opt_out(&file, "http://a.test");
    let (net, observer) =
        web([pages("a.test", 3), Site::new().name("b.test").page("/", Answer::page([Target::at(0, "/1")]))]);
    let builder = crawler(&net, &["http://a.test/", "http://b.test/"]).configure(|config| {
        excepted(config, &["robots", "rate", "signals"], DAY);
        config.optout.files = Some(vec![file]);
        config.crawl.scope = Some("any".into());
    });
    let summary = run(builder).await;
    assert!(requests(&observer).iter().all(|url| url.contains("b.test")), "{:?}", requests(&observer));
    assert_eq!((summary.pages(), summary.refused.get(&Reason::Optout)), (1, Some(&2)));
}
