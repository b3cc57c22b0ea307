//! Whose turn it is: one at a time, by priority, longest waiting first.

use super::*;

cases! {
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
}
