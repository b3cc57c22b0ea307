use std::path::PathBuf;

use clap::Args;

use super::TelemetryArgs;

/// The layers of a crawl's configuration: what is given here wins over the environment, that over the file, the file over your own
/// configuration.
#[derive(Debug, Args)]
pub(crate) struct LayerArgs {
    /// Where to begin: absolute http(s) URLs.
    pub(crate) urls: Vec<String>,
    /// A configuration file; flags and COMITY_… variables win over it [default: your own configuration alone].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where the crawl is written, and goes on when one is there [default: a new folder crawl-YYYYMMDDhhmmss].
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Seeds from a file, one a line, or - for standard input [default: those given as arguments].
    #[arg(long, value_name = "FILE|-")]
    pub(crate) seeds: Option<PathBuf>,
    /// User-Agent name and version [required, here or in your configuration].
    #[arg(long, value_name = "NAME/VERSION")]
    pub(crate) agent: Option<String>,
    /// URL or e-mail address at which a site reaches you [required, here or in your configuration].
    #[arg(long, value_name = "URL|E-MAIL")]
    pub(crate) contact: Option<String>,
    /// What the content is wanted for; may be repeated [default: search].
    #[arg(long, value_name = "PURPOSE")]
    pub(crate) purpose: Vec<String>,
    /// origins, hosts, domains, prefix or any [default: origins].
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// Stop after so many pages, of all runs together [default: no limit].
    #[arg(long, value_name = "PAGES")]
    pub(crate) max_pages: Option<u64>,
    /// Links away from a seed [default: 20].
    #[arg(long, value_name = "LINKS")]
    pub(crate) max_depth: Option<u32>,
    /// Own floor between two requests to an origin: 500ms, 1s, 1m [default: 1s].
    #[arg(long, value_name = "SPAN")]
    pub(crate) delay: Option<comity::config::Span>,
    /// Requests open at once [default: 32].
    #[arg(long, value_name = "REQUESTS")]
    pub(crate) total: Option<u32>,
    /// Requests open at once per origin [default: 1].
    #[arg(long, value_name = "REQUESTS")]
    pub(crate) per_origin: Option<u32>,
    /// Gap between two requests to an address: 50ms, 1s [default: 500ms].
    #[arg(long, value_name = "SPAN")]
    pub(crate) address_gap: Option<comity::config::Span>,
    /// A non-public network that may be connected to, as 127.0.0.0/8; may be repeated [default: none].
    #[arg(long, value_name = "NETWORK")]
    pub(crate) allow_address: Vec<String>,
    /// The address of a name, instead of asking DNS; may be repeated [default: none].
    #[arg(long, value_name = "HOST=ADDR")]
    pub(crate) resolve: Vec<String>,
    /// A proxy that everything leaves through, http://, https://, socks5:// or socks5h://HOST:PORT; may be repeated [default: none].
    #[arg(long, value_name = "URL")]
    pub(crate) proxy: Vec<String>,
    /// Only the configured proxies of this country, two letters.
    #[arg(long, value_name = "COUNTRY")]
    pub(crate) proxy_country: Option<String>,
    /// Where the queue is kept: disk or memory [default: disk].
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,
    /// Write records only, no WARC files.
    #[arg(long)]
    pub(crate) no_warc: bool,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct CrawlArgs {
    #[command(flatten)]
    pub(crate) layers: LayerArgs,
    /// Only ask for robots.txt, and tdmrep.json where the crawl would: which seeds are allowed, which delays are asked, how long
    /// --max-pages take. Nothing is written.
    #[arg(long)]
    pub(crate) plan: bool,
    /// No progress on standard error.
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Go on with the crawl in --dir although its configuration means something else now.
    #[arg(long)]
    pub(crate) accept_config: bool,
    /// Go on with the crawl in --dir although its queue lost a part of what was safe on the disk.
    #[arg(long)]
    pub(crate) accept_loss: bool,
    /// Print the summary, or the plan, as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
