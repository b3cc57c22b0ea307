//! What may happen to a frontier, drawn at random.

use super::*;

/// One event; numbers choose among what is there at the time.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Offer { origin: usize, count: usize, priority: u8, private: bool },
    OfferAgain { which: usize },
    Lease { n: usize },
    Done { which: usize, links: usize, turn: Told, bytes: u64 },
    Again { which: usize, links: usize, turn: Told, wait: u64, bytes: u64 },
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
pub(crate) enum Told {
    After(u64),
    Free,
}

pub(crate) fn told() -> impl Strategy<Value = Told> {
    prop_oneof![4 => (0_u64..300).prop_map(Told::After), 1 => Just(Told::Free)]
}

pub(crate) fn wait() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![3 => (0_u64..500).prop_map(Some), 1 => Just(None)]
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    let which = 0_usize..64;
    let origin = 0..ORIGINS;
    prop_oneof![
        6 => (origin.clone(), 1_usize..6, 0_u8..3, prop::bool::weighted(0.2))
            .prop_map(|(origin, count, priority, private)| Event::Offer { origin, count, priority, private }),
        1 => which.clone().prop_map(|which| Event::OfferAgain { which }),
        14 => (0_usize..6).prop_map(|n| Event::Lease { n }),
        8 => (which.clone(), 0_usize..4, told(), 0_u64..1 << 20)
            .prop_map(|(which, links, turn, bytes)| Event::Done { which, links, turn, bytes }),
        3 => (which.clone(), 0_usize..3, told(), 0_u64..900, 0_u64..1 << 20)
            .prop_map(|(which, links, turn, wait, bytes)| Event::Again { which, links, turn, wait, bytes }),
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
