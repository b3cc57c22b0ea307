use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use comity_policy::Digest;
use serde::{Deserialize, Serialize};

use super::named::Needle;
use super::sealed;
use crate::disk::{replace, sync_folder};
use crate::{ArchiveError, CheckpointSigner};

/// The file that says what an erasure under way has still to do, below the crawl directory.
pub(crate) const JOURNAL: &str = "erasing.json";

/// What is to be done, written and synced before anything is: whoever opens the archive next does what is left. It goes last.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Journal {
    pub(crate) v: u32,
    /// `urn:uuid:…`.
    pub(crate) id: String,
    pub(crate) at: String,
    pub(crate) kind: String,
    pub(crate) named: String,
    pub(crate) reason: String,
    pub(crate) request: String,
    /// How many lines the chain had: the record of the erasure comes after them.
    pub(crate) lines: u64,
    /// Of a URL or an origin.
    pub(crate) needle: Option<Needle>,
    pub(crate) pairs: Vec<PairPlan>,
    pub(crate) evidence: EvidencePlan,
    /// Digests of configurations that go: of `configs/SHA256.toml`.
    #[serde(default)]
    pub(crate) configs: Vec<String>,
    /// The public key that signed it, and its signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signature: Option<String>,
}

/// What goes from a pair of files.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PairPlan {
    /// Name of the records file.
    pub(crate) records: String,
    /// Name of the WARC file.
    pub(crate) warc: Option<String>,
    /// Lines that become tombstones, in order.
    pub(crate) lines: Vec<LinePlan>,
    /// Lines whose payload goes and that stay, in order.
    pub(crate) payloads: Vec<u64>,
    /// Places in the WARC, in order.
    pub(crate) spans: Vec<Span>,
}

/// A line that becomes a tombstone.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinePlan {
    pub(crate) seq: u64,
    /// What stands in its place is made of the line anew: its record without what named the erased.
    pub(crate) amended: Option<Amended>,
}

/// What a record that stands in a tombstone commits to: salt in hex, and commitment.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Amended {
    pub(crate) salt: String,
    pub(crate) commitment: String,
}

/// A place in a WARC file: whole members.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Span {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// Of the record that takes the place.
    pub(crate) record: String,
    pub(crate) date: String,
    pub(crate) becomes: Becomes,
}

/// What takes the place.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Becomes {
    /// A tombstone of a payload.
    Payload,
    /// A tombstone of the whole event of this line.
    Event(String),
    /// The metadata record without what named the erased; of this line.
    Metadata(String),
}

/// What goes from the evidence.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EvidencePlan {
    /// Sightings of these URLs go.
    pub(crate) urls: Vec<String>,
    /// And of licences alone at these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) licences: Vec<String>,
    /// And of these copies.
    pub(crate) digests: Vec<String>,
    /// Copies that go.
    pub(crate) copies: Vec<String>,
    /// Those of them that lines still name.
    pub(crate) named: Vec<String>,
    /// How many sightings that are.
    pub(crate) sightings: u64,
}

impl Journal {
    /// The version that is written where no name stands for every query: an older one would take less of it.
    pub(crate) const VERSION: u32 = 2;
    const OF_QUERIES: u32 = 3;
    /// The largest that is written, and read.
    const LONGEST: u64 = 4 << 30;

    /// What is left to do, if anything is. With a key, only what that key signed: it is carried out, and recorded under the
    /// key's signature.
    ///
    /// # Errors
    /// When it is there and cannot be read, names what no erasure of ours names, or is not of the key.
    pub(crate) fn load(dir: &Path, signer: Option<&dyn CheckpointSigner>) -> Result<Option<Self>, ArchiveError> {
        let path = dir.join(JOURNAL);
        let mut text = Vec::new();
        match File::open(&path).and_then(|file| file.take(Self::LONGEST).read_to_end(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ArchiveError::io(&path, error)),
        }
        let wrong = |problem: String| ArchiveError::Chain { path: path.clone(), problem };
        let journal: Self = serde_json::from_slice(&text)
            .map_err(|e| wrong(format!("it does not say what is to be erased: {e}; nothing of it is done")))?;
        if ![Self::VERSION, Self::OF_QUERIES].contains(&journal.v) {
            let (found, known) = (journal.v, Self::OF_QUERIES);
            return Err(wrong(format!("version {found} is not known, {known} is; start the version that wrote it")));
        }
        sealed::check(&journal, signer).map_err(|problem| wrong(format!("{problem}; nothing of it is done")))?;
        Ok(Some(journal))
    }

    /// Signed and written as a whole, safe when this returns.
    ///
    /// # Errors
    /// When it is longer than what is read, or cannot be written: nothing was changed.
    pub(crate) fn store(&mut self, dir: &Path, signer: Option<&dyn CheckpointSigner>) -> Result<(), ArchiveError> {
        self.store_within(dir, signer, Self::LONGEST)
    }

    pub(super) fn store_within(
        &mut self,
        dir: &Path,
        signer: Option<&dyn CheckpointSigner>,
        most: u64,
    ) -> Result<(), ArchiveError> {
        let path = dir.join(JOURNAL);
        if self.needle.as_ref().is_some_and(|needle| !needle.is_plain()) {
            self.v = Self::OF_QUERIES;
        }
        sealed::sign(self, signer);
        let text = serde_json::to_vec(self).map_err(|e| ArchiveError::io(&path, e.into()))?;
        // A file of the full length may be a cut one.
        if text.len() as u64 >= most {
            let problem = format!(
                "what is to be done takes {} bytes, below {most} can be read again; nothing was changed: erase less at once",
                text.len()
            );
            return Err(ArchiveError::Chain { path, problem });
        }
        replace(&path, &text).map_err(|e| ArchiveError::io(&path, e))
    }

    pub(crate) fn remove(dir: &Path) -> Result<(), ArchiveError> {
        let path = dir.join(JOURNAL);
        std::fs::remove_file(&path).and_then(|()| sync_folder(dir)).map_err(|e| ArchiveError::io(&path, e))
    }

    /// True when there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.evidence.sightings == 0 && self.configs.is_empty()
    }

    /// Files that are not what they were, as checkpoints name them.
    pub(crate) fn changed(&self) -> Vec<String> {
        let mut names = Vec::new();
        for pair in &self.pairs {
            if !pair.lines.is_empty() {
                names.push(format!("records/{}", pair.records));
            }
            if let Some(warc) = pair.warc.as_deref().filter(|_| !pair.spans.is_empty()) {
                let base = warc.find(".warc").and_then(|at| warc.get(..at)).unwrap_or(warc);
                names.push(format!("warc/{warc}"));
                names.push(format!("warc/{base}{}", crate::names::INDEX_END));
            }
        }
        names
    }
}

/// A digest that was written by us.
pub(crate) fn digest(text: &str, path: &Path) -> Result<Digest, ArchiveError> {
    text.parse().map_err(|_| ArchiveError::Chain {
        path: path.to_owned(),
        problem: format!("{text:?} is no digest; nothing was changed"),
    })
}
