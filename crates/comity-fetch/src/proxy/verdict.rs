//! Whose fault it is: what exits answer, read into reasons. The table stands in docs/proxies.md.

use comity_policy::Reason;
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use tokio_socks::Error as Socks;

use crate::fault::Fault;
use crate::proxy::health::Evidence;

/// What an exit's answer means for the exchange, and what it shows about the exit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) fault: Fault,
    pub(crate) evidence: Evidence,
}

impl Verdict {
    pub(crate) fn new(reason: Reason, evidence: Evidence, detail: impl Into<String>) -> Self {
        Self { fault: Fault::new(reason, detail), evidence }
    }
}

/// The refusal of a `CONNECT`: any answer but 2xx (RFC 9110 §9.3.6).
pub(crate) fn of_connect(status: StatusCode, fields: &HeaderMap) -> Verdict {
    let detail = detail(status, fields);
    if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        return Verdict::new(Reason::FetchProxyAuth, Evidence::Down, detail);
    }
    if let Some(reason) = marked(fields) {
        return Verdict::new(reason, Evidence::Neutral, detail);
    }
    let (reason, evidence) = match status.as_u16() {
        // RFC 9110 §15.6.3, §15.6.5: what the proxy asked gave no valid, or no timely answer. That is the site.
        502 => (Reason::FetchRefused, Evidence::Doubtful),
        504 => (Reason::FetchTimeoutConnect, Evidence::Doubtful),
        // The proxy itself: broken, overloaded, or out of quota.
        429 | 500..=599 => (Reason::FetchProxyRefused, Evidence::Doubtful),
        // It does not want this target.
        400..=499 => (Reason::FetchProxyRefused, Evidence::Neutral),
        // 1xx and 3xx answer no CONNECT.
        _ => (Reason::FetchProxyProtocol, Evidence::Down),
    };
    Verdict::new(reason, evidence, detail)
}

/// The answer to a request in absolute-form, if it is the exit's own and not the site's; `None`: the site's, as far as
/// can be told. In doubt it is the site's, whose 429 and 503 are always obeyed.
pub(crate) fn of_forward(status: StatusCode, fields: &HeaderMap) -> Option<Verdict> {
    let detail = || detail(status, fields);
    match (status.as_u16(), marked(fields)) {
        (407, _) => Some(Verdict::new(Reason::FetchProxyAuth, Evidence::Down, detail())),
        (..400 | 429, _) | (_, None) => None,
        (503, Some(reason)) if reason.is_proxy() => None,
        // What is asked for is obeyed, whoever is to blame.
        (503, Some(_)) if fields.contains_key(RETRY_AFTER) => None,
        (_, Some(reason)) => Some(Verdict::new(reason, Evidence::Neutral, detail())),
    }
}

/// An error of SOCKS5. `greeted`: the exit had begun to answer.
pub(crate) fn of_socks(error: &Socks, greeted: bool) -> Verdict {
    let (reason, evidence) = match error {
        // RFC 1928 §3: no acceptable method; RFC 1929 §2: the login failed.
        Socks::NoAcceptableAuthMethods
        | Socks::PasswordAuthFailure(_)
        | Socks::AuthorizationRequired
        | Socks::InvalidAuthValues(_) => (Reason::FetchProxyAuth, Evidence::Down),
        // RFC 1928 §6, REP 1: anything, the exit's own fault as well as the site's.
        Socks::GeneralSocksServerFailure => (Reason::FetchProxyRefused, Evidence::Doubtful),
        // REP 2 and 8: not this target.
        Socks::ConnectionNotAllowedByRuleset | Socks::AddressTypeNotSupported | Socks::InvalidTargetAddress(_) => {
            (Reason::FetchProxyRefused, Evidence::Neutral)
        }
        // REP 3 to 6: the exit asked, and the network or the site answered.
        Socks::NetworkUnreachable | Socks::HostUnreachable | Socks::ConnectionRefused => {
            (Reason::FetchRefused, Evidence::Neutral)
        }
        Socks::TtlExpired => (Reason::FetchTimeoutConnect, Evidence::Neutral),
        // It hung up instead of a reply: as good as REP 1.
        Socks::Io(_) if greeted => (Reason::FetchProxyRefused, Evidence::Doubtful),
        Socks::Io(_) => (Reason::FetchProxyConnect, Evidence::Down),
        _ => (Reason::FetchProxyProtocol, Evidence::Down),
    };
    Verdict::new(reason, evidence, format!("the proxy: {error}"))
}

/// What a proxy says itself about its answer: `Proxy-Status` (RFC 9209), or the field of Squid.
fn marked(fields: &HeaderMap) -> Option<Reason> {
    let status = fields.get_all("proxy-status").iter().filter_map(|value| value.to_str().ok());
    // The member that was added last is nearest to us (RFC 9209 §2).
    let error = status.rev().find_map(last_error).and_then(of_error_type);
    let squid = || fields.get("x-squid-error")?.to_str().ok()?.split_ascii_whitespace().next().and_then(of_squid);
    error.or_else(squid)
}

/// RFC 9209 §2.3: the types that tell who is to blame.
fn of_error_type(error: &str) -> Option<Reason> {
    Some(match error {
        "dns_error" => Reason::FetchDns,
        "dns_timeout" => Reason::FetchDnsTimeout,
        "destination_not_found" | "destination_unavailable" | "destination_ip_unroutable" | "connection_refused" => {
            Reason::FetchRefused
        }
        "connection_timeout" => Reason::FetchTimeoutConnect,
        "connection_terminated" => Reason::FetchReset,
        "http_response_timeout" => Reason::FetchTimeoutHead,
        "http_response_incomplete" => Reason::FetchReset,
        "http_protocol_error" | "http_upgrade_failed" => Reason::FetchProtocol,
        "tls_protocol_error" | "tls_certificate_error" | "tls_alert_received" => Reason::FetchTls,
        "destination_ip_prohibited"
        | "connection_limit_reached"
        | "http_request_denied"
        | "http_request_error"
        | "proxy_internal_error"
        | "proxy_internal_response"
        | "proxy_configuration_error"
        | "proxy_loop_detected" => Reason::FetchProxyRefused,
        _ => return None,
    })
}

/// The names that Squid gives its error pages.
fn of_squid(error: &str) -> Option<Reason> {
    Some(match error {
        "ERR_DNS_FAIL" => Reason::FetchDns,
        "ERR_CONNECT_FAIL" => Reason::FetchRefused,
        "ERR_READ_TIMEOUT" => Reason::FetchTimeoutHead,
        "ERR_READ_ERROR" | "ERR_WRITE_ERROR" | "ERR_ZERO_SIZE_OBJECT" => Reason::FetchReset,
        "ERR_INVALID_RESP" => Reason::FetchProtocol,
        "ERR_SECURE_CONNECT_FAIL" => Reason::FetchTls,
        _ if error.starts_with("ERR_") => Reason::FetchProxyRefused,
        _ => return None,
    })
}

/// The `error` parameter of the last member of a Proxy-Status list that has one.
fn last_error(list: &str) -> Option<&str> {
    let mut parts = Vec::new();
    let (mut from, mut quoted, mut escaped) = (0, false, false);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' | b';' if !quoted => {
                parts.extend(list.get(from..at));
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(list.get(from..));
    parts.iter().rev().find_map(|part| part.trim().strip_prefix("error="))
}

/// What the exit answered, in one line; its own words are bounded.
fn detail(status: StatusCode, fields: &HeaderMap) -> String {
    let mark = ["proxy-status", "x-squid-error"].into_iter().find_map(|name| fields.get(name)?.to_str().ok());
    match mark {
        Some(mark) => format!("the proxy answered {}: {}", status.as_u16(), mark.chars().take(200).collect::<String>()),
        None => format!("the proxy answered {}", status.as_u16()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn fields(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_refused_connect_says_whose_fault_it_is() {
        use Evidence::{Doubtful, Down, Neutral};
        type Fields = &'static [(&'static str, &'static str)];
        let rows: [(u16, Fields, Reason, Evidence); 16] = [
            (407, &[], Reason::FetchProxyAuth, Down),
            (407, &[("x-squid-error", "ERR_CACHE_ACCESS_DENIED 0")], Reason::FetchProxyAuth, Down),
            (403, &[], Reason::FetchProxyRefused, Neutral),
            (403, &[("x-squid-error", "ERR_ACCESS_DENIED 0")], Reason::FetchProxyRefused, Neutral),
            (404, &[], Reason::FetchProxyRefused, Neutral),
            (429, &[], Reason::FetchProxyRefused, Doubtful),
            (500, &[], Reason::FetchProxyRefused, Doubtful),
            (502, &[], Reason::FetchRefused, Doubtful),
            (503, &[], Reason::FetchProxyRefused, Doubtful),
            (503, &[("x-squid-error", "ERR_CONNECT_FAIL 111")], Reason::FetchRefused, Neutral),
            (503, &[("x-squid-error", "ERR_DNS_FAIL 0")], Reason::FetchDns, Neutral),
            (504, &[], Reason::FetchTimeoutConnect, Doubtful),
            (502, &[("proxy-status", "p; error=connection_refused")], Reason::FetchRefused, Neutral),
            (502, &[("proxy-status", "p; error=proxy_internal_error")], Reason::FetchProxyRefused, Neutral),
            (
                502,
                &[("proxy-status", "a;error=dns_error, b; details=\"x;error=no\"; error=connection_timeout")],
                Reason::FetchTimeoutConnect,
                Neutral,
            ),
            (302, &[], Reason::FetchProxyProtocol, Down),
        ];
        for (status, given, reason, evidence) in rows {
            let verdict = of_connect(StatusCode::from_u16(status).unwrap(), &fields(given));
            assert_eq!((verdict.fault.reason, verdict.evidence), (reason, evidence), "{status} {given:?}");
        }
    }

    #[test]
    fn in_absolute_form_only_what_is_surely_the_proxys_is_taken_from_the_site() {
        type Fields = &'static [(&'static str, &'static str)];
        let rows: [(u16, Fields, Option<Reason>); 14] = [
            (200, &[], None),
            (200, &[("proxy-status", "p; error=proxy_internal_response")], None),
            (404, &[], None),
            (403, &[], None),
            (403, &[("x-squid-error", "ERR_ACCESS_DENIED 0")], Some(Reason::FetchProxyRefused)),
            (407, &[], Some(Reason::FetchProxyAuth)),
            (429, &[("proxy-status", "cdn; error=http_request_denied")], None),
            (502, &[], None),
            (502, &[("proxy-status", "cdn; error=connection_refused")], Some(Reason::FetchRefused)),
            (503, &[("x-squid-error", "ERR_CONNECT_FAIL 111")], Some(Reason::FetchRefused)),
            (503, &[("x-squid-error", "ERR_DNS_FAIL 0")], Some(Reason::FetchDns)),
            (503, &[("proxy-status", "cdn; error=connection_limit_reached")], None),
            (503, &[("proxy-status", "cdn; error=destination_unavailable"), ("retry-after", "3600")], None),
            (504, &[("proxy-status", "p; error=unheard_of")], None),
        ];
        for (status, given, reason) in rows {
            let verdict = of_forward(StatusCode::from_u16(status).unwrap(), &fields(given));
            assert_eq!(verdict.map(|verdict| verdict.fault.reason), reason, "{status} {given:?}");
        }
    }

    #[test]
    fn every_reply_of_socks_has_its_side() {
        let rows = [
            (Socks::GeneralSocksServerFailure, true),
            (Socks::ConnectionNotAllowedByRuleset, true),
            (Socks::NetworkUnreachable, false),
            (Socks::HostUnreachable, false),
            (Socks::ConnectionRefused, false),
            (Socks::TtlExpired, false),
            (Socks::CommandNotSupported, true),
            (Socks::AddressTypeNotSupported, true),
            (Socks::PasswordAuthFailure(1), true),
            (Socks::NoAcceptableAuthMethods, true),
            (Socks::InvalidResponseVersion, true),
        ];
        for (error, proxys) in rows {
            assert_eq!(of_socks(&error, true).fault.reason.is_proxy(), proxys, "{error}");
        }
    }
}
