//! Reviews of terms, held against the copies that the crawl has seen since.

use std::collections::HashMap;
use std::path::Path;

use comity_archive::{EvidenceKind, Sighting};
use serde_json::json;
use toml::{Table, Value};

use super::facts::Fact;

/// The last copy of each text of terms: when it was seen, and its digest.
#[derive(Debug, Default)]
pub(super) struct TermsSeen(HashMap<String, (String, String)>);

impl TermsSeen {
    /// Reads the index of the evidence. A line that cannot be read is `verify`'s finding.
    pub(super) fn read(dir: &Path) -> Self {
        let text = std::fs::read(dir.join("evidence/index.jsonl")).unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Sighting>(line).ok());
        let terms = lines.filter(|one| one.kind == EvidenceKind::Terms);
        Self(terms.filter_map(|one| Some((one.url, (one.fetched, one.digest?)))).collect())
    }

    /// A fact for each review whose text was another when it was last copied.
    pub(super) fn outdated(&self, config: &Table) -> Vec<Fact> {
        let reviews = config.get("terms").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let fact = |(n, review): (usize, &Value)| {
            let (url, digest) = (review.get("url")?.as_str()?, review.get("digest")?.as_str()?);
            let (at, found) = self.0.get(url).filter(|(_, found)| found != digest)?;
            let says = format!("Review {} is outdated: at {at} the text was another, sha256 {found}.", n + 1);
            let key = format!("terms[{n}], copy");
            Some(Fact { section: "Exceptions", key, value: json!({"at": at, "digest": found}), says })
        };
        reviews.iter().enumerate().filter_map(fact).collect()
    }
}
