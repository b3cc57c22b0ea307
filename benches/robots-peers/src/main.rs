//! comity-robots beside the crates robotstxt, texting_robots and robotxt, by CPU time in interleaved rounds. Run by
//! `cargo xtask bench robots`; its output is docs/benchmarks.md, robots.

#[path = "../../../crates/comity-robots/benches/robots/corpus.rs"]
mod corpus;
#[path = "../../../crates/comity-robots/benches/robots/hostile.rs"]
mod hostile;
#[path = "../../../crates/comity-robots/benches/robots/ours.rs"]
mod ours;
mod peers;
#[path = "../../../crates/comity-robots/benches/robots/report.rs"]
mod report;
#[path = "../../../crates/comity-robots/benches/robots/rounds.rs"]
mod rounds;
#[path = "../../../crates/comity-robots/tests/shared/mod.rs"]
mod shared;

use comity_robots::{Dialect, RuleSet};

use crate::corpus::Corpus;
use crate::ours::Cached;
use crate::rounds::{Contestant, race};

fn main() {
    let rounds = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(9);
    let Some(corpus) = Corpus::load() else { return };
    println!("{} files, {} bytes, {} questions", corpus.files.len(), corpus.bytes(), corpus.questions.len());
    parse(&corpus, rounds);
    verdicts(&corpus, rounds);
    sizes(&corpus);
    hostile_files(rounds);
}

fn parse(corpus: &Corpus, rounds: usize) {
    let contestants = vec![
        ours::scan(corpus),
        ours::parse_for_one(corpus),
        ours::parse_one(corpus),
        ours::parse_for_everybody(corpus),
        peers::robotxt_parse(corpus),
        peers::robotstxt_parse(corpus),
        peers::texting_robots_parse(corpus),
    ];
    report::speeds("parse and compile for one agent", &race(contestants, rounds), corpus.bytes());
}

fn verdicts(corpus: &Corpus, rounds: usize) {
    let one = corpus.for_one(ours::AGENT);
    let standard = Cached::new(corpus, &one, Dialect::Standard);
    let google = Cached::new(corpus, &one, Dialect::Google);
    let robotxt = peers::RobotxtCached::new(corpus, &one);
    let texting = peers::TextingCached::new(corpus, &one);
    let contestants = vec![
        Contestant::new("comity-robots, standard", || standard.ask()),
        Contestant::new("comity-robots, standard, with evidence", || standard.ask_why()),
        Contestant::new("comity-robots, google", || google.ask()),
        Contestant::new("robotxt", || robotxt.ask()),
        Contestant::new("texting_robots", || texting.ask()),
    ];
    let title = format!("a cached verdict, one agent, {} rule sets", one.pairs.len());
    report::times(&title, &race(contestants, rounds), corpus.questions.len());
    let each = corpus.as_asked();
    let google = Cached::new(corpus, &each, Dialect::Google);
    let robotxt = peers::RobotxtCached::new(corpus, &each);
    let texting = peers::TextingCached::new(corpus, &each);
    let contestants =
        vec![Contestant::new("comity-robots, google", || google.ask()), Contestant::new("robotxt", || robotxt.ask())];
    let title = format!("a cached verdict, {} rule sets, three questions each", each.pairs.len());
    report::times(&title, &race(contestants, rounds), corpus.questions.len());
    let one_shot = vec![
        Contestant::new("comity-robots: parse and ask", || ours::one_shot(corpus)),
        Contestant::new("robotstxt", || peers::robotstxt_one_shot(corpus)),
    ];
    report::times("a verdict from the bytes of the file", &race(one_shot, rounds.min(3)), corpus.questions.len());
    println!("\nanswers unlike Google's parser, of {}:", corpus.questions.len());
    println!("comity-robots, google: {}", google.misses(corpus));
    println!("robotxt: {}", robotxt.misses(corpus));
    println!("texting_robots: {}", texting.misses(corpus));
    println!("robotstxt: {} (panics counted)", peers::robotstxt_misses(corpus));
}

fn sizes(corpus: &Corpus) {
    let (mean, shared) = ours::sizes(corpus);
    println!("\nrules of one agent: {mean:.0} bytes mean, {shared:.0} bytes with equal sets shared");
}

fn hostile_files(rounds: usize) {
    let path = hostile::path();
    for (name, shape) in hostile::SHAPES {
        let file = hostile::file(shape);
        let set = RuleSet::parse(&file, &[ours::AGENT], Dialect::Standard);
        let contestants = vec![
            Contestant::new("comity-robots", || u64::from(set.allows(&path))),
            Contestant::new("comity-robots, parse and compile", || {
                RuleSet::parse(&file, &[ours::AGENT], Dialect::Standard).rule_count() as u64
            }),
            peers::robotxt_hostile(&file, &path),
        ];
        report::times(&format!("hostile: {name}, {} rules", set.rule_count()), &race(contestants, rounds), 1);
    }
    let file = hostile::many_rules();
    let many = RuleSet::parse(&file, &[ours::AGENT], Dialect::Standard);
    let ask = |path: &'static [u8]| {
        let many = &many;
        move || (0..100).map(|_| u64::from(many.allows(path))).sum::<u64>()
    };
    let contestants = vec![
        Contestant::new("comity-robots, the middle rule", ask(b"/9c40/page")),
        Contestant::new("comity-robots, no rule", ask(b"/news/2026")),
    ];
    report::times(&format!("one of {} rules", many.rule_count()), &race(contestants, rounds), 100);
}
