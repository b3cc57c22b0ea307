//! What is listed: everything that is queued, once, page by page, while others lease from it.

use comity_frontier::{OriginFilter, OriginStanding, QueuedAt};

use super::*;

/// All pages of a list of origins.
async fn origins(frontier: &dyn Frontier, filter: OriginFilter, n: usize, millis: u64) -> Vec<OriginStanding> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = frontier.origins(filter, after, n, at(millis)).await.unwrap();
        assert!(page.rows.len() <= n);
        found.extend(page.rows);
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

/// All pages of a list of URLs.
async fn queued(frontier: &dyn Frontier, of: Option<&str>, n: usize) -> Vec<QueuedAt> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = frontier.urls(of.map(origin), after, n).await.unwrap();
        found.extend(page.rows);
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

fn texts(rows: &[QueuedAt]) -> Vec<&str> {
    rows.iter().map(|row| row.url.as_ref().unwrap().url.as_str()).collect()
}

fn names(standings: &[OriginStanding]) -> Vec<&str> {
    standings.iter().map(|standing| standing.waiting.origin.as_str()).collect()
}

cases! {
    origins_are_listed_with_what_they_wait_for(frontier, judge, config()) {
        add(frontier, &["http://a.test/1", "http://a.test/2", "http://b.test/1", "http://c.test/1"]).await;
        frontier.park(origin("http://b.test"), Reason::ParkOperator, None, at(0)).await.unwrap();
        let leased = lease(frontier, 2, &judge, 0).await;
        assert_eq!(leased.leases.len(), 2);
        let c = leased.leases.iter().find(|lease| lease.url.origin().host() == "c.test").unwrap();
        settle(frontier, done(c.id, turn(1000)), at(10)).await;
        for n in [1, 2, 9] {
            let listed = origins(frontier, OriginFilter::Queued, n, 10).await;
            assert_eq!(names(&listed), ["http://a.test", "http://b.test"], "{n} a page");
            assert_eq!((listed[0].waiting.queued, listed[0].leased, listed[0].queued()), (1, 1, 2));
            let parked = &listed[1].waiting;
            assert_eq!((parked.why, parked.until, parked.queued), (Why::Reason(Reason::ParkOperator), None, 1));
            assert_eq!(names(&origins(frontier, OriginFilter::Stuck, n, 10).await), ["http://b.test"]);
            let all = origins(frontier, OriginFilter::All, n, 10).await;
            assert_eq!(names(&all), ["http://a.test", "http://b.test", "http://c.test"]);
            assert_eq!((all[2].done, all[2].queued()), (1, 0));
        }
        frontier.release(origin("http://b.test"), at(20)).await.unwrap();
        assert_eq!(origins(frontier, OriginFilter::Stuck, 9, 20).await, []);
    }

    urls_are_listed_once_each_by_origin_priority_and_arrival(frontier, judge, three_at_once()) {
        let mut batch = offers(["http://b.test/1", "http://a.test/2", "http://a.test/1", "http://a.test:81/1"]);
        batch.push(Offer { priority: 0, ..offer("http://a.test/first") });
        frontier.offer(batch).await.unwrap().iter().for_each(|answer| assert_eq!(*answer, Offered::New));
        let all = ["http://a.test/first", "http://a.test/2", "http://a.test/1", "http://a.test:81/1", "http://b.test/1"];
        for n in [1, 2, 3, 9] {
            assert_eq!(texts(&queued(frontier, None, n).await), all, "{n} a page");
            assert_eq!(texts(&queued(frontier, Some("http://a.test"), n).await), all[..3]);
            assert_eq!(texts(&queued(frontier, Some("http://b.test"), n).await), all[4..]);
        }
        assert_eq!(queued(frontier, Some("http://c.test"), 9).await, []);
        // A lease takes nothing out of the list, a settlement does; places stay as they are.
        let before = queued(frontier, None, 9).await;
        let leased = lease(frontier, 1, &judge, 0).await;
        assert_eq!(queued(frontier, None, 9).await, before);
        settle(frontier, done_with(leased.leases[0].id, offers(["http://a.test/new"]), turn(1)), at(1)).await;
        let after = queued(frontier, None, 9).await;
        let gone = leased.leases[0].url.as_str();
        let kept: Vec<&QueuedAt> = before.iter().filter(|row| row.url.as_ref().unwrap().url.as_str() != gone).collect();
        assert!(kept.iter().all(|row| after.contains(row)));
        assert_eq!(after.len(), kept.len() + 1);
        assert!(texts(&after).contains(&"http://a.test/new"));
    }

    fingerprints_that_are_handed_over_are_seen(frontier, _judge, config()) {
        let keys = |texts: &[&str]| texts.iter().map(|text| offer(text).key).collect::<Vec<_>>();
        assert_eq!(frontier.last_taken().await.unwrap(), 0);
        add(frontier, &["http://a.test/1"]).await;
        let first = frontier.last_taken().await.unwrap();
        let handed = keys(&["http://a.test/1", "http://a.test/2", "http://a.test/2", "http://a.test/3"]);
        assert_eq!(frontier.mark_seen(handed).await.unwrap(), 2);
        assert_eq!(frontier.mark_seen(keys(&["http://a.test/3"])).await.unwrap(), 0);
        let answers = frontier.offer(offers(["http://a.test/2", "http://a.test/3", "http://a.test/4"])).await.unwrap();
        assert_eq!(answers, [Offered::Seen, Offered::Seen, Offered::New]);
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = frontier.seen(after, None).await.unwrap();
            found.extend(page.rows);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let bounded = frontier.seen(None, Some(first)).await.unwrap();
        assert_eq!((bounded.rows, bounded.next), (keys(&["http://a.test/1"]), None), "what was taken later is not in it");
        found.sort_unstable();
        let mut expected = keys(&["http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4"]);
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
