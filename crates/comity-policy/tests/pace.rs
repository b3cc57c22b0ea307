//! The clocks of an origin as values: each runs from the head, the latest wins, none overwrites another.

use std::time::Duration;

use comity_policy::{Adaptive, Instant, OriginPace, Outcome, Politeness, Reason, SeededRandom};
use proptest::prelude::*;

fn at(millis: u64) -> Instant {
    Instant::from_micros(millis * 1000)
}

fn rules() -> Politeness {
    Politeness::default()
}

fn answered(status: u16, retry_after: Option<u64>) -> Outcome {
    Outcome::Answered { status, retry_after: retry_after.map(Duration::from_secs), rate_limit: None }
}

/// An origin whose head arrived at 1 s, with a floor and perhaps a Crawl-delay, in milliseconds.
fn headed(floor: u64, crawl: Option<u64>, latency: u64) -> OriginPace {
    let mut pace = OriginPace::default();
    pace.set_floor(Duration::from_millis(floor));
    pace.set_crawl_delay(crawl.map(Duration::from_millis), &rules());
    pace.on_head(at(1000), Some(Duration::from_millis(latency)), &SeededRandom::new(9));
    pace
}

#[test]
fn the_latest_clock_binds_and_jitter_never_touches_a_number_of_the_site() {
    // (floor, Crawl-delay, latency) → (least wait, most wait, clock)
    let rows = [
        (1000, None, 1, 1000, 1200, Reason::RateOrigin),
        (1000, Some(2000), 1, 2000, 2000, Reason::RateCrawlDelay),
        (1000, Some(1000), 1, 1000, 1000, Reason::RateCrawlDelay),
        (1000, Some(500), 1, 1000, 1200, Reason::RateOrigin),
        (1000, None, 2000, 4000, 4800, Reason::RateOrigin),
        (1000, None, 60_000, 30_000, 36_000, Reason::RateOrigin),
        (1000, Some(40_000), 60_000, 40_000, 40_000, Reason::RateCrawlDelay),
        (0, None, 0, 0, 0, Reason::Ok),
    ];
    for (floor, crawl, latency, least, most, clock) in rows {
        let ready = headed(floor, crawl, latency).ready_at(&rules());
        let name = format!("floor {floor}, crawl {crawl:?}, latency {latency}: {ready:?}");
        assert_eq!(ready.clock, clock, "{name}");
        if clock != Reason::Ok {
            assert!(ready.at >= at(1000 + least) && ready.at <= at(1000 + most), "{name}");
        }
    }
}

#[test]
fn answers_slow_down_park_or_end_a_run() {
    // (outcome, least wait from the answer at 2 s, most, clock)
    let rows = [
        (answered(429, Some(7)), 7000, 7000, Reason::RateBackoff),
        (answered(503, Some(7)), 7000, 7000, Reason::RateBackoff),
        (answered(429, None), 2000, 2000, Reason::RateBackoff),
        (answered(429, Some(0)), 2000, 2000, Reason::RateBackoff),
        (answered(429, Some(3600)), 3_600_000, 3_600_000, Reason::RateBackoff),
        (answered(429, Some(3601)), 3_601_000, 3_601_000, Reason::ParkRetryAfter),
        (answered(503, Some(864_000)), 86_400_000, 86_400_000, Reason::ParkRetryAfter),
        (Outcome::Failed(Reason::FetchReset), 2000, 2000, Reason::RateBackoff),
    ];
    for (outcome, least, most, clock) in rows {
        let mut pace = headed(1000, None, 1);
        pace.on_outcome(outcome, at(1500), at(2000));
        let ready = pace.ready_at(&rules());
        assert_eq!(ready.clock, clock, "{outcome:?}");
        assert!(ready.at >= at(2000 + least) && ready.at <= at(2000 + most), "{outcome:?}: {ready:?}");
    }
    for harmless in [
        answered(200, None),
        answered(500, None),
        Outcome::Failed(Reason::FetchProxyConnect),
        Outcome::Failed(Reason::FetchProxyRefused),
        Outcome::Failed(Reason::FetchCancelled),
        Outcome::Failed(Reason::FetchDns),
        Outcome::Failed(Reason::RateAddress),
        Outcome::Failed(Reason::UrlUnsendable),
    ] {
        let mut pace = headed(1000, None, 1);
        pace.on_outcome(harmless, at(1500), at(2000));
        assert_eq!(pace.ready_at(&rules()).clock, Reason::RateOrigin, "{harmless:?}");
    }
}

#[test]
fn one_burst_is_one_event_and_runs_double_to_their_cap() {
    let mut burst = headed(0, None, 0);
    for _ in 0..8 {
        burst.on_outcome(answered(429, None), at(1500), at(2000));
    }
    assert_eq!(burst.failures(), 1);
    assert_eq!(burst.ready_at(&rules()).at, at(4000), "the base delay, not base × 2⁸");

    for (outcome, cap) in [(answered(503, None), 300), (Outcome::Failed(Reason::FetchRefused), 3600)] {
        let mut pace = headed(0, None, 0);
        let mut now = at(2000);
        for run in 0..16_u32 {
            pace.on_outcome(outcome, now, now);
            let wait = pace.ready_at(&rules()).at.since(now).as_secs();
            assert_eq!(wait, (2_u64 << run).min(cap), "{outcome:?} run {run}");
            now = now.after(Duration::from_secs(wait + 1));
        }
        pace.on_outcome(answered(200, None), now, now);
        assert_eq!(pace.failures(), 0, "a good answer ends the run");
    }
}

#[test]
fn a_crawl_delay_above_the_ceiling_parks_and_never_speeds_up() {
    let mut pace = headed(1000, Some(301_000), 1);
    assert_eq!(pace.ready_at(&rules()).at, Instant::NEVER);
    assert_eq!(pace.ready_at(&rules()).clock, Reason::ParkCrawlDelay);
    pace.set_crawl_delay(Some(Duration::from_secs(300)), &rules());
    assert_eq!(pace.ready_at(&rules()).at, at(301_000), "a new robots.txt frees it");
}

#[test]
fn without_adaptive_and_floor_nothing_holds() {
    let rules = Politeness { adaptive: Adaptive::Off, ..Politeness::default() };
    let pace = headed(0, None, 5000);
    assert!(pace.is_unpaced(&rules) && !pace.is_unpaced(&Politeness::default()));
    assert_eq!(pace.ready_at(&rules).clock, Reason::Ok);
}

proptest! {
    /// Whatever happens, no later event makes an origin due earlier than the Crawl-delay after its last head.
    #[test]
    fn nothing_ever_shortens_a_crawl_delay(
        crawl in 1_u64..10_000,
        events in prop::collection::vec((0_u8..5, 0_u64..5000, prop::option::of(0_u64..9000)), 1..40),
    ) {
        let random = SeededRandom::new(crawl);
        let mut pace = OriginPace::default();
        pace.set_floor(Duration::from_millis(1000));
        pace.set_crawl_delay(Some(Duration::from_millis(crawl)), &rules());
        let (mut now, mut head) = (0, None);
        for (kind, pass, number) in events {
            now += pass;
            match kind {
                0 | 1 => {
                    pace.on_head(at(now), number.map(Duration::from_millis), &random);
                    head = Some(now);
                }
                2 => pace.on_outcome(answered(429, number), at(now), at(now)),
                3 => pace.on_outcome(answered(200, None), at(now), at(now)),
                _ => pace.on_outcome(Outcome::Failed(Reason::FetchReset), at(now), at(now)),
            }
            if let Some(head) = head {
                prop_assert!(pace.ready_at(&rules()).at >= at(head + crawl));
            }
        }
    }

    /// Merging two readings never makes an origin due earlier than either.
    #[test]
    fn merging_never_hastens(heads in (0_u64..9000, 0_u64..9000), floors in (0_u64..3000, 0_u64..3000), backoff in 0_u64..20) {
        let random = SeededRandom::new(1);
        let made = |head: u64, floor: u64| {
            let mut pace = OriginPace::default();
            pace.set_floor(Duration::from_millis(floor));
            pace.on_head(at(head), None, &random);
            pace
        };
        let (mut a, b) = (made(heads.0, floors.0), made(heads.1, floors.1));
        a.on_outcome(answered(429, Some(backoff)), at(heads.0), at(heads.0));
        let merged = a.merge(b).ready_at(&rules()).at;
        // The jitter is the newer reading's: compare without it.
        let least = |pace: &OriginPace| pace.clocks(&rules()).into_iter().flatten()
            .map(|reading| if reading.delay.is_zero() { reading.until } else { Instant::START })
            .max().unwrap_or(Instant::START);
        prop_assert!(merged >= least(&a).max(least(&b)));
        prop_assert!(merged >= at(heads.0.max(heads.1) + floors.0.max(floors.1)));
    }
}
