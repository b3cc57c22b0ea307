use std::collections::HashMap;

use comity_url::CrawlUrl;

/// A client's way to one origin's robots.txt: the rules at its end belong to the origin first asked (RFC 9309 §2.3.1.2).
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// The site first asked.
    pub(super) site: usize,
    /// Every URL asked on the way, the current one last.
    pub(super) visited: Vec<CrawlUrl>,
}

/// All chains on their way.
#[derive(Debug, Default)]
pub(super) struct Chains {
    /// Chains that wait for a client to ask for a redirect's target.
    waiting: HashMap<(usize, String), Vec<Chain>>,
    /// Chains whose request has arrived, by its number in the log.
    asked: HashMap<u64, Vec<Chain>>,
}

impl Chains {
    /// A chain that starts with request `number`.
    pub(super) fn start(&mut self, number: u64, site: usize, url: &CrawlUrl) {
        self.asked.entry(number).or_default().push(Chain { site, visited: vec![url.clone()] });
    }

    /// Request `number` asks for `url`: the chains that waited for it go on. True when there are any.
    pub(super) fn go_on(&mut self, number: u64, client: usize, url: &CrawlUrl) -> bool {
        let waited = self.waiting.remove(&(client, url.as_str().to_owned())).unwrap_or_default();
        let any = !waited.is_empty();
        if any {
            self.asked.entry(number).or_default().extend(waited);
        }
        any
    }

    /// The chains that the answer to request `number` moves.
    pub(super) fn answered(&mut self, number: u64) -> Vec<Chain> {
        self.asked.remove(&number).unwrap_or_default()
    }

    /// The chain was sent on to `url`.
    pub(super) fn wait(&mut self, client: usize, mut chain: Chain, url: CrawlUrl) {
        let key = (client, url.as_str().to_owned());
        chain.visited.push(url);
        self.waiting.entry(key).or_default().push(chain);
    }
}
