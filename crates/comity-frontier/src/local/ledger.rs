use std::collections::{BTreeMap, HashSet};

use comity_policy::Reason;
use comity_url::{Origin, UrlKey};

use crate::key::queue_key;
use crate::summary::SEEN_QUEUED;
use crate::{
    Ending, Keyspace, LeasedUrl, Offer, Offered, QueuedUrl, Scheduler, Settlement, Store, StoreError, Summary,
    WriteBatch,
};

/// One atomic commit under way: what changes in the store, and what the scheduler learns once it is written.
#[derive(Debug)]
pub(super) struct Ledger<'a, S> {
    store: &'a S,
    scheduler: &'a Scheduler,
    changes: Changes,
    taken: HashSet<UrlKey>,
    new_origins: u64,
}

/// What a ledger comes to.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// To commit.
    pub(super) batch: WriteBatch,
    /// The new counts of every origin touched.
    summaries: BTreeMap<Origin, Summary>,
    /// Records appended: origin, priority, sequence.
    appended: Vec<(Origin, u8, u64)>,
    turned_away: u64,
}

impl<'a, S: Store> Ledger<'a, S> {
    pub(super) fn new(store: &'a S, scheduler: &'a Scheduler) -> Self {
        Self { store, scheduler, changes: Changes::default(), taken: HashSet::new(), new_origins: 0 }
    }

    /// Takes one URL in, unless it was seen or a budget is spent.
    pub(super) fn offer(&mut self, offer: Offer) -> Result<Offered, StoreError> {
        let seen = self.taken.contains(&offer.key) || self.store.get(Keyspace::Seen, &offer.key.to_bytes())?.is_some();
        if seen {
            return Ok(Offered::Seen);
        }
        let key = offer.key;
        let offered = self.queue(offer);
        if offered == Offered::New {
            self.changes.batch.insert(Keyspace::Seen, key.to_bytes().to_vec(), vec![SEEN_QUEUED]);
            self.taken.insert(key);
        }
        Ok(offered)
    }

    /// Writes what a settlement changes, and gives what became of its links.
    pub(super) fn settle(
        &mut self,
        leased: &LeasedUrl<'_>,
        settlement: &mut Settlement,
    ) -> Result<Vec<Offered>, StoreError> {
        match settlement {
            Settlement::Done { links, .. } => self.done(leased, std::mem::take(links)),
            Settlement::Refused { .. } => Ok(self.end(leased, Ending::Refused)),
            Settlement::Failed { .. } => Ok(self.end(leased, Ending::Failed)),
            Settlement::Retry { .. } => {
                if let Some(queued) = leased.queued {
                    let attempts = queued.attempts.saturating_add(1);
                    self.rewrite(leased, &QueuedUrl { attempts, ..queued.clone() });
                }
                Ok(Vec::new())
            }
            Settlement::Snooze { .. } => Ok(Vec::new()),
        }
    }

    /// Writes a record over the one that stands in its place.
    pub(super) fn rewrite(&mut self, leased: &LeasedUrl<'_>, queued: &QueuedUrl) {
        let key = queue_key(leased.origin, leased.priority, leased.sequence);
        self.changes.batch.insert(Keyspace::Queue, key, queued.encode());
    }

    /// Everything that changed, with the counts.
    pub(super) fn close(mut self) -> Changes {
        for (origin, summary) in &self.changes.summaries {
            let key = origin.as_str().as_bytes().to_vec();
            self.changes.batch.insert(Keyspace::Origin, key, summary.encode());
        }
        self.changes
    }

    fn done(&mut self, leased: &LeasedUrl<'_>, links: Vec<Offer>) -> Result<Vec<Offered>, StoreError> {
        let mut requeued = false;
        let mut offered = Vec::with_capacity(links.len());
        for link in links {
            // A redirect from one spelling of a page to another has the page's own fingerprint: it is seen, but what
            // it stands for was never fetched. The bound on redirects in a row ends a loop of spellings.
            let respelled = !requeued && link.hops > 0 && link.key == leased.key && self.differs(leased, &link);
            let answer = if respelled { self.queue(link) } else { self.offer(link)? };
            requeued |= respelled && answer == Offered::New;
            offered.push(answer);
        }
        self.leave(leased, Ending::Done);
        if !requeued {
            self.mark(leased.key, Ending::Done.state());
        }
        Ok(offered)
    }

    /// True unless `link` is the very URL that was fetched.
    fn differs(&self, leased: &LeasedUrl<'_>, link: &Offer) -> bool {
        leased.queued.is_some_and(|queued| queued.url != link.url)
    }

    fn end(&mut self, leased: &LeasedUrl<'_>, ending: Ending) -> Vec<Offered> {
        self.leave(leased, ending);
        self.mark(leased.key, ending.state());
        Vec::new()
    }

    fn leave(&mut self, leased: &LeasedUrl<'_>, ending: Ending) {
        self.changes.batch.delete(Keyspace::Queue, queue_key(leased.origin, leased.priority, leased.sequence));
        self.summary(leased.origin).end(leased.priority, ending);
    }

    fn mark(&mut self, key: UrlKey, state: u8) {
        self.changes.batch.insert(Keyspace::Seen, key.to_bytes().to_vec(), vec![state]);
    }

    /// Appends to the queue, if the budgets allow.
    fn queue(&mut self, offer: Offer) -> Offered {
        if let Some(reason) = self.over_budget(offer.url.origin()) {
            self.changes.turned_away += 1;
            return Offered::Refused(reason);
        }
        let (origin, priority) = (offer.url.origin().clone(), offer.priority);
        let sequence = self.summary(&origin).admit(priority);
        let record = QueuedUrl::from(offer).encode();
        self.changes.batch.insert(Keyspace::Queue, queue_key(&origin, priority, sequence), record);
        self.changes.appended.push((origin, priority, sequence));
        Offered::New
    }

    fn over_budget(&self, origin: &Origin) -> Option<Reason> {
        let config = self.scheduler.config();
        let queued = self.scheduler.queued() + self.changes.appended.len() as u64;
        if queued >= config.queued {
            return Some(Reason::UrlBudgetQueue);
        }
        let known = self.changes.summaries.get(origin).or_else(|| self.scheduler.summary(origin));
        match known {
            None if self.scheduler.origins() + self.new_origins >= config.origins => Some(Reason::UrlBudgetQueue),
            Some(summary) if summary.pages() >= config.pages_per_origin => Some(Reason::UrlBudgetPages),
            None if config.pages_per_origin == 0 => Some(Reason::UrlBudgetPages),
            _ => None,
        }
    }

    fn summary(&mut self, origin: &Origin) -> &mut Summary {
        let (scheduler, new_origins) = (self.scheduler, &mut self.new_origins);
        self.changes.summaries.entry(origin.clone()).or_insert_with(|| {
            scheduler.summary(origin).cloned().unwrap_or_else(|| {
                *new_origins += 1;
                Summary::default()
            })
        })
    }
}

impl Changes {
    /// Tells the scheduler what was committed.
    pub(super) fn apply(self, scheduler: &mut Scheduler) {
        for (origin, summary) in self.summaries {
            scheduler.adopt(&origin, summary);
        }
        for (origin, priority, sequence) in self.appended {
            scheduler.append(&origin, priority, sequence);
        }
        scheduler.turn_away(self.turned_away);
    }
}
