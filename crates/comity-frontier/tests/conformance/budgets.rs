//! What is taken in, and what budgets refuse.

use super::*;

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

    leases_are_bounded_in_all(frontier, judge, SchedulerConfig { leases: 2, ..config() }) {
        add(frontier, &["http://a.test/1", "http://b.test/1", "http://c.test/1"]).await;
        let leased = lease(frontier, 9, &judge, 0).await;
        assert_eq!((leased.leases.len(), leased.wake_at), (2, Some(at(120_000))));
        settle(frontier, done(leased.leases[0].id, turn(0)), at(1)).await;
        assert_eq!(lease(frontier, 9, &judge, 1).await.leases.len(), 1);
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

    other_limits_hold_for_what_is_taken_from_then_on(frontier, judge, small_budgets()) {
        use Reason::{UrlBudgetBytes, UrlBudgetDomain, UrlBudgetPages, UrlBudgetPending};
        let limits = QueueLimits { per_origin: 1, pages_per_origin: 2, bytes_per_origin: u64::MAX, pages_per_domain: 100, queued_per_domain: 100 };
        let asked = async |url: &str| frontier.offer(offers([url])).await.unwrap().remove(0);
        if !frontier.set_limits(limits).await.unwrap() {
            // It has limits of its own.
            continue;
        }
        add(frontier, &["http://a.test/1", "http://a.test/2"]).await;
        assert_eq!(asked("http://a.test/3").await, Offered::Refused(UrlBudgetPages));
        frontier.set_limits(QueueLimits { pages_per_origin: 3, ..limits }).await.unwrap();
        assert_eq!(asked("http://a.test/3").await, Offered::New);
        frontier.set_limits(QueueLimits { pages_per_origin: 1, ..limits }).await.unwrap();
        assert_eq!(asked("http://a.test/4").await, Offered::Refused(UrlBudgetPages));
        assert_eq!(frontier.stats(at(0)).await.unwrap().queued, 3, "what is queued stays");
        let wide = QueueLimits { pages_per_origin: 100, ..limits };
        frontier.set_limits(QueueLimits { pages_per_domain: 3, ..wide }).await.unwrap();
        assert_eq!(asked("http://a.test/4").await, Offered::Refused(UrlBudgetDomain));
        frontier.set_limits(QueueLimits { queued_per_domain: 3, ..wide }).await.unwrap();
        assert_eq!(asked("http://a.test/4").await, Offered::Refused(UrlBudgetPending));
        let first = lease(frontier, 1, &judge, 0).await.leases.remove(0);
        let (pace, spent) = (OriginPace::default(), Spent { pages: 1, bytes: 10 });
        settle(frontier, Settlement::Done { lease: first.id, spent, links: Vec::new(), pace, turn: turn(1) }, at(0)).await;
        frontier.set_limits(QueueLimits { bytes_per_origin: 10, ..wide }).await.unwrap();
        assert_eq!(asked("http://a.test/4").await, Offered::Refused(UrlBudgetBytes));
        frontier.set_limits(QueueLimits { bytes_per_origin: 11, ..wide }).await.unwrap();
        assert_eq!(asked("http://a.test/4").await, Offered::New);
        let left = lease(frontier, 9, &judge, 1).await;
        assert_eq!(left.leases.len(), 1, "one at once as before");
    }
}
