use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct DossierArgs {
    /// The origin, as `https://www.example.com`.
    pub(crate) origin: String,
    /// The crawl directory.
    #[arg(long)]
    pub(crate) dir: PathBuf,
    /// The file to write; it must not exist. Default: dossier-HOST.zip.
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Give records whole where they name a page of another origin. Without it that part is left out, and such a record shown
    /// without proof of its content.
    #[arg(long)]
    pub(crate) with_others: bool,
}
