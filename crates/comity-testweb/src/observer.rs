use std::collections::BTreeSet;
use std::sync::Arc;

use comity_url::CrawlUrl;

use crate::audit::micros;
use crate::live::Live;
use crate::log::Sighting;

/// Eyes on a web that is or was up: what arrived, and what it means. Cloning copies a pointer.
#[derive(Clone, Debug)]
pub struct Observer {
    pub(crate) live: Arc<Live>,
}

impl Observer {
    pub(crate) const fn new(live: Arc<Live>) -> Self {
        Self { live }
    }

    /// The origins, by site number: `http://o0.demo.test`.
    #[must_use]
    pub fn origins(&self) -> Vec<String> {
        self.live.layout.origins().iter().map(ToString::to_string).collect()
    }

    /// The front page of every origin.
    #[must_use]
    pub fn seeds(&self) -> Vec<String> {
        self.live.layout.origins().iter().map(|origin| format!("{origin}/")).collect()
    }

    /// The absolute URL of a path on site `site`; `None` when there is no such site.
    #[must_use]
    pub fn url(&self, site: usize, path: &str) -> Option<String> {
        Some(format!("{}{path}", self.live.layout.origin(site)?))
    }

    /// Every request so far, in order of arrival.
    #[must_use]
    pub fn log(&self) -> Vec<Sighting> {
        self.live.log.snapshot().sightings
    }

    /// Every URL of the web that its clients have been shown, as crawl URL: links of pages that went out whole, targets of
    /// page redirects. A crawl that knows less has lost some; `nofollow` and meta refresh are not looked at.
    #[must_use]
    pub fn shown(&self) -> BTreeSet<String> {
        let mut shown = BTreeSet::new();
        for seen in self.log() {
            let whole = seen.head_whole && seen.ended_us.is_some() && !seen.cut;
            let origin = seen.site.and_then(|site| self.live.layout.origin(site));
            let (Some(origin), Some(reply), true) = (origin, &seen.reply, whole && !seen.request.is_robots_txt())
            else {
                continue;
            };
            let Ok(url) = CrawlUrl::parse(&format!("{origin}{}", seen.request.target_text())) else { continue };
            let targets = self.live.targets(reply);
            let found = targets.iter().filter_map(|target| self.live.layout.resolve(&url, target));
            shown.extend(found.map(|url| url.as_str().to_owned()));
        }
        shown
    }

    /// Tells that the clients' processes have just ended: what had not reached them whole is unknown to those that come next,
    /// and an audit does not hold it against them. What they had been told before still binds.
    pub fn clients_died(&self) {
        self.live.log.died();
    }

    /// Tells that with the clients' processes, after [`Observer::clients_died`], everything went that had reached them later than this
    /// moment (microseconds since the web was put up), as a power cut takes it: those that come next have to ask for it again, robots.txt
    /// first. Without, they know all that had reached the processes whole.
    pub fn clients_forgot(&self, after_us: u64) {
        self.live.log.forgot(after_us);
    }

    /// Tells that the clients' next processes begin, after [`Observer::clients_died`]: from here on they read the clock.
    pub fn clients_reborn(&self) {
        self.live.log.reborn();
    }

    /// Microseconds since the web was put up: the times of a [`Sighting`].
    #[must_use]
    pub fn now_us(&self) -> u64 {
        micros(self.live.log.elapsed())
    }

    /// Requests that no longer fitted into the log.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.live.log.snapshot().lost
    }
}
