//! The gate under a client that is not ours, on paused time: what arrives at the web is as polite as the crawler.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod foreign;

use std::sync::Arc;
use std::time::Duration;

use comity_gate::{NoPermit, PoliteError, PoliteLayer};
use comity_policy::{Decision, Reason};
use comity_testweb::{Answer, Auditor, Site, Target};
use foreign::{Client, Room, dropped_after, get, room};
use http_body_util::BodyExt as _;
use tower_layer::Layer as _;
use tower_service::Service as _;

const RULES: &str = "User-agent: *\nCrawl-delay: 2\nDisallow: /private\n";

/// Asks, reads the body, and gives its status.
async fn status(client: &mut Client, url: &str) -> Result<u16, PoliteError<foreign::Error>> {
    let response = client.call(get(url)).await?;
    let status = response.status().as_u16();
    response.into_body().collect().await.unwrap();
    Ok(status)
}

fn site() -> Site {
    Site::new().robots(RULES).latency(Duration::from_millis(30)).otherwise(|_| Answer::text("page"))
}

#[tokio::test(start_paused = true)]
async fn fifty_callers_on_few_origins_break_nothing() {
    let origins = 3;
    let room = room((0..origins).map(|n| site().name(format!("s{n}.test"))));
    let callers: Vec<_> = (0..50)
        .map(|caller| {
            let mut client =
                PoliteLayer::new(room.gate.clone()).max_wait(Duration::from_secs(3600)).layer(room.client());
            tokio::spawn(async move {
                for n in 0..4 {
                    let url = format!("http://s{}.test/{caller}/{n}", (caller + n) % origins);
                    assert_eq!(status(&mut client, &url).await.unwrap(), 200);
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    let audit = Auditor::new().floor(Duration::from_secs(1)).examine(&room.observer);
    assert!(audit.is_clean(), "{audit}");
    assert_eq!((audit.page_requests, audit.robots_requests), (200, 3));
    let log = room.observer.log();
    let last = log.last().unwrap().arrived_us;
    assert!(last < 150_000_000, "67 requests an origin at one in two seconds, none wasted: {last} µs");
    for origin in 0..origins {
        let own: Vec<_> = log.iter().filter(|seen| seen.site == Some(origin)).collect();
        for pair in own.windows(2) {
            let gap = pair[1].arrived_us - pair[0].head_sent_us.unwrap();
            assert!(gap >= 2_000_000, "Crawl-delay at tolerance 0: {gap} µs");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_target_sees_no_request_and_the_error_names_rule_and_line() {
    let room = room([site().name("a.test").page("/away", Answer::redirect(302, Target::here("/private/x")))]);
    let mut client = room.polite();
    let refused = status(&mut client, "http://a.test/private/x").await.unwrap_err();
    assert_eq!(refused.reason(), Some(Reason::RobotsDisallow));
    let decision = refused.no_permit().and_then(NoPermit::decision).unwrap();
    let rule = decision.rule.as_ref().unwrap();
    assert_eq!((rule.kind, rule.pattern.as_str(), rule.line), ("disallow", "/private", 3));
    assert!(refused.to_string().contains("disallow: /private, line 3"), "{refused}");
    // A redirect is an answer; its target is asked for through the layer, or not at all.
    assert_eq!(status(&mut client, "http://a.test/away").await.unwrap(), 302);
    assert!(status(&mut client, "http://a.test/private/x").await.is_err());
    let seen: Vec<_> = room.observer.log().iter().map(|seen| seen.request.target_text().into_owned()).collect();
    assert_eq!(seen, ["/robots.txt", "/away"]);
    for alter in ["http://A.test/", "http://a.test:80/", "http://a.test/a/../private/x", "http://u@a.test/"] {
        let unsendable = status(&mut client, alter).await.unwrap_err();
        assert_eq!(unsendable.reason(), Some(Reason::UrlUnsendable), "{alter}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_carries_the_decision_that_let_it_through() {
    let room = room([site().name("a.test")]);
    let response = room.polite().call(get("http://a.test/x")).await.unwrap();
    let decision = response.extensions().get::<Arc<Decision>>().unwrap();
    assert_eq!(decision.reason, Reason::Ok);
    assert!(decision.robots.digest().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_thousand_callers_on_a_cold_origin_make_one_robots_request_and_are_told_their_turn() {
    let slow = Site::new().robots_answer(Answer::text(RULES).delay(Duration::from_millis(900)));
    let room = room([slow.name("a.test").otherwise(|_| Answer::text("page"))]);
    let callers: Vec<_> = (0..1000)
        .map(|n| {
            let mut client = PoliteLayer::new(room.gate.clone()).max_wait(Duration::from_secs(20)).layer(room.client());
            tokio::spawn(async move { status(&mut client, &format!("http://a.test/{n}")).await })
        })
        .collect();
    let (mut served, mut told) = (0, 0);
    for caller in callers {
        match caller.await.unwrap() {
            Ok(_) => served += 1,
            Err(error) => {
                let Some(NoPermit::NotNow(later)) = error.no_permit() else { panic!("{error}") };
                assert_eq!(later.clock, Reason::RateCrawlDelay);
                assert!(later.at.is_some() && later.wait.is_some());
                told += 1;
            }
        }
    }
    let audit = room.observer.audit();
    assert!(audit.is_clean(), "{audit}");
    assert_eq!(audit.robots_requests, 1);
    assert_eq!(served + told, 1000);
    assert!((8..=10).contains(&served), "19 s at one in two seconds: {served}");
}

#[tokio::test(start_paused = true)]
async fn callers_are_served_in_the_order_in_which_they_came() {
    let room = room([site().name("a.test")]);
    let mut callers = Vec::new();
    for n in 0..10 {
        let mut client = room.polite();
        callers.push(tokio::spawn(async move { status(&mut client, &format!("http://a.test/{n}")).await.unwrap() }));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for caller in callers {
        caller.await.unwrap();
    }
    let order: Vec<_> = room.observer.log().iter().map(|seen| seen.request.target_text().into_owned()).collect();
    let expected: Vec<_> = (0..10).map(|n| format!("/{n}")).collect();
    assert_eq!(order[1..], expected);
}

#[tokio::test(start_paused = true)]
async fn who_cannot_be_served_in_time_is_told_at_once_and_spends_nothing() {
    let room = room([site().name("a.test")]);
    let mut patient = room.polite();
    let mut hasty = PoliteLayer::new(room.gate.clone()).max_wait(Duration::from_millis(500)).layer(room.client());
    status(&mut patient, "http://a.test/1").await.unwrap();
    let before = room.gate.clock().now();
    let error = status(&mut hasty, "http://a.test/2").await.unwrap_err();
    let Some(NoPermit::NotNow(later)) = error.no_permit() else { panic!("{error}") };
    assert_eq!((later.clock, later.wait), (Reason::RateCrawlDelay, Some(Duration::from_secs(2))));
    assert_eq!(room.gate.clock().now(), before, "at once");
    tokio::time::sleep(Duration::from_secs(2)).await;
    status(&mut hasty, "http://a.test/3").await.unwrap();
    let audit = room.observer.audit();
    assert!(audit.is_clean(), "{audit}");
}

#[tokio::test(start_paused = true)]
async fn a_body_holds_the_place_until_it_is_read_or_dropped() {
    let room = room([Site::new().name("a.test").otherwise(|_| Answer::text("x".repeat(100_000)))]);
    let mut client = room.polite();
    let open = client.call(get("http://a.test/1")).await.unwrap();
    let mut second = PoliteLayer::new(room.gate.clone()).max_wait(Duration::from_secs(30)).layer(room.client());
    let error = status(&mut second, "http://a.test/2").await.unwrap_err();
    assert_eq!(error.reason(), Some(Reason::ConcOrigin), "one at a time");
    drop(open);
    assert_eq!(room.gate.in_flight(), 0);
    status(&mut second, "http://a.test/2").await.unwrap();
    let read = client.call(get("http://a.test/3")).await.unwrap();
    read.into_body().collect().await.unwrap();
    assert_eq!(room.gate.in_flight(), 0, "read to its end, it is over");
}

#[tokio::test(start_paused = true)]
async fn what_the_site_answers_holds_everybody_back() {
    let busy = Answer::retry_after(429, 30);
    let room = room([site().name("a.test").page("/busy", busy).page("/dead", Answer::silence())]);
    let mut client = PoliteLayer::new(room.gate.clone()).max_wait(Duration::from_secs(5)).layer(room.client());
    assert_eq!(status(&mut client, "http://a.test/busy").await.unwrap(), 429);
    let error = status(&mut room.polite(), "http://a.test/1").await;
    assert!(error.is_ok(), "60 s of patience are enough for 30");
    assert_eq!(status(&mut client, "http://a.test/busy").await.unwrap(), 429);
    let error = status(&mut client, "http://a.test/1").await.unwrap_err();
    assert_eq!(error.reason(), Some(Reason::RateBackoff));
    tokio::time::sleep(Duration::from_secs(30)).await;
    let error = status(&mut client, "http://a.test/dead").await.unwrap_err();
    assert!(matches!(error, PoliteError::HeadTimeout(_)), "{error}");
    assert_eq!(room.gate.in_flight(), 0);
    let audit = room.observer.audit();
    assert!(audit.is_clean(), "{audit}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_fails_pauses_the_origin() {
    let room = room([site().name("a.test").page("/cut", Answer::reset())]);
    let mut client = PoliteLayer::new(room.gate.clone()).max_wait(Duration::from_secs(2)).layer(room.client());
    for n in 0..3 {
        let error = room.polite().call(get("http://a.test/cut")).await.unwrap_err();
        assert!(matches!(error, PoliteError::Client(_)), "{n}: {error}");
    }
    let error = status(&mut client, "http://a.test/1").await.unwrap_err();
    assert_eq!(error.reason(), Some(Reason::RateBackoff));
    assert_eq!(room.gate.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_at_every_await_point_leaves_no_origin_stuck_and_no_gap_broken() {
    let mut polls = 0;
    loop {
        polls += 1;
        let page = || {
            Answer::text("x".repeat(5000)).trickle(1000, Duration::from_millis(300)).delay(Duration::from_millis(700))
        };
        let room = room([site().name("a.test").page("/a", page()).page("/b", page())]);
        let (mut client, mut behind, mut next) = (room.polite(), room.polite(), room.polite());
        // One waits behind the one that goes away, one comes later.
        let dropped = dropped_after(polls, status(&mut client, "http://a.test/a"));
        let patience = Duration::from_secs(120);
        let waiting = tokio::time::timeout(patience, status(&mut behind, "http://a.test/c"));
        let (done, waited) = tokio::join!(dropped, waiting);
        let reached = tokio::time::timeout(patience, status(&mut next, "http://a.test/b")).await;
        for reached in [waited, reached] {
            let reached = reached.unwrap_or_else(|_| panic!("stuck after a drop at poll {polls}"));
            assert_eq!(reached.unwrap(), 200, "poll {polls}");
        }
        assert_eq!(room.gate.in_flight(), 0, "poll {polls}");
        let audit = Auditor::new().floor(Duration::from_secs(1)).examine(&room.observer);
        assert!(audit.is_clean(), "dropped at poll {polls}: {audit}");
        if done {
            break;
        }
    }
    assert!(polls > 6, "there are many places to drop at: {polls}");
}

#[tokio::test(start_paused = true)]
async fn more_callers_than_may_wait_are_told_so() {
    let Room { gate, .. } = foreign::room_for([site().name("a.test")], 2);
    let url = comity_url::CrawlUrl::parse("http://a.test/x").unwrap();
    let held = gate.permit(&url).await.unwrap();
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let (gate, url) = (gate.clone(), url.clone());
            tokio::spawn(async move { gate.permit(&url).await.map(drop) })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(10)).await;
    let NoPermit::NotNow(later) = gate.permit(&url).await.unwrap_err() else { panic!("another reason") };
    assert_eq!(later.clock, Reason::ConcTotal);
    drop(held);
    for waiter in waiting {
        waiter.await.unwrap().unwrap();
    }
    assert_eq!(gate.in_flight(), 0, "permits dropped unsent are no charge");
}

#[tokio::test(start_paused = true)]
async fn addresses_that_may_not_be_connected_to_are_given_to_no_client() {
    let room = room([site().name("a.test"), site().name("b.test").address("192.168.0.7".parse().unwrap())]);
    let names = comity_gate::CheckedNames::new(room.gate.clone());
    assert_eq!(names.addresses("a.test").await.unwrap().len(), 1);
    assert_eq!(names.addresses("b.test").await.unwrap_err().reason, Reason::AddressPrivate);
    assert_eq!(names.addresses("none.test").await.unwrap_err().reason, Reason::FetchDns);
    for odd in ["", "a b", "a.test/x", "http://a.test", "a.test#b"] {
        assert_eq!(names.addresses(odd).await.unwrap_err().reason, Reason::FetchDns, "{odd:?}");
    }
    let error = status(&mut room.polite(), "http://b.test/").await.unwrap_err();
    assert_eq!(error.reason(), Some(Reason::AddressPrivate));
    assert_eq!(room.connects(), 0);
}
