use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use comity_fetch::{BoxFuture, Refused};
use comity_policy::{Allowance, Decision, Hold, Instant, Judge, Judgement, OriginPace, Permit, Ready, Reason, Refusal};
use comity_url::{CrawlUrl, Origin};

use crate::{Admission, Gate};

/// Why there is no permit.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum NoPermit {
    /// The site refuses this URL; the decision names the rule and its line, or the signal.
    Refused(Refusal),
    /// The name does not exist, or no address of it may be connected to.
    NotConnectable(Refused),
    /// Not within the time that one was willing to wait.
    NotNow(Later),
}

/// A request whose turn lies further ahead than one was willing to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Later {
    /// The clock that binds: `rate.*`, `conc.*`, `park.*`, or `robots.unreachable` while robots.txt is still awaited.
    pub clock: Reason,
    /// The earliest instant, by the gate's clock; `None` when only a change at the site or of the settings can help.
    /// Others may be before one then: it is no promise.
    pub at: Option<Instant>,
    /// The same from the moment of the answer.
    pub wait: Option<Duration>,
}

impl NoPermit {
    /// The stable code.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Refused(refusal) => refusal.reason(),
            Self::NotConnectable(refused) => refused.reason,
            Self::NotNow(later) => later.clock,
        }
    }

    /// The decision that refuses, with rule, line and the robots.txt it rests on.
    #[must_use]
    pub const fn decision(&self) -> Option<&Arc<Decision>> {
        match self {
            Self::Refused(refusal) => Some(refusal.decision()),
            Self::NotConnectable(_) | Self::NotNow(_) => None,
        }
    }
}

impl fmt::Display for NoPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => {
                write!(f, "{}: {}", refusal.reason(), refusal.reason().text())?;
                match &refusal.decision().rule {
                    Some(rule) => write!(f, " ({}: {}, line {})", rule.kind, rule.pattern, rule.line),
                    None => Ok(()),
                }
            }
            Self::NotConnectable(refused) => refused.fmt(f),
            Self::NotNow(later) => later.fmt(f),
        }
    }
}

impl fmt::Display for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.clock, self.clock.text())?;
        match self.wait {
            Some(wait) => write!(f, ", not before {:.1} s from now", wait.as_secs_f64()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for NoPermit {}

impl Gate {
    /// How long [`Gate::permit`] waits at most.
    pub const PATIENCE: Duration = Duration::from_secs(60);

    /// The right to send one request for `url`: fetches robots.txt where needed, judges, and waits for the turn, at
    /// most [`Gate::PATIENCE`].
    ///
    /// # Errors
    /// As [`Gate::permit_within`].
    pub async fn permit(&self, url: &CrawlUrl) -> Result<Permit, NoPermit> {
        self.permit_within(self, url, Self::PATIENCE).await
    }

    /// [`Gate::permit`] with a judge and a patience of one's own.
    ///
    /// Callers of one origin are served in the order in which they came. A refusal waits for nobody. Who could not be
    /// served in time, by the clocks and by those before him, is told at once. Cancel-safe: dropped at any point,
    /// nothing is charged and the next one moves up. Unlike a URL in a frontier, a waiting caller costs a future (boxed).
    ///
    /// # Errors
    /// [`NoPermit`]: refused with its evidence, not connectable, or not within `patience`; `conc.total` when as many
    /// wait as may ([`crate::GateConfig::max_waiting`]).
    pub fn permit_within<'a>(
        &'a self,
        judge: &'a dyn Judge,
        url: &'a CrawlUrl,
        patience: Duration,
    ) -> BoxFuture<'a, Result<Permit, NoPermit>> {
        Box::pin(self.permitted(judge, url, patience))
    }

    async fn permitted(&self, judge: &dyn Judge, url: &CrawlUrl, patience: Duration) -> Result<Permit, NoPermit> {
        let (origin, until) = (url.origin(), self.inner.clock.now().after(patience));
        self.allowance(judge, url, until).await?;
        let place = self.inner.queues.join(origin).ok_or_else(|| self.not_now(Reason::ConcTotal, Self::LOOK_AGAIN))?;
        self.expect_turn(origin, place.ahead, until)?;
        let Some(_first) = self.within(until, place.first()).await else { return Err(self.out_of_time(origin)) };
        loop {
            // Judged anew: rules may have changed while others were served.
            let allowance = self.allowance(judge, url, until).await?;
            match self.within(until, self.admit(allowance, OriginPace::default())).await {
                None => return Err(self.out_of_time(origin)),
                Some(Admission::Permit(permit)) => return Ok(permit),
                Some(Admission::OptedOut(refusal)) => return Err(NoPermit::Refused(refusal)),
                Some(Admission::Refuse(refused)) => return Err(NoPermit::NotConnectable(refused)),
                Some(Admission::Wait(turn)) if turn.ready.at > until => return Err(self.later(turn.ready)),
                Some(Admission::Wait(turn)) => self.sleep_until(turn.ready.at).await,
            }
        }
    }

    /// The answer of `judge`, once robots.txt is known; takes no turn for `url` itself.
    ///
    /// # Errors
    /// [`NoPermit`]: refused with its evidence, or robots.txt is not known within `patience`.
    pub async fn allow_within(
        &self,
        judge: &dyn Judge,
        url: &CrawlUrl,
        patience: Duration,
    ) -> Result<Allowance, NoPermit> {
        self.allowance(judge, url, self.inner.clock.now().after(patience)).await
    }

    async fn allowance(&self, judge: &dyn Judge, url: &CrawlUrl, until: Instant) -> Result<Allowance, NoPermit> {
        for _ in 0..Self::ROBOTS_ROUNDS {
            let hold = match judge.judge(url) {
                Judgement::Allow(allowance) => return Ok(allowance),
                Judgement::Refuse(refusal) => return Err(NoPermit::Refused(refusal)),
                Judgement::Hold(hold) => Some(hold),
                Judgement::NeedsRobots(origin) => match self.within(until, self.robots(&origin)).await {
                    Some(news) => news.hold,
                    None => Some(Hold { reason: Reason::RobotsUnreachable, wait: Some(Self::LOOK_AGAIN) }),
                },
            };
            if let Some(hold) = hold {
                let now = self.inner.clock.now();
                let at = hold.wait.map(|wait| now.after(wait));
                return Err(NoPermit::NotNow(Later { clock: hold.reason, at, wait: hold.wait }));
            }
        }
        Err(self.not_now(Reason::ParkRobots, Self::PATIENCE))
    }

    /// So often robots.txt is fetched for one judgement: a copy that is over before it is looked at stays over.
    const ROBOTS_ROUNDS: u32 = 3;
    /// When to look again where no clock names an instant.
    const LOOK_AGAIN: Duration = Duration::from_secs(1);

    /// Refuses who cannot be served before `until` even if everything goes well for those ahead.
    fn expect_turn(&self, origin: &Origin, ahead: u32, until: Instant) -> Result<(), NoPermit> {
        let (ready, now) = (self.turn(origin).ready, self.inner.clock.now());
        let delays = self.pace(origin).clocks(&self.politeness());
        let longest = delays.into_iter().flatten().max_by_key(|reading| reading.delay);
        let each = longest.map_or(Duration::ZERO, |reading| reading.delay);
        let at = ready.at.max(now).after(each.saturating_mul(ahead));
        let clock = if ready.at > now { ready.clock } else { longest.map_or(Reason::ConcOrigin, |l| l.clock) };
        if at > until { Err(self.later(Ready { at, clock })) } else { Ok(()) }
    }

    /// The answer to somebody whose time is over.
    fn out_of_time(&self, origin: &Origin) -> NoPermit {
        let (ready, now) = (self.turn(origin).ready, self.inner.clock.now());
        if ready.at > now { self.later(ready) } else { self.not_now(Reason::ConcOrigin, Self::LOOK_AGAIN) }
    }

    fn later(&self, ready: Ready) -> NoPermit {
        let wait = ready.at.since(self.inner.clock.now());
        let ahead = (ready.at < Instant::NEVER).then_some(ready.at);
        NoPermit::NotNow(Later { clock: ready.clock, at: ahead, wait: ahead.map(|_| wait) })
    }

    fn not_now(&self, clock: Reason, wait: Duration) -> NoPermit {
        self.later(Ready { at: self.inner.clock.now().after(wait), clock })
    }

    /// What `future` gives before `until`; it is dropped then.
    async fn within<T>(&self, until: Instant, future: impl Future<Output = T>) -> Option<T> {
        let patience = until.since(self.inner.clock.now()).min(Self::LONGEST_SLEEP);
        tokio::time::timeout(patience, future).await.ok()
    }
}
