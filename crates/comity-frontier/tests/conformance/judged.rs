//! What the judge, the operator and a robots.txt say.

use super::*;

cases! {
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
}
