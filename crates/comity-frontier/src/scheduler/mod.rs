mod classes;
mod due;
mod leases;
mod origin;
mod settle;
mod step;

use std::collections::HashMap;

use comity_policy::{Instant, Ready, Reason, Turn};
use comity_url::Origin;

pub use self::settle::{Expired, LeasedUrl};
pub use self::step::{Candidate, Fill, Step, StoredUrl};

use self::due::Due;
use self::leases::Leases;
use self::origin::{Held, OriginState};
use crate::{Ending, SchedulerConfig, Stats, Summary, TurnNews, Waiting};

/// The order in which URLs are leased: a state machine without I/O, clock or task.
///
/// Every method takes the time and says what to do; whoever drives it ([`Local`](crate::Local)) reads and writes the
/// store and asks the judge. It stores one instant per origin that it is *told* and computes no delay. A call costs
/// a logarithm of the number of origins; none walks over all.
///
/// What it is told must be committed first: it never knows of a URL that the store could lose.
#[derive(Debug)]
pub struct Scheduler {
    config: SchedulerConfig,
    origins: Vec<OriginState>,
    index: HashMap<Origin, u32>,
    due: Due,
    leases: Leases,
    latest: Instant,
    ready: u64,
    totals: Totals,
}

/// Sums over all origins, kept as they change.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    admitted: u64,
    queued: u64,
    done: u64,
    refused: u64,
    failed: u64,
    damaged: u64,
    turned_away: u64,
    expired: u64,
    stale: u64,
}

impl Scheduler {
    /// A scheduler that knows no origin.
    #[must_use]
    pub fn new(config: SchedulerConfig) -> Self {
        Self {
            config,
            origins: Vec::new(),
            index: HashMap::new(),
            due: Due::default(),
            leases: Leases::default(),
            latest: Instant::START,
            ready: 0,
            totals: Totals::default(),
        }
    }

    /// Its bounds.
    #[must_use]
    pub const fn config(&self) -> &SchedulerConfig {
        &self.config
    }

    /// The counts of an origin; `None` when it is unknown.
    #[must_use]
    pub fn summary(&self, origin: &Origin) -> Option<&Summary> {
        let index = *self.index.get(origin)?;
        self.origins.get(index as usize).map(|state| &state.summary)
    }

    /// Origins known.
    #[must_use]
    pub fn origins(&self) -> u64 {
        self.origins.len() as u64
    }

    /// Records in the queue, leased ones among them.
    #[must_use]
    pub const fn queued(&self) -> u64 {
        self.totals.queued
    }

    /// Tells the time; an earlier one than before counts as that.
    pub fn advance(&mut self, now: Instant) {
        self.latest = self.latest.max(now);
    }

    /// Takes over an origin found in the store: its records are read from the head once. It is not due before
    /// `ready`, since what was asked of it just before the stop is not known.
    pub fn restore(&mut self, origin: &Origin, summary: Summary, ready: Ready) {
        let index = self.know(origin);
        let classes = summary.classes().to_vec();
        self.adopt(origin, summary);
        self.with(index, |state| {
            state.turn.ready = ready;
            for (priority, count) in classes {
                state.classes.append(priority, 0, count);
            }
        });
    }

    /// Replaces the counts of an origin by those just committed.
    pub fn adopt(&mut self, origin: &Origin, summary: Summary) {
        let index = self.know(origin);
        if let Some(state) = self.origins.get_mut(index as usize) {
            self.totals.subtract(&state.summary);
            self.totals.add(&summary);
            state.summary = summary;
        }
    }

    /// One record of `priority` was committed at `sequence`.
    pub fn append(&mut self, origin: &Origin, priority: u8, sequence: u64) {
        let index = self.know(origin);
        self.with(index, |state| state.classes.append(priority, sequence, 1));
    }

    /// Counts offers that a budget turned away.
    pub const fn turn_away(&mut self, offers: u64) {
        self.totals.turned_away += offers;
    }

    /// Takes in what was learnt about an origin outside a lease. News of an unknown origin are kept while there is
    /// room for one more.
    pub fn turn(&mut self, origin: &Origin, news: TurnNews, now: Instant) {
        self.advance(now);
        if self.origins() >= self.config.origins && !self.index.contains_key(origin) {
            return;
        }
        let index = self.know(origin);
        self.with(index, |state| {
            state.robots = None;
            match news {
                TurnNews::RobotsReady { turn } => {
                    state.turn = turn;
                    state.hold = None;
                }
                TurnNews::Hold { until, reason } => {
                    state.hold = Some(Held { until: until.unwrap_or(Instant::NEVER), reason });
                }
            }
        });
    }

    /// Stops leasing from an origin until `until`, or until released.
    pub fn park(&mut self, origin: &Origin, reason: Reason, until: Option<Instant>, now: Instant) {
        self.advance(now);
        let index = self.know(origin);
        self.with(index, |state| state.park = Some(Held { until: until.unwrap_or(Instant::NEVER), reason }));
    }

    /// Ends a park and any hold of the judge.
    pub fn release(&mut self, origin: &Origin, now: Instant) {
        self.advance(now);
        let Some(index) = self.index.get(origin).copied() else { return };
        self.with(index, |state| {
            state.park = None;
            state.hold = None;
        });
    }

    /// When to look again if nothing happens before: the next due origin, unless all leases are out, or the next
    /// deadline of a lease.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        let due = if self.is_full() { None } else { self.due.next() };
        [due, self.leases.next_deadline()].into_iter().flatten().min()
    }

    /// Counts, the next due instant, and who waits for what.
    #[must_use]
    pub fn stats(&self, now: Instant) -> Stats {
        let leased = u64::from(self.leases.held());
        let Totals { admitted, queued, done, refused, failed, damaged, turned_away, expired, stale } = self.totals;
        Stats {
            queued: queued.saturating_sub(leased).saturating_sub(damaged),
            leased,
            seen: admitted,
            done,
            refused,
            failed,
            damaged,
            origins: self.origins(),
            stuck: self.due.stuck() as u64,
            turned_away,
            expired,
            stale,
            next_due: self.due.next(),
            waiting: self.waiting(now.max(self.latest)),
        }
    }

    fn waiting(&self, now: Instant) -> Vec<Waiting> {
        let waiting = self.due.waiting(now).filter_map(|index| self.origins.get(index as usize));
        waiting.take(self.config.waiting_listed).map(|state| self.describe(state, now)).collect()
    }

    fn describe(&self, state: &OriginState, now: Instant) -> Waiting {
        let told = state.place.map(|place| place.at()).filter(|at| *at != Instant::NEVER && !state.awaits_robots(now));
        let (origin, why) = (state.origin.clone(), state.why(&self.config, now));
        Waiting { origin, why, until: told, queued: state.waiting() }
    }

    fn is_full(&self) -> bool {
        self.leases.held() >= self.config.leases.max(1)
    }

    fn know(&mut self, origin: &Origin) -> u32 {
        if let Some(index) = self.index.get(origin) {
            return *index;
        }
        let index = u32::try_from(self.origins.len()).unwrap_or(u32::MAX);
        self.index.insert(origin.clone(), index);
        self.origins.push(OriginState::new(origin.clone()));
        index
    }

    /// Changes an origin and moves it to where it then belongs among the due ones.
    fn with(&mut self, index: u32, change: impl FnOnce(&mut OriginState)) {
        let Some(state) = self.origins.get_mut(index as usize) else { return };
        change(state);
        let due = state.due(&self.config);
        state.place = self.due.place(index, state.place, due, self.latest);
    }

    /// As [`Scheduler::with`], for an origin that just had its turn: it goes behind all that are due.
    fn serve(&mut self, index: u32, change: impl FnOnce(&mut OriginState)) {
        if let Some(state) = self.origins.get_mut(index as usize)
            && let Some(place) = state.place.take()
        {
            self.due.remove(index, place);
        }
        self.with(index, change);
    }
}

impl Totals {
    fn add(&mut self, summary: &Summary) {
        self.admitted += summary.admitted();
        self.queued += summary.queued();
        self.done += summary.ended(Ending::Done);
        self.refused += summary.ended(Ending::Refused);
        self.failed += summary.ended(Ending::Failed);
    }

    fn subtract(&mut self, summary: &Summary) {
        self.admitted -= summary.admitted();
        self.queued -= summary.queued();
        self.done -= summary.ended(Ending::Done);
        self.refused -= summary.ended(Ending::Refused);
        self.failed -= summary.ended(Ending::Failed);
    }
}

/// A turn that names an instant for a reason.
const fn turn_at(turn: Turn, at: Instant, clock: Reason) -> Turn {
    Turn { ready: Ready { at, clock }, overlap: turn.overlap }
}
