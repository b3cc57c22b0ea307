//! Field report 13: a slow or numerous host holds nobody but itself.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;

use comity_frontier::{Frontier, LeaseId, Local, SchedulerConfig};
use comity_policy::Instant;

use common::*;

/// What a run of sixteen workers did: per host, when its last page was done; and how many calls were made.
struct Run {
    finished: BTreeMap<String, Instant>,
    calls: usize,
}

/// Sixteen workers on a clock of their own; a fetch takes 50 ms, the delay runs from its end.
async fn crawl(frontier: &dyn Frontier, delay: impl Fn(&str) -> u64) -> Run {
    let judge = TestJudge::default();
    let mut running: Vec<(Instant, LeaseId, String)> = Vec::new();
    let (mut now, mut run) = (at(0), Run { finished: BTreeMap::new(), calls: 0 });
    loop {
        run.calls += 1;
        let leased = frontier.lease(16 - running.len(), &judge, now).await.unwrap();
        for lease in leased.leases {
            running.push((now.after(ms(50)), lease.id, lease.url.origin().host().to_owned()));
        }
        let ends = running.iter().map(|fetch| fetch.0).min();
        let Some(next) = [ends, leased.wake_at.filter(|wake| *wake > now)].into_iter().flatten().min() else {
            return run;
        };
        now = next;
        let (over, open) = running.into_iter().partition(|fetch| fetch.0 <= now);
        running = open;
        for (_, id, host) in over {
            let wait = now.as_micros() / 1000 + delay(&host);
            settle(frontier, done(id, turn(wait)), now).await;
            run.finished.insert(host, now);
        }
    }
}

#[tokio::test]
async fn a_slow_host_does_not_hold_the_others() {
    let frontier = Local::in_memory(SchedulerConfig::default());
    for page in 0..1000 {
        add(&frontier, &[&format!("http://a.test/{page}")]).await;
    }
    for host in ["b", "c", "d", "e", "f", "g", "h", "i", "j", "k"] {
        for page in 0..20 {
            add(&frontier, &[&format!("http://{host}.test/{page}")]).await;
        }
    }
    let run = crawl(&frontier, |host| if host == "a.test" { 5000 } else { 200 }).await;
    for (host, finished) in &run.finished {
        let expected = if host == "a.test" { 999 * 5050 + 50 } else { 19 * 250 + 50 };
        assert_eq!(*finished, at(expected), "{host}");
    }
    assert_eq!(run.finished.len(), 11);
    // Nothing due, no wake-ups: two calls per fetch of the slow host at most, not one per tick.
    assert!(run.calls <= 2 * 1200 + 10, "{} calls for 1,200 fetches", run.calls);
}

#[tokio::test]
async fn many_hosts_share_few_workers_in_turn() {
    let frontier = Local::in_memory(SchedulerConfig::default());
    for host in 0..200 {
        for page in 0..5 {
            add(&frontier, &[&format!("http://h{host}.test/{page}")]).await;
        }
    }
    let run = crawl(&frontier, |_| 10).await;
    // 1,000 fetches of 50 ms by 16 workers take 62.5 rounds; in turn, every host ends within the last two rounds of
    // the hosts' own round of 200 / 16.
    let ends: Vec<u64> = run.finished.values().map(|end| end.as_micros() / 1000).collect();
    assert_eq!(ends.len(), 200);
    assert!(ends.iter().all(|end| (2500..=3250).contains(end)), "{:?} to {:?}", ends.iter().min(), ends.iter().max());
}
