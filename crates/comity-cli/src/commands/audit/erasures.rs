//! What was erased, by the records of the erasures: nobody is accused for want of it. `verify` ties these records to what is gone.

use std::collections::HashSet;
use std::path::Path;

use comity::policy::Digest;
use comity_archive::{Record, read_records};

use crate::exit::Failure;

/// What the erasures of a crawl took.
#[derive(Debug, Default)]
pub(super) struct Erasures {
    /// Copies in the evidence.
    copies: HashSet<String>,
    /// Answers to requests for a robots.txt: URL and begin.
    answers: HashSet<(String, String)>,
    /// Lines went, whose requests are gone, too.
    pub(super) lines: bool,
}

impl Erasures {
    pub(super) fn read(dir: &Path) -> Result<Self, Failure> {
        let (mut found, mut payloads) = (Self::default(), Vec::new());
        each(dir, |_, record| {
            if let Some(erasure) = record.erasure {
                found.copies.extend(erasure.copies);
                found.lines |= !erasure.lines.is_empty();
                payloads.extend(erasure.payloads);
            }
        })?;
        if !payloads.is_empty() {
            each(dir, |seq, record| {
                let has_gone = payloads.iter().any(|(first, last)| (*first..=*last).contains(&seq));
                if has_gone && record.errand == "robots" {
                    found.answers.insert((record.url, record.time.started));
                }
            })?;
        }
        Ok(found)
    }

    pub(super) fn has(&self, copy: Digest) -> bool {
        self.copies.contains(&copy.to_string())
    }

    /// Whether the answer to this request for a robots.txt went.
    pub(super) fn has_answer(&self, url: &str, at: comity::policy::WallTime) -> bool {
        !self.answers.is_empty() && self.answers.contains(&(url.to_owned(), at.to_string()))
    }
}

fn each(dir: &Path, mut each: impl FnMut(u64, Record)) -> Result<(), Failure> {
    for line in read_records(dir).map_err(|e| Failure::storage(e.to_string()))? {
        let line = line.map_err(|e| Failure::storage(e.to_string()))?;
        if let Some(record) = line.record().map_err(|e| Failure::storage(e.to_string()))? {
            each(line.seq, record);
        }
    }
    Ok(())
}
