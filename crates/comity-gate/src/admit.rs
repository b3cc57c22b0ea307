use std::net::SocketAddr;

use comity_fetch::{BoxFuture, Refused};
use comity_policy::{Allowance, Instant, OriginPace, Permit, Ready, Reason, Refusal, RobotsChain, Slot, Turn, Vantage};
use comity_url::Origin;

use crate::Gate;

/// The answer of [`Gate::admit`].
#[derive(Debug)]
pub enum Admission {
    /// It may be sent now.
    Permit(Permit),
    /// Not before this, and which clock says so.
    Wait(Turn),
    /// Never: the name does not exist, or no address may be connected to.
    Refuse(Refused),
    /// Never: since it was judged its origin was opted out. The refusal holds the line.
    OptedOut(Refusal),
}

impl Gate {
    /// Takes the turn for a judged URL: addresses, origin clocks, address clocks, rates, a place among the open ones.
    ///
    /// Waits only for name resolution and for a place; every other wait is told. Cancel-safe: dropped at any point,
    /// nothing is charged. Boxed, so that it is compiled here and not in every crate that awaits it.
    #[must_use = "nothing is asked until it is awaited"]
    pub fn admit(&self, allowance: Allowance, pace: OriginPace) -> BoxFuture<'_, Admission> {
        Box::pin(self.admitted(allowance, pace))
    }

    async fn admitted(&self, allowance: Allowance, pace: OriginPace) -> Admission {
        let (origin, vantage) = (allowance.url().origin().clone(), allowance.vantage());
        if let Some(turn) = self.no_way_out(&origin, vantage) {
            return Admission::Wait(turn);
        }
        let candidates = match self.addresses(&origin, vantage).await {
            Ok(candidates) => candidates,
            Err(refused) => return Admission::Refuse(refused),
        };
        self.inner.pacer.adopt(&origin, pace);
        let asked = self.inner.cache.asked_pace(&(origin.clone(), vantage));
        self.set_asked(&origin, asked);
        let turn = |ready| Turn { ready, ..self.turn(&origin) };
        let taken = self.take_turn(Errand::Page(&origin), candidates).await;
        // All looked at last, when everything else is settled: a slot that is dropped here charges nothing.
        if let Some(refusal) = self.opted_out(&origin) {
            return Admission::OptedOut(refusal);
        }
        match taken {
            Err(ready) => Admission::Wait(turn(ready)),
            // Judged anew: the judge knows for how long.
            Ok(_) if self.parked_by_operator(&origin).is_some() => Admission::Wait(self.turn(&origin)),
            Ok(_) if self.has_run_out(&allowance) => Admission::Wait(self.turn(&origin)),
            Ok(slot) => match Permit::new(allowance, slot) {
                Ok(permit) => {
                    self.refresh_ahead(&(origin, vantage));
                    Admission::Permit(self.until_it_runs_out(permit))
                }
                // Both were made for the allowance's own origin two lines above; if not, nothing was charged.
                Err(wrong) => {
                    tracing::error!(%wrong, "slot and allowance disagree");
                    Admission::Wait(self.turn(&origin))
                }
            },
        }
    }

    /// Why nothing can leave for `origin` from `vantage` now. An origin whose exit went out of use meanwhile is judged anew, by
    /// the rules of where it is asked from now; one without an exit waits, and that is not its fault.
    fn no_way_out(&self, origin: &Origin, vantage: Vantage) -> Option<Turn> {
        if self.vantage(origin) != vantage {
            return Some(self.turn(origin));
        }
        let ready = self.way_out(origin, vantage).err()?;
        Some(Turn { ready, ..self.turn(origin) })
    }

    /// Whether a request for `origin` may leave from `vantage`; when to look again.
    pub(crate) fn way_out(&self, origin: &Origin, vantage: Vantage) -> Result<(), Ready> {
        let no_exit = |at| Ready { at, clock: Reason::FetchProxyNone };
        self.inner.fetcher.way_out(origin, vantage).map_err(no_exit)
    }

    /// A slot now, with a place among the open requests tied to it.
    pub(crate) async fn take_turn(&self, errand: Errand<'_>, candidates: Vec<SocketAddr>) -> Result<Slot, Ready> {
        self.set_floor(errand.origin());
        // Asked first without a place: who would have to wait anyway must not hold one meanwhile.
        let ready = errand.turn(self).ready;
        if ready.at > self.inner.clock.now() {
            return Err(ready);
        }
        let Ok(place) = self.inner.places.clone().acquire_owned().await else {
            return Err(ready); // the semaphore is never closed
        };
        let mut slot = errand.slot(self, candidates, self.inner.clock.now())?;
        self.rates().take(slot.origin())?; // on a refusal the slot is dropped unsent: no charge
        slot.attach(place);
        Ok(slot)
    }
}

/// What a turn is wanted for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Errand<'a> {
    /// A page of an origin.
    Page(&'a Origin),
    /// The next request of a robots.txt chain: at any hour (docs/decisions/0018).
    Robots(&'a RobotsChain),
}

impl Errand<'_> {
    fn origin(&self) -> &Origin {
        match self {
            Self::Page(origin) => origin,
            Self::Robots(chain) => chain.next_url().origin(),
        }
    }

    fn turn(self, gate: &Gate) -> Turn {
        let now = gate.inner.clock.now();
        match self {
            Self::Page(origin) => gate.inner.pacer.turn(origin, now),
            Self::Robots(chain) => gate.inner.pacer.robots_turn(chain, now),
        }
    }

    fn slot(self, gate: &Gate, candidates: Vec<SocketAddr>, now: Instant) -> Result<Slot, Ready> {
        match self {
            Self::Page(origin) => gate.inner.pacer.try_slot(origin, candidates, now),
            Self::Robots(chain) => gate.inner.pacer.try_robots_slot(chain, candidates, now),
        }
    }
}
