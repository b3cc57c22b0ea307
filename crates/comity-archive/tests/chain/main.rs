//! The chain: it holds, it breaks at any flipped byte, and it outlives the erasure of content.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod killed;
mod tamper;

use comity_archive::{ArchiveConfig, ChainHead, ChainReport, ChainVerifier, Content, Line, verify_chain};
use common::*;

/// Three lines: a page, a refusal, a page.
fn three_lines(dir: &std::path::Path) -> Vec<Line> {
    let mut archive = open(dir, ArchiveConfig { warc: false, ..config() }, 2);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    for event in [
        page(capture("https://a.test/1", head, b"hello")),
        refused("https://a.test/private", "/private"),
        page(capture("https://a.test/2", head, b"hello")),
    ] {
        archive.append(&event).unwrap();
    }
    archive.close().unwrap();
    lines(dir)
}

fn text(lines: &[Line]) -> String {
    lines.iter().map(|line| line.to_text() + "\n").collect()
}

#[test]
fn a_written_chain_holds_and_ends_at_the_stored_head() {
    let dir = tempfile::tempdir().unwrap();
    let lines = three_lines(dir.path());
    let report = verify_chain(text(&lines).as_bytes()).unwrap();
    assert_eq!(report, ChainReport { lines: 3, erased: 0, head: Some(lines[2].head()) });
    assert_eq!(ChainHead::load(dir.path()).unwrap(), report.head);
    assert_eq!(verify_chain(&b""[..]).unwrap(), ChainReport::default());
}

#[test]
fn any_flipped_byte_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let text = text(&three_lines(dir.path())).into_bytes();
    for at in 0..text.len() {
        for bit in [0x01, 0x20] {
            let mut flipped = text.clone();
            flipped[at] ^= bit;
            assert!(verify_chain(&flipped[..]).is_err(), "byte {at} ^ {bit:#x}: {:?}", text[at] as char);
        }
    }
}

#[test]
fn lines_cannot_be_left_out_swapped_doubled_or_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let lines = three_lines(dir.path());
    let pick = |which: &[usize]| text(&which.iter().map(|n| lines[*n].clone()).collect::<Vec<_>>());
    for which in [&[1, 2][..], &[0, 2], &[0, 2, 1], &[0, 0, 1, 2], &[0, 1, 1, 2]] {
        assert!(verify_chain(pick(which).as_bytes()).is_err(), "{which:?}");
    }
    let shorter = verify_chain(pick(&[0, 1]).as_bytes()).unwrap();
    assert_ne!(shorter.head, ChainHead::load(dir.path()).unwrap(), "the stored head shows the missing end");
    let whole = pick(&[0, 1, 2]);
    assert!(verify_chain(&whole.as_bytes()[..whole.len() - 1]).is_err(), "a torn last line");
}

#[test]
fn erased_content_leaves_the_links_verifiable() {
    let dir = tempfile::tempdir().unwrap();
    let mut lines = three_lines(dir.path());
    let Content::Kept { salt, body } = lines[1].content.clone() else { panic!("kept") };
    lines[1] = lines[1].erased(r#"{"at":"2026-12-01T00:00:00.000Z","basis":"request"}"#).unwrap();
    let tombstone = lines[1].to_text();
    assert!(!tombstone.contains("private") && !tombstone.contains("salt"), "{tombstone}");
    let report = verify_chain(text(&lines).as_bytes()).unwrap();
    assert_eq!((report.lines, report.erased), (3, 1));
    assert_eq!(lines[1].record().unwrap(), None);

    let mut forged = lines.clone();
    forged[1].content = Content::Kept { salt, body: body.replace("/private", "/public!") };
    assert!(verify_chain(text(&forged).as_bytes()).is_err(), "no other content fits the commitment");
    forged[1].content = lines[1].content.clone();
    forged[1].commitment = lines[0].commitment;
    assert!(verify_chain(text(&forged).as_bytes()).is_err(), "the link covers the commitment");
    for note in ["", "{", "1 2", "\"a\nb\"", " {}"] {
        assert!(lines[0].erased(note).is_err(), "{note:?}");
    }
}

/// Computed with another SHA-256 (Python's hashlib) from the definition in docs/reference/records.md.
#[test]
fn hashes_are_those_of_the_definition() {
    let line = concat!(
        r#"{"v":1,"seq":0,"prev":"0000000000000000000000000000000000000000000000000000000000000000","#,
        r#""salt":"000102030405060708090a0b0c0d0e0f","#,
        r#""commitment":"d6eaf5f45e758fac64de79072033e3c185f825a843f5f3adf6fb263447b7d1c0","link":"c47dcf31d75df92620ec76dacf02627eb7723610057d00b64b258daebc7fcc9a","body":{"a":"ü"}}"#
    );
    let mut verifier = ChainVerifier::default();
    verifier.step(&Line::parse(line).unwrap()).unwrap();
    let next = concat!(
        r#"{"v":1,"seq":1,"prev":"c47dcf31d75df92620ec76dacf02627eb7723610057d00b64b258daebc7fcc9a","#,
        r#""salt":"ffffffffffffffffffffffffffffffff","#,
        r#""commitment":"dbe68ff5c3a36dc2c97af8a0f49617b7dc11617b490add3ebaa3cc5683411471","link":"4161a89815cdcf8f62663e060c8970fcf40593728d4ced48dd9674f69fc5fec0","body":{}}"#
    );
    verifier.step(&Line::parse(next).unwrap()).unwrap();
    assert_eq!(verifier.report().lines, 2);
}

#[test]
fn texts_that_are_no_lines_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let good = three_lines(dir.path())[0].to_text();
    let rows = [
        String::new(),
        "{}".to_owned(),
        good.replace("\"v\":1", "\"v\":2"),
        good.replace("\"v\":1,", "\"v\":1, "),
        good.replace("\"v\":1,", "\"v\":1,\"v\":1,"),
        good.replace("\"v\":1,", "\"v\":1,\"more\":1,"),
        good.replace("\"body\":", "\"erased\":{},\"body\":"),
        good.replace("\"salt\":\"", "\"salt\":\"00\",\"x\":\""),
        good.replace("\"seq\":0", "\"seq\":-1"),
    ];
    for row in rows {
        assert!(Line::parse(&row).is_err(), "{row}");
    }
    assert!(Line::parse(&good).is_ok());
}
