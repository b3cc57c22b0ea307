use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum RobotsCommand {
    /// May an agent fetch these URLs, and by which line?
    Check(CheckArgs),
    /// Why: the groups, every rule that matches, the winner, and what other readers would say.
    Explain(CheckArgs),
    /// Find faults in a robots.txt. Exit 1 when there are errors or warnings.
    Lint(LintArgs),
    /// Hold a robots.txt against a file of expectations. Exit 1 when one is missed.
    Test(TestArgs),
    /// Which verdicts change between two robots.txt files.
    Diff(DiffArgs),
    /// What a robots.txt says to each known search and AI agent.
    Agents(AgentsArgs),
    /// Ask a site for its robots.txt and say everything about it: chain, life, faults, advice, what changed.
    Fetch(FetchArgs),
    /// Answer JSON lines on standard input with JSON lines.
    Batch,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The robots.txt, or - for standard input.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) robots: PathBuf,
    /// The product token to ask for; a known agent is asked for with its own fallback (Googlebot-Image, then Googlebot) [required without --agents].
    #[arg(long, value_name = "TOKEN", required_unless_present = "agents", conflicts_with = "agents")]
    pub(crate) agent: Option<String>,
    /// An ordered fallback of tokens, instead of --agent: the first that the file names is used.
    #[arg(long, value_name = "TOKENS", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// Ask for the token alone, then *, whatever is known of the agent.
    #[arg(long)]
    pub(crate) exact: bool,
    /// The origin that the file belongs to: URLs of others are not governed by it [default: that of each URL].
    #[arg(long)]
    pub(crate) origin: Option<String>,
    /// How rules and URLs are read.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) dialect: DialectArg,
    /// A JSON line per URL.
    #[arg(long)]
    pub(crate) json: bool,
    /// URLs, or paths that begin with /.
    #[arg(required = true)]
    pub(crate) urls: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// The robots.txt, or - for standard input.
    #[arg(value_name = "FILE|-")]
    pub(crate) robots: PathBuf,
    /// The origin that the file belongs to: finds sitemaps of other hosts [default: unknown].
    #[arg(long)]
    pub(crate) origin: Option<String>,
    /// One JSON object: {"findings": [{"code", "severity", "line", "column", "message", "fix"?}]}.
    #[arg(long, conflicts_with = "sarif")]
    pub(crate) json: bool,
    /// SARIF 2.1.0, for code scanning.
    #[arg(long)]
    pub(crate) sarif: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// The robots.txt, or - for standard input; without it, that of --origin is asked for.
    #[arg(value_name = "FILE|-", required_unless_present_any = ["robots", "origin"], conflicts_with = "robots")]
    pub(crate) file: Option<PathBuf>,
    /// The same as FILE, under the name that `check` and `explain` have for it: instead of FILE.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) robots: Option<PathBuf>,
    /// The origin that the file belongs to: expected URLs of others are an error [default: unknown].
    #[arg(long)]
    pub(crate) origin: Option<String>,
    /// What is expected: TOML, see docs/ci-robots.md.
    #[arg(long, value_name = "FILE")]
    pub(crate) expect: PathBuf,
    /// How rules and URLs are read.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) dialect: DialectArg,
    /// One JSON object: {"misses": [{"agent", "url", "expected", "got", "line"}]}.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) asker: AskerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The robots.txt as it was.
    pub(crate) old: PathBuf,
    /// The robots.txt as it is to be.
    pub(crate) new: PathBuf,
    /// URLs or paths, one a line, or - for standard input; # begins a comment line.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) urls: PathBuf,
    /// Agents to ask for, each by itself; default: every token that either file names, and one that neither does.
    #[arg(long = "agent", value_name = "TOKEN", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// How rules and URLs are read.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) dialect: DialectArg,
    /// Exit 1 when a verdict changes.
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// One JSON object: {"changes": [{"agent", "url", "old", "new", "line"}]}.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    /// The robots.txt, - for standard input, or an origin (`https://example.com`), which is asked for it.
    #[arg(value_name = "FILE|ORIGIN")]
    pub(crate) robots: PathBuf,
    /// The URL or path to ask about.
    #[arg(long, default_value = "/")]
    pub(crate) url: String,
    /// How rules and URLs are read.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) dialect: DialectArg,
    /// One JSON object: {"agents": [...]}.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) asker: AskerArgs,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct FetchArgs {
    /// Whose robots.txt: `https://example.com`
    pub(crate) origin: String,
    /// Show what changed since the copy before. Exit 1 when something did.
    #[arg(long)]
    pub(crate) diff: bool,
    /// Compare with http and https, with and without www. Exit 1 when they differ.
    #[arg(long)]
    pub(crate) siblings: bool,
    /// Where dated copies are kept, a folder per origin; default: comity/robots in your state folder.
    #[arg(long, visible_alias = "save", value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Ask once: whether two answers differ is not looked at.
    #[arg(long)]
    pub(crate) once: bool,
    /// One JSON object, see docs/robots.md.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) asker: AskerArgs,
}

/// Who asks a site, and how it is reached; the rest is your configuration's.
#[derive(Debug, Args)]
#[command(next_help_heading = "When a site is asked")]
pub(crate) struct AskerArgs {
    /// Name and version in the User-Agent; default: that of `comity init`.
    #[arg(long = "agent", value_name = "NAME/VERSION")]
    pub(crate) name: Option<String>,
    /// URL or e-mail address at which the site reaches you; default: that of `comity init`.
    #[arg(long, value_name = "URL|E-MAIL")]
    pub(crate) contact: Option<String>,
    /// A non-public network that may be connected to; may be repeated.
    #[arg(long, value_name = "NETWORK")]
    pub(crate) allow_address: Vec<String>,
    /// The address of a name, instead of asking DNS; may be repeated.
    #[arg(long, value_name = "HOST=ADDR")]
    pub(crate) resolve: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    /// RFC 9309 with Google's leniencies, both sides normalised.
    #[default]
    Standard,
    /// Google's parser byte for byte.
    Google,
}
