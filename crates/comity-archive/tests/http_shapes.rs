//! How heads are stored: wire bytes, changed only where they would lie, leak or lead a reader astray.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use bytes::Bytes;
use comity_archive::verify::{FaultKind, VerifyOptions, verify};
use comity_archive::{ArchiveConfig, Event, RawText, WarcRecord};
use comity_policy::{Capture, Protocol, Reason, Truncation};
use common::*;

/// The WARC records of one event, warcinfo left out.
fn stored(event: &Event) -> Vec<WarcRecord> {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), config(), 5);
    archive.append(event).unwrap();
    archive.close().unwrap();
    // However a head was mended, it is still the one of its line, which alone speaks for a file without a sum.
    std::fs::remove_file(dir.path().join("checkpoints.jsonl")).unwrap();
    let found = verify(dir.path(), &VerifyOptions::default()).unwrap();
    assert!(!found.totals.contains_key(&FaultKind::Content), "{:#?}", found.faults);
    warc_records(dir.path()).split_off(1)
}

fn stored_head(capture: Capture) -> String {
    let body = capture.body.len();
    let records = stored(&page(capture));
    assert_eq!(records[0].kind(), "response");
    let (head, payload) = records[0].http().unwrap();
    assert_eq!(payload.len() as u64, body);
    String::from_utf8_lossy(head).into_owned()
}

/// Stands for the head as received.
const SAME: &str = "same";

/// Name, head as received, body, head as stored.
const RESPONSE_HEADS: [(&str, &str, &str, &str); 22] = [
    ("untouched", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nx-CASE:v  \r\n\r\n", "abc", SAME),
    ("http/1.0, until close", "HTTP/1.0 200 OK\r\nServer: x\r\n\r\n", "abc", SAME),
    ("repeated equal lengths", "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\nContent-Length: 3\r\n\r\n", "abc", SAME),
    ("204", "HTTP/1.1 204 No Content\r\n\r\n", "", SAME),
    ("304 keeps the length of what it stands for", "HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n", "", SAME),
    ("empty body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", SAME),
    ("reason with other bytes", "HTTP/1.1 200 pas trouvé\r\n\r\n", "x", SAME),
    ("folded", "HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\n\r\n", "x", SAME),
    (
        "chunked",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nB: c\r\n\r\n",
        "abc",
        "HTTP/1.1 200 OK\r\nX-Crawler-Transfer-Encoding: chunked\r\nContent-Length: 3\r\nB: c\r\n\r\n",
    ),
    (
        "chunked, odd case, empty",
        "HTTP/1.1 200 OK\r\ntransfer-ENCODING : gzip, chunked\r\n\r\n",
        "",
        "HTTP/1.1 200 OK\r\nX-Crawler-transfer-ENCODING : gzip, chunked\r\nContent-Length: 0\r\n\r\n",
    ),
    (
        "chunked and a length",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "abc",
        "HTTP/1.1 200 OK\r\nX-Crawler-Content-Length: 3\r\nX-Crawler-Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
    ),
    (
        "chunked 304",
        "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
        "",
        "HTTP/1.1 304 Not Modified\r\nX-Crawler-Transfer-Encoding: chunked\r\n\r\n",
    ),
    (
        "cut short",
        "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n",
        "abc",
        "HTTP/1.1 200 OK\r\nX-Crawler-Content-Length: 900\r\nContent-Length: 3\r\n\r\n",
    ),
    (
        "length that is none",
        "HTTP/1.1 200 OK\r\nContent-Length: +3\r\nContent-Length: x\r\n\r\n",
        "abc",
        "HTTP/1.1 200 OK\r\nX-Crawler-Content-Length: +3\r\nX-Crawler-Content-Length: x\r\nContent-Length: 3\r\n\r\n",
    ),
    ("no space after the code", "HTTP/1.1 200\r\nA: b\r\n\r\n", "x", "HTTP/1.1 200 \r\nA: b\r\n\r\n"),
    ("other protocol", "ICY 200 OK\r\nA: b\r\n\r\n", "x", "HTTP/1.1 200 \r\nA: b\r\n\r\n"),
    ("version 2 in an h1 head", "HTTP/2 200 OK\r\n\r\n", "x", "HTTP/1.1 200 \r\n\r\n"),
    ("bare line feeds", "HTTP/1.1 200 OK\nA: b\n\n", "x", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
    ("NUL and bare CR", "HTTP/1.1 200 OK\r\nA: b\0c\rd\r\n\r\n", "x", "HTTP/1.1 200 OK\r\nA: b c d\r\n\r\n"),
    (
        "no colon",
        "HTTP/1.1 200 OK\r\nnonsense\r\n  : led by blanks\r\n\r\n",
        "x",
        "HTTP/1.1 200 OK\r\nX-Crawler-Line: nonsense\r\n  : led by blanks\r\n\r\n",
    ),
    ("a line of blanks", "HTTP/1.1 200 OK\r\n \t\r\nA: b\r\n\r\n", "x", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
    ("no end", "HTTP/1.1 200 OK\r\nA: b", "x", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
];

#[test]
fn response_heads() {
    for (name, head, body, expected) in RESPONSE_HEADS {
        let expected = if expected == SAME { head } else { expected };
        let mut capture = capture("http://a.test/", head.as_bytes(), body.as_bytes());
        capture.status = head.split_ascii_whitespace().nth(1).and_then(|code| code.parse().ok());
        assert_eq!(stored_head(capture), expected, "{name}");
    }
}

#[test]
fn an_answer_to_head_keeps_its_length() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n";
    let mut answer = capture("http://a.test/", head.as_bytes(), b"");
    answer.request_head = Bytes::from_static(b"HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    assert_eq!(stored_head(answer), head);
}

#[test]
fn h2_is_serialised_without_inventions() {
    let mut answer = capture("https://a.test/", b"", b"abc");
    answer.protocol = Protocol::H2;
    answer.request_head = Bytes::from_static(b"GET / HTTP/2\r\nhost: a.test\r\n\r\n");
    answer.status = Some(418);
    let field = |name: &str, value: &'static [u8]| (name.to_owned(), Bytes::from_static(value));
    answer.fields = vec![field(":status", b"418"), field("x-a", b"1"), field("x-a", b"2\r\nevil: 1"), field("", b"x")];
    let records = stored(&page(answer));
    assert_eq!(records[0].block, b"HTTP/1.1 418 \r\nx-a: 1\r\nx-a: 2  evil: 1\r\n\r\nabc");
    assert_eq!(records[1].block, b"GET / HTTP/1.1\r\nhost: a.test\r\n\r\n");
    for record in &records[..2] {
        assert_eq!(record.fields_named("WARC-Protocol").collect::<Vec<_>>(), ["h2", "tls/1.3"]);
    }
}

#[test]
fn secrets_are_written_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), config(), 5);
    let head = b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=hand-out\r\nContent-Length: 0\r\n\r\n";
    let mut answer = capture("http://a.test/", head, b"");
    answer.request_head = Bytes::from_static(
        b"GET / HTTP/1.1\r\nHost: a.test\r\nauthorization: Basic SECRET1\r\nCOOKIE: SECRET2;\r\n\tSECRET3\r\n\
          Proxy-Authorization : SECRET4\r\nProxy-Anything: SECRET5\r\nCookie2: SECRET6\r\nX-Open: seen\r\n\r\n",
    );
    archive.append(&page(answer)).unwrap();
    archive.close().unwrap();
    let records = warc_records(dir.path());
    let (head, _) = records[2].http().unwrap();
    let expected = "GET / HTTP/1.1\r\nHost: a.test\r\nauthorization: (withheld)\r\nCOOKIE: (withheld)\r\n\
                    Proxy-Authorization: (withheld)\r\nProxy-Anything: (withheld)\r\nCookie2: (withheld)\r\n\
                    X-Open: seen\r\n\r\n";
    assert_eq!(String::from_utf8_lossy(head), expected);
    let line = lines(dir.path()).remove(0);
    let record = line.record().unwrap().unwrap();
    assert_eq!(record.request.unwrap().head, RawText::Text(expected.to_owned()));
    assert_eq!(record.response.unwrap().fields[0].1, RawText::Text("(withheld)".to_owned()));
    assert!(!line.to_text().contains("SECRET") && !line.to_text().contains("hand-out"));
    assert!(records.iter().all(|r| !String::from_utf8_lossy(&r.block).contains("SECRET")));
}

#[test]
fn truncation_is_named() {
    let rows = [Truncation::Length, Truncation::Time, Truncation::Disconnect, Truncation::Unspecified];
    for kind in rows {
        let mut cut = capture("http://a.test/", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"abc");
        (cut.truncated, cut.fault) = (Some(kind), Some(Reason::FetchReset));
        let records = stored(&page(cut));
        assert_eq!(records[0].field("WARC-Truncated"), Some(kind.as_str()));
        assert!(records[1..].iter().all(|r| r.field("WARC-Truncated").is_none()));
    }
}

#[test]
fn a_failed_fetch_has_what_there_was() {
    let failed = |sent: bool| {
        let mut capture = capture("http://a.test/", b"", b"");
        (capture.status, capture.fault) = (None, Some(Reason::FetchTimeoutHead));
        capture.detail = Some("waited\r\nWARC-Type: response".to_owned());
        if !sent {
            capture.request_head = Bytes::new();
        }
        stored(&page(capture))
    };
    let sent = failed(true);
    assert_eq!(sent.iter().map(WarcRecord::kind).collect::<Vec<_>>(), ["request", "metadata"]);
    assert_eq!(sent[1].field("WARC-Concurrent-To"), sent[0].field("WARC-Record-ID"));
    let unsent = failed(false);
    assert_eq!(unsent.iter().map(WarcRecord::kind).collect::<Vec<_>>(), ["metadata"]);
    assert_eq!(unsent[0].field("WARC-Concurrent-To"), None);
    let text = String::from_utf8_lossy(&unsent[0].block).into_owned();
    assert!(text.contains("comity-outcome: failed\r\ncomity-reason: fetch.timeout.head\r\n"), "{text}");
    assert!(text.contains("comity-detail: waited\\r\\nWARC-Type: response\r\n"), "{text}");
}

#[test]
fn what_was_changed_is_said() {
    let icy = capture("http://a.test/", b"ICY 200 OK\r\nbroken\r\n\r\n", b"x");
    let text = String::from_utf8_lossy(&stored(&page(icy))[2].block).into_owned();
    assert!(text.contains("comity-status-line: ICY 200 OK\r\n") && text.contains("comity-head-mended: response\r\n"));
}

#[test]
fn a_crawl_without_warc_still_has_whole_records() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), ArchiveConfig { warc: false, ..config() }, 5);
    let stored = archive.append(&page(capture("http://a.test/", b"HTTP/1.1 200 OK\r\n\r\n", b"abc"))).unwrap();
    archive.close().unwrap();
    assert_eq!(stored.warc, None);
    assert!(files(dir.path(), "warc").is_empty());
    let record = lines(dir.path())[0].record().unwrap().unwrap();
    assert_eq!(record.response.unwrap().body_length, 3);
    assert_eq!(record.absent["warc"], "no_warc");
}
