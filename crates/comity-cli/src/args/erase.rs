use std::path::PathBuf;

use clap::{ArgGroup, Args};

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").args(["url", "origin", "payload_digest", "resume"]).required(true)))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct EraseArgs {
    /// The crawl directory; no crawl may run in it.
    pub(crate) dir: PathBuf,
    /// Every visit of this URL, as it was asked for or as records have it; this, --origin or --payload-digest is required.
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// With --url: whatever the query. So without this flag, too, where the crawl writes no queries and the URL is named without one.
    #[arg(long, requires = "url", conflicts_with_all = ["origin", "payload_digest", "resume"])]
    pub(crate) any_query: bool,
    /// Everything of this origin, instead of one URL: `https://example.com`.
    #[arg(long)]
    pub(crate) origin: Option<String>,
    /// A body, instead of a URL, by the SHA-256 of its bytes as received: `body_digest` of records.
    #[arg(long, value_name = "SHA256")]
    pub(crate) payload_digest: Option<String>,
    /// Only do the rest of an erasure that was cut short.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Records too: URL, header fields, decision, what the queue and the evidence hold of it. Without, only bodies go.
    #[arg(long)]
    pub(crate) records: bool,
    /// With --records: pages of others whose bodies name it lose these. Without, they are only told.
    #[arg(long, requires = "records")]
    pub(crate) mentions: bool,
    /// Why, for people; required; it stays, and must not say what goes.
    #[arg(long, required_unless_present = "resume")]
    pub(crate) reason: Option<String>,
    /// Your reference of the request that this answers; required; it stays, too.
    #[arg(long, value_name = "REF", required_unless_present = "resume")]
    pub(crate) request: Option<String>,
    /// Only tell what would go.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print what was done as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// The crawl directory; no crawl may run in it.
    pub(crate) dir: PathBuf,
    /// Only tell what would go.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print what was done as JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
}
