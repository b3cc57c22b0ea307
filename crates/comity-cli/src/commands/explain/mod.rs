//! `comity explain URL --dir D`: why this URL was or was not fetched, from the crawl's directory alone.

mod copy;
mod found;
mod html;
mod meant;
mod queued;
mod since;
mod text;
mod today;

use comity_archive::{Record, read_records};
use comity_url::CrawlUrl;

pub(crate) use self::copy::{Copy, Mark, marks};
use self::found::Found;
pub(crate) use self::today::robots_faults;
use super::print;
use super::visible::visible;
use crate::args::ExplainArgs;
use crate::exit::{Exit, Failure};

/// For people as text or as a page, for programs the records themselves.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let dir = args.dir.as_deref().ok_or_else(|| meant::no_dir(&args.url))?;
    let url = CrawlUrl::parse(&args.url).map_err(|error| meant::no_url(&args.url, &error, dir))?;
    let found = Found::all(dir, &url)?;
    // Before its state is opened: a crawl is one process's at a time.
    let (queued, unknown) = match found.is_empty().then(|| queued::look(dir, &url)) {
        Some(Ok(queued)) => (queued, NOT_FOUND.to_owned()),
        // Nothing is on record, and that is known.
        Some(Err(error)) => {
            (None, format!("{NOT_FOUND}, or is still queued: the queue cannot be asked ({})", error.what()))
        }
        None => (None, String::new()),
    };
    let today = if args.json { Vec::new() } else { today::in_force(dir, &url) };
    if args.html {
        print(html::page(&url, (&found, queued.as_ref(), &unknown), &today).trim_end())?;
    } else if let Some(queued) = &queued {
        print(&if args.json { queued.json().to_string() } else { waiting(&url, queued) })?;
    } else if found.is_empty() && !args.json {
        print(&format!("{url}\n  no record: {unknown}"))?;
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
    Ok(if found.is_empty() && queued.is_none() { Exit::Findings } else { Exit::Done })
}

/// Of a URL without a record that is not in the queue either.
const NOT_FOUND: &str = "it was not found by this crawl, was out of scope, or was erased from it";

/// A URL that waits, as text.
fn waiting(url: &CrawlUrl, queued: &queued::Queued) -> String {
    let lines = queued.facts().into_iter().map(|(label, text)| format!("\n  {label:9} {}", visible(&text)));
    format!("{url}\n  not fetched yet: it waits in the queue{}", lines.collect::<String>())
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
        return Err(Failure::no_crawl(dir));
    }
    for line in read_records(dir).map_err(|e| Failure::storage(e.to_string()))? {
        let line = line.map_err(|e| Failure::storage(e.to_string()))?;
        let record = line.record().map_err(|e| Failure::storage(e.to_string()))?;
        each(&line, record);
    }
    Ok(())
}
