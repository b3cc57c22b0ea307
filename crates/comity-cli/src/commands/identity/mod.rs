//! `comity identity`: who we are, for ourselves (`show`), for people (`page`) and for machines (`ranges`, the key
//! directory). Everything follows from the configuration that the crawl itself uses; nothing is sent.

mod files;
mod html;
mod key;
mod page;
mod ranges;
mod robots_lines;
mod server;
mod show;

use std::path::PathBuf;

use comity::config::CrawlConfig;
use comity::policy::{Clock as _, WallTime};

use crate::args::{IdentityCommand, KeyCommand};
use crate::exit::{Exit, Failure};
use crate::settings;

pub(crate) fn run(command: &IdentityCommand) -> Result<Exit, Failure> {
    match command {
        IdentityCommand::Show(args) => show::run(args),
        IdentityCommand::Page(args) => page::run(args),
        IdentityCommand::Ranges(args) => ranges::run(args),
        IdentityCommand::Key(KeyCommand::New(args)) => key::new(args),
    }
}

/// The page about the crawler of a configuration; `reach` is where a person answers.
pub(super) fn page_of(config: &CrawlConfig, reach: &str, at: WallTime) -> String {
    html::page(config, reach, at)
}

/// The configuration as a crawl would resolve it; seeds are not needed here.
fn resolve(file: Option<&PathBuf>) -> Result<CrawlConfig, Failure> {
    let mut settings = settings::of_files(file)?;
    settings.crawl.seeds = Some(vec!["https://example.com/".to_owned()]);
    Ok(CrawlConfig::resolve(settings)?)
}

fn now() -> WallTime {
    comity_fetch::SystemClock::new().wall()
}

/// The time without its milliseconds: `2026-11-30T09:15:00Z`.
fn to_the_second(at: WallTime) -> String {
    let (year, month, day, hour, minute, second, _) = at.civil();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}
