use std::collections::{BTreeMap, BTreeSet};

use comity_archive::{AgentRecord, Record};

use crate::commands::explain::{Mark, marks};

/// Requests that the page lists; all are in `records.jsonl`.
const MAX_ROWS: usize = 2_000;
/// Statements about use that the page lists, and lines of one copy that it marks.
const MAX_SIGNALS: usize = 200;
const MAX_MARKS: usize = 5_000;

/// What the page says, as far as it is listed; everything is counted.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) rows: Vec<Row>,
    /// Records by outcome.
    pub(super) outcomes: BTreeMap<String, u64>,
    /// Bytes of bodies, as stored.
    pub(super) bytes: u64,
    pub(super) first: Option<String>,
    pub(super) last: Option<String>,
    /// Who asked, as the last record has it.
    pub(super) agent: Option<AgentRecord>,
    /// What was said about use: source, purpose, verdict, text; how often it took part.
    pub(super) signals: BTreeMap<[String; 4], u64>,
    /// Links to terms and licences on its pages, and on how many; at most [`MAX_SIGNALS`].
    pub(super) terms: BTreeMap<[String; 2], u64>,
    /// Lines of each copy that something rests on.
    pub(super) marks: BTreeMap<String, BTreeSet<(u32, Mark)>>,
}

/// One line of the list.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) seq: u64,
    pub(super) at: String,
    pub(super) url: String,
    pub(super) outcome: String,
    pub(super) answer: String,
    pub(super) why: String,
    /// The page that named it.
    pub(super) via: Option<String>,
}

impl Gathered {
    pub(super) fn take(&mut self, seq: u64, record: &Record, withheld: &[&'static str]) {
        *self.outcomes.entry(record.outcome.clone()).or_insert(0) += 1;
        self.bytes += record.response.as_ref().map_or(0, |response| response.body_length);
        let at = &record.time.started;
        // Records lie in the order of their ends.
        self.first = self.first.take().filter(|first| first < at).or_else(|| Some(at.clone()));
        self.last = self.last.take().filter(|last| last > at).or_else(|| Some(at.clone()));
        self.agent = Some(record.agent.clone());
        for one in &record.signals {
            let key = [one.source.clone(), one.purpose.clone(), one.verdict.clone(), one.raw.clone()];
            if self.signals.len() < MAX_SIGNALS || self.signals.contains_key(&key) {
                *self.signals.entry(key).or_insert(0) += 1;
            }
        }
        for link in &record.terms {
            let key = [link.rel.clone(), link.url.clone()];
            if self.terms.len() < MAX_SIGNALS || self.terms.contains_key(&key) {
                *self.terms.entry(key).or_insert(0) += 1;
            }
        }
        if let Some(digest) = record.robots.as_ref().and_then(|robots| robots.digest.clone()) {
            let lines = self.marks.entry(digest).or_default();
            let room = MAX_MARKS.saturating_sub(lines.len());
            lines.extend(marks(record).into_iter().take(room));
        }
        if self.rows.len() < MAX_ROWS {
            self.rows.push(Row {
                seq,
                at: at.clone(),
                url: record.url.clone(),
                outcome: record.outcome.clone(),
                answer: answer(record),
                why: why(record, withheld),
                via: record.discovery.via.clone(),
            });
        }
    }
}

fn answer(record: &Record) -> String {
    let Some(response) = &record.response else {
        let detail = record.detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
        return format!("{}{detail}", record.reason);
    };
    let cut = response.truncated.as_ref().map(|why| format!(", cut: {why}")).unwrap_or_default();
    format!("{} {}, {} bytes{cut}", response.status, record.reason, response.body_length)
}

fn why(record: &Record, withheld: &[&'static str]) -> String {
    let mut said = Vec::new();
    if record.errand == "robots" {
        said.push("the robots.txt itself".to_owned());
    }
    if let Some(rule) = &record.rule {
        let kind = if rule.kind == "allow" { "Allow" } else { "Disallow" };
        said.push(format!("line {}: {kind}: {}", rule.line, rule.pattern));
    } else if let Some(robots) = record.robots.as_ref().filter(|_| record.errand != "robots") {
        said.push(format!("robots.txt {}, no rule matches", robots.state));
    }
    if let Some(decision) = &record.decision {
        said.extend(
            decision.optout.iter().map(|one| format!("opt-out of {} asked for by {}", one.target, one.requested_by)),
        );
        said.extend(decision.r#override.iter().map(|one| format!("override {}: {}", one.id, one.basis)));
    }
    match &record.discovery.via {
        None if withheld.contains(&"/discovery/via") => said.push("found on another site".to_owned()),
        None if record.discovery.seed => said.push("a seed".to_owned()),
        _ => {}
    }
    said.join("; ")
}
