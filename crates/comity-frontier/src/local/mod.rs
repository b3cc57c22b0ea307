mod desk;
mod domains;
mod inner;
mod ledger;
mod left;
mod listing;
mod mend;
mod open;
mod roster;
mod visits;

use std::fmt;
use std::sync::Arc;

use comity_policy::{Instant, Judge, Ready, Reason};
use comity_url::{KeyRules, Origin, UrlKey};
use tokio::sync::{Mutex, oneshot};

use self::desk::Desk;
use self::inner::Inner;
#[cfg(feature = "disk")]
pub(crate) use self::left::without as left_without;
#[cfg(feature = "disk")]
pub(crate) use self::mend::{FORGOTTEN, MEND};
use crate::{
    BoxFuture, Frontier, FrontierError, LeaseId, Leased, MemoryStore, Offer, Offered, OriginFilter, OriginStanding,
    Page, QueueLimits, QueuePlace, QueuedAt, RecordMark, Renewal, Renewed, Scheduled, Scheduler, SchedulerConfig,
    Settled, Settlement, Stats, Store, StoreError, TurnNews, VisitPlace,
};

/// A frontier of one process: the [`Scheduler`] over a [`Store`].
///
/// In memory are the seen-set, the origins that are due first, and a few URLs of each; everything else is in the store,
/// and so are these. A call is one commit, and none sees half of another.
///
/// [`Local::open`] calls the store inline: right for memory and for simulations, where a call takes microseconds.
/// [`Local::open_on_thread`] gives it a thread of its own, so that nobody else waits while a disk does.
pub struct Local<S> {
    // Dropped first: the thread ends before the store does.
    desk: Option<Desk>,
    inner: Arc<Mutex<Inner<S>>>,
}

/// What becomes of a store whose fingerprints were made under other key rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtherRules {
    /// It is refused: fingerprints of two rules in one set would mix unsaid.
    #[default]
    Refuse,
    /// It is gone on with, and the new rules are written over the old. A URL whose key they change counts as new once more.
    Accept,
}

impl Local<MemoryStore> {
    /// An empty frontier in memory.
    #[must_use]
    pub fn in_memory(config: SchedulerConfig) -> Self {
        let (mut store, at_once) = (MemoryStore::new(), Ready { at: Instant::START, clock: Reason::Ok });
        let opened = open::open(&mut store, config.clone(), at_once).unwrap_or_else(|_| open::nothing(config, at_once));
        Self { desk: None, inner: Arc::new(Mutex::new(Inner::new(store, opened))) }
    }
}

impl<S: Store + 'static> Local<S> {
    /// A frontier over what `store` holds; nothing that it acknowledged is missing, and no lease runs.
    ///
    /// No origin of the store is due before `ready`: after a restart every origin waits one full delay (invariant 4).
    /// Reads the fingerprints of all URLs (16 bytes each) and the first origins; neither the queue nor all origins.
    ///
    /// # Errors
    /// When the store cannot be read or is of another format.
    pub fn open(mut store: S, config: SchedulerConfig, ready: Ready) -> Result<Self, FrontierError> {
        let opened = open::open(&mut store, config, ready)?;
        Ok(Self { desk: None, inner: Arc::new(Mutex::new(Inner::new(store, opened))) })
    }

    /// As [`Local::open`]; from then on commits, and the reads that leases need, are made on a thread of its own.
    ///
    /// # Errors
    /// As [`Local::open`], and when the system gives no thread.
    pub fn open_on_thread(store: S, config: SchedulerConfig, ready: Ready) -> Result<Self, FrontierError> {
        let local = Self::open(store, config, ready)?;
        Ok(Self { desk: Some(Desk::open()?), ..local })
    }

    /// The key of the seen-set's fingerprints: that of the store, or `fresh` for a store that has none, where it is then
    /// kept. Offers made under another key would be new once more. To be asked before anything else: it waits for the store.
    ///
    /// `rules` are those by which the offers' keys are made; they are kept beside the key, and `others` says what becomes of a
    /// store that has others. One from before they were kept takes them as its own.
    ///
    /// # Errors
    /// When the store cannot be read or written, or holds fingerprints and no key, or, refused, those of other rules.
    pub fn fingerprint_key(
        &mut self,
        fresh: [u8; 16],
        rules: KeyRules,
        others: OtherRules,
    ) -> Result<[u8; 16], FrontierError> {
        // Nobody else has it: no call is under way.
        let inner = Arc::get_mut(&mut self.inner).ok_or(FrontierError::Poisoned)?;
        attempt(inner.get_mut(), |inner| inner.fingerprint_key(fresh, rules, others))
    }

    /// Tells where the records of the crawl end: `whole` of them are there, each with all that belongs to it. URLs that left
    /// the queue when there were more come back to their places; gives how many. From now on `mark` tells how far the records
    /// have come. To be asked before anything else: it waits for the store.
    ///
    /// Only a power cut makes records fewer than the queue knows of: it may take the records of the last moments, and leave
    /// the commit in which their pages left the queue. Cost: a row per URL that leaves, for as long as its record is not safe.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn records_end_at(&mut self, whole: u64, mark: RecordMark) -> Result<u64, FrontierError> {
        let inner = Arc::get_mut(&mut self.inner).ok_or(FrontierError::Poisoned)?;
        attempt(inner.get_mut(), |inner| inner.records_end_at(whole, mark))
    }

    /// Ends the frontier and gives the store back; every leased URL is still queued in it.
    ///
    /// # Errors
    /// When a panic left it in doubt.
    pub fn into_store(self) -> Result<S, FrontierError> {
        let Self { desk, inner } = self;
        drop(desk);
        let inner = Arc::into_inner(inner).ok_or(FrontierError::Poisoned)?.into_inner();
        if inner.is_in_doubt { Err(FrontierError::Poisoned) } else { Ok(inner.store) }
    }

    /// Does something that may wait for the store, on its thread if it has one.
    async fn work<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Inner<S>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, FrontierError> {
        let Some(desk) = &self.desk else { return attempt(&mut *self.inner.lock().await, job) };
        let (answer, answered) = oneshot::channel();
        let inner = self.inner.clone();
        let job = Box::new(move || {
            // Nobody waits for the answer of a call that was dropped.
            let _ = answer.send(attempt(&mut inner.blocking_lock(), job));
        });
        desk.hand_in(job).await?;
        answered.await.map_err(|_| FrontierError::Poisoned)?
    }

    /// Tells the scheduler something about one origin, which is brought to memory first.
    async fn tell(
        &self,
        origin: Origin,
        change: impl FnOnce(&mut Scheduler, &Origin) + Send + 'static,
    ) -> Result<(), FrontierError> {
        {
            let mut inner = self.inner.lock().await;
            if inner.scheduler.knows(&origin) {
                return attempt(&mut *inner, |inner| {
                    change(&mut inner.scheduler, &origin);
                    Ok(())
                });
            }
        }
        self.work(move |inner| {
            inner.wake(&origin)?;
            change(&mut inner.scheduler, &origin);
            inner.trim();
            Ok(())
        })
        .await
    }
}

/// Does one thing behind the lock. A panic in it is found by whoever comes next.
fn attempt<S, T>(
    inner: &mut Inner<S>,
    job: impl FnOnce(&mut Inner<S>) -> Result<T, StoreError>,
) -> Result<T, FrontierError> {
    if std::mem::replace(&mut inner.is_in_doubt, true) {
        return Err(FrontierError::Poisoned);
    }
    let done = job(inner);
    inner.is_in_doubt = false;
    Ok(done?)
}

impl<S: Store + 'static> Frontier for Local<S> {
    fn offer<'a>(&'a self, batch: Vec<Offer>) -> BoxFuture<'a, Result<Vec<Offered>, FrontierError>> {
        Box::pin(self.work(move |inner| inner.offer(batch)))
    }

    fn lease<'a>(
        &'a self,
        n: usize,
        judge: &'a dyn Judge,
        now: Instant,
    ) -> BoxFuture<'a, Result<Leased, FrontierError>> {
        Box::pin(async move {
            // Nothing is leased before the last wait of this call: dropped at any point, it has leased nothing or all.
            if self.desk.is_some() && self.inner.lock().await.is_behind(now, n) {
                self.work(move |inner| inner.prepare(n, now)).await?;
            }
            let mut inner = self.inner.lock().await;
            attempt(&mut *inner, |inner| {
                if self.desk.is_none() {
                    inner.return_due(now)?;
                }
                let leased = inner.lease(n, judge, now)?;
                if self.desk.is_none() {
                    inner.trim();
                }
                Ok(leased)
            })
        })
    }

    fn settle<'a>(
        &'a self,
        batch: Vec<Settlement>,
        now: Instant,
    ) -> BoxFuture<'a, Result<Vec<Settled>, FrontierError>> {
        Box::pin(self.work(move |inner| inner.settle(batch, now)))
    }

    fn renew<'a>(
        &'a self,
        lease: LeaseId,
        change: Renewal,
        now: Instant,
    ) -> BoxFuture<'a, Result<Renewed, FrontierError>> {
        Box::pin(async move {
            let mut inner = self.inner.lock().await;
            attempt(&mut *inner, |inner| Ok(inner.scheduler.renew(lease, change, now)))
        })
    }

    fn turn<'a>(&'a self, origin: Origin, news: TurnNews, now: Instant) -> BoxFuture<'a, Result<(), FrontierError>> {
        Box::pin(self.tell(origin, move |scheduler, origin| scheduler.turn(origin, news, now)))
    }

    fn park<'a>(
        &'a self,
        origin: Origin,
        reason: Reason,
        until: Option<Instant>,
        now: Instant,
    ) -> BoxFuture<'a, Result<(), FrontierError>> {
        Box::pin(self.tell(origin, move |scheduler, origin| scheduler.park(origin, reason, until, now)))
    }

    fn release<'a>(&'a self, origin: Origin, now: Instant) -> BoxFuture<'a, Result<(), FrontierError>> {
        Box::pin(self.tell(origin, move |scheduler, origin| scheduler.release(origin, now)))
    }

    fn stats<'a>(&'a self, now: Instant) -> BoxFuture<'a, Result<Stats, FrontierError>> {
        Box::pin(self.work(move |inner| inner.stats(now)))
    }

    fn origins<'a>(
        &'a self,
        filter: OriginFilter,
        after: Option<Origin>,
        n: usize,
        now: Instant,
    ) -> BoxFuture<'a, Result<Page<OriginStanding, Origin>, FrontierError>> {
        Box::pin(self.work(move |inner| inner.origins(filter, after.as_ref(), n, now)))
    }

    fn urls<'a>(
        &'a self,
        of: Option<Origin>,
        after: Option<QueuePlace>,
        n: usize,
    ) -> BoxFuture<'a, Result<Page<QueuedAt, QueuePlace>, FrontierError>> {
        Box::pin(self.work(move |inner| inner.urls(of.as_ref(), after.as_ref(), n)))
    }

    fn seen<'a>(
        &'a self,
        after: Option<u64>,
        until: Option<u64>,
    ) -> BoxFuture<'a, Result<Page<UrlKey, u64>, FrontierError>> {
        Box::pin(self.work(move |inner| inner.seen(after, until)))
    }

    fn visits<'a>(
        &'a self,
        after: Option<VisitPlace>,
        n: usize,
    ) -> BoxFuture<'a, Result<Page<Scheduled, VisitPlace>, FrontierError>> {
        Box::pin(self.work(move |inner| inner.visits(after.as_ref(), n)))
    }

    fn schedule<'a>(&'a self, batch: Vec<Scheduled>) -> BoxFuture<'a, Result<Vec<Offered>, FrontierError>> {
        Box::pin(self.work(move |inner| inner.schedule(batch)))
    }

    fn last_taken<'a>(&'a self) -> BoxFuture<'a, Result<u64, FrontierError>> {
        Box::pin(self.work(|inner| Ok(inner.roster.next_commit().saturating_sub(1))))
    }

    fn mark_seen<'a>(&'a self, keys: Vec<UrlKey>) -> BoxFuture<'a, Result<u64, FrontierError>> {
        Box::pin(self.work(move |inner| inner.mark_seen(&keys)))
    }

    fn set_limits<'a>(&'a self, limits: QueueLimits) -> BoxFuture<'a, Result<bool, FrontierError>> {
        Box::pin(self.work(move |inner| {
            inner.scheduler.set_limits(limits);
            Ok(true)
        }))
    }

    fn sync<'a>(&'a self) -> BoxFuture<'a, Result<(), FrontierError>> {
        Box::pin(self.work(|inner| inner.store.sync()))
    }
}

impl<S: fmt::Debug> fmt::Debug for Local<S> {
    /// Without the origins, of which there may be a million.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Local");
        if let Ok(inner) = self.inner.try_lock() {
            out.field("origins", &inner.scheduler.origins()).field("queued", &inner.scheduler.queued());
        }
        out.finish_non_exhaustive()
    }
}
