//! The pages of a crawl as a stream, with back-pressure.

use std::fmt;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context as Turn, Poll};

use futures_core::Stream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::handler::{BoxError, HandlerResult, PageHandler};
use crate::{Context, Crawler, Error, Page, StopHandle, Summary};

/// The pages of a crawl that runs beside whoever reads them ([`Crawler::pages`]). Dropped, it takes the crawl along: what was
/// not settled stays in the queue.
#[derive(Debug)]
pub struct Pages {
    received: mpsc::Receiver<Offered>,
    run: JoinSet<Result<Summary, Error>>,
    stop: StopHandle,
}

/// A page of [`Pages`]. It leaves the queue when this is dropped, or [`Delivered::done`], also where a task that holds it is cancelled;
/// what its handler would do with a [`Context`], this does with [`Delivered::context`].
#[must_use = "a page that is dropped is settled"]
pub struct Delivered {
    page: Page,
    context: Context,
    settled: Option<oneshot::Sender<HandlerResult>>,
}

/// A page on its way to its reader. Dropped, it is settled in no way: nobody has seen it.
struct Offered {
    page: Page,
    context: Context,
    settled: oneshot::Sender<HandlerResult>,
}

impl Crawler {
    /// Runs the crawl in a task of its own, and gives its pages as a stream: those that no handler has been given
    /// ([`CrawlerBuilder::route`](crate::CrawlerBuilder::route), [`CrawlerBuilder::on_page`](crate::CrawlerBuilder::on_page)).
    ///
    /// Nothing is held beyond what is in flight: a page waits at the desk of handlers until it is taken, and stays unsettled until it
    /// is dropped, for a day at most: then it is failed by the name `crawl.handler`. A reader that takes its time makes the crawl wait, first the origins of the pages it holds, then everybody; nothing is
    /// fetched ahead of it beyond [`CrawlerBuilder::handlers_at_once`](crate::CrawlerBuilder::handlers_at_once) and `total`.
    ///
    /// So it is no stream to collect: whoever holds pages while asking for the next one (`collect`, `chunks`, `buffered`) waits for an
    /// origin that waits for them, since the next page of an origin comes after the one before was dropped. Take out what is wanted, or
    /// keep [`Page`]s, which are cheap clones.
    ///
    /// To be called within a tokio runtime.
    ///
    /// ```no_run
    /// # async fn run(crawler: comity::Crawler) -> Result<(), comity::Error> {
    /// let mut pages = crawler.pages();
    /// while let Some(page) = pages.next().await {
    ///     println!("{} {}", page.status(), page.url());
    /// }
    /// println!("{}", pages.finish().await?);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn pages(self) -> Pages {
        // One is offered, the others wait at the desk.
        let (sender, received) = mpsc::channel(1);
        let handler = PageHandler::patient(move |page, context| {
            let sender = sender.clone();
            async move {
                let (settled, ended) = oneshot::channel();
                // Where nobody reads any more, it comes back and is dropped, as is one that waits in the channel.
                drop(sender.send(Offered { page, context, settled }).await);
                match ended.await {
                    Ok(outcome) => outcome,
                    // No reader had it, none will, and the crawl is about to end: the page stays in the queue.
                    Err(_) => std::future::pending().await,
                }
            }
        });
        let stop = self.stop_handle();
        self.deliver_to(handler);
        let mut run = JoinSet::new();
        run.spawn(self.run());
        Pages { received, run, stop }
    }
}

impl Pages {
    /// The next page; `None` when the crawl is over. Cancel-safe: a page that was not given is given next.
    pub async fn next(&mut self) -> Option<Delivered> {
        self.received.recv().await.map(Offered::given)
    }

    /// Ends the crawl now, unless it is over, and gives its summary. What was not settled stays in the queue.
    ///
    /// # Errors
    /// As [`Crawler::run`].
    pub async fn finish(mut self) -> Result<Summary, Error> {
        self.stop.now();
        drop(self.received);
        match self.run.join_next().await {
            Some(Ok(outcome)) => outcome,
            Some(Err(error)) => Err(Error::internal(format!("the crawl's task failed: {error}"))),
            None => Err(Error::internal("the crawl's task is gone")),
        }
    }

    /// Asks the crawl to end.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }
}

impl Stream for Pages {
    type Item = Delivered;

    fn poll_next(mut self: Pin<&mut Self>, turn: &mut Turn<'_>) -> Poll<Option<Delivered>> {
        self.received.poll_recv(turn).map(|offered| offered.map(Offered::given))
    }
}

impl Offered {
    /// Its reader has it, and says from here on how it ends.
    fn given(self) -> Delivered {
        let Self { page, context, settled } = self;
        Delivered { page, context, settled: Some(settled) }
    }
}

impl Delivered {
    /// The page, to keep: it is settled all the same when this is dropped.
    #[must_use]
    pub fn page(&self) -> &Page {
        &self.page
    }

    /// What may be done to the crawl until it is settled.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Settles it: it leaves the queue.
    pub fn done(self) {}

    /// Fails it by the name `crawl.handler`: it leaves the queue, and its record says why.
    pub fn fail(mut self, error: impl Into<BoxError>) {
        self.settle(Err(error.into()));
    }

    fn settle(&mut self, outcome: HandlerResult) {
        if let Some(settled) = self.settled.take() {
            // Nobody waits for it when the crawl has ended.
            drop(settled.send(outcome));
        }
    }
}

/// Done, unless whoever holds it panics: that fails the page.
impl Drop for Delivered {
    fn drop(&mut self) {
        let outcome = if std::thread::panicking() { Err("its reader panicked".into()) } else { Ok(()) };
        self.settle(outcome);
    }
}

impl Deref for Delivered {
    type Target = Page;

    fn deref(&self) -> &Page {
        &self.page
    }
}

impl fmt::Debug for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Offered").field(&self.page).finish()
    }
}

impl fmt::Debug for Delivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Delivered").field(&self.page).finish()
    }
}
