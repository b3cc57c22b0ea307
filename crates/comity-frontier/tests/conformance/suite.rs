//! The contract of [`Frontier`], checked through the trait alone: whatever implements it runs every case.
//!
//! A test that includes this file has a function `implementations` beside it, and these dependencies: `comity-frontier`,
//! `comity-policy`, `comity-url`, `tempfile`, `tokio`. `examples/custom-store` does.

#[path = "../common/mod.rs"]
mod common;

use comity_frontier::{
    Frontier, Leased, Offer, Offered, QueueLimits, Renewal, Renewed, SchedulerConfig, Settled, Settlement, Spent,
    TurnNews, Why,
};
use comity_policy::{Hold, OriginPace, Overlap, Ready, Reason};

use super::implementations;
use common::*;

/// Makes a fresh frontier.
pub(crate) type Make = fn(SchedulerConfig) -> Made;

/// A frontier, and the directory that goes when it has gone.
pub(crate) struct Made(
    pub(crate) Box<dyn Frontier>,
    #[expect(dead_code, reason = "it is there to be dropped")] pub(crate) Option<tempfile::TempDir>,
);

/// Runs a case against every implementation, each time on a fresh frontier.
macro_rules! cases {
    ($($name:ident($frontier:ident, $judge:ident, $config:expr) $body:block)+) => {
        $(#[tokio::test]
        async fn $name() {
            for (implementation, make) in implementations() {
                println!("{implementation}");
                let made = make($config);
                let $frontier: &dyn Frontier = &*made.0;
                let $judge = TestJudge::default();
                $body
            }
        })+
    };
}

mod budgets;
mod judged;
mod leases;
mod listing;
mod turns;
mod visits;

fn config() -> SchedulerConfig {
    SchedulerConfig::default()
}

fn three_at_once() -> SchedulerConfig {
    SchedulerConfig { per_origin: 3, ..config() }
}

fn small_budgets() -> SchedulerConfig {
    SchedulerConfig { pages_per_origin: 2, queued: 5, origins: 2, ..config() }
}

fn small_domains() -> SchedulerConfig {
    SchedulerConfig { pages_per_domain: 3, queued_per_domain: 2, ..config() }
}

async fn lease(frontier: &dyn Frontier, n: usize, judge: &TestJudge, millis: u64) -> Leased {
    frontier.lease(n, judge, at(millis)).await.unwrap()
}
