//! What happened in a crawl, from its directory alone: a page, a text, or all numbers.

mod entry;
mod evidence;
mod exceptions;
mod json;
mod limits;
mod origins;
mod page;
mod pauses;
mod series;
mod standing;
#[cfg(test)]
mod tests;
mod text;
mod totals;

use std::path::Path;

use comity_archive::read_records_from;

pub(crate) use self::standing::Standing;

use self::entry::Entry;
use self::evidence::Evidence;
use self::exceptions::Exceptions;
use self::limits::Limits;
use self::origins::Origins;
use self::totals::Totals;
use crate::commands::erase::none_begun;
use crate::commands::report::chain::{Broken, Chain, Places, follow_lines};

/// What a crawl left, counted. Grows with origins, configurations and kept copies, not with records.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// When it was made.
    made: String,
    /// Lines that were there when the reading began.
    begun_at: u64,
    chain: Chain,
    totals: Totals,
    origins: Origins,
    exceptions: Exceptions,
    evidence: Evidence,
    standing: Standing,
}

impl Report {
    /// Reads every record once, and holds the chain against the places that the directory names.
    ///
    /// # Errors
    /// What does not hold.
    pub(crate) fn read(dir: &Path, made: String, standing: Standing) -> Result<Self, Broken> {
        let places = Places::read(dir)?;
        let mut report = Self { made, standing, begun_at: places.due(), ..Self::default() };
        let mut limits = Limits::new(dir);
        report.chain = follow_lines(dir, &places, None, |line| {
            let Some(body) = line.standing() else { return Ok(()) };
            report.take(line.seq, &Entry::parse(line.seq, body)?, &mut limits)
        })?;
        report.origins.end();
        report.evidence = Evidence::read(dir)?;
        Ok(report)
    }

    fn take(&mut self, seq: u64, entry: &Entry<'_>, limits: &mut Limits) -> Result<(), Broken> {
        self.totals.take(entry);
        if entry.errand == "erasure" {
            return Ok(());
        }
        let limit = limits.of(entry.agent.config_digest.as_deref(), &mut self.exceptions)?;
        self.exceptions.take(entry);
        self.origins.take(seq, entry, &limit);
        Ok(())
    }

    /// The page: no script, nothing loaded from elsewhere.
    pub(crate) fn html(&self) -> String {
        page::page(self)
    }

    /// Frames that a kill cut short.
    pub(crate) fn torn(&self) -> &[String] {
        &self.chain.torn
    }

    /// The short form.
    pub(crate) fn text(&self) -> String {
        text::text(self)
    }

    /// Every number, of every origin.
    pub(crate) fn json(&self) -> serde_json::Value {
        json::object(self)
    }
}

/// The name of the page in a crawl's directory: an erasure takes it away.
pub(crate) const FILE: &str = comity_archive::REPORT_FILE;

/// Writes the page of the crawl in `dir`; the old one stands until the new one is whole. What an erasure takes out while the page is
/// made would come back with it, so it is looked for afterwards: whoever begins later removes the page itself.
///
/// # Errors
/// When it cannot be written, or an erasure was under way: then there is no page.
pub(crate) fn write(report: &Report, dir: &Path, path: &Path) -> Result<(), String> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let wrong = |e: std::io::Error| format!("{}: {e}", path.display());
    std::fs::write(&new, report.html()).map_err(wrong)?;
    std::fs::rename(&new, path).map_err(wrong)?;
    none_erased(dir, report.begun_at).inspect_err(|_| drop(std::fs::remove_file(path)))
}

/// Whether no erasure is under way, and none is recorded from this line on. In this order: one that ended in between is recorded.
fn none_erased(dir: &Path, from: u64) -> Result<(), String> {
    let under_way = || "an erasure was under way while it was made".to_owned();
    none_begun(dir).map_err(|_| under_way())?;
    for line in read_records_from(dir, from).map_err(|e| e.to_string())? {
        let line = line.map_err(|e| e.to_string())?;
        let Some(body) = line.standing().filter(|_| line.seq >= from) else { continue };
        if Entry::parse(line.seq, body)?.errand == "erasure" {
            return Err(under_way());
        }
    }
    Ok(())
}
