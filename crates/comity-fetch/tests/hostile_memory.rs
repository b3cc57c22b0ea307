//! Hostile bodies on real sockets, many at once: memory stays flat. Its own process, so that the peak is its own.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may end here")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use comity_fetch::{FetchConfig, ResponseHead, Sink, SystemNet, Want};
use comity_policy::Reason;
use comity_testweb::hostile::{Hostile, Listening, Scenario};
use support::{AGENT, Rig};

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
    let hostile = Hostile::new().unwrap();
    // The ratio bound off, so that bombs inflate to the bound on decoded bytes: the worse case.
    for max_ratio in [u64::MAX, 200] {
        let mut config = FetchConfig::new(AGENT);
        config.allow_addresses = vec!["127.0.0.0/8".parse().unwrap()];
        config.limits.max_ratio = max_ratio;
        // Slow ones are to be slow for some seconds here, not for a quarter of a minute.
        config.limits.head = Duration::from_secs(4);
        config.limits.rate_grace = Duration::from_secs(3);
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
        // The slow ones keep their places for some seconds: meanwhile all were open.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(servers.iter().all(|server| server.connections() == 1), "all are fetched at once");
        // All captures are held until the last has come: as if nobody wrote them away.
        let mut ends = Vec::new();
        for fetch in fetches {
            ends.push(fetch.await.unwrap());
        }
        let peak = status("VmHWM:");
        let risen = peak.saturating_sub(baseline);
        eprintln!("ratio bound {max_ratio}: {} bodies, {risen} KiB above {baseline} KiB", ends.len());
        for ((fetched, decoded), scenario) in ends.iter().zip(BODIES.iter().chain(&BODIES)) {
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
