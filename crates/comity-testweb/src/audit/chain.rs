use std::collections::{HashMap, HashSet};

use comity_url::CrawlUrl;

/// A client's way to one origin's robots.txt: the rules at its end belong to the origin first asked (RFC 9309 §2.3.1.2).
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// The site first asked.
    pub(super) site: usize,
    /// Every URL asked on the way, the current one last.
    pub(super) visited: Vec<CrawlUrl>,
    /// Whose requests it was moved by.
    pub(super) moved_by: MovedBy,
}

/// How sure it is that a client's request belongs to a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MovedBy {
    /// Nothing else can have been meant.
    Its,
    /// The request may have been another chain's, or the target's own for its own sake.
    PerhapsOthers,
}

/// All chains on their way.
#[derive(Debug, Default)]
pub(super) struct Chains {
    /// Chains that wait for a client to ask for a redirect's target.
    waiting: HashMap<(usize, String), Vec<Chain>>,
    /// Chains whose request has arrived, by its number in the log.
    asked: HashMap<u64, Vec<Chain>>,
    /// Requests for a URL that may still come: one was seen where several purposes may ask one each.
    owed: HashMap<(usize, String), usize>,
    /// Requests that served one of those.
    paid: HashSet<u64>,
}

impl Chains {
    /// A chain that starts with request `number`.
    pub(super) fn start(&mut self, number: u64, site: usize, url: &CrawlUrl) {
        self.asked.entry(number).or_default().push(Chain { site, visited: vec![url.clone()], moved_by: MovedBy::Its });
    }

    /// How many chains wait for `url`, and how many requests for it are still to come although none waits.
    pub(super) fn expect(&self, client: usize, url: &CrawlUrl) -> (usize, usize) {
        let key = (client, url.as_str().to_owned());
        (self.waiting.get(&key).map_or(0, Vec::len), self.owed.get(&key).copied().unwrap_or(0))
    }

    /// Request `number` asks for `url`: the chains that waited for it go on.
    pub(super) fn go_on(&mut self, number: u64, client: usize, url: &CrawlUrl) {
        let waited = self.waiting.remove(&(client, url.as_str().to_owned())).unwrap_or_default();
        self.asked.entry(number).or_default().extend(waited);
    }

    /// Request `number` for `url` may have been meant for so many purposes: with more than one none is sure, and all but
    /// one may still ask.
    pub(super) fn share(&mut self, number: u64, client: usize, url: &CrawlUrl, purposes: usize) {
        if purposes > 1 {
            for chain in self.asked.entry(number).or_default() {
                chain.moved_by = MovedBy::PerhapsOthers;
            }
        }
        let key = (client, url.as_str().to_owned());
        if self.owed.insert(key, purposes.saturating_sub(1)).is_some_and(|before| before > 0) {
            self.paid.insert(number);
        }
    }

    /// Request `number` failed: a purpose that it was to serve will ask again.
    pub(super) fn served_nobody(&mut self, number: u64, client: usize, url: &CrawlUrl) {
        if self.paid.remove(&number) {
            *self.owed.entry((client, url.as_str().to_owned())).or_default() += 1;
        }
    }

    /// The chains that the answer to request `number` moves.
    pub(super) fn answered(&mut self, number: u64) -> Vec<Chain> {
        self.asked.remove(&number).unwrap_or_default()
    }

    /// The client begins anew: what may have been its earlier chain for this site is none any more.
    pub(super) fn forget_doubtful(&mut self, client: usize, site: usize) {
        for ((of, _), waiting) in &mut self.waiting {
            waiting.retain(|chain| *of != client || chain.site != site || chain.moved_by == MovedBy::Its);
        }
    }

    /// A request that failed was perhaps not this chain's hop: the next one for the same URL may be.
    pub(super) fn wait_again(&mut self, client: usize, chain: Chain) {
        let Some(url) = chain.visited.last() else { return };
        let key = (client, url.as_str().to_owned());
        self.waiting.entry(key).or_default().push(Chain { moved_by: MovedBy::PerhapsOthers, ..chain });
    }

    /// The chain was sent on to `url`.
    pub(super) fn wait(&mut self, client: usize, mut chain: Chain, url: CrawlUrl) {
        let key = (client, url.as_str().to_owned());
        chain.visited.push(url);
        self.waiting.entry(key).or_default().push(chain);
    }
}
