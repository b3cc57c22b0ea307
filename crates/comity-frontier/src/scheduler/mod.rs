mod check;
mod deadlines;
mod due;
mod leases;
mod limits;
mod lines;
mod origin;
mod queue;
mod settle;
mod shares;
mod shelf;
mod sleep;
mod step;
mod warm;

use std::collections::HashMap;

use comity_policy::{Instant, Ready, Reason, Turn};
use comity_url::Origin;

pub use self::limits::QueueLimits;
pub use self::settle::{Expired, LeasedUrl};
pub use self::step::{Candidate, Fill, Step, StoredUrl};

use self::leases::Leases;
use self::lines::Lines;
use self::origin::{OriginState, Particulars};
use self::shelf::Shelf;
pub(crate) use self::sleep::{Sleeper, Waking};
use crate::rest::{Held, Row};
use crate::totals::Totals;
use crate::{SchedulerConfig, Stats, Summary, TurnNews, Waiting};

/// The order in which URLs are leased: a state machine without I/O, clock or task.
///
/// Every method takes the time and says what to do; whoever drives it ([`Local`](crate::Local)) reads and writes the
/// store and asks the judge. It stores one instant per origin that it is *told* and computes no delay. None of its calls
/// walks over all origins: a timing wheel finds the next one (decisions 0034 and 0044).
///
/// It knows the origins that are in memory; the others sleep in the store, and of those it knows when the first is due.
///
/// What it is told must be committed first: it never knows of a URL that the store could lose.
///
/// # Invariants
///
/// 1. Of one origin there are `per_origin` leases for fetches at most; those whose head is outstanding are among them, and
///    they among the leases of any kind.
/// 2. An origin stands among those that come due once at most, exactly while it is eligible, at the latest of what it was
///    told and not before the instant at which it became eligible.
/// 3. The leases of all origins add up to the leases in the table.
/// 4. What stands first among those of one class that come due is the earliest, by instant and then by ticket; what stands
///    first among the deadlines is the earliest, and runs.
/// 5. A class in which something is due has its turn after at most as many looks at others as their shares add up to.
///
/// 6. What a lease tells of the bytes received is what the origin's counts say.
///
/// Debug builds check the first two and the last for each origin that changes, the third now and then, so that it costs each change a
/// constant share, and the fourth as their types say. The property tests hold all of it against a slow model.
#[derive(Debug)]
pub struct Scheduler {
    config: SchedulerConfig,
    /// The most leases of one origin at once that were ever allowed.
    widest: u32,
    /// Of the origins in memory, what a turn needs.
    origins: Vec<OriginState>,
    /// Of the same origins, in the same places, what it does not need.
    particulars: Vec<Particulars>,
    /// The URLs held ready.
    shelf: Shelf,
    index: HashMap<Origin, u32>,
    /// Places in `origins` whose origin went to sleep.
    free: Vec<u32>,
    due: Lines,
    /// Instant and ticket of the sleeping origin that is due first.
    horizon: Option<(Instant, u64)>,
    leases: Leases,
    latest: Instant,
    totals: Totals,
    /// Origins in memory of which the store has no record.
    unstored: u64,
    /// Sleeping origins that only an event can make due.
    stuck_asleep: u64,
    since_start: SinceStart,
    /// Looks for a URL until records are read ahead again.
    warm: usize,
    /// Changes since the sums were checked, in debug builds.
    unchecked: usize,
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default)]
struct SinceStart {
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
            widest: config.per_origin.max(1),
            config,
            origins: Vec::new(),
            particulars: Vec::new(),
            shelf: Shelf::default(),
            index: HashMap::new(),
            free: Vec::new(),
            due: Lines::default(),
            horizon: None,
            leases: Leases::default(),
            latest: Instant::START,
            totals: Totals::default(),
            unstored: 0,
            stuck_asleep: 0,
            since_start: SinceStart::default(),
            warm: 0,
            unchecked: 0,
        }
    }

    /// Its bounds.
    #[must_use]
    pub const fn config(&self) -> &SchedulerConfig {
        &self.config
    }

    /// The counts of an origin in memory.
    #[must_use]
    pub fn summary(&self, origin: &Origin) -> Option<&Summary> {
        self.particulars(origin).map(|particulars| &particulars.summary)
    }

    /// Origins known, sleeping ones too.
    #[must_use]
    pub const fn origins(&self) -> u64 {
        self.totals.origins + self.unstored
    }

    /// Records in the queue, leased ones among them.
    #[must_use]
    pub const fn queued(&self) -> u64 {
        self.totals.queued
    }

    /// Tells the time; an earlier one than before counts as that.
    #[inline]
    pub fn advance(&mut self, now: Instant) {
        self.latest = self.latest.max(now);
    }

    /// Replaces the counts of an origin by those just committed, with its key among those that come due.
    pub(crate) fn adopt(&mut self, origin: &Origin, summary: Summary, row: Option<Row>) {
        let index = self.know(origin);
        if let Some(state) = self.origins.get_mut(index as usize) {
            state.received = summary.bytes();
        }
        if let Some(known) = self.particulars.get_mut(index as usize) {
            known.summary = summary;
            known.row = row;
            self.unstored -= u64::from(!std::mem::replace(&mut known.stored, true));
        }
    }

    /// One record of `priority` was committed at `sequence`.
    pub fn append(&mut self, origin: &Origin, priority: u8, sequence: u64) {
        let index = self.know(origin);
        self.with(index, |state, _| state.queue.append(priority, sequence, 1));
    }

    /// Counts offers that a budget turned away.
    pub const fn turn_away(&mut self, offers: u64) {
        self.since_start.turned_away += offers;
    }

    /// Takes in what was learnt about an origin outside a lease. News of an unknown origin are kept while there is
    /// room for one more.
    pub fn turn(&mut self, origin: &Origin, news: TurnNews, now: Instant) {
        self.advance(now);
        if self.origins() >= self.config.origins && !self.knows(origin) {
            return;
        }
        let index = self.know(origin);
        self.with(index, |state, _| {
            let hold = match news {
                TurnNews::RobotsReady { turn } => {
                    state.set_turn(turn);
                    None
                }
                TurnNews::Hold { until, reason } => Some(Held { until: until.unwrap_or(Instant::NEVER), reason }),
            };
            state.change_rare(|rare| (rare.robots, rare.hold) = (None, hold));
        });
    }

    /// Stops leasing from an origin until `until`, or until released.
    pub fn park(&mut self, origin: &Origin, reason: Reason, until: Option<Instant>, now: Instant) {
        self.advance(now);
        let index = self.know(origin);
        let park = Some(Held { until: until.unwrap_or(Instant::NEVER), reason });
        self.with(index, |state, _| state.change_rare(|rare| rare.park = park));
    }

    /// Ends a park and any hold of the judge.
    pub fn release(&mut self, origin: &Origin, now: Instant) {
        self.advance(now);
        let Some(index) = self.index.get(origin).copied() else { return };
        self.with(index, |state, _| state.change_rare(|rare| (rare.park, rare.hold) = (None, None)));
    }

    /// When to look again if nothing happens before: the next due origin, unless all leases are out, or the next
    /// deadline of a lease.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        let due = if self.is_full() { None } else { self.next_due() };
        [due, self.leases.next_deadline()].into_iter().flatten().min()
    }

    /// Counts, the next due instant, and who of those in memory waits for what.
    #[must_use]
    pub fn stats(&self, now: Instant) -> Stats {
        let leased = u64::from(self.leases.held());
        let Totals { admitted, queued, done, refused, failed, scheduled, spent, .. } = self.totals;
        let SinceStart { damaged, turned_away, expired, stale } = self.since_start;
        Stats {
            queued: queued.saturating_sub(leased).saturating_sub(damaged),
            leased,
            seen: admitted,
            done,
            refused,
            failed,
            damaged,
            scheduled,
            returned: 0,
            spent,
            next_visit: None,
            origins: self.origins(),
            stuck: self.due.stuck() as u64 + self.stuck_asleep,
            turned_away,
            expired,
            stale,
            next_due: self.next_due(),
            waiting: self.waiting(now.max(self.latest)),
        }
    }

    fn waiting(&self, now: Instant) -> Vec<Waiting> {
        let waiting = self.due.waiting(now, self.config.waiting_listed).into_iter().map(|index| index as usize);
        let waiting = waiting.filter_map(|index| self.origins.get(index).zip(self.particulars.get(index)));
        waiting.filter_map(|(state, known)| Some(self.describe(known.origin.as_ref()?, (state, known), now))).collect()
    }

    fn describe(&self, origin: &Origin, (state, known): (&OriginState, &Particulars), now: Instant) -> Waiting {
        let told = state.place.map(|place| place.at()).filter(|at| *at != Instant::NEVER && !state.awaits_robots(now));
        let (origin, why) = (origin.clone(), state.why(&self.config, now));
        // Those under leases do not wait.
        let queued = known.summary.queued().saturating_sub(state.out.into());
        Waiting { origin, why, until: told, queued }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.leases.held() >= self.config.leases.max(1)
    }

    fn know(&mut self, origin: &Origin) -> u32 {
        if let Some(index) = self.index.get(origin) {
            return *index;
        }
        self.unstored += 1;
        self.place_state(origin, OriginState::new(self.config.classes.of(origin)), Particulars::default())
    }

    /// Gives the state of an origin a place.
    fn place_state(&mut self, origin: &Origin, state: OriginState, known: Particulars) -> u32 {
        let known = Particulars { origin: Some(origin.clone()), ..known };
        let last = u32::try_from(self.origins.len()).unwrap_or(u32::MAX);
        let index = self.free.pop().unwrap_or(last);
        self.index.insert(origin.clone(), index);
        match (self.origins.get_mut(index as usize), self.particulars.get_mut(index as usize)) {
            (Some(place), Some(other)) => (*place, *other) = (state, known),
            _ => {
                self.origins.push(state);
                self.particulars.push(known);
            }
        }
        index
    }

    fn next_due(&self) -> Option<Instant> {
        let asleep = self.horizon.map(|horizon| horizon.0).filter(|at| *at != Instant::NEVER);
        [self.due.next(), asleep].into_iter().flatten().min()
    }

    /// Changes an origin and moves it to where it then belongs among the due ones.
    #[inline]
    fn with(&mut self, index: u32, change: impl FnOnce(&mut OriginState, &mut Shelf)) {
        let Some(state) = self.origins.get_mut(index as usize) else { return };
        change(state, &mut self.shelf);
        let due = state.due(&self.config);
        self.due.place(state.class, index, &mut state.place, due, self.latest);
        if cfg!(debug_assertions) {
            self.check(index);
        }
    }

    /// As [`Scheduler::with`], for an origin that just had its turn: it goes behind all that are due.
    #[inline]
    fn serve(&mut self, index: u32, change: impl FnOnce(&mut OriginState, &mut Shelf)) {
        if let Some(state) = self.origins.get_mut(index as usize)
            && let Some(place) = state.place.take()
        {
            self.due.remove(state.class, index, place);
        }
        self.with(index, change);
    }
}

/// A turn that names an instant for a reason.
const fn turn_at(turn: Turn, at: Instant, clock: Reason) -> Turn {
    Turn { ready: Ready { at, clock }, overlap: turn.overlap }
}
