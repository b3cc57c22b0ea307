//! Speed and size of this crate alone, by CPU time in interleaved rounds: `cargo bench -p comity-robots`. Beside other
//! crates: `cargo xtask bench robots`.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench speaks on stdout and ends at a fault")]

mod corpus;
mod hostile;
mod ours;
mod report;
mod rounds;
#[path = "../../tests/shared/mod.rs"]
mod shared;

use comity_robots::{Dialect, Robots};

use crate::corpus::Corpus;
use crate::ours::Cached;
use crate::rounds::{Contestant, race};

fn main() {
    // Without `--bench` this is `cargo test --all-targets`: one round shows that it runs.
    let rounds = if std::env::args().any(|arg| arg == "--bench") { 9 } else { 1 };
    if let Some(corpus) = Corpus::load() {
        real_files(&corpus, rounds);
    }
    hostile_files(rounds);
}

fn real_files(corpus: &Corpus, rounds: usize) {
    let contestants = vec![
        ours::scan(corpus),
        ours::parse_for_one(corpus),
        ours::parse_one(corpus),
        ours::parse_for_everybody(corpus),
    ];
    report::speeds("parse and compile for one agent", &race(contestants, rounds), corpus.bytes());
    let (one, each) = (corpus.for_one(ours::AGENT), corpus.as_asked());
    let standard = Cached::new(corpus, &one, Dialect::Standard);
    let google = Cached::new(corpus, &one, Dialect::Google);
    let many = Cached::new(corpus, &each, Dialect::Google);
    let contestants = vec![
        Contestant::new("comity-robots, standard", || standard.ask()),
        Contestant::new("comity-robots, standard, with evidence", || standard.ask_why()),
        Contestant::new("comity-robots, google", || google.ask()),
        Contestant::new("the same, a set for each file and agent", || many.ask()),
    ];
    report::times("a cached verdict", &race(contestants, rounds), corpus.questions.len());
    println!("\nanswers unlike Google's parser: {}", many.misses(corpus));
    let one_shot = vec![Contestant::new("comity-robots, from the bytes of the file", || ours::one_shot(corpus))];
    report::times("parse and ask", &race(one_shot, rounds.min(3)), corpus.questions.len());
    let (mean, shared) = ours::sizes(corpus);
    println!("\nrules of one agent: {mean:.0} bytes mean, {shared:.0} bytes with equal sets shared");
}

fn hostile_files(rounds: usize) {
    let path = hostile::path();
    let sets = hostile::SHAPES
        .map(|(name, shape)| (name, Robots::parse(&hostile::file(shape)).rules(&["benchbot"], Dialect::Standard)));
    let ask = |(name, set)| {
        let (path, set): (&[u8], comity_robots::RuleSet) = (&path, set);
        Contestant::new(name, move || u64::from(set.allows(path)))
    };
    let timings = race(sets.into_iter().map(ask).collect(), rounds);
    report::times("500 KiB of hostile rules, one question of 2,000 bytes", &timings, 1);
    let many = Robots::parse(&hostile::many_rules()).rules(&["benchbot"], Dialect::Standard);
    let ask = |name, path: &'static [u8]| {
        let many = &many;
        Contestant::new(name, move || (0..100).map(|_| u64::from(many.allows(path))).sum())
    };
    let contestants = vec![ask("in the middle", b"/9c40/page"), ask("none", b"/news/2026")];
    report::times(&format!("one of {} rules", many.rule_count()), &race(contestants, rounds), 100);
}
