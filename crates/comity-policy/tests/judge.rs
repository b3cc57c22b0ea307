//! The one decision engine: standing, rules, ceilings and purposes, each with its evidence.
#![expect(clippy::disallowed_methods, reason = "the test plays the gate")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use comity_policy::{
    Digest, Hold, Judgement, OptOuts, Reason, RobotsCopy, RobotsEvent, RobotsLife, RobotsPolicy, RobotsState,
    SeededRandom, Terms, WallTime, judge,
};
use comity_robots::{Dialect, Robots};
use comity_signals::{Declared, PolicyGroups, Purpose};
use comity_url::CrawlUrl;

fn now() -> WallTime {
    WallTime::from_civil((2026, 11, 30), (9, 0, 0)).unwrap()
}

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

fn life(event: RobotsEvent) -> RobotsLife {
    let mut life = RobotsLife::new(url("https://a.test/").origin().clone(), RobotsPolicy::default().into());
    life.apply(event, now(), &SeededRandom::new(1));
    life
}

fn rules(text: &str) -> RobotsLife {
    let copy = RobotsCopy {
        digest: Digest::from_bytes([1; 32]),
        bytes: text.len() as u64,
        truncated: false,
        final_url: Some(url("https://www.a.test/robots.txt")),
        validators: None,
        rules: [Robots::parse(text.as_bytes()).rules(&["MyBot"], Dialect::Standard)].into(),
        policies: PolicyGroups::parse(text.as_bytes(), Dialect::Standard),
        agents: comity_signals::AgentGroups::default(),
    };
    life(RobotsEvent::Parsed { status: 200, copy, max_age: None })
}

#[test]
fn a_refusal_names_rule_line_group_and_copy() {
    let life = rules("User-agent: *\nDisallow: /\n\nUser-agent: MyBot\nAllow: /p/ok\nDisallow: /p\n");
    let Judgement::Refuse(refusal) =
        judge(&url("https://a.test/p/x?y"), &life, &Terms::default(), OptOuts::nobody(), now())
    else {
        panic!("refused")
    };
    assert_eq!(refusal.reason(), Reason::RobotsDisallow);
    let decision = refusal.decision();
    let rule = decision.rule.as_ref().unwrap();
    assert_eq!((rule.kind, rule.pattern.as_str(), rule.line, rule.group_line), ("disallow", "/p", 6, 4));
    let robots = decision.robots.evidence();
    assert_eq!(robots.group, ["MyBot"]);
    assert_eq!((robots.state, decision.robots.state()), (RobotsState::Fresh, RobotsState::Fresh));
    assert_eq!((robots.digest, decision.robots.digest()), (Some(Digest::from_bytes([1; 32])), robots.digest));
    assert_eq!((robots.fetched, robots.status), (Some(now()), Some(200)));
    assert_eq!(robots.final_url, Some(url("https://www.a.test/robots.txt")));
}

#[test]
fn what_is_not_rules_answers_by_its_standing() {
    let unreachable = RobotsEvent::Unreachable { cause: Reason::FetchTls, status: None, retry_after: None };
    let rows = [
        (RobotsEvent::Absent { status: 404, max_age: None }, "ok.no_rules"),
        (RobotsEvent::RedirectLimit { status: 301 }, "ok.no_rules"),
        (unreachable, "hold park.robots"),
    ];
    for (event, expected) in rows {
        let name = format!("{event:?}");
        let got = match judge(&url("https://a.test/p"), &life(event), &Terms::default(), OptOuts::nobody(), now()) {
            Judgement::Allow(allowance) => allowance.decision().reason.code().to_owned(),
            Judgement::Refuse(refusal) => format!("refuse {}", refusal.reason()),
            Judgement::NeedsRobots(_) => "needs".to_owned(),
            Judgement::Hold(Hold { reason, wait }) => {
                assert!(wait.unwrap() >= Duration::from_secs(60));
                format!("hold {reason}")
            }
        };
        assert_eq!(got, expected, "{name}");
    }
}

#[test]
fn unknown_expired_and_foreign_lives_never_allow() {
    let page = url("https://a.test/p");
    let unknown = RobotsLife::new(page.origin().clone(), RobotsPolicy::default().into());
    assert!(matches!(judge(&page, &unknown, &Terms::default(), OptOuts::nobody(), now()), Judgement::NeedsRobots(_)));
    let open = rules("User-agent: *\nAllow: /\n");
    let tomorrow = now().after(Duration::from_secs(24 * 3600));
    assert!(matches!(judge(&page, &open, &Terms::default(), OptOuts::nobody(), tomorrow), Judgement::NeedsRobots(_)));
    for foreign in ["http://a.test/p", "https://a.test:8443/p", "https://www.a.test/p", "https://b.test/p"] {
        let judged = judge(&url(foreign), &open, &Terms::default(), OptOuts::nobody(), now());
        assert!(matches!(judged, Judgement::NeedsRobots(ref origin) if origin == url(foreign).origin()), "{foreign}");
    }
}

#[test]
fn a_crawl_delay_above_the_ceiling_holds_the_origin() {
    let life = rules("User-agent: *\nCrawl-delay: 301\n");
    let held = judge(&url("https://a.test/p"), &life, &Terms::default(), OptOuts::nobody(), now());
    assert!(matches!(held, Judgement::Hold(Hold { reason: Reason::ParkCrawlDelay, wait: None })), "{held:?}");
    assert_eq!(
        rules("User-agent: *\nRequest-rate: 1/10s\nCrawl-delay: 3\n").asked_pace().delay(),
        Some(Duration::from_secs(10))
    );
}

#[test]
fn a_url_is_refused_when_every_declared_purpose_is_denied() {
    let train = Declared::Judged(Purpose::AiTrain);
    let search = Declared::Judged(Purpose::Search);
    let life = rules("User-agent: *\nContent-Signal: ai-train=no, search=yes\nAllow: /\n");
    let rows = [
        (vec![train], Some(Reason::SignalAiTrain)),
        (vec![train, search], None),
        (vec![search], None),
        (vec![train, Declared::Research], None),
        (vec![Declared::Research], None),
    ];
    for (purposes, refused) in rows {
        let name = format!("{purposes:?}");
        let terms = Terms { purposes, ..Terms::default() };
        let got = match judge(&url("https://a.test/p"), &life, &terms, OptOuts::nobody(), now()) {
            Judgement::Refuse(refusal) => Some(refusal.reason()),
            _ => None,
        };
        assert_eq!(got, refused, "{name}");
    }
}

/// What a policy token denies counts in the crawl's own decision: for its purpose, under its path, without changing access.
#[test]
fn a_policy_token_denies_its_use_and_no_access() {
    let deny = "User-agent: __usage_ai-training\nDisallow: /p\n";
    let rows = [
        (deny.to_owned(), "https://a.test/p/x", Purpose::AiTrain, Some(Reason::SignalAiTrain)),
        (deny.to_uppercase(), "https://a.test/P", Purpose::AiTrain, Some(Reason::SignalAiTrain)),
        (
            format!("User-agent: *\nAllow: /\n\n{deny}"),
            "https://a.test/p",
            Purpose::AiTrain,
            Some(Reason::SignalAiTrain),
        ),
        (format!("{deny}Allow: /p/x\n"), "https://a.test/p/x", Purpose::AiTrain, None),
        (deny.to_owned(), "https://a.test/q", Purpose::AiTrain, None),
        (deny.to_owned(), "https://a.test/p", Purpose::Search, None),
        (
            format!("User-agent: *\nDisallow: /p\n\n{deny}"),
            "https://a.test/p",
            Purpose::AiTrain,
            Some(Reason::RobotsDisallow),
        ),
    ];
    for (file, page, purpose, wanted) in rows {
        let terms = Terms { purposes: vec![Declared::Judged(purpose)], ..Terms::default() };
        let got = match judge(&url(page), &rules(&file), &terms, OptOuts::nobody(), now()) {
            Judgement::Allow(_) => None,
            Judgement::Refuse(refusal) => Some(refusal.reason()),
            other => panic!("{file}: {other:?}"),
        };
        assert_eq!(got, wanted, "{page} of {file}");
    }
}
