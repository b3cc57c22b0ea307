use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::LayerArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Every setting with its value, unit and default, and where the value comes from: default, file, environment or flag.
    Show(Box<ConfigShowArgs>),
    /// Everything that is wrong with a file, at once: place, why, and what to do. Exit 2 when something is.
    Check(ConfigCheckArgs),
    /// The JSON Schema (2020-12) of the configuration, for editors.
    Schema,
    /// Every key with its kind, default, range, variable and meaning, as a Markdown page.
    Keys(ConfigKeysArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShowArgs {
    #[command(flatten)]
    pub(crate) layers: LayerArgs,
    /// One JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigCheckArgs {
    /// The file.
    pub(crate) file: PathBuf,
    /// One JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigKeysArgs {
    /// One JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
