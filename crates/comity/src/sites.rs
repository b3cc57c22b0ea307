//! What robots.txt says beside its rules: sitemaps, and parameters that change nothing.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use comity_policy::Reason;
use comity_robots::{ExtensionKind, Robots};
use comity_url::{CleanParams, CrawlUrl, Origin};

use crate::config::{SitemapSettings, Sitemaps};

/// Everything learnt of that kind, for the whole crawl. Bounded: sitemaps per origin by the configuration, in all by
/// [`MOST_VOICES`].
#[derive(Debug)]
pub(crate) struct Sites {
    settings: SitemapSettings,
    keeps_clean: bool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// For whom each sitemap speaks.
    voices: HashMap<CrawlUrl, Voice>,
    /// Sitemaps taken per origin that named them, by whatever way.
    taken: HashMap<Origin, u32>,
    clean: HashMap<Origin, Arc<CleanParams>>,
    /// Learnt, and not offered yet.
    news: Vec<Announced>,
    left: u64,
}

/// A sitemap that a robots.txt names, or the usual place for one.
#[derive(Clone, Debug)]
pub(crate) struct Announced {
    /// Whose robots.txt.
    pub(crate) by: Origin,
    pub(crate) sitemap: CrawlUrl,
}

/// What a sitemap may speak of: its own host, and those whose robots.txt named it (sitemaps.org, "Sitemaps & Cross
/// Submits"). An index lends its voice to the files that it lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Voice {
    /// Shared by the files of one index. At most [`MOST_HOSTS`], its own aside.
    hosts: Arc<HashSet<Box<str>>>,
    /// The origin that pays for further ones.
    by: Option<Origin>,
    /// Indexes above it.
    pub(crate) level: u8,
}

/// Sitemaps remembered in all. Our choice: some 50 MB.
const MOST_VOICES: usize = 200_000;
/// Hosts that one sitemap speaks for. Our choice: sites of one operator; a file that more robots.txt name stays that of the first.
const MOST_HOSTS: usize = 64;
/// Indexes within indexes that are followed. The protocol knows one level (sitemaps.org, "Sitemap index"); sites have two.
pub(crate) const MOST_LEVELS: u8 = 3;
/// Clean-param lines are kept for as many origins.
const MOST_CLEAN: usize = 65_536;

impl Sites {
    pub(crate) fn new(settings: SitemapSettings, keeps_clean: bool) -> Self {
        Self { settings, keeps_clean, inner: Mutex::default() }
    }

    /// Takes in a robots.txt that is in force for `origin`.
    pub(crate) fn learn(&self, origin: &Origin, file: &[u8]) {
        if self.settings.mode == Sitemaps::Off && !self.keeps_clean {
            return;
        }
        let robots = Robots::parse(file);
        let base = origin.robots_url();
        let named: Vec<CrawlUrl> = robots.sitemaps().filter_map(|(value, _)| base.join(value.trim()).ok()).collect();
        let mut inner = self.inner();
        if self.settings.mode != Sitemaps::Off {
            self.announce(&mut inner, origin, named);
        }
        if self.keeps_clean && (inner.clean.len() < MOST_CLEAN || inner.clean.contains_key(origin)) {
            let lines = robots.extensions().filter(|line| line.kind() == ExtensionKind::CleanParam);
            let values: Vec<String> = lines.map(|line| line.text().into_owned()).collect();
            let clean = CleanParams::of(values.iter().map(String::as_str));
            if !clean.is_empty() {
                inner.clean.insert(origin.clone(), Arc::new(clean));
            }
        }
    }

    /// Takes in that `origin` has no robots.txt.
    pub(crate) fn learn_absent(&self, origin: &Origin) {
        if self.settings.mode == Sitemaps::RobotsAndDefault {
            self.announce(&mut self.inner(), origin, Vec::new());
        }
    }

    fn announce(&self, inner: &mut Inner, origin: &Origin, mut named: Vec<CrawlUrl>) {
        if named.is_empty() && self.settings.mode == Sitemaps::RobotsAndDefault {
            named.extend(origin.robots_url().join("/sitemap.xml"));
        }
        for sitemap in named {
            let above = Voice { by: Some(origin.clone()), ..Voice::default() };
            if self.lend(inner, &sitemap, &above, 0, origin) {
                inner.news.push(Announced { by: origin.clone(), sitemap });
            } else {
                inner.left += 1;
            }
        }
    }

    /// Lets `sitemap` speak for whom `above` speaks for, and for `origin`; false when that origin's budget is spent, or the
    /// sitemap speaks for too many already.
    fn lend(&self, inner: &mut Inner, sitemap: &CrawlUrl, above: &Voice, level: u8, origin: &Origin) -> bool {
        if let Some(voice) = inner.voices.get_mut(sitemap) {
            // As many of them as it may: none is passed over because of another.
            let left = above.hosts.iter().filter(|host| !voice.speak_for(host)).count();
            return voice.speak_for(origin.host()) && left == 0;
        }
        let is_full = inner.voices.len() >= MOST_VOICES;
        let taken = inner.taken.entry(origin.clone()).or_default();
        if is_full || *taken >= self.settings.most {
            return false;
        }
        *taken += 1;
        let mut voice = Voice { hosts: above.hosts.clone(), by: Some(origin.clone()), level };
        let lent = voice.speak_for(origin.host());
        inner.voices.insert(sitemap.clone(), voice);
        lent
    }

    /// What was announced since the last call, and how many announcements were beyond the budget.
    pub(crate) fn news(&self) -> (Vec<Announced>, u64) {
        let mut inner = self.inner();
        (std::mem::take(&mut inner.news), std::mem::take(&mut inner.left))
    }

    /// Whether a robots.txt, or an index that one names, lists this file.
    pub(crate) fn is_sitemap(&self, url: &CrawlUrl) -> bool {
        self.settings.mode != Sitemaps::Off && self.inner().voices.contains_key(url)
    }

    /// For whom `sitemap` speaks; `via` is where it was found, which is all that a later process may know.
    pub(crate) fn voice(&self, sitemap: &CrawlUrl, via: Option<&CrawlUrl>) -> Voice {
        let inner = self.inner();
        let known = inner.voices.get(sitemap).or_else(|| inner.voices.get(via?));
        let mut voice = known.cloned().unwrap_or_default();
        // Beyond the bound, as whoever sent here: a sitemap always speaks for itself.
        voice.add(sitemap.origin().host());
        if let Some(robots) = via.filter(|via| via.is_robots_txt()) {
            voice.add(robots.origin().host());
        }
        voice
    }

    /// Takes in a file that an index lists.
    ///
    /// # Errors
    /// `url.sitemap.host`, `url.sitemap.depth`, `url.budget.sitemaps`.
    pub(crate) fn take(&self, child: &CrawlUrl, index: &CrawlUrl, voice: &Voice) -> Result<(), Reason> {
        voice.speaks_of(child)?;
        if voice.level + 1 > MOST_LEVELS {
            return Err(Reason::UrlSitemapDepth);
        }
        let payer = voice.by.clone().unwrap_or_else(|| index.origin().clone());
        let is_taken = self.lend(&mut self.inner(), child, voice, voice.level + 1, &payer);
        is_taken.then_some(()).ok_or(Reason::UrlBudgetSitemaps)
    }

    /// A sitemap redirects: the target speaks for whom it spoke.
    pub(crate) fn redirected(&self, voice: Voice, to: &CrawlUrl) {
        let mut inner = self.inner();
        if inner.voices.len() < MOST_VOICES {
            inner.voices.entry(to.clone()).or_insert(voice);
        }
    }

    /// The Clean-param lines of an origin, as far as its robots.txt was read.
    pub(crate) fn clean_params(&self, origin: &Origin) -> Option<Arc<CleanParams>> {
        self.inner().clean.get(origin).cloned()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Voice {
    /// False when it speaks for as many hosts as it may.
    fn speak_for(&mut self, host: &str) -> bool {
        if self.hosts.len() >= MOST_HOSTS && !self.hosts.contains(host) {
            return false;
        }
        self.add(host);
        true
    }

    /// Lets it speak for a host.
    pub(crate) fn add(&mut self, host: &str) {
        if !self.hosts.contains(host) {
            Arc::make_mut(&mut self.hosts).insert(host.into());
        }
    }

    /// # Errors
    /// `url.sitemap.host` when the sitemap may not speak of that host.
    pub(crate) fn speaks_of(&self, url: &CrawlUrl) -> Result<(), Reason> {
        self.hosts.contains(url.origin().host()).then_some(()).ok_or(Reason::UrlSitemapHost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).unwrap()
    }

    fn sites(mode: Sitemaps, most: u32) -> Sites {
        Sites::new(SitemapSettings { mode, most }, true)
    }

    fn announced(sites: &Sites) -> Vec<String> {
        sites.news().0.into_iter().map(|news| news.sitemap.to_string()).collect()
    }

    #[test]
    fn robots_txt_announces_and_a_default_stands_in() {
        let a = Origin::parse("http://a.test").unwrap();
        let file = b"User-agent: *\nDisallow: /x\nSitemap: http://a.test/1.xml\nsitemap:/2.xml # here\nSitemap: http://cdn.test/3.xml\nSitemap: mailto:x\nClean-param: ref /\n";
        let all = ["http://a.test/1.xml", "http://a.test/2.xml", "http://cdn.test/3.xml"];
        let rows: [(Sitemaps, &[u8], &[&str]); 5] = [
            (Sitemaps::Robots, file, &all),
            (Sitemaps::RobotsAndDefault, file, &all),
            (Sitemaps::RobotsAndDefault, b"User-agent: *\n", &["http://a.test/sitemap.xml"]),
            (Sitemaps::Robots, b"User-agent: *\n", &[]),
            (Sitemaps::Off, file, &[]),
        ];
        for (mode, file, wanted) in rows {
            let sites = sites(mode, 100);
            sites.learn(&a, file);
            assert_eq!(announced(&sites), wanted, "{mode:?}");
            assert!(announced(&sites).is_empty(), "told once");
        }
        let absent = sites(Sitemaps::RobotsAndDefault, 100);
        absent.learn_absent(&a);
        assert_eq!(announced(&absent), ["http://a.test/sitemap.xml"]);
        let with_clean = sites(Sitemaps::Off, 0);
        with_clean.learn(&a, file);
        assert!(with_clean.clean_params(&a).is_some());
    }

    #[test]
    fn a_sitemap_speaks_for_its_host_and_for_whom_robots_txt_says() {
        let sites = sites(Sitemaps::Robots, 100);
        sites.learn(&Origin::parse("http://a.test").unwrap(), b"Sitemap: http://cdn.test/a.xml\n");
        let index = url("http://cdn.test/a.xml");
        let voice = sites.voice(&index, None);
        for (target, wanted) in [
            ("http://a.test/x", Ok(())),
            ("https://a.test:8443/x", Ok(())),
            ("http://cdn.test/x", Ok(())),
            ("http://b.test/x", Err(Reason::UrlSitemapHost)),
            ("http://www.a.test/x", Err(Reason::UrlSitemapHost)),
        ] {
            assert_eq!(voice.speaks_of(&url(target)), wanted, "{target}");
        }
        let child = url("http://cdn.test/child.xml");
        assert_eq!(sites.take(&child, &index, &voice), Ok(()));
        assert_eq!(sites.voice(&child, None).speaks_of(&url("http://a.test/y")), Ok(()));
        assert_eq!(sites.take(&url("http://b.test/s.xml"), &index, &voice), Err(Reason::UrlSitemapHost));
        // A later process knows where it was found, and nothing more.
        let robots = url("http://a.test/robots.txt");
        let later = super::tests::sites(Sitemaps::Robots, 100).voice(&index, Some(&robots));
        assert_eq!(later.speaks_of(&url("http://a.test/x")), Ok(()));
    }

    #[test]
    fn a_sitemap_speaks_for_so_many_hosts_and_the_rest_is_counted() {
        let sites = sites(Sitemaps::Robots, 100);
        for number in 0..MOST_HOSTS + 5 {
            let origin = Origin::parse(&format!("http://o{number}.test")).unwrap();
            sites.learn(&origin, b"Sitemap: http://cdn.test/s.xml\n");
        }
        let (named, beyond) = sites.news();
        assert_eq!((named.len(), beyond), (MOST_HOSTS, 5));
        let voice = sites.voice(&url("http://cdn.test/s.xml"), None);
        assert_eq!(voice.speaks_of(&url("http://o0.test/x")), Ok(()));
        assert_eq!(voice.speaks_of(&url("http://cdn.test/x")), Ok(()), "for itself in any case");
        let last = url(&format!("http://o{}.test/x", MOST_HOSTS + 4));
        assert_eq!(voice.speaks_of(&last), Err(Reason::UrlSitemapHost));
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let sites = sites(Sitemaps::Robots, 6);
        let a = Origin::parse("http://a.test").unwrap();
        sites.learn(&a, b"Sitemap: /0.xml\n");
        let mut index = url("http://a.test/0.xml");
        for level in 1..=4 {
            let child = url(&format!("http://a.test/{level}.xml"));
            let wanted = if level <= MOST_LEVELS { Ok(()) } else { Err(Reason::UrlSitemapDepth) };
            assert_eq!(sites.take(&child, &index, &sites.voice(&index, None)), wanted, "{level}");
            index = child;
        }
        let root = url("http://a.test/0.xml");
        let wide: Vec<_> = (0..5)
            .map(|n| sites.take(&url(&format!("http://a.test/w{n}")), &root, &sites.voice(&root, None)))
            .collect();
        assert_eq!(wide.iter().filter(|taken| taken.is_ok()).count(), 2, "{wide:?}");
        assert_eq!(wide[4], Err(Reason::UrlBudgetSitemaps));
        assert_eq!(sites.take(&url("http://a.test/w0"), &root, &sites.voice(&root, None)), Ok(()), "known already");
    }
}
