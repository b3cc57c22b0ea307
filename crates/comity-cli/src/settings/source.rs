//! How a crawl was started, so that its configuration can be read again: `DIR/state/source.toml`.

use std::fs;
use std::path::{Path, PathBuf};

use comity::config::ConfigFile;
use serde::{Deserialize, Serialize};

use super::{flags, of_user, optout_files};
use crate::args::CrawlArgs;
use crate::exit::Failure;

/// The layers above the user's own configuration.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Source {
    /// The file that was given.
    config: Option<PathBuf>,
    /// Seeds were given as arguments, so those of the file do not count.
    seeds_given: bool,
    /// What the flags said.
    flags: ConfigFile,
}

/// Remembers how the crawl in `dir` was started. One that goes on without a file keeps the one that it had.
pub(crate) fn remember(dir: &Path, args: &CrawlArgs) -> Result<(), Failure> {
    let mut source = read(dir)?.unwrap_or_default();
    if let Some(file) = &args.config {
        source.config = Some(std::path::absolute(file).unwrap_or_else(|_| file.clone()));
        source.flags = ConfigFile::default();
    }
    let mut said = flags(args)?;
    // The crawl knows its seeds; a list of a million is not written twice.
    source.seeds_given = said.crawl.seeds.take().is_some();
    source.flags.overlay(said);
    let wrong = |e: String| Failure::storage(format!("{} cannot be written: {e}", place(dir).display()));
    let text = toml::to_string_pretty(&source).map_err(|e| wrong(e.to_string()))?;
    fs::write(place(dir), text).map_err(|e| wrong(e.to_string()))
}

/// The configuration of the crawl in `dir`, read again: with `file`, what that says over what is in force; without, the layers
/// with which it was started.
pub(crate) fn again(dir: &Path, file: Option<&PathBuf>) -> Result<ConfigFile, Failure> {
    if let Some(file) = file {
        let mut settings = ConfigFile::read(&dir.join("crawl.toml"))?;
        settings.overlay(ConfigFile::read(file)?);
        return Ok(settings);
    }
    let hint = "give the file with --config";
    let source = read(dir)?.unwrap_or_default();
    let Some(file) = &source.config else {
        let text = format!("the crawl in {} was started without a configuration file", dir.display());
        return Err(Failure::usage(text).hint(hint));
    };
    let mut settings = of_user()?;
    settings.optout.files = Some(optout_files()?).filter(|files| !files.is_empty());
    settings.overlay(ConfigFile::read(file)?);
    if source.seeds_given {
        settings.crawl.seeds = None;
    }
    settings.overlay(source.flags);
    Ok(settings)
}

fn place(dir: &Path) -> PathBuf {
    dir.join("state").join("source.toml")
}

fn read(dir: &Path) -> Result<Option<Source>, Failure> {
    let path = place(dir);
    if !path.exists() {
        return Ok(None);
    }
    let wrong = |what: &dyn std::fmt::Display| {
        Failure::storage(format!("{} cannot be read: {what}", path.display())).hint("remove it, and give --config")
    };
    let text = fs::read_to_string(&path).map_err(|e| wrong(&e))?;
    toml::from_str(&text).map(Some).map_err(|e| wrong(&e.message()))
}
