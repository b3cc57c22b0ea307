use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use comity_url::Origin;

use crate::slot::{Slot, SlotState};
use crate::{AddressPace, Instant, OriginPace, Outcome, Politeness, Random, Ready, Reason, Receipt};

/// The table of paces in use, and the only maker of [`Slot`]s.
///
/// It holds a row only for origins and addresses whose past still matters; what a row knew goes back with
/// [`Pacer::settle`] and comes again with [`Pacer::adopt`]. Every method is one short critical section; none waits.
#[derive(Clone, Debug)]
pub struct Pacer {
    rules: Arc<Politeness>,
    random: Arc<dyn Random>,
    table: Arc<Table>,
}

/// What a scheduler has to know about an origin: when it may be leased next, and whether while a head is outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The earliest instant, and the clock that binds.
    pub ready: Ready,
    /// Whether requests may overlap before their heads.
    pub overlap: Overlap,
}

/// Whether two requests to one origin may be outstanding before their heads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// One at a time until its head arrives; bodies may overlap up to `per_origin`.
    #[default]
    AfterHead,
    /// The origin has no delay of any kind: up to `per_origin` at once.
    Free,
}

/// The shared table; slots point back at it so that a dropped one gives back what it held.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Mutex<Rows>,
}

#[derive(Debug, Default)]
pub(crate) struct Rows {
    origins: HashMap<Origin, OriginRow>,
    addresses: HashMap<IpAddr, AddressPace>,
    mints: u32,
}

#[derive(Debug, Default)]
struct OriginRow {
    pace: OriginPace,
    heads_outstanding: u32,
    in_flight: u32,
    /// A slot was dropped after its first written byte: the failure happened, its instant is the next look's.
    orphaned: bool,
}

impl Pacer {
    /// A pacer with no past. Only the gate may make one (invariant 1): a second pacer would forge slots.
    #[must_use]
    pub fn new(rules: Politeness, random: Arc<dyn Random>) -> Self {
        Self { rules: Arc::new(rules), random, table: Arc::default() }
    }

    /// The settings it computes with.
    #[must_use]
    pub fn rules(&self) -> &Politeness {
        &self.rules
    }

    /// Takes over what a lease knows about its origin; where both know something, the later instant wins.
    pub fn adopt(&self, origin: &Origin, pace: OriginPace) {
        let mut rows = self.table.lock();
        let row = rows.origins.entry(origin.clone()).or_default();
        row.pace = row.pace.merge(pace);
    }

    /// Sets what robots.txt asks for; above the longest accepted Crawl-delay the origin is parked.
    pub fn set_crawl_delay(&self, origin: &Origin, delay: Option<Duration>) {
        let mut rows = self.table.lock();
        rows.origins.entry(origin.clone()).or_default().pace.set_crawl_delay(delay, &self.rules);
    }

    /// Mints the right to send one request to `origin` now, or says when to come back and which clock binds.
    ///
    /// `candidates` are the checked addresses in the order of preference; the first is charged. Empty behind a
    /// proxy that resolves: then there is no address clock.
    ///
    /// # Errors
    /// The latest of the origin's clocks, `conc.origin`, `rate.address` or `conc.address`.
    pub fn try_slot(&self, origin: &Origin, candidates: Vec<SocketAddr>, now: Instant) -> Result<Slot, Ready> {
        let addresses: Vec<IpAddr> = candidates.iter().map(SocketAddr::ip).collect();
        let mut rows = self.table.lock();
        let rows = &mut *rows;
        let row = rows.origins.entry(origin.clone()).or_default();
        row.pace.set_floor(self.rules.floor_for(&addresses));
        row.admits(&self.rules, &*self.random, now)?;
        let charged = addresses.first().copied();
        if let Some(address) = charged {
            let pace = rows.addresses.entry(address).or_default();
            pace.try_take(self.rules.gap_for(address), self.rules.concurrency_for(address), now)?;
        }
        row.heads_outstanding += 1;
        row.in_flight += 1;
        rows.sweep_now_and_then(&self.rules, now);
        Ok(Slot::new(origin.clone(), candidates, charged, now, self.clone()))
    }

    /// When `origin` may be asked next, by everything known here.
    #[must_use]
    pub fn turn(&self, origin: &Origin, now: Instant) -> Turn {
        let mut rows = self.table.lock();
        let Some(row) = rows.origins.get_mut(origin) else {
            return Turn { ready: Ready { at: Instant::START, clock: Reason::Ok }, overlap: Overlap::AfterHead };
        };
        row.settle_orphan(&*self.random, now);
        let overlap = if row.pace.is_unpaced(&self.rules) { Overlap::Free } else { Overlap::AfterHead };
        Turn { ready: row.pace.ready_at(&self.rules), overlap }
    }

    /// The pace of `origin` as known here; the default when nothing is.
    #[must_use]
    pub fn pace(&self, origin: &Origin, now: Instant) -> OriginPace {
        let mut rows = self.table.lock();
        rows.origins.get_mut(origin).map_or_else(OriginPace::default, |row| {
            row.settle_orphan(&*self.random, now);
            row.pace
        })
    }

    /// Ends the exchange that `receipt` stands for and gives back the origin's new pace.
    #[must_use = "the new pace goes back to the frontier"]
    pub fn settle(&self, receipt: Receipt, outcome: Outcome, now: Instant) -> OriginPace {
        let mut slot = receipt.into_slot();
        if slot.state() != SlotState::Headed {
            // No head: the delay runs from the failure, whether the request had left already or not.
            slot.mark_failed(now, &*self.random);
        }
        let sent = slot.sent().unwrap_or_else(|| slot.minted());
        let origin = slot.origin().clone();
        drop(slot);
        let mut rows = self.table.lock();
        let row = rows.origins.entry(origin).or_default();
        row.pace.on_outcome(outcome, sent, now);
        row.pace
    }

    /// Requests open now, robots.txt included.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.table.lock().origins.values().map(|row| row.in_flight).sum()
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    pub(crate) fn random(&self) -> &dyn Random {
        &*self.random
    }
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        // A panic inside these short sections leaves counters at worst one too high: the polite side.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The request of a slot was written to `peer` at `now`.
    pub(crate) fn on_written(&self, peer: Option<IpAddr>, now: Instant) {
        if let Some(address) = peer {
            self.lock().addresses.entry(address).or_default().on_written(now);
        }
    }

    /// Moves the charge of an unsent slot from one address to another.
    pub(crate) fn recharge(
        &self,
        rules: &Politeness,
        from: Option<IpAddr>,
        to: IpAddr,
        now: Instant,
    ) -> Result<(), Ready> {
        let mut rows = self.lock();
        rows.addresses.entry(to).or_default().try_take(rules.gap_for(to), rules.concurrency_for(to), now)?;
        if let Some(pace) = from.and_then(|address| rows.addresses.get_mut(&address)) {
            pace.on_unsent();
        }
        Ok(())
    }

    /// The response head came, or the exchange failed, at `now`.
    pub(crate) fn on_head(&self, origin: &Origin, now: Instant, latency: Option<Duration>, random: &dyn Random) {
        let mut rows = self.lock();
        let row = rows.origins.entry(origin.clone()).or_default();
        row.heads_outstanding = row.heads_outstanding.saturating_sub(1);
        row.pace.on_head(now, latency, random);
    }

    /// A slot is gone: gives back what it held in its last state.
    pub(crate) fn on_drop(&self, origin: &Origin, charged: Option<IpAddr>, state: SlotState) {
        let mut rows = self.lock();
        if let Some(row) = rows.origins.get_mut(origin) {
            row.in_flight = row.in_flight.saturating_sub(1);
            if state != SlotState::Headed {
                row.heads_outstanding = row.heads_outstanding.saturating_sub(1);
            }
            row.orphaned |= state == SlotState::Written;
        }
        if let Some(pace) = charged.and_then(|address| rows.addresses.get_mut(&address)) {
            match state {
                SlotState::Minted => pace.on_unsent(),
                SlotState::Written | SlotState::Headed => pace.on_over(),
                SlotState::Failed { written: false } => pace.on_unsent(),
                SlotState::Failed { written: true } => pace.on_over(),
            }
        }
    }
}

impl Rows {
    /// Forgets rows whose past no longer matters, once in a while, so that memory follows the active origins.
    fn sweep_now_and_then(&mut self, rules: &Politeness, now: Instant) {
        const EVERY: u32 = 4096;
        self.mints = (self.mints + 1) % EVERY;
        if self.mints != 0 {
            return;
        }
        self.origins.retain(|_, row| !row.is_idle(rules, now));
        self.addresses.retain(|address, pace| !pace.is_idle(rules.gap_for(*address), now));
    }
}

impl OriginRow {
    /// Nothing in flight, every clock passed, no failure to remember.
    fn is_idle(&self, rules: &Politeness, now: Instant) -> bool {
        self.in_flight == 0 && !self.orphaned && self.pace.failures() == 0 && self.pace.ready_at(rules).at <= now
    }

    fn settle_orphan(&mut self, random: &dyn Random, now: Instant) {
        if std::mem::take(&mut self.orphaned) {
            self.pace.on_head(now, None, random);
        }
    }

    fn admits(&mut self, rules: &Politeness, random: &dyn Random, now: Instant) -> Result<(), Ready> {
        self.settle_orphan(random, now);
        let ready = self.pace.ready_at(rules);
        if ready.at > now {
            return Err(ready);
        }
        let head_blocks = self.heads_outstanding > 0 && !self.pace.is_unpaced(rules);
        if head_blocks || self.in_flight >= rules.per_origin.max(1) {
            return Err(Ready { at: now.after(Self::LOOK_AGAIN), clock: Reason::ConcOrigin });
        }
        Ok(())
    }

    /// A head or an end is an event and not an instant: whoever meets it unannounced looks again after this.
    const LOOK_AGAIN: Duration = Duration::from_millis(20);
}
