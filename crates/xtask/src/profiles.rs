//! The two ways in which the command is built: `release` is quick to build, `dist` is for speed throughout
//! (docs/decisions/0087).

use toml::{Table, Value};

use crate::step;

/// What every page of a crawl passes through.
const ON_THE_WAY: [&str; 22] = [
    "comity",
    "comity-archive",
    "comity-extract",
    "comity-fetch",
    "comity-frontier",
    "comity-gate",
    "comity-policy",
    "comity-robots",
    "comity-signals",
    "comity-url",
    "encoding_rs",
    "fjall",
    "h2",
    "http",
    "hyper",
    "libdeflate-sys",
    "lsm-tree",
    "rustls",
    "tokio",
    "url",
    "zlib-rs",
    "zstd-sys",
];

/// What a profile says of packages.
fn packages(profile: &str) -> Table {
    let manifest: Table = std::fs::read_to_string(step::root().join("Cargo.toml")).unwrap().parse().unwrap();
    manifest["profile"][profile]["package"].as_table().unwrap().clone()
}

#[test]
fn what_a_page_passes_through_is_compiled_for_speed() {
    let quick = packages("release");
    for package in ON_THE_WAY {
        let level = quick.get(package).and_then(|package| package.get("opt-level"));
        assert!(level.is_none() || level == Some(&Value::Integer(3)), "{package}: {level:?}");
    }
    assert!(!quick.contains_key("*"), "a level for all packages of others would be one for hyper");
}

#[test]
fn dist_takes_back_all_that_makes_release_quick_to_build() {
    let (quick, whole) = (packages("release"), packages("dist"));
    let names = |table: &Table| table.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&quick), names(&whole));
    for (name, package) in &whole {
        let wanted = [("opt-level", 3), ("codegen-units", 1)];
        assert!(wanted.iter().all(|(key, value)| package.get(*key) == Some(&Value::Integer(*value))), "{name}");
    }
}
