//! What a crawl holds about one origin, in one ZIP file that proves itself: for a site's owner, for counsel, for a court.
//!
//! `records.jsonl` the origin's record lines, `chain.txt` the commitment of every line, `checkpoints.jsonl` and `chain` as they
//! are, `evidence/` the copies behind the decisions, `warc/` the origin's WARC members, copied whole; the pages of the caller;
//! `dossier.json` with the digest of each. The same crawl gives the same bytes.
//!
//! Of other origins it holds commitments, which give nothing away without their salts.

mod bundle;
mod copies;
pub(crate) mod lines;
pub(crate) mod members;
mod withheld;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use comity_policy::Digest;
use comity_url::Origin;
use serde::Serialize;

use self::bundle::Bundle;
use self::copies::Kept;
use self::lines::Lines;
use crate::checkpoint::CHECKPOINTS;
use crate::disk::sync_folder;
use crate::warc::info::SOFTWARE;
use crate::{ArchiveError, ChainHead, Checkpoint, Record, Sighting};

/// The schema of `dossier.json`.
pub const DOSSIER_SCHEMA: &str = "comity-dossier/1";
/// The chain's head, below the crawl directory.
const CHAIN: &str = "chain";

/// What a dossier holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DossierFacts {
    /// Whose it is.
    pub origin: Origin,
    /// Name of the crawl.
    pub crawl: Option<String>,
    /// Lines of the chain.
    pub lines: u64,
    /// Lines of the origin.
    pub records: u64,
    /// Of these, shown without what they say of another origin: their commitments cannot be made again from what is shown.
    pub withheld: u64,
    /// Lines of the chain whose content was erased: of which origin they were is not known.
    pub erased: u64,
    /// The last line.
    pub head: Option<ChainHead>,
    /// Every checkpoint, in order.
    pub checkpoints: Vec<Checkpoint>,
    /// Copies of robots.txt and the like, by digest.
    pub copies: Vec<DossierCopy>,
    /// WARC members copied.
    pub members: u64,
    /// Records of the WARC that lines name and that are not there any more.
    pub gone: u64,
}

/// A copy of robots.txt, or of another file that decisions rest on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DossierCopy {
    /// SHA-256 of its bytes: its name.
    pub digest: Digest,
    /// Their number; `None` when they are not there any more.
    pub bytes: Option<u64>,
    /// When and where it was seen at the origin itself, oldest first.
    pub seen: Vec<Sighting>,
}

/// The pages for people in a dossier.
pub trait DossierPages {
    /// Hears of every record of the origin, in the order of the chain, without what is withheld: paths of what was left out.
    fn record(&mut self, seq: u64, record: &Record, withheld: &[&'static str]);
    /// Names and bytes of the pages, once everything was heard.
    fn pages(&mut self, facts: &DossierFacts) -> Vec<(&'static str, Vec<u8>)>;
}

/// How a dossier is made.
#[derive(Clone, Debug)]
pub struct DossierSettings {
    /// Whose it is.
    pub origin: Origin,
    /// Give records whole that name a page of another origin, or the origin whose robots.txt a request was for.
    pub with_others: bool,
}

/// Writes what the crawl in `dir` holds about an origin to `file`, which must not exist: as a whole, or not at all.
///
/// Reads the records twice, and of the WARC files the origin's members. Memory: what `pages` keeps, a few dozen bytes for each
/// of the origin's records, and the checkpoints.
///
/// # Errors
/// When the chain or a checkpoint does not hold (a dossier of a changed directory proves nothing), when the directory holds no
/// record of the origin, and when something cannot be read or written.
pub fn write_dossier(
    dir: &Path,
    file: &Path,
    settings: &DossierSettings,
    pages: &mut dyn DossierPages,
) -> Result<DossierFacts, ArchiveError> {
    if file.exists() {
        return Err(ArchiveError::export(file, "it exists already: name another file, or remove it"));
    }
    let mut tmp = file.as_os_str().to_owned();
    tmp.push(".tmp");
    let tmp = std::path::PathBuf::from(tmp);
    let written = write_to(&tmp, dir, settings, pages).and_then(|facts| {
        std::fs::rename(&tmp, file).map_err(|e| ArchiveError::io(file, e))?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        sync_folder(folder).map_err(|e| ArchiveError::io(folder, e))?;
        Ok(facts)
    });
    if written.is_err() {
        drop(std::fs::remove_file(&tmp));
    }
    written
}

fn write_to(
    tmp: &Path,
    dir: &Path,
    settings: &DossierSettings,
    pages: &mut dyn DossierPages,
) -> Result<DossierFacts, ArchiveError> {
    let mut bundle = Bundle::create(tmp)?;
    // Read before the records, which may grow.
    let seals = Seals::read(dir)?;
    let found = Lines::read(dir, settings, &seals, &mut bundle, pages)?;
    if found.records == 0 {
        let problem = format!("the crawl holds no record of {}", settings.origin.as_str());
        return Err(ArchiveError::export(dir, problem));
    }
    lines::write_chain(dir, found.lines, &mut bundle)?;
    for (name, bytes) in &seals.files {
        bundle.add(name, |to| to.write_all(bytes))?;
    }
    let copies = Kept::of(dir, &settings.origin, &found.digests)?.write(&mut bundle)?;
    let moved = members::copy(dir, &settings.origin, &found, &mut bundle)?;
    let facts = DossierFacts {
        origin: settings.origin.clone(),
        crawl: found.crawl,
        lines: found.lines,
        records: found.records,
        withheld: found.withheld,
        erased: found.erased,
        head: found.head,
        checkpoints: seals.checkpoints,
        copies,
        members: moved.copied,
        gone: moved.gone,
    };
    for (name, bytes) in pages.pages(&facts) {
        bundle.add(name, |to| to.write_all(&bytes))?;
    }
    bundle.add_manifest(|files| manifest(&facts, files))?;
    bundle.finish()?;
    Ok(facts)
}

/// What speaks for the chain.
pub(crate) struct Seals {
    pub(crate) checkpoints: Vec<Checkpoint>,
    head: Option<ChainHead>,
    /// The files, as they are.
    files: Vec<(&'static str, Vec<u8>)>,
}

impl Seals {
    pub(crate) fn read(dir: &Path) -> Result<Self, ArchiveError> {
        let mut files = Vec::new();
        for name in [CHECKPOINTS, CHAIN] {
            let path = dir.join(name);
            match std::fs::read(&path) {
                Ok(bytes) => files.push((name, bytes)),
                // Crawls of the first versions have no checkpoints.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(ArchiveError::io(&path, error)),
            }
        }
        let text = files.iter().find(|(name, _)| *name == CHECKPOINTS).map_or(&[][..], |(_, bytes)| bytes);
        let checkpoints = checkpoints(text).map_err(|problem| {
            let problem = format!("{problem}: `comity verify` tells more");
            ArchiveError::Chain { path: dir.join(CHECKPOINTS), problem }
        })?;
        Ok(Self { checkpoints, head: ChainHead::load(dir)?, files })
    }
}

/// Each holds by itself, follows the one before, and names no fewer lines.
fn checkpoints(text: &[u8]) -> Result<Vec<Checkpoint>, String> {
    let text = std::str::from_utf8(text).map_err(|e| e.to_string())?;
    let mut all: Vec<Checkpoint> = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let one = Checkpoint::parse(line).map_err(|e| format!("checkpoint {n}: {e}"))?;
        let follows = all.last().is_none_or(|last| one.prev == last.digest && one.lines >= last.lines);
        if one.n != n as u64 || !follows {
            return Err(format!("checkpoint {n} does not follow the one before"));
        }
        all.push(one);
    }
    Ok(all)
}

/// `dossier.json`.
#[derive(Serialize)]
struct Manifest<'a> {
    schema: &'static str,
    origin: &'a str,
    crawl: Option<&'a str>,
    software: &'static str,
    lines: u64,
    link: Option<String>,
    records: u64,
    withheld: u64,
    erased: u64,
    checkpoints: usize,
    keys: BTreeSet<&'a str>,
    copies: usize,
    members: u64,
    gone: u64,
    files: &'a [bundle::FileEntry],
}

fn manifest(facts: &DossierFacts, files: &[bundle::FileEntry]) -> serde_json::Result<Vec<u8>> {
    let manifest = Manifest {
        schema: DOSSIER_SCHEMA,
        origin: facts.origin.as_str(),
        crawl: facts.crawl.as_deref(),
        software: SOFTWARE,
        lines: facts.lines,
        link: facts.head.map(|head| head.link.to_string()),
        records: facts.records,
        withheld: facts.withheld,
        erased: facts.erased,
        checkpoints: facts.checkpoints.len(),
        keys: facts
            .checkpoints
            .iter()
            .filter_map(|one| one.signed.as_ref())
            .map(|signed| signed.key.as_str())
            .collect(),
        copies: facts.copies.len(),
        members: facts.members,
        gone: facts.gone,
        files,
    };
    let mut text = serde_json::to_vec_pretty(&manifest)?;
    text.push(b'\n');
    Ok(text)
}
