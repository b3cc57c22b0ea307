//! The records that a crawl left, read as anybody would.

use std::collections::BTreeMap;
use std::path::Path;

use comity_archive::{ChainVerifier, read_records};

/// What is on record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    /// By URL of a page: outcome and reason of each record, in order.
    pub(crate) pages: BTreeMap<String, Vec<(String, String)>>,
    /// Requests for robots.txt, by URL.
    pub(crate) robots: BTreeMap<String, u32>,
}

/// Reads them all, and follows their chain.
pub(crate) fn read(dir: &Path) -> Result<Kept, String> {
    let mut kept = Kept::default();
    let mut chain = ChainVerifier::default();
    for line in read_records(dir).map_err(|error| error.to_string())? {
        let line = line.map_err(|error| error.to_string())?;
        chain.step(&line).map_err(|error| error.to_string())?;
        let record = line.record().map_err(|error| error.to_string())?.ok_or("a record without its content")?;
        if record.errand == "robots" {
            *kept.robots.entry(record.url).or_default() += 1;
        } else {
            kept.pages.entry(record.url).or_default().push((record.outcome, record.reason));
        }
    }
    Ok(kept)
}
