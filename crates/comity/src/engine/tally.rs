use std::net::IpAddr;

use comity_policy::{Decision, Instant, Overrides, Reason, Turn};
use comity_signals::{Purpose, Verdict};

use crate::Summary;
use crate::summary::OverrideUse;

/// Addresses whose waits are counted one by one (our choice: what is told are the few that bind).
const MOST_ADDRESSES: usize = 4096;

/// Running counts of a crawl.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) summary: Summary,
}

impl Tally {
    /// No counts yet, under these overrides.
    pub(crate) fn of(overrides: &Overrides) -> Self {
        let overrides = overrides.all().iter().map(|by| OverrideUse::new(by.clone())).collect();
        Self { summary: Summary { overrides, ..Summary::default() } }
    }

    /// Others are in force now; those that were stay, with what they lifted.
    pub(crate) fn add_overrides(&mut self, overrides: &Overrides) {
        for by in overrides.all() {
            if self.summary.overrides.iter().all(|found| found.by != *by) {
                self.summary.overrides.push(OverrideUse::new(by.clone()));
            }
        }
    }

    /// A URL was let through: what an override lifted for it.
    pub(crate) fn let_through(&mut self, decision: &Decision) {
        let Some(hit) = &decision.overridden else { return };
        if let Some(found) = self.summary.overrides.iter_mut().find(|found| found.by == hit.by) {
            found.urls += 1;
            for lifted in &hit.lifted {
                *found.lifted.entry(lifted.reason).or_default() += 1;
            }
        }
    }

    pub(crate) fn fetched(&mut self, status: u16) {
        *self.summary.fetched.entry(status).or_default() += 1;
    }

    /// Answered, and nothing of the body may be kept.
    pub(crate) fn withheld(&mut self, reason: Reason) {
        *self.summary.withheld.entry(reason).or_default() += 1;
    }

    /// What a URL that was decided on denies, wanted or not.
    pub(crate) fn denied(&mut self, decision: &Decision) {
        for purpose in Purpose::ALL {
            if decision.preferences.verdict(purpose) == Verdict::Denied {
                *self.summary.denied.entry(purpose).or_default() += 1;
            }
        }
    }

    /// A page or sitemap that was visited before was visited anew.
    pub(crate) const fn visited_anew(&mut self, is_unchanged: bool) {
        self.summary.revisits += 1;
        self.summary.unchanged += is_unchanged as u64;
    }

    pub(crate) fn refused(&mut self, reason: Reason) {
        *self.summary.refused.entry(reason).or_default() += 1;
    }

    pub(crate) fn failed(&mut self, reason: Reason) {
        *self.summary.failed.entry(reason).or_default() += 1;
    }

    pub(crate) fn links_left(&mut self, reason: Reason, count: u64) {
        *self.summary.links_left.entry(reason).or_default() += count;
    }

    pub(crate) fn link_left(&mut self, reason: Reason) {
        *self.summary.links_left.entry(reason).or_default() += 1;
    }

    /// A clock holds an origin back from `now` on.
    pub(crate) fn waited(&mut self, turn: &Turn, now: Instant) {
        let held = turn.ready.at.since(now);
        if !held.is_zero() && turn.ready.at != Instant::NEVER {
            let entry = self.summary.waited.entry(turn.ready.clock).or_default();
            *entry = (entry.0 + 1, entry.1 + held);
        }
    }

    /// The same where the clock is that of an address.
    pub(crate) fn waited_at(&mut self, address: IpAddr, turn: &Turn, now: Instant) {
        let (held, waited) = (turn.ready.at.since(now), &mut self.summary.waited_at);
        let is_counted = waited.len() < MOST_ADDRESSES || waited.contains_key(&address);
        if is_counted && !held.is_zero() && turn.ready.at != Instant::NEVER {
            let entry = waited.entry(address).or_default();
            *entry = (entry.0 + 1, entry.1 + held);
        }
    }
}
