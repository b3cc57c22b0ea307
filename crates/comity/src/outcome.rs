use std::fmt;

use comity_policy::Reason;
use comity_url::CrawlUrl;

/// How a URL left the queue, as handlers see it: told once for every URL, after its record was written and its links were
/// queued.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct UrlOutcome<'a> {
    /// The URL.
    pub url: &'a CrawlUrl,
    /// The page, redirect or sitemap on which it was found; `None` for a seed.
    pub via: Option<&'a CrawlUrl>,
    /// What became of it.
    pub ending: UrlEnding,
    /// Requests of it so far, 1 for the first; one that was never requested says 1 too.
    pub attempt: u32,
}

/// What became of a URL.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlEnding {
    /// It was answered with this status, by no redirect that is followed.
    Fetched(u16),
    /// It was answered with a redirect; where it leads is a URL of its own.
    Redirected(u16),
    /// It was answered, and by what the answer says nothing of its body was kept.
    Withheld(Reason),
    /// It was not requested.
    Refused(Reason),
    /// It was requested, and there is no answer after all retries.
    Failed(Reason),
}

impl fmt::Display for UrlEnding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetched(status) => write!(f, "fetched {status}"),
            Self::Redirected(status) => write!(f, "redirected {status}"),
            Self::Withheld(reason) => write!(f, "withheld {reason}"),
            Self::Refused(reason) => write!(f, "refused {reason}"),
            Self::Failed(reason) => write!(f, "failed {reason}"),
        }
    }
}
