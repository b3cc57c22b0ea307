//! Overrides and opt-outs as people meet them: files and flags that cannot be used, crawls that obey at once.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use comity_testweb::{Answer, Site, Target, Web};
use tempfile::TempDir;

fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
    command.args(args).env("HOME", home).env_remove("XDG_CONFIG_HOME");
    command
}

fn comity(home: &Path, args: &[&str]) -> Output {
    command(home, args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn optout(home: &Path, verb: &str, target: &str, more: &[&str]) -> Output {
    comity(home, &[&["optout", verb, target, "--requested-by", "owner@a.test", "--reason", "letter"], more].concat())
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

#[test]
fn opt_outs_are_added_listed_and_removed() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let list = |args: &[&str]| comity(home, &[&["optout", "list"], args].concat());
    assert_eq!((code(&list(&[])), text(&list(&["--json"]).stdout)), (0, String::new()), "nobody yet");
    let added = optout(home, "add", "Bücher.test.", &[]);
    assert_eq!(code(&added), 0, "{}", text(&added.stderr));
    let file = home.join(".config/comity/optout.jsonl");
    assert!(text(&added.stdout).contains("xn--bcher-kva.test is opted out") && file.is_file());
    assert_eq!(code(&optout(home, "add", "https://a.test:8443/", &[])), 0);
    let lines: Vec<serde_json::Value> =
        text(&list(&["--json"]).stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    let first = &lines[0];
    assert_eq!(
        (&first["target"], &first["requested_by"], &first["reason"], &first["line"]),
        (&"xn--bcher-kva.test".into(), &"owner@a.test".into(), &"letter".into(), &1.into())
    );
    assert!(first["at"].as_str().unwrap().ends_with('Z') && first["file"].as_str().unwrap().ends_with("optout.jsonl"));
    assert_eq!(lines[1]["target"], "https://a.test:8443");

    let removed = optout(home, "remove", "BÜCHER.test", &[]);
    assert_eq!(code(&removed), 0, "{}", text(&removed.stderr));
    let again = optout(home, "remove", "bücher.test", &[]);
    assert_eq!(code(&again), 1);
    assert!(text(&again.stderr).contains("not opted out"), "{}", text(&again.stderr));
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 3, "only ever appended to");
    optout(home, "add", "test", &[]);
    let covered = optout(home, "remove", "https://a.test:8443", &[]);
    assert_eq!(code(&covered), 0);
    assert!(text(&covered.stderr).contains("covered by test"), "{}", text(&covered.stderr));
    let suffix = optout(home, "add", "co.uk", &[]);
    assert!(text(&suffix.stderr).contains("public suffix"), "{}", text(&suffix.stderr));
}

#[test]
fn an_opt_out_that_cannot_be_used_is_refused_with_exit_2_and_one_that_cannot_be_written_with_5() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let rows = [
        ("*.a.test", "o", "r", "covers its sub-domains"),
        ("a.test/x", "o", "r", "https://a.test"),
        ("ftp://a.test", "o", "r", "neither http nor https"),
        ("", "o", "r", "neither an origin nor a domain"),
        ("a.test", " ", "r", "--requested-by: it is empty"),
        ("a.test", "o", "", "--reason: it is empty"),
        ("a.test", "o", "two\nlines", "--reason: it holds a line end"),
    ];
    for (target, who, why, says) in rows {
        let output = comity(home, &["optout", "add", target, "--requested-by", who, "--reason", why]);
        assert_eq!(code(&output), 2, "{target}");
        assert!(text(&output.stderr).contains(says), "{says}: {}", text(&output.stderr));
    }
    assert_eq!(code(&comity(home, &["optout", "add", "a.test", "--reason", "r"])), 2, "by whom?");
    assert_eq!(code(&comity(home, &["optout", "add", "a.test", "--requested-by", "o"])), 2, "why?");
    assert!(!home.join(".config").exists(), "nothing was written");
    let folder = home.to_str().unwrap();
    assert_eq!(code(&optout(home, "add", "a.test", &["--file", folder])), 5);
    assert_eq!(code(&comity(home, &["optout", "list", "--file", folder])), 5);
    let nowhere = command(home, &["optout", "list"]).env_remove("HOME").output().unwrap();
    assert_eq!((code(&nowhere), text(&nowhere.stdout)), (0, String::new()), "no home, no opt-outs");
    let nowhere = ["optout", "add", "a.test", "--requested-by", "o", "--reason", "r"];
    assert_eq!(code(&command(home, &nowhere).env_remove("HOME").output().unwrap()), 2);
}

#[test]
fn the_file_is_the_one_that_the_configuration_names() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let folder = home.join(".config/comity");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), "[optout]\nfiles = [\"first.jsonl\", \"second.jsonl\"]\n").unwrap();
    assert_eq!(code(&optout(home, "add", "a.test", &[])), 0);
    assert!(folder.join("first.jsonl").is_file() && !folder.join("optout.jsonl").exists());
    let second = folder.join("second.jsonl");
    assert_eq!(code(&optout(home, "add", "b.test", &["--file", second.to_str().unwrap()])), 0);
    assert_eq!(text(&comity(home, &["optout", "list"]).stdout).lines().count(), 2, "every file of them");
    fs::write(&second, "no json\n").unwrap();
    let list = comity(home, &["optout", "list"]);
    assert_eq!(code(&list), 1);
    assert!(text(&list.stderr).contains("second.jsonl:1: it is no JSON object"), "{}", text(&list.stderr));
    let more = optout(home, "add", "c.test", &["--file", second.to_str().unwrap()]);
    assert_eq!(code(&more), 0, "another's bad line keeps nobody from opting out");
    assert!(text(&more.stderr).contains("second.jsonl:1"), "{}", text(&more.stderr));
}

const WHO: &str = "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\n";

#[test]
fn a_crawl_does_not_start_with_a_bad_override_or_opt_out_file() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let dir = home.join("d");
    let good = "[[override]]\norigins = [\"https://a.test\"]\nscope = [\"robots\"]\nbasis = \"own_site\"\n\
                justification = \"Our own shop, before release\"\napproved_by = \"Ann\"\n\
                created = 2024-01-01\nexpires = 2024-12-01\n";
    let rows = [
        (good.to_owned(), "[[override]] 1 (https://a.test), expires: it ran out at 2024-12-01"),
        (good.replace("2024-12-01", "2026-12-01"), "[[override]] 1 (https://a.test), expires: "),
        (good.replace("a.test", "*.a.test"), "wildcard"),
        (good.replace("Our own shop, before release", "ours"), "justification: it has 4 characters"),
        (good.replace("basis = \"own_site\"\n", ""), "basis: it is missing"),
        (good.replace("scope", "scopes"), "did you mean scope?"),
        ("[optout]\nfile = []\n".to_owned(), "did you mean files?"),
        ("[optout]\nfiles = [\"bad.jsonl\"]\n".to_owned(), "bad.jsonl:2: it is no JSON object"),
    ];
    fs::write(home.join("bad.jsonl"), "\n[]\n").unwrap();
    for (more, says) in rows {
        let config = home.join("c.toml");
        fs::write(&config, format!("{WHO}{more}")).unwrap();
        let args = ["crawl", "http://a.test/", "--config", config.to_str().unwrap(), "--dir", dir.to_str().unwrap()];
        let output = comity(home, &args);
        let said = text(&output.stderr);
        assert_eq!(code(&output), 2, "{more}: {said}");
        assert!(said.contains(says), "{says}: {said}");
        assert!(said.contains("hint: "), "{said}");
        assert!(!dir.exists(), "{more}");
    }
}

/// A web on loopback, its first page's URL, and a configuration that may crawl it.
async fn served(home: &Path) -> (comity_testweb::Served, String, String) {
    let path = |n: usize| format!("/{n}");
    let first = Site::new()
        .robots("User-agent: *\nDisallow: /3\n")
        .page("/", Answer::page((0..60).map(|n| Target::here(path(n)))));
    let site = (0..60).fold(first, |site, n| site.page(path(n), Answer::text("x")));
    let served = Web::builder(1).site(site).build().unwrap().serve_loopback().await.unwrap();
    let origin = served.origins().remove(0);
    let config = home.join("c.toml");
    fs::write(
        &config,
        format!(
            "{WHO}[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n[politeness]\ndelay = \"200ms\"\nadaptive = false\n\
             [archive]\nmin_free = \"0B\"\n[[override]]\nid = \"mine\"\norigins = [\"{origin}\"]\nscope = [\"robots\"]\n\
             basis = \"own_site\"\njustification = \"The web of this very test\"\napproved_by = \"Ann\"\n\
             created = {created}\nexpires = {expires}\n",
            created = day(-1),
            expires = day(30),
        ),
    )
    .unwrap();
    (served, origin, config.to_str().unwrap().to_owned())
}

/// The day so many days from today.
fn day(from_today: i64) -> String {
    use comity::policy::{Clock as _, WallTime};
    let now = comity_fetch::SystemClock::new().wall().unix_millis();
    WallTime::from_unix_millis(now + from_today * 86_400_000).to_string()[..10].to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_that_runs_obeys_an_opt_out_at_once_and_explains_it() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let (served, origin, config) = served(home).await;
    let dir = home.join("d");
    let dir = dir.to_str().unwrap();
    let crawl = command(home, &["crawl", &format!("{origin}/"), "--config", &config, "--dir", dir, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for looks in 0.. {
        if served.log().len() >= 8 {
            break;
        }
        assert!(looks < 1500, "the crawl does not begin");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let added = optout(home, "add", &origin, &[]);
    assert_eq!(code(&added), 0, "{}", text(&added.stderr));
    tokio::time::sleep(Duration::from_millis(300)).await;
    let seen = served.log().len();
    let output = tokio::task::spawn_blocking(move || crawl.wait_with_output().unwrap()).await.unwrap();
    assert_eq!(served.log().len(), seen, "not one request after it");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let pages = summary["pages"].as_u64().unwrap();
    assert_eq!(summary["refused"]["optout"], 61 - pages, "every URL has its outcome: {summary}");
    assert_eq!((&summary["overrides"][0]["id"], &summary["overrides"][0]["ran_out"]), (&"mine".into(), &false.into()));

    let explained = text(&comity(home, &["explain", &format!("{origin}/59"), "--dir", dir]).stdout);
    assert!(explained.contains("not_fetched, optout"), "{explained}");
    assert!(explained.contains(&format!("optout    owner@a.test asked for {origin} at ")), "{explained}");
    assert!(explained.contains("optout.jsonl:1)") && explained.contains("  today     opted out: "), "{explained}");
    let explained = text(&comity(home, &["explain", &format!("{origin}/3"), "--dir", dir]).stdout);
    assert!(explained.contains("override  mine lifted robots.disallow (robots)"), "{explained}");
    assert!(
        explained.contains("own_site, approved by Ann, until ") && explained.contains("Disallow: /3 (line 2"),
        "{explained}"
    );
    assert!(explained.contains("  today     override mine: robots for "), "{explained}");
}
