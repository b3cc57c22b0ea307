//! The wheel against an ordered set, on random histories.

use std::collections::BTreeSet;

use comity_policy::Instant;
use proptest::prelude::*;

use super::{Due, Place};

/// The same order, kept in the obvious way.
#[derive(Default)]
struct Model {
    timed: BTreeSet<(Instant, u64, u32)>,
    stuck: BTreeSet<u32>,
    tickets: u64,
    places: [Option<(Instant, Instant, u64)>; ORIGINS],
}

const ORIGINS: usize = 24;

impl Model {
    fn place(&mut self, origin: u32, due: Option<Instant>, now: Instant) {
        let old = self.places[origin as usize].take();
        if let Some((at, _, ticket)) = old {
            self.timed.remove(&(at, ticket, origin));
            self.stuck.remove(&origin);
        }
        let Some(due) = due else { return };
        let (since, ticket) = old.map_or_else(
            || {
                self.tickets += 1;
                (now, self.tickets)
            },
            |old| (old.1, old.2),
        );
        let at = due.max(since);
        if at == Instant::NEVER {
            self.stuck.insert(origin);
        } else {
            self.timed.insert((at, ticket, origin));
        }
        self.places[origin as usize] = Some((at, since, ticket));
    }

    fn waiting(&self, now: Instant) -> Vec<u32> {
        let waiting = self.timed.iter().filter(|key| key.0 > now).map(|key| key.2);
        waiting.chain(self.stuck.iter().copied()).collect()
    }
}

#[derive(Clone, Debug)]
enum Event {
    /// The origin becomes due so many microseconds from now, or before.
    Place {
        origin: u32,
        from_now: i64,
    },
    /// All of them, to one instant.
    Crowd {
        from_now: i64,
    },
    Never {
        origin: u32,
    },
    /// It is not eligible any more.
    Drop {
        origin: u32,
    },
    /// The origin that has been due longest is served: it goes behind all that are due.
    Serve {
        from_now: i64,
    },
    Pass {
        micros: u64,
    },
    /// Until the next is due.
    Sleep,
}

/// From single microseconds over ticks and the window of the ring to years.
fn span() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 0_i64..4,
        2 => 0_i64..20_000,
        4 => 0_i64..30_000_000,
        2 => 0_i64..200_000_000,
        1 => 0_i64..100_000_000_000_000,
        1 => -100_000_000_i64..0,
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let origin = 0..ORIGINS as u32;
    prop_oneof![
        8 => (origin.clone(), span()).prop_map(|(origin, from_now)| Event::Place { origin, from_now }),
        1 => span().prop_map(|from_now| Event::Crowd { from_now }),
        1 => origin.clone().prop_map(|origin| Event::Never { origin }),
        2 => origin.prop_map(|origin| Event::Drop { origin }),
        8 => span().prop_map(|from_now| Event::Serve { from_now }),
        2 => span().prop_map(|span| Event::Pass { micros: span.unsigned_abs() }),
        4 => Just(Event::Sleep),
    ]
}

#[derive(Default)]
struct Pair {
    due: Due,
    places: [Option<Place>; ORIGINS],
    model: Model,
    now: u64,
}

impl Pair {
    fn place(&mut self, origin: u32, due: Option<Instant>) {
        let now = Instant::from_micros(self.now);
        let place = &mut self.places[origin as usize];
        self.due.place(origin, place, due, now);
        self.model.place(origin, due, now);
    }

    fn instant(&self, from_now: i64) -> Instant {
        Instant::from_micros(self.now.saturating_add_signed(from_now))
    }

    fn play(&mut self, event: Event) {
        match event {
            Event::Place { origin, from_now } => self.place(origin, Some(self.instant(from_now))),
            Event::Crowd { from_now } => {
                (0..ORIGINS as u32).for_each(|origin| self.place(origin, Some(self.instant(from_now))));
            }
            Event::Never { origin } => self.place(origin, Some(Instant::NEVER)),
            Event::Drop { origin } => self.place(origin, None),
            Event::Serve { from_now } => {
                if let Some((_, _, origin)) = self.due.first_due(Instant::from_micros(self.now)) {
                    self.place(origin, None);
                    self.place(origin, Some(self.instant(from_now)));
                }
            }
            Event::Pass { micros } => self.now += micros,
            Event::Sleep => self.now = self.due.next().map_or(self.now, |next| self.now.max(next.as_micros())),
        }
        self.compare();
    }

    fn compare(&mut self) {
        let now = Instant::from_micros(self.now);
        let first = self.model.timed.first();
        assert_eq!(self.due.first_due(now), first.copied().filter(|key| key.0 <= now), "the first due");
        let due = self.model.timed.iter().filter(|key| key.0 <= now).map(|key| key.2);
        assert_eq!(self.due.all_due(now).collect::<Vec<_>>(), due.collect::<Vec<_>>(), "all that are due");
        let due = || self.model.timed.iter().filter(|key| key.0 <= now).map(|key| key.2);
        for most in [usize::MAX, 3] {
            let mut found = vec![u32::MAX];
            self.due.collect_due(now, most, &mut found);
            assert_eq!(found, std::iter::once(u32::MAX).chain(due().take(most)).collect::<Vec<_>>(), "{most} due ones");
        }
        assert_eq!(self.due.next(), first.map(|key| key.0), "the next instant");
        assert_eq!(self.due.stuck(), self.model.stuck.len());
        for from in [Instant::START, now] {
            assert_eq!(
                self.due.waiting(from).map(|key| key.2).chain(self.due.stuck_ones()).collect::<Vec<_>>(),
                self.model.waiting(from),
                "behind {from:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_wheel_keeps_the_order_of_an_ordered_set(events in proptest::collection::vec(event(), 1..250)) {
        let mut pair = Pair::default();
        for event in events {
            pair.play(event);
        }
    }
}

/// More origins in one tick than are kept without order, of which some leave before anybody asks for the first.
#[test]
fn a_crowd_at_one_instant_is_served_by_ticket() {
    let (mut due, later) = (Due::default(), Instant::from_micros(5_000_000));
    let mut places = vec![None; 20_000];
    (0..).zip(&mut places).for_each(|(origin, place)| due.place(origin, place, Some(later), Instant::START));
    for origin in (0..20_000).step_by(3) {
        due.place(origin, &mut places[origin as usize], None, Instant::START);
    }
    let waiting: Vec<u32> = due.waiting(Instant::START).map(|key| key.2).chain(due.stuck_ones()).collect();
    let mut served = Vec::new();
    assert_eq!(due.first_due(Instant::from_micros(4_999_999)), None);
    while let Some((_, _, origin)) = due.first_due(later) {
        served.push(origin);
        due.place(origin, &mut places[origin as usize], None, later);
    }
    assert_eq!(served, (0..20_000).filter(|origin| origin % 3 != 0).collect::<Vec<_>>());
    assert_eq!(waiting, served);
}
