//! Every hostile scenario on real sockets, in real time, with shorter limits; and hostile bodies, many at once: memory
//! stays flat. Its own process, so that the peak is its own.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may end here")]

#[path = "support/ends.rs"]
mod ends;
mod support;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use comity_fetch::{FetchConfig, Limits, ResponseHead, Sink, SystemNet, Want};
use comity_policy::{Reason, Truncation};
use comity_testweb::hostile::{Hostile, Listening, Scenario};
use support::{AGENT, Page, Rig};
use tokio::sync::{Mutex, MutexGuard};

/// Tests of this process take turns: they measure it.
async fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

/// Takes note of nothing but the length.
#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn head(&mut self, _head: &ResponseHead<'_>) -> Want {
        Want::Body
    }

    fn chunk(&mut self, decoded: &[u8]) {
        self.0 += decoded.len() as u64;
    }

    #[expect(clippy::disallowed_methods, reason = "the test keeps its own bytes")]
    fn keep(&mut self, _read: comity_fetch::Read) -> comity_fetch::Keep {
        comity_fetch::Keep::unjudged()
    }
}

/// A line of /proc/self/status, in KiB.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

const BODIES: [Scenario; 16] = [
    Scenario::BombGzip,
    Scenario::BombZlib,
    Scenario::BombDeflate,
    Scenario::BombBrotli,
    Scenario::BombZstd,
    Scenario::BombGzipGzip,
    Scenario::BombZstdBrotli,
    Scenario::EndlessBody,
    Scenario::EndlessChunks,
    Scenario::EndlessTrailers,
    Scenario::EndlessHead,
    Scenario::EndlessInterim,
    Scenario::ChunkExtension,
    Scenario::SlowBody,
    Scenario::SlowHead,
    Scenario::ManyFields,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_hostile_bodies_at_once_stay_below_64_mb() {
    let _alone = alone().await;
    let hostile = Hostile::new().unwrap();
    // The ratio bound off, so that bombs inflate to the bound on decoded bytes: the worse case.
    for max_ratio in [u64::MAX, 200] {
        let mut config = FetchConfig::new(AGENT);
        config.allow_addresses = vec!["127.0.0.0/8".parse().unwrap()];
        config.limits.max_ratio = max_ratio;
        // Bombs are few bytes, and as slow to come as the machine is busy: no limit of time is to end them. The slow ones
        // keep their places until all others have come.
        let never = Duration::from_secs(600);
        (config.limits.head, config.limits.rate_grace, config.limits.total) = (never, never, never);
        let rig = Arc::new(Rig::on(Arc::new(SystemNet::new()), config));
        let mut servers: Vec<Listening> = Vec::new();
        // An address for each: they are fetched at once, and none waits for another's turn.
        for (n, scenario) in BODIES.iter().chain(&BODIES).enumerate() {
            let address = [127, 0, 7, u8::try_from(n).unwrap() + 1].into();
            servers.push(hostile.listen(*scenario, address).await.unwrap());
        }
        let baseline = status("VmRSS:");
        // From here on the peak counts anew (proc(5), clear_refs).
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        let fetches: Vec<_> = servers
            .iter()
            .map(|server| {
                let (rig, url) = (Arc::clone(&rig), format!("http://{}/", server.address()));
                tokio::spawn(async move {
                    let permit = rig.permit(&url).await;
                    let mut sink = Count::default();
                    let mut fetched = rig.fetcher.fetch(permit, &mut sink).await;
                    rig.settle(&mut fetched);
                    (fetched, sink.0)
                })
            })
            .collect();
        // All captures are held until the last has come: as if nobody wrote them away.
        let (mut ends, mut slow) = (Vec::new(), Vec::new());
        for (fetch, scenario) in fetches.into_iter().zip(BODIES.iter().chain(&BODIES)) {
            if matches!(scenario, Scenario::SlowBody | Scenario::SlowHead) {
                slow.push(fetch);
            } else {
                ends.push((fetch.await.unwrap(), scenario));
            }
        }
        assert!(servers.iter().all(|server| server.connections() == 1), "all were fetched at once");
        assert!(slow.iter().all(|fetch| !fetch.is_finished()), "the slow ones are open still");
        let peak = status("VmHWM:");
        let risen = peak.saturating_sub(baseline);
        eprintln!("ratio bound {max_ratio}: {} bodies, {risen} KiB above {baseline} KiB", servers.len());
        for fetch in slow {
            fetch.abort();
            assert!(fetch.await.unwrap_err().is_cancelled());
        }
        for ((fetched, decoded), scenario) in &ends {
            assert!(fetched.capture.fault.is_some(), "{}", scenario.name());
            assert!(*decoded <= 10 << 20, "{}", scenario.name());
            if scenario.is_bomb() && max_ratio == u64::MAX {
                assert_eq!(fetched.capture.fault, Some(Reason::FetchTooLarge), "{}", scenario.name());
                assert_eq!(*decoded, 10 << 20, "{}", scenario.name());
            }
        }
        // The servers, which make the bombs, are in this process too: their memory counts here as well.
        assert!(risen <= 64 * 1024, "{risen} KiB above the baseline");
        assert_eq!(rig.pacer.in_flight(), 0);
    }
}

/// How the scenarios are run: all at once, each so many times.
#[derive(Clone, Debug)]
struct Size {
    limits: Limits,
    times: u8,
}

/// MiB for each of them above the baseline, the servers' part and the bodies that the test keeps included: 64 for 32.
const EACH: u64 = 2;

impl Size {
    fn asked() -> Self {
        if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") {
            return Self { limits: Limits::default(), times: 4 };
        }
        let seconds = Duration::from_secs;
        let limits = Limits {
            connect: seconds(6),
            head: seconds(6),
            idle: seconds(6),
            rate_grace: seconds(6),
            total: seconds(20),
            ..Limits::default()
        };
        Self { limits, times: 1 }
    }
}

/// A scenario on one address, and a good server beside it on another.
struct Place {
    scenario: Scenario,
    server: Listening,
    beside: Listening,
}

/// Every scenario once, and a client to which its names are known. The machine's own network is closed to it, but for the
/// servers.
async fn places(hostile: &Hostile, round: u8, limits: &Limits) -> (Arc<Rig>, Vec<Place>) {
    let mut places = Vec::new();
    let mut config = FetchConfig { limits: limits.clone(), ..FetchConfig::new(AGENT) };
    config.allow_addresses = vec!["127.66.0.0/16".parse().unwrap()];
    config.extra_roots_pem = vec![hostile.root_pem().to_vec()];
    for (n, &scenario) in Scenario::ALL.iter().enumerate() {
        let last = u8::try_from(n).unwrap() + 1;
        let server = hostile.listen(scenario, IpAddr::from([127, 66, round, last])).await.unwrap();
        let beside = hostile.listen(Scenario::Good, IpAddr::from([127, 66, 100 + round, last])).await.unwrap();
        config.resolve.insert(scenario.host(), vec![server.address().ip()]);
        places.push(Place { scenario, server, beside });
    }
    (Arc::new(Rig::on(Arc::new(SystemNet::new()), config)), places)
}

/// Fetches the scenario and then the next URL; how the first ended and whether the second was fine.
async fn visit(rig: Arc<Rig>, place: Place) -> (Scenario, Page, bool, usize) {
    let page = rig.fetch(&ends::url(place.scenario, &format!(":{}", place.server.address().port()))).await;
    let next = rig.fetch(&format!("http://{}/", place.beside.address())).await;
    (place.scenario, page, next.fault().is_none() && next.text() == "hello", place.server.connections())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_scenario_on_sockets_ends_in_its_limit_with_its_reason() {
    let _alone = alone().await;
    let size = Size::asked();
    let hostile = Hostile::new().unwrap();
    let mut rounds = Vec::new();
    for round in 0..size.times {
        rounds.push(places(&hostile, round, &size.limits).await);
    }
    let mut complaints = Vec::new();
    let mut rows = Vec::new();
    let baseline = status("VmRSS:");
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let visits: Vec<_> = rounds
        .into_iter()
        .flat_map(|(rig, places)| places.into_iter().map(move |place| tokio::spawn(visit(Arc::clone(&rig), place))))
        .collect();
    for visit in visits {
        let (scenario, page, next_is_fine, connections) = visit.await.unwrap();
        let (name, end) = (scenario.name(), ends::expected(scenario));
        complaints.extend(ends::complaint(scenario, &page.fetched, page.body.len()));
        let wait = end.limit.wait(&size.limits);
        if page.took < wait || page.took > size.limits.total + size.limits.total {
            complaints.push(format!("{name}: ended after {:?}, {:?} is its limit", page.took, end.limit));
        }
        if !next_is_fine || connections != 1 {
            complaints.push(format!("{name}: next URL fine: {next_is_fine}, {connections} connections"));
        }
        let cut = page.fetched.capture.truncated.map_or("-", Truncation::as_str);
        let reason = page.fault().map_or("ok", Reason::code);
        let took = page.took.as_secs_f64();
        rows.push(format!("{name:<20} {:<38} {reason:<22} {cut:<12} {took:>6.2} s  next fine", end.limit.text()));
    }
    let peak = status("VmHWM:");
    let risen = peak.saturating_sub(baseline) >> 10;
    rows.iter().for_each(|row| eprintln!("{row}"));
    eprintln!("{} at once: peak {} MiB, {risen} MiB above the baseline", rows.len(), peak >> 10);
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(risen <= EACH * rows.len() as u64, "{risen} MiB above the baseline");
}
