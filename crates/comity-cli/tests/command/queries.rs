//! A crawl that writes no queries: they are in no record, WARC file or index, and what is left can be verified, explained and audited.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use comity::Crawler;
use comity::config::{ByteSize, RevisitPolicy};
use comity::policy::{SeededRandom, WallTime};
use comity_archive::verify::{VerifyOptions, verify};
use comity_archive::{QueryForm, Record, WarcReader, read_records};
use comity_fetch::SystemClock;
use comity_testweb::{Answer, MemoryNet, Site, Target, Web};
use comity_url::CrawlUrl;
use tempfile::TempDir;

use super::verify::change_values;
use super::{audit, comity, stderr};

pub(crate) const EPOCH: WallTime = WallTime::from_unix_millis(1_796_000_000_000);
const DAY: Duration = Duration::from_secs(86_400);

/// What stands in queries alone, which only redirects name.
pub(crate) const SECRET: &str = "Ada-Lovelace";
pub(crate) const FOUND: &str = "http://a.test/find?name=Ada-Lovelace";
/// Refused for its query: the path alone is not.
const REFUSED: &str = "http://a.test/find?name=Ada-Lovelace&token=1";
/// Allowed for its query: the path alone is not.
const EXCEPTED: &str = "http://a.test/private?name=Ada-Lovelace";

/// Allowed; it holds a licence of its own.
const LICENSED: &str = "http://a.test/licensed?name=Ada-Lovelace";

fn site() -> Site {
    let to = |url: &str| Answer::redirect(302, Target::here(url.trim_start_matches("http://a.test")));
    let licence = "<head><script type=application/rsl+xml><rsl xmlns=\"https://rslstandard.org/rsl\"><content url=\"/\"><license>\
                   <permits type=\"usage\">all</permits></license></content></rsl></script></head><body>x";
    Site::new()
        .name("a.test")
        .robots("User-agent: GPTBot\nDisallow: /*?name=\n\nUser-agent: *\nDisallow: /*token=\nDisallow: /private\nAllow: /private?name=\n")
        .page("/", Answer::page(["/one", "/two", "/three", "/four"].map(Target::here)))
        .page("/one", to(FOUND))
        .page("/two", to(REFUSED))
        .page("/three", to(EXCEPTED))
        .page("/four", to(LICENSED))
        .page("/find", Answer::text("found"))
        .page("/find?name=Ada-Lovelace", Answer::text("found".repeat(200)))
        .page("/licensed?name=Ada-Lovelace", Answer::status(200).content("text/html", licence))
        .page("/private?name=Ada-Lovelace", Answer::text("private"))
}

async fn crawl(dir: &Path, form: &str) {
    let (net, _observer) = Web::builder(1).epoch(EPOCH).site(site()).build().unwrap().in_memory();
    run(dir, form, &net, EPOCH).await;
}

async fn run(dir: &Path, form: &str, net: &MemoryNet, at: WallTime) {
    run_with(dir, form, (net, at), &["http://a.test/"]).await;
}

pub(crate) async fn run_with(dir: &Path, form: &str, (net, at): (&MemoryNet, WallTime), seeds: &[&str]) {
    let crawler = Crawler::builder("QueryBot/1.0 (+https://example.com/bot)")
        .net(Arc::new(net.clone()))
        .clock(Arc::new(SystemClock::paused_at(at)))
        .random(Arc::new(SeededRandom::new(1)))
        .allow_addresses("10.0.0.0/8")
        .dir(dir)
        .revisit(RevisitPolicy::Fixed(DAY))
        .configure(|file| {
            file.crawl.seeds = Some(seeds.iter().map(|&seed| seed.to_owned()).collect());
            file.archive.min_free = Some(ByteSize(0));
            file.archive.query = Some(form.to_owned());
            file.signals.licences = Some(true);
            file.signals.tdmrep = Some("always".to_owned());
        });
    let summary = crawler.build().unwrap().run().await.unwrap();
    assert!(summary.pages() > 0, "{summary}");
}

pub(crate) fn records(dir: &Path) -> Vec<Record> {
    read_records(dir).unwrap().filter_map(|line| line.unwrap().record().unwrap()).collect()
}

fn warc_files(dir: &Path) -> BTreeSet<PathBuf> {
    std::fs::read_dir(dir.join("warc")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Everything in the records, the WARC files, the indexes and what is told of evidence, inflated.
fn texts(dir: &Path) -> String {
    let sightings = std::fs::read_to_string(dir.join("evidence/index.jsonl")).unwrap();
    format!("{}\n{sightings}", texts_of(&records(dir), &warc_files(dir)))
}

fn texts_of(records: &[Record], files: &BTreeSet<PathBuf>) -> String {
    let mut all: Vec<String> = records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    for path in files {
        let bytes = std::fs::read(path).unwrap();
        if path.extension().is_some_and(|end| end == "gz") {
            for record in WarcReader::new(&bytes[..]) {
                let record = record.unwrap();
                all.push(format!("{:?}", record.fields));
                all.push(String::from_utf8_lossy(&record.block).into_owned());
            }
        } else {
            all.push(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    all.join("\n")
}

#[tokio::test(start_paused = true)]
async fn queries_are_nowhere_and_what_is_left_holds() {
    for (form, word) in [(QueryForm::Drop, "drop"), (QueryForm::Hash, "hash")] {
        let (home, dir) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        crawl(dir.path(), word).await;
        assert!(!texts(dir.path()).contains(SECRET), "{word}: a query was written");
        let all = records(dir.path());
        let outcome = |url: &str| {
            let (url, word) = (form.url(&CrawlUrl::parse(url).unwrap()), form.word().map(str::to_owned));
            let of = all.iter().filter(|record| record.url == url.as_str() && record.query == word);
            of.map(|record| format!("{} {}", record.outcome, record.reason)).collect::<Vec<_>>()
        };
        assert!(outcome(FOUND).contains(&"fetched ok".to_owned()), "{word}: {:?}", outcome(FOUND));
        assert!(outcome(REFUSED).contains(&"not_fetched robots.disallow".to_owned()), "{:?}", outcome(REFUSED));
        assert_eq!(outcome(EXCEPTED), ["fetched ok"]);
        assert!(all.iter().any(|record| record.url == "http://a.test/" && record.query.is_none()));
        // What others meet is said of the URL that was judged, not of what is left of it.
        for page in all.iter().filter(|one| one.errand == "page") {
            let others = format!("{:?}", page.robots.as_ref().unwrap().others);
            assert_eq!(others.contains("denied: [\"GPTBot\"]"), page.query.is_some(), "{word} {}: {others}", page.url);
        }
        // What stands within a page stands where the page is said to be.
        let within = all.iter().filter(|record| !record.licences.is_empty()).collect::<Vec<_>>();
        assert!(
            !within.is_empty() && within.iter().all(|one| one.licences.iter().all(|licence| licence.url == one.url))
        );

        let (code, found) = audit::audited(&home, dir.path(), &[]);
        assert_eq!(code, Some(0), "{word}: {found}");
        // One refused and one allowed by its query; of the latter the request, too.
        assert_eq!(found["queries"], 3, "{word}: {found}");
        assert!(verify(dir.path(), &VerifyOptions::default()).unwrap().faults.is_empty());
        audit::verified_without_our_code(dir.path(), 0);

        let explained = |url: &str| {
            let ran = comity(home.path(), &["explain", url, "--dir", dir.path().to_str().unwrap()]);
            assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
            String::from_utf8(ran.stdout).unwrap()
        };
        assert!(explained(FOUND).contains("fetched, ok, answered 200"), "{word}");
        let refused = explained(REFUSED);
        assert!(refused.contains("not_fetched, robots.disallow") && refused.contains("/*token="), "{refused}");
        assert!(refused.contains("not recomputable"), "{refused}");
    }
}

/// What a crawl wrote before it was told to write no queries stays; what it writes from then on names no query by it.
#[tokio::test(start_paused = true)]
async fn later_visits_name_no_query_that_an_earlier_one_wrote() {
    for (form, word) in [(QueryForm::Drop, "drop"), (QueryForm::Hash, "hash")] {
        let dir = TempDir::new().unwrap();
        let (net, _observer) = Web::builder(1).epoch(EPOCH).site(site()).build().unwrap().in_memory();
        run(dir.path(), "keep", &net, EPOCH).await;
        assert!(texts(dir.path()).contains(SECRET));
        let (written, files) = (records(dir.path()).len(), warc_files(dir.path()));
        run(dir.path(), word, &net, EPOCH.after(2 * DAY)).await;
        let later = records(dir.path()).split_off(written);
        let is_new = |path: &PathBuf| path.extension().is_some_and(|end| end == "gz") && !files.contains(path);
        let new = warc_files(dir.path()).into_iter().filter(is_new).collect::<BTreeSet<_>>();
        assert!(!new.is_empty());
        let found = texts_of(&later, &new);
        assert!(!found.contains(SECRET), "{word}: a query was written");
        let url = form.url(&CrawlUrl::parse(FOUND).unwrap());
        let repeats =
            later.iter().filter_map(|record| Some((&record.url, record.response.as_ref()?.repeats.as_ref()?)));
        let of = repeats.filter(|(page, _)| **page == url.as_str()).map(|(_, earlier)| &*earlier.url);
        assert_eq!(of.collect::<Vec<_>>(), [url.as_str()], "{word}");
        assert!(found.contains("WARC-Refers-To-Target-URI"), "{word}");
        assert!(verify(dir.path(), &VerifyOptions::default()).unwrap().faults.is_empty());
    }
}

/// Else whoever forges a record could have it excused.
#[tokio::test(start_paused = true)]
async fn a_record_that_says_its_query_is_gone_where_queries_are_kept_is_found() {
    let (home, dir) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    crawl(dir.path(), "keep").await;
    let forged = change_values(dir.path(), |record| {
        if record["url"] == EXCEPTED && record["outcome"] == "fetched" {
            record["query"] = "dropped".into();
        }
    });
    assert_eq!(forged, 1);
    let (code, found) = audit::audited(&home, dir.path(), &[]);
    assert_eq!(code, Some(1), "{found}");
    assert!(found.to_string().contains("its configuration keeps queries"), "{found}");
}

/// The files in which a site speaks keep their queries: copies are found by them, and an honest crawl is not accused.
#[tokio::test(start_paused = true)]
async fn files_of_a_site_behind_a_query_are_believed() {
    let moved = |to: &str| Answer::redirect(302, Target::here(to));
    let site = || {
        Site::new()
            .name("a.test")
            .robots_answer(moved("/robots.txt?token=1"))
            .page("/robots.txt?token=1", Answer::text("User-agent: *\nAllow: /\n"))
            .page("/.well-known/tdmrep.json", moved("/.well-known/tdmrep.json?v=2"))
            .page("/.well-known/tdmrep.json?v=2", Answer::text(r#"[{"location":"/","tdm-reservation":0}]"#))
            .page("/", Answer::page(["/one?name=Ada-Lovelace"].map(Target::here)))
            .page("/one?name=Ada-Lovelace", Answer::text("one"))
    };
    for form in ["keep", "drop", "hash"] {
        let (home, dir) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let (net, _observer) = Web::builder(1).epoch(EPOCH).site(site()).build().unwrap().in_memory();
        run(dir.path(), form, &net, EPOCH).await;
        let (code, found) = audit::audited(&home, dir.path(), &[]);
        assert_eq!(code, Some(0), "{form}: {found}");
        let all = records(dir.path());
        let named = |text: &str| all.iter().any(|record| record.url.contains(text));
        assert!(named("/robots.txt?token=1") && named("/tdmrep.json?v=2"), "{form}");
        assert_eq!(named(SECRET), form == "keep", "{form}");
    }
}
