use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use comity_fetch::SystemClock;
use comity_policy::{Clock, Instant};

use super::Scenario;

/// A request that reached a hostile server.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Whose server it was.
    pub scenario: Scenario,
    /// What was asked for, as far as it can be told.
    pub request: Option<AskedFor>,
    /// When its head was complete, since the servers were made; by tokio's clock.
    pub at: Duration,
}

/// What a request asked for; not known by HTTP/2, whose heads are not decoded here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedFor {
    /// The Host field.
    pub host: String,
    /// The request target.
    pub target: String,
}

/// Requests that are noted at most.
const MOST: usize = 100_000;

/// The requests that reached servers, in their order.
#[derive(Clone, Debug)]
pub(super) struct AskedLog {
    asked: Arc<Mutex<Vec<Asked>>>,
    clock: Arc<SystemClock>,
    began: Instant,
}

impl AskedLog {
    pub(super) fn new() -> Self {
        let clock = SystemClock::new();
        Self { asked: Arc::default(), began: clock.now(), clock: Arc::new(clock) }
    }

    pub(super) fn note(&self, scenario: Scenario, request: Option<AskedFor>) {
        let mut log = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() < MOST {
            log.push(Asked { scenario, request, at: self.clock.now().since(self.began) });
        }
    }

    pub(super) fn times(&self, scenario: Scenario) -> usize {
        let log = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        log.iter().filter(|asked| asked.scenario == scenario).count()
    }

    pub(super) fn all(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl AskedFor {
    /// Reads a request head of HTTP/1.1.
    pub(super) fn of_head(head: &[u8]) -> Self {
        let head = String::from_utf8_lossy(head);
        let mut lines = head.split("\r\n");
        let target = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
        let host = lines.filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("host"));
        Self { host: host.map_or("", |(_, value)| value.trim()).to_owned(), target }
    }
}
