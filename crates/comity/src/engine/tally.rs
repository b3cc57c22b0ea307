use comity_policy::{Instant, Reason, Turn};

use crate::Summary;

/// Running counts of a crawl.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) summary: Summary,
}

impl Tally {
    pub(crate) fn fetched(&mut self, status: u16) {
        *self.summary.fetched.entry(status).or_default() += 1;
    }

    pub(crate) fn refused(&mut self, reason: Reason) {
        *self.summary.refused.entry(reason).or_default() += 1;
    }

    pub(crate) fn failed(&mut self, reason: Reason) {
        *self.summary.failed.entry(reason).or_default() += 1;
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
}
