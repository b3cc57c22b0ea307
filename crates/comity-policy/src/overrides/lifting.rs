use std::sync::Arc;

use comity_url::Origin;

use super::{Override, OverrideScope};
use crate::{Decision, Failing, Politeness, Reason, RobotsLife, Terms, WallTime};

/// The override behind a decision, and what it lifted there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overridden {
    /// The override that was in force.
    pub by: Arc<Override>,
    /// Each thing it lifted, in the order of the judgement; never empty.
    pub lifted: Vec<Lifted>,
}

/// One thing that an override lifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifted {
    /// By which part of its scope.
    pub scope: OverrideScope,
    /// What would have refused, held or delayed the URL without it.
    pub reason: Reason,
}

/// What the override in force, if there is one, lifts while one URL is judged.
#[derive(Debug, Default)]
pub(crate) struct Lifting {
    by: Option<Arc<Override>>,
    lifted: Vec<Lifted>,
    /// A refusal or a hold was lifted: the URL is let through by the override alone.
    opened: bool,
}

impl Lifting {
    /// Looks up the override; notes what it does to the pace.
    pub(crate) fn of(life: &RobotsLife, terms: &Terms, now: WallTime) -> Self {
        let by = terms.overrides.in_force(life.origin(), now).cloned();
        let mut lifting = Self { by, lifted: Vec::new(), opened: false };
        if lifting.may(OverrideScope::Rate) {
            if terms.delay < Politeness::LEAST_DELAY {
                lifting.note(OverrideScope::Rate, Reason::RateOrigin);
            }
            if life.asked_pace().delay_at(now).is_some_and(|asked| asked > terms.delay) {
                lifting.note(OverrideScope::Rate, Reason::RateCrawlDelay);
            }
        }
        lifting
    }

    /// For a second decision: what was lifted before stands, and the override in force may lift more.
    pub(crate) fn again(before: &Decision, terms: &Terms, origin: &Origin, now: WallTime) -> Self {
        let (by, lifted) = match before.overridden.as_deref() {
            // The one that let it through holds for its answer, too.
            Some(first) => (Some(first.by.clone()), first.lifted.clone()),
            None => (terms.overrides.in_force(origin, now).cloned(), Vec::new()),
        };
        Self { by, lifted, opened: false }
    }

    /// True when the override lifts this refusal or hold; it is noted then.
    pub(crate) fn lifts(&mut self, scope: OverrideScope, reason: Reason) -> bool {
        let lifts = self.may(scope);
        if lifts {
            self.note(scope, reason);
            self.opened = true;
        }
        lifts
    }

    /// True when the override lets URLs through although robots.txt is unreachable.
    pub(crate) fn lifts_unreachable(&mut self, failing: &Failing) -> bool {
        let server_error = failing.status.is_some_and(|status| (500..600).contains(&status));
        (server_error && self.lifts(OverrideScope::Robots5xxAs404, Reason::RobotsUnreachable))
            || self.lifts(OverrideScope::Robots, Reason::RobotsUnreachable)
    }

    /// Writes what was lifted into the decision; one that only an override let through is `ok.override`.
    pub(crate) fn settle(self, mut decision: Decision) -> Decision {
        if self.opened && decision.reason.is_ok() {
            decision.reason = Reason::OkOverride;
        }
        decision.overridden =
            self.by.filter(|_| !self.lifted.is_empty()).map(|by| Arc::new(Overridden { by, lifted: self.lifted }));
        decision
    }

    fn may(&self, scope: OverrideScope) -> bool {
        self.by.as_ref().is_some_and(|by| by.lifts(scope))
    }

    fn note(&mut self, scope: OverrideScope, reason: Reason) {
        let one = Lifted { scope, reason };
        if !self.lifted.contains(&one) {
            self.lifted.push(one);
        }
    }
}
