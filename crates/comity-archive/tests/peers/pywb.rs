//! Replay by pywb, from our index: what a reader in a browser would get.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use comity_archive::ArchiveConfig;

use crate::common::*;
use crate::tool;

/// A pywb over one collection `c`, on a port of loopback; ended when dropped.
struct Wayback {
    port: u16,
    child: Child,
}

impl Wayback {
    /// `None` where pywb is not installed.
    fn start(home: &Path, crawl: &Path) -> Option<Self> {
        let collection = home.join("collections/c");
        for (folder, ending) in [("archive", "gz"), ("indexes", "cdxj")] {
            fs::create_dir_all(collection.join(folder)).unwrap();
            for entry in fs::read_dir(crawl.join("warc")).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().unwrap() == ending {
                    fs::copy(&path, collection.join(folder).join(path.file_name().unwrap())).unwrap();
                }
            }
        }
        // The page itself, not a frame around it.
        fs::write(home.join("config.yaml"), "framed_replay: false\n").unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = tool("wayback");
        command.args(["-b", "127.0.0.1", "-p", &port.to_string()]).current_dir(home);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let server = Self { port, child };
        server.await_ready();
        Some(server)
    }

    #[expect(clippy::disallowed_methods, reason = "a foreign process is waited for in real time, bounded")]
    fn await_ready(&self) {
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(start.elapsed() < Duration::from_secs(90), "pywb did not come up");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Status line and body of a capture as it was stored, decoded.
    fn raw(&self, url: &str) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "GET /c/2026id_/{url} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let status = String::from_utf8_lossy(&answer).lines().next().unwrap().to_owned();
        (status, answer.split_off(end + 4))
    }
}

impl Drop for Wayback {
    fn drop(&mut self) {
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

#[test]
fn pywb_replays_pages_and_a_revisit_from_our_index() {
    let (home, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let body = "<!DOCTYPE html><title>replayed</title><p>a page of some length</p>".repeat(12);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n", body.len());
    let html = |url: &str| page(capture(url, head.as_bytes(), body.as_bytes()));
    let moved = b"HTTP/1.1 301 Moved\r\nLocation: http://a.test/page\r\nContent-Length: 0\r\n\r\n";
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n";
    let events = [
        html("http://a.test/page"),
        html("http://www.b.test/Other?B=2&a=1"),
        page(capture("http://a.test/moved", moved, b"")),
        page(capture("http://a.test/chunked", chunked, b"was chunked")),
        robots_txt("http://a.test", capture("http://a.test/robots.txt", chunked, b"User-agent: *\n"), None),
    ];
    let mut archive = open(dir.path(), ArchiveConfig { dedup: true, ..config() }, 5);
    events.iter().for_each(|event| drop(archive.append(event).unwrap()));
    archive.close().unwrap();
    assert_eq!(warc_records(dir.path()).iter().filter(|record| record.kind() == "revisit").count(), 1);

    let Some(pywb) = Wayback::start(home.path(), dir.path()) else {
        println!("pywb absent: its check was left out");
        return;
    };
    for url in ["http://a.test/page", "http://www.b.test/Other?B=2&a=1"] {
        let (status, replayed) = pywb.raw(url);
        assert!(status.contains(" 200 "), "{url}: {status}");
        assert_eq!(String::from_utf8_lossy(&replayed), body, "{url}");
    }
    assert!(pywb.raw("http://a.test/moved").0.contains(" 301 "));
    assert_eq!(pywb.raw("http://a.test/chunked").1, b"was chunked");
    assert_eq!(pywb.raw("http://a.test/robots.txt").1, b"User-agent: *\n");
    see_in_a_browser(&pywb);
}

/// The revisit as Chromium shows it, in the long suites.
fn see_in_a_browser(pywb: &Wayback) {
    if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") {
        let url = format!("http://127.0.0.1:{}/c/2026mp_/http://www.b.test/Other?B=2&a=1", pywb.port);
        let mut chromium = Command::new("chromium");
        chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--timeout=20000", "--dump-dom", &url]);
        let Ok(output) = chromium.output() else {
            eprintln!("chromium absent: its check was left out");
            return;
        };
        let dom = String::from_utf8_lossy(&output.stdout);
        assert!(dom.contains("<title>replayed</title>") && dom.contains("<p>a page of some length</p>"), "{dom}");
    }
}
