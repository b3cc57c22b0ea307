//! Takes content out of a crawl directory: bodies, or whole records, with all that is theirs in WARC files and evidence.
//!
//! A record line becomes a tombstone, which keeps its commitment, so that the chain holds. WARC records are replaced by a
//! `metadata` record of the very same length, so that every other place stays true. A record of errand `erasure` says what
//! was done, and why; `verify` ties every tombstone to it. What is to be done is written down first, in `D/erasing.json`:
//! killed at any instant, the next [`Archive::create`] does the rest.
//!
//! | module | what it holds |
//! |---|---|
//! | `named`, `meant`, `report` | [`Erasure`]: what goes, and what its name stands for; [`ErasureReport`]: what went |
//! | `plan`, `mention`, `body` | which lines, WARC records and sightings that are |
//! | `journal`, `sealed` | the plan on disk; whether it may be carried out |
//! | `carry`, `tombstone` | the doing |
//! | `evidence`, `configs` | copies and their index; configurations that are not in force |
//! | `note` | what stands in a tombstone |

mod body;
pub(crate) mod carry;
mod configs;
mod decoded;
mod evidence;
pub(crate) mod journal;
mod meant;
mod mention;
mod named;
pub(crate) mod note;
mod plan;
mod report;
mod sealed;
#[cfg(test)]
mod tests;
pub(crate) mod tombstone;

use std::path::Path;

use sha2::{Digest as _, Sha256};

use self::journal::{Journal, LinePlan};
pub use self::meant::meant;
pub use self::named::{Depth, Erasure, Named};
use self::plan::Planner;
pub use self::report::{ErasureReport, Listed, Told};
use crate::archive::Archive;
use crate::prepare::bare;
use crate::record::ErasureRecord;
use crate::record::build::{self, Made};
use crate::record::erasure::runs;
use crate::records::reader::read_records_from;
use crate::{ArchiveError, Content, Record, Use};

/// Entries in one record of an erasure: below the longest line that is read.
const MOST_ENTRIES: usize = 20_000;
/// Characters of a reason, and of a request.
const MOST_REASON: usize = 500;
const MOST_REQUEST: usize = 200;

/// The steps of an erasure, in their order: between any two a process may be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Journal,
    Warc,
    WarcRename,
    Index,
    Records,
    RecordsRename,
    Evidence,
    Configs,
    Event,
    Checkpoint,
    Done,
}

/// Told before each step; tests end there, as a kill does.
pub(crate) trait Steps {
    fn before(&mut self, step: Step) -> Result<(), ArchiveError>;

    /// Told what will be done, before the first step.
    fn planned(&mut self, _report: &ErasureReport) {}
}

/// Goes on.
pub(crate) struct All;

impl Steps for All {
    fn before(&mut self, _step: Step) -> Result<(), ArchiveError> {
        Ok(())
    }
}

/// Goes on, and tells what will be done.
struct Telling<'a>(&'a mut dyn FnMut(&ErasureReport));

impl Steps for Telling<'_> {
    fn before(&mut self, _step: Step) -> Result<(), ArchiveError> {
        Ok(())
    }

    fn planned(&mut self, report: &ErasureReport) {
        (self.0)(report);
    }
}

impl Archive {
    /// Erases; `dry` only tells what would go. Nothing may have been appended since the archive was opened: all files are
    /// closed then. Costs one pass over the records, one over the WARC files where a URL or an origin goes with its
    /// records, and a copy of each file that something is taken from.
    ///
    /// Takes no room away: what stands in the place of a WARC record is as long as that was.
    ///
    /// # Errors
    /// When reason or request cannot be used or name what is to be erased, when the directory is damaged (nothing was
    /// changed then), while somebody reads the directory, and when something cannot be written: then the next [`Archive::create`] does the rest.
    pub fn erase(&mut self, erasure: &Erasure, dry: bool) -> Result<ErasureReport, ArchiveError> {
        self.erase_in(erasure, dry, &mut All)
    }

    /// As [`Archive::erase`], not dry. `tell` gets the report, with id and receipt, before anything is changed: what fails
    /// afterwards, or a kill, cannot take them. Not called where there is nothing to erase.
    ///
    /// # Errors
    /// As [`Archive::erase`].
    pub fn erase_telling(
        &mut self,
        erasure: &Erasure,
        tell: &mut dyn FnMut(&ErasureReport),
    ) -> Result<ErasureReport, ArchiveError> {
        self.erase_in(erasure, false, &mut Telling(tell))
    }

    pub(crate) fn erase_in(
        &mut self,
        erasure: &Erasure,
        dry: bool,
        steps: &mut dyn Steps,
    ) -> Result<ErasureReport, ArchiveError> {
        let keeps_out = self.owns_lock() && !dry;
        if keeps_out {
            self.lock.says(Use::Erase)?;
        }
        let report = self.erase_alone(erasure, dry, steps)?;
        // After a failure nobody reads what is half done: the next start ends it.
        if keeps_out {
            self.lock.says(Use::Archive)?;
        }
        Ok(report)
    }

    fn erase_alone(
        &mut self,
        erasure: &Erasure,
        dry: bool,
        steps: &mut dyn Steps,
    ) -> Result<ErasureReport, ArchiveError> {
        check(erasure)?;
        let erasure = &Erasure { named: meant(&self.dir, &erasure.named, self.config.query), ..erasure.clone() };
        let mut salt = [0_u8; 16];
        self.entropy.fill(&mut salt).map_err(|e| ArchiveError::io(&self.dir, e))?;
        let id = bare(&self.new_id()?).to_owned();
        let named = match erasure.named {
            Named::Before(at) => at.to_string(),
            _ => data_encoding::HEXLOWER
                .encode(&Sha256::new_with_prefix(salt).chain_update(erasure.named.text()).finalize()),
        };
        let blank = Journal {
            v: Journal::VERSION,
            id: id.clone(),
            at: self.clock.wall().to_string(),
            kind: erasure.named.kind(erasure.depth).to_owned(),
            named,
            reason: erasure.reason.clone(),
            request: erasure.request.clone(),
            lines: 0,
            needle: None,
            pairs: Vec::new(),
            evidence: journal::EvidencePlan::default(),
            configs: Vec::new(),
            key: None,
            signature: None,
        };
        let dir = self.dir.clone();
        let (mut journal, mut report) =
            Planner::new(&dir, erasure, self.entropy.as_mut()).make(blank, self.config.crawl.config_digest)?;
        if !dry && (!journal.is_empty() || !matches!(erasure.named, Named::Before(_))) {
            remove_report(&dir)?;
        }
        if journal.is_empty() {
            return Ok(report);
        }
        (report.id, report.receipt) = (id, data_encoding::HEXLOWER.encode(&salt));
        if dry {
            return Ok(report);
        }
        steps.planned(&report);
        steps.before(Step::Journal)?;
        journal.store(&dir, self.config.signer.as_deref())?;
        carry::files(&dir, &journal, steps)?;
        self.conclude(&journal, steps)?;
        Ok(report)
    }

    /// Records the erasure, sums the changed files anew, and ends it.
    pub(crate) fn conclude(&mut self, journal: &Journal, steps: &mut dyn Steps) -> Result<(), ArchiveError> {
        // Once more: a page that was being made may have come since, and whoever makes one from here on finds the journal, or its record.
        remove_report(&self.dir)?;
        steps.before(Step::Event)?;
        let there = self.parts_there(journal)?;
        for part in events(journal).into_iter().filter(|part| !there.contains(&part.part)) {
            self.append_erasure(part)?;
        }
        self.forget_sums(&journal.changed());
        steps.before(Step::Checkpoint)?;
        self.roll()?;
        steps.before(Step::Done)?;
        Journal::remove(&self.dir)
    }

    /// Which parts of the erasure's record a process before this one has written.
    fn parts_there(&self, journal: &Journal) -> Result<Vec<u32>, ArchiveError> {
        let path = self.dir.join("records");
        let wrong = |problem: String| ArchiveError::Chain { path: path.clone(), problem };
        let mut there = Vec::new();
        for line in read_records_from(&self.dir, journal.lines).map_err(|e| wrong(e.to_string()))? {
            let line = line.map_err(|e| wrong(e.to_string()))?;
            let Content::Kept { body, .. } = &line.content else { continue };
            // Records of other kinds need not be read.
            if line.seq < journal.lines || !body.contains(&journal.id) {
                continue;
            }
            let record: Record = serde_json::from_str(body).map_err(|e| wrong(e.to_string()))?;
            there.extend(record.erasure.filter(|erasure| erasure.id == journal.id).map(|erasure| erasure.part));
        }
        Ok(there)
    }

    fn append_erasure(&mut self, erasure: ErasureRecord) -> Result<(), ArchiveError> {
        let erasure = erasure.sign(self.config.signer.as_deref());
        let id = self.new_id()?;
        let made = Made {
            crawl: &self.config.crawl,
            record_id: bare(&id).to_owned(),
            warc: None,
            robots_record: None,
            judged: None,
        };
        let record = build::erasure(erasure, self.clock.wall(), made);
        self.append_record(&record)
    }
}

/// The page that a report was written to, in a crawl's directory: it shows what was there before, so it goes with any erasure,
/// and is made anew on demand.
pub const REPORT_FILE: &str = "report.html";

fn remove_report(dir: &Path) -> Result<(), ArchiveError> {
    for name in [REPORT_FILE, "report.html.new"] {
        let path = dir.join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(ArchiveError::io(&path, error)),
            _ => {}
        }
    }
    Ok(())
}

/// Files below `dir` that still name a URL or an origin, by their paths in it: records and WARC files inflated, everything
/// else as it is. Bodies are searched as they are stored. What cannot be read is listed with the reason. Empty for what has
/// no name. Costs one pass over all of it.
///
/// # Errors
/// When the directory itself cannot be read.
pub fn files_that_name(dir: &Path, named: &Named) -> Result<Vec<String>, ArchiveError> {
    let Some(needle) = named.needle() else { return Ok(Vec::new()) };
    mention::files_that_name(dir, &needle).map_err(|e| ArchiveError::io(dir, e))
}

impl Named {
    /// Whether these bytes name the URL or the origin.
    #[must_use]
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        self.needle().is_some_and(|needle| needle.finds(bytes))
    }
}

impl Erasure {
    /// Whether reason and request can be used: they stand in the record, and must not say what goes.
    ///
    /// # Errors
    /// [`ArchiveError::Setting`] for the first that cannot.
    pub fn check(&self) -> Result<(), ArchiveError> {
        check(self)
    }
}

fn check(erasure: &Erasure) -> Result<(), ArchiveError> {
    let texts = [("reason", &erasure.reason, MOST_REASON), ("request", &erasure.request, MOST_REQUEST)];
    for (name, text, most) in texts {
        let length = text.chars().count();
        let named = erasure.named.needle().is_some_and(|needle| needle.finds(text.as_bytes()));
        let problem = match length {
            0 => format!("it is empty, 1 to {most} characters are wanted"),
            n if n > most => format!("{n} characters, at most {most} are taken"),
            _ if text.chars().any(char::is_control) => "it holds control characters".to_owned(),
            _ if named => "it names what is to be erased, and would stay".to_owned(),
            _ => continue,
        };
        return Err(ArchiveError::Setting { name, problem });
    }
    Ok(())
}

/// The records of an erasure, each of so many entries that it can be read.
fn events(journal: &Journal) -> Vec<ErasureRecord> {
    let mut parts = vec![ErasureRecord::default()];
    let mut room = MOST_ENTRIES;
    let mut add = |entry: Entry| {
        if room == 0 {
            parts.push(ErasureRecord::default());
            room = MOST_ENTRIES;
        }
        room -= 1;
        let Some(part) = parts.last_mut() else { return };
        match entry {
            Entry::Amended(amended) => part.amended.push(amended),
            Entry::Lines(run) => part.lines.push(run),
            Entry::Payloads(run) => part.payloads.push(run),
            Entry::Copy(digest) => part.copies.push(digest),
            Entry::Config(digest) => part.configs.push(digest),
        }
    };
    // Pairs are in the order of their names, lines in that of their numbers within a pair.
    let mut lines: Vec<(u64, u64)> = journal.pairs.iter().flat_map(|pair| pair.line_runs()).collect();
    lines.sort_unstable();
    lines.into_iter().for_each(|run| add(Entry::Lines(run)));
    let mut payloads: Vec<u64> = journal.pairs.iter().flat_map(|pair| pair.payloads.iter().copied()).collect();
    payloads.sort_unstable();
    runs(payloads).into_iter().for_each(|run| add(Entry::Payloads(run)));
    let amended = |line: &LinePlan| Some((line.seq, line.amended.as_ref()?.commitment.clone()));
    let mut all: Vec<_> = journal.pairs.iter().flat_map(|pair| pair.lines.iter().filter_map(amended)).collect();
    all.sort_unstable();
    all.into_iter().for_each(|one| add(Entry::Amended(one)));
    journal.evidence.named.iter().for_each(|digest| add(Entry::Copy(digest.clone())));
    journal.configs.iter().for_each(|digest| add(Entry::Config(digest.clone())));
    let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    for (part, number) in parts.iter_mut().zip(1..) {
        (part.part, part.parts) = (number, count);
        (part.id, part.at) = (journal.id.clone(), journal.at.clone());
        (part.kind, part.named) = (journal.kind.clone(), journal.named.clone());
        (part.reason, part.request) = (journal.reason.clone(), journal.request.clone());
        part.sightings = journal.evidence.sightings;
    }
    parts
}

/// One thing that an erasure names.
enum Entry {
    Amended((u64, String)),
    Lines((u64, u64)),
    Payloads((u64, u64)),
    Copy(String),
    Config(String),
}
