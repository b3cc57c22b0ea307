//! `comity audit` sees in the WARC files and the evidence what the auditor of the synthetic web saw arrive.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use comity::Crawler;
use comity::config::{ByteSize, ConfigFile, Moment, OverrideSection, Span};
use comity::control::Reload;
use comity::policy::{SeededRandom, WallTime};
use comity_archive::{Depth, Erasure, Named};
use comity_fetch::SystemClock;
use comity_testweb::{Answer, Auditor, Observer, Site, Target, Web};
use comity_url::Origin;
use serde_json::Value;
use tempfile::TempDir;

use super::comity;
use super::verify::change_records;

const START: i64 = 1_796_000_000_000;
/// Sites of each kind: rules and delays, redirects into refused paths, no robots.txt, one that fails, plain ones.
const KINDS: usize = 5;

/// `docs/verify.py` says the same, where Python and zstd are there; gives what it said.
pub(crate) fn verified_without_our_code(dir: &Path, code: i32) -> Option<String> {
    let script: std::path::PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", "verify.py"].iter().collect();
    let has_zstd = Command::new("zstd").arg("--version").output().is_ok();
    let ran = Command::new("python3").arg(script).arg(dir).args(["--floor", "1"]).output();
    let Some(ran) = ran.ok().filter(|_| has_zstd) else {
        eprintln!("left out: docs/verify.py, there is no python3, or no zstd");
        return None;
    };
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(code), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    Some(said)
}

pub(super) fn name(number: usize) -> String {
    format!("o{number}.test")
}

fn site(number: usize) -> Site {
    let site = (0..4).fold(Site::new().name(name(number)).latency(Duration::from_millis(7)), |site, n| {
        site.page(format!("/{n}"), Answer::text("x"))
    });
    let links = ["/0", "/1", "/2", "/3", "/private/a", "/go"].map(Target::here);
    let site = site.page("/", Answer::page(links)).page("/private/a", Answer::text("secret"));
    match number % KINDS {
        0 => site.robots("User-agent: *\nCrawl-delay: 3\nDisallow: /private/\n"),
        1 => site
            .robots("User-agent: *\nDisallow: /private/\n")
            .page("/go", Answer::redirect(302, Target::here("/private/a"))),
        2 => site,
        3 => site.robots_answer(Answer::status(503)),
        _ => site.robots("User-agent: AuditBot\nCrawl-delay: 1.5\n\nUser-agent: *\nDisallow: /\n"),
    }
}

/// What an operator may do to their own sites, and what a strict reader finds in it.
fn exceptions() -> Vec<OverrideSection> {
    let words = |words: &[&str]| Some(words.iter().map(ToString::to_string).collect());
    let one = |number: usize, scope: &[&str]| OverrideSection {
        id: Some(format!("own-{number}")),
        origins: words(&[&format!("http://{}", name(number))]),
        scope: words(scope),
        robots_5xx_as_404: Some(scope.is_empty()),
        basis: Some("own_site".into()),
        justification: Some("Our own site, looked at before release".into()),
        approved_by: Some("Ann".into()),
        created: Some(Moment(WallTime::from_unix_millis(START - 86_400_000))),
        expires: Some(Moment(WallTime::from_unix_millis(START + 86_400_000))),
    };
    vec![one(0, &["rate"]), one(1, &["robots"]), one(3, &[])]
}

async fn crawl(dir: &Path, origins: usize, excepted: bool) -> Observer {
    let (crawler, observer) = crawler(dir, origins, excepted);
    eprintln!("{}", crawler.run().await.unwrap());
    observer
}

fn crawler(dir: &Path, origins: usize, excepted: bool) -> (Crawler, Observer) {
    let epoch = WallTime::from_unix_millis(START);
    let web = (0..origins).fold(Web::builder(1).epoch(epoch), |web, number| web.site(site(number)));
    let (net, observer) = web.build().unwrap().in_memory();
    let crawler = Crawler::builder("AuditBot/1.0 (+https://example.com/bot)")
        .net(Arc::new(net))
        .clock(Arc::new(SystemClock::paused_at(epoch)))
        .random(Arc::new(SeededRandom::new(1)))
        .allow_addresses("10.0.0.0/8")
        .dir(dir)
        .configure(|file| {
            file.crawl.seeds = Some((0..origins).map(|number| format!("http://{}/", name(number))).collect());
            file.archive.min_free = Some(ByteSize(0));
            file.politeness.adaptive = Some(false);
            file.politeness.total = Some(64);
            file.crawl.linger = Some(Span(Duration::from_secs(30)));
            file.overrides = excepted.then(exceptions);
        });
    (crawler.build().unwrap(), observer)
}

pub(super) fn audited(home: &TempDir, dir: &Path, flags: &[&str]) -> (Option<i32>, Value) {
    let ran = comity(home.path(), &[&["audit", dir.to_str().unwrap(), "--json"], flags].concat());
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let found = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said} {:?}", ran.stderr));
    (ran.status.code(), found)
}

/// The kinds that both can see, with their numbers.
fn compare(found: &Value, observer: &Observer, floor: Duration) -> [u64; 3] {
    let seen = Auditor::new().floor(floor).examine(observer);
    let kinds = ["refused_target", "page_without_robots", "too_soon"];
    assert_eq!(found["requests"], seen.requests, "every request that arrived is in the archive");
    for kind in kinds {
        assert_eq!(found["counts"][kind].as_u64().unwrap_or(0), seen.count(kind), "{kind}: {found:#} {seen}");
    }
    kinds.map(|kind| seen.count(kind))
}

/// 1,000 origins with `COMITY_TEST_SIZE=all`.
#[tokio::test(start_paused = true)]
async fn both_auditors_agree_on_a_polite_crawl_and_on_one_with_exceptions() {
    let origins = if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") { 1_000 } else { 50 };
    let home = TempDir::new().unwrap();
    let second = Duration::from_secs(1);

    let polite = home.path().join("polite");
    let observer = crawl(&polite, origins, false).await;
    let (code, found) = audited(&home, &polite, &[]);
    assert_eq!((code, compare(&found, &observer, second)), (Some(0), [0, 0, 0]), "{found:#}");
    assert!(found["decisions"].as_u64() > Some(origins as u64 * 2), "{found:#}");
    verified_without_our_code(&polite, 0);
    // Whoever had asked for more finds each request that came before that.
    let (code, found) = audited(&home, &polite, &["--floor", "2s"]);
    let [refused, without, soon] = compare(&found, &observer, 2 * second);
    assert_eq!((code, refused, without), (Some(1), 0, 0));
    assert!(soon > origins as u64, "{soon}");

    let excepted = home.path().join("excepted");
    let observer = crawl(&excepted, origins, true).await;
    let (code, found) = audited(&home, &excepted, &[]);
    assert_eq!((code, found["excepted"].as_u64() > Some(0)), (Some(0), true), "{found:#}");
    let (code, found) = audited(&home, &excepted, &["--strict"]);
    let [refused, without, soon] = compare(&found, &observer, second);
    assert_eq!(code, Some(1));
    assert!(refused > 0 && without > 0 && soon > 0, "{refused} {without} {soon}");
}

/// An altered record, or a copy that was exchanged, is not what the archive says.
#[tokio::test(start_paused = true)]
async fn what_the_evidence_does_not_bear_out_is_found() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    crawl(&dir, 2, false).await;
    let index = dir.join("evidence/index.jsonl");
    let text = std::fs::read_to_string(&index).unwrap();
    // The second site's copy is said to have been the first one's.
    let digest = |line: &str| serde_json::from_str::<Value>(line).unwrap()["digest"].as_str().map(ToOwned::to_owned);
    let digests: Vec<String> = text.lines().filter_map(digest).collect();
    let kept = dir.join("evidence").join(&digests[1][..2]).join(&digests[1]);
    std::fs::write(&index, text.replace(&digests[1], &digests[0])).unwrap();
    let (code, found) = audited(&home, &dir, &[]);
    assert_eq!(code, Some(1));
    assert!(found["counts"]["copy_differs"].as_u64() > Some(0), "{found:#}");
    std::fs::write(&index, &text).unwrap();
    std::fs::remove_file(kept).unwrap();
    let (code, found) = audited(&home, &dir, &[]);
    assert_eq!(code, Some(1));
    assert!(found["counts"]["decision"].as_u64() > Some(0), "{found:#}");
    assert!(found["counts"]["page_without_robots"].as_u64() > Some(0), "{found:#}");
}

/// Each request is held to the floor of its own time.
#[tokio::test(start_paused = true)]
async fn a_delay_that_changed_in_the_middle_is_no_violation_and_hides_none() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    let (crawler, _observer) = crawler(&dir, 10, false);
    let (control, mut progress) = (crawler.control(), crawler.progress());
    let run = tokio::spawn(crawler.run());
    progress.wait_for(|progress| progress.pages >= 20).await.unwrap();
    let first = dir.join("crawl.toml");
    let mut file = ConfigFile::read(&first).unwrap();
    let first = std::fs::read(&first).unwrap();
    let secs = |secs| Some(Span(Duration::from_secs(secs)));
    (file.politeness.delay, file.crawl.linger) = (secs(70), secs(120));
    control.reload(file, Reload::Apply).await.unwrap();
    run.await.unwrap().unwrap();
    let (code, found) = audited(&home, &dir, &[]);
    assert_eq!((code, &found["violations"]), (Some(0), &serde_json::json!([])));
    assert_eq!((&found["floor_ms"], &found["floor_most_ms"]), (&1000.into(), &70_000.into()));
    // By the last configuration alone, what was sent under the first would be too soon.
    let (code, found) = audited(&home, &dir, &["--floor", "70s"]);
    assert_eq!((code, found["counts"]["too_soon"].as_u64() > Some(10)), (Some(1), true), "{found:#}");
    // And had the first one asked for more, it would be found, whatever the last one says.
    let is_first = |path: &std::path::PathBuf| std::fs::read(path).unwrap() == first;
    let kept =
        std::fs::read_dir(dir.join("configs")).unwrap().map(|entry| entry.unwrap().path()).find(is_first).unwrap();
    let asked = String::from_utf8(first.clone()).unwrap().replace("delay = \"1s\"", "delay = \"2s\"");
    std::fs::write(kept, asked).unwrap();
    let (code, found) = audited(&home, &dir, &[]);
    assert_eq!((code, found["counts"]["too_soon"].as_u64() > Some(5)), (Some(1), true), "{found:#}");
}

/// Sightings that no exchange bears out, and answers that none was kept of.
#[tokio::test(start_paused = true)]
async fn sightings_and_exchanges_have_to_agree() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    crawl(&dir, 1, false).await;
    let index = dir.join("evidence/index.jsonl");
    let text = std::fs::read_to_string(&index).unwrap();
    let line = text.lines().next().unwrap();
    let sighting: Value = serde_json::from_str(line).unwrap();
    let fetched = sighting["fetched"].as_str().unwrap();
    let at = |year: &str| line.replace(fetched, &format!("{year}{}", &fetched[4..]));
    let now: i32 = fetched[..4].parse().unwrap();
    let rows = [
        ("recalled from an earlier crawl", format!("{}\n{text}", at(&(now - 1).to_string())), 0),
        ("made up for later", format!("{text}{}\n", at(&(now + 1).to_string())), 1),
        ("left out", text.replacen(&format!("{line}\n"), "", 1), 1),
    ];
    for (what, changed, differing) in rows {
        std::fs::write(&index, changed).unwrap();
        let (_, found) = audited(&home, &dir, &[]);
        assert_eq!(found["counts"]["copy_differs"].as_u64().unwrap_or(0), differing, "{what}: {found:#}");
    }
}

/// A robots.txt in a content coding is decoded before it is held against its copy.
#[tokio::test(start_paused = true)]
async fn a_coded_robots_txt_is_held_against_its_copy() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    let epoch = WallTime::from_unix_millis(START);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, b"User-agent: *\nDisallow: /private/\n").unwrap();
    let robots = Answer::text("").content("text/plain", gzip.finish().unwrap()).field("content-encoding", "gzip");
    let site = Site::new().name(name(0)).robots_answer(robots).page("/", Answer::text("x"));
    let (net, _) = Web::builder(1).epoch(epoch).site(site).build().unwrap().in_memory();
    let crawler = Crawler::builder("AuditBot/1.0 (+https://example.com/bot)")
        .net(Arc::new(net))
        .clock(Arc::new(SystemClock::paused_at(epoch)))
        .random(Arc::new(SeededRandom::new(1)))
        .allow_addresses("10.0.0.0/8")
        .dir(&dir)
        .configure(|file| {
            file.crawl.seeds = Some(vec![format!("http://{}/", name(0))]);
            file.archive.min_free = Some(ByteSize(0));
        });
    eprintln!("{}", crawler.build().unwrap().run().await.unwrap());
    let (code, found) = audited(&home, &dir, &[]);
    assert_eq!((code, found["page_requests"].as_u64()), (Some(0), Some(1)), "{found:#}");
    // Another copy in its place, with the right name, fits the index and not the WARC.
    let index = dir.join("evidence/index.jsonl");
    let text = std::fs::read_to_string(&index).unwrap();
    let sighting: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let forged = b"User-agent: *\nAllow: /\n";
    let digest = data_encoding::HEXLOWER.encode(&<sha2::Sha256 as sha2::Digest>::digest(forged));
    std::fs::create_dir_all(dir.join("evidence").join(&digest[..2])).unwrap();
    std::fs::write(dir.join("evidence").join(&digest[..2]).join(&digest), forged).unwrap();
    std::fs::write(&index, text.replace(sighting["digest"].as_str().unwrap(), &digest)).unwrap();
    let (code, found) = audited(&home, &dir, &[]);
    assert_eq!(code, Some(1));
    assert!(found["counts"]["copy_differs"].as_u64() > Some(0), "{found:#}");
}

/// Signals of every carrier: each verdict is made again from the evidence, and a copy that is gone is missed.
#[tokio::test(start_paused = true)]
async fn what_sites_say_about_use_is_made_again_from_the_evidence() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    let epoch = WallTime::from_unix_millis(START);
    let robots = "User-agent: *\nContent-Signal: search=yes\nAllow: /\n";
    let html = |head: &str| Answer::status(200).content("text/html", format!("<head>{head}</head><body>x"));
    let tdm = r#"[{"location":"/closed","tdm-reservation":1}]"#;
    let site = Site::new()
        .name(name(0))
        .robots(robots)
        .page("/.well-known/tdmrep.json", Answer::status(200).content("application/json", tdm))
        .page("/", Answer::page(["/closed", "/field", "/meta", "/usage", "/undone", "/none"]))
        .page("/closed", html(""))
        .page("/field", html("").field("X-Robots-Tag", "noai, noindex"))
        .page("/meta", html("<meta name=robots content='noarchive'><meta name=tdm-reservation content=1>"))
        .page("/usage", html("").field("Content-Usage", "train-ai=y"))
        .page("/undone", html("<meta name=tdm-reservation content=0>").field("tdm-reservation", "1"))
        .page("/none", html(""));
    let (net, _) = Web::builder(1).epoch(epoch).site(site).build().unwrap().in_memory();
    let crawler = Crawler::builder("AuditBot/1.0 (+https://example.com/bot)")
        .net(Arc::new(net))
        .clock(Arc::new(SystemClock::paused_at(epoch)))
        .random(Arc::new(SeededRandom::new(1)))
        .allow_addresses("10.0.0.0/8")
        .dir(&dir)
        .configure(|file| {
            file.crawl.seeds = Some(vec![format!("http://{}/", name(0))]);
            file.agent.purposes = Some(vec!["ai_train".into(), "tdm".into()]);
            file.archive.min_free = Some(ByteSize(0));
        });
    let summary = crawler.build().unwrap().run().await.unwrap();
    assert_eq!((summary.refusals(), summary.withheld.values().sum::<u64>()), (1, 1), "{summary}");
    let (code, found) = audited(&home, &dir, &[]);
    assert_eq!((code, &found["violations"]), (Some(0), &serde_json::json!([])), "{found:#}");
    assert!(found["decisions"].as_u64() >= Some(7), "{found:#}");
    let digest = data_encoding::HEXLOWER.encode(&<sha2::Sha256 as sha2::Digest>::digest(tdm.as_bytes()));
    std::fs::remove_file(dir.join("evidence").join(&digest[..2]).join(&digest)).unwrap();
    let (code, found) = audited(&home, &dir, &[]);
    assert_eq!((code, found["counts"]["decision"].as_u64() >= Some(7)), (Some(1), true), "{found:#}");
}

/// A crawler that reads what pages say and keeps them all the same, of a site with and one without a robots.txt.
#[tokio::test(start_paused = true)]
async fn a_page_that_was_kept_against_its_evidence_is_found() {
    for robots in [None, Some("User-agent: *\nAllow: /\n")] {
        let home = TempDir::new().unwrap();
        let dir = home.path().join("d");
        let html = |head: &str| Answer::status(200).content("text/html", format!("<head>{head}</head><body>x"));
        let site = Site::new()
            .name(name(0))
            .page("/", Answer::page(["/field", "/meta", "/indexed"]))
            .page("/field", html("").field("X-Robots-Tag", "noai"))
            .page("/meta", html("<meta name=robots content=noai>"))
            .page("/indexed", html("").field("X-Robots-Tag", "noindex"));
        let site = robots.into_iter().fold(site, Site::robots);
        let summary = small(&dir, vec![site], &["ai_train"]).await;
        assert_eq!(summary.withheld.values().sum::<u64>(), 2, "{summary}");
        let (code, found) = audited(&home, &dir, &[]);
        assert_eq!((code, &found["violations"]), (Some(0), &serde_json::json!([])), "{found:#}");
        assert!(found["decisions"].as_u64() >= Some(4), "{robots:?}: {found:#}");
        change_records(&dir, "\"reason\":\"signal.ai_train\"", "\"reason\":\"ok\"");
        let (code, found) = audited(&home, &dir, &[]);
        assert_eq!((code, found["counts"]["decision"].as_u64()), (Some(1), Some(2)), "{robots:?}: {found:#}");
    }
}

/// What an erasure took is no violation, and is counted.
#[tokio::test(start_paused = true)]
async fn nobody_is_accused_for_what_was_erased() {
    let rules = "User-agent: *\nCrawl-delay: 1\n";
    let redirect = Answer::redirect(302, Target::at(1, "/robots.txt"));
    let sites = || {
        let pages = |site: Site| site.page("/", Answer::page(["/x", "/y"])).page("/x", Answer::text("x"));
        let pages = |site: Site| pages(site).page("/y", Answer::text("y"));
        vec![
            pages(Site::new().name(name(0)).robots_answer(redirect.clone())),
            pages(Site::new().name(name(1)).robots(rules)),
        ]
    };
    // Up to the first page of all, which cuts the redirect from where it leads; up to a page behind both; the copy that all rest on.
    // And the origin whose robots.txt led to another's: that was seen there, too.
    for (number, path, by, least) in
        [(1, "/", "age", 0), (0, "/x", "age", 1), (0, "/", "copy", 6), (0, "/", "origin", 0)]
    {
        let home = TempDir::new().unwrap();
        let dir = home.path().join("d");
        small(&dir, sites(), &["search"]).await;
        assert_eq!(audited(&home, &dir, &[]).0, Some(0));
        let ran = comity(home.path(), &["records", dir.to_str().unwrap()]);
        let text = String::from_utf8(ran.stdout).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let first = format!("http://{}{path}", name(number));
        let page = lines.find(|line| line["body"]["url"] == *first).unwrap();
        let named = match by {
            "age" => Named::Before(page["body"]["time"]["started"].as_str().unwrap().parse().unwrap()),
            "copy" => Named::Payload(page["body"]["robots"]["digest"].as_str().unwrap().parse().unwrap()),
            _ => Named::Origin(Origin::parse(&format!("http://{}", name(number))).unwrap()),
        };
        let depth = if by == "copy" { Depth::Payload } else { Depth::Records };
        let (reason, request) = ("asked for".to_owned(), "R-1".to_owned());
        let erasure = Erasure { named, depth, mentions: false, reason, request };
        let done = comity::StoppedCrawl::open(&dir, None).unwrap().erase(&erasure, false, &mut |_| {}).unwrap();
        assert!(done.report.lines + done.report.payloads > 0, "{done:?}");
        let (code, found) = audited(&home, &dir, &[]);
        assert_eq!((code, &found["violations"]), (Some(0), &serde_json::json!([])), "{erasure:?}: {found:#}");
        assert!(found["erased"].as_u64() >= Some(least), "{erasure:?}: {found:#}");
    }
}

/// Licences, ai.txt and reviewed terms are read anew; grants and terms are held against the configuration that the record names.
#[tokio::test(start_paused = true)]
#[expect(clippy::too_many_lines, reason = "one crawl, altered in one place after the other")]
async fn licences_ai_txt_terms_and_grants_are_held_against_evidence_and_configuration() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    let own = |text: &str| Some(text.to_owned());
    let moment = |text: &str| Some(comity::config::Moment(text.parse().unwrap()));
    let rsl = "<rsl xmlns=\"https://rslstandard.org/rsl\"><content url=\"/\"><license>\
               <prohibits type=\"usage\">ai-train</prohibits></license></content></rsl>";
    let page = format!("<head><script type=application/rsl+xml>{rsl}</script></head><body>x");
    let ai_txt = "User-agent: *\nDisallow: /closed\n";
    let licensed = Site::new()
        .name(name(0))
        .page("/ai.txt", Answer::text(ai_txt))
        .page("/", Answer::page(["/closed", "/licence"]))
        .page("/closed", Answer::text("x"))
        .page("/licence", Answer::status(200).content("text/html", page));
    let reviewed = Site::new().name(name(1)).page("/", Answer::text("x"));
    let granted = Site::new().name(name(2)).page("/", Answer::text("x").field("X-Robots-Tag", "noai"));
    let summary = small_with(&dir, vec![licensed, reviewed, granted], &["ai_train"], |file| {
        (file.signals.ai_txt, file.signals.licences) = (Some(true), Some(true));
        file.terms = Some(vec![comity::config::TermsSection {
            origin: Some(format!("http://{}", name(1))),
            url: Some(format!("http://{}/terms", name(1))),
            reviewed_by: own("Counsel"),
            reviewed_on: moment("2026-11-29T00:00:00Z"),
            verdicts: Some([("ai_train".to_owned(), "denied".to_owned())].into()),
            ..Default::default()
        }]);
        file.grants = Some(vec![comity::config::GrantSection {
            origins: Some(vec![format!("http://{}", name(2))]),
            purposes: Some(vec!["ai_train".to_owned()]),
            basis: own("licence"),
            reference: own("L-17"),
            approved_by: own("Ann"),
            expires: moment("2099-12-31T00:00:00Z"),
        }]);
    })
    .await;
    assert_eq!((summary.refusals(), summary.withheld.values().sum::<u64>()), (2, 1), "{summary}");
    let whole = |flags: &[&str]| audited(&home, &dir, flags);
    let (code, found) = whole(&[]);
    assert_eq!((code, &found["violations"]), (Some(0), &serde_json::json!([])), "{found:#}");
    assert!(found["decisions"].as_u64() >= Some(5), "{found:#}");
    let problem = |told: &str| {
        let (code, found) = whole(&[]);
        assert_eq!(code, Some(1), "{told}: {found:#}");
        let problems: Vec<&str> =
            found["violations"].as_array().unwrap().iter().filter_map(|one| one["problem"].as_str()).collect();
        assert!(problems.iter().any(|problem| problem.contains(told)), "{told}: {problems:?}");
    };
    let files = std::fs::read_dir(dir.join("records")).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<_> = files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    // Another grant than the configuration holds; a decision that nothing leads to; other terms than were reviewed.
    for (from, to, told) in [
        ("\"reference\":\"L-17\"", "\"reference\":\"L-18\"", "a grant of ai_train by licence L-18"),
        (
            "\"decision\":\"refuse\",\"verdict\":\"denied\"",
            "\"decision\":\"proceed\",\"verdict\":\"denied\"",
            "leads to refuse",
        ),
        (
            "\"ai_train\":{\"decision\":\"refuse\",\"verdict\":\"denied\"}",
            "\"ai_train\":{\"decision\":\"proceed\",\"verdict\":\"allowed\"}",
            "its evidence denied",
        ),
    ] {
        change_records(&dir, from, to);
        problem(told);
        kept.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    }
    for (text, told) in [(ai_txt, "its ai.txt"), (rsl, "its licence")] {
        let digest = data_encoding::HEXLOWER.encode(&<sha2::Sha256 as sha2::Digest>::digest(text.as_bytes()));
        let path = dir.join("evidence").join(&digest[..2]).join(&digest);
        std::fs::remove_file(&path).unwrap();
        problem(told);
        std::fs::write(&path, text).unwrap();
    }
}

async fn small(dir: &Path, sites: Vec<Site>, purposes: &[&str]) -> comity::Summary {
    small_with(dir, sites, purposes, |_| {}).await
}

pub(super) async fn small_with(
    dir: &Path,
    sites: Vec<Site>,
    purposes: &[&str],
    more: impl FnOnce(&mut comity::config::ConfigFile),
) -> comity::Summary {
    let epoch = WallTime::from_unix_millis(START);
    let count = sites.len();
    let web = sites.into_iter().fold(Web::builder(1).epoch(epoch), |web, site| web.site(site));
    let (net, _) = web.build().unwrap().in_memory();
    let crawler = Crawler::builder("AuditBot/1.0 (+https://example.com/bot)")
        .net(Arc::new(net))
        .clock(Arc::new(SystemClock::paused_at(epoch)))
        .random(Arc::new(SeededRandom::new(1)))
        .allow_addresses("10.0.0.0/8")
        .dir(dir)
        .configure(|file| {
            file.crawl.seeds = Some((0..count).map(|number| format!("http://{}/", name(number))).collect());
            file.agent.purposes = Some(purposes.iter().map(ToString::to_string).collect());
            file.archive.min_free = Some(ByteSize(0));
        })
        .configure(more);
    crawler.build().unwrap().run().await.unwrap()
}
