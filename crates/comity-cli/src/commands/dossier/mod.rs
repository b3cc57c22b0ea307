//! `comity dossier ORIGIN --dir D`: the answer to a site's owner, to counsel, to a court.

mod gathered;
mod html;
mod readme;

use std::path::{Path, PathBuf};

use comity_archive::{ArchiveError, DossierFacts, DossierPages, DossierSettings, Record, write_dossier};
use comity_url::{CrawlUrl, Origin};

use self::gathered::Gathered;
use super::erase::reading;
use super::{many, print};
use crate::args::DossierArgs;
use crate::exit::{Exit, Failure};

/// Writes the dossier, and says what is in it.
pub(crate) fn run(args: &DossierArgs) -> Result<Exit, Failure> {
    let DossierArgs { dir, with_others, .. } = args;
    if !dir.join("records").is_dir() {
        return Err(Failure::no_crawl(dir));
    }
    let _held = reading(dir)?;
    let origin = origin(&args.origin)?;
    let out = args.out.clone().unwrap_or_else(|| default_name(&origin));
    let settings = DossierSettings { origin, with_others: *with_others };
    let mut pages = Pages { dir, gathered: Gathered::default() };
    let facts = write_dossier(dir, &out, &settings, &mut pages).map_err(|error| match error {
        ArchiveError::Export { .. } => Failure::usage(error.to_string())
            .hint("an origin is scheme, host and port, as it stands in the records: http and https are two"),
        error => Failure::storage(error.to_string()),
    })?;
    print(&told(&out, &facts))?;
    Ok(Exit::Done)
}

/// An origin, or a URL of it.
fn origin(text: &str) -> Result<Origin, Failure> {
    CrawlUrl::parse(text).map(|url| url.origin().clone()).map_err(|e| {
        Failure::usage(format!("{text:?}: {e}")).hint("give the origin with its scheme, as https://www.example.com")
    })
}

fn default_name(origin: &Origin) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let host: String = origin.authority().chars().map(plain).collect();
    PathBuf::from(format!("dossier-{host}.zip"))
}

fn told(out: &Path, facts: &DossierFacts) -> String {
    let DossierFacts { records, lines, members, withheld, gone, .. } = facts;
    let mut text = format!(
        "{}: {records} of {lines} records, {} of robots.txt and the like, {members} WARC records, {}",
        out.display(),
        many(facts.copies.len() as u64, "copy"),
        many(facts.checkpoints.len() as u64, "checkpoint")
    );
    if *withheld > 0 {
        text += &format!(
            "\n{withheld} records name other origins: shown without that, and so without proof (--with-others gives them whole)"
        );
    }
    if *gone > 0 {
        text += &format!("\n{gone} WARC records are named and not there any more");
    }
    text
}

/// What is gathered while the records pass.
struct Pages<'a> {
    dir: &'a Path,
    gathered: Gathered,
}

impl DossierPages for Pages<'_> {
    fn record(&mut self, seq: u64, record: &Record, withheld: &[&'static str]) {
        self.gathered.take(seq, record, withheld);
    }

    fn pages(&mut self, facts: &DossierFacts) -> Vec<(&'static str, Vec<u8>)> {
        let page = html::page(self.dir, facts, &self.gathered);
        vec![("index.html", page.into_bytes()), ("README.txt", readme::text(facts).into_bytes())]
    }
}
