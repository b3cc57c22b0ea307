use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ExtractArgs {
    /// Where the page came from, after redirects.
    #[arg(long)]
    pub(crate) url: String,
    /// Content-Type of the answer; without one, what starts with `<` is read.
    #[arg(long, value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// The page as it was sent, content coding off; - for standard input.
    #[arg(value_name = "FILE|-")]
    pub(crate) file: PathBuf,
    /// One JSON object; it always is.
    #[arg(long, hide = true)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SitemapArgs {
    /// Where the file came from, after redirects.
    #[arg(long)]
    pub(crate) url: String,
    /// Sitemap, index, list of URLs, RSS, Atom or JSON Feed, packed with gzip or not; - for standard input.
    #[arg(value_name = "FILE|-")]
    pub(crate) file: PathBuf,
    /// JSON lines; they always are.
    #[arg(long, hide = true)]
    json: bool,
}
