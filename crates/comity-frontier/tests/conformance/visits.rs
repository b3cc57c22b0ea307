//! URLs that are visited anew: the part of the contract that outlives a visit.

use comity_frontier::{CaptureRef, Ending, Hint, Lease, Revisit, VisitPlace, Visited};
use comity_policy::{Digest, Validators, WallTime};

use super::*;

/// Civil time at the start of the clock.
const EPOCH: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

fn config() -> SchedulerConfig {
    SchedulerConfig { epoch: Some(EPOCH), ..SchedulerConfig::default() }
}

fn wall(millis: u64) -> WallTime {
    EPOCH.after(ms(millis))
}

fn visited(millis: u64) -> Visited {
    Visited { at: Some(wall(millis)), interval: ms(5000), ..Visited::default() }
}

fn again(lease: &Lease, now: u64, next: u64) -> Settlement {
    let revisit = Box::new(Revisit { at: wall(next), priority: 3, visited: visited(now) });
    let told = Some((OriginPace::default(), turn(now)));
    Settlement::Again {
        lease: lease.id,
        spent: Spent::default(),
        ending: Ending::Done,
        links: Vec::new(),
        told,
        revisit,
    }
}

fn hinted(text: &str, modified: u64) -> comity_frontier::Offer {
    let hint = Hint { modified: Some(wall(modified)), interval: None, least: ms(1000) };
    comity_frontier::Offer { hint: Some(hint), ..offer(text) }
}

/// Leases the one URL that is due.
async fn only(frontier: &dyn Frontier, judge: &TestJudge, millis: u64) -> Lease {
    let mut leased = lease(frontier, 9, judge, millis).await;
    assert_eq!(leased.leases.len(), 1, "at {millis}");
    leased.leases.remove(0)
}

cases! {
    a_url_comes_back_at_its_time_with_what_is_known_of_it(frontier, judge, config()) {
        add(frontier, &["http://a.test/x"]).await;
        let first = only(frontier, &judge, 0).await;
        assert_eq!((first.visited.as_deref(), first.attempt, first.priority), (None, 1, 1));
        let validators = Validators { etag: Some("W/\"1\"".into()), last_modified: Some("yesterday".into()) };
        let capture = CaptureRef { date: wall(0), record_id: Some("urn:uuid:1".into()), url: None };
        let payload = Some(Digest::from_bytes([7; 32]));
        let known = Visited { validators, payload, capture: Some(capture), gone: 1, ..visited(0) };
        let revisit = Box::new(Revisit { at: wall(5000), priority: 3, visited: known.clone() });
        let links = offers(["http://a.test/x", "http://a.test/y"]);
        let told = Some((OriginPace::default(), turn(10)));
        let end = Settlement::Again { lease: first.id, spent: Spent::default(), ending: Ending::Done, links, told, revisit };
        assert_eq!(settle(frontier, end, at(5)).await, [Offered::Seen, Offered::New]);
        let stats = frontier.stats(at(5)).await.unwrap();
        assert_eq!((stats.done, stats.queued, stats.seen, stats.scheduled, stats.returned), (1, 1, 2, 1, 0));
        assert_eq!(stats.next_visit, Some(at(5000)));
        let link = only(frontier, &judge, 10).await;
        settle(frontier, done(link.id, turn(20)), at(10)).await;
        let early = lease(frontier, 9, &judge, 4999).await;
        assert_eq!((early.leases.len(), early.wake_at), (0, Some(at(5000))));
        let second = only(frontier, &judge, 5000).await;
        assert_eq!((second.url.as_str(), second.attempt, second.priority), ("http://a.test/x", 1, 3));
        assert_eq!(second.visited.as_deref(), Some(&known));
        let stats = frontier.stats(at(5000)).await.unwrap();
        assert_eq!((stats.done, stats.leased, stats.seen, stats.scheduled, stats.returned), (1, 1, 2, 0, 1));
        assert_eq!(frontier.offer(offers(["http://a.test/x"])).await.unwrap(), [Offered::Seen]);
        settle(frontier, done(second.id, turn(5000)), at(5000)).await;
        let stats = frontier.stats(at(9_000_000)).await.unwrap();
        assert_eq!((stats.done, stats.queued, stats.next_due), (2, 0, None), "nothing wants it again");
    }

    a_retry_of_a_later_visit_keeps_what_is_known_and_new_urls_come_first(frontier, judge, config()) {
        add(frontier, &["http://a.test/x"]).await;
        let first = only(frontier, &judge, 0).await;
        settle(frontier, again(&first, 0, 1000), at(0)).await;
        let second = only(frontier, &judge, 1000).await;
        settle(frontier, retry(second.id, turn(1000), at(1500)), at(1000)).await;
        add(frontier, &["http://a.test/new"]).await;
        assert_eq!(only(frontier, &judge, 1499).await.url.as_str(), "http://a.test/new");
        // That one is never settled: its lease ends.
        let third = lease(frontier, 9, &judge, 130_000).await.leases.remove(0);
        settle(frontier, done(third.id, turn(130_000)), at(130_000)).await;
        let fourth = only(frontier, &judge, 130_000).await;
        assert_eq!((fourth.url.as_str(), fourth.attempt), ("http://a.test/x", 2));
        assert_eq!(fourth.visited.as_deref(), Some(&visited(0)));
        settle(frontier, again(&fourth, 130_000, 140_000), at(130_000)).await;
        assert_eq!(only(frontier, &judge, 140_000).await.attempt, 1, "each visit has its own attempts");
    }

    more_than_come_back_at_once_come_back_all_the_same(frontier, judge, config()) {
        let names: Vec<String> = (0..600).map(|n| format!("http://o{n}.test/")).collect();
        add(frontier, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let leased = lease(frontier, 999, &judge, 0).await;
        let ends = leased.leases.iter().map(|lease| again(lease, 0, 1000)).collect();
        frontier.settle(ends, at(0)).await.unwrap();
        assert_eq!(frontier.stats(at(0)).await.unwrap().scheduled, 600);
        let mut found = std::collections::BTreeSet::new();
        for now in 1000..1010 {
            let leased = lease(frontier, 999, &judge, now).await;
            assert!(leased.leases.len() <= 256, "so many a call");
            for lease in leased.leases {
                assert!(found.insert(lease.url), "twice");
            }
        }
        assert_eq!(found.len(), 600);
    }

    a_later_visit_that_is_refused_or_fails_is_counted_so_until_the_next(frontier, judge, config()) {
        add(frontier, &["http://a.test/private", "http://b.test/"]).await;
        let leased = lease(frontier, 9, &judge, 0).await;
        let (refused, failed) = (leased.refused[0].id, leased.leases[0].id);
        let revisit = Box::new(Revisit { at: wall(1000), priority: 3, visited: visited(0) });
        let end = |lease, ending, told| {
            Settlement::Again { lease, spent: Spent::default(), ending, links: Vec::new(), told, revisit: revisit.clone() }
        };
        settle(frontier, end(refused, Ending::Refused, None), at(0)).await;
        settle(frontier, end(failed, Ending::Failed, Some((OriginPace::default(), turn(500)))), at(0)).await;
        let stats = frontier.stats(at(0)).await.unwrap();
        assert_eq!((stats.refused, stats.failed, stats.done, stats.scheduled, stats.seen), (1, 1, 0, 2, 2));
        let leased = lease(frontier, 9, &judge, 1000).await;
        assert_eq!((leased.leases.len(), leased.refused.len()), (1, 1));
        assert_eq!(leased.refused[0].visited.as_deref(), Some(&visited(0)));
        settle(frontier, done(leased.leases[0].id, turn(0)), at(1000)).await;
        settle(frontier, Settlement::Refused { lease: leased.refused[0].id }, at(1000)).await;
        let stats = frontier.stats(at(1000)).await.unwrap();
        assert_eq!((stats.refused, stats.failed, stats.done, stats.scheduled, stats.seen), (1, 0, 1, 0, 2));
    }

    what_the_site_says_brings_a_visit_forward_and_never_beyond_the_least(frontier, judge, config()) {
        add(frontier, &["http://a.test/x"]).await;
        let first = only(frontier, &judge, 0).await;
        settle(frontier, again(&first, 0, 90_000), at(0)).await;
        let next = async |frontier: &dyn Frontier| frontier.stats(at(0)).await.unwrap().next_visit;
        let say = async |frontier: &dyn Frontier, modified| {
            let offered = frontier.offer(vec![hinted("http://a.test/x", modified); 2]).await.unwrap();
            assert_eq!(offered, [Offered::Seen; 2]);
        };
        say(frontier, 0).await;
        assert_eq!(next(frontier).await, Some(at(90_000)), "it was visited since");
        say(frontier, 1).await;
        assert_eq!(next(frontier).await, Some(at(1000)), "not within the least of the last visit");
        assert!(lease(frontier, 9, &judge, 999).await.leases.is_empty());
        let second = only(frontier, &judge, 1000).await;
        say(frontier, 9_000_000).await;
        settle(frontier, again(&second, 1000, 90_000), at(1000)).await;
        assert!(lease(frontier, 9, &judge, 5000).await.leases.is_empty());
        say(frontier, 5000).await;
        assert_eq!(only(frontier, &judge, 5000).await.url.as_str(), "http://a.test/x");
        assert_eq!(frontier.stats(at(5000)).await.unwrap().scheduled, 0);
    }

    a_hint_for_a_new_url_is_there_at_its_first_visit(frontier, judge, config()) {
        let hint = Hint { modified: None, interval: Some(ms(700)), least: ms(0) };
        let offer = comity_frontier::Offer { hint: Some(hint), ..offer("http://a.test/x") };
        assert_eq!(frontier.offer(vec![offer]).await.unwrap(), [Offered::New]);
        let first = only(frontier, &judge, 0).await;
        assert_eq!(first.visited.as_deref(), Some(&Visited::hinted(ms(700))));
    }

    without_an_epoch_nothing_comes_back(frontier, judge, SchedulerConfig::default()) {
        add(frontier, &["http://a.test/x"]).await;
        let first = only(frontier, &judge, 0).await;
        settle(frontier, again(&first, 0, 1000), at(0)).await;
        let later = lease(frontier, 9, &judge, 99_000).await;
        assert_eq!((later.leases.len(), later.wake_at), (0, None));
        let stats = frontier.stats(at(99_000)).await.unwrap();
        assert_eq!((stats.scheduled, stats.next_visit, stats.next_due), (1, None, None));
    }

    the_result_of_an_expired_lease_schedules_too(frontier, judge, config()) {
        add(frontier, &["http://a.test/x", "http://a.test/y"]).await;
        let late = only(frontier, &judge, 0).await;
        frontier.turn(origin("http://a.test"), TurnNews::Hold { until: None, reason: Reason::ParkRobots }, at(1)).await.unwrap();
        assert!(lease(frontier, 9, &judge, 130_000).await.leases.is_empty());
        settle(frontier, again(&late, 130_000, 140_000), at(130_000)).await;
        frontier.release(origin("http://a.test"), at(130_000)).await.unwrap();
        let other = only(frontier, &judge, 130_000).await;
        assert_eq!(other.url.as_str(), "http://a.test/y");
        settle(frontier, done(other.id, turn(130_000)), at(130_000)).await;
        let back = only(frontier, &judge, 140_000).await;
        assert_eq!((back.url.as_str(), back.attempt, back.visited.is_some()), ("http://a.test/x", 1, true));
    }

    what_waits_for_its_next_visit_counts_for_the_bound_on_the_queue(frontier, judge, SchedulerConfig { queued: 2, ..config() }) {
        add(frontier, &["http://a.test/x", "http://a.test/y"]).await;
        let first = only(frontier, &judge, 0).await;
        settle(frontier, again(&first, 0, 1000), at(0)).await;
        let full = [Offered::Refused(Reason::UrlBudgetQueue)];
        assert_eq!(frontier.offer(offers(["http://a.test/z"])).await.unwrap(), full);
        let other = only(frontier, &judge, 0).await;
        settle(frontier, done(other.id, turn(0)), at(0)).await;
        assert_eq!(frontier.offer(offers(["http://a.test/z"])).await.unwrap(), [Offered::New]);
        assert_eq!(frontier.offer(offers(["http://a.test/w"])).await.unwrap(), full);
        assert_eq!(lease(frontier, 9, &judge, 1000).await.leases.len(), 1, "nothing that comes back is turned away");
    }

    a_schedule_is_listed_and_taken_in_elsewhere(frontier, judge, config()) {
        add(frontier, &["http://a.test/1", "http://b.test/1", "http://c.test/1"]).await;
        for next in [9000, 3000, 6000] {
            let leased = lease(frontier, 1, &judge, 0).await.leases.remove(0);
            settle(frontier, again(&leased, 0, next), at(0)).await;
        }
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let page = frontier.visits(after, 2).await.unwrap();
            listed.extend(page.rows);
            let Some(next) = page.next else { break };
            // It travels as bytes.
            after = Some(VisitPlace::from_bytes(next.as_bytes().to_vec()));
        }
        let times: Vec<_> = listed.iter().map(|visit| visit.at).collect();
        assert_eq!(times, [wall(3000), wall(6000), wall(9000)]);
        assert!(listed.iter().all(|visit| visit.queued.visited.as_deref() == Some(&visited(0))));
        let seen = vec![Offered::Seen; 3];
        assert_eq!(frontier.schedule(listed.clone()).await.unwrap(), seen, "what is known stays as it is");

        for (implementation, make) in implementations() {
            println!("taken in by {implementation}");
            let other = make(config());
            let other: &dyn Frontier = &*other.0;
            assert_eq!(other.schedule(listed.clone()).await.unwrap(), [Offered::New, Offered::New, Offered::New]);
            assert_eq!(other.schedule(listed.clone()).await.unwrap(), seen);
            let stats = other.stats(at(0)).await.unwrap();
            assert_eq!((stats.done, stats.queued, stats.seen, stats.scheduled, stats.next_visit), (3, 0, 3, 3, Some(at(3000))));
            assert_eq!(other.visits(None, 9).await.unwrap().rows, listed);
            assert_eq!(other.offer(offers(["http://a.test/1"])).await.unwrap(), [Offered::Seen]);
            for (millis, visit) in [3000, 6000, 9000].into_iter().zip(&listed) {
                assert_eq!(lease(other, 9, &judge, millis - 1).await.leases.len(), 0);
                let leased = only(other, &judge, millis).await;
                assert_eq!((&leased.url, leased.priority, leased.visited), (&visit.queued.url, 3, visit.queued.visited.clone()));
                settle(other, done(leased.id, turn(millis)), at(millis)).await;
            }
            let stats = other.stats(at(9000)).await.unwrap();
            assert_eq!((stats.done, stats.seen, stats.scheduled), (3, 3, 0));
        }
    }
}
