use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::{Hashing, Wacz};
use crate::warc::text::target_uri;
use crate::{ArchiveError, Record, RecordsError, read_records};

/// What the list of pages holds.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) count: u64,
    /// URL and time of the first seed that is a page.
    pub(super) main: Option<(String, String)>,
    /// Name of the crawl.
    pub(super) crawl: Option<String>,
}

/// A line of `pages.jsonl`.
#[derive(Serialize)]
struct Page<'a> {
    id: &'a str,
    url: String,
    ts: &'a str,
    seed: bool,
    depth: u32,
    status: u16,
    mime: &'a str,
}

/// Writes both lists: seeds, and the other pages.
pub(super) fn write(wacz: &mut Wacz, dir: &Path) -> Result<Pages, ArchiveError> {
    let mut pages = Pages::default();
    for (name, id, title, seeds) in
        [("pages", "pages", "Seeds", true), ("extraPages", "extra-pages", "All Pages", false)]
    {
        let mut failed = None;
        let header = format!("{{\"format\": \"json-pages-1.0\", \"id\": \"{id}\", \"title\": \"{title}\"}}\n");
        wacz.add(&format!("pages/{name}.jsonl"), |to| {
            to.write_all(header.as_bytes())?;
            failed = write_list(to, dir, seeds, &mut pages).err();
            Ok(())
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
    }
    Ok(pages)
}

fn write_list(to: &mut Hashing<'_>, dir: &Path, seeds: bool, pages: &mut Pages) -> Result<(), ArchiveError> {
    let path = dir.join("records");
    let wrong = |e: RecordsError| ArchiveError::export(&path, e.to_string());
    for line in read_records(dir).map_err(wrong)? {
        let record = line.map_err(wrong)?.record().map_err(|e| ArchiveError::export(&path, e.to_string()))?;
        let Some(record) = record else { continue };
        if pages.crawl.is_none() {
            pages.crawl = Some(record.crawl.clone());
        }
        let Some(page) = page(&record).filter(|page| page.seed == seeds) else { continue };
        if page.seed && pages.main.is_none() {
            pages.main = Some((page.url.clone(), page.ts.to_owned()));
        }
        let line = serde_json::to_string(&page).map_err(|e| ArchiveError::io(&path, e.into()))?;
        writeln!(to, "{line}").map_err(|e| ArchiveError::io(&path, e))?;
        pages.count += 1;
    }
    Ok(())
}

/// The line of a record that is a page: HTML that came whole enough for status 200, in a WARC.
fn page(record: &Record) -> Option<Page<'_>> {
    let response = record.response.as_ref().filter(|response| response.status == 200)?;
    let mime = response.media_type.as_deref()?.split(';').next()?.trim();
    let html = ["text/html", "application/xhtml+xml"].iter().any(|html| mime.eq_ignore_ascii_case(html));
    // A URL that was cut names nothing.
    let whole = record.url.len() as u64 == record.url_length;
    let is_page = html && whole && record.errand == "page" && record.warc.as_ref()?.response.is_some();
    is_page.then(|| Page {
        id: record.record_id.trim_start_matches("urn:uuid:"),
        url: target_uri(&record.url),
        ts: &record.time.started,
        seed: record.discovery.seed,
        depth: record.discovery.depth,
        status: response.status,
        mime,
    })
}
