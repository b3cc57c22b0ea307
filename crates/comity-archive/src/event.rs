use std::sync::Arc;

use comity_policy::{Capture, Decision, Digest, Errand, Reason, WallTime};
use comity_url::{CrawlUrl, Origin};

use crate::{EvidenceKind, QueryForm};

/// One URL outcome to be stored.
#[derive(Clone, Debug)]
pub enum Event {
    /// A request was under way: whatever came of it.
    Fetched(Box<Fetched>),
    /// No request was sent for it.
    NotFetched(Box<NotFetched>),
}

/// A request was under way.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// What was sent and received.
    pub capture: Capture,
    /// What the request was for: a judged URL with its decision, or robots.txt.
    pub errand: Errand,
    /// For a robots.txt that was read: SHA-256 of its decoded bytes, by which decisions name it.
    pub robots_copy: Option<Digest>,
    /// The stored capture whose content this one repeats: named for a 304 answer, and for a body that is known to be
    /// the same. `None` stores the answer whole.
    pub earlier: Option<Earlier>,
    /// How the URL was found.
    pub context: Context,
}

/// A capture that lies in the archive with its whole content, so that a later one can point at it instead of repeating
/// it. [`Stored::capture`](crate::Stored) gives it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// Id of its WARC `response` record, `urn:uuid:…` without brackets; `None` where no WARC is written.
    pub record_id: Option<Arc<str>>,
    /// The URL it was fetched from.
    pub url: CrawlUrl,
    /// When it began: the `WARC-Date` of its records.
    pub date: WallTime,
    /// SHA-256 of its body, in its content coding.
    pub payload_sha256: Digest,
}

/// No request was sent.
#[derive(Clone, Debug)]
pub struct NotFetched {
    /// What was to be fetched.
    pub target: Target,
    /// Why it was not.
    pub reason: Reason,
    /// What the reason rests on.
    pub basis: Basis,
    /// When that was settled.
    pub at: WallTime,
    /// Until when it waits; `None` when the outcome is final.
    pub until: Option<WallTime>,
    /// More about it, for people.
    pub detail: Option<String>,
    /// How the URL was found.
    pub context: Context,
}

/// What an outcome without a request rests on.
#[derive(Clone, Debug)]
pub enum Basis {
    /// A judgement, with its evidence.
    Decision(Arc<Decision>),
    /// robots.txt of this origin was to be fetched: such outcomes stand in the WARC too.
    Robots(Origin),
    /// Scope, traps, budgets, addresses, name resolution: no judgement took part.
    Rule,
}

/// What was to be fetched.
#[derive(Clone, Debug)]
pub enum Target {
    /// A crawl URL.
    Url(CrawlUrl),
    /// A text that is no crawl URL; kept up to 4,096 bytes.
    Text(String),
}

impl Target {
    /// The text of it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Url(url) => url.as_str(),
            Self::Text(text) => text,
        }
    }
}

/// How a URL was found and how often it was tried.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The page that named it, or the URL that redirected to it.
    pub via: Option<CrawlUrl>,
    /// Links from the seed.
    pub depth: u32,
    /// Redirects in a row before this URL.
    pub hops: u8,
    /// True for a seed.
    pub seed: bool,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// The file in which a site speaks about use, where it was asked for as that; `None` for a page.
    pub file: Option<EvidenceKind>,
    /// What was made of the query of the URL: the archive says it, by its settings. `Keep` in what is handed to it.
    pub query: QueryForm,
    /// Links to terms and licences that the answer names: kept, not interpreted. At most [`Context::MOST_TERMS`] are recorded.
    pub terms: Vec<TermsLink>,
}

impl Context {
    /// Links to terms in one record, at most.
    pub const MOST_TERMS: usize = 8;
}

/// A link to a text that says under which terms content may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermsLink {
    /// `terms-of-service`, `license`, `tdm-policy` or `rsl`.
    pub rel: &'static str,
    /// Where it leads.
    pub url: String,
}
