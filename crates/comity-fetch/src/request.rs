use bytes::Bytes;
use comity_policy::{Reason, WallTime};
use comity_url::CrawlUrl;
use http::header::{ACCEPT, ACCEPT_ENCODING, FROM, HOST, IF_MODIFIED_SINCE, IF_NONE_MATCH, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use http_body_util::Empty;

use crate::coding::ACCEPTED;
use crate::fault::Fault;
use crate::{FetchConfig, Request};

const SIGNATURE_AGENT: HeaderName = HeaderName::from_static("signature-agent");
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
const SIGNATURE: HeaderName = HeaderName::from_static("signature");

/// The request for `url` as of `now`: GET, its request target byte for byte (invariant 3), the Host that it names; signed
/// when the configuration holds a signer.
///
/// # Errors
/// `url.unsendable` when the HTTP library would alter the target.
pub(crate) fn build(
    url: &CrawlUrl,
    extra: &Request,
    config: &FetchConfig,
    now: WallTime,
) -> Result<http::Request<Empty<Bytes>>, Fault> {
    let mut request = http::Request::new(Empty::new());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = target(url)?;
    let fields = request.headers_mut();
    put(fields, HOST, Some(url.origin().authority()));
    put(fields, USER_AGENT, Some(&config.user_agent));
    put(fields, FROM, config.from.as_deref());
    put(fields, ACCEPT, Some(config.accept.as_deref().unwrap_or("*/*")));
    put(fields, ACCEPT_ENCODING, Some(ACCEPTED));
    put(fields, IF_NONE_MATCH, extra.if_none_match.as_deref());
    put(fields, IF_MODIFIED_SINCE, extra.if_modified_since.as_deref());
    if let Some(signed) = config.signer.as_ref().and_then(|signer| signer.sign(Method::GET.as_str(), url, now)) {
        put(fields, SIGNATURE_AGENT, Some(&signed.agent));
        put(fields, SIGNATURE_INPUT, Some(&signed.input));
        put(fields, SIGNATURE, Some(&signed.signature));
    }
    Ok(request)
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

fn put(fields: &mut HeaderMap, name: HeaderName, value: Option<&str>) {
    if let Some(value) = value.and_then(|text| HeaderValue::from_str(text).ok()) {
        fields.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: WallTime = WallTime::from_unix_millis(0);

    #[test]
    fn targets_are_the_judged_bytes() {
        for target in ["/", "/?", "//a//b", "/|", "/[x]", "/%zz", "/a?b=c?d", "/'", "/a?x={y}|z", "/~;=,@!$&*()+:"] {
            let url = CrawlUrl::parse(&format!("http://a.test:8080{target}")).unwrap();
            let request = build(&url, &Request::default(), &FetchConfig::new("MyBot/1.0"), NOW).unwrap();
            assert_eq!(request.uri().to_string(), url.request_target());
            assert_eq!(request.headers()["host"], "a.test:8080");
        }
    }

    #[test]
    fn conditionals_are_sent_as_received_or_not_at_all() {
        let url = CrawlUrl::parse("http://a.test/robots.txt").unwrap();
        let extra =
            Request { if_none_match: Some("W/\"x\"".into()), if_modified_since: Some("bad\r\nvalue: x".into()) };
        let request = build(&url, &extra, &FetchConfig::new("MyBot/1.0"), NOW).unwrap();
        assert_eq!(request.headers()["if-none-match"], "W/\"x\"");
        assert!(!request.headers().contains_key("if-modified-since"));
    }
}
