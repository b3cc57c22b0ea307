//! The `comity` command: thin rooms over the libraries. Arguments are read in `args`, one file per command below
//! `commands`, errors and exit codes in `exit`.

/// In place of std's for the whole command: that one panics where nobody reads standard error any more, and `comity crawl … 2>&1 | head -1`
/// must not end a crawl.
macro_rules! eprintln {
    ($($told:tt)*) => {
        $crate::log::tell(format_args!("{}\n", format_args!($($told)*)))
    };
}

/// The same.
macro_rules! eprint {
    ($($told:tt)*) => {
        $crate::log::tell(format_args!($($told)*))
    };
}

mod args;
mod commands;
mod exit;
mod lines;
mod log;
mod settings;

use std::process::ExitCode;

use clap::FromArgMatches as _;

use crate::args::Cli;
use crate::exit::Exit;

/// A page of a crawl takes some three hundred allocations, and this one is quicker than the system's (docs/decisions/0078).
#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let parsed = args::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return Exit::of_clap(&error),
    };
    log::init(&cli);
    let code = match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.show(),
    };
    log::end();
    code
}
