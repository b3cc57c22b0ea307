//! The contract of [`Frontier`], checked through the trait alone: whatever implements it runs every case.
//!
//! A new implementation adds one line to `implementations`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use comity_frontier::{
    DiskSettings, DiskStore, Frontier, Leased, Local, MemoryStore, Offer, Offered, Renewal, Renewed, SchedulerConfig,
    Settled, Settlement, Spent, TurnNews, Why,
};
use comity_policy::{Hold, Instant, OriginPace, Overlap, Ready, Reason};

use common::*;

type Make = fn(SchedulerConfig) -> Made;

/// A frontier, and the directory that goes when it has gone.
struct Made(Box<dyn Frontier>, #[expect(dead_code, reason = "it is there to be dropped")] Option<tempfile::TempDir>);

fn at_once() -> Ready {
    Ready { at: Instant::START, clock: Reason::Ok }
}

fn on_disk(make: impl FnOnce(DiskStore) -> Box<dyn Frontier>) -> Made {
    let dir = tempfile::tempdir().unwrap();
    let frontier = make(DiskStore::open(&dir.path().join("store"), DiskSettings::default()).unwrap());
    Made(frontier, Some(dir))
}

fn implementations() -> Vec<(&'static str, Make)> {
    vec![
        ("memory, new", |config| Made(Box::new(Local::in_memory(config)), None)),
        ("memory, opened", |config| Made(Box::new(Local::open(MemoryStore::new(), config, at_once()).unwrap()), None)),
        ("memory, one origin awake", |config| {
            Made(Box::new(Local::in_memory(SchedulerConfig { resident_origins: 1, ..config })), None)
        }),
        ("memory, on a thread", |config| {
            let config = SchedulerConfig { resident_origins: 2, ..config };
            Made(Box::new(Local::open_on_thread(MemoryStore::new(), config, at_once()).unwrap()), None)
        }),
        ("disk, on a thread", |config| {
            on_disk(|store| Box::new(Local::open_on_thread(store, config, at_once()).unwrap()))
        }),
        ("disk, one origin awake", |config| {
            let config = SchedulerConfig { resident_origins: 1, ..config };
            on_disk(|store| Box::new(Local::open(store, config, at_once()).unwrap()))
        }),
    ]
}

/// Runs a case against every implementation, each time on a fresh frontier.
macro_rules! cases {
    ($($name:ident($frontier:ident, $judge:ident, $config:expr) $body:block)+) => {
        $(#[tokio::test]
        async fn $name() {
            for (implementation, make) in implementations() {
                println!("{implementation}");
                let made = make($config);
                let $frontier: &dyn Frontier = &*made.0;
                let $judge = TestJudge::default();
                $body
            }
        })+
    };
}

#[path = "conformance/visits.rs"]
mod visits;

fn config() -> SchedulerConfig {
    SchedulerConfig::default()
}

fn three_at_once() -> SchedulerConfig {
    SchedulerConfig { per_origin: 3, ..config() }
}

fn small_budgets() -> SchedulerConfig {
    SchedulerConfig { pages_per_origin: 2, queued: 5, origins: 2, ..config() }
}

fn small_domains() -> SchedulerConfig {
    SchedulerConfig { pages_per_domain: 3, queued_per_domain: 2, ..config() }
}

async fn lease(frontier: &dyn Frontier, n: usize, judge: &TestJudge, millis: u64) -> Leased {
    frontier.lease(n, judge, at(millis)).await.unwrap()
}

cases! {
    offers_are_answered_in_order(frontier, _judge, config()) {
        let batch = offers(["http://a.test/1", "http://a.test/2", "http://a.test/1"]);
        assert_eq!(frontier.offer(batch).await.unwrap(), [Offered::New, Offered::New, Offered::Seen]);
        let batch = offers(["http://b.test/1", "http://a.test/2"]);
        assert_eq!(frontier.offer(batch).await.unwrap(), [Offered::New, Offered::Seen]);
        assert_eq!(frontier.offer(Vec::new()).await.unwrap(), []);
        let stats = frontier.stats(at(0)).await.unwrap();
        assert_eq!((stats.queued, stats.seen, stats.origins), (3, 3, 2));
    }

    budgets_refuse_by_name_and_never_silently(frontier, judge, small_budgets()) {
        use Reason::{UrlBudgetPages, UrlBudgetQueue};
        let batch = offers(["http://a.test/private", "http://a.test/2", "http://a.test/3", "http://b.test/1", "http://c.test/1"]);
        let expected = [Offered::New, Offered::New, Offered::Refused(UrlBudgetPages), Offered::New, Offered::Refused(UrlBudgetQueue)];
        assert_eq!(frontier.offer(batch).await.unwrap(), expected);
        assert_eq!(frontier.stats(at(0)).await.unwrap().turned_away, 2);
        // A refused page is no load on the site: its place in the budget is free again.
        let refused = lease(frontier, 1, &judge, 0).await.refused.remove(0);
        settle(frontier, Settlement::Refused { lease: refused.id }, at(0)).await;
        assert_eq!(frontier.offer(offers(["http://a.test/3"])).await.unwrap(), [Offered::New]);
    }

    minted_hosts_share_the_budgets_of_their_domain(frontier, judge, small_domains()) {
        use Reason::{UrlBudgetDomain, UrlBudgetPending};
        let new = Offered::New;
        let batch = offers(["http://a.d.test/private", "https://b.d.test/1", "http://c.d.test:81/1", "http://a.e.test/1", "http://d.d.test/1"]);
        let pending = Offered::Refused(UrlBudgetPending);
        assert_eq!(frontier.offer(batch).await.unwrap(), [new, new, pending, new, pending]);
        assert_eq!(frontier.offer(offers(["http://c.d.test:81/1"])).await.unwrap(), [pending], "a commit later it is the same");
        assert_eq!(frontier.stats(at(0)).await.unwrap().turned_away, 3);
        // What leaves makes room: the refused one among the pages, too, since it is no load on the site.
        let first = lease(frontier, 9, &judge, 0).await;
        settle(frontier, Settlement::Refused { lease: first.refused[0].id }, at(0)).await;
        let page = first.leases.iter().find(|lease| lease.url.origin().host() == "b.d.test").unwrap().id;
        assert_eq!(settle(frontier, done_with(page, offers(["http://c.d.test:81/1", "http://f.d.test/1"]), turn(1)), at(0)).await, [new, pending]);
        assert_eq!(frontier.offer(offers(["http://f.d.test/1", "http://g.d.test/1"])).await.unwrap(), [new, Offered::Refused(UrlBudgetDomain)]);
        assert_eq!(frontier.offer(offers(["http://a.e.test/2"])).await.unwrap(), [new], "another domain has budgets of its own");
    }

    what_is_spent_counts_with_its_settlement_and_ends_an_origin(frontier, judge, SchedulerConfig { bytes_per_origin: 100, ..config() }) {
        add(frontier, &["http://a.test/1", "http://a.test/2"]).await;
        let first = lease(frontier, 1, &judge, 0).await.leases.remove(0);
        assert_eq!(first.received, 0);
        let (pace, spent) = (OriginPace::default(), Spent { pages: 0, bytes: 40 });
        let again = Settlement::Retry { lease: first.id, spent, pace, turn: turn(0), not_before: at(0) };
        settle(frontier, again.clone(), at(0)).await;
        assert_eq!(frontier.settle(vec![again], at(0)).await.unwrap(), [Settled::Stale], "what is stale costs nothing");
        let second = lease(frontier, 1, &judge, 1).await.leases.remove(0);
        assert_eq!(second.received, 40);
        let (links, spent) = (offers(["http://a.test/3", "http://b.test/1"]), Spent { pages: 1, bytes: 60 });
        let end = Settlement::Done { lease: second.id, spent, links, pace, turn: turn(1) };
        assert_eq!(settle(frontier, end, at(1)).await, [Offered::Refused(Reason::UrlBudgetBytes), Offered::New]);
        assert_eq!(frontier.stats(at(1)).await.unwrap().spent, Spent { pages: 1, bytes: 100 });
        let mut third = lease(frontier, 9, &judge, 2).await.leases;
        third.sort_by(|a, b| a.url.as_str().cmp(b.url.as_str()));
        let received: Vec<_> = third.iter().map(|lease| (lease.url.as_str(), lease.received)).collect();
        assert_eq!(received, [("http://a.test/2", 100), ("http://b.test/1", 0)], "what is queued comes out, and tells");
    }

    the_whole_queue_is_bounded(frontier, _judge, SchedulerConfig { queued: 2, ..config() }) {
        let offered = frontier.offer(offers(["http://a.test/1", "http://a.test/2", "http://a.test/3"])).await.unwrap();
        assert_eq!(offered, [Offered::New, Offered::New, Offered::Refused(Reason::UrlBudgetQueue)]);
    }

    one_at_a_time_until_the_head_and_then_not_before_the_told_instant(frontier, judge, config()) {
        add(frontier, &["http://a.test/1", "http://a.test/2"]).await;
        let first = lease(frontier, 9, &judge, 0).await;
        assert_eq!(urls(&first), ["http://a.test/1"]);
        assert_eq!(urls(&lease(frontier, 9, &judge, 5).await), [""; 0]);
        settle(frontier, done(first.leases[0].id, turn(1000)), at(10)).await;
        let early = lease(frontier, 9, &judge, 999).await;
        assert_eq!((urls(&early), early.wake_at), (vec![], Some(at(1000))));
        assert_eq!(urls(&lease(frontier, 9, &judge, 1000).await), ["http://a.test/2"]);
    }

    bodies_overlap_after_the_head_up_to_per_origin(frontier, judge, three_at_once()) {
        add(frontier, &["http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4"]).await;
        for (step, expected) in ["http://a.test/1", "http://a.test/2", "http://a.test/3"].iter().enumerate() {
            let now = step as u64 * 100;
            let leased = lease(frontier, 9, &judge, now).await;
            assert_eq!(urls(&leased), [*expected]);
            let renewed = frontier.renew(leased.leases[0].id, Renewal::head_arrived(turn(now + 100)), at(now + 50)).await;
            assert_eq!(renewed.unwrap(), Renewed::Held);
            assert_eq!(urls(&lease(frontier, 9, &judge, now + 99).await), [""; 0]);
        }
        assert_eq!(urls(&lease(frontier, 9, &judge, 1000).await), [""; 0], "three bodies are under way");
    }

    an_origin_without_delays_is_leased_several_times_at_once(frontier, judge, three_at_once()) {
        add(frontier, &["http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4"]).await;
        frontier.turn(origin("http://a.test"), TurnNews::RobotsReady { turn: free() }, at(0)).await.unwrap();
        assert_eq!(lease(frontier, 9, &judge, 0).await.leases.len(), 3);
        assert_eq!(lease(frontier, 9, &judge, 0).await.leases.len(), 0);
    }

    an_origin_without_delays_does_not_starve_the_others(frontier, judge, SchedulerConfig { per_origin: 100, ..config() }) {
        for host in ["a", "b", "c"] {
            for page in 0..4 {
                add(frontier, &[&format!("http://{host}.test/{page}")]).await;
            }
            let news = TurnNews::RobotsReady { turn: free() };
            frontier.turn(origin(&format!("http://{host}.test")), news, at(0)).await.unwrap();
        }
        let leased = lease(frontier, 6, &judge, 10).await;
        let hosts: Vec<&str> = leased.leases.iter().map(|lease| lease.url.origin().host()).collect();
        assert_eq!(hosts, ["a.test", "b.test", "c.test", "a.test", "b.test", "c.test"]);
    }

    priority_first_then_first_in_first_out(frontier, judge, config()) {
        for (priority, path) in [(2, "c1"), (0, "a1"), (1, "b1"), (0, "a2"), (2, "c2"), (255, "z"), (1, "b2")] {
            let offered = comity_frontier::Offer { priority, ..offer(&format!("http://a.test/{path}")) };
            assert_eq!(frontier.offer(vec![offered]).await.unwrap(), [Offered::New]);
        }
        let mut order = Vec::new();
        for step in 0..7 {
            let leased = lease(frontier, 1, &judge, step).await;
            order.push(leased.leases[0].url.path().to_owned());
            settle(frontier, done(leased.leases[0].id, turn(step)), at(step)).await;
        }
        assert_eq!(order, ["/a1", "/a2", "/b1", "/b2", "/c1", "/c2", "/z"]);
    }

    a_more_urgent_url_that_comes_later_is_served_first(frontier, judge, config()) {
        let names: Vec<String> = (0..100).map(|n| format!("http://a.test/{n}")).collect();
        add(frontier, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let first = lease(frontier, 1, &judge, 0).await;
        let urgent = comity_frontier::Offer { priority: 0, ..offer("http://a.test/urgent") };
        settle(frontier, done_with(first.leases[0].id, vec![urgent], turn(1)), at(1)).await;
        assert_eq!(urls(&lease(frontier, 1, &judge, 1).await), ["http://a.test/urgent"]);
    }

    refused_urls_cost_no_turn_and_no_delay(frontier, judge, config()) {
        add(frontier, &["http://a.test/private/1", "http://a.test/private/2", "http://a.test/open"]).await;
        let leased = lease(frontier, 1, &judge, 0).await;
        assert_eq!(urls(&leased), ["http://a.test/open"]);
        let refused: Vec<_> = leased.refused.iter().map(|refused| (refused.url.path(), refused.refusal.reason())).collect();
        assert_eq!(refused, [("/private/1", Reason::RobotsDisallowAll), ("/private/2", Reason::RobotsDisallowAll)]);
        let batch = leased.refused.iter().map(|refused| Settlement::Refused { lease: refused.id }).collect();
        frontier.settle(batch, at(0)).await.unwrap();
        let stats = frontier.stats(at(0)).await.unwrap();
        assert_eq!((stats.refused, stats.leased, stats.queued), (2, 1, 0));
    }

    a_refusal_that_is_not_settled_is_judged_again(frontier, judge, config()) {
        add(frontier, &["http://a.test/private"]).await;
        let first = lease(frontier, 1, &judge, 0).await;
        assert_eq!((first.refused.len(), first.wake_at), (1, Some(at(120_000))));
        let second = lease(frontier, 1, &judge, 120_000).await;
        assert_eq!((second.refused.len(), second.refused[0].attempts), (1, 0));
    }

    robots_are_asked_for_once_and_the_urls_wait(frontier, judge, config()) {
        let a = origin("http://a.test");
        judge.told().unknown.insert(a.clone());
        add(frontier, &["http://a.test/1", "http://a.test/2"]).await;
        let leased = lease(frontier, 9, &judge, 0).await;
        assert_eq!((leased.needs_robots, leased.leases.len()), (vec![a.clone()], 0));
        assert!(lease(frontier, 9, &judge, 1000).await.needs_robots.is_empty());
        let stats = frontier.stats(at(1000)).await.unwrap();
        assert_eq!((stats.waiting[0].why, stats.waiting[0].until, stats.waiting[0].queued), (Why::AwaitingRobots, None, 2));
        judge.told().unknown.clear();
        frontier.turn(a, TurnNews::RobotsReady { turn: turn(3000) }, at(2000)).await.unwrap();
        assert_eq!(lease(frontier, 9, &judge, 2999).await.leases.len(), 0);
        assert_eq!(urls(&lease(frontier, 9, &judge, 3000).await), ["http://a.test/1"]);
    }

    robots_that_nobody_reports_are_asked_for_again(frontier, judge, config()) {
        judge.told().unknown.insert(origin("http://a.test"));
        add(frontier, &["http://a.test/1"]).await;
        assert_eq!(lease(frontier, 9, &judge, 0).await.needs_robots.len(), 1);
        assert_eq!(lease(frontier, 9, &judge, 599_999).await.needs_robots.len(), 0);
        assert_eq!(lease(frontier, 9, &judge, 600_000).await.needs_robots.len(), 1);
    }

    robots_requests_count_as_work(frontier, judge, config()) {
        for host in 0..20 {
            let name = format!("http://h{host}.test");
            judge.told().unknown.insert(origin(&name));
            add(frontier, &[&format!("{name}/1")]).await;
        }
        let leased = lease(frontier, 8, &judge, 0).await;
        assert_eq!((leased.needs_robots.len(), leased.leases.len()), (8, 0));
        assert!(leased.wake_at.is_some_and(|wake| wake <= at(0)), "twelve more are due");
    }

    unreachable_robots_hold_the_origin_until_the_next_try(frontier, judge, config()) {
        let a = origin("http://a.test");
        judge.told().unknown.insert(a.clone());
        add(frontier, &["http://a.test/1"]).await;
        assert_eq!(lease(frontier, 9, &judge, 0).await.needs_robots.len(), 1);
        let news = TurnNews::Hold { until: Some(at(60_000)), reason: Reason::ParkRobots };
        frontier.turn(a, news, at(10)).await.unwrap();
        let waiting = frontier.stats(at(10)).await.unwrap().waiting.remove(0);
        assert_eq!((waiting.why, waiting.until), (Why::Reason(Reason::ParkRobots), Some(at(60_000))));
        assert_eq!(lease(frontier, 9, &judge, 59_999).await.needs_robots.len(), 0);
        assert_eq!(lease(frontier, 9, &judge, 60_000).await.needs_robots.len(), 1);
    }

    the_judge_holds_an_origin_for_a_while_or_until_told(frontier, judge, config()) {
        let (a, b) = (origin("http://a.test"), origin("http://b.test"));
        judge.told().held.insert(a.clone(), Hold { reason: Reason::ParkRobots, wait: Some(ms(500)) });
        judge.told().held.insert(b.clone(), Hold { reason: Reason::ParkCrawlDelay, wait: None });
        add(frontier, &["http://a.test/1", "http://b.test/1"]).await;
        let leased = lease(frontier, 9, &judge, 100).await;
        assert_eq!((leased.leases.len(), leased.wake_at), (0, Some(at(600))));
        let stats = frontier.stats(at(100)).await.unwrap();
        let waiting: Vec<_> = stats.waiting.iter().map(|waiting| (&waiting.origin, waiting.why, waiting.until)).collect();
        let expected = [(&a, Why::Reason(Reason::ParkRobots), Some(at(600))), (&b, Why::Reason(Reason::ParkCrawlDelay), None)];
        assert_eq!((waiting.as_slice(), stats.stuck), (expected.as_slice(), 1));
        judge.told().held.clear();
        frontier.turn(b, TurnNews::RobotsReady { turn: turn(200) }, at(150)).await.unwrap();
        assert_eq!(urls(&lease(frontier, 9, &judge, 600).await), ["http://b.test/1", "http://a.test/1"]);
    }

    a_hold_of_no_length_ends_the_call_all_the_same(frontier, judge, config()) {
        judge.told().held.insert(origin("http://a.test"), Hold { reason: Reason::ParkRobots, wait: Some(ms(0)) });
        add(frontier, &["http://a.test/1"]).await;
        let leased = lease(frontier, 9, &judge, 100).await;
        assert_eq!((leased.leases.len(), judge.told().asked.len()), (0, 1));
        assert!(leased.wake_at > Some(at(100)));
    }

    a_parked_origin_is_not_leased_until_released(frontier, judge, config()) {
        let a = origin("http://a.test");
        frontier.park(a.clone(), Reason::ParkOperator, None, at(0)).await.unwrap();
        add(frontier, &["http://a.test/1", "http://b.test/1"]).await;
        let leased = lease(frontier, 9, &judge, 0).await;
        assert_eq!(urls(&leased), ["http://b.test/1"]);
        settle(frontier, done(leased.leases[0].id, turn(1)), at(1)).await;
        assert_eq!(lease(frontier, 9, &judge, 1_000_000).await.wake_at, None, "time alone makes nothing due");
        assert_eq!(frontier.stats(at(1_000_000)).await.unwrap().next_due, None);
        frontier.release(a, at(2_000_000)).await.unwrap();
        assert_eq!(urls(&lease(frontier, 9, &judge, 2_000_000).await), ["http://a.test/1"]);
    }

    a_park_with_an_end_ends_by_itself(frontier, judge, config()) {
        add(frontier, &["http://a.test/1"]).await;
        frontier.park(origin("http://a.test"), Reason::ParkOperator, Some(at(50)), at(0)).await.unwrap();
        assert_eq!(lease(frontier, 9, &judge, 49).await.wake_at, Some(at(50)));
        assert_eq!(lease(frontier, 9, &judge, 50).await.leases.len(), 1);
    }

    a_snooze_holds_the_origin_and_counts_no_attempt(frontier, judge, config()) {
        add(frontier, &["http://a.test/1", "http://a.test/2"]).await;
        let id = lease(frontier, 9, &judge, 0).await.leases[0].id;
        settle(frontier, snooze(id, turn(0), at(500)), at(10)).await;
        let waiting = frontier.stats(at(10)).await.unwrap().waiting.remove(0);
        assert_eq!((waiting.why, waiting.until, waiting.queued), (Why::Reason(Reason::RateAddress), Some(at(500)), 2));
        assert_eq!(lease(frontier, 9, &judge, 499).await.leases.len(), 0);
        let again = lease(frontier, 9, &judge, 500).await;
        assert_eq!((urls(&again), again.leases[0].attempt), (vec!["http://a.test/1"], 1));
    }

    a_failed_url_comes_back(frontier, judge, config()) {
        // Field report 35: seen and done are different states.
        add(frontier, &["http://a.test/1"]).await;
        for attempt in 1..=3 {
            let now = u64::from(attempt) * 1000;
            let leased = lease(frontier, 9, &judge, now).await;
            assert_eq!((urls(&leased), leased.leases[0].attempt), (vec!["http://a.test/1"], attempt));
            assert_eq!(frontier.offer(offers(["http://a.test/1"])).await.unwrap(), [Offered::Seen]);
            let id = leased.leases[0].id;
            let end = if attempt < 3 { retry(id, turn(now), at(now + 900)) } else { done(id, turn(now)) };
            settle(frontier, end, at(now)).await;
            assert_eq!(lease(frontier, 9, &judge, now + 899).await.leases.len(), 0);
        }
        let stats = frontier.stats(at(4000)).await.unwrap();
        assert_eq!((stats.done, stats.queued, stats.next_due), (1, 0, None));
    }

    a_retry_that_waits_does_not_hold_its_origin(frontier, judge, config()) {
        add(frontier, &["http://a.test/1", "http://a.test/2"]).await;
        let id = lease(frontier, 9, &judge, 0).await.leases[0].id;
        settle(frontier, retry(id, turn(10), at(5000)), at(0)).await;
        let second = lease(frontier, 9, &judge, 10).await;
        assert_eq!(urls(&second), ["http://a.test/2"]);
        settle(frontier, done(second.leases[0].id, turn(20)), at(10)).await;
        let idle = lease(frontier, 9, &judge, 20).await;
        assert_eq!((idle.leases.len(), idle.wake_at), (0, Some(at(5000))));
        let again = lease(frontier, 9, &judge, 5000).await;
        assert_eq!((urls(&again), again.leases[0].attempt), (vec!["http://a.test/1"], 2));
    }

    too_many_waiting_retries_hold_the_origin(frontier, judge, SchedulerConfig { deferred_per_origin: 2, ..config() }) {
        add(frontier, &["http://a.test/1", "http://a.test/2", "http://a.test/3"]).await;
        for now in 0..2 {
            let id = lease(frontier, 9, &judge, now).await.leases[0].id;
            settle(frontier, retry(id, turn(now), at(5000 + now)), at(now)).await;
        }
        assert_eq!(lease(frontier, 9, &judge, 10).await.wake_at, Some(at(5000)));
        assert_eq!(urls(&lease(frontier, 9, &judge, 5000).await), ["http://a.test/1"]);
    }

    links_enter_with_the_settlement(frontier, judge, config()) {
        add(frontier, &["http://a.test/1"]).await;
        let id = lease(frontier, 9, &judge, 0).await.leases[0].id;
        let links = offers(["http://a.test/1", "http://a.test/2", "http://b.test/1", "http://a.test/2"]);
        let offered = settle(frontier, done_with(id, links, turn(0)), at(0)).await;
        assert_eq!(offered, [Offered::Seen, Offered::New, Offered::New, Offered::Seen]);
        let stats = frontier.stats(at(0)).await.unwrap();
        assert_eq!((stats.done, stats.queued, stats.seen), (1, 2, 3));
    }

    a_redirect_to_another_spelling_of_the_page_is_followed(frontier, judge, config()) {
        add(frontier, &["http://a.test/?b=2&a=1"]).await;
        let id = lease(frontier, 9, &judge, 0).await.leases[0].id;
        let same = comity_frontier::Offer { hops: 1, ..offer("http://a.test/?b=2&a=1") };
        let respelled = comity_frontier::Offer { hops: 1, ..offer("http://a.test/%7E?b=2&a=1") };
        let respelled = comity_frontier::Offer { key: same.key, ..respelled };
        let offered = settle(frontier, done_with(id, vec![same, respelled.clone(), respelled], turn(0)), at(0)).await;
        assert_eq!(offered, [Offered::Seen, Offered::New, Offered::Seen]);
        let next = lease(frontier, 9, &judge, 0).await;
        assert_eq!((urls(&next), next.leases[0].hops), (vec!["http://a.test/%7E?b=2&a=1"], 1));
    }

    everything_an_offer_says_comes_with_its_lease(frontier, judge, config()) {
        let via = Some(url("http://from.test/page?x=1"));
        let offered = comity_frontier::Offer {
            depth: 7, hops: 2, via: via.clone(), seed: true, priority: 9, attempts: 4, ..offer("http://a.test/1")
        };
        frontier.offer(vec![offered]).await.unwrap();
        let lease = lease(frontier, 1, &judge, 0).await.leases.remove(0);
        assert_eq!((lease.depth, lease.hops, lease.seed, lease.priority, lease.attempt), (7, 2, true, 9, 5));
        assert_eq!((lease.via, lease.allowance.url(), lease.deadline), (via, &lease.url, at(120_000)));
    }

    the_pace_told_last_comes_with_the_next_lease(frontier, judge, config()) {
        add(frontier, &["http://a.test/1", "http://a.test/2"]).await;
        let first = lease(frontier, 1, &judge, 0).await.leases.remove(0);
        assert_eq!(first.pace, OriginPace::default());
        let mut pace = OriginPace::default();
        pace.set_floor(ms(1234));
        let end = Settlement::Done { lease: first.id, spent: Spent::default(), links: Vec::new(), pace, turn: turn(0) };
        settle(frontier, end, at(0)).await;
        assert_eq!(lease(frontier, 1, &judge, 0).await.leases[0].pace, pace);
    }

    an_expired_lease_makes_its_url_due_again(frontier, judge, config()) {
        add(frontier, &["http://a.test/1"]).await;
        let first = lease(frontier, 1, &judge, 0).await;
        assert_eq!((first.leases[0].deadline, first.wake_at), (at(120_000), Some(at(120_000))));
        assert_eq!(lease(frontier, 1, &judge, 119_999).await.leases.len(), 0);
        let second = lease(frontier, 1, &judge, 120_000).await;
        assert_eq!((urls(&second), second.leases[0].attempt), (vec!["http://a.test/1"], 2));
        // Somebody holds it again: the late worker's result does not count.
        let late = frontier.settle(vec![done(first.leases[0].id, turn(0))], at(120_001)).await.unwrap();
        assert_eq!(late, [Settled::Stale]);
        settle(frontier, done(second.leases[0].id, turn(0)), at(120_002)).await;
        let stats = frontier.stats(at(120_002)).await.unwrap();
        assert_eq!((stats.done, stats.expired, stats.stale), (1, 1, 1));
    }

    a_late_result_counts_while_nobody_holds_the_url(frontier, judge, config()) {
        add(frontier, &["http://a.test/1"]).await;
        let id = lease(frontier, 1, &judge, 0).await.leases[0].id;
        assert_eq!(lease(frontier, 0, &judge, 500_000).await.leases.len(), 0);
        assert_eq!(frontier.stats(at(500_000)).await.unwrap().expired, 1);
        let links = settle(frontier, done_with(id, offers(["http://a.test/2"]), turn(0)), at(500_000)).await;
        assert_eq!(links, [Offered::New]);
        assert_eq!(urls(&lease(frontier, 9, &judge, 500_000).await), ["http://a.test/2"]);
    }

    a_renewed_lease_lives_longer(frontier, judge, config()) {
        add(frontier, &["http://a.test/1"]).await;
        let id = lease(frontier, 1, &judge, 0).await.leases[0].id;
        assert_eq!(frontier.renew(id, Renewal::until(at(200_000)), at(100)).await.unwrap(), Renewed::Held);
        assert_eq!(lease(frontier, 1, &judge, 199_999).await.leases.len(), 0);
        assert_eq!(lease(frontier, 1, &judge, 200_000).await.leases.len(), 1);
        assert_eq!(frontier.renew(id, Renewal::until(at(900_000)), at(200_001)).await.unwrap(), Renewed::Stale);
    }

    nothing_panics_on_unknown_or_spent_leases(frontier, judge, config()) {
        add(frontier, &["http://a.test/1"]).await;
        let id = lease(frontier, 1, &judge, 0).await.leases[0].id;
        let twice = frontier.settle(vec![done(id, turn(0)), done(id, turn(0))], at(0)).await.unwrap();
        assert_eq!(twice, [Settled::Applied { links: vec![] }, Settled::Stale]);
        for token in [0, 1, id.to_u64(), id.to_u64() + 1, u64::MAX, 1 << 32] {
            let id = comity_frontier::LeaseId::from_u64(token);
            assert_eq!(frontier.renew(id, Renewal::head_arrived(turn(9)), at(0)).await.unwrap(), Renewed::Stale);
            for end in [done(id, turn(0)), retry(id, turn(0), at(9)), failed(id, turn(0)), snooze(id, turn(0), at(9)), Settlement::Refused { lease: id }] {
                assert_eq!(frontier.settle(vec![end], at(0)).await.unwrap(), [Settled::Stale], "{token}");
            }
        }
        frontier.release(origin("http://never.test"), at(0)).await.unwrap();
        assert_eq!(frontier.stats(at(0)).await.unwrap().done, 1);
    }

    leases_are_bounded_in_all(frontier, judge, SchedulerConfig { leases: 2, ..config() }) {
        add(frontier, &["http://a.test/1", "http://b.test/1", "http://c.test/1"]).await;
        let leased = lease(frontier, 9, &judge, 0).await;
        assert_eq!((leased.leases.len(), leased.wake_at), (2, Some(at(120_000))));
        settle(frontier, done(leased.leases[0].id, turn(0)), at(1)).await;
        assert_eq!(lease(frontier, 9, &judge, 1).await.leases.len(), 1);
    }

    refusals_are_bounded_per_call_and_let_others_pass(frontier, judge, SchedulerConfig { refusals_per_call: 40, ..config() }) {
        let names: Vec<String> = (0..100).map(|n| format!("http://a.test/private/{n}")).collect();
        add(frontier, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        add(frontier, &["http://b.test/1"]).await;
        let leased = lease(frontier, 9, &judge, 0).await;
        assert_eq!((leased.refused.len(), urls(&leased)), (40, vec!["http://b.test/1"]));
        assert!(leased.wake_at.is_some_and(|wake| wake <= at(0)));
        assert_eq!(lease(frontier, 9, &judge, 0).await.refused.len(), 40);
        assert_eq!(lease(frontier, 9, &judge, 0).await.refused.len(), 20);
    }

    time_never_goes_backwards(frontier, judge, config()) {
        add(frontier, &["http://a.test/1", "http://a.test/2"]).await;
        let id = lease(frontier, 1, &judge, 5000).await.leases[0].id;
        settle(frontier, done(id, turn(6000)), at(10)).await;
        assert_eq!(lease(frontier, 1, &judge, 20).await.leases.len(), 0);
        assert_eq!(lease(frontier, 1, &judge, 6000).await.leases.len(), 1);
    }

    the_later_of_two_told_instants_holds(frontier, judge, three_at_once()) {
        add(frontier, &["http://a.test/1", "http://a.test/2", "http://a.test/3"]).await;
        let first = lease(frontier, 1, &judge, 0).await.leases[0].id;
        let _ = frontier.renew(first, Renewal::head_arrived(turn(10)), at(5)).await.unwrap();
        let second = lease(frontier, 1, &judge, 10).await.leases[0].id;
        settle(frontier, done(second, turn(900)), at(20)).await;
        settle(frontier, done(first, turn(100)), at(30)).await;
        assert_eq!(lease(frontier, 1, &judge, 899).await.leases.len(), 0);
        assert_eq!(lease(frontier, 1, &judge, 900).await.leases.len(), 1);
    }

    due_origins_are_served_longest_waiting_first(frontier, judge, config()) {
        let hosts = ["a", "b", "c", "d"];
        for host in hosts {
            add(frontier, &[&format!("http://{host}.test/1"), &format!("http://{host}.test/2")]).await;
        }
        let leased = lease(frontier, 4, &judge, 0).await;
        for (lease, due) in leased.leases.iter().zip([400, 100, 300, 200]) {
            settle(frontier, done(lease.id, turn(due)), at(1)).await;
        }
        let mut order = Vec::new();
        for _ in hosts {
            let leased = lease(frontier, 1, &judge, 1000).await;
            order.push(leased.leases[0].url.origin().host().to_owned());
        }
        assert_eq!(order, ["b.test", "d.test", "c.test", "a.test"]);
    }

    a_thousand_origins_are_drained_without_loss(frontier, judge, config()) {
        let overlap = Overlap::AfterHead;
        for host in 0..1000 {
            let names: Vec<String> = (0..=host % 40).map(|page| format!("http://h{host}.test/{page}")).collect();
            add(frontier, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        }
        let expected = frontier.stats(at(0)).await.unwrap().queued;
        let (mut fetched, mut now) = (std::collections::BTreeSet::new(), at(0));
        loop {
            let leased = frontier.lease(64, &judge, now).await.unwrap();
            let ends = leased.leases.iter().map(|lease| {
                assert!(fetched.insert(lease.url.clone()), "{} twice", lease.url);
                let ready = Ready { at: now.after(ms(100)), clock: Reason::RateOrigin };
                done(lease.id, comity_policy::Turn { ready, overlap })
            });
            frontier.settle(ends.collect(), now).await.unwrap();
            match leased.wake_at {
                Some(wake) => now = now.max(wake).after(ms(1)),
                None => break,
            }
        }
        let stats = frontier.stats(now).await.unwrap();
        assert_eq!((fetched.len() as u64, stats.done, stats.queued, stats.seen), (expected, expected, 0, expected));
    }
}

#[path = "conformance/listing.rs"]
mod listing;
