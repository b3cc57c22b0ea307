//! The `comity` command: thin rooms over the libraries. Arguments are read in `args`, one file per command below
//! `commands`, errors and exit codes in `exit`.

mod args;
mod commands;
mod exit;
mod lines;
mod settings;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::Cli;
use crate::exit::Exit;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return Exit::of_clap(&error),
    };
    init_logging(commands::log_filter(&cli));
    match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.show(),
    }
}

/// Logs to stderr, data to stdout (design §8). `COMITY_LOG` takes the usual filter directives.
fn init_logging(usual: &str) {
    let filter = tracing_subscriber::EnvFilter::try_from_env("COMITY_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(usual));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
