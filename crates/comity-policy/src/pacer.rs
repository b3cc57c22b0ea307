mod rows;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use comity_url::Origin;

pub(crate) use self::rows::Table;
use self::rows::{Rows, address_row, origin_row};
use crate::hours::Hours;
use crate::slot::{Slot, SlotState};
use crate::{
    Aim, AskedPace, ClockReading, Floor, Instant, Moment, OriginPace, Outcome, Politeness, Random, Ready, Reason,
    Receipt, RobotsChain,
};

/// The table of paces in use, and the only maker of [`Slot`]s.
///
/// It holds a row only for origins and addresses whose past still matters; what a row knew goes back with
/// [`Pacer::settle`] and comes again with [`Pacer::adopt`]. Every method is one short critical section; none waits.
#[derive(Clone, Debug)]
pub struct Pacer {
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

/// An origin that is left alone for long: parked, or outside its hours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    /// The origin.
    pub origin: Origin,
    /// Why: `park.retry_after`, `park.crawl_delay` or `rate.visit_time`.
    pub reason: Reason,
    /// Until when; `None`: until its robots.txt or the configuration changes.
    pub until: Option<Instant>,
}

/// Every clock of one origin, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginClocks {
    /// The earliest instant of the next page, and the clock that binds.
    pub ready: Ready,
    /// Every clock that says something: the origin's own.
    pub readings: Vec<ClockReading>,
    /// Requests open, robots.txt included.
    pub in_flight: u32,
    /// Requests whose response head is outstanding.
    pub heads_outstanding: u32,
    /// The address that was last charged for it; `None` when none was.
    pub address: Option<AddressClock>,
}

/// The clock of one address: gap and concurrency over all origins on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressClock {
    /// The address.
    pub address: IpAddr,
    /// Between two requests, from the written request.
    pub gap: Duration,
    /// When the gap is over; [`Instant::START`] when it is.
    pub free: Instant,
    /// Requests open.
    pub in_flight: u32,
    /// Requests that may be open.
    pub most: u32,
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

impl Pacer {
    /// A pacer with no past. Only the gate may make one (invariant 1): a second pacer would forge slots.
    #[must_use]
    pub fn new(rules: Politeness, random: Arc<dyn Random>) -> Self {
        Self { random, table: Arc::new(Table::new(rules, Rows::default())) }
    }

    /// A pacer whose process follows another one of the same agent: every origin waits one full delay from `now` on, and
    /// every address one gap, whether this process knows it or not (invariant 4). Only the gate may make one.
    #[must_use]
    pub fn after_restart(rules: Politeness, random: Arc<dyn Random>, now: Instant) -> Self {
        let rows = Rows { restarted: Some(now), ..Rows::default() };
        Self { random, table: Arc::new(Table::new(rules, rows)) }
    }

    /// The settings it computes with.
    #[must_use]
    pub fn rules(&self) -> Arc<Politeness> {
        self.table.rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Computes with other settings from now on. Slots that were minted hold; the next one of every origin waits for what the
    /// new settings say, from the head that came last.
    pub fn set_rules(&self, rules: Politeness) {
        *self.table.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
    }

    /// Takes over what a lease knows about its origin; where both know something, the later instant wins.
    pub fn adopt(&self, origin: &Origin, pace: OriginPace) {
        let mut rows = self.table.lock();
        let row = rows.origin(origin);
        row.pace = row.pace.merge(pace);
    }

    /// Sets what robots.txt asks for, read at `at`; above the longest accepted Crawl-delay the origin is parked.
    ///
    /// Hours of the day are converted by `at` from here on: set anew before each turn, a civil clock that was moved
    /// meanwhile counts at once.
    pub fn set_asked(&self, origin: &Origin, asked: &AskedPace, at: Moment) {
        let mut rows = self.table.lock();
        let row = rows.origin(origin);
        row.pace.set_crawl_delay(asked.delay(), &self.rules());
        row.hours = Hours::new(asked, at).map(Box::new);
    }

    /// Says whether the least delay and gap hold for `origin` from now on: not while a rate override is in force.
    pub fn set_floor(&self, origin: &Origin, floor: Floor) {
        let mut rows = self.table.lock();
        if floor == Floor::AsSet || rows.origins.contains_key(origin) {
            rows.origin(origin).floor = floor;
        }
    }

    /// Mints the right to send one request to `origin` now, or says when to come back and which clock binds.
    ///
    /// `candidates` are the checked addresses in the order of preference; the first is charged. Empty behind a
    /// proxy that resolves: then there is no address clock.
    ///
    /// # Errors
    /// The latest of the origin's clocks, `conc.origin`, `rate.address` or `conc.address`.
    pub fn try_slot(&self, origin: &Origin, candidates: Vec<SocketAddr>, now: Instant) -> Result<Slot, Ready> {
        self.mint(Aim::Page, origin, candidates, now)
    }

    /// The same for the next request of a robots.txt chain, which no hour of the day holds back.
    ///
    /// # Errors
    /// As [`Pacer::try_slot`].
    pub fn try_robots_slot(
        &self,
        chain: &RobotsChain,
        candidates: Vec<SocketAddr>,
        now: Instant,
    ) -> Result<Slot, Ready> {
        self.mint(Aim::RobotsTxt, chain.next_url().origin(), candidates, now)
    }

    fn mint(&self, aim: Aim, origin: &Origin, candidates: Vec<SocketAddr>, now: Instant) -> Result<Slot, Ready> {
        let rules = self.rules();
        let addresses: Vec<IpAddr> = candidates.iter().map(SocketAddr::ip).collect();
        let mut rows = self.table.lock();
        let rows = &mut *rows;
        let row = origin_row(&mut rows.origins, rows.restarted, origin);
        row.pace.set_floor(rules.floor_for(&addresses, row.floor));
        row.admits(aim, &rules, &*self.random, now)?;
        let charged = addresses.first().copied();
        if let Some(address) = charged {
            let pace = address_row(&mut rows.addresses, rows.restarted, address);
            let gap = rules.gap_for(address, row.floor);
            let taken = pace.try_take(gap, rules.concurrency_for(address), now);
            taken.map_err(|ready| row.not_before(aim, &rules, ready))?;
            row.address = charged;
        }
        row.heads_outstanding += 1;
        row.in_flight += 1;
        let closes = row.closing(aim, &rules, now);
        rows.sweep_now_and_then(&rules, now);
        Ok(Slot::new(origin.clone(), candidates, (charged, closes), now, self.clone()))
    }

    /// When `origin` may be asked for a page next, by everything known here.
    #[must_use]
    pub fn turn(&self, origin: &Origin, now: Instant) -> Turn {
        self.turn_for(Aim::Page, origin, now)
    }

    /// When the next request of a robots.txt chain may be sent, by everything known here.
    #[must_use]
    pub fn robots_turn(&self, chain: &RobotsChain, now: Instant) -> Turn {
        self.turn_for(Aim::RobotsTxt, chain.next_url().origin(), now)
    }

    fn turn_for(&self, aim: Aim, origin: &Origin, now: Instant) -> Turn {
        let mut rows = self.table.lock();
        let Some(row) = rows.origins.get_mut(origin) else {
            return Turn { ready: Ready { at: Instant::START, clock: Reason::Ok }, overlap: Overlap::AfterHead };
        };
        row.settle_orphan(&*self.random, now);
        let overlap = if row.is_unpaced(&self.rules()) { Overlap::Free } else { Overlap::AfterHead };
        Turn { ready: row.ready(aim, &self.rules(), now), overlap }
    }

    /// Every clock of `origin`, and of the address that was last charged for it; `None` when it is not known here.
    #[must_use]
    pub fn clocks(&self, origin: &Origin, now: Instant) -> Option<OriginClocks> {
        let mut rows = self.table.lock();
        let row = rows.origins.get_mut(origin)?;
        row.settle_orphan(&*self.random, now);
        let ready = row.ready(Aim::Page, &self.rules(), now);
        let clocks = OriginClocks {
            ready,
            readings: row.pace.clocks(&self.rules()).into_iter().flatten().collect(),
            in_flight: row.in_flight,
            heads_outstanding: row.heads_outstanding,
            address: None,
        };
        let address = row.address.map(|address| rows.address_clock(&self.rules(), address));
        Some(OriginClocks { address, ..clocks })
    }

    /// The clock of an address over all origins on it.
    #[must_use]
    pub fn address_clock(&self, address: IpAddr) -> AddressClock {
        self.table.lock().address_clock(&self.rules(), address)
    }

    /// Origins that are parked or outside their hours at `now`: those that come back first, `most` of them.
    #[must_use]
    pub fn parked(&self, now: Instant, most: usize) -> Vec<Parked> {
        let (rules, mut rows) = (self.rules(), self.table.lock());
        let mut parked: Vec<(Instant, Parked)> =
            rows.origins.iter_mut().filter_map(|(origin, row)| row.parked(origin, &rules, now)).collect();
        drop(rows);
        parked.sort_unstable_by(|a, b| (a.0, &a.1.origin).cmp(&(b.0, &b.1.origin)));
        parked.truncate(most);
        parked.into_iter().map(|(_, parked)| parked).collect()
    }

    /// The pace of `origin` as known here; the default when nothing is.
    #[must_use]
    pub fn pace(&self, origin: &Origin, now: Instant) -> OriginPace {
        let mut rows = self.table.lock();
        rows.origins.get_mut(origin).map_or_else(OriginPace::default, |row| {
            row.settle_orphan(&*self.random, now);
            row.ready(Aim::Page, &self.rules(), now);
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
        let row = rows.origin(&origin);
        row.pace.on_outcome(outcome, sent, now);
        row.ready(Aim::Page, &self.rules(), now);
        row.pace
    }

    /// Whether `origin` was asked for anything, or may have been: its back-off is known here.
    #[must_use]
    pub fn has_asked(&self, origin: &Origin) -> bool {
        self.table.lock().origins.get(origin).is_some_and(|row| row.pace.seen)
    }

    /// Requests open now, robots.txt included.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.table.lock().origins.values().map(|row| row.in_flight).sum()
    }

    /// Requests open to origins that `chosen` picks, robots.txt included.
    #[must_use]
    pub fn in_flight_to(&self, chosen: impl Fn(&Origin) -> bool) -> u32 {
        let rows = self.table.lock();
        let open = rows.origins.iter().filter(|(_, row)| row.in_flight > 0);
        open.filter(|(origin, _)| chosen(origin)).map(|(_, row)| row.in_flight).sum()
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    pub(crate) fn random(&self) -> &dyn Random {
        &*self.random
    }
}
