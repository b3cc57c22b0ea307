//! Of a URL that is erased nothing is found, by whichever of its names, in whatever form its crawl writes queries.

use std::path::Path;
use std::time::Duration;

use comity::StoppedCrawl;
use comity_archive::verify::{VerifyOptions, verify};
use comity_archive::{Depth, Erasure, Named, QueryForm};
use comity_testweb::{Answer, Site, Target, Web};
use comity_url::CrawlUrl;
use tempfile::TempDir;

use super::queries::{EPOCH, FOUND, SECRET, records, run_with};
use super::{audit, comity, erase, stderr};

/// A page at a query that a seed, a link, a redirect, and a licence within it name, and one of the same path that nobody asks to be erased.
const OTHER: &str = "http://a.test/find?name=Bob";
const PATH: &str = "http://a.test/find";

fn site() -> Site {
    let here = |url: &str| Target::here(url.trim_start_matches("http://a.test"));
    let page = "<head><script type=application/rsl+xml><rsl xmlns=\"https://rslstandard.org/rsl\"><content url=\"/\"><license>\
                <permits type=\"usage\">all</permits></license></content></rsl></script></head><body><a href=/after>x</a>";
    Site::new()
        .name("a.test")
        .robots("User-agent: *\nDisallow: /*token=\n")
        .page("/", Answer::page(["/one", "/two", "/three"].map(Target::here)))
        .page("/one", Answer::redirect(302, here(FOUND)))
        .page("/two", Answer::redirect(302, here(OTHER)))
        .page("/three", Answer::redirect(302, Target::here("/find")))
        .page("/after", Answer::text("after"))
        .page("/find", Answer::text("found nobody"))
        .page("/find?name=Bob", Answer::text("found Bob"))
        .page("/find?name=Ada-Lovelace", Answer::status(200).content("text/html", page))
}

async fn crawled(form: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    let (net, _observer) = Web::builder(1).epoch(EPOCH).site(site()).build().unwrap().in_memory();
    run_with(dir.path(), form, (&net, EPOCH), &["http://a.test/", FOUND]).await;
    dir
}

/// Files that hold a text, inflated.
fn holding(dir: &Path, text: &str) -> Vec<String> {
    let has = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    erase::everything(dir, dir).into_iter().filter(|(_, bytes)| has(bytes)).map(|(name, _)| name).collect()
}

/// What records there are of a path, with what they say of its query.
fn of_path(dir: &Path) -> Vec<(String, Option<String>)> {
    let of = |url: &str| QueryForm::Drop.text(url) == PATH;
    records(dir).into_iter().filter(|record| of(&record.url)).map(|record| (record.url, record.query)).collect()
}

fn erased(dir: &Path, named: Named) -> comity::Erased {
    let erasure =
        Erasure { named, depth: Depth::Records, mentions: false, reason: "asked for".into(), request: "R-1".into() };
    let stopped = StoppedCrawl::open(dir, Some(&erasure.named)).unwrap();
    stopped.erase(&erasure, false, &mut |_| {}).unwrap()
}

#[tokio::test(start_paused = true)]
async fn one_name_is_enough_in_each_form() {
    let url = |text: &str| CrawlUrl::parse(text).unwrap();
    let hashed = QueryForm::Hash.url(&url(FOUND));
    // Of the three visits of the path those stay that are not meant, and can be told apart.
    let rows = [
        ("keep", Named::Url(url(FOUND)), 2),
        ("hash", Named::Url(url(FOUND)), 2),
        ("hash", Named::Url(hashed.clone()), 2),
        ("drop", Named::Url(url(FOUND)), 1),
        ("drop", Named::Url(url(PATH)), 0),
        ("keep", Named::Path(url(PATH)), 0),
        ("hash", Named::Path(url(OTHER)), 0),
    ];
    for (form, named, stay) in rows {
        let (home, dir) = (TempDir::new().unwrap(), crawled(form).await);
        let dir = dir.path();
        assert!(holding(dir, SECRET).len() >= 2, "{form}: the queue and the seeds");
        let before = of_path(dir).len();
        assert!(before >= 3, "{form}: {:?}", of_path(dir));
        let done = erased(dir, named.clone());
        assert!(done.remembered > 0 && done.report.lines > 0, "{form} {named:?}: {done:?}");
        // Named by its hash alone it is not found in the texts of configurations that are not in force.
        let by_hash = matches!(&named, Named::Url(name) if *name == hashed);
        let mut left = holding(dir, SECRET);
        left.retain(|file| !(by_hash && file.starts_with("configs/")));
        assert_eq!(left, Vec::<String>::new(), "{form} {named:?}");
        assert_eq!(holding(dir, hashed.query().unwrap()), Vec::<String>::new(), "{form} {named:?}");
        assert_eq!(holding(dir, "rslstandard.org"), Vec::<String>::new(), "{form} {named:?}: the licence within it");
        let left = of_path(dir);
        assert_eq!(left.len(), stay, "{form} {named:?}: {left:?}");
        assert_eq!(holding(dir, OTHER).is_empty(), stay == 0, "{form} {named:?}: the queue knows it");
        assert_eq!(done.report.any_query, stay == 0, "{form} {named:?}");
        assert_eq!(done.report.without_query > 0, stay == 1, "{form} {named:?}");
        assert!(verify(dir, &VerifyOptions::default()).unwrap().faults.is_empty(), "{form} {named:?}");
        let (code, found) = audit::audited(&home, dir, &[]);
        assert_eq!(code, Some(0), "{form} {named:?}: {found}");
        audit::verified_without_our_code(dir, 0);
        // A second time there is nothing to do.
        let again = erased(dir, named.clone());
        assert_eq!((again.report.lines, again.remembered), (0, 0), "{form} {named:?}: {again:?}");
    }
}

/// What a name without a query means is said.
#[tokio::test(start_paused = true)]
async fn what_a_name_stands_for_is_told() {
    let rows: [(&str, &[&str], &str); 5] = [
        ("keep", &["--url", PATH], "records of the same path with queries stay"),
        ("hash", &["--url", PATH], "records of the same path with queries stay"),
        ("hash", &["--url", PATH, "--any-query"], "the URL stands for all of its queries, as asked"),
        ("drop", &["--url", PATH], "none is written of visits of it"),
        ("drop", &["--url", FOUND], "records of its path had their query left out"),
    ];
    for (form, named, said) in rows {
        let (home, dir) = (TempDir::new().unwrap(), crawled(form).await);
        let asked =
            ["erase", dir.path().to_str().unwrap(), "--records", "--dry-run", "--reason", "x", "--request", "y"];
        let ran = comity(home.path(), &[&asked[..], named].concat());
        let told = String::from_utf8(ran.stdout.clone()).unwrap();
        assert!(told.contains(said), "{form} {named:?}: {told} {}", stderr(&ran));
    }
}

/// A crawl that wrote no queries and now does: what is left is told by the same meaning of the name as that by which it was erased.
#[tokio::test(start_paused = true)]
async fn what_is_left_is_looked_for_by_what_the_name_stood_for() {
    let link = "<a href=\"http://a.test/find?name=Ada\">x</a>";
    let path = CrawlUrl::parse(PATH).unwrap();
    let mut told = Vec::new();
    for named in [Named::Path(path.clone()), Named::Url(path)] {
        let dir = TempDir::new().unwrap();
        for form in ["drop", "keep"] {
            let first = Answer::status(200).content("text/html", link);
            let site = Site::new().name("a.test").page("/", first).page("/find?name=Ada", Answer::text("x"));
            let (net, _observer) = Web::builder(1).epoch(EPOCH).site(site).build().unwrap().in_memory();
            let at = if form == "drop" { EPOCH } else { EPOCH.after(Duration::from_secs(2 * 86_400)) };
            run_with(dir.path(), form, (&net, at), &["http://a.test/"]).await;
        }
        let done = erased(dir.path(), named);
        assert!(done.report.any_query && done.report.lines > 0, "{done:?}");
        told.push((done.report.mentions.total, done.left.iter().any(|file| file.starts_with("warc/"))));
    }
    assert_eq!(told[0], told[1], "both stood for every query: what mentions it, and a WARC file that still names it");
    assert!(told[0].1, "{told:?}");
}
