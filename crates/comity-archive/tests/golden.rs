//! The exact shape of what is written, after inflating: compressed bytes differ between deflate back ends, so what
//! follows from them (offsets, lengths, and the commitments over these) is masked, and so is the version.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use comity_archive::{ArchiveConfig, Content, Line, WarcRecord};
use comity_policy::Digest;
use common::*;

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\nX-Name:  kept as sent \r\n\r\n";

#[test]
fn a_small_crawl_has_exactly_these_records() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), config(), 1);
    let copy = Digest::from_bytes([7; 32]);
    let robots_head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
    let robots = capture("https://a.test/robots.txt", robots_head, b"User-agent: *\n");
    archive.append(&robots_txt("https://a.test", robots, Some(copy))).unwrap();
    archive.append(&page(capture("https://a.test/page?q=a|b", HEAD, b"hello"))).unwrap();
    archive.append(&refused("https://a.test/private", "/private")).unwrap();
    archive.close().unwrap();

    let text: String = warc_records(dir.path()).iter().map(shown).collect();
    check("small.txt", include_str!("golden/small.txt"), &text);
}

#[test]
fn record_bodies_are_exactly_these() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), ArchiveConfig { warc: false, ..config() }, 1);
    archive.append(&page(capture("https://a.test/page?q=a|b", HEAD, b"hello"))).unwrap();
    archive.append(&refused("https://a.test/private", "/private")).unwrap();
    archive.close().unwrap();
    let text: String = lines(dir.path()).iter().map(|line| body(line) + "\n").collect();
    check("small.jsonl", include_str!("golden/small.jsonl"), &text);
}

fn body(line: &Line) -> String {
    match &line.content {
        Content::Kept { body, .. } => without_version(body),
        Content::Erased(note) => panic!("line {} is erased: {note}", line.seq),
    }
}

/// Line ends are shown as `↵`, so that the golden file survives editors.
fn shown(record: &WarcRecord) -> String {
    let mut text = format!("WARC/{}\r\n", record.version);
    for (name, value) in &record.fields {
        let varies = matches!(record.kind(), "metadata" | "warcinfo");
        let masked = varies && matches!(name.as_str(), "WARC-Block-Digest" | "Content-Length");
        text.push_str(&format!("{name}: {}\r\n", if masked { "(masked)" } else { value }));
    }
    text.push_str("\r\n");
    for line in String::from_utf8_lossy(&record.block).split_inclusive("\r\n") {
        text.push_str(if line.starts_with("comity-record: ") { "comity-record: (masked)\r\n" } else { line });
    }
    without_version(&format!("{text}\r\n\r\n")).replace("\r\n", "↵\n")
}

fn without_version(text: &str) -> String {
    text.replace(concat!("comity/", env!("CARGO_PKG_VERSION")), "comity/(version)")
}

fn check(name: &str, golden: &str, found: &str) {
    if std::env::var_os("COMITY_BLESS").is_some() {
        std::fs::write(format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR")), found).unwrap();
    }
    let differs = golden.lines().zip(found.lines()).find(|(g, f)| g != f);
    assert!(golden == found, "tests/golden/{name} (COMITY_BLESS=1 rewrites it): first difference {differs:#?}");
}
