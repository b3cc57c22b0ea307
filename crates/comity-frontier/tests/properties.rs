//! Random histories of the frontier against a slow model: no URL is lost, no origin is leased too early or too often,
//! the judge is asked before every lease, and the origin due longest is served first.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;
#[path = "properties/events.rs"]
mod events;
#[path = "properties/found.rs"]
mod found;
mod model;
#[path = "properties/pair.rs"]
mod pair;

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
use events::{Event, Told, event};
use model::{Errand, LeaseModel, Model, ORIGINS, State, Url, host};
use pair::Pair;

fn name(index: usize) -> Origin {
    origin(&format!("http://{}", host(index)))
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
