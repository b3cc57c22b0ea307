use std::path::PathBuf;

use clap::{ArgGroup, Args};

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").args(["policy", "public_summary"])))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct ReportArgs {
    /// The crawl directory.
    pub(crate) dir: PathBuf,
    /// Instead of what happened: the rules that were in force, in plain sentences: one for each configuration that a record was written under.
    #[arg(long)]
    pub(crate) policy: bool,
    /// Instead: the crawl part of a public summary of training content: crawlers, behaviour, period, counts, top domains.
    #[arg(long)]
    pub(crate) public_summary: bool,
    /// List the top 5 % of the domains, at most 1,000, instead of the top 10 %.
    #[arg(long, requires = "public_summary")]
    pub(crate) sme: bool,
    /// Only pages whose records allow this use: search, ai_input, ai_train or tdm.
    #[arg(long = "for", value_name = "PURPOSE", requires = "public_summary")]
    pub(crate) purpose: Option<String>,
    /// Write the page, with plots: no script, nothing loaded from elsewhere. Without FILE it is DIR/report.html.
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "what")]
    pub(crate) html: Option<Option<PathBuf>>,
    /// One JSON object: without --policy or --public-summary, all numbers of all origins.
    #[arg(long)]
    pub(crate) json: bool,
}
