use std::path::Path;

use comity_archive::{Checkpoint, Record};
use comity_url::CrawlUrl;

use super::copy::Copy;
use super::each_record;
use crate::exit::Failure;

/// One record of the URL, with what the directory holds about it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) seq: u64,
    /// Digest that the line commits to its content with.
    pub(super) commitment: String,
    pub(super) record: Record,
    /// The copy of robots.txt that decided; a text says why there is none.
    pub(super) copy: Result<Copy, String>,
    /// The first checkpoint that covers the line.
    pub(super) sealed: Option<Sealed>,
}

/// A checkpoint behind a line.
#[derive(Clone, Debug)]
pub(super) struct Sealed {
    pub(super) n: u64,
    pub(super) at: String,
    pub(super) key: Option<String>,
    lines: u64,
}

impl Found {
    /// Every record of the URL, in the order of the chain.
    pub(super) fn all(dir: &Path, url: &CrawlUrl) -> Result<Vec<Self>, Failure> {
        let seals = seals(dir);
        let mut found = Vec::new();
        each_record(dir, |line, record| {
            if !is_of(&record, url) {
                return;
            }
            let sealed = seals.iter().find(|sealed| sealed.lines > line.seq).cloned();
            let copy = Copy::of(dir, &record);
            found.push(Self { seq: line.seq, commitment: line.commitment.to_string(), record, copy, sealed });
        })?;
        Ok(found)
    }
}

/// Long URLs are cut in records.
fn is_of(record: &Record, url: &CrawlUrl) -> bool {
    record.url_length == url.as_str().len() as u64 && url.as_str().starts_with(record.url.as_str())
}

/// Whatever is wrong with checkpoints, `comity verify` tells; here those that hold by themselves are named.
fn seals(dir: &Path) -> Vec<Sealed> {
    let text = std::fs::read_to_string(dir.join("checkpoints.jsonl")).unwrap_or_default();
    let seal = |line: &str| {
        let Checkpoint { n, at, lines, signed, .. } = Checkpoint::parse(line).ok()?;
        Some(Sealed { n, at, lines, key: signed.map(|signed| signed.key) })
    };
    text.lines().filter_map(seal).collect()
}
