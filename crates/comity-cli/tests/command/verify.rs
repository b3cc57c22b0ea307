//! What `comity verify` says of crawls that somebody else had in hands.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::comity;
use super::explain::fixture;

const KEY: &str = "WpHTDXPZHUfNcNiAcxZx05doGrqf8OwppnIsGCKlWt8";

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy_tree(&path, &target) } else { drop(fs::copy(&path, &target).unwrap()) }
    }
}

/// Exit code and what was said.
fn verified(dir: &Path, flags: &[&str]) -> (Option<i32>, String) {
    let ran = comity(dir, &[&["verify", dir.to_str().unwrap()], flags].concat());
    (ran.status.code(), String::from_utf8(ran.stdout).unwrap())
}

/// A sighting is appended to a signed crawl, as whoever can write to the directory can.
#[test]
fn what_nothing_seals_is_not_said_to_hold() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    copy_tree(&fixture("v2"), &dir);
    let (code, said) = verified(&dir, &["--key", KEY]);
    assert!(code == Some(0) && said.contains("everything holds"), "{said}");
    let index = dir.join("evidence/index.jsonl");
    let text = fs::read_to_string(&index).unwrap();
    fs::write(&index, format!("{text}{}\n", text.lines().next().unwrap())).unwrap();
    let (code, said) = verified(&dir, &["--key", KEY]);
    assert!(code == Some(1) && said.contains("unsealed: evidence/index.jsonl"), "{said}");
    let (code, said) = verified(&dir, &[]);
    assert!(code == Some(0) && !said.contains("everything holds"), "{said}");
    assert!(said.contains("no checkpoint covers its last"), "{said}");
    let (_, said) = verified(&dir, &["--json"]);
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((found["holds"].as_bool(), found["sealed"].as_bool()), (Some(true), Some(false)));
}
