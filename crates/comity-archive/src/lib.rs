//! WARC files, records and the hash chain.

mod append_file;
mod archive;
mod chain;
mod config;
mod counting;
mod digests;
mod disk;
mod entropy;
mod error;
mod event;
mod names;
mod record;
mod records;
mod store_event;
mod warc;

pub use archive::{Archive, Stored, StoredWarc};
pub use chain::{ChainFault, ChainHead, ChainReport, ChainVerifier, Content, Line, LineError, verify_chain};
pub use config::{ArchiveConfig, CrawlFacts};
pub use entropy::{Entropy, OsEntropy};
pub use error::ArchiveError;
pub use event::{Basis, Context, Event, Fetched, NotFetched, Target};
pub use record::{
    AgentRecord, DecisionRecord, Discovery, PurposeRecord, RECORD_SCHEMA, RawText, Record, RequestRecord,
    ResponseRecord, RobotsRecord, RuleRecord, SignalRecord, TimeRecord, TlsRecord, VantageRecord, WarcPlace,
    WarcPlaces,
};
pub use records::reader::{RecordsError, RecordsReader, TornFrame, read_records};
pub use warc::reader::{Damage, WarcError, WarcReader};
pub use warc::record::{Grammar, WarcRecord};
