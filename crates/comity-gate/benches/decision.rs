//! What a decision on a warm origin costs beside the match: `cargo bench -p comity-gate`.
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on says where")]
#![expect(clippy::print_stdout, reason = "the figures are the output")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use comity_fetch::{FetchConfig, Fetcher, SystemClock};
use comity_gate::{Gate, GateConfig};
use comity_policy::{Identity, Judge, Politeness, SeededRandom, WallTime};
use comity_testweb::{Site, Web};
use comity_url::CrawlUrl;

/// Without `--bench` this is `cargo test --all-targets`: one round shows that it runs.
fn rounds() -> usize {
    if std::env::args().any(|arg| arg == "--bench") { 15 } else { 1 }
}

const QUESTIONS: u32 = 200_000;

/// CPU time of this thread.
fn cpu() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap(), now.tv_nsec.try_into().unwrap())
}

/// Nanoseconds a question, the median of the rounds.
fn median(mut ask: impl FnMut()) -> f64 {
    let mut rounds: Vec<Duration> = (0..rounds())
        .map(|_| {
            let start = cpu();
            for _ in 0..QUESTIONS {
                ask();
            }
            cpu() - start
        })
        .collect();
    rounds.sort();
    rounds[rounds.len() / 2].as_secs_f64() * 1e9 / f64::from(QUESTIONS)
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    const RULES: &str = "User-agent: *\nCrawl-delay: 2\nDisallow: /private\nAllow: /private/open\nDisallow: /*?sort=\n";
    const SIGNALS: &str = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nDisallow: /private\n";
    for (name, robots) in [("rules", RULES), ("rules and signals", SIGNALS)] {
        let web = Web::builder(1).site(Site::new().name("a.test").robots(robots)).build().unwrap();
        let (net, _observer) = web.in_memory();
        let own = vec!["10.0.0.0/8".parse().unwrap()];
        let identity = Identity::new("TestBot/1.0", "a@example.com", &[], Vec::new()).unwrap();
        let clock = Arc::new(SystemClock::paused_at(WallTime::from_unix_millis(1_796_000_000_000)));
        let mut fetch = FetchConfig::new(identity.user_agent());
        fetch.allow_addresses.clone_from(&own);
        let fetcher = Fetcher::new(Arc::new(net), clock.clone(), fetch).unwrap();
        let politeness = Politeness { own_networks: own, ..Politeness::default() };
        let config = GateConfig { politeness, ..GateConfig::new(identity) };
        let gate = Gate::new(fetcher, clock, Arc::new(SeededRandom::new(1)), config);
        for (kind, path) in [("allowed", "/a/page?x=1"), ("refused", "/private/page?x=1")] {
            let url = CrawlUrl::parse(&format!("http://a.test{path}")).unwrap();
            gate.robots(url.origin()).await;
            let life = gate.robots_life(url.origin());
            let set = &life.copy().unwrap().rules[0];
            let matched = median(|| {
                black_box(set.evidence(black_box(url.request_target().as_bytes())));
            });
            let decided = median(|| drop(black_box(gate.judge(black_box(&url)))));
            println!(
                "{name}, {kind}: match {matched:.0} ns, decision {decided:.0} ns, beside the match {:.0} ns",
                decided - matched
            );
        }
    }
}
