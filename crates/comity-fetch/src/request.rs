use comity_policy::{Reason, WallTime};
use comity_url::{CrawlUrl, Scheme};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, FROM, HOST, IF_MODIFIED_SINCE, IF_NONE_MATCH,
    TE, TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use http_body::Body as _;

use crate::coding::ACCEPTED;
use crate::fault::Fault;
use crate::outgoing::Outgoing;
use crate::signature::Signer;
use crate::{FetchConfig, Method, Request};

const SIGNATURE_AGENT: HeaderName = HeaderName::from_static("signature-agent");
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
const SIGNATURE: HeaderName = HeaderName::from_static("signature");

/// What all requests of our own have in common, made once.
#[derive(Debug)]
pub(crate) struct Own {
    /// Host stands first, as RFC 9110 §7.2 advises; its value is filled in for each request.
    fields: HeaderMap,
    user_agent: Option<HeaderValue>,
    signer: Option<Signer>,
}

impl Own {
    pub(crate) fn of(config: &FetchConfig) -> Self {
        let mut fields = HeaderMap::with_capacity(8);
        fields.insert(HOST, HeaderValue::from_static(""));
        put(&mut fields, USER_AGENT, Some(&config.user_agent));
        let user_agent = fields.get(USER_AGENT).cloned();
        put(&mut fields, FROM, config.from.as_deref());
        put(&mut fields, ACCEPT, Some(config.accept.as_deref().unwrap_or("*/*")));
        fields.insert(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED));
        Self { fields, user_agent, signer: config.signer.clone() }
    }
}

/// The request for `url` as of `now`: its request target byte for byte (invariant 3), the Host that it names; signed when
/// the configuration holds a signer and the request is our own. What is forwarded is somebody else's: it carries his own
/// signature or none.
///
/// # Errors
/// `url.unsendable` when the HTTP library would alter the target.
pub(crate) fn build(
    url: &CrawlUrl,
    extra: &Request,
    own: &Own,
    (now, cookie): (WallTime, Option<&str>),
) -> Result<http::Request<Outgoing>, Fault> {
    let mut request = http::Request::new(Outgoing::default());
    *request.method_mut() = match extra.method {
        Method::Get => http::Method::GET,
        Method::Head => http::Method::HEAD,
    };
    *request.uri_mut() = target(url)?;
    let fields = request.headers_mut();
    match &extra.fields {
        Some(forwarded) => {
            put(fields, HOST, Some(url.origin().authority()));
            if !forwarded.contains_key(USER_AGENT) {
                fields.extend(own.user_agent.clone().map(|value| (USER_AGENT, value)));
            }
            take_over(fields, forwarded);
        }
        None => {
            fields.clone_from(&own.fields);
            put(fields, HOST, Some(url.origin().authority()));
        }
    }
    put(fields, IF_NONE_MATCH, extra.if_none_match.as_deref());
    put(fields, IF_MODIFIED_SINCE, extra.if_modified_since.as_deref());
    put(fields, COOKIE, cookie);
    let signer = own.signer.as_ref().filter(|_| extra.fields.is_none());
    if let Some(signed) = signer.and_then(|signer| signer.sign(request.method().as_str(), url, now)) {
        let fields = request.headers_mut();
        put(fields, SIGNATURE_AGENT, Some(&signed.agent));
        put(fields, SIGNATURE_INPUT, Some(&signed.input));
        put(fields, SIGNATURE, Some(&signed.signature));
    }
    Ok(request)
}

/// A request of somebody else for `url`: its fields but those of the connection, the Host that the URL names.
///
/// # Errors
/// `url.unsendable` when the HTTP library would alter the target.
pub(crate) fn forward(
    url: &CrawlUrl,
    method: &http::Method,
    given: &HeaderMap,
    body: Outgoing,
) -> Result<http::Request<Outgoing>, Fault> {
    let exact = body.size_hint().exact();
    let mut request = http::Request::new(body);
    request.method_mut().clone_from(method);
    *request.uri_mut() = target(url)?;
    let fields = request.headers_mut();
    put(fields, HOST, Some(url.origin().authority()));
    let named = connection_options(given);
    for (name, value) in given {
        // A length that is not the body's would let two readers see two requests.
        let length_lies = name == CONTENT_LENGTH && (exact.is_none() || exact != length(value));
        if !(is_of_the_connection(name) || named.contains(name) || length_lies) {
            fields.append(name.clone(), value.clone());
        }
    }
    // RFC 9110 §8.6: methods that mean a body say that there is none.
    if exact == Some(0) && [http::Method::POST, http::Method::PUT, http::Method::PATCH].contains(method) {
        fields.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    Ok(request)
}

/// The fields that Connection names (RFC 9110 §7.6.1).
fn connection_options(fields: &HeaderMap) -> Vec<HeaderName> {
    let values = fields.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect()
}

/// Fields of one connection (RFC 9110 §7.6.1), those for proxies, `Expect`, which nobody here would wait for, and `Host`,
/// which the URL names.
fn is_of_the_connection(name: &HeaderName) -> bool {
    const NAMES: [HeaderName; 9] = [
        HOST,
        TRANSFER_ENCODING,
        CONNECTION,
        UPGRADE,
        TE,
        TRAILER,
        EXPECT,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("http2-settings"),
    ];
    NAMES.contains(name) || name.as_str().starts_with("proxy-")
}

fn length(value: &HeaderValue) -> Option<u64> {
    value.to_str().ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
}

fn target(url: &CrawlUrl) -> Result<Uri, Fault> {
    let unsendable = |what: &str| Fault::new(Reason::UrlUnsendable, format!("{url}: {what}"));
    let target = PathAndQuery::try_from(url.request_target()).map_err(|error| unsendable(&error.to_string()))?;
    if target.as_str() == url.request_target() {
        Ok(Uri::from(target))
    } else {
        Err(unsendable("its request target would be altered"))
    }
}

/// Takes over the fields of a forwarded request, but those that belong to one connection or would change whom it asks.
fn take_over(fields: &mut HeaderMap, forwarded: &HeaderMap) {
    fields.reserve(forwarded.len());
    for (name, value) in forwarded.iter().filter(|(name, _)| !is_of_the_connection(name) && **name != CONTENT_LENGTH) {
        fields.append(name, value.clone());
    }
}

fn put(fields: &mut HeaderMap, name: HeaderName, value: Option<&str>) {
    if let Some(value) = value.and_then(|text| HeaderValue::from_str(text).ok()) {
        fields.insert(name, value);
    }
}

/// The same request for HTTP/2: `:path` is the request target, `:authority` stands for Host (RFC 9113 §8.3.1).
///
/// # Errors
/// `url.unsendable` when the HTTP library would alter the target.
pub(crate) fn for_http2(
    mut request: http::Request<Outgoing>,
    url: &CrawlUrl,
) -> Result<http::Request<Outgoing>, Fault> {
    let unsendable = |what: &str| Fault::new(Reason::UrlUnsendable, format!("{url}: {what}"));
    // Taken over one by one: HeaderMap::remove would change the order of the others.
    let fields = std::mem::take(request.headers_mut());
    let kept = fields.iter().filter(|(name, _)| *name != HOST);
    request.headers_mut().extend(kept.map(|(name, value)| (name.clone(), value.clone())));
    let mut parts = request.uri().clone().into_parts();
    let scheme = match url.origin().scheme() {
        Scheme::Http => http::uri::Scheme::HTTP,
        Scheme::Https => http::uri::Scheme::HTTPS,
    };
    parts.scheme = Some(scheme);
    let authority = http::uri::Authority::try_from(url.origin().authority());
    parts.authority = Some(authority.map_err(|error| unsendable(&error.to_string()))?);
    *request.uri_mut() = Uri::from_parts(parts).map_err(|error| unsendable(&error.to_string()))?;
    *request.version_mut() = http::Version::HTTP_2;
    let kept = request.uri().path_and_query().is_some_and(|path| path.as_str() == url.request_target());
    if kept { Ok(request) } else { Err(unsendable("its request target would be altered")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: (WallTime, Option<&str>) = (WallTime::from_unix_millis(0), None);

    fn own() -> Own {
        Own::of(&FetchConfig::new("MyBot/1.0"))
    }

    #[test]
    fn targets_are_the_judged_bytes() {
        for target in ["/", "/?", "//a//b", "/|", "/[x]", "/%zz", "/a?b=c?d", "/'", "/a?x={y}|z", "/~;=,@!$&*()+:"] {
            let url = CrawlUrl::parse(&format!("http://a.test:8080{target}")).unwrap();
            let request = build(&url, &Request::default(), &own(), NOW).unwrap();
            assert_eq!(request.uri().to_string(), url.request_target());
            assert_eq!(request.headers()["host"], "a.test:8080");
            let second = for_http2(request, &url).unwrap();
            assert_eq!(second.uri().path_and_query().unwrap().as_str(), url.request_target());
            assert_eq!(second.uri().authority().unwrap().as_str(), "a.test:8080");
            assert!(!second.headers().contains_key("host"));
        }
    }

    #[test]
    fn conditionals_are_sent_as_received_or_not_at_all() {
        let url = CrawlUrl::parse("http://a.test/robots.txt").unwrap();
        let extra = Request {
            if_none_match: Some("W/\"x\"".into()),
            if_modified_since: Some("bad\r\nvalue: x".into()),
            ..Request::default()
        };
        let request = build(&url, &extra, &own(), NOW).unwrap();
        assert_eq!(request.headers()["if-none-match"], "W/\"x\"");
        assert!(!request.headers().contains_key("if-modified-since"));
    }

    #[test]
    fn forwarded_fields_replace_our_own_and_never_frame_or_route() {
        let url = CrawlUrl::parse("http://a.test/x").unwrap();
        let config = FetchConfig::new("MyBot/1.0");
        let mut fields = HeaderMap::new();
        let rows = [
            ("cookie", "a=1"),
            ("cookie", "b=2"),
            ("host", "b.test"),
            ("content-length", "5"),
            ("transfer-encoding", "chunked"),
            ("connection", "close"),
            ("proxy-authorization", "Basic x"),
            ("proxy-connection", "x"),
            ("keep-alive", "5"),
        ];
        for (name, value) in rows {
            fields.append(name, HeaderValue::from_static(value));
        }
        let extra = Request { method: Method::Head, fields: Some(fields.clone()), ..Request::default() };
        let request = build(&url, &extra, &Own::of(&config), NOW).unwrap();
        assert_eq!(request.method(), http::Method::HEAD);
        let names: Vec<_> = request.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let expected: [(&str, &[u8]); 4] =
            [("host", b"a.test"), ("user-agent", b"MyBot/1.0"), ("cookie", b"a=1"), ("cookie", b"b=2")];
        assert_eq!(names, expected);
        fields.insert(USER_AGENT, HeaderValue::from_static("Other/1"));
        let extra = Request { fields: Some(fields), ..Request::default() };
        assert_eq!(build(&url, &extra, &Own::of(&config), NOW).unwrap().headers()["user-agent"], "Other/1");
    }

    #[test]
    fn our_own_requests_are_signed_and_forwarded_ones_are_not() {
        use std::sync::Arc;

        use comity_policy::SeededRandom;

        use crate::signature::{Signer, SigningKey};

        let url = CrawlUrl::parse("https://a.test/x").unwrap();
        let mut config = FetchConfig::new("MyBot/1.0");
        let key = SigningKey::from_seed(&[7; 32]).unwrap();
        let agent = "https://net.example".parse().unwrap();
        config.signer = Some(Signer::new(key, agent, Arc::new(SeededRandom::new(1))));
        config.from = Some("bot@net.example".to_owned());
        let own = build(&url, &Request::default(), &Own::of(&config), NOW).unwrap();
        assert!(own.headers().contains_key("signature") && own.headers().contains_key("from"));
        let mut fields = HeaderMap::new();
        fields.insert("signature", HeaderValue::from_static("theirs=:AAAA:"));
        for fields in [HeaderMap::new(), fields] {
            let extra = Request { fields: Some(fields.clone()), ..Request::default() };
            let forwarded = build(&url, &extra, &Own::of(&config), NOW).unwrap();
            assert_eq!(forwarded.headers().get("signature"), fields.get("signature"));
            assert!(!forwarded.headers().contains_key("signature-input") && !forwarded.headers().contains_key("from"));
        }
    }
}
