use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum IdentityCommand {
    /// Who we are towards sites: User-Agent, tokens, purposes, contact, signing key.
    Show(ShowArgs),
    /// Write a page about the crawler, its key directory and its address ranges, ready for a web server.
    Page(PageArgs),
    /// Print the address ranges as JSON, for a file that sites fetch.
    Ranges(RangesArgs),
    /// Signing keys.
    #[command(subcommand)]
    Key(KeyCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a signing key in a new file that only you may read.
    New(KeyNewArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A configuration file; wins over your own [default: your own alone].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// One JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// Where the files are written.
    #[arg(long)]
    pub(crate) dir: PathBuf,
    /// A configuration file; wins over your own [default: your own alone].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where a person answers, e-mail address or URL, when the contact is only the URL of this page [default: the contact, or From].
    #[arg(long, value_name = "E-MAIL|URL")]
    pub(crate) reach: Option<String>,
    /// The key file of a further key that the directory lists, the next or the last one; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) also_key: Vec<PathBuf>,
    /// How long the signatures of the key directory hold.
    #[arg(long, value_name = "SPAN", default_value = "30d")]
    pub(crate) valid: comity::config::Span,
    /// Write over files of an earlier time.
    #[arg(long)]
    pub(crate) force: bool,
    /// The files written, as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RangesArgs {
    /// A configuration file; wins over your own [default: your own alone].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct KeyNewArgs {
    /// The file; one that exists is left alone.
    pub(crate) file: PathBuf,
    /// Its public half and thumbprint, as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
