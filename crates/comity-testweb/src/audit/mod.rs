mod breach;
mod chain;
mod clock;
mod examination;
mod oddity;
mod report;
mod view;

use std::time::Duration;

pub use breach::{Breach, DelayClock, NoRobots, Oddity, Since, Violation};
pub use report::{Audit, MAX_VIOLATIONS, OriginAudit};
pub(crate) use view::micros;

use self::clock::ClientClock;
use crate::Observer;
use crate::log::Snapshot;

/// Reads the log of a web against what the web had announced.
///
/// Clients are told apart by their User-Agent. A client is held to the robots.txt that it was served, from the moment
/// the head of that answer was sent, read by the token at the start of its User-Agent; delays are measured from head to
/// arrival and from arrival to arrival, with no tolerance.
///
/// ```
/// use std::time::Duration;
/// use comity_testweb::{Auditor, Web};
///
/// let (_net, observer) = Web::plain(2, 5, 3).in_memory();
/// let audit = Auditor::new().floor(Duration::from_secs(1)).examine(&observer);
/// assert!(audit.is_clean(), "{audit}");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Auditor {
    tokens: Vec<String>,
    floor: Option<Duration>,
    address_gap: Option<Duration>,
    per_address: Option<usize>,
    transit: Duration,
    clock: Vec<(u64, i64)>,
}

impl Auditor {
    /// An auditor who asks for what the web announced, and for nothing else.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Holds all clients to the groups of this product token; several make an ordered fallback. Without, the token
    /// at the start of the User-Agent counts.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.tokens.push(token.into());
        self
    }

    /// Asks for this delay on every origin, whatever it announced.
    #[must_use]
    pub const fn floor(mut self, floor: Duration) -> Self {
        self.floor = Some(floor);
        self
    }

    /// Asks for this gap between requests to one address, from arrival to arrival. Clients keep it from write to
    /// write: sure under paused time, on loopback a busy machine may blur it.
    #[must_use]
    pub const fn address_gap(mut self, gap: Duration) -> Self {
        self.address_gap = Some(gap);
        self
    }

    /// Allows so many open requests on one address, from arrival to the last byte of the response.
    #[must_use]
    pub const fn per_address(mut self, requests: usize) -> Self {
        self.per_address = Some(requests);
        self
    }

    /// How long an answer may take to its client: within this time after its head, new rules and a Retry-After bind
    /// nobody yet. Zero if not said; delays know no such grace.
    #[must_use]
    pub const fn transit(mut self, transit: Duration) -> Self {
        self.transit = transit;
        self
    }

    /// How far the clients' clocks are ahead of civil time (behind: negative), in milliseconds, from this moment of the web on
    /// (microseconds since it was put up). Lives of robots.txt are read by the client's clock: one that jumps ahead ends
    /// them; one that is set back stands for a new process only, since within one civil time never goes back.
    #[must_use]
    pub fn clock_error(mut self, from_us: u64, millis: i64) -> Self {
        self.clock.push((from_us, millis));
        self
    }

    /// Examines everything that has arrived so far. Linear in the log.
    #[must_use]
    pub fn examine(&self, observer: &Observer) -> Audit {
        let Snapshot { sightings, deaths, lost } = observer.live.log.snapshot();
        let clock = ClientClock::new(&self.clock, &deaths);
        examination::Examination::new((self, clock), &observer.live, &sightings).run(&deaths, lost)
    }
}

impl Observer {
    /// What an [`Auditor`] without wishes of its own finds.
    #[must_use]
    pub fn audit(&self) -> Audit {
        Auditor::new().examine(self)
    }
}
