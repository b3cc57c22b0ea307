//! Overrides: what each scope lifts, against every standing; what none lifts; and every way to write one wrongly.
#![expect(clippy::disallowed_methods, reason = "the test plays the gate")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::Arc;
use std::time::Duration;

use comity_policy::{
    Aim, AskedPace, Decision, Digest, Floor, Instant, Judgement, OptOutAction, OptOutLine, OptOuts, OverrideDraft,
    Overrides, Pacer, Permit, Politeness, Reason, RobotsChain, RobotsCopy, RobotsEvent, RobotsLife, RobotsPolicy,
    RobotsState, SeededRandom, Terms, WallTime, judge,
};
use comity_robots::{Dialect, Robots};
use comity_signals::{Declared, PolicyGroups, Purpose, Verdict};
use comity_url::{CrawlUrl, Origin};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn now() -> WallTime {
    "2026-11-30T09:00:00Z".parse().unwrap()
}

fn origin() -> Origin {
    Origin::parse("https://a.test").unwrap()
}

fn page() -> CrawlUrl {
    CrawlUrl::parse("https://a.test/p").unwrap()
}

/// A good override of everything but the 5xx reading.
fn draft() -> OverrideDraft {
    OverrideDraft {
        id: None,
        origins: vec!["https://a.test".into()],
        scope: vec!["robots".into(), "rate".into(), "signals".into()],
        robots_5xx_as_404: false,
        basis: Some("own_site".into()),
        justification: Some("Our own shop, checked before each release".into()),
        approved_by: Some("Ann Example".into()),
        created: Some("2026-11-01T00:00:00Z".parse().unwrap()),
        expires: Some("2027-01-01T00:00:00Z".parse().unwrap()),
    }
}

fn scoped(words: &[&str]) -> Overrides {
    let robots_5xx_as_404 = words.contains(&"robots_5xx_as_404");
    let scope = words.iter().filter(|word| **word != "robots_5xx_as_404").map(ToString::to_string).collect();
    Overrides::new(&[OverrideDraft { scope, robots_5xx_as_404, ..draft() }]).unwrap()
}

#[test]
fn a_good_override_is_taken_as_it_stands() {
    let overrides = Overrides::new(&[draft()]).unwrap();
    let [one] = overrides.all() else { panic!("one") };
    assert_eq!(one.id(), "a.test-20261101", "made of origin and day, so that it stays the same");
    assert_eq!(
        one.to_string(),
        "a.test-20261101: robots, rate, signals for https://a.test, from 2026-11-01T00:00:00.000Z until \
         2027-01-01T00:00:00.000Z; own_site, approved by Ann Example: Our own shop, checked before each release"
    );
    assert_eq!(overrides.check_none_is_past(now()), Ok(()));
    for (at, holds) in [
        ("2026-10-31T23:59:59.999Z", false),
        ("2026-11-01T00:00:00Z", true),
        ("2026-12-31T23:59:59.999Z", true),
        ("2027-01-01T00:00:00Z", false),
    ] {
        assert_eq!(overrides.in_force(&origin(), at.parse().unwrap()).is_some(), holds, "{at}");
    }
    for other in ["http://a.test", "https://a.test:8443", "https://www.a.test", "https://test"] {
        assert!(overrides.in_force(&Origin::parse(other).unwrap(), now()).is_none(), "{other}: exact origins only");
    }
}

#[test]
fn every_field_that_cannot_be_used_is_named_with_what_to_write() {
    type Change = fn(&mut OverrideDraft);
    let rows: [(&str, &str, Change); 27] = [
        ("origins", "missing", |d| d.origins.clear()),
        ("origins", "wildcard", |d| d.origins = vec!["https://*.a.test".into()]),
        ("origins", "wildcard", |d| d.origins = vec!["*".into()]),
        ("origins", "no path", |d| d.origins = vec!["https://a.test/shop".into()]),
        ("origins", "scheme is missing", |d| d.origins = vec!["a.test".into()]),
        ("origins", "neither http nor https", |d| d.origins = vec!["ftp://a.test".into()]),
        ("origins", "twice", |d| d.origins = vec!["https://a.test".into(), "HTTPS://A.test:443/".into()]),
        ("scope", "missing", |d| d.scope.clear()),
        ("scope", "unknown value \"all\"", |d| d.scope = vec!["all".into()]),
        ("scope", "unknown value \"Robots\"", |d| d.scope = vec!["Robots".into()]),
        ("scope", "unknown value \"robots_5xx_as_404\"", |d| d.scope = vec!["robots_5xx_as_404".into()]),
        ("basis", "missing", |d| d.basis = None),
        ("basis", "unknown value \"because\"", |d| d.basis = Some("because".into())),
        ("justification", "missing", |d| d.justification = None),
        ("justification", "empty", |d| d.justification = Some("   ".into())),
        ("justification", "19 characters", |d| d.justification = Some("nineteen characters".into())),
        ("justification", "3 characters", |d| d.justification = Some(format!("a{}b", " ".repeat(40)))),
        ("justification", "line end", |d| d.justification = Some("a justification\nof two lines".into())),
        ("justification", "longer", |d| d.justification = Some("x".repeat(2001))),
        ("approved_by", "missing", |d| d.approved_by = None),
        ("approved_by", "empty", |d| d.approved_by = Some(String::new())),
        ("created", "missing", |d| d.created = None),
        ("expires", "missing", |d| d.expires = None),
        ("expires", "not after created", |d| d.expires = d.created),
        ("expires", "367 days", |d| d.expires = d.created.map(|at| at.after(DAY * 366 + Duration::from_millis(1)))),
        ("id", "no id", |d| d.id = Some("my site".into())),
        ("id", "no id", |d| d.id = Some("x".repeat(301))),
    ];
    for (field, says, change) in rows {
        let mut bad = draft();
        change(&mut bad);
        let good = OverrideDraft { origins: vec!["https://b.test".into()], ..draft() };
        let error = Overrides::new(&[good, bad.clone()]).unwrap_err();
        assert_eq!((error.number, error.field), (2, field), "{error}");
        assert!(error.what.contains(says), "{says}: {error}");
        assert_eq!(error.origin, bad.origins.first().cloned(), "{error}");
        assert!(!error.write.is_empty());
    }
    let year = OverrideDraft { expires: draft().created.map(|at| at.after(DAY * 366)), ..draft() };
    assert!(Overrides::new(&[year]).is_ok(), "366 days to the millisecond");
}

#[test]
fn one_that_ran_out_is_refused_at_the_start_by_name() {
    let overrides = Overrides::new(&[draft()]).unwrap();
    let error = overrides.check_none_is_past("2027-01-01T00:00:00Z".parse().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "override 1 (https://a.test), expires: it ran out at 2027-01-01T00:00:00.000Z");
}

#[test]
fn of_one_origin_one_override_holds_at_a_time() {
    let later = OverrideDraft { created: draft().expires, expires: draft().expires.map(|at| at.after(DAY)), ..draft() };
    let renewed = Overrides::new(&[draft(), later]).unwrap();
    let second = renewed.in_force(&origin(), "2027-01-01T00:00:00Z".parse().unwrap()).unwrap();
    assert_eq!(second.id(), "a.test-20270101", "renewed without a gap");
    let overlapping = OverrideDraft { id: Some("other".into()), scope: vec!["rate".into()], ..draft() };
    let error = Overrides::new(&[draft(), overlapping]).unwrap_err();
    assert!(error.what.contains("same time") && error.field == "origins", "{error}");
    let same_id = OverrideDraft { origins: vec!["http://a.test".into()], ..draft() };
    let error = Overrides::new(&[draft(), same_id]).unwrap_err();
    assert!(error.what.contains("two overrides") && error.field == "id", "{error}");
}

fn life(event: RobotsEvent) -> RobotsLife {
    let policy = RobotsPolicy { strict_4xx: vec![401], ..RobotsPolicy::default() };
    let mut life = RobotsLife::new(origin(), policy.into());
    life.apply(event, now(), &SeededRandom::new(1));
    life
}

fn rules(text: &str) -> RobotsLife {
    let copy = RobotsCopy {
        digest: Digest::from_bytes([1; 32]),
        bytes: text.len() as u64,
        truncated: false,
        final_url: None,
        validators: None,
        rules: [Robots::parse(text.as_bytes()).rules(&["MyBot"], Dialect::Standard)].into(),
        policies: PolicyGroups::parse(text.as_bytes(), Dialect::Standard),
        agents: comity_signals::AgentGroups::default(),
    };
    life(RobotsEvent::Parsed { status: 200, copy, max_age: None })
}

fn unreachable(status: Option<u16>) -> RobotsLife {
    life(RobotsEvent::Unreachable { cause: Reason::RobotsUnreachable, status, retry_after: None })
}

/// The judgement in one line: its reason, then what was lifted by which scope.
fn word(judgement: &Judgement) -> String {
    let of = |decision: &Decision| {
        let lifted = decision.overridden.as_ref().map(|hit| {
            let parts = hit.lifted.iter().map(|one| format!(" {}:{}", one.scope.as_str(), one.reason));
            parts.collect::<String>()
        });
        format!("{}{}", decision.reason, lifted.unwrap_or_default())
    };
    match judgement {
        Judgement::Allow(allowance) => of(allowance.decision()),
        Judgement::Refuse(refusal) => format!("refused {}", of(refusal.decision())),
        Judgement::NeedsRobots(_) => "needs robots".to_owned(),
        Judgement::Hold(hold) => format!("held {}", hold.reason),
    }
}

const DENIES: &str = "User-agent: *\nContent-Signal: ai-train=no\nDisallow: /p\n";
const SIGNAL: &str = "User-agent: *\nContent-Signal: ai-train=no\nAllow: /\n";

/// A standing, the judgement without an override, and the scopes under which it is another.
type Row = (&'static str, RobotsLife, &'static str, Vec<(&'static str, &'static str)>);

fn standings() -> [Row; 13] {
    let unreachable_lifted = ("robots", "ok.override robots:robots.unreachable");
    let as_404 = ("robots_5xx_as_404", "ok.override robots_5xx_as_404:robots.unreachable");
    let unknown = RobotsLife::new(origin(), RobotsPolicy::default().into());
    [
        ("unknown", unknown, "needs robots", vec![]),
        ("404", life(RobotsEvent::Absent { status: 404, max_age: None }), "ok.no_rules", vec![]),
        ("six redirects", life(RobotsEvent::RedirectLimit { status: 302 }), "ok.no_rules", vec![]),
        ("allowed", rules("User-agent: *\nAllow: /p\n"), "ok", vec![]),
        (
            "disallow",
            rules("User-agent: *\nDisallow: /p\n"),
            "refused robots.disallow",
            vec![("robots", "ok.override robots:robots.disallow")],
        ),
        (
            "strict 401",
            life(RobotsEvent::Absent { status: 401, max_age: None }),
            "refused robots.disallow_all",
            vec![("robots", "ok.override robots:robots.disallow_all")],
        ),
        ("503", unreachable(Some(503)), "held park.robots", vec![unreachable_lifted, as_404]),
        ("429", unreachable(Some(429)), "held park.robots", vec![unreachable_lifted]),
        ("no answer", unreachable(None), "held park.robots", vec![unreachable_lifted]),
        (
            "signal denied",
            rules(SIGNAL),
            "refused signal.ai_train",
            vec![("signals", "ok.override signals:signal.ai_train")],
        ),
        (
            "disallow and signal",
            rules(DENIES),
            "refused robots.disallow",
            vec![("robots", "refused signal.ai_train robots:robots.disallow")],
        ),
        ("Crawl-delay", rules("User-agent: *\nCrawl-delay: 7\n"), "ok", vec![("rate", "ok rate:rate.crawl_delay")]),
        (
            "Crawl-delay too long",
            rules("User-agent: *\nCrawl-delay: 301\n"),
            "held park.crawl_delay",
            vec![("rate", "ok.override rate:rate.crawl_delay rate:park.crawl_delay")],
        ),
    ]
}

#[test]
fn each_scope_lifts_its_own_and_nothing_else_at_every_standing() {
    let purposes = vec![Declared::Judged(Purpose::AiTrain)];
    for (name, life, without, lifted) in standings() {
        for scope in [None, Some("robots"), Some("robots_5xx_as_404"), Some("rate"), Some("signals")] {
            let overrides = scope.map(|scope| scoped(&[scope])).unwrap_or_default();
            let terms = Terms { purposes: purposes.clone(), overrides, ..Terms::default() };
            let expected = lifted.iter().find(|(by, _)| Some(*by) == scope).map_or(without, |(_, expected)| expected);
            let judged = judge(&page(), &life, &terms, OptOuts::nobody(), now());
            assert_eq!(word(&judged), expected, "{name}, {scope:?}");
            let after = judge(&page(), &life, &terms, OptOuts::nobody(), now().after(DAY * 60));
            assert_eq!(word(&after), "needs robots", "{name}, {scope:?}: an override is no knowledge");
        }
    }
}

#[test]
fn what_was_lifted_stands_in_the_decision() {
    let life = rules("User-agent: *\nContent-Signal: ai-train=no\nDisallow: /p\n");
    let purposes = vec![Declared::Judged(Purpose::AiTrain)];
    let terms = Terms { purposes, overrides: scoped(&["robots", "signals"]), ..Terms::default() };
    let Judgement::Allow(allowance) = judge(&page(), &life, &terms, OptOuts::nobody(), now()) else {
        panic!("allowed")
    };
    let decision = allowance.decision();
    let rule = decision.rule.as_ref().unwrap();
    assert_eq!((rule.kind, rule.line), ("disallow", 3), "the rule that would have refused");
    assert_eq!(decision.preferences.verdict(Purpose::AiTrain), Verdict::Denied, "the preference stays");
    assert_eq!(decision.robots.state(), RobotsState::Fresh);
    let hit = decision.overridden.as_ref().unwrap();
    assert_eq!((hit.by.id(), hit.lifted.len()), ("a.test-20261101", 2));

    let terms = Terms { overrides: scoped(&["robots_5xx_as_404"]), ..Terms::default() };
    let judged = judge(&page(), &unreachable(Some(500)), &terms, OptOuts::nobody(), now());
    let Judgement::Allow(allowance) = judged else { panic!("allowed") };
    let robots = allowance.decision().robots.evidence();
    assert_eq!((robots.state, robots.status, robots.digest), (RobotsState::Unreachable, Some(500), None));
}

#[test]
fn a_due_robots_txt_is_asked_first_and_an_override_that_ran_out_lifts_nothing() {
    let terms = Terms { overrides: scoped(&["robots", "robots_5xx_as_404"]), ..Terms::default() };
    let closed = unreachable(Some(503));
    let due = now().after(Duration::from_secs(120));
    assert_eq!(word(&judge(&page(), &closed, &terms, OptOuts::nobody(), due)), "needs robots");

    let end: WallTime = "2027-01-01T00:00:00Z".parse().unwrap();
    let mut life = RobotsLife::new(origin(), RobotsPolicy::default().into());
    let hour_before = WallTime::from_unix_millis(end.unix_millis() - 3_600_000);
    life.apply(RobotsEvent::Absent { status: 404, max_age: None }, hour_before, &SeededRandom::new(1));
    let copy = rules("User-agent: *\nDisallow: /\n").copy().unwrap().clone();
    life.apply(RobotsEvent::Parsed { status: 200, copy, max_age: None }, hour_before, &SeededRandom::new(1));
    let last = WallTime::from_unix_millis(end.unix_millis() - 1);
    let terms = Terms { overrides: scoped(&["robots"]), ..Terms::default() };
    assert_eq!(word(&judge(&page(), &life, &terms, OptOuts::nobody(), last)), "ok.override robots:robots.disallow");
    assert_eq!(word(&judge(&page(), &life, &terms, OptOuts::nobody(), end)), "refused robots.disallow");
}

#[test]
fn an_opt_out_is_never_lifted() {
    let mut optouts = OptOuts::default();
    let target = "a.test".parse().unwrap();
    let line = OptOutLine::new(OptOutAction::Add, target, "the owner", "letter of today", now()).unwrap();
    optouts.apply(line, &Arc::from("optout.jsonl"), 3);
    let all = ["robots", "robots_5xx_as_404", "rate", "signals"];
    let terms = Terms { overrides: scoped(&all), ..Terms::default() };
    for life in [rules("User-agent: *\nDisallow: /p\n"), RobotsLife::new(origin(), RobotsPolicy::default().into())] {
        let judged = judge(&page(), &life, &terms, &optouts, now());
        assert_eq!(word(&judged), "refused optout", "before robots.txt is even asked");
        let Judgement::Refuse(refusal) = judged else { panic!("refused") };
        let line = refusal.decision().optout.as_ref().unwrap();
        assert_eq!((&*line.file, line.number, line.line.requested_by.as_str()), ("optout.jsonl", 3, "the owner"));
    }
}

#[test]
fn a_rate_override_replaces_the_crawl_delay_and_cuts_one_that_is_too_long() {
    let most = Duration::from_secs(300);
    let seconds = |n| AskedPace::fixed(Some(Duration::from_secs(n)));
    let none = AskedPace::default();
    let rows =
        [(none.clone(), none.clone()), (seconds(7), none.clone()), (seconds(300), none), (seconds(301), seconds(300))];
    for (asked, with) in rows {
        assert_eq!(Overrides::default().pace(&origin(), asked.clone(), most, now()), asked);
        assert_eq!(scoped(&["robots"]).pace(&origin(), asked.clone(), most, now()), asked);
        assert_eq!(scoped(&["rate"]).pace(&origin(), asked, most, now()), with);
    }
    let hours = "User-agent: *\nVisit-time: 0000-1200\nRequest-rate: 1/7s 0000-1200\nCrawl-delay: 3\n";
    let bent = scoped(&["rate"]).pace(&origin(), rules(hours).asked_pace(), most, now());
    assert_eq!((bent.delay_at(now()), bent.has_hourly_delay()), (None, false));
    let afternoon = "2026-11-30T15:00:00Z".parse().unwrap();
    let midnight = "2026-12-01T00:00:00Z".parse().unwrap();
    assert_eq!(
        bent.opening(Aim::Page, None, afternoon, most).at,
        Some(midnight),
        "an hour is no rate: Visit-time stays"
    );
    let slow = "User-agent: *\nRequest-rate: 1/3600s 0000-1200\n";
    let bent = scoped(&["rate"]).pace(&origin(), rules(slow).asked_pace(), most, now());
    assert_eq!(bent.delay_at(now()), Some(most), "cut, instead of closing its hours");
    assert_eq!(bent.opening(Aim::Page, None, now(), most).at, Some(now()));
}

#[test]
fn with_a_rate_override_a_configured_delay_below_the_floor_holds_as_it_is() {
    let address = vec!["198.51.100.1:80".parse().unwrap()];
    let quick = Duration::from_millis(20);
    for (floor, gap) in [(Floor::Least, Duration::from_millis(200)), (Floor::AsSet, quick)] {
        let rules = Politeness { delay: quick, address_gap: quick, ..Politeness::default() };
        let pacer = Pacer::new(rules, Arc::new(SeededRandom::new(1)));
        pacer.set_floor(&origin(), floor);
        let slot = pacer.try_slot(&origin(), address.clone(), Instant::START).unwrap();
        let mut sent = Permit::for_robots(&RobotsChain::new(&origin()), slot).unwrap().redeem(Instant::START).unwrap();
        sent.written(Instant::START);
        sent.head(Instant::START);
        drop(sent.finish());
        let ready = pacer.try_slot(&origin(), address.clone(), Instant::START).unwrap_err();
        let wait = ready.at.since(Instant::START);
        assert!(wait >= gap && wait <= gap * 12 / 10, "{floor:?}: {wait:?}");
    }
    let terms = Terms { delay: quick, overrides: scoped(&["rate"]), ..Terms::default() };
    let absent = life(RobotsEvent::Absent { status: 404, max_age: None });
    assert_eq!(word(&judge(&page(), &absent, &terms, OptOuts::nobody(), now())), "ok.no_rules rate:rate.origin");
}
