//! The guards against spaces without end, and what they have counted.

mod kept;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use comity_extract::{DuplicateBudget, Likeness, LinkAllowance, TextSketch};
use comity_policy::Reason;
use comity_url::{CrawlUrl, HostGrowth, Origin, PatternGrowth, Shape, Trap, TrapLimits};

use self::kept::Kept;
#[cfg(feature = "disk")]
pub(crate) use self::kept::forget;
use crate::Error;
use crate::config::TrapSettings;

/// Guards that count, held for the links of one page.
pub(super) struct Growth<'a> {
    counted: MutexGuard<'a, Counted>,
    /// The origin asked for last, and how it stands.
    last: Option<(Origin, Standing)>,
}

/// How an origin stands with the guards that count.
#[derive(Clone, Copy)]
enum Standing {
    /// Its domain has all the hosts that it may have.
    HostsSpent,
    /// Some pattern of its URLs is spent.
    PatternSpent,
    Open,
}

impl Growth<'_> {
    /// Whether nothing that was counted speaks against `url`.
    pub(super) fn admits(&mut self, url: &CrawlUrl) -> Result<(), Reason> {
        let known = self.last.as_ref().filter(|(origin, _)| origin == url.origin()).map(|(_, standing)| *standing);
        let standing = known.unwrap_or_else(|| self.look_up(url.origin()));
        let counted = &self.counted;
        match standing {
            Standing::Open => Ok(()),
            Standing::HostsSpent => Err(Reason::UrlTrapHosts),
            Standing::PatternSpent => match Shape::of(url) {
                Some(shape) if counted.patterns.spent(url.origin(), shape).is_some() => Err(Reason::UrlTrapPattern),
                _ => Ok(()),
            },
        }
    }

    fn look_up(&mut self, origin: &Origin) -> Standing {
        let counted = &mut *self.counted;
        let standing = if counted.hosts.is_spent(origin) {
            Standing::HostsSpent
        } else {
            // At once, so that one page of links to new hosts does not let them all in.
            if let (Some(row), Some(kept)) = (counted.hosts.count(origin), &mut counted.kept) {
                kept.add(row);
            }
            if counted.patterns.any_spent(origin) { Standing::PatternSpent } else { Standing::Open }
        };
        self.last = Some((origin.clone(), standing));
        standing
    }
}

/// All guards of a crawl. What they count stays in the crawl's directory, and is counted on there.
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
    /// `None` without a directory.
    kept: Option<Kept>,
}

impl Traps {
    /// The guards of the crawl in `dir`, with what an earlier process counted there.
    ///
    /// # Errors
    /// When that cannot be read.
    pub(crate) fn open(settings: &TrapSettings, dir: Option<&Path>) -> Result<Self, Error> {
        let mut counted = Counted {
            patterns: PatternGrowth::new(settings.growth),
            hosts: HostGrowth::new(settings.hosts),
            duplicates: DuplicateBudget::new(settings.duplicates),
            kept: None,
        };
        if let Some(dir) = dir {
            let Counted { patterns, hosts, duplicates, .. } = &mut counted;
            let kept = Kept::open(dir, |row| {
                patterns.restore(row);
                hosts.restore(row);
                duplicates.restore(row);
            })?;
            counted.kept = Some(kept);
        }
        Ok(Self { shape: settings.shape, counted: Mutex::new(counted) })
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
        self.growth().admits(url)
    }

    /// The same for many URLs in a row, of which those of one origin often follow each other.
    pub(super) fn growth(&self) -> Growth<'_> {
        Growth { counted: self.counted(), last: None }
    }

    /// Counts URLs that were queued. One page may go beyond a limit by the links that it has.
    pub(super) fn count<'a>(&self, queued: impl Iterator<Item = &'a CrawlUrl>) {
        let Counted { patterns, hosts, duplicates, kept } = &mut *self.counted();
        for url in queued {
            let Some(shape) = Shape::of(url) else { continue };
            let row = patterns.count(url.origin(), shape);
            if let Some(kept) = kept {
                kept.add(row);
            }
        }
        if let Some(kept) = kept {
            kept.write(patterns.rows().chain(hosts.rows()).chain(duplicates.rows()));
        }
    }

    pub(crate) fn add_seed(&self, seed: &CrawlUrl) {
        self.counted().hosts.add_seed(seed.origin());
    }

    /// A reader of the page's text, where its likeness is wanted.
    pub(super) fn sketch(&self, origin: &Origin) -> Option<TextSketch> {
        self.counted().duplicates.wants(origin).then(TextSketch::default)
    }

    /// Counts a page; gives how many of its links count. That is kept with the links that it queues, or that the next page does.
    pub(super) fn count_page(&self, origin: &Origin, likeness: Option<Likeness>) -> LinkAllowance {
        let counted = &mut *self.counted();
        let (allowance, row) = counted.duplicates.count(origin, likeness);
        if let (Some(row), Some(kept)) = (row, &mut counted.kept) {
            kept.add(row);
        }
        allowance
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
