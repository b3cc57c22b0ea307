//! The exchange in absolute-form (RFC 9112 §3.2.2): the exit reads the request, and may answer itself.

use bytes::Bytes;
use comity_policy::{Instant, Reason};
use comity_url::CrawlUrl;
use http::header::PROXY_AUTHORIZATION;
use http::uri::{Authority, Scheme};
use http::{Response, Uri};
use hyper::body::Incoming;

use crate::fault::Fault;
use crate::link::Way;
use crate::outgoing::Outgoing;
use crate::proxy::health::Evidence;
use crate::proxy::verdict::of_forward;
use crate::proxy::{Credentials, ExitId, Exits};

/// The same request as an exit wants it: the whole URL for the target, and our credentials, which end there.
///
/// # Errors
/// `url.unsendable` when the HTTP library would alter the target.
pub(crate) fn absolute_form(
    (exits, exit): (Option<&Exits>, ExitId),
    request: http::Request<Outgoing>,
    url: &CrawlUrl,
) -> Result<http::Request<Outgoing>, Fault> {
    let proxy = exits.and_then(|exits| exits.proxy(exit));
    with_credentials(request, url, proxy.and_then(|proxy| proxy.credentials.as_ref()))
}

fn with_credentials(
    mut request: http::Request<Outgoing>,
    url: &CrawlUrl,
    credentials: Option<&Credentials>,
) -> Result<http::Request<Outgoing>, Fault> {
    let unsendable = |what: &str| Fault::new(Reason::UrlUnsendable, format!("{url}: {what}"));
    let mut parts = request.uri().clone().into_parts();
    parts.scheme = Some(Scheme::HTTP);
    let authority = Authority::try_from(url.origin().authority());
    parts.authority = Some(authority.map_err(|error| unsendable(&error.to_string()))?);
    *request.uri_mut() = Uri::from_parts(parts).map_err(|error| unsendable(&error.to_string()))?;
    if request.uri().path_and_query().is_none_or(|target| target.as_str() != url.request_target()) {
        return Err(unsendable("its request target would be altered"));
    }
    if let Some(value) = credentials.and_then(Credentials::basic) {
        request.headers_mut().insert(PROXY_AUTHORIZATION, value);
    }
    Ok(request)
}

/// A request head without the line of our credentials: what captures hold.
pub(crate) fn without_credentials(head: &Bytes) -> Bytes {
    let mut kept = Vec::with_capacity(head.len());
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        if !name.eq_ignore_ascii_case(PROXY_AUTHORIZATION.as_str().as_bytes()) {
            kept.extend_from_slice(line);
        }
    }
    kept.into()
}

/// Why an answer is the exit's own and not the site's, if it is; the exit's health takes note either way.
pub(crate) fn answers_itself(
    exits: Option<&Exits>,
    way: Way,
    url: &CrawlUrl,
    answer: &Response<Incoming>,
    now: Instant,
) -> Option<Fault> {
    let (exits, id) = (exits?, way.forwarded_by()?);
    let verdict = of_forward(answer.status(), answer.headers());
    let evidence = verdict.as_ref().map_or(Evidence::Works, |verdict| verdict.evidence);
    exits.report(id, evidence, url.origin(), now);
    verdict.map(|verdict| exits.told(id, verdict.fault))
}

/// The exit, or the site behind it, gave no head: nobody can tell which. It counts as the site's, the polite side; the
/// exit's health takes note of a doubt.
pub(crate) fn broke_off(exits: Option<&Exits>, way: Way, url: &CrawlUrl, now: Instant) {
    if let (Some(exits), Some(id)) = (exits, way.forwarded_by()) {
        exits.report(id, Evidence::Doubtful, url.origin(), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_the_judged_url_and_credentials_stay_out_of_captures() {
        for text in ["http://a.test/", "http://a.test:8080/x?y=%zz|", "http://127.0.0.1:81//a", "http://[::1]:82/?"] {
            let url = CrawlUrl::parse(text).unwrap();
            let mut request = http::Request::new(Outgoing::default());
            *request.uri_mut() = url.request_target().parse().unwrap();
            let login: Credentials = "user:pass".parse().unwrap();
            let shaped = with_credentials(request, &url, Some(&login)).unwrap();
            assert_eq!(shaped.uri().to_string(), url.as_str());
            assert_eq!(shaped.headers()["proxy-authorization"], "Basic dXNlcjpwYXNz");
        }
        let head = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nProxy-authorization: Basic x\r\nX-Proxy-Authorization: kept\r\n\r\n";
        let kept = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX-Proxy-Authorization: kept\r\n\r\n";
        assert_eq!(without_credentials(&Bytes::from(head)), kept);
    }
}
