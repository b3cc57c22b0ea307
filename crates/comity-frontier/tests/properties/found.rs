//! Histories that an earlier version got wrong.

use super::*;

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
        Event::Done { which: 0, links: 3, turn: Told::After(0), bytes: 9 },
        Event::Restart { wait: 0 },
        Event::Release { origin: 3 },
        Event::Wait { millis: 0 },
        Event::Lease { n: 3 },
        Event::Wait { millis: 116 },
        Event::Done { which: 2, links: 0, turn: Told::After(0), bytes: 9 },
        Event::RobotsReady { origin: 0, turn: Told::After(0) },
        Event::Wait { millis: 105 },
        Event::Done { which: 62, links: 2, turn: Told::After(1), bytes: 9 },
        Event::Lease { n: 2 },
        Event::Done { which: 0, links: 0, turn: Told::After(0), bytes: 9 },
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
        Event::Done { which: 0, links: 3, turn: now, bytes: 9 },
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
        Event::Done { which: 8, links: 0, turn: now, bytes: 9 },
        Event::RobotsReady { origin: 3, turn: Told::After(201) },
        Event::Done { which: 0, links: 2, turn: now, bytes: 9 },
    ] {
        pair.play(event);
    }
    pair.drain();
}
