//! `comity survey` over origins with planted answers, and over archives, whoever wrote them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use comity_testweb::{Answer, Auditor, Observer, Site, Web};
use serde_json::Value;
use tempfile::TempDir;

use super::{WHO, comity, stderr};

/// 10,000 origins with `COMITY_TEST_SIZE=all`.
fn origins() -> usize {
    if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") { 10_000 } else { 60 }
}

/// Ten kinds of sites, in turn.
fn site(number: usize) -> Site {
    let site = Site::new().page(
        "/",
        Answer::status(200).content("text/html", "<html><head><link rel=license href=/terms></head></html>"),
    );
    let tdmrep = || Answer::text(r#"[{"location":"/","tdm-reservation":1}]"#);
    match number % 10 {
        0 => site.robots_answer(Answer::status(404)),
        1 => site.robots_answer(Answer::status(503)).page("/.well-known/tdmrep.json", tdmrep()),
        2 => site.robots("User-agent: *\nDisallow: /\n"),
        3 => site.robots("User-agent: GPTBot\nUser-agent: ClaudeBot\nDisallow: /\n\nUser-agent: *\nDisallow: /a\n"),
        4 => site.robots("User-agent: *\nContent-Signal: ai-train=no, search=yes\nAllow: /\n"),
        5 => site.robots("User-agent: *\nCrawl-delay: 2\nDisallow:\nSitemap: http://a.test/s.xml\n"),
        6 => site.robots_answer(Answer::status(404)).page("/.well-known/tdmrep.json", tdmrep()),
        7 => site
            .robots_answer(Answer::redirect(301, "/r.txt"))
            .page("/r.txt", Answer::text("User-agent: *\nDisallow: /x\n")),
        8 => site.robots("User-agent: *\nContent-Usage: train-ai=n\nLicense: https://a.test/l.xml\nAllow: /\n"),
        _ => site.robots("User-agent: *\nDisallow: /.well-known/\n").page("/.well-known/tdmrep.json", tdmrep()),
    }
}

/// What a survey of so many of them has to count: name, count, denominator.
fn expected(sites: u64) -> Vec<(&'static str, u64, u64)> {
    let tenth = sites / 10;
    let (answered, file) = (9 * tenth, 7 * tenth);
    // Not asked: where robots.txt could not be had, and where it says no.
    let tdmrep = 7 * tenth;
    vec![
        ("robots_answered", answered, sites),
        ("robots_file", file, answered),
        ("restriction_full", tenth, file),
        ("restriction_some", 3 * tenth, file),
        ("restriction_delay", tenth, file),
        ("restriction_none", 2 * tenth, file),
        ("ai_train_agents_named", tenth, file),
        ("ai_train_agents_denied_at_root", tenth, file),
        ("restriction_ai_train_full", tenth, file),
        ("content_signal", tenth, file),
        ("content_usage", tenth, file),
        ("rsl_license_line", tenth, file),
        ("robots_says_ai_train_denied", 2 * tenth, file),
        ("crawl_delay", tenth, file),
        ("sitemaps", tenth, file),
        ("tdmrep_file", tenth, tdmrep),
        ("tdm_reserved_at_root", tenth, tdmrep),
    ]
}

#[track_caller]
fn counted(band: &Value, sites: u64) {
    for (name, count, of) in expected(sites) {
        let share = &band["shares"][name];
        assert_eq!((share["count"].as_u64(), share["of"].as_u64()), (Some(count), Some(of)), "{name}: {share}");
    }
}

async fn put_up(home: &Path, sites: usize) -> (comity_testweb::Served, PathBuf) {
    let web = (0..sites).fold(Web::builder(7), |web, number| web.site(site(number).name(format!("s{number}.test"))));
    let served = web.max_connections(4096).build().unwrap().serve_names().await.unwrap();
    let list = home.join("list.csv");
    let lines = served.origins().into_iter().enumerate().map(|(number, origin)| format!("{},{origin}\n", number + 1));
    fs::write(&list, format!("rank,site\n://nothing\n{}", lines.collect::<String>())).unwrap();
    let resolve: String = (0..sites).map(|number| format!("\"s{number}.test\" = \"127.0.0.1\"\n")).collect();
    let config = home.join(".config/comity");
    fs::create_dir_all(&config).unwrap();
    fs::write(
        config.join("config.toml"),
        format!("[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\n[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n[fetch.resolve]\n{resolve}"),
    )
    .unwrap();
    (served, list)
}

async fn surveyed(home: &Path, args: Vec<String>) -> (Vec<Value>, Value) {
    let home = home.to_owned();
    let ran = tokio::task::spawn_blocking(move || {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        comity(&home, &args)
    });
    let ran = ran.await.unwrap();
    assert!(ran.status.success(), "{}", stderr(&ran));
    let text = String::from_utf8(ran.stdout).unwrap();
    let mut rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let report = rows.pop().unwrap();
    (rows, report)
}

fn args(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_planted_answer_is_counted_and_nobody_is_asked_too_soon() {
    let (home, sites) = (TempDir::new().unwrap(), origins());
    let (served, list) = put_up(home.path(), sites).await;
    let list = list.to_str().unwrap();
    let (rows, report) = surveyed(home.path(), args(&["survey", list, "--json"])).await;
    let report = &report["report"];
    assert_eq!((rows.len(), &report["listed"], &report["unreadable"]), (sites, &sites.into(), &1.into()));
    counted(&report["bands"]["all"], sites as u64);
    if sites > 1_000 {
        counted(&report["bands"]["1-1,000"], 1_000);
    }
    assert_eq!(report["bands"]["all"]["failures"], serde_json::json!({"robots.unreachable": sites / 10}));
    let observer = served.observer();
    let audit = Auditor::new().floor(Duration::from_secs(1)).examine(&observer);
    assert!(audit.is_clean(), "{audit}");
    nothing_else(&observer, sites);
    let chain = &rows.iter().find(|row| row["rank"] == 8).unwrap()["robots"]["chain"];
    assert!(chain[1].as_str().unwrap().ends_with("/r.txt"), "{chain}");

    // An earlier survey in which the first two sites stood otherwise.
    let earlier = home.path().join("earlier.jsonl");
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    fs::write(&earlier, text.replacen("\"restriction\":\"full\"", "\"restriction\":\"none\"", 1)).unwrap();
    let more = home.path().join("few.txt");
    fs::write(&more, served.origins().into_iter().take(20).map(|origin| origin + "\n").collect::<String>()).unwrap();
    let asked = args(&[
        "survey",
        more.to_str().unwrap(),
        "--json",
        "--home",
        "--ai-txt",
        "--against",
        earlier.to_str().unwrap(),
    ]);
    let (rows, report) = surveyed(home.path(), asked).await;
    assert_eq!((&report["against"]["both"], &report["against"]["gone"]), (&20.into(), &(sites - 20).into()));
    assert!(rows.iter().any(|row| row["home"]["terms"][0] == "/terms"), "{rows:?}");
    let flags = report["against"]["flags"].as_object().unwrap();
    assert!(flags.keys().all(|flag| flag.starts_with("restriction")), "{flags:?}");
}

/// robots.txt, where it led, and tdmrep.json: no page.
fn nothing_else(observer: &Observer, sites: usize) {
    let mut targets = BTreeMap::<String, usize>::new();
    for seen in observer.log() {
        *targets.entry(seen.request.target_text().into_owned()).or_default() += 1;
    }
    let tenth = sites / 10;
    let wanted = [("/.well-known/tdmrep.json", 7 * tenth), ("/r.txt", tenth), ("/robots.txt", sites)];
    assert_eq!(targets, wanted.map(|(target, count)| (target.to_owned(), count)).into());
}

/// The same ten kinds, crawled, and read from the archive alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_of_ours_says_the_same_without_a_request() {
    let home = TempDir::new().unwrap();
    let (served, _) = put_up(home.path(), 10).await;
    let dir = home.path().join("d");
    let mut words = vec!["crawl".to_owned()];
    words.extend(served.origins().into_iter().map(|origin| format!("{origin}/")));
    words.extend(args(&["--dir", dir.to_str().unwrap(), "--purpose", "tdm", "--max-pages", "10"]));
    let home_path = home.path().to_owned();
    let crawled = tokio::task::spawn_blocking(move || {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        comity(&home_path, &words)
    });
    let crawled = crawled.await.unwrap();
    assert!(matches!(crawled.status.code(), Some(0 | 3 | 4)), "{}", stderr(&crawled));
    let before = served.observer().log().len();
    let files: Vec<PathBuf> = fs::read_dir(dir.join("warc")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let mut words = args(&["survey", "--json", "--warc"]);
    words.extend(
        files
            .iter()
            .filter(|file| file.extension().is_some_and(|end| end == "gz"))
            .map(|file| file.to_str().unwrap().to_owned()),
    );
    let (rows, report) = surveyed(home.path(), words).await;
    let report = &report["report"]["bands"]["all"];
    assert_eq!(served.observer().log().len(), before, "no request");
    assert_eq!(rows.len(), 10);
    for (name, count, of) in expected(10).into_iter().filter(|(name, ..)| !name.starts_with("tdm")) {
        let share = &report["shares"][name];
        assert_eq!((share["count"].as_u64(), share["of"].as_u64()), (Some(count), Some(of)), "{name}: {share}");
    }
    assert_eq!(report["classes"], serde_json::json!({"absent": 2, "parsed": 7, "unreachable": 1}));
}

const FOREIGN: &str = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://old.test/robots.txt>\r\n\
    WARC-Date: 2019-05-01T10:00:00Z\r\nContent-Type: application/http;msgtype=response\r\nContent-Length: {}\r\n\r\n";

fn record(body: &str) -> String {
    let block = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    format!("{}{block}\r\n\r\n", FOREIGN.replace("{}", &block.len().to_string()))
}

#[test]
fn archives_of_other_tools_are_read_however_they_are_compressed() {
    let home = TempDir::new().unwrap();
    let text = record("User-agent: *\nDisallow: /\n");
    let newer = record("User-agent: *\nDisallow: /a\n").replace("2019-05-01", "2020-05-01");
    let gzip = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let both = format!("{text}{newer}");
    let rows: [(&str, Vec<u8>, &str); 6] = [
        ("plain.warc", text.clone().into_bytes(), "full"),
        ("whole.warc.gz", gzip(&both), "some"),
        ("members.warc.gz", [gzip(&newer), gzip(&text)].concat(), "some"),
        ("frames.warc.zst", zstd::encode_all(both.as_bytes(), 3).unwrap(), "some"),
        ("torn.warc.gz", [gzip(&text), gzip(&newer)[..80].to_vec()].concat(), "full"),
        ("then.warc", format!("{text}no record\r\n").into_bytes(), "full"),
    ];
    for (name, bytes, restriction) in rows {
        let file = home.path().join(name);
        fs::write(&file, bytes).unwrap();
        let ran = comity(home.path(), &["survey", "--json", "--warc", file.to_str().unwrap()]);
        assert!(ran.status.success(), "{name}: {}", stderr(&ran));
        let text = String::from_utf8_lossy(&ran.stdout);
        let row: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(
            (&row["origin"], &row["says"]["restriction"]),
            (&"http://old.test".into(), &restriction.into()),
            "{name}"
        );
        let torn = name.starts_with("t");
        assert_eq!(stderr(&ran).contains("read as far as that"), torn, "{name}: {}", stderr(&ran));
    }
    wget(home.path());
}

/// One capture; `head` stands before the body.
fn capture(kind: &str, uri: &str, date: &str, more: &str, block: &str) -> String {
    format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\nWARC-Date: {date}T00:00:00Z\r\n{more}Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
}

/// The latest capture counts at every hop, wherever it stands, and a repeat of another address says nothing.
#[test]
fn captures_of_different_times_are_not_mixed() {
    let home = TempDir::new().unwrap();
    let robots = "http://a.test/robots.txt";
    let to = |path: &str| format!("HTTP/1.1 301 Moved\r\nLocation: {path}\r\n\r\n");
    let file = |rule: &str| format!("HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: {rule}\n");
    let response = |uri: &str, date: &str, block: &str| capture("response", uri, date, "", block);
    let elsewhere = "WARC-Refers-To-Target-URI: http://other.test/robots.txt\r\n";
    let here = format!("WARC-Refers-To-Target-URI: {robots}\r\n");
    // (captures in the order of the file, restriction, when)
    let rows: [(Vec<String>, &str, &str); 5] = [
        (
            vec![
                response("http://a.test/r", "2021-01-01", &file("/")),
                response("http://a.test/r", "2020-01-01", &file("/a")),
                response(robots, "2020-01-01", &to("/r")),
            ],
            "full",
            "2020-01-01",
        ),
        (
            vec![
                response(robots, "2020-01-01", &to("/old")),
                response(robots, "2022-01-01", &to("/new")),
                response("http://a.test/old", "2020-01-01", &file("/")),
                response("http://a.test/new", "2022-01-01", &file("/a")),
            ],
            "some",
            "2022-01-01",
        ),
        (
            vec![
                response(robots, "2022-01-01", &file("/a")),
                response(robots, "2020-01-01", &to("/old")),
                response("http://a.test/old", "2020-01-01", &file("/")),
            ],
            "some",
            "2022-01-01",
        ),
        (
            vec![
                response(robots, "2020-01-01", &file("/")),
                capture("revisit", robots, "2023-01-01", &here, "HTTP/1.1 200 OK\r\n\r\n"),
            ],
            "full",
            "2023-01-01",
        ),
        (
            vec![
                response(robots, "2020-01-01", &file("/")),
                capture("revisit", robots, "2023-01-01", elsewhere, "HTTP/1.1 200 OK\r\n\r\n"),
            ],
            "full",
            "2020-01-01",
        ),
    ];
    for (number, (captures, restriction, when)) in rows.into_iter().enumerate() {
        let row = only_row(&home.path().join(format!("{number}.warc")), &captures.concat());
        assert_eq!(row["says"]["restriction"], restriction, "{number}: {row}");
        assert!(row["at"].as_str().unwrap().starts_with(when), "{number}: {row}");
    }
}

/// The row of an archive about one origin.
fn only_row(file: &Path, text: &str) -> Value {
    fs::write(file, text).unwrap();
    let ran = comity(file.parent().unwrap(), &["survey", "--json", "--warc", file.to_str().unwrap()]);
    serde_json::from_str(String::from_utf8_lossy(&ran.stdout).lines().next().unwrap()).unwrap()
}

/// wget writes WARC 1.0, with its own habits; left out where it is not installed.
fn wget(home: &Path) {
    let served = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = served.local_addr().unwrap();
    let out = home.join("wget");
    let url = format!("http://{address}/robots.txt");
    let spawned = Command::new("wget")
        .args(["-q", "-O", "/dev/null", "--tries=1", "--timeout=10", "--no-warc-keep-log", "--warc-file"])
        .args([out.to_str().unwrap(), &url])
        .spawn();
    let Ok(mut child) = spawned else {
        eprintln!("left out: wget is not installed");
        return;
    };
    let (mut stream, _) = served.accept().unwrap();
    let mut buffer = [0; 4096];
    let _read = std::io::Read::read(&mut stream, &mut buffer).unwrap();
    let body = "User-agent: GPTBot\nDisallow: /\n";
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
    drop(stream);
    assert!(child.wait().unwrap().success());
    let ran = comity(home, &["survey", "--json", "--warc", home.join("wget.warc.gz").to_str().unwrap()]);
    let text = String::from_utf8(ran.stdout).unwrap();
    let row: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&row["says"]["tokens"][0], &row["says"]["restriction_ai_train"]),
        (&"gptbot".into(), &"full".into()),
        "{row}"
    );
}

#[test]
fn what_cannot_be_surveyed_is_one_clear_error() {
    let home = TempDir::new().unwrap();
    let empty = home.path().join("empty");
    fs::write(&empty, "# nothing\n").unwrap();
    let kept = home.path().join("kept.jsonl");
    fs::write(&kept, "mine").unwrap();
    let kept = kept.to_str().unwrap();
    let rows: [(&[&str], &str); 5] = [
        (&["survey", empty.to_str().unwrap(), "--out", kept, "--against", kept], "is there already"),
        (&["survey"], "<FILE|-"),
        (&["survey", "/no/such/list"], "/no/such/list"),
        (&["survey", empty.to_str().unwrap()], "no origin"),
        (&["survey", "--warc", "/no/such.warc"], "/no/such.warc"),
    ];
    for (given, names) in rows {
        let mut words = given.to_vec();
        words.extend(WHO);
        let ran = comity(home.path(), &words);
        assert_eq!((ran.status.code(), stderr(&ran).contains(names)), (Some(2), true), "{given:?}: {}", stderr(&ran));
        assert_eq!(fs::read_to_string(kept).unwrap(), "mine");
    }
}
