//! What an answer's fields ask about pace: the families as a table, and laws over any bytes.

use std::time::Duration;

use comity_policy::{
    Instant, OriginPace, Outcome, PaceFields, PaceNote, Politeness, RateLimit, Reason, SeededRandom, WallTime,
    parse_http_date,
};
use proptest::prelude::*;

const DATE: &str = "Mon, 30 Nov 2026 00:00:00 GMT";

fn now() -> WallTime {
    parse_http_date(DATE).unwrap_or_default()
}

fn read(fields: &[(&str, &str)]) -> PaceFields {
    PaceFields::read(fields.iter().map(|(name, value)| (*name, value.as_bytes())), now())
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Spent until a reset.
fn reset(seconds: u64) -> Option<RateLimit> {
    Some(RateLimit { reset: Some(Duration::from_secs(seconds)), ..RateLimit::default() })
}

fn spread(wait: Duration) -> Option<RateLimit> {
    Some(RateLimit { spread: wait, ..RateLimit::default() })
}

const UNTOLD: Option<RateLimit> = Some(RateLimit { reset: None, unknown_reset: true, spread: Duration::ZERO });

/// Names and values of fields.
type Fields = &'static [(&'static str, &'static str)];

fn check(rows: &[(Fields, Option<RateLimit>)]) {
    for (fields, asked) in rows {
        let found = read(fields);
        assert_eq!(found.rate_limit, *asked, "{fields:?}");
        assert_eq!(found.notes, [], "{fields:?}");
    }
}

#[test]
fn the_structured_field_is_read() {
    check(&[
        (&[("RateLimit", "\"default\";r=0;t=30")], reset(30)),
        (&[("ratelimit", "\"default\";r=0")], UNTOLD),
        (
            &[("RateLimit", "\"default\";r=0;t=0")],
            Some(RateLimit { reset: Some(Duration::ZERO), ..RateLimit::default() }),
        ),
        (&[("RateLimit", "\"default\";r=50;t=30")], spread(millis(600))),
        (&[("RateLimit", "\"a\";r=3;t=10")], spread(Duration::from_micros(3_333_334))),
        (&[("RateLimit", "\"default\";r=50")], None),
        (&[("RateLimit", "\"a\";r=50;t=30, \"b\";r=2;t=30")], spread(millis(15_000))),
        (&[("RateLimit", "\"a\";r=0;t=5"), ("RateLimit", "\"b\";r=0;t=9;pk=:c29tZQ==:")], reset(9)),
        (
            &[("RateLimit", "\"a\";r=0;t=5, \"b\";r=0, \"c\";r=1;t=7")],
            Some(RateLimit { reset: Some(Duration::from_secs(5)), unknown_reset: true, spread: millis(7000) }),
        ),
        (&[("RateLimit", "\"a\";t=5;r=0;x=?0;y=1.5;z=@1;w=tok/en")], reset(5)),
        (
            &[
                ("RateLimit", "\"bytes\";r=1000;t=9"),
                ("RateLimit-Policy", "\"bytes\";q=2000;w=60;qu=\"content-bytes\""),
            ],
            None,
        ),
        (
            &[("RateLimit", "\"all\";r=3;t=9"), ("RateLimit-Policy", "\"all\";q=9;w=60;qu=\"requests\", \"x\";q=1")],
            spread(millis(3000)),
        ),
        (&[("RateLimit", "\"all\";r=3;t=9"), ("RateLimit-Policy", "not, a (list")], spread(millis(3000))),
        (&[("RateLimit-Policy", "\"all\";q=1;w=86400")], None),
    ]);
}

#[test]
fn the_older_families_are_read() {
    // The epochs are 90 s after the Date.
    check(&[
        (&[("RateLimit", "limit=100, remaining=0, reset=5")], reset(5)),
        (&[("RateLimit", "limit=100, remaining=7, reset=5")], None),
        (&[("RateLimit-Remaining", "0"), ("RateLimit-Reset", "12")], reset(12)),
        (&[("RateLimit-Remaining", "1"), ("RateLimit-Reset", "12")], None),
        (&[("RateLimit-Remaining", "0")], UNTOLD),
        (&[("RateLimit-Reset", "12")], None),
        (&[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "12"), ("X-RateLimit-Limit", "60")], reset(12)),
        (&[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1795996890"), ("Date", DATE)], reset(90)),
        (&[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1795996890")], reset(90)),
        (
            &[
                ("Date", "Sun, 29 Nov 2026 23:59:50 GMT"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1795996890"),
            ],
            reset(100),
        ),
        (&[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1795996890000")], reset(90)),
        (&[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1000")], reset(1000)),
        (&[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1500000000")], reset(0)),
        (&[("X-Rate-Limit-Remaining", "0"), ("X-Rate-Limit-Reset", "7")], reset(7)),
        (
            &[("X-RateLimit-Remaining", "0.0"), ("X-RateLimit-Reset", "1.0015")],
            Some(RateLimit { reset: Some(millis(1002)), ..RateLimit::default() }),
        ),
        (&[("X-RateLimit-Remaining", "10, 0"), ("X-RateLimit-Reset", "1, 60")], reset(60)),
        (&[("Content-Type", "text/html")], None),
    ]);
}

#[test]
fn what_cannot_be_read_is_ignored_and_noted() {
    let long = format!("\"{}\";r=0;t=5", "x".repeat(5000));
    let many = vec!["\"a\";r=0;t=5"; 70].join(", ");
    for value in [
        "\"a\";r=0;t=5,",
        "\"a;r=0",
        "(\"a\" \"b\");r=0",
        "\"a\"",
        "\"a\";r=x;t=5",
        "\"a\";r=-1;t=5",
        "\"a\";r=0;t=-5",
        "\"a\";r=0;t=1.5",
        "\"a\";r=9999999999999999",
        "\"\u{e4}\";r=0;t=5",
        "100, 50",
        "remaining=x",
        "reset=5",
        long.as_str(),
        many.as_str(),
    ] {
        let found = read(&[("RateLimit", value)]);
        let shown: String = value.chars().take(40).collect();
        assert_eq!((found.rate_limit, found.notes), (None, vec![PaceNote::RateLimitUnparsable]), "{shown}");
    }
    let half = read(&[("RateLimit", "\"a\";r=no, \"b\";r=0;t=8")]);
    assert_eq!((half.rate_limit, half.notes.len()), (reset(8), 1), "what can be read counts");
    let older = read(&[("X-RateLimit-Remaining", "none"), ("X-RateLimit-Reset", "5")]);
    assert_eq!((older.rate_limit, older.notes.len()), (None, 1));
    let retry = read(&[("Retry-After", "soon"), ("RateLimit", "\"a\";r=0;t=8")]);
    assert_eq!((retry.retry_after, retry.rate_limit), (None, reset(8)));
    assert_eq!(retry.notes, [PaceNote::RetryAfterInvalid]);
}

/// An origin without delays of its own after one answer at 2 s.
fn after(status: u16, fields: &[(&str, &str)]) -> OriginPace {
    let PaceFields { retry_after, rate_limit, .. } = read(fields);
    let mut pace = OriginPace::default();
    pace.on_head(at(1000), None, &SeededRandom::new(1));
    pace.on_outcome(Outcome::Answered { status, retry_after, rate_limit }, at(1500), at(2000));
    pace
}

fn at(millis: u64) -> Instant {
    Instant::from_micros(millis * 1000)
}

#[test]
fn rate_limits_join_the_back_off_clock_and_are_no_failures() {
    // (status, fields) → (wait from the answer in ms, clock, failures)
    let (pause, park) = (Reason::RateBackoff, Reason::ParkRetryAfter);
    let day = 24 * 3_600_000;
    let rows: &[(u16, Fields, u64, Reason, u16)] = &[
        (200, &[("RateLimit", "\"a\";r=0;t=30")], 30_000, pause, 0),
        (200, &[("RateLimit", "\"a\";r=0")], 2000, pause, 0),
        (200, &[("RateLimit", "\"a\";r=60;t=30")], 500, pause, 0),
        (404, &[("RateLimit", "\"a\";r=60;t=30")], 500, pause, 0),
        (500, &[("RateLimit", "\"a\";r=0;t=30")], 30_000, pause, 0),
        (200, &[("RateLimit", "\"a\";r=0;t=3600")], 3_600_000, pause, 0),
        (200, &[("RateLimit", "\"a\";r=0;t=3601")], 3_601_000, park, 0),
        (200, &[("RateLimit", "\"a\";r=0;t=864000")], day, park, 0),
        (200, &[("RateLimit", "\"a\";r=0;t=999999999999999")], day, park, 0),
        (200, &[("RateLimit", "\"a\";r=1;t=7200")], 7_200_000, park, 0),
        (429, &[("RateLimit", "\"a\";r=0;t=30")], 30_000, pause, 1),
        (429, &[("RateLimit", "\"a\";r=0;t=0")], 2000, pause, 1),
        (429, &[("RateLimit", "\"a\";r=0")], 2000, pause, 1),
        (429, &[("RateLimit", "\"a\";r=1;t=9")], 9000, pause, 1),
        (429, &[("Retry-After", "7"), ("RateLimit", "\"a\";r=0;t=30")], 7000, pause, 1),
        (429, &[("Retry-After", "0"), ("RateLimit", "\"a\";r=0;t=30")], 30_000, pause, 1),
        (429, &[("Retry-After", "abc"), ("RateLimit", "\"a\";r=0;t=30")], 30_000, pause, 1),
        (503, &[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "45")], 45_000, pause, 1),
        (301, &[("Retry-After", "9")], 9000, pause, 0),
        (302, &[("Retry-After", "7201")], 7_201_000, park, 0),
        (307, &[("Retry-After", "9"), ("RateLimit", "\"a\";r=0;t=30")], 9000, pause, 0),
        (200, &[("Retry-After", "9"), ("RateLimit", "\"a\";r=0;t=30")], 30_000, pause, 0),
    ];
    for (status, fields, wait, clock, failures) in rows {
        let pace = after(*status, fields);
        let ready = pace.ready_at(&Politeness { delay: Duration::ZERO, ..Politeness::default() });
        assert_eq!((ready.at, ready.clock), (at(2000 + wait), *clock), "{status} {fields:?}");
        assert_eq!(pace.failures(), *failures, "{status} {fields:?}");
    }
    for fields in [&[("Retry-After", "9")][..], &[("Retry-After", "0")], &[]] {
        assert_eq!(after(200, fields).ready_at(&Politeness::default()).clock, Reason::Ok, "200 {fields:?}");
    }
}

#[test]
fn the_own_back_off_of_a_spent_quota_grows_with_failures_and_counts_none() {
    let spent = RateLimit { unknown_reset: true, ..RateLimit::default() };
    let mut pace = OriginPace::default();
    for n in 0..3 {
        pace.on_outcome(Outcome::answered(429), at(n * 100_000), at(n * 100_000));
    }
    let answer = Outcome::Answered { status: 500, retry_after: None, rate_limit: Some(spent) };
    pace.on_outcome(answer, at(900_000), at(900_000));
    assert_eq!((pace.failures(), pace.ready_at(&Politeness::default()).at), (3, at(908_000)));
}

fn field_names() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "RateLimit",
        "RateLimit-Policy",
        "RateLimit-Remaining",
        "RateLimit-Reset",
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
        "X-Rate-Limit-Remaining",
        "X-Rate-Limit-Reset",
        "Retry-After",
        "Date",
        "Other",
    ])
}

fn values() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        "[ -~]{0,60}".prop_map(String::into_bytes),
        "(\"[a-z]\"(;(r|t|q|w|qu)=(0|1|5|99|-3|\"requests\"|999999999999999)){0,4}(, ?)?){0,3}"
            .prop_map(String::into_bytes),
        "[0-9]{1,20}([.,][0-9]{0,5})?".prop_map(String::into_bytes),
    ]
}

proptest! {
    /// Whatever a site sends, nothing panics, the wait is bounded by a day, and it never ends an earlier clock sooner.
    #[test]
    fn any_bytes_ask_for_a_day_at_most_and_never_hasten(
        fields in prop::collection::vec((field_names(), values()), 0..8),
        status in 200_u16..600,
        before in 0_u64..5000,
    ) {
        let read = PaceFields::read(fields.iter().map(|(name, value)| (*name, value.as_slice())), now());
        let rules = Politeness::default();
        let mut pace = OriginPace::default();
        pace.set_crawl_delay(Some(millis(before)), &rules);
        pace.on_head(at(1000), None, &SeededRandom::new(1));
        let earlier = pace.ready_at(&rules).at;
        let PaceFields { retry_after, rate_limit, .. } = read;
        pace.on_outcome(Outcome::Answered { status, retry_after, rate_limit }, at(1500), at(2000));
        let later = pace.ready_at(&rules).at;
        prop_assert!(later >= earlier);
        prop_assert!(later <= earlier.max(at(2000).after(Politeness::RETRY_AFTER_CAP)));
        prop_assert!(pace.failures() <= 1);
    }
}
