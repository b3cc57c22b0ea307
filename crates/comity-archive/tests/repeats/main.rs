//! Captures that repeat an earlier one, and the index beside each WARC file.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod wacz;

use std::path::Path;

use comity_archive::{Archive, ArchiveConfig, Context, Earlier, Event, Fetched, Stored, WarcFormat, WarcRecord};
use comity_policy::{Capture, Digest, Errand, Reason, Truncation};
use common::*;

const PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

fn body() -> Vec<u8> {
    b"a page of some length ".repeat(40)
}

fn whole(target: &str) -> Capture {
    let body = body();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nX-At: {target}\r\n\r\n",
        body.len()
    );
    capture(target, head.as_bytes(), &body)
}

fn not_modified(target: &str) -> Capture {
    capture(target, b"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 880\r\n\r\n", b"")
}

fn repeating(capture: Capture, earlier: &Earlier) -> Event {
    let Event::Fetched(event) = page(capture) else { panic!("a page is fetched") };
    Event::Fetched(Box::new(Fetched { earlier: Some(earlier.clone()), ..*event }))
}

fn dedup() -> ArchiveConfig {
    ArchiveConfig { dedup: true, ..config() }
}

/// Appends and closes.
fn store(dir: &Path, config: ArchiveConfig, events: &[Event]) -> Vec<Stored> {
    let mut archive: Archive = open(dir, config, 1);
    let stored = events.iter().map(|event| archive.append(event).unwrap()).collect();
    archive.close().unwrap();
    stored
}

fn of_kind(dir: &Path, kind: &str) -> Vec<WarcRecord> {
    warc_records(dir).into_iter().filter(|record| record.kind() == kind).collect()
}

/// What a revisit says of the capture it repeats.
fn check_points_at(revisit: &WarcRecord, profile: &str, original: &WarcRecord) {
    let field = |name| revisit.field(name);
    assert_eq!(field("WARC-Profile"), Some(profile));
    assert_eq!(field("WARC-Refers-To"), original.field("WARC-Record-ID"));
    assert_eq!(field("WARC-Refers-To-Target-URI"), original.field("WARC-Target-URI"));
    assert_eq!(field("WARC-Refers-To-Date"), original.field("WARC-Date"));
    assert_eq!(field("Content-Type"), Some("application/http; msgtype=response"));
    let (head, payload) = revisit.http().unwrap();
    assert!(payload.is_empty() && head.ends_with(b"\r\n\r\n"), "the head only");
}

#[test]
fn a_body_stored_before_is_pointed_at_with_its_own_head() {
    let dir = tempfile::tempdir().unwrap();
    let events = ["https://a.test/1", "https://b.test/2", "https://a.test/1"].map(|url| page(whole(url)));
    let stored = store(dir.path(), dedup(), &events);
    let (responses, revisits) = (of_kind(dir.path(), "response"), of_kind(dir.path(), "revisit"));
    assert_eq!((responses.len(), revisits.len()), (1, 2));
    for (revisit, target) in revisits.iter().zip(["https://b.test/2", "https://a.test/1"]) {
        check_points_at(revisit, PAYLOAD, &responses[0]);
        assert_eq!(revisit.field("WARC-Payload-Digest"), responses[0].field("WARC-Payload-Digest"));
        assert_eq!(revisit.field("WARC-Truncated"), Some("length"));
        assert_eq!(revisit.field("WARC-Target-URI"), Some(target));
        let head = String::from_utf8(revisit.block.clone()).unwrap();
        assert!(head.contains(&format!("X-At: {target}\r\n")), "its own head, not that of the first: {head}");
    }
    let id = responses[0].field("WARC-Record-ID").unwrap().trim_matches(['<', '>']);
    for (line, stored) in lines(dir.path()).iter().zip(&stored) {
        let earlier = stored.capture.clone().unwrap();
        assert_eq!((earlier.record_id.as_deref(), earlier.url.as_str()), (Some(id), "https://a.test/1"));
        let record = line.record().unwrap().unwrap();
        let repeats = record.response.unwrap().repeats;
        assert_eq!(repeats.is_some(), stored.seq > 0);
        if let Some(repeats) = repeats {
            assert_eq!((repeats.record.as_deref(), repeats.profile.as_str()), (Some(id), "identical-payload-digest"));
        }
        let place = record.warc.unwrap().response.unwrap();
        let there = warc_records(dir.path()).into_iter().find(|found| found.offset == place.offset).unwrap();
        assert_eq!(there.kind(), if stored.seq > 0 { "revisit" } else { "response" });
    }
    // Concurrent records point at the revisit as they would at a response.
    let requests = of_kind(dir.path(), "request");
    assert_eq!(requests[1].field("WARC-Concurrent-To"), revisits[0].field("WARC-Record-ID"));
}

#[test]
fn what_the_site_says_is_unchanged_points_at_what_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), config(), 1);
    let first = archive.append(&page(whole("https://a.test/1"))).unwrap().capture.unwrap();
    let again = archive.append(&repeating(not_modified("https://a.test/1"), &first)).unwrap().capture.unwrap();
    assert_eq!(again, first, "a chain is resolved: the capture that holds the content");
    archive.append(&repeating(whole("https://a.test/1"), &again)).unwrap();
    // Nobody says what it repeats: an answer like any other.
    archive.append(&page(not_modified("https://a.test/2"))).unwrap();
    archive.close().unwrap();
    let (responses, revisits) = (of_kind(dir.path(), "response"), of_kind(dir.path(), "revisit"));
    assert_eq!((responses.len(), revisits.len()), (2, 2));
    check_points_at(&revisits[0], NOT_MODIFIED, &responses[0]);
    check_points_at(&revisits[1], PAYLOAD, &responses[0]);
    assert_eq!(revisits[0].field("WARC-Payload-Digest"), None, "a 304 has no payload");
    assert_eq!(revisits[0].field("WARC-Truncated"), None);
}

/// An answer of this status with the body of a page.
fn answer(status: u16, target: &str) -> Capture {
    let body = body();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n", body.len());
    capture(target, head.as_bytes(), &body)
}

#[test]
fn only_a_2xx_holds_content() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), dedup(), 1);
    for status in [204, 301, 302, 403, 404, 410, 500, 503] {
        let target = format!("https://a.test/{status}");
        let stored = archive.append(&page(answer(status, &target))).unwrap();
        assert_eq!(stored.capture.is_some(), status == 204, "{status}");
    }
    // The same bytes in an error repeat those of errors only.
    let first = archive.append(&page(answer(200, "https://a.test/204"))).unwrap().capture.unwrap();
    assert_eq!(first.url.as_str(), "https://a.test/204");
    // A 304 whose content lies in no WARC: stored as it came, and nothing to point at.
    let nowhere = Earlier { record_id: None, ..first };
    let event = repeating(not_modified("https://a.test/1"), &nowhere);
    assert_eq!(archive.append(&event).unwrap().capture, None);
    assert_eq!(archive.append(&page(not_modified("https://a.test/1"))).unwrap().capture, None);
    archive.close().unwrap();
    let targets = |kind| {
        let targets = of_kind(dir.path(), kind).into_iter();
        targets.map(|record| record.field("WARC-Target-URI").unwrap().to_owned()).collect::<Vec<_>>()
    };
    let wanted = ["204", "301", "1", "1"].map(|path| format!("https://a.test/{path}"));
    assert_eq!(targets("response"), wanted);
    for revisit in of_kind(dir.path(), "revisit") {
        let is_content = revisit.field("WARC-Target-URI") == Some("https://a.test/204");
        let wanted = if is_content { "https://a.test/204" } else { "https://a.test/301" };
        assert_eq!(revisit.field("WARC-Refers-To-Target-URI"), Some(wanted));
    }
}

#[test]
fn nothing_points_at_or_from_what_is_cut_tiny_other_or_evidence() {
    let cut = |target: &str| {
        let mut capture = whole(target);
        (capture.truncated, capture.fault) = (Some(Truncation::Length), Some(Reason::FetchTooLarge));
        page(capture)
    };
    let small = |target: &str| page(capture(target, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b"hello"));
    let robots = |target: &str| robots_txt("https://a.test", whole(target), None);
    let rows: [(&str, [Event; 2]); 4] = [
        ("from a whole one to a cut one", [cut("https://a.test/1"), page(whole("https://a.test/2"))]),
        ("from a cut one to a whole one", [page(whole("https://a.test/1")), cut("https://a.test/2")]),
        ("tiny", [small("https://a.test/1"), small("https://a.test/2")]),
        ("robots.txt", [robots("https://a.test/robots.txt"), robots("https://a.test/robots.txt")]),
    ];
    for (row, events) in rows {
        let dir = tempfile::tempdir().unwrap();
        store(dir.path(), dedup(), &events);
        assert_eq!((of_kind(dir.path(), "response").len(), of_kind(dir.path(), "revisit").len()), (2, 0), "{row}");
    }
    // The caller's word holds only where the bytes bear it out, and where the earlier capture lies in a WARC.
    let true_one = Earlier {
        record_id: Some("urn:uuid:1".into()),
        url: url("https://a.test/1"),
        date: whole("https://a.test/").started,
        payload_sha256: Digest::from_bytes([1; 32]),
    };
    let nowhere = Earlier { record_id: None, ..true_one.clone() };
    for (row, event) in [
        ("other bytes", repeating(whole("https://a.test/1"), &true_one)),
        ("no WARC", repeating(not_modified("https://a.test/1"), &nowhere)),
    ] {
        let dir = tempfile::tempdir().unwrap();
        store(dir.path(), dedup(), &[event]);
        assert_eq!(of_kind(dir.path(), "revisit").len(), 0, "{row}");
    }
    // Nor of a body too small to be worth it, an empty one above all, and up to the least that is.
    for length in [0, 1, 511, 512] {
        let same = || {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            capture("https://a.test/1", head.as_bytes(), &vec![b'x'; length])
        };
        let dir = tempfile::tempdir().unwrap();
        let mut archive = open(dir.path(), config(), 1);
        let first = archive.append(&page(same())).unwrap().capture.unwrap();
        let again = archive.append(&repeating(same(), &first)).unwrap().capture.unwrap();
        archive.close().unwrap();
        let repeats = usize::from(length == 512);
        assert_eq!(of_kind(dir.path(), "revisit").len(), repeats, "{length}");
        assert_eq!(again == first, repeats == 1, "{length}: what holds the content");
    }
    // And it is off unless asked for.
    let dir = tempfile::tempdir().unwrap();
    store(dir.path(), config(), &[page(whole("https://a.test/1")), page(whole("https://a.test/1"))]);
    assert_eq!(of_kind(dir.path(), "revisit").len(), 0);
}

#[test]
fn without_warc_files_records_still_say_what_repeats_what() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), ArchiveConfig { warc: false, ..dedup() }, 1);
    let first = archive.append(&page(whole("https://a.test/1"))).unwrap().capture.unwrap();
    assert_eq!(first.record_id, None);
    archive.append(&repeating(not_modified("https://a.test/1"), &first)).unwrap();
    archive.close().unwrap();
    let record = lines(dir.path())[1].record().unwrap().unwrap();
    let repeats = record.response.unwrap().repeats.unwrap();
    assert_eq!((repeats.record, repeats.url.as_str()), (None, "https://a.test/1"));
    assert_eq!(record.absent["response.repeats.record"], "no_warc");
}

#[test]
fn an_event_that_fails_leaves_the_others_and_the_index_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), dedup(), 1);
    archive.stage(&page(whole("https://a.test/1"))).unwrap();
    archive.stage(&Event::Fetched(Box::new(broken()))).unwrap_err();
    archive.stage(&page(whole("https://a.test/2"))).unwrap();
    archive.close().unwrap();
    let (responses, revisits) = (of_kind(dir.path(), "response"), of_kind(dir.path(), "revisit"));
    check_points_at(&revisits[0], PAYLOAD, &responses[0]);
    assert_eq!(check_index(dir.path()), 2);
}

/// An exchange whose body cannot be read.
fn broken() -> Fetched {
    #[derive(Debug)]
    struct Gone;
    impl comity_policy::StoredBody for Gone {
        fn length(&self) -> u64 {
            880
        }
        fn read_at(&self, _: &mut [u8], _: u64) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::NotFound.into())
        }
    }
    let capture =
        Capture { body: comity_policy::Spool::stored(std::sync::Arc::new(Gone)), ..whole("https://a.test/3") };
    let errand = Errand::Judged(decision(Reason::Ok, "allow", "/page"));
    Fetched { capture, errand, robots_copy: None, earlier: None, context: Context::default() }
}

#[test]
fn every_file_has_the_index_of_its_responses_and_revisits() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), ArchiveConfig { rollover: 6000, ..dedup() }, 1);
    for n in 0..12 {
        archive.stage(&page(whole(&format!("https://www.a.test/B{n}?y=1&x=%7C")))).unwrap();
        archive.stage(&refused("https://a.test/private", "/private")).unwrap();
    }
    archive.close().unwrap();
    assert!(files(dir.path(), "warc").len() > 1);
    assert_eq!(files(dir.path(), "warc").len(), indexes(dir.path()).len());
    assert_eq!(check_index(dir.path()), 12);
    let text = std::fs::read_to_string(&indexes(dir.path())[0]).unwrap();
    assert!(text.starts_with("test,a)/b0?x=|&y=1 20261130091501 {\"url\": \"https://www.a.test/B0?y=1&x=%7C\", \"mime\": \"text/html\", \"status\": \"200\", \"digest\": \"sha1:"), "{text}");
}

#[test]
fn zstd_files_hold_the_same_records_and_places() {
    let events: Vec<Event> = (0..6).map(|n| page(whole(&format!("https://a.test/{}", n % 4)))).collect();
    let read = |format: WarcFormat, end: &str| {
        let dir = tempfile::tempdir().unwrap();
        store(dir.path(), ArchiveConfig { format, ..dedup() }, &events);
        assert!(files(dir.path(), "warc").iter().all(|file| file.to_string_lossy().ends_with(end)));
        assert_eq!(check_index(dir.path()), 6);
        let records = warc_records(dir.path());
        let kept = |r: &WarcRecord| {
            (
                r.kind().to_owned(),
                r.field("WARC-Record-ID").map(str::to_owned),
                r.http().map(|(head, body)| (head.to_vec(), body.to_vec())),
            )
        };
        records.iter().map(kept).collect::<Vec<_>>()
    };
    assert_eq!(read(WarcFormat::Zstd, ".warc.zst"), read(WarcFormat::Gzip, ".warc.gz"));
}
