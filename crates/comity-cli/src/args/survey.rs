use std::path::PathBuf;

use clap::Args;

use super::AskerArgs;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct SurveyArgs {
    /// Origins or domains, one a line, with a rank before or behind if there is one; - for standard input.
    #[arg(value_name = "FILE|-", required_unless_present = "warc")]
    pub(crate) list: Option<PathBuf>,
    /// Read the captures in these archives instead, without a request; may be repeated.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "list")]
    pub(crate) warc: Vec<PathBuf>,
    /// Where the rows go, a JSON line for each origin; default: nowhere, or with --json standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Rows of an earlier survey: what changed is told [default: none].
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// Do not ask for /.well-known/tdmrep.json.
    #[arg(long)]
    pub(crate) no_tdmrep: bool,
    /// Also ask for /ai.txt.
    #[arg(long)]
    pub(crate) ai_txt: bool,
    /// Also ask for the home page, of which only header fields and head are read.
    #[arg(long)]
    pub(crate) home: bool,
    /// Origins asked at the same time, 1 to 4096; each in its own turns.
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(crate) at_once: u32,
    /// Rows as JSON lines, then the report as one.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) asker: AskerArgs,
}
