use std::path::PathBuf;

use comity::config::keys::{Form, Key, Section};
use comity::config::{ConfigFile, Environment};
use toml::{Table, Value};

use super::{environment, flags, of_user, optout_files, source, user_file};
use crate::args::LayerArgs;
use crate::commands::config::read_file;
use crate::exit::Failure;

/// The layers of a configuration, the first one lowest.
pub(crate) struct Layers {
    /// Your own file, and that of the crawl.
    files: Vec<FileLayer>,
    environment: Environment,
    flags: ConfigFile,
    /// Flags that the crawl in the directory was started with: they stand in its `crawl.toml` already.
    began: ConfigFile,
}

struct FileLayer {
    path: PathBuf,
    layer: ConfigFile,
    /// A crawl wrote it, with every key in it, whoever set it.
    is_written_down: bool,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Default,
    File(PathBuf),
    Environment(String),
    Flag(Option<&'static str>),
}

impl Layers {
    /// Reads the layers of a `crawl` command. A crawl that is there goes on as it began, unless another file is given.
    pub(crate) fn of(args: &LayerArgs) -> Result<Self, Failure> {
        let mut own = of_user()?;
        own.optout.files = Some(optout_files()?).filter(|files| !files.is_empty());
        let mut files = vec![FileLayer { path: user_file().unwrap_or_default(), layer: own, is_written_down: false }];
        let there = args.dir.as_ref().map(|dir| dir.join("crawl.toml")).filter(|file| file.is_file());
        let began = match (&args.dir, &args.config, &there) {
            (Some(dir), None, Some(_)) => source::flags_of(dir),
            _ => ConfigFile::default(),
        };
        if let Some(file) = args.config.as_ref().or(there.as_ref()) {
            let (path, layer) = (file.clone(), read_file(file)?);
            files.push(FileLayer { path, layer, is_written_down: args.config.is_none() });
        }
        let environment = environment(&lay(&files))?;
        Ok(Self { files, environment, flags: flags(args)?, began })
    }

    /// All of them, laid over each other.
    pub(crate) fn merged(&self) -> ConfigFile {
        let mut settings = lay(&self.files);
        self.environment.lay_over(&mut settings);
        settings.overlay(self.flags.clone());
        settings
    }

    /// Which layer a key has its value from. `is_default` tells whether that value is the default: `crawl.toml` holds all of them.
    pub(crate) fn source(&self, section: &Section, key: &Key, is_default: bool) -> From {
        let path = section.path(key);
        if at(&table(&self.flags), &path).is_some() {
            return From::Flag(key.flag);
        }
        if let Some(variable) = self.environment.set().get(&path) {
            return From::Environment(variable.clone());
        }
        self.of_files(&path, is_default, key.flag)
    }

    /// The same for a section that stands many times.
    pub(crate) fn source_of_list(&self, section: &Section) -> From {
        debug_assert_eq!(section.form, Form::Many);
        self.of_files(section.name, false, None)
    }

    fn of_files(&self, path: &str, is_default: bool, flag: Option<&'static str>) -> From {
        let Some(file) = self.files.iter().rev().find(|file| at(&table(&file.layer), path).is_some()) else {
            return From::Default;
        };
        // What nobody wrote: the opt-out file beside a configuration that does not exist, and defaults that a crawl wrote down.
        if !file.path.exists() || is_default && file.is_written_down {
            return From::Default;
        }
        if file.is_written_down && at(&table(&self.began), path).is_some() {
            return From::Flag(flag);
        }
        From::File(file.path.clone())
    }
}

fn lay(files: &[FileLayer]) -> ConfigFile {
    let mut settings = ConfigFile::default();
    for file in files {
        settings.overlay(file.layer.clone());
    }
    settings
}

/// A configuration as TOML.
pub(crate) fn table(file: &ConfigFile) -> Table {
    file.to_toml().ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// The value at a path with points.
pub(crate) fn at<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        None => table.get(path),
        Some((first, rest)) => at(table.get(first)?.as_table()?, rest),
    }
}
