//! Where settings come from: the user's file, the crawl's file, the environment, the flags. Later layers win.

use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};

use comity::config::{ConfigFile, Environment};
use comity_url::Origin;

use crate::args::{AskerArgs, LayerArgs};
use crate::commands::config::read_file;
use crate::exit::Failure;
use crate::log::say;

mod gateway;
pub(crate) mod layers;
pub(crate) mod source;

pub(crate) use gateway::gateway;
pub(crate) use layers::{From, Layers};

/// Longest seed list read, in bytes.
const LONGEST_LIST: u64 = 1 << 30;

/// The user's own configuration file, whether it exists or not.
pub(crate) fn user_file() -> Option<PathBuf> {
    Some(user_folder("XDG_CONFIG_HOME", ".config")?.join("comity/config.toml"))
}

/// A folder of the user's state: `robots` for dated copies, `turns` for delays between runs.
pub(crate) fn user_state(folder: &str) -> Option<PathBuf> {
    Some(user_folder("XDG_STATE_HOME", ".local/state")?.join("comity").join(folder))
}

/// A base folder of the XDG specification: the variable's, or the one at home.
fn user_folder(variable: &str, at_home: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(variable).or_else(|| set("HOME").map(|home| home.join(at_home)))
}

/// The user's own configuration, empty where there is none.
pub(crate) fn of_user() -> Result<ConfigFile, Failure> {
    match user_file().filter(|path| path.is_file()) {
        Some(path) => read_file(&path),
        None => Ok(ConfigFile::default()),
    }
}

/// The user's own opt-out files: those of their configuration, else `optout.jsonl` beside it, whether it exists or not.
pub(crate) fn optout_files() -> Result<Vec<PathBuf>, Failure> {
    match of_user()?.optout.files {
        Some(files) => Ok(files),
        None => Ok(user_file().map(|path| path.with_file_name("optout.jsonl")).into_iter().collect()),
    }
}

/// Takes out of the notes what holds for nearly everybody: that the opt-out file which nobody named has nothing in it yet.
pub(crate) fn without_usual(notes: &mut Vec<String>) {
    let own = user_file().map(|path| path.with_file_name("optout.jsonl").display().to_string());
    notes.retain(|note| !own.as_ref().is_some_and(|own| note.starts_with(&format!("{own} does not exist yet"))));
}

/// All layers of a `crawl` command, laid over each other.
pub(crate) fn of_crawl(args: &LayerArgs) -> Result<ConfigFile, Failure> {
    Ok(Layers::of(args)?.merged())
}

/// The same without the flags, which may stand for a list of seeds that is read once.
pub(crate) fn file_of_crawl(args: &LayerArgs) -> Result<ConfigFile, Failure> {
    let mut settings = of_user()?;
    let there = args.dir.as_ref().map(|dir| dir.join("crawl.toml")).filter(|file| file.is_file());
    if let Some(file) = args.config.as_ref().or(there.as_ref()) {
        settings.overlay(read_file(file)?);
    }
    read_environment(&settings)?.lay_over(&mut settings);
    Ok(settings)
}

/// What the variables `COMITY_SECTION_KEY` say over these files. Those that are near no setting are named.
pub(crate) fn environment(files: &ConfigFile) -> Result<Environment, Failure> {
    Ok(noted(read_environment(files)?))
}

/// The same for commands that read no crawl's file, in which a variable may be named as `credentials_env`.
fn apart(files: &ConfigFile) -> Result<Environment, Failure> {
    Ok(noted(Environment::read_apart(variables(), files)?))
}

fn noted(environment: Environment) -> Environment {
    for name in environment.ignored() {
        say(&format!("note: {name} is no setting; `comity config keys` lists them"));
    }
    environment
}

fn read_environment(files: &ConfigFile) -> Result<Environment, Failure> {
    Ok(Environment::read(variables(), files)?)
}

fn variables() -> impl Iterator<Item = (String, String)> {
    let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
    std::env::vars_os().map(move |(name, value)| (text(name), text(value)))
}

/// The layers of a command that asks one origin for its robots.txt.
pub(crate) fn of_asker(args: &AskerArgs, origin: &Origin) -> Result<ConfigFile, Failure> {
    let mut settings = of_user()?;
    settings.optout.files = Some(optout_files()?).filter(|files| !files.is_empty());
    apart(&settings)?.lay_over(&mut settings);
    let mut flags = ConfigFile::default();
    flags.agent.name.clone_from(&args.name);
    flags.agent.contact.clone_from(&args.contact);
    flags.crawl.seeds = Some(vec![origin.to_string()]);
    reach(&mut flags, &args.allow_address, &args.resolve)?;
    settings.overlay(flags);
    Ok(settings)
}

/// The user's file and the one that was given, for commands that crawl nothing.
pub(crate) fn of_files(given: Option<&PathBuf>) -> Result<ConfigFile, Failure> {
    let mut settings = of_user()?;
    if let Some(file) = given {
        settings.overlay(read_file(file)?);
    }
    apart(&settings)?.lay_over(&mut settings);
    Ok(settings)
}

/// The layers of a command that takes a file and no flags.
pub(crate) fn of_file(file: &PathBuf) -> Result<ConfigFile, Failure> {
    let mut settings = below_environment(file)?;
    environment(&settings)?.lay_over(&mut settings);
    Ok(settings)
}

/// The same before anything can be said: nothing is noted.
pub(crate) fn of_file_quietly(file: &PathBuf) -> Result<ConfigFile, Failure> {
    let mut settings = below_environment(file)?;
    read_environment(&settings)?.lay_over(&mut settings);
    Ok(settings)
}

fn below_environment(file: &PathBuf) -> Result<ConfigFile, Failure> {
    let mut settings = of_user()?;
    settings.optout.files = Some(optout_files()?).filter(|files| !files.is_empty());
    settings.overlay(read_file(file)?);
    Ok(settings)
}

/// What the flags say, as a configuration.
fn flags(args: &LayerArgs) -> Result<ConfigFile, Failure> {
    let mut file = ConfigFile::default();
    file.agent.name.clone_from(&args.agent);
    file.agent.contact.clone_from(&args.contact);
    file.agent.purposes = some(&args.purpose);
    let mut seeds = args.urls.clone();
    if let Some(list) = &args.seeds {
        seeds.extend(read_seeds(list)?);
    }
    file.crawl.seeds = some(&seeds);
    file.crawl.scope.clone_from(&args.scope);
    file.crawl.max_pages = args.max_pages;
    file.crawl.max_depth = args.max_depth;
    file.politeness.delay = args.delay;
    file.politeness.total = args.total;
    file.politeness.per_origin = args.per_origin;
    file.politeness.address_gap = args.address_gap;
    reach(&mut file, &args.allow_address, &args.resolve)?;
    file.fetch.proxies = some(&args.proxy);
    file.fetch.proxy_country.clone_from(&args.proxy_country);
    file.frontier.store.clone_from(&args.store);
    file.archive.warc = args.no_warc.then_some(false);
    file.telemetry.dashboard.clone_from(&args.telemetry.dashboard);
    file.telemetry.metrics.clone_from(&args.telemetry.metrics);
    file.telemetry.log_format = args.telemetry.log_format.map(|form| form.as_str().to_owned());
    Ok(file)
}

/// `--allow-address` and `--resolve`.
fn reach(file: &mut ConfigFile, allow: &[String], resolve: &[String]) -> Result<(), Failure> {
    file.fetch.allow_addresses = some(allow);
    for pair in resolve {
        let (host, address) = pair.split_once('=').ok_or_else(|| {
            Failure::usage(format!("--resolve {pair:?} is no HOST=ADDR")).hint("--resolve a.test=127.0.0.1")
        })?;
        file.fetch.resolve.get_or_insert_default().insert(host.to_owned(), address.to_owned());
    }
    Ok(())
}

fn some(list: &[String]) -> Option<Vec<String>> {
    (!list.is_empty()).then(|| list.to_vec())
}

/// One seed a line; blank lines and lines that begin with `#` are passed over.
pub(crate) fn read_seeds(path: &Path) -> Result<Vec<String>, Failure> {
    let wrong = |e: std::io::Error| Failure::usage(format!("--seeds {}: {e}", path.display()));
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).map_err(wrong)?)
    };
    let mut seeds = Vec::new();
    for line in BufReader::new(source.take(LONGEST_LIST)).lines() {
        let line = line.map_err(wrong)?;
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            seeds.push(line.to_owned());
        }
    }
    Ok(seeds)
}
