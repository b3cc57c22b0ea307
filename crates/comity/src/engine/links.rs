use std::sync::MutexGuard;

use comity_extract::{Link, LinkAllowance};
use comity_frontier::{Offer, Offered};
use comity_policy::Reason;
use comity_url::{CrawlUrl, Origin, Scope};

use super::discovery::child_via;
use super::errand::Errand;
use super::traps::Growth;
use super::{Shared, Traps};
use crate::Event;
use crate::keep::Trip;

impl Shared {
    /// What of a page's links enters the frontier; the rest is counted by reason.
    ///
    /// Of a page that is one of many copies only `most` count.
    pub(super) fn offers(&self, trip: &Trip, links: &[Link], follow: bool, most: LinkAllowance) -> Vec<Offer> {
        let (mut left, mut nofollow) = (Left::default(), 0);
        let judged = self.judged(trip, links, follow, &mut nofollow);
        let mut offers = Vec::with_capacity(judged.len());
        for (link, admitted) in judged {
            match admitted.and_then(|()| self.listeners.admits(&link.url, &trip.url, trip.depth + 1)) {
                Ok(()) if most.is_spent(offers.len()) => left.add(self, (link, trip), Reason::UrlTrapDuplicates),
                Ok(()) => {
                    let key = self.keys.key(&link.url, &self.sites);
                    offers.push(Offer::link(link.url.clone(), key, trip.url.clone(), trip.depth + 1));
                }
                Err(reason) => left.add(self, (link, trip), reason),
            }
        }
        let mut tally = self.tally();
        tally.summary.links_nofollow += nofollow;
        left.0.into_iter().for_each(|(reason, count)| tally.links_left(reason, count));
        offers
    }

    /// The links to be followed, each with what the crawl's own bounds say. No filter of the author's runs under their locks.
    fn judged<'l>(
        &self,
        trip: &Trip,
        links: &'l [Link],
        follow: bool,
        nofollow: &mut u64,
    ) -> Vec<(&'l Link, Result<(), Reason>)> {
        let mut bounds = self.bounds(trip.depth + 1);
        let mut judged = Vec::with_capacity(links.len());
        for link in links.iter().filter(|link| link.is_page() || link.suspicious.is_some()) {
            if follow && !link.is_nofollow() {
                judged.push((link, bounds.admit(&link.url, link.suspicious.is_some())));
            } else {
                *nofollow += 1;
            }
        }
        judged
    }

    /// What links are held to that lead to `depth`.
    fn bounds(&self, depth: u32) -> Bounds<'_> {
        let is_too_deep = depth > self.live().limits.max_depth;
        let (scope, growth) = (self.scope(), self.traps.growth());
        Bounds { is_too_deep, traps: &self.traps, scope, growth, reached: None }
    }

    /// What is to be known of links once their settlement is done.
    pub(super) fn watched(&self, links: &[Offer]) -> Watched {
        let via = links.first().and_then(|link| link.via.as_ref());
        let listed = via.is_some_and(|via| self.sites.is_sitemap(via));
        Watched { urls: links.iter().map(|link| link.url.clone()).collect(), via: via.cloned(), listed }
    }

    /// Counts what became of links: the guards look at what was queued, the key rules at what was not. What a sitemap lists
    /// is no growth of links.
    pub(super) fn count_queued(&self, watched: &Watched, offered: &[Offered]) {
        let both = || watched.urls.iter().zip(offered);
        if !watched.listed {
            self.traps.count(both().filter(|(_, offered)| **offered == Offered::New).map(|(url, _)| url));
        }
        both().for_each(|(url, offered)| self.keys.offered(url, *offered, &self.sites));
        for (url, offered) in both() {
            if let Offered::Refused(reason) = offered {
                self.skip(url, watched.via.as_ref().unwrap_or(url), *reason);
            }
        }
    }

    /// A URL that was found, and is left out.
    pub(super) fn skip(&self, url: &CrawlUrl, via: &CrawlUrl, reason: Reason) {
        self.tally().link_left(reason);
        self.listeners.tell(|| Event::Skipped { url: url.clone(), via: via.clone(), reason });
    }

    /// The offer for a redirect: same depth and seed, one hop more; decided anew like any URL (invariant 2).
    pub(super) fn redirect_offer(&self, trip: &Trip, errand: Errand, target: CrawlUrl) -> Result<Offer, Reason> {
        if trip.hops >= self.live().limits.max_redirects {
            return Err(Reason::UrlRedirects);
        }
        let via = if errand == Errand::Sitemap {
            self.admits_sitemap(&target)?;
            self.sites.redirected(self.voice(trip), &target);
            child_via(trip, &target)
        } else {
            self.admits_link(&target, trip.depth, false)?;
            trip.url.clone()
        };
        self.listeners.admits(&target, &trip.url, trip.depth)?;
        Ok(Offer {
            key: self.keys.key(&target, &self.sites),
            url: target,
            depth: trip.depth,
            hops: trip.hops + 1,
            via: Some(via),
            seed: trip.seed,
            priority: trip.priority,
            attempts: 0,
            hint: None,
            // What was asked for is what is there: it goes with it.
            user_data: trip.user_data().cloned(),
        })
    }

    pub(super) fn admits_link(&self, url: &CrawlUrl, depth: u32, suspicious: bool) -> Result<(), Reason> {
        if suspicious {
            return Err(Reason::UrlSuspicious);
        }
        self.admits_url(url, depth)?;
        self.traps.admits_growth(url)
    }

    /// Depth, shape and scope: what every URL is held to.
    pub(super) fn admits_url(&self, url: &CrawlUrl, depth: u32) -> Result<(), Reason> {
        if depth > self.live().limits.max_depth {
            return Err(Reason::UrlDepth);
        }
        self.traps.check(url)?;
        self.scope().admits(url).map_err(|_| Reason::UrlScope)
    }
}

/// What the links of one page are held to: locked once for all of them, in this order.
struct Bounds<'a> {
    is_too_deep: bool,
    traps: &'a Traps,
    scope: MutexGuard<'a, Scope>,
    growth: Growth<'a>,
    /// The origin asked for last, and whether the scope reaches it.
    reached: Option<(Origin, bool)>,
}

impl Bounds<'_> {
    /// As [`Shared::admits_link`].
    fn admit(&mut self, url: &CrawlUrl, is_suspicious: bool) -> Result<(), Reason> {
        if is_suspicious {
            return Err(Reason::UrlSuspicious);
        }
        if self.is_too_deep {
            return Err(Reason::UrlDepth);
        }
        self.traps.check(url)?;
        if !self.is_in_scope(url) {
            return Err(Reason::UrlScope);
        }
        self.growth.admits(url)
    }

    /// As [`Scope::admits`]; of links to one origin, which often follow each other, the first is looked up.
    fn is_in_scope(&mut self, url: &CrawlUrl) -> bool {
        if !self.scope.goes_by_origin() {
            return self.scope.admits(url).is_ok();
        }
        let known = self.reached.as_ref().filter(|(origin, _)| origin == url.origin()).map(|(_, reached)| *reached);
        let is_reached = known.unwrap_or_else(|| {
            let reached = self.scope.reaches(url.origin());
            self.reached = Some((url.origin().clone(), reached));
            reached
        });
        is_reached && self.scope.admits_by_patterns(url).is_ok()
    }
}

/// Links that were left out, by reason.
#[derive(Default)]
struct Left(Vec<(Reason, u64)>);

impl Left {
    fn add(&mut self, shared: &Shared, (link, trip): (&Link, &Trip), reason: Reason) {
        shared.listeners.tell(|| Event::Skipped { url: link.url.clone(), via: trip.url.clone(), reason });
        match self.0.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => self.0.push((reason, 1)),
        }
    }
}

/// Links of a settlement under way.
#[derive(Debug, Default)]
pub(super) struct Watched {
    urls: Vec<CrawlUrl>,
    /// Where they were found.
    via: Option<CrawlUrl>,
    /// Whether a sitemap lists them.
    listed: bool,
}
