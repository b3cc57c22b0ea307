//! A crawl that writes no queries: they are in no record, WARC file or index, and what is left can be verified, explained, audited and
//! erased.

use std::path::Path;
use std::sync::Arc;

use comity::Crawler;
use comity::config::ByteSize;
use comity::policy::{SeededRandom, WallTime};
use comity_archive::verify::{VerifyOptions, verify};
use comity_archive::{Depth, Erasure, Named, QueryForm, Record, WarcReader, read_records};
use comity_fetch::SystemClock;
use comity_testweb::{Answer, Site, Target, Web};
use comity_url::CrawlUrl;
use tempfile::TempDir;

use super::verify::change_values;
use super::{audit, comity, stderr};

/// What stands in queries alone, which only redirects name.
const SECRET: &str = "Ada-Lovelace";
const FOUND: &str = "http://a.test/find?name=Ada-Lovelace";
/// Refused for its query: the path alone is not.
const REFUSED: &str = "http://a.test/find?name=Ada-Lovelace&token=1";
/// Allowed for its query: the path alone is not.
const EXCEPTED: &str = "http://a.test/private?name=Ada-Lovelace";

async fn crawl(dir: &Path, form: &str) {
    let to = |url: &str| Answer::redirect(302, Target::here(url.trim_start_matches("http://a.test")));
    let site = Site::new()
        .name("a.test")
        .robots("User-agent: *\nDisallow: /*token=\nDisallow: /private\nAllow: /private?name=\n")
        .page("/", Answer::page(["/one", "/two", "/three"].map(Target::here)))
        .page("/one", to(FOUND))
        .page("/two", to(REFUSED))
        .page("/three", to(EXCEPTED))
        .page("/find", Answer::text("found"))
        .page("/find?name=Ada-Lovelace", Answer::text("found"))
        .page("/private?name=Ada-Lovelace", Answer::text("private"));
    let epoch = WallTime::from_unix_millis(1_796_000_000_000);
    let (net, _observer) = Web::builder(1).epoch(epoch).site(site).build().unwrap().in_memory();
    let crawler = Crawler::builder("QueryBot/1.0 (+https://example.com/bot)")
        .net(Arc::new(net))
        .clock(Arc::new(SystemClock::paused_at(epoch)))
        .random(Arc::new(SeededRandom::new(1)))
        .allow_addresses("10.0.0.0/8")
        .dir(dir)
        .configure(|file| {
            file.crawl.seeds = Some(vec!["http://a.test/".to_owned()]);
            file.archive.min_free = Some(ByteSize(0));
            file.archive.query = Some(form.to_owned());
        });
    let summary = crawler.build().unwrap().run().await.unwrap();
    assert_eq!(summary.left, 0, "{summary}");
}

fn records(dir: &Path) -> Vec<Record> {
    read_records(dir).unwrap().filter_map(|line| line.unwrap().record().unwrap()).collect()
}

/// Everything in the records, the WARC files and the indexes, inflated.
fn texts(dir: &Path) -> String {
    let mut all: Vec<String> = read_records(dir)
        .unwrap()
        .map(|line| serde_json::to_string(&line.unwrap().record().unwrap()).unwrap())
        .collect();
    for entry in std::fs::read_dir(dir.join("warc")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
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

#[tokio::test(start_paused = true)]
async fn what_was_hashed_is_erased_by_its_url() {
    let dir = TempDir::new().unwrap();
    crawl(dir.path(), "hash").await;
    let url = CrawlUrl::parse(FOUND).unwrap();
    let written = QueryForm::Hash.url(&url);
    let erasure = Erasure {
        named: Named::Url(url),
        depth: Depth::Records,
        mentions: false,
        reason: "asked for".into(),
        request: "R-1".into(),
    };
    let found = |dir: &Path| records(dir).iter().filter(|record| record.url == written.as_str()).count();
    assert!(found(dir.path()) > 0);
    let stopped = comity::StoppedCrawl::open(dir.path(), None).unwrap();
    let done = stopped.erase(&erasure, false, &mut |_| {}).unwrap();
    assert!(done.report.lines > 0, "{done:?}");
    assert_eq!(found(dir.path()), 0);
    assert!(!texts(dir.path()).contains(written.as_str()), "what led there is erased or amended");
    assert!(verify(dir.path(), &VerifyOptions::default()).unwrap().faults.is_empty());
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
