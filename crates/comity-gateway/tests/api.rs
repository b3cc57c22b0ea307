//! The decision API: what it answers, what it refuses, and that it spends nothing.

mod support;

use std::time::Duration;

use comity_gate::{AskFiles, AskTdmrep};
use comity_signals::OthersTokens;
use comity_testweb::{Answer, Site};
use serde_json::{Value, json};
use support::{KEY, Profile};

const RULES: &str = "User-agent: custbot\nCrawl-delay: 2\nDisallow: /private/\nAllow: /private/open\n\nUser-agent: *\n";

fn site() -> Site {
    Site::new().name("a.example").robots(RULES).otherwise(|_| Answer::text("page"))
}

#[tokio::test(start_paused = true)]
async fn a_record_tells_everything_a_decision_rests_on() {
    let room = Profile::default().open([site()]).unwrap();
    let denied = room.decide(&json!({"url": "http://a.example/private/x", "trace_id": "t1"})).await;
    let id = denied["decision_id"].as_str().unwrap().to_owned();
    let (sha256, fetched) = (denied["robots"]["sha256"].clone(), denied["robots"]["fetched_at"].clone());
    assert_eq!(sha256.as_str().unwrap().len(), 64);
    let version = denied["policy_version"].clone();
    let expected = json!({
        "decision_id": id, "verdict": "deny", "reason": "robots.disallow", "detail": null, "enforced": true,
        "shadow": null, "visibility": "path", "url": "http://a.example/private/x", "origin": "http://a.example",
        "client": "c1", "token": "custbot", "purposes": ["search"], "retry_after_ms": null, "trace_id": "t1",
        "rule": {"kind": "disallow", "pattern": "/private/", "line": 3, "group_line": 1, "group": ["custbot"],
                 "priority": 9},
        "robots": {"state": "fresh", "http_status": 200, "fetched_at": fetched, "age_s": 0, "expires_in_s": 86_400,
                   "sha256": sha256, "final_url": "http://a.example/robots.txt", "bytes": RULES.len(), "truncated": false,
                   "group": ["custbot"], "crawl_delay_s": 2.0},
        "signals": [],
        "others": {}, "tdmrep": null, "ai_txt": null, "trust_txt": null, "licences": [], "grants": [],
        "budget": {"origin_delay_s": 2.0, "origin_conc": 1, "wait_ms": 2000, "clock": "rate.crawl_delay"},
        "override": null, "optout": null, "policy_version": version, "node": "comity",
    });
    assert_eq!(denied, expected);
    let wait = room.decide(&json!({"url": "http://a.example/private/open/1"})).await;
    assert_eq!((&wait["verdict"], &wait["reason"]), (&json!("wait"), &json!("rate.crawl_delay")));
    assert!((1900..=2000).contains(&wait["retry_after_ms"].as_u64().unwrap()), "{wait}");
    assert_eq!(wait["rule"]["line"], json!(4));
    tokio::time::sleep(Duration::from_secs(2)).await;
    for _ in 0..3 {
        let allow = room.decide(&json!({"url": "http://a.example/private/open/1"})).await;
        assert_eq!((&allow["verdict"], &allow["reason"]), (&json!("allow"), &json!("ok")), "a peek takes no turn");
    }
    assert_eq!(room.seen(), ["/robots.txt"]);
    assert_eq!(room.gateway.gate().in_flight(), 0);
}

/// As in a crawl: asked for once, before the first page, where the customer may declare what it speaks about.
#[tokio::test(start_paused = true)]
async fn tdmrep_json_decides_for_whoever_may_declare_what_it_speaks_about() {
    const TDMREP: &str = "/.well-known/tdmrep.json";
    let reserved = r#"[{"location":"/closed","tdm-reservation":1}]"#;
    let rows: [(&[&str], AskTdmrep, bool); 6] = [
        (&["tdm"], AskTdmrep::WhenNeeded, true),
        (&["ai_train"], AskTdmrep::WhenNeeded, true),
        (&[], AskTdmrep::WhenNeeded, true),
        (&["search"], AskTdmrep::WhenNeeded, false),
        (&["search"], AskTdmrep::Always, true),
        (&["tdm"], AskTdmrep::Never, false),
    ];
    for (purposes, tdmrep, asks) in rows {
        let mut profile = Profile::default();
        profile.gateway.customer.purposes = purposes.iter().map(|purpose| purpose.parse().unwrap()).collect();
        profile.ask = AskFiles { tdmrep, ..AskFiles::default() };
        let file = Answer::status(200).content("application/json", reserved);
        let room = profile
            .open([Site::new().name("a.example").page(TDMREP, file).page("/closed", Answer::text("x"))])
            .unwrap();
        let denies = asks && purposes != ["search"];
        for _ in 0..2 {
            let record = room.decide(&json!({"url": "http://a.example/closed/1"})).await;
            assert_eq!(record["verdict"] == json!("deny"), denies, "{purposes:?} {tdmrep:?}: {record}");
            assert_eq!(record["reason"].as_str().unwrap().starts_with("signal."), denies, "{purposes:?}: {record}");
            assert_eq!(record["tdmrep"]["state"].as_str(), asks.then_some("read"), "{purposes:?}: {record}");
        }
        let seen = room.seen();
        let wanted = if asks { vec!["/robots.txt", TDMREP] } else { vec!["/robots.txt"] };
        assert_eq!(seen, wanted, "{purposes:?} {tdmrep:?}");
    }
}

/// Whatever family decides, the record shows it: the file or line, what it says, and how far that was read.
#[tokio::test(start_paused = true)]
async fn every_family_that_decides_stands_in_the_record() {
    let licence = "<rsl xmlns=\"https://rslstandard.org/rsl\"><content url=\"/\"><license>\
                   <permits type=\"usage\">search</permits></license></content></rsl>";
    let robots = "User-agent: *\nLicense: https://lic.example/l.xml\nContent-Signal: search=yes\nAllow: /\n\n\
                  User-agent: GPTBot\nDisallow: /\n\nUser-agent: __usage_ai-training\nDisallow: /\n";
    let text = |body: &str| Answer::status(200).content("text/plain", body.to_owned());
    let site = Site::new()
        .name("a.example")
        .robots(robots)
        .page("/.well-known/tdmrep.json", text(r#"[{"location":"/","tdm-reservation":1}]"#))
        .page("/ai.txt", text("User-agent: *\nDisallow: /\n"))
        .page("/trust.txt", text("datatrainingallowed=no\n"));
    let mut profile = Profile::default();
    profile.gateway.customer.purposes = vec!["ai_train".parse().unwrap()];
    profile.ask = AskFiles { tdmrep: AskTdmrep::Always, ai_txt: true, trust_txt: true, licences: true, terms: false };
    profile.options.others_tokens = OthersTokens::Deny { least: 1 };
    let room = profile.open([site, Site::new().name("lic.example").page("/l.xml", text(licence))]).unwrap();
    let record = room.decide(&json!({"url": "http://a.example/x"})).await;
    assert_eq!((&record["verdict"], &record["reason"]), (&json!("deny"), &json!("signal.ai_train")), "{record:#}");
    let of = |source: &str| {
        let all = record["signals"].as_array().unwrap().iter();
        all.filter(|one| one["source"] == json!(source)).cloned().collect::<Vec<_>>()
    };
    let denying = ["robots.policy-token", "robots.ai-token", "derived.tdm", "ai.txt", "trust.txt"];
    for source in denying {
        let said = of(source);
        assert!(
            said.iter().any(|one| one["key"] == json!("ai-train") && one["value"] == json!("no")),
            "{source}: {record:#}"
        );
        assert!(said.iter().all(|one| one["spec"].is_string()), "{source}");
    }
    assert_eq!(of("tdmrep.file")[0]["reservation"], json!(true));
    assert_eq!(of("derived.tdm")[0]["derived"], json!(true));
    assert!(!of("robots.content-signal").is_empty());
    assert_eq!(record["tdmrep"]["state"], json!("read"));
    assert_eq!(record["ai_txt"]["state"], json!("read"));
    let licences = record["licences"].as_array().unwrap();
    assert_eq!(licences.len(), 1, "{record:#}");
    assert_eq!(
        (&licences[0]["url"], &licences[0]["carrier"]),
        (&json!("https://lic.example/l.xml"), &json!("robots.txt"))
    );
    assert_eq!(record["others"], json!({"ai_train": {"named": ["GPTBot"], "denied": ["GPTBot"]}}));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_asked_is_a_400_that_says_what() {
    let room = Profile::default().open([site()]).unwrap();
    let rows = [
        ("{}", "url"),
        ("", "EOF"),
        ("{\"url\":\"http://a.example/\",\"agent\":\"x\"}", "agent"),
        ("{\"url\":\"http://a.example/\",\"mode\":\"reserve\"}", "not yet built"),
        ("{\"url\":\"http://a.example/\",\"mode\":\"spend\"}", "unknown mode"),
        ("{\"url\":\"http://a.example/\",\"visibility\":\"origin\"}", "not yet built"),
        ("{\"url\":\"http://a.example/\",\"vantage\":\"DE\"}", "vantage is not yet built"),
        ("{\"url\":\"http://a.example/\",\"connection_id\":7}", "connection_id is not yet built"),
        ("{\"url\":\"a.example\"}", "url:"),
        ("{\"url\":\"ftp://a.example/\"}", "neither http nor https"),
    ];
    for (body, says) in rows {
        let reply = room.ask_api("POST", "/v1/decide", body, Some(KEY)).await;
        assert_eq!((reply.status, reply.field("content-type")), (400, Some("application/problem+json")), "{body}");
        assert!(reply.json()["detail"].as_str().unwrap().contains(says), "{body}: {}", reply.body);
    }
    assert_eq!(room.seen(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn objections_of_the_network_are_verdicts() {
    let room = Profile::default().open([site()]).unwrap();
    let url = "http://a.example/x";
    let rows = [
        (json!({"url": url, "client": "c2"}), "auth.invalid"),
        (json!({"url": url, "token": "Googlebot"}), "auth.token"),
        (json!({"url": url, "purposes": ["ai-train"]}), "auth.purpose"),
        (json!({"url": url, "method": "POST"}), "target.method"),
        (json!({"url": "http://a.example:25/"}), "target.port"),
        (json!({"url": "http://127.0.0.1/"}), "target.address"),
    ];
    for (question, reason) in rows {
        let record = room.decide(&question).await;
        assert_eq!((&record["verdict"], &record["reason"]), (&json!("deny"), &json!(reason)), "{question}");
    }
    let fine = json!({"url": url, "client": "c1", "token": "CUSTBOT", "purposes": ["search"], "method": "HEAD",
                      "user_agent": "x", "mode": "peek", "visibility": "path", "max_wait_ms": 100});
    assert_ne!(room.decide(&fine).await["verdict"], json!("deny"));
}

#[tokio::test(start_paused = true)]
async fn a_site_whose_robots_txt_takes_too_long_is_closed_for_now() {
    let slow = Answer::text("").delay(Duration::from_secs(5));
    let room = Profile::default().open([Site::new().name("a.example").robots_answer(slow)]).unwrap();
    let pending = room.decide(&json!({"url": "http://a.example/x", "max_wait_ms": 1000})).await;
    assert_eq!((&pending["verdict"], &pending["reason"]), (&json!("deny"), &json!("robots.unreachable")));
    assert_eq!((&pending["retry_after_ms"], &pending["robots"]["state"]), (&json!(1000), &json!("unreachable")));
    tokio::time::sleep(Duration::from_secs(60)).await;
    let known = room.decide(&json!({"url": "http://a.example/x"})).await;
    assert_eq!((&known["verdict"], &known["reason"]), (&json!("allow"), &json!("ok.no_rules")));
    assert_eq!(room.seen().len(), 1, "the first question's fetch went on");
}

#[tokio::test(start_paused = true)]
async fn the_key_opens_decisions_and_nothing_else_does() {
    let room = Profile::default().open([site()]).unwrap();
    for key in [None, Some("wrong"), Some("")] {
        let reply = room.ask_api("POST", "/v1/decide", "{\"url\":\"http://a.example/\"}", key).await;
        assert_eq!(reply.status, 401, "{key:?}");
        assert!(reply.field("www-authenticate").unwrap().starts_with("Bearer"));
    }
    let large = format!("{{\"url\":\"http://a.example/{}\"}}", "x".repeat(70 << 10));
    assert_eq!(room.ask_api("POST", "/v1/decide", &large, Some(KEY)).await.status, 413);
    for (method, path, status) in [
        ("GET", "/livez", 200),
        ("HEAD", "/readyz", 200),
        ("GET", "/readyz", 200),
        ("POST", "/livez", 405),
        ("GET", "/v1/decide", 405),
        ("GET", "/", 404),
        ("POST", "/v1/report", 404),
    ] {
        let reply = room.ask_api(method, path, "", None).await;
        assert_eq!(reply.status, status, "{method} {path}");
        assert_eq!(reply.field("cache-control"), Some("no-store"), "{method} {path}");
    }
    let ready: Value = room.ask_api("GET", "/readyz", "", None).await.json();
    assert_eq!(ready, json!({"ready": true, "failing": []}));
    assert_eq!(room.seen(), Vec::<String>::new());
}
