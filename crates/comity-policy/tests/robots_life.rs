//! The life of a robots.txt as a table of events and ages; no clock, a month runs in microseconds.
#![expect(clippy::disallowed_methods, reason = "the test plays the gate")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use comity_policy::{
    Digest, OnUnreachable, Reason, RobotsCopy, RobotsEvent, RobotsLife, RobotsPolicy, SeededRandom, Standing, WallTime,
};
use comity_robots::{Dialect, Robots};
use comity_signals::PolicyGroups;
use comity_url::Origin;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn start() -> WallTime {
    WallTime::from_civil((2026, 11, 30), (9, 0, 0)).unwrap()
}

fn life(on_unreachable: OnUnreachable) -> RobotsLife {
    let policy = RobotsPolicy { on_unreachable, strict_4xx: vec![401], ..RobotsPolicy::default() };
    RobotsLife::new(Origin::parse("https://a.test").unwrap(), policy.into())
}

fn copy(text: &str) -> RobotsCopy {
    RobotsCopy {
        digest: Digest::from_bytes([7; 32]),
        bytes: text.len() as u64,
        truncated: false,
        final_url: None,
        validators: None,
        rules: [Robots::parse(text.as_bytes()).rules(&["MyBot"], Dialect::Standard)].into(),
        policies: PolicyGroups::parse(text.as_bytes(), Dialect::Standard),
        agents: comity_signals::AgentGroups::default(),
    }
}

fn parsed(max_age: Option<Duration>) -> RobotsEvent {
    RobotsEvent::Parsed { status: 200, copy: copy("User-agent: *\nDisallow: /p\n"), max_age }
}

fn unreachable(status: Option<u16>) -> RobotsEvent {
    RobotsEvent::Unreachable { cause: Reason::RobotsUnreachable, status, retry_after: None }
}

/// The standing in one word.
fn word(life: &RobotsLife, now: WallTime) -> &'static str {
    match life.standing(now) {
        Standing::Unknown => "unknown",
        Standing::Rules { stale: false, .. } => "rules",
        Standing::Rules { stale: true, .. } => "stale",
        Standing::Absent => "absent",
        Standing::Denied => "denied",
        Standing::RedirectLimit => "redirect_limit",
        Standing::Unreachable(_) => "unreachable",
        Standing::Open => "open",
    }
}

#[test]
fn every_answer_has_its_standing_and_its_life() {
    let rows: [(&str, RobotsEvent, &str, Duration); 11] = [
        ("200", parsed(None), "rules", DAY),
        ("200, max-age 10 years", parsed(Some(DAY * 3650)), "rules", DAY),
        ("200, max-age 1 h", parsed(Some(HOUR)), "rules", HOUR),
        ("200, max-age 0", parsed(Some(Duration::ZERO)), "rules", MINUTE * 5),
        ("404", RobotsEvent::Absent { status: 404, max_age: None }, "absent", DAY),
        ("404 for an hour", RobotsEvent::Absent { status: 404, max_age: Some(HOUR) }, "absent", HOUR),
        ("404 for a minute", RobotsEvent::Absent { status: 404, max_age: Some(MINUTE) }, "absent", MINUTE * 5),
        ("401, strict", RobotsEvent::Absent { status: 401, max_age: None }, "denied", DAY),
        ("403, not strict", RobotsEvent::Absent { status: 403, max_age: None }, "absent", DAY),
        ("six redirects", RobotsEvent::RedirectLimit { status: 302 }, "redirect_limit", DAY),
        ("304 without a copy", RobotsEvent::NotModified { max_age: None }, "unknown", Duration::ZERO),
    ];
    let random = SeededRandom::new(1);
    for (name, event, standing, lives) in rows {
        let mut life = life(OnUnreachable::Rfc9309);
        assert_eq!(word(&life, start()), "unknown", "{name}");
        life.apply(event, start(), &random);
        assert_eq!(word(&life, start()), standing, "{name}");
        if !lives.is_zero() {
            assert_eq!(word(&life, start().after(lives - Duration::from_secs(1))), standing, "{name}: within");
            assert!(!life.is_due(start().after(lives - Duration::from_secs(1))), "{name}: not due within");
            assert_eq!(word(&life, start().after(lives)), "unknown", "{name}: fetch first afterwards");
            assert!(life.is_due(start().after(lives)), "{name}: due");
        }
    }
}

#[test]
fn unreachable_closes_at_once_and_opens_only_by_the_table() {
    // (reading, a copy was known, status of the failures, time from the first failure to the last, standing)
    use OnUnreachable::{Google, Rfc9309};
    let rows = [
        (Rfc9309, true, Some(503), Duration::ZERO, "unreachable"),
        (Rfc9309, true, Some(503), DAY * 29, "unreachable"),
        (Rfc9309, true, Some(503), DAY * 30, "stale"),
        (Rfc9309, true, None, DAY * 40, "stale"),
        (Rfc9309, false, Some(503), DAY * 29, "unreachable"),
        (Rfc9309, false, Some(503), DAY * 30, "open"),
        (Rfc9309, false, None, DAY * 30, "unreachable"),
        (Google, true, Some(500), HOUR * 11, "unreachable"),
        (Google, true, Some(500), HOUR * 12, "stale"),
        (Google, true, Some(500), DAY * 29, "stale"),
        (Google, true, Some(500), DAY * 30, "open"),
        (Google, true, None, DAY * 30, "unreachable"),
        (Google, false, Some(500), HOUR * 11, "unreachable"),
        (Google, false, Some(500), HOUR * 12, "open"),
        (Google, false, None, HOUR * 12, "unreachable"),
    ];
    let random = SeededRandom::new(2);
    for (reading, known, status, age, standing) in rows {
        let name = format!("{reading:?} known={known} status={status:?} age={} h", age.as_secs() / 3600);
        let mut life = life(reading);
        let first_failure = start().after(DAY * 2);
        if known {
            life.apply(parsed(None), start(), &random);
        }
        life.apply(unreachable(status), first_failure, &random);
        // The run goes on: a failure every few hours, the last at the moment in question.
        let mut at = Duration::ZERO;
        while at < age {
            at = age.min(at + HOUR * 6);
            life.apply(unreachable(status), first_failure.after(at), &random);
        }
        assert_eq!(word(&life, first_failure.after(age)), standing, "{name}");
    }
}

#[test]
fn no_clock_alone_ends_disallow_all() {
    use OnUnreachable::{Google, Rfc9309};
    let random = SeededRandom::new(7);
    let years = DAY * 365 * 56;
    // The machine's clock goes from 1970 to the truth, or nobody tries for a month: one failure on either side.
    for (reading, gap) in [(Rfc9309, DAY * 31), (Rfc9309, years), (Google, HOUR * 13), (Google, years)] {
        for known in [true, false] {
            let name = format!("{reading:?} known={known}, {} days", gap.as_secs() / 86_400);
            let mut life = life(reading);
            let first = start().after(DAY * 2);
            if known {
                life.apply(parsed(None), start(), &random);
            }
            life.apply(unreachable(Some(503)), first, &random);
            let mut now = first.after(gap);
            assert_eq!(word(&life, now), "unreachable", "{name}: no try says so");
            assert!(life.is_due(now), "{name}");
            life.apply(unreachable(Some(503)), now, &random);
            let (vouched, needed) = match reading {
                Rfc9309 => (DAY, 30),
                Google => (HOUR * 6, 2),
            };
            let failing = life.failing().unwrap();
            assert_eq!((failing.since, failing.witnessed), (first, vouched), "{name}: what one try vouches for");
            // And set back again, which takes nothing away and adds nothing.
            life.apply(unreachable(Some(503)), first, &random);
            now = first;
            for tries in 1..needed {
                assert_eq!(word(&life, now.after(years)), "unreachable", "{name}: after {tries} of {needed}");
                now = now.after(vouched);
                life.apply(unreachable(Some(503)), now, &random);
            }
            assert_eq!(
                word(&life, now),
                if known { "stale" } else { "open" },
                "{name}: they bear witness to all of it"
            );
        }
    }
}

#[test]
fn an_answer_that_seems_to_come_from_the_future_does_not_open() {
    let random = SeededRandom::new(8);
    let mut life = life(OnUnreachable::Rfc9309);
    life.apply(unreachable(Some(503)), start().after(DAY * 365), &random);
    for day in 0..=31 {
        life.apply(unreachable(None), start().after(DAY * day), &random);
    }
    assert_eq!(word(&life, start().after(DAY * 31)), "unreachable", "the site has not answered within a day");
}

#[test]
fn a_failed_early_refresh_changes_nothing_before_the_life_ends_and_counts_from_there() {
    let random = SeededRandom::new(3);
    let mut life = life(OnUnreachable::Rfc9309);
    life.apply(parsed(None), start(), &random);
    life.apply(unreachable(Some(500)), start().after(HOUR * 23), &random);
    assert_eq!(word(&life, start().after(HOUR * 23)), "rules");
    assert_eq!(word(&life, start().after(DAY)), "unreachable");
    assert_eq!(life.failing().unwrap().since, start().after(HOUR * 23), "the run began with the early failure");
    life.apply(parsed(None), start().after(DAY + HOUR), &random);
    assert_eq!(word(&life, start().after(DAY + HOUR)), "rules", "recovery");
    assert!(life.failing().is_none());
}

#[test]
fn retries_double_from_a_minute_to_an_hour_and_retry_after_wins() {
    let random = SeededRandom::new(4);
    let mut life = life(OnUnreachable::Rfc9309);
    let mut now = start();
    for (attempt, minutes) in [1, 2, 4, 8, 16, 32, 60, 60].into_iter().enumerate() {
        life.apply(unreachable(Some(503)), now, &random);
        let wait = life.failing().unwrap().next_try.since(now);
        assert!(wait >= MINUTE * minutes && wait <= MINUTE * minutes * 6 / 5, "attempt {attempt}: {wait:?}");
        assert!(!life.is_due(now) && life.is_due(now.after(wait)));
        now = now.after(wait);
    }
    // The first two are taken at their word, later ones never shorten the schedule.
    for (asked, given) in [(120, 3600), (7200, 7200), (10 * 86_400, 86_400), (0, 3600)] {
        let retry_after = Some(Duration::from_secs(asked));
        life.apply(
            RobotsEvent::Unreachable { cause: Reason::RobotsUnreachable, status: Some(429), retry_after },
            now,
            &random,
        );
        let wait = life.failing().unwrap().next_try.since(now).as_secs();
        assert!((given..=given * 6 / 5).contains(&wait), "Retry-After {asked}: {wait}");
    }
}

#[test]
fn a_304_keeps_the_copy_and_restarts_its_life() {
    let random = SeededRandom::new(5);
    let mut life = life(OnUnreachable::Rfc9309);
    life.apply(parsed(None), start(), &random);
    let later = start().after(DAY);
    life.apply(RobotsEvent::NotModified { max_age: None }, later, &random);
    assert_eq!(word(&life, later.after(HOUR * 23)), "rules");
    assert_eq!(life.fetched().unwrap().0, start(), "the bytes are as old as they were");
}

#[test]
fn the_first_two_retry_afters_are_taken_at_their_word() {
    let random = SeededRandom::new(6);
    let mut life = life(OnUnreachable::Rfc9309);
    for (attempt, given) in [(1, 3), (2, 3), (3, 240), (4, 480)] {
        let retry_after = Some(Duration::from_secs(3));
        let cause = Reason::RobotsUnreachable;
        life.apply(RobotsEvent::Unreachable { cause, status: Some(503), retry_after }, start(), &random);
        let wait = life.failing().unwrap().next_try.since(start()).as_secs();
        assert!((given..=given * 6 / 5).contains(&wait), "attempt {attempt}: {wait}");
    }
}
