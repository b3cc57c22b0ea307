//! What other readers say of our files: `gzip -t`, warcio, FastWARC, cdxj-indexer, py-wacz, warcio.js and pywb, where they
//! are installed (`cargo xtask peers --install`).
//!
//! The output of `warcio check` is read, not its exit status, which is 0 on damaged files too.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod pywb;

use std::path::{Path, PathBuf};
use std::process::Command;

use comity_archive::{ArchiveConfig, Event, Fetched, WaczSettings, write_wacz};
use comity_policy::{Reason, Truncation};
use common::*;

/// A file with one event of every kind that has a shape of its own, revisits among them where they are wanted.
fn write_every_shape(dir: &Path, revisits: bool) -> Vec<u8> {
    let mut archive = open(dir, ArchiveConfig { dedup: revisits, ..config() }, 3);
    let ok = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n";
    let gzipped = [31, 139, 8, 0, 0, 0, 0, 0, 0, 255, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0, 0];
    let icy =
        b"ICY 200 whatever\r\nno colon here\r\nX-Bin: \xff\xfe\r\nFold: a\r\n  b\r\n \r\nContent-Length: 3\r\n\r\n";
    let mut cut = capture("http://a.test/cut", b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", b"only this");
    (cut.truncated, cut.fault) = (Some(Truncation::Disconnect), Some(Reason::FetchReset));
    let mut failed = capture("http://a.test/none", b"", b"");
    (failed.status, failed.fault) = (None, Some(Reason::FetchTimeoutHead));
    let long = b"a page of some length ".repeat(40);
    let events = [
        robots_txt("http://a.test", capture("http://a.test/robots.txt", ok, b"hello"), None),
        page(capture("http://a.test/p[0]|q?x=%zz", ok, b"hello")),
        page(capture("http://a.test/coded", chunked, &gzipped)),
        page(capture("http://a.test/gone", b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", b"")),
        page(capture("http://a.test/304", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n", b"")),
        page(capture("http://a.test/move", b"HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", b"")),
        page(capture("http://a.test/icy", icy, b"\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")),
        page(cut),
        page(failed),
        page(capture(
            "http://www.A.test/Long/?B=2&a=1#x",
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n",
            &long,
        )),
        page(capture(
            "http://a.test/long/../other",
            b"HTTP/1.1 200 OK\r\nContent-Type: Text/\xe9\xff;x\r\n\r\n",
            &long,
        )),
        page(capture("http://[::1]:8080/ü?q=\"", b"HTTP/1.1 200 \r\ncontent-type:\r\n\r\n", b"tiny")),
        page(capture("http://a.test/q", "HTTP/1.1 200 OK\r\nContent-Type: \u{1f600}\"\\;\r\n\r\n".as_bytes(), b"tiny")),
    ];
    for event in &events {
        archive.append(event).unwrap();
    }
    let first = archive.append(&page(capture("http://a.test/etag", ok, b"hello"))).unwrap().capture;
    let unchanged = capture("http://a.test/etag", b"HTTP/1.1 304 Not Modified\r\nContent-Type: a/b\r\n\r\n", b"");
    let Event::Fetched(event) = page(unchanged) else { panic!("a page is fetched") };
    archive.append(&Event::Fetched(Box::new(Fetched { earlier: first.filter(|_| revisits), ..*event }))).unwrap();
    archive.close().unwrap();
    std::fs::read(&files(dir, "warc")[0]).unwrap()
}

#[test]
fn gzip_finds_every_member_whole() {
    let dir = tempfile::tempdir().unwrap();
    write_every_shape(dir.path(), true);
    let Some((status, text)) = run(Command::new("gzip").arg("-tv").arg(&files(dir.path(), "warc")[0])) else {
        println!("gzip absent: its check was left out");
        return;
    };
    assert!(status, "{text}");
}

#[test]
fn warcio_reads_every_record_and_digest() {
    let dir = tempfile::tempdir().unwrap();
    write_every_shape(dir.path(), true);
    let file = &files(dir.path(), "warc")[0];
    let Some((status, text)) = run(tool("warcio").arg("check").arg("-v").arg(file)) else {
        println!("warcio absent: its check was left out");
        return;
    };
    // The payload of a revisit lies elsewhere: warcio says so and leaves its digest.
    let text = text.replace("digest present but not checked (revisit)", "");
    let complaints = ["not checked", "exception", "skipping", "Error", "error", "failed", "WARNING"];
    let found: Vec<_> = text.lines().filter(|line| complaints.iter().any(|c| line.contains(c))).collect();
    assert!(status && found.is_empty(), "{found:?}\n{text}");
    let ours = warc_records(dir.path());
    let (_, index) = run(tool("warcio").args(["index", "-f", "offset,warc-type"]).arg(file)).unwrap();
    let ours: Vec<_> = ours.iter().map(|r| (r.offset, r.kind())).collect();
    assert_eq!(index.lines().count(), ours.len(), "{index}");
    for ((offset, kind), line) in ours.iter().zip(index.lines()) {
        assert!(line.contains(&format!("\"{offset}\"")) && line.contains(kind), "{offset} {kind}: {line}");
    }
}

#[test]
fn cdxj_indexer_makes_the_same_index_line_by_line() {
    let dir = tempfile::tempdir().unwrap();
    write_every_shape(dir.path(), true);
    let file = &files(dir.path(), "warc")[0];
    let Some((status, theirs)) = run(tool("cdxj-indexer").arg("--sort").arg(file)) else {
        println!("cdxj-indexer absent: its check was left out");
        return;
    };
    let ours = std::fs::read_to_string(&indexes(dir.path())[0]).unwrap();
    assert!(status && ours.lines().count() > 12, "{theirs}\n{ours}");
    for (theirs, ours) in theirs.lines().zip(ours.lines()) {
        assert_eq!(theirs, ours);
    }
    assert_eq!(theirs.lines().count(), ours.lines().count());
}

#[test]
fn fastwarc_reads_every_record_and_digest() {
    // With `-p` it looks for the payload of a revisit in the revisit.
    for (flags, revisits) in [(&["-q"][..], true), (&["-q", "-p"], false)] {
        let dir = tempfile::tempdir().unwrap();
        write_every_shape(dir.path(), revisits);
        let mut command = tool("fastwarc");
        let Some((status, text)) = run(command.arg("check").args(flags).arg(&files(dir.path(), "warc")[0])) else {
            println!("fastwarc absent: its check was left out");
            return;
        };
        assert!(status, "{flags:?}: {text}");
    }
}

#[test]
fn py_wacz_finds_the_package_valid() {
    let dir = tempfile::tempdir().unwrap();
    write_every_shape(dir.path(), true);
    let out = dir.path().join("crawl.wacz");
    let created = comity_policy::WallTime::from_unix_millis(START);
    write_wacz(dir.path(), &out, &WaczSettings { title: None, created }).unwrap();
    let Some((status, text)) = run(tool("wacz").arg("validate").arg("-f").arg(&out)) else {
        println!("py-wacz absent: its check was left out");
        return;
    };
    assert!(status && text.contains("Version detected as 1.1.1"), "{text}");
    for bad in ["invalid", "missing", "not listed", "mismatch", "does not match", "rror"] {
        assert!(!text.contains(bad), "{bad}: {text}");
    }
}

#[test]
fn warcio_js_finds_the_same_captures() {
    let dir = tempfile::tempdir().unwrap();
    write_every_shape(dir.path(), true);
    let mut command = node_tool("warcio");
    let Some((status, theirs)) = run(command.arg("cdx-index").arg(&files(dir.path(), "warc")[0])) else {
        println!("warcio.js absent: its check was left out");
        return;
    };
    // Its lines are in the order of the file, and its keys are its own: what it found is compared.
    let ours = std::fs::read_to_string(&indexes(dir.path())[0]).unwrap();
    let found = |text: &str| {
        let mut all: Vec<[String; 4]> = text.lines().map(place_and_digest).collect();
        all.sort();
        all
    };
    assert!(status, "{theirs}");
    assert_eq!(found(&theirs), found(&ours));
}

/// Offset, length, status and digest, without its label, of an index line.
fn place_and_digest(line: &str) -> [String; 4] {
    let json: serde_json::Value = serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap();
    ["offset", "length", "status", "digest"]
        .map(|name| json[name].as_str().unwrap_or_default().trim_start_matches("sha1:").to_owned())
}

/// A Python tool of the virtual environment that xtask makes; where there is none, of the path.
pub(crate) fn tool(name: &str) -> Command {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/venv");
    let venv = std::env::var_os("COMITY_PEERS_VENV").map_or(own, PathBuf::from);
    found_or_on_path(venv.join("bin").join(name), name)
}

/// A tool of Node's that xtask installs beside it.
fn node_tool(name: &str) -> Command {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/node");
    let node = std::env::var_os("COMITY_PEERS_NODE").map_or(own, PathBuf::from).join("node_modules/.bin").join(name);
    // Not from the path: the Python tool has the same name.
    Command::new(node)
}

fn found_or_on_path(tool: PathBuf, name: &str) -> Command {
    if tool.is_file() { Command::new(tool) } else { Command::new(name) }
}

/// Exit status and all output; `None` when the command is not installed.
fn run(command: &mut Command) -> Option<(bool, String)> {
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Some((output.status.success(), text))
}

/// What two readers make of coded, cut and folded answers, as JSON: URL, status, WARC-Truncated, names that were put away, body decoded.
const BOTH_READERS: &str = r#"
import json, sys
from warcio.archiveiterator import ArchiveIterator as Warcio
from fastwarc.warc import ArchiveIterator as FastWarc, WarcRecordType
def of(url, cut, status, names, body):
    names = sorted(name.lower() for name in names if name.lower().startswith(("x-crawler-", "transfer-", "content-e")))
    return [url, cut, int(status), names, body.decode("latin-1")]
with open(sys.argv[1], "rb") as file:
    warcio = [of(r.rec_headers["WARC-Target-URI"], r.rec_headers["WARC-Truncated"], r.http_headers.get_statuscode(),
                 [name for name, _ in r.http_headers.headers], r.content_stream().read())
              for r in Warcio(file, check_digests="raise") if r.rec_type == "response"]
with open(sys.argv[1], "rb") as file:
    fast = [of(r.headers["WARC-Target-URI"], r.headers.get("WARC-Truncated"), r.http_headers.status_code,
               list(r.http_headers.asdict()), r.reader.read())
            for r in FastWarc(file, record_types=WarcRecordType.response, verify_digests=True, auto_decode="all")]
print(json.dumps([warcio, fast]))
"#;

/// Field report 36: a record that keeps coding and length of the wire over a body that was decoded cannot be read.
#[test]
fn coded_cut_folded_and_http2_answers_are_read_alike_by_two_readers() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), config(), 3);
    let gzipped = [31, 139, 8, 0, 0, 0, 0, 0, 0, 255, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0, 0];
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n";
    let folded = b"HTTP/1.1 200 OK\r\nX-Fold: a\r\n\tb\r\nContent-Length: 5\r\n\r\n";
    let mut h2 = capture("http://a.test/h2", b"HTTP/1.1 200 \r\ncontent-encoding: gzip\r\n\r\n", &gzipped);
    h2.protocol = comity_policy::Protocol::H2;
    let mut cut = capture("http://a.test/cut", b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", b"hello");
    (cut.truncated, cut.fault) = (Some(Truncation::Length), Some(Reason::FetchTooLarge));
    let events =
        [capture("http://a.test/chunked", chunked, &gzipped), h2, cut, capture("http://a.test/fold", folded, b"hello")];
    for event in events {
        archive.append(&page(event)).unwrap();
    }
    archive.close().unwrap();
    let mut python = tool("python");
    let Some((status, text)) = run(python.args(["-c", BOTH_READERS]).arg(&files(dir.path(), "warc")[0])) else {
        println!("python absent: warcio and FastWARC were not asked");
        return;
    };
    if text.contains("No module named") {
        println!("warcio or FastWARC absent: they were not asked");
        return;
    }
    assert!(status, "{text}");
    let row = |path: &str, cut: Option<&str>, names: &[&str]| {
        serde_json::json!([format!("http://a.test/{path}"), cut, 200, names, "hello"])
    };
    let right = serde_json::json!([
        row("chunked", None, &["content-encoding", "x-crawler-transfer-encoding"]),
        row("h2", None, &["content-encoding"]),
        row("cut", Some("length"), &["x-crawler-content-length"]),
        row("fold", None, &[]),
    ]);
    let found: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(found, serde_json::json!([right, right]), "{found:#}");
}
