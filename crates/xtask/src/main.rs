//! Set-up and checks of the comity workspace in one place: `cargo xtask test` is the README's test command.

mod bench;
mod docs;
mod fuzz;
mod layers;
mod packages;
mod peers;
#[cfg(test)]
mod profiles;
mod sim;
mod step;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <command>

  test [--all] [--install]   every check that this machine can run; names what it left out
                             --all: the long suites too   --install: install the peers that are missing
                             (CI=true installs them too)
  bench robots [rounds]      comity-robots beside other crates: speed, size, answers unlike Google's parser
  bench crawl [rounds]       a whole crawl beside a bare client, spider and Scrapy: CPU a page, pages lost, delays kept
                             --dist: all of them built as the command is shipped
  bench extract [rounds]     links of pages by comity-extract beside lol_html and html5ever; URLs beside the url crate
  bench frontier [disk|memory|hot|beside] [millions]   offers, leases, memory, disk, reopening
  bench scheduler [rounds]   the scheduler at a million origins: CPU a turn, slots used, memory
  fuzz [--seconds N] [--install]
                             every fuzz target for N seconds (60); --install, or CI=true, brings cargo-fuzz
  sim --seeds N [--seed S]   N crawls of the simulation from seed S (1) on; --seed S alone plays that one again
  sim --week                 a week of 10,000 origins x 40 pages, each page again every day
  docs                       check the links of the documentation; build it as a book, where mdbook is here
  layers                     check that the crates' dependencies point down only
  packages                   pack every crate, and build what is packed of the lowest ones; check comity with every set of features
  peers [--install]          list the peers of the tests and whether they are here
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test", flags @ ..] => test::Plan::parse(flags).and_then(|plan| plan.run()),
        ["bench", which @ ..] => bench::command(which),
        ["fuzz", flags @ ..] => fuzz::command(flags),
        ["sim", flags @ ..] => sim::Plan::parse(flags).and_then(|plan| plan.run()),
        ["docs"] => docs::command(),
        ["layers"] => layers::check(),
        ["packages"] => packages::command(),
        ["peers", flags @ ..] => peers::command(flags),
        ["" | "help" | "--help" | "-h"] | [] => {
            print(HELP);
            Ok(())
        }
        _ => Err(format!("unknown command {:?}; see `cargo xtask help`", words.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The one place that writes to stdout.
#[expect(clippy::print_stdout, reason = "a command line tool speaks on stdout")]
fn print(text: &str) {
    println!("{text}");
}
