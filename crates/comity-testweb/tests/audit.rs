//! The auditor finds every kind of impoliteness, and none where there is none.
#![allow(clippy::unwrap_used, reason = "in tests a panic is the message, also in their helpers")]

mod shared;

use std::time::Duration;

use comity_testweb::{
    Answer, Audit, Auditor, Breach, ConnectFault, DelayClock, NoRobots, Observer, Oddity, Since, Site, Target, Web,
};
use shared::{AGENT, Client, host};
use tokio::time::sleep;

/// A step of a client: what it asks site 0 for, and how long it waits afterwards, in milliseconds.
type Steps = &'static [(&'static str, u64)];

const ROBOTS: &str = "/robots.txt";
const HOUR: u64 = 3_600_000;

async fn walk(site: Site, steps: Steps) -> Observer {
    let web = Web::builder(1).site(site).site(Site::new().robots("User-agent: *\nDisallow: /y\n")).build().unwrap();
    let (net, observer) = web.in_memory();
    let mut client = Client::memory(&net, "http://o0.demo.test").await;
    for (target, wait) in steps {
        // A broken answer takes its connection with it, and idle ones are closed after a while.
        let broken = client.get("o0.demo.test", target).await.is_err();
        sleep(Duration::from_millis(*wait)).await;
        if broken || *wait > 60_000 {
            client = Client::memory(&net, "http://o0.demo.test").await;
        }
    }
    observer
}

fn found(audit: &Audit) -> Vec<(&'static str, u64)> {
    audit.counts.iter().map(|(kind, count)| (*kind, *count)).collect()
}

fn rules(text: &str) -> Site {
    Site::new().robots(format!("User-agent: *\n{text}\n"))
}

/// Name, site, what a client does there, and what is found.
type Row = (&'static str, Site, Steps, &'static [(&'static str, u64)]);

async fn check(rows: Vec<Row>) {
    for (name, site, steps, expected) in rows {
        let audit = walk(site, steps).await.audit();
        assert_eq!(found(&audit), expected, "{name}: {audit}");
        assert_eq!(audit.is_clean(), expected.is_empty(), "{name}");
        assert_eq!(audit.requests, steps.len() as u64, "{name}");
    }
}

const REFUSED: &[(&str, u64)] = &[("refused_target", 1)];
const WITHOUT: &[(&str, u64)] = &[("page_without_robots", 1)];
const AGAIN: &[(&str, u64)] = &[("robots_again", 1)];
const SOON: &[(&str, u64)] = &[("too_soon", 1)];
const PAUSE: &[(&str, u64)] = &[("during_pause", 1)];
const ODD: &[(&str, u64)] = &[("odd_request", 1)];

#[tokio::test(start_paused = true)]
async fn refused_targets_are_found() {
    let named = Site::new().robots("User-agent: handbot\nDisallow: /n\n\nUser-agent: *\nDisallow: /s\n");
    check(vec![
        ("polite", rules("Disallow: /x"), &[(ROBOTS, 0), ("/a", 0), ("/b", 0)], &[]),
        ("refused", rules("Disallow: /x"), &[(ROBOTS, 0), ("/x/1", 0), ("/a", 0)], REFUSED),
        ("escaped, standard dialect", rules("Disallow: /x"), &[(ROBOTS, 0), ("/%78", 0)], REFUSED),
        ("own group", named, &[(ROBOTS, 0), ("/n", 0), ("/s", 0)], REFUSED),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn visits_outside_the_hours_are_found_and_rates_hold_in_theirs() {
    // The web is put up at midnight.
    const OUTSIDE: &[(&str, u64)] = &[("outside_visit_time", 1)];
    let hours = || rules("Visit-time: 0001-0002");
    let rate = || rules("Request-rate: 1/10s 0001-0002");
    check(vec![
        ("at midnight", hours(), &[(ROBOTS, 0), ("/a", 0)], OUTSIDE),
        ("a millisecond early", hours(), &[(ROBOTS, 59_999), ("/a", 0)], OUTSIDE),
        ("in the first minute", hours(), &[(ROBOTS, 60_000), ("/a", 0)], &[]),
        ("in the last", hours(), &[(ROBOTS, 179_999), ("/a", 0)], &[]),
        ("after it", hours(), &[(ROBOTS, 180_000), ("/a", 0)], OUTSIDE),
        ("robots.txt itself", hours(), &[(ROBOTS, 0)], &[]),
        ("no rate yet", rate(), &[(ROBOTS, 50_000), ("/a", 1000), ("/b", 0)], &[]),
        ("the rate's window", rate(), &[(ROBOTS, 59_000), ("/a", 9000), ("/b", 0)], SOON),
        ("the rate is kept", rate(), &[(ROBOTS, 60_000), ("/a", 10_000), ("/b", 0)], &[]),
        ("its window is over", rate(), &[(ROBOTS, 180_000), ("/a", 0), ("/b", 0)], &[]),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn pages_without_robots_are_found() {
    let answers = |answer| Site::new().robots_answer(answer);
    let recovers = || {
        let down = Answer::text("User-agent: *\nDisallow:\n").with_status(500);
        Site::new().robots_answers([down, Answer::text("User-agent: *\nDisallow: /p\n")])
    };
    let cut_after = |bytes| answers(Answer::text("User-agent: *\nDisallow: /x\n").cut_after(bytes));
    let faulty = || rules("Disallow: /x").connect_fault(ConnectFault::Reset(130));
    check(vec![
        ("never asked", rules(""), &[("/a", 0), (ROBOTS, 0)], WITHOUT),
        ("404", Site::new(), &[(ROBOTS, 0), ("/a", 0)], &[]),
        ("429", answers(Answer::status(429)), &[(ROBOTS, 0), ("/a", 0)], WITHOUT),
        ("reset", answers(Answer::reset()), &[(ROBOTS, 0), ("/a", 0)], WITHOUT),
        ("5xx", recovers(), &[(ROBOTS, 60_000), ("/a", 0), (ROBOTS, 0)], WITHOUT),
        ("after recovery", recovers(), &[(ROBOTS, 60_000), (ROBOTS, 0), ("/p", 0), ("/a", 0)], REFUSED),
        ("5xx for 30 days", answers(Answer::status(500)), &[(ROBOTS, 30 * 24 * HOUR), ("/a", 0)], &[]),
        ("cut", cut_after(130), &[(ROBOTS, 0), ("/a", 0)], WITHOUT),
        ("cut behind its end", cut_after(1_000), &[(ROBOTS, 0), ("/a", 0), ("/x", 0)], REFUSED),
        ("cut by the connection", faulty(), &[(ROBOTS, 0), ("/a", 0)], WITHOUT),
        ("older than a day", rules(""), &[(ROBOTS, 25 * HOUR), ("/a", 0)], WITHOUT),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn robots_asked_again_is_found() {
    let short = |answer: Answer| answer.field("Cache-Control", "public, max-age=600");
    let aged = short(Answer::text("User-agent: *\nDisallow: /x\n"));
    let confirmed = Site::new().robots_answers([aged.clone(), short(Answer::status(304))]);
    check(vec![
        ("within a day", rules(""), &[(ROBOTS, 21 * HOUR), (ROBOTS, 0)], AGAIN),
        ("ahead of its end", rules(""), &[(ROBOTS, 22 * HOUR), (ROBOTS, 0), ("/a", 0)], &[]),
        ("refreshed, and again", rules(""), &[(ROBOTS, 22 * HOUR), (ROBOTS, 2 * HOUR), (ROBOTS, 0)], AGAIN),
        ("after a day", rules(""), &[(ROBOTS, 24 * HOUR), (ROBOTS, 0), ("/a", 0)], &[]),
        ("max-age", Site::new().robots_answer(aged), &[(ROBOTS, 539_000), (ROBOTS, 600_000), (ROBOTS, 0)], AGAIN),
        ("304", confirmed, &[(ROBOTS, 600_000), (ROBOTS, 0), ("/x", 0), ("/a", 0)], REFUSED),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn robots_redirects_are_followed_by_the_auditor() {
    let file = Answer::text("User-agent: *\nCrawl-delay: 2\nDisallow: /x\n");
    let sent = || Site::new().robots_answer(Answer::redirect(302, "/file")).page("/file", file.clone());
    let around = || Site::new().robots_answer(Answer::redirect(301, ROBOTS));
    check(vec![
        ("followed", sent(), &[(ROBOTS, 0), ("/file", 2_000), ("/a", 2_000), ("/x", 0)], REFUSED),
        ("not followed", sent(), &[(ROBOTS, 0), ("/a", 0)], WITHOUT),
        ("its delay", sent(), &[(ROBOTS, 0), ("/file", 1_000), ("/a", 0)], SOON),
        ("loop", around(), &[(ROBOTS, 0), ("/a", 0)], &[]),
        (
            "loop followed to the end and beyond",
            around(),
            &[(ROBOTS, 0), (ROBOTS, 0), (ROBOTS, 0), (ROBOTS, 0), (ROBOTS, 0), (ROBOTS, 0), ("/a", 0), (ROBOTS, 0)],
            AGAIN,
        ),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn requests_too_soon_are_found() {
    let delay = |seconds: &str| rules(&format!("Crawl-delay: {seconds}"));
    check(vec![
        ("kept", delay("2"), &[(ROBOTS, 2_000), ("/a", 2_000), ("/b", 0)], &[]),
        ("after robots", delay("2"), &[(ROBOTS, 1_999), ("/a", 2_000), ("/b", 0)], SOON),
        ("between pages", delay("0.5"), &[(ROBOTS, 500), ("/a", 499), ("/b", 0)], SOON),
        ("Request-rate", rules("Request-rate: 1/5"), &[(ROBOTS, 5_000), ("/a", 4_999), ("/b", 0)], SOON),
        ("robots is a request", delay("2"), &[(ROBOTS, 25 * HOUR), (ROBOTS, 100), ("/a", 0)], SOON),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn requests_during_a_pause_are_found() {
    let busy = |answer| rules("").page_answers("/b", [answer, Answer::text("x")]);
    let down = Site::new().robots_answer(Answer::retry_at(503, Duration::from_secs(30)));
    check(vec![
        ("too early", busy(Answer::retry_after(429, 7)), &[(ROBOTS, 0), ("/b", 6_999), ("/b", 0)], PAUSE),
        ("waited out", busy(Answer::retry_after(429, 7)), &[(ROBOTS, 0), ("/b", 7_000), ("/b", 0)], &[]),
        ("by date, robots too", down, &[(ROBOTS, 29_000), (ROBOTS, 0)], PAUSE),
        ("garbage asks for nothing", busy(Answer::retry_text(503, "soon")), &[(ROBOTS, 0), ("/b", 0), ("/b", 0)], &[]),
        ("a day of ten", busy(Answer::retry_after(503, 864_000)), &[(ROBOTS, 0), ("/b", 24 * HOUR), (ROBOTS, 0)], &[]),
    ])
    .await;
}

/// A process, what it asks for, and the next, while the machine's clock is set between them: hours ahead, request.
#[tokio::test(start_paused = true)]
async fn what_was_over_by_the_clock_of_one_process_is_over_for_the_next() {
    type Lives = &'static [(i64, &'static [&'static str])];
    type Expected = &'static [(&'static str, u64)];
    const ROWS: [(&str, Lives, Expected); 4] = [
        ("the clock is right", &[(0, &[ROBOTS, "/b"]), (0, &["/b"])], PAUSE),
        ("it jumps past the pause", &[(0, &[ROBOTS, "/b"]), (2, &["/b"])], &[]),
        ("and is set right after that was asked", &[(0, &[ROBOTS, "/b"]), (2, &["/b"]), (0, &["/b"])], &[]),
        ("or before", &[(0, &[ROBOTS, "/b"]), (2, &[]), (0, &["/b"])], PAUSE),
    ];
    for (name, lives, expected) in ROWS {
        let site = rules("").page_answers("/b", [Answer::retry_after(503, 4000), Answer::text("x")]);
        let (net, observer) = Web::builder(1).site(site).build().unwrap().in_memory();
        let mut auditor = Auditor::new();
        for (hours, targets) in lives {
            auditor = auditor.clock_error(observer.now_us(), hours * 3_600_000);
            observer.clients_reborn();
            let mut client = Client::memory(&net, "http://o0.demo.test").await;
            for target in *targets {
                client.get("o0.demo.test", target).await.unwrap();
                sleep(Duration::from_secs(1)).await;
            }
            observer.clients_died();
            sleep(Duration::from_secs(1)).await;
        }
        let audit = auditor.examine(&observer);
        assert_eq!(found(&audit), expected, "{name}: {audit}");
    }
}

#[tokio::test(start_paused = true)]
async fn odd_requests_are_found() {
    check(vec![
        ("fragment", rules(""), &[(ROBOTS, 0), ("/a#b", 0)], ODD),
        ("user info", rules(""), &[(ROBOTS, 0), ("http://me@o0.demo.test/a", 0)], ODD),
        ("whole URL", rules(""), &[(ROBOTS, 0), ("http://o0.demo.test/a", 0)], ODD),
        ("dots", rules(""), &[(ROBOTS, 0), ("/a/../b", 0), ("/a..b/.c", 0)], ODD),
        ("blank", rules(""), &[(ROBOTS, 0), ("/a b", 0)], ODD),
        ("not odd", rules(""), &[(ROBOTS, 0), ("/a|b[c]//d%zz?e=f?g'", 0)], &[]),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn violations_carry_their_evidence() {
    let site = rules("Crawl-delay: 2\nDisallow: /x*y").latency(Duration::from_millis(100));
    let observer = walk(site, &[("/early", 0), (ROBOTS, 500), ("/x1y?z", 2_000), ("/x#", 0)]).await;
    let audit = observer.audit();
    let breaches: Vec<_> =
        audit.violations.iter().map(|violation| (violation.request, violation.breach.clone())).collect();
    let expected = vec![
        (0, Breach::PageWithoutRobots { because: NoRobots::NotAnswered, robots_request: None }),
        (
            2,
            Breach::TooSoon {
                clock: DelayClock::CrawlDelay,
                after_request: 1,
                since: Since::Head,
                gap_us: 500_000,
                asked_us: 2_000_000,
            },
        ),
        (2, Breach::RefusedTarget { rule: "/x*y".to_owned(), line: 3, robots_request: 1 }),
        (3, Breach::OddRequest { oddity: Oddity::Fragment }),
    ];
    assert_eq!(breaches, expected);
    assert_eq!((audit.refused_targets, audit.violations[2].at_us), (1, 700_000));
    let json: serde_json::Value = serde_json::from_str(&audit.to_json()).unwrap();
    assert_eq!(json["counts"]["refused_target"], 1);
    assert_eq!(json["violations"][2]["kind"], "refused_target");
    assert_eq!(json["violations"][2]["rule"], "/x*y");
    assert_eq!(json["violations"][2]["origin"], "http://o0.demo.test");
    let text = audit.to_string();
    assert!(text.starts_with("audit: 4 violations\n"), "{text}");
    assert!(
        text.contains("http://o0.demo.test/x1y?z: refused by robots.txt (request 1), line 3: Disallow: /x*y"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_floor_and_the_address_are_audited_when_asked() {
    let shared = "203.0.113.5".parse().unwrap();
    let site = || rules("").address(shared).latency(Duration::from_millis(50));
    let (net, observer) = Web::builder(0).site(site()).site(site()).build().unwrap().in_memory();
    let mut first = Client::memory(&net, "http://o0.demo.test").await;
    let mut second = Client::memory(&net, "http://o1.demo.test").await;
    first.get("o0.demo.test", ROBOTS).await.unwrap();
    second.get("o1.demo.test", ROBOTS).await.unwrap();
    sleep(Duration::from_millis(900)).await;
    first.send("o0.demo.test", "/a").await.unwrap();
    sleep(Duration::from_millis(10)).await;
    second.send("o1.demo.test", "/a").await.unwrap();
    first.receive().await.unwrap();
    second.receive().await.unwrap();

    assert!(observer.audit().is_clean(), "nobody had announced anything");
    let floor = Auditor::new().floor(Duration::from_secs(1)).examine(&observer);
    assert_eq!(found(&floor), [("too_soon", 2)], "{floor}");
    let kept = Auditor::new().floor(Duration::from_millis(900)).address_gap(Duration::from_millis(10)).per_address(2);
    assert!(kept.examine(&observer).is_clean());
    let gap = Auditor::new().address_gap(Duration::from_millis(11)).examine(&observer);
    assert_eq!(found(&gap), [("address_too_soon", 1)]);
    let crowd = Auditor::new().per_address(1).examine(&observer);
    assert_eq!(crowd.violations[0].breach, Breach::AddressCrowded { open: 2, limit: 1 });
}

#[tokio::test(start_paused = true)]
async fn a_request_while_the_head_is_outstanding_is_too_soon() {
    let site = rules("Crawl-delay: 1").page("/slow", Answer::text("x").delay(Duration::from_secs(5)));
    let (net, observer) = Web::builder(0).site(site).build().unwrap().in_memory();
    let mut first = Client::memory(&net, "http://o0.demo.test").await;
    let mut second = Client::memory(&net, "http://o0.demo.test").await;
    first.get("o0.demo.test", ROBOTS).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    first.send("o0.demo.test", "/slow").await.unwrap();
    sleep(Duration::from_secs(2)).await;
    second.get("o0.demo.test", "/a").await.unwrap();
    first.receive().await.unwrap();
    let audit = observer.audit();
    assert_eq!(found(&audit), [("too_soon", 1)]);
    assert!(matches!(audit.violations[0].breach, Breach::TooSoon { since: Since::Outstanding, after_request: 1, .. }));
    // Who has given up waits from there: the server sees the connection end.
    sleep(Duration::from_secs(1)).await;
    first.send("o0.demo.test", "/slow").await.unwrap();
    sleep(Duration::from_secs(2)).await;
    drop(first);
    sleep(Duration::from_secs(1)).await;
    second.get("o0.demo.test", "/b").await.unwrap();
    assert_eq!(found(&observer.audit()), [("too_soon", 1)]);
}

#[tokio::test(start_paused = true)]
async fn clients_are_told_apart_by_their_user_agent() {
    let (net, observer) = Web::builder(0).site(rules("Crawl-delay: 9")).build().unwrap().in_memory();
    let mut client = Client::memory(&net, "http://o0.demo.test").await;
    client.get("o0.demo.test", ROBOTS).await.unwrap();
    // Another name: its robots.txt was never asked, its pace is its own.
    client.agent = Some("Other/1 (a@other.test)".to_owned());
    client.get("o0.demo.test", "/a").await.unwrap();
    assert_eq!(found(&observer.audit()), [("page_without_robots", 1)]);
    for agent in [Some("Mute/1.0".to_owned()), None] {
        client.agent = agent;
        client.get("o0.demo.test", ROBOTS).await.unwrap();
    }
    let audit = observer.audit();
    assert_eq!(found(&audit), [("no_contact", 2), ("page_without_robots", 1)]);
    assert_eq!(audit.violations[1].breach, Breach::NoContact { user_agent: Some("Mute/1.0".to_owned()) });
    assert_eq!(audit.origins.len(), 4, "a row for each client");
}

/// Hosts and targets asked for, and what is found.
type Exchange = (&'static [(&'static str, &'static str)], &'static [(&'static str, u64)]);

#[tokio::test(start_paused = true)]
async fn robots_of_another_origin_serve_as_redirect_target_and_as_its_own() {
    let web = |first: Answer| {
        let other = Site::new().robots("User-agent: *\nDisallow: /y\n");
        Web::builder(0).site(Site::new().robots_answer(first)).site(other).build().unwrap()
    };
    const A: &str = "o0.demo.test";
    const B: &str = "o1.demo.test";
    // (order of requests, what is found)
    let rows: [Exchange; 5] = [
        (&[(A, ROBOTS), (B, ROBOTS), (A, "/y")], &[("refused_target", 1)]),
        (&[(A, ROBOTS), (B, ROBOTS), (B, ROBOTS), (B, "/a"), (A, "/a")], &[]),
        (&[(B, ROBOTS), (A, ROBOTS), (B, ROBOTS), (B, "/a"), (A, "/a")], &[]),
        (&[(A, ROBOTS), (B, ROBOTS), (B, ROBOTS), (B, ROBOTS)], &[("robots_again", 1)]),
        (&[(A, ROBOTS), (A, ROBOTS)], &[]),
    ];
    for (number, (requests, expected)) in rows.into_iter().enumerate() {
        let (net, observer) = web(Answer::redirect(301, Target::at(1, ROBOTS))).in_memory();
        for (name, target) in requests {
            Client::memory(&net, &format!("http://{name}")).await.get(name, target).await.unwrap();
        }
        assert_eq!(found(&observer.audit()), expected, "row {number}");
    }
    // Six redirects: treated as absent, so that anything goes.
    let hops = (1..=6).fold(Site::new().robots_answer(Answer::redirect(302, "/1")), |site, hop| {
        site.page(format!("/{hop}"), Answer::redirect(302, Target::here(format!("/{}", hop + 1))))
    });
    let observer = walk(hops, &[(ROBOTS, 0), ("/1", 0), ("/2", 0), ("/3", 0), ("/4", 0), ("/5", 0), ("/a", 0)]).await;
    let audit = observer.audit();
    assert!(audit.is_clean() && audit.robots_requests == 6, "{audit}");
}

#[tokio::test(start_paused = true)]
async fn slots_repeats_and_pages_are_counted() {
    let site = rules("Crawl-delay: 2").page("/a", Answer::text("x")).page("/b", Answer::text("x"));
    let steps: Steps = &[(ROBOTS, 2_000), ("/a", 2_000), ("/b", 4_000), ("/a", 2_000), ("/missing", 0)];
    let audit = walk(site, steps).await.audit();
    assert!(audit.is_clean(), "{audit}");
    let counted =
        (audit.requests, audit.robots_requests, audit.page_requests, audit.pages, audit.distinct_pages, audit.repeats);
    assert_eq!(counted, (5, 1, 4, 3, 2, 1));
    assert_eq!((audit.slots_used, audit.slots_offered), (4, 5), "one turn of five was left out");
    let row = &audit.origins[0];
    assert_eq!((row.delay_us, row.slot_us, row.tightest_gap_us), (2_000_000, 2_000_000, Some(2_000_000)));
    assert_eq!(row.user_agent, AGENT);
}

#[tokio::test(start_paused = true)]
async fn a_log_that_was_full_is_never_clean() {
    let web = Web::builder(0).site(rules("")).max_log(1).build().unwrap();
    let (net, observer) = web.in_memory();
    let mut client = Client::memory(&net, "http://o0.demo.test").await;
    client.get("o0.demo.test", ROBOTS).await.unwrap();
    assert!(observer.audit().is_clean());
    client.get("o0.demo.test", "/a").await.unwrap();
    let audit = observer.audit();
    assert!(!audit.is_clean() && audit.lost == 1 && audit.violation_count() == 0, "{audit}");
    assert!(audit.to_string().contains("1 requests were not logged"), "{audit}");
}

#[tokio::test]
async fn an_impolite_client_is_found_on_loopback_too() {
    let served =
        Web::builder(0).site(rules("Crawl-delay: 1\nDisallow: /x")).build().unwrap().serve_loopback().await.unwrap();
    let origin = served.origins().remove(0);
    let mut client = Client::tcp(host(&origin).parse().unwrap()).await;
    for target in [ROBOTS, "/x", "/a"] {
        client.get(host(&origin), target).await.unwrap();
    }
    assert_eq!(found(&served.audit()), [("refused_target", 1), ("too_soon", 2)]);
}
