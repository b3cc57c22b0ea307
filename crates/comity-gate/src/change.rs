//! Settings that change while a gate works.

use std::future::Future as _;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use comity_policy::{OptOuts, Overrides, Politeness, Terms, Turn};
use comity_url::Origin;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::overrides::Expiry;
use crate::rates::Rates;
use crate::{Gate, OptOutFiles, Rate};

/// What may be set anew while a gate works. Everything else of a [`GateConfig`](crate::GateConfig) is for its whole life.
#[derive(Clone, Debug)]
pub struct GateChange {
    /// Pacing. `own_networks` stay as they were at the start. What is open above a lower `total` ends; nothing takes its place.
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
    /// Called within a Tokio runtime. A rate that changed begins anew: its first request may leave at once. Paces are kept: a longer delay runs from the head
    /// that came last.
    pub fn change(&self, change: GateChange) {
        let inner = &self.inner;
        let before = inner.pacer.rules();
        let GateChange { politeness, overrides, optouts, max_rate, max_rate_domain } = change;
        let politeness = Politeness { own_networks: before.own_networks.clone(), ..politeness };
        let terms = Terms {
            max_crawl_delay: politeness.max_crawl_delay,
            delay: politeness.delay,
            overrides,
            ..Terms::clone(&self.terms())
        };
        inner.optouts.add(optouts);
        inner.expiry.begin(&terms.overrides);
        *inner.terms.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(terms);
        self.set_places(before.total, politeness.total);
        inner.pacer.set_rules(politeness);
        let mut rates = inner.rates.write().unwrap_or_else(PoisonError::into_inner);
        if !rates.are(max_rate, max_rate_domain) {
            *rates = Arc::new(Rates::new(max_rate, max_rate_domain, inner.clock.clone()));
        }
    }

    /// More places at once; fewer as those in use come free. Who waited before the change is served first.
    fn set_places(&self, before: u32, after: u32) {
        let (before, after, places) = (places(before), places(after), self.inner.places.clone());
        if after >= before {
            places.add_permits(after - before);
            return;
        }
        let rest = before - after - places.forget_permits(before - after);
        let Ok(rest @ 1..) = u32::try_from(rest) else { return };
        // Polled here, so that it stands in the line before anybody who comes after this change.
        let mut waiting = Box::pin(places.acquire_many_owned(rest));
        match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(free)) => free.forget(),
            Poll::Ready(Err(_)) => {} // the semaphore is never closed
            Poll::Pending => drop(tokio::spawn(async move { waiting.await.map(OwnedSemaphorePermit::forget) })),
        }
    }

    /// When `origin` may be asked for a page next by the settings in force, with what its robots.txt asks for held against them
    /// anew: a Crawl-delay above the longest accepted parks it until told, and this tells.
    #[must_use]
    pub fn turn_anew(&self, origin: &Origin) -> Turn {
        self.set_asked(origin, self.inner.cache.asked_pace(&self.key(origin)));
        self.turn(origin)
    }

    /// Looks at the opt-out files now, whenever they were looked at last, and gives what is in force: all that the files held when
    /// this was called, for every judgement that begins after it returns. Blocks for about a microsecond a line that is new.
    #[must_use]
    pub fn look_at_optouts(&self) -> Arc<OptOuts> {
        self.inner.optouts.look_now().unwrap_or_default()
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

/// Places for so many open requests: one at least, and as many as a semaphore counts.
pub(crate) fn places(total: u32) -> usize {
    usize::try_from(total.max(1)).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS)
}

impl Expiry {
    /// Begins anew with these.
    pub(crate) fn begin(&self, overrides: &Overrides) {
        self.set(Self::new(overrides));
    }
}
