//! A report of records that somebody else could have written: numbers, and nothing that is more than text.

use std::path::Path;

use serde_json::{Value, json};

use super::*;

const DIGEST: &str = "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c";
/// What somebody writes who wants to be more than text.
const HOSTILE: &str = "</script></style></title><img src=x onerror=alert(1)>\"'&<!--\u{202e}\u{1b}[2J\u{2066}\n]]>";

/// A visit of a page at `at` seconds, of a second's delay.
fn page(url: &str, at: u32, outcome: &str) -> Value {
    let answered = outcome == "fetched";
    let response = json!({"status": 200, "body_length": 1000, "fields": [["retry-after", HOSTILE]], "repeats": null});
    let started = format!("2026-11-30T10:{:02}:{:02}.000Z", at / 60, at % 60);
    json!({
        "url": url, "errand": "page", "outcome": outcome, "reason": if answered { "ok" } else { "robots.disallow" }, "crawl": "c",
        "agent": {"config_digest": null, "contact": "a@example.com", "purposes": ["search"], "user_agent": "MyBot/1.0"},
        "discovery": {"attempt": 1, "depth": 1}, "request": if answered { json!({"method": "GET"}) } else { Value::Null },
        "response": if answered { response } else { Value::Null },
        "robots": {"for_origin": "http://a.test", "state": "fresh", "digest": DIGEST, "crawl_delay_ms": 2000}, "rule": null, "signals": [],
        "decision": {"purposes": {"search": {"decision": "proceed", "verdict": "unspecified"}}},
        "time": {"body_ms": 10, "ended": started.clone(), "head_ms": 20, "started": started, "total_ms": 40},
        "vantage": {"server_ip": "192.0.2.1"},
    })
}

fn report(records: &[Value]) -> Report {
    report_in(Path::new("/nowhere"), records)
}

fn report_in(dir: &Path, records: &[Value]) -> Report {
    let mut report = Report::default();
    let mut limits = Limits::new(dir);
    for (record, seq) in records.iter().zip(0..) {
        let text = record.to_string();
        report.take(seq, &Entry::parse(seq, &text).unwrap(), &mut limits).unwrap();
    }
    report.origins.end();
    report
}

#[test]
fn numbers_are_those_of_the_records() {
    let mut against = page("http://a.test/rule", 9, "fetched");
    against["rule"] = json!({"kind": "disallow"});
    let mut closed = page("http://a.test/b", 5, "fetched");
    closed["robots"]["crawl_delay_ms"] = json!(4000);
    let records = [
        page("http://a.test/", 1, "fetched"),
        page("http://a.test/no", 2, "not_fetched"),
        closed,
        against,
        page("http://b.test/", 3, "failed"),
    ];
    let said = report(&records).json();
    assert_eq!(said["pages"]["answered"], 3, "{said}");
    assert_eq!(
        (&said["pages"]["skipped"], &said["pages"]["failed"], &said["pages"]["bytes"]),
        (&json!(1), &json!(1), &json!(3000))
    );
    let a = said["origins"].as_array().unwrap().iter().find(|one| one["origin"] == "http://a.test").unwrap();
    // Heads came 30 ms after the begin: 3,970 ms where 4,000 were due, then 3,970 where 2,000 were.
    assert_eq!((&a["violations"], &a["measured"], &a["tightest"]), (&json!(1), &json!(2), &json!([3970, 4000])), "{a}");
    assert_eq!((&a["robots"], &a["digest"], &a["asked_ms"]), (&json!("fresh"), &json!(DIGEST), &json!(4000)));
    assert_eq!((&said["politeness"]["violations"], &said["politeness"]["against_rule"]), (&json!(1), &json!(1)));
    let buckets = said["timeline"]["buckets"].as_array().unwrap();
    assert_eq!(buckets.iter().map(|one| one["answered"].as_u64().unwrap()).sum::<u64>(), 3);
}

#[test]
fn nothing_from_outside_is_more_than_text() {
    let mut one = page(&format!("http://a.test/{HOSTILE}"), 1, "not_fetched");
    for field in ["reason", "crawl"] {
        one[field] = json!(HOSTILE);
    }
    one["agent"]["user_agent"] = json!(HOSTILE);
    one["agent"]["contact"] = json!(HOSTILE);
    one["agent"]["purposes"] = json!([HOSTILE]);
    one["signals"] = json!([{"source": HOSTILE, "purpose": HOSTILE, "verdict": HOSTILE}]);
    one["decision"]["purposes"] = json!({HOSTILE: {"decision": HOSTILE, "verdict": HOSTILE}});
    one["decision"]["grants"] = json!([{"basis": HOSTILE, "purpose": HOSTILE, "reference": HOSTILE}]);
    let mut sent = page(&format!("http://{}/", HOSTILE.replace('/', "")), 2, "fetched");
    sent["robots"] = json!({"for_origin": HOSTILE, "state": HOSTILE, "digest": HOSTILE, "crawl_delay_ms": 5});
    sent["decision"]["override"] = json!({"id": HOSTILE, "lifted": [{"reason": HOSTILE, "scope": HOSTILE}]});
    sent["errand"] = json!(HOSTILE);
    let mut withheld = page("http://a.test/w", 4, "fetched");
    withheld["outcome"] = json!("withheld");
    withheld["reason"] = json!(HOSTILE);
    let mut report = report(&[one, sent, withheld, page(HOSTILE, 3, "failed")]);
    let config = toml::Table::try_from(json!({"override": [{"justification": HOSTILE, HOSTILE: HOSTILE}]})).unwrap();
    report.exceptions.written(&config);
    report.standing.waiting.push(standing::Waits { origin: HOSTILE.to_owned(), queued: 1, says: HOSTILE.to_owned() });
    report.evidence.latest.push_back(comity_archive::Sighting {
        kind: comity_archive::EvidenceKind::RobotsTxt,
        url: HOSTILE.to_owned(),
        fetched: HOSTILE.to_owned(),
        status: 200,
        digest: Some(HOSTILE.to_owned()),
        bytes: 1,
    });
    report.evidence.kinds.insert(HOSTILE.to_owned(), evidence::Kind::default());
    let html = report.html();
    for mark in ["<img", "<script", "</script", "\u{202e}", "\u{1b}", "\u{2066}", "<!--", "]]>\n"] {
        assert!(!html.contains(mark), "{mark:?}");
    }
    assert_eq!(
        (html.matches("</style>").count(), html.matches("</title>").count()),
        (1, 1 + html.matches("role=\"img\"").count())
    );
    assert!(html.contains("&lt;/script&gt;") && html.contains("default-src 'none'"));
    // No attribute but those that we write holds a text from outside.
    assert!(!html.contains("onerror=alert(1)>") && !html.contains("\"'&<"), "{html}");
    let text = report.text();
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
}

#[test]
fn a_page_of_many_origins_is_bounded_and_says_how_many_more() {
    let records: Vec<Value> = (0..700).map(|n| page(&format!("http://h{n}.test/"), n % 3000, "fetched")).collect();
    let report = report(&records);
    let html = report.html();
    assert!(html.contains("and 200 more: see --json"));
    assert_eq!(report.json()["origins"].as_array().unwrap().len(), 700);
}

/// A crawl's directory with two origins: addresses that nobody asks.
fn crawled() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let crawler = comity::Crawler::builder("MyBot/1.0 (+https://example.com/bot)")
        .dir(dir.path())
        .seed("http://127.0.0.1:1/")
        .seed("http://127.0.0.2:1/")
        .configure(|file| file.archive.min_free = Some(comity::config::ByteSize(0)));
    let run = async { crawler.build().unwrap().run().await.unwrap() };
    crate::commands::runtime().unwrap().block_on(run);
    dir
}

/// Whenever an erasure begins or ends between the reading and the page: what it took out does not come back.
#[test]
fn a_page_that_was_read_before_an_erasure_is_not_left() {
    let read = |dir: &Path| Report::read(dir, String::new(), Standing::default()).unwrap();
    let home = crawled();
    let dir = home.path();
    let page = dir.join(FILE);
    let before = read(dir);
    let url = "http://127.0.0.1:1";
    write(&before, dir, &page).unwrap();
    assert!(std::fs::read_to_string(&page).unwrap().contains(url));
    // Under way.
    std::fs::write(dir.join("erasing.json"), "{}").unwrap();
    assert!(write(&before, dir, &page).unwrap_err().contains("erasure"));
    assert!(!page.exists());
    std::fs::remove_file(dir.join("erasing.json")).unwrap();
    // Done.
    erase(dir, url);
    assert!(write(&before, dir, &page).unwrap_err().contains("erasure"));
    assert!(!page.exists());
    write(&read(dir), dir, &page).unwrap();
    assert!(!std::fs::read_to_string(&page).unwrap().contains(url), "made anew, it is without");
}

fn erase(dir: &Path, origin: &str) {
    use clap::Parser as _;
    let dir = dir.to_str().unwrap();
    let words = ["comity", "erase", dir, "--origin", origin, "--records", "--reason", "asked", "--request", "R-1"];
    let crate::args::Command::Erase(args) = crate::args::Cli::try_parse_from(words).unwrap().command else {
        panic!("another command")
    };
    crate::commands::erase::run(&args).unwrap();
}

#[test]
fn a_floor_is_known_from_what_any_version_wrote_and_one_that_is_not_makes_no_clean_page() {
    let floors = [
        ("configs", "[politeness]\ndelay = \"10s\"\n", true),
        ("configs", "[politeness]\ndelay = \"10s\"\na_key_of_tomorrow = 1\n[tomorrow]\nx = 1\n", true),
        ("crawl.toml", "[politeness]\ndelay = \"10s\"\n", true),
        ("nowhere", "[politeness]\ndelay = \"10s\"\n", false),
        ("configs", "[politeness]\n", false),
        ("configs", "[politeness]\ndelay = 10\n", false),
        ("configs", "no TOML", false),
    ];
    for (place, text, is_known) in floors {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("configs")).unwrap();
        let digest = crate::commands::report::configs::digest(text);
        match place {
            "configs" => std::fs::write(dir.path().join(format!("configs/{digest}.toml")), text).unwrap(),
            "crawl.toml" => std::fs::write(dir.path().join("crawl.toml"), text).unwrap(),
            _ => {}
        }
        // Five seconds apart: kept of the Crawl-delay, and not of the floor.
        let records = [1, 6].map(|at| {
            let mut one = page("http://a.test/", at, "fetched");
            one["agent"]["config_digest"] = json!(digest);
            one
        });
        let report = report_in(dir.path(), &records);
        let (said, html) = (report.json(), report.html());
        let expected = if is_known { (1, 0) } else { (0, 2) };
        let politeness = &said["politeness"];
        assert_eq!(
            (&politeness["violations"], &politeness["floor_unknown"]),
            (&json!(expected.0), &json!(expected.1)),
            "{place} {text}"
        );
        assert!(!html.contains("<li class=\"good\">") && !html.contains("came earlier than"), "{place} {text}");
        assert_eq!(html.contains("is not kept, or does not say"), !is_known, "{place} {text}");
    }
}

#[test]
fn a_record_of_another_version_is_told_as_such() {
    let mut other = page("http://a.test/", 1, "fetched");
    other.as_object_mut().unwrap().remove("errand");
    let text = other.to_string();
    let told = Entry::parse(7, &text).unwrap_err();
    assert!(told.contains("record 7") && told.contains("this version of comity") && told.contains("errand"), "{told}");
}
