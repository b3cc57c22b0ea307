//! The `comity` command: thin rooms over the libraries. Arguments are read in `args`, one file per command below
//! `commands`, errors and exit codes in `exit`.

mod args;
mod commands;
mod exit;
mod lines;
mod settings;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::FromArgMatches as _;

use crate::args::Cli;
use crate::exit::Exit;

fn main() -> ExitCode {
    let parsed = args::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return Exit::of_clap(&error),
    };
    init_logging(commands::log_filter(&cli));
    match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.show(),
    }
}

/// Logs to stderr, data to stdout (design §8). `COMITY_LOG` takes the usual filter directives. In colours on a terminal, unless `NO_COLOR`
/// says anything (no-color.org).
fn init_logging(usual: &str) {
    let filter = tracing_subscriber::EnvFilter::try_from_env("COMITY_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(usual));
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let ansi = std::io::stderr().is_terminal() && !plain;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(ansi).init();
}
