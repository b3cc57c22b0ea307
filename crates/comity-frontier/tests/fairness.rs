//! Field reports 13 and 33 to 35: a slow or numerous host holds nobody but itself, however much it has.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;

use comity_frontier::{Class, Frontier, LeaseId, Local, SchedulerConfig, TurnNews};
use comity_policy::{Instant, Overlap, Ready, Reason, Turn};

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

/// The giant and the many: who was leased when, in microseconds.
#[derive(Default)]
struct Served {
    giant: Vec<u64>,
    small: Vec<(u64, usize)>,
}

const ANSWER: u64 = 50;
const DELAY: u64 = 1000;

/// Serves everything up to `end`, as many at once as are due.
async fn serve(frontier: &dyn Frontier, end: Instant) -> Served {
    let judge = TestJudge::default();
    let (mut now, mut served) = (at(0), Served::default());
    let mut running: std::collections::VecDeque<(Instant, LeaseId)> = std::collections::VecDeque::new();
    while now <= end {
        while let Some((_, lease)) = running.pop_front_if(|fetch| fetch.0 <= now) {
            settle(frontier, done(lease, turn(now.as_micros() / 1000 + DELAY)), now).await;
        }
        let leased = frontier.lease(64, &judge, now).await.unwrap();
        judge.told().asked.clear();
        for lease in leased.leases {
            match lease.url.origin().host().strip_prefix('h').and_then(|host| host.strip_suffix(".test")?.parse().ok())
            {
                Some(number) => served.small.push((now.as_micros(), number)),
                None => served.giant.push(now.as_micros()),
            }
            running.push_back((now.after(ms(ANSWER)), lease.id));
        }
        let ends = running.front().map(|fetch| fetch.0);
        let Some(next) = [ends, leased.wake_at].into_iter().flatten().min() else { break };
        now = next.max(now);
    }
    served
}

/// Memory of this process in RAM, 0 where there is no `/proc`.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// A short form runs always; with `COMITY_TEST_SIZE=all` a giant of a million URLs beside 100,000 origins with one.
#[tokio::test]
async fn a_giant_takes_one_turn_per_delay_and_the_small_ones_come_at_their_instants() {
    let all = std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all");
    let (pages, hosts) = if all { (1_000_000, 100_000) } else { (3_000, 600) };
    let (seconds, millis) = (60, 60_000);
    let frontier = Local::in_memory(SchedulerConfig { pages_per_origin: u64::MAX, ..SchedulerConfig::default() });
    for from in (0..pages).step_by(1000) {
        let batch = (from..from + 1000).map(|page| offer(&format!("http://giant.test/{page}"))).collect();
        let _ = frontier.offer(batch).await.unwrap();
    }
    // The instants of the small ones are spread over the minute, and come in another order than the origins.
    let mut told: Vec<(u64, usize)> = Vec::new();
    for number in 0..hosts {
        let micros = (number * 7919 % hosts) as u64 * seconds * 1_000_000 / hosts as u64;
        let ready = Ready { at: Instant::from_micros(micros), clock: Reason::RateOrigin };
        let news = TurnNews::RobotsReady { turn: Turn { ready, overlap: Overlap::AfterHead } };
        frontier.turn(origin(&format!("http://h{number}.test")), news, at(0)).await.unwrap();
        add(&frontier, &[&format!("http://h{number}.test/")]).await;
        told.push((micros, number));
    }
    told.sort_unstable();
    let before = resident_bytes();
    let served = serve(&frontier, at(millis)).await;
    let grown = resident_bytes().saturating_sub(before);
    assert_eq!(served.small, told, "every small one at its instant, whatever the giant has");
    let giant: Vec<u64> = (0..=millis / (ANSWER + DELAY)).map(|turn| turn * (ANSWER + DELAY) * 1000).collect();
    assert_eq!(served.giant, giant, "the giant once per delay throughout");
    assert!(grown < 32 << 20, "memory grew by {grown} bytes while serving");
}

/// Leases one URL at a time of origins that need no delay, and gives how many each class got.
async fn turns(frontier: &dyn Frontier, turns: usize) -> [usize; 4] {
    let judge = TestJudge::default();
    let mut counts = [0; 4];
    for _ in 0..turns {
        let leased = frontier.lease(1, &judge, at(0)).await.unwrap();
        let lease = leased.leases.first().expect("something is always due");
        let class: usize = lease.url.origin().host().split(['c', '-']).nth(1).unwrap().parse().unwrap();
        counts[class] += 1;
        settle(frontier, done(lease.id, free()), at(0)).await;
    }
    counts
}

/// Origins of each of the classes named, all with more than they can get.
async fn crowd(classes: impl Iterator<Item = usize>) -> Local<comity_frontier::MemoryStore> {
    let mut config = SchedulerConfig::default();
    for (number, class) in Class::ALL.into_iter().enumerate() {
        (0..5).for_each(|host| config.classes.set(&format!("c{number}-{host}.test"), class));
    }
    let frontier = Local::in_memory(config);
    for class in classes {
        for page in 0..1000 {
            add(&frontier, &[&format!("http://c{class}-{}.test/{page}", page % 5)]).await;
        }
    }
    frontier
}

#[tokio::test]
async fn classes_get_their_shares_and_none_starves() {
    let frontier = crowd(0..4).await;
    for round in 0..20 {
        assert_eq!(turns(&frontier, 15).await, [8, 4, 2, 1], "round {round}");
    }
    // A class in which nothing is due leaves its share to the others, and has saved up nothing when it comes back.
    let frontier = crowd([1, 3].into_iter()).await;
    for round in 0..20 {
        assert_eq!(turns(&frontier, 5).await, [0, 4, 0, 1], "round {round}");
    }
    for page in 0..1000 {
        add(&frontier, &[&format!("http://c0-0.test/{page}")]).await;
    }
    for round in 0..20 {
        assert_eq!(turns(&frontier, 13).await, [8, 4, 0, 1], "round {round}");
    }
}

/// Refused URLs cost no turn, but a class that has many of them does not keep the others from theirs.
#[tokio::test]
async fn refusals_of_one_class_do_not_hold_the_others() {
    let mut config = SchedulerConfig { refusals_per_call: 32, ..SchedulerConfig::default() };
    config.classes.set("many.test", Class::First);
    config.classes.set("few.test", Class::Fourth);
    let frontier = Local::in_memory(config);
    for page in 0..2000 {
        add(&frontier, &[&format!("http://many.test/private/{page}")]).await;
    }
    add(&frontier, &["http://few.test/"]).await;
    let leased = frontier.lease(1, &TestJudge::default(), at(0)).await.unwrap();
    assert_eq!(leased.leases.len(), 1, "within one call of {} refusals", leased.refused.len());
}
