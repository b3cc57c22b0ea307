use std::time::Duration;

use crate::{Adaptive, Instant, Politeness, Random, RateLimit, Reason};

/// What is known about the pace of one origin: a plain value, moved between frontier and pacer.
///
/// Invariant 5: at most 64 bytes, and nobody but its functions computes a delay. All instants are of one clock.
/// The next instant is the *latest* of all clocks, which never overwrite each other: own floor with adaptive delay,
/// Crawl-delay, back-off (with parks), hours of the day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OriginPace {
    pub(crate) last_head: u64,
    pub(crate) backoff_until: u64,
    pub(crate) parked_until: u64,
    pub(crate) backoff_since: u64,
    pub(crate) closed_until: u64,
    pub(crate) crawl_delay_ms: u32,
    pub(crate) floor_ms: u32,
    pub(crate) latency_us: u32,
    pub(crate) jitter_permille: u16,
    pub(crate) failures: u16,
    pub(crate) park: Option<Park>,
    pub(crate) closed: Option<Closed>,
    pub(crate) seen: bool,
}

const _: () = assert!(size_of::<OriginPace>() <= 64, "OriginPace is stored once per origin: 64 bytes at most");

/// Why an origin is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Park {
    RetryAfter,
    CrawlDelay,
}

/// Which hours of the day hold an origin back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    VisitTime,
    RequestRate,
    /// A Request-rate that is slower, in its hours, than we accept.
    TooSlow,
}

/// When an origin may be asked next, and which clock says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The earliest instant; [`Instant::START`] when nothing holds it back.
    pub at: Instant,
    /// The clock that binds: `rate.origin`, `rate.crawl_delay`, `rate.visit_time`, `rate.backoff`, `park.*`; `ok`
    /// when none does.
    pub clock: Reason,
}

/// One of the clocks of an origin, for `explain` and the progress line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// Its name: a reason code.
    pub clock: Reason,
    /// Until when it holds the origin back.
    pub until: Instant,
    /// The delay it stands for; zero for instants given by the site.
    pub delay: Duration,
}

/// How an exchange ended, as far as pace is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A response head came, with this status and, if it parsed, this Retry-After.
    Answered {
        /// HTTP status, 100 to 999.
        status: u16,
        /// The parsed `Retry-After`, uncapped.
        retry_after: Option<Duration>,
        /// The parsed rate-limit fields, uncapped.
        rate_limit: Option<RateLimit>,
    },
    /// No response head came: name resolution, connection, TLS, timeout, reset.
    Failed(Reason),
}

impl Outcome {
    /// An answer that says nothing about pace.
    #[must_use]
    pub const fn answered(status: u16) -> Self {
        Self::Answered { status, retry_after: None, rate_limit: None }
    }
}

impl OriginPace {
    /// Sets the own floor that holds for this origin's addresses.
    pub fn set_floor(&mut self, floor: Duration) {
        self.floor_ms = millis(floor);
    }

    /// Sets the Crawl-delay that robots.txt asks for; `None` when it asks for none.
    pub fn set_crawl_delay(&mut self, delay: Option<Duration>, rules: &Politeness) {
        self.crawl_delay_ms = delay.map_or(0, millis_up);
        let too_long = delay.is_some_and(|d| d > rules.max_crawl_delay);
        match (too_long, self.park) {
            (true, _) => self.set_park(Park::CrawlDelay, Instant::NEVER),
            (false, Some(Park::CrawlDelay)) => self.unpark(),
            (false, _) => {}
        }
    }

    /// The hours of the day hold the origin back until `until` ([`Instant::NEVER`]: for ever), and `clock` says which:
    /// an [`Opening`](crate::Opening), converted. Replaces what was set before.
    pub fn close(&mut self, until: Instant, clock: Reason) {
        self.closed_until = until.as_micros();
        self.closed = match clock {
            Reason::Ok => None,
            Reason::RateVisitTime => Some(Closed::VisitTime),
            Reason::ParkCrawlDelay => Some(Closed::TooSlow),
            _ => Some(Closed::RequestRate),
        };
    }

    /// No hour of the day holds the origin back.
    pub const fn open(&mut self) {
        self.closed_until = 0;
        self.closed = None;
    }

    /// When the last head arrived, or the last request failed.
    #[must_use]
    pub fn last_head(&self) -> Option<Instant> {
        self.seen.then_some(Instant::from_micros(self.last_head))
    }

    /// Until when it is parked, and why: a long Retry-After, or a Crawl-delay above the longest accepted.
    #[must_use]
    pub fn parked(&self) -> Option<ClockReading> {
        self.park.map(|park| ClockReading {
            clock: park.reason(),
            until: Instant::from_micros(self.parked_until),
            delay: Duration::ZERO,
        })
    }

    /// The Crawl-delay in force; zero when there is none.
    #[must_use]
    pub fn crawl_delay(&self) -> Duration {
        Duration::from_millis(self.crawl_delay_ms.into())
    }

    /// True when nothing but concurrency holds this origin back: no floor, no Crawl-delay, no adaptive delay.
    ///
    /// Only then may two requests be outstanding before their heads (invariant 4).
    #[must_use]
    pub fn is_unpaced(&self, rules: &Politeness) -> bool {
        self.floor_ms == 0 && self.crawl_delay_ms == 0 && rules.adaptive == Adaptive::Off && self.failures == 0
    }

    /// The earliest instant of the next request: the latest of all clocks.
    #[must_use]
    pub fn ready_at(&self, rules: &Politeness) -> Ready {
        self.clocks(rules)
            .into_iter()
            .flatten()
            .max_by_key(|reading| (reading.until, u8::from(reading.clock == Reason::RateCrawlDelay)))
            .map_or(Ready { at: Instant::START, clock: Reason::Ok }, |r| Ready { at: r.until, clock: r.clock })
    }

    /// Every clock that says something, in the order floor or adaptive, Crawl-delay, back-off, park, hours of the day.
    #[must_use]
    pub fn clocks(&self, rules: &Politeness) -> [Option<ClockReading>; 5] {
        let own = self.own_delay(rules);
        let crawl = self.crawl_delay();
        let after = |delay: Duration| Instant::from_micros(self.last_head).after(delay);
        let reading = |clock, until, delay| ClockReading { clock, until, delay };
        [
            (self.seen && !own.is_zero()).then(|| {
                // Jitter only where our own wish binds: a site that names a number gets that number.
                let binds = own > crawl;
                let jitter = if binds { own * u32::from(self.jitter_permille) / 1000 } else { Duration::ZERO };
                reading(Reason::RateOrigin, after(own + jitter), own)
            }),
            (self.seen && !crawl.is_zero()).then(|| reading(Reason::RateCrawlDelay, after(crawl), crawl)),
            (self.backoff_until > 0)
                .then(|| reading(Reason::RateBackoff, Instant::from_micros(self.backoff_until), Duration::ZERO)),
            self.parked(),
            self.closed.map(|closed| reading(closed.reason(), Instant::from_micros(self.closed_until), Duration::ZERO)),
        ]
    }

    /// Records that a response head arrived (or that the request failed) at `now`: every delay runs from here.
    pub fn on_head(&mut self, now: Instant, latency: Option<Duration>, random: &dyn Random) {
        self.seen = true;
        self.last_head = self.last_head.max(now.as_micros());
        self.jitter_permille = u16::try_from(random.below(Politeness::JITTER_PERMILLE + 1)).unwrap_or(0);
        if let Some(latency) = latency {
            self.latency_us = smooth(self.latency_us, latency);
        }
    }

    /// Records how the exchange, whose request was written at `sent`, ended at `now`.
    ///
    /// 429 and 503 pause or park the origin; transport failures back off; an answer below 500 ends a run of failures.
    /// A burst is one event: an answer to a request written before the current back-off began does not add to it.
    /// Redirects with a Retry-After and rate-limit fields pause too, and are no failures.
    pub fn on_outcome(&mut self, outcome: Outcome, sent: Instant, now: Instant) {
        match outcome {
            Outcome::Answered { status, retry_after, rate_limit } => {
                // Zero is no time: whoever says so and means "now" gets our own back-off.
                let told = retry_after.filter(|wait| !wait.is_zero() && waits_after(status));
                // Retry-After takes precedence (draft-ietf-httpapi-ratelimit-headers-11).
                let limit = rate_limit.filter(|_| told.is_none()).unwrap_or_default();
                self.answered(status, told, limit, (sent, now));
            }
            Outcome::Failed(reason) if counts_against_origin(reason) => {
                self.back_off(Politeness::TRANSPORT_CAP, sent, now);
            }
            Outcome::Failed(_) => {}
        }
    }

    /// The later of two readings of one origin: used when a lease brings a pace that the pacer holds too.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let (newer, older) = if self.last_head >= other.last_head { (self, other) } else { (other, self) };
        Self {
            backoff_until: newer.backoff_until.max(older.backoff_until),
            backoff_since: newer.backoff_since.max(older.backoff_since),
            parked_until: newer.parked_until.max(older.parked_until),
            park: newer.park.or(older.park),
            closed_until: newer.closed_until.max(older.closed_until),
            closed: newer.closed.or(older.closed),
            crawl_delay_ms: newer.crawl_delay_ms.max(older.crawl_delay_ms),
            floor_ms: newer.floor_ms.max(older.floor_ms),
            failures: newer.failures.max(older.failures),
            seen: newer.seen || older.seen,
            ..newer
        }
    }

    /// Failures in a row: 429, 503 and transport failures since the last good answer.
    #[must_use]
    pub const fn failures(&self) -> u16 {
        self.failures
    }

    fn own_delay(&self, rules: &Politeness) -> Duration {
        let floor = Duration::from_millis(self.floor_ms.into());
        match rules.adaptive {
            Adaptive::Off => floor,
            Adaptive::On => {
                let twice = Duration::from_micros(self.latency_us.into()) * 2;
                floor.max(twice.min(Politeness::ADAPTIVE_CAP))
            }
        }
    }

    fn answered(&mut self, status: u16, told: Option<Duration>, limit: RateLimit, (sent, now): (Instant, Instant)) {
        match status {
            429 | 503 => match told.or(limit.reset.filter(|wait| !wait.is_zero())) {
                Some(_) => drop(self.count_failure(sent, now)),
                None => self.back_off(Politeness::BACKOFF_CAP, sent, now),
            },
            500.. => {}
            _ => self.failures = 0,
        }
        if limit.unknown_reset {
            self.pause(self.own_back_off(Politeness::BACKOFF_CAP), now);
        }
        self.pause(told.unwrap_or_default().max(limit.told()), now);
    }

    /// Leaves the origin alone for `wait`: a pause, above an hour a park, at most a day (design §7).
    fn pause(&mut self, wait: Duration, now: Instant) {
        if wait.is_zero() {
            return;
        }
        let until = now.after(wait.min(Politeness::RETRY_AFTER_CAP));
        if wait > Politeness::RETRY_AFTER_PAUSE {
            self.set_park(Park::RetryAfter, until);
        } else {
            self.backoff_until = self.backoff_until.max(until.as_micros());
        }
    }

    fn back_off(&mut self, cap: Duration, sent: Instant, now: Instant) {
        if self.count_failure(sent, now) {
            let until = now.after(self.own_back_off(cap));
            self.backoff_until = self.backoff_until.max(until.as_micros());
        }
    }

    /// The own back-off after so many failures in a row: as after the first when there was none.
    fn own_back_off(&self, cap: Duration) -> Duration {
        let doublings = u32::from(self.failures.saturating_sub(1)).min(16);
        (Politeness::BACKOFF_BASE * 2_u32.pow(doublings)).min(cap)
    }

    /// Counts one event; false when `sent` belongs to the burst that is already counted.
    fn count_failure(&mut self, sent: Instant, now: Instant) -> bool {
        let same_burst = self.failures > 0 && sent.as_micros() <= self.backoff_since;
        if !same_burst {
            self.failures = self.failures.saturating_add(1);
            self.backoff_since = now.as_micros();
        }
        !same_burst
    }

    fn set_park(&mut self, park: Park, until: Instant) {
        if self.park != Some(Park::CrawlDelay) {
            self.park = Some(park);
            self.parked_until = self.parked_until.max(until.as_micros());
        }
    }

    fn unpark(&mut self) {
        self.park = None;
        self.parked_until = 0;
    }
}

impl Park {
    const fn reason(self) -> Reason {
        match self {
            Self::RetryAfter => Reason::ParkRetryAfter,
            Self::CrawlDelay => Reason::ParkCrawlDelay,
        }
    }
}

impl Closed {
    const fn reason(self) -> Reason {
        match self {
            Self::VisitTime => Reason::RateVisitTime,
            Self::RequestRate => Reason::RateCrawlDelay,
            Self::TooSlow => Reason::ParkCrawlDelay,
        }
    }
}

/// Answers whose Retry-After is obeyed (RFC 9110 §10.2.3; signals reference §11).
const fn waits_after(status: u16) -> bool {
    matches!(status, 300..=399 | 429 | 503)
}

/// A failure that says something about the origin. A refused address, a name that does not exist, or a cause on our
/// side or at a proxy of ours does not.
const fn counts_against_origin(reason: Reason) -> bool {
    !(reason.is_ours() || reason.is_proxy() || reason.is_refused_address() || matches!(reason, Reason::FetchDns))
}

/// Exponential smoothing with weight 1/4: a few answers settle it, one outlier does not.
fn smooth(old_us: u32, latency: Duration) -> u32 {
    let new = u32::try_from(latency.as_micros()).unwrap_or(u32::MAX);
    if old_us == 0 { new } else { old_us - old_us / 4 + new / 4 }
}

fn millis(d: Duration) -> u32 {
    u32::try_from(d.as_millis()).unwrap_or(u32::MAX)
}

/// Milliseconds rounded up: a Crawl-delay of 0.0001 s is still a delay, and never shortened.
fn millis_up(d: Duration) -> u32 {
    u32::try_from(d.as_micros().div_ceil(1000)).unwrap_or(u32::MAX)
}

/// The pace of one network address: gap and concurrency across all origins on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressPace {
    last_sent: Option<Instant>,
    /// The last turn told to anybody: waiting origins are told distinct instants instead of one for all.
    told: Instant,
    in_flight: u32,
    unwritten: u32,
}

impl AddressPace {
    /// The last request was written then, as far as is known; `None`: never.
    pub(crate) fn sent(last_sent: Option<Instant>) -> Self {
        Self { last_sent, ..Self::default() }
    }

    /// When the next request may be written here; `Err` with the instant to come back and the clock that binds.
    ///
    /// # Errors
    /// `rate.address` while the gap runs, `conc.address` while as many requests as allowed are open.
    pub fn try_take(&mut self, gap: Duration, concurrency: u32, now: Instant) -> Result<(), Ready> {
        let free = self.free(gap);
        let crowded = self.in_flight >= concurrency;
        // A request that is minted but not yet written may still be written late: with a gap, nothing may follow it.
        let undecided = self.unwritten > 0 && !gap.is_zero();
        if free <= now && !crowded && !undecided {
            self.in_flight += 1;
            self.unwritten += 1;
            return Ok(());
        }
        let clock = if crowded { Reason::ConcAddress } else { Reason::RateAddress };
        // Who comes to a booked turn a little early, because the request before left a little late, keeps it: sent to the
        // end of the queue, its turn would be nobody's.
        if !crowded && !undecided && free.since(now) <= gap / 2 {
            return Err(Ready { at: free, clock });
        }
        Err(Ready { at: self.tell(gap, free, now), clock })
    }

    /// When the gap after the last written request is over.
    #[must_use]
    pub fn free(&self, gap: Duration) -> Instant {
        self.last_sent.map_or(Instant::START, |sent| sent.after(gap))
    }

    /// Requests open.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// The request was written at `now`: the gap runs from here.
    pub fn on_written(&mut self, now: Instant) {
        self.unwritten = self.unwritten.saturating_sub(1);
        self.last_sent = Some(self.last_sent.map_or(now, |sent| sent.max(now)));
    }

    /// The request will never be written: no charge.
    pub fn on_unsent(&mut self) {
        self.unwritten = self.unwritten.saturating_sub(1);
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// The exchange is over.
    pub fn on_over(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// True when forgetting this value changes nothing from `now` on.
    #[must_use]
    pub fn is_idle(&self, gap: Duration, now: Instant) -> bool {
        self.in_flight == 0 && self.last_sent.is_none_or(|sent| sent.after(gap) <= now) && self.told <= now
    }

    /// Books a turn for somebody who has to wait: one gap after the last one told.
    fn tell(&mut self, gap: Duration, free: Instant, now: Instant) -> Instant {
        const LEAST: Duration = Duration::from_millis(20);
        let step = gap.max(LEAST);
        let turn = free.max(self.told.after(step)).max(now.after(LEAST));
        // A queue of told turns never reaches further than a minute: who is told more would oversleep free places.
        self.told = turn.min(now.after(Duration::from_secs(60)));
        self.told
    }
}
