//! What the tests of the frontier share: a judge that plays the gate, and short names.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use comity_frontier::{Frontier, LeaseId, Leased, Offer, Offered, Settled, Settlement, Spent};
use comity_policy::{
    Hold, Instant, Judge, Judgement, OptOuts, OriginPace, Overlap, Ready, Reason, RobotsEvent, RobotsLife,
    RobotsPolicy, SeededRandom, Terms, Turn, WallTime,
};
use comity_url::{CrawlUrl, KeyHasher, Origin};

/// Plays the gate: allows everything but `/private`, unless told that an origin is unknown or held.
#[derive(Debug, Default)]
pub(crate) struct TestJudge(Mutex<Told>);

/// What the judge was told and what it was asked.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) asked: Vec<CrawlUrl>,
    pub(crate) unknown: BTreeSet<Origin>,
    pub(crate) held: BTreeMap<Origin, Hold>,
}

impl TestJudge {
    pub(crate) fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap()
    }
}

impl Judge for TestJudge {
    fn judge(&self, url: &CrawlUrl) -> Judgement {
        let mut told = self.told();
        told.asked.push(url.clone());
        if let Some(hold) = told.held.get(url.origin()) {
            return Judgement::Hold(*hold);
        }
        let life = life(url, told.unknown.contains(url.origin()));
        comity_policy::judge(url, &life, &Terms::default(), OptOuts::nobody(), WALL)
    }
}

const WALL: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

/// A life without rules; one that denies for `/private`; one that knows nothing for unknown origins.
#[expect(clippy::disallowed_methods, reason = "the test plays the gate")]
fn life(url: &CrawlUrl, unknown: bool) -> RobotsLife {
    let policy = RobotsPolicy { strict_4xx: vec![403], ..RobotsPolicy::default() };
    let mut life = RobotsLife::new(url.origin().clone(), policy.into());
    if !unknown {
        let status = if url.path().starts_with("/private") { 403 } else { 404 };
        life.apply(RobotsEvent::Absent { status, max_age: None }, WALL, &SeededRandom::new(1));
    }
    life
}

pub(crate) fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

pub(crate) fn origin(text: &str) -> Origin {
    Origin::parse(text).unwrap()
}

/// A link with priority 1.
pub(crate) fn offer(text: &str) -> Offer {
    let url = url(text);
    let key = KeyHasher::new([7; 16]).key(&url);
    Offer { depth: 1, seed: false, priority: 1, ..Offer::seed(url, key) }
}

pub(crate) fn offers<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Offer> {
    texts.into_iter().map(offer).collect()
}

/// Milliseconds since the start.
pub(crate) fn at(millis: u64) -> Instant {
    Instant::from_micros(millis * 1000)
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Next at `millis`, one request at a time.
pub(crate) fn turn(millis: u64) -> Turn {
    Turn { ready: Ready { at: at(millis), clock: Reason::RateOrigin }, overlap: Overlap::AfterHead }
}

/// Whenever, several at once.
pub(crate) fn free() -> Turn {
    Turn { ready: Ready { at: Instant::START, clock: Reason::Ok }, overlap: Overlap::Free }
}

pub(crate) fn done(lease: LeaseId, turn: Turn) -> Settlement {
    Settlement::Done { lease, spent: Spent::default(), links: Vec::new(), pace: OriginPace::default(), turn }
}

pub(crate) fn done_with(lease: LeaseId, links: Vec<Offer>, turn: Turn) -> Settlement {
    Settlement::Done { lease, spent: Spent::default(), links, pace: OriginPace::default(), turn }
}

pub(crate) fn retry(lease: LeaseId, turn: Turn, not_before: Instant) -> Settlement {
    Settlement::Retry { lease, spent: Spent::default(), pace: OriginPace::default(), turn, not_before }
}

pub(crate) fn failed(lease: LeaseId, turn: Turn) -> Settlement {
    Settlement::Failed { lease, spent: Spent::default(), pace: OriginPace::default(), turn }
}

pub(crate) fn snooze(lease: LeaseId, turn: Turn, until: Instant) -> Settlement {
    Settlement::Snooze { lease, pace: OriginPace::default(), turn, until, reason: Reason::RateAddress }
}

/// Offers and checks that all were new.
pub(crate) async fn add(frontier: &dyn Frontier, texts: &[&str]) {
    let offered = frontier.offer(offers(texts.iter().copied())).await.unwrap();
    assert!(offered.iter().all(|answer| *answer == Offered::New), "{texts:?}: {offered:?}");
}

pub(crate) fn urls(leased: &Leased) -> Vec<&str> {
    leased.leases.iter().map(|lease| lease.url.as_str()).collect()
}

/// Settles one and checks that it counted.
pub(crate) async fn settle(frontier: &dyn Frontier, settlement: Settlement, now: Instant) -> Vec<Offered> {
    match frontier.settle(vec![settlement], now).await.unwrap().remove(0) {
        Settled::Applied { links } => links,
        Settled::Stale => panic!("the settlement was stale"),
    }
}
