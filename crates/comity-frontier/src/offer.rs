use comity_policy::Reason;
use comity_url::{CrawlUrl, UrlKey};

use crate::{Hint, UserData};

/// A URL offered to the frontier: a seed, a link, a redirect target, an entry of a sitemap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The URL as it will be judged and sent.
    pub url: CrawlUrl,
    /// Its fingerprint: only the seen-set uses it.
    pub key: UrlKey,
    /// Links followed from the nearest seed; a redirect does not add one.
    pub depth: u32,
    /// Redirects in a row so far, 0 for a link.
    pub hops: u8,
    /// The page that named it.
    pub via: Option<CrawlUrl>,
    /// Given by the operator.
    pub seed: bool,
    /// Priority within its origin: 0 first.
    pub priority: u8,
    /// Attempts used up so far; 0 unless it is imported from elsewhere.
    pub attempts: u32,
    /// What the site itself says of when it changes.
    pub hint: Option<Hint>,
    /// What the crawl's author keeps with it. Where the URL was offered before, that of the first offer stays.
    pub user_data: Option<UserData>,
}

impl Offer {
    /// A seed: depth 0, priority 0.
    #[must_use]
    pub const fn seed(url: CrawlUrl, key: UrlKey) -> Self {
        Self {
            url,
            key,
            depth: 0,
            hops: 0,
            via: None,
            seed: true,
            priority: 0,
            attempts: 0,
            hint: None,
            user_data: None,
        }
    }

    /// A link found on `via`, at `depth`, with priority 1: behind seeds.
    #[must_use]
    pub const fn link(url: CrawlUrl, key: UrlKey, via: CrawlUrl, depth: u32) -> Self {
        Self {
            url,
            key,
            depth,
            hops: 0,
            via: Some(via),
            seed: false,
            priority: 1,
            attempts: 0,
            hint: None,
            user_data: None,
        }
    }
}

/// What became of an offer.
#[must_use = "a refused offer needs a record: no URL is dropped silently"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It is queued.
    New,
    /// It was offered before, in whatever state it is now.
    Seen,
    /// It is not taken: `url.budget.pages`, `url.budget.bytes`, `url.budget.domain`, `url.budget.pending` or `url.budget.queue`. Not marked seen: it may be offered again.
    Refused(Reason),
}
