use std::collections::BTreeSet;

use comity_policy::{HeldPace, Instant, OriginPace, Overlap, Ready, Reason, Turn, UsualPace};
use comity_url::Origin;

use super::due::Place;
use super::queue::Queue;
use crate::rest::{Held, Row};
use crate::{Class, SchedulerConfig, Summary, Why};

/// What a turn reads and writes of one origin: two lines of the processor's cache. What else is known about it stands in
/// [`Particulars`], and what few origins have in [`Rarities`].
///
/// Kept while the origin is in memory, and taken along when it sleeps: politeness outlives an empty queue.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct OriginState {
    // The first line.
    pub(super) queue: Queue,
    /// The instant told, as `clock` and `overlap` a part of the [`Turn`].
    told: Instant,
    /// Body bytes received of it, as its [`Summary`] has them: each lease tells them.
    pub(super) received: u64,
    rarities: Option<Box<Rarities>>,
    // The second.
    /// Its entry among the due origins, if it is eligible.
    pub(super) place: Option<Place>,
    /// Its pace, but for what [`Rarities::held_pace`] has.
    pace: UsualPace,
    /// Leases of any kind, unsettled refusals among them.
    pub(super) out: u32,
    /// Leases whose head is outstanding.
    pub(super) heads: u16,
    /// Leases for fetches.
    pub(super) open: u16,
    clock: Reason,
    overlap: Overlap,
    pub(super) class: Class,
    /// Refusals in a row since the last lease.
    pub(super) refusals: u8,
}

const _: () = assert!(size_of::<OriginState>() == 128, "a turn reads its origin's record: two cache lines");

/// What most origins do not have most of the time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rarities {
    /// Retries that wait for an instant of their own: when, priority, sequence. Their records are in the store.
    pub(super) deferred: BTreeSet<(Instant, u8, u64)>,
    /// Retries whose instant has come and that stand in the queue again: as many leases the bound on `deferred` lets
    /// through.
    pub(super) overdue: u32,
    /// Retries that it had when it woke: reading from the cursor on may meet them, and passes them over.
    pub(super) passed_over: BTreeSet<(u8, u64)>,
    /// Its robots.txt is being fetched: until then at most. This and the two below stay when they have passed: an
    /// origin is due since the latest of them, and would overtake others if one were forgotten.
    pub(super) robots: Option<Instant>,
    /// What the judge, or the end of a robots.txt fetch, said.
    pub(super) hold: Option<Held>,
    /// What the operator said.
    pub(super) park: Option<Held>,
    /// Places whose records cannot be read, met in this run: counted already, should they be met again.
    pub(super) damaged: BTreeSet<(u8, u64)>,
    /// A record lies under a key that names no place: nobody could tell it from another one later.
    pub(super) has_broken_key: bool,
    /// What of its pace holds it back, or did.
    held_pace: HeldPace,
}

/// What is known about an origin and no turn needs.
#[derive(Debug, Default)]
pub(super) struct Particulars {
    /// `None` while its place is free.
    pub(super) origin: Option<Origin>,
    pub(super) summary: Summary,
    /// Whether the store has a record of it; one that was only heard of has none.
    pub(super) stored: bool,
    /// Its key among those of the store that come due.
    pub(super) row: Option<Row>,
}

static NOTHING_RARE: Rarities = Rarities::NOTHING;

impl Rarities {
    const NOTHING: Self = Self {
        deferred: BTreeSet::new(),
        overdue: 0,
        passed_over: BTreeSet::new(),
        robots: None,
        hold: None,
        park: None,
        damaged: BTreeSet::new(),
        has_broken_key: false,
        held_pace: HeldPace::NONE,
    };
}

impl OriginState {
    /// Nothing was told yet: due at once, one request at a time.
    pub(super) fn new(class: Class) -> Self {
        Self {
            queue: Queue::default(),
            pace: UsualPace::default(),
            told: Instant::START,
            clock: Reason::Ok,
            overlap: Overlap::AfterHead,
            class,
            place: None,
            heads: 0,
            open: 0,
            out: 0,
            refusals: 0,
            received: 0,
            rarities: None,
        }
    }

    /// What was told last.
    #[inline]
    pub(super) const fn turn(&self) -> Turn {
        Turn { ready: Ready { at: self.told, clock: self.clock }, overlap: self.overlap }
    }

    /// Replaces what was told.
    #[inline]
    pub(super) const fn set_turn(&mut self, turn: Turn) {
        let Turn { ready: Ready { at, clock }, overlap } = turn;
        (self.told, self.clock, self.overlap) = (at, clock, overlap);
    }

    /// Its pace.
    #[inline]
    pub(super) fn pace(&self) -> OriginPace {
        OriginPace::joined(self.pace, self.rare().held_pace)
    }

    /// Replaces its pace.
    #[inline]
    pub(super) fn set_pace(&mut self, pace: OriginPace) {
        let (usual, held) = pace.split();
        self.pace = usual;
        if held != self.rare().held_pace {
            self.change_rare(|rare| rare.held_pace = held);
        }
    }

    /// What few origins have.
    #[inline]
    pub(super) fn rare(&self) -> &Rarities {
        self.rarities.as_deref().unwrap_or(&NOTHING_RARE)
    }

    /// Changes what few origins have; it is dropped when nothing is left of it.
    pub(super) fn change_rare<T>(&mut self, change: impl FnOnce(&mut Rarities) -> T) -> T {
        let rarities = self.rarities.get_or_insert_with(|| Box::new(Rarities::NOTHING));
        let answer = change(rarities);
        if **rarities == NOTHING_RARE {
            self.rarities = None;
        }
        answer
    }

    /// The first of the retries that wait for an instant of their own.
    #[inline]
    pub(super) fn first_retry(&self) -> Option<(Instant, u8, u64)> {
        self.rarities.as_ref()?.deferred.first().copied()
    }

    /// A lease was given: one less for the retries whose instant has come.
    #[inline]
    pub(super) fn serve_overdue(&mut self) {
        if self.rare().overdue > 0 {
            self.change_rare(|rare| rare.overdue -= 1);
        }
    }

    /// Reads from every line of the record.
    #[inline]
    pub(super) fn touch(&self) -> u64 {
        self.queue.first_cursor() ^ self.place.map_or(0, |place| place.at().as_micros())
    }

    /// The earliest instant of its next lease; `None` while it is not eligible: nothing waits, or an end or a head
    /// has to come first. [`Instant::NEVER`] when it has to be told.
    #[inline]
    pub(super) fn due(&self, config: &SchedulerConfig) -> Option<Instant> {
        let most = config.per_origin.clamp(1, u16::MAX.into());
        if u32::from(self.open) >= most || (self.heads > 0 && self.overlap == Overlap::AfterHead) {
            return None;
        }
        let Some(rare) = &self.rarities else {
            return (!self.queue.is_empty()).then_some(self.told);
        };
        if self.queue.is_empty() && rare.deferred.is_empty() {
            return None;
        }
        let waits = [rare.hold.map(|held| held.until), rare.park.map(|held| held.until), rare.robots];
        let told = waits.into_iter().flatten().fold(self.told, Instant::max);
        Some(self.waits_for_retry(config).map_or(told, |retry| told.max(retry)))
    }

    /// What it waits for at `now`: the latest of everything that holds it.
    pub(super) fn why(&self, config: &SchedulerConfig, now: Instant) -> Why {
        if self.awaits_robots(now) {
            return Why::AwaitingRobots;
        }
        let retry = self.waits_for_retry(config).map(|until| Held { until, reason: Reason::RateBackoff });
        let turn = Held { until: self.told, reason: self.clock };
        let latest = [retry, self.rare().hold, self.rare().park]
            .into_iter()
            .flatten()
            .fold(turn, |latest, other| if other.until > latest.until { other } else { latest });
        Why::Reason(latest.reason)
    }

    /// The later of what was told before and now: two settlements may arrive in any order.
    #[inline]
    pub(super) fn tell(&mut self, turn: Turn) {
        let ready = if turn.ready.at >= self.told { turn.ready } else { self.turn().ready };
        self.set_turn(Turn { ready, overlap: turn.overlap });
    }

    /// True while its robots.txt is being fetched.
    pub(super) fn awaits_robots(&self, now: Instant) -> bool {
        self.rare().robots.is_some_and(|until| until > now)
    }

    /// The instant of the earliest retry, when nothing else may be leased: only retries wait, or too many do.
    fn waits_for_retry(&self, config: &SchedulerConfig) -> Option<Instant> {
        let rare = self.rare();
        let full = rare.overdue == 0 && rare.deferred.len() >= config.deferred_per_origin.max(1) as usize;
        let first = rare.deferred.first().map(|first| first.0);
        first.filter(|_| full || self.queue.is_empty())
    }
}
