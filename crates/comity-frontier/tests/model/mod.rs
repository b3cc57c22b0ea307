//! A slow frontier that scans everything, and says what the real one must answer.

use std::collections::BTreeMap;

use comity_frontier::{Class, LeaseId, Leased, Offered, SchedulerConfig, Stats};
use comity_policy::{Instant, Overlap, Reason, Turn};
use comity_url::{CrawlUrl, Origin};

pub(crate) const ORIGINS: usize = 4;
const DOMAINS: usize = 2;
const NEVER: u64 = u64::MAX;
const LEAST_HOLD: u64 = 1000;
const REFUSALS_IN_A_ROW: u32 = 16;

/// Times are microseconds.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) config: SchedulerConfig,
    pub(crate) latest: u64,
    pub(crate) urls: Vec<Url>,
    pub(crate) origins: Vec<OriginModel>,
    pub(crate) leases: BTreeMap<LeaseId, LeaseModel>,
    pub(crate) late: BTreeMap<LeaseId, usize>,
    pub(crate) spent: Vec<LeaseId>,
    /// Looks at others while something of a class was due; `None` when it is not known who sleeps.
    pub(crate) passed_over: Option<[u8; 4]>,
}

#[derive(Debug)]
pub(crate) struct Url {
    pub(crate) url: CrawlUrl,
    pub(crate) origin: usize,
    pub(crate) priority: u8,
    pub(crate) attempts: u32,
    pub(crate) state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    /// A retry that waits for its own instant.
    Deferred(u64),
    Out,
    Done,
    Refused,
    Failed,
    /// Done, and due again at this millisecond.
    Scheduled(u64),
    /// It came back, as the youngest of that URL.
    Returned,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct OriginModel {
    pub(crate) told: u64,
    pub(crate) free: bool,
    pub(crate) robots: Option<u64>,
    pub(crate) hold: Option<u64>,
    pub(crate) park: Option<u64>,
    pub(crate) since: Option<u64>,
    pub(crate) class: Class,
    pub(crate) refusals: u32,
    /// Retries whose instant has come: as many leases pass the bound on those that wait.
    pub(crate) overdue: usize,
    /// Body bytes, over all runs.
    pub(crate) received: u64,
    /// What the judge says: robots unknown, or held for so long (`Some(None)`: until told).
    pub(crate) unknown: bool,
    pub(crate) held: Option<Option<u64>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseModel {
    pub(crate) url: usize,
    pub(crate) errand: Errand,
    pub(crate) deadline: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    Head,
    Body,
    Refusal,
}

impl Model {
    pub(crate) fn new(config: SchedulerConfig) -> Self {
        let class = |index| config.classes.of(&Origin::parse(&format!("http://{}", host(index))).unwrap());
        let origins = (0..ORIGINS).map(|index| OriginModel { class: class(index), ..OriginModel::default() }).collect();
        let passed_over = config.resident_origins as usize >= ORIGINS;
        let passed_over = passed_over.then_some([0; 4]);
        let (leases, late) = (BTreeMap::new(), BTreeMap::new());
        Self { passed_over, config, latest: 0, urls: Vec::new(), origins, leases, late, spent: Vec::new() }
    }

    /// When an origin is due by every rule; `None` when it is not eligible.
    pub(crate) fn due(&self, index: usize) -> Option<u64> {
        let origin = &self.origins[index];
        let open = |errand| self.open(index).filter(|lease| lease.errand == errand).count();
        let (heads, bodies) = (open(Errand::Head), open(Errand::Body));
        if heads + bodies >= self.config.per_origin as usize || (heads > 0 && !origin.free) {
            return None;
        }
        let ready = self.of(index).any(|url| url.state == State::Waiting);
        let deferred: Vec<u64> = self.deferred(index);
        if !ready && deferred.is_empty() {
            return None;
        }
        let mut due = origin.told;
        for wait in [origin.robots, origin.hold, origin.park].into_iter().flatten() {
            due = due.max(wait);
        }
        let full = origin.overdue == 0 && deferred.len() >= self.config.deferred_per_origin as usize;
        if !ready || full {
            due = due.max(deferred.into_iter().min().unwrap_or(0));
        }
        Some(due)
    }

    /// Replays a call: `asked` are the judge's questions in order, `leased` is what came out.
    pub(crate) fn check_lease(&mut self, n: usize, now: u64, asked: &[CrawlUrl], leased: &Leased) {
        self.latest = self.latest.max(now);
        self.come_back(now);
        self.expire();
        let (mut leases, mut refused) = (leased.leases.iter(), leased.refused.iter());
        let mut needs = leased.needs_robots.iter();
        for url in asked {
            let (index, origin) = self.chosen(url);
            let state = self.origins[origin].clone();
            if let Some(wait) = state.held {
                self.origins[origin].hold = Some(wait.map_or(NEVER, |wait| self.latest + wait.max(LEAST_HOLD)));
            } else if state.unknown {
                assert_eq!(needs.next(), Some(url.origin()), "robots of every unknown origin are asked for");
                self.origins[origin].robots = Some(self.latest + micros(self.config.robots_patience));
            } else if url.path().starts_with("/private") {
                let refused = refused.next().expect("a refused URL is handed out");
                assert_eq!((&refused.url, refused.attempts), (url, self.urls[index].attempts));
                self.open_lease(refused.id, index, Errand::Refusal);
            } else {
                let lease = leases.next().expect("an allowed URL is leased");
                assert_eq!((&lease.url, lease.attempt), (url, self.urls[index].attempts + 1));
                assert_eq!(lease.received, state.received, "{url}: bytes received of its origin");
                assert_eq!(lease.deadline.as_micros(), self.latest + micros(self.config.lease_life));
                self.open_lease(lease.id, index, Errand::Head);
            }
            self.watch();
        }
        assert!(leases.next().is_none() && refused.next().is_none() && needs.next().is_none(), "all were judged");
        if leased.leases.len() + leased.needs_robots.len() < n {
            let due = (0..ORIGINS).filter_map(|index| self.due(index)).min();
            assert!(due.is_none_or(|due| due > self.latest), "everything due is leased");
            assert_eq!(leased.wake_at.map(Instant::as_micros), self.wake_at(), "wake-up");
        }
    }

    /// Checks that `url` was the one to ask about, and promotes the retries whose instant has come.
    fn chosen(&mut self, url: &CrawlUrl) -> (usize, usize) {
        let index = self.urls.iter().rposition(|known| known.url == *url).expect("only offered URLs are asked about");
        let origin = self.urls[index].origin;
        let due = self.due(origin).expect("only eligible origins are asked about");
        assert!(due <= self.latest, "{url} is asked about {} µs before its told instant", due - self.latest);
        self.check_fair(origin, due);
        self.check_shares(self.origins[origin].class);
        let latest = self.latest;
        for waiting in self.urls.iter_mut().filter(|waiting| waiting.origin == origin) {
            if matches!(waiting.state, State::Deferred(at) if at <= latest) {
                waiting.state = State::Waiting;
                self.origins[origin].overdue += 1;
            }
        }
        let waiting =
            (0..self.urls.len()).filter(|at| self.urls[*at].origin == origin && self.urls[*at].state == State::Waiting);
        let first = waiting.min_by_key(|at| (self.urls[*at].priority, *at));
        assert_eq!(first, Some(index), "priority first, then first in, first out");
        (index, origin)
    }

    /// No other origin has been due for longer.
    fn check_fair(&self, chosen: usize, due: u64) {
        let since = |index: usize| self.origins[index].since.unwrap_or(0);
        let key = due.max(since(chosen));
        let class = self.origins[chosen].class;
        let rivals = (0..ORIGINS).filter(|other| self.origins[*other].class == class);
        for other in rivals.filter(|other| self.deferred(*other).is_empty() && self.deferred(chosen).is_empty()) {
            if let Some(due) = self.due(other) {
                assert!(due.max(since(other)) >= key, "origin {other} has been due for longer than {chosen}");
            }
        }
    }

    /// A class in which something is due is not passed over for longer than the shares of the others.
    fn check_shares(&mut self, chosen: Class) {
        let is_due = |class: Class| {
            let mut due = (0..ORIGINS).filter(|index| self.origins[*index].class == class);
            due.any(|index| self.due(index).is_some_and(|due| due <= self.latest))
        };
        let is_due = Class::ALL.map(is_due);
        let Some(passed_over) = &mut self.passed_over else { return };
        for ((class, is_due), passed_over) in Class::ALL.into_iter().zip(is_due).zip(passed_over) {
            *passed_over = if class == chosen || !is_due { 0 } else { *passed_over + 1 };
            assert!(*passed_over <= 15 - class.share(), "{class:?} starves: {passed_over} looks at others");
        }
    }

    fn open_lease(&mut self, id: LeaseId, url: usize, errand: Errand) {
        let origin = self.urls[url].origin;
        self.late.retain(|_, late| *late != url);
        let deadline = self.latest + micros(self.config.lease_life);
        assert!(self.leases.insert(id, LeaseModel { url, errand, deadline }).is_none(), "lease {id} given twice");
        self.urls[url].state = State::Out;
        let state = &mut self.origins[origin];
        state.overdue = state.overdue.saturating_sub(1);
        state.refusals = if errand == Errand::Refusal { state.refusals + 1 } else { 0 };
        if errand == Errand::Head || state.refusals == REFUSALS_IN_A_ROW {
            state.refusals = 0;
            state.since = None;
        }
    }

    /// Those whose next visit is due wait again, behind all others, in the order of time, origin and fingerprint.
    fn come_back(&mut self, now: u64) {
        let mut due: Vec<_> = self
            .urls
            .iter()
            .enumerate()
            .filter_map(|(index, url)| match url.state {
                State::Scheduled(at) if at * 1000 <= now => {
                    Some((at, url.url.origin().to_string(), key(&url.url), index))
                }
                _ => None,
            })
            .collect();
        due.sort();
        for (_, _, _, index) in due {
            let url = &mut self.urls[index];
            url.state = State::Returned;
            let back =
                Url { url: url.url.clone(), origin: url.origin, priority: 3, attempts: 0, state: State::Waiting };
            self.urls.push(back);
        }
        self.watch();
    }

    fn expire(&mut self) {
        let over: Vec<LeaseId> =
            self.leases.iter().filter(|(_, lease)| lease.deadline <= self.latest).map(|(id, _)| *id).collect();
        for id in over {
            let lease = self.leases.remove(&id).unwrap();
            let url = &mut self.urls[lease.url];
            url.state = State::Waiting;
            url.attempts += u32::from(lease.errand != Errand::Refusal);
            self.late.insert(id, lease.url);
        }
        self.watch();
    }

    /// The later of two told instants holds.
    pub(crate) fn tell(&mut self, origin: usize, turn: Turn) {
        let state = &mut self.origins[origin];
        state.told = state.told.max(turn.ready.at.as_micros());
        state.free = turn.overlap == Overlap::Free;
    }

    /// Notes since when each origin has been eligible; to be called after every event.
    pub(crate) fn watch(&mut self) {
        for index in 0..ORIGINS {
            let eligible = self.due(index).is_some();
            let since = self.origins[index].since.unwrap_or(self.latest);
            self.origins[index].since = eligible.then_some(since);
        }
    }

    pub(crate) fn check_stats(&self, stats: &Stats) {
        let count = |wanted: &dyn Fn(State) -> bool| self.urls.iter().filter(|url| wanted(url.state)).count() as u64;
        let expected = [
            count(&|state| matches!(state, State::Waiting | State::Deferred(_))),
            count(&|state| state == State::Out),
            count(&|state| matches!(state, State::Done | State::Scheduled(_))),
            count(&|state| state == State::Refused),
            count(&|state| state == State::Failed),
            count(&|state| state != State::Returned),
            0,
        ];
        let found = [stats.queued, stats.leased, stats.done, stats.refused, stats.failed, stats.seen, stats.damaged];
        assert_eq!(found, expected, "queued, leased, done, refused, failed, seen, damaged");
        assert_eq!(stats.scheduled, count(&|state| matches!(state, State::Scheduled(_))), "scheduled");
        let stuck = (0..ORIGINS).filter(|index| self.due(*index) == Some(NEVER)).count();
        assert_eq!(stats.stuck, stuck as u64, "stuck origins");
    }

    fn wake_at(&self) -> Option<u64> {
        let due = (0..ORIGINS).filter_map(|index| self.due(index)).filter(|due| *due != NEVER);
        let visits = self
            .urls
            .iter()
            .filter_map(|url| if let State::Scheduled(at) = url.state { Some(at * 1000) } else { None });
        due.chain(self.leases.values().map(|lease| lease.deadline)).chain(visits).min()
    }

    /// What a new URL of an origin is answered. Those that leave with the same commit still count.
    pub(crate) fn answer(&self, origin: usize) -> Offered {
        let Holds { pages, queued } = self.holds(origin % DOMAINS);
        if pages >= self.config.pages_per_domain {
            return Offered::Refused(Reason::UrlBudgetDomain);
        }
        if queued >= self.config.queued_per_domain {
            return Offered::Refused(Reason::UrlBudgetPending);
        }
        Offered::New
    }

    fn holds(&self, domain: usize) -> Holds {
        let count = |wanted: &dyn Fn(State) -> bool| {
            let of = self.urls.iter().filter(|url| url.origin % DOMAINS == domain);
            of.filter(|url| wanted(url.state)).count() as u64
        };
        let pages = count(&|state| !matches!(state, State::Refused | State::Returned));
        let queued = count(&|state| matches!(state, State::Waiting | State::Deferred(_) | State::Out));
        Holds { pages, queued }
    }

    /// What the store must hold of each domain, by its name: version, pages, queued.
    pub(crate) fn domains(&self) -> Vec<(String, Vec<u8>)> {
        let row = |domain: usize| {
            let Holds { pages, queued } = self.holds(domain);
            let mut row = vec![1];
            for mut number in [pages, queued] {
                while number > 127 {
                    row.push((number & 127) as u8 | 128);
                    number >>= 7;
                }
                row.push(number as u8);
            }
            (format!("d{domain}.test"), row)
        };
        (0..DOMAINS).map(row).filter(|(_, row)| row[1..] != [0, 0]).collect()
    }

    fn of(&self, origin: usize) -> impl Iterator<Item = &Url> {
        self.urls.iter().filter(move |url| url.origin == origin)
    }

    fn deferred(&self, origin: usize) -> Vec<u64> {
        let deferred = |url: &Url| if let State::Deferred(at) = url.state { Some(at) } else { None };
        self.of(origin).filter_map(deferred).collect()
    }

    fn open(&self, origin: usize) -> impl Iterator<Item = &LeaseModel> {
        self.leases.values().filter(move |lease| self.urls[lease.url].origin == origin)
    }
}

/// What the origins of a domain hold together.
struct Holds {
    pages: u64,
    queued: u64,
}

/// Two origins share a domain.
pub(crate) fn host(origin: usize) -> String {
    format!("o{origin}.d{}.test", origin % DOMAINS)
}

fn key(url: &CrawlUrl) -> [u8; 16] {
    crate::common::offer(url.as_str()).key.to_bytes()
}

pub(crate) fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap()
}
