use std::collections::HashSet;

use comity_policy::{Hold, Instant, Judge, Judgement};
use comity_url::{KeyRules, Origin};

use super::OtherRules;
use super::ledger::{Changes, Ledger};
use super::left::{self, Left};
use super::open::{KEY, Opened, RULES};
use super::roster::Roster;
use super::visits::Visits;
use crate::key::{place_of, queue_end, queue_key};
use crate::scheduler::Sleeper;
use crate::seen::SeenSet;
use crate::{
    Candidate, Fill, Keyspace, Leased, Offer, Offered, QueuedUrl, RecordMark, Scheduled, Scheduler, Settled,
    Settlement, Stats, Step, Store, StoreError, StoredUrl, WriteBatch,
};

/// Everything behind the lock: what is in memory, and the store.
#[derive(Debug)]
pub(super) struct Inner<S> {
    pub(super) store: S,
    pub(super) scheduler: Scheduler,
    pub(super) seen: SeenSet,
    pub(super) roster: Roster,
    visits: Visits,
    /// What left the queue since the records of the crawl were last safe; `None` where none are written.
    left: Option<Left>,
    /// The next sleeper could not be read after a commit: it is looked for again before anything is leased.
    has_to_look: bool,
    /// Set while something is under way: found set, a panic left it so.
    pub(super) is_in_doubt: bool,
}

/// Judgements per call: a call over very many origins that are all held ends, and the next one goes on.
const LOOKS_PER_CALL: usize = 4096;

impl<S: Store> Inner<S> {
    pub(super) fn new(store: S, opened: Opened) -> Self {
        let Opened { scheduler, seen, roster, visits } = opened;
        Self { store, scheduler, seen, roster, visits, left: None, has_to_look: false, is_in_doubt: false }
    }

    pub(super) fn offer(&mut self, batch: Vec<Offer>) -> Result<Vec<Offered>, StoreError> {
        let mut ledger = Ledger::new(&self.store, &self.scheduler, &self.seen, &self.roster, &self.visits);
        ledger.expect(batch.iter())?;
        let offered = batch.into_iter().map(|offer| ledger.offer(offer)).collect::<Result<_, _>>()?;
        let changes = ledger.close()?;
        self.commit(changes)?;
        self.trim();
        Ok(offered)
    }

    pub(super) fn schedule(&mut self, batch: Vec<Scheduled>) -> Result<Vec<Offered>, StoreError> {
        let mut ledger = Ledger::new(&self.store, &self.scheduler, &self.seen, &self.roster, &self.visits);
        let offered = batch.into_iter().map(|visit| ledger.take_in(visit)).collect::<Result<_, _>>()?;
        let changes = ledger.close()?;
        self.commit(changes)?;
        self.trim();
        Ok(offered)
    }

    pub(super) fn settle(&mut self, batch: Vec<Settlement>, now: Instant) -> Result<Vec<Settled>, StoreError> {
        self.scheduler.advance(now);
        self.scheduler.look_ahead(batch.iter().map(|settlement| (settlement.lease(), settlement.ready_at())));
        let mut ledger = Ledger::new(&self.store, &self.scheduler, &self.seen, &self.roster, &self.visits);
        ledger.left = self.left.as_ref().and_then(Left::next);
        ledger.expect(batch.iter().flat_map(Settlement::links))?;
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
        let mut changes = ledger.close()?;
        let pruned = self.left.as_ref().map_or(0, |left| left.prune(&mut changes.batch));
        self.store.commit(std::mem::take(&mut changes.batch))?;
        if let Some(left) = &mut self.left {
            left.committed(pruned, std::mem::take(&mut changes.left));
        }
        let woke = self.apply(changes);
        let stale = answers.len() - applied.len();
        applied.iter().for_each(|settlement| self.scheduler.settle(settlement, now));
        (0..stale).for_each(|_| self.scheduler.stale());
        self.after_commit(woke);
        self.trim();
        Ok(answers)
    }

    pub(super) fn lease(&mut self, n: usize, judge: &dyn Judge, now: Instant) -> Result<Leased, StoreError> {
        self.look_again()?;
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
                Step::Recall => {
                    if let Err(error) = self.wake_due(now) {
                        return leased.or(error, self.wake_at());
                    }
                }
                Step::Fill(fill) => {
                    if let Err(error) = self.fill(&fill) {
                        self.scheduler.unfilled(&fill);
                        return leased.or(error, self.wake_at());
                    }
                }
                Step::Judge(candidate) => {
                    looks += 1;
                    self.decide(candidate, judge, now, &mut leased);
                }
            }
        }
        leased.wake_at = self.wake_at();
        Ok(leased)
    }

    /// True when the store has to be asked before `n` URLs can be leased at `now`.
    pub(super) fn is_behind(&self, now: Instant, n: usize) -> bool {
        self.has_to_look || self.scheduler.is_behind(now, n) || self.visits.is_due(now)
    }

    /// Lets the URLs whose next visit is due come back to the queue, a page of them at most.
    pub(super) fn return_due(&mut self, now: Instant) -> Result<(), StoreError> {
        if !self.visits.is_due(now) {
            return Ok(());
        }
        self.scheduler.advance(now);
        let rows = self.visits.due(&self.store, now)?;
        let mut ledger = Ledger::new(&self.store, &self.scheduler, &self.seen, &self.roster, &self.visits);
        for (key, value) in &rows {
            ledger.come_back(key, value)?;
        }
        let changes = ledger.close()?;
        self.commit(changes)?;
        self.visits.passed(&self.store, rows.last())?;
        self.trim();
        Ok(())
    }

    fn wake_at(&self) -> Option<Instant> {
        [self.scheduler.wake_at(), self.visits.next()].into_iter().flatten().min()
    }

    /// Reads ahead what the next `n` leases at `now` need.
    pub(super) fn prepare(&mut self, n: usize, now: Instant) -> Result<(), StoreError> {
        self.look_again()?;
        self.end_expired(now)?;
        self.return_due(now)?;
        if self.roster.horizon().is_some_and(|horizon| horizon.0 <= now) {
            self.trim();
            self.wake_due(now)?;
        }
        let fills = self.scheduler.fills(now, n);
        let mut failed = None;
        for fill in fills {
            if let Err(error) = self.fill(&fill) {
                self.scheduler.unfilled(&fill);
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Brings an origin to memory, if the store knows it.
    pub(super) fn wake(&mut self, origin: &Origin) -> Result<(), StoreError> {
        if self.scheduler.knows(origin) {
            return Ok(());
        }
        if let Some(record) = self.roster.record(&self.store, origin)? {
            let waking = self.roster.read(&record);
            self.scheduler.recall(origin, record, waking);
            self.roster.look(&mut self.store, &mut self.scheduler)?;
        }
        Ok(())
    }

    /// As [`Scheduler::stats`], with the sleeping origins that wait.
    pub(super) fn stats(&mut self, now: Instant) -> Result<Stats, StoreError> {
        let mut stats = self.scheduler.stats(now);
        stats.returned = self.visits.returned;
        stats.next_visit = self.visits.next();
        stats.next_due = [stats.next_due, stats.next_visit].into_iter().flatten().min();
        let most = self.scheduler.config().waiting_listed;
        if self.scheduler.origins() > self.scheduler.residents() as u64 && most > 0 {
            let now = now.max(self.scheduler.latest());
            stats.waiting.extend(self.roster.waiting(&self.store, &self.scheduler, now, most)?);
            stats.waiting.sort_by_key(|waiting| waiting.until.unwrap_or(Instant::NEVER));
            stats.waiting.truncate(most);
        }
        Ok(stats)
    }

    /// The key of the fingerprints: the one that stands in the store, or `fresh`, which then does. The same commit writes
    /// their rules.
    pub(super) fn fingerprint_key(
        &mut self,
        fresh: [u8; 16],
        rules: KeyRules,
        others: OtherRules,
    ) -> Result<[u8; 16], StoreError> {
        let mut batch = WriteBatch::default();
        if self.writes_rules(&rules.to_string(), others)? {
            batch.insert(Keyspace::Meta, RULES.to_vec(), rules.to_string().into_bytes());
        }
        let key = match self.store.get(Keyspace::Meta, KEY)? {
            Some(bytes) => bytes
                .try_into()
                .map_err(|_| StoreError::Format("frontier store: the key of its fingerprints is damaged".to_owned()))?,
            None if self.seen.len() > 0 => {
                return Err(StoreError::Format("frontier store: the key of its fingerprints is missing".to_owned()));
            }
            None => {
                batch.insert(Keyspace::Meta, KEY.to_vec(), fresh.to_vec());
                fresh
            }
        };
        if !batch.is_empty() {
            self.store.commit(batch)?;
        }
        Ok(key)
    }

    /// Whether the rules are to be written: into a store without fingerprints, into one from before they were written, and
    /// where others are accepted.
    fn writes_rules(&self, ours: &str, others: OtherRules) -> Result<bool, StoreError> {
        let Some(theirs) = self.store.get(Keyspace::Meta, RULES)? else { return Ok(true) };
        if theirs == ours.as_bytes() {
            return Ok(false);
        }
        if others == OtherRules::Accept || self.seen.len() == 0 {
            return Ok(true);
        }
        let theirs = String::from_utf8_lossy(&theirs);
        Err(StoreError::Format(format!(
            "frontier store: its fingerprints were made under the key rules {theirs:?}, and this crawl has {ours:?}; go on under \
             those, or accept the change (--accept-config, OtherRules::Accept): pages that they tell apart may be fetched anew"
        )))
    }

    /// Lets the origins that are due last go to sleep when too many are in memory. Where the store refuses they stay:
    /// the next commit meets the same fault and tells it.
    pub(super) fn trim(&mut self) {
        let most = self.scheduler.config().resident_origins.max(1) as usize;
        let above = self.scheduler.residents().saturating_sub(most);
        if above == 0 {
            return;
        }
        let sleepers = self.scheduler.sleepers(above.max(most / 16), self.roster.run());
        if let Err(error) = self.put_to_sleep(&sleepers) {
            tracing::warn!(%error, "origins could not leave memory");
        }
    }

    fn put_to_sleep(&mut self, sleepers: &[Sleeper]) -> Result<(), StoreError> {
        let (mut batch, mut totals) = (WriteBatch::default(), self.scheduler.totals());
        for Sleeper { origin, record, old_row, stored, .. } in sleepers {
            totals.origins += u64::from(!stored);
            let name = origin.as_str().as_bytes().to_vec();
            if record.row != *old_row {
                if let Some(row) = old_row {
                    batch.delete(Keyspace::Due, row.to_key());
                }
                if let Some(row) = record.row {
                    batch.insert(Keyspace::Due, row.to_key(), name.clone());
                }
            }
            batch.insert(Keyspace::Origin, name, record.encode());
        }
        if totals != self.scheduler.totals() {
            batch.insert(Keyspace::Meta, super::open::TOTALS.to_vec(), totals.encode());
        }
        self.store.commit(batch)?;
        self.scheduler.set_totals(totals);
        for sleeper in sleepers {
            self.scheduler.forget_sleeper(sleeper);
            match sleeper.record.row {
                Some(row) => self.roster.note(row, &sleeper.origin),
                // Its old key is gone with what had waited.
                None => self.roster.forget(&sleeper.origin),
            }
        }
        self.roster.look(&mut self.store, &mut self.scheduler)
    }

    fn commit(&mut self, mut changes: Changes) -> Result<(), StoreError> {
        let batch = std::mem::take(&mut changes.batch);
        if !batch.is_empty() {
            self.store.commit(batch)?;
        }
        let woke = self.apply(changes);
        self.after_commit(woke);
        Ok(())
    }

    /// Tells everybody what was committed. True when an origin woke.
    fn apply(&mut self, mut changes: Changes) -> bool {
        changes.schedule(&mut self.visits);
        changes.apply(&mut self.scheduler, &mut self.seen, &mut self.roster)
    }

    /// Looks for the next sleeper where one woke. A fault does not undo the commit: who needs the sleeper meets it again.
    fn after_commit(&mut self, woke: bool) {
        if woke && let Err(error) = self.roster.look(&mut self.store, &mut self.scheduler) {
            tracing::warn!(%error, "the next sleeping origin could not be read");
            self.has_to_look = true;
        }
    }

    fn look_again(&mut self) -> Result<(), StoreError> {
        if self.has_to_look {
            self.roster.look(&mut self.store, &mut self.scheduler)?;
            self.has_to_look = false;
        }
        Ok(())
    }

    /// From now on what leaves the queue is kept until its record is safe; what left it when there were more than `whole`
    /// records comes back. Gives how many do.
    pub(super) fn records_end_at(&mut self, whole: u64, mark: RecordMark) -> Result<u64, StoreError> {
        let back = left::bring_back(&mut self.store, &mut self.scheduler, &mut self.roster, whole)?;
        if back > 0 {
            // Records that are written from here on, an erasure's too, take the numbers of those that were lost.
            self.store.sync()?;
        }
        self.left = Some(Left::new(mark));
        Ok(back)
    }

    fn wake_due(&mut self, now: Instant) -> Result<(), StoreError> {
        self.roster.wake_due(&mut self.store, &mut self.scheduler, now)
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
        let Some(origin) = self.scheduler.origin_of(fill) else { return Ok(()) };
        let from = queue_key(origin, fill.priority(), fill.from());
        let until = queue_end(origin, fill.priority(), fill.until());
        let rows = self.store.peek(Keyspace::Queue, &from, &until, fill.limit())?;
        let is_broken = rows.iter().any(|(key, _)| place_of(origin, key).is_none());
        let stored = rows.iter().map(|(key, value)| stored((origin, fill), key, value)).collect();
        if is_broken {
            self.scheduler.has_broken_key(fill);
        }
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
        let mut ledger = Ledger::new(&self.store, &self.scheduler, &self.seen, &self.roster, &self.visits);
        for lease in &expired {
            if lease.is_attempt {
                ledger.count_attempt(&lease.origin, lease.priority, lease.sequence)?;
            }
        }
        let batch = ledger.close()?.batch;
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
fn stored((origin, fill): (&Origin, &Fill), key: &[u8], value: &[u8]) -> StoredUrl {
    let Some((_, sequence)) = place_of(origin, key) else {
        tracing::warn!(%origin, "a queue record under a broken key stays where it is");
        return (fill.from(), None);
    };
    let queued = QueuedUrl::decode(value).inspect_err(|error| {
        tracing::warn!(%origin, sequence, %error, "a queued URL cannot be read and stays where it is");
    });
    (sequence, queued.ok().filter(|queued| queued.url.origin() == origin))
}
