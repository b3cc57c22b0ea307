//! `comity explain URL --dir D`: why this URL was or was not fetched, from the crawl's directory alone.

mod copy;
mod found;
mod html;
mod text;
mod today;

use comity_archive::{Record, read_records};
use comity_url::CrawlUrl;

pub(crate) use self::copy::{Copy, Mark, marks};
use self::found::Found;
use super::print;
use super::visible::visible;
use crate::args::ExplainArgs;
use crate::exit::{Exit, Failure};

/// For people as text or as a page, for programs the records themselves.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let url = CrawlUrl::parse(&args.url).map_err(|e| Failure::usage(format!("{:?}: {e}", args.url)))?;
    let found = Found::all(&args.dir, &url)?;
    let today = if args.json { Vec::new() } else { today::in_force(&args.dir, &url) };
    if args.html {
        print(html::page(&url, &found, &today).trim_end())?;
    } else if found.is_empty() {
        print(&format!("{url}\n  no record: it was not found by this crawl, or was out of scope, or is still queued"))?;
    }
    for one in found.iter().filter(|_| !args.html) {
        if args.json {
            let text = serde_json::to_string(&one.record).map_err(|e| Failure::unavailable(e.to_string()))?;
            print(&text)?;
        } else {
            print(&text::text(one))?;
        }
    }
    if !args.html {
        today.iter().try_for_each(|line| print(&visible(line)))?;
    }
    Ok(if found.is_empty() { Exit::Findings } else { Exit::Done })
}

/// The records that `wanted` picks, in the order of their chain.
pub(crate) fn records_of(
    dir: &std::path::Path,
    mut wanted: impl FnMut(&Record) -> bool,
) -> Result<Vec<Record>, Failure> {
    let mut found = Vec::new();
    each_record(dir, |_, record| {
        if wanted(&record) {
            found.push(record);
        }
    })?;
    Ok(found)
}

/// Hands on every record that was not erased, with its line.
fn each_record(dir: &std::path::Path, mut each: impl FnMut(&comity_archive::Line, Record)) -> Result<(), Failure> {
    each_line(dir, |line, record| record.into_iter().for_each(|record| each(line, record)))
}

/// Hands on every line, with its record where that was not erased.
fn each_line(
    dir: &std::path::Path,
    mut each: impl FnMut(&comity_archive::Line, Option<Record>),
) -> Result<(), Failure> {
    if !dir.join("records").is_dir() {
        return Err(Failure::usage(format!("{} holds no crawl", dir.display())).hint("give the folder of the crawl"));
    }
    for line in read_records(dir).map_err(|e| Failure::storage(e.to_string()))? {
        let line = line.map_err(|e| Failure::storage(e.to_string()))?;
        let record = line.record().map_err(|e| Failure::storage(e.to_string()))?;
        each(&line, record);
    }
    Ok(())
}
