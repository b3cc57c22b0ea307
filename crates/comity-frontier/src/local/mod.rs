mod ledger;
mod open;

use std::collections::HashSet;
use std::fmt;
use std::sync::{Mutex, MutexGuard};

use comity_policy::{Hold, Instant, Judge, Judgement, Ready, Reason};
use comity_url::Origin;

use self::ledger::Ledger;
use crate::key::{place_of, queue_end, queue_key};
use crate::{
    BoxFuture, Candidate, Fill, Frontier, FrontierError, Keyspace, LeaseId, Leased, LeasedUrl, MemoryStore, Offer,
    Offered, QueuedUrl, Renewal, Renewed, Scheduler, SchedulerConfig, Settled, Settlement, Stats, Step, Store,
    StoreError, StoredUrl, TurnNews,
};

/// A frontier of one process: the [`Scheduler`] over a [`Store`].
///
/// The store is called inline, under one lock: right for memory and for simulations, where a call takes
/// microseconds. A store that waits for a disk is to be put behind a thread of its own.
pub struct Local<S> {
    inner: Mutex<Inner<S>>,
}

#[derive(Debug)]
struct Inner<S> {
    store: S,
    scheduler: Scheduler,
}

/// Judgements per call: a call over very many origins that are all held ends, and the next one goes on.
const LOOKS_PER_CALL: usize = 4096;

impl Local<MemoryStore> {
    /// An empty frontier in memory.
    #[must_use]
    pub fn in_memory(config: SchedulerConfig) -> Self {
        Self { inner: Mutex::new(Inner { store: MemoryStore::new(), scheduler: Scheduler::new(config) }) }
    }
}

impl<S: Store> Local<S> {
    /// A frontier over what `store` holds; nothing that it acknowledged is missing, and no lease runs.
    ///
    /// No origin of the store is due before `ready`: after a restart every origin waits one full delay (invariant 4).
    ///
    /// # Errors
    /// When the store cannot be read or is of another format.
    pub fn open(mut store: S, config: SchedulerConfig, ready: Ready) -> Result<Self, FrontierError> {
        open::check_format(&mut store)?;
        let mut scheduler = Scheduler::new(config);
        open::restore(&store, &mut scheduler, ready)?;
        Ok(Self { inner: Mutex::new(Inner { store, scheduler }) })
    }

    /// Ends the frontier and gives the store back; every leased URL is still queued in it.
    ///
    /// # Errors
    /// When a panic left it in doubt.
    pub fn into_store(self) -> Result<S, FrontierError> {
        self.inner.into_inner().map(|inner| inner.store).map_err(|_| FrontierError::Poisoned)
    }

    fn lock(&self) -> Result<MutexGuard<'_, Inner<S>>, FrontierError> {
        self.inner.lock().map_err(|_| FrontierError::Poisoned)
    }
}

impl<S: Store> Frontier for Local<S> {
    fn offer<'a>(&'a self, batch: Vec<Offer>) -> BoxFuture<'a, Result<Vec<Offered>, FrontierError>> {
        Box::pin(async move { Ok(self.lock()?.offer(batch)?) })
    }

    fn lease<'a>(
        &'a self,
        n: usize,
        judge: &'a dyn Judge,
        now: Instant,
    ) -> BoxFuture<'a, Result<Leased, FrontierError>> {
        Box::pin(async move { Ok(self.lock()?.lease(n, judge, now)?) })
    }

    fn settle<'a>(
        &'a self,
        batch: Vec<Settlement>,
        now: Instant,
    ) -> BoxFuture<'a, Result<Vec<Settled>, FrontierError>> {
        Box::pin(async move { Ok(self.lock()?.settle(batch, now)?) })
    }

    fn renew<'a>(
        &'a self,
        lease: LeaseId,
        change: Renewal,
        now: Instant,
    ) -> BoxFuture<'a, Result<Renewed, FrontierError>> {
        Box::pin(async move { Ok(self.lock()?.scheduler.renew(lease, change, now)) })
    }

    fn turn<'a>(&'a self, origin: Origin, news: TurnNews, now: Instant) -> BoxFuture<'a, Result<(), FrontierError>> {
        Box::pin(async move {
            self.lock()?.scheduler.turn(&origin, news, now);
            Ok(())
        })
    }

    fn park<'a>(
        &'a self,
        origin: Origin,
        reason: Reason,
        until: Option<Instant>,
        now: Instant,
    ) -> BoxFuture<'a, Result<(), FrontierError>> {
        Box::pin(async move {
            self.lock()?.scheduler.park(&origin, reason, until, now);
            Ok(())
        })
    }

    fn release<'a>(&'a self, origin: Origin, now: Instant) -> BoxFuture<'a, Result<(), FrontierError>> {
        Box::pin(async move {
            self.lock()?.scheduler.release(&origin, now);
            Ok(())
        })
    }

    fn stats<'a>(&'a self, now: Instant) -> BoxFuture<'a, Result<Stats, FrontierError>> {
        Box::pin(async move { Ok(self.lock()?.scheduler.stats(now)) })
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

impl<S: Store> Inner<S> {
    fn offer(&mut self, batch: Vec<Offer>) -> Result<Vec<Offered>, StoreError> {
        let mut ledger = Ledger::new(&self.store, &self.scheduler);
        let offered = batch.into_iter().map(|offer| ledger.offer(offer)).collect::<Result<_, _>>()?;
        let mut changes = ledger.close();
        self.store.commit(std::mem::take(&mut changes.batch))?;
        changes.apply(&mut self.scheduler);
        Ok(offered)
    }

    fn settle(&mut self, batch: Vec<Settlement>, now: Instant) -> Result<Vec<Settled>, StoreError> {
        let mut ledger = Ledger::new(&self.store, &self.scheduler);
        let mut answers = Vec::with_capacity(batch.len());
        let (mut applied, mut ended) = (Vec::with_capacity(batch.len()), HashSet::new());
        for mut settlement in batch {
            let lease = settlement.lease();
            match self.scheduler.leased(lease).filter(|_| ended.insert(lease)) {
                Some(leased) => {
                    let links = ledger.settle(&leased, &mut settlement)?;
                    answers.push(Settled::Applied { links });
                    applied.push(settlement);
                }
                None => answers.push(Settled::Stale),
            }
        }
        let mut changes = ledger.close();
        self.store.commit(std::mem::take(&mut changes.batch))?;
        self.scheduler.advance(now);
        changes.apply(&mut self.scheduler);
        let stale = answers.len() - applied.len();
        applied.iter().for_each(|settlement| self.scheduler.settle(settlement, now));
        (0..stale).for_each(|_| self.scheduler.stale());
        Ok(answers)
    }

    fn lease(&mut self, n: usize, judge: &dyn Judge, now: Instant) -> Result<Leased, StoreError> {
        self.end_expired(now)?;
        let mut leased = Leased::default();
        let refusals = self.scheduler.config().refusals_per_call.max(1);
        let mut looks = 0;
        while leased.leases.len() + leased.needs_robots.len() < n
            && leased.refused.len() < refusals
            && looks < LOOKS_PER_CALL
        {
            match self.scheduler.next(now) {
                Step::Idle => break,
                Step::Fill(fill) => {
                    if let Err(error) = self.fill(&fill) {
                        self.scheduler.unfilled(&fill);
                        return leased.or(error, self.scheduler.wake_at());
                    }
                }
                Step::Judge(candidate) => {
                    looks += 1;
                    self.decide(candidate, judge, now, &mut leased);
                }
            }
        }
        leased.wake_at = self.scheduler.wake_at();
        Ok(leased)
    }

    fn decide(&mut self, candidate: Candidate, judge: &dyn Judge, now: Instant, leased: &mut Leased) {
        match judge.judge(candidate.url()) {
            Judgement::Allow(allowance) => leased.leases.push(self.scheduler.grant(candidate, allowance, now)),
            Judgement::Refuse(refusal) => leased.refused.push(self.scheduler.refuse(candidate, refusal, now)),
            Judgement::NeedsRobots(_) => leased.needs_robots.push(self.scheduler.await_robots(candidate, now)),
            Judgement::Hold(Hold { reason, wait }) => {
                let until = wait.map(|wait| now.after(wait));
                self.scheduler.hold(candidate, reason, until, now);
            }
        }
    }

    fn fill(&mut self, fill: &Fill) -> Result<(), StoreError> {
        let from = queue_key(fill.origin(), fill.priority(), fill.from());
        let until = queue_end(fill.origin(), fill.priority(), fill.until());
        let rows = self.store.peek(Keyspace::Queue, &from, &until, fill.limit())?;
        let stored = rows.iter().map(|(key, value)| stored(fill, key, value)).collect();
        self.scheduler.filled(fill, stored);
        Ok(())
    }

    fn end_expired(&mut self, now: Instant) -> Result<(), StoreError> {
        let mut expired = Vec::new();
        while let Some(lease) = self.scheduler.expire(now) {
            expired.push(lease);
        }
        if expired.is_empty() {
            return Ok(());
        }
        tracing::debug!(leases = expired.len(), "leases ended at their deadline");
        let mut ledger = Ledger::new(&self.store, &self.scheduler);
        for lease in &expired {
            if let Some(queued) = &lease.record {
                let (origin, priority, sequence) = (&lease.origin, lease.priority, lease.sequence);
                let place = LeasedUrl { origin, priority, sequence, key: queued.key, queued: None };
                ledger.rewrite(&place, queued);
            }
        }
        let batch = ledger.close().batch;
        self.store.commit(batch)
    }
}

impl Leased {
    /// What was leased before the store failed, so that it is not left to expire; the error comes with the next call.
    fn or(mut self, error: StoreError, wake_at: Option<Instant>) -> Result<Self, StoreError> {
        if self.leases.is_empty() && self.refused.is_empty() && self.needs_robots.is_empty() {
            return Err(error);
        }
        tracing::warn!(%error, "the frontier store failed in the middle of a call");
        self.wake_at = wake_at;
        Ok(self)
    }
}

/// A row of the queue. A key that no queue record has counts as a damaged record of the place asked for.
fn stored(fill: &Fill, key: &[u8], value: &[u8]) -> StoredUrl {
    let origin = fill.origin();
    let Some((_, sequence)) = place_of(origin, key) else {
        tracing::warn!(%origin, "a queue record under a broken key stays where it is");
        return (fill.from(), None);
    };
    let queued = QueuedUrl::decode(value).inspect_err(|error| {
        tracing::warn!(%origin, sequence, %error, "a queued URL cannot be read and stays where it is");
    });
    (sequence, queued.ok().filter(|queued| queued.url.origin() == origin))
}
