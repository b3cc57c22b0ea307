use std::sync::Arc;
use std::time::Duration;

use comity_policy::{
    Decision, Grant, Instant, NamedLicence, OptOut, Overridden, Reason, RobotsEvidence, RobotsState, RuleEvidence,
    SiteFile, Standing,
};
use comity_signals::{AgentClass, Place, Preferences, Purpose, Statement, Verdict as Said};
use comity_url::CrawlUrl;
use serde_json::{Value, json};

use crate::gateway::House;
use crate::ruling::Ruling;
use crate::wishes::Wishes;

/// The decision record of the gateway reference §2: the answer of the decision API, and most of a refusal's body.
pub(crate) fn record(house: &House, ruling: &Ruling, url: &CrawlUrl, wishes: Option<&Wishes>) -> Value {
    let evidence = evidence(house, ruling, url);
    let decision = ruling.decision.as_deref();
    let site = decision.map(|decision| &decision.site);
    json!({
        "decision_id": ruling.id,
        "verdict": ruling.verdict.as_str(),
        "reason": ruling.reason.code(),
        "detail": ruling.detail,
        "enforced": true,
        "shadow": null,
        "visibility": "path",
        "url": url.as_str(),
        "origin": url.origin().as_str(),
        "client": house.config.customer.id,
        "token": wishes.map(|wishes| wishes.token.as_str()),
        "purposes": wishes.map(|wishes| wishes.purposes.iter().map(|purpose| purpose.as_str()).collect::<Vec<_>>()),
        "retry_after_ms": ruling.retry_after.map(millis),
        "rule": rule(ruling, &evidence),
        "robots": robots(house, &evidence),
        "others": decision.map(|decision| others(decision, url)).unwrap_or_default(),
        "signals": decision.map(|decision| signals(&decision.preferences)).unwrap_or_default(),
        "tdmrep": site.and_then(|site| site.tdmrep.as_deref()).map(site_file),
        "ai_txt": site.and_then(|site| site.ai_txt.as_deref()).map(site_file),
        "trust_txt": site.and_then(|site| site.trust_txt.as_deref()).map(site_file),
        "licences": site.map(|site| site.licences.iter().map(licence).collect::<Vec<_>>()).unwrap_or_default(),
        "grants": decision.map(|decision| decision.grants.iter().map(grant).collect::<Vec<_>>()).unwrap_or_default(),
        "budget": budget(house, url),
        "override": decision.and_then(|decision| decision.overridden.as_deref()).map(overridden),
        "optout": decision.and_then(|decision| decision.optout.as_deref()).map(optout),
        "policy_version": house.version,
        "node": house.config.name,
    })
}

/// A file in which the site speaks about use, as far as it was known.
fn site_file(file: &SiteFile) -> Value {
    json!({
        "state": file.state.as_str(),
        "http_status": file.status,
        "asked_at": file.asked.to_string(),
        "fetched_at": file.copy.as_ref().map(|copy| copy.fetched.to_string()),
        "sha256": file.copy.as_ref().map(|copy| copy.digest.to_string()),
        "final_url": file.final_url.as_ref().map(CrawlUrl::as_str),
    })
}

/// A licence that robots.txt names.
fn licence(named: &NamedLicence) -> Value {
    let mut found = site_file(&named.file);
    found["url"] = json!(named.url.as_str());
    found["carrier"] = json!(named.carrier.as_str());
    found
}

/// A licence, contract or law that the decision relies on.
fn grant((purpose, grant): &(Purpose, Arc<Grant>)) -> Value {
    json!({
        "purpose": purpose.as_str(), "basis": grant.basis().as_str(), "reference": grant.reference(),
        "approved_by": grant.approved_by(), "expires": grant.expires().to_string(),
    })
}

/// What AI agents of others that robots.txt names meet at the URL: evidence of intent.
fn others(decision: &Decision, url: &CrawlUrl) -> Value {
    let classes = decision.robots.others(url.request_target().as_bytes());
    let entry = |class: AgentClass| {
        (class.agent_use.as_str().to_owned(), json!({"named": class.named, "denied": class.denied}))
    };
    Value::Object(classes.into_iter().filter(AgentClass::is_of_ai).map(entry).collect())
}

/// The rule that decided, with the tokens of its group; null when none did.
pub(crate) fn rule(ruling: &Ruling, evidence: &RobotsEvidence) -> Value {
    let Some(RuleEvidence { kind, pattern, line, group_line, priority }) =
        ruling.decision.as_ref().and_then(|d| d.rule.as_ref())
    else {
        return Value::Null;
    };
    json!({
        "kind": kind, "pattern": pattern, "line": line, "group_line": group_line, "group": evidence.group,
        "priority": priority,
    })
}

/// The robots.txt behind the decision; null when it plays no part.
pub(crate) fn robots(house: &House, evidence: &RobotsEvidence) -> Value {
    if evidence.state == RobotsState::NotApplicable {
        return Value::Null;
    }
    let now = house.gate.clock().wall();
    json!({
        "state": evidence.state.as_str(),
        "http_status": evidence.status,
        "fetched_at": evidence.fetched.map(|at| at.to_string()),
        "age_s": evidence.fetched.map(|at| now.since(at).as_secs()),
        "expires_in_s": evidence.expires.map(|at| at.since(now).as_secs()),
        "sha256": evidence.digest.map(|digest| digest.to_string()),
        "final_url": evidence.final_url.as_ref().map(CrawlUrl::as_str),
        "bytes": evidence.bytes,
        "truncated": evidence.truncated,
        "group": evidence.group,
        "crawl_delay_s": evidence.crawl_delay.map(|delay| delay.as_secs_f64()),
    })
}

/// What the ruling knows of robots.txt; while it is unreachable there is no decision to ask.
pub(crate) fn evidence(house: &House, ruling: &Ruling, url: &CrawlUrl) -> RobotsEvidence {
    match &ruling.decision {
        Some(decision) => Decision::clone(decision).robots.evidence(),
        None if ruling.reason == Reason::RobotsUnreachable => {
            let life = house.gate.robots_life(url.origin());
            let status = match life.standing(house.gate.clock().wall()) {
                Standing::Unreachable(failing) => failing.status,
                _ => None,
            };
            RobotsEvidence { state: RobotsState::Unreachable, status, ..RobotsEvidence::none() }
        }
        None => RobotsEvidence::none(),
    }
}

/// What the site says about purposes, one entry a statement.
pub(crate) fn signals(preferences: &Preferences) -> Vec<Value> {
    preferences.statements().iter().map(signal).collect()
}

fn signal(statement: &Statement) -> Value {
    let value = match statement.verdict {
        Said::Denied => "no",
        Said::Allowed => "yes",
        Said::Unspecified => "unspecified",
    };
    let line = match statement.place {
        Place::Line(line) => Some(line),
        _ => None,
    };
    json!({
        "source": statement.source.as_str(), "key": statement.purpose.as_str().replace('_', "-"), "value": value,
        "line": line, "path": statement.path, "raw": statement.raw, "spec": statement.source.spec(),
        "derived": statement.derived, "conditional": statement.conditional, "reservation": statement.reservation,
    })
}

/// The written exception that was in force, and what it lifted.
fn overridden(hit: &Overridden) -> Value {
    let lifted = hit.lifted.iter().map(|one| json!({"scope": one.scope.as_str(), "reason": one.reason.code()}));
    json!({
        "id": hit.by.id(), "basis": hit.by.basis().as_str(), "approved_by": hit.by.approved_by(),
        "expires": hit.by.expires().to_string(), "lifted": lifted.collect::<Vec<_>>(),
    })
}

/// The line that asked not to be visited; its file is the network's own affair.
fn optout(found: &OptOut) -> Value {
    json!({"target": found.line.target.to_string(), "at": found.line.at.to_string(), "line": found.number})
}

/// What the origin's clocks allow now.
fn budget(house: &House, url: &CrawlUrl) -> Value {
    let (gate, origin) = (&house.gate, url.origin());
    let ready = gate.turn(origin).ready;
    let wait = (ready.at < Instant::NEVER).then(|| ready.at.since(gate.clock().now()));
    let delays = gate.pace(origin).clocks(&gate.politeness());
    let delay = delays.into_iter().flatten().map(|reading| reading.delay).max();
    json!({
        "origin_delay_s": delay.map(|delay| delay.as_secs_f64()),
        "origin_conc": gate.politeness().per_origin,
        "wait_ms": wait.map(millis),
        "clock": ready.clock.code(),
    })
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros().div_ceil(1000)).unwrap_or(u64::MAX)
}
