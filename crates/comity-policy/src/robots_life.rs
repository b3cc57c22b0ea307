use std::time::Duration;

use comity_robots::RuleSet;
use comity_url::{CrawlUrl, Origin};

use crate::{Digest, Random, Reason, RobotsState, WallTime};

/// Whose reading of "unreachable" holds (design §6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnreachable {
    /// Disallow all for 30 days, then the last good copy, or nothing while the site answers (RFC 9309 §2.3.1.4).
    #[default]
    Rfc9309,
    /// Disallow all for 12 hours, then the last good copy up to 30 days, then as without one (Google robots spec).
    Google,
}

/// How robots.txt answers are read: the `[robots]` section, resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RobotsPolicy {
    /// The dialect of the matcher.
    pub dialect: comity_robots::Dialect,
    /// Whose reading of "unreachable" holds.
    pub on_unreachable: OnUnreachable,
    /// 4xx statuses that mean "disallow all" instead of "no rules"; 429 always counts as unreachable.
    pub strict_4xx: Vec<u16>,
}

/// A robots.txt as it was received: its compiled rules and what a record needs to name it.
#[derive(Clone, Debug)]
pub struct RobotsCopy {
    /// SHA-256 of the decoded bytes, as far as they were read.
    pub digest: Digest,
    /// Decoded bytes read, at most 512,000 parsed.
    pub bytes: u64,
    /// True when the file was longer than what is parsed.
    pub truncated: bool,
    /// Where the chain of redirects ended.
    pub final_url: CrawlUrl,
    /// Rules per token list, in the order of the lists; the strictest answer wins.
    pub rules: Vec<RuleSet>,
}

/// How one fetch of robots.txt ended.
#[derive(Clone, Debug)]
pub enum RobotsEvent {
    /// 2xx with a whole body (empty counts).
    Parsed {
        /// HTTP status of the final answer.
        status: u16,
        /// The file.
        copy: RobotsCopy,
        /// `max-age` less `Age`, if the answer said so.
        max_age: Option<Duration>,
    },
    /// 304 to a conditional request: the copy lives on.
    NotModified {
        /// `max-age` less `Age`, if the answer said so.
        max_age: Option<Duration>,
    },
    /// 4xx other than 429: no rules, or disallow all where the operator is strict.
    Absent {
        /// HTTP status of the final answer.
        status: u16,
    },
    /// More than five redirects, a loop, or a target that is no http(s) URL: counts as absent.
    RedirectLimit {
        /// HTTP status of the last redirect.
        status: u16,
    },
    /// 429, 5xx, unknown statuses, network, TLS, name resolution, timeouts, cut or undecodable bodies.
    Unreachable {
        /// What went wrong.
        cause: Reason,
        /// The HTTP status, when there was one.
        status: Option<u16>,
        /// The parsed `Retry-After`, uncapped.
        retry_after: Option<Duration>,
    },
}

/// What the life of one origin's robots.txt says at one moment.
#[derive(Clone, Copy, Debug)]
pub enum Standing<'a> {
    /// Nothing is known, or the life is over: robots.txt has to be fetched first.
    Unknown,
    /// These rules hold.
    Rules {
        /// The copy they come from.
        copy: &'a RobotsCopy,
        /// Past its life, used because robots.txt has been unreachable for long.
        stale: bool,
    },
    /// The file does not exist: no rules.
    Absent,
    /// The file does not exist and the operator reads this status as a refusal.
    Denied,
    /// Too many redirects: no rules.
    RedirectLimit,
    /// Disallow all.
    Unreachable(&'a Failing),
    /// Unreachable for 30 days, no copy, but the site answers: no restrictions.
    Open,
}

/// An unbroken run of failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// The first failure.
    pub since: WallTime,
    /// Failures so far, 1 or more.
    pub attempts: u32,
    /// When the next try is due.
    pub next_try: WallTime,
    /// What went wrong last.
    pub cause: Reason,
    /// The HTTP status of the last answer, when there was one.
    pub status: Option<u16>,
}

/// The life of one origin's robots.txt: a pure state machine of events and civil time.
#[derive(Clone, Debug)]
pub struct RobotsLife {
    origin: Origin,
    policy: RobotsPolicy,
    known: Option<Known>,
    failing: Option<Failing>,
    /// When robots.txt was last answered with any HTTP status.
    answered: Option<WallTime>,
}

#[derive(Clone, Debug)]
struct Known {
    what: Found,
    status: u16,
    fetched: WallTime,
    expires: WallTime,
}

#[derive(Clone, Debug)]
enum Found {
    Copy(RobotsCopy),
    Absent,
    Denied,
    RedirectLimit,
}

/// So many Retry-After in a row may be shorter than our own schedule (our choice: docs/decisions/0002).
const TRUSTED_RETRY_AFTERS: u32 = 2;

const DAY: Duration = Duration::from_secs(24 * 3600);

impl RobotsLife {
    /// The longest and the default life of an answer (RFC 9309 §2.4).
    pub const LIFE: Duration = DAY;
    /// The shortest life an answer can ask for with `max-age` (our choice: design §6).
    pub const LEAST_LIFE: Duration = Duration::from_secs(300);
    /// Disallow all at most this long from the first failure (RFC 9309 §2.3.1.4: "reasonably long", e.g. 30 days).
    pub const PATIENCE: Duration = Duration::from_secs(30 * 24 * 3600);
    /// The `google` reading closes for this long only.
    pub const GOOGLE_PATIENCE: Duration = Duration::from_secs(12 * 3600);
    /// First and longest wait between tries.
    pub const RETRY: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(3600));

    /// An unknown robots.txt. Only the gate may make one (invariant 1): a life made elsewhere forges allowances.
    #[must_use]
    pub const fn new(origin: Origin, policy: RobotsPolicy) -> Self {
        Self { origin, policy, known: None, failing: None, answered: None }
    }

    /// The origin it belongs to: the one first asked, wherever redirects led.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// When the last good answer was received, its status, and until when it lives.
    #[must_use]
    pub fn fetched(&self) -> Option<(WallTime, u16, WallTime)> {
        self.known.as_ref().map(|known| (known.fetched, known.status, known.expires))
    }

    /// The last good copy, whatever its age.
    #[must_use]
    pub fn copy(&self) -> Option<&RobotsCopy> {
        match &self.known.as_ref()?.what {
            Found::Copy(copy) => Some(copy),
            _ => None,
        }
    }

    /// The unbroken run of failures, if the last try failed.
    #[must_use]
    pub const fn failing(&self) -> Option<&Failing> {
        self.failing.as_ref()
    }

    /// What holds at `now`.
    #[must_use]
    pub fn standing(&self, now: WallTime) -> Standing<'_> {
        if let Some(known) = self.known.as_ref().filter(|known| known.expires > now) {
            return known.what.standing(false);
        }
        let Some(failing) = &self.failing else { return Standing::Unknown };
        let age = now.since(failing.since);
        let (closed, stale_ends) = match self.policy.on_unreachable {
            OnUnreachable::Rfc9309 => (Self::PATIENCE, Duration::MAX),
            OnUnreachable::Google => (Self::GOOGLE_PATIENCE, Self::PATIENCE),
        };
        if age < closed {
            return Standing::Unreachable(failing);
        }
        match &self.known {
            Some(known) if age < stale_ends => known.what.standing(true),
            _ if self.answered.is_some_and(|at| now.since(at) < DAY) => Standing::Open,
            _ => Standing::Unreachable(failing),
        }
    }

    /// True when a fetch is due at `now`: nothing known, life over, or the next try has come.
    #[must_use]
    pub fn is_due(&self, now: WallTime) -> bool {
        match (&self.failing, &self.known) {
            (Some(failing), _) => failing.next_try <= now,
            (None, Some(known)) => known.expires <= now,
            (None, None) => true,
        }
    }

    /// Takes in how a fetch ended at `now`.
    pub fn apply(&mut self, event: RobotsEvent, now: WallTime, random: &dyn Random) {
        match event {
            RobotsEvent::Parsed { status, copy, max_age } => self.learn(Found::Copy(copy), status, max_age, now),
            RobotsEvent::NotModified { max_age } => self.revalidate(max_age, now),
            RobotsEvent::Absent { status } if self.policy.strict_4xx.contains(&status) => {
                self.learn(Found::Denied, status, None, now);
            }
            RobotsEvent::Absent { status } => self.learn(Found::Absent, status, None, now),
            RobotsEvent::RedirectLimit { status } => self.learn(Found::RedirectLimit, status, None, now),
            RobotsEvent::Unreachable { cause, status, retry_after } => {
                self.fail(cause, status, retry_after, now, random);
            }
        }
    }

    /// The delay that the rules ask for: the largest Crawl-delay or Request-rate over all token lists.
    #[must_use]
    pub fn asked_delay(&self) -> Option<Duration> {
        crate::judge::asked_delay(&self.copy()?.rules)
    }

    pub(crate) fn state_without_copy(&self) -> RobotsState {
        match self.known.as_ref().map(|known| &known.what) {
            Some(Found::RedirectLimit) => RobotsState::RedirectLimit,
            Some(_) => RobotsState::Absent,
            None => RobotsState::Unreachable,
        }
    }

    /// Bytes of heap that this value holds, for the cache's weigher.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let rules = self.copy().map_or(0, |copy| copy.rules.iter().map(RuleSet::heap_bytes).sum());
        self.origin.as_str().len() + rules
    }

    fn learn(&mut self, what: Found, status: u16, max_age: Option<Duration>, now: WallTime) {
        self.known = Some(Known { what, status, fetched: now, expires: now.after(life(max_age)) });
        self.failing = None;
        self.answered = Some(now);
    }

    fn revalidate(&mut self, max_age: Option<Duration>, now: WallTime) {
        // A 304 without a copy to keep says nothing: the next look asks anew.
        if let Some(known) = &mut self.known {
            known.expires = now.after(life(max_age));
            self.failing = None;
        }
        self.answered = Some(now);
    }

    fn fail(
        &mut self,
        cause: Reason,
        status: Option<u16>,
        retry_after: Option<Duration>,
        now: WallTime,
        random: &dyn Random,
    ) {
        let (since, attempts) = self.failing.as_ref().map_or((now, 1), |f| (f.since, f.attempts.saturating_add(1)));
        // A site that names a time is taken at its word twice; after that it never shortens our own schedule, or a
        // file that answers "30 seconds" for ever would be asked for ever.
        let own = retry_wait(attempts, random);
        let wait = match retry_after.filter(|wait| !wait.is_zero()) {
            None => own,
            Some(asked) if attempts <= TRUSTED_RETRY_AFTERS => asked.clamp(Duration::from_secs(1), DAY),
            Some(asked) => asked.clamp(own, DAY),
        };
        self.failing = Some(Failing { since, attempts, next_try: now.after(wait), cause, status });
        if status.is_some() {
            self.answered = Some(now);
        }
    }
}

impl Found {
    const fn standing(&self, stale: bool) -> Standing<'_> {
        match self {
            Self::Copy(copy) => Standing::Rules { copy, stale },
            Self::Absent => Standing::Absent,
            Self::Denied => Standing::Denied,
            Self::RedirectLimit => Standing::RedirectLimit,
        }
    }
}

fn life(max_age: Option<Duration>) -> Duration {
    max_age.map_or(RobotsLife::LIFE, |age| age.clamp(RobotsLife::LEAST_LIFE, RobotsLife::LIFE))
}

/// One minute doubling to one hour, plus up to a fifth of jitter.
fn retry_wait(attempts: u32, random: &dyn Random) -> Duration {
    let (first, longest) = RobotsLife::RETRY;
    let wait = (first * 2_u32.pow(attempts.saturating_sub(1).min(10))).min(longest);
    let jitter = random.below(u64::try_from(wait.as_millis() / 5).unwrap_or(0) + 1);
    wait + Duration::from_millis(jitter)
}
