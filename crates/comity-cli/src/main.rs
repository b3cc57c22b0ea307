//! The `comity` command: thin rooms over the libraries. Arguments are read in `args`, one file per command below
//! `commands`, errors and exit codes in `exit`.

mod args;
mod commands;
mod exit;
mod lines;
mod log;
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
    log::init(&cli);
    let code = match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.show(),
    };
    log::end();
    code
}
