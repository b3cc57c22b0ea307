use std::fmt;

use comity_url::{CrawlUrl, Origin};

use crate::Vantage;

/// The chain of a robots.txt fetch: `/robots.txt` of one origin, then at most five redirect targets.
///
/// Made by the gate alone (invariant 2). It is the only way to a permit without a judgement, and it can only ask
/// for what a redirect of robots.txt named.
#[derive(Clone, Debug)]
pub struct RobotsChain {
    origin: Origin,
    urls: Vec<CrawlUrl>,
    vantage: Vantage,
}

/// Why a redirect of robots.txt is not followed: the file counts as absent (RFC 9309 §2.3.1.2, Google robots spec).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// It would be the sixth redirect.
    TooMany,
    /// The target was asked already.
    Loop,
}

impl RobotsChain {
    /// Redirects followed at most (RFC 9309 §2.3.1.2: "at least five"; design §6: five).
    pub const MOST_REDIRECTS: u8 = 5;

    /// The chain's start. Only the gate may call it.
    #[must_use]
    pub fn new(origin: &Origin) -> Self {
        Self { origin: origin.clone(), urls: vec![origin.robots_url()], vantage: Vantage::Direct }
    }

    /// The same chain, asked from elsewhere: the rules found hold for what is fetched from there.
    #[must_use]
    pub fn seen_from(mut self, vantage: Vantage) -> Self {
        self.vantage = vantage;
        self
    }

    /// From where all of it is asked.
    #[must_use]
    pub const fn vantage(&self) -> Vantage {
        self.vantage
    }

    /// The origin whose rules are fetched: the rules found belong to it, wherever the chain ends.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The URL to ask next.
    #[must_use]
    pub fn next_url(&self) -> &CrawlUrl {
        self.urls.last().unwrap_or_else(|| unreachable!("a chain is never empty"))
    }

    /// How many redirects were followed so far.
    #[must_use]
    pub fn hops(&self) -> u8 {
        u8::try_from(self.urls.len() - 1).unwrap_or(u8::MAX)
    }

    /// Every URL of the chain in order.
    #[must_use]
    pub fn urls(&self) -> &[CrawlUrl] {
        &self.urls
    }

    /// Follows one redirect.
    ///
    /// # Errors
    /// The chain stays as it is when it may not go on.
    pub fn follow(&mut self, target: CrawlUrl) -> Result<(), ChainEnd> {
        if self.hops() >= Self::MOST_REDIRECTS {
            return Err(ChainEnd::TooMany);
        }
        if self.urls.contains(&target) {
            return Err(ChainEnd::Loop);
        }
        self.urls.push(target);
        Ok(())
    }
}

impl fmt::Display for ChainEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooMany => "more than 5 redirects",
            Self::Loop => "redirects in a loop",
        })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test plays the gate")]
mod tests {
    use super::*;

    #[test]
    fn five_redirects_are_followed_the_sixth_and_loops_are_not() {
        let mut chain = RobotsChain::new(&Origin::parse("https://a.test").unwrap());
        for hop in 1..=5 {
            chain.follow(CrawlUrl::parse(&format!("https://b{hop}.test/robots.txt")).unwrap()).unwrap();
        }
        let sixth = CrawlUrl::parse("https://c.test/robots.txt").unwrap();
        assert_eq!(chain.follow(sixth), Err(ChainEnd::TooMany));
        let mut looping = RobotsChain::new(&Origin::parse("https://a.test").unwrap());
        assert_eq!(looping.follow(looping.next_url().clone()), Err(ChainEnd::Loop));
        assert_eq!(looping.hops(), 0);
    }
}
