//! Random histories of the frontier against a slow model: no URL is lost, no origin is leased too early or too often,
//! the judge is asked before every lease, and the origin due longest is served first.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;
mod model;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use comity_frontier::{
    Class, Classes, Ending, Frontier, Keyspace, Local, MemoryStore, Offer, Offered, Renewal, Renewed, Revisit,
    SchedulerConfig, Settled, Settlement, Spent, Store, TurnNews, Visited,
};
use comity_policy::{Hold, Instant, OriginPace, Ready, Reason, Turn, WallTime};
use comity_url::Origin;
use proptest::prelude::*;

use common::*;
use model::{Errand, LeaseModel, Model, ORIGINS, State, Url, host};

/// One event; numbers choose among what is there at the time.
#[derive(Clone, Debug)]
enum Event {
    Offer { origin: usize, count: usize, priority: u8, private: bool },
    OfferAgain { which: usize },
    Lease { n: usize },
    Done { which: usize, links: usize, turn: Told },
    Again { which: usize, links: usize, turn: Told, wait: u64 },
    Retry { which: usize, turn: Told, wait: u64 },
    Failed { which: usize, turn: Told },
    Snooze { which: usize, turn: Told, wait: u64 },
    Refused { which: usize },
    Late { which: usize, done: bool, turn: Told },
    Spent { which: usize },
    Head { which: usize, turn: Told },
    Renew { which: usize, wait: u64 },
    Robots { origin: usize, unknown: bool },
    RobotsReady { origin: usize, turn: Told },
    RobotsHold { origin: usize, wait: Option<u64> },
    Judge { origin: usize, hold: Option<Option<u64>> },
    Park { origin: usize, wait: Option<u64> },
    Release { origin: usize },
    Wait { millis: u64 },
    WaitLong,
    Restart { wait: u64 },
}

/// The turn that goes with a settlement: so many milliseconds from now, or no delay at all.
#[derive(Clone, Copy, Debug)]
enum Told {
    After(u64),
    Free,
}

fn told() -> impl Strategy<Value = Told> {
    prop_oneof![4 => (0_u64..300).prop_map(Told::After), 1 => Just(Told::Free)]
}

fn wait() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![3 => (0_u64..500).prop_map(Some), 1 => Just(None)]
}

fn event() -> impl Strategy<Value = Event> {
    let which = 0_usize..64;
    let origin = 0..ORIGINS;
    prop_oneof![
        6 => (origin.clone(), 1_usize..6, 0_u8..3, prop::bool::weighted(0.2))
            .prop_map(|(origin, count, priority, private)| Event::Offer { origin, count, priority, private }),
        1 => which.clone().prop_map(|which| Event::OfferAgain { which }),
        14 => (0_usize..6).prop_map(|n| Event::Lease { n }),
        8 => (which.clone(), 0_usize..4, told()).prop_map(|(which, links, turn)| Event::Done { which, links, turn }),
        3 => (which.clone(), 0_usize..3, told(), 0_u64..900)
            .prop_map(|(which, links, turn, wait)| Event::Again { which, links, turn, wait }),
        4 => (which.clone(), told(), 0_u64..400).prop_map(|(which, turn, wait)| Event::Retry { which, turn, wait }),
        1 => (which.clone(), told()).prop_map(|(which, turn)| Event::Failed { which, turn }),
        2 => (which.clone(), told(), 0_u64..400).prop_map(|(which, turn, wait)| Event::Snooze { which, turn, wait }),
        4 => which.clone().prop_map(|which| Event::Refused { which }),
        2 => (which.clone(), any::<bool>(), told()).prop_map(|(which, done, turn)| Event::Late { which, done, turn }),
        1 => which.clone().prop_map(|which| Event::Spent { which }),
        3 => (which.clone(), told()).prop_map(|(which, turn)| Event::Head { which, turn }),
        1 => (which, 0_u64..2000).prop_map(|(which, wait)| Event::Renew { which, wait }),
        1 => (origin.clone(), any::<bool>()).prop_map(|(origin, unknown)| Event::Robots { origin, unknown }),
        2 => (origin.clone(), told()).prop_map(|(origin, turn)| Event::RobotsReady { origin, turn }),
        1 => (origin.clone(), wait()).prop_map(|(origin, wait)| Event::RobotsHold { origin, wait }),
        2 => (origin.clone(), proptest::option::weighted(0.3, wait())).prop_map(|(origin, hold)| Event::Judge { origin, hold }),
        1 => (origin.clone(), wait()).prop_map(|(origin, wait)| Event::Park { origin, wait }),
        2 => origin.prop_map(|origin| Event::Release { origin }),
        8 => (0_u64..300).prop_map(|millis| Event::Wait { millis }),
        1 => Just(Event::WaitLong),
        1 => (0_u64..200).prop_map(|wait| Event::Restart { wait }),
    ]
}

/// The real frontier and the model, side by side.
struct Pair {
    real: Option<Local<MemoryStore>>,
    model: Model,
    judge: TestJudge,
    now: u64,
    names: usize,
}

impl Pair {
    fn new(config: SchedulerConfig) -> Self {
        let real = Some(Local::in_memory(config.clone()));
        Self { real, model: Model::new(config), judge: TestJudge::default(), now: 0, names: 0 }
    }

    fn real(&self) -> &Local<MemoryStore> {
        self.real.as_ref().unwrap()
    }

    fn instant(&self, millis: u64) -> Instant {
        Instant::from_micros(self.now + millis * 1000)
    }

    fn turn(&self, told: Told) -> Turn {
        match told {
            Told::Free => free(),
            Told::After(millis) => turn((self.now / 1000) + millis),
        }
    }

    fn play(&mut self, event: Event) {
        match event {
            Event::Offer { origin, count, priority, private } => self.offer(origin, count, priority, private),
            Event::OfferAgain { which } => self.offer_again(which),
            Event::Lease { n } => self.lease(n),
            Event::Late { which, done, turn } => self.late(which, done, turn),
            Event::Spent { which } => self.spent(which),
            Event::Head { which, turn } => self.head(which, turn),
            Event::Renew { which, wait } => self.renew(which, wait),
            Event::Wait { millis } => self.now += millis * 1000,
            Event::WaitLong => self.now += 1_100_000,
            Event::Restart { wait } => self.restart(wait),
            Event::Robots { .. } | Event::RobotsReady { .. } | Event::RobotsHold { .. } | Event::Judge { .. } => {
                self.robots(&event);
            }
            Event::Park { .. } | Event::Release { .. } => self.operator(&event),
            settlement => self.settle(&settlement),
        }
        self.model.watch();
        self.model.check_stats(&ready(self.real().stats(self.instant(0))).unwrap());
    }

    fn fresh(&mut self, origin: usize, count: usize, priority: u8, private: bool) -> Vec<Offer> {
        let folder = if private { "private" } else { "open" };
        let names = self.names..self.names + count;
        self.names += count;
        names.map(|name| Offer { priority, ..offer(&format!("http://{}/{folder}/{name}", host(origin))) }).collect()
    }

    /// Notes new URLs in the model, and gives what each is answered.
    fn admit(&mut self, offers: &[Offer], origin: usize) -> Vec<Offered> {
        let mut answers = Vec::new();
        for offer in offers {
            let (url, priority, answer) = (offer.url.clone(), offer.priority, self.model.answer(origin));
            if answer == Offered::New {
                self.model.urls.push(Url { url, origin, priority, attempts: 0, state: State::Waiting });
            }
            answers.push(answer);
        }
        answers
    }

    fn offer(&mut self, origin: usize, count: usize, priority: u8, private: bool) {
        let offers = self.fresh(origin, count, priority, private);
        let expected = self.admit(&offers, origin);
        assert_eq!(ready(self.real().offer(offers)).unwrap(), expected);
    }

    fn offer_again(&mut self, which: usize) {
        if let Some(url) = pick(&self.model.urls, which) {
            let again = offer(url.url.as_str());
            assert_eq!(ready(self.real().offer(vec![again])).unwrap(), [Offered::Seen]);
        }
    }

    fn lease(&mut self, n: usize) {
        self.judge.told().asked.clear();
        let leased = ready(self.real().lease(n, &self.judge, self.instant(0))).unwrap();
        let asked = std::mem::take(&mut self.judge.told().asked);
        let before: Vec<_> = self.model.leases.keys().copied().collect();
        self.model.check_lease(n, self.now, &asked, &leased);
        let after = &self.model.leases;
        self.model
            .spent
            .extend(before.into_iter().filter(|id| !after.contains_key(id) && !self.model.late.contains_key(id)));
    }

    fn settle(&mut self, event: &Event) {
        let (Event::Done { which, .. }
        | Event::Again { which, .. }
        | Event::Retry { which, .. }
        | Event::Failed { which, .. }
        | Event::Snooze { which, .. }
        | Event::Refused { which }) = event
        else {
            unreachable!("{event:?}")
        };
        let Some((&lease, &LeaseModel { url, .. })) =
            self.model.leases.iter().nth(which % self.model.leases.len().max(1))
        else {
            return;
        };
        let pace = OriginPace::default();
        let mut links = Vec::new();
        let (settlement, told, state) = match *event {
            Event::Done { links: count, turn, .. } => {
                links = self.fresh(count, count, 1, false);
                let settlement = Settlement::Done {
                    lease,
                    spent: Spent::default(),
                    links: links.clone(),
                    pace,
                    turn: self.turn(turn),
                };
                (settlement, Some(self.turn(turn)), State::Done)
            }
            Event::Again { links: count, turn, wait, .. } => {
                links = self.fresh(count, count, 1, false);
                let at = self.now / 1000 + wait;
                let visited = Visited { at: Some(WallTime::from_unix_millis(0)), ..Visited::default() };
                let at_wall = WallTime::from_unix_millis(i64::try_from(at).unwrap());
                let revisit = Box::new(Revisit { at: at_wall, priority: 3, visited });
                let (told, ending) = (Some((pace, self.turn(turn))), Ending::Done);
                let settlement =
                    Settlement::Again { lease, spent: Spent::default(), ending, links: links.clone(), told, revisit };
                (settlement, Some(self.turn(turn)), State::Scheduled(at))
            }
            Event::Retry { turn, wait, .. } => {
                self.model.urls[url].attempts += 1;
                let state = if wait == 0 { State::Waiting } else { State::Deferred(self.now + wait * 1000) };
                (retry(lease, self.turn(turn), self.instant(wait)), Some(self.turn(turn)), state)
            }
            Event::Failed { turn, .. } => (failed(lease, self.turn(turn)), Some(self.turn(turn)), State::Failed),
            Event::Snooze { turn, wait, .. } => {
                let told = self.turn(turn);
                let until = Ready { at: self.instant(wait).max(told.ready.at), clock: Reason::RateAddress };
                (snooze(lease, told, self.instant(wait)), Some(Turn { ready: until, ..told }), State::Waiting)
            }
            _ => (Settlement::Refused { lease }, None, State::Refused),
        };
        let answers = self.admit(&links, links.len());
        self.close(settlement, url, told, state, answers);
    }

    /// Settles a held lease in both.
    fn close(&mut self, settlement: Settlement, url: usize, told: Option<Turn>, state: State, links: Vec<Offered>) {
        self.model.latest = self.model.latest.max(self.now);
        let lease = settlement.lease();
        self.model.leases.remove(&lease);
        self.model.spent.push(lease);
        self.model.urls[url].state = state;
        if let Some(turn) = told {
            let origin = self.model.urls[url].origin;
            self.model.tell(origin, turn);
        }
        let answers = ready(self.real().settle(vec![settlement], self.instant(0))).unwrap();
        assert_eq!(answers, [Settled::Applied { links }]);
    }

    fn late(&mut self, which: usize, is_done: bool, told: Told) {
        let Some((&lease, &url)) = self.model.late.iter().nth(which % self.model.late.len().max(1)) else { return };
        let turn = self.turn(told);
        self.model.latest = self.model.latest.max(self.now);
        let origin = self.model.urls[url].origin;
        self.model.tell(origin, turn);
        self.model.late.remove(&lease);
        self.model.spent.push(lease);
        if is_done {
            self.model.urls[url].state = State::Done;
        }
        let settlement = if is_done { done(lease, turn) } else { retry(lease, turn, self.instant(50)) };
        let answers = ready(self.real().settle(vec![settlement], self.instant(0))).unwrap();
        assert_eq!(answers, [Settled::Applied { links: vec![] }]);
    }

    fn spent(&mut self, which: usize) {
        let Some(&lease) = pick(&self.model.spent, which) else { return };
        self.model.latest = self.model.latest.max(self.now);
        let settlement = done_with(lease, vec![offer(&format!("http://{}/never", host(0)))], free());
        assert_eq!(ready(self.real().settle(vec![settlement], self.instant(0))).unwrap(), [Settled::Stale]);
        let renewed = ready(self.real().renew(lease, Renewal::until(Instant::NEVER), self.instant(0)));
        assert_eq!(renewed.unwrap(), Renewed::Stale);
    }

    fn head(&mut self, which: usize, told: Told) {
        let turn = self.turn(told);
        let count = self.model.leases.len().max(1);
        let Some((&lease, held)) = self.model.leases.iter_mut().nth(which % count) else { return };
        if held.errand == Errand::Head {
            held.errand = Errand::Body;
        }
        let origin = self.model.urls[held.url].origin;
        self.model.latest = self.model.latest.max(self.now);
        self.model.tell(origin, turn);
        let renewed = ready(self.real().renew(lease, Renewal::head_arrived(turn), self.instant(0)));
        assert_eq!(renewed.unwrap(), Renewed::Held);
    }

    fn renew(&mut self, which: usize, wait: u64) {
        let deadline = self.instant(wait);
        let count = self.model.leases.len().max(1);
        let Some((&lease, held)) = self.model.leases.iter_mut().nth(which % count) else { return };
        held.deadline = deadline.as_micros();
        self.model.latest = self.model.latest.max(self.now);
        let renewed = ready(self.real().renew(lease, Renewal::until(deadline), self.instant(0)));
        assert_eq!(renewed.unwrap(), Renewed::Held);
    }

    fn robots(&mut self, event: &Event) {
        let now = self.instant(0);
        match *event {
            Event::Robots { origin, unknown } => {
                self.model.origins[origin].unknown = unknown;
                let mut told = self.judge.told();
                if unknown {
                    told.unknown.insert(name(origin))
                } else {
                    told.unknown.remove(&name(origin))
                };
            }
            Event::Judge { origin, hold } => {
                self.model.origins[origin].held = hold.map(|wait| wait.map(|wait| wait * 1000));
                let mut told = self.judge.told();
                told.held.remove(&name(origin));
                if let Some(wait) = hold {
                    told.held.insert(name(origin), Hold { reason: Reason::ParkRobots, wait: wait.map(ms) });
                }
            }
            Event::RobotsReady { origin, turn } => {
                let turn = self.turn(turn);
                self.model.latest = self.model.latest.max(self.now);
                let state = &mut self.model.origins[origin];
                (state.told, state.free) = (turn.ready.at.as_micros(), turn.overlap == comity_policy::Overlap::Free);
                (state.robots, state.hold) = (None, None);
                ready(self.real().turn(name(origin), TurnNews::RobotsReady { turn }, now)).unwrap();
            }
            Event::RobotsHold { origin, wait } => {
                self.model.latest = self.model.latest.max(self.now);
                let until = wait.map(|wait| self.instant(wait));
                let state = &mut self.model.origins[origin];
                (state.robots, state.hold) = (None, Some(until.unwrap_or(Instant::NEVER).as_micros()));
                let news = TurnNews::Hold { until, reason: Reason::ParkRobots };
                ready(self.real().turn(name(origin), news, now)).unwrap();
            }
            _ => unreachable!("{event:?}"),
        }
    }

    fn operator(&mut self, event: &Event) {
        let now = self.instant(0);
        match *event {
            Event::Park { origin, wait } => {
                self.model.latest = self.model.latest.max(self.now);
                let until = wait.map(|wait| self.instant(wait));
                self.model.origins[origin].park = Some(until.unwrap_or(Instant::NEVER).as_micros());
                ready(self.real().park(name(origin), Reason::ParkOperator, until, now)).unwrap();
            }
            Event::Release { origin } => {
                self.model.latest = self.model.latest.max(self.now);
                (self.model.origins[origin].park, self.model.origins[origin].hold) = (None, None);
                ready(self.real().release(name(origin), now)).unwrap();
            }
            _ => unreachable!("{event:?}"),
        }
    }

    /// A kill: only the store survives.
    fn restart(&mut self, wait: u64) {
        let store = self.real.take().unwrap().into_store().unwrap();
        let domains = store.peek(Keyspace::Domain, &[], &[0xff], 99).unwrap();
        let domains: Vec<_> = domains.into_iter().map(|(name, row)| (String::from_utf8(name).unwrap(), row)).collect();
        assert_eq!(domains, self.model.domains(), "what is stored of a domain is what its origins hold");
        let turn = Ready { at: self.instant(wait), clock: Reason::RateOrigin };
        self.real = Some(Local::open(store, self.model.config.clone(), turn).unwrap());
        self.model.latest = 0;
        // Who is not due yet sleeps, and is looked for when those in memory that were due before have had their turns.
        self.model.passed_over = None;
        self.model.leases.clear();
        self.model.late.clear();
        self.model.spent.clear();
        for url in &mut self.model.urls {
            if matches!(url.state, State::Deferred(_) | State::Out) {
                url.state = State::Waiting;
            }
        }
        for index in 0..ORIGINS {
            let known = self.model.urls.iter().any(|url| url.origin == index);
            let state = &mut self.model.origins[index];
            let (unknown, held, class) = (state.unknown, state.held, state.class);
            let told = if known { turn.at.as_micros() } else { 0 };
            *state = model::OriginModel { told, unknown, class, held, ..model::OriginModel::default() };
        }
    }

    /// Everything allowed, every lease settled: what is queued must all come out.
    fn drain(&mut self) {
        for origin in 0..ORIGINS {
            self.play(Event::Robots { origin, unknown: false });
            self.play(Event::Judge { origin, hold: None });
            self.play(Event::Release { origin });
            self.play(Event::RobotsReady { origin, turn: Told::After(0) });
        }
        for _ in 0..10_000 {
            self.play(Event::Lease { n: 64 });
            while let Some(held) = self.model.leases.values().next() {
                let refusal = held.errand == Errand::Refusal;
                self.play(if refusal {
                    Event::Refused { which: 0 }
                } else {
                    Event::Done { which: 0, links: 0, turn: Told::After(1) }
                });
            }
            let is_over = |state| matches!(state, State::Done | State::Refused | State::Failed | State::Returned);
            if self.model.urls.iter().all(|url| is_over(url.state)) {
                return self.restart(0);
            }
            self.now += 20_000;
        }
        panic!("these never came out: {:?}", self.model.urls);
    }
}

fn name(index: usize) -> Origin {
    origin(&format!("http://{}", host(index)))
}

fn pick<T>(list: &[T], which: usize) -> Option<&T> {
    list.get(which % list.len().max(1))
}

/// The memory store answers inline: one poll is enough.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("an inline store does not wait"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_history_agrees_with_the_slow_model(
        events in proptest::collection::vec(event(), 1..200),
        per_origin in 1_u32..4, deferred_per_origin in 1_u32..4, resident_per_origin in 1_u32..5, resident in 0_u32..200,
        resident_origins in 1_u32..6, named in proptest::sample::subsequence((0..ORIGINS).collect::<Vec<_>>(), 0..=ORIGINS),
        pages_per_domain in prop_oneof![1 => 5_u64..60, 2 => Just(u64::MAX)], queued_per_domain in prop_oneof![1 => 1_u64..30, 1 => Just(u64::MAX)],
        all in proptest::collection::vec(proptest::sample::select(Class::ALL.to_vec()), ORIGINS),
    ) {
        let mut classes = Classes::default();
        for index in named {
            classes.set(&host(index), all[index]);
        }
        let config = SchedulerConfig {
            per_origin, deferred_per_origin, resident_per_origin, resident, resident_origins,
            lease_life: ms(1000), robots_patience: ms(3000), epoch: Some(WallTime::from_unix_millis(0)),
            classes, pages_per_domain, queued_per_domain, ..SchedulerConfig::default()
        };
        let mut pair = Pair::new(config);
        for event in events {
            pair.play(event);
        }
        pair.drain();
    }
}

/// Found by a new history: a park that had passed was forgotten, so its origin counted as due since before the park and
/// overtook one that had waited longer.
#[test]
fn a_park_that_has_passed_does_not_let_its_origin_overtake() {
    let one =
        SchedulerConfig { deferred_per_origin: 1, resident_per_origin: 1, resident: 0, ..SchedulerConfig::default() };
    let mut pair = Pair::new(SchedulerConfig { lease_life: ms(1000), robots_patience: ms(3000), ..one });
    let offer = |origin| Event::Offer { origin, count: 1, priority: 0, private: false };
    let held = |origin| Event::Judge { origin, hold: Some(Some(0)) };
    for event in [
        held(2),
        held(0),
        offer(2),
        offer(0),
        Event::Restart { wait: 0 },
        Event::Park { origin: 0, wait: Some(1) },
        Event::Wait { millis: 1 },
        Event::Lease { n: 1 },
        Event::RobotsReady { origin: 0, turn: Told::Free },
        Event::Release { origin: 2 },
        Event::Lease { n: 1 },
    ] {
        pair.play(event);
    }
    pair.drain();
}

/// Found by a new history: a snooze told the turn before it freed the place, so the origin was not eligible in between
/// and went behind one that had waited less.
#[test]
fn a_snooze_does_not_cost_an_origin_its_place() {
    let config = SchedulerConfig {
        per_origin: 2,
        deferred_per_origin: 1,
        resident_per_origin: 1,
        resident: 0,
        lease_life: ms(1000),
        robots_patience: ms(3000),
        ..SchedulerConfig::default()
    };
    let mut pair = Pair::new(config);
    let offer = |origin, count| Event::Offer { origin, count, priority: 0, private: false };
    for event in [
        Event::RobotsReady { origin: 1, turn: Told::Free },
        Event::RobotsReady { origin: 2, turn: Told::After(230) },
        offer(1, 2),
        offer(2, 1),
        Event::Wait { millis: 64 },
        Event::Lease { n: 1 },
        Event::Wait { millis: 166 },
        Event::Snooze { which: 0, turn: Told::After(0), wait: 0 },
        Event::RobotsReady { origin: 1, turn: Told::Free },
        Event::Lease { n: 1 },
    ] {
        pair.play(event);
    }
    pair.drain();
}

/// Found by a new history: an origin slept with a retry, woke, and its records were read again over the retry.
#[test]
fn a_retry_of_an_origin_that_slept_is_leased_once() {
    let one = SchedulerConfig {
        deferred_per_origin: 1,
        resident_per_origin: 1,
        resident: 0,
        resident_origins: 1,
        ..SchedulerConfig::default()
    };
    let mut pair = Pair::new(SchedulerConfig { lease_life: ms(1000), robots_patience: ms(3000), ..one });
    let offer = |origin, count, private| Event::Offer { origin, count, priority: 0, private };
    for event in [
        Event::Park { origin: 0, wait: Some(1) },
        offer(0, 1, false),
        offer(0, 1, false),
        offer(1, 2, true),
        Event::Lease { n: 1 },
        Event::Retry { which: 0, turn: Told::After(0), wait: 1 },
        Event::Snooze { which: 0, turn: Told::After(0), wait: 0 },
        offer(0, 1, false),
    ] {
        pair.play(event);
    }
    pair.drain();
}

/// Found by a new history: an origin that had run empty went to sleep, and its key of before, which was read ahead, called for
/// a wake-up that found nothing.
#[test]
fn an_origin_that_sleeps_with_nothing_waiting_wakes_nobody() {
    let offer = |origin, count| Event::Offer { origin, count, priority: 0, private: false };
    let config = SchedulerConfig {
        per_origin: 1,
        deferred_per_origin: 1,
        resident_per_origin: 2,
        resident: 191,
        resident_origins: 1,
        lease_life: ms(1000),
        robots_patience: ms(3000),
        epoch: Some(WallTime::from_unix_millis(0)),
        ..SchedulerConfig::default()
    };
    let mut pair = Pair::new(config);
    for event in [
        offer(0, 2),
        offer(1, 1),
        Event::Judge { origin: 1, hold: Some(Some(221)) },
        offer(2, 1),
        Event::Lease { n: 2 },
        Event::Done { which: 0, links: 3, turn: Told::After(0) },
        Event::Restart { wait: 0 },
        Event::Release { origin: 3 },
        Event::Wait { millis: 0 },
        Event::Lease { n: 3 },
        Event::Wait { millis: 116 },
        Event::Done { which: 2, links: 0, turn: Told::After(0) },
        Event::RobotsReady { origin: 0, turn: Told::After(0) },
        Event::Wait { millis: 105 },
        Event::Done { which: 62, links: 2, turn: Told::After(1) },
        Event::Lease { n: 2 },
        Event::Done { which: 0, links: 0, turn: Told::After(0) },
        Event::Retry { which: 0, turn: Told::After(0), wait: 21 },
        Event::Snooze { which: 0, turn: Told::After(0), wait: 47 },
    ] {
        pair.play(event);
    }
    pair.drain();
}

/// Found by a new history: an origin slept with a row, woke before that was met, ended, and slept again without one; what was
/// left of the row made the frontier wake up for nobody.
#[test]
fn an_origin_that_ended_wakes_nobody() {
    let mut classes = Classes::default();
    classes.set(&host(1), Class::Third);
    let config = SchedulerConfig {
        deferred_per_origin: 1,
        resident_per_origin: 1,
        resident: 0,
        resident_origins: 2,
        lease_life: ms(1000),
        robots_patience: ms(3000),
        classes,
        ..SchedulerConfig::default()
    };
    let mut pair = Pair::new(config);
    let offer = |origin, count| Event::Offer { origin, count, priority: 0, private: false };
    let now = Told::After(0);
    for event in [
        offer(0, 2),
        offer(1, 2),
        Event::Lease { n: 2 },
        Event::Done { which: 0, links: 3, turn: now },
        Event::Lease { n: 2 },
        offer(0, 1),
        Event::Retry { which: 1, turn: now, wait: 0 },
        Event::Retry { which: 61, turn: now, wait: 0 },
        Event::Restart { wait: 0 },
        Event::Lease { n: 1 },
        Event::Retry { which: 0, turn: now, wait: 239 },
        Event::Lease { n: 2 },
        Event::Wait { millis: 39 },
        offer(0, 1),
        Event::Done { which: 8, links: 0, turn: now },
        Event::RobotsReady { origin: 3, turn: Told::After(201) },
        Event::Done { which: 0, links: 2, turn: now },
    ] {
        pair.play(event);
    }
    pair.drain();
}
