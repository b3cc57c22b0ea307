use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use comity_policy::WallTime;

use crate::layout::{Layout, Placement};
use crate::reply::Reply;
use crate::{Answer, Generated, Request, Site, Target, WebError};

/// A synthetic web: any number of origins, all of whose answers follow from its description and seed.
///
/// A value; put it up with [`Web::serve_loopback`] or [`Web::in_memory`], as often as wanted. Cloning copies a pointer.
#[derive(Clone, Debug)]
pub struct Web {
    pub(crate) spec: Arc<Spec>,
}

/// What a web is made of.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) seed: u64,
    pub(crate) sites: Vec<Site>,
    pub(crate) memory: Arc<Layout>,
    pub(crate) limits: Limits,
    pub(crate) epoch: Option<WallTime>,
}

/// Bounds of a web that is up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) connections: usize,
    pub(crate) log: usize,
}

/// Describes a [`Web`] site by site.
#[derive(Debug)]
pub struct WebBuilder {
    seed: u64,
    sites: Vec<Site>,
    limits: Limits,
    epoch: Option<WallTime>,
}

impl Web {
    /// Starts a description. The seed decides all that is drawn: links of generated pages and texts.
    #[must_use]
    pub const fn builder(seed: u64) -> WebBuilder {
        WebBuilder { seed, sites: Vec::new(), limits: Limits { connections: 1024, log: 1_000_000 }, epoch: None }
    }

    /// How many sites there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spec.sites.len()
    }

    /// True for a web without sites.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spec.sites.is_empty()
    }
}

impl WebBuilder {
    /// Adds an origin; its number is the count of those before it.
    #[must_use]
    pub fn site(mut self, site: Site) -> Self {
        self.sites.push(site);
        self
    }

    /// Most connections served at once; 1,024 if not said. More wait.
    #[must_use]
    pub const fn max_connections(mut self, connections: usize) -> Self {
        self.limits.connections = if connections == 0 { 1 } else { connections };
        self
    }

    /// Most requests kept in the log; a million if not said. What no longer fits is counted, and no audit is clean then.
    #[must_use]
    pub const fn max_log(mut self, requests: usize) -> Self {
        self.limits.log = requests;
        self
    }

    /// Civil time at the moment the web is put up: what its Date fields start from. Without it, a web in memory
    /// starts at 2026-11-30 00:00 UTC and one on loopback at the system's time.
    #[must_use]
    pub const fn epoch(mut self, epoch: WallTime) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// Finishes the description.
    ///
    /// # Errors
    /// [`WebError`]: a site's name is no host name or taken, or there are too many sites.
    pub fn build(self) -> Result<Web, WebError> {
        let memory = Arc::new(Layout::new(&self.sites, Placement::Memory)?);
        let Self { seed, sites, limits, epoch } = self;
        Ok(Web { spec: Arc::new(Spec { seed, sites, memory, limits, epoch }) })
    }
}

impl Spec {
    pub(crate) fn site(&self, site: usize) -> Option<&Site> {
        self.sites.get(site)
    }

    pub(crate) fn generated(&self, site: usize) -> Option<&Generated> {
        self.site(site)?.generated.as_ref()
    }

    pub(crate) fn generated_links(&self, site: usize, page: u32) -> Vec<Target> {
        let others = |other: usize| self.generated(other).map(Generated::pages);
        let pages = self.generated(site);
        pages.map_or_else(Vec::new, |pages| pages.links(self.seed, site, page, &others, self.sites.len()))
    }

    /// The answer to a request. `visits` counts how often each scripted target has been asked for; without it, every
    /// script has come to its end.
    pub(crate) fn reply(&self, number: usize, request: &Request, visits: Option<&Visits>) -> Reply {
        let Some(site) = self.site(number) else { return Reply::Scripted(NOT_FOUND.clone()) };
        let target = request.target_text();
        let (script, key) = if request.is_robots_txt() {
            (site.robots.as_ref(), "/robots.txt".into())
        } else {
            let path = request.path();
            let exact = site.pages.get(target.as_ref()).map(|script| (Some(script), target.clone()));
            exact.unwrap_or_else(|| (site.pages.get(path.as_ref()), path))
        };
        if let Some(script) = script {
            let nth = visits.filter(|_| script.varies()).map(|visits| visits.count(number, &key));
            let answer = if visits.is_some() { script.at(nth.unwrap_or(0)) } else { script.settled() };
            return Reply::Scripted(answer.unwrap_or(&NOT_FOUND).clone());
        }
        if let Some(page) = site.generated.as_ref().and_then(|pages| pages.page_at(&target)) {
            return Reply::Generated { site: number, page };
        }
        match &site.closure {
            Some(closure) if !request.is_robots_txt() => Reply::Scripted(Arc::new(closure(request))),
            _ => Reply::Scripted(NOT_FOUND.clone()),
        }
    }
}

/// How often each scripted target was asked for. Only targets of the description are counted: bounded by it.
#[derive(Debug, Default)]
pub(crate) struct Visits(Mutex<HashMap<(usize, String), u64>>);

impl Visits {
    fn count(&self, site: usize, target: &str) -> u64 {
        let mut visits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = visits.entry((site, target.to_owned())).or_default();
        *count += 1;
        *count - 1
    }
}

static NOT_FOUND: LazyLock<Arc<Answer>> = LazyLock::new(|| Arc::new(Answer::text("no such page\n").with_status(404)));

/// The answer to a request that means no site here.
pub(crate) static MISDIRECTED: LazyLock<Arc<Answer>> =
    LazyLock::new(|| Arc::new(Answer::text("no such host here\n").with_status(421)));
