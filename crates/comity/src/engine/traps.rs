//! The guards against spaces without end, and what they have counted.

use std::sync::{Mutex, MutexGuard, PoisonError};

use comity_extract::{DuplicateBudget, Likeness, LinkAllowance, TextSketch};
use comity_policy::Reason;
use comity_url::{CrawlUrl, HostGrowth, Origin, PatternGrowth, Shape, Trap, TrapLimits};

use crate::config::TrapSettings;

/// All guards of a crawl. Their counts live as long as the process: a crawl that goes on later counts anew.
#[derive(Debug)]
pub(crate) struct Traps {
    shape: TrapLimits,
    counted: Mutex<Counted>,
}

#[derive(Debug)]
struct Counted {
    patterns: PatternGrowth,
    hosts: HostGrowth,
    duplicates: DuplicateBudget,
}

impl Traps {
    pub(crate) fn new(settings: &TrapSettings) -> Self {
        let counted = Counted {
            patterns: PatternGrowth::new(settings.growth),
            hosts: HostGrowth::new(settings.hosts),
            duplicates: DuplicateBudget::new(settings.duplicates),
        };
        Self { shape: settings.shape, counted: Mutex::new(counted) }
    }

    /// What the URL alone shows.
    pub(super) fn check(&self, url: &CrawlUrl) -> Result<(), Reason> {
        self.shape.check(url).map_err(|trap| match trap {
            Trap::Length { .. } => Reason::UrlLength,
            Trap::Segments { .. } => Reason::UrlTrapSegments,
            _ => Reason::UrlTrapRepeated,
        })
    }

    /// What was counted of its like. A sitemap's entries are not asked: the site itself says that they are pages.
    pub(super) fn admits_growth(&self, url: &CrawlUrl) -> Result<(), Reason> {
        let mut counted = self.counted();
        if counted.hosts.is_spent(url.origin()) {
            return Err(Reason::UrlTrapHosts);
        }
        // At once, so that one page of links to new hosts does not let them all in.
        counted.hosts.count(url.origin());
        let is_spent = counted.patterns.any_spent(url.origin())
            && Shape::of(url).is_some_and(|shape| counted.patterns.spent(url.origin(), shape).is_some());
        if is_spent { Err(Reason::UrlTrapPattern) } else { Ok(()) }
    }

    /// Counts URLs that were queued. One page may go beyond a limit by the links that it has.
    pub(super) fn count<'a>(&self, queued: impl Iterator<Item = &'a CrawlUrl>) {
        let mut counted = self.counted();
        for url in queued {
            if let Some(shape) = Shape::of(url) {
                counted.patterns.count(url.origin(), shape);
            }
        }
    }

    pub(crate) fn add_seed(&self, seed: &CrawlUrl) {
        self.counted().hosts.add_seed(seed.origin());
    }

    /// A reader of the page's text, where its likeness is wanted.
    pub(super) fn sketch(&self, origin: &Origin) -> Option<TextSketch> {
        self.counted().duplicates.wants(origin).then(TextSketch::default)
    }

    /// Counts a page; gives how many of its links count.
    pub(super) fn count_page(&self, origin: &Origin, likeness: Option<Likeness>) -> LinkAllowance {
        self.counted().duplicates.count(origin, likeness)
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
