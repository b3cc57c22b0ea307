//! Overrides and opt-outs as evidence: in record lines, in WARC metadata, and at the head of every WARC file.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::sync::Arc;

use comity_archive::{Basis, Content, CrawlFacts, Event, Fetched, Line};
use comity_policy::{
    Decision, Errand, Lifted, OptOut, OptOutAction, OptOutLine, Overridden, OverrideDraft, OverrideScope, Overrides,
    Reason, WallTime,
};
use common::*;
use serde_json::{Value, json};

fn overrides() -> Overrides {
    let draft = OverrideDraft {
        origins: vec!["https://a.test".into(), "http://a.test".into()],
        scope: vec!["rate".into(), "robots".into()],
        basis: Some("written_permission".into()),
        justification: Some("Letter of the owner, filed as 2026/17".into()),
        approved_by: Some("Ann Example".into()),
        created: Some("2026-11-01T00:00:00Z".parse().unwrap()),
        expires: Some("2027-01-01T00:00:00Z".parse().unwrap()),
        ..OverrideDraft::default()
    };
    Overrides::new(&[draft]).unwrap()
}

/// A decision that an override let through.
fn lifting(overrides: &Overrides) -> Decision {
    let lifted = vec![
        Lifted { scope: OverrideScope::Rate, reason: Reason::RateCrawlDelay },
        Lifted { scope: OverrideScope::Robots, reason: Reason::RobotsDisallow },
    ];
    let hit = Overridden { by: overrides.all()[0].clone(), lifted };
    Decision { overridden: Some(Arc::new(hit)), ..(*decision(Reason::OkOverride, "disallow", "/page")).clone() }
}

/// A decision that an opt-out refused.
fn refusing() -> Decision {
    let target = "a.test".parse().unwrap();
    let at = WallTime::from_unix_millis(START - 1000);
    let line = OptOutLine::new(OptOutAction::Add, target, "owner@a.test", "letter", at).unwrap();
    let found = OptOut { line, file: "optout.jsonl".into(), number: 7 };
    Decision { optout: Some(Arc::new(found)), rule: None, ..(*decision(Reason::Optout, "allow", "/")).clone() }
}

/// A page by the one, a refusal by the other.
fn written(dir: &Path) {
    let overrides = overrides();
    let errand = Errand::Judged(Arc::new(lifting(&overrides)));
    let mut settings = config();
    settings.crawl = CrawlFacts { overrides, ..settings.crawl };
    let mut archive = open(dir, settings, 1);
    let capture = capture("https://a.test/page", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", b"x");
    archive
        .append(&Event::Fetched(Box::new(Fetched {
            capture,
            errand,
            robots_copy: None,
            earlier: None,
            context: context(),
        })))
        .unwrap();
    let Event::NotFetched(mut event) = refused("https://www.a.test/", "/") else { panic!("not fetched") };
    (event.reason, event.basis) = (Reason::Optout, Basis::Decision(Arc::new(refusing())));
    archive.append(&Event::NotFetched(event)).unwrap();
    archive.close().unwrap();
}

#[test]
fn records_name_what_was_lifted_and_who_opted_out() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path());
    let body = |line: &Line| match &line.content {
        Content::Kept { body, .. } => serde_json::from_str::<Value>(body).unwrap(),
        Content::Erased(_) => panic!("erased"),
    };
    let [page, refused] = lines(dir.path()).iter().map(body).collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(page["reason"], "ok.override");
    assert_eq!(page["rule"]["kind"], "disallow", "the rule that would have refused");
    assert_eq!(
        page["decision"]["override"],
        json!({
            "approved_by": "Ann Example",
            "basis": "written_permission",
            "expires": "2027-01-01T00:00:00.000Z",
            "id": "a.test-20261101",
            "lifted": [
                {"reason": "rate.crawl_delay", "scope": "rate"},
                {"reason": "robots.disallow", "scope": "robots"},
            ],
        })
    );
    assert_eq!((&page["decision"]["optout"], &page["absent"]["decision.optout"]), (&Value::Null, &"no_optout".into()));
    assert_eq!(
        (&refused["reason"], &refused["absent"]["decision.override"]),
        (&"optout".into(), &"no_override".into())
    );
    assert_eq!(
        refused["decision"]["optout"],
        json!({
            "at": "2026-11-30T09:14:59.250Z",
            "file": "optout.jsonl",
            "line": 7,
            "requested_by": "owner@a.test",
            "target": "a.test",
        })
    );
}

#[test]
fn a_warc_file_begins_with_the_overrides_and_metadata_name_what_was_lifted() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path());
    let records = warc_records(dir.path());
    let block = |kind: &str| {
        let record = records.iter().find(|record| record.kind() == kind).unwrap();
        String::from_utf8(record.block.clone()).unwrap()
    };
    let first = block("warcinfo").lines().next().unwrap().to_owned();
    let begins = "comity-override: a.test-20261101: robots, rate for http://a.test, https://a.test";
    assert!(first.starts_with(begins), "{first}");
    assert!(
        first.ends_with("written_permission, approved by Ann Example: Letter of the owner, filed as 2026/17"),
        "{first}"
    );
    let metadata = block("metadata");
    assert!(metadata.contains("\r\ncomity-override: a.test-20261101 rate rate.crawl_delay\r\n"), "{metadata}");
    assert!(metadata.contains("\r\ncomity-override: a.test-20261101 robots robots.disallow\r\n"), "{metadata}");
}
