//! What happens in a crawl, for whoever listens: hooks, called at once, and a bounded channel.

mod channel;

use std::fmt;
use std::sync::Arc;

use comity_policy::{Digest, Reason};
use comity_url::{CrawlUrl, Origin};

use self::channel::{Receiver, Sender};
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
        /// Where it was found; `None` for a seed.
        via: Option<CrawlUrl>,
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
    sender: Sender,
}

/// The events of a crawl, from when this was asked for ([`Crawler::events`](crate::Crawler::events)).
///
/// Nothing waits for whoever reads them: [`Events::HELD`] are held, of [`Events::HELD_BYTES`] at most, and of a reader that is further
/// behind the oldest are lost; [`Events::missed`] says how many. Hooks miss none.
#[derive(Debug)]
pub struct Events {
    receiver: Receiver,
    missed: u64,
}

impl Event {
    /// What it takes in memory, nearly.
    fn bytes(&self) -> usize {
        let of = |url: &CrawlUrl| url.as_str().len();
        let urls = match self {
            Self::Robots(seen) => of(&seen.url) + seen.origin.as_str().len(),
            Self::Skipped { url, via, .. } => of(url) + of(via),
            Self::Ended { url, via, .. } => of(url) + via.as_ref().map_or(0, of),
            Self::Paused | Self::Resumed => 0,
        };
        size_of::<Self>() + urls
    }
}

impl Listeners {
    /// Tells everybody; costs nothing where nobody listens.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if self.hooks.is_empty() && !self.sender.has_readers() {
            return;
        }
        let event = event();
        for hook in &self.hooks {
            if handler::call(|| hook(&event)).is_err() {
                tracing::error!(?event, "a hook panicked; the crawl goes on");
            }
        }
        if self.sender.has_readers() {
            self.sender.send(event);
        }
    }

    pub(crate) fn ended(&self, outcome: UrlOutcome<'_>) {
        let UrlOutcome { url, via, ending, attempt } = outcome;
        self.tell(|| Event::Ended { url: url.clone(), via: via.cloned(), ending, attempt });
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
        Self { hooks: Vec::new(), filters: Vec::new(), sender: Sender::new(Events::HELD, Events::HELD_BYTES) }
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

    /// Bytes of the URLs in them, and of the events themselves. Our choice: 1 KiB for each that is held. All readers share them.
    pub const HELD_BYTES: usize = Self::HELD << 10;

    /// The next event; `None` when the crawl is over. Cancel-safe: an event that was not given is given next.
    pub async fn next(&mut self) -> Option<Event> {
        let (event, missed) = self.receiver.next().await;
        self.missed += missed;
        event
    }

    /// How many events came too fast, and are lost to this reader.
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.missed
    }
}
