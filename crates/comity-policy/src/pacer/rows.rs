//! What the pacer knows of origins and addresses, a row for each whose past still matters.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use comity_url::Origin;

use super::{AddressClock, Parked};
use crate::hours::Hours;
use crate::slot::SlotState;
use crate::{AddressPace, Aim, Floor, Instant, OriginPace, Politeness, Random, Ready, Reason};

/// The shared table; slots point back at it so that a dropped one gives back what it held.
#[derive(Debug)]
pub(crate) struct Table {
    pub(super) rules: RwLock<Arc<Politeness>>,
    pub(super) rows: Mutex<Rows>,
}

#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(super) origins: HashMap<Origin, OriginRow>,
    pub(super) addresses: HashMap<IpAddr, AddressPace>,
    pub(super) mints: u32,
    /// Set after a restart: what an earlier process sent is unknown, so every delay and gap runs from here at least.
    pub(super) restarted: Option<Instant>,
}

#[derive(Debug, Default)]
pub(super) struct OriginRow {
    pub(super) pace: OriginPace,
    /// What robots.txt asks at some hours of the day only.
    pub(super) hours: Option<Box<Hours>>,
    /// The address that was charged last.
    pub(super) address: Option<IpAddr>,
    pub(super) heads_outstanding: u32,
    pub(super) in_flight: u32,
    /// A slot was dropped after its first written byte: the failure happened, its instant is the next look's.
    pub(super) orphaned: bool,
    /// Whether the least floors hold, as told last.
    pub(super) floor: Floor,
}

impl Table {
    pub(super) fn new(rules: Politeness, rows: Rows) -> Self {
        Self { rules: RwLock::new(Arc::new(rules)), rows: Mutex::new(rows) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Rows> {
        // A panic inside these short sections leaves counters at worst one too high: the polite side.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The request of a slot was written to `peer` at `now`.
    pub(crate) fn on_written(&self, peer: Option<IpAddr>, now: Instant) {
        if let Some(address) = peer {
            self.lock().address(address).on_written(now);
        }
    }

    /// Moves the charge of an unsent slot from one address to another.
    pub(crate) fn recharge(
        &self,
        (rules, origin): (&Politeness, &Origin),
        from: Option<IpAddr>,
        to: IpAddr,
        now: Instant,
    ) -> Result<(), Ready> {
        let mut rows = self.lock();
        let gap = rules.gap_for(to, rows.origins.get(origin).map_or(Floor::Least, |row| row.floor));
        rows.address(to).try_take(gap, rules.concurrency_for(to), now)?;
        if let Some(pace) = from.and_then(|address| rows.addresses.get_mut(&address)) {
            pace.on_unsent();
        }
        if let Some(row) = rows.origins.get_mut(origin) {
            row.address = Some(to);
        }
        Ok(())
    }

    /// The response head came, or the exchange failed, at `now`.
    pub(crate) fn on_head(&self, origin: &Origin, now: Instant, latency: Option<Duration>, random: &dyn Random) {
        let mut rows = self.lock();
        let row = rows.origin(origin);
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

/// The row of an origin, made when there is none.
pub(super) fn origin_row<'a>(
    origins: &'a mut HashMap<Origin, OriginRow>,
    restarted: Option<Instant>,
    origin: &Origin,
) -> &'a mut OriginRow {
    let fresh = || OriginRow {
        pace: restarted.map_or_else(OriginPace::default, OriginPace::restarted),
        ..OriginRow::default()
    };
    origins.entry(origin.clone()).or_insert_with(fresh)
}

/// The row of an address, made when there is none.
pub(super) fn address_row(
    addresses: &mut HashMap<IpAddr, AddressPace>,
    restarted: Option<Instant>,
    address: IpAddr,
) -> &mut AddressPace {
    addresses.entry(address).or_insert_with(|| AddressPace::sent(restarted))
}

impl Rows {
    pub(super) fn origin(&mut self, origin: &Origin) -> &mut OriginRow {
        origin_row(&mut self.origins, self.restarted, origin)
    }

    pub(super) fn address(&mut self, address: IpAddr) -> &mut AddressPace {
        address_row(&mut self.addresses, self.restarted, address)
    }

    pub(super) fn address_clock(&self, rules: &Politeness, address: IpAddr) -> AddressClock {
        let pace = self.addresses.get(&address).copied().unwrap_or_else(|| AddressPace::sent(self.restarted));
        let gap = rules.gap_for(address, Floor::Least);
        let (free, in_flight) = (pace.free(gap), pace.in_flight());
        AddressClock { address, gap, free, in_flight, most: rules.concurrency_for(address) }
    }

    /// Forgets rows whose past no longer matters, once in a while, so that memory follows the active origins.
    pub(super) fn sweep_now_and_then(&mut self, rules: &Politeness, now: Instant) {
        const EVERY: u32 = 4096;
        self.mints = (self.mints + 1) % EVERY;
        if self.mints != 0 {
            return;
        }
        self.origins.retain(|_, row| !row.is_idle(rules, now));
        self.addresses.retain(|address, pace| !pace.is_idle(rules.gap_for(*address, Floor::Least), now));
    }
}

impl OriginRow {
    /// Nothing in flight, every clock passed, no failure to remember.
    pub(super) fn is_idle(&self, rules: &Politeness, now: Instant) -> bool {
        self.in_flight == 0 && !self.orphaned && self.pace.failures() == 0 && self.pace.ready_at(rules).at <= now
    }

    pub(super) fn settle_orphan(&mut self, random: &dyn Random, now: Instant) {
        if std::mem::take(&mut self.orphaned) {
            self.pace.on_head(now, None, random);
        }
    }

    pub(super) fn admits(
        &mut self,
        aim: Aim,
        rules: &Politeness,
        random: &dyn Random,
        now: Instant,
    ) -> Result<(), Ready> {
        self.settle_orphan(random, now);
        let ready = self.ready(aim, rules, now);
        if ready.at > now {
            return Err(ready);
        }
        let head_blocks = self.heads_outstanding > 0 && !self.is_unpaced(rules);
        if head_blocks || self.in_flight >= rules.per_origin.max(1) {
            let again = Ready { at: now.after(Self::LOOK_AGAIN), clock: Reason::ConcOrigin };
            return Err(self.not_before(aim, rules, again));
        }
        Ok(())
    }

    /// Nothing but concurrency holds it back, at any hour.
    pub(super) fn is_unpaced(&self, rules: &Politeness) -> bool {
        self.pace.is_unpaced(rules) && self.hours.as_ref().is_none_or(|hours| !hours.has_delay())
    }

    /// The latest of all clocks; from `now` on the hours of the day leave no later instant out.
    pub(super) fn ready(&mut self, aim: Aim, rules: &Politeness, now: Instant) -> Ready {
        self.pace.open();
        let ready = self.pace.ready_at(rules);
        let Some(hours) = &self.hours else { return ready };
        hours.close(aim, &mut self.pace, rules, ready.at.max(now));
        self.pace.ready_at(rules)
    }

    /// `ready`, or when the hours of the day let it after that: what is told is never too early.
    pub(super) fn not_before(&mut self, aim: Aim, rules: &Politeness, ready: Ready) -> Ready {
        let hours = self.ready(aim, rules, ready.at);
        if hours.at > ready.at { hours } else { ready }
    }

    /// Until when a request may be written that may leave now.
    pub(super) fn closing(&self, aim: Aim, rules: &Politeness, now: Instant) -> Option<Instant> {
        self.hours.as_ref()?.closing(aim, &self.pace, rules, now)
    }

    pub(super) fn parked(&mut self, origin: &Origin, rules: &Politeness, now: Instant) -> Option<(Instant, Parked)> {
        let ready = self.ready(Aim::Page, rules, now);
        let reason = ready.clock;
        let for_long = matches!(reason, Reason::ParkRetryAfter | Reason::ParkCrawlDelay | Reason::RateVisitTime);
        let until = (ready.at != Instant::NEVER).then_some(ready.at);
        let parked = || (ready.at, Parked { origin: origin.clone(), reason, until });
        (for_long && ready.at > now).then(parked)
    }

    /// A head or an end is an event and not an instant: whoever meets it unannounced looks again after this.
    pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(20);
}
