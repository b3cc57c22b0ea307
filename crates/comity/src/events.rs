//! What happens in a crawl, for whoever listens: hooks, called at once, and a bounded channel.

use std::fmt;
use std::sync::Arc;

use comity_policy::{Digest, Reason};
use comity_url::{CrawlUrl, Origin};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::{UrlEnding, UrlOutcome, handler};

/// Something that happened.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum Event {
    /// A robots.txt was asked for.
    Robots(RobotsSeen),
    /// A URL was found and is not queued.
    Skipped {
        /// The URL.
        url: CrawlUrl,
        /// Where it was found.
        via: CrawlUrl,
        /// Why it was left out.
        reason: Reason,
    },
    /// A URL left the queue, or had one of its visits.
    Ended {
        /// The URL.
        url: CrawlUrl,
        /// What became of it.
        ending: UrlEnding,
        /// Requests of it so far.
        attempt: u32,
    },
    /// Nothing new is sent until the crawl is resumed.
    Paused,
    /// It goes on.
    Resumed,
}

/// An exchange on the way to a robots.txt.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct RobotsSeen {
    /// Whose rules they are.
    pub origin: Origin,
    /// What was asked: `/robots.txt`, or where a redirect led.
    pub url: CrawlUrl,
    /// HTTP status; `None`: there was no answer.
    pub status: Option<u16>,
    /// SHA-256 of the decoded file; `None` unless this answer is one.
    pub digest: Option<Digest>,
    /// The file is another one than this process saw before.
    pub changed: bool,
}

/// A URL that is about to be queued.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Proposed<'a> {
    /// The URL.
    pub url: &'a CrawlUrl,
    /// The page, redirect or sitemap that names it.
    pub via: &'a CrawlUrl,
    /// Links away from a seed.
    pub depth: u32,
}

/// Called at every event.
pub(crate) type Hook = Arc<dyn Fn(&Event) + Send + Sync>;

/// Says whether a URL may be queued.
pub(crate) type Filter = Arc<dyn Fn(Proposed<'_>) -> bool + Send + Sync>;

/// Everybody who listens.
#[derive(Clone)]
pub(crate) struct Listeners {
    pub(crate) hooks: Vec<Hook>,
    pub(crate) filters: Vec<Filter>,
    sender: broadcast::Sender<Event>,
}

/// The events of a crawl, from when this was asked for ([`Crawler::events`](crate::Crawler::events)).
///
/// Nothing waits for whoever reads them: [`Events::HELD`] are held, and of a reader that is further behind the oldest are lost;
/// [`Events::missed`] says how many. Hooks miss none.
#[derive(Debug)]
pub struct Events {
    receiver: broadcast::Receiver<Event>,
    missed: u64,
}

impl Listeners {
    /// Tells everybody; costs nothing where nobody listens.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if self.hooks.is_empty() && self.sender.receiver_count() == 0 {
            return;
        }
        let event = event();
        for hook in &self.hooks {
            if handler::call(|| hook(&event)).is_err() {
                tracing::error!(?event, "a hook panicked; the crawl goes on");
            }
        }
        // An error says that nobody listens on the channel.
        drop(self.sender.send(event));
    }

    pub(crate) fn ended(&self, outcome: UrlOutcome<'_>) {
        let UrlOutcome { url, ending, attempt } = outcome;
        self.tell(|| Event::Ended { url: url.clone(), ending, attempt });
    }

    /// Whether a URL may be queued: by every filter. One that panics lets nothing through.
    ///
    /// # Errors
    /// `url.filter`.
    pub(crate) fn admits(&self, url: &CrawlUrl, via: &CrawlUrl, depth: u32) -> Result<(), Reason> {
        let proposed = Proposed { url, via, depth };
        match handler::call(|| self.filters.iter().all(|filter| filter(proposed))) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Reason::UrlFilter),
            Err(_) => {
                tracing::error!(%url, "the filter panicked; the URL is left out");
                Err(Reason::UrlFilter)
            }
        }
    }

    pub(crate) fn events(&self) -> Events {
        Events { receiver: self.sender.subscribe(), missed: 0 }
    }
}

impl Default for Listeners {
    fn default() -> Self {
        Self { hooks: Vec::new(), filters: Vec::new(), sender: broadcast::Sender::new(Events::HELD) }
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listeners").field("hooks", &self.hooks.len()).finish_non_exhaustive()
    }
}

impl Events {
    /// Events that are held for a reader. Our choice: a second of a fast crawl.
    pub const HELD: usize = 4096;

    /// The next event; `None` when the crawl is over. Cancel-safe: an event that was not given is given next.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            match self.receiver.recv().await {
                Ok(event) => return Some(event),
                Err(RecvError::Lagged(events)) => self.missed += events,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// How many events came too fast, and are lost to this reader.
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.missed
    }
}
