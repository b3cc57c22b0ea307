//! Opens the archive of a crawl from its configuration.

use std::path::Path;
use std::sync::Arc;

use comity_archive::{
    Archive, ArchiveError, CheckpointSigner, CrawlFacts, CrawlLock, Depth, Disk, Erasure, ErasureReport, EvidenceStore,
    Named, OsEntropy, RealDisk, SharedArchive, Use,
};
pub(crate) use comity_archive::{LOCK_FILE, READING_FILE};
use comity_fetch::signature::SigningKey;
use comity_frontier::RecordMark;
use comity_policy::{Clock, Digest, OnUnreachable, WallTime};

use crate::Error;
use crate::config::{ArchiveConfig, CrawlConfig};
use crate::keep::{Exposed, Store};
use crate::marking::{digest, resolved_text};
use crate::open::Work;
use crate::remembered::Remembered;

/// Where its files are written; by default this machine's disk.
pub(crate) type Files = Option<Arc<dyn Disk>>;

/// A crawl directory that is this process's alone.
pub(crate) type Held = Arc<CrawlLock>;

/// Takes a directory for a crawl.
///
/// # Errors
/// When another process has it, or its lock cannot be written.
pub(crate) fn hold(dir: &Path) -> Result<Held, Error> {
    Ok(Arc::new(CrawlLock::take(dir, Use::Crawl)?))
}

/// Opens the archive in a directory that was claimed; one that is there goes on. `queue` is told how many records are whole, before
/// any is written: what is written here takes the numbers of those that a power cut took.
///
/// # Errors
/// When the directory cannot be used or written.
pub(crate) fn open(
    dir: &Path,
    config: &CrawlConfig,
    clock: &Arc<dyn Clock>,
    state: Remembered,
    (files, work, exposed, lock): (Files, Work, Arc<Exposed>, Held),
    queue: &mut dyn FnMut(u64, RecordMark) -> Result<(), Error>,
) -> Result<Store, Error> {
    let text = resolved_text(config)?;
    let mut settings = settings(dir, config, &**clock, digest(&text));
    settings.lock = Some(lock.clone());
    let disk = files.unwrap_or_else(|| Arc::new(RealDisk));
    let mut archive = Archive::create_on(disk, dir, settings, clock.clone(), Box::new(OsEntropy))?;
    let (mark, whole) =
        (RecordMark::default(), |archive: &Archive| archive.chain_head().map_or(0, |head| head.seq + 1));
    mark.safe(whole(&archive));
    queue(whole(&archive), mark.clone())?;
    // Before anything else is written: what is too old is not gone on with.
    lock.says(Use::Prune)?;
    prune(&mut archive, &config.archive, &**clock, false)?;
    lock.says(Use::Crawl)?;
    let evidence = EvidenceStore::open(dir)?;
    mark.safe(whole(&archive));
    archive.rest_on(evidence.unsynced());
    let archive = SharedArchive::new(archive, Box::new(OsEntropy))?;
    Ok(Store::new(archive, evidence, dir.to_owned(), work, state, (clock.now(), mark, exposed), lock))
}

/// The settings of the archive in `dir`; `config_digest` is of the text in `crawl.toml`.
pub(crate) fn settings(
    dir: &Path,
    config: &CrawlConfig,
    clock: &dyn Clock,
    config_digest: Digest,
) -> comity_archive::ArchiveConfig {
    let facts = CrawlFacts {
        robots: robots_policy(config),
        overrides: config.overrides.clone(),
        from: config.identity.from().map(ToOwned::to_owned),
        config_digest: Some(config_digest),
        ..CrawlFacts::new(crawl_id(dir, clock), config.identity.clone())
    };
    let mut settings = comity_archive::ArchiveConfig::new(facts);
    settings.min_free = config.archive.min_free;
    settings.query = config.archive.query;
    settings.warc = config.archive.warc.is_some();
    settings.signer =
        config.archive.signing_key.clone().map(|key| Arc::new(KeySigner(key)) as Arc<dyn CheckpointSigner>);
    if let Some(warc) = config.archive.warc {
        (settings.format, settings.level, settings.dedup) = (warc.format, warc.level, warc.dedup);
        settings.rollover = warc.rollover;
    }
    settings
}

/// Erases what is older than `[archive] keep_payload` and `keep_records` say, in an archive that was just opened. Gives a report of
/// each that is set.
///
/// # Errors
/// As [`Archive::erase`].
pub(crate) fn prune(
    archive: &mut Archive,
    keeps: &ArchiveConfig,
    clock: &dyn Clock,
    dry: bool,
) -> Result<Vec<(&'static str, ErasureReport)>, ArchiveError> {
    let rows =
        [("keep_records", keeps.keep_records, Depth::Records), ("keep_payload", keeps.keep_payload, Depth::Payload)];
    let mut reports = Vec::new();
    for (key, kept, depth) in rows {
        let Some(kept) = kept else { continue };
        let millis = i64::try_from(kept.as_millis()).unwrap_or(i64::MAX);
        let before = clock.wall().unix_millis().saturating_sub(millis);
        let named = Named::Before(WallTime::from_unix_millis(before));
        let reason = format!("[archive] {key} = {}s", kept.as_secs());
        let erasure = Erasure { named, depth, mentions: false, reason, request: "retention".to_owned() };
        reports.push((key, archive.erase(&erasure, dry)?));
    }
    Ok(reports)
}

/// Signs checkpoints with a key of the fetcher's kind.
#[derive(Debug)]
struct KeySigner(SigningKey);

impl CheckpointSigner for KeySigner {
    fn public(&self) -> String {
        self.0.public().to_owned()
    }

    fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.sign_bytes(bytes)
    }
}

/// The name of a crawl: its directory's and its first second.
fn crawl_id(dir: &Path, clock: &dyn Clock) -> String {
    let name = dir.file_name().map(|name| name.to_string_lossy().into_owned());
    format!("{}-{}", name.unwrap_or_else(|| "crawl".to_owned()), clock.wall().digits14())
}

/// The `robots` field of the warcinfo records.
pub(crate) fn robots_policy(config: &CrawlConfig) -> String {
    let dialect = match config.robots.dialect {
        comity_robots::Dialect::Google => "google",
        comity_robots::Dialect::Standard => "standard",
    };
    let unreachable = match config.robots.on_unreachable {
        OnUnreachable::Rfc9309 => "rfc9309",
        OnUnreachable::Google => "google",
    };
    let overrides = config.overrides.all().len();
    format!("obey; RFC 9309; dialect {dialect}; on_unreachable {unreachable}; overrides {overrides}")
}
