use std::process::Command;

use crate::{docs, layers, packages, peers, print, sim, step};

/// What `cargo xtask test` runs.
pub(crate) struct Plan {
    size: Size,
    install: bool,
}

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// About 20 minutes on two cores in a clean clone.
    Short,
    /// The long suites too.
    All,
}

impl Plan {
    pub(crate) fn parse(flags: &[&str]) -> Result<Self, String> {
        let mut plan = Self { size: Size::Short, install: std::env::var("CI").is_ok_and(|ci| ci == "true") };
        for flag in flags {
            match *flag {
                "--all" => plan.size = Size::All,
                "--install" => plan.install = true,
                _ => return Err(format!("unknown flag {flag:?}; known are --all and --install")),
            }
        }
        Ok(plan)
    }

    pub(crate) fn run(&self) -> Result<(), String> {
        layers::check()?;
        docs::check()?;
        packages::check()?;
        packages::bare()?;
        if self.install {
            peers::install_missing(self.size)?;
        }
        let left_out = peers::missing(self.size);
        step::run("tests", &mut self.with_peers(test_runner()))?;
        step::run("documentation tests", &mut self.with_peers(doc_tests()))?;
        if self.size == Size::All {
            // In the short form it is a test of the command as the tests build it: no second build of everything.
            step::run("demo: a polite crawl, audited", &mut demo())?;
            step::run("optional features", &mut self.with_peers(optional_features()))?;
            step::run("tables", &mut self.with_peers(tables("comity-archive", &["--lib"])))?;
            step::run("tables, by other readers", &mut self.with_peers(tables("comity-cli", &["--test", "peer"])))?;
            packages::every_form()?;
            packages::pack()?;
            docs::command()?;
            sim::Plan::of(sim::SEEDS_OF_ALL).run()?;
        }
        print("\nall checks passed");
        if !left_out.is_empty() {
            print(&format!(
                "left out, not installed: {} (cargo xtask test --install brings them)",
                left_out.join(", ")
            ));
        }
        if self.size == Size::Short {
            print("left out, long: cargo xtask test --all runs more cases and seeds");
        }
        Ok(())
    }

    /// Tells the tests where the peers are and how long they may take.
    fn with_peers(&self, mut command: Command) -> Command {
        command.env("COMITY_PEERS_VENV", peers::venv());
        command.env("COMITY_PEERS_NODE", peers::node());
        if self.size == Size::All {
            command.env("COMITY_TEST_SIZE", "all");
            command.env("PROPTEST_CASES", "4096");
        }
        command
    }
}

/// nextest where it is installed, cargo's own runner elsewhere.
fn test_runner() -> Command {
    let mut command = step::cargo();
    if step::answers("cargo-nextest", "--version") {
        command.args(["nextest", "run", "--workspace", "--no-fail-fast"]);
    } else {
        command.args(["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]);
    }
    command
}

fn doc_tests() -> Command {
    let mut command = step::cargo();
    command.args(["test", "--workspace", "--doc"]);
    command
}

/// The parts that are off by default.
fn optional_features() -> Command {
    let mut command = step::cargo();
    command.args(["test", "-p", "comity", "-p", "comity-extract", "--features", "comity/select", "--lib", "select"]);
    command
}

/// `comity export --parquet`, whose library no other build takes.
fn tables(package: &str, target: &[&str]) -> Command {
    let mut command = step::cargo();
    command.args(["test", "-p", package, "--features", "parquet"]).args(target).args(["table", "--", "--nocapture"]);
    command
}

/// The README's first command; it fails when the auditor of the synthetic web saw a violation.
fn demo() -> Command {
    let mut command = step::cargo();
    command.args(["run", "--release", "--quiet", "--", "demo"]);
    command
}
