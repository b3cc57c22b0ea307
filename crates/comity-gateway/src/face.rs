use comity_policy::Reason;
use http::StatusCode;

use crate::ruling::Verdict;

/// How a reason looks from outside: HTTP status, and the error token of Proxy-Status (RFC 9209 §2.3).
///
/// Source: the table of the gateway reference §2. Refusals that last are 4xx, since clients repeat 5xx by themselves; the
/// error token is exact where the status is not.
pub(crate) fn face(verdict: Verdict, reason: Reason) -> (StatusCode, &'static str) {
    use StatusCode as S;
    match reason {
        Reason::AuthMissing | Reason::AuthInvalid => (S::PROXY_AUTHENTICATION_REQUIRED, "http_request_denied"),
        Reason::TargetMethod => (S::METHOD_NOT_ALLOWED, "http_request_error"),
        Reason::TargetSyntax | Reason::TargetScheme | Reason::TargetContent | Reason::TargetMismatch => {
            (S::BAD_REQUEST, "http_request_error")
        }
        Reason::TargetAddress => (S::FORBIDDEN, "destination_ip_prohibited"),
        Reason::TargetLoop => (S::LOOP_DETECTED, "proxy_loop_detected"),
        Reason::RobotsUnreachable => (S::SERVICE_UNAVAILABLE, "http_request_denied"),
        Reason::PermitStale | Reason::GatewayDraining => (S::SERVICE_UNAVAILABLE, "proxy_internal_error"),
        Reason::ConcOrigin | Reason::ConcAddress | Reason::ConcTotal | Reason::ConcCustomer => {
            (S::TOO_MANY_REQUESTS, "connection_limit_reached")
        }
        other => upstream(other).unwrap_or(match verdict {
            Verdict::Wait => (S::TOO_MANY_REQUESTS, "http_request_denied"),
            Verdict::Allow | Verdict::Deny => (S::FORBIDDEN, "http_request_denied"),
        }),
    }
}

/// Faults between the gateway and the site.
fn upstream(reason: Reason) -> Option<(StatusCode, &'static str)> {
    use StatusCode as S;
    Some(match reason {
        Reason::FetchDns => (S::BAD_GATEWAY, "dns_error"),
        Reason::FetchDnsTimeout => (S::GATEWAY_TIMEOUT, "dns_timeout"),
        Reason::FetchRefused => (S::BAD_GATEWAY, "connection_refused"),
        Reason::FetchTimeoutConnect => (S::GATEWAY_TIMEOUT, "connection_timeout"),
        Reason::FetchTimeoutHead => (S::GATEWAY_TIMEOUT, "http_response_timeout"),
        Reason::FetchTimeoutIdle | Reason::FetchTimeoutTotal | Reason::FetchSlow => {
            (S::GATEWAY_TIMEOUT, "connection_read_timeout")
        }
        Reason::FetchReset => (S::BAD_GATEWAY, "connection_terminated"),
        Reason::FetchTls => (S::BAD_GATEWAY, "tls_protocol_error"),
        Reason::FetchProtocol => (S::BAD_GATEWAY, "http_protocol_error"),
        Reason::FetchHeaders => (S::BAD_GATEWAY, "http_response_header_section_size"),
        Reason::FetchTooLarge | Reason::FetchRatio => (S::BAD_GATEWAY, "http_response_body_size"),
        Reason::FetchProxyNone => (S::SERVICE_UNAVAILABLE, "proxy_internal_error"),
        Reason::FetchProxyTimeout => (S::GATEWAY_TIMEOUT, "proxy_internal_error"),
        proxy if proxy.is_proxy() => (S::BAD_GATEWAY, "proxy_internal_error"),
        Reason::UrlUnsendable => (S::BAD_REQUEST, "http_request_error"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_lasting_refusal_is_one_that_clients_repeat() {
        for reason in Reason::ALL.iter().filter(|reason| !reason.is_ok()) {
            let (status, _) = face(Verdict::Deny, *reason);
            let repeated = [500, 502, 503, 504, 429].contains(&status.as_u16());
            let passes = reason.code().starts_with("fetch.")
                || reason.code().starts_with("conc.")
                || matches!(reason, Reason::RobotsUnreachable | Reason::PermitStale | Reason::GatewayDraining);
            assert!(!repeated || passes, "{reason} is answered {status}");
        }
        assert_eq!(face(Verdict::Wait, Reason::RateOrigin).0, 429);
        assert_eq!(face(Verdict::Deny, Reason::ParkCrawlDelay).0, 403);
    }
}
