//! `comity config`: the registry of keys, asked in four ways.

mod check;
mod keys;
mod schema;
mod show;

pub(crate) use check::read_file;

use super::print;
use crate::args::ConfigCommand;
use crate::exit::{Exit, Failure};

/// `comity config …`.
pub(crate) fn run(command: &ConfigCommand) -> Result<Exit, Failure> {
    match command {
        ConfigCommand::Show(args) => return show::run(args),
        ConfigCommand::Check(args) => return check::run(args),
        ConfigCommand::Schema => print(&schema::text())?,
        ConfigCommand::Keys(args) if args.json => print(&keys::object().to_string())?,
        ConfigCommand::Keys(_) => print(keys::page().trim_end())?,
    }
    Ok(Exit::Done)
}
