use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use comity_frontier::{UserData, UserDataTooLong};
use comity_url::{CrawlUrl, UrlError};
use serde::Serialize;
use tokio::sync::watch;

use crate::{Progress, StopHandle};

/// What a handler may do to the crawl while it works on a page. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Context(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    page: CrawlUrl,
    wanted: Mutex<Wanted>,
    crawl: Handles,
}

/// What every context of a crawl shares.
#[derive(Clone, Debug)]
pub(crate) struct Handles {
    pub(crate) stop: StopHandle,
    pub(crate) progress: watch::Receiver<Progress>,
}

/// URLs that were asked for so far; `None` once the page is settled.
type Wanted = Option<Wishes>;

/// What a handler asked for, and what that weighs.
#[derive(Debug, Default)]
struct Wishes {
    urls: Vec<Enqueued>,
    /// Of the URLs and their user data.
    bytes: usize,
}

/// A URL that a handler wants fetched.
#[derive(Debug)]
pub(crate) struct Enqueued {
    pub(crate) url: CrawlUrl,
    pub(crate) priority: u8,
    pub(crate) user_data: Option<UserData>,
}

/// A URL that was just enqueued: more about it. Dropping this changes nothing.
#[derive(Debug)]
pub struct Enqueue<'a> {
    context: &'a Context,
    index: usize,
}

/// Why a URL was not enqueued.
#[non_exhaustive]
#[derive(Debug)]
pub enum EnqueueError {
    /// The text is no URL that can be crawled.
    Url(UrlError),
    /// The page has enqueued [`Context::MOST`] already, or [`Context::MOST_BYTES`].
    Full,
    /// The page is settled: its handler ended, or its time was over.
    Settled,
    /// The user data has more than [`UserData::MOST`] bytes.
    TooLong(UserDataTooLong),
    /// The user data is no JSON: a map whose keys are no texts, or what its own code refuses.
    Json(serde_json::Error),
}

impl Context {
    /// The most URLs that one page may enqueue. Our choice: twice what large pages link to.
    pub const MOST: usize = 10_000;

    /// The most bytes of URLs and user data that one page may enqueue, 8 MiB. Our choice: 10,000 URLs of 800 bytes with their data.
    pub const MOST_BYTES: usize = 8 << 20;

    /// The priority of a URL that says nothing of it: that of links. Seeds have 0, and come before.
    pub const PRIORITY: u8 = 1;

    pub(crate) fn new(page: CrawlUrl, crawl: Handles) -> Self {
        Self(Arc::new(Inner { page, wanted: Mutex::new(Some(Wishes::default())), crawl }))
    }

    /// Asks for a URL, absolute or relative to the page.
    ///
    /// It is held to what every link is held to: scope, depth, traps, budgets, robots.txt. What does not belong to the crawl is
    /// counted by its reason in [`Summary::links_left`](crate::Summary::links_left), and no error here. It enters the queue in the very
    /// commit in which the page leaves it, before the page's own links, also when the handler fails after this: a kill
    /// before that loses neither. A URL that was queued before stays as it is.
    ///
    /// # Errors
    /// A text that is no crawl URL; more than [`Context::MOST`] of one page, or [`Context::MOST_BYTES`]; a page that is settled already.
    pub fn enqueue(&self, url: impl AsRef<str>) -> Result<Enqueue<'_>, EnqueueError> {
        let url = self.0.page.join(url.as_ref()).map_err(EnqueueError::Url)?;
        let mut wanted = self.wanted();
        let Wishes { urls, bytes } = wanted.as_mut().ok_or(EnqueueError::Settled)?;
        let weight = *bytes + url.as_str().len();
        if urls.len() >= Self::MOST || weight > Self::MOST_BYTES {
            return Err(EnqueueError::Full);
        }
        *bytes = weight;
        urls.push(Enqueued { url, priority: Self::PRIORITY, user_data: None });
        Ok(Enqueue { context: self, index: urls.len() - 1 })
    }

    /// Asks the crawl to end, now or after what is in flight.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.0.crawl.stop.clone()
    }

    /// The crawl as of a tenth of a second ago.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.0.crawl.progress.borrow().clone()
    }

    /// Takes what was asked for; nothing is taken in after this.
    pub(crate) fn settle(&self) -> Vec<Enqueued> {
        self.wanted().take().unwrap_or_default().urls
    }

    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.0.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Enqueue<'_> {
    /// Its priority within its origin: 0 first, beside the seeds; links have 1, pages that are visited anew 3.
    #[expect(clippy::must_use_candidate, clippy::return_self_not_must_use, reason = "it is enqueued already")]
    pub fn priority(self, priority: u8) -> Self {
        if let Some(url) = self.context.wanted().as_mut().and_then(|wishes| wishes.urls.get_mut(self.index)) {
            url.priority = priority;
        }
        self
    }

    /// Keeps a value with it, as JSON: [`Page::user_data`](crate::Page::user_data) gives it back, after redirects and restarts too.
    ///
    /// # Errors
    /// More than [`UserData::MOST`] bytes, or [`Context::MOST_BYTES`] of the page, or what is no JSON: it is enqueued without.
    pub fn user_data(self, value: &(impl Serialize + ?Sized)) -> Result<Self, EnqueueError> {
        self.user_bytes(serde_json::to_vec(value).map_err(EnqueueError::Json)?)
    }

    /// Keeps bytes with it: [`Page::user_bytes`](crate::Page::user_bytes).
    ///
    /// # Errors
    /// More than [`UserData::MOST`], or [`Context::MOST_BYTES`] of the page: it is enqueued without.
    pub fn user_bytes(self, bytes: impl Into<Box<[u8]>>) -> Result<Self, EnqueueError> {
        let bytes: Box<[u8]> = bytes.into();
        let length = bytes.len();
        let user_data = UserData::new(bytes).map_err(EnqueueError::TooLong)?;
        if let Some(Wishes { urls, bytes }) = self.context.wanted().as_mut()
            && let Some(url) = urls.get_mut(self.index)
        {
            let before = url.user_data.as_ref().map_or(0, |data| data.as_bytes().len());
            let weight = *bytes - before + length;
            if weight > Context::MOST_BYTES {
                return Err(EnqueueError::Full);
            }
            (*bytes, url.user_data) = (weight, Some(user_data));
        }
        Ok(self)
    }
}

impl fmt::Display for EnqueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(error) => error.fmt(f),
            Self::Full => f.write_str(
                "the page has enqueued as much as one page may: 10,000 URLs, or 8 MiB of them and their data",
            ),
            Self::Settled => f.write_str("the page has left the queue: enqueue before its handler ends"),
            Self::TooLong(error) => error.fmt(f),
            Self::Json(error) => write!(f, "user data that is no JSON: {error}"),
        }
    }
}

impl std::error::Error for EnqueueError {}
