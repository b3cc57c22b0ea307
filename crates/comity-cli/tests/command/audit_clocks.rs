//! What `comity audit` says of gaps on an address, of Retry-After and of slow origins: nothing of a polite crawl, and every breach that
//! was planted. 1,000 origins with `COMITY_TEST_SIZE=all`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use comity::Crawler;
use comity::config::{ByteSize, Span};
use comity::policy::{SeededRandom, WallTime};
use comity_fetch::SystemClock;
use comity_testweb::{Answer, Auditor, Observer, Site, Target, Web};
use serde_json::Value;
use tempfile::TempDir;

use super::verify::copy_tree;
use super::{audit, comity};

const START: i64 = 1_796_000_000_000;
/// Plain sites, slow ones, and ones that ask to be left alone.
const KINDS: usize = 3;
/// Sites of one address.
const NEIGHBOURS: usize = 4;
const PAGES: [&str; 4] = ["/0", "/1", "/2", "/3"];

fn origins() -> usize {
    if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") { 1_000 } else { 48 }
}

fn site(number: usize) -> Site {
    let [high, low] = u16::try_from(number / NEIGHBOURS).unwrap().to_be_bytes();
    let latency = if number % KINDS == 1 { 900 } else { 7 };
    let site = Site::new()
        .name(format!("o{number}.test"))
        .address(IpAddr::V4(Ipv4Addr::new(10, 9, high, low)))
        .latency(Duration::from_millis(latency))
        .page("/", Answer::page(PAGES.map(Target::here)));
    PAGES.iter().fold(site, |site, page| {
        let asks = number % KINDS == 2 && *page == "/1";
        let answers =
            if asks { vec![Answer::retry_after(503, 20), Answer::text("x")] } else { vec![Answer::text("x")] };
        site.page_answers(*page, answers)
    })
}

async fn crawl(dir: &Path, adaptive: bool) -> Observer {
    let epoch = WallTime::from_unix_millis(START);
    let web = (0..origins()).fold(Web::builder(1).epoch(epoch), |web, number| web.site(site(number)));
    let (net, observer) = web.build().unwrap().in_memory();
    let crawler = Crawler::builder("ClockBot/1.0 (+https://example.com/bot)")
        .net(Arc::new(net))
        .clock(Arc::new(SystemClock::paused_at(epoch)))
        .random(Arc::new(SeededRandom::new(1)))
        .allow_addresses("10.0.0.0/8")
        .dir(dir)
        .configure(|file| {
            file.crawl.seeds = Some((0..origins()).map(|number| format!("http://o{number}.test/")).collect());
            file.crawl.linger = Some(Span(Duration::from_secs(60)));
            file.archive.min_free = Some(ByteSize(0));
            file.politeness.adaptive = Some(adaptive);
            file.politeness.address_gap = Some(Span(Duration::from_millis(300)));
            file.politeness.total = Some(64);
        });
    eprintln!("{}", crawler.build().unwrap().run().await.unwrap());
    observer
}

fn audited(home: &TempDir, dir: &Path, flags: &[&str]) -> Value {
    let ran = comity(home.path(), &[&["audit", dir.to_str().unwrap(), "--json"], flags].concat());
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&ran.stderr)))
}

fn count(found: &Value, kind: &str) -> u64 {
    found["counts"][kind].as_u64().unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn a_polite_crawl_keeps_them_and_each_planted_breach_is_found() {
    let (home, origins) = (TempDir::new().unwrap(), origins() as u64);
    let dir = home.path().join("d");
    let observer = crawl(&dir, true).await;
    let found = audited(&home, &dir, &[]);
    assert_eq!(found["counts"], serde_json::json!({}), "{found:#}");
    let gaps =
        |millis| Auditor::new().address_gap(Duration::from_millis(millis)).examine(&observer).count("address_too_soon");
    assert_eq!((gaps(300), found["pauses"].as_u64()), (0, Some(origins / KINDS as u64)), "{found:#}");
    assert!(found["address_gaps"].as_u64() > Some(origins * 4), "{found:#}");
    audit::verified_without_our_code(&dir, 0);

    // Whoever had asked for more on an address finds what the synthetic web saw; a gap is known to a few milliseconds.
    let stricter = count(&audited(&home, &dir, &["--address-gap", "2s"]), "address_too_soon");
    assert!(gaps(1_994) <= stricter && stricter <= gaps(2_000) && stricter > origins, "{stricter} {}", gaps(2_000));

    // Every answer that asked for 20 s is made to have asked for 90.
    let asked = home.path().join("asked");
    copy_tree(&dir, &asked);
    assert_eq!(rewrite(&asked, "etry-after: 20\r\n", "etry-after: 90\r\n"), origins / KINDS as u64);
    let found = audited(&home, &asked, &[]);
    assert_eq!(
        (count(&found, "during_pause"), count(&found, "adaptive")),
        (within(&home, &dir, 90_000), 0),
        "{found:#}"
    );
    assert_eq!(within(&home, &dir, 20_000), 0);

    // Slow sites that were asked as quickly as any other. Each gap is known to a few milliseconds.
    let quick = home.path().join("quick");
    crawl(&quick, false).await;
    assert_eq!(audited(&home, &quick, &[])["counts"], serde_json::json!({}));
    let found = audited(&home, &quick, &["--adaptive"]);
    let soon = count(&found, "adaptive");
    assert!(soon > 0 && quicker(&home, &quick, 1_794) <= soon && soon <= quicker(&home, &quick, 1_806), "{found:#}");
    assert!(found["violations"].as_array().unwrap().iter().all(|one| one["kind"] == "adaptive"), "{found:#}");
}

type Spans = BTreeMap<String, Vec<(i64, i64, bool)>>;

/// Begin and end of each request in milliseconds, and whether it was answered 503, by host, in the order of their begins.
fn spans(home: &TempDir, dir: &Path) -> Spans {
    let ran = comity(home.path(), &["records", dir.to_str().unwrap()]);
    let at = |text: &Value| text.as_str().unwrap().parse::<WallTime>().unwrap().unix_millis();
    let mut hosts = Spans::new();
    for line in String::from_utf8(ran.stdout).unwrap().lines() {
        let record = serde_json::from_str::<Value>(line).unwrap()["body"].take();
        let host = record["url"].as_str().unwrap().split('/').nth(2).unwrap().to_owned();
        let (begin, end) = (at(&record["time"]["started"]), at(&record["time"]["ended"]));
        hosts.entry(host).or_default().push((begin, end, record["response"]["status"] == 503));
    }
    hosts.values_mut().for_each(|all| all.sort_unstable());
    hosts
}

/// Requests that began within so long of a 503 of their origin, by the records.
fn within(home: &TempDir, dir: &Path, millis: i64) -> u64 {
    let of = |all: &Vec<(i64, i64, bool)>| {
        let told = all.iter().find(|(_, _, told)| *told).map(|(_, end, _)| *end);
        told.map_or(0, |told| all.iter().filter(|(begin, _, _)| *begin > told && *begin < told + millis).count())
    };
    spans(home, dir).values().map(of).sum::<usize>() as u64
}

/// Requests to slow sites that began so soon after the answer before, by the records.
fn quicker(home: &TempDir, dir: &Path, millis: i64) -> u64 {
    let is_slow = |host: &str| host.trim_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().unwrap() % KINDS == 1;
    let of = |all: &Vec<(i64, i64, bool)>| all.windows(2).filter(|pair| pair[1].0 - pair[0].1 < millis).count();
    spans(home, dir).iter().filter(|(host, _)| is_slow(host)).map(|(_, all)| of(all)).sum::<usize>() as u64
}

/// Replaces a text of the same length in every member of every WARC file; gives the number of members that held it.
fn rewrite(dir: &Path, from: &str, to: &str) -> u64 {
    let mut changed = 0;
    for entry in fs::read_dir(dir.join("warc")).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().ends_with(".gz") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let (mut rest, mut out) = (&bytes[..], Vec::new());
        while !rest.is_empty() {
            let mut member = flate2::bufread::GzDecoder::new(rest);
            let mut text = Vec::new();
            member.read_to_end(&mut text).unwrap();
            rest = member.into_inner();
            if let Some(at) = text.windows(from.len()).position(|part| part.eq_ignore_ascii_case(from.as_bytes())) {
                text[at..at + to.len()].copy_from_slice(to.as_bytes());
                changed += 1;
            }
            let head = flate2::GzBuilder::new().operating_system(255);
            let mut gzip = head.write(&mut out, flate2::Compression::new(6));
            gzip.write_all(&text).unwrap();
            gzip.finish().unwrap();
        }
        fs::write(path, out).unwrap();
    }
    changed
}
