use comity_policy::Digest;

use super::{DecisionRecord, Record, RobotsRecord};
use crate::warc::http_head::StoredHead;
use crate::warc::info::Fields;

/// What only the WARC metadata says: how the stored heads differ from the wire.
#[derive(Debug, Default)]
pub(crate) struct Changes<'a> {
    pub(crate) request: Option<&'a StoredHead>,
    pub(crate) response: Option<&'a StoredHead>,
}

/// The `application/warc-fields` block of an event (archive reference §10): standard names first, then `comity-*`; in two parts,
/// between which the record's commitment comes.
#[derive(Debug)]
pub(crate) struct Block {
    before: String,
    after: String,
}

impl Block {
    pub(crate) fn of(record: &Record, changes: &Changes<'_>) -> Self {
        Self { before: before(record), after: after(record, changes) }
    }

    /// The block; `commitment` ties it to the record line, whose content it repeats in part.
    pub(crate) fn with(&self, commitment: Digest) -> String {
        format!("{}comity-record: sha256:{commitment}\r\n{}", self.before, self.after)
    }
}

fn before(record: &Record) -> String {
    let mut fields = Fields::default();
    fields.push_some("via", record.discovery.via.as_deref());
    fields.push_some("hopsFromSeed", Some(hops(record)).filter(|hops| !hops.is_empty()).as_deref());
    fields.push_some("fetchTimeMs", record.time.total_ms.map(|ms| ms.to_string()).as_deref());
    fields.push_some("comity-head-ms", head(record).map(|ms| ms.to_string()).as_deref());
    fields.push_some("comity-latency-ms", record.time.head_ms.map(|ms| ms.to_string()).as_deref());
    fields.text
}

fn after(record: &Record, changes: &Changes<'_>) -> String {
    let mut fields = Fields::with_capacity(1024);
    fields.push("comity-errand", &record.errand);
    fields.push("comity-outcome", &record.outcome);
    fields.push("comity-reason", &record.reason);
    fields.push_some("comity-query", record.query.as_deref());
    fields.push_some("comity-detail", record.detail.as_deref());
    for token in &record.agent.product_tokens {
        fields.push("comity-agent-token", token);
    }
    for purpose in &record.agent.purposes {
        fields.push("comity-purpose", purpose);
    }
    if let Some(digest) = &record.agent.config_digest {
        fields.push("comity-policy-digest", &format!("sha256:{digest}"));
    }
    if let Some(response) = &record.response {
        fields.push("comity-payload-sha256", &response.body_digest);
    }
    if let Some(robots) = &record.robots {
        push_robots(&mut fields, robots);
    }
    push_rule(&mut fields, record);
    if let Some(tdmrep) = &record.tdmrep {
        fields.push("comity-tdmrep-state", &tdmrep.state);
        fields.push_some("comity-tdmrep-digest", tdmrep.digest.as_ref().map(|d| format!("sha256:{d}")).as_deref());
    }
    if let Some(ai_txt) = &record.ai_txt {
        fields.push("comity-ai-txt-state", &ai_txt.state);
        fields.push_some("comity-ai-txt-digest", ai_txt.digest.as_ref().map(|d| format!("sha256:{d}")).as_deref());
    }
    if let Some(trust_txt) = &record.trust_txt {
        fields.push("comity-trust-txt-state", &trust_txt.state);
        fields
            .push_some("comity-trust-txt-digest", trust_txt.digest.as_ref().map(|d| format!("sha256:{d}")).as_deref());
    }
    for licence in &record.licences {
        let digest = licence.digest.as_ref().map(|d| format!(" sha256:{d}")).unwrap_or_default();
        fields.push("comity-licence", &format!("{} {} {}{digest}", licence.carrier, licence.state, licence.url));
    }
    for link in &record.terms {
        fields.push("comity-terms", &format!("{} {}", link.rel, link.url));
    }
    if let Some(decision) = &record.decision {
        push_override(&mut fields, decision);
    }
    for signal in &record.signals {
        fields
            .push("comity-signal", &format!("{} {} {}; {}", signal.source, signal.purpose, signal.verdict, signal.raw));
    }
    push_changes(&mut fields, changes);
    fields.text
}

fn push_robots(fields: &mut Fields, robots: &RobotsRecord) {
    fields.push("comity-robots-for", &robots.for_origin);
    fields.push("comity-robots-state", &robots.state);
    fields.push_some("comity-robots-digest", robots.digest.as_ref().map(|d| format!("sha256:{d}")).as_deref());
    fields.push_some("comity-robots-record", robots.record.as_ref().map(|id| format!("<{id}>")).as_deref());
    fields.push_some("comity-robots-status", robots.status.map(|s| s.to_string()).as_deref());
    fields.push_some("comity-robots-fetched", robots.fetched.as_deref());
    fields.push_some("comity-crawl-delay-ms", robots.crawl_delay_ms.map(|ms| ms.to_string()).as_deref());
    fields.push_some("comity-robots-group-line", robots.group_line.map(|n| n.to_string()).as_deref());
}

fn push_rule(fields: &mut Fields, record: &Record) {
    for token in record.group.iter().flatten() {
        fields.push("comity-robots-group", token);
    }
    if let Some(rule) = &record.rule {
        fields.push("comity-robots-rule", &format!("{}: {}", rule.kind, rule.pattern));
        fields.push("comity-robots-line", &rule.line.to_string());
    }
}

fn push_override(fields: &mut Fields, decision: &DecisionRecord) {
    for lifted in decision.r#override.iter().flat_map(|found| found.lifted.iter().map(move |one| (found, one))) {
        let (found, one) = lifted;
        fields.push("comity-override", &format!("{} {} {}", found.id, one.scope, one.reason));
    }
}

fn push_changes(fields: &mut Fields, changes: &Changes<'_>) {
    let request = changes.request.and_then(|head| head.original_start.as_deref());
    let response = changes.response.and_then(|head| head.original_start.as_deref());
    fields.push_some("comity-request-line", request);
    fields.push_some("comity-status-line", response);
    for (name, head) in [("request", changes.request), ("response", changes.response)] {
        if head.is_some_and(|head| head.mended) {
            fields.push("comity-head-mended", name);
        }
    }
}

/// Milliseconds from the begin of the exchange to the head of its answer: the delay to the next request runs from there.
fn head(record: &Record) -> Option<u64> {
    record.response.as_ref()?;
    Some(record.time.total_ms?.saturating_sub(record.time.body_ms.unwrap_or(0)))
}

/// Heritrix's path from the seed: a letter a hop, `P` for robots.txt and files like it, `L` a link, `R` a redirect. Only the last 50 are
/// written out, the others counted (`7+LLL…`). Of redirects only those since the last link are known.
fn hops(record: &Record) -> String {
    const SHOWN: u64 = 50;
    let found = &record.discovery;
    let prerequisite = u64::from(record.errand != "page");
    let total = prerequisite + u64::from(found.depth) + u64::from(found.hops);
    let letter = |n: u64| match n {
        n if n < prerequisite => 'P',
        n if n < prerequisite + u64::from(found.depth) => 'L',
        _ => 'R',
    };
    let skipped = total.saturating_sub(SHOWN);
    let path: String = (skipped..total).map(letter).collect();
    if skipped > 0 { format!("{skipped}+{path}") } else { path }
}
