//! The pacer's books: slots, drops at every stage, addresses, fall-over.
#![expect(clippy::disallowed_methods, reason = "the test plays the gate")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use comity_policy::{
    Exchange, Instant, Outcome, Overlap, Pacer, Permit, Politeness, Reason, RobotsChain, SeededRandom, Slot,
};
use comity_url::Origin;

fn at(millis: u64) -> Instant {
    Instant::from_micros(millis * 1000)
}

fn origin(n: u32) -> Origin {
    Origin::parse(&format!("http://h{n}.test")).unwrap()
}

fn public() -> Vec<SocketAddr> {
    vec!["198.51.100.1:80".parse().unwrap(), "198.51.100.2:80".parse().unwrap()]
}

fn pacer(rules: Politeness) -> Pacer {
    Pacer::new(rules, Arc::new(SeededRandom::new(3)))
}

fn exchange(slot: Slot, now: Instant) -> Exchange {
    let chain = RobotsChain::new(slot.origin());
    Permit::for_robots(&chain, slot).unwrap().redeem(now).unwrap()
}

const OK: Outcome = Outcome::answered(200);

#[test]
fn while_a_head_is_outstanding_nothing_else_starts_and_the_delay_runs_from_the_head() {
    let pacer =
        pacer(Politeness { per_origin: 4, per_address: 9, address_gap: Duration::ZERO, ..Politeness::default() });
    let mut first = exchange(pacer.try_slot(&origin(1), public(), at(0)).unwrap(), at(0));
    first.written(at(10));
    let busy = pacer.try_slot(&origin(1), public(), at(5000)).unwrap_err();
    assert_eq!(busy.clock, Reason::ConcOrigin);
    first.head(at(6000));
    let early = pacer.try_slot(&origin(1), public(), at(6500)).unwrap_err();
    assert_eq!(early.clock, Reason::RateOrigin);
    assert!(early.at >= at(7000), "from the head, not from the send");
    assert!(
        pacer.try_slot(&origin(1), public(), early.at).is_ok(),
        "waiting exactly as told succeeds, body still open"
    );
    let _pace = pacer.settle(first.finish(), OK, early.at);
}

#[test]
fn a_slot_dropped_unsent_charges_nothing_and_after_a_byte_it_failed_now() {
    let pacer = pacer(Politeness::default());
    drop(pacer.try_slot(&origin(1), public(), at(0)).unwrap());
    let slot = pacer.try_slot(&origin(1), public(), at(1)).expect("no charge");
    let mut sent = exchange(slot, at(1));
    sent.written(at(2));
    drop(sent);
    assert_eq!(pacer.in_flight(), 0);
    let ready = pacer.try_slot(&origin(1), public(), at(5000)).unwrap_err();
    assert!(ready.at >= at(6000), "failed now: the delay runs from when it was noticed, {ready:?}");
}

#[test]
fn a_head_then_a_drop_keeps_the_head_and_frees_the_place() {
    let pacer = pacer(Politeness::default());
    let mut open = exchange(pacer.try_slot(&origin(1), public(), at(0)).unwrap(), at(0));
    open.head(at(100));
    drop(open.finish());
    assert_eq!(pacer.in_flight(), 0);
    let ready = pacer.try_slot(&origin(1), public(), at(500)).unwrap_err();
    assert!(ready.at >= at(1100) && ready.at <= at(1300));
}

#[test]
fn a_failure_before_the_head_runs_the_delay_and_backs_off() {
    let pacer = pacer(Politeness::default());
    let failed = exchange(pacer.try_slot(&origin(1), public(), at(0)).unwrap(), at(0));
    let pace = pacer.settle(failed.finish(), Outcome::Failed(Reason::FetchRefused), at(300));
    assert_eq!(pace.failures(), 1);
    assert_eq!(pacer.turn(&origin(1), at(300)).ready.at, at(2300));
}

#[test]
fn an_address_has_its_own_gap_and_concurrency_across_origins() {
    let pacer = pacer(Politeness::default());
    let mut first = exchange(pacer.try_slot(&origin(1), public(), at(0)).unwrap(), at(0));
    let undecided = pacer.try_slot(&origin(2), public(), at(400)).unwrap_err();
    assert_eq!(undecided.clock, Reason::RateAddress, "the first may still be written late");
    first.written(at(1000));
    assert!(pacer.try_slot(&origin(2), public(), at(1499)).is_err(), "the gap runs from the written request");
    let mut second = exchange(pacer.try_slot(&origin(2), public(), at(1500)).unwrap(), at(1500));
    second.written(at(1500));
    let full = pacer.try_slot(&origin(3), public(), at(9000)).unwrap_err();
    assert_eq!(full.clock, Reason::ConcAddress, "two are open");
    first.head(at(9000));
    let _pace = pacer.settle(first.finish(), OK, at(9000));
    assert!(pacer.try_slot(&origin(3), public(), at(9000)).is_ok());
    drop(second);
}

#[test]
fn a_request_handed_over_counts_on_each_clock_from_its_polite_end() {
    let pacer = pacer(Politeness::default());
    let mut handed = exchange(pacer.try_slot(&origin(1), public(), at(0)).unwrap(), at(0));
    let meanwhile = pacer.try_slot(&origin(2), public(), at(1500)).unwrap_err();
    assert_eq!(meanwhile.clock, Reason::RateAddress, "it may be written only now");
    handed.written_since(at(0), at(2000));
    handed.head(at(2000));
    let _pace = pacer.settle(handed.finish(), OK, at(2000));
    assert!(pacer.try_slot(&origin(2), public(), at(2499)).is_err(), "the gap runs from when it was written at latest");
    let own = pacer.turn(&origin(1), at(2000)).ready.at;
    assert!(own >= at(6000), "twice the latency of 2 s, which counts from when it was written at earliest: {own:?}");
}

#[test]
fn waiting_origins_of_one_address_are_told_distinct_turns() {
    let pacer = pacer(Politeness::default());
    let mut first = exchange(pacer.try_slot(&origin(0), public(), at(0)).unwrap(), at(0));
    first.written(at(0));
    let told: Vec<Instant> = (1..20).map(|n| pacer.try_slot(&origin(n), public(), at(1)).unwrap_err().at).collect();
    assert!(told.windows(2).all(|pair| pair[1].since(pair[0]) >= Duration::from_millis(500)), "{told:?}");
    drop(first);
}

#[test]
fn a_turn_that_comes_a_little_early_is_kept_and_not_sent_to_the_end_of_the_queue() {
    let pacer = pacer(Politeness::default());
    let mut first = exchange(pacer.try_slot(&origin(0), public(), at(0)).unwrap(), at(0));
    first.written(at(0));
    let told: Vec<Instant> = (1..5).map(|n| pacer.try_slot(&origin(n), public(), at(1)).unwrap_err().at).collect();
    let mut open = Some(first);
    for (n, turn) in (1..5).zip(&told) {
        // Each request is written 30 ms after its turn, so the next turn is as much too early.
        drop(open.take());
        let now = match pacer.try_slot(&origin(n), public(), *turn) {
            Ok(_unsent) => *turn,
            Err(ready) => ready.at,
        };
        assert!(now.since(*turn) <= Duration::from_millis(30 * 4), "turn {n}: {turn:?}, told {now:?}");
        let mut exchange = exchange(pacer.try_slot(&origin(n), public(), now).unwrap(), now);
        exchange.written(now.after(Duration::from_millis(30)));
        open = Some(exchange);
    }
}

#[test]
fn the_peer_really_connected_is_charged() {
    let pacer = pacer(Politeness::default());
    let mut fell_over = exchange(pacer.try_slot(&origin(1), public(), at(0)).unwrap(), at(0));
    fell_over.charge(public()[1], at(0)).unwrap();
    fell_over.written(at(0));
    let second_only = vec![public()[1]];
    assert_eq!(pacer.try_slot(&origin(2), second_only, at(100)).unwrap_err().clock, Reason::RateAddress);
    assert!(pacer.try_slot(&origin(3), public(), at(100)).is_ok(), "the first candidate was given back");
    drop(fell_over);
}

#[test]
fn an_origin_without_any_delay_overlaps_up_to_its_limit() {
    let rules = Politeness {
        delay: Duration::ZERO,
        per_origin: 3,
        adaptive: comity_policy::Adaptive::Off,
        own_networks: vec!["127.0.0.0/8".parse().unwrap()],
        ..Politeness::default()
    };
    let pacer = pacer(rules);
    let own: Vec<SocketAddr> = vec!["127.0.0.1:80".parse().unwrap()];
    let slots: Vec<Slot> = (0..3).map(|_| pacer.try_slot(&origin(1), own.clone(), at(0)).unwrap()).collect();
    assert_eq!(pacer.turn(&origin(1), at(0)).overlap, Overlap::Free);
    assert_eq!(pacer.try_slot(&origin(1), own.clone(), at(0)).unwrap_err().clock, Reason::ConcOrigin);
    drop(slots);
    assert!(pacer.try_slot(&origin(1), own, at(0)).is_ok());
}

#[test]
fn a_permit_goes_stale_and_gives_its_turn_back() {
    let pacer = pacer(Politeness::default());
    let slot = pacer.try_slot(&origin(1), public(), at(0)).unwrap();
    let permit = Permit::for_robots(&RobotsChain::new(&origin(1)), slot).unwrap();
    let stale = permit.redeem(at(30_001)).unwrap_err();
    assert_eq!(stale.late, Duration::from_millis(1));
    assert!(pacer.try_slot(&origin(1), public(), at(30_001)).is_ok(), "nothing was charged");
}

#[test]
fn a_slot_of_one_origin_serves_no_other() {
    let pacer = pacer(Politeness::default());
    let slot = pacer.try_slot(&origin(1), public(), at(0)).unwrap();
    let wrong = Permit::for_robots(&RobotsChain::new(&origin(2)), slot).unwrap_err();
    assert_eq!(wrong.slot.origin(), &origin(1));
}
