//! The part of a record that a report reads: borrowed from its line, everything else is passed over.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::commands::report::chain::Broken;

/// A text of a record: borrowed where it holds no escape.
type Text<'a> = Cow<'a, str>;

/// One record. The fields are those of `comity_archive::Record`.
#[derive(Debug, Deserialize)]
pub(super) struct Entry<'a> {
    #[serde(borrow)]
    pub(super) url: Text<'a>,
    #[serde(borrow)]
    pub(super) errand: Text<'a>,
    #[serde(borrow)]
    pub(super) outcome: Text<'a>,
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
    #[serde(borrow)]
    pub(super) crawl: Text<'a>,
    #[serde(borrow)]
    pub(super) agent: Agent<'a>,
    pub(super) discovery: Discovery,
    pub(super) request: Option<IgnoredAny>,
    #[serde(borrow)]
    pub(super) response: Option<Response<'a>>,
    #[serde(borrow)]
    pub(super) robots: Option<Robots<'a>>,
    #[serde(borrow)]
    pub(super) rule: Option<Rule<'a>>,
    #[serde(borrow, default)]
    pub(super) signals: Vec<Signal<'a>>,
    #[serde(borrow)]
    pub(super) decision: Option<Decision<'a>>,
    #[serde(borrow)]
    pub(super) time: Time<'a>,
    #[serde(borrow)]
    pub(super) vantage: Vantage<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Agent<'a> {
    #[serde(borrow)]
    pub(super) config_digest: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) contact: Text<'a>,
    #[serde(borrow)]
    pub(super) purposes: Vec<Text<'a>>,
    #[serde(borrow)]
    pub(super) user_agent: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Discovery {
    pub(super) attempt: u32,
    pub(super) depth: u32,
}

#[derive(Debug, Deserialize)]
pub(super) struct Response<'a> {
    pub(super) status: u16,
    pub(super) body_length: u64,
    /// Read only where an answer may ask to be left alone.
    #[serde(borrow)]
    pub(super) fields: &'a RawValue,
    pub(super) repeats: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Robots<'a> {
    #[serde(borrow)]
    pub(super) for_origin: Text<'a>,
    #[serde(borrow)]
    pub(super) state: Text<'a>,
    #[serde(borrow)]
    pub(super) digest: Option<Text<'a>>,
    pub(super) crawl_delay_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Rule<'a> {
    #[serde(borrow)]
    pub(super) kind: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Signal<'a> {
    #[serde(borrow)]
    pub(super) source: Text<'a>,
    #[serde(borrow)]
    pub(super) purpose: Text<'a>,
    #[serde(borrow)]
    pub(super) verdict: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Decision<'a> {
    #[serde(borrow, default)]
    pub(super) grants: Vec<Grant<'a>>,
    #[serde(borrow, default)]
    pub(super) r#override: Option<Override<'a>>,
    #[serde(borrow)]
    pub(super) purposes: BTreeMap<Text<'a>, Purpose<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Purpose<'a> {
    #[serde(borrow)]
    pub(super) decision: Text<'a>,
    #[serde(borrow)]
    pub(super) verdict: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Grant<'a> {
    #[serde(borrow)]
    pub(super) basis: Text<'a>,
    #[serde(borrow)]
    pub(super) purpose: Text<'a>,
    #[serde(borrow)]
    pub(super) reference: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Override<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) lifted: Vec<Lifted<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Lifted<'a> {
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
    #[serde(borrow)]
    pub(super) scope: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Time<'a> {
    pub(super) body_ms: Option<u64>,
    #[serde(borrow)]
    pub(super) ended: Text<'a>,
    /// From the written request to the head.
    pub(super) head_ms: Option<u64>,
    #[serde(borrow)]
    pub(super) started: Text<'a>,
    pub(super) total_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Vantage<'a> {
    #[serde(borrow)]
    pub(super) server_ip: Option<Text<'a>>,
}

impl<'a> Entry<'a> {
    /// # Errors
    /// When it is no record that this version reads.
    pub(super) fn parse(seq: u64, body: &'a str) -> Result<Self, Broken> {
        serde_json::from_str(body).map_err(|e| format!("record {seq} is none that this version of comity reads: {e}"))
    }

    /// Whether something was sent.
    pub(super) const fn is_sent(&self) -> bool {
        self.request.is_some()
    }

    /// Whether an override lifted something of this scope: `rate`, `robots`, …
    pub(super) fn is_lifted(&self, scope: &str) -> bool {
        let hit = self.decision.as_ref().and_then(|decision| decision.r#override.as_ref());
        hit.is_some_and(|hit| hit.lifted.iter().any(|one| one.scope.starts_with(scope)))
    }

    /// Scheme and authority. The URL of a record may be cut, behind its path's begin; what is no URL has none.
    pub(super) fn origin(&self) -> Option<&str> {
        let host = self.url.find("://")? + 3;
        let end = self.url.get(host..)?.find(['/', '?', '#']).map_or(self.url.len(), |at| host + at);
        self.url.get(..end)
    }
}
