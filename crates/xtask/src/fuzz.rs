use std::process::Command;

use crate::{print, step};

/// The fuzz targets, by crate.
const TARGETS: [(&str, &str); 16] = [
    ("crates/comity-robots", "parse"),
    ("crates/comity-robots", "matcher"),
    ("crates/comity-robots", "print"),
    ("crates/comity-robots", "stored"),
    ("crates/comity-extract", "html"),
    ("crates/comity-extract", "srcset"),
    ("crates/comity-extract", "refresh"),
    ("crates/comity-extract", "url"),
    ("crates/comity-extract", "sitemap"),
    ("crates/comity-extract", "feed"),
    ("crates/comity-extract", "embedded"),
    ("crates/comity-signals", "tdmrep"),
    ("crates/comity-signals", "rsl"),
    ("crates/comity-signals", "lines"),
    ("crates/comity-signals", "fields"),
    ("crates/comity-signals", "files"),
];

/// What `cargo xtask fuzz` does.
struct Plan {
    /// How long each target runs.
    seconds: u32,
    install: bool,
    /// The only target that runs, if one is named.
    only: Option<String>,
}

/// `cargo xtask fuzz [--seconds N] [--only TARGET] [--install]`: every target in turn. Its laws also run as plain tests on the seeds.
pub(crate) fn command(flags: &[&str]) -> Result<(), String> {
    let plan = Plan::parse(flags)?;
    if !step::answers("cargo-fuzz", "--version") {
        if !plan.install {
            return Err("cargo-fuzz is not installed; cargo xtask fuzz --install brings it".into());
        }
        step::run("install cargo-fuzz", step::cargo().args(["install", "cargo-fuzz", "--locked"]))?;
    }
    let named = |target: &str| plan.only.as_deref().is_none_or(|only| only == target);
    let targets: Vec<_> = TARGETS.into_iter().filter(|(_, target)| named(target)).collect();
    if targets.is_empty() {
        let known: Vec<&str> = TARGETS.into_iter().map(|(_, target)| target).collect();
        return Err(format!("--only: no such target; known are {}", known.join(", ")));
    }
    for (package, target) in &targets {
        step::run(&format!("fuzz {target} for {} s", plan.seconds), &mut plan.fuzz(package, target))?;
    }
    print(&format!("{} targets ran {} s each without a finding", targets.len(), plan.seconds));
    Ok(())
}

impl Plan {
    fn parse(flags: &[&str]) -> Result<Self, String> {
        let mut plan = Self { seconds: 60, install: std::env::var("CI").is_ok_and(|ci| ci == "true"), only: None };
        let mut flags = flags.iter();
        while let Some(flag) = flags.next() {
            match *flag {
                "--install" => plan.install = true,
                "--seconds" => {
                    let number = flags.next().and_then(|number| number.parse().ok()).filter(|seconds| *seconds > 0);
                    plan.seconds = number.ok_or("--seconds: a number of seconds is missing")?;
                }
                "--only" => {
                    plan.only = Some((*flags.next().ok_or("--only: the name of a target is missing")?).to_owned());
                }
                _ => return Err(format!("unknown flag {flag:?}; known are --seconds N, --only TARGET and --install")),
            }
        }
        Ok(plan)
    }

    /// The sanitizer needs unstable flags, which the stable compiler takes when it is told to.
    fn fuzz(&self, package: &str, target: &str) -> Command {
        let mut command = step::cargo();
        command.current_dir(step::root().join(package)).env("RUSTC_BOOTSTRAP", "1");
        // What the fuzzer finds goes into a folder that is not kept; the seeds are only read.
        let found = step::root().join("target/fuzz").join(target);
        drop(std::fs::create_dir_all(&found));
        command.args(["fuzz", "run", target]).arg(found).arg("fuzz/seeds").arg("--");
        command.args(["-max_len=4096", "-timeout=20", &format!("-max_total_time={}", self.seconds)]);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags() {
        assert_eq!(Plan::parse(&["--seconds", "5"]).unwrap().seconds, 5);
        assert_eq!(Plan::parse(&["--only", "parse"]).unwrap().only.as_deref(), Some("parse"));
        assert!(command(&["--only", "parser"]).unwrap_err().contains("parse, matcher"));
        for bad in [&["--seconds"][..], &["--only"], &["--seconds", "x"], &["--seconds", "0"], &["--what"]] {
            assert!(Plan::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn every_target_is_there() {
        for (package, target) in TARGETS {
            let file = step::root().join(package).join(format!("fuzz/fuzz_targets/{target}.rs"));
            assert!(file.is_file(), "{}", file.display());
        }
    }
}
