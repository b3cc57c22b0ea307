//! The report for programs: one object, its members described in docs/robots.md.

use std::time::Duration;

use comity::policy::{Capture, WallTime};
use comity_gate::{FetchedRobots, HopMeaning, NotFollowed, RobotsClass, RobotsHop};
use serde_json::{Value, json};

use super::again::Again;
use super::copies::{Entry, History};
use super::siblings::Sibling;
use super::{Report, meaning};
use crate::commands::robots::lint;

pub(super) fn report(report: &Report<'_>) -> Value {
    let found = report.found;
    json!({
        "origin": found.origin.as_str(),
        "user_agent": report.user_agent,
        "asked": time(found.at),
        "class": found.class.as_str(),
        "status": found.class.status(),
        "cause": cause(found),
        "means": meaning::sentence(found),
        "means_before": report.history.as_ref().and_then(meaning::before),
        "chain": found.hops.iter().map(hop).collect::<Vec<_>>(),
        "file": file(found),
        "life": life(found),
        "next_try": found.life.failing().map(|failing| time(failing.next_try)),
        "again": report.again.as_ref().map(again),
        "lint": report.lint.as_ref().map(lint::json_report),
        "advice": report.advice.iter().map(|a| json!({"code": a.code, "message": a.message})).collect::<Vec<_>>(),
        "copies": report.history.as_ref().map(copies),
        "diff": diff(report),
        "siblings": report.siblings.as_ref().map(|all| all.iter().map(sibling).collect::<Vec<_>>()),
    })
}

fn time(at: WallTime) -> String {
    at.to_string()
}

fn millis(span: Option<Duration>) -> Option<f64> {
    span.map(|span| span.as_micros() as f64 / 1000.0)
}

fn cause(found: &FetchedRobots) -> Option<&'static str> {
    match found.class {
        RobotsClass::Unreachable { cause, .. } => Some(cause.code()),
        _ => None,
    }
}

fn hop(hop: &RobotsHop) -> Value {
    let (meaning, to) = match &hop.meaning {
        HopMeaning::Redirect(target) => ("redirect", Some(target.as_str())),
        HopMeaning::NotFollowed(NotFollowed::TooMany) => ("too_many_redirects", None),
        HopMeaning::NotFollowed(NotFollowed::Loop) => ("redirect_loop", None),
        HopMeaning::NotFollowed(NotFollowed::NoTarget) => ("redirect_to_nowhere", None),
        HopMeaning::Answer => ("answer", None),
        HopMeaning::NotAsked(_) => ("not_asked", None),
    };
    let refused = match &hop.meaning {
        HopMeaning::NotAsked(refused) => Some((refused.reason, refused.detail.as_str())),
        _ => None,
    };
    let capture = hop.capture.as_deref();
    let fault = capture.and_then(|capture| capture.fault).or(refused.map(|(reason, _)| reason));
    let detail = capture.and_then(|capture| capture.detail.as_deref()).or(refused.map(|(_, detail)| detail));
    json!({
        "url": hop.url.as_str(),
        "status": capture.and_then(|capture| capture.status),
        "meaning": meaning,
        "to": to,
        "fault": fault.map(|fault| fault.code()),
        "detail": detail,
        "exchange": capture.map(exchange),
    })
}

fn exchange(capture: &Capture) -> Value {
    let tls = capture
        .tls
        .as_ref()
        .map(|tls| json!({"version": tls.version, "cipher": tls.cipher, "certificate_sha256": tls.certificate_sha256, "alpn": tls.alpn}));
    json!({
        "started": time(capture.started),
        "peer": capture.peer.map(|peer| peer.to_string()),
        "protocol": capture.protocol.as_str(),
        "tls": tls,
        "dns_ms": millis(capture.timings.dns),
        "connect_ms": millis(capture.timings.connect),
        "tls_ms": millis(capture.timings.tls),
        "first_byte_ms": millis(capture.timings.head),
        "body_ms": millis(capture.timings.body),
        "total_ms": millis(Some(capture.timings.total)),
    })
}

fn file(found: &FetchedRobots) -> Option<Value> {
    let ((digest, bytes), copy, answer) = (found.file.as_ref()?, found.life.copy()?, found.answer()?);
    Some(json!({
        "url": answer.url.as_str(),
        "sha256": digest.to_string(),
        "bytes": copy.bytes,
        "read": bytes.len(),
        "truncated": copy.truncated,
        "content_type": answer.field("content-type"),
        "content_encoding": answer.field("content-encoding"),
        "etag": copy.validators.as_ref().and_then(|v| v.etag.as_deref()),
        "last_modified": copy.validators.as_ref().and_then(|v| v.last_modified.as_deref()),
        "text": String::from_utf8_lossy(bytes),
    }))
}

fn life(found: &FetchedRobots) -> Option<Value> {
    if matches!(found.class, RobotsClass::Unreachable { .. }) {
        return None;
    }
    let (fetched, _, expires) = found.life.fetched()?;
    Some(json!({
        "fetched": time(fetched),
        "expires": time(expires),
        "life_s": expires.since(fetched).as_secs(),
        "max_age_s": found.max_age.map(|age| age.as_secs()),
        "age_s": meaning::age(found).map(|age| age.as_secs()),
    }))
}

fn again(again: &Again) -> Value {
    match again {
        Again::Same => json!({"asked": true, "same": true}),
        Again::Differs(second) => json!({
            "asked": true,
            "same": false,
            "class": second.class.as_str(),
            "status": second.class.status(),
            "sha256": second.file.as_ref().map(|(digest, _)| digest.to_string()),
        }),
        Again::NotAsked(why) => json!({"asked": false, "why": why}),
    }
}

fn copies(history: &History) -> Value {
    let entry = |entry: &Entry| {
        json!({
            "fetched": time(entry.fetched()),
            "class": entry.class,
            "status": entry.status,
            "sha256": entry.digest,
            "expires": entry.expires().map(time),
            "file": entry.file,
        })
    };
    json!({
        "dir": history.folder,
        "count": history.count(),
        "now": entry(&history.now),
        "since": time(history.since()),
        "before": history.before().map(entry),
        "old": history.old().map(entry),
        "old_until": history.old_until().map(time),
    })
}

fn diff(report: &Report<'_>) -> Option<Value> {
    let changes = report.changes.as_ref()?;
    let lines = changes.groups.iter().flatten().filter(|line| line.sign != ' ');
    let lines = lines.map(|line| json!({"op": line.sign.to_string(), "line": line.number, "text": line.text}));
    Some(json!({"differs": changes.differ, "lines": lines.collect::<Vec<_>>()}))
}

fn sibling(sibling: &Sibling) -> Value {
    let found = &sibling.found;
    json!({
        "origin": found.origin.as_str(),
        "relation": sibling.relation.as_str(),
        "class": found.class.as_str(),
        "status": found.class.status(),
        "cause": cause(found),
        "sha256": found.file.as_ref().map(|(digest, _)| digest.to_string()),
        "redirects_to": sibling.redirects_to(),
    })
}
