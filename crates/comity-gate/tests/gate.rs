//! The door on paused time: one flight for a thousand waiters, futures dropped at every await point.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use comity_fetch::{Collect, FetchConfig, Fetched, Fetcher, ResolveError, SystemClock};
use comity_gate::{Admission, AskFiles, AskTdmrep, Gate, GateChange, GateConfig, OptOutFiles};
use comity_policy::{Identity, Judge, Judgement, OriginPace, Politeness, Reason, SeededRandom, WallTime};
use comity_testweb::{Answer, Auditor, MemoryNet, Observer, Site, Target, Web};
use comity_url::{CrawlUrl, Origin};

const RULES: &str = "User-agent: *\nCrawl-delay: 2\nDisallow: /private\n";

fn open(net: &MemoryNet) -> (Gate, Fetcher) {
    open_for(net, &[], AskTdmrep::Never)
}

fn open_for(net: &MemoryNet, purposes: &[&str], tdmrep: AskTdmrep) -> (Gate, Fetcher) {
    let clock = Arc::new(SystemClock::paused_at(WallTime::from_unix_millis(1_796_000_000_000)));
    let own = vec!["10.0.0.0/8".parse().unwrap()];
    let identity =
        Identity::new("TestBot/1.0", "a@example.com", &[], purposes.iter().map(|one| one.parse().unwrap()).collect())
            .unwrap();
    let mut fetch = FetchConfig::new(identity.user_agent());
    fetch.allow_addresses.clone_from(&own);
    let fetcher = Fetcher::new(Arc::new(net.clone()), clock.clone(), fetch).unwrap();
    let config = GateConfig {
        politeness: Politeness { own_networks: own, ..Politeness::default() },
        ask: AskFiles { tdmrep, ..AskFiles::default() },
        ..GateConfig::new(identity)
    };
    (Gate::new(fetcher.clone(), clock, Arc::new(SeededRandom::new(1)), config), fetcher)
}

fn web(site: Site) -> (MemoryNet, Observer) {
    Web::builder(1).site(site.name("a.test")).build().unwrap().in_memory()
}

fn origin() -> Origin {
    Origin::parse("http://a.test").unwrap()
}

/// One page as a crawler asks for it: robots, judge, admit (waiting as told), fetch, settle.
async fn visit(gate: &Gate, fetcher: &Fetcher, path: &str) -> Option<Fetched> {
    let url = CrawlUrl::parse(&format!("http://a.test{path}")).unwrap();
    loop {
        gate.robots(url.origin()).await;
        let Judgement::Allow(allowance) = gate.judge(&url) else { return None };
        match gate.admit(allowance, OriginPace::default()).await {
            Admission::Wait(turn) => tokio::time::sleep(turn.ready.at.since(gate.clock().now())).await,
            Admission::Permit(permit) => {
                let mut fetched = fetcher.fetch(permit, &mut Collect::default()).await;
                let receipt = fetched.receipt.take().unwrap();
                let _paced = gate.settle(receipt, fetched.outcome);
                return Some(fetched);
            }
            never => panic!("{never:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_waiters_make_one_request() {
    let (net, observer) = web(Site::new().robots_answer(Answer::text(RULES).delay(Duration::from_secs(3))));
    let (gate, _) = open(&net);
    let waiters: Vec<_> = (0..1000)
        .map(|_| {
            let gate = gate.clone();
            tokio::spawn(async move { gate.robots(&origin()).await.hold })
        })
        .collect();
    for waiter in waiters {
        assert_eq!(waiter.await.unwrap(), None);
    }
    gate.robots(&origin()).await;
    assert_eq!(observer.log().len(), 1, "within its life it is not asked again");
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_goes_away_neither_kills_nor_restarts_the_flight() {
    let (net, observer) = web(Site::new().robots_answer(Answer::text(RULES).delay(Duration::from_secs(5))));
    let (gate, _) = open(&net);
    for _ in 0..4 {
        let gone = tokio::time::timeout(Duration::from_secs(1), gate.robots(&origin())).await;
        assert!(gone.is_err(), "still under way");
    }
    gate.robots(&origin()).await;
    assert_eq!(observer.log().len(), 1);
    assert!(matches!(gate.judge(&CrawlUrl::parse("http://a.test/private").unwrap()), Judgement::Refuse(_)));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_gate_leaves_waiters_with_nothing_allowed() {
    let (net, _observer) = web(Site::new().robots_answer(Answer::silence()));
    let (gate, _) = open(&net);
    let waiter = tokio::spawn({
        let gate = gate.clone();
        async move { gate.robots(&origin()).await.hold }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    gate.shutdown();
    assert!(waiter.await.unwrap().is_some(), "told to come back later");
    assert!(matches!(gate.judge(&CrawlUrl::parse("http://a.test/").unwrap()), Judgement::NeedsRobots(_)));
}

/// Polls a future so many times, then drops it; true when it was done before.
async fn dropped_after(polls: usize, future: impl Future) -> bool {
    let mut future = pin!(future);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(false);
        }
        left -= 1;
        future.as_mut().poll(context).map(|_| true)
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_visit_dropped_at_every_await_point_leaves_no_origin_stuck_and_no_gap_broken() {
    let mut polls = 0;
    loop {
        polls += 1;
        let page = || {
            Answer::text("x".repeat(5000)).trickle(1000, Duration::from_millis(300)).delay(Duration::from_millis(700))
        };
        let (net, observer) =
            web(Site::new().robots(RULES).latency(Duration::from_millis(20)).page("/a", page()).page("/b", page()));
        let (gate, fetcher) = open(&net);
        let done = dropped_after(polls, visit(&gate, &fetcher, "/a")).await;
        // Whatever the drop left behind, the next visit of the origin gets through in bounded time.
        let next = tokio::time::timeout(Duration::from_secs(120), visit(&gate, &fetcher, "/b")).await;
        let next = next.unwrap_or_else(|_| panic!("stuck after a drop at poll {polls}")).unwrap();
        assert_eq!(next.capture.status, Some(200), "poll {polls}");
        assert_eq!(gate.in_flight(), 0, "poll {polls}");
        let audit = Auditor::new().floor(Duration::from_secs(1)).examine(&observer);
        assert!(audit.is_clean(), "dropped at poll {polls}: {audit}");
        if done {
            break;
        }
    }
    assert!(polls > 10, "there are many places to drop at: {polls}");
}

#[tokio::test(start_paused = true)]
async fn explain_tells_standing_rule_and_every_clock_and_changes_nothing() {
    let site = Site::new().robots(RULES).page("/", Answer::retry_after(503, 120));
    let (net, observer) = web(site);
    let (gate, fetcher) = open(&net);
    let url = |path: &str| CrawlUrl::parse(&format!("http://a.test{path}")).unwrap();
    let before = gate.explain(&url("/"));
    assert_eq!(
        (before.verdict, before.origin.robots.state, before.origin.next.wait_ms),
        ("needs_robots", "unknown", Some(0))
    );
    assert_eq!(observer.log().len(), 0, "explaining asks nothing");

    visit(&gate, &fetcher, "/").await.unwrap();
    let told = gate.explain(&url("/private/x"));
    let rule = told.rule.unwrap();
    assert_eq!((told.verdict, told.reason), ("refuse", Some("robots.disallow")));
    assert_eq!((rule.kind, rule.pattern.as_str(), rule.line, rule.group_line), ("disallow", "/private", 3, 1));
    assert_eq!(told.group, ["*"]);
    let origin = told.origin;
    assert_eq!(
        (origin.robots.state, origin.robots.status, origin.robots.crawl_delay_ms),
        ("fresh", Some(200), Some(2000))
    );
    assert_eq!((origin.next.clock, origin.next.wait_ms), ("rate.backoff", Some(120_000)));
    let clocks: Vec<_> = origin.clocks.iter().map(|clock| (clock.clock, clock.delay_ms)).collect();
    assert_eq!(clocks, [("rate.origin", Some(1000)), ("rate.crawl_delay", Some(2000)), ("rate.backoff", None)]);
    assert_eq!(origin.address.as_ref().map(|a| a.address.to_string()).as_deref(), Some("10.64.0.1"));
    let json = serde_json::to_value(&origin).unwrap();
    assert_eq!(json["clocks"][1]["clock"], "rate.crawl_delay");
    assert_eq!(json["robots"]["failing"], serde_json::Value::Null);
}

#[tokio::test(start_paused = true)]
async fn rules_touch_their_own_origin_alone_and_a_redirected_sub_domain_has_those_of_the_apex_for_itself() {
    let names = ["example.test", "sub.example.test", "www.example.test", "cdn.example.test"];
    for order in [[0, 1], [1, 0]] {
        let (net, observer) = Web::builder(1)
            .site(Site::new().name(names[0]).robots("User-agent: *\nDisallow: /p\n"))
            .site(Site::new().name(names[1]).robots_answer(Answer::redirect(301, Target::at(0, "/robots.txt"))))
            .site(Site::new().name(names[2]).robots(""))
            .site(Site::new().name(names[3]))
            .build()
            .unwrap()
            .in_memory();
        let (gate, _) = open(&net);
        let page = |name: &str| CrawlUrl::parse(&format!("http://{name}/p")).unwrap();
        let word = |url: &CrawlUrl| match gate.judge(url) {
            Judgement::Allow(_) => "allow",
            Judgement::Refuse(_) => "refuse",
            Judgement::NeedsRobots(_) => "needs robots",
            Judgement::Hold(_) => "hold",
        };
        let [first, second] = order.map(|n| page(names[n]));
        gate.robots(first.origin()).await;
        assert_eq!((word(&first), word(&second)), ("refuse", "needs robots"), "{order:?}");
        for other in ["https://example.test/p", "http://example.test:8443/p", "http://www.example.test/p"] {
            assert_eq!(word(&CrawlUrl::parse(other).unwrap()), "needs robots", "{other}");
        }
        gate.robots(second.origin()).await;
        assert_eq!(word(&second), "refuse", "{order:?}");
        for open in [names[2], names[3]] {
            gate.robots(page(open).origin()).await;
            assert_eq!(word(&page(open)), "allow", "{open}");
        }
        // The apex twice, once on behalf of its sub-domain: an answer to a chain fills no other entry.
        let sites: Vec<_> = observer.log().iter().filter_map(|seen| seen.site).collect();
        assert_eq!(sites.iter().filter(|site| **site == 0).count(), 2, "{sites:?}");
    }
}

fn asked(observer: &Observer, path: &str) -> usize {
    observer.log().iter().filter(|seen| seen.request.path() == path).count()
}

const TDMREP: &str = "/.well-known/tdmrep.json";

#[tokio::test(start_paused = true)]
async fn tdmrep_json_is_asked_once_a_day_and_a_failure_takes_nothing_back() {
    let one = Answer::status(200).content("application/json", r#"[{"location":"/x","tdm-reservation":1}]"#);
    let site = Site::new().robots("User-agent: *\nAllow: /\n").page_answers(TDMREP, [one, Answer::status(500)]);
    let (net, observer) = web(site);
    let (gate, _) = open_for(&net, &["ai_train"], AskTdmrep::WhenNeeded);
    let waiters = (0..20).map(|_| {
        let gate = gate.clone();
        tokio::spawn(async move { gate.robots(&origin()).await.hold })
    });
    for waiter in waiters.collect::<Vec<_>>() {
        assert_eq!(waiter.await.unwrap(), None);
    }
    assert_eq!((asked(&observer, "/robots.txt"), asked(&observer, TDMREP)), (1, 1), "one flight each");
    let url = |path: &str| CrawlUrl::parse(&format!("http://a.test{path}")).unwrap();
    let is_refused = || match gate.judge(&url("/x")) {
        Judgement::Refuse(refusal) => refusal.reason() == Reason::SignalAiTrain,
        _ => false,
    };
    assert!(is_refused() && matches!(gate.judge(&url("/y")), Judgement::Allow(_)));
    tokio::time::sleep(Duration::from_secs(25 * 3600)).await;
    assert!(matches!(gate.judge(&url("/y")), Judgement::NeedsRobots(_)), "a day is over");
    // The next answers are 500: what the copy says holds on, and an hour passes between two tries.
    for (minutes, tries) in [(0, 2), (30, 2), (31, 3)] {
        tokio::time::sleep(Duration::from_secs(minutes * 60)).await;
        gate.robots(&origin()).await;
        assert_eq!(asked(&observer, TDMREP), tries, "after {minutes} minutes");
        assert!(is_refused(), "after {minutes} minutes");
    }
}

/// What was read holds on through whatever is no word of the site itself: a resolver that fails, a redirect to where we may not
/// ask. The robots.txt lives on meanwhile, so pages would be fetched.
#[tokio::test(start_paused = true)]
async fn what_tdmrep_json_said_holds_on_through_what_is_not_the_sites_own_word() {
    let one = || Answer::status(200).content("application/json", r#"[{"location":"/","tdm-reservation":1}]"#);
    let moved = || Answer::redirect(302, Target::Verbatim("http://b.test/file".to_owned()));
    let open = || Answer::text("User-agent: *\nAllow: /\n").field("Cache-Control", "max-age=46800");
    let closed =
        || Answer::text(format!("User-agent: *\nDisallow: {TDMREP}\n")).field("Cache-Control", "max-age=46800");
    // Name, second answer of the file, second robots.txt, seconds that the resolver fails for; requests then, and whether the
    // file's 1 holds.
    let rows = [
        ("a resolver that fails once", one(), open(), 3, 2, true),
        ("a resolver that goes on failing", one(), open(), 60, 1, true),
        ("moved to where nobody may ask", moved(), open(), 0, 2, true),
        ("the site's own robots.txt", one(), closed(), 0, 1, false),
    ];
    for (name, second, robots, fails, requests, holds) in rows {
        let site = Site::new().name("a.test").robots_answers([open(), robots]).page_answers(TDMREP, [one(), second]);
        let other = Site::new().name("b.test").robots("User-agent: *\nDisallow: /\n");
        let (net, observer) = Web::builder(1).site(site).site(other).build().unwrap().in_memory();
        let (gate, _) = open_for(&net, &["ai_train"], AskTdmrep::WhenNeeded);
        let url = CrawlUrl::parse("http://a.test/x").unwrap();
        let is_refused = || match gate.judge(&url) {
            Judgement::Refuse(refusal) => refusal.reason() == Reason::SignalAiTrain,
            Judgement::Allow(_) => false,
            other => panic!("{name}: {other:?}"),
        };
        gate.robots(&origin()).await;
        assert!(is_refused(), "{name}");
        tokio::time::sleep(Duration::from_secs(13 * 3600 + 60)).await;
        gate.robots(&origin()).await;
        assert_eq!((asked(&observer, "/robots.txt"), asked(&observer, TDMREP)), (2, 1), "{name}: robots.txt lives on");
        tokio::time::sleep(Duration::from_secs(11 * 3600)).await;
        if fails > 0 {
            net.set_resolve_fault("a.test", Some(ResolveError::Temporary("no server answers".into())));
        }
        let learning = tokio::spawn({
            let gate = gate.clone();
            async move { gate.robots(&origin()).await.hold }
        });
        tokio::time::sleep(Duration::from_secs(fails)).await;
        net.set_resolve_fault("a.test", None);
        assert_eq!(learning.await.unwrap(), None, "{name}");
        assert_eq!(asked(&observer, TDMREP), requests, "{name}");
        assert_eq!(is_refused(), holds, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_origins_whose_files_point_at_each_other_wait_for_nobody() {
    let to = |host: &str| Answer::redirect(302, Target::Verbatim(format!("http://{host}{TDMREP}")));
    let site = |host: &str, other: &str| Site::new().name(host).page(TDMREP, to(other));
    let (net, observer) =
        Web::builder(1).site(site("a.test", "b.test")).site(site("b.test", "a.test")).build().unwrap().in_memory();
    let (gate, _) = open_for(&net, &["tdm"], AskTdmrep::WhenNeeded);
    let other = Origin::parse("http://b.test").unwrap();
    let own = origin();
    let both = async { tokio::join!(gate.robots(&own), gate.robots(&other)) };
    let (one, two) = tokio::time::timeout(Duration::from_secs(300), both).await.unwrap();
    assert_eq!((one.hold, two.hold), (None, None));
    assert_eq!(asked(&observer, TDMREP), 4, "each chain asks twice, and finds that it goes round");
    for host in ["a.test", "b.test"] {
        let url = CrawlUrl::parse(&format!("http://{host}/")).unwrap();
        assert!(matches!(gate.judge(&url), Judgement::Allow(_)), "{host}");
    }
    assert_eq!(gate.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn tdmrep_json_is_asked_of_nobody_for_whom_it_can_change_nothing() {
    for (purposes, ask, times) in [
        (&["search"][..], AskTdmrep::WhenNeeded, 0),
        (&["search"], AskTdmrep::Always, 1),
        (&["search", "tdm"], AskTdmrep::WhenNeeded, 1),
        (&["ai_train"], AskTdmrep::Never, 0),
    ] {
        let (net, observer) = web(Site::new().page("/a", Answer::text("x")));
        let (gate, fetcher) = open_for(&net, purposes, ask);
        assert!(visit(&gate, &fetcher, "/a").await.is_some());
        assert_eq!(asked(&observer, TDMREP), times, "{purposes:?} {ask:?}");
    }
}

/// Places for open requests follow a change either way, at once where they are free and else as they come free.
#[tokio::test(start_paused = true)]
async fn places_follow_a_change_of_total() {
    let sites = (0..6).map(|n| Site::new().name(format!("s{n}.test")));
    let (net, _) = sites.fold(Web::builder(1), |web, site| web.site(site)).build().unwrap().in_memory();
    let (gate, _) = open(&net);
    let urls: Vec<CrawlUrl> = (0..6).map(|n| CrawlUrl::parse(&format!("http://s{n}.test/")).unwrap()).collect();
    let set = |total| {
        let politeness = Politeness { total, ..Politeness::clone(&gate.politeness()) };
        let overrides = gate.overrides();
        let optouts = OptOutFiles::default();
        gate.change(GateChange { politeness, overrides, optouts, max_rate: None, max_rate_domain: None });
    };
    for url in &urls {
        gate.robots(url.origin()).await;
    }
    // As many permits as are given when nobody gives one back.
    let take = async |from: usize| {
        let mut taken = Vec::new();
        for url in &urls[from..] {
            let Judgement::Allow(allowance) = gate.judge(url) else { panic!("{url}") };
            let admitting = gate.admit(allowance, OriginPace::default());
            match tokio::time::timeout(Duration::from_secs(60), admitting).await {
                Ok(Admission::Permit(permit)) => taken.push(permit),
                Ok(other) => panic!("{other:?}"),
                Err(_) => break,
            }
        }
        taken
    };
    for (total, wanted) in [(2, 2), (1, 1), (5, 5), (3, 3)] {
        tokio::time::sleep(Duration::from_secs(60)).await;
        set(total);
        assert_eq!(take(0).await.len(), wanted, "{total}");
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    let mut open = take(0).await;
    set(1);
    open.pop();
    open.pop();
    tokio::task::yield_now().await;
    assert_eq!(take(3).await.len(), 0, "one is open still");
    drop(open);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(take(0).await.len(), 1);
    // A rise takes back a fall that was not through yet.
    set(3);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let open = take(0).await;
    set(1);
    set(4);
    assert_eq!((open.len(), take(3).await.len()), (3, 1));
}
