//! Asks origins: robots.txt, tdmrep.json, and what else was named; nothing more, each in its turn, through the gate.

use std::sync::Arc;

use comity::extract::{PageLimits, PageReader};
use comity_fetch::Fetcher;
use comity_gate::policy::{Capture, Digest, Reason, WallTime};
use comity_gate::signals::{HeadFacts, UnixSeconds};
use comity_gate::{AskRobots, FetchedRobots, Gate, RobotsClass};
use comity_url::{CrawlUrl, Origin};
use sha2::{Digest as _, Sha256};

use super::row::{AiTxtCopy, Home, Row, SiteFile, TdmrepCopy};
use super::says;
use super::target::Target;
use crate::commands::asker::{Got, get_within};

/// Redirects of a helper file that are followed, each judged anew (as robots.txt, RFC 9309 §2.3.1.2; our choice).
const MOST_HOPS: usize = 5;
/// Bytes that are taken of a helper file, and of a home page for its head: one more than is read of a tdmrep.json.
const MOST_BYTES: u64 = (1 << 20) + 1;

/// What is asked for beside robots.txt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Files {
    pub(super) tdmrep: bool,
    pub(super) ai_txt: bool,
    pub(super) home: bool,
}

/// Asks any number of origins at once; cheap to clone.
#[derive(Clone)]
pub(super) struct Surveyor {
    pub(super) gate: Gate,
    pub(super) fetcher: Arc<Fetcher>,
    pub(super) files: Files,
}

impl Surveyor {
    /// The row of one origin. Takes as long as the site does.
    pub(super) async fn row(&self, target: Target) -> Row {
        let origin = &target.origin;
        let found = self.gate.fetch_robots(origin, AskRobots::IfDue).await;
        let mut row = Row::new(origin.as_str(), target.rank);
        row.at = found.at.to_string();
        robots(&mut row, &found);
        if row.robots.class == "opted_out" {
            return row;
        }
        if !row.answered() {
            // Nothing may be asked of it now: who asked all the same would wait for nothing.
            return self.unasked(row);
        }
        if self.files.tdmrep {
            row.tdmrep = Some(self.tdmrep(origin).await);
        }
        if self.files.ai_txt {
            row.ai_txt = Some(self.ai_txt(origin).await);
        }
        if self.files.home {
            row.home = Some(self.home(origin).await);
        }
        row
    }

    fn unasked(&self, mut row: Row) -> Row {
        let got = SiteFile { reason: row.robots.reason.clone(), ..state("not_asked") };
        row.tdmrep = self.files.tdmrep.then(|| TdmrepCopy { got: got.clone(), ..TdmrepCopy::default() });
        row.ai_txt = self.files.ai_txt.then(|| AiTxtCopy { got: got.clone(), ..AiTxtCopy::default() });
        row.home = self.files.home.then(|| Home { got, ..Home::default() });
        row
    }

    async fn tdmrep(&self, origin: &Origin) -> TdmrepCopy {
        let (got, body) = self.file(origin, "/.well-known/tdmrep.json").await;
        let Some((_, body)) = body else { return TdmrepCopy { got, ..TdmrepCopy::default() } };
        let (rules, reservation, policy) = says::tdmrep(&body, origin.as_str());
        TdmrepCopy { got, rules, reservation, policy }
    }

    async fn ai_txt(&self, origin: &Origin) -> AiTxtCopy {
        let (got, body) = self.file(origin, "/ai.txt").await;
        AiTxtCopy { got, ai_train: body.and_then(|(_, body)| says::ai_txt(&body)) }
    }

    async fn home(&self, origin: &Origin) -> Home {
        let (got, body) = self.file(origin, "/").await;
        let Some((capture, body)) = body else { return Home { got, ..Home::default() } };
        let head = head(&capture.url, capture.field("content-type"), &body);
        let now = UnixSeconds(self.gate.clock().wall().unix_millis() / 1000);
        let (verdicts, terms) = says::home(&capture.fields, &head, now);
        Home { got, verdicts, terms }
    }

    /// A file of the origin, over redirects; its body when it was answered with 2xx, whole or cut by our bound.
    async fn file(&self, origin: &Origin, path: &str) -> (SiteFile, Option<(Capture, Vec<u8>)>) {
        let Ok(mut url) = CrawlUrl::parse(&format!("{origin}{path}")) else { return (state("not_asked"), None) };
        let mut led_on = None;
        for _ in 0..=MOST_HOPS {
            let got = match get_within(&self.gate, &self.fetcher, &url, Some(MOST_BYTES)).await {
                Ok(got) => got,
                Err(no) => {
                    // The site was asked, and led to where nobody may go: that is no file, and no silence of ours.
                    let (reason, word) =
                        (Some(no.reason().to_string()), if led_on.is_some() { "absent" } else { "not_asked" });
                    return (SiteFile { reason, status: led_on, ..state(word) }, None);
                }
            };
            match redirect(&got, &url) {
                Some(target) => (url, led_on) = (target, got.capture.status),
                None => return answered(got),
            }
        }
        (SiteFile { reason: Some("redirects".to_owned()), ..state("absent") }, None)
    }
}

fn state(state: &str) -> SiteFile {
    SiteFile { state: state.to_owned(), ..SiteFile::default() }
}

fn redirect(got: &Got, from: &CrawlUrl) -> Option<CrawlUrl> {
    let moved = matches!(got.capture.status, Some(301 | 302 | 303 | 307 | 308));
    let to = got.capture.field("location").filter(|_| moved)?;
    from.join(to).ok().filter(|to| to != from)
}

/// What an answer is: 2xx whole, or cut by our own bound, is a file; 4xx but 429, and a redirect that leads nowhere, none.
fn answered(got: Got) -> (SiteFile, Option<(Capture, Vec<u8>)>) {
    let Got { capture, body } = got;
    let status = capture.status;
    let cut = capture.fault == Some(Reason::FetchTooLarge);
    match (status, capture.fault) {
        (Some(200..=299), fault) if fault.is_none() || cut => {
            let digest = Digest::from_bytes(Sha256::digest(&body).into());
            let (bytes, digest) = (Some(body.len() as u64), Some(format!("sha256:{digest}")));
            (SiteFile { status, bytes, digest, ..state("file") }, Some((capture, body)))
        }
        (Some(429), _) => (SiteFile { status, reason: Some("status".to_owned()), ..state("unreachable") }, None),
        (Some(300..=499), _) => (SiteFile { status, ..state("absent") }, None),
        (_, fault) => {
            let reason = Some(fault.map_or_else(|| "status".to_owned(), |fault| fault.to_string()));
            (SiteFile { status, reason, ..state("unreachable") }, None)
        }
    }
}

/// The head of a page; of anything else an empty one.
pub(super) fn head(url: &CrawlUrl, kind: Option<&str>, body: &[u8]) -> HeadFacts {
    if kind.is_some_and(|kind| !kind.to_ascii_lowercase().contains("html")) {
        return HeadFacts::default();
    }
    let mut reader = PageReader::new(url, kind, PageLimits::default());
    reader.push(body);
    reader.finish().head
}

fn robots(row: &mut Row, found: &FetchedRobots) {
    let copy = &mut row.robots;
    found.class.as_str().clone_into(&mut copy.class);
    copy.status = found.class.status();
    copy.chain = found.hops.iter().map(|hop| hop.url.to_string()).collect();
    match &found.class {
        RobotsClass::Unreachable { cause: Reason::Optout, .. } => "opted_out".clone_into(&mut copy.class),
        RobotsClass::Unreachable { cause, .. } => copy.reason = Some(cause.to_string()),
        RobotsClass::Later(ready) => copy.reason = Some(ready.clock.to_string()),
        _ => {}
    }
    let Some((digest, bytes)) = &found.file else { return };
    copy.bytes = Some(bytes.len() as u64);
    copy.digest = Some(format!("sha256:{digest}"));
    copy.truncated = found.life.copy().is_some_and(|copy| copy.truncated);
    row.says = found.robots().map(|robots| says::robots(&robots, found.origin.host()));
}

/// RFC 3339 of an instant of an archive, whatever precision it has; `None` when it is none.
pub(super) fn instant(text: &str) -> Option<WallTime> {
    text.parse().ok()
}
