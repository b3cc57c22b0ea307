//! How a crawl was started, so that its configuration can be read again: `DIR/state/source.toml`.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use comity::config::{ConfigFile, GatewaySection};
use comity_url::CrawlUrl;
use serde::{Deserialize, Serialize};
use toml::Table;

use super::layers::table;
use super::{flags, of_user, optout_files, read_environment};
use crate::args::LayerArgs;
use crate::commands::config::read_file;
use crate::exit::Failure;

/// The layers above the user's own configuration.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Source {
    /// The file that was given.
    config: Option<PathBuf>,
    /// Seeds were given as arguments, so those of the file do not count.
    seeds_given: bool,
    /// What the environment said.
    environment: Table,
    /// What the flags said.
    flags: Table,
}

/// What the flags said with which the crawl in `dir` was started; nothing where that is not known.
pub(super) fn flags_of(dir: &Path) -> ConfigFile {
    read(dir).ok().flatten().and_then(|source| layer(&source.flags).ok()).unwrap_or_default()
}

/// Remembers how the crawl in `dir` was started. One that goes on without a file keeps the one that it had. What was remembered
/// and cannot be read is no reason not to crawl: it is written anew, and the note says so.
pub(crate) fn remember(dir: &Path, args: &LayerArgs) -> Result<Option<String>, Failure> {
    let (mut source, note) = match read(dir) {
        Ok(source) => (source.unwrap_or_default(), None),
        Err(what) => (Source::default(), Some(format!("{what}; how the crawl was started before is forgotten"))),
    };
    if let Some(file) = &args.config {
        source.config = Some(std::path::absolute(file).unwrap_or_else(|_| file.clone()));
        source.flags = Table::new();
    }
    // The process that runs has these; whoever asks it to read its configuration again may have others.
    source.environment = table(&environment_of(source.config.as_ref())?);
    let mut said = flags(args)?;
    // The crawl knows its seeds; a list of a million is not written twice.
    source.seeds_given = said.crawl.seeds.take().is_some();
    let wrong = |e: String| Failure::storage(format!("{} cannot be written: {e}", place(dir).display()));
    let mut flags = layer(&source.flags).map_err(&wrong)?;
    flags.overlay(said);
    source.flags = table(&flags);
    let text = toml::to_string_pretty(&source).map_err(|e| wrong(e.to_string()))?;
    write(&place(dir), &text).map_err(|e| wrong(e.to_string()))?;
    Ok(note)
}

/// What the environment says over the files.
fn environment_of(file: Option<&PathBuf>) -> Result<ConfigFile, Failure> {
    let mut files = of_user()?;
    // A file that cannot be read any more is no reason not to go on: only names of variables are looked for in it.
    if let Some(read) = file.and_then(|file| ConfigFile::read(file).ok()) {
        files.overlay(read);
    }
    let mut said = read_environment(&files)?.layer().clone();
    // As with flags: the crawl knows its seeds.
    said.crawl.seeds = None;
    // A crawl has no gateway, whose secrets would stand in its directory.
    said.gateway = GatewaySection::default();
    Ok(said)
}

/// The old one stands until the new one is whole; one that says the same is left. A new crawl does not wait for the disk: where a
/// power cut takes this of its first moments, a reload has to be told the file (`--config`).
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let before = fs::read_to_string(path).ok();
    if before.as_deref() == Some(text) {
        return Ok(());
    }
    let new = path.with_extension("toml.new");
    let mut file = File::create(&new)?;
    file.write_all(text.as_bytes())?;
    if before.is_some() {
        file.sync_all()?;
        return fs::rename(&new, path);
    }
    fs::rename(&new, path)?;
    std::thread::spawn(move || file.sync_all());
    Ok(())
}

/// The configuration of the crawl in `dir`, read again: with `file`, what that says over what is in force; without, the layers
/// with which it was started.
pub(crate) fn again(dir: &Path, file: Option<&PathBuf>) -> Result<ConfigFile, Failure> {
    if let Some(file) = file {
        let mut settings = read_file(&dir.join("crawl.toml"))?;
        let known = settings.crawl.seeds.take();
        settings.overlay(read_file(file)?);
        settings.crawl.seeds = new_seeds(settings.crawl.seeds, known);
        return Ok(settings);
    }
    let hint = "give the file with --config";
    let source = read(dir).map_err(|what| Failure::storage(what).hint(hint))?.unwrap_or_default();
    let Some(file) = &source.config else {
        let text = format!("the crawl in {} was started without a configuration file", dir.display());
        return Err(Failure::usage(text).hint(hint));
    };
    let mut settings = of_user()?;
    settings.optout.files = Some(optout_files()?).filter(|files| !files.is_empty());
    settings.overlay(read_file(file)?);
    let layer = |table| layer(table).map_err(|what| Failure::storage(unread(dir, &what)).hint(hint));
    settings.overlay(layer(&source.environment)?);
    if source.seeds_given {
        settings.crawl.seeds = None;
    }
    settings.overlay(layer(&source.flags)?);
    settings.crawl.seeds = new_seeds(settings.crawl.seeds, read_file(&dir.join("crawl.toml"))?.crawl.seeds);
    Ok(settings)
}

/// The first seed that a file names and the crawl has not, for the crawl to refuse. Those that it has are not handed over: a list
/// of a million would not fit a line of the socket.
fn new_seeds(named: Option<Vec<String>>, known: Option<Vec<String>>) -> Option<Vec<String>> {
    let known: HashSet<CrawlUrl> = known.iter().flatten().filter_map(|text| CrawlUrl::parse(text).ok()).collect();
    let is_new = |text: &String| !CrawlUrl::parse(text).is_ok_and(|url| known.contains(&url));
    named?.into_iter().find(is_new).map(|new| vec![new])
}

fn place(dir: &Path) -> PathBuf {
    dir.join("state").join("source.toml")
}

fn read(dir: &Path) -> Result<Option<Source>, String> {
    let path = place(dir);
    if !path.exists() {
        return Ok(None);
    }
    let text = fs::read_to_string(&path).map_err(|e| unread(dir, &e))?;
    let read: Source = toml::from_str(&text).map_err(|e| unread(dir, &e.message()))?;
    // A layer that nobody can read is told with the rest.
    layer(&read.environment).and_then(|_| layer(&read.flags)).map_err(|what| unread(dir, &what))?;
    Ok(Some(read))
}

fn unread(dir: &Path, what: &dyn std::fmt::Display) -> String {
    format!("{} cannot be read: {what}", place(dir).display())
}

/// A layer, as it was remembered.
fn layer(table: &Table) -> Result<ConfigFile, String> {
    ConfigFile::parse(&table.to_string(), None).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeds(texts: &[&str]) -> Option<Vec<String>> {
        Some(texts.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn only_a_seed_that_the_crawl_has_not_is_handed_over() {
        let known = || seeds(&["http://a.test/", "http://b.test/"]);
        let table = [
            (None, None),
            (seeds(&[]), None),
            (seeds(&["http://b.test", "HTTP://A.test:80/"]), None),
            (seeds(&["http://b.test", "http://c.test/"]), seeds(&["http://c.test/"])),
            (seeds(&["no URL"]), seeds(&["no URL"])),
        ];
        for (named, wanted) in table {
            assert_eq!(new_seeds(named.clone(), known()), wanted, "{named:?}");
        }
    }
}
