use comity_extract::{Sitemap, SitemapEntry, SitemapPriority};
use comity_policy::WallTime;

use super::Shared;
use super::reading::Found;
use crate::keep::Trip;

/// What a URL of the queue is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// For itself.
    Page,
    /// For what it lists.
    Sitemap,
}

impl Shared {
    /// Sitemaps stand at depth 0 and are no seeds, which nothing else does: links are one deeper than where they were found,
    /// and what a seed redirects to is a seed. So the queue itself remembers them. One that a page links to as well is known
    /// by its name.
    pub(super) fn errand(&self, trip: &Trip) -> Errand {
        let is_sitemap = trip.is_sitemap_of_the_queue() || (!trip.seed && self.sites.is_sitemap(&trip.url));
        if is_sitemap { Errand::Sitemap } else { Errand::Page }
    }

    /// What it was in the end: a robots.txt may name anything as its sitemap. A page of this crawl stays a page, one of another
    /// site is nothing.
    pub(super) fn turned_out(&self, errand: Errand, trip: &Trip, found: &mut Found) -> Errand {
        if errand == Errand::Sitemap && found.page.is_some() {
            if self.admits_link(&trip.url, trip.depth, false).is_ok() {
                return Errand::Page;
            }
            found.page = None;
        }
        errand
    }
}

impl Trip {
    /// It stands where nothing but sitemaps does.
    pub(super) const fn is_sitemap_of_the_queue(&self) -> bool {
        !self.seed && self.depth == 0
    }
}

/// A page whose date is no older is as good as new. Our choice: what changed this week.
const FRESH: i64 = 7 * 24 * 3600;

/// The priority within its origin that an entry of a sitemap has in the queue: 0 beside the seeds, 1 beside links, 2 behind
/// them. Our choice: `priority` above the usual 0.5, or a date of this week, brings a page forward; below, it waits.
pub(super) fn class(entry: &SitemapEntry, now: WallTime) -> u8 {
    let now = now.unix_millis().div_euclid(1000);
    let is_fresh = entry.lastmod.as_ref().is_some_and(|date| date.at.0 <= now && now - date.at.0 <= FRESH);
    match entry.priority.unwrap_or(SitemapPriority::USUAL) {
        _ if is_fresh => 0,
        priority if priority > SitemapPriority::USUAL => 0,
        priority if priority == SitemapPriority::USUAL => 1,
        _ => 2,
    }
}

/// The entries in the order in which they are queued: by class, within one the newest first, undated ones last.
pub(super) fn ordered(sitemap: &Sitemap, now: WallTime) -> Vec<(u8, &SitemapEntry)> {
    let mut entries: Vec<_> = sitemap.entries.iter().map(|entry| (class(entry, now), entry)).collect();
    let date = |entry: &SitemapEntry| entry.lastmod.as_ref().map_or(i64::MIN, |date| date.at.0);
    entries.sort_by_key(|(class, entry)| (*class, std::cmp::Reverse(date(entry))));
    entries
}
