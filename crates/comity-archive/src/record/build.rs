use std::collections::BTreeMap;

use comity_policy::{Decision, Digest, Errand, Reason, WallTime};
use comity_url::{CrawlUrl, Origin};

use super::absent::{Absent, Why};
use super::judged::{bounded, decision_record, licences, robots, robots_itself, rule, site_file, terms};
use super::parts::{agent, cut, discovery, no_time, no_vantage, request, response, time, vantage};
use super::remarks::{self, ConstraintsRecord};
use super::{
    ErasureRecord, OmittedRecord, RECORD_SCHEMA, Record, RequestRecord, ResponseRecord, TimeRecord, VantageRecord,
    WarcPlaces,
};
use crate::repeats::Repeat;
use crate::warc::http_head::StoredHead;
use crate::warc::info::SOFTWARE;
use crate::{Basis, Context, CrawlFacts, EvidenceKind, Fetched, NotFetched, Target};

/// What the archive adds to an event: ids, places, digests.
#[derive(Debug)]
pub(crate) struct Made<'a> {
    pub(crate) crawl: &'a CrawlFacts,
    pub(crate) record_id: String,
    pub(crate) warc: Option<WarcPlaces>,
    /// Id of the robots.txt response that a decision rests on, where it is remembered.
    pub(crate) robots_record: Option<String>,
    /// Path and query that were judged, where the URL is written otherwise.
    pub(crate) judged: Option<&'a str>,
}

/// What the HTTP part of a capture looks like when stored.
#[derive(Debug)]
pub(crate) struct Http<'a> {
    pub(crate) request: Option<&'a StoredHead>,
    pub(crate) payload_sha256: Option<Digest>,
    pub(crate) repeat: Option<&'a Repeat>,
}

pub(crate) fn fetched(event: &Fetched, http: &Http<'_>, made: Made<'_>) -> Record {
    let (capture, absent) = (&event.capture, &mut Absent::default());
    let decision = match &event.errand {
        Errand::Judged(decision) => Some(decision.as_ref()),
        Errand::Robots { .. } => None,
    };
    let ended = capture.started.after(capture.timings.total);
    // Silence of what was cut is no word of the site: the fault is what happened.
    let is_cut = |decision: &Decision| decision.reason == Reason::SignalUnspecified && capture.fault.is_some();
    let withheld = decision.filter(|decision| decision.is_withheld() && capture.status.is_some() && !is_cut(decision));
    let fault = capture.fault.filter(|_| withheld.is_none());
    let reason = fault.or_else(|| decision.map(|d| d.reason)).unwrap_or(Reason::Ok);
    let ends = Ends {
        outcome: match capture.status {
            _ if withheld.is_some() => "withheld",
            _ if capture.fault.is_some() => "failed",
            Some(304) if decision.is_some() => "not_modified",
            _ => "fetched",
        },
        reason,
        detail: capture.detail.as_deref(),
        until: None,
        url: capture.url.as_str(),
    };
    let robots_for = match &event.errand {
        Errand::Judged(_) => None,
        Errand::Robots { for_origin, .. } => Some(for_origin),
    };
    let parts = Parts {
        time: time(capture, ended, absent),
        request: absent.note("request", http.request.map(|head| request(head, capture)), Why::NotSent),
        response: response(capture, http, absent),
        vantage: vantage(capture, absent),
    };
    let target = made.judged.or_else(|| Some(capture.url.request_target()));
    let basis = RobotsBasis { decision, robots_for, used: capture.started, origin: capture.url.origin(), target };
    assemble(ends, &event.context, &basis, parts, made, absent)
}

pub(crate) fn not_fetched(event: &NotFetched, made: Made<'_>) -> Record {
    let absent = &mut Absent::default();
    let ends = Ends {
        outcome: "not_fetched",
        reason: event.reason,
        detail: event.detail.as_deref(),
        until: event.until,
        url: event.target.as_str(),
    };
    let decision = match &event.basis {
        Basis::Decision(decision) => Some(decision.as_ref()),
        Basis::Robots(_) | Basis::Rule => None,
    };
    let robots_for = match &event.basis {
        Basis::Robots(origin) => Some(origin),
        _ => None,
    };
    let url = match &event.target {
        Target::Url(url) => Some(url),
        Target::Text(_) => None,
    };
    let (origin, target) = (url.map(CrawlUrl::origin), made.judged.or_else(|| url.map(CrawlUrl::request_target)));
    let parts = Parts {
        time: no_time(event.at, absent),
        request: absent.note("request", None, Why::NotSent),
        response: absent.note("response", None, Why::NotSent),
        vantage: no_vantage(absent),
    };
    match origin.or(robots_for) {
        Some(origin) => {
            let basis = RobotsBasis { decision, robots_for, used: event.at, origin, target };
            assemble(ends, &event.context, &basis, parts, made, absent)
        }
        None => assemble_bare(ends, &event.context, parts, made, absent),
    }
}

/// The record of an erasure: of no URL, and in no WARC.
pub(crate) fn erasure(erasure: ErasureRecord, at: WallTime, made: Made<'_>) -> Record {
    let absent = &mut Absent::default();
    let ends = Ends { outcome: "erased", reason: Reason::Ok, detail: None, until: None, url: &erasure.id };
    let parts = Parts {
        time: no_time(at, absent),
        request: absent.note("request", None, Why::NotSent),
        response: absent.note("response", None, Why::NotSent),
        vantage: no_vantage(absent),
    };
    let record = assemble_bare(ends, &Context::default(), parts, made, absent);
    Record { errand: "erasure".to_owned(), erasure: Some(erasure), ..record }
}

/// How the outcome is called.
struct Ends<'a> {
    outcome: &'static str,
    reason: Reason,
    detail: Option<&'a str>,
    until: Option<WallTime>,
    url: &'a str,
}

/// The parts that differ between what was fetched and what was not.
struct Parts {
    time: TimeRecord,
    request: Option<RequestRecord>,
    response: Option<ResponseRecord>,
    vantage: VantageRecord,
}

/// What a record says of robots.txt.
pub(super) struct RobotsBasis<'a> {
    pub(super) decision: Option<&'a Decision>,
    /// Set when the URL itself is a robots.txt, or a redirect target of one.
    pub(super) robots_for: Option<&'a Origin>,
    pub(super) used: WallTime,
    pub(super) origin: &'a Origin,
    /// Path and query of the URL that was judged; `None` where it is none that can be asked for.
    pub(super) target: Option<&'a str>,
}

fn assemble(
    ends: Ends<'_>,
    context: &Context,
    basis: &RobotsBasis<'_>,
    parts: Parts,
    mut made: Made<'_>,
    absent: &mut Absent,
) -> Record {
    let robots_record = made.robots_record.take();
    let robots = match (basis.decision, basis.robots_for) {
        (Some(decision), _) => Some(robots(decision, basis, robots_record, absent)),
        (None, Some(origin)) => Some(robots_itself(origin, absent)),
        (None, None) => absent.note("robots", None, Why::NotApplicable),
    };
    let no_rule = if basis.decision.is_some() { Why::NoRule } else { Why::NotApplicable };
    let no_group = if basis.decision.is_some() { Why::NoGroup } else { Why::NotApplicable };
    let rule = absent.note("rule", basis.decision.and_then(rule), no_rule);
    let (group, signals, omitted) = basis.decision.map(|d| bounded(d, absent)).unwrap_or_default();
    let group = absent.note("group", Some(group).filter(|group| !group.is_empty()), no_group);
    let decision = basis.decision.map(|d| decision_record(d, made.crawl.identity.purposes(), absent));
    let decision = absent.note("decision", decision, Why::NotApplicable);
    let errand = context.file.map_or("page", EvidenceKind::errand);
    let errand = if basis.robots_for.is_some() { "robots" } else { errand };
    let site = basis.decision.map(|decision| &decision.site);
    let tdmrep = site.and_then(|site| site.tdmrep.as_deref()).map(|file| site_file("tdmrep", file, absent));
    let ai_txt = site.and_then(|site| site.ai_txt.as_deref()).map(|file| site_file("ai_txt", file, absent));
    let trust_txt = site.and_then(|site| site.trust_txt.as_deref()).map(|file| site_file("trust_txt", file, absent));
    let licences = site.map(|site| licences(site, absent)).unwrap_or_default();
    let said = basis.decision.map(|decision| &decision.remarks);
    let (diagnostics, left_out) = said.map(remarks::diagnostics).unwrap_or_default();
    let mut record = assemble_bare_parts(ends, context, parts, made, absent);
    record.errand = errand.to_owned();
    (record.robots, record.rule, record.group) = (robots, rule, group);
    (record.decision, record.signals, record.omitted) = (decision, signals, omitted);
    (record.tdmrep, record.ai_txt, record.licences) = (tdmrep, ai_txt, licences);
    record.trust_txt = trust_txt;
    record.constraints = said.and_then(|said| ConstraintsRecord::of(&said.constraints));
    (record.diagnostics, record.omitted.diagnostics) = (diagnostics, left_out);
    record.terms = terms(&context.terms);
    record.absent = std::mem::take(absent).into_map();
    record
}

/// An outcome that no robots.txt had a part in.
fn assemble_bare(ends: Ends<'_>, context: &Context, parts: Parts, made: Made<'_>, absent: &mut Absent) -> Record {
    for path in ["robots", "rule", "group", "decision"] {
        absent.note::<()>(path, None, Why::NotApplicable);
    }
    let mut record = assemble_bare_parts(ends, context, parts, made, absent);
    record.absent = std::mem::take(absent).into_map();
    record
}

fn assemble_bare_parts(ends: Ends<'_>, context: &Context, parts: Parts, made: Made<'_>, absent: &mut Absent) -> Record {
    Record {
        absent: BTreeMap::new(),
        agent: agent(made.crawl, absent),
        ai_txt: None,
        constraints: None,
        crawl: made.crawl.id.clone(),
        decision: None,
        detail: absent.note("detail", ends.detail.map(cut), Why::NoFault),
        diagnostics: Vec::new(),
        discovery: discovery(context, absent),
        erasure: None,
        errand: "page".to_owned(),
        group: None,
        licences: Vec::new(),
        omitted: OmittedRecord::default(),
        outcome: ends.outcome.to_owned(),
        query: context.query.word().map(str::to_owned),
        reason: ends.reason.code().to_owned(),
        record_id: made.record_id,
        request: parts.request,
        response: parts.response,
        robots: None,
        rule: None,
        schema: RECORD_SCHEMA.to_owned(),
        signals: Vec::new(),
        software: SOFTWARE.to_owned(),
        tdmrep: None,
        terms: Vec::new(),
        time: parts.time,
        trust_txt: None,
        until: absent.note("until", ends.until.map(|at| at.to_string()), Why::Final),
        url: cut(ends.url),
        url_length: ends.url.len() as u64,
        vantage: parts.vantage,
        warc: warc(made.warc, absent),
    }
}

fn warc(places: Option<WarcPlaces>, absent: &mut Absent) -> Option<WarcPlaces> {
    let places = absent.note("warc", places, Why::NoWarc)?;
    let request = absent.note("warc.request", places.request, Why::NotSent);
    let response = absent.note("warc.response", places.response, Why::NoResponse);
    Some(WarcPlaces { request, response, ..places })
}
