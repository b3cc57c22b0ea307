use std::sync::Arc;
use std::time::Duration;

use comity_policy::{Hold, Judgement, Reason, Refusal, RobotsLife, RobotsPolicy, Terms, Turn, Vantage, WallTime};
use comity_url::{CrawlUrl, Origin};
use moka::sync::Cache;

/// What the cache is keyed by: sites answer by country, so a copy belongs to the vantage it was fetched from.
pub(crate) type RobotsKey = (Origin, Vantage);

/// How a robots.txt flight ended, for whoever waited.
#[derive(Clone, Debug)]
pub struct RobotsNews {
    /// The origin it was for.
    pub origin: Origin,
    /// When the origin may be asked next.
    pub turn: Turn,
    /// Set when the origin has to wait all the same: its robots.txt could not be asked yet.
    pub hold: Option<Hold>,
}

/// robots.txt of every origin: lives behind a moka cache, which only bounds bytes and shares entries (invariant 13).
#[derive(Debug)]
pub(crate) struct RobotsCache {
    entries: Cache<RobotsKey, Arc<Entry>>,
    policy: Arc<RobotsPolicy>,
}

/// One origin's entry: never changed, only replaced.
#[derive(Debug)]
pub(crate) struct Entry {
    life: RobotsLife,
    /// The name does not exist, or no address may be connected to: nothing is asked until then.
    barred: Option<Box<Barred>>,
}

/// Why an origin cannot be connected to at all.
#[derive(Clone, Debug)]
pub(crate) struct Barred {
    pub(crate) reason: Reason,
    pub(crate) until: WallTime,
}

impl RobotsCache {
    pub(crate) fn new(policy: Arc<RobotsPolicy>, most_bytes: u64) -> Self {
        let entries = Cache::builder()
            .weigher(|_: &RobotsKey, entry: &Arc<Entry>| entry.weight())
            .max_capacity(most_bytes)
            .build();
        Self { entries, policy }
    }

    /// Judges from what is known; never fetches.
    pub(crate) fn judge(&self, url: &CrawlUrl, vantage: Vantage, terms: &Terms, now: WallTime) -> Judgement {
        match self.entries.get(&(url.origin().clone(), vantage)) {
            None => Judgement::NeedsRobots(url.origin().clone()),
            Some(entry) => entry.judge(url, terms, now),
        }
    }

    /// The life of one origin as it is now; a new one when nothing is known.
    pub(crate) fn life(&self, key: &RobotsKey) -> RobotsLife {
        self.entries.get(key).map_or_else(
            || {
                #[expect(clippy::disallowed_methods, reason = "this is the gate: the one place where lives begin")]
                RobotsLife::new(key.0.clone(), self.policy.clone())
            },
            |entry| entry.life.clone(),
        )
    }

    /// The delay that robots.txt of one origin asks for.
    pub(crate) fn asked_delay(&self, key: &RobotsKey) -> Option<Duration> {
        self.entries.get(key).and_then(|entry| entry.life.asked_delay())
    }

    /// True when nothing is held in memory for `key`: it may still be remembered elsewhere.
    pub(crate) fn is_unknown(&self, key: &RobotsKey) -> bool {
        !self.entries.contains_key(key)
    }

    /// True when the copy is worth asking anew ahead of its end.
    pub(crate) fn is_worth_refreshing(&self, key: &RobotsKey, now: WallTime) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.barred.is_none() && entry.life.is_worth_refreshing(now))
    }

    /// True when robots.txt has to be asked: unknown, at the end of its life, or the next try has come.
    pub(crate) fn is_due(&self, key: &RobotsKey, now: WallTime) -> bool {
        self.entries.get(key).is_none_or(|entry| {
            entry.barred.as_ref().map_or_else(|| entry.life.is_due(now), |barred| barred.until <= now)
        })
    }

    /// Puts a life back after an event; the entry is weighed anew.
    pub(crate) fn store(&self, key: RobotsKey, life: RobotsLife, barred: Option<Barred>) {
        self.entries.insert(key, Arc::new(Entry { life, barred: barred.map(Box::new) }));
    }
}

impl Entry {
    fn judge(&self, url: &CrawlUrl, terms: &Terms, now: WallTime) -> Judgement {
        match &self.barred {
            Some(barred) if barred.until > now => Judgement::Refuse(Refusal::before_robots(barred.reason, now)),
            Some(_) => Judgement::NeedsRobots(url.origin().clone()),
            None => comity_policy::judge(url, &self.life, terms, now),
        }
    }

    fn weight(&self) -> u32 {
        /// Key, entry and bookkeeping of the cache.
        const FIXED: usize = 256;
        u32::try_from(self.life.heap_bytes() + FIXED).unwrap_or(u32::MAX)
    }
}
