//! What `comity verify` says of crawls that somebody else had in hands.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::explain::fixture;
use super::{audit, comity};

const KEY: &str = "WpHTDXPZHUfNcNiAcxZx05doGrqf8OwppnIsGCKlWt8";

pub(crate) fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
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

/// Names of files are of whoever could write there; a terminal must not take orders from them.
#[test]
fn nothing_from_outside_reaches_the_terminal_unescaped() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    copy_tree(&fixture("v2"), &dir);
    fs::write(dir.join("warc/\u{1b}[2Jeverything holds\u{202e}"), "x").unwrap();
    // A pattern in a record that its copy does not bear out is quoted by audit.
    let (code, said) = verified(&dir, &[]);
    assert!(code == Some(1) && said.contains("\\u{1b}[2J"), "{said}");
    assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'), "{said:?}");
    let ran = comity(home.path(), &["audit", quoting(&home).to_str().unwrap()]);
    let said = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.code() == Some(1) && said.contains("\\u{1b}["), "{said}");
    assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'), "{said:?}");
}

/// A crawl whose records were written anew: a pattern with an escape sequence, in a chain that holds in no place.
fn quoting(home: &TempDir) -> std::path::PathBuf {
    let dir = home.path().join("quoting");
    copy_tree(&fixture("v2"), &dir);
    change_records(&dir, "\"pattern\":\"/private/\"", "\"pattern\":\"/p\\u001b[31m\u{202e}\"");
    dir
}

/// Replaces a text in every records file.
pub(crate) fn change_records(dir: &Path, from: &str, to: &str) {
    for entry in fs::read_dir(dir.join("records")).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8(zstd::decode_all(&fs::read(&path).unwrap()[..]).unwrap()).unwrap();
        assert!(text.contains(from), "{from}");
        fs::write(&path, zstd::encode_all(text.replace(from, to).as_bytes(), 3).unwrap()).unwrap();
    }
}

/// Changes records as `forge` does; how many are other ones then.
pub(crate) fn change_values(dir: &Path, forge: impl Fn(&mut serde_json::Value)) -> usize {
    let mut changed = 0;
    for entry in fs::read_dir(dir.join("records")).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8(zstd::decode_all(&fs::read(&path).unwrap()[..]).unwrap()).unwrap();
        let lines = text.lines().map(|line| {
            // The body is the last member, in sorted keys.
            let (head, body) = line.split_at(line.find("\"body\":").unwrap() + "\"body\":".len());
            let mut value: serde_json::Value = serde_json::from_str(body.strip_suffix('}').unwrap()).unwrap();
            let before = value.clone();
            forge(&mut value);
            changed += usize::from(value != before);
            if value == before { format!("{line}\n") } else { format!("{head}{value}}}\n") }
        });
        let text: String = lines.collect();
        fs::write(&path, zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();
    }
    changed
}

/// What the script passes over, it does not say to hold; what a kill leaves at the end of an open file is no fault.
#[test]
fn the_script_tells_what_it_did_not_look_at() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    copy_tree(&fixture("v1"), &dir);
    let warc = fs::read_dir(dir.join("warc")).unwrap().map(|entry| entry.unwrap().path());
    let warc = warc.into_iter().find(|path| path.to_string_lossy().ends_with(".warc.gz")).unwrap();
    let bytes = fs::read(&warc).unwrap();
    // Its first response once more: of no exchange, as when a kill came before the rest of it.
    fs::write(&warc, [&bytes[..], &bytes[585..1140]].concat()).unwrap();
    let Some(said) = audit::verified_without_our_code(&dir, 1) else { return };
    assert!(said.contains("unnamed"), "{said}");
    let open = warc.with_extension("gz.open");
    fs::rename(&warc, &open).unwrap();
    let said = audit::verified_without_our_code(&dir, 0).unwrap();
    assert!(said.contains("no line names it") && !said.contains("everything holds"), "{said}");
    fs::write(open, bytes).unwrap();
    fs::write(dir.join("warc/other.warc.zst"), "").unwrap();
    let said = audit::verified_without_our_code(&dir, 0).unwrap();
    assert!(said.contains("other.warc.zst was not looked at") && !said.contains("everything holds"), "{said}");
}
