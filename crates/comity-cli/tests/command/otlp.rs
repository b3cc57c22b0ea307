//! Traces over OTLP, to a collector of a few lines.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use comity_testweb::{Answer, Site, Web};
use tempfile::TempDir;

use super::WHO;

/// The body of a request whose head says how long it is.
fn body(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..at]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?.parse::<usize>().ok()?;
            let have = bytes.len() - at - 4;
            if have >= length {
                return Some((head, bytes.split_off(at + 4)));
            }
        }
        match stream.read(&mut part).ok()? {
            0 => return None,
            n => bytes.extend_from_slice(&part[..n]),
        }
    }
}

/// Takes everything in, for as long as somebody wants it.
fn collector() -> (String, mpsc::Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (taken, all) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            while let Some(request) = body(&mut stream) {
                let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
                if taken.send(request).is_err() || stream.write_all(answer).is_err() {
                    break;
                }
            }
        }
    });
    (address, all)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn visits_flights_and_appends_are_spans() {
    let site = Site::new().page("/", Answer::page(["/a"])).page("/a", Answer::text("a"));
    let served = Web::builder(1).site(site).build().unwrap().serve_loopback().await.unwrap();
    let (collector, all) = collector();
    let home = TempDir::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
    command.args([
        "crawl",
        &format!("{}/", served.origins()[0]),
        "--allow-address",
        "127.0.0.0/8",
        "--delay",
        "10ms",
        "--dir",
    ]);
    command.arg(home.path().join("d")).args(WHO).env("HOME", home.path()).env("OTEL_EXPORTER_OTLP_ENDPOINT", collector);
    let ran = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let mut sent = Vec::new();
    while let Ok((head, body)) = all.recv_timeout(Duration::from_millis(200)) {
        assert!(head.starts_with("post /v1/traces") && head.contains("application/x-protobuf"), "{head}");
        sent.extend(body);
    }
    for span in ["visit", "robots", "archive", "comity"] {
        assert!(sent.windows(span.len()).any(|part| part == span.as_bytes()), "no {span} in {} bytes", sent.len());
    }
    served.shutdown().await;
}
