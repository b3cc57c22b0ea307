//! The command as people meet it: bad input gets one clear error with a hint, and nothing is written over.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[path = "command/audit.rs"]
mod audit;
#[path = "command/audit_clocks.rs"]
mod audit_clocks;
#[path = "command/audit_signals.rs"]
mod audit_signals;
#[path = "command/config.rs"]
mod config;
#[path = "command/control.rs"]
mod control;
#[path = "command/dossier.rs"]
mod dossier;
#[path = "command/erase.rs"]
mod erase;
#[path = "command/explain.rs"]
mod explain;
#[path = "command/export.rs"]
mod export;
#[path = "command/feel.rs"]
mod feel;
#[path = "command/hints.rs"]
mod hints;
#[path = "command/honest.rs"]
mod honest;
#[cfg(feature = "otlp")]
#[path = "command/otlp.rs"]
mod otlp;
#[path = "command/queries.rs"]
mod queries;
#[path = "command/queries_erased.rs"]
mod queries_erased;
#[path = "command/report.rs"]
mod report;
#[path = "command/resume.rs"]
mod resume;
#[path = "command/survey.rs"]
mod survey;
#[path = "command/told.rs"]
mod told;
#[path = "command/verify.rs"]
mod verify;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Runs the real binary in a home of its own, so that no configuration of the machine takes part.
fn comity(home: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_comity"))
        .args(args)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const WHO: [&str; 4] = ["--agent", "MyBot/1.0", "--contact", "a@example.com"];

#[test]
fn bad_input_is_refused_with_a_hint_and_exit_2() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    let dir = dir.to_str().unwrap();
    // (arguments, what the error names, what the hint names)
    let rows: [(&[&str], &str, &str); 20] = [
        (&["crawl", "ftp://a.test/"], "ftp://a.test/", "http or https"),
        (&["crawl", "a.test"], "a.test", "https://"),
        (&["crawl", "crawl.toml"], "crawl.toml", "--config"),
        (&["crawl", "mailto:x@y.z"], "mailto", ""),
        (&["crawl"], "no seed", "at least one"),
        (&["crawl", "http://a.test/", "--contact", ""], "contact", "comity init"),
        (&["crawl", "http://a.test/", "--agent", "Googlebot/2.1"], "Googlebot", "yours alone"),
        (&["crawl", "http://a.test/", "--agent", "Mozilla/5.0"], "Mozilla", ""),
        (&["crawl", "http://a.test/", "--agent", "Bot2/1"], "Bot2", "tokens"),
        (&["crawl", "http://a.test/", "--allow-address", "8.8.8.8"], "8.8.8.8", "loopback"),
        (&["crawl", "http://a.test/", "--allow-address", "0.0.0.0/0"], "0.0.0.0/0", ""),
        (&["crawl", "http://a.test/", "--scope", "orgins"], "orgins", "origins"),
        (&["crawl", "http://a.test/", "--resolve", "a.test"], "HOST=ADDR", "a.test=127.0.0.1"),
        (&["crawl", "http://a.test/", "--delay", "5"], "5", ""),
        (&["crawl", "http://a.test/", "--dealy", "5s"], "--dealy", "--delay"),
        (&["crawl", "http://a.test/", "--config", "/no/such/file"], "/no/such/file", ""),
        (&["crawl", "http://a.test/", "--store", "disc"], "disc", "disk"),
        (&["crawl", "http://a.test/", "--proxy", "127.0.0.1:3128"], "proxy", "socks5h://"),
        (&["crawl", "http://a.test/", "--proxy", "http://u:p@127.0.0.1:3128"], "credentials", "credentials_file"),
        (&["crawl", "http://a.test/", "--proxy", "http://127.0.0.1:1", "--proxy-country", "DE"], "country", "directly"),
    ];
    for (given, names, hint) in rows {
        let mut args = given.to_vec();
        if !given.contains(&"--agent") {
            args.extend(&WHO[..2]);
        }
        if !given.contains(&"--contact") {
            args.extend(&WHO[2..]);
        }
        args.extend(["--dir", dir]);
        let output = comity(home.path(), &args);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{given:?}: {said}");
        assert!(said.contains(names) && said.contains(hint), "{given:?}: {said}");
        assert!(!Path::new(dir).exists(), "{given:?} left something behind");
    }
}

#[test]
fn without_an_identity_a_crawl_does_not_start_and_init_gives_it_one() {
    let home = TempDir::new().unwrap();
    let refused = comity(home.path(), &["crawl", "http://a.test/"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("comity init"), "{}", stderr(&refused));
    assert_eq!(comity(home.path(), &["init"]).status.code(), Some(2), "no terminal, no flags");
    let bad = comity(home.path(), &["init", "--agent", "GPTBot/1", "--contact", "a@example.com"]);
    assert_eq!(bad.status.code(), Some(2));
    let made =
        comity(home.path(), &["init", "--agent", "MyBot/1.0", "--contact", "a@example.com", "--purpose", "ai-train"]);
    assert!(made.status.success(), "{}", stderr(&made));
    let file = home.path().join(".config/comity/config.toml");
    assert!(fs::read_to_string(&file).unwrap().contains("MyBot/1.0"));
    let again = comity(home.path(), &["init", "--agent", "Other/1.0", "--contact", "a@example.com"]);
    assert_eq!(again.status.code(), Some(2), "nothing is written over");
    assert!(fs::read_to_string(&file).unwrap().contains("MyBot/1.0"));
    // The file is used, and a seed that cannot be connected to is reported: the crawl goes on and ends.
    let dir = home.path().join("d");
    let crawl =
        comity(home.path(), &["crawl", "http://gone.invalid/", "http://127.0.0.1:1/", "--dir", dir.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&crawl.stdout).into_owned();
    assert_eq!(crawl.status.code(), Some(0), "{said}{}", stderr(&crawl));
    assert!(said.contains("fetch.dns") && said.contains("address.private"), "{said}");
    assert!(said.trim_end().lines().last().unwrap().starts_with("0 pages: "), "the last line says why: {said}");
    assert!(fs::read_to_string(dir.join("crawl.toml")).unwrap().contains("ai_train"));
}

#[test]
fn unknown_keys_name_their_line_and_the_nearest_key() {
    let home = TempDir::new().unwrap();
    let config = home.path().join("c.toml");
    fs::write(&config, "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\n\n[politeness]\ndealy = \"1s\"\n")
        .unwrap();
    let output = comity(home.path(), &["crawl", "http://a.test/", "--config", config.to_str().unwrap()]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("c.toml:6") && said.contains("dealy") && said.contains("did you mean delay?"), "{said}");
}

#[test]
fn the_log_is_json_where_that_is_asked_for_and_nothing_else_is_said() {
    let home = TempDir::new().unwrap();
    let (dir, occupied) = (home.path().join("d"), home.path().join("occupied"));
    fs::create_dir(&occupied).unwrap();
    fs::write(occupied.join("thesis.txt"), "irreplaceable").unwrap();
    for (dir, code, level, said) in [(&dir, 0, "INFO", "crawling into"), (&occupied, 5, "ERROR", "not empty")] {
        let mut args = vec!["crawl", "http://gone.invalid/", "--log-format", "json", "--dir", dir.to_str().unwrap()];
        args.extend(WHO);
        let output = comity(home.path(), &args);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{told}");
        let lines: Vec<serde_json::Value> =
            told.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect();
        let is_it = |line: &serde_json::Value| {
            line["level"] == level && line["fields"]["message"].as_str().is_some_and(|text| text.contains(said))
        };
        assert!(lines.iter().any(is_it), "{told}");
    }
    // The configuration says it too, and the flag wins.
    let config = home.path().join("c.toml");
    fs::write(&config, "[telemetry]\nlog_format = \"json\"\n").unwrap();
    for (flags, is_json) in [(&[][..], true), (&["--log-format", "text"][..], false)] {
        let again = home.path().join(if is_json { "e" } else { "f" });
        let mut args = vec!["crawl", "http://gone.invalid/", "--config", config.to_str().unwrap(), "--dir"];
        args.push(again.to_str().unwrap());
        args.extend(WHO.iter().chain(flags));
        let told = stderr(&comity(home.path(), &args));
        assert_eq!(told.lines().all(|line| line.starts_with('{')), is_json, "{told}");
    }
}

#[test]
fn directories_of_others_and_unwritable_ones_are_refused_with_exit_5_and_left_alone() {
    let home = TempDir::new().unwrap();
    let crawled = home.path().join("crawled");
    fs::create_dir(&crawled).unwrap();
    fs::write(crawled.join("crawl.toml"), "# mine\n").unwrap();
    let occupied = home.path().join("occupied");
    fs::create_dir(&occupied).unwrap();
    fs::write(occupied.join("thesis.txt"), "irreplaceable").unwrap();
    let file = home.path().join("file");
    fs::write(&file, "a file").unwrap();
    for (dir, names) in
        [(&crawled, "holds a crawl"), (&occupied, "not empty"), (&file, "file"), (&file.join("below"), "below")]
    {
        let mut args = vec!["crawl", "http://a.test/", "--dir", dir.to_str().unwrap()];
        args.extend(WHO);
        let output = comity(home.path(), &args);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(5), "{said}");
        assert!(said.contains(names), "{said}");
    }
    assert_eq!(fs::read_to_string(crawled.join("crawl.toml")).unwrap(), "# mine\n");
    assert_eq!(fs::read_to_string(occupied.join("thesis.txt")).unwrap(), "irreplaceable");
    assert_eq!(fs::read_dir(&occupied).unwrap().count(), 1);
}

#[test]
fn the_demo_ends_without_a_violation_and_its_refusal_can_be_explained() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("demo");
    let demo = comity(home.path(), &["demo", "--json", "--dir", dir.to_str().unwrap()]);
    assert!(demo.status.success(), "{}", stderr(&demo));
    let said: serde_json::Value = serde_json::from_slice(&demo.stdout).unwrap();
    assert_eq!(said["violations"], 0, "{said}");
    assert!(said["origins"].as_u64() >= Some(50) && said["pages"].as_u64() > Some(900), "{said}");
    let verified = comity(home.path(), &["verify", dir.to_str().unwrap(), "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!((verified.status.code(), found["holds"].as_bool()), (Some(0), Some(true)), "{found}");
    assert_eq!(found["notes"], serde_json::json!([]), "a closed crawl leaves nothing to tell");
    let audited = comity(home.path(), &["audit", dir.to_str().unwrap()]);
    let told = String::from_utf8_lossy(&audited.stdout).into_owned();
    assert!(audited.status.success() && told.ends_with("no violation\n"), "{told}{}", stderr(&audited));
    audit::verified_without_our_code(&dir, 0);
    let records = comity(home.path(), &["records", dir.to_str().unwrap()]);
    assert!(records.status.success());
    let lines = String::from_utf8(records.stdout).unwrap();
    let refused = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .find(|line| line["body"]["reason"] == "robots.disallow")
        .unwrap();
    let url = refused["body"]["url"].as_str().unwrap();
    let explained = comity(home.path(), &["explain", url, "--dir", dir.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&explained.stdout).into_owned();
    let line = refused["body"]["rule"]["line"].to_string();
    assert!(text.contains("robots.disallow") && text.contains(&format!("line {line}")), "{text}");

    report::happened(home.path(), &dir, &said);
    erase::one_origin(home.path(), &dir);

    let warc = fs::read_dir(dir.join("warc")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&warc).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&warc, bytes).unwrap();
    let verified = comity(home.path(), &["verify", dir.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert_eq!(verified.status.code(), Some(1), "{said}");
    assert!(said.contains("file_sum: warc/"), "{said}");
    audit::verified_without_our_code(&dir, 1);
}
