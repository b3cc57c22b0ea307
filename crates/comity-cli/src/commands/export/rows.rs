//! The lines of an export.

use comity_archive::{GrantRecord, OptOutRecord, Record, RuleRecord, SignalRecord, WarcPlaces};
use comity_signals::{Purpose, Statement};
use serde::Serialize;

use super::judge::denial;

/// Why a page was left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Why {
    pub(super) reason: String,
    pub(super) statement: Option<Said>,
}

/// A statement, wherever it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Said {
    pub(super) source: String,
    pub(super) raw: String,
    pub(super) place: String,
    /// SHA-256 of the file that it stands in, where it stands in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
}

impl Why {
    pub(super) fn new(reason: &str) -> Self {
        Self { reason: reason.to_owned(), statement: None }
    }

    pub(super) fn said(self, statement: Option<&SignalRecord>) -> Self {
        Self { statement: statement.map(Said::of_signal), ..self }
    }

    /// Of a page that was not kept: the reason of its record, and what decided; of one that was refused by signals, the denial
    /// of this use.
    pub(super) fn of_record(record: &Record, purpose: Purpose) -> Self {
        let why = Self::new(&record.reason);
        let decision = record.decision.as_ref();
        if let Some(optout) = decision.and_then(|decision| decision.optout.as_ref()) {
            return Self { statement: Some(Said::of_optout(optout)), ..why };
        }
        if record.reason.starts_with("signal.") {
            // The record names one of the denied purposes; here it is another one's turn.
            let name = purpose.as_str();
            if let Some(one) = denial(record, name) {
                return Self::new(&format!("signal.{name}")).said(Some(one));
            }
            let deciding = || decision.and_then(|found| found.stages.last()).and_then(|stage| stage.deciding.first());
            return why.said(deciding().and_then(|at| record.signals.get(usize::try_from(*at).ok()?)));
        }
        let digest = record.robots.as_ref().and_then(|robots| robots.digest.as_deref());
        let rule = record.rule.as_ref().filter(|_| record.reason.starts_with("robots."));
        Self { statement: rule.map(|rule| Said::of_rule(rule, digest)), ..why }
    }
}

impl Said {
    fn of_signal(one: &SignalRecord) -> Self {
        Self { source: one.source.clone(), raw: one.raw.clone(), place: one.place.clone(), digest: None }
    }

    fn of_optout(one: &OptOutRecord) -> Self {
        let place = format!("{} line {}", one.file, one.line);
        Self { source: "optout".to_owned(), raw: one.target.clone(), place, digest: None }
    }

    fn of_rule(rule: &RuleRecord, digest: Option<&str>) -> Self {
        let digest = digest.map(ToOwned::to_owned);
        Self {
            source: "robots.rule".to_owned(),
            raw: rule.pattern.clone(),
            place: format!("line {}", rule.line),
            digest,
        }
    }

    pub(super) fn of_statement(one: &Statement, digest: Option<String>) -> Self {
        use comity_signals::Place;
        let place = match one.place {
            Place::Whole => "whole".to_owned(),
            Place::Line(n) => format!("line {n}"),
            Place::Header(n) => format!("header {n}"),
            Place::Rule(n) => format!("rule {n}"),
            Place::Element(n) => format!("element {n}"),
        };
        Self { source: one.source.as_str().to_owned(), raw: one.raw.clone(), place, digest }
    }
}

/// A usable page.
#[derive(Debug, Serialize)]
pub(super) struct Page<'a> {
    url: &'a str,
    seq: u64,
    fetched: &'a str,
    status: Option<u16>,
    content_type: Option<&'a str>,
    bytes: Option<u64>,
    body_digest: Option<&'a str>,
    truncated: Option<&'a str>,
    /// The earlier response that holds the content.
    repeats: Option<&'a str>,
    /// Where its records lie in the crawl.
    warc: Option<&'a WarcPlaces>,
    purpose: &'static str,
    verdict: &'a str,
    statements: Vec<&'a SignalRecord>,
    grants: Vec<&'a GrantRecord>,
    robots: Option<Robots<'a>>,
    tdmrep: Option<&'a str>,
    /// With `--recheck`: `same`, or `not_rechecked`.
    #[serde(skip_serializing_if = "Option::is_none")]
    recheck: Option<&'static str>,
}

/// The robots.txt that the fetch rested on.
#[derive(Debug, Serialize)]
struct Robots<'a> {
    state: &'a str,
    digest: Option<&'a str>,
    line: Option<u32>,
}

impl<'a> Page<'a> {
    pub(super) fn of(seq: u64, record: &'a Record, purpose: Purpose, recheck: Option<&'static str>) -> Self {
        let (name, response) = (purpose.as_str(), record.response.as_ref());
        let decision = record.decision.as_ref();
        let found = decision.and_then(|decision| decision.purposes.get(name));
        let line = record.rule.as_ref().map(|rule| rule.line);
        Self {
            url: &record.url,
            seq,
            fetched: &record.time.started,
            status: response.map(|response| response.status),
            content_type: response.and_then(|response| response.media_type.as_deref()),
            bytes: response.map(|response| response.body_length),
            body_digest: response.map(|response| response.body_digest.as_str()),
            truncated: response.and_then(|response| response.truncated.as_deref()),
            repeats: response.and_then(|response| response.repeats.as_ref()?.record.as_deref()),
            warc: record.warc.as_ref(),
            purpose: name,
            verdict: found.map_or("unspecified", |found| found.verdict.as_str()),
            statements: record.signals.iter().filter(|one| one.purpose == name).collect(),
            grants: decision.iter().flat_map(|found| &found.grants).filter(|grant| grant.purpose == name).collect(),
            robots: record.robots.as_ref().map(|robots| Robots {
                state: &robots.state,
                digest: robots.digest.as_deref(),
                line,
            }),
            tdmrep: record.tdmrep.as_ref().and_then(|file| file.digest.as_deref()),
            recheck,
        }
    }
}

/// A page that was left out. Of an erased line nothing but its number is known.
#[derive(Debug, Serialize)]
pub(super) struct LeftOut<'a> {
    pub(super) url: Option<&'a str>,
    pub(super) seq: u64,
    pub(super) reason: &'a str,
    pub(super) outcome: Option<&'a str>,
    pub(super) statement: Option<&'a Said>,
    /// With `--recheck`: `tightened`, `loosened`, `same` or `not_rechecked`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) recheck: Option<&'static str>,
}
