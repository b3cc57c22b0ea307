//! `comity erase` on a real crawl: nothing of an erased origin is found, and everything else holds, however often it is killed.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use comity_archive::{CrawlLock, Use};
use serde_json::Value;

use super::verify::copy_tree;
use super::{audit, comity, stderr};

/// All bytes of a directory, inflated, by their paths in it.
pub(crate) fn everything(dir: &Path, folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.append(&mut everything(dir, &path));
            continue;
        }
        let name = path.strip_prefix(dir).unwrap().to_string_lossy().into_owned();
        let (bytes, mut text) = (fs::read(&path).unwrap_or_default(), Vec::new());
        if name.ends_with(".zst") {
            text = zstd::decode_all(&bytes[..]).unwrap();
        } else if name.ends_with(".gz") {
            flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
        }
        all.extend([(name.clone(), bytes), (name, text)]);
    }
    all
}

/// Files that name an origin by host and port.
fn naming(dir: &Path, authority: &str) -> BTreeSet<String> {
    let named = |bytes: &[u8]| bytes.windows(authority.len()).any(|window| window == authority.as_bytes());
    everything(dir, dir).into_iter().filter(|(_, bytes)| named(bytes)).map(|(name, _)| name).collect()
}

fn records(home: &Path, dir: &Path) -> Vec<Value> {
    let ran = comity(home, &["records", dir.to_str().unwrap()]);
    let text = String::from_utf8(ran.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The origin of which most pages were fetched.
fn largest(records: &[Value]) -> String {
    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    for url in records
        .iter()
        .filter(|line| line["body"]["outcome"] == "fetched")
        .map(|line| line["body"]["url"].as_str().unwrap())
    {
        *counts.entry(url.split('/').take(3).collect::<Vec<_>>().join("/")).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).unwrap().0
}

#[track_caller]
fn holds(home: &Path, dir: &Path) -> Value {
    let ran = comity(home, &["verify", dir.to_str().unwrap(), "--json"]);
    let found: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((found["holds"].as_bool(), found["sealed"].as_bool()), (Some(true), Some(true)), "{found}");
    found
}

/// Of the crawl of a demonstration, which is left as it is.
pub(crate) fn one_origin(home: &Path, crawled: &Path) {
    let dir = home.join("erased");
    copy_tree(crawled, &dir);
    let before = records(home, &dir);
    let origin = largest(&before);
    let authority = origin.strip_prefix("http://").unwrap();
    let shown = dir.to_str().unwrap();
    held(home, &dir);
    let asked =
        ["erase", shown, "--origin", &origin, "--records", "--mentions", "--reason", "they asked", "--request", "R-1"];
    let told = comity(home, &[&asked[..], &["--dry-run", "--json"]].concat());
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(naming(&dir, authority).len() >= 6, "nothing was changed: {told}");
    assert!(naming(&dir, authority).contains("report.html"), "the page lists every origin");
    let done = comity(home, &[&asked[..], &["--json"]].concat());
    assert!(done.status.success(), "{}", stderr(&done));
    let done: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(done["erased"]["lines"].as_u64() >= Some(20) && done["remembered"].as_u64() > Some(0), "{done}");
    for what in ["lines", "amended", "payloads", "sightings", "mentions"] {
        assert_eq!(told["erased"][what], done["erased"][what], "{what}");
    }
    // The demonstration names every origin as a seed.
    assert_eq!(naming(&dir, authority), BTreeSet::new());
    assert_eq!((&done["left"], &done["erased"]["configs"]), (&serde_json::json!([]), &serde_json::json!(1)));
    let found = holds(home, &dir);
    assert_eq!(found["checked"]["erasures"], 1, "{found}");
    let gone = found["checked"]["erased"].as_u64().unwrap() - found["checked"]["amended"].as_u64().unwrap();
    assert_eq!(done["erased"]["lines"], gone);
    let audited = comity(home, &["audit", shown]);
    assert!(audited.status.success(), "{}", String::from_utf8_lossy(&audited.stdout));
    audit::verified_without_our_code(&dir, 0);
    // The page went; made anew, it counts what is gone and does not show it.
    super::report::without(home, &dir, authority, gone);
    // What is left can be exported, and the crawl can go on.
    let wacz = comity(home, &["wacz", shown, "--out", home.join("left.wacz").to_str().unwrap()]);
    assert!(wacz.status.success(), "{}", stderr(&wacz));
    let again = comity(home, &asked);
    assert_eq!(again.status.code(), Some(1), "there is nothing left: {}", stderr(&again));
    killed(home, crawled, &origin);
}

/// Whoever finds the directory taken is told by whom, and what to do. Nobody reads what is being erased.
fn held(home: &Path, dir: &Path) {
    let (shown, config, out) = (dir.to_str().unwrap(), dir.join("crawl.toml"), home.join("held"));
    let (config, out) = (config.to_str().unwrap(), out.to_str().unwrap());
    let erase = ["erase", shown, "--url", "http://a.test/", "--reason", "x", "--request", "R-0"];
    let (prune, crawl) = (["prune", shown], ["crawl", "--config", config, "--dir", shown]);
    let (wacz, export) = (["wacz", shown, "--out", out], ["export", shown, "--for", "search", "--out", out]);
    let refused = |command: &[&str], by: &str| {
        let ran = comity(home, command);
        let said = stderr(&ran);
        assert_eq!(ran.status.code(), Some(5), "{command:?}: {said}");
        let who = format!("process {}", std::process::id());
        assert!(said.contains(by) && said.contains(&who) && said.contains("wait for its end"), "{command:?}: {said}");
    };
    let lock = CrawlLock::take(dir, Use::Crawl).unwrap();
    for command in [&erase[..], &prune, &crawl] {
        refused(command, "a crawl runs in it");
    }
    lock.says(Use::Erase).unwrap();
    for command in [&erase[..], &prune, &crawl, &wacz, &export] {
        refused(command, "an erasure changes it");
    }
}

/// Killed at some instant, another time each, until one is done: the next `--resume` does the rest.
fn killed(home: &Path, crawled: &Path, origin: &str) {
    let dir = home.join("killed");
    let (mut wait, mut begun) = (Duration::from_millis(700), false);
    loop {
        drop(fs::remove_dir_all(&dir));
        copy_tree(crawled, &dir);
        let mut child = Command::new(env!("CARGO_BIN_EXE_comity"))
            .args([
                "erase",
                dir.to_str().unwrap(),
                "--origin",
                origin,
                "--records",
                "--reason",
                "x",
                "--request",
                "R-2",
            ])
            .env("HOME", home)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(wait);
        let is_done = child.try_wait().unwrap().is_some();
        drop(child.kill());
        child.wait().unwrap();
        begun |= dir.join("erasing.json").exists();
        let resumed = comity(home, &["erase", dir.to_str().unwrap(), "--resume"]);
        assert!(resumed.status.success(), "{}", stderr(&resumed));
        assert!(!PathBuf::from(&dir).join("erasing.json").exists());
        holds(home, &dir);
        if is_done {
            eprintln!("killed in the middle of it: {begun}");
            return;
        }
        wait *= 3;
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let home = tempfile::TempDir::new().unwrap();
    let dir = home.path().join("d");
    copy_tree(&super::explain::fixture("v2"), &dir);
    let shown = dir.to_str().unwrap();
    let rows: [(&[&str], &str); 9] = [
        (&["--reason", "x", "--request", "y"], "--origin"),
        (
            &["--origin", "http://a.test", "--url", "http://a.test/", "--reason", "x", "--request", "y"],
            "cannot be used with",
        ),
        (&["--origin", "http://a.test"], "--reason"),
        (&["--origin", "http://a.test/x?", "--reason", "x", "--request", "y"], "--origin"),
        (&["--url", "a.test", "--reason", "x", "--request", "y"], "--url"),
        (&["--payload-digest", "12", "--reason", "x", "--request", "y"], "--payload-digest"),
        (&["--origin", "http://a.test", "--reason", "of a.test", "--request", "y"], "it names what is to be erased"),
        (&["--origin", "http://a.test", "--any-query", "--reason", "x", "--request", "y"], "cannot be used with"),
        (&["--origin", "http://a.test", "--mentions", "--reason", "x", "--request", "y"], "--records"),
    ];
    for (flags, said) in rows {
        let ran = comity(home.path(), &[&["erase", shown], flags].concat());
        assert_eq!(ran.status.code(), Some(2), "{flags:?}: {}", stderr(&ran));
        assert!(stderr(&ran).contains(said), "{flags:?}: {}", stderr(&ran));
    }
    let ran = comity(home.path(), &["prune", home.path().to_str().unwrap()]);
    assert!(ran.status.code() == Some(2) && stderr(&ran).contains("holds no crawl"), "{}", stderr(&ran));
}

/// A crawl of one URL that is refused for its address: a record, and no request.
#[test]
fn what_is_too_old_goes_by_prune_and_at_each_start() {
    let home = tempfile::TempDir::new().unwrap();
    let config = home.path().join("c.toml");
    let text = "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\n[archive]\nmin_free = \"1MB\"\n";
    let dirs = ["pruned", "restarted", "kept"].map(|name| home.path().join(name));
    for dir in &dirs {
        let kept = if dir.ends_with("kept") { "" } else { "keep_records = \"1ms\"\n" };
        fs::write(&config, format!("{text}{kept}")).unwrap();
        let flags = ["--config", config.to_str().unwrap(), "--dir", dir.to_str().unwrap()];
        let crawled = comity(home.path(), &[&["crawl", "http://127.0.0.1:1/"][..], &flags].concat());
        assert_eq!(crawled.status.code(), Some(0), "{}", stderr(&crawled));
        assert_eq!(holds(home.path(), dir)["checked"]["erased"], 0);
        std::thread::sleep(Duration::from_millis(5));
        let again = if dir.ends_with("restarted") {
            comity(home.path(), &[&["crawl", "http://127.0.0.1:1/"][..], &flags].concat())
        } else {
            comity(home.path(), &["prune", dir.to_str().unwrap(), "--json"])
        };
        if dir.ends_with("kept") {
            assert!(again.status.code() == Some(2) && stderr(&again).contains("keep_records"), "{}", stderr(&again));
            continue;
        }
        assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
        let found = holds(home.path(), dir);
        assert_eq!((&found["checked"]["erased"], &found["checked"]["erasures"]), (&1.into(), &1.into()), "{found}");
    }
}

/// Killed after it was written down: what was ordered to go is still there, and nobody hands it out.
#[test]
fn an_erasure_under_way_bars_whoever_only_reads() {
    let home = tempfile::TempDir::new().unwrap();
    let dir = home.path().join("d");
    copy_tree(&super::explain::fixture("v2"), &dir);
    fs::write(dir.join("erasing.json"), "{}").unwrap();
    let before = everything(&dir, &dir);
    let (shown, out) = (dir.to_str().unwrap(), home.path().join("out"));
    let out = out.to_str().unwrap();
    let rows: [&[&str]; 10] = [
        &["records", shown],
        &["report", shown],
        &["report", shown, "--html"],
        &["report", shown, "--policy"],
        &["report", shown, "--public-summary"],
        &["wacz", shown, "--out", out],
        &["export", shown, "--for", "search", "--out", out],
        &["dossier", "http://a.test", "--dir", shown, "--out", out],
        &["erase", shown, "--origin", "http://a.test", "--reason", "x", "--request", "y", "--dry-run"],
        &["prune", shown, "--dry-run"],
    ];
    for row in rows {
        let ran = comity(home.path(), row);
        assert_eq!(ran.status.code(), Some(2), "{row:?}: {}", stderr(&ran));
        assert!(stderr(&ran).contains("--resume") && ran.stdout.is_empty(), "{row:?}: {}", stderr(&ran));
        assert!(!Path::new(out).exists(), "{row:?}");
        assert!(everything(&dir, &dir) == before, "{row:?}: the directory was changed");
    }
}

/// A stranger's file that cannot be inflated lies in the directory: what was done is told, and the receipt came first.
#[test]
fn the_receipt_is_told_whatever_comes_after() {
    let home = tempfile::TempDir::new().unwrap();
    let (dir, config) = (home.path().join("d"), home.path().join("c.toml"));
    let text = "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\n[archive]\nmin_free = \"1MB\"\n";
    fs::write(&config, text).unwrap();
    let shown = dir.to_str().unwrap();
    let crawl =
        ["crawl", "http://127.0.0.1:1/", "http://127.0.0.2:1/", "--config", config.to_str().unwrap(), "--dir", shown];
    let crawled = comity(home.path(), &crawl);
    assert_eq!(crawled.status.code(), Some(0), "{}", stderr(&crawled));
    fs::create_dir(dir.join("notes")).unwrap();
    for name in ["notes/a.gz", "half.zst"] {
        fs::write(dir.join(name), b"no archive at all").unwrap();
    }
    let asked = ["erase", shown, "--origin", "http://127.0.0.1:1", "--records", "--reason", "x", "--request", "y"];
    let ran = comity(home.path(), &[&asked[..], &["--json"]].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let done: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let receipt = done["erased"]["receipt"].as_str().unwrap();
    assert!(receipt.len() == 32 && stderr(&ran).contains(receipt), "{done} {}", stderr(&ran));
    let left: Vec<&str> = done["left"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    for name in ["notes/a.gz, which cannot be read", "half.zst, which cannot be read"] {
        assert!(left.iter().any(|file| file.starts_with(name)), "{name}: {left:?}");
    }
}
