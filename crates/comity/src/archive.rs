//! Opens the archive of a crawl from its configuration.

use std::path::Path;
use std::sync::Arc;

use comity_archive::{
    Archive, CheckpointSigner, CrawlFacts, CrawlLock, Disk, EvidenceStore, OsEntropy, SharedArchive, Use,
};
use comity_fetch::signature::SigningKey;
use comity_frontier::RecordMark;
use comity_gate::StateDir;
use comity_policy::{Clock, Digest, OnUnreachable};
use sha2::{Digest as _, Sha256};

use crate::Error;
use crate::config::CrawlConfig;
use crate::erasing::prune;
use crate::keep::{Exposed, Store};
use crate::open::Work;

/// Opens the archive in a directory that was claimed; one that is there goes on. `queue` is told how many records are whole, before
/// any is written: what is written here takes the numbers of those that a power cut took.
///
/// # Errors
/// When the directory cannot be used or written.
pub(crate) fn open(
    dir: &Path,
    config: &CrawlConfig,
    clock: &Arc<dyn Clock>,
    state: Option<Arc<StateDir>>,
    (disk, work, exposed, lock): (Arc<dyn Disk>, Work, Arc<Exposed>, Arc<CrawlLock>),
    queue: &mut dyn FnMut(u64, RecordMark) -> Result<(), Error>,
) -> Result<Store, Error> {
    let text = resolved_text(config)?;
    let mut settings = settings(dir, config, &**clock, digest(&text));
    settings.lock = Some(lock.clone());
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
    settings.warc = config.archive.warc.is_some();
    settings.signer =
        config.archive.signing_key.clone().map(|key| Arc::new(KeySigner(key)) as Arc<dyn CheckpointSigner>);
    if let Some(warc) = config.archive.warc {
        (settings.format, settings.level, settings.dedup) = (warc.format, warc.level, warc.dedup);
        settings.rollover = warc.rollover;
    }
    settings
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

/// By what records name a configuration.
pub(crate) fn digest(text: &str) -> Digest {
    Digest::from_bytes(Sha256::digest(text.as_bytes()).into())
}

/// What `crawl.toml` holds.
///
/// # Errors
/// When the configuration cannot be written as TOML.
pub(crate) fn resolved_text(config: &CrawlConfig) -> Result<String, Error> {
    toml::to_string_pretty(&config.resolved())
        .map_err(|e| Error::internal(format!("the configuration cannot be written as TOML: {e}")))
}

/// Opens what outlives the process: the directory that crawls share, or one inside the crawl directory `dir`; nothing
/// for a crawl that keeps nothing.
///
/// # Errors
/// When another process holds it, or it cannot be read or written.
pub(crate) fn open_state(
    dir: Option<&Path>,
    config: &CrawlConfig,
    clock: &Arc<dyn Clock>,
    work: Work,
) -> Result<Option<Arc<StateDir>>, Error> {
    let inside = || dir.map(|dir| dir.join("state"));
    let Some(folder) = config.state_dir.clone().or_else(inside) else { return Ok(None) };
    let state = StateDir::open(&folder.join("gate"), clock.wall())?;
    Ok(Some(Arc::new(if work == Work::Inline { state.inline() } else { state })))
}

/// Sixteen secret bytes: the key of the seen-set's fingerprints, so that no site can aim collisions at it.
///
/// # Errors
/// When the system has no randomness to give.
pub(crate) fn fresh_key() -> Result<[u8; 16], Error> {
    let mut key = [0; 16];
    getrandom::fill(&mut key).map_err(|e| Error::internal(format!("the system gives no random bytes: {e}")))?;
    Ok(key)
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
