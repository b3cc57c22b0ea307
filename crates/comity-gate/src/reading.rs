use std::time::Duration;

use bytes::Bytes;
use comity_fetch::{ResponseHead, Sink, Want};
use comity_policy::{Capture, Digest, Form, Reason, RobotsCopy, RobotsEvent, Validators, WallTime, parse_retry_after};
use comity_robots::MAX_BYTES;
use comity_url::{CrawlUrl, Origin};
use sha2::{Digest as _, Sha256};

use crate::compiler::Compiler;

/// What one hop of a robots.txt chain means.
pub(crate) enum Hop {
    /// The chain ends here.
    Event(RobotsEvent),
    /// It goes on there.
    Redirect { target: CrawlUrl, status: u16 },
}

/// A hop, and the file if this was it.
pub(crate) struct Reading {
    pub(crate) hop: Hop,
    pub(crate) file: Option<KeptFile>,
}

/// The decoded bytes that are parsed, and their SHA-256.
pub(crate) type KeptFile = (Digest, Bytes);

/// Bytes of a robots.txt that are taken from the wire and decoded at most: what is parsed, and a little more, so that a file
/// that is barely too long still tells its length and what a coding adds has room (our choice: 16 KiB). A longer file is
/// cut here, and its connection closed.
pub(crate) const MOST_READ: u64 = MAX_BYTES as u64 + (16 << 10);

/// Keeps the first 512,000 decoded bytes, which are parsed, and counts the rest.
#[derive(Debug, Default)]
pub(crate) struct FileSink {
    kept: Vec<u8>,
    seen: u64,
}

impl Sink for FileSink {
    fn head(&mut self, _head: &ResponseHead<'_>) -> Want {
        Want::Body
    }

    fn chunk(&mut self, decoded: &[u8]) {
        self.seen += decoded.len() as u64;
        let room = MAX_BYTES.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(decoded.get(..room).unwrap_or(decoded));
    }

    #[expect(clippy::disallowed_methods, reason = "robots.txt speaks about use, and is not used")]
    fn keep(&mut self, _read: comity_fetch::Read) -> comity_fetch::Keep {
        comity_fetch::Keep::unjudged()
    }
}

/// A decoded body as far as it was kept, and how long it was.
#[derive(Clone, Debug)]
pub(crate) struct FileBody {
    pub(crate) bytes: Bytes,
    seen: u64,
}

/// How one hop was asked, and how answers are read.
pub(crate) struct Asked<'a> {
    /// The origin whose rules are fetched.
    pub(crate) origin: &'a Origin,
    /// Whether validators were sent: only then does a 304 say that the copy holds.
    pub(crate) conditional: bool,
    pub(crate) compiler: &'a Compiler,
}

/// Reads one answer (robots semantics §2.1): redirects, absence, rules, or failure; never failure as permission.
pub(crate) fn read_hop(asked: &Asked<'_>, capture: &Capture, body: &FileBody, now: WallTime) -> Reading {
    let Some(status) = capture.status else {
        return Reading::event(failure(capture, None, now));
    };
    match status {
        301 | 302 | 303 | 307 | 308 => Reading { hop: redirect(&capture.url, capture, status), file: None },
        304 if asked.conditional => Reading::event(RobotsEvent::NotModified { max_age: max_age(capture) }),
        // Nobody asked whether it changed: an answer without a file and without its absence says nothing.
        304 => Reading::event(failure(capture, Some(status), now)),
        300..=399 => Reading::event(RobotsEvent::RedirectLimit { status }),
        200..=299 if status != 206 && body.is_whole_enough(capture) => {
            let (copy, file) = compile(asked, capture, body);
            let event = RobotsEvent::Parsed { status, copy, max_age: max_age(capture) };
            Reading { hop: Hop::Event(event), file: Some(file) }
        }
        400..=499 if status != 429 && is_the_sites(capture, status) => {
            Reading::event(RobotsEvent::Absent { status, max_age: life_of_absence(capture) })
        }
        _ => Reading::event(failure(capture, Some(status), now)),
    }
}

/// Whether a 4xx was said by the site. In absolute-form a proxy may have refused by itself, and what refuses us must not open
/// a site: only what no proxy says of its own counts (RFC 9110 §15.5: a proxy asks for credentials with 407, not 401, and
/// knows of no resources).
fn is_the_sites(capture: &Capture, status: u16) -> bool {
    let read_by_exit = capture.via.as_ref().is_some_and(|via| via.form == Form::Forward);
    !read_by_exit || matches!(status, 401 | 404 | 410)
}

impl Reading {
    const fn event(event: RobotsEvent) -> Self {
        Self { hop: Hop::Event(event), file: None }
    }
}

impl FileSink {
    pub(crate) fn finish(self) -> FileBody {
        FileBody { bytes: self.kept.into(), seen: self.seen }
    }
}

impl FileBody {
    /// A cut or undecodable body is incomplete (Google robots spec: a server error), unless all that is parsed came.
    fn is_whole_enough(&self, capture: &Capture) -> bool {
        capture.fault.is_none() || self.bytes.len() >= MAX_BYTES
    }
}

fn redirect(url: &CrawlUrl, capture: &Capture, status: u16) -> Hop {
    match capture.field("location").map(|location| url.join(location)) {
        Some(Ok(target)) => Hop::Redirect { target, status },
        // No Location, or one that is no http(s) URL: as absent (robots semantics §2.1, §2.2).
        Some(Err(_)) | None => Hop::Event(RobotsEvent::RedirectLimit { status }),
    }
}

fn compile(asked: &Asked<'_>, capture: &Capture, body: &FileBody) -> (RobotsCopy, KeptFile) {
    let digest = Digest::from_bytes(Sha256::digest(&body.bytes).into());
    let (rules, policies, agents) = asked.compiler.compile(&body.bytes);
    let copy = RobotsCopy {
        digest,
        bytes: body.seen,
        truncated: body.seen > MAX_BYTES as u64,
        final_url: Some(capture.url.clone()).filter(|url| *url != asked.origin.robots_url()),
        validators: validators(capture).map(Box::new),
        rules,
        policies,
        agents,
    };
    (copy, (digest, body.bytes.clone()))
}

/// The validators that the answer offers, as far as they are of sane length.
fn validators(capture: &Capture) -> Option<Validators> {
    /// Longer than any server's; what is longer is not kept and costs a full answer.
    const LONGEST: usize = 512;
    let field = |name| capture.field(name).map(str::trim).filter(|v| !v.is_empty() && v.len() <= LONGEST);
    let found =
        Validators { etag: field("etag").map(Into::into), last_modified: field("last-modified").map(Into::into) };
    (found != Validators::default()).then_some(found)
}

fn failure(capture: &Capture, status: Option<u16>, now: WallTime) -> RobotsEvent {
    let retry_after =
        status.and(capture.field("retry-after")).and_then(|value| parse_retry_after(value, capture.field("date"), now));
    RobotsEvent::Unreachable { cause: capture.fault.unwrap_or(Reason::RobotsUnreachable), status, retry_after }
}

/// As [`max_age`], but "not at all" counts as nothing said: error pages are marked so by habit, and that says nothing about
/// when there will be a file (our choice).
fn life_of_absence(capture: &Capture) -> Option<Duration> {
    max_age(capture).filter(|life| !life.is_zero())
}

/// `max-age` less `Age`; `no-store` and `no-cache` ask for the shortest life. `None` when nothing is said.
fn max_age(capture: &Capture) -> Option<Duration> {
    let mut found = None;
    for directive in capture.fields_named("cache-control").flat_map(|value| value.split(',')) {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "no-store" | "no-cache" => return Some(Duration::ZERO),
            "max-age" => found = found.or_else(|| seconds(value.trim().trim_matches('"'))),
            _ => {}
        }
    }
    let age = capture.field("age").and_then(|value| seconds(value.trim())).unwrap_or_default();
    found.map(|life| life.saturating_sub(age))
}

/// Delta-seconds; more digits than fit are "for ever", anything else is nothing.
fn seconds(text: &str) -> Option<Duration> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| Duration::from_secs(text.parse().unwrap_or(u64::from(u32::MAX))))
}
