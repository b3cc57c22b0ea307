//! The record of one URL outcome: what was known at collection time.

pub(crate) mod absent;
pub(crate) mod build;
mod decision;
pub(crate) mod erasure;
mod judged;
pub(crate) mod metadata;
mod parts;
mod places;
mod remarks;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use decision::{DecisionRecord, GrantRecord, OptOutRecord, PurposeRecord, StageRecord};
pub(crate) use decision::{LiftedRecord, OverrideRecord};
pub use erasure::ErasureRecord;
pub use places::{RawText, WarcPlace, WarcPlaces};
pub use remarks::{ConstraintsRecord, DiagnosticRecord, OmittedRecord, PriceRecord};

/// The schema that [`Record`] is an instance of.
pub const RECORD_SCHEMA: &str = "comity-record/1";

/// One URL outcome, refusals too. Serialises with its keys in alphabetical order: the very bytes that the chain
/// commits to (RFC 8785).
///
/// Times are RFC 3339 in UTC with milliseconds, spans are milliseconds, digests are lower-case hex SHA-256. Whatever is
/// `null` is named in `absent` with its reason. The fields are those of the provenance record of the signals
/// reference §14.1, as far as they exist yet; each is explained in `docs/reference/records.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Path of every null field, and why it is null.
    pub absent: BTreeMap<String, String>,
    /// Who asked.
    pub agent: AgentRecord,
    /// What was known of the site's ai.txt; left out where it was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ai_txt: Option<SiteFileRecord>,
    /// What the site asks whatever the purpose; left out where that is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraints: Option<ConstraintsRecord>,
    /// Name or id of the crawl.
    pub crawl: String,
    /// What was decided and when; null where nothing had to be decided.
    pub decision: Option<DecisionRecord>,
    /// More about a failure, for people.
    pub detail: Option<String>,
    /// What was odd about the signals that were read, at most 32; left out where nothing was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<DiagnosticRecord>,
    /// How the URL was found.
    pub discovery: Discovery,
    /// What was erased; only in records of errand `erasure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erasure: Option<ErasureRecord>,
    /// `page`, `robots`, `tdmrep`, `ai_txt`, `trust_txt`, `licence` or `terms` for a file in which a site speaks about use and what leads there, or
    /// `erasure` for a record that is of no URL.
    pub errand: String,
    /// Tokens of the robots group that applied, as written; `["*"]` for the global one. At most 64 of 256 bytes.
    pub group: Option<Vec<String>>,
    /// The licences that robots.txt and the answer name, and what was known of each; left out where there are none, or none is
    /// asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub licences: Vec<LicenceRecord>,
    /// How much of `group` and `signals` was left out: a site cannot make records grow without end.
    pub omitted: OmittedRecord,
    /// `fetched`, `not_modified`, `withheld` (answered, and by what the answer says nothing of its body is kept), `failed`
    /// (asked, no full answer) or `not_fetched`; `erased` for an erasure.
    pub outcome: String,
    /// What stands for the query of `url`: `hashed` or `dropped`; left out where it is there, or there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The code of the outcome, from the one vocabulary of reasons.
    pub reason: String,
    /// `urn:uuid:…` of this record; equals the id of the WARC metadata record of the event where there is one.
    pub record_id: String,
    /// What was sent.
    pub request: Option<RequestRecord>,
    /// What came back.
    pub response: Option<ResponseRecord>,
    /// The robots.txt that the decision rests on.
    pub robots: Option<RobotsRecord>,
    /// The robots rule that decided.
    pub rule: Option<RuleRecord>,
    /// [`RECORD_SCHEMA`].
    pub schema: String,
    /// The statements about use that took part in the decision: at most 64, the first denial of each purpose always.
    pub signals: Vec<SignalRecord>,
    /// Name and version of what wrote this.
    pub software: String,
    /// What was known of the site's tdmrep.json; left out where it was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tdmrep: Option<SiteFileRecord>,
    /// Links to terms and licences in prose that the answer names, at most 8; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<TermsRecord>,
    /// When, and how long.
    pub time: TimeRecord,
    /// What was known of the site's trust.txt; left out where it was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_txt: Option<SiteFileRecord>,
    /// Until when the URL waits.
    pub until: Option<String>,
    /// The URL that was judged and sent; cut to 4,096 bytes.
    pub url: String,
    /// Its length in bytes before cutting.
    pub url_length: u64,
    /// From where to where.
    pub vantage: VantageRecord,
    /// Where the WARC records of the event lie.
    pub warc: Option<WarcPlaces>,
}

/// Who asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Digest of the resolved configuration.
    pub config_digest: Option<String>,
    /// The contact in the User-Agent.
    pub contact: String,
    /// The `From` header.
    pub from: Option<String>,
    /// Person or organisation answerable for the crawl.
    pub operator: Option<String>,
    /// Product tokens, in the order of fallback.
    pub product_tokens: Vec<String>,
    /// What the content was wanted for.
    pub purposes: Vec<String>,
    /// The User-Agent as sent.
    pub user_agent: String,
}

/// How the URL was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discovery {
    /// Which try this was, from 1.
    pub attempt: u32,
    /// Links from the seed.
    pub depth: u32,
    /// Redirects in a row before this URL.
    pub hops: u32,
    /// True for a seed.
    pub seed: bool,
    /// The page that named it.
    pub via: Option<String>,
}

/// What was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// The head as written to the wire, secrets replaced by `(withheld)`.
    pub head: RawText,
    /// Its method.
    pub method: String,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseRecord {
    /// SHA-256 of the body in its content coding, as stored: `comity-payload-sha256` of the WARC metadata.
    pub body_digest: String,
    /// Length of that body.
    pub body_length: u64,
    /// Length after decoding, as far as it was decoded.
    pub decoded_length: u64,
    /// Field names and values in wire order; values of `Set-Cookie` are replaced by `(withheld)`.
    pub fields: Vec<(String, RawText)>,
    /// The media type as stated, with its parameters.
    pub media_type: Option<String>,
    /// The earlier capture that holds the content; null where this one does.
    #[serde(default)]
    pub repeats: Option<RepeatsRecord>,
    /// HTTP status.
    pub status: u16,
    /// Why the body is cut, if it is: `length`, `time`, `disconnect`, `unspecified`.
    pub truncated: Option<String>,
}

/// The capture that holds the content of another; never one that repeats a third.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatsRecord {
    /// When it began.
    pub date: String,
    /// Why the content was not stored again: `identical-payload-digest` or `server-not-modified`.
    pub profile: String,
    /// `urn:uuid:…` of its WARC response record.
    pub record: Option<String>,
    /// Where it was fetched from; cut to 4,096 bytes.
    pub url: String,
}

/// The robots.txt behind a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsRecord {
    /// Its age when it was used.
    pub age_ms: Option<u64>,
    /// Decoded bytes read.
    pub bytes: u64,
    /// The Crawl-delay asked for.
    pub crawl_delay_ms: Option<u64>,
    /// SHA-256 of its decoded bytes: the name of the copy in the evidence store.
    pub digest: Option<String>,
    /// Until when it lived.
    pub expires: Option<String>,
    /// When it was received.
    pub fetched: Option<String>,
    /// Where its redirects ended.
    pub final_url: Option<String>,
    /// The origin whose rules it is.
    pub for_origin: String,
    /// First line of the group that applied.
    pub group_line: Option<u32>,
    /// What AI agents of others that the file names meet at the URL, by class: evidence of intent (signals reference §3.4). Left out
    /// where it names none, or they are not looked at.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, OthersRecord>,
    /// `WARC-Record-ID` of its response, without angle brackets.
    pub record: Option<String>,
    /// `fresh`, `stale_ok`, `absent`, `redirect_limit`, `unreachable` or `not_applicable`.
    pub state: String,
    /// HTTP status of its final answer.
    pub status: Option<u16>,
    /// True when the file was longer than what is parsed.
    pub truncated: bool,
}

/// One class of agents of others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OthersRecord {
    /// Those of the named whose group refuses the URL.
    pub denied: Vec<String>,
    /// Those that the file names.
    pub named: Vec<String>,
}

/// A licence behind a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LicenceRecord {
    /// When it was asked for last; of one within a page, when that came.
    pub asked: String,
    /// Where it is named: `robots.txt`, `link field`, `link element` or `inline`.
    pub carrier: String,
    /// SHA-256 of the copy that holds: its name in the evidence store.
    pub digest: Option<String>,
    /// When that was received.
    pub fetched: Option<String>,
    /// Where redirects led, cut to 2,048 bytes.
    pub final_url: Option<String>,
    /// `read`, `absent`, `redirect_limit`, `unreachable` or `not_asked`.
    pub state: String,
    /// HTTP status of the last answer.
    pub status: Option<u16>,
    /// Where it stands, cut to 2,048 bytes; of one within a page, that page.
    pub url: String,
}

/// A link to terms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsRecord {
    /// `terms-of-service`, `license`, `tdm-policy` or `rsl`.
    pub rel: String,
    /// Where it leads, cut to 2,048 bytes.
    pub url: String,
}

/// The file of a site behind a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteFileRecord {
    /// When it was asked for last.
    pub asked: String,
    /// SHA-256 of the copy that holds: its name in the evidence store.
    pub digest: Option<String>,
    /// When that was received.
    pub fetched: Option<String>,
    /// Where redirects led, cut to 2,048 bytes.
    pub final_url: Option<String>,
    /// `read`, `absent`, `redirect_limit`, `unreachable` or `not_asked`.
    pub state: String,
    /// HTTP status of the last answer.
    pub status: Option<u16>,
}

/// The rule that decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRecord {
    /// First line of its group.
    pub group_line: u32,
    /// `allow` or `disallow`.
    pub kind: String,
    /// Its line, from 1.
    pub line: u32,
    /// The pattern as written.
    pub pattern: String,
    /// Octets of the escaped pattern.
    pub priority: u32,
}

/// One statement about use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalRecord {
    /// True when it is a permission whose condition is not met.
    #[serde(default)]
    pub conditional: bool,
    /// True when inferred from a statement on another purpose.
    pub derived: bool,
    /// The path pattern it is limited to, cut to 2,048 bytes.
    pub path: Option<String>,
    /// Where it stood: `line 12`, `header 0`, `rule 3`, `element 1` or `whole`.
    pub place: String,
    /// The purpose spoken about.
    pub purpose: String,
    /// The exact text, cut to 2,048 bytes.
    pub raw: String,
    /// True for a reservation under Article 4(3) CDSM.
    pub reservation: bool,
    /// The carrier, by its id of the signals catalogue.
    pub source: String,
    /// The document, with its version or date, by which it was read; empty in records of earlier versions.
    #[serde(default)]
    pub spec: String,
    /// `allowed` or `denied`.
    pub verdict: String,
}

/// When, and how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeRecord {
    /// From the response head to the end of the body.
    pub body_ms: Option<u64>,
    /// Connecting, TLS included.
    pub connect_ms: Option<u64>,
    /// Looking up the name; only with the first connection that rests on the look-up.
    #[serde(default)]
    pub dns_ms: Option<u64>,
    /// The end of the exchange; for what was not fetched, when that was settled.
    pub ended: String,
    /// From the written request to the response head.
    pub head_ms: Option<u64>,
    /// The begin of the exchange.
    pub started: String,
    /// The TLS handshake, a part of connecting.
    #[serde(default)]
    pub tls_ms: Option<u64>,
    /// The whole.
    pub total_ms: Option<u64>,
}

/// From where to where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VantageRecord {
    /// `direct`, the exit country as claimed, or `exit` where none is.
    pub exit: Option<String>,
    /// `http/1.0`, `http/1.1` or `h2`.
    pub protocol: Option<String>,
    /// Address of the peer that was connected to.
    pub server_ip: Option<String>,
    /// What the TLS handshake showed.
    pub tls: Option<TlsRecord>,
    /// The proxy that it left through.
    pub via: Option<ViaRecord>,
}

/// The proxy that an exchange left through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViaRecord {
    /// Its autonomous system, as claimed.
    pub asn: Option<u32>,
    /// `tunnel` or `forward`.
    pub form: String,
    /// Who looked the site's name up: `here` or `exit`.
    pub names: String,
    /// Name of its pool.
    pub pool: Option<String>,
    /// Scheme, host and port; never of an exit at somebody's home.
    pub proxy: Option<String>,
}

/// What a TLS handshake showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsRecord {
    /// The protocol that both sides agreed on (ALPN).
    #[serde(default)]
    pub alpn: Option<String>,
    /// SHA-256 of the end-entity certificate.
    pub certificate_sha256: String,
    /// IANA name of the cipher suite.
    pub cipher: String,
    /// `tls/1.2` or `tls/1.3`.
    pub version: String,
}
