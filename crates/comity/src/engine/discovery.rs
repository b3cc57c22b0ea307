//! Sitemaps and feeds: announced ones are queued, what they list enters the frontier.

use comity_extract::{EntryKind, Sitemap};
use comity_frontier::{Offer, Offered};
use comity_policy::Reason;
use comity_url::CrawlUrl;

use super::Shared;
use super::errand::{Errand, ordered};
use super::revisit::Seen;
use crate::Error;
use crate::keep::Trip;
use crate::sites::{Announced, Voice};

impl Shared {
    /// Queues the sitemaps that were announced since the last call: those of origins that belong to the crawl. Each is a URL
    /// like any other from there on: judged, admitted, fetched with a permit, recorded.
    pub(super) async fn offer_announced(&self) -> Result<(), Error> {
        let (news, beyond) = self.sites.news();
        if beyond > 0 {
            self.tally().links_left(Reason::UrlBudgetSitemaps, beyond);
        }
        let mut offers = Vec::new();
        for Announced { by, sitemap } in news {
            // Asked for the sake of somebody else's sitemap: its own are none of this crawl's.
            if !self.scope().reaches(&by) {
                continue;
            }
            let via = by.robots_url();
            match self.admits_sitemap(&sitemap).and_then(|()| self.listeners.admits(&sitemap, &via, 0)) {
                Ok(()) => offers.push(self.sitemap_offer(sitemap, via)),
                Err(reason) => self.skip(&sitemap, &via, reason),
            }
        }
        if offers.is_empty() {
            return Ok(());
        }
        let named: Vec<(CrawlUrl, Option<CrawlUrl>)> =
            offers.iter().map(|offer| (offer.url.clone(), offer.via.clone())).collect();
        let taken = self.frontier.offer(offers).await?;
        self.keeper.wrote();
        for (offered, (url, via)) in taken.into_iter().zip(named) {
            if let Offered::Refused(reason) = offered {
                self.skip(&url, via.as_ref().unwrap_or(&url), reason);
            }
        }
        Ok(())
    }

    fn sitemap_offer(&self, url: CrawlUrl, via: CrawlUrl) -> Offer {
        let key = self.keys.key(&url, &self.sites);
        Offer { via: Some(via), seed: false, ..Offer::seed(url, key) }
    }

    /// The host of a sitemap is its site's choice, so the scope's kind does not count; what the operator excludes, and the
    /// shape of the URL, do.
    pub(super) fn admits_sitemap(&self, url: &CrawlUrl) -> Result<(), Reason> {
        if self.scope().excludes(url) {
            return Err(Reason::UrlScope);
        }
        self.traps.check(url)
    }

    /// What of a sitemap or feed enters the frontier; the rest is counted by reason.
    pub(super) fn listed(
        &self,
        trip: &Trip,
        errand: Errand,
        list: &Sitemap,
        (follow, seen): (bool, &Seen),
    ) -> Vec<Offer> {
        if !follow {
            let entries = u64::try_from(list.entries.len()).unwrap_or(u64::MAX);
            self.tally().summary.links_nofollow += entries;
            return Vec::new();
        }
        let voice = self.voice(trip);
        let mut offers = Vec::new();
        for (class, entry) in ordered(list, self.clock.wall()) {
            let priority = if errand == Errand::Sitemap { class } else { 1 };
            let found = match entry.kind {
                EntryKind::Sitemap => self.child(trip, &entry.loc, &voice),
                EntryKind::Url => self.entry(trip, errand, &entry.loc, &voice, priority),
            };
            let hint = self.hint(entry, (trip.url.origin(), seen));
            self.push(&mut offers, (&entry.loc, trip), found.map(|offer| Offer { hint, ..offer }));
            for alternate in &entry.alternates {
                let found = self.entry(trip, errand, &alternate.url, &voice, priority);
                self.push(&mut offers, (&alternate.url, trip), found);
            }
        }
        offers
    }

    /// For whom a sitemap or feed speaks. One that stands in the queue as a sitemap has it from where it was found, also in a process
    /// that has not seen how: from a robots.txt, an index or a sitemap that led here, each of which speaks for its own host.
    pub(super) fn voice(&self, trip: &Trip) -> Voice {
        let mut voice = self.sites.voice(&trip.url, trip.via.as_ref());
        if let Some(via) = trip.via.as_ref().filter(|_| trip.is_sitemap_of_the_queue()) {
            voice.add(via.origin().host());
        }
        voice
    }

    fn push(&self, offers: &mut Vec<Offer>, (url, trip): (&CrawlUrl, &Trip), found: Result<Offer, Reason>) {
        match found {
            Ok(offer) => offers.push(offer),
            Err(reason) => self.skip(url, &trip.url, reason),
        }
    }

    fn child(&self, trip: &Trip, loc: &CrawlUrl, voice: &Voice) -> Result<Offer, Reason> {
        self.admits_sitemap(loc)?;
        self.listeners.admits(loc, &trip.url, 0)?;
        self.sites.take(loc, &trip.url, voice)?;
        Ok(self.sitemap_offer(loc.clone(), child_via(trip, loc)))
    }

    fn entry(&self, trip: &Trip, errand: Errand, url: &CrawlUrl, voice: &Voice, priority: u8) -> Result<Offer, Reason> {
        voice.speaks_of(url)?;
        let depth = trip.depth + 1;
        self.admits_url(url, depth)?;
        if errand == Errand::Page {
            self.traps.admits_growth(url)?;
        }
        self.listeners.admits(url, &trip.url, depth)?;
        let key = self.keys.key(url, &self.sites);
        Ok(Offer { priority, ..Offer::link(url.clone(), key, trip.url.clone(), depth) })
    }
}

/// Where a file that an index lists, or to which a sitemap redirects, was found: there. But where hosts differ, it is the robots.txt
/// that the former was named by: on that it rests for whom the file speaks, and nothing else of it outlives the process.
pub(super) fn child_via(index: &Trip, child: &CrawlUrl) -> CrawlUrl {
    let robots = index.via.as_ref().filter(|via| via.is_robots_txt());
    let crosses = |robots: &&CrawlUrl| {
        let speaker = robots.origin().host();
        [&index.url, child].iter().any(|url| url.origin().host() != speaker)
    };
    robots.filter(crosses).unwrap_or(&index.url).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_of_another_host_keeps_by_whose_word_it_speaks() {
        let url = |text: &str| CrawlUrl::parse(text).unwrap();
        let (robots, page) = ("http://a.test/robots.txt", "http://a.test/page");
        // Index, its via, child → the child's via.
        let rows = [
            ("http://cdn.test/i.xml", robots, "http://cdn.test/c.xml", robots),
            ("http://cdn.test/i.xml", robots, "http://a.test/c.xml", robots),
            ("http://a.test/i.xml", robots, "http://cdn.test/c.xml", robots),
            ("http://a.test/i.xml", robots, "http://a.test/c.xml", "http://a.test/i.xml"),
            ("http://a.test/i.xml", robots, "https://a.test/c.xml", "http://a.test/i.xml"),
            ("http://cdn.test/i.xml", page, "http://cdn.test/c.xml", "http://cdn.test/i.xml"),
        ];
        for (index, via, child, wanted) in rows {
            let index = Trip {
                url: url(index),
                via: Some(url(via)),
                depth: 0,
                hops: 0,
                seed: false,
                priority: 0,
                attempt: 1,
                visited: None,
                received: 0,
            };
            assert_eq!(child_via(&index, &url(child)), url(wanted), "{} {child}", index.url);
        }
    }
}
