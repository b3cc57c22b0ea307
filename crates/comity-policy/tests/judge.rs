//! The one decision engine: standing, rules, ceilings and purposes, each with its evidence.
#![expect(clippy::disallowed_methods, reason = "the test plays the gate")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use comity_policy::{
    Digest, GrantDraft, Grants, Hold, Judgement, OptOuts, OverrideDraft, Overrides, Reason, RobotsCopy, RobotsEvent,
    RobotsLife, RobotsPolicy, RobotsState, SeededRandom, Terms, WallTime, judge,
};
use comity_robots::{Dialect, Robots};
use comity_signals::{Declared, PolicyGroups, Purpose, UseCeiling};
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

/// `use=` binds whoever declares a level above it, whatever the purposes; a licence for each purpose, or an override, lifts it.
#[test]
fn a_ceiling_refuses_whoever_declares_more() {
    let (train, search) = (Declared::Judged(Purpose::AiTrain), Declared::Judged(Purpose::Search));
    let draft = |purposes: &[&str]| GrantDraft {
        origins: vec!["https://a.test".into()],
        purposes: purposes.iter().map(ToString::to_string).collect(),
        basis: Some("licence".into()),
        reference: Some("L-1".into()),
        approved_by: Some("Ann Example".into()),
        expires: Some(now().after(Duration::from_secs(3600))),
    };
    let licensed = |purposes: &[&str]| Grants::new(&[draft(purposes)]).unwrap();
    let none = Grants::default;
    let [immediate, reference, full] = [UseCeiling::Immediate, UseCeiling::Reference, UseCeiling::Full].map(Some);
    type Row = (&'static str, Option<UseCeiling>, Vec<Declared>, Grants, Option<Reason>);
    let above = Some(Reason::SignalUse);
    let rows: [Row; 13] = [
        ("use=reference", None, vec![train], none(), None),
        ("use=reference", immediate, vec![train], none(), None),
        ("use=reference", reference, vec![train], none(), None),
        ("use=reference", full, vec![train], none(), above),
        ("use=immediate, use=full", reference, vec![search], none(), above),
        ("search=yes, use=reference", full, vec![search], none(), above),
        ("use=reference", full, vec![Declared::Archive], none(), above),
        ("use=reference, ai-train=no", full, vec![train], none(), Some(Reason::SignalAiTrain)),
        ("use=reference, ai-train=no", full, vec![train], licensed(&["ai_train"]), None),
        ("use=reference, ai-train=yes", full, vec![train], licensed(&["ai_train"]), None),
        ("use=reference", full, vec![train], licensed(&["search"]), above),
        ("use=reference", full, vec![train, search], licensed(&["search"]), above),
        ("use=nothing", full, vec![train], none(), None),
    ];
    for (line, level, purposes, grants, wanted) in rows {
        let life = rules(&format!("User-agent: *\nContent-Signal: {line}\n"));
        let terms = Terms { purposes, level, grants, ..Terms::default() };
        let (refused, decision) = match judge(&url("https://a.test/p"), &life, &terms, OptOuts::nobody(), now()) {
            Judgement::Refuse(refusal) => (Some(refusal.reason()), refusal.decision().clone()),
            Judgement::Allow(allowance) => (None, allowance.decision().clone()),
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(refused, wanted, "{line}, {level:?}, {:?}", terms.purposes);
        assert_eq!(decision.level, level, "{line}");
        let is_lifted = refused.is_none() && !terms.grants.all().is_empty();
        assert_eq!(!decision.grants.is_empty() && refused.is_none(), is_lifted, "{line}: what it rests on is named");
    }
}

/// An override of access leaves what the group says of uses, the ceiling too; one of signals lifts it.
#[test]
fn an_override_of_signals_lifts_a_ceiling_and_one_of_access_does_not() {
    let life = rules("User-agent: *\nDisallow: /\nContent-Signal: use=immediate\n");
    for (scope, wanted) in [(vec!["robots"], Some(Reason::SignalUse)), (vec!["robots", "signals"], None)] {
        let draft = OverrideDraft {
            id: None,
            origins: vec!["https://a.test".into()],
            scope: scope.iter().map(ToString::to_string).collect(),
            robots_5xx_as_404: false,
            basis: Some("own_site".into()),
            justification: Some("Our own site, looked after by us".into()),
            approved_by: Some("Ann Example".into()),
            created: Some(now()),
            expires: Some(now().after(Duration::from_secs(3600))),
        };
        let overrides = Overrides::new(&[draft]).unwrap();
        let terms = Terms { overrides, level: Some(UseCeiling::Full), ..Terms::default() };
        let refused = match judge(&url("https://a.test/p"), &life, &terms, OptOuts::nobody(), now()) {
            Judgement::Refuse(refusal) => Some(refusal.reason()),
            _ => None,
        };
        assert_eq!(refused, wanted, "{scope:?}");
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
