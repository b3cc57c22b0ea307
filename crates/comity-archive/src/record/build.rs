use std::collections::BTreeMap;

use comity_policy::{Capture, Decision, Digest, Errand, Reason, RobotsState, WallTime};
use comity_signals::{Declared, Place, Statement, Verdict};
use comity_url::Origin;

use super::absent::{Absent, Why};
use super::{
    AgentRecord, DecisionRecord, Discovery, PurposeRecord, RECORD_SCHEMA, RawText, Record, RequestRecord,
    ResponseRecord, RobotsRecord, RuleRecord, SignalRecord, TimeRecord, TlsRecord, VantageRecord, WarcPlaces,
};
use crate::warc::http_head::{self, StoredHead, WITHHELD};
use crate::warc::info::SOFTWARE;
use crate::{Basis, Context, CrawlFacts, Fetched, NotFetched};

/// Texts from outside that stand in a record are cut to this many bytes.
const MAX_TEXT: usize = 4096;

/// What the archive adds to an event: ids, places, digests.
#[derive(Debug)]
pub(crate) struct Made<'a> {
    pub(crate) crawl: &'a CrawlFacts,
    pub(crate) record_id: String,
    pub(crate) warc: Option<WarcPlaces>,
    /// Id of the robots.txt response that a decision rests on, where it is remembered.
    pub(crate) robots_record: Option<String>,
}

/// What the HTTP part of a capture looks like when stored.
#[derive(Debug)]
pub(crate) struct Http<'a> {
    pub(crate) request: Option<&'a StoredHead>,
    pub(crate) payload_sha256: Option<Digest>,
}

pub(crate) fn fetched(event: &Fetched, http: &Http<'_>, made: Made<'_>) -> Record {
    let (capture, absent) = (&event.capture, &mut Absent::default());
    let decision = match &event.errand {
        Errand::Judged(decision) => Some(decision.as_ref()),
        Errand::Robots { .. } => None,
    };
    let ended = capture.started.after(capture.timings.total);
    let reason = capture.fault.or_else(|| decision.map(|d| d.reason)).unwrap_or(Reason::Ok);
    let ends = Ends {
        outcome: if capture.fault.is_some() { "failed" } else { "fetched" },
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
    let basis = RobotsBasis { decision, robots_for, used: capture.started, origin: capture.url.origin() };
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
    let origin = match &event.target {
        crate::Target::Url(url) => Some(url.origin()),
        crate::Target::Text(_) => None,
    };
    let parts = Parts {
        time: no_time(event.at, absent),
        request: absent.note("request", None, Why::NotSent),
        response: absent.note("response", None, Why::NotSent),
        vantage: no_vantage(absent),
    };
    match origin.or(robots_for) {
        Some(origin) => {
            let basis = RobotsBasis { decision, robots_for, used: event.at, origin };
            assemble(ends, &event.context, &basis, parts, made, absent)
        }
        None => assemble_bare(ends, &event.context, parts, made, absent),
    }
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
struct RobotsBasis<'a> {
    decision: Option<&'a Decision>,
    /// Set when the URL itself is a robots.txt, or a redirect target of one.
    robots_for: Option<&'a Origin>,
    used: WallTime,
    origin: &'a Origin,
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
    let group = basis.decision.map(|d| d.robots.group.clone()).filter(|group| !group.is_empty());
    let group = absent.note("group", group, no_group);
    let decision = basis.decision.map(|d| decision_record(d, made.crawl.identity.purposes()));
    let decision = absent.note("decision", decision, Why::NotApplicable);
    let statements = basis.decision.map(|d| d.preferences.statements()).unwrap_or_default();
    let signals = statements.iter().enumerate().map(|(n, s)| signal(n, s, absent)).collect();
    let errand = if basis.robots_for.is_some() { "robots" } else { "page" };
    let mut record = assemble_bare_parts(ends, context, parts, made, absent);
    record.errand = errand.to_owned();
    (record.robots, record.rule, record.group) = (robots, rule, group);
    (record.decision, record.signals) = (decision, signals);
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
        crawl: made.crawl.id.clone(),
        decision: None,
        detail: absent.note("detail", ends.detail.map(cut), Why::NoFault),
        discovery: discovery(context, absent),
        errand: "page".to_owned(),
        group: None,
        outcome: ends.outcome.to_owned(),
        reason: ends.reason.code().to_owned(),
        record_id: made.record_id,
        request: parts.request,
        response: parts.response,
        robots: None,
        rule: None,
        schema: RECORD_SCHEMA.to_owned(),
        signals: Vec::new(),
        software: SOFTWARE.to_owned(),
        time: parts.time,
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

fn agent(crawl: &CrawlFacts, absent: &mut Absent) -> AgentRecord {
    let identity = &crawl.identity;
    let digest = crawl.config_digest.map(|d| d.to_string());
    AgentRecord {
        config_digest: absent.note("agent.config_digest", digest, Why::NotConfigured),
        contact: identity.contact().to_owned(),
        from: absent.note("agent.from", crawl.from.clone(), Why::NotConfigured),
        operator: absent.note("agent.operator", crawl.operator.clone(), Why::NotConfigured),
        product_tokens: identity.tokens().iter().map(|token| token.as_str().to_owned()).collect(),
        purposes: identity.purposes().iter().map(|p| p.as_str().to_owned()).collect(),
        user_agent: identity.user_agent(),
    }
}

fn discovery(context: &Context, absent: &mut Absent) -> Discovery {
    Discovery {
        attempt: context.attempt,
        depth: context.depth,
        hops: u32::from(context.hops),
        seed: context.seed,
        via: absent.note("discovery.via", context.via.as_ref().map(|url| url.as_str().to_owned()), Why::NoVia),
    }
}

fn request(head: &StoredHead, capture: &Capture) -> RequestRecord {
    RequestRecord { head: RawText::of(&head.bytes), method: http_head::method(capture) }
}

fn response(capture: &Capture, http: &Http<'_>, absent: &mut Absent) -> Option<ResponseRecord> {
    let Some((status, digest)) = capture.status.zip(http.payload_sha256) else {
        return absent.note("response", None, Why::NoResponse);
    };
    let media_type = capture.field("content-type").map(cut);
    let truncated = capture.truncated.map(|kind| kind.as_str().to_owned());
    Some(ResponseRecord {
        body_digest: digest.to_string(),
        body_length: capture.body.len(),
        decoded_length: capture.decoded_len,
        fields: capture.fields.iter().map(|(name, value)| field(name, value)).collect(),
        media_type: absent.note("response.media_type", media_type, Why::NotStated),
        status,
        truncated: absent.note("response.truncated", truncated, Why::Whole),
    })
}

/// Records travel further than WARC files, so they do not repeat the secrets that a site hands out.
fn field(name: &str, value: &[u8]) -> (String, RawText) {
    let withheld = name.eq_ignore_ascii_case("set-cookie") || name.eq_ignore_ascii_case("set-cookie2");
    (name.to_owned(), if withheld { RawText::Text(WITHHELD.to_owned()) } else { RawText::of(value) })
}

fn time(capture: &Capture, ended: WallTime, absent: &mut Absent) -> TimeRecord {
    let millis = |span: std::time::Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let timings = &capture.timings;
    TimeRecord {
        body_ms: absent.note("time.body_ms", timings.body.map(millis), Why::NotMeasured),
        connect_ms: absent.note("time.connect_ms", timings.connect.map(millis), Why::NotMeasured),
        ended: ended.to_string(),
        head_ms: absent.note("time.head_ms", timings.head.map(millis), Why::NotMeasured),
        started: capture.started.to_string(),
        total_ms: Some(millis(timings.total)),
    }
}

fn no_time(at: WallTime, absent: &mut Absent) -> TimeRecord {
    let mut none = |path: &str| absent.note(path, None, Why::NotSent);
    TimeRecord {
        body_ms: none("time.body_ms"),
        connect_ms: none("time.connect_ms"),
        ended: at.to_string(),
        head_ms: none("time.head_ms"),
        started: at.to_string(),
        total_ms: none("time.total_ms"),
    }
}

fn vantage(capture: &Capture, absent: &mut Absent) -> VantageRecord {
    let tls = capture.tls.as_ref().map(|tls| TlsRecord {
        certificate_sha256: tls.certificate_sha256.clone(),
        cipher: tls.cipher.clone(),
        version: tls.version.to_owned(),
    });
    VantageRecord {
        exit: Some(capture.vantage.to_string()),
        protocol: Some(capture.protocol.as_str().to_owned()),
        server_ip: absent.note("vantage.server_ip", capture.peer.map(|ip| ip.to_string()), Why::NotSeen),
        tls: absent.note("vantage.tls", tls, Why::NoTls),
    }
}

fn no_vantage(absent: &mut Absent) -> VantageRecord {
    VantageRecord {
        exit: absent.note("vantage.exit", None, Why::NotSent),
        protocol: absent.note("vantage.protocol", None, Why::NotSent),
        server_ip: absent.note("vantage.server_ip", None, Why::NotSent),
        tls: absent.note("vantage.tls", None, Why::NotSent),
    }
}

fn robots(decision: &Decision, basis: &RobotsBasis<'_>, record: Option<String>, absent: &mut Absent) -> RobotsRecord {
    let found = &decision.robots;
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
        record: absent.note("robots.record", record, no_record),
        state: found.state.as_str().to_owned(),
        status: absent.note("robots.status", found.status, Why::NoRobots),
        truncated: found.truncated,
    }
}

/// A robots.txt is not judged by itself (RFC 9309 §2.2.2).
fn robots_itself(origin: &Origin, absent: &mut Absent) -> RobotsRecord {
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
        record: None,
        state: RobotsState::NotApplicable.as_str().to_owned(),
        status: None,
        truncated: false,
    }
}

fn rule(decision: &Decision) -> Option<RuleRecord> {
    decision.rule.as_ref().map(|rule| RuleRecord {
        group_line: rule.group_line,
        kind: rule.kind.to_owned(),
        line: rule.line,
        pattern: rule.pattern.clone(),
        priority: rule.priority,
    })
}

fn decision_record(decision: &Decision, declared: &[Declared]) -> DecisionRecord {
    let verdicts = declared.iter().filter_map(|d| d.judged()).map(|p| (p, decision.preferences.verdict(p)));
    let outcome = |verdict: Verdict| if verdict == Verdict::Denied { "refuse" } else { "proceed" };
    DecisionRecord {
        at: decision.decided.to_string(),
        default_applied: verdicts.clone().any(|(_, verdict)| verdict == Verdict::Unspecified),
        purposes: verdicts
            .map(|(purpose, verdict)| {
                let record =
                    PurposeRecord { decision: outcome(verdict).to_owned(), verdict: verdict.as_str().to_owned() };
                (purpose.as_str().to_owned(), record)
            })
            .collect(),
        reason: decision.reason.code().to_owned(),
    }
}

fn signal(n: usize, statement: &Statement, absent: &mut Absent) -> SignalRecord {
    SignalRecord {
        derived: statement.derived,
        path: absent.note(format!("signals.{n}.path"), statement.path.clone(), Why::EveryPath),
        place: match statement.place {
            Place::Whole => "whole".to_owned(),
            Place::Line(n) => format!("line {n}"),
            Place::Header(n) => format!("header {n}"),
            Place::Rule(n) => format!("rule {n}"),
            Place::Element(n) => format!("element {n}"),
        },
        purpose: statement.purpose.as_str().to_owned(),
        raw: statement.raw.clone(),
        reservation: statement.reservation,
        source: statement.source.as_str().to_owned(),
        verdict: statement.verdict.as_str().to_owned(),
    }
}

/// At most [`MAX_TEXT`] bytes, cut between characters.
fn cut(text: &str) -> String {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}
