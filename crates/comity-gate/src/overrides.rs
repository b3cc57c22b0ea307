//! Overrides at the door: what they do to the pace, and that their end is noticed.

use std::sync::atomic::{AtomicI64, Ordering};

use comity_policy::{Allowance, AskedPace, Clock, Overrides, Permit, WallTime};
use comity_url::Origin;

use crate::Gate;

/// When the next override runs out: told once, when somebody asks something after it.
#[derive(Debug)]
pub(crate) struct Expiry {
    /// Unix milliseconds; `i64::MAX` when none is left to run out.
    next: AtomicI64,
}

impl Expiry {
    pub(crate) fn new(overrides: &Overrides) -> Self {
        Self { next: AtomicI64::new(next_after(overrides, WallTime::from_unix_millis(i64::MIN))) }
    }

    pub(crate) fn set(&self, other: Self) {
        self.next.store(other.next.into_inner(), Ordering::Relaxed);
    }

    /// Logs what ran out since it was asked last.
    pub(crate) fn tell(&self, overrides: &Overrides, clock: &dyn Clock) {
        let due = self.next.load(Ordering::Relaxed);
        if due == i64::MAX {
            return;
        }
        let now = clock.wall();
        if now.unix_millis() < due {
            return;
        }
        let next = next_after(overrides, now);
        if self.next.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            let ended = overrides.all().iter().filter(|one| (due..next).contains(&one.expires().unix_millis()));
            ended.for_each(|one| tracing::warn!(id = one.id(), expires = %one.expires(), "an override ran out"));
        }
    }
}

fn next_after(overrides: &Overrides, now: WallTime) -> i64 {
    let ends = overrides.all().iter().map(|one| one.expires()).filter(|expires| *expires > now);
    ends.min().map_or(i64::MAX, WallTime::unix_millis)
}

impl Gate {
    /// Tells the pacer whether the least floors hold for `origin` now.
    pub(crate) fn set_floor(&self, origin: &Origin) {
        let overrides = &self.terms().overrides;
        if !overrides.all().is_empty() {
            self.inner.pacer.set_floor(origin, overrides.floor(origin, self.inner.clock.wall()));
        }
    }

    /// Tells the pacer what holds for `origin` where its robots.txt asks for `asked`.
    pub(crate) fn set_asked(&self, origin: &Origin, asked: AskedPace) {
        let (terms, at) = (self.terms(), self.inner.clock.moment());
        let asked = terms.overrides.pace(origin, asked, terms.max_crawl_delay, at.wall);
        self.inner.pacer.set_asked(origin, &asked, at);
    }

    /// True when `allowance` rests on an override that has run out since, or was taken back: the URL has to be judged anew.
    pub(crate) fn has_run_out(&self, allowance: &Allowance) -> bool {
        let Some(hit) = allowance.decision().overridden.as_ref() else { return false };
        !hit.by.is_in_force(self.inner.clock.wall()) || !self.terms().overrides.all().contains(&hit.by)
    }

    /// The same permit, of no use after the end of the override it rests on.
    pub(crate) fn until_it_runs_out(&self, permit: Permit) -> Permit {
        let comity_policy::Errand::Judged(decision) = permit.errand() else { return permit };
        let Some(expires) = decision.overridden.as_ref().map(|hit| hit.by.expires()) else { return permit };
        let left = expires.since(self.inner.clock.wall());
        permit.until(self.inner.clock.now().after(left))
    }
}
