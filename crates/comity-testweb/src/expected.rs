use std::collections::{BTreeSet, HashMap, VecDeque};

use comity_robots::RuleSet;
use comity_url::CrawlUrl;

use crate::layout::Layout;
use crate::reply::Reply;
use crate::robots_step::{MAX_HOPS, Step, step};
use crate::web::Spec;
use crate::{Answer, Observer, Request, Target, Web};

/// More URLs than this are not walked; [`Expected::complete`] is false then.
pub const MAX_EXPECTED_URLS: usize = 2_000_000;

/// What a polite crawl comes upon, worked out from the web's description alone: no request is made.
///
/// Scripts count as run to their end: a robots.txt that recovers has recovered, a page that was busy is there. Every
/// URL found by a link or redirect stands in exactly one of the sets, as crawl URL (fragment off). Trap guards, depth
/// and page limits, `nofollow` and meta refresh are not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// To be fetched: also redirects, missing pages and broken answers, as URLs of their own.
    pub allowed: BTreeSet<String>,
    /// Found, and refused by robots.txt.
    pub refused: BTreeSet<String>,
    /// Found on an origin whose robots.txt stays unreachable.
    pub closed: BTreeSet<String>,
    /// Found outside the web, or outside the scope asked for.
    pub outside: BTreeSet<String>,
    /// True unless [`MAX_EXPECTED_URLS`] was reached.
    pub complete: bool,
}

impl Web {
    /// What a crawler with these product tokens comes upon from `seeds`, as laid out in memory.
    #[must_use]
    pub fn expected<S: AsRef<str>>(&self, tokens: &[&str], seeds: &[S]) -> Expected {
        Walk::new(&self.spec, &self.spec.memory, tokens, &|_| true).run(seeds)
    }

    /// The front pages of all origins as laid out in memory.
    #[must_use]
    pub fn seeds(&self) -> Vec<String> {
        self.spec.memory.origins().iter().map(|origin| format!("{origin}/")).collect()
    }
}

impl Observer {
    /// What a crawler with these product tokens comes upon from `seeds`.
    #[must_use]
    pub fn expected<S: AsRef<str>>(&self, tokens: &[&str], seeds: &[S]) -> Expected {
        self.expected_within(tokens, seeds, &|_| true)
    }

    /// The same, with only URLs in scope followed; the others stand in [`Expected::outside`].
    #[must_use]
    pub fn expected_within<S: AsRef<str>>(
        &self,
        tokens: &[&str],
        seeds: &[S],
        in_scope: &dyn Fn(&CrawlUrl) -> bool,
    ) -> Expected {
        Walk::new(&self.live.spec, &self.live.layout, tokens, in_scope).run(seeds)
    }
}

/// A walk over a description.
struct Walk<'a> {
    spec: &'a Spec,
    layout: &'a Layout,
    tokens: Vec<String>,
    in_scope: &'a dyn Fn(&CrawlUrl) -> bool,
    standings: HashMap<usize, Standing>,
    expected: Expected,
    todo: VecDeque<CrawlUrl>,
}

/// What an origin's robots.txt comes to in the end.
#[derive(Clone, Debug)]
enum Standing {
    Rules(RuleSet),
    Absent,
    Closed,
}

impl<'a> Walk<'a> {
    fn new(spec: &'a Spec, layout: &'a Layout, tokens: &[&str], in_scope: &'a dyn Fn(&CrawlUrl) -> bool) -> Self {
        let tokens = tokens.iter().map(ToString::to_string).collect();
        let expected = Expected { complete: true, ..Expected::default() };
        Self { spec, layout, tokens, in_scope, standings: HashMap::new(), expected, todo: VecDeque::new() }
    }

    fn run<S: AsRef<str>>(mut self, seeds: &[S]) -> Expected {
        for seed in seeds {
            if let Ok(url) = CrawlUrl::parse(seed.as_ref()) {
                self.find(url);
            }
        }
        while let Some(url) = self.todo.pop_front() {
            for target in self.links(&url) {
                if let Some(found) = self.layout.resolve(&url, &target) {
                    self.find(found);
                }
            }
        }
        self.expected
    }

    /// Sorts a URL into its set; an allowed one is walked on from, once.
    fn find(&mut self, url: CrawlUrl) {
        let site = self.layout.site_of(url.origin()).filter(|_| (self.in_scope)(&url));
        let Some(site) = site else {
            self.expected.outside.insert(url.as_str().to_owned());
            return;
        };
        let allowed = match self.standing(site) {
            Standing::Closed => {
                self.expected.closed.insert(url.as_str().to_owned());
                return;
            }
            Standing::Absent => true,
            Standing::Rules(rules) => rules.allows(url.request_target().as_bytes()),
        };
        if !allowed {
            self.expected.refused.insert(url.as_str().to_owned());
        } else if self.expected.allowed.len() >= MAX_EXPECTED_URLS {
            self.expected.complete = false;
        } else if self.expected.allowed.insert(url.as_str().to_owned()) {
            self.todo.push_back(url);
        }
    }

    fn links(&self, url: &CrawlUrl) -> Vec<Target> {
        match self.reply(url) {
            Some(Reply::Generated { site, page }) => self.spec.generated_links(site, page),
            Some(Reply::Scripted(answer)) => match answer.redirect_target() {
                Some(target) => vec![target],
                None if answer.is_broken() => Vec::new(),
                None => answer.links.clone(),
            },
            None => Vec::new(),
        }
    }

    /// The settled answer at a URL of the web.
    fn reply(&self, url: &CrawlUrl) -> Option<Reply> {
        let site = self.layout.site_of(url.origin())?;
        Some(self.spec.reply(site, &Request::to(url.request_target()), None))
    }

    fn standing(&mut self, site: usize) -> Standing {
        if let Some(known) = self.standings.get(&site) {
            return known.clone();
        }
        let standing = self.ask_robots(site);
        self.standings.insert(site, standing.clone());
        standing
    }

    fn ask_robots(&self, site: usize) -> Standing {
        let Some(mut url) = self.layout.origin(site).map(comity_url::Origin::robots_url) else {
            return Standing::Absent;
        };
        for _ in 0..=MAX_HOPS {
            let host = self.layout.site_of(url.origin()).and_then(|site| self.spec.site(site));
            let dead = host.is_none_or(|host| host.connect_fault.is_some());
            let Some(reply) = self.reply(&url).filter(|_| !dead) else { return Standing::Closed };
            match step(&reply, reply.answer().is_some_and(Answer::is_cut), &url, self.layout, &self.tokens) {
                Step::Rules(rules) => return Standing::Rules(rules),
                Step::Absent => return Standing::Absent,
                Step::Unreachable | Step::NotModified => return Standing::Closed,
                Step::Redirect(next) => url = next,
            }
        }
        Standing::Absent
    }
}
