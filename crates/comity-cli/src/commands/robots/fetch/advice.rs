//! What a site owner should know about an answer: stable codes, each with its evidence in the message.

use std::time::Duration;

use comity::policy::Capture;
use comity_gate::{FetchedRobots, RobotsClass};
use comity_robots::MAX_BYTES;

use super::again::Again;
use crate::commands::asker::words;

/// A piece of advice. Codes are stable: one is never renamed, and never used for something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Advice {
    pub(super) code: &'static str,
    pub(super) message: String,
}

/// A first byte later than this was worked for (our choice: a file from a disk or a cache takes a tenth of it).
const SLOW: Duration = Duration::from_secs(1);

/// Everything that `found` gives reason to say, the gravest first.
pub(super) fn advise(found: &FetchedRobots, again: Option<&Again>) -> Vec<Advice> {
    let Some(answer) = found.answer() else { return Vec::new() };
    let body = found.hops.last().map_or(&b""[..], |hop| &hop.body);
    let parsed = matches!(found.class, RobotsClass::Parsed { .. });
    let file = |say: Option<String>| say.filter(|_| parsed);
    let all = [
        ("server_error", server_error(found)),
        ("missing_as_5xx", missing_as_5xx(answer, body)),
        ("too_many_requests", too_many_requests(found)),
        ("forbidden", forbidden(found)),
        ("varies", varies(again)),
        ("utf16", file(utf16(body))),
        ("html", file(html(answer, body))),
        ("too_long", file(too_long(found))),
        ("empty", file(empty(body))),
        ("off_site", off_site(found)),
        ("application", file(application(answer))),
        ("byte_order_mark", file(byte_order_mark(body))),
        ("no_validators", file(no_validators(found))),
    ];
    all.into_iter().filter_map(|(code, message)| Some(Advice { code, message: message? })).collect()
}

fn server_error(found: &FetchedRobots) -> Option<String> {
    let status = found.class.status().filter(|status| *status >= 500)?;
    Some(format!(
        "robots.txt answers {status}: crawlers then stay away from the whole site (RFC 9309 §2.3.1.4). Serve it as a file, beside the application"
    ))
}

/// Only from the answer itself: an error page for people, without a word of when to come back, is what an application
/// sends for what it does not have.
fn missing_as_5xx(answer: &Capture, body: &[u8]) -> Option<String> {
    let status = answer.status.filter(|status| matches!(status, 500 | 501 | 503 | 505..=599))?;
    let page = answer.field("retry-after").is_none() && (says_html(answer) || looks_like_html(body));
    page.then(|| {
        format!("the {status} comes with an HTML page, as if for a file that is missing. If there is no robots.txt, answer 404: that opens the site, a {status} closes it")
    })
}

fn too_many_requests(found: &FetchedRobots) -> Option<String> {
    (found.class.status() == Some(429)).then(|| {
        "robots.txt answers 429: crawlers read that as a server error and stay away from the whole site. Leave /robots.txt out of the rate limit".to_owned()
    })
}

fn forbidden(found: &FetchedRobots) -> Option<String> {
    let status = found.class.status().filter(|status| matches!(status, 401 | 403))?;
    Some(format!(
        "robots.txt answers {status}: crawlers read that as \"no rules\", so everything is allowed (RFC 9309 §2.3.1.3). To close the site, serve `User-agent: *` with `Disallow: /`"
    ))
}

fn varies(again: Option<&Again>) -> Option<String> {
    let Some(Again::Differs(second)) = again else { return None };
    Some(format!(
        "two questions in a row were answered differently (then {}). Crawlers cannot know which holds: look for servers of different state behind one name",
        words::answer(second)
    ))
}

fn utf16(body: &[u8]) -> Option<String> {
    let marked = body.starts_with(&[0xFF, 0xFE]) || body.starts_with(&[0xFE, 0xFF]);
    let sample = body.get(..body.len().min(64)).unwrap_or(body);
    let zeros = sample.iter().filter(|byte| **byte == 0).count();
    (marked || (sample.len() > 8 && zeros * 3 > sample.len())).then(|| {
        "the file is UTF-16: no line of it is read, so everything is allowed. Save it as UTF-8 (RFC 9309 §2.3)"
            .to_owned()
    })
}

fn html(answer: &Capture, body: &[u8]) -> Option<String> {
    match (looks_like_html(body), says_html(answer)) {
        (true, _) => Some(
            "the body is an HTML page, not a robots.txt: hardly a line of it is read. If there is no file, answer 404"
                .to_owned(),
        ),
        (false, true) => Some(
            "the file is served as text/html. Crawlers read it all the same; serve it as text/plain (RFC 9309 §2.3)"
                .to_owned(),
        ),
        (false, false) => None,
    }
}

fn too_long(found: &FetchedRobots) -> Option<String> {
    let copy = found.life.copy().filter(|copy| copy.truncated)?;
    Some(format!(
        "the file has {} or more: only the first {MAX_BYTES} are read (RFC 9309 §2.5, Google), the rest is ignored",
        words::bytes(copy.bytes)
    ))
}

fn empty(body: &[u8]) -> Option<String> {
    body.iter().all(u8::is_ascii_whitespace).then(|| {
        "the file is empty: everything is allowed to everybody. If that is meant, a 404 says the same; if not, the deployment lost it".to_owned()
    })
}

/// A registrable domain is a site; a host that has none, an address, is one by itself.
fn off_site(found: &FetchedRobots) -> Option<String> {
    let site = |origin: &comity_url::Origin| origin.registrable_domain().unwrap_or(origin.host()).to_owned();
    let own = site(&found.origin);
    let away = found.hops.iter().map(|hop| hop.url.origin()).find(|origin| site(origin) != own)?;
    Some(format!("the chain leads to {away}, another site: who runs that one decides what crawlers may do here"))
}

fn application(answer: &Capture) -> Option<String> {
    let mut signs = Vec::new();
    if answer.field("set-cookie").is_some() {
        signs.push("Set-Cookie".to_owned());
    }
    if let Some(by) = answer.field("x-powered-by") {
        signs.push(format!("X-Powered-By: {}", words::safe(by)));
    }
    if says_html(answer) {
        signs.push("text/html".to_owned());
    }
    let control: Vec<_> =
        answer.fields_named("cache-control").flat_map(|value| value.split(',')).map(str::trim).collect();
    let private =
        ["private", "no-store"].into_iter().filter(|word| control.iter().any(|part| part.eq_ignore_ascii_case(word)));
    signs.extend(private.map(|word| format!("Cache-Control: {word}")));
    if let Some(head) = answer.timings.head.filter(|head| *head >= SLOW) {
        signs.push(format!("a first byte after {}", words::span(head)));
    }
    (!signs.is_empty()).then(|| {
        format!("the application seems to answer ({}): a fault of it closes the site for crawlers. Serve robots.txt as a file", signs.join(", "))
    })
}

fn byte_order_mark(body: &[u8]) -> Option<String> {
    body.starts_with(&[0xEF, 0xBB, 0xBF]).then(|| {
        "the file begins with a byte-order mark: Google and comity pass over it, other crawlers lose the first line. Save it without".to_owned()
    })
}

fn no_validators(found: &FetchedRobots) -> Option<String> {
    found.validators().is_none().then(|| {
        "the answer has neither ETag nor Last-Modified: crawlers fetch it whole each time instead of asking whether it changed".to_owned()
    })
}

fn says_html(answer: &Capture) -> bool {
    let kind = answer.field("content-type").and_then(|value| value.split(';').next()).unwrap_or_default();
    ["text/html", "application/xhtml+xml"].iter().any(|html| kind.trim().eq_ignore_ascii_case(html))
}

fn looks_like_html(body: &[u8]) -> bool {
    let start = body.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(body).trim_ascii_start();
    ["<!doctype", "<html", "<head", "<body", "<h1", "<?xml"]
        .iter()
        .any(|tag| start.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag.as_bytes())))
}
