mod config;
mod content;
mod crawl;
#[cfg(test)]
mod documented;
mod dossier;
mod erase;
mod export;
mod export_parquet;
mod frontier;
mod identity;
mod meta;
mod optout;
mod report;
mod robots;
mod signals;
mod survey;
mod teach;
mod telemetry;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use config::*;
pub(crate) use content::*;
pub(crate) use crawl::*;
pub(crate) use dossier::*;
pub(crate) use erase::*;
pub(crate) use export::*;
pub(crate) use export_parquet::*;
pub(crate) use frontier::*;
pub(crate) use identity::*;
pub(crate) use meta::*;
pub(crate) use optout::*;
pub(crate) use report::*;
pub(crate) use robots::*;
pub(crate) use signals::*;
pub(crate) use survey::*;
pub(crate) use teach::command;
pub(crate) use telemetry::*;

/// The polite, provable crawler.
#[derive(Debug, Parser)]
#[command(name = "comity", version, about, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    // In the order of the help: what a newcomer needs, what a crawl that is there is asked, sites and files, the command itself.
    /// Crawl a synthetic web on this machine, politely, and audit the crawl. Works offline.
    Demo(DemoArgs),
    /// Write who you are, once, to your configuration.
    Init(InitArgs),
    /// Crawl from URLs or a configuration file; the same command goes on with a crawl that was stopped.
    ///
    /// Ctrl-C once finishes what is in flight, twice ends now; both lose nothing. Exit codes: 0 nothing is left, 2 usage, 3 a limit ended it, 4 something
    /// waits or it was stopped, 5 storage, 6 network.
    Crawl(Box<CrawlArgs>),
    /// What is configured: every setting and where it comes from; what is wrong with a file; the schema for editors.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Why a URL was or was not fetched, from the records of a crawl.
    Explain(ExplainArgs),
    /// What happened in a crawl, as a text or a page with plots; or the rules it ran under; or its part of a public summary of training content.
    Report(ReportArgs),
    /// Print the records of a crawl as JSON lines.
    Records(RecordsArgs),
    /// What a crawl has queued, and what it is to do with it; while it runs, or stopped.
    #[command(subcommand)]
    Frontier(FrontierCommand),
    /// Read the configuration of a running crawl again: delays, excludes, opt-outs, overrides and limits take effect at once.
    Reload(ReloadArgs),
    /// Who is not to be visited at all.
    #[command(subcommand)]
    Optout(OptoutCommand),
    /// Recompute a crawl's politeness and every decision from its WARC files and evidence alone.
    Audit(AuditArgs),
    /// Check that the directory of a crawl still holds what was written: chain, WARC files, evidence, signatures.
    Verify(VerifyArgs),
    /// The part of a crawl that may be used for a purpose, what was left out and why; or the crawl as a table.
    Export(ExportCommand),
    /// Write a crawl as one WACZ file, which replay tools open.
    Wacz(WaczArgs),
    /// Everything that a crawl holds about one origin, in one file that proves itself.
    Dossier(DossierArgs),
    /// Take what was named out of a crawl, and leave the chain of its records whole.
    Erase(Box<EraseArgs>),
    /// Erase what is older than `[archive] keep_payload` and `keep_records` say.
    Prune(PruneArgs),
    /// What many sites ask for: robots.txt and tdmrep.json of each origin of a list, and a report with denominators.
    Survey(Box<SurveyArgs>),
    /// Run the policy gateway: a polite forward proxy, and a decision API.
    Gateway(GatewayArgs),
    /// What a robots.txt means.
    #[command(subcommand)]
    Robots(RobotsCommand),
    /// What a site says about the uses of its content: every statement, where it stands, and the verdict per purpose.
    Signals(SignalsArgs),
    /// What a page says: charset, base, title, links, metas; one JSON object. Any bytes give an answer.
    Extract(ExtractArgs),
    /// What a sitemap or feed lists: a JSON line for each entry.
    Sitemap(SitemapArgs),
    /// What a URL is to comity.
    #[command(subcommand)]
    Url(UrlCommand),
    /// Who we are towards sites.
    #[command(subcommand)]
    Identity(IdentityCommand),
    /// Make a crate of your own: settings, the page about it, a test on a synthetic web.
    New(NewArgs),
    /// Print what makes a shell complete commands and flags.
    Completions(CompletionsArgs),
    /// Print the manual page of the command, or write those of all commands.
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keep the synthetic web up after printing its addresses; no crawl.
    #[arg(long)]
    pub(crate) serve: bool,
    /// End with one JSON object: pages, refused, origins, violations, elapsed_s.
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the crawl is written, and goes on when one was stopped there; default: a new folder in the system's temporary one.
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// Port of the synthetic web [default: any free one, that of the crawl in --dir; 7878 with --serve].
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Another web of the same kind.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct ReloadArgs {
    /// The crawl directory.
    pub(crate) dir: PathBuf,
    /// What this file says takes the place of what is in force; default: the file that the crawl was started with, read again.
    #[arg(long)]
    pub(crate) config: Option<PathBuf>,
    /// Only say what would change.
    #[arg(long)]
    pub(crate) show: bool,
    /// One JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GatewayArgs {
    /// A configuration file; it wins over your own configuration.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// User-Agent name and version [default: asked for, on a terminal].
    #[arg(long, value_name = "NAME/VERSION")]
    pub(crate) agent: Option<String>,
    /// URL or e-mail address at which a site reaches you [default: asked for, on a terminal].
    #[arg(long, value_name = "URL|E-MAIL")]
    pub(crate) contact: Option<String>,
    /// What the content is wanted for; may be repeated [default: search].
    #[arg(long, value_name = "PURPOSE")]
    pub(crate) purpose: Vec<String>,
    /// Write over an existing configuration.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RecordsArgs {
    /// The crawl directory.
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The crawl directory; no crawl may be running in it.
    pub(crate) dir: PathBuf,
    /// The key that must have signed every checkpoint: its public half in base64url, or a key file [default: any].
    #[arg(long, value_name = "KEY|FILE")]
    pub(crate) key: Option<String>,
    /// Files checked at once; default: one for each core.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    /// Print what was found as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WaczArgs {
    /// The crawl directory.
    pub(crate) dir: PathBuf,
    /// The file to write; it must not exist.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// A title for people; the name of the crawl unless given.
    #[arg(long)]
    pub(crate) title: Option<String>,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line, each of its own")]
pub(crate) struct AuditArgs {
    /// The crawl directory.
    pub(crate) dir: PathBuf,
    /// Delay to ask for on every origin; default: that of the crawl's configuration.
    #[arg(long, value_name = "SPAN")]
    pub(crate) floor: Option<comity::config::Span>,
    /// Gap to ask for on every address; default: that of the crawl's configuration.
    #[arg(long, value_name = "SPAN")]
    pub(crate) address_gap: Option<comity::config::Span>,
    /// Hold every origin against twice the time of its answers, though the configuration says otherwise.
    #[arg(long)]
    pub(crate) adaptive: bool,
    /// Hold every request against robots.txt, those too that an override let through.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Do not read the pages again: faster, and what only a page says of its use is believed of its record.
    #[arg(long)]
    pub(crate) no_pages: bool,
    /// Print what was found as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(override_usage = "comity explain <URL> --dir <DIR> [--json | --html]")]
pub(crate) struct ExplainArgs {
    /// The URL, as it was crawled, or as it is written in a page.
    pub(crate) url: String,
    /// The crawl directory: `comity crawl` says at its start where it crawls into. Required.
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// The records as JSON lines.
    #[arg(long, conflicts_with = "html")]
    pub(crate) json: bool,
    /// A page for people on standard output, with the whole robots.txt: no script, nothing loaded from elsewhere.
    #[arg(long)]
    pub(crate) html: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UrlCommand {
    /// Answer JSON lines {"href","base"?} on standard input with {"url","key","origin","surt"} or {"error"}.
    Batch,
}
