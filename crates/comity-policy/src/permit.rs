use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use comity_url::{CrawlUrl, Origin};

use crate::{Allowance, Decision, Instant, Ready, RobotsChain, Slot, Vantage};

/// The right to send one request: an [`Allowance`] for this very URL and a [`Slot`] for its origin.
///
/// Invariant 1: every door of `comity-fetch` takes a `Permit` by value; it has private fields and no `Clone`, so a
/// request without judgement and turn does not compile:
///
/// ```compile_fail
/// fn forge(url: comity_url::CrawlUrl, slot: comity_policy::Slot) -> comity_policy::Permit {
///     comity_policy::Permit { url, slot } // private fields
/// }
/// ```
#[derive(Debug)]
pub struct Permit {
    url: CrawlUrl,
    errand: Errand,
    vantage: Vantage,
    slot: Slot,
    deadline: Instant,
}

/// What a permit was issued for.
#[derive(Clone, Debug)]
pub enum Errand {
    /// A page, or any helper fetch, that was judged: the decision that let it through.
    Judged(Arc<Decision>),
    /// robots.txt of an origin, or a redirect target of it: the one exception (RFC 9309 §2.2.2).
    Robots {
        /// The origin whose rules are being fetched.
        for_origin: Origin,
        /// How many redirects were followed so far, 0 to 5.
        hop: u8,
    },
}

impl Permit {
    /// A permit older than this is refused by fetch as `permit.stale` (invariant 6).
    pub const LIFE: Duration = Duration::from_secs(30);

    /// Joins a judgement and a turn.
    ///
    /// # Errors
    /// Gives the slot back when it was minted for another origin than the judged URL's.
    pub fn new(allowance: Allowance, slot: Slot) -> Result<Self, WrongOrigin> {
        if allowance.url().origin() == slot.origin() {
            let (url, decision, vantage) = allowance.into_parts();
            Ok(Self::issue(url, Errand::Judged(decision), vantage, slot))
        } else {
            Err(WrongOrigin { asked: allowance.url().origin().clone(), slot: Box::new(slot) })
        }
    }

    /// The permit for the next URL of a robots.txt chain: `/robots.txt` itself, then at most five redirect targets.
    ///
    /// # Errors
    /// Gives the slot back when it was minted for another origin than the chain's next URL's.
    pub fn for_robots(chain: &RobotsChain, slot: Slot) -> Result<Self, WrongOrigin> {
        let url = chain.next_url().clone();
        if url.origin() == slot.origin() {
            let errand = Errand::Robots { for_origin: chain.origin().clone(), hop: chain.hops() };
            Ok(Self::issue(url, errand, chain.vantage(), slot))
        } else {
            Err(WrongOrigin { asked: url.origin().clone(), slot: Box::new(slot) })
        }
    }

    /// The same permit with an earlier end: that of the lease it serves.
    #[must_use]
    pub fn until(mut self, lease_deadline: Instant) -> Self {
        self.deadline = self.deadline.min(lease_deadline);
        self
    }

    /// The URL it is for.
    #[must_use]
    pub const fn url(&self) -> &CrawlUrl {
        &self.url
    }

    /// What it was issued for.
    #[must_use]
    pub const fn errand(&self) -> &Errand {
        &self.errand
    }

    /// From where it may be sent: where its rules were read.
    #[must_use]
    pub const fn vantage(&self) -> Vantage {
        self.vantage
    }

    /// Spends the permit: from here on the exchange keeps the books.
    ///
    /// # Errors
    /// A stale permit is refused; its slot is given back uncharged.
    pub fn redeem(self, now: Instant) -> Result<Exchange, StalePermit> {
        if now > self.deadline {
            return Err(StalePermit { url: self.url, late: now.since(self.deadline) });
        }
        Ok(Exchange { url: self.url, errand: self.errand, vantage: self.vantage, slot: self.slot })
    }

    fn issue(url: CrawlUrl, errand: Errand, vantage: Vantage, slot: Slot) -> Self {
        let deadline = slot.minted().after(Self::LIFE);
        Self { url, errand, vantage, slot, deadline }
    }
}

/// One exchange under way: tells the pacer when the request was written and when the head arrived.
///
/// Dropping it at any point keeps the books right: see [`Slot`].
#[derive(Debug)]
pub struct Exchange {
    url: CrawlUrl,
    errand: Errand,
    vantage: Vantage,
    slot: Slot,
}

impl Exchange {
    /// The URL to request: judged = sent.
    #[must_use]
    pub const fn url(&self) -> &CrawlUrl {
        &self.url
    }

    /// What the request is for.
    #[must_use]
    pub const fn errand(&self) -> &Errand {
        &self.errand
    }

    /// From where it may be sent.
    #[must_use]
    pub const fn vantage(&self) -> Vantage {
        self.vantage
    }

    /// The checked addresses, in order; none where the exit looks the name up. Nothing else may be connected to (invariant 11).
    #[must_use]
    pub fn candidates(&self) -> &[SocketAddr] {
        self.slot.candidates()
    }

    /// Charges the peer that the connection really goes to, before anything is written.
    ///
    /// # Errors
    /// When that address has no turn now: the request must not be written, and goes back through the scheduler.
    pub fn charge(&mut self, peer: SocketAddr, now: Instant) -> Result<(), Ready> {
        self.slot.charge(peer.ip(), now)
    }

    /// Asked last, when all that remains is to write: connecting may have outlasted the hours in which robots.txt wants
    /// visits.
    ///
    /// # Errors
    /// `rate.visit_time`: the request must not be written, and goes back through the scheduler.
    pub fn may_write(&self, now: Instant) -> Result<(), Ready> {
        self.slot.may_write(now)
    }

    /// The first byte of the request is about to be written.
    pub fn written(&mut self, now: Instant) {
        self.slot.mark_written(now);
    }

    /// The request was written at some moment from `handed` to `now`, and which is not known: a client of somebody else
    /// took it over. Each clock takes the polite end: latency counts from `handed`, the gap of the address from `now`.
    pub fn written_since(&mut self, handed: Instant, now: Instant) {
        self.slot.mark_written_between(handed, now);
    }

    /// The response head is complete.
    pub fn head(&mut self, now: Instant) {
        self.slot.mark_head(now);
    }

    /// Ends the exchange: the receipt goes to [`crate::Pacer::settle`] with the outcome.
    pub fn finish(self) -> Receipt {
        Receipt { url: self.url, errand: self.errand, slot: self.slot }
    }
}

/// The stub of a spent permit: settled once, with the outcome.
#[derive(Debug)]
#[must_use = "settle the receipt, or its origin keeps the place until the receipt is dropped"]
pub struct Receipt {
    url: CrawlUrl,
    errand: Errand,
    slot: Slot,
}

impl Receipt {
    /// The URL that was requested.
    #[must_use]
    pub const fn url(&self) -> &CrawlUrl {
        &self.url
    }

    /// What the request was for.
    #[must_use]
    pub const fn errand(&self) -> &Errand {
        &self.errand
    }

    /// When the first byte of the request was written, if it was.
    #[must_use]
    pub const fn sent(&self) -> Option<Instant> {
        self.slot.sent()
    }

    pub(crate) fn into_slot(self) -> Slot {
        self.slot
    }
}

/// A slot that was minted for another origin than the one asked for.
#[derive(Debug)]
pub struct WrongOrigin {
    /// The origin that the permit was to be for.
    pub asked: Origin,
    /// The slot, given back.
    pub slot: Box<Slot>,
}

impl fmt::Display for WrongOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a slot for {} cannot serve {}", self.slot.origin(), self.asked)
    }
}

impl std::error::Error for WrongOrigin {}

/// A permit that came too late: `permit.stale`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StalePermit {
    /// The URL it was for.
    pub url: CrawlUrl,
    /// How late it was.
    pub late: Duration,
}

impl fmt::Display for StalePermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "permit for {} is {} ms past its end", self.url, self.late.as_millis())
    }
}

impl std::error::Error for StalePermit {}
