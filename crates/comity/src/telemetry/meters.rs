use std::sync::atomic::{AtomicU64, Ordering};

use comity_fetch::Fetched;
use comity_policy::Standing;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

/// What is counted where it happens, and stands in no summary.
#[derive(Debug)]
pub(crate) struct Meters {
    /// Seconds from the written request to the head of the answer.
    pub(super) latency: Histogram,
    /// Bytes of bodies, as received.
    pub(super) bodies: Histogram,
    robots: [AtomicU64; ROBOTS.len()],
    /// Visits that failed inside, and were given back.
    pub(super) internal: AtomicU64,
}

/// What an answer, or none, to the question for a robots.txt came to.
pub(super) const ROBOTS: [&str; 6] = ["fresh", "stale_ok", "absent", "redirect_limit", "unreachable", "unknown"];

impl Default for Meters {
    fn default() -> Self {
        Self {
            // 5 ms to 20 s, 256 B to 16 MiB.
            latency: Histogram::new(exponential_buckets(0.005, 2.0, 13)),
            bodies: Histogram::new(exponential_buckets(256.0, 4.0, 9)),
            robots: Default::default(),
            internal: AtomicU64::new(0),
        }
    }
}

impl Meters {
    /// An exchange for a page is over; gives it on.
    pub(crate) fn exchanged(&self, fetched: Fetched) -> Fetched {
        let capture = &fetched.capture;
        if let Some(head) = capture.timings.head {
            self.latency.observe(head.as_secs_f64());
        }
        if capture.status.is_some() {
            self.bodies.observe(capture.body.len() as f64);
        }
        fetched
    }

    /// A robots.txt was asked for, or its asker sent home.
    pub(crate) fn robots(&self, standing: &Standing<'_>) {
        let place = match standing {
            Standing::Rules { stale: false, .. } => 0,
            Standing::Rules { stale: true, .. } => 1,
            Standing::Absent | Standing::Denied => 2,
            Standing::RedirectLimit => 3,
            Standing::Unreachable(_) | Standing::Open => 4,
            Standing::Unknown => 5,
        };
        if let Some(count) = self.robots.get(place) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A visit failed inside.
    pub(crate) fn failed_inside(&self) {
        self.internal.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn robots_by_state(&self) -> impl Iterator<Item = (&'static str, u64)> {
        ROBOTS.iter().zip(&self.robots).map(|(state, count)| (*state, count.load(Ordering::Relaxed)))
    }
}
