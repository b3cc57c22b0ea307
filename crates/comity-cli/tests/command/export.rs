//! `comity export`: what may be used for a purpose and nothing else, whatever the format; and what sites say by now.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use comity_archive::WarcReader;
use comity_testweb::{Answer, Auditor, Served, Site, Web, WebBuilder};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::explain::fixture;
use super::verify::{change_records, copy_tree};
use super::{comity, stderr};

const ONE: &str = r#"[{"location":"/","tdm-reservation":1}]"#;

/// A site with one page, `/p`, and what becomes of it: for search and for training, as recorded and as of today. `.` is usable.
type Row = (&'static str, Site, [&'static str; 2], [&'static str; 2]);

fn secret(name: &str) -> String {
    // Long enough to be stored once only.
    format!("<head></head><body>the secret of {name}.{}</body>", " ".repeat(600))
}

fn html(name: &str, head: &str) -> Answer {
    Answer::status(200).content("text/html", secret(name).replace("<head>", &format!("<head>{head}")))
}

fn robots(name: &str, lines: &[&str]) -> Site {
    let answers = lines.iter().map(|lines| match *lines {
        "503" => Answer::status(503),
        lines => Answer::text(format!("User-agent: *\n{lines}\nAllow: /\n")),
    });
    Site::new().robots_answers(answers).page("/p", html(name, ""))
}

fn page(answer: Answer) -> Site {
    Site::new().page("/p", answer)
}

fn rows() -> Vec<Row> {
    let train = [".", "signal.ai_train"];
    let field = |name: &str, value: &str| page(html(name, "").field("X-Robots-Tag", value));
    let tdmrep =
        |name: &str, answers: [Answer; 2]| page(html(name, "")).page_answers("/.well-known/tdmrep.json", answers);
    let json = || Answer::status(200).content("application/json", ONE);
    let no = ["signal.search", "signal.ai_train"];
    vec![
        ("silence", page(html("silence", "")), [".", "."], [".", "."]),
        ("signal-gone", robots("signal-gone", &["Content-Signal: ai-train=no", ""]), train, train),
        ("signal-new", robots("signal-new", &["", "Content-Signal: ai-train=no"]), [".", "."], train),
        ("usage-new", robots("usage-new", &["", "Content-Usage: train-ai=n"]), [".", "."], train),
        ("granted", robots("granted", &["Content-Signal: ai-train=no"]), [".", "."], [".", "."]),
        ("file", tdmrep("file", [json(), json()]), train, train),
        ("file-new", tdmrep("file-new", [Answer::status(404), json()]), [".", "."], train),
        ("noai", field("noai", "noai"), train, train),
        ("noindex", field("noindex", "noindex"), ["signal.search", "."], ["signal.search", "."]),
        ("both", field("both", "noindex, noai"), no, no),
        ("meta", page(html("meta", "<meta name=robots content=noai>")), train, train),
        ("closed", robots("closed", &["Disallow: /p", ""]), ["robots.disallow"; 2], ["robots.disallow"; 2]),
        ("closed-new", robots("closed-new", &["", "Disallow: /p"]), [".", "."], ["robots.disallow"; 2]),
        ("gone", page(html("gone", "")).page("/p", Answer::status(404)), ["status"; 2], ["status"; 2]),
        ("down-now", robots("down-now", &["", "503"]), [".", "."], [".", "."]),
        ("signals", robots("signals", &["Content-Signal: search=no, ai-train=no"]), no, no),
        ("body-erased", page(html("body-erased", "")), ["erased.payload"; 2], ["erased.payload"; 2]),
        ("erased", page(html("erased", "")), ["erased"; 2], ["erased"; 2]),
    ]
}

/// A crawl of all of them, two of which were erased afterwards.
struct Crawled {
    home: TempDir,
    dir: PathBuf,
    served: Served,
}

impl Crawled {
    async fn new() -> Self {
        let home = TempDir::new().unwrap();
        let sites = rows().into_iter().map(|(name, site, ..)| site.name(format!("{name}.test")));
        let again =
            Site::new().page("/a", html("again", "").field("X-Robots-Tag", "noindex")).page("/b", html("again", ""));
        let web = sites.chain([again.name("again.test")]).fold(Web::builder(3), WebBuilder::site);
        let served = web.build().unwrap().serve_names().await.unwrap();
        let config = home.path().join(".config/comity");
        fs::create_dir_all(&config).unwrap();
        let resolve: String = served.names().keys().map(|name| format!("\"{name}\" = \"127.0.0.1\"\n")).collect();
        let text = format!(
            "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\n[archive]\nmin_free = \"1MB\"\ndedup = true\n\
             [politeness]\ndelay = \"100ms\"\n[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n[fetch.resolve]\n{resolve}\
             [[grant]]\norigins = [\"http://granted.test:{}\"]\npurposes = [\"ai_train\"]\nbasis = \"licence\"\n\
             reference = \"L-17\"\napproved_by = \"Ann\"\nexpires = 2099-12-31\n",
            served.port()
        );
        fs::write(config.join("config.toml"), text).unwrap();
        let dir = home.path().join("d");
        let crawled = Self { home, dir, served };
        crawled.crawl().await;
        crawled
    }

    fn url(&self, name: &str) -> String {
        format!("http://{name}.test:{}/p", self.served.port())
    }

    async fn crawl(&self) {
        let dir = self.dir.to_str().unwrap();
        let mut words =
            ["crawl", "--dir", dir, "--purpose", "search", "--purpose", "ai-train"].map(str::to_owned).to_vec();
        words.extend(rows().iter().map(|(name, ..)| self.url(name)));
        words.extend(["/a", "/b"].map(|path| self.url("again").replace("/p", path)));
        self.run(&words).await;
        for (name, flag) in [("body-erased", "--json"), ("erased", "--records")] {
            let url = self.url(name);
            let words = ["erase", dir, "--url", &url, flag, "--reason", "they asked", "--request", "R-1"];
            self.run(&words.map(str::to_owned)).await;
        }
    }

    /// Runs the command, which succeeds, while the web is up.
    async fn run(&self, words: &[String]) -> String {
        let (home, words) = (self.home.path().to_owned(), words.to_vec());
        let ran = tokio::task::spawn_blocking(move || {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            (comity(&home, &words), format!("{words:?}"))
        });
        let (ran, words) = ran.await.unwrap();
        assert!(ran.status.success(), "{words}: {}{}", String::from_utf8_lossy(&ran.stdout), stderr(&ran));
        String::from_utf8(ran.stdout).unwrap()
    }

    async fn export(&self, purpose: &str, name: &str, flags: &[&str]) -> Export {
        let out = self.home.path().join(name);
        let mut words = vec!["export", self.dir.to_str().unwrap(), "--for", purpose, "--out", out.to_str().unwrap()];
        words.extend(flags);
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        self.run(&words).await;
        Export::read(&out)
    }

    /// `.` or the reason of each page, by name, as the lists have it.
    fn told(&self, export: &Export) -> BTreeMap<String, String> {
        let name = |url: &str| url.split(['/', '.']).nth(2).unwrap().to_owned();
        let mut told: BTreeMap<String, String> =
            export.urls().iter().filter(|url| url.ends_with("/p")).map(|url| (name(url), ".".to_owned())).collect();
        for row in &export.left {
            let reason = row["reason"].as_str().unwrap().to_owned();
            let name = row["url"].as_str().map_or_else(|| "erased".to_owned(), name);
            if name != "again" {
                assert_eq!(told.insert(name.clone(), reason), None, "{name} is on one list");
            }
        }
        told
    }
}

struct Export {
    pages: Vec<Value>,
    list: Vec<String>,
    left: Vec<Value>,
    manifest: Value,
    warcs: Vec<PathBuf>,
}

impl Export {
    fn read(out: &Path) -> Self {
        let lines = |name: &str| -> Vec<String> {
            let text = fs::read_to_string(out.join(name)).unwrap_or_default();
            text.lines().map(ToOwned::to_owned).collect()
        };
        let json = |name: &str| lines(name).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let manifest: Value = serde_json::from_slice(&fs::read(out.join("manifest.json")).unwrap()).unwrap();
        for file in manifest["files"].as_array().unwrap() {
            let bytes = fs::read(out.join(file["path"].as_str().unwrap())).unwrap();
            assert_eq!(file["sha256"], data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes)), "{file}");
        }
        let warcs = fs::read_dir(out.join("warc")).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        Self { pages: json("pages.jsonl"), list: lines("urls.txt"), left: json("left_out.jsonl"), manifest, warcs }
    }

    fn urls(&self) -> BTreeSet<String> {
        let pages = self.pages.iter().map(|page| page["url"].as_str().unwrap().to_owned());
        self.list.iter().cloned().chain(pages).collect()
    }

    /// Everything in the WARC files, inflated; each is read by our reader and by gzip.
    fn content(&self) -> String {
        let mut all = Vec::new();
        for path in &self.warcs {
            let bytes = fs::read(path).unwrap();
            let records: Vec<_> = WarcReader::new(&bytes[..]).map(Result::unwrap).collect();
            assert_eq!(records.first().unwrap().kind(), "warcinfo");
            match Command::new("gzip").arg("-t").arg(path).status() {
                Ok(status) => assert!(status.success()),
                Err(_) => eprintln!("left out: gzip is not installed"),
            }
            flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut all).unwrap();
        }
        String::from_utf8_lossy(&all).into_owned()
    }

    #[track_caller]
    fn has_content_of(&self, told: &BTreeMap<String, String>) {
        let content = self.content();
        for (name, reason) in told {
            let has = content.contains(&format!("the secret of {name}."));
            assert_eq!(has, reason == ".", "{name}: {reason}");
            assert_eq!(content.contains(&format!("http://{name}.test")), reason == ".", "{name}: {reason}");
        }
    }
}

fn expected(of: impl Fn(&Row) -> &'static str) -> BTreeMap<String, String> {
    rows().iter().map(|row| (row.0.to_owned(), of(row).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_be_used_is_exported_in_each_format_and_nothing_else() {
    let crawled = Crawled::new().await;
    for (at, purpose) in ["search", "ai-train"].into_iter().enumerate() {
        let wanted = expected(|row| row.2[at]);
        for format in ["warc", "jsonl", "urls"] {
            let name = format!("{purpose}-{format}");
            let export = crawled.export(purpose, &name, &["--format", format]).await;
            assert_eq!(crawled.told(&export), wanted, "{name}");
            assert_eq!(export.warcs.is_empty(), format != "warc");
            if format == "warc" {
                export.has_content_of(&wanted);
            }
            // A page that repeats one that must not be used is of no use without it.
            let again: Vec<_> = export
                .left
                .iter()
                .filter(|row| row["url"].as_str().is_some_and(|url| url.contains("//again")))
                .collect();
            let reasons: Vec<_> = again.iter().map(|row| row["reason"].as_str().unwrap()).collect();
            assert_eq!(reasons, [&["signal.search", "original.left_out"][..], &[]][at], "{name}");
            let left = export.manifest["counts"]["left_out"].as_object().unwrap();
            let left: u64 = left.values().map(|count| count.as_u64().unwrap()).sum();
            assert_eq!(
                (left, export.manifest["counts"]["usable"].as_u64().unwrap()),
                (export.left.len() as u64, export.urls().len() as u64)
            );
        }
        let unspecified = crawled.export(purpose, &format!("{purpose}-refuse"), &["--unspecified", "refuse"]).await;
        assert_eq!(crawled.told(&unspecified)["silence"], "signal.unspecified");
    }
    let denied = crawled.export("ai_train", "again", &["--format", "jsonl"]).await;
    let said =
        |name: &str| denied.left.iter().find(|row| row["url"] == crawled.url(name)).unwrap()["statement"].clone();
    assert_eq!((&said("signal-gone")["raw"], &said("signal-gone")["place"]), (&"ai-train=no".into(), &"line 2".into()));
    assert_eq!((&said("closed")["raw"], &said("closed")["place"]), (&"/p".into(), &"line 2".into()));
    let granted = denied.pages.iter().find(|page| page["url"] == crawled.url("granted")).unwrap();
    assert_eq!((&granted["verdict"], &granted["grants"][0]["reference"]), (&"denied".into(), &"L-17".into()));
    let other = crawled.export("ai_input", "other", &["--format", "urls"]).await;
    assert!(other.urls().is_empty(), "nobody declared it");
    assert_eq!(crawled.told(&other)["silence"], "purpose.not_declared");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_sites_deny_by_now_is_left_out_and_what_they_permit_by_now_is_marked() {
    let crawled = Crawled::new().await;
    let export = crawled.export("ai-train", "today", &["--recheck"]).await;
    let wanted = expected(|row| row.3[1]);
    assert_eq!(crawled.told(&export), wanted);
    export.has_content_of(&wanted);
    let row = |name: &str| export.left.iter().chain(&export.pages).find(|row| row["url"] == crawled.url(name)).unwrap();
    let marks = [
        ("signal-new", "tightened"),
        ("usage-new", "tightened"),
        ("file-new", "tightened"),
        ("closed-new", "tightened"),
        ("signal-gone", "loosened"),
        ("closed", "loosened"),
        ("file", "same"),
        ("noai", "same"),
        ("meta", "same"),
        ("silence", "same"),
        ("down-now", "not_rechecked"),
    ];
    for (name, mark) in marks {
        assert_eq!(row(name)["recheck"], mark, "{name}: {}", row(name));
    }
    for (name, place) in [("signal-new", "line 2"), ("closed-new", "line 2"), ("file-new", "rule 0")] {
        let said = &row(name)["statement"];
        let copy = crawled.home.path().join("today/today").join(said["digest"].as_str().unwrap());
        assert!(fs::read_to_string(copy).unwrap().contains(said["raw"].as_str().unwrap()), "{said}");
        assert_eq!(said["place"], place, "{said}");
    }
    // The last answer of each site stays.
    let export = crawled.export("search", "strict", &["--recheck", "--strict", "--format", "jsonl"]).await;
    let wanted = expected(|row| if row.0 == "down-now" { "not_rechecked" } else { row.3[0] });
    assert_eq!(crawled.told(&export), wanted);
    let audit = Auditor::new().floor(Duration::from_millis(100)).examine(&crawled.served.observer());
    // Each recheck is a process of its own, and asks anew; nothing else may be found.
    assert_eq!(audit.violation_count(), audit.count("robots_again"), "{audit}");
}

/// What the crawl allowed by its dialect is not taken away by another, and sites are asked under the name that they know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recheck_reads_robots_txt_as_the_crawl_did_and_asks_under_its_name() {
    let home = TempDir::new().unwrap();
    // In the standard dialect %70 is p.
    let site = Site::new().name("a.test").robots("User-agent: *\nDisallow: /%70\n").page("/p", Answer::text("words"));
    let served = Web::builder(3).site(site).build().unwrap().serve_names().await.unwrap();
    let config = home.path().join(".config/comity");
    fs::create_dir_all(&config).unwrap();
    let write = |name: &str, dialect: &str| {
        let text = format!(
            "[agent]\nname = \"{name}/1.0\"\ncontact = \"a@example.com\"\n[archive]\nmin_free = \"1MB\"\n[robots]\n\
             dialect = \"{dialect}\"\n[politeness]\ndelay = \"100ms\"\n[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n\
             [fetch.resolve]\n\"a.test\" = \"127.0.0.1\"\n"
        );
        fs::write(config.join("config.toml"), text).unwrap();
    };
    let crawled = Crawled { dir: home.path().join("d"), home, served };
    write("MyBot", "google");
    let words = ["crawl", "--dir", crawled.dir.to_str().unwrap(), &crawled.url("a")].map(str::to_owned);
    crawled.run(&words).await;
    write("OtherBot", "standard");
    let export = crawled.export("search", "today", &["--recheck"]).await;
    assert_eq!(export.urls(), BTreeSet::from([crawled.url("a")]), "{:?}", export.left);
    let log = crawled.served.observer().log();
    assert!(log.len() >= 3, "{log:?}");
    let names = log.iter().map(|seen| seen.request.field("user-agent").unwrap_or_default().into_owned());
    assert!(names.clone().all(|name| name.starts_with("MyBot/1.0")), "{:?}", names.collect::<Vec<_>>());
}

/// A crawl for `purpose` of one page behind a query, of a site that says another thing today.
async fn behind_a_query(form: &str, purpose: &str, today: &str) -> Crawled {
    let home = TempDir::new().unwrap();
    let answers = ["User-agent: *\nAllow: /\n", today].map(Answer::text);
    let site = Site::new().name("a.test").robots_answers(answers).page("/p?name=Ada", Answer::text("words"));
    let served = Web::builder(3).site(site).build().unwrap().serve_names().await.unwrap();
    let config = home.path().join(".config/comity");
    fs::create_dir_all(&config).unwrap();
    let text = format!(
        "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\n[archive]\nmin_free = \"1MB\"\nquery = \"{form}\"\n\
         [politeness]\ndelay = \"100ms\"\n[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n\
         [fetch.resolve]\n\"a.test\" = \"127.0.0.1\"\n"
    );
    fs::write(config.join("config.toml"), text).unwrap();
    let crawled = Crawled { dir: home.path().join("d"), home, served };
    let seed = format!("{}?name=Ada", crawled.url("a"));
    let words = ["crawl", "--dir", crawled.dir.to_str().unwrap(), "--purpose", purpose, &seed];
    crawled.run(&words.map(str::to_owned)).await;
    crawled
}

/// Today's rules are asked for a whole URL alone: by what is left of one, what they refuse by its query would be permitted. What they
/// deny with every query is left out, whatever else of them hangs on it (docs/decisions/0083).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_url_whose_query_was_not_written_what_every_query_has_in_common_is_known_today() {
    let refused = "User-agent: *\nDisallow: /*?name=\n";
    let denied = "User-agent: __usage_ai-training\nDisallow: /\n\n\
                  User-agent: *\nContent-Usage: /*?free=1 train-ai=y\nAllow: /\n";
    let hangs = "User-agent: *\nContent-Usage: /*?name= train-ai=n\nAllow: /\n";
    let rows = [
        (refused, "search", "keep", "robots.disallow"),
        (refused, "search", "drop", "not_rechecked"),
        (refused, "search", "hash", "not_rechecked"),
        (denied, "ai-train", "keep", "signal.ai_train"),
        (denied, "ai-train", "drop", "signal.ai_train"),
        (denied, "ai-train", "hash", "signal.ai_train"),
        (hangs, "ai-train", "keep", "signal.ai_train"),
        (hangs, "ai-train", "drop", "not_rechecked"),
        (hangs, "ai-train", "hash", "not_rechecked"),
    ];
    for (today, purpose, form, reason) in rows {
        let crawled = behind_a_query(form, purpose, today).await;
        let strict = ["--recheck", "--strict", "--format", "jsonl"];
        let export = crawled.export(purpose, "today", &strict).await;
        let reasons: Vec<_> = export.left.iter().map(|row| row["reason"].as_str().unwrap()).collect();
        assert_eq!((reasons, export.urls().len()), (vec![reason], 0), "{today:?} {form}");
    }
}

#[test]
fn of_a_changed_directory_none_is_made_and_the_same_crawl_gives_the_same_files() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    copy_tree(&fixture("v2"), &dir);
    let export = |dir: &Path, out: &str, flags: &[&str]| {
        let out = home.path().join(out);
        let words = ["export", dir.to_str().unwrap(), "--for", "search", "--out", out.to_str().unwrap()];
        comity(home.path(), &[&words[..], flags].concat())
    };
    let files = |out: &str| {
        let text = fs::read(home.path().join(out).join("manifest.json")).unwrap();
        let mut manifest: Value = serde_json::from_slice(&text).unwrap();
        manifest["made"].take();
        manifest
    };
    for out in ["one", "two"] {
        let ran = export(&dir, out, &["--json"]);
        assert!(ran.status.success(), "{}", stderr(&ran));
    }
    assert_eq!(files("one"), files("two"));
    assert!(files("one")["counts"]["usable"].as_u64() > Some(0), "{}", files("one"));
    let again = export(&dir, "one", &[]);
    assert!(again.status.code() == Some(2) && stderr(&again).contains("exists already"), "{}", stderr(&again));
    let strict = export(&dir, "three", &["--strict"]);
    assert_eq!(strict.status.code(), Some(2));
    let none = export(home.path(), "three", &[]);
    assert!(none.status.code() == Some(2) && stderr(&none).contains("holds no crawl"), "{}", stderr(&none));
    change_records(&dir, "\"status\":200", "\"status\":201");
    let changed = export(&dir, "three", &[]);
    assert!(changed.status.code() == Some(5) && stderr(&changed).contains("comity verify"), "{}", stderr(&changed));
    assert!(!home.path().join("three").exists() && !home.path().join("three.tmp").exists());
}

/// A page that an override opened is judged by what its group says of uses today, whether or not the site refuses it still, and
/// with a query where it had one, known or not.
async fn overridden(lifts: &str, form: &str, at: &str, today: &str) -> bool {
    let home = TempDir::new().unwrap();
    let first = if lifts == RULES { Answer::text("User-agent: *\nDisallow: /p\n") } else { Answer::status(503) };
    let answers = [first, Answer::text(today)];
    let site = Site::new().name("a.test").robots_answers(answers).page(at, Answer::text("words"));
    let served = Web::builder(3).site(site).build().unwrap().serve_names().await.unwrap();
    let config = home.path().join(".config/comity");
    fs::create_dir_all(&config).unwrap();
    let port = served.port();
    let text = format!(
        "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\n[archive]\nmin_free = \"1MB\"\nquery = \"{form}\"\n\
         [politeness]\ndelay = \"100ms\"\n[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n\
         [fetch.resolve]\n\"a.test\" = \"127.0.0.1\"\n\
         [[override]]\norigins = [\"http://a.test:{port}\"]\n{lifts}\nbasis = \"own_site\"\n\
         justification = \"it is our own site, we may\"\napproved_by = \"Ann\"\ncreated = 2026-11-01\nexpires = 2027-06-01\n"
    );
    fs::write(config.join("config.toml"), text).unwrap();
    let crawled = Crawled { dir: home.path().join("d"), home, served };
    let seed = format!("http://a.test:{port}{at}");
    let words = ["crawl", "--dir", crawled.dir.to_str().unwrap(), "--purpose", "ai-train", &seed];
    crawled.run(&words.map(str::to_owned)).await;
    let export = crawled.export("ai-train", "today", &["--recheck", "--strict", "--format", "jsonl"]).await;
    !export.pages.is_empty()
}

/// An override that lifts rules.
const RULES: &str = "scope = [\"robots\"]";
/// One that lifts a file that cannot be had, and no rule.
const ABSENCE: &str = "scope = []\nrobots_5xx_as_404 = true";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_override_for_a_file_that_was_not_to_be_had_lifts_no_rule_of_today() {
    assert!(!overridden(ABSENCE, "keep", "/p", "User-agent: *\nDisallow: /p\n").await);
    assert!(overridden(ABSENCE, "keep", "/p", "User-agent: *\nDisallow: /q\n").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_override_opened_is_held_to_what_is_said_of_its_use_today() {
    let rows = [
        ("keep", "/p", "Disallow: /p\nContent-Usage: train-ai=n\n", false),
        ("keep", "/p", "Allow: /p\nContent-Usage: train-ai=n\n", false),
        ("keep", "/p", "Disallow: /p\nContent-Usage: train-ai=y\n", true),
        ("drop", "/p?a=1", "Disallow: /p?b\nContent-Usage: / train-ai=n\nContent-Usage: /p$ train-ai=y\n", false),
        ("keep", "/p?a=1", "Disallow: /p?b\nContent-Usage: / train-ai=n\nContent-Usage: /p$ train-ai=y\n", false),
        ("drop", "/p?a=1", "Disallow: /p?b\nContent-Usage: /p$ train-ai=n\n", true),
    ];
    for (form, at, today, is_exported) in rows {
        let today = format!("User-agent: *\n{today}");
        assert_eq!(overridden(RULES, form, at, &today).await, is_exported, "{form} {at} {today}");
    }
}
