use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use comity_fetch::BoxFuture;
use comity_policy::{Capture, Decision, Digest, Reason, SiteFileKind, WallTime};
use comity_url::{CrawlUrl, Origin};

/// One exchange of a robots.txt fetch: the file itself or a redirect on the way to it.
#[derive(Clone, Debug)]
pub struct RobotsVisit {
    /// The origin whose rules are fetched.
    pub for_origin: Origin,
    /// How many redirects were followed before, 0 to 5.
    pub hop: u8,
    /// What was sent and received.
    pub capture: Capture,
    /// The decoded bytes that are parsed and their SHA-256; `None` unless this is the file.
    pub file: Option<(Digest, Bytes)>,
}

/// A robots.txt that is not asked for because an earlier process received it within its life.
#[derive(Clone, Debug)]
pub struct RecalledRobots {
    /// The origin whose rules it holds.
    pub for_origin: Origin,
    /// When it was received.
    pub fetched: WallTime,
    /// HTTP status of the answer then.
    pub status: u16,
    /// The decoded bytes that are parsed and their SHA-256; `None` when the answer was that there is none.
    pub file: Option<(Digest, Bytes)>,
}

/// A file in which a site speaks about use that is not asked for because an earlier process received it within its life.
#[derive(Clone, Debug)]
pub struct RecalledFile {
    /// Which file it is.
    pub kind: SiteFileKind,
    /// Where it stands.
    pub file: CrawlUrl,
    /// When it was received; where there was none, when that was said.
    pub fetched: WallTime,
    /// HTTP status of the answer then; 200 for a copy that outlived a try at its file.
    pub status: u16,
    /// Its bytes and their SHA-256; `None` when the answer was that there is none.
    pub copy: Option<(Digest, Bytes)>,
}

/// One exchange on the way to a file in which a site speaks about use.
#[derive(Clone, Debug)]
pub struct SiteFileVisit {
    /// Which file it is.
    pub kind: SiteFileKind,
    /// Where the file stands: the begin of the chain.
    pub file: CrawlUrl,
    /// How many redirects were followed before, 0 to 5.
    pub hop: u8,
    /// What was asked for: the file, or where a redirect led.
    pub url: CrawlUrl,
    /// What let it through, or refused it.
    pub decision: Arc<Decision>,
    /// What became of it.
    pub outcome: SiteFileOutcome,
}

/// What became of one request for a site's file.
#[derive(Clone, Debug)]
pub enum SiteFileOutcome {
    /// It was sent: what came, and the bytes that are read with their SHA-256, if this is the file.
    Asked(Box<Capture>, Option<(Digest, Bytes)>),
    /// It was not sent.
    NotAsked(Reason, Option<String>),
}

/// Where robots.txt exchanges are recorded. Awaited before the rules come into force: what decides is on record first.
pub trait Recorder: Send + Sync + fmt::Debug {
    /// Records one exchange.
    fn robots_visit(&self, visit: RobotsVisit) -> BoxFuture<'_, ()>;

    /// Records one exchange for a file in which a site speaks about use.
    fn site_file_visit(&self, visit: SiteFileVisit) -> BoxFuture<'_, ()>;

    /// Keeps such a file, which decisions will rest on although it was received by an earlier process.
    fn site_file_recalled(&self, recalled: RecalledFile) -> BoxFuture<'_, ()>;

    /// Keeps a copy that decisions will rest on although it was received by an earlier process.
    fn robots_recalled(&self, recalled: RecalledRobots) -> BoxFuture<'_, ()>;
}

/// Records nothing: for users who keep no archive.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRecorder;

impl Recorder for NoRecorder {
    fn robots_visit(&self, _visit: RobotsVisit) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn site_file_visit(&self, _visit: SiteFileVisit) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn site_file_recalled(&self, _recalled: RecalledFile) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn robots_recalled(&self, _recalled: RecalledRobots) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
