use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use comity_policy::{Clock, Instant, Ready, Reason};
use comity_url::Origin;
use governor::clock::{Clock as GovernorClock, Reference};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::HashMapStateStore;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

/// So many requests in so long a time: `10/s`, `600/m`, `5000/h`.
///
/// Requests are spread evenly: no burst is saved up (our choice: a site feels the burst, not the average).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    requests: NonZeroU32,
    per: Duration,
}

impl Rate {
    /// The even gap between two requests.
    #[must_use]
    pub fn gap(&self) -> Duration {
        self.per / self.requests.get()
    }
}

impl FromStr for Rate {
    type Err = ParseRateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseRateError(text.to_owned());
        let (requests, unit) = text.split_once('/').ok_or_else(wrong)?;
        let requests = requests.trim().parse().map_err(|_| wrong())?;
        let per = match unit.trim() {
            "s" => Duration::from_secs(1),
            "m" => Duration::from_secs(60),
            "h" => Duration::from_secs(3600),
            _ => return Err(wrong()),
        };
        let rate = Self { requests, per };
        if rate.gap() < Duration::from_micros(1) { Err(wrong()) } else { Ok(rate) }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.per.as_secs() {
            1 => "s",
            60 => "m",
            _ => "h",
        };
        write!(f, "{}/{unit}", self.requests)
    }
}

/// A text that is no rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseRateError(String);

impl fmt::Display for ParseRateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no rate, write for instance \"10/s\", \"600/m\" or \"5000/h\"", self.0)
    }
}

impl std::error::Error for ParseRateError {}

/// The crawl's rate and the rate per registrable domain, where the operator set them (governor's GCRA on our clock).
#[derive(Debug)]
pub(crate) struct Rates {
    clock: PolicyClock,
    set: (Option<Rate>, Option<Rate>),
    total: Option<Total>,
    domain: Option<PerDomain>,
}

type Total = RateLimiter<NotKeyed, InMemoryState, PolicyClock, NoOpMiddleware<Tick>>;
type PerDomain = RateLimiter<String, HashMapStateStore<String>, PolicyClock, NoOpMiddleware<Tick>>;

impl Rates {
    pub(crate) fn new(total: Option<Rate>, domain: Option<Rate>, clock: Arc<dyn Clock>) -> Self {
        let clock = PolicyClock(clock);
        Self {
            set: (total, domain),
            total: total.and_then(quota).map(|quota| RateLimiter::direct_with_clock(quota, clock.clone())),
            domain: domain.and_then(quota).map(|quota| RateLimiter::hashmap_with_clock(quota, clock.clone())),
            clock,
        }
    }

    /// True when they are set to these.
    pub(crate) fn are(&self, total: Option<Rate>, domain: Option<Rate>) -> bool {
        self.set == (total, domain)
    }

    /// Takes one request of `origin` from both rates, or says when to come back. Nothing is taken on a refusal of the
    /// first; a refusal of the second wastes one request of the first, which errs on the slow side.
    pub(crate) fn take(&self, origin: &Origin) -> Result<(), Ready> {
        if let Some(limiter) = &self.domain {
            let key = origin.registrable_domain().unwrap_or_else(|| origin.host()).to_owned();
            limiter.check_key(&key).map_err(|not| self.ready(not.earliest_possible(), Reason::RateDomain))?;
            if limiter.len() > Self::MOST_DOMAINS {
                limiter.retain_recent();
            }
        }
        if let Some(limiter) = &self.total {
            limiter.check().map_err(|not| self.ready(not.earliest_possible(), Reason::RateTotal))?;
        }
        Ok(())
    }

    /// Domains whose rate is kept before the quiet ones are forgotten.
    const MOST_DOMAINS: usize = 100_000;

    fn ready(&self, at: Tick, clock: Reason) -> Ready {
        // One microsecond more than told: governor counts nanoseconds, our instants microseconds.
        let at = Instant::from_micros(at.0.as_u64() / 1000 + 1).max(self.clock.0.now());
        Ready { at, clock }
    }
}

fn quota(rate: Rate) -> Option<Quota> {
    Quota::with_period(rate.gap())
}

/// Our clock, as governor wants it.
#[derive(Clone, Debug)]
struct PolicyClock(Arc<dyn Clock>);

/// An instant of our clock in nanoseconds, as governor wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Tick(Nanos);

impl GovernorClock for PolicyClock {
    type Instant = Tick;

    fn now(&self) -> Tick {
        Tick(Nanos::new(self.0.now().as_micros().saturating_mul(1000)))
    }
}

impl Reference for Tick {
    fn duration_since(&self, earlier: Self) -> Nanos {
        Nanos::new(self.0.as_u64().saturating_sub(earlier.0.as_u64()))
    }

    fn saturating_sub(&self, duration: Nanos) -> Self {
        Self(Nanos::new(self.0.as_u64().saturating_sub(duration.as_u64())))
    }
}

impl std::ops::Add<Nanos> for Tick {
    type Output = Self;

    fn add(self, other: Nanos) -> Self {
        Self(Nanos::new(self.0.as_u64().saturating_add(other.as_u64())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comity_policy::WallTime;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[derive(Debug, Default)]
    struct Hand(AtomicU64);

    impl Clock for Hand {
        fn now(&self) -> Instant {
            Instant::from_micros(self.0.load(Ordering::Relaxed))
        }

        fn wall(&self) -> WallTime {
            WallTime::default()
        }
    }

    #[test]
    fn rates_are_read_and_written() {
        for text in ["10/s", "600/m", "5000/h"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for text in ["", "10", "0/s", "10/d", "-1/s", "4294967295/s", "x/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn waiting_as_told_succeeds_and_less_does_not() {
        let hand = Arc::new(Hand::default());
        let rates = Rates::new("10/s".parse().ok(), "2/s".parse().ok(), hand.clone());
        let (a, b) = (Origin::parse("http://x.a.test").unwrap(), Origin::parse("http://b.test").unwrap());
        assert!(rates.take(&a).is_ok());
        assert_eq!(rates.take(&b).unwrap_err().clock, Reason::RateTotal, "no burst");
        let ready = rates.take(&Origin::parse("http://y.a.test").unwrap()).unwrap_err();
        assert_eq!(ready.clock, Reason::RateDomain, "one registrable domain");
        hand.0.store(ready.at.as_micros() - 10, Ordering::Relaxed);
        assert!(rates.take(&a).is_err());
        hand.0.store(ready.at.as_micros(), Ordering::Relaxed);
        assert!(rates.take(&a).is_ok());
    }
}
