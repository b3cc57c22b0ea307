//! `comity robots …`: what a robots.txt means, one file per command.

mod agents;
mod answer;
mod asked;
mod batch;
mod check;
mod diff;
mod expect;
mod explain;
mod fetch;
mod input;
mod lint;
mod sarif;
mod show;

use crate::args::RobotsCommand;
use crate::exit::{Exit, Failure};

/// Runs the command that was asked for.
pub(crate) fn run(command: &RobotsCommand) -> Result<Exit, Failure> {
    match command {
        RobotsCommand::Check(args) => check::run(args),
        RobotsCommand::Explain(args) => explain::run(args),
        RobotsCommand::Lint(args) => lint::run(args),
        RobotsCommand::Test(args) => expect::run(args),
        RobotsCommand::Diff(args) => diff::run(args),
        RobotsCommand::Agents(args) => agents::run(args),
        RobotsCommand::Fetch(args) => fetch::run(args),
        RobotsCommand::Batch => batch::run(),
    }
}
