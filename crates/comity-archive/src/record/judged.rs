use std::collections::BTreeMap;
use std::sync::Arc;

use comity_policy::{
    Decision, Grant, NamedLicence, OptOut, Overridden, Reason, RobotsState, SiteFile, SiteFiles, WallTime,
};
use comity_signals::{AgentClass, Declared, Place, Purpose, Statement, Verdict};
use comity_url::Origin;

use super::absent::{Absent, Why};
use super::build::RobotsBasis;
use super::parts::cut_to;
use super::{
    DecisionRecord, GrantRecord, LicenceRecord, LiftedRecord, OmittedRecord, OptOutRecord, OthersRecord,
    OverrideRecord, PurposeRecord, RobotsRecord, RuleRecord, SignalRecord, SiteFileRecord, StageRecord, TermsRecord,
};
use crate::{Context, TermsLink};

/// Statements in one record, at most.
const MAX_SIGNALS: usize = 64;
/// Bytes of a statement's text or path.
const MAX_RAW: usize = 2048;
/// Tokens of a group in one record, and bytes of each.
const MAX_TOKENS: usize = 64;
const MAX_TOKEN: usize = 256;

pub(super) fn robots(
    decision: &Decision,
    basis: &RobotsBasis<'_>,
    record: Option<String>,
    absent: &mut Absent,
) -> RobotsRecord {
    let found = decision.robots.evidence();
    let age = found.fetched.map(|at| u64::try_from(basis.used.since(at).as_millis()).unwrap_or(u64::MAX));
    let delay = found.crawl_delay.map(|d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX));
    let no_record = if found.digest.is_some() { Why::NotRemembered } else { Why::NoRobots };
    RobotsRecord {
        age_ms: absent.note("robots.age_ms", age, Why::NoRobots),
        bytes: found.bytes,
        crawl_delay_ms: absent.note("robots.crawl_delay_ms", delay, Why::NotStated),
        digest: absent.note("robots.digest", found.digest.map(|d| d.to_string()), Why::NoRobots),
        expires: absent.note("robots.expires", found.expires.map(|at| at.to_string()), Why::NoRobots),
        fetched: absent.note("robots.fetched", found.fetched.map(|at| at.to_string()), Why::NoRobots),
        final_url: absent.note(
            "robots.final_url",
            found.final_url.as_ref().map(|u| u.as_str().to_owned()),
            Why::NoRobots,
        ),
        for_origin: basis.origin.as_str().to_owned(),
        group_line: absent.note("robots.group_line", found.group_line, Why::NoGroup),
        others: others(decision, basis.target),
        record: absent.note("robots.record", record, no_record),
        state: found.state.as_str().to_owned(),
        status: absent.note("robots.status", found.status, Why::NoRobots),
        truncated: found.truncated,
    }
}

/// What AI agents of others meet at the URL, as many as the table has at most.
fn others(decision: &Decision, target: Option<&str>) -> BTreeMap<String, OthersRecord> {
    let names = |tokens: Vec<&str>| tokens.into_iter().map(str::to_owned).collect();
    let classes = target.map(|target| decision.robots.others(target.as_bytes())).unwrap_or_default();
    let record = |class: AgentClass| {
        let of_class = OthersRecord { denied: names(class.denied), named: names(class.named) };
        (class.agent_use.as_str().to_owned(), of_class)
    };
    classes.into_iter().filter(AgentClass::is_of_ai).map(record).collect()
}

/// A robots.txt is not judged by itself (RFC 9309 §2.2.2).
pub(super) fn robots_itself(origin: &Origin, absent: &mut Absent) -> RobotsRecord {
    let nulls =
        ["age_ms", "crawl_delay_ms", "digest", "expires", "fetched", "final_url", "group_line", "record", "status"];
    for name in nulls {
        absent.note::<()>(format!("robots.{name}"), None, Why::NotApplicable);
    }
    RobotsRecord {
        age_ms: None,
        bytes: 0,
        crawl_delay_ms: None,
        digest: None,
        expires: None,
        fetched: None,
        final_url: None,
        for_origin: origin.as_str().to_owned(),
        group_line: None,
        others: BTreeMap::new(),
        record: None,
        state: RobotsState::NotApplicable.as_str().to_owned(),
        status: None,
        truncated: false,
    }
}

/// A file of the site as far as it was known; `name` is its path in the record.
pub(super) fn site_file(name: &str, file: &SiteFile, absent: &mut Absent) -> SiteFileRecord {
    let copy = file.copy.as_ref();
    let final_url = file.final_url.as_ref().map(|url| cut_to(url.as_str(), MAX_RAW));
    let mut note = |field: &str, value: Option<String>, why| absent.note(format!("{name}.{field}"), value, why);
    SiteFileRecord {
        asked: file.asked.to_string(),
        digest: note("digest", copy.map(|copy| copy.digest.to_string()), Why::NoFile),
        fetched: note("fetched", copy.map(|copy| copy.fetched.to_string()), Why::NoFile),
        final_url: note("final_url", final_url, Why::NotApplicable),
        state: file.state.as_str().to_owned(),
        status: absent.note(format!("{name}.status"), file.status, Why::NoResponse),
    }
}

/// Every licence that was named.
pub(super) fn licences(site: &SiteFiles, absent: &mut Absent) -> Vec<LicenceRecord> {
    let licence = |(n, named): (usize, &NamedLicence)| {
        let file = site_file(&format!("licences.{n}"), &named.file, absent);
        let SiteFileRecord { asked, digest, fetched, final_url, state, status } = file;
        let (carrier, url) = (named.carrier.as_str().to_owned(), cut_to(named.url.as_str(), MAX_RAW));
        LicenceRecord { asked, carrier, digest, fetched, final_url, state, status, url }
    };
    site.licences.iter().take(NamedLicence::MOST_IN_ALL).enumerate().map(licence).collect()
}

pub(super) fn terms(links: &[TermsLink]) -> Vec<TermsRecord> {
    let record = |link: &TermsLink| TermsRecord { rel: link.rel.to_owned(), url: cut_to(&link.url, MAX_RAW) };
    links.iter().take(Context::MOST_TERMS).map(record).collect()
}

pub(super) fn rule(decision: &Decision) -> Option<RuleRecord> {
    decision.rule.as_ref().map(|rule| RuleRecord {
        group_line: rule.group_line,
        kind: rule.kind.to_owned(),
        line: rule.line,
        pattern: rule.pattern.clone(),
        priority: rule.priority,
    })
}

pub(super) fn decision_record(decision: &Decision, declared: &[Declared], absent: &mut Absent) -> DecisionRecord {
    let verdicts = declared.iter().filter_map(|d| d.judged()).map(|p| (p, decision.preferences.verdict(p)));
    let is_granted = |purpose: Purpose| decision.grants.iter().any(|(granted, _)| *granted == purpose);
    let outcome = |purpose: Purpose, verdict: Verdict| match verdict {
        _ if is_granted(purpose) => "proceed",
        // What may have been said could not be read.
        _ if decision.reason == Reason::FetchCoding => "refuse",
        Verdict::Denied => "refuse",
        // Before the answer nobody is refused by silence.
        Verdict::Unspecified if decision.before.is_some() => decision.silence.as_str(),
        Verdict::Unspecified | Verdict::Allowed => "proceed",
    };
    DecisionRecord {
        at: decision.decided.to_string(),
        content_use_level: decision.level.map(|level| level.as_str().to_owned()),
        default_applied: verdicts.clone().any(|(_, verdict)| verdict == Verdict::Unspecified),
        grants: decision.grants.iter().map(grant).collect(),
        optout: absent.note("decision.optout", decision.optout.as_deref().map(optout), Why::NoOptout),
        r#override: absent.note("decision.override", decision.overridden.as_deref().map(overridden), Why::NoOverride),
        purposes: verdicts
            .map(|(purpose, verdict)| {
                let record = PurposeRecord {
                    decision: outcome(purpose, verdict).to_owned(),
                    verdict: verdict.as_str().to_owned(),
                };
                (purpose.as_str().to_owned(), record)
            })
            .collect(),
        reason: decision.reason.code().to_owned(),
        stages: stages(decision, declared),
    }
}

/// Both decisions, where there are two.
fn stages(decision: &Decision, declared: &[Declared]) -> Vec<StageRecord> {
    let Some(first) = decision.before.as_deref() else { return Vec::new() };
    let kept = kept_statements(decision.preferences.statements());
    let deciding = |one: &Decision| {
        let denials = declared.iter().filter_map(|d| d.judged()).filter_map(|p| one.preferences.denial(p));
        let place = |denial: &Statement| kept.iter().position(|kept| *kept == denial);
        denials.filter_map(place).map(|place| place as u64).collect()
    };
    let stage = |one: &Decision, at: WallTime| StageRecord {
        after: one.stage.as_str().to_owned(),
        at: at.to_string(),
        deciding: deciding(one),
        reason: one.reason.code().to_owned(),
    };
    vec![stage(first, first.decided), stage(decision, decision.again)]
}

fn grant((purpose, grant): &(Purpose, Arc<Grant>)) -> GrantRecord {
    GrantRecord {
        approved_by: grant.approved_by().to_owned(),
        basis: grant.basis().as_str().to_owned(),
        expires: grant.expires().to_string(),
        purpose: purpose.as_str().to_owned(),
        reference: grant.reference().to_owned(),
    }
}

fn optout(found: &OptOut) -> OptOutRecord {
    OptOutRecord {
        at: found.line.at.to_string(),
        file: found.file.to_string(),
        line: found.number,
        requested_by: found.line.requested_by.clone(),
        target: found.line.target.to_string(),
    }
}

fn overridden(hit: &Overridden) -> OverrideRecord {
    let lifted = hit
        .lifted
        .iter()
        .map(|one| LiftedRecord { reason: one.reason.code().to_owned(), scope: one.scope.as_str().to_owned() });
    OverrideRecord {
        approved_by: hit.by.approved_by().to_owned(),
        basis: hit.by.basis().as_str().to_owned(),
        expires: hit.by.expires().to_string(),
        id: hit.by.id().to_owned(),
        lifted: lifted.collect(),
    }
}

/// What a decision says of groups and statements, bounded, and how much of it was left out.
pub(super) fn bounded(decision: &Decision, absent: &mut Absent) -> (Vec<String>, Vec<SignalRecord>, OmittedRecord) {
    let tokens = decision.robots.evidence().group;
    let group: Vec<String> = tokens.iter().take(MAX_TOKENS).map(|token| cut_to(token, MAX_TOKEN)).collect();
    let statements = decision.preferences.statements();
    let kept = kept_statements(statements);
    let omitted = OmittedRecord {
        diagnostics: 0,
        group: (tokens.len() - group.len()) as u64,
        signals: (statements.len() - kept.len()) as u64,
    };
    (group, kept.into_iter().enumerate().map(|(n, s)| signal(n, s, absent)).collect(), omitted)
}

/// The first statements, and the first denial of each purpose wherever it stands: the evidence of every refusal.
fn kept_statements(statements: &[Statement]) -> Vec<&Statement> {
    let mut denied = Vec::new();
    let keep = |(n, statement): &(usize, &Statement)| {
        let first = statement.verdict == Verdict::Denied && !denied.contains(&statement.purpose);
        if first {
            denied.push(statement.purpose);
        }
        first || *n < MAX_SIGNALS - Purpose::ALL.len()
    };
    statements.iter().enumerate().filter(keep).map(|(_, statement)| statement).collect()
}

fn signal(n: usize, statement: &Statement, absent: &mut Absent) -> SignalRecord {
    SignalRecord {
        conditional: statement.conditional,
        derived: statement.derived,
        path: absent.note(
            format!("signals.{n}.path"),
            statement.path.as_deref().map(|path| cut_to(path, MAX_RAW)),
            Why::EveryPath,
        ),
        place: place(statement.place),
        purpose: statement.purpose.as_str().to_owned(),
        raw: cut_to(&statement.raw, MAX_RAW),
        reservation: statement.reservation,
        source: statement.source.as_str().to_owned(),
        spec: statement.source.spec().to_owned(),
        verdict: statement.verdict.as_str().to_owned(),
    }
}

pub(super) fn place(place: Place) -> String {
    match place {
        Place::Whole => "whole".to_owned(),
        Place::Line(n) => format!("line {n}"),
        Place::Header(n) => format!("header {n}"),
        Place::Rule(n) => format!("rule {n}"),
        Place::Element(n) => format!("element {n}"),
    }
}
