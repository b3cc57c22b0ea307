//! What is known of a file in which a site speaks about use for all of its pages: `/.well-known/tdmrep.json`.

use std::sync::Arc;
use std::time::Duration;

use comity_signals::Tdmrep;
use comity_url::{CrawlUrl, Origin};

use crate::{Digest, WallTime};

/// What asking for the file came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteFileState {
    /// 2xx with a whole body: what it says holds, if it can be read.
    Read,
    /// 4xx but 429, or a redirect that leads nowhere: there is none.
    Absent,
    /// More redirects than are followed: as absent.
    RedirectLimit,
    /// Nothing was learnt: 429, 5xx, no answer, a cut body. What an earlier copy says holds on.
    Unreachable,
    /// Not asked: robots.txt refuses it, the address may not be connected to, or its origin sees no request.
    NotAsked,
}

impl SiteFileState {
    /// The word of records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Absent => "absent",
            Self::RedirectLimit => "redirect_limit",
            Self::Unreachable => "unreachable",
            Self::NotAsked => "not_asked",
        }
    }

    /// How long it is not asked again. Our choice, since TDMRep names no life: a day, as robots.txt at most; what was not
    /// learnt is asked again in an hour.
    #[must_use]
    pub const fn life(self) -> Duration {
        const HOUR: u64 = 3600;
        match self {
            Self::Read | Self::Absent | Self::RedirectLimit => Duration::from_secs(24 * HOUR),
            Self::Unreachable | Self::NotAsked => Duration::from_secs(HOUR),
        }
    }
}

/// `/.well-known/tdmrep.json` of one origin: never changed, only replaced.
///
/// That nothing was learnt is no permission and no denial: it is silence, with its name in the record, and what the operator
/// has set for silence decides (docs/decisions/0052).
#[derive(Clone, Debug)]
pub struct TdmFile {
    /// What asking came to, the last time.
    pub state: SiteFileState,
    /// HTTP status of the last answer.
    pub status: Option<u16>,
    /// When that was.
    pub asked: WallTime,
    /// From when it is to be asked again.
    pub until: WallTime,
    /// Where redirects led; `None` where it was answered at its own place.
    pub final_url: Option<CrawlUrl>,
    /// The copy that holds, of now or of before.
    pub copy: Option<TdmCopy>,
}

/// A copy of the file.
#[derive(Clone, Debug)]
pub struct TdmCopy {
    /// SHA-256 of its bytes as far as they are read.
    pub digest: Digest,
    /// When it was received.
    pub fetched: WallTime,
    /// What it says.
    pub rules: Arc<Tdmrep>,
}

impl TdmFile {
    /// The place of the file (TDMRep, 10 May 2024).
    pub const PATH: &'static str = "/.well-known/tdmrep.json";

    /// Where the file of `origin` stands.
    #[must_use]
    pub fn url(origin: &Origin) -> Option<CrawlUrl> {
        origin.robots_url().join(Self::PATH).ok()
    }

    /// True when it is to be asked before anything else of its origin.
    #[must_use]
    pub fn is_due(&self, now: WallTime) -> bool {
        self.until <= now
    }

    /// Bytes that it holds beside itself.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.copy.as_ref().map_or(0, |copy| copy.rules.heap_bytes() + size_of::<Tdmrep>())
    }
}
