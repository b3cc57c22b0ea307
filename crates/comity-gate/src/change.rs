//! Settings that change while a gate works.

use std::sync::{Arc, PoisonError};

use comity_policy::{Overrides, Politeness, Terms};

use crate::overrides::Expiry;
use crate::rates::Rates;
use crate::{Gate, OptOutFiles, Rate};

/// What may be set anew while a gate works. Everything else of a [`GateConfig`](crate::GateConfig) is for its whole life.
#[derive(Clone, Debug)]
pub struct GateChange {
    /// Pacing. `total` and `own_networks` stay as they were at the start.
    pub politeness: Politeness,
    /// Written exceptions.
    pub overrides: Overrides,
    /// Opt-out files to look at beside those looked at already, whose opt-outs hold on: an opt-out ends by a line only.
    pub optouts: OptOutFiles,
    /// The crawl's rate in all.
    pub max_rate: Option<Rate>,
    /// The rate per registrable domain.
    pub max_rate_domain: Option<Rate>,
}

impl Gate {
    /// Puts new settings in force, for everything that is judged or admitted from now on. A permit that was given holds; one
    /// that rests on an override which is there no longer is not given any more.
    ///
    /// A rate that changed begins anew: its first request may leave at once. Paces are kept: a longer delay runs from the head
    /// that came last.
    pub fn change(&self, change: GateChange) {
        let inner = &self.inner;
        let before = inner.pacer.rules();
        let GateChange { politeness, overrides, optouts, max_rate, max_rate_domain } = change;
        let politeness = Politeness { total: before.total, own_networks: before.own_networks.clone(), ..politeness };
        let terms = Terms {
            purposes: self.terms().purposes.clone(),
            max_crawl_delay: politeness.max_crawl_delay,
            delay: politeness.delay,
            overrides,
        };
        inner.optouts.add(optouts);
        inner.expiry.begin(&terms.overrides);
        *inner.terms.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(terms);
        inner.pacer.set_rules(politeness);
        let mut rates = inner.rates.write().unwrap_or_else(PoisonError::into_inner);
        if !rates.are(max_rate, max_rate_domain) {
            *rates = Arc::new(Rates::new(max_rate, max_rate_domain, inner.clock.clone()));
        }
    }

    /// Looks at the opt-out files before the next judgement, whenever they were looked at last.
    pub fn look_at_optouts(&self) {
        self.inner.optouts.look_next_time();
    }

    /// What the operator wants and accepts, as it stands.
    pub(crate) fn terms(&self) -> Arc<Terms> {
        self.inner.terms.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The rates in force.
    pub(crate) fn rates(&self) -> Arc<Rates> {
        self.inner.rates.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Expiry {
    /// Begins anew with these.
    pub(crate) fn begin(&self, overrides: &Overrides) {
        self.set(Self::new(overrides));
    }
}
