use std::time::Duration;

use bytes::Bytes;
use comity_policy::Reason;
use comity_url::CrawlUrl;
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, PROXY_AUTHENTICATE, RETRY_AFTER,
};
use http::{Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::face::face;
use crate::gateway::House;
use crate::record::{evidence, millis, robots, rule, signals};
use crate::ruling::{Ruling, Verdict};

/// An answer of the gateway: its body is held whole.
pub(crate) type Answer = Response<Full<Bytes>>;

/// A refusal or a fault as the customer sees it, told apart from any answer of a site by `Comity-Reason` and
/// `Proxy-Status`, which no site can send through here.
pub(crate) fn refusal(house: &House, ruling: &Ruling, url: Option<&CrawlUrl>) -> Answer {
    let (status, error) = face(ruling.verdict, ruling.reason);
    let mut answer = problem(status, &body(house, ruling, url, status));
    let fields = answer.headers_mut();
    let details = match ruling.decision.as_ref().and_then(|decision| decision.rule.as_ref()) {
        Some(rule) => format!("{}: {} at line {}", ruling.reason, rule.kind, rule.line),
        None => ruling.reason.to_string(),
    };
    put(fields, "proxy-status", &format!("{}; error={error}; details={}", house.config.name, sf_string(&details)));
    put(fields, "comity-reason", ruling.reason.code());
    put(fields, "comity-decision", &ruling.id);
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(wait) = ruling.retry_after.filter(|_| matches!(status.as_u16(), 429 | 503)) {
        fields.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
    }
    match ruling.reason {
        Reason::AuthMissing | Reason::AuthInvalid => {
            fields.insert(PROXY_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"comity\", charset=\"UTF-8\""));
        }
        Reason::TargetMethod => {
            fields.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        // What follows the head on this connection is not known to be a request.
        Reason::TargetContent => {
            fields.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    answer
}

/// A body of RFC 9457.
pub(crate) fn problem(status: StatusCode, body: &Value) -> Answer {
    let mut answer = json_answer(status, body);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    answer
}

pub(crate) fn json_answer(status: StatusCode, body: &Value) -> Answer {
    let mut answer = Response::new(Full::from(format!("{body}\n")));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn body(house: &House, ruling: &Ruling, url: Option<&CrawlUrl>, status: StatusCode) -> Value {
    let detail = match (&ruling.detail, ruling.verdict) {
        (Some(detail), _) => detail.clone(),
        (None, Verdict::Wait) => format!("not yet: {}", ruling.reason.text()),
        (None, _) => ruling.reason.text().to_owned(),
    };
    let evidence = url.map(|url| evidence(house, ruling, url));
    json!({
        "type": format!("urn:comity:reason:{}", ruling.reason),
        "title": ruling.reason.text(),
        "status": status.as_u16(),
        "detail": detail,
        "reason": ruling.reason.code(),
        "url": url.map(CrawlUrl::as_str),
        "rule": evidence.as_ref().map(|evidence| rule(ruling, evidence)),
        "robots": evidence.as_ref().map(|evidence| robots(house, evidence)),
        "signals": ruling.decision.as_ref().map(|decision| signals(&decision.preferences)).unwrap_or_default(),
        "retry_after_ms": ruling.retry_after.map(millis),
        "decision_id": ruling.id,
    })
}

/// Whole seconds rounded up, and never "at once".
fn whole_seconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_micros().div_ceil(1_000_000)).unwrap_or(u64::MAX).max(1)
}

fn put(fields: &mut http::HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        fields.insert(HeaderName::from_static(name), value);
    }
}

/// A String of RFC 9651 §3.3.3; what is not printable ASCII is percent-encoded first.
fn sf_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            0x20..=0x7e => quoted.push(char::from(byte)),
            _ => quoted.push_str(&format!("%{byte:02X}")),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_strings_are_written_as_the_standards_want() {
        let rows = [(0, 1), (1, 1), (1_000_000, 1), (1_000_001, 2), (29_000_000, 29)];
        for (micros, seconds) in rows {
            assert_eq!(whole_seconds(Duration::from_micros(micros)), seconds);
        }
        assert_eq!(sf_string("a\"b\\c\r\u{e9}"), r#""a\"b\\c%0D%C3%A9""#);
    }
}
