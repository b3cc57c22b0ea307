use comity_policy::Reason;
use comity_url::{CrawlUrl, Origin, Scheme, UrlError};
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, Method, Version};

use crate::ruling::Objection;

/// The longest target taken, in bytes (gateway reference §4).
const LONGEST_TARGET: usize = 8 << 10;

/// The one URL of a request: what is judged, resolved and sent. hyper passes much that is not a proxy's request; the
/// checks are those of the gateway reference §3.1.
pub(crate) fn target(request: &Parts, ports: &[u16]) -> Result<CrawlUrl, Objection> {
    if request.method == Method::CONNECT {
        return Err(tunnel(request));
    }
    let syntax = |what: &str| Objection::new(Reason::TargetSyntax, what);
    let (Some(_), Some(authority)) = (request.uri.scheme(), request.uri.authority()) else {
        return Err(syntax("a proxy takes absolute URLs: GET http://host/path"));
    };
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return Err(Objection::new(Reason::TargetMethod, "only GET and HEAD are forwarded"));
    }
    if authority.as_str().contains('@') {
        return Err(syntax("the target holds user information"));
    }
    let text = request.uri.to_string();
    if text.len() > LONGEST_TARGET {
        return Err(syntax("the target is longer than 8 KiB"));
    }
    let url = CrawlUrl::parse(&text).map_err(|error| match error {
        UrlError::Scheme(_) => Objection::new(Reason::TargetScheme, "only http targets are forwarded"),
        other => syntax(&other.to_string()),
    })?;
    if url.origin().scheme() != Scheme::Http {
        let what =
            "only http targets are forwarded: https in the request line would cross the way to the proxy in clear";
        return Err(Objection::new(Reason::TargetScheme, what));
    }
    check_host(request, url.origin())?;
    if !ports.contains(&url.origin().port()) {
        return Err(Objection::new(
            Reason::TargetPort,
            format!("port {} is none of [gateway] ports", url.origin().port()),
        ));
    }
    if has_content(&request.headers) {
        return Err(Objection::new(Reason::TargetContent, "a request with content is not forwarded"));
    }
    Ok(url)
}

/// What is said to a CONNECT: its paths cannot be seen, so nothing can be judged.
fn tunnel(request: &Parts) -> Objection {
    let authority = request.uri.authority().filter(|_| request.uri.scheme().is_none());
    match authority {
        Some(authority) if authority.port_u16().is_some() && !authority.as_str().contains('@') => Objection::new(
            Reason::RobotsUnseenPath,
            "no tunnels here: inside one no path can be held against robots.txt. Ask for http URLs with the absolute URL in the request line",
        ),
        _ => Objection::new(Reason::TargetSyntax, "CONNECT takes host:port"),
    }
}

/// Exactly one Host field (none is needed of HTTP/1.0), naming the target's own origin (RFC 9112 §3.2.2).
fn check_host(request: &Parts, origin: &Origin) -> Result<(), Objection> {
    let mut fields = request.headers.get_all(HOST).iter();
    let host = match (fields.next(), fields.next()) {
        (Some(host), None) => host,
        (None, None) if request.version < Version::HTTP_11 => return Ok(()),
        _ => return Err(Objection::new(Reason::TargetSyntax, "one Host field is needed")),
    };
    let named = host.to_str().ok().and_then(|host| Origin::parse(&format!("{}://{host}", origin.scheme())).ok());
    if named.as_ref() == Some(origin) {
        Ok(())
    } else {
        Err(Objection::new(Reason::TargetMismatch, "the Host field names another host than the target"))
    }
}

fn has_content(fields: &HeaderMap) -> bool {
    let empty = |value: &http::HeaderValue| value.as_bytes() == b"0";
    fields.contains_key(TRANSFER_ENCODING) || fields.get_all(CONTENT_LENGTH).iter().any(|value| !empty(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Fields = &'static [(&'static str, &'static str)];

    fn ask(method: &str, uri: &str, fields: &[(&str, &str)]) -> Result<String, Reason> {
        let mut request = http::Request::builder().method(method).uri(uri);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        target(&parts, &[80, 443, 8080]).map(|url| url.as_str().to_owned()).map_err(|objection| objection.reason)
    }

    #[test]
    fn a_target_is_one_url_or_refused_by_name() {
        let host: Fields = &[("host", "a.test")];
        let rows: [(&str, &str, Fields, Result<&str, Reason>); 22] = [
            ("GET", "http://a.test/x", host, Ok("http://a.test/x")),
            ("HEAD", "http://A.test:80/x?y", &[("host", "a.TEST")], Ok("http://a.test/x?y")),
            ("GET", "http://a.test/p/%2e%2e/q", &[("host", "a.test:80")], Ok("http://a.test/q")),
            ("GET", "http://0x7f.1/", &[("host", "127.0.0.1")], Ok("http://127.0.0.1/")),
            ("GET", "http://a.test./", &[("host", "a.test")], Ok("http://a.test/")),
            ("GET", "/x", host, Err(Reason::TargetSyntax)),
            ("OPTIONS", "*", host, Err(Reason::TargetSyntax)),
            ("GET", "http://u:p@a.test/", host, Err(Reason::TargetSyntax)),
            ("GET", "http://a.test:99999/", host, Err(Reason::TargetSyntax)),
            ("GET", "http://a.test/x", &[], Err(Reason::TargetSyntax)),
            ("GET", "http://a.test/x", &[("host", "a.test"), ("host", "a.test")], Err(Reason::TargetSyntax)),
            ("GET", "http://a.test/x", &[("host", "b.test")], Err(Reason::TargetMismatch)),
            ("GET", "http://a.test/x", &[("host", "a.test/y")], Err(Reason::TargetMismatch)),
            ("GET", "http://a.test:8080/x", host, Err(Reason::TargetMismatch)),
            ("GET", "ftp://a.test/", host, Err(Reason::TargetScheme)),
            ("GET", "https://a.test/", host, Err(Reason::TargetScheme)),
            ("GET", "http://a.test:25/", &[("host", "a.test:25")], Err(Reason::TargetPort)),
            ("POST", "http://a.test/", host, Err(Reason::TargetMethod)),
            ("GET", "http://a.test/", &[("host", "a.test"), ("content-length", "5")], Err(Reason::TargetContent)),
            ("CONNECT", "a.test:443", host, Err(Reason::RobotsUnseenPath)),
            ("CONNECT", "a.test", host, Err(Reason::TargetSyntax)),
            ("CONNECT", "http://a.test:443/", host, Err(Reason::TargetSyntax)),
        ];
        for (method, uri, fields, expected) in rows {
            assert_eq!(ask(method, uri, fields), expected.map(ToOwned::to_owned), "{method} {uri} {fields:?}");
        }
        let long = format!("http://a.test/{}", "x".repeat(LONGEST_TARGET));
        assert_eq!(ask("GET", &long, host), Err(Reason::TargetSyntax));
    }
}
