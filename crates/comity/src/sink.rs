use std::fmt;
use std::sync::Arc;

use comity_frontier::BoxFuture;

use crate::{HandlerResult, Page, UrlOutcome};

/// Where pages and outcomes go beside the crawl directory, or instead of it: a queue, a database, an object store.
///
/// What it acknowledges (`Ok`) has arrived: only then does the URL leave the queue. So nothing is lost by a kill, and what was written but
/// not settled is written again: writing the same twice must do no harm.
///
/// An error ends the crawl as a full disk does ([`Error::is_storage`](crate::Error::is_storage)); so does a panic, and an answer that takes
/// longer than [`CrawlerBuilder::handler_time`](crate::CrawlerBuilder::handler_time). What may pass by itself, the sink has to try again within that
/// time. Calls of different URLs come at once, and the crawl waits for them: that is its back-pressure. Of pages
/// [`CrawlerBuilder::total`](crate::CrawlerBuilder::total) at most; of outcomes four times as many, since those that were refused come beside
/// the visits, and [`CrawlerBuilder::handlers_at_once`](crate::CrawlerBuilder::handlers_at_once) more, that come from their handlers. Dropped at any await, what it had begun may be there or not.
pub trait Sink: Send + Sync {
    /// A page, before its handler has it; not of an answer 304, nor of what may not be kept. Default: nothing.
    fn page<'a>(&'a self, page: &'a Page) -> BoxFuture<'a, HandlerResult> {
        let _ = page;
        Box::pin(std::future::ready(Ok(())))
    }

    /// How a URL leaves the queue, or one of its visits ended: after its record was written, before it leaves.
    fn outcome<'a>(&'a self, outcome: UrlOutcome<'a>) -> BoxFuture<'a, HandlerResult>;
}

/// A sink that its author holds on to.
impl<S: Sink + ?Sized> Sink for Arc<S> {
    fn page<'a>(&'a self, page: &'a Page) -> BoxFuture<'a, HandlerResult> {
        (**self).page(page)
    }

    fn outcome<'a>(&'a self, outcome: UrlOutcome<'a>) -> BoxFuture<'a, HandlerResult> {
        (**self).outcome(outcome)
    }
}

/// A sink that visits share.
#[derive(Clone)]
pub(crate) struct SharedSink(pub(crate) Arc<dyn Sink>);

impl fmt::Debug for SharedSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}
