//! A whole crawl of a web on loopback by several crawlers in turns, each in a process of its own, the web in another:
//! `crawl-peers [rounds] [--spider PROGRAM] [--scrapy PYTHON SCRIPT] [--only NAME] [--origins N] [--pages N]`. Run by
//! `cargo xtask bench crawl`; its output is docs/benchmarks.md, a whole crawl.

mod contestant;
mod plan;
mod run;
mod table;

use crate::plan::Plan;

fn main() {
    let plan = match Plan::parse(std::env::args().skip(1)) {
        Ok(plan) => plan,
        Err(fault) => {
            eprintln!("error: {fault}");
            std::process::exit(2);
        }
    };
    println!(
        "{} origins x {} pages of {} bytes, {} links each; {} rounds; load before: {}",
        plan.web.origins,
        plan.web.pages,
        plan.web.bytes,
        plan.web.links,
        plan.rounds,
        load()
    );
    let speed = run::rounds(&plan, run::Scenario::Speed);
    table::speed(&speed);
    if plan.polite_seconds > 0 {
        println!("\n16 origins that announce `Crawl-delay: 0.5` and shut 11 pages each; {} s", plan.polite_seconds);
        table::polite(&run::rounds(&plan, run::Scenario::Polite));
    }
    println!("\nload after: {}", load());
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}
