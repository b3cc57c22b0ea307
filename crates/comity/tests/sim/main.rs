//! Simulation: the real engine, gate and fetcher over a web in memory, on paused time, with a seeded plan of faults.
//!
//! A seed decides everything: the web, how it fails, the crawl's settings, the jitter. Each run is held to the laws of
//! `laws.rs`; the auditor of the web is the first of them. `cargo xtask sim --seed S` plays one seed again.
//!
//! Settings come from the environment, so that the same test is short and long: `COMITY_SIM_SEEDS` (how many; 50),
//! `COMITY_SIM_SEED` (the first; 1).
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod coverage;
mod disk;
#[path = "../../../comity-fetch/tests/support/ends.rs"]
mod ends;
mod faults;
mod hostile;
mod laws;
mod life;
mod net;
mod pages;
mod plan;
mod records;
mod robots;
mod run;
mod stage;
mod state;
mod survival;
mod week;
mod workers;

use std::collections::BTreeMap;

use coverage::Coverage;
use plan::Plan;
use run::Run;

/// Seeds of the short suite.
const SEEDS: u64 = 50;

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text:?} is no number")))
}

/// What is broken in one seed, with the end of its log.
fn play(seed: u64) -> (Coverage, Vec<String>) {
    let run = Run::of(&Plan::draw(seed));
    let broken = laws::broken(&run);
    if !broken.is_empty() && setting("COMITY_SIM_SEEDS", SEEDS) == 1 {
        eprintln!("{}", run.log);
    }
    (Coverage::of(&run), broken)
}

#[test]
fn every_seed_keeps_the_laws() {
    let (first, count) = (setting("COMITY_SIM_SEED", 1), setting("COMITY_SIM_SEEDS", SEEDS));
    let played = workers::play_all(first..first.saturating_add(count), play);
    let mut coverage = Coverage::default();
    let mut failures = BTreeMap::new();
    for (seed, (covered, broken)) in played {
        coverage.add(&covered);
        if !broken.is_empty() {
            failures.insert(seed, broken);
        }
    }
    eprintln!("{count} seeds: {coverage}");
    for (seed, broken) in &failures {
        eprintln!("seed {seed}: {}\n  again: cargo xtask sim --seed {seed}", broken.join("\n  "));
    }
    let seeds: Vec<_> = failures.keys().collect();
    assert!(seeds.is_empty(), "{} of {count} seeds break a law: {seeds:?}", seeds.len());
    // Fewer need not meet everything.
    if count >= SEEDS {
        assert_eq!(coverage.missing(), Vec::<&str>::new(), "what no seed met proves nothing");
    }
}

#[test]
fn the_same_seed_gives_the_same_log_byte_for_byte() {
    let first = setting("COMITY_SIM_SEED", 1);
    let count = setting("COMITY_SIM_SEEDS", SEEDS).div_ceil(5);
    let twice = |seed| [Run::of(&Plan::draw(seed)).log, Run::of(&Plan::draw(seed)).log];
    let mut lines_in_all = 0;
    for (seed, [one, other]) in workers::play_all(first..first.saturating_add(count), twice) {
        let at = one.lines().zip(other.lines()).position(|(one, other)| one != other);
        let lines = at.map(|at| (one.lines().nth(at), other.lines().nth(at)));
        assert!(one == other, "seed {seed}: the logs part at line {at:?}: {lines:?}");
        lines_in_all += one.lines().count() as u64;
    }
    assert!(lines_in_all > 20 * count, "logs that say nothing: {lines_in_all} lines of {count} seeds");
}

#[test]
fn different_seeds_give_different_logs() {
    let [one, other] = [1, 2].map(|seed| Run::of(&Plan::draw(seed)).log);
    assert_ne!(one, other);
}
