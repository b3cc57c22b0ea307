//! Origins that leave memory and come back: the scheduler holds those that are due first.

use comity_policy::{Instant, Ready, Turn};
use comity_url::Origin;

use super::due::Place;
use super::origin::{OriginState, Particulars};
use super::shelf::Shelf;
use super::warm::AHEAD;
use super::{Fill, Scheduler};
use crate::rest::{OriginRecord, Rest, Row};
use crate::totals::Totals;
use crate::{Class, Summary, Waiting};

/// An origin that is to leave memory, as the store has to keep it.
#[derive(Debug)]
pub(crate) struct Sleeper {
    index: u32,
    pub(crate) origin: Origin,
    /// Its record, with the key under which it now comes due; without one when nothing waits.
    pub(crate) record: OriginRecord,
    /// The key it had before.
    pub(crate) old_row: Option<Row>,
    /// Whether the store knew it.
    pub(crate) stored: bool,
}

/// Damaged places that an origin takes along into its sleep. Our choice: some kilobytes; a store with more of one origin is a ruin.
const MOST_DAMAGED: usize = 1024;

/// How a record of the store is to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waking {
    /// It was written in this run, and its origin slept since.
    ThisRun,
    /// What was asked of it just before the stop is not known: it is due at `ready`, in the order of the tickets. One
    /// that wakes out of its order draws a ticket.
    EarlierRun { ready: Ready, ticket: Option<u64> },
}

impl Scheduler {
    /// Origins in memory.
    pub(crate) fn residents(&self) -> usize {
        self.index.len()
    }

    /// True for an origin in memory.
    pub(crate) fn knows(&self, origin: &Origin) -> bool {
        self.index.contains_key(origin)
    }

    /// What is known of an origin in memory.
    fn state(&self, origin: &Origin) -> Option<&OriginState> {
        self.origins.get(*self.index.get(origin)? as usize)
    }

    /// Who an origin in memory is.
    pub(super) fn particulars(&self, origin: &Origin) -> Option<&Particulars> {
        self.particulars.get(*self.index.get(origin)? as usize)
    }

    /// Counts and key of an origin in memory, and whether the store has a record of it.
    pub(crate) fn resident(&self, origin: &Origin) -> Option<(&Summary, Option<Row>, bool)> {
        self.particulars(origin).map(|known| (&known.summary, known.row, known.stored))
    }

    /// For an origin in memory on which nobody works but one lease that is about to end: where reading may begin after a
    /// restart, by priority.
    pub(crate) fn lows(&self, origin: &Origin) -> Vec<(u8, u64)> {
        let quiet =
            |state: &&OriginState| state.out == 1 && state.rare().overdue == 0 && state.rare().deferred.is_empty();
        let Some(state) = self.state(origin).filter(quiet) else { return Vec::new() };
        state.queue.levels().iter().map(|level| (level.priority, level.low(&self.shelf))).collect()
    }

    /// Sums over all origins.
    pub(crate) const fn totals(&self) -> Totals {
        self.totals
    }

    /// Replaces the sums by those just committed.
    pub(crate) const fn set_totals(&mut self, totals: Totals) {
        self.totals = totals;
    }

    /// True when something has to be read before `n` URLs can be leased at `now`.
    pub(crate) fn is_behind(&self, now: Instant, n: usize) -> bool {
        self.horizon.is_some_and(|horizon| horizon.0 <= now)
            || self.leases.next_deadline().is_some_and(|deadline| deadline <= now)
            || self.due.all_due(now, n).any(|index| self.needs_fill(index, now))
    }

    #[inline]
    fn needs_fill(&self, index: u32, now: Instant) -> bool {
        let Some(state) = self.origins.get(index as usize) else { return false };
        let retry = state.first_retry().is_some_and(|retry| retry.0 <= now);
        retry || state.queue.levels().first().is_some_and(|level| !level.is_first_ready(&self.shelf))
    }

    /// Reads that the next `n` leases at `now` need: the first records of origins that are due and hold none ready. Each
    /// is to be answered like a [`Step::Fill`](super::Step::Fill).
    pub fn fills(&mut self, now: Instant, n: usize) -> Vec<Fill> {
        let mut due = self.due.collect_due(now, n);
        due.chunks(AHEAD).for_each(|ahead| self.read(ahead));
        self.warm = due.len();
        due.retain(|index| self.needs_fill(*index, now));
        let mut fills = Vec::with_capacity(due.len());
        fills.extend(due.into_iter().filter_map(|index| self.fill_of(index, now)));
        fills
    }

    /// When the first sleeping origin is due.
    pub(crate) fn set_horizon(&mut self, horizon: Option<(Instant, u64)>) {
        self.horizon = horizon;
    }

    /// The time told last.
    pub(crate) const fn latest(&self) -> Instant {
        self.latest
    }

    /// No ticket up to `last` is given to an origin in memory.
    pub(crate) fn skip_tickets(&mut self, last: u64) {
        self.due.skip_tickets(last);
    }

    /// The ticket given last.
    pub(crate) const fn last_ticket(&self) -> u64 {
        self.due.last_ticket()
    }

    /// Brings a sleeping origin back to memory.
    pub(crate) fn recall(&mut self, origin: &Origin, record: OriginRecord, waking: Waking) {
        if self.knows(origin) {
            return;
        }
        let waking = match waking {
            Waking::EarlierRun { ready, ticket: None } => Waking::EarlierRun { ready, ticket: Some(self.due.ticket()) },
            other => other,
        };
        let (state, known) = woken(self.config.classes.of(origin), record, waking);
        let (place, class) = (state.place, state.class);
        if matches!(waking, Waking::ThisRun) {
            self.stuck_asleep -= u64::from(place.is_some_and(|place| place.at == Instant::NEVER));
        }
        let index = self.place_state(origin, state, known);
        if let Some(place) = place {
            self.due.put(class, index, place);
        }
        self.with(index, |_, _| {});
    }

    /// What an origin in memory waits for, and how many of its URLs are leased.
    pub(crate) fn describe_resident(&self, origin: &Origin, now: Instant) -> Option<(Waiting, u64)> {
        let state = self.state(origin)?;
        Some((self.describe(origin, (state, self.particulars(origin)?), now), state.out.into()))
    }

    /// What a sleeping origin waits for.
    pub(crate) fn describe_sleeper(
        &self,
        origin: &Origin,
        record: OriginRecord,
        waking: Waking,
        now: Instant,
    ) -> Waiting {
        let (state, known) = woken(Class::default(), record, waking);
        self.describe(origin, (&state, &known), now)
    }

    /// Up to `count` origins that may leave memory: those where nothing waits, then those due last.
    pub(crate) fn sleepers(&self, count: usize, run: u64) -> Vec<Sleeper> {
        let key = |index: u32, state: &OriginState| {
            (state.place.map_or((Instant::NEVER, u64::MAX), |place| (place.at, place.ticket())), index)
        };
        let late = self.leases.late_origins();
        let mut may: Vec<_> = self
            .index
            .values()
            .filter_map(|index| self.origins.get(*index as usize).map(|state| (*index, state)))
            .filter(|(index, state)| state.may_sleep() && !late.contains(index))
            .map(|(index, state)| key(index, state))
            .collect();
        if may.len() > count && count > 0 {
            let at = may.len() - count;
            may.select_nth_unstable(at);
            may.drain(..at);
        }
        may.sort_unstable();
        may.into_iter().filter_map(|(_, index)| self.sleeper(index, run)).collect()
    }

    /// An origin has left memory: its record is written.
    pub(crate) fn forget_sleeper(&mut self, sleeper: &Sleeper) {
        let Some(state) = self.origins.get_mut(sleeper.index as usize) else { return };
        let mut gone = std::mem::replace(state, OriginState::new(Class::default()));
        gone.queue.clear(&mut self.shelf);
        if let Some(known) = self.particulars.get_mut(sleeper.index as usize) {
            let gone = std::mem::take(known);
            self.unstored -= u64::from(!gone.stored);
        }
        self.stuck_asleep += u64::from(gone.place.is_some_and(|place| place.at == Instant::NEVER));
        if let Some(place) = gone.place {
            self.due.remove(gone.class, sleeper.index, place);
        }
        self.index.remove(&sleeper.origin);
        self.free.push(sleeper.index);
    }

    fn sleeper(&self, index: u32, run: u64) -> Option<Sleeper> {
        let (state, known) = (self.origins.get(index as usize)?, self.particulars.get(index as usize)?);
        let row = state.place.map(|place| Row { run, at: place.at, ticket: place.ticket() });
        let rest = Some(Box::new(state.rest(&self.shelf, run)));
        let record = OriginRecord { summary: state.settled_summary(&self.shelf, &known.summary), row, rest };
        let (origin, old_row, stored) = (known.origin.clone()?, known.row, known.stored);
        Some(Sleeper { index, origin, record, old_row, stored })
    }
}

/// What is known of an origin by its record.
fn woken(class: Class, record: OriginRecord, waking: Waking) -> (OriginState, Particulars) {
    let mut state = OriginState::new(class);
    let OriginRecord { summary, row, rest } = record;
    state.received = summary.bytes();
    match (waking, rest) {
        (Waking::ThisRun, Some(rest)) => {
            state.place = row.map(|row| Place::new(row.at, rest.since, row.ticket));
            state.wake(*rest);
        }
        (Waking::ThisRun, None) => state.count_all(&summary),
        (Waking::EarlierRun { ready, ticket }, _) => {
            state.count_all(&summary);
            if summary.admitted() > 0 {
                state.set_turn(Turn { ready, ..state.turn() });
            }
            if summary.queued() > 0 {
                state.place = Some(Place::new(ready.at, Instant::START, ticket.unwrap_or(u64::MAX)));
            }
        }
    }
    (state, Particulars { origin: None, summary, row, stored: true })
}

impl OriginState {
    /// Everything that is queued waits in the store: after a restart.
    fn count_all(&mut self, summary: &Summary) {
        for lane in summary.lanes() {
            self.queue.append(lane.priority, lane.low, lane.queued);
        }
    }

    fn wake(&mut self, rest: Rest) {
        let Rest { run: _, since: _, turn, robots, hold, park, refusals, pace, waiting, deferred, damaged } = rest;
        self.set_turn(turn);
        self.refusals = refusals;
        self.set_pace(pace);
        waiting.into_iter().for_each(|waits| self.queue.waits(waits));
        self.change_rare(|rare| {
            (rare.robots, rare.hold, rare.park) = (robots, hold, park);
            rare.passed_over = deferred.iter().map(|retry| (retry.1, retry.2)).collect();
            rare.deferred = deferred.into_iter().collect();
            rare.damaged = damaged.into_iter().collect();
        });
    }

    /// Nobody works on it, and what was damaged can be told from the rest when it wakes.
    fn may_sleep(&self) -> bool {
        let rare = self.rare();
        self.out == 0 && rare.overdue == 0 && rare.damaged.len() <= MOST_DAMAGED && !rare.has_broken_key
    }

    fn rest(&self, shelf: &Shelf, run: u64) -> Rest {
        let rare = self.rare();
        Rest {
            run,
            since: self.place.map_or(Instant::START, |place| place.since),
            turn: self.turn(),
            robots: rare.robots,
            hold: rare.hold,
            park: rare.park,
            refusals: self.refusals,
            pace: self.pace(),
            waiting: self.queue.levels().iter().map(|level| level.as_waits(shelf)).collect(),
            deferred: rare.deferred.iter().copied().collect(),
            damaged: rare.damaged.iter().copied().collect(),
        }
    }

    /// The counts, with what is now known about where reading may begin; exact only while nobody works on it.
    fn settled_summary(&self, shelf: &Shelf, before: &Summary) -> Summary {
        let mut summary = before.clone();
        for lane in before.lanes() {
            let level = self.queue.levels().iter().find(|level| level.priority == lane.priority);
            let low = level.map_or(before.next_sequence(), |level| level.low(shelf));
            let retries = self.rare().deferred.iter().filter(|retry| retry.1 == lane.priority).map(|retry| retry.2);
            let low = retries.fold(low, u64::min);
            summary.rise(lane.priority, low.min(before.next_sequence().saturating_sub(1)));
        }
        summary
    }
}
