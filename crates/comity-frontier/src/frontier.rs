use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use comity_policy::{Instant, Judge, Reason};
use comity_url::{Origin, UrlKey};

use crate::{
    LeaseId, Leased, Offer, Offered, OriginFilter, OriginStanding, Page, QueueLimits, QueuePlace, QueuedAt, Renewal,
    Renewed, Scheduled, Settled, Settlement, Stats, StoreError, TurnNews, VisitPlace,
};

/// A boxed future, so that [`Frontier`] is object-safe.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// URLs known but not yet fetched, and the order in which their origins come due.
///
/// Every call takes a batch, so that one round trip (or one durable commit) serves many URLs. Nothing here computes a
/// delay: an origin becomes due at the one instant that its last [`Turn`](comity_policy::Turn) named (invariant 5).
/// All instants of one frontier are of one clock and never go backwards; an earlier `now` counts as the latest seen.
/// The instants of a process that has ended mean nothing to the next one: a frontier that outlives a process treats every origin as
/// told to wait one delay from its new start ([`Local::open`](crate::Local::open) takes that as `ready`).
///
/// The contract, which one conformance suite checks against every implementation:
///
/// - A URL that [`Frontier::offer`] answered [`Offered::New`] is queued, leased, done, refused or failed, and exactly
///   one of these, until the crawl is deleted; a lease that is never settled ends at its deadline.
/// - No origin is leased before its told instant, nor twice before a head unless its turn says
///   [`Overlap::Free`](comity_policy::Overlap), nor more often than `per_origin` at once.
/// - The judge is asked for every URL right before it is leased.
/// - Among due origins of one class the one that has been due longest is served first; within an origin priority 0 first,
///   and first in, first out within a priority. Among classes each gets its share ([`Class`](crate::Class)).
pub trait Frontier: Send + Sync + fmt::Debug {
    /// Adds URLs. The answers stand in the order of the offers.
    ///
    /// Marked seen and queued in one atomic step: with the answer they are kept, and may be leased.
    ///
    /// # Errors
    /// When the store fails: then none of the batch was added.
    fn offer<'a>(&'a self, batch: Vec<Offer>) -> BoxFuture<'a, Result<Vec<Offered>, FrontierError>>;

    /// Leases up to `n` URLs that are due at `now` and that `judge` allows; an origin that needs its robots.txt counts
    /// as one, since that is a request too.
    ///
    /// Ends expired leases first. The judge must not call the frontier.
    ///
    /// # Errors
    /// When the store fails: then what had been leased before in this call stays leased until its deadline.
    fn lease<'a>(
        &'a self,
        n: usize,
        judge: &'a dyn Judge,
        now: Instant,
    ) -> BoxFuture<'a, Result<Leased, FrontierError>>;

    /// Ends leases. The whole batch is one atomic commit: a page leaves the queue together with its links' entry
    /// (invariant 9). The answers stand in the order of the settlements.
    ///
    /// # Errors
    /// When the store fails: then nothing of the batch happened, and it can be settled again.
    fn settle<'a>(&'a self, batch: Vec<Settlement>, now: Instant)
    -> BoxFuture<'a, Result<Vec<Settled>, FrontierError>>;

    /// Moves the deadline of a lease, or tells that its response head arrived, or both.
    ///
    /// # Errors
    /// When the frontier cannot be reached. A lease that is no longer held is an answer, [`Renewed::Stale`].
    fn renew<'a>(
        &'a self,
        lease: LeaseId,
        change: Renewal,
        now: Instant,
    ) -> BoxFuture<'a, Result<Renewed, FrontierError>>;

    /// Takes in what was learnt about an origin outside a lease: how a fetch of its robots.txt ended.
    ///
    /// # Errors
    /// When the frontier cannot be reached.
    fn turn<'a>(&'a self, origin: Origin, news: TurnNews, now: Instant) -> BoxFuture<'a, Result<(), FrontierError>>;

    /// Stops leasing from `origin` until `until` (`None`: until [`Frontier::release`]). Leases out stay out.
    ///
    /// # Errors
    /// When the frontier cannot be reached.
    fn park<'a>(
        &'a self,
        origin: Origin,
        reason: Reason,
        until: Option<Instant>,
        now: Instant,
    ) -> BoxFuture<'a, Result<(), FrontierError>>;

    /// Ends a park and any hold of the judge: the origin is due again at the instant it was last told.
    ///
    /// # Errors
    /// When the frontier cannot be reached.
    fn release<'a>(&'a self, origin: Origin, now: Instant) -> BoxFuture<'a, Result<(), FrontierError>>;

    /// Counts, the next due instant, and who waits for what. Never walks over all origins.
    ///
    /// # Errors
    /// When the frontier cannot be reached.
    fn stats<'a>(&'a self, now: Instant) -> BoxFuture<'a, Result<Stats, FrontierError>>;

    /// Lists origins in the order of their text, up to `n` behind `after`. An origin that was only heard of, and never had a
    /// URL, is not among them. One call looks at about a thousand origins.
    ///
    /// # Errors
    /// When the store fails.
    fn origins<'a>(
        &'a self,
        filter: OriginFilter,
        after: Option<Origin>,
        n: usize,
        now: Instant,
    ) -> BoxFuture<'a, Result<Page<OriginStanding, Origin>, FrontierError>>;

    /// Lists the URLs of the queue, leased ones among them, in the order of their places: all, or those of one origin; up to
    /// `n` behind `after`, about a thousand at most.
    ///
    /// A place never changes: a list of many pages holds every URL that was queued from its begin to its end exactly once.
    /// URLs that come or go meanwhile may or may not be in it.
    ///
    /// # Errors
    /// When the store fails.
    fn urls<'a>(
        &'a self,
        of: Option<Origin>,
        after: Option<QueuePlace>,
        n: usize,
    ) -> BoxFuture<'a, Result<Page<QueuedAt, QueuePlace>, FrontierError>>;

    /// Lists the fingerprints of the URLs ever taken, in the order in which they were, commit by commit. A fingerprint tells
    /// that its URL was taken; neither which URL it is of nor what became of it can be read from it.
    ///
    /// `until`: the last commit to list ([`Frontier::last_taken`]), so that a list which takes long does not hold URLs that were
    /// taken meanwhile.
    ///
    /// # Errors
    /// When the store fails.
    fn seen<'a>(
        &'a self,
        after: Option<u64>,
        until: Option<u64>,
    ) -> BoxFuture<'a, Result<Page<UrlKey, u64>, FrontierError>>;

    /// Lists the URLs that wait for their next visit, in the order of its time; up to `n` behind `after`, about a thousand at
    /// most. What comes back to the queue meanwhile, or goes from it to the schedule, may or may not be in it.
    ///
    /// # Errors
    /// When the store fails.
    fn visits<'a>(
        &'a self,
        after: Option<VisitPlace>,
        n: usize,
    ) -> BoxFuture<'a, Result<Page<Scheduled, VisitPlace>, FrontierError>>;

    /// Takes in URLs that were visited elsewhere and wait for their next visit here; answers in the order of the batch. One that was
    /// seen before stays as it is. They count as taken, and as having ended as they say; budgets of pages do not
    /// refuse them, since what was fetched elsewhere was no load of this crawl. One atomic commit.
    ///
    /// # Errors
    /// When the store fails: then none was taken in.
    fn schedule<'a>(&'a self, batch: Vec<Scheduled>) -> BoxFuture<'a, Result<Vec<Offered>, FrontierError>>;

    /// Number of the last commit that took URLs; 0 before the first.
    ///
    /// # Errors
    /// When the frontier cannot be reached.
    fn last_taken<'a>(&'a self) -> BoxFuture<'a, Result<u64, FrontierError>>;

    /// Marks fingerprints as seen, made with the same key as those of this frontier's offers: their URLs are not taken any
    /// more. They count in no sum. Gives how many were new. One atomic commit.
    ///
    /// # Errors
    /// When the store fails: then none was marked.
    fn mark_seen<'a>(&'a self, keys: Vec<UrlKey>) -> BoxFuture<'a, Result<u64, FrontierError>>;

    /// Puts other limits in force, for all that is taken and leased from now on. What is queued and what is leased stays; where more
    /// is out than a lower limit allows, the next lease of that origin waits.
    ///
    /// False: it has limits of its own, which nobody sets here. So says who does not implement this.
    ///
    /// # Errors
    /// When the frontier cannot be reached.
    fn set_limits<'a>(&'a self, _limits: QueueLimits) -> BoxFuture<'a, Result<bool, FrontierError>> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// Makes everything answered so far safe against a power cut; against the death of the process it is so already.
    ///
    /// # Errors
    /// When the store fails. Then nothing is known to be safe that was not before.
    fn sync<'a>(&'a self) -> BoxFuture<'a, Result<(), FrontierError>>;
}

/// Why a frontier could not do what it was asked.
#[non_exhaustive]
#[derive(Debug)]
pub enum FrontierError {
    /// The store failed.
    Store(StoreError),
    /// A panic left it in doubt: end the process and open the store again.
    Poisoned,
}

impl From<StoreError> for FrontierError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for FrontierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(_) => f.write_str("frontier store failed"),
            Self::Poisoned => f.write_str("frontier left in doubt by a panic"),
        }
    }
}

impl Error for FrontierError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::Poisoned => None,
        }
    }
}
