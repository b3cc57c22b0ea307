//! Origins that the operator parked: nothing leaves for them, robots.txt included, until they are released.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use comity_policy::{Hold, Reason, WallTime};
use comity_url::Origin;

use crate::Gate;

/// An origin that the operator parked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorPark {
    /// The origin.
    pub origin: Origin,
    /// Until when; `None`: until it is released.
    pub until: Option<WallTime>,
    /// Why, in the operator's words.
    pub why: String,
    /// Since when.
    pub at: WallTime,
}

/// The parks in force. Kept by whoever parks; here they are only obeyed.
#[derive(Debug, Default)]
pub(crate) struct Parks {
    parks: RwLock<HashMap<Origin, OperatorPark>>,
    /// How many there are: without any, nobody takes the lock.
    count: AtomicUsize,
}

impl Parks {
    fn read(&self) -> RwLockReadGuard<'_, HashMap<Origin, OperatorPark>> {
        self.parks.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<Origin, OperatorPark>> {
        self.parks.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one in, and lets go of those whose time is over: as many are held as are in force.
    fn put(&self, park: OperatorPark, now: WallTime) {
        let mut parks = self.write();
        parks.retain(|_, park| park.is_in_force(now));
        parks.insert(park.origin.clone(), park);
        self.count.store(parks.len(), Ordering::Release);
    }

    fn hold(&self, origin: &Origin, now: WallTime) -> Option<Hold> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let parks = self.read();
        let park = parks.get(origin).filter(|park| park.is_in_force(now))?;
        Some(Hold { reason: Reason::ParkOperator, wait: park.until.map(|until| until.since(now)) })
    }
}

impl OperatorPark {
    /// Whether it still holds.
    #[must_use]
    pub fn is_in_force(&self, now: WallTime) -> bool {
        self.until.is_none_or(|until| until > now)
    }
}

impl Gate {
    /// Parks an origin: from now on no permit is given for it, for a page or for robots.txt, and its judgement is
    /// [`Reason::ParkOperator`]. What left before is under way still: [`Gate::open_to`] tells. A later park of the same origin
    /// takes the place of the earlier one. Not remembered after the end of the process.
    pub fn park(&self, park: OperatorPark) {
        self.inner.parks.put(park, self.inner.clock.wall());
    }

    /// Ends a park of the operator's; every other clock of the origin holds on.
    pub fn release(&self, origin: &Origin) {
        let mut parks = self.inner.parks.write();
        parks.remove(origin);
        self.inner.parks.count.store(parks.len(), Ordering::Release);
    }

    /// The parks of the operator's that are in force, in the order of their origins.
    #[must_use]
    pub fn operator_parks(&self) -> Vec<OperatorPark> {
        let now = self.inner.clock.wall();
        let mut parks: Vec<_> =
            self.inner.parks.read().values().filter(|park| park.is_in_force(now)).cloned().collect();
        parks.sort_unstable_by(|a, b| a.origin.cmp(&b.origin));
        parks
    }

    /// Requests that are open to origins that `chosen` picks, robots.txt included: those permitted and not yet written too.
    #[must_use]
    pub fn open_to(&self, chosen: impl Fn(&Origin) -> bool) -> u32 {
        self.inner.pacer.in_flight_to(chosen)
    }

    /// What holds an origin that the operator parked.
    pub(crate) fn parked_by_operator(&self, origin: &Origin) -> Option<Hold> {
        self.inner.parks.hold(origin, self.inner.clock.wall())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parks_that_are_over_take_no_room() {
        let parks = Parks::default();
        let at = |second: i64| WallTime::from_unix_millis(second * 1000);
        let park = |n: i64, until| OperatorPark {
            origin: Origin::parse(&format!("https://o{n}.test")).unwrap(),
            until,
            why: "asked".into(),
            at: at(n),
        };
        parks.put(park(-1, None), at(0));
        for n in 0..100 {
            parks.put(park(n, Some(at(n + 2))), at(n));
            assert!(parks.read().len() <= 3, "at {n} s: {}", parks.read().len());
        }
        assert!(parks.hold(&park(-1, None).origin, at(100)).is_some(), "one without an end stays");
        assert!(parks.hold(&park(99, None).origin, at(100)).is_some());
        assert!(parks.hold(&park(0, None).origin, at(1)).is_none());
    }
}
