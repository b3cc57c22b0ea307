//! WARC files, record lines, their hash chain, and the evidence behind decisions.
//!
//! What it is: the storage of one crawl. Each URL outcome, a refusal too, becomes WARC/1.1 records (response or revisit, request,
//! metadata; a gzip member each, with a CDXJ index beside the file) and one line of a tamper-evident chain. Everything a site had asked for is kept once
//! per digest, with the dates it was seen.
//!
//! What it is not: a WARC library for other writers.
//! It fetches nothing and decides nothing: it is made from [`comity_policy::Capture`] and
//! [`comity_policy::Decision`] values.
//!
//! ```
//! use std::sync::Arc;
//! use comity_archive::{Archive, ArchiveConfig, Basis, Context, CrawlFacts, Event, NotFetched, OsEntropy, Target};
//! use comity_archive::{read_records, ChainVerifier};
//! use comity_policy::{Clock, Identity, Instant, Reason, WallTime};
//!
//! #[derive(Debug)]
//! struct Noon;
//! impl Clock for Noon {
//!     fn now(&self) -> Instant { Instant::START }
//!     fn wall(&self) -> WallTime { WallTime::from_unix_millis(1_796_040_000_000) }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let identity = Identity::new("MyBot/1.0", "https://example.com/bot", &[], Vec::new())?;
//! let config = ArchiveConfig { min_free: 0, ..ArchiveConfig::new(CrawlFacts::new("first crawl", identity)) };
//! let mut archive = Archive::create(dir.path(), config, Arc::new(Noon), Box::new(OsEntropy))?;
//!
//! let stored = archive.append(&Event::NotFetched(Box::new(NotFetched {
//!     target: Target::Text("mailto:someone@example.com".to_owned()),
//!     reason: Reason::UrlSyntax,
//!     basis: Basis::Rule,
//!     at: Noon.wall(),
//!     until: None,
//!     detail: None,
//!     context: Context::default(),
//! })))?;
//! assert_eq!(stored.seq, 0);
//! archive.close()?;
//!
//! let mut chain = ChainVerifier::default();
//! for line in read_records(dir.path())? {
//!     let line = line?;
//!     chain.step(&line)?;
//!     assert_eq!(line.record()?.map(|record| record.reason).as_deref(), Some("url.syntax"));
//! }
//! assert_eq!(chain.report().lines, 1);
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `archive`, `closing`, `event`, `config` | [`Archive`]: an [`Event`] in, a [`Stored`] out |
//! | `prepare`, `blocks`, `draft`, `repeats` | the work that needs no turn, digests too; which captures repeat an earlier one |
//! | `shared` | [`SharedArchive`]: many threads at once |
//! | `lock`, `reading` | [`CrawlLock`], [`ReadLock`]: one process at a time, and no erasure under a reader |
//! | `index`, `recovery` | CDXJ; what is made of files that were left open |
//! | `wacz` | [`write_wacz`]: a crawl as one file for replay |
//! | `table` | with the feature `parquet`: `write_table`, a crawl as a Parquet table |
//! | `dossier` | [`write_dossier`]: what it holds about one origin, as one file that proves itself |
//! | `export` | [`read_proven`]: records of a chain that holds; [`WarcCopy`]: their members copied whole |
//! | `warc` | heads made true to the stored body, the grammar, members; [`WarcReader`] |
//! | `record`, `records` | [`Record`]: what was known; its files; [`read_records`] |
//! | `chain` | [`Line`], [`verify_chain`], [`ChainHead`] |
//! | `checkpoint` | [`Checkpoint`]: sums of closed files and the chain's place, signed where a key is given |
//! | `erase` | [`Erasure`]: takes content out, and leaves the chain whole |
//! | [`verify`] | does a crawl directory still hold what was written? |
//! | `evidence`, `unsynced` | [`EvidenceStore`]: robots.txt copies, dated, once per digest; what of it a power cut may take |

#[cfg(test)]
extern crate self as comity_archive;

mod answers;
mod append_file;
mod archive;
mod blocks;
mod chain;
mod checkpoint;
mod closing;
mod config;
mod counting;
mod digests;
mod disk;
mod dossier;
mod draft;
mod entropy;
mod erase;
mod error;
mod event;
mod evidence;
mod export;
#[cfg(test)]
mod fault_tests;
mod index;
mod lock;
mod names;
mod prepare;
mod query;
mod record;
mod records;
mod recovery;
mod repeats;
mod resume;
mod robots_responses;
mod shared;
mod store_event;
mod stored;
#[cfg(feature = "parquet")]
mod table;
mod unsynced;
pub mod verify;
mod wacz;
mod warc;

pub use archive::Archive;
pub use chain::{ChainFault, ChainFile, ChainHead, ChainReport, ChainVerifier, Content, Line, LineError, verify_chain};
pub use checkpoint::{Checkpoint, CheckpointError, CheckpointSigner, FileSum, Prefix, Signed};
pub use config::{ArchiveConfig, ConfigFacts, CrawlFacts, WarcFormat};
pub use disk::{Backing, Disk, RealDisk};
pub use dossier::{DOSSIER_SCHEMA, DossierCopy, DossierFacts, DossierPages, DossierSettings, write_dossier};
pub use entropy::{Entropy, OsEntropy};
pub use erase::{Depth, Erasure, ErasureReport, Listed, Named, REPORT_FILE, Told, files_that_name, meant};
pub use error::ArchiveError;
pub use event::{Basis, Context, Earlier, Event, Fetched, NotFetched, Target, TermsLink};
pub use evidence::{EvidenceKind, EvidenceStore, Sighting};
pub use export::{Proven, WarcCopied, WarcCopy, WarcCopyFacts, read_proven};
pub use lock::{CrawlLock, LOCK_FILE, READING_FILE, ReadLock, Use};
pub use query::QueryForm;
pub use record::{
    AgentRecord, ConstraintsRecord, DecisionRecord, DiagnosticRecord, Discovery, ErasureRecord, GrantRecord,
    LicenceRecord, OmittedRecord, OptOutRecord, OthersRecord, PriceRecord, PurposeRecord, RECORD_SCHEMA, RawText,
    Record, RepeatsRecord, RequestRecord, ResponseRecord, RobotsRecord, RuleRecord, SignalRecord, SiteFileRecord,
    StageRecord, TermsRecord, TimeRecord, TlsRecord, VantageRecord, ViaRecord, WarcPlace, WarcPlaces,
};
pub use records::reader::{RecordsError, RecordsReader, TornFrame, read_records, read_records_from};
pub use shared::{PreparedEvent, SharedArchive};
pub use stored::{Stored, StoredWarc};
#[cfg(feature = "parquet")]
pub use table::{TABLE_SCHEMA, TableReport, TableRows, write_table};
pub use unsynced::UnsyncedEvidence;
pub use wacz::{WaczReport, WaczSettings, write_wacz};
pub use warc::reader::{Damage, WarcError, WarcReader};
pub use warc::record::{Grammar, WarcRecord};
pub use warc::stream::{WarcHead, WarcStream};
