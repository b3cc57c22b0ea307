//! The web of the bench, in a process of its own: `crawl-web speed|polite ORIGINS PAGES BYTES LINKS DIRECTORY`.
//!
//! Writes `seeds.txt` and `urls.txt` into the directory and says `ready`. Of the words on its stdin, `mark` notes that a crawler
//! starts now, `report` prints what arrived, as JSON, and ends; the end of stdin ends it too.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Duration;

use comity_testweb::{Auditor, Generated, Observer, Site, Web};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;

/// The token that the crawlers of the bench name themselves by.
const TOKEN: &str = "BenchBot";

#[derive(Serialize)]
struct Report {
    /// Pages that the web has, and a crawler may fetch.
    expected: usize,
    /// Different ones of these that went out whole.
    fetched: usize,
    /// Answers with a page beyond the first of each.
    repeats: usize,
    robots_requests: u64,
    /// From the mark to the first request.
    first_request_us: u64,
    /// From the first request to the end of the last answer with a page.
    span_us: u64,
    violations: u64,
    counts: BTreeMap<&'static str, u64>,
    slots_used: u64,
    slots_offered: u64,
    /// The tightest gap as a part of the delay announced, over all origins.
    tightest: Option<f64>,
    /// Of this process, since the mark.
    cpu_us: i64,
}

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kind, origins, pages, bytes, links, dir] = words.as_slice() else { panic!("six words: {words:?}") };
    let number = |word: &String| word.parse::<u32>().unwrap();
    let site = || {
        let generated = Generated::new(number(pages), number(links)).bytes(number(bytes).into());
        let site = Site::new().generated(generated);
        match kind.as_str() {
            "polite" => site.robots(POLITE).latency(Duration::from_millis(20)),
            _ => site.robots("User-agent: *\nDisallow: /closed/\n"),
        }
    };
    let web = (0..number(origins)).fold(Web::builder(1).max_connections(65_536), |web, _| web.site(site()));
    let served = web.build().unwrap().serve_loopback().await.unwrap();
    let expected = served.expected(&[TOKEN], &served.seeds()).allowed;
    write(Path::new(dir), "seeds.txt", served.seeds().iter());
    write(Path::new(dir), "urls.txt", expected.iter());
    say("ready");
    let observer = served.observer();
    let listening = tokio::task::spawn_blocking(move || {
        let (mut mark, mut before) = (0, 0);
        for line in std::io::stdin().lock().lines() {
            match line.unwrap().as_str() {
                "mark" => {
                    (mark, before) = (observer.now_us(), cpu_us());
                    say("marked");
                }
                _ => {
                    let spent = cpu_us() - before;
                    let report = Report { cpu_us: spent, ..report(&observer, &expected, mark) };
                    return say(&serde_json::to_string(&report).unwrap());
                }
            }
        }
    });
    listening.await.unwrap();
}

/// Half a second between two requests, and eleven pages of four hundred out of bounds.
const POLITE: &str = "User-agent: *\nCrawl-delay: 0.5\nDisallow: /p/7\n";

fn report(observer: &Observer, expected: &BTreeSet<String>, mark: u64) -> Report {
    let (audit, log, origins) = (Auditor::new().examine(observer), observer.log(), observer.origins());
    let (mut fetched, mut answers, mut end) = (BTreeSet::new(), 0, 0);
    for seen in &log {
        let (Some(origin), Some(200), Some(ended), false) =
            (seen.site.and_then(|site| origins.get(site)), seen.status, seen.ended_us, seen.cut)
        else {
            continue;
        };
        let url = format!("{origin}{}", seen.request.target_text());
        if expected.contains(&url) {
            (answers, end) = (answers + 1, end.max(ended));
            fetched.insert(url);
        }
    }
    let first = log.first().map_or(mark, |seen| seen.arrived_us);
    let tightest = audit.origins.iter().filter(|origin| origin.delay_us > 0);
    let tightest = tightest.filter_map(|origin| Some(origin.tightest_gap_us? as f64 / origin.delay_us as f64));
    Report {
        expected: expected.len(),
        fetched: fetched.len(),
        repeats: answers - fetched.len(),
        robots_requests: audit.robots_requests,
        first_request_us: first - mark,
        span_us: end.saturating_sub(first),
        violations: audit.violation_count(),
        counts: audit.counts,
        slots_used: audit.slots_used,
        slots_offered: audit.slots_offered,
        tightest: tightest.min_by(f64::total_cmp),
        cpu_us: 0,
    }
}

/// CPU time of this process.
fn cpu_us() -> i64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    (usage.user_time() + usage.system_time()).num_microseconds()
}

fn write<'a>(dir: &Path, name: &str, lines: impl Iterator<Item = &'a String>) {
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    std::fs::write(dir.join(name), text).unwrap();
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).unwrap();
}
