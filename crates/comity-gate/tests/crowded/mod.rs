//! More origins than the gate holds in memory.

use comity_testweb::Auditor;

use super::*;

/// Every robots.txt once in its life, and every page: whatever the cache lets go, and although a few origins are asked for much
/// more often than the others, which a cache that counts would rather keep.
#[tokio::test(start_paused = true)]
async fn more_origins_than_the_cache_holds_are_all_crawled_and_asked_once() {
    const ORIGINS: usize = 30;
    const OFTEN: usize = 4;
    let url = |n: usize, path: &str| CrawlUrl::parse(&format!("http://s{n}.test{path}")).unwrap();
    // Room for none, for a few, for about half of them.
    for room in [1, 4 << 10, 16 << 10] {
        let site = |n: usize| Site::new().name(format!("s{n}.test")).robots(RULES).page("/", Answer::text("x"));
        let web = (0..ORIGINS).fold(Web::builder(1), |web, n| web.site(site(n)));
        let (net, observer) = web.build().unwrap().in_memory();
        let dir = tempfile::tempdir().unwrap();
        let process = Process::start(&net, Some(dir.path()), START, room);
        for _ in 0..20 {
            for n in 0..OFTEN {
                assert!(process.visit_url(&url(n, "/")).await.is_some());
            }
        }
        for round in 0..3 {
            let visits = (OFTEN..ORIGINS).map(|n| {
                let (gate, url) = (process.clone(), url(n, "/"));
                tokio::spawn(async move { gate.visit_url(&url).await.is_some() })
            });
            for (n, visit) in visits.collect::<Vec<_>>().into_iter().enumerate() {
                assert!(visit.await.unwrap(), "round {round}, {} with room for {room} bytes", n + OFTEN);
            }
            assert!(process.visit_url(&url(round, "/private")).await.is_none(), "the rules are those of the copy");
        }
        assert_eq!(robots_requests(&observer), ORIGINS, "{room}");
        let audit = Auditor::new().token("TestBot").examine(&observer);
        assert!(audit.is_clean(), "{room}: {audit}");
    }
}

/// Where nothing outlives the cache, it asks again what it let go, and is judged by what it has learnt all the same.
#[tokio::test(start_paused = true)]
async fn without_a_directory_nobody_waits_for_ever() {
    const ORIGINS: usize = 12;
    let url = |n: usize| CrawlUrl::parse(&format!("http://s{n}.test/")).unwrap();
    let site = |n: usize| Site::new().name(format!("s{n}.test")).robots(RULES).page("/", Answer::text("x"));
    let web = (0..ORIGINS).fold(Web::builder(1), |web, n| web.site(site(n)));
    let (net, observer) = web.build().unwrap().in_memory();
    let process = Process::start(&net, None, START, 6 << 10);
    for n in (0..ORIGINS).chain(0..ORIGINS) {
        assert!(process.visit_url(&url(n)).await.is_some(), "{n}");
    }
    // Looked at all at once, judged later: a quarter of the room beside holds what comes first, and the others come again.
    let mut left: Vec<usize> = (0..ORIGINS).collect();
    for round in 0..=ORIGINS {
        for n in &left {
            process.gate.robots(url(*n).origin()).await;
        }
        let before = left.len();
        left.retain(|n| matches!(process.gate.judge(&url(*n)), Judgement::NeedsRobots(_)));
        assert!(left.len() < before || before == 0, "round {round}: {left:?}");
    }
    assert_eq!(left, [] as [usize; 0]);
    assert!(robots_requests(&observer) > ORIGINS, "nothing remembers them");
}

/// More than is held in memory: what was looked at for a judgement is there for it, whatever the cache lets go, and what is
/// remembered is asked for once.
#[tokio::test(start_paused = true)]
async fn what_the_cache_lets_go_is_not_asked_for_again() {
    const ORIGINS: usize = 36;
    let rule = "{\"location\":\"/\",\"tdm-reservation\":1,\"x\":\"".to_owned() + &"x".repeat(2000) + "\"}";
    let body = format!("[{}]", vec![rule; 500].join(","));
    let site = |n: usize| {
        let file = Answer::status(200).content("application/json", body.clone());
        Site::new().name(format!("s{n}.test")).page(TDMREP, file)
    };
    let url = |n: usize| CrawlUrl::parse(&format!("http://s{n}.test/")).unwrap();
    let (net, observer) = (0..ORIGINS).fold(Web::builder(1), |web, n| web.site(site(n))).build().unwrap().in_memory();
    let dir = tempfile::tempdir().unwrap();
    let process = Process::asking(&net, dir.path(), START, &Arc::default());
    let is_judged = |n: usize| match process.gate.judge(&url(n)) {
        Judgement::Allow(allowance) => {
            assert!(allowance.decision().site.tdmrep.as_ref().unwrap().copy.is_some(), "{n}");
            true
        }
        Judgement::NeedsRobots(_) => false,
        other => panic!("{n}: {other:?}"),
    };
    for round in ["asked", "recalled"] {
        for n in 0..ORIGINS {
            assert_eq!(process.gate.robots(url(n).origin()).await.hold, None);
            assert!(is_judged(n), "{round}, {n}");
        }
        assert_eq!(tdmrep_requests(&observer), ORIGINS, "{round}");
    }
    // As a crawl does: all are looked at before the first is judged. There is no room for the last few, who come again.
    let mut left: Vec<usize> = (0..ORIGINS).collect();
    for most_left in [5, 0] {
        for n in &left {
            assert_eq!(process.gate.robots(url(*n).origin()).await.hold, None);
        }
        left.retain(|n| !is_judged(*n));
        assert!(left.len() <= most_left, "{left:?}");
    }
    assert_eq!(tdmrep_requests(&observer), ORIGINS);
}
