use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum OptoutCommand {
    /// From now on no request goes to an origin, or to a domain and its sub-domains; crawls that run obey at once.
    Add(OptoutChange),
    /// Ends an opt-out.
    Remove(OptoutChange),
    /// Print the opt-outs that hold.
    List(OptoutList),
}

#[derive(Debug, Args)]
pub(crate) struct OptoutChange {
    /// An origin with its scheme (https://a.test), or a domain (a.test).
    #[arg(value_name = "ORIGIN|DOMAIN")]
    pub(crate) target: String,
    /// Who asked for it.
    #[arg(long, value_name = "WHO")]
    pub(crate) requested_by: String,
    /// Why, or in which letter.
    #[arg(long)]
    pub(crate) reason: String,
    /// The opt-out file; default: the first of `[optout] files` in your configuration, else optout.jsonl beside it.
    #[arg(long)]
    pub(crate) file: Option<PathBuf>,
    /// The own opt-out file of the crawl in this folder, instead of yours; one that runs obeys before the command ends.
    #[arg(long, conflicts_with = "file")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct OptoutList {
    /// The opt-out file; default: every one of `[optout] files` in your configuration, else optout.jsonl beside it.
    #[arg(long)]
    pub(crate) file: Option<PathBuf>,
    /// The own opt-out file of the crawl in this folder, instead of yours; one that runs obeys before the command ends.
    #[arg(long, conflicts_with = "file")]
    pub(crate) dir: Option<PathBuf>,
    /// A JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
}
