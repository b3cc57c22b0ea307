use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use comity_extract::PageOptions;
use comity_fetch::{Fetcher, MediaTypes};
use comity_frontier::Frontier;
use comity_gate::Gate;
use comity_policy::{Clock, Identity};
use comity_url::{CrawlUrl, Scope, UrlPattern};
use tokio::sync::Notify;

use super::{Desk, Keys, Live, Traps};
use crate::control::Running;
use crate::directory::ScopeSeeds;
use crate::events::Listeners;
use crate::handler::PageHandler;
use crate::keep::Keeper;
use crate::seeds::SeedsWith;
use crate::sink::SharedSink;
use crate::sites::Sites;
use crate::telemetry::Meters;
use crate::{Error, Tally, UrlOutcome};

/// What every visit of a crawl shares.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) gate: Gate,
    pub(crate) fetcher: Fetcher,
    pub(crate) frontier: Arc<dyn Frontier>,
    pub(crate) keeper: Keeper,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) identity: Identity,
    pub(crate) live: RwLock<Arc<Live>>,
    pub(crate) traps: Traps,
    /// Media types whose bodies are read.
    pub(crate) types: Arc<MediaTypes>,
    /// What pages are read for beside their links.
    pub(crate) page: PageOptions,
    pub(crate) keys: Keys,
    pub(crate) sites: Arc<Sites>,
    pub(crate) scope: Mutex<Scope>,
    /// Where what widens the scope outlives the process.
    pub(crate) scope_seeds: Option<Mutex<ScopeSeeds>>,
    pub(crate) tally: Mutex<Tally>,
    pub(crate) handlers: Handlers,
    pub(crate) seeds_with: SeedsWith,
    /// Where asynchronous handlers work.
    pub(crate) desk: Desk,
    /// Who hears of events, and filters links.
    pub(crate) listeners: Listeners,
    /// What whoever steers the crawl has set.
    pub(crate) control: Running,
    /// Wakes the loop when something became leasable outside its own doing.
    pub(crate) poke: Notify,
    pub(crate) meters: Meters,
}

/// Told of every URL that leaves the queue.
pub(crate) type OutcomeHandler = Arc<dyn Fn(UrlOutcome<'_>) + Send + Sync>;

/// What the crawler's author wants to be told.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    /// For the pages that match, the first that does.
    pub(crate) routes: Vec<(UrlPattern, PageHandler)>,
    /// For the other pages.
    pub(crate) on_page: Option<PageHandler>,
    /// For those that have no handler.
    pub(crate) stream: OnceLock<PageHandler>,
    pub(crate) sink: Option<SharedSink>,
    pub(crate) on_outcome: Option<OutcomeHandler>,
}

impl Handlers {
    /// Whether anybody wants pages.
    pub(crate) fn want_pages(&self) -> bool {
        !self.routes.is_empty() || self.on_page.is_some() || self.stream.get().is_some() || self.sink.is_some()
    }

    /// Who gets the page of a URL.
    pub(crate) fn of(&self, url: &CrawlUrl) -> Option<&PageHandler> {
        let routed = self.routes.iter().find(|(pattern, _)| pattern.matches(url)).map(|(_, handler)| handler);
        routed.or(self.on_page.as_ref()).or_else(|| self.stream.get())
    }
}

impl Shared {
    pub(crate) fn scope(&self) -> MutexGuard<'_, Scope> {
        self.scope.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The target of a seed's redirect belongs to the scope (design §7), in this run and in those that go on with it.
    pub(crate) fn widen_scope(&self, targets: &[CrawlUrl]) -> Result<(), Error> {
        for target in targets {
            self.scope().add_seed(target);
            self.traps.add_seed(target);
        }
        let Some(seeds) = &self.scope_seeds else { return Ok(()) };
        seeds.lock().unwrap_or_else(PoisonError::into_inner).add(targets)
    }

    pub(crate) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("routes", &self.routes.len())
            .field("on_page", &self.on_page.is_some())
            .field("on_outcome", &self.on_outcome.is_some())
            .finish_non_exhaustive()
    }
}
