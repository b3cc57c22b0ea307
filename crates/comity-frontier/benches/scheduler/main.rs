//! What a turn of the scheduler costs at a million origins: `cargo bench -p comity-frontier --bench scheduler [-- ROUNDS [ORIGINS]]`.
//!
//! All delays of 1 to 30 s, a simulated clock of one step a millisecond, CPU time of this thread. The judge's answers are
//! made beforehand, the store's rows are the driver's: what is counted is the scheduler.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench speaks on stdout and ends at a fault")]

mod crowd;

use crowd::{Crowd, Round};

/// Without `--bench` this is `cargo test --all-targets`: a small crowd shows that it runs.
fn main() {
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let mut numbers = std::env::args().filter_map(|arg| arg.parse().ok());
    let (rounds, origins) = (numbers.next().unwrap_or(7), numbers.next().unwrap_or(1_000_000));
    if is_bench {
        measure(origins.try_into().unwrap(), rounds, 5_000);
    } else {
        measure(500, 1, 1_000);
    }
}

/// `millis`: how much simulated time a round is.
fn measure(origins: u32, rounds: usize, millis: u64) {
    println!("{origins} origins, delays of 1 to 30 s, {rounds} rounds of {millis} ms of simulated time");
    for (name, answer_millis) in [("answered at once", 0), ("answered after 250 ms", 250)] {
        let mut crowd = Crowd::new(origins, answer_millis);
        let per_origin = crowd.bytes_per_origin();
        crowd.run(2 * millis);
        let rounds: Vec<Round> = (0..rounds).map(|_| crowd.run(millis)).collect();
        println!("\n{name}; {per_origin} bytes an origin beside its URLs");
        row("a turn: fill, next, grant, settle", &rounds, |round| round.turn_nanos());
        row("of that the driver's own, without the scheduler", &rounds, |round| round.drive_nanos());
        row("append one URL", &rounds, |round| round.append_nanos());
        let used: u64 = rounds.iter().map(|round| round.turns).sum();
        let offered: u64 = rounds.iter().map(|round| round.offered).sum();
        let early: u64 = rounds.iter().map(|round| round.early).sum();
        println!("| slots used of {offered} offered | {used} | {:.3} % |", 100.0 * used as f64 / offered as f64);
        println!("| leases before their instant | {early} | |");
        let fills: u64 = rounds.iter().map(|round| round.fills).sum();
        println!("| reads from the store for each turn | {:.2} | |", fills as f64 / used as f64);
    }
}

fn row(name: &str, rounds: &[Round], figure: impl Fn(&Round) -> f64) {
    let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    println!("| {name}, ns: median, best | {:.0} | {:.0} |", figures[figures.len() / 2], figures[0]);
}
