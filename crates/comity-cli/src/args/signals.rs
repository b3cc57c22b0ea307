use clap::{Args, Subcommand};

use super::AskerArgs;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SignalsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SignalsCommand>,
    /// A URL (`https://…`), which is fetched politely with its robots.txt and tdmrep.json; or a file, or - for standard input:
    /// cases as of `batch`, a page, a robots.txt or a tdmrep.json.
    #[arg(value_name = "URL|FILE", required = true)]
    pub(crate) target: Option<String>,
    /// The address that a file is about.
    #[arg(long, value_name = "URL", default_value = "https://example.com/")]
    pub(crate) url: String,
    /// Only what the defining documents tell any reader, nothing derived.
    #[arg(long)]
    pub(crate) literal: bool,
    /// Also fetch the RSL licences that the site and the page name.
    #[arg(long)]
    pub(crate) licences: bool,
    /// JSON lines, as of `batch`.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) asker: AskerArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SignalsCommand {
    /// Answer JSON lines on standard input with JSON lines; see docs/cli.md.
    Batch,
}
