use std::sync::Arc;
use std::time::Duration;

use comity_robots::RuleSet;
use comity_url::Origin;

use crate::{
    AskedPace, OnUnreachable, Random, Reason, RobotsBasis, RobotsCopy, RobotsEvent, RobotsEvidence, RobotsPolicy,
    RobotsState, Validators, WallTime,
};

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
    /// Unreachable for 30 days of tries, no copy, but the site answers: no restrictions.
    Open,
}

/// An unbroken run of failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// The first failure.
    pub since: WallTime,
    /// Failures so far, 1 or more.
    pub attempts: u32,
    /// The last failure.
    pub last_try: WallTime,
    /// For how long the tries bear witness, from the first failure to the last: each vouches for a day before it at most, as a good
    /// answer does for a day after it; for [`RobotsLife::GOOGLE_VOUCHED`] in the `google` reading. Never for what a clock alone says
    /// (our choice: docs/decisions/0049).
    pub witnessed: Duration,
    /// When the next try is due.
    pub next_try: WallTime,
    /// What went wrong last.
    pub cause: Reason,
    /// The HTTP status of the last answer, when there was one.
    pub status: Option<u16>,
}

/// The life of one origin's robots.txt: a pure state machine of events and civil time.
///
/// Held once per origin: 56 bytes, and one allocation for what is known.
#[derive(Clone, Debug)]
pub struct RobotsLife {
    pub(crate) origin: Origin,
    pub(crate) policy: Arc<RobotsPolicy>,
    pub(crate) known: Option<Arc<Known>>,
    pub(crate) failing: Option<Box<Failing>>,
    /// When robots.txt was last answered with any HTTP status.
    pub(crate) answered: Option<WallTime>,
}

/// The last good answer. Shared with the decisions that rest on it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) origin: Origin,
    pub(crate) what: Found,
    pub(crate) status: u16,
    pub(crate) fetched: WallTime,
    /// When it was last said to hold: at `fetched`, or by a later 304.
    pub(crate) confirmed: WallTime,
    pub(crate) expires: WallTime,
}

#[derive(Clone, Debug)]
pub(crate) enum Found {
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
    /// Disallow all until tries bear witness to so long without an answer (RFC 9309 §2.3.1.4: "reasonably long", e.g. 30 days).
    pub const PATIENCE: Duration = Duration::from_secs(30 * 24 * 3600);
    /// The `google` reading closes for this long only.
    pub const GOOGLE_PATIENCE: Duration = Duration::from_secs(12 * 3600);
    /// A try vouches for so long at most in the `google` reading: half of what it closes for, so that no single gap opens
    /// anything (our choice: docs/decisions/0049).
    pub const GOOGLE_VOUCHED: Duration = Duration::from_secs(6 * 3600);
    /// First and longest wait between tries.
    pub const RETRY: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(3600));

    /// A life is asked anew in its last tenth, by the traffic of its origin (our choice: at most 2.4 hours early).
    const EARLY: u32 = 10;

    /// An unknown robots.txt. Only the gate may make one (invariant 1): a life made elsewhere forges allowances.
    #[must_use]
    pub const fn new(origin: Origin, policy: Arc<RobotsPolicy>) -> Self {
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
        self.known.as_ref()?.copy()
    }

    /// What to ask anew with: the URL that the last good copy came from, and the validators of that answer.
    #[must_use]
    pub fn validators(&self) -> Option<(Option<&comity_url::CrawlUrl>, &Validators)> {
        let copy = self.copy()?;
        Some((copy.final_url.as_ref(), copy.validators.as_deref()?))
    }

    /// The unbroken run of failures, if the last try failed.
    #[must_use]
    pub fn failing(&self) -> Option<&Failing> {
        self.failing.as_deref()
    }

    /// What holds at `now`.
    #[must_use]
    pub fn standing(&self, now: WallTime) -> Standing<'_> {
        if let Some(known) = self.known.as_ref().filter(|known| known.is_fresh(now)) {
            return known.what.standing(false);
        }
        let Some(failing) = self.failing.as_deref() else { return Standing::Unknown };
        let age = failing.witnessed;
        let (closed, stale_ends) = match self.policy.on_unreachable {
            OnUnreachable::Rfc9309 => (Self::PATIENCE, Duration::MAX),
            OnUnreachable::Google => (Self::GOOGLE_PATIENCE, Self::PATIENCE),
        };
        if age < closed {
            return Standing::Unreachable(failing);
        }
        match &self.known {
            Some(known) if age < stale_ends => known.what.standing(true),
            // An answer from the future was dated by another clock: nobody knows how old it is.
            _ if self.answered.is_some_and(|at| at <= now && now.since(at) < DAY) => Standing::Open,
            _ => Standing::Unreachable(failing),
        }
    }

    /// True when a fetch is due at `now`: nothing known, life over, or the next try has come.
    #[must_use]
    pub fn is_due(&self, now: WallTime) -> bool {
        match (&self.failing, &self.known) {
            (Some(failing), _) => failing.is_due(now),
            (None, Some(known)) => !known.is_fresh(now),
            (None, None) => true,
        }
    }

    /// True when a fetch ahead of the end would spare the origin's next page the wait: in the last tenth of a life.
    /// A failed early try waits its turn, and changes nothing before the life ends (design §6).
    #[must_use]
    pub fn is_worth_refreshing(&self, now: WallTime) -> bool {
        let in_last_tenth = |known: &Known| {
            let life = known.expires.since(known.confirmed);
            known.is_fresh(now) && known.expires.since(now) <= life / Self::EARLY
        };
        match (self.failing.as_deref(), &self.known) {
            (Some(failing), _) => failing.is_due(now),
            (None, known) => known.as_deref().is_some_and(in_last_tenth),
        }
    }

    /// Takes in how a fetch ended at `now`.
    pub fn apply(&mut self, event: RobotsEvent, now: WallTime, random: &dyn Random) {
        match event {
            RobotsEvent::Parsed { status, copy, max_age } => self.learn(Found::Copy(copy), status, max_age, now),
            RobotsEvent::NotModified { max_age } => self.revalidate(max_age, now),
            RobotsEvent::Absent { status, max_age } if self.policy.strict_4xx.contains(&status) => {
                self.learn(Found::Denied, status, max_age, now);
            }
            RobotsEvent::Absent { status, max_age } => self.learn(Found::Absent, status, max_age, now),
            RobotsEvent::RedirectLimit { status } => self.learn(Found::RedirectLimit, status, None, now),
            RobotsEvent::Unreachable { cause, status, retry_after } => {
                self.fail(cause, status, retry_after, now, random);
            }
        }
    }

    /// What the rules ask about pace, the strictest of all token lists; nothing without a copy.
    #[must_use]
    pub fn asked_pace(&self) -> AskedPace {
        self.copy().map_or_else(AskedPace::default, |copy| AskedPace::of(&copy.rules))
    }

    /// What a decision that is made by this life as it stands rests on; `list` is the rule set that answered.
    pub(crate) fn basis(&self, state: RobotsState, list: usize) -> RobotsBasis {
        RobotsBasis::of(self.known.clone(), state, list)
    }

    /// Bytes of heap that this value holds, for the cache's weigher.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let beside = |copy: &RobotsCopy| copy.policies.heap_bytes() + copy.agents.heap_bytes();
        let rules =
            self.copy().map_or(0, |copy| copy.rules.iter().map(RuleSet::heap_bytes).sum::<usize>() + beside(copy));
        self.origin.as_str().len() + size_of::<Known>() + rules
    }

    fn learn(&mut self, what: Found, status: u16, max_age: Option<Duration>, now: WallTime) {
        let expires = now.after(life(max_age));
        self.known =
            Some(Arc::new(Known { origin: self.origin.clone(), what, status, fetched: now, confirmed: now, expires }));
        self.failing = None;
        self.answered = Some(now);
    }

    fn revalidate(&mut self, max_age: Option<Duration>, now: WallTime) {
        // A 304 without a copy to keep says nothing: the next look asks anew.
        if let Some(known) = &mut self.known {
            let known = Arc::make_mut(known);
            (known.confirmed, known.expires) = (now, now.after(life(max_age)));
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
        let failing = self.failing.as_deref();
        let (since, attempts) = failing.map_or((now, 1), |f| (f.since, f.attempts.saturating_add(1)));
        let vouched = match self.policy.on_unreachable {
            OnUnreachable::Rfc9309 => DAY,
            OnUnreachable::Google => Self::GOOGLE_VOUCHED,
        };
        let witness = |f: &Failing| f.witnessed.saturating_add(now.since(f.last_try).min(vouched));
        let witnessed = failing.map_or(Duration::ZERO, witness);
        // A site that names a time is taken at its word twice; after that it never shortens our own schedule, or a
        // file that answers "30 seconds" for ever would be asked for ever.
        let own = retry_wait(attempts, random);
        let wait = match retry_after.filter(|wait| !wait.is_zero()) {
            None => own,
            Some(asked) if attempts <= TRUSTED_RETRY_AFTERS => asked.clamp(Duration::from_secs(1), DAY),
            Some(asked) => asked.clamp(own, DAY),
        };
        let next_try = now.after(wait);
        self.failing = Some(Box::new(Failing { since, attempts, last_try: now, witnessed, next_try, cause, status }));
        if status.is_some() {
            self.answered = Some(now);
        }
    }
}

impl Failing {
    /// A next try further ahead than any schedule reaches was set under another wall clock: it is due.
    fn is_due(&self, now: WallTime) -> bool {
        self.next_try <= now || self.next_try.since(now) > DAY
    }
}

impl Known {
    pub(crate) const fn copy(&self) -> Option<&RobotsCopy> {
        match &self.what {
            Found::Copy(copy) => Some(copy),
            _ => None,
        }
    }

    /// Within its life. One that began later than now was set under another wall clock: nobody knows how old it is, so it is
    /// over.
    fn is_fresh(&self, now: WallTime) -> bool {
        self.confirmed <= now && self.expires > now && self.expires.since(now) <= DAY
    }

    /// What a record says of it; `list` is the rule set that answered.
    pub(crate) fn evidence(&self, state: RobotsState, list: usize) -> RobotsEvidence {
        let copy = self.copy();
        let set = copy.and_then(|copy| copy.rules.get(list));
        RobotsEvidence {
            state,
            digest: copy.map(|copy| copy.digest),
            fetched: Some(self.fetched),
            expires: Some(self.expires),
            status: Some(self.status),
            final_url: copy.map(|copy| copy.final_url.clone().unwrap_or_else(|| self.origin.robots_url())),
            bytes: copy.map_or(0, |copy| copy.bytes),
            truncated: copy.is_some_and(|copy| copy.truncated),
            group: set.map_or_else(Vec::new, |set| set.group_tokens().iter().map(ToString::to_string).collect()),
            group_line: set.and_then(RuleSet::group_line),
            crawl_delay: copy.and_then(|copy| AskedPace::of(&copy.rules).delay()),
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
