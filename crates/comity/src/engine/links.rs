use std::sync::Arc;

use comity_extract::{Link, Page};
use comity_frontier::Offer;
use comity_policy::{Capture, Decision, Reason};
use comity_robots::ProductToken;
use comity_signals::{HeadFacts, PageSignals, Statement, page_signals};
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

    /// Reads what the answer itself says, fields and metas: whether its links may be followed, and the decision with
    /// these statements added, which is what its record holds (decided twice: before the fetch and after it).
    pub(super) fn after_page(
        &self,
        capture: &Capture,
        page: Option<&Page>,
        decision: Arc<Decision>,
    ) -> (bool, Arc<Decision>) {
        let none = HeadFacts::default();
        let head = page.map_or(&none, |page| &page.head);
        let image = capture.field("content-type").is_some_and(|kind| kind.trim_start().starts_with("image/"));
        let read = |token: &ProductToken| page_signals(&capture.fields, head, token.as_str(), image);
        let signals: Vec<PageSignals> = self.identity.tokens().iter().map(read).collect();
        let follow = signals.iter().all(|signals| signals.follow);
        let statements: Vec<Statement> = signals.into_iter().flat_map(|signals| signals.statements).collect();
        if statements.is_empty() {
            return (follow, decision);
        }
        let preferences = decision.preferences.clone().with(statements);
        (follow, Arc::new(Decision { preferences, ..Decision::clone(&decision) }))
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
