//! How leases end: late, failed, tried again, unknown.

use super::*;

cases! {
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
}
