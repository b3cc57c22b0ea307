//! What lines that stay rest on: copies that are erased by name, and captures that are older than they are.

use comity_policy::{SiteCopy, SiteFile, SiteFileState, SiteRules};
use comity_signals::Tdmrep;

use super::*;

/// A page that was judged by a tdmrep.json, which then goes by its digest.
#[test]
fn a_tdmrep_copy_is_erased_by_its_digest() {
    let dir = tempfile::tempdir().unwrap();
    let text: &[u8] = b"[{\"location\": \"/x\", \"tdm-reservation\": 1}]";
    let address = url("http://a.test/.well-known/tdmrep.json");
    let at = WallTime::from_unix_millis(START);
    let mut archive = open(dir.path(), settings(WarcFormat::Gzip), 1);
    let mut evidence = EvidenceStore::open(dir.path()).unwrap();
    let copy = evidence.put(EvidenceKind::Tdmrep, &address, at, 200, Some(text)).unwrap().unwrap();
    let Event::Fetched(mut fetched) = page(capture("http://a.test/page", HEAD, &body(1, 1))) else { panic!("a page") };
    let mut judged = Arc::unwrap_or_clone(decision(Reason::Ok, "allow", "/page"));
    let mut robots = robots_evidence();
    robots.digest = None;
    judged.robots = robots.into();
    let rules = Arc::new(Tdmrep::parse(text, "http://a.test"));
    judged.site.tdmrep = Some(Arc::new(SiteFile {
        state: SiteFileState::Read,
        status: Some(200),
        asked: at,
        until: at,
        final_url: None,
        copy: Some(SiteCopy { digest: copy, fetched: at, rules: SiteRules::Tdmrep(rules) }),
    }));
    fetched.errand = Errand::Judged(Arc::new(judged));
    archive.append(&Event::Fetched(fetched)).unwrap();
    evidence.sync().unwrap();
    archive.close().unwrap();
    holds(dir.path());
    let report = erase(dir.path(), WarcFormat::Gzip, &erasure(Named::Payload(copy), Depth::Payload));
    assert_eq!((report.copies, report.sightings), (1, 1), "{report:?}");
    let event = lines(dir.path()).pop().unwrap().record().unwrap().unwrap().erasure.unwrap();
    assert_eq!(event.copies, [copy.to_string()]);
    holds(dir.path());
}

/// A page that does not change, visited each day: the body lies in the first capture, and is what the last one saw.
#[test]
fn a_body_that_a_younger_visit_repeats_stays() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), settings(WarcFormat::Gzip), 1);
    let visit = |path: &str, text: &[u8], day: i64| {
        let Event::Fetched(mut fetched) = page(capture(&format!("http://a.test/{path}"), HEAD, text)) else { panic!() };
        let mut judged = Arc::unwrap_or_clone(decision(Reason::Ok, "allow", "/"));
        let mut robots = robots_evidence();
        robots.digest = None;
        judged.robots = robots.into();
        fetched.errand = Errand::Judged(Arc::new(judged));
        fetched.capture.started = WallTime::from_unix_millis(START + day * 86_400_000);
        Event::Fetched(fetched)
    };
    let (same, once) = (b"the same each day. ".repeat(40), b"seen once, long ago. ".repeat(40));
    archive.append(&visit("once", &once, 0)).unwrap();
    let first = archive.append(&visit("daily", &same, 0)).unwrap().capture.unwrap();
    for day in 1..4 {
        let Event::Fetched(mut fetched) = visit("daily", &same, day) else { panic!() };
        fetched.earlier = Some(first.clone());
        archive.append(&Event::Fetched(fetched)).unwrap();
    }
    archive.close().unwrap();
    // Each cut, and what is left after it.
    for (day, payloads, left) in [(2, 1, 1), (3, 0, 1), (4, 1, 0)] {
        let before = Named::Before(WallTime::from_unix_millis(START + day * 86_400_000));
        let report = erase(dir.path(), WarcFormat::Gzip, &erasure(before, Depth::Payload));
        assert_eq!(report.payloads, payloads, "day {day}: {report:?}");
        assert_eq!(found_in(dir.path(), &["the same each day"]).len(), left, "day {day}");
        assert_eq!(found_in(dir.path(), &["seen once, long ago"]).len(), 0, "day {day}");
        holds(dir.path());
    }
}
