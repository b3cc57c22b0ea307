use std::sync::Arc;

use comity_policy::{Digest, Identity, Overrides};

use crate::{ArchiveError, CheckpointSigner, CrawlLock, QueryForm};

/// The settings of an archive: the `[archive]` section, resolved, and what every file says about the crawl.
#[derive(Clone, Debug)]
pub struct ArchiveConfig {
    /// First part of file names: 1 to 64 of `A-Z a-z 0-9 . _ -`.
    pub prefix: String,
    /// Last part of file names, of the same characters; `None` takes six random hex digits. Never a host name
    /// unless the operator says so.
    pub tag: Option<String>,
    /// Write WARC files; records are always written.
    pub warc: bool,
    /// How each record is compressed.
    pub format: WarcFormat,
    /// Level of the compression, 0 to 9 (default 3: design §7).
    pub level: u32,
    /// A body that this run stored before becomes a `revisit` that points at it (default off: some who read WARC files
    /// pass over revisits). Never for bodies that are truncated or below 512 bytes, nor for robots.txt; the last 32,768
    /// bodies are remembered.
    pub dedup: bool,
    /// A file that has reached this many bytes is closed before the next event (default 1 GB).
    pub rollover: u64,
    /// Bytes that must stay free on the device (default 2 GB); 0 switches the check off. Not checked on systems that
    /// do not say.
    pub min_free: u64,
    /// The directory's lock, where the caller took it already, with what else lies there; `None` lets the archive take it.
    pub lock: Option<Arc<CrawlLock>>,
    /// What is written of the queries of URLs (default: they are kept).
    pub query: QueryForm,
    /// What signs the checkpoints; `None` leaves them unsigned.
    pub signer: Option<Arc<dyn CheckpointSigner>>,
    /// What every file says about the crawl.
    pub crawl: CrawlFacts,
}

/// How the records of a WARC file are compressed: each as a member of its own.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WarcFormat {
    /// `.warc.gz`: what every reader takes.
    #[default]
    Gzip,
    /// `.warc.zst`: a frame per record with its size and checksum, without a dictionary; few readers take it.
    Zstd,
}

impl WarcFormat {
    /// How the names of its files end.
    pub(crate) const fn ending(self) -> &'static str {
        match self {
            Self::Gzip => ".warc.gz",
            Self::Zstd => ".warc.zst",
        }
    }
}

/// What every file says about the crawl it belongs to.
#[derive(Clone, Debug)]
pub struct CrawlFacts {
    /// Name or id of the crawl: `isPartOf`, and `crawl` of the records.
    pub id: String,
    /// Who crawls: User-Agent, contact, tokens, declared purposes.
    pub identity: Identity,
    /// The `From` header, if one is sent.
    pub from: Option<String>,
    /// The person or organisation answerable for the crawl.
    pub operator: Option<String>,
    /// A sentence about the crawl.
    pub description: Option<String>,
    /// The robots policy of the whole crawl: `obey; RFC 9309; …`.
    pub robots: String,
    /// Written exceptions from it: every file begins with them.
    pub overrides: Overrides,
    /// SHA-256 of the resolved configuration.
    pub config_digest: Option<Digest>,
}

/// The part of [`CrawlFacts`] that another configuration may change while a crawl runs.
#[derive(Clone, Debug)]
pub struct ConfigFacts {
    /// As [`CrawlFacts::config_digest`].
    pub config_digest: Option<Digest>,
    /// As [`CrawlFacts::robots`].
    pub robots: String,
    /// As [`CrawlFacts::overrides`].
    pub overrides: Overrides,
}

impl ArchiveConfig {
    /// The defaults of design §7.
    #[must_use]
    pub fn new(crawl: CrawlFacts) -> Self {
        Self {
            prefix: "comity".to_owned(),
            tag: None,
            warc: true,
            format: WarcFormat::Gzip,
            level: 3,
            dedup: false,
            rollover: 1_000_000_000,
            min_free: 2_000_000_000,
            query: QueryForm::Keep,
            lock: None,
            signer: None,
            crawl,
        }
    }

    /// # Errors
    /// [`ArchiveError::Setting`] for the first setting that cannot be used.
    pub(crate) fn check(&self) -> Result<(), ArchiveError> {
        check_word("archive.prefix", &self.prefix)?;
        if let Some(tag) = &self.tag {
            check_word("archive.tag", tag)?;
        }
        if self.level > 9 {
            return Err(setting("archive.level", format!("{} is not a level, 0 to 9", self.level)));
        }
        Ok(())
    }
}

impl CrawlFacts {
    /// A crawl with nothing but its name and who does it; robots are obeyed by RFC 9309.
    #[must_use]
    pub fn new(id: impl Into<String>, identity: Identity) -> Self {
        Self {
            id: id.into(),
            identity,
            from: None,
            operator: None,
            description: None,
            robots: "obey; RFC 9309".to_owned(),
            overrides: Overrides::default(),
            config_digest: None,
        }
    }

    /// Takes these in; gives what was there.
    pub(crate) fn replace(&mut self, facts: ConfigFacts) -> ConfigFacts {
        let ConfigFacts { config_digest, robots, overrides } = facts;
        ConfigFacts {
            config_digest: std::mem::replace(&mut self.config_digest, config_digest),
            robots: std::mem::replace(&mut self.robots, robots),
            overrides: std::mem::replace(&mut self.overrides, overrides),
        }
    }
}

fn check_word(name: &'static str, word: &str) -> Result<(), ArchiveError> {
    let fits = (1..=64).contains(&word.len())
        && !word.starts_with(['.', '-'])
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if fits { Ok(()) } else { Err(setting(name, format!("{word:?} is not 1 to 64 of A-Z a-z 0-9 . _ -"))) }
}

const fn setting(name: &'static str, problem: String) -> ArchiveError {
    ArchiveError::Setting { name, problem }
}
