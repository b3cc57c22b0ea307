use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum FrontierCommand {
    /// How much is queued, done and refused, and who waits longest for what.
    Stats(FrontierStats),
    /// Origins with what they wait for; with --origin the URLs of one, in their order.
    List(FrontierList),
    /// Send nothing more to an origin, not even for robots.txt; its URLs stay queued. Returns when nothing is open to it.
    Park(FrontierPark),
    /// End a park: the origin is asked again in its turn.
    Release(FrontierRelease),
    /// Add seeds; their origins belong to the crawl from now on.
    Seed(FrontierSeed),
    /// Print the queue as JSON lines, with the fingerprints of every URL ever taken.
    Export(FrontierExport),
    /// Take in such lines: into a crawl, or with --config into a new one.
    Import(FrontierImport),
}

#[derive(Debug, Args)]
pub(crate) struct FrontierStats {
    /// The crawl directory.
    pub(crate) dir: PathBuf,
    /// One JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FrontierList {
    /// The crawl directory.
    pub(crate) dir: PathBuf,
    /// The URLs queued for this origin, instead of origins.
    #[arg(long, value_name = "ORIGIN", conflicts_with_all = ["stuck", "all", "parked"])]
    pub(crate) origin: Option<String>,
    #[command(flatten)]
    pub(crate) which: FrontierWhich,
    /// Rows at most; 0 for every one.
    #[arg(long, default_value_t = 100)]
    pub(crate) limit: usize,
    /// A JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which origins are listed.
#[derive(Debug, Args)]
pub(crate) struct FrontierWhich {
    /// Only origins that time alone does not make due: parked, or held until told.
    #[arg(long, conflicts_with_all = ["all", "parked"])]
    pub(crate) stuck: bool,
    /// Also origins with nothing queued.
    #[arg(long, conflicts_with = "parked")]
    pub(crate) all: bool,
    /// Only what `comity frontier park` parked, with its reason.
    #[arg(long)]
    pub(crate) parked: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FrontierPark {
    /// The crawl directory.
    pub(crate) dir: PathBuf,
    /// The origin: https://a.test; a URL stands for its whole origin.
    pub(crate) origin: String,
    /// Why: it stands in every list.
    #[arg(long)]
    pub(crate) why: String,
    /// For so long: 2h, 30m. Without it and --until: until it is released.
    #[arg(long = "for", value_name = "SPAN")]
    pub(crate) span: Option<comity::config::Span>,
    /// Until this moment, instead of --for: 2026-11-30T09:00:00Z.
    #[arg(long, value_name = "MOMENT", conflicts_with = "span")]
    pub(crate) until: Option<String>,
    /// One JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FrontierRelease {
    /// The crawl directory.
    pub(crate) dir: PathBuf,
    /// The origin: https://a.test; a URL stands for its whole origin.
    pub(crate) origin: String,
    /// One JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FrontierSeed {
    /// The crawl directory.
    pub(crate) dir: PathBuf,
    /// Absolute http(s) URLs.
    #[arg(required_unless_present = "seeds")]
    pub(crate) urls: Vec<String>,
    /// Seeds from a file, one a line, or - for standard input [default: those given as arguments].
    #[arg(long, value_name = "FILE|-")]
    pub(crate) seeds: Option<PathBuf>,
    /// A JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FrontierExport {
    /// The crawl directory.
    pub(crate) dir: PathBuf,
    /// Where to write; default: standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Leave the fingerprints out: pages that were fetched are then fetched again where links lead to them.
    #[arg(long)]
    pub(crate) no_seen: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FrontierImport {
    /// The crawl directory.
    pub(crate) dir: PathBuf,
    /// The export, or any lines {"url":"https://…"}; - for standard input.
    pub(crate) file: PathBuf,
    /// The configuration of a new crawl, where DIR holds none; the crawl.toml of the exported one will do [default: the crawl's own].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// One JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
