use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use comity_policy::Instant;
use comity_url::Origin;

use crate::link::{Link, Way};

/// Idle connections, keyed by origin, exit and address; bounded per origin and in all, the longest idle go first.
///
/// Connections leave it when they are used, evicted or timed out. Time is looked at whenever the pool is, so that no
/// timer runs for idle connections.
#[derive(Debug)]
pub(crate) struct Pool {
    most_per_origin: usize,
    most: usize,
    timeout: Duration,
    origins: HashMap<Origin, Vec<Idle>>,
    /// Every idle connection in the order in which it came back.
    order: BTreeMap<u64, (Origin, Instant)>,
    next: u64,
}

/// A connection in the pool; dropped, it is closed.
#[derive(Debug)]
pub(crate) struct Idle {
    number: u64,
    link: Box<Link>,
}

impl Pool {
    pub(crate) fn new(most_per_origin: usize, most: usize, timeout: Duration) -> Self {
        Self { most_per_origin, most, timeout, origins: HashMap::new(), order: BTreeMap::new(), next: 0 }
    }

    /// Takes out the connection of this way that came back last.
    pub(crate) fn take(&mut self, origin: &Origin, way: Way) -> Option<Box<Link>> {
        self.remove(origin, |idle| idle.link.way == way).map(|idle| idle.link)
    }

    /// Puts a connection back; hands out those that have to go for it.
    #[must_use = "dropping connections closes them: do it outside of the lock"]
    pub(crate) fn put(&mut self, origin: &Origin, link: Box<Link>, now: Instant) -> Vec<Idle> {
        let number = self.next;
        self.next += 1;
        self.order.insert(number, (origin.clone(), now));
        let idle = self.origins.entry(origin.clone()).or_default();
        idle.push(Idle { number, link });
        let mut gone = Vec::new();
        if idle.len() > self.most_per_origin
            && let Some(oldest) = idle.first().map(|idle| idle.number)
        {
            gone.extend(self.remove(origin, |idle| idle.number == oldest));
        }
        if self.order.len() > self.most {
            gone.extend(self.evict_oldest());
        }
        gone
    }

    /// Hands out what has been idle for too long.
    #[must_use = "dropping connections closes them: do it outside of the lock"]
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<Idle> {
        let mut gone = Vec::new();
        while self.order.first_key_value().is_some_and(|(_, (_, since))| now.since(*since) >= self.timeout) {
            gone.extend(self.evict_oldest());
        }
        gone
    }

    /// Hands out everything.
    #[must_use = "dropping connections closes them: do it outside of the lock"]
    pub(crate) fn clear(&mut self) -> Vec<Idle> {
        self.order.clear();
        self.origins.drain().flat_map(|(_, idle)| idle).collect()
    }

    /// How many connections are idle.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    fn evict_oldest(&mut self) -> Option<Idle> {
        let (number, (origin, _)) = self.order.pop_first()?;
        self.remove(&origin, |idle| idle.number == number)
    }

    /// Takes out the last of an origin's connections that is `wanted`; an origin without any is not remembered.
    fn remove(&mut self, origin: &Origin, wanted: impl Fn(&Idle) -> bool) -> Option<Idle> {
        let Entry::Occupied(mut entry) = self.origins.entry(origin.clone()) else { return None };
        let at = entry.get().iter().rposition(wanted)?;
        let found = entry.get_mut().remove(at);
        if entry.get().is_empty() {
            entry.remove();
        }
        self.order.remove(&found.number);
        Some(found)
    }
}
