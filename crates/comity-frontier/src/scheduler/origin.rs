use std::collections::BTreeSet;

use comity_policy::{Instant, OriginPace, Overlap, Ready, Reason, Turn};
use comity_url::Origin;

use super::classes::Classes;
use super::due::Place;
use crate::rest::{Held, Row};
use crate::{SchedulerConfig, Summary, Why};

/// What the scheduler knows about one origin. Never dropped: politeness outlives an empty queue.
#[derive(Debug)]
pub(super) struct OriginState {
    pub(super) origin: Origin,
    pub(super) summary: Summary,
    pub(super) classes: Classes,
    /// Retries that wait for an instant of their own: when, priority, sequence. Their records are in the store.
    pub(super) deferred: BTreeSet<(Instant, u8, u64)>,
    /// Retries whose instant has come and that stand in `classes` again: as many leases the bound on `deferred` lets
    /// through.
    pub(super) overdue: u32,
    pub(super) pace: OriginPace,
    pub(super) turn: Turn,
    /// Its robots.txt is being fetched: until then at most. This and the two below stay when they have passed: an
    /// origin is due since the latest of them, and would overtake others if one were forgotten.
    pub(super) robots: Option<Instant>,
    /// What the judge, or the end of a robots.txt fetch, said.
    pub(super) hold: Option<Held>,
    /// What the operator said.
    pub(super) park: Option<Held>,
    /// Leases whose head is outstanding.
    pub(super) heads: u32,
    /// Leases for fetches.
    pub(super) open: u32,
    /// Leases of any kind, unsettled refusals among them.
    pub(super) out: u32,
    /// Refusals in a row since the last lease.
    pub(super) refusals: u8,
    /// Retries that it had when it woke: reading from the cursor on may meet them, and passes them over.
    pub(super) passed_over: BTreeSet<(u8, u64)>,
    /// Its entry among the due origins, if it is eligible.
    pub(super) place: Option<Place>,
    /// Whether the store has a record of it; one that was only heard of has none.
    pub(super) stored: bool,
    /// Its key among those of the store that come due.
    pub(super) row: Option<Row>,
    /// Records that cannot be read, met since it came into memory.
    pub(super) damaged: u64,
}

/// Nothing was told yet: due at once, one request at a time.
const UNTOLD: Turn = Turn { ready: Ready { at: Instant::START, clock: Reason::Ok }, overlap: Overlap::AfterHead };

impl OriginState {
    pub(super) fn new(origin: Origin) -> Self {
        Self {
            origin,
            summary: Summary::default(),
            classes: Classes::default(),
            deferred: BTreeSet::new(),
            overdue: 0,
            pace: OriginPace::default(),
            turn: UNTOLD,
            robots: None,
            hold: None,
            park: None,
            heads: 0,
            open: 0,
            out: 0,
            refusals: 0,
            passed_over: BTreeSet::new(),
            place: None,
            stored: false,
            row: None,
            damaged: 0,
        }
    }

    /// The earliest instant of its next lease; `None` while it is not eligible: nothing waits, or an end or a head
    /// has to come first. [`Instant::NEVER`] when it has to be told.
    pub(super) fn due(&self, config: &SchedulerConfig) -> Option<Instant> {
        let busy = self.open >= config.per_origin.max(1) || (self.heads > 0 && self.turn.overlap == Overlap::AfterHead);
        if busy || (self.classes.is_empty() && self.deferred.is_empty()) {
            return None;
        }
        let waits = [self.hold.map(|held| held.until), self.park.map(|held| held.until), self.robots];
        let told = waits.into_iter().flatten().fold(self.turn.ready.at, Instant::max);
        Some(self.waits_for_retry(config).map_or(told, |retry| told.max(retry)))
    }

    /// What it waits for at `now`: the latest of everything that holds it.
    pub(super) fn why(&self, config: &SchedulerConfig, now: Instant) -> Why {
        if self.awaits_robots(now) {
            return Why::AwaitingRobots;
        }
        let retry = self.waits_for_retry(config).map(|until| Held { until, reason: Reason::RateBackoff });
        let turn = Held { until: self.turn.ready.at, reason: self.turn.ready.clock };
        let latest = [retry, self.hold, self.park]
            .into_iter()
            .flatten()
            .fold(turn, |latest, other| if other.until > latest.until { other } else { latest });
        Why::Reason(latest.reason)
    }

    /// The later of what was told before and now: two settlements may arrive in any order.
    pub(super) fn tell(&mut self, turn: Turn) {
        let ready = if turn.ready.at >= self.turn.ready.at { turn.ready } else { self.turn.ready };
        self.turn = Turn { ready, overlap: turn.overlap };
    }

    /// True while its robots.txt is being fetched.
    pub(super) fn awaits_robots(&self, now: Instant) -> bool {
        self.robots.is_some_and(|until| until > now)
    }

    /// URLs that wait, those under leases not counted.
    pub(super) fn waiting(&self) -> u64 {
        self.summary.queued().saturating_sub(self.out.into())
    }

    /// The instant of the earliest retry, when nothing else may be leased: only retries wait, or too many do.
    fn waits_for_retry(&self, config: &SchedulerConfig) -> Option<Instant> {
        let full = self.overdue == 0 && self.deferred.len() >= config.deferred_per_origin.max(1) as usize;
        let first = self.deferred.first().map(|first| first.0);
        first.filter(|_| full || self.classes.is_empty())
    }
}
