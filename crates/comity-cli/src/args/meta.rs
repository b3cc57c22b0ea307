use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell that is to complete.
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// A folder for a page of each command; without it the page of the command itself goes to standard output.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Name of the crate, and of the folder, which must not exist: lower-case letters, digits and -.
    pub(crate) name: String,
    /// User-Agent name and version [default: that of `comity init`, else made of NAME].
    #[arg(long, value_name = "NAME/VERSION")]
    pub(crate) agent: Option<String>,
    /// URL or e-mail address at which a site reaches you [default: that of `comity init`, else one to fill in].
    #[arg(long, value_name = "URL|E-MAIL")]
    pub(crate) contact: Option<String>,
    /// The checkout of comity that the crate depends on, as seen from here or whole; required until comity is published.
    #[arg(long, value_name = "DIR")]
    pub(crate) comity: Option<PathBuf>,
}
