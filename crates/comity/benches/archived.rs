//! What WARC files cost a crawl: the CPU time of a whole crawl of a web on loopback, without a directory, with one but without WARC
//! files, and with them, beside one raw gzip stream of the very bytes that these hold.
//!
//! `cargo bench -p comity --bench archived -- [rounds] [origins] [pages]`. The web is served by the same process: what it takes is in
//! each of the figures, and not in their differences. They take turns.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints, and ends where it cannot go on")]

use std::fs::File;
use std::io::{BufReader, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use comity::Crawler;
use comity::config::Span;
use comity_testweb::{Generated, Site, Web};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// The level of an archive where none is said.
const LEVEL: u32 = 3;
const BYTES: u64 = 20_000;
const LINKS: u32 = 50;

#[derive(Clone, Copy, PartialEq)]
enum Kept {
    Nothing,
    Records,
    Warc,
}

fn main() {
    let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [rounds, origins, pages] =
        [(0, 3), (1, 16), (2, 250)].map(|(at, most)| numbers.get(at).copied().unwrap_or(most));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (mut nothing, mut records, mut warc, mut gzip) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut bytes = 0;
    for _ in 0..rounds {
        for (kept, all) in [(Kept::Nothing, &mut nothing), (Kept::Records, &mut records), (Kept::Warc, &mut warc)] {
            let dir = tempfile::tempdir().unwrap();
            all.push(runtime.block_on(crawl(kept, dir.path(), origins, pages)));
            if kept == Kept::Warc {
                let text = text_of(&dir.path().join("warc"));
                bytes = text.len();
                gzip.push(raw_gzip(&dir.path().join("raw.gz"), &text));
            }
        }
    }
    let count = origins * pages;
    println!("{count} pages of {BYTES} bytes, {:.1} MB of WARC text, {rounds} rounds, medians", bytes as f64 / 1e6);
    let [nothing, records, warc, gzip] = [nothing, records, warc, gzip].map(median);
    for (what, ticks) in [
        ("crawl and web, nothing kept", nothing),
        ("with a directory, no WARC", records),
        ("with WARC", warc),
        ("raw gzip of the WARC text", gzip),
    ] {
        println!("{what}: {:.2} s of CPU, {:.0} µs a page", ticks / 100.0, ticks * 1e4 / f64::from(count));
    }
    println!("WARC files cost {:.2} times raw gzip", (warc - records) / gzip);
    println!("records, frontier and WARC files cost {:.2} times raw gzip", (warc - nothing) / gzip);
}

/// CPU time of a whole crawl, in hundredths of a second.
async fn crawl(kept: Kept, dir: &Path, origins: u32, pages: u32) -> u64 {
    let site = || Site::new().generated(Generated::new(pages, LINKS).bytes(BYTES));
    let web = (0..origins).fold(Web::builder(1), |web, _| web.site(site())).build().unwrap();
    let served = web.serve_loopback().await.unwrap();
    let (names, seeds) = (served.names(), served.seeds());
    let resolve = names.iter().map(|(name, addresses)| (name.clone(), addresses[0].to_string())).collect();
    let mut builder = Crawler::builder("BenchBot/1.0 (+https://example.com/bot)").allow_addresses("127.0.0.0/8");
    if kept != Kept::Nothing {
        builder = builder.dir(dir);
    }
    let crawler = builder.configure(|file| {
        file.crawl.seeds = Some(seeds);
        file.politeness.delay = Some(Span(Duration::ZERO));
        file.politeness.address_gap = Some(Span(Duration::ZERO));
        file.politeness.adaptive = Some(false);
        file.politeness.total = Some(origins);
        file.fetch.resolve = Some(resolve);
        if kept != Kept::Nothing {
            file.archive.warc = Some(kept == Kept::Warc);
        }
        if kept == Kept::Warc {
            file.archive.level = Some(LEVEL);
        }
    });
    let before = cpu_ticks();
    let summary = crawler.build().unwrap().run().await.unwrap();
    let ticks = cpu_ticks() - before;
    assert_eq!((summary.left, summary.refusals()), (0, 0), "{summary}");
    drop(served);
    ticks
}

/// What the WARC files hold, inflated.
fn text_of(folder: &Path) -> Vec<u8> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "gz"));
    files.sort();
    let mut text = Vec::new();
    for file in files {
        MultiGzDecoder::new(BufReader::new(File::open(file).unwrap())).read_to_end(&mut text).unwrap();
    }
    text
}

fn raw_gzip(path: &Path, text: &[u8]) -> u64 {
    let before = cpu_ticks();
    let mut gzip = GzEncoder::new(File::create(path).unwrap(), Compression::new(LEVEL));
    text.chunks(16 * 1024).for_each(|chunk| gzip.write_all(chunk).unwrap());
    gzip.finish().unwrap().sync_all().unwrap();
    cpu_ticks() - before
}

fn median(mut ticks: Vec<u64>) -> f64 {
    ticks.sort_unstable();
    ticks.get(ticks.len() / 2).copied().unwrap_or_default() as f64
}

/// CPU time of this process in Linux's ticks of 10 ms.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    // User and system time are the fields 14 and 15; the name is the second.
    behind_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}
