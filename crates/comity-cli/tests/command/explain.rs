//! Crawls of every format that was ever written are explained, verified and audited, from their directories alone.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::verify::{change_records, copy_tree};
use super::{audit, comity, stderr};

/// A folder for each format: `v1` has no checkpoints and `D/chain` of version 1, `v2` has signed checkpoints. Small crawls of
/// one site; a new format gets a new folder, and no folder is ever written anew.
const FORMATS: [&str; 2] = ["v1", "v2"];
const REFUSED: &str = "http://a.test:8099/private/diary";

pub(crate) fn fixture(format: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "fixtures", "crawls", format].iter().collect()
}

fn said(home: &TempDir, dir: &Path, args: &[&str], code: i32) -> String {
    let ran = comity(home.path(), &[args, &["--dir", dir.to_str().unwrap()]].concat());
    assert_eq!(ran.status.code(), Some(code), "{}", stderr(&ran));
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn crawls_of_every_format_are_explained_with_the_line_marked() {
    let home = TempDir::new().unwrap();
    for format in FORMATS {
        let dir = fixture(format);
        let text = said(&home, &dir, &["explain", REFUSED], 0);
        let rows = [
            "not_fetched, robots.disallow",
            "Disallow: /private/ (line 7, priority 9)",
            "refused by line 7, as then (comity/",
            "Crawl-delay 1 s",
            "old when it was used, good until",
            "on http://a.test:8099/, 1 link from a seed, attempt 1",
            "evidence/d1/d17090645aa74bde27e239d535cce6e3c34673368d314a74cd3e511b397b3f21, 10 lines:",
            "  >      5  User-agent: FixtureBot\n",
            "  >>     7  Disallow: /private/   # <b>not</b> & never\n",
        ];
        for row in rows {
            assert!(text.contains(row), "{format}: {row}\n{text}");
        }
        let sealed = if format == "v1" { "no checkpoint covers it yet" } else { "under checkpoint 1 of 2026-" };
        assert!(text.contains(sealed), "{text}");
        let fetched = said(&home, &dir, &["explain", "http://a.test:8099/about"], 0);
        assert!(fetched.contains("fetched, ok, answered 200") && fetched.contains("ai_train: denied"), "{fetched}");
        assert!(fetched.contains("denied, not to be used for it"), "{fetched}");
        assert!(fetched.contains("s      8  Content-Signal: ai-train=no, search=yes"), "{fetched}");
        said(&home, &dir, &["explain", "http://a.test:8099/nothing"], 1);
    }
}

#[test]
fn the_page_stands_on_its_own_feet_and_lets_nothing_through() {
    let home = TempDir::new().unwrap();
    let page = said(&home, &fixture("v2"), &["explain", REFUSED, "--html"], 0);
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
    assert!(page.contains("Disallow: /private/   # &lt;b&gt;not&lt;/b&gt; &amp; never"), "{page}");
    assert!(page.contains("<span class=\"line decided\">") && page.contains("default-src 'none'"), "{page}");
    for never in ["<script", "<b>", "src=", "url(", "@import", "<link", "href="] {
        assert!(!page.contains(never), "{never}: {page}");
    }
}

#[test]
fn crawls_of_every_format_hold_and_were_polite() {
    let home = TempDir::new().unwrap();
    for format in FORMATS {
        let dir = fixture(format);
        for command in ["verify", "audit"] {
            let ran = comity(home.path(), &[command, dir.to_str().unwrap()]);
            assert!(ran.status.success(), "{format}: {}", String::from_utf8_lossy(&ran.stdout));
        }
        audit::verified_without_our_code(&dir, 0);
    }
    let key = "WpHTDXPZHUfNcNiAcxZx05doGrqf8OwppnIsGCKlWt8";
    for (format, code) in [("v1", 1), ("v2", 0)] {
        let ran = comity(home.path(), &["verify", fixture(format).to_str().unwrap(), "--key", key]);
        assert_eq!(ran.status.code(), Some(code), "{format}: {}", String::from_utf8_lossy(&ran.stdout));
    }
    let other = comity(home.path(), &["verify", fixture("v2").to_str().unwrap(), "--key", &key.replace("WpH", "WpI")]);
    assert_eq!(other.status.code(), Some(1));
}

#[test]
fn a_copy_that_was_changed_is_not_shown() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    for folder in ["records", "evidence/d1"] {
        fs::create_dir_all(dir.join(folder)).unwrap();
        for entry in fs::read_dir(fixture("v2").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, dir.join(folder).join(path.file_name().unwrap())).unwrap();
        }
    }
    let copy = fs::read_dir(dir.join("evidence/d1")).unwrap().next().unwrap().unwrap().path();
    fs::write(&copy, "User-agent: *\nAllow: /\n").unwrap();
    let text = said(&home, &dir, &["explain", REFUSED], 0);
    assert!(text.contains("is not what it was") && !text.contains(">>"), "{text}");
}

/// A checkpoint speaks for a line only through a chain that holds, up to the checkpoint.
#[test]
fn a_line_that_was_changed_is_not_said_to_be_signed() {
    let home = TempDir::new().unwrap();
    let rows = [
        ("its content", "\"reason\":\"robots.disallow\"", "\"reason\":\"robots.disallou\""),
        ("its pattern", "\"pattern\":\"/private/\"", "\"pattern\":\"/private/d\""),
        ("one before it", "\"status\":200", "\"status\":201"),
    ];
    for (n, (what, from, to)) in rows.into_iter().enumerate() {
        let dir = home.path().join(n.to_string());
        copy_tree(&fixture("v2"), &dir);
        let text = said(&home, &dir, &["explain", REFUSED], 0);
        assert!(text.contains("signed by") && text.contains(", as then"), "{text}");
        change_records(&dir, from, to);
        let text = said(&home, &dir, &["explain", REFUSED], 0);
        assert!(!text.contains("signed by") && text.contains("was changed"), "{what}: {text}");
        assert_eq!(text.contains("NOT as then"), what == "its pattern", "{what}: {text}");
    }
}

/// What a newcomer leaves out is named: the folder that stands here, the origin of the crawl.
#[test]
fn what_was_left_out_is_completed_in_the_hint() {
    let here = TempDir::new().unwrap();
    let explain = |args: &[&str]| {
        let ran = std::process::Command::new(env!("CARGO_BIN_EXE_comity"))
            .args(args)
            .current_dir(here.path())
            .env("HOME", here.path())
            .env_remove("XDG_CONFIG_HOME")
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(2), "{}", stderr(&ran));
        stderr(&ran)
    };
    assert!(explain(&["explain", REFUSED]).contains("none stands here"));
    copy_tree(&fixture("v2"), &here.path().join("crawl-1"));
    let told = explain(&["explain", REFUSED]);
    assert!(told.contains(&format!("hint: comity explain {REFUSED} --dir crawl-1\n")), "{told}");
    let told = explain(&["explain", "/private/diary", "--dir", "crawl-1"]);
    assert!(told.contains(REFUSED), "{told}");
}
