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

pub(crate) use self::standing::Standing;

use self::entry::Entry;
use self::evidence::Evidence;
use self::exceptions::Exceptions;
use self::limits::Limits;
use self::origins::Origins;
use self::totals::Totals;
use crate::commands::report::chain::{Broken, Chain, Places, follow_lines};

/// What a crawl left, counted. Grows with origins, configurations and kept copies, not with records.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// When it was made.
    made: String,
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
        let mut report = Self { made, standing, ..Self::default() };
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

/// Writes the page; the old one stands until the new one is whole.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write(report: &Report, path: &Path) -> std::io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    std::fs::write(&new, report.html())?;
    std::fs::rename(&new, path)
}
