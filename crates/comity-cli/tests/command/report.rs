//! `comity report` over a crawl of forty origins under two configurations: each figure equals what the records give.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Output;

use comity::policy::{Clock as _, WallTime};
use comity_testweb::{Answer, Served, Site, Target, Web};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::verify::{change_records, copy_tree};
use super::{WHO, comity, stderr};

const SITES: usize = 40;
/// What somebody writes who wants to be more than text.
const HOSTILE: &str = "Ann | <b>bold</b> `code` | a | b | [x](y) $z$ *e*";
/// The same with line ends and controls, which the texts of an exception may not hold.
const LINES: &str = "/q\n\n- A point\n| <b>a</b> | `code` |\u{1b}[2J\u{202e}";

/// Five kinds of sites, two to a registrable domain, each of another size.
fn site(n: usize) -> Site {
    let size = 500 + 37 * n as u64;
    let site = Site::new()
        .name(format!("{}.d{:02}.test", if n.is_multiple_of(2) { "www" } else { "blog" }, n / 2))
        .page("/", Answer::page(["/a", "/b", "/no", "/gone", "/kept"].map(Target::here)).bytes(size))
        .page("/a", Answer::page([Target::here("/c")]).bytes(2 * size))
        .page("/b", Answer::text("b").bytes(size / 2))
        .page("/c", Answer::text("c").bytes(size / 3))
        .page("/kept", Answer::text("secret").field("X-Robots-Tag", "noai, noindex"));
    match n % 5 {
        0 => site.robots("User-agent: *\nDisallow: /no\nContent-Signal: search=yes, ai-train=no\n"),
        1 => site.robots("User-agent: *\nDisallow: /no\n"),
        2 => site.robots_answer(Answer::status(404)),
        3 => site.robots("User-agent: *\nContent-Signal: ai-train=yes\nAllow: /\n"),
        _ => site.robots("User-agent: *\nDisallow: /\n"),
    }
}

/// What somebody does to a directory.
type Change<'a> = &'a dyn Fn(&Path);

struct Crawled {
    home: TempDir,
    served: Served,
}

impl Crawled {
    /// A first run that a limit ends, a second under another configuration, accepted.
    async fn new() -> Self {
        let web = (0..SITES).fold(Web::builder(11), |web, n| web.site(site(n)));
        let served = web.build().unwrap().serve_names().await.unwrap();
        let crawled = Self { home: TempDir::new().unwrap(), served };
        crawled.run(&crawled.config("30ms", 60), &[], 3).await;
        crawled.run(&crawled.config("20ms", 100_000), &["--accept-config"], 0).await;
        crawled
    }

    fn config(&self, delay: &str, pages: u64) -> String {
        let optout = self.home.path().join("optout.jsonl");
        let line = json!({"action": "add", "target": "d07.test", "requested_by": "owner@d07.test", "at": "2026-11-01T00:00:00Z", "reason": "asked"});
        fs::write(&optout, format!("{line}\n")).unwrap();
        let names = self.served.names().iter();
        let resolve: String = names.map(|(name, addresses)| format!("{name:?} = \"{}\"\n", addresses[0])).collect();
        let seeds: Vec<String> = self.served.origins().iter().map(|origin| format!("{origin}/")).collect();
        format!(
            "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\npurposes = [\"search\", \"ai_train\"]\n\
             [crawl]\nseeds = {seeds:?}\nmax_pages = {pages}\nexclude = [{lines}]\n[politeness]\ndelay = {delay:?}\n[signals]\ntdmrep = \"needed\"\n\
             [optout]\nfiles = [{optout:?}]\n[archive]\nmin_free = \"1MB\"\n\
             [[override]]\norigins = [\"{}\"]\nscope = [\"robots\"]\nbasis = \"own_site\"\njustification = {justification}\n\
             approved_by = {hostile}\ncreated = {day}\nexpires = {end}\n\
             [[grant]]\norigins = [\"{}\"]\npurposes = [\"ai_train\"]\nbasis = \"licence\"\nreference = {hostile}\n\
             approved_by = \"Bob\"\nexpires = 2099-01-01\n\
             [fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n[fetch.resolve]\n{resolve}",
            self.served.origins()[4],
            self.served.origins()[5],
            day = days(-1),
            end = days(30),
            lines = toml_text(LINES),
            hostile = toml_text(HOSTILE),
            justification = toml_text(&format!("our own site, as all can see: {HOSTILE}")),
        )
    }

    async fn run(&self, config: &str, flags: &[&str], code: i32) {
        let file = self.home.path().join("in.toml");
        fs::write(&file, config).unwrap();
        let args = ["crawl", "--config", file.to_str().unwrap(), "--dir", self.dir()];
        let args: Vec<String> = args.iter().chain(flags).chain(&WHO).map(|word| (*word).to_owned()).collect();
        let home = self.home.path().to_owned();
        let ran =
            tokio::task::spawn_blocking(move || comity(&home, &args.iter().map(String::as_str).collect::<Vec<_>>()));
        let ran = ran.await.unwrap();
        assert_eq!(ran.status.code(), Some(code), "{} {}", String::from_utf8_lossy(&ran.stdout), stderr(&ran));
    }

    fn dir(&self) -> &'static str {
        self.home.path().join("d").to_str().unwrap().to_owned().leak()
    }

    fn json(&self, flags: &[&str]) -> Value {
        serde_json::from_str(&self.text(&[flags, &["--json"]].concat())).unwrap()
    }

    fn text(&self, flags: &[&str]) -> String {
        let ran = report(self.home.path(), Path::new(self.dir()), flags);
        assert!(ran.status.success(), "{}", stderr(&ran));
        String::from_utf8(ran.stdout).unwrap()
    }

    /// Bodies as `comity records` prints them; null for one that was erased.
    fn records(&self) -> Vec<Value> {
        let ran = comity(self.home.path(), &["records", self.dir()]);
        assert!(ran.status.success(), "{}", stderr(&ran));
        let text = String::from_utf8(ran.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["body"].take()).collect()
    }
}

/// A moment so many days from now.
fn days(days: i64) -> String {
    let now = comity_fetch::SystemClock::new().wall();
    WallTime::from_unix_millis(now.unix_millis() + days * 86_400_000).to_string()
}

fn toml_text(text: &str) -> String {
    // JSON writes no escape that TOML does not read.
    json!(text).to_string()
}

fn report(home: &Path, dir: &Path, flags: &[&str]) -> Output {
    comity(home, &[&["report", dir.to_str().unwrap()], flags].concat())
}

/// The figures, made again by other means: no type of ours reads the records, names end in `dNN.test`.
fn expected(records: &[Value], purpose: Option<&str>, bodiless: &[&str]) -> (Value, Vec<(String, u64, u64)>) {
    let sent: Vec<&Value> = records.iter().filter(|one| !one["request"].is_null()).collect();
    let host = |one: &Value| one["url"].as_str().unwrap().split('/').nth(2).unwrap().to_owned();
    let origins: BTreeSet<String> = sent.iter().map(|one| host(one)).collect();
    let collected = sent.iter().filter(|one| {
        let allowed = purpose.is_none_or(|purpose| one["decision"]["purposes"][purpose]["decision"] == "proceed");
        let status = one["response"]["status"].as_u64().unwrap_or(0);
        let erased = bodiless.contains(&one["url"].as_str().unwrap());
        one["errand"] == "page" && one["outcome"] == "fetched" && (200..300).contains(&status) && allowed && !erased
    });
    let mut domains = BTreeMap::<String, (u64, u64)>::new();
    for one in collected {
        let host = host(one);
        let name = host.split(':').next().unwrap().split_once('.').unwrap().1.to_owned();
        let share = domains.entry(name).or_default();
        *share = (share.0 + one["response"]["body_length"].as_u64().unwrap(), share.1 + 1);
    }
    let (bytes, pages) = domains.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let counts = json!({
        "requests": sent.len(), "origins": origins.len(), "pages": pages, "pages_kept": pages, "bytes": bytes,
        "domains": domains.len(),
    });
    let mut rows: Vec<(String, u64, u64)> =
        domains.into_iter().map(|(name, (bytes, pages))| (name, bytes, pages)).collect();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    (counts, rows)
}

#[track_caller]
fn fits(crawled: &Crawled, flags: &[&str], purpose: Option<&str>, bodiless: &[&str]) -> Value {
    let (counts, rows) = expected(&crawled.records(), purpose, bodiless);
    let said = crawled.json(&[&["--public-summary"], flags].concat());
    for (name, number) in counts.as_object().unwrap() {
        assert_eq!(&said["counts"][name], number, "{flags:?} {name}");
    }
    let listed = said["top_domains"]["rows"].as_array().unwrap().iter();
    let listed: Vec<(String, u64, u64)> = listed
        .map(|row| {
            (row["domain"].as_str().unwrap().to_owned(), row["bytes"].as_u64().unwrap(), row["pages"].as_u64().unwrap())
        })
        .collect();
    let percent = if flags.contains(&"--sme") { 5 } else { 10 };
    assert_eq!(listed, rows[..(rows.len() * percent).div_ceil(100)], "{flags:?}");
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_equal_those_of_the_records_and_rules_those_of_the_configurations() {
    let crawled = Crawled::new().await;
    let all = fits(&crawled, &[], None, &[]);
    // An opted-out domain and those that refuse everything are no domains that something is from.
    assert!(all["counts"]["domains"].as_u64().unwrap() > 12, "{all}");
    assert!(
        all["left_out"]["withheld"].as_u64().unwrap() > 0
            && all["left_out"]["not_fetched"]["optout"].as_u64().unwrap() > 0,
        "{all}"
    );
    assert!(all["counts"]["pages_under_override"].as_u64().unwrap() > 0, "{all}");
    assert!(all["counts"]["pages_under_grant"].as_u64().unwrap() > 0, "{all}");
    assert_eq!(all["crawlers"][0]["product_tokens"], json!(["MyBot"]));
    let sme = fits(&crawled, &["--sme"], None, &[]);
    assert!(
        sme["top_domains"]["rows"].as_array().unwrap().len() < all["top_domains"]["rows"].as_array().unwrap().len()
    );
    let train = fits(&crawled, &["--for", "ai-train"], Some("ai_train"), &[]);
    assert!(train["counts"]["pages"].as_u64() < all["counts"]["pages"].as_u64(), "{train}");
    let none = fits(&crawled, &["--for", "tdm"], Some("tdm"), &[]);
    assert_eq!(none["counts"]["pages"], 0, "what was not judged is not allowed");
    assert_eq!(
        report(crawled.home.path(), Path::new(crawled.dir()), &["--public-summary", "--for", "archive"]).status.code(),
        Some(2)
    );
    let sent: BTreeSet<String> = crawled
        .records()
        .iter()
        .filter(|one| !one["request"].is_null())
        .map(|one| one["time"]["started"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!((&all["period"]["first"], &all["period"]["last"]), (&json!(sent.first()), &json!(sent.last())));
    policy(&crawled);
    broken(&crawled);
    erased(&crawled);
}

/// Two configurations, each with the records that name it, and nothing from outside that is more than text.
fn policy(crawled: &Crawled) {
    let said = crawled.json(&["--policy"]);
    let mut under = Vec::<(String, u64)>::new();
    for one in crawled.records() {
        let digest = one["agent"]["config_digest"].as_str().unwrap();
        match under.iter_mut().find(|(known, _)| known == digest) {
            Some((_, records)) => *records += 1,
            None => under.push((digest.to_owned(), 1)),
        }
    }
    let listed = said["configurations"].as_array().unwrap();
    let told: Vec<(String, u64)> = listed
        .iter()
        .map(|one| (one["digest"].as_str().unwrap().to_owned(), one["records"].as_u64().unwrap()))
        .collect();
    assert_eq!((told.len(), &told), (2, &under));
    let says = |n: usize, key: &str| {
        let facts = listed[n]["facts"].as_array().unwrap();
        facts.iter().find(|fact| fact["key"] == key).map(|fact| fact["says"].as_str().unwrap().to_owned()).unwrap()
    };
    assert!(says(0, "politeness.delay").contains("30ms") && says(1, "politeness.delay").contains("20ms"));
    assert!(says(1, "override[0].approved_by").contains(HOSTILE) && says(1, "grant[0].expires").contains("2099-01-01"));
    assert!(says(1, "crawl.exclude").contains(LINES));
    assert!(says(1, "optout.files[0], digest").contains("not recorded"));
    for text in [crawled.text(&["--policy"]), crawled.text(&["--public-summary"])] {
        assert!(text.contains("30ms") && text.contains("20ms"), "{text}");
        assert!(!text.contains("<b>") && !text.contains("\n- A point") && !text.contains('\u{1b}'), "{text}");
        assert!(!text.contains(" `code`") && !text.contains("$z$") && !text.contains("\u{202e}"), "{text}");
        // A line of a table has as many cells as its head.
        let mut cells = None;
        for line in text.lines() {
            let bars = line.replace("\\|", "").matches('|').count();
            cells = (bars > 0).then(|| {
                cells.map_or(bars, |due| {
                    assert_eq!(bars, due, "{line}");
                    due
                })
            });
        }
    }
    assert!(crawled.text(&["--policy"]).contains("&lt;b&gt;bold&lt;/b&gt;"));
    assert!(crawled.text(&["--public-summary"]).contains("no legal advice"));
}

/// Whatever was changed, there is no report, exit 1, and a text that says what it is.
fn broken(crawled: &Crawled) {
    let change: [(&str, Change<'_>); 5] = [
        ("not what was committed to", &|dir| {
            change_records(dir, "\"outcome\":\"fetched\"", "\"outcome\":\"fetched_\"")
        }),
        ("where 0 is due", &|dir| change_records(dir, "{\"v\":1,\"seq\":", "{\"v\":1,\"seq\":9")),
        ("the end is missing", &|dir| {
            let files = fs::read_dir(dir.join("records")).unwrap().map(|entry| entry.unwrap().path());
            fs::remove_file(files.max().unwrap()).unwrap();
        }),
        ("not what its name says", &|dir| {
            let now = fs::read_to_string(dir.join("crawl.toml")).unwrap();
            for entry in fs::read_dir(dir.join("configs")).unwrap() {
                let path = entry.unwrap().path();
                if fs::read_to_string(&path).unwrap() != now {
                    fs::write(&path, format!("{now}\n")).unwrap();
                }
            }
        }),
        ("crawl.toml", &|dir| fs::write(dir.join("crawl.toml"), "[agent]\nname = \"Nice/1\"\n").unwrap()),
    ];
    for (problem, change) in change {
        // What happened is told under whatever crawl.toml says now.
        let forms = ["--policy", "--public-summary", "--html"];
        for form in &forms[..if problem == "crawl.toml" { 2 } else { 3 }] {
            let home = TempDir::new().unwrap();
            let dir = home.path().join("d");
            copy_tree(Path::new(crawled.dir()), &dir);
            change(&dir);
            let ran = report(home.path(), &dir, &[form, "--json"]);
            assert_eq!((ran.status.code(), ran.stdout.len()), (Some(1), 0), "{problem}: {}", stderr(&ran));
            assert!(stderr(&ran).contains(problem), "{problem}: {}", stderr(&ran));
        }
    }
}

/// A body that was erased counts no longer, nor does an origin.
fn erased(crawled: &Crawled) {
    let why = ["--reason", "asked for", "--request", "R-1"];
    let origins = crawled.served.origins();
    let (url, origin) = (format!("{}/a", origins[1]), origins[11].clone());
    let before = crawled.json(&["--public-summary"]);
    let ran = comity(crawled.home.path(), &[&["erase", crawled.dir(), "--url", &url], &why[..]].concat());
    assert!(ran.status.success(), "{}", stderr(&ran));
    let after = fits(crawled, &[], None, &[&url]);
    assert_eq!(after["left_out"]["body_erased"], 1);
    assert_eq!(before["counts"]["pages"].as_u64().unwrap(), after["counts"]["pages"].as_u64().unwrap() + 1);
    let ran =
        comity(crawled.home.path(), &[&["erase", crawled.dir(), "--origin", &origin, "--records"], &why[..]].concat());
    assert!(ran.status.success(), "{}", stderr(&ran));
    let kept: Vec<Value> =
        crawled.records().into_iter().filter(|one| one["errand"] != "erasure" && !one.is_null()).collect();
    let (counts, _) = expected(&kept, None, &[&url]);
    let last = crawled.json(&["--public-summary"]);
    assert_eq!(last["counts"]["bytes"], counts["bytes"]);
    assert!(
        last["left_out"]["record_erased"].as_u64().unwrap() > 2
            && last["counts"]["bytes"].as_u64() < after["counts"]["bytes"].as_u64(),
        "{last}"
    );
}

/// The page that a run leaves, and the numbers behind it, made again from the records by other means.
pub(crate) fn happened(home: &Path, dir: &Path, demo: &Value) {
    let page = fs::read_to_string(dir.join("report.html")).unwrap();
    assert!(page.contains("default-src 'none'") && !page.contains("<script"), "it stands alone");
    assert!(!page.contains(" src=") && !page.contains("url(") && !page.contains("@import"), "it loads nothing");
    let ran = report(home, dir, &["--json"]);
    let said: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let records = comity(home, &["records", dir.to_str().unwrap()]);
    let records: Vec<Value> = String::from_utf8(records.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["body"].take())
        .collect();
    let count =
        |is: &dyn Fn(&Value) -> bool| json!(records.iter().filter(|one| one["errand"] == "page" && is(one)).count());
    assert_eq!(said["pages"]["skipped"], demo["refused"]);
    assert_eq!(said["pages"]["skipped"], count(&|one| one["outcome"] == "not_fetched"));
    assert_eq!(said["statuses"]["200"], count(&|one| one["response"]["status"] == 200));
    assert_eq!(said["pages"]["answered"], json!(said["pages"]["answered"].as_u64().max(demo["pages"].as_u64())));
    let bytes =
        records.iter().filter(|one| one["errand"] == "page").filter_map(|one| one["response"]["body_length"].as_u64());
    assert_eq!(said["pages"]["bytes"], json!(bytes.sum::<u64>()));
    let origins: BTreeSet<String> = records
        .iter()
        .map(|one| one["url"].as_str().unwrap().splitn(4, '/').take(3).collect::<Vec<_>>().join("/"))
        .collect();
    let listed = said["origins"].as_array().unwrap();
    assert_eq!(listed.iter().map(|one| one["origin"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>(), origins);
    for one in listed {
        let origin = one["origin"].as_str().unwrap();
        let asked = records.iter().filter(|record| record["robots"]["for_origin"] == origin);
        let asked = asked.filter_map(|record| record["robots"]["crawl_delay_ms"].as_u64()).max();
        assert_eq!(one["asked_ms"].as_u64(), asked, "{origin}");
        assert!(page.contains(&format!(">{origin}<")), "{origin}");
    }
    assert_eq!(
        (&said["politeness"]["violations"], &said["politeness"]["against_rule"]),
        (&json!(0), &json!(0)),
        "as the audit says"
    );
    assert_eq!(said["politeness"]["floor_unknown"], 0, "every configuration is kept");
    assert!(page.contains("<li class=\"good\">"));
    let measured = said["politeness"]["gaps"].as_u64().unwrap();
    assert_eq!(
        measured,
        said["requests"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>() - origins.len() as u64
    );
    let text = String::from_utf8(report(home, dir, &[]).stdout).unwrap();
    assert!(text.contains("0 too early, 0 against a rule") && text.lines().count() < 40, "{text}");
    let elsewhere = home.join("elsewhere.html");
    assert!(report(home, dir, &["--html", elsewhere.to_str().unwrap()]).status.success());
    assert!(fs::read_to_string(elsewhere).unwrap().contains("Origins"));
}

/// After an erasure: no page, and one made anew tells only how much went.
pub(crate) fn without(home: &Path, dir: &Path, authority: &str, gone: u64) {
    assert!(!dir.join("report.html").exists());
    assert!(report(home, dir, &["--html"]).status.success());
    assert!(!fs::read_to_string(dir.join("report.html")).unwrap().contains(authority));
    let said: Value = serde_json::from_slice(&report(home, dir, &["--json"]).stdout).unwrap();
    // Those that were amended stand, without what led to them.
    assert!(said["chain"]["tombstones"].as_u64() >= Some(gone), "{}", said["chain"]);
    assert!(!said.to_string().contains(authority));
}
