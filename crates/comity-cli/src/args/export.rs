use std::path::PathBuf;

use clap::{Args, ValueEnum};
use comity_signals::Purpose;

use super::AskerArgs;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The crawl directory.
    pub(crate) dir: PathBuf,
    /// What the content is to be used for: search, ai_input, ai_train or tdm [required without --parquet].
    #[arg(long = "for", value_name = "PURPOSE")]
    pub(crate) purpose: Purpose,
    /// The folder to write; it must not exist [required without --parquet].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// What is written of the usable pages.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ExportFormat,
    /// What silence about the purpose means; default: what it meant to the crawl.
    #[arg(long, value_enum)]
    pub(crate) unspecified: Option<SilenceArg>,
    /// Ask each origin for its robots.txt, and where it matters its tdmrep.json, and leave out what they deny today.
    #[arg(long)]
    pub(crate) recheck: bool,
    /// With --recheck: also leave out pages of origins that could not be asked.
    #[arg(long, requires = "recheck")]
    pub(crate) strict: bool,
    /// Print the manifest instead of the summary.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) asker: AskerArgs,
}

/// How usable pages are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Their WARC records, copied whole, and the list of pages.
    #[default]
    Warc,
    /// The list of pages: a JSON line each.
    Jsonl,
    /// Their URLs, one a line.
    Urls,
}

impl ExportFormat {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Warc => "warc",
            Self::Jsonl => "jsonl",
            Self::Urls => "urls",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SilenceArg {
    /// It permits.
    Proceed,
    /// It refuses.
    Refuse,
}
