//! What may change while a crawl runs.

use std::sync::{Arc, PoisonError};

use comity_policy::{Judge, Judgement, Reason, Refusal};
use comity_url::CrawlUrl;

use super::Shared;
use super::errand::Errand;
use crate::config::{CrawlConfig, CrawlLimits, RevisitSettings};
use crate::keep::Trip;

/// The settings of one time. A visit holds those that it began under until it is over: so it is known when nobody works by the
/// old ones any more.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) limits: CrawlLimits,
    /// Visits under way at once.
    pub(crate) total: u32,
    /// Requests of one origin at once: with more than one, bodies overlap.
    pub(crate) per_origin: u32,
    /// What is visited anew, and when: for the next visit of what is fetched from now on.
    pub(crate) revisit: RevisitSettings,
}

impl Live {
    /// What of a configuration may change while a crawl runs, and is no affair of the gate's.
    pub(crate) fn of(config: &CrawlConfig) -> Self {
        let CrawlConfig { limits, politeness, revisit, .. } = config;
        Self { limits: limits.clone(), total: politeness.total, per_origin: politeness.per_origin, revisit: *revisit }
    }

    /// Visits that may be under way at once, one at least.
    pub(super) fn places(&self) -> usize {
        usize::try_from(self.total).unwrap_or(usize::MAX).max(1)
    }
}

impl Shared {
    /// The settings of now.
    pub(crate) fn live(&self) -> Arc<Live> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces them; gives the old ones, which are let go of as the visits that began under them end.
    pub(crate) fn set_live(&self, live: Live) -> Arc<Live> {
        let mut current = self.live.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *current, Arc::new(live))
    }

    /// Why a queued URL does not belong to the crawl any more: the operator's patterns or the depth changed while it waited, or
    /// it was brought here from elsewhere; or its origin has sent all the bytes that it may.
    pub(super) fn left_out(&self, trip: &Trip, live: &Live) -> Option<Reason> {
        let scope = self.scope();
        if scope.excludes(&trip.url) {
            return Some(Reason::UrlScope);
        }
        if live.limits.max_bytes_per_origin.is_some_and(|most| trip.received >= most) {
            return Some(Reason::UrlBudgetBytes);
        }
        if trip.seed || self.errand(trip) == Errand::Sitemap {
            return None;
        }
        if trip.depth > live.limits.max_depth {
            return Some(Reason::UrlDepth);
        }
        scope.admits(&trip.url).err().map(|_| Reason::UrlScope)
    }
}

/// The crawl's own word before the gate's: what is excluded costs no robots.txt either.
impl Judge for Shared {
    fn judge(&self, url: &CrawlUrl) -> Judgement {
        if self.scope().excludes(url) {
            return Judgement::Refuse(Refusal::before_robots(Reason::UrlScope, self.clock.wall()));
        }
        self.gate.judge(url)
    }
}
