use std::path::PathBuf;
use std::process::Command;

use crate::{peers, step};

/// `cargo xtask bench robots`: speed and size beside other crates. Their package stands outside the workspace and builds into
/// a folder of its own, so that nobody else builds the peers. `cargo xtask bench extract`: links of pages beside the peers that
/// the tests of comity-extract need anyway.
pub(crate) fn command(words: &[&str]) -> Result<(), String> {
    match words {
        ["archive", rest @ ..] => archive(rest),
        ["crawl", rest @ ..] => crawl(rest),
        ["extract"] => extract("9"),
        ["extract", rounds] if rounds.parse::<u32>().is_ok_and(|rounds| rounds > 0) => extract(rounds),
        ["robots"] => robots("9"),
        ["robots", rounds] if rounds.parse::<u32>().is_ok_and(|rounds| rounds > 0) => robots(rounds),
        ["frontier", rest @ ..] => frontier(rest),
        ["scheduler"] => scheduler("7"),
        ["scheduler", rounds] if rounds.parse::<u32>().is_ok_and(|rounds| rounds > 0) => scheduler(rounds),
        _ => Err(format!(
            "unknown bench {:?}; known are archive [rounds] [megabytes], crawl [rounds], extract [rounds], robots [rounds], frontier [store] [millions], \
             scheduler [rounds]",
            words.join(" ")
        )),
    }
}

/// `cargo xtask bench archive [rounds] [megabytes]`: WARC files beside one raw gzip stream of the same bytes.
fn archive(words: &[&str]) -> Result<(), String> {
    let mut run = step::cargo();
    run.args(["bench", "--locked", "-p", "comity-archive", "--bench", "archive", "--"]).args(words);
    step::run("archives beside raw gzip", &mut run)
}

/// `cargo xtask bench crawl [rounds] […]`: a whole crawl beside a bare client, and beside spider and Scrapy where they are: the one is
/// built unless `--without-spider` is said, the other is a package of the peers' virtual environment. The programs share the
/// workspace's target folder, and what was built there. With `--dist` all of them are built as the command is shipped.
fn crawl(words: &[&str]) -> Result<(), String> {
    let (root, home) = (step::root(), step::root().join("benches/crawl-peers"));
    let profile = if words.contains(&"--dist") { "dist" } else { "release" };
    let build = |what: &str, manifest: PathBuf, target: &str| {
        let mut build = step::cargo();
        build
            // Not `--locked`: its list of packages follows the workspace's, which changes without it.
            .args(["build", "--profile", profile, "--manifest-path"])
            .arg(manifest)
            .arg("--target-dir")
            .arg(root.join(target));
        step::run(what, &mut build)
    };
    build("build the web, the bare client and comity", home.join("Cargo.toml"), "target")?;
    let mut run = Command::new(root.join("target").join(profile).join("crawl-peers"));
    if !words.contains(&"--without-spider") {
        build("build spider", home.join("spider/Cargo.toml"), "target/crawl-spider")?;
        run.arg("--spider").arg(root.join("target/crawl-spider").join(profile).join("crawl-spider"));
    }
    let python = peers::venv().join("bin/python");
    if peers::python_has("scrapy") {
        run.arg("--scrapy").arg(python).arg(home.join("scrapy/crawl.py"));
    } else {
        eprintln!("no Scrapy: {} -m pip install scrapy", python.display());
    }
    run.args(words.iter().filter(|word| !matches!(**word, "--without-spider" | "--dist")));
    step::run("a whole crawl beside its peers", &mut run)
}

fn extract(rounds: &str) -> Result<(), String> {
    let mut bench = step::cargo();
    bench.args(["bench", "--locked", "-p", "comity-extract", "--bench", "extract", "--", rounds]);
    step::run("links of pages beside peers", &mut bench)
}

/// `cargo xtask bench frontier`: offers, leases, memory, disk and reopening at size; a million URLs unless said.
fn frontier(words: &[&str]) -> Result<(), String> {
    let mut run = step::cargo();
    run.args(["bench", "--locked", "-p", "comity-frontier", "--bench", "frontier", "--"]).args(words);
    step::run("frontiers at size", &mut run)
}

/// `cargo xtask bench scheduler`: a million origins in memory; takes 2 GB and some minutes.
fn scheduler(rounds: &str) -> Result<(), String> {
    let mut bench = step::cargo();
    bench.args(["bench", "--locked", "-p", "comity-frontier", "--bench", "scheduler", "--", rounds]);
    step::run("the scheduler at a million origins", &mut bench)
}

fn robots(rounds: &str) -> Result<(), String> {
    let root = step::root();
    let manifest = root.join("benches/robots-peers/Cargo.toml");
    let target = root.join("target/robots-peers");
    let mut build = step::cargo();
    build.args(["build", "--release", "--locked", "--manifest-path"]).arg(manifest).arg("--target-dir").arg(&target);
    step::run("build the bench and its peers", &mut build)?;
    // A peer's panics are counted, not shown.
    let mut run = Command::new(target.join("release/robots-peers"));
    step::run("robots beside its peers", run.arg(rounds).stderr(std::process::Stdio::null()))
}
