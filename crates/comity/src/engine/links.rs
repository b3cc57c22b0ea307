use comity_extract::{Link, Page};
use comity_frontier::Offer;
use comity_policy::{Capture, Reason};
use comity_signals::page_signals;
use comity_url::{CrawlUrl, Trap};

use super::Shared;
use crate::keep::Trip;

impl Shared {
    /// What of a page's links enters the frontier; the rest is counted by reason.
    pub(super) fn offers(&self, trip: &Trip, links: &[Link], follow: bool) -> Vec<Offer> {
        let mut offers: Vec<Offer> = Vec::new();
        for link in links.iter().filter(|link| link.is_page() || link.suspicious.is_some()) {
            if !follow || link.is_nofollow() {
                self.tally().summary.links_nofollow += 1;
                continue;
            }
            match self.admits_link(&link.url, trip.depth + 1, link.suspicious.is_some()) {
                Ok(()) => {
                    let key = self.hasher.key(&link.url);
                    offers.push(Offer::link(link.url.clone(), key, trip.url.clone(), trip.depth + 1));
                }
                Err(reason) => self.tally().link_left(reason),
            }
        }
        offers
    }

    /// The offer for a redirect: same depth and seed, one hop more; decided anew like any URL (invariant 2).
    pub(super) fn redirect_offer(&self, trip: &Trip, target: CrawlUrl) -> Result<Offer, Reason> {
        if trip.hops >= MOST_REDIRECTS {
            return Err(Reason::UrlRedirects);
        }
        if trip.seed {
            // Scope is that of the seeds after their own redirects (design §7).
            self.scope().add_seed(&target);
        }
        self.admits_link(&target, trip.depth, false)?;
        Ok(Offer {
            key: self.hasher.key(&target),
            url: target,
            depth: trip.depth,
            hops: trip.hops + 1,
            via: Some(trip.url.clone()),
            seed: trip.seed,
            priority: trip.priority,
            attempts: 0,
        })
    }

    /// Whether links of a page may be followed: its robots metas and `X-Robots-Tag` fields decide (design §7).
    pub(super) fn may_follow(&self, capture: &Capture, page: Option<&Page>) -> bool {
        let Some(page) = page else { return false };
        let tokens = self.identity.tokens().iter();
        tokens
            .map(|token| page_signals(&capture.fields, &page.head, token.as_str(), false))
            .all(|signals| signals.follow)
    }

    fn admits_link(&self, url: &CrawlUrl, depth: u32, suspicious: bool) -> Result<(), Reason> {
        if suspicious {
            return Err(Reason::UrlSuspicious);
        }
        if depth > self.limits.max_depth {
            return Err(Reason::UrlDepth);
        }
        self.traps.check(url).map_err(|trap| match trap {
            Trap::Length { .. } => Reason::UrlLength,
            Trap::Segments { .. } => Reason::UrlTrapSegments,
            _ => Reason::UrlTrapRepeated,
        })?;
        self.scope().admits(url).map_err(|_| Reason::UrlScope)
    }
}

/// Redirects followed in a row (design §7).
const MOST_REDIRECTS: u8 = 5;
