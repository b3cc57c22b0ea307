//! `verify` on one thread over a crawl that is made for it, beside what hashing and inflating the same bytes costs alone.
//! Prints medians of five rounds, alternated, by the processor time of the thread where the system tells it: the machine may be busy.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench that cannot go on says where, and prints"
)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::io::Read as _;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use comity_archive::verify::{VerifyOptions, verify};
use comity_archive::{ArchiveConfig, Event, EvidenceKind, EvidenceStore};
use comity_policy::{Errand, WallTime};
use common::*;
use sha2::{Digest as _, Sha256};

/// Pages, and bytes of each: the mean of a crawl of documentation trees.
const PAGES: usize = 4_000;
const PAGE: usize = 40_000;

fn text(n: usize) -> Vec<u8> {
    let words = ["crawl", "polite", "robots", "delay", "origin", "archive", "evidence", "record", "chain", "proof"];
    let mut state = n as u64 + 1;
    let mut out = Vec::with_capacity(PAGE + 32);
    while out.len() < PAGE {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = words[(state >> 33) as usize % words.len()];
        out.extend_from_slice(format!("<p class=\"{word}\">{} ", state >> 48).as_bytes());
    }
    out
}

/// Processor time of this thread; on other systems the time that has passed.
fn spent() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let mut evidence = EvidenceStore::open(dir.path()).unwrap();
    let robots = url("https://a.test/robots.txt");
    let copy =
        evidence.put(EvidenceKind::RobotsTxt, &robots, WallTime::from_unix_millis(START), 200, Some(b"x")).unwrap();
    let config = ArchiveConfig {
        rollover: 10_000_000,
        crawl: comity_archive::CrawlFacts { config_digest: None, ..crawl_facts() },
        ..config()
    };
    let mut archive = open(dir.path(), config, 1);
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    for n in 0..PAGES {
        let Event::Fetched(mut page) = page(capture(&format!("https://a.test/{n}"), head, &text(n))) else { return };
        if let Errand::Judged(decision) = &mut page.errand {
            let mut found = robots_evidence();
            found.digest = copy;
            let mut changed = (**decision).clone();
            changed.robots = found.into();
            *decision = changed.into();
        }
        archive.stage(&Event::Fetched(page)).unwrap();
        if n % 64 == 0 {
            archive.flush().unwrap();
        }
    }
    archive.close().unwrap();

    let options = VerifyOptions { threads: NonZeroUsize::new(1), key: None };
    let (mut verified, mut inflated) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for _ in 0..5 {
        let began = spent();
        let found = verify(dir.path(), &options).unwrap();
        verified.push((spent() - began).as_secs_f64());
        assert!(found.holds(), "{:#?}", found.faults);
        bytes = found.checked.block_bytes + found.checked.line_bytes;
        let began = spent();
        for file in files(dir.path(), "warc") {
            let (mut hash, mut buffer) = (Sha256::new(), vec![0; 64 * 1024]);
            let mut reader =
                flate2::bufread::MultiGzDecoder::new(std::io::BufReader::new(std::fs::File::open(file).unwrap()));
            loop {
                let n = reader.read(&mut buffer).unwrap();
                if n == 0 {
                    break;
                }
                hash.update(&buffer[..n]);
            }
            std::hint::black_box(hash.finalize());
        }
        inflated.push((spent() - began).as_secs_f64());
    }
    let rate = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        let [median, best] = [times[times.len() / 2], times[0]].map(|time| bytes as f64 / 1e6 / time);
        format!("median {median:.0} MB/s, best {best:.0} MB/s")
    };
    println!("{} MB inflated", bytes / 1_000_000);
    println!("verify, one thread:           {}", rate(&mut verified));
    println!("inflate and one SHA-256 only: {}", rate(&mut inflated));
}
