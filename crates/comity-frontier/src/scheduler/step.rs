use std::time::Duration;

use comity_policy::{Allowance, Instant, Reason, Refusal};
use comity_url::{CrawlUrl, Origin};

use super::Scheduler;
use super::leases::{Errand, Held as HeldLease, Spot};
use super::origin::{OriginState, Rarities};
use super::shelf::{Entry, Shelf};
use crate::rest::Held;
use crate::{Lease, QueuedUrl, RefusedLease};

/// What to do next to find a URL to lease.
#[must_use = "a step that is not done keeps its URLs from being leased"]
#[derive(Debug)]
pub enum Step {
    /// Read records from the store, then call [`Scheduler::filled`] or [`Scheduler::unfilled`].
    Fill(Fill),
    /// An origin that sleeps in the store has been due for longest: bring it back to memory, and tell when
    /// the next one is due.
    Recall,
    /// Ask the judge, then call [`Scheduler::grant`], [`Scheduler::refuse`], [`Scheduler::await_robots`] or
    /// [`Scheduler::hold`].
    Judge(Candidate),
    /// Nothing is due.
    Idle,
}

/// Records to read: those of one origin ([`Scheduler::origin_of`]) and priority with `from <= sequence`, below `until` if there
/// is one.
#[derive(Debug)]
pub struct Fill {
    index: u32,
    priority: u8,
    from: u64,
    until: Option<u64>,
    limit: usize,
    kind: Kind,
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Records from the cursor on.
    Next,
    /// A retry that waited for this instant.
    Retry(Instant),
    /// One that was handed out and came back.
    Again,
}

/// A record read for a [`Fill`]: its sequence, and the URL unless it cannot be read.
pub type StoredUrl = (u64, Option<QueuedUrl>);

/// A URL whose origin is due: to be judged.
#[derive(Debug)]
pub struct Candidate {
    index: u32,
    priority: u8,
    sequence: u64,
    queued: QueuedUrl,
}

/// Refusals of one origin before others have their turn.
const REFUSALS_IN_A_ROW: u8 = 16;
/// A hold lasts at least this long, so that a judge whose clock stands still cannot hold a call for ever.
const LEAST_HOLD: Duration = Duration::from_millis(1);

impl Fill {
    /// The priority.
    #[must_use]
    pub const fn priority(&self) -> u8 {
        self.priority
    }

    /// The first sequence.
    #[must_use]
    pub const fn from(&self) -> u64 {
        self.from
    }

    /// The sequence to stop before; `None`: all of the priority.
    #[must_use]
    pub const fn until(&self) -> Option<u64> {
        self.until
    }

    /// Records wanted at most.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }
}

impl Candidate {
    /// The URL to judge.
    #[must_use]
    pub const fn url(&self) -> &CrawlUrl {
        &self.queued.url
    }
}

impl Scheduler {
    /// The next step towards a lease at `now`.
    pub fn next(&mut self, now: Instant) -> Step {
        self.advance(now);
        let now = self.latest;
        if self.is_full() {
            return Step::Idle;
        }
        let chosen = self.due.choose(now);
        if let Some(horizon) = self.horizon.filter(|horizon| horizon.0 <= now)
            && chosen.is_none_or(|(_, first)| (first.0, first.1) > horizon)
        {
            return Step::Recall;
        }
        let Some((class, (_, _, index))) = chosen else { return Step::Idle };
        self.warm(class, now);
        if let Some(state) = self.origins.get_mut(index as usize)
            && state.first_retry().is_none_or(|retry| retry.0 > now)
            && let Some((priority, sequence, queued)) = state.queue.pop(&mut self.shelf)
        {
            self.due.charge();
            return Step::Judge(Candidate { index, priority, sequence, queued });
        }
        self.fill_of(index, now).map_or(Step::Idle, Step::Fill)
    }

    /// Whose records a fill asks for; to be asked, as the fill is to be answered, while the origin is in memory. The scheduler
    /// itself does not read the name: it stands in a far place, and whoever reads the store needs it anyway.
    #[must_use]
    pub fn origin_of(&self, fill: &Fill) -> Option<&Origin> {
        self.particulars.get(fill.index as usize)?.origin.as_ref()
    }

    /// What to read for an origin that is due and holds nothing ready, or a retry whose instant has come.
    #[inline]
    pub(super) fn fill_of(&mut self, index: u32, now: Instant) -> Option<Fill> {
        let room = self.config.resident.saturating_sub(self.shelf.held());
        let most = self.config.resident_per_origin.max(1);
        let state = self.origins.get_mut(index as usize)?;
        if let Some(retry) = state.first_retry().filter(|retry| retry.0 <= now) {
            state.change_rare(|rare| {
                rare.deferred.remove(&retry);
                rare.overdue += 1;
            });
            return Some(Fill::one(index, retry.1, retry.2, Kind::Retry(retry.0)));
        }
        let level = state.queue.first()?;
        if let Some(sequence) = level.first_hollow(&self.shelf) {
            return Some(Fill::one(index, level.priority, sequence, Kind::Again));
        }
        let limit = u32::from(level.next_fill).min(most).min(room / 64).max(1);
        level.next_fill = u16::try_from(most).unwrap_or(u16::MAX).min(level.next_fill.saturating_mul(2));
        Some(Fill {
            index,
            priority: level.priority,
            from: level.cursor,
            until: None,
            limit: limit as usize,
            kind: Kind::Next,
        })
    }

    /// Takes in the records read for `fill`, in key order; fewer than asked for means that there are no more.
    pub fn filled(&mut self, fill: &Fill, mut rows: Vec<StoredUrl>) {
        let exhausted = rows.len() < fill.limit;
        let cursor = rows.last().map_or(fill.from, |last| last.0.saturating_add(1));
        if fill.kind == Kind::Next {
            self.drop_known(fill, &mut rows);
        }
        let read = rows.len() as u64;
        let places: Vec<_> = rows.iter().filter(|row| row.1.is_none()).map(|row| (fill.priority, row.0)).collect();
        let mut damaged = places.len() as u64;
        if fill.kind != Kind::Next {
            damaged += u64::from(read == 0);
        }
        let entries = rows.into_iter().filter(|row| row.1.is_some());
        let mut entries = entries.map(|(sequence, queued)| Entry { sequence, queued });
        self.with(fill.index, |state, shelf| {
            match fill.kind {
                Kind::Next => {
                    damaged += state.queue.fill(shelf, fill.priority, entries, (read, cursor, exhausted));
                }
                Kind::Again => {
                    let queued = entries.next().and_then(|entry| entry.queued);
                    state.queue.refill(shelf, fill.priority, fill.from, queued);
                }
                Kind::Retry(_) => match entries.next() {
                    Some(entry) => state.queue.put(shelf, fill.priority, entry),
                    None => state.serve_overdue(),
                },
            }
            if !places.is_empty() {
                state.change_rare(|rare| rare.damaged.extend(places));
            }
        });
        self.since_start.damaged += damaged;
    }

    /// A record of `fill` lies under a key that names no place: its origin stays in memory.
    pub(crate) fn has_broken_key(&mut self, fill: &Fill) {
        let Some(state) = self.origins.get_mut(fill.index as usize) else { return };
        state.change_rare(|rare| rare.has_broken_key = true);
    }

    /// An origin that slept is read from its first waiting URL on: retries that it had may lie behind, and records that were found
    /// unreadable before, which count once.
    fn drop_known(&mut self, fill: &Fill, rows: &mut Vec<StoredUrl>) {
        let Some(state) = self.origins.get_mut(fill.index as usize) else { return };
        let damaged = &state.rare().damaged;
        if !damaged.is_empty() {
            rows.retain(|row| row.1.is_some() || !damaged.contains(&(fill.priority, row.0)));
        }
        if !state.rare().passed_over.is_empty() {
            state.change_rare(|rare| rows.retain(|row| !rare.passed_over.remove(&(fill.priority, row.0))));
        }
    }

    /// The records for `fill` could not be read: they will be asked for again.
    pub fn unfilled(&mut self, fill: &Fill) {
        self.with(fill.index, |state, _| {
            if let Kind::Retry(at) = fill.kind {
                state.change_rare(|rare| {
                    rare.deferred.insert((at, fill.priority, fill.from));
                    rare.overdue = rare.overdue.saturating_sub(1);
                });
            }
        });
    }

    /// The judge allows the URL: leases it.
    #[must_use = "a lease that is dropped comes back only at its deadline"]
    pub fn grant(&mut self, candidate: Candidate, allowance: Allowance, now: Instant) -> Lease {
        self.advance(now);
        let deadline = self.latest.after(self.config.lease_life);
        let Candidate { index, priority, sequence, queued } = candidate;
        let spot = Spot { origin: index, priority, sequence };
        let (pace, received) =
            self.origins.get(index as usize).map(|state| (state.pace(), state.received)).unwrap_or_default();
        let id = self.leases.open(HeldLease { spot, key: queued.key, errand: Errand::Head, deadline });
        self.serve(index, |state, _| {
            state.heads += 1;
            state.open += 1;
            state.out += 1;
            state.refusals = 0;
            state.serve_overdue();
        });
        let QueuedUrl { url, key: _, depth, hops, via, seed, attempts, visited } = queued;
        let attempt = attempts.saturating_add(1);
        Lease { id, url, depth, hops, via, seed, priority, attempt, visited, deadline, pace, received, allowance }
    }

    /// The judge refuses the URL: hands it out to be recorded. The origin keeps its turn, for a few in a row.
    #[must_use = "a refusal that is not settled is judged again at its deadline"]
    pub fn refuse(&mut self, candidate: Candidate, refusal: Refusal, now: Instant) -> RefusedLease {
        self.advance(now);
        let deadline = self.latest.after(self.config.lease_life);
        let Candidate { index, priority, sequence, queued } = candidate;
        let spot = Spot { origin: index, priority, sequence };
        let id = self.leases.open(HeldLease { spot, key: queued.key, errand: Errand::Refusal, deadline });
        let count = |state: &mut OriginState, _: &mut Shelf| {
            state.out += 1;
            state.serve_overdue();
            state.refusals = (state.refusals + 1) % REFUSALS_IN_A_ROW;
        };
        let in_a_row = self.origins.get(index as usize).map_or(0, |state| state.refusals);
        if in_a_row + 1 < REFUSALS_IN_A_ROW {
            self.with(index, count)
        } else {
            self.serve(index, count)
        }
        let QueuedUrl { url, key: _, depth, hops, via, seed, attempts, visited } = queued;
        RefusedLease { id, url, depth, hops, via, seed, priority, attempts, visited, refusal }
    }

    /// The judge needs robots.txt first: the origin waits to be told. Gives the origin to tell.
    #[must_use = "nobody else asks for this robots.txt"]
    pub fn await_robots(&mut self, candidate: Candidate, now: Instant) -> Origin {
        self.advance(now);
        let until = self.latest.after(self.config.robots_patience.max(LEAST_HOLD));
        let origin = candidate.queued.url.origin().clone();
        self.put_back(candidate, |rare| rare.robots = Some(until));
        origin
    }

    /// The judge holds the origin, until an instant or until told.
    pub fn hold(&mut self, candidate: Candidate, reason: Reason, until: Option<Instant>, now: Instant) {
        self.advance(now);
        let least = self.latest.after(LEAST_HOLD);
        let until = until.map_or(Instant::NEVER, |until| until.max(least));
        self.put_back(candidate, |rare| rare.hold = Some(Held { until, reason }));
    }

    fn put_back(&mut self, candidate: Candidate, change: impl FnOnce(&mut Rarities)) {
        let Candidate { index, priority, sequence, queued } = candidate;
        self.with(index, |state, shelf| {
            state.queue.put(shelf, priority, Entry { sequence, queued: Some(queued) });
            state.change_rare(change);
        });
    }
}

impl Fill {
    /// One record.
    const fn one(index: u32, priority: u8, sequence: u64, kind: Kind) -> Self {
        let until = Some(sequence.saturating_add(1));
        Self { index, priority, from: sequence, until, limit: 1, kind }
    }
}
