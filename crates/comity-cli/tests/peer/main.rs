//! Real input: a documentation tree that nobody here wrote, served by a real nginx, crawled by the real command.
//!
//! nginx's own access log is the judge of what was asked for, an independent walk over the files says what should
//! have been, and other people's tools read the WARC. `cargo xtask test --install` brings the peers; where they are
//! missing, the test says which and passes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod identity;
mod nginx;
mod proxies;
mod readers;
#[cfg(feature = "parquet")]
mod table;
mod tls;
mod tree;
mod warc;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::nginx::Nginx;

/// A tree, and the robots.txt that stands in front of it: folders, kinds of files, and holes in them.
struct Tree {
    package: &'static str,
    folder: Option<std::path::PathBuf>,
    robots: &'static str,
    least_pages: usize,
}

#[test]
fn the_python_documentation_is_crawled_whole_and_no_refused_page_is_asked_for() {
    check(&Tree {
        package: "python3-doc",
        folder: tree::installed("html", "library/index.html"),
        robots: "User-agent: *\nDisallow: /whatsnew/\nDisallow: /library/asyncio\nAllow: /library/asyncio.html\nDisallow: /*.txt$\n",
        least_pages: 400,
    });
}

#[test]
fn the_postgresql_documentation_is_crawled_whole_and_no_refused_page_is_asked_for() {
    check(&Tree {
        package: "postgresql-doc",
        folder: tree::installed("html", "sql-select.html"),
        robots: "User-agent: otherbot\nDisallow: /\n\nUser-agent: peerbot\nDisallow: /sql-\nAllow: /sql-select\nDisallow: /*catalog*.html$\n",
        least_pages: 800,
    });
}

#[test]
fn the_sqlite_documentation_is_crawled_whole_and_no_refused_page_is_asked_for() {
    check(&Tree {
        package: "sqlite3-doc",
        folder: tree::installed("", "lang_select.html"),
        robots: "User-agent: *\nDisallow: /c3ref/\nAllow: /c3ref/intro.html\nDisallow: /releaselog/\nDisallow: /*?\n",
        least_pages: 200,
    });
}

fn check(tree: &Tree) {
    let Tree { package, robots, least_pages, .. } = *tree;
    let Some(docs) = &tree.folder else {
        eprintln!("left out: {package} is not installed (cargo xtask test --install)");
        return;
    };
    let Some(program) = nginx::installed() else {
        eprintln!("left out: nginx is not installed (cargo xtask test --install)");
        return;
    };
    let home = TempDir::new().unwrap();
    let nginx = Nginx::start(program, home.path(), docs, robots);
    let seed = format!("http://127.0.0.1:{}/index.html", nginx.port);
    let dir = home.path().join("crawl");
    let expected = tree::walk(docs, &seed, robots);
    crawl(home.path(), &seed, &dir);
    let asked = nginx.stop();

    assert!(
        expected.allowed.len() > least_pages && expected.refused.len() > 10,
        "a real tree: {} pages",
        expected.allowed.len()
    );
    let pages: BTreeSet<String> = asked.iter().filter(|target| *target != "/robots.txt").cloned().collect();
    let refused: Vec<_> = pages.intersection(&expected.refused).collect();
    assert!(refused.is_empty(), "asked for refused pages: {refused:?}");
    let missing: Vec<_> = expected.allowed.difference(&pages).take(20).collect();
    let surplus: Vec<_> = pages.difference(&expected.allowed).take(20).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing {missing:?}, surplus {surplus:?}");
    assert_eq!(asked.len(), pages.len() + 1, "every page once, robots.txt once");

    let judged = judged(home.path(), &dir);
    assert_eq!(judged.0, pages, "the request lines in the log are the judged URLs, byte for byte");
    assert_eq!(judged.1, expected.refused, "every refused link has its record");
    let (fetched, refused) = (pages.len(), expected.refused.len());
    eprintln!("{package}: {fetched} pages fetched, {refused} refused, as counted independently");
    warc::check(&dir, pages.len() + 1);
}

fn crawl(home: &std::path::Path, seed: &str, dir: &std::path::Path) {
    let arguments =
        ["crawl", seed, "--agent", "PeerBot/1.0", "--contact", "a@example.com", "--allow-address", "127.0.0.0/8"];
    // Our own server on our own machine: no floor; several requests at once, since it is not paced.
    let config = home.join("c.toml");
    fs::write(
        &config,
        "[politeness]\ndelay = \"0s\"\nper_origin = 8\nadaptive = false\n[archive]\nmin_free = \"10MB\"\n",
    )
    .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_comity"))
        .args(arguments)
        .arg("--config")
        .arg(&config)
        .arg("--dir")
        .arg(dir)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
    eprintln!("{said}");
}

/// Request targets of the fetched pages and of the refused URLs, by the crawl's own records.
fn judged(home: &std::path::Path, dir: &std::path::Path) -> (BTreeSet<String>, BTreeSet<String>) {
    let output = Command::new(env!("CARGO_BIN_EXE_comity")).arg("records").arg(dir).env("HOME", home).output().unwrap();
    assert!(output.status.success());
    let (mut fetched, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let record: Value = serde_json::from_str::<Value>(line).unwrap()["body"].take();
        let url = record["url"].as_str().unwrap();
        let target = url.splitn(4, '/').nth(3).map(|rest| format!("/{rest}")).unwrap();
        match (record["errand"].as_str().unwrap(), record["outcome"].as_str().unwrap()) {
            ("page", "fetched") => {
                fetched.insert(target);
            }
            ("page", _) => {
                assert_eq!(record["reason"], "robots.disallow", "{record}");
                assert!(record["rule"]["line"].as_u64() > Some(1), "{record}");
                refused.insert(target);
            }
            _ => {}
        }
    }
    (fetched, refused)
}
