//! Hours of the day: Visit-time and Request-rates with a window, as tables of civil time and as the pacer keeps them.
#![expect(clippy::disallowed_methods, reason = "the test plays the gate")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use comity_policy::{
    Adaptive, Aim, AskedPace, Instant, Moment, Opening, Outcome, Overlap, Pacer, Parked, Permit, Politeness, Reason,
    RobotsChain, SeededRandom, WallTime,
};
use comity_robots::{Dialect, Robots};
use comity_url::Origin;
use proptest::prelude::*;

const CEILING: Duration = Duration::from_secs(300);
const DAY: i64 = 86_400_000;

/// What a group asks for; several texts are several token lists.
fn asked(groups: &[&str]) -> AskedPace {
    let rules =
        |lines: &&str| Robots::parse(format!("User-agent: *\n{lines}\n").as_bytes()).rules(&["bot"], Dialect::Standard);
    AskedPace::of(&groups.iter().map(rules).collect::<Vec<_>>())
}

/// `HH:MM:SS.mmm` of 2026-11-30, or of a later day after `+1 `.
fn clock(text: &str) -> WallTime {
    let (days, time) = text.strip_prefix('+').map_or((0, text), |rest| {
        let (days, time) = rest.split_once(' ').unwrap();
        (days.parse().unwrap(), time)
    });
    let (whole, millis) = time.split_once('.').unwrap_or((time, "0"));
    let parts: Vec<u32> = whole.split(':').map(|part| part.parse().unwrap()).collect();
    let base = WallTime::from_civil((2026, 11, 30), (parts[0], parts[1], parts[2])).unwrap();
    WallTime::from_unix_millis(base.unix_millis() + millis.parse::<i64>().unwrap() + days * DAY)
}

#[test]
fn the_next_opening_of_visit_times() {
    let rows: &[(&[&str], &str, Option<&str>)] = &[
        (&["Visit-time: 0400-0845"], "04:00:00", Some("04:00:00")),
        (&["Visit-time: 0400-0845"], "03:59:59.999", Some("04:00:00")),
        (&["Visit-time: 0400-0845"], "00:00:00", Some("04:00:00")),
        (&["Visit-time: 0400-0845"], "08:45:59.900", Some("08:45:59.900")),
        // The reading may be two milliseconds behind.
        (&["Visit-time: 0400-0845"], "08:45:59.999", Some("+1 04:00:00")),
        (&["Visit-time: 0400-0845"], "08:46:00", Some("+1 04:00:00")),
        (&["Visit-time: 0400-0845"], "23:59:59.999", Some("+1 04:00:00")),
        (&["Visit-time: 2200-0300"], "23:59:59.999", Some("23:59:59.999")),
        (&["Visit-time: 2200-0300"], "00:00:00", Some("00:00:00")),
        (&["Visit-time: 2200-0300"], "03:00:59", Some("03:00:59")),
        (&["Visit-time: 2200-0300"], "03:01:00", Some("22:00:00")),
        (&["Visit-time: 2200-0300"], "12:30:00.5", Some("22:00:00")),
        (&["Visit-time: 0000-2359"], "03:01:00", Some("03:01:00")),
        (&["Visit-time: 1200-1200"], "12:01:00", Some("+1 12:00:00")),
        // Two token lists: both windows have to be open.
        (&["Visit-time: 0400-0845", "Visit-time: 0600-1200"], "04:30:00", Some("06:00:00")),
        (&["Visit-time: 0400-0845", "Visit-time: 0600-1200"], "09:00:00", Some("+1 06:00:00")),
        (&["Visit-time: 0400-0500", "Visit-time: 0600-0700"], "04:30:00", None),
        (&["Crawl-delay: 1"], "04:30:00", Some("04:30:00")),
    ];
    for (groups, from, at) in rows {
        let opening = asked(groups).opening(Aim::Page, None, clock(from), CEILING);
        assert_eq!(opening.at, at.map(clock), "{groups:?} from {from}: {opening:?}");
        let waits = opening.at != Some(clock(from));
        assert_eq!(opening.clock, if waits { Reason::RateVisitTime } else { Reason::Ok }, "{groups:?} from {from}");
    }
}

#[test]
fn request_rates_hold_in_their_window_only() {
    // (lines, head, from) → (at, clock)
    let (rate, park) = (Reason::RateCrawlDelay, Reason::ParkCrawlDelay);
    let rows: &[(&[&str], &str, &str, &str, Reason)] = &[
        (&["Request-rate: 1/1m 1300-1659"], "12:59:30", "12:59:40", "12:59:40", Reason::Ok),
        (&["Request-rate: 1/1m 1300-1659"], "12:59:30", "13:00:00", "13:00:30", rate),
        (&["Request-rate: 1/1m 1300-1659"], "12:59:30", "12:59:59.999", "13:00:30", rate),
        (&["Request-rate: 1/1m 1300-1659"], "14:00:00", "14:00:10", "14:01:00", rate),
        (&["Request-rate: 1/1m 1300-1659"], "14:00:00", "14:01:00", "14:01:00", Reason::Ok),
        // The window ends before the delay does.
        (&["Request-rate: 1/5m 1300-1659"], "16:59:30", "16:59:40", "17:00:00", rate),
        // Slower than we accept: these hours are closed.
        (&["Request-rate: 1/1h 1300-1659"], "09:00:00", "14:00:00", "17:00:00", park),
        (&["Request-rate: 1/1h 1300-1659"], "09:00:00", "12:59:59.999", "17:00:00", park),
        (
            &["Request-rate: 1/1m 1300-1659", "Visit-time: 0800-1300"],
            "13:00:50",
            "13:00:55",
            "+1 08:00:00",
            Reason::RateVisitTime,
        ),
        (&["Request-rate: 1/1m 1300-1659", "Request-rate: 1/2m 1200-1400"], "13:00:00", "13:00:10", "13:02:00", rate),
        (&["Request-rate: 1/1m 0000-2359"], "13:00:00", "13:00:10", "13:00:10", Reason::Ok),
    ];
    for (groups, head, from, at, by) in rows {
        let opening = asked(groups).opening(Aim::Page, Some(clock(head)), clock(from), CEILING);
        assert_eq!(opening, Opening { at: Some(clock(at)), clock: *by }, "{groups:?} head {head} from {from}");
    }
    // robots.txt keeps the rate of the hour, also one that is too slow for pages, and no Visit-time.
    let rows = [
        ("Request-rate: 1/1m 1300-1659", "14:00:00", "14:00:10", "14:01:00"),
        ("Request-rate: 1/1h 1300-1659", "14:00:00", "14:00:10", "15:00:00"),
        ("Request-rate: 1/1h 1300-1659", "16:50:00", "16:50:10", "17:00:00"),
        ("Visit-time: 1300-1659", "11:00:00", "11:00:10", "11:00:10"),
    ];
    for (lines, head, from, at) in rows {
        let opening = asked(&[lines]).opening(Aim::RobotsTxt, Some(clock(head)), clock(from), CEILING);
        assert_eq!(opening.at, Some(clock(at)), "{lines} head {head} from {from}");
    }
    assert_eq!(
        asked(&["Request-rate: 1/1m 0000-2359"]).delay(),
        Some(Duration::from_secs(60)),
        "a whole day is no window"
    );
    let hourly = asked(&["Request-rate: 1/1m 1300-1659\nCrawl-delay: 3"]);
    assert_eq!(hourly.delay_at(clock("12:59:59")), Some(Duration::from_secs(3)));
    assert_eq!(hourly.delay_at(clock("13:00:00")), Some(Duration::from_secs(60)));
}

/// Groups, last head, when it is asked, when it closes.
type Closing = (&'static [&'static str], Option<&'static str>, &'static str, Option<&'static str>);

#[test]
fn closings_end_what_is_allowed_now() {
    let rows: &[Closing] = &[
        (&["Visit-time: 0400-0845"], None, "08:45:30", Some("08:46:00")),
        (&["Visit-time: 2200-0300"], None, "22:30:00", Some("+1 03:01:00")),
        (&["Request-rate: 1/1m 1300-1659"], Some("12:59:30"), "12:59:50", Some("13:00:00")),
        (&["Request-rate: 1/1m 1300-1659"], Some("12:58:30"), "12:59:50", None),
        (&["Request-rate: 1/1h 1300-1659"], None, "12:59:50", Some("13:00:00")),
        (&["Request-rate: 1/1m 1300-1659"], Some("12:58:30"), "13:59:50", None),
        (&["Crawl-delay: 5"], None, "12:59:50", None),
    ];
    for (groups, head, at, closes) in rows {
        let closing = asked(groups).closing(Aim::Page, head.map(clock), clock(at), CEILING);
        assert_eq!(closing, closes.map(clock), "{groups:?} at {at}");
    }
}

const START: u64 = 1_000_000;

/// The moment at which it is `text` on the first day; the monotonic clock reads a second at midnight.
fn moment(text: &str) -> Moment {
    let wall = clock(text);
    let millis = u64::try_from(wall.unix_millis() - clock("00:00:00").unix_millis()).unwrap();
    Moment { now: Instant::from_micros(START + millis * 1000), wall }
}

fn instant(text: &str) -> Instant {
    moment(text).now
}

fn origin() -> Origin {
    Origin::parse("http://a.test").unwrap()
}

fn address() -> Vec<SocketAddr> {
    vec!["198.51.100.1:80".parse().unwrap()]
}

fn pacer(rules: Politeness, lines: &str, at: &str) -> Pacer {
    let pacer = Pacer::new(rules, Arc::new(SeededRandom::new(3)));
    pacer.set_asked(&origin(), &asked(&[lines]), moment(at));
    pacer
}

#[test]
fn an_origin_outside_its_hours_is_told_the_very_instant_and_robots_txt_is_not_held() {
    let pacer = pacer(Politeness::default(), "Visit-time: 0400-0845", "03:10:00");
    let told = pacer.try_slot(&origin(), address(), instant("03:10:00")).unwrap_err();
    assert_eq!((told.at, told.clock), (instant("04:00:00"), Reason::RateVisitTime));
    assert_eq!(pacer.turn(&origin(), instant("03:10:00")).ready, told);
    let chain = RobotsChain::new(&origin());
    assert_eq!(pacer.robots_turn(&chain, instant("03:10:00")).ready.clock, Reason::Ok);
    let slot = pacer.try_robots_slot(&chain, address(), instant("03:10:00")).unwrap();
    let mut exchange = Permit::for_robots(&chain, slot).unwrap().redeem(instant("03:10:00")).unwrap();
    exchange.head(instant("03:10:01"));
    let pace = pacer.settle(exchange.finish(), Outcome::answered(200), instant("03:10:01"));
    assert_eq!(pace.ready_at(&pacer.rules()).at, instant("04:00:00"), "the pace that travels knows it too");
    assert!(pacer.try_slot(&origin(), address(), instant("03:59:59.999")).is_err());
    assert!(pacer.try_slot(&origin(), address(), instant("04:00:00")).is_ok());
}

#[test]
fn an_instant_that_a_delay_puts_outside_the_hours_is_told_as_their_next_opening() {
    let rules = Politeness { adaptive: Adaptive::Off, ..Politeness::default() };
    let pacer = pacer(rules, "Visit-time: 0400-0845\nCrawl-delay: 60", "08:45:00");
    let slot = pacer.try_slot(&origin(), address(), instant("08:45:10")).unwrap();
    let mut exchange =
        Permit::for_robots(&RobotsChain::new(&origin()), slot).unwrap().redeem(instant("08:45:10")).unwrap();
    exchange.head(instant("08:45:20"));
    let _pace = pacer.settle(exchange.finish(), Outcome::answered(200), instant("08:45:20"));
    // 60 s later it is 08:46:20.
    let ready = pacer.turn(&origin(), instant("08:45:20")).ready;
    assert_eq!((ready.at, ready.clock), (instant("+1 04:00:00"), Reason::RateVisitTime));
    let parked = pacer.parked(instant("08:45:20"), 10);
    let reason = Reason::RateVisitTime;
    assert_eq!(parked, [Parked { origin: origin(), reason, until: Some(instant("+1 04:00:00")) }]);
    let clocks = pacer.clocks(&origin(), instant("08:45:20")).unwrap();
    let told: Vec<_> = clocks.readings.iter().map(|reading| (reading.clock, reading.until)).collect();
    assert_eq!(told[1], (Reason::RateCrawlDelay, instant("08:46:20")));
    assert_eq!(told[2], (Reason::RateVisitTime, instant("+1 04:00:00")));
    let address = clocks.address.unwrap();
    assert_eq!((address.gap, address.most, address.in_flight), (Duration::from_millis(500), 2, 0));
    assert!(address.free > instant("08:45:20"));
}

#[test]
fn a_request_that_connects_past_the_closing_is_not_written() {
    let pacer = pacer(Politeness::default(), "Visit-time: 0400-0845", "08:45:00");
    let slot = pacer.try_slot(&origin(), address(), instant("08:45:59")).unwrap();
    let exchange = Permit::for_robots(&RobotsChain::new(&origin()), slot).unwrap().redeem(instant("08:45:59")).unwrap();
    assert!(exchange.may_write(instant("08:45:59.900")).is_ok());
    assert_eq!(exchange.may_write(instant("08:45:59.999")).unwrap_err().clock, Reason::RateVisitTime);
    let failed = Outcome::Failed(Reason::RateVisitTime);
    let pace = pacer.settle(exchange.finish(), failed, instant("08:46:05"));
    assert_eq!(pace.failures(), 0, "no fault of the site's");
    assert_eq!(pacer.turn(&origin(), instant("08:46:05")).ready.at, instant("+1 04:00:00"));
}

#[test]
fn hours_that_leave_no_time_park_and_a_new_robots_txt_frees() {
    let never = asked(&["Visit-time: 0400-0500", "Visit-time: 0600-0700"]);
    let pacer = Pacer::new(Politeness::default(), Arc::new(SeededRandom::new(3)));
    pacer.set_asked(&origin(), &never, moment("04:10:00"));
    assert_eq!(pacer.turn(&origin(), instant("04:10:00")).ready.at, Instant::NEVER);
    assert_eq!(pacer.parked(instant("04:10:00"), 10)[0].until, None);
    pacer.set_asked(&origin(), &AskedPace::default(), moment("04:10:00"));
    assert_eq!(pacer.turn(&origin(), instant("04:10:00")).ready.clock, Reason::Ok);
    assert_eq!(pacer.parked(instant("04:10:00"), 10), []);
}

#[test]
fn a_civil_clock_that_is_set_counts_from_the_next_turn_on() {
    let pacer = pacer(Politeness::default(), "Visit-time: 0400-0845", "03:00:00");
    assert_eq!(pacer.turn(&origin(), instant("03:00:00")).ready.at, instant("04:00:00"));
    // The machine's clock was half an hour slow.
    let set = Moment { wall: clock("03:30:00"), ..moment("03:00:00") };
    pacer.set_asked(&origin(), &asked(&["Visit-time: 0400-0845"]), set);
    assert_eq!(pacer.turn(&origin(), instant("03:00:00")).ready.at, instant("03:30:00"));
}

#[test]
fn an_hourly_rate_lets_no_heads_overlap() {
    let rules = Politeness {
        delay: Duration::ZERO,
        adaptive: Adaptive::Off,
        per_origin: 4,
        own_networks: vec!["198.51.100.0/24".parse().unwrap()],
        ..Politeness::default()
    };
    let pacer = pacer(rules.clone(), "Request-rate: 1/1m 1300-1659", "14:00:00");
    let _open = pacer.try_slot(&origin(), address(), instant("14:00:00")).unwrap();
    assert_eq!(pacer.turn(&origin(), instant("14:00:00")).overlap, Overlap::AfterHead);
    assert_eq!(pacer.try_slot(&origin(), address(), instant("14:00:00")).unwrap_err().clock, Reason::ConcOrigin);
    let free = Pacer::new(rules, Arc::new(SeededRandom::new(3)));
    let _open = free.try_slot(&origin(), address(), instant("14:00:00")).unwrap();
    assert_eq!(free.turn(&origin(), instant("14:00:00")).overlap, Overlap::Free);
}

#[test]
fn parked_origins_are_listed_the_earliest_first_and_bounded() {
    let pacer = Pacer::new(Politeness::default(), Arc::new(SeededRandom::new(3)));
    let origin = |n: u32| Origin::parse(&format!("http://h{n}.test")).unwrap();
    for n in 0..20 {
        let chain = RobotsChain::new(&origin(n));
        let candidates = vec![SocketAddr::from(([198, 51, 100, u8::try_from(n).unwrap()], 80))];
        let slot = pacer.try_robots_slot(&chain, candidates, instant("01:00:00")).unwrap();
        let mut exchange = Permit::for_robots(&chain, slot).unwrap().redeem(instant("01:00:00")).unwrap();
        exchange.head(instant("01:00:00"));
        let retry_after = Some(Duration::from_secs(u64::from(3700 - 10 * n)));
        let answer = Outcome::Answered { status: 503, retry_after, rate_limit: None };
        let _pace = pacer.settle(exchange.finish(), answer, instant("01:00:00"));
    }
    pacer.set_asked(&origin(99), &AskedPace::fixed(Some(Duration::from_secs(1000))), moment("01:00:00"));
    let parked = pacer.parked(instant("01:00:00"), 100);
    // Up to an hour is a pause: ten of them are parked by Retry-After, one by its Crawl-delay.
    assert_eq!(parked.len(), 11);
    assert_eq!((parked[0].origin.clone(), parked[0].reason), (origin(9), Reason::ParkRetryAfter));
    assert_eq!((parked[10].reason, parked[10].until), (Reason::ParkCrawlDelay, None));
    assert!(parked[..10].windows(2).all(|pair| pair[0].until < pair[1].until));
    assert_eq!(pacer.parked(instant("01:00:00"), 3), parked[..3]);
    assert_eq!(pacer.parked(instant("03:00:00"), 100).len(), 1, "a park that is over is none");
}

fn windows() -> impl Strategy<Value = String> {
    let hours = (0_u32..24, 0_u32..60, 0_u32..24, 0_u32..60);
    (hours, 0_u32..3, 1_u32..20).prop_map(|((a, b, c, d), kind, minutes)| match kind {
        0 => format!("Visit-time: {a:02}{b:02}-{c:02}{d:02}"),
        1 => format!("Request-rate: 1/{minutes}m {a:02}{b:02}-{c:02}{d:02}"),
        _ => format!("Crawl-delay: {minutes}"),
    })
}

proptest! {
    /// An opening is never before `from`, is open and stays so for its closing; nothing earlier on the way is.
    #[test]
    fn openings_are_exact(
        lines in prop::collection::vec(windows(), 1..4),
        from in 0_i64..2 * DAY,
        head in prop::option::of(0_i64..7_200_000),
        probe in 0.0_f64..1.0,
    ) {
        let groups: Vec<&str> = lines.iter().map(String::as_str).collect();
        let asked = asked(&groups);
        let from = WallTime::from_unix_millis(from);
        let head = head.map(|ago| WallTime::from_unix_millis(from.unix_millis() - ago));
        let Opening { at, .. } = asked.opening(Aim::Page, head, from, CEILING);
        // Every minute boundary and the due instants are the only moments at which anything changes.
        let open = |at: WallTime| asked.opening(Aim::Page, head, at, CEILING).at == Some(at);
        match at {
            Some(at) => {
                prop_assert!(at >= from && open(at));
                let gap = at.unix_millis() - from.unix_millis();
                if gap > 0 {
                    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a moment between the two")]
                    let between = from.unix_millis() + ((gap - 1) as f64 * probe) as i64;
                    prop_assert!(!open(WallTime::from_unix_millis(between)), "{lines:?}: {between} is open before {at}");
                }
                if let Some(closing) = asked.closing(Aim::Page, head, at, CEILING) {
                    prop_assert!(closing > at);
                    prop_assert!(!open(WallTime::from_unix_millis(closing.unix_millis())) , "{lines:?}: {closing}");
                }
            }
            None => for minute in (0..24 * 60).step_by(31) {
                let at = WallTime::from_unix_millis(from.unix_millis() + 3 * DAY + minute * 60_000);
                prop_assert!(!open(at), "{lines:?} never open but at {at}");
            },
        }
    }
}
