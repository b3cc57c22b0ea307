use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::ChainHead;

/// What can be wrong with a crawl directory.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// `D/chain` is not what was written, or names another line or checkpoint.
    Head,
    /// A line of `D/checkpoints.jsonl` was changed, moved or left out, or its signature does not fit.
    Checkpoint,
    /// A checkpoint is not signed by the key that was asked for.
    Signer,
    /// A file that should be there is not.
    Missing,
    /// A file is there that nothing names.
    Added,
    /// A file is not what it was when it was closed.
    FileSum,
    /// A frame of a records file cannot be inflated.
    Frame,
    /// A line does not follow the one before, or its content is not what was committed to.
    Chain,
    /// The end of the chain is missing.
    Cut,
    /// A member of a WARC file is no record.
    Warc,
    /// A WARC record's digest is not that of its block or payload.
    WarcDigest,
    /// No WARC record stands where the line says, or another one.
    Place,
    /// A WARC record and the line that names it say different things.
    Content,
    /// No line names a WARC record.
    Unnamed,
    /// A copy in the evidence is not what its name says, or a decision's copy is not there.
    Evidence,
    /// A line of the evidence's index was changed, moved or left out.
    EvidenceIndex,
    /// `D/crawl.toml` is not the configuration that the crawl ran under.
    Config,
    /// A tombstone that no erasure names, an erasure that was not done, or not to its end.
    Erasure,
    /// No checkpoint covers it, where a key was asked for: whoever could write there may have put it there.
    Unsealed,
}

impl FaultKind {
    /// Its name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Checkpoint => "checkpoint",
            Self::Signer => "signer",
            Self::Missing => "missing",
            Self::Added => "added",
            Self::FileSum => "file_sum",
            Self::Frame => "frame",
            Self::Chain => "chain",
            Self::Cut => "cut",
            Self::Warc => "warc",
            Self::WarcDigest => "warc_digest",
            Self::Place => "place",
            Self::Content => "content",
            Self::Unnamed => "unnamed",
            Self::Evidence => "evidence",
            Self::EvidenceIndex => "evidence_index",
            Self::Config => "config",
            Self::Erasure => "erasure",
            Self::Unsealed => "unsealed",
        }
    }
}

/// One thing that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// What kind.
    pub kind: FaultKind,
    /// The file, relative to the crawl directory.
    pub file: String,
    /// Where in it: a byte of the file on disk.
    pub offset: Option<u64>,
    /// The record line it was met at.
    pub seq: Option<u64>,
    /// The URL of that line.
    pub url: Option<String>,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.file)?;
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        if let Some(seq) = self.seq {
            write!(f, ", line {seq}")?;
        }
        if let Some(url) = &self.url {
            write!(f, " ({url})")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// How much was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Record lines.
    pub lines: u64,
    /// Of these, tombstones of erased records.
    pub erased: u64,
    /// Of these, ones in which the record stands without the page that led to it.
    pub amended: u64,
    /// WARC records whose payload was erased, of lines that stay.
    pub payloads_erased: u64,
    /// Records of erasures.
    pub erasures: u64,
    /// Their bytes, inflated.
    pub line_bytes: u64,
    /// Records files, and their bytes on disk.
    pub records_files: u64,
    /// See `records_files`.
    pub records_bytes: u64,
    /// WARC files.
    pub warc_files: u64,
    /// Their bytes on disk.
    pub warc_bytes: u64,
    /// WARC records.
    pub warc_records: u64,
    /// The bytes of their blocks.
    pub block_bytes: u64,
    /// Copies in the evidence.
    pub copies: u64,
    /// Their bytes.
    pub copy_bytes: u64,
    /// Lines of the evidence's index.
    pub sightings: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Of these, signed ones.
    pub signed: u64,
    /// Files whose sum a checkpoint holds.
    pub summed_files: u64,
}

impl Checked {
    pub(super) fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        self.erased += other.erased;
        self.amended += other.amended;
        self.payloads_erased += other.payloads_erased;
        self.erasures += other.erasures;
        self.line_bytes += other.line_bytes;
        self.records_files += other.records_files;
        self.records_bytes += other.records_bytes;
        self.warc_files += other.warc_files;
        self.warc_bytes += other.warc_bytes;
        self.warc_records += other.warc_records;
        self.block_bytes += other.block_bytes;
        self.copies += other.copies;
        self.copy_bytes += other.copy_bytes;
        self.sightings += other.sightings;
        self.checkpoints += other.checkpoints;
        self.signed += other.signed;
        self.summed_files += other.summed_files;
    }
}

/// What [`super::verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// How much was checked.
    pub checked: Checked,
    /// The last line of the chain: compare it with a copy kept elsewhere.
    pub head: Option<ChainHead>,
    /// The keys that signed, as `x` of a JWK, in the order they were first used.
    pub keys: Vec<String>,
    /// The first fault of each kind.
    pub faults: Vec<Fault>,
    /// How many of each kind were met.
    pub totals: BTreeMap<FaultKind, u64>,
    /// What is no fault and worth knowing: what a kill left, what no checkpoint covers yet.
    pub notes: Vec<String>,
    /// True when checkpoints cover everything that is there. They speak for who wrote it only where a key was asked for.
    pub sealed: bool,
}

impl Verification {
    /// True when nothing is wrong.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.faults.is_empty()
    }
}

/// The first fault of each kind, and their number.
#[derive(Debug, Default)]
pub(super) struct Faults {
    pub(super) first: Vec<Fault>,
    pub(super) totals: BTreeMap<FaultKind, u64>,
    pub(super) notes: Vec<String>,
    /// Files, or ends of them, that no checkpoint covers; the first of them.
    unsealed: Vec<(String, String)>,
    unsealed_total: u64,
}

/// Notes that are kept of one directory.
const MAX_NOTES: usize = 100;

impl Faults {
    pub(super) fn add(&mut self, fault: Fault) {
        let total = self.totals.entry(fault.kind).or_insert(0);
        *total += 1;
        if *total == 1 {
            self.first.push(fault);
        }
    }

    /// A fault of a file as a whole.
    pub(super) fn file(&mut self, kind: FaultKind, file: impl Into<String>, problem: impl fmt::Display) {
        let problem = problem.to_string();
        self.add(Fault { kind, file: file.into(), offset: None, seq: None, url: None, problem });
    }

    pub(super) fn note(&mut self, note: String) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(note);
        }
    }

    /// Something that no checkpoint covers, honest or not: what it counts as is settled at the end.
    pub(super) fn unsealed(&mut self, file: impl Into<String>, problem: impl fmt::Display) {
        self.unsealed_total += 1;
        if self.unsealed.len() < MAX_NOTES {
            self.unsealed.push((file.into(), problem.to_string()));
        }
    }

    /// What no checkpoint covers is a fault where a key was asked for: nothing shows that its owner wrote it. Else a note.
    /// Gives whether everything is covered.
    pub(super) fn settle(&mut self, is_key_asked: bool) -> bool {
        for (file, problem) in std::mem::take(&mut self.unsealed) {
            if is_key_asked {
                self.file(FaultKind::Unsealed, file, problem);
            } else {
                self.note(format!("{file}: {problem}"));
            }
        }
        if is_key_asked && self.unsealed_total > 0 {
            self.totals.insert(FaultKind::Unsealed, self.unsealed_total);
        }
        self.unsealed_total == 0
    }

    /// Takes in what was found in a later part.
    pub(super) fn merge(&mut self, later: Self) {
        for fault in later.first {
            if !self.totals.contains_key(&fault.kind) {
                self.first.push(fault);
            }
        }
        for (kind, count) in later.totals {
            *self.totals.entry(kind).or_insert(0) += count;
        }
        later.notes.into_iter().for_each(|note| self.note(note));
        self.unsealed_total += later.unsealed_total;
        let room = MAX_NOTES.saturating_sub(self.unsealed.len());
        self.unsealed.extend(later.unsealed.into_iter().take(room));
    }
}
