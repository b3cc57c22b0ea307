//! Everything known about an origin or a URL, as a value and as JSON.

use std::net::IpAddr;

use comity_policy::{
    Decision, Failing, Hold, Instant, Judge, Judgement, OptOut, OriginClocks, Override, Reason, RobotsLife,
    RuleEvidence, Standing, WallTime,
};
use comity_url::{CrawlUrl, Origin};
use serde::Serialize;

use crate::Gate;

/// What is known about one origin. Durations are in milliseconds from `at`, times are RFC 3339 in UTC.
#[derive(Clone, Debug, Serialize)]
pub struct OriginReport {
    /// The origin.
    pub origin: String,
    /// When this was true.
    pub at: String,
    /// Its robots.txt.
    pub robots: RobotsReport,
    /// When it may be asked for a page next, and which clock says so.
    pub next: ClockReport,
    /// Every clock that says something.
    pub clocks: Vec<ClockReport>,
    /// The address that was last charged for it.
    pub address: Option<AddressReport>,
    /// Requests open, robots.txt included.
    pub in_flight: u32,
    /// The override in force.
    pub r#override: Option<OverrideReport>,
    /// The line of the opt-out that covers it.
    pub optout: Option<OptOutReport>,
}

/// An override in force.
#[derive(Clone, Debug, Serialize)]
pub struct OverrideReport {
    /// Its name.
    pub id: String,
    /// What it lifts: `robots`, `robots_5xx_as_404`, `rate`, `signals`.
    pub scope: Vec<&'static str>,
    /// From when it holds no longer.
    pub expires: String,
}

/// The line of an opt-out file.
#[derive(Clone, Debug, Serialize)]
pub struct OptOutReport {
    /// What it covers.
    pub target: String,
    /// Who asked for it.
    pub requested_by: String,
    /// When it was written down.
    pub at: String,
    /// The file.
    pub file: String,
    /// The line's number, from 1.
    pub line: u64,
}

/// What is known about an origin's robots.txt.
#[derive(Clone, Debug, Serialize)]
pub struct RobotsReport {
    /// `unknown`, `fresh`, `stale_ok`, `absent`, `redirect_limit` or `unreachable`.
    pub state: &'static str,
    /// HTTP status of the last good answer.
    pub status: Option<u16>,
    /// When it was received.
    pub fetched: Option<String>,
    /// Until when it lives.
    pub expires: Option<String>,
    /// SHA-256 of the bytes.
    pub digest: Option<String>,
    /// Where the chain of redirects ended.
    pub final_url: Option<String>,
    /// Decoded bytes read.
    pub bytes: Option<u64>,
    /// True when the file was longer than what is parsed.
    pub truncated: bool,
    /// The delay that the rules ask for.
    pub crawl_delay_ms: Option<u64>,
    /// The unbroken run of failures, if the last try failed.
    pub failing: Option<FailingReport>,
    /// True when it is to be asked before anything else.
    pub due: bool,
}

/// An unbroken run of failures to get a robots.txt.
#[derive(Clone, Debug, Serialize)]
pub struct FailingReport {
    /// The first failure.
    pub since: String,
    /// Failures so far.
    pub attempts: u32,
    /// For how long these tries bear witness, in seconds: each for a day at most. At 30 days a last copy applies again.
    pub witnessed_s: u64,
    /// When the next try is due.
    pub next_try: String,
    /// What went wrong last.
    pub cause: &'static str,
    /// The HTTP status of the last answer.
    pub status: Option<u16>,
}

/// One clock.
#[derive(Clone, Debug, Serialize)]
pub struct ClockReport {
    /// Its name, a reason code; `ok` when nothing holds the origin back.
    pub clock: &'static str,
    /// How long it still holds; 0 when it has passed, null when only a change of robots.txt or configuration ends it.
    pub wait_ms: Option<u64>,
    /// The delay that it stands for; null for an instant that the site named.
    pub delay_ms: Option<u64>,
}

/// The clock of one address over all origins on it.
#[derive(Clone, Debug, Serialize)]
pub struct AddressReport {
    /// The address.
    pub address: IpAddr,
    /// Between two requests.
    pub gap_ms: u64,
    /// How long its gap still runs.
    pub wait_ms: Option<u64>,
    /// Requests open.
    pub in_flight: u32,
    /// Requests that may be open; null: any number.
    pub most: Option<u32>,
}

/// What would become of one URL now.
#[derive(Clone, Debug, Serialize)]
pub struct UrlReport {
    /// The URL.
    pub url: String,
    /// `allow`, `refuse`, `needs_robots` or `hold`.
    pub verdict: &'static str,
    /// Why: a reason code; null while robots.txt is unknown.
    pub reason: Option<&'static str>,
    /// The rule that decides.
    pub rule: Option<RuleReport>,
    /// Tokens of the groups that apply.
    pub group: Vec<String>,
    /// What an override lifts for it: the reasons that would refuse, hold or delay it otherwise.
    pub lifted: Vec<&'static str>,
    /// How long a hold lasts; null when only a change of robots.txt or configuration ends it, or nothing is held.
    pub hold_ms: Option<u64>,
    /// Its origin.
    pub origin: OriginReport,
}

/// A rule of robots.txt.
#[derive(Clone, Debug, Serialize)]
pub struct RuleReport {
    /// `allow` or `disallow`.
    pub kind: &'static str,
    /// The pattern as written.
    pub pattern: String,
    /// Its line, counted from 1.
    pub line: u32,
    /// The first line of its group.
    pub group_line: u32,
    /// Octets of the escaped pattern: the longest wins.
    pub priority: u32,
}

impl Gate {
    /// Everything known about `origin`; asks and changes nothing.
    #[must_use]
    pub fn explain_origin(&self, origin: &Origin) -> OriginReport {
        let inner = &self.inner;
        let (now, wall) = (inner.clock.now(), inner.clock.wall());
        let life = inner.cache.life(&self.key(origin));
        let clocks = inner.pacer.clocks(origin, now);
        OriginReport {
            origin: origin.to_string(),
            at: wall.to_string(),
            robots: RobotsReport::of(&life, wall),
            next: clocks.as_ref().map_or_else(ClockReport::none, |clocks| ClockReport {
                clock: clocks.ready.clock.code(),
                wait_ms: wait(clocks.ready.at, now),
                delay_ms: None,
            }),
            clocks: clocks.as_ref().map(|clocks| readings(clocks, now)).unwrap_or_default(),
            address: clocks.as_ref().and_then(|clocks| AddressReport::of(clocks, now)),
            in_flight: clocks.map_or(0, |clocks| clocks.in_flight),
            r#override: self.overrides().in_force(origin, wall).map(|one| OverrideReport::of(one)),
            optout: self.optouts().covering(origin).map(|one| OptOutReport::of(one)),
        }
    }

    /// What would become of `url` now, and everything known about its origin; asks and changes nothing.
    #[must_use]
    pub fn explain(&self, url: &CrawlUrl) -> UrlReport {
        let origin = self.explain_origin(url.origin());
        let report = |verdict, reason: Option<Reason>| UrlReport {
            url: url.to_string(),
            verdict,
            reason: reason.map(Reason::code),
            rule: None,
            group: Vec::new(),
            lifted: Vec::new(),
            hold_ms: None,
            origin,
        };
        match self.judge(url) {
            Judgement::NeedsRobots(_) => report("needs_robots", None),
            Judgement::Hold(Hold { reason, wait }) => {
                UrlReport { hold_ms: wait.map(millis), ..report("hold", Some(reason)) }
            }
            Judgement::Allow(allowance) => report("allow", Some(allowance.decision().reason)).by(allowance.decision()),
            Judgement::Refuse(refusal) => report("refuse", Some(refusal.reason())).by(refusal.decision()),
        }
    }
}

impl UrlReport {
    fn by(self, decision: &Decision) -> Self {
        let lifted = decision.overridden.iter().flat_map(|hit| hit.lifted.iter().map(|one| one.reason.code()));
        Self {
            rule: decision.rule.as_ref().map(RuleReport::of),
            group: decision.robots.evidence().group,
            lifted: lifted.collect(),
            ..self
        }
    }
}

impl OverrideReport {
    fn of(one: &Override) -> Self {
        let scope = one.scope().iter().map(|scope| scope.as_str()).collect();
        Self { id: one.id().to_owned(), scope, expires: one.expires().to_string() }
    }
}

impl OptOutReport {
    fn of(one: &OptOut) -> Self {
        Self {
            target: one.line.target.to_string(),
            requested_by: one.line.requested_by.clone(),
            at: one.line.at.to_string(),
            file: one.file.to_string(),
            line: one.number,
        }
    }
}

impl RuleReport {
    fn of(rule: &RuleEvidence) -> Self {
        let RuleEvidence { kind, pattern, line, group_line, priority } = rule.clone();
        Self { kind, pattern, line, group_line, priority }
    }
}

impl RobotsReport {
    fn of(life: &RobotsLife, now: WallTime) -> Self {
        let copy = life.copy();
        let fetched = life.fetched();
        Self {
            state: match life.standing(now) {
                Standing::Unknown => "unknown",
                Standing::Rules { stale: false, .. } => "fresh",
                Standing::Rules { stale: true, .. } => "stale_ok",
                Standing::Absent | Standing::Denied => "absent",
                Standing::RedirectLimit => "redirect_limit",
                Standing::Unreachable(_) | Standing::Open => "unreachable",
            },
            status: fetched.map(|(_, status, _)| status),
            fetched: fetched.map(|(at, _, _)| at.to_string()),
            expires: fetched.map(|(_, _, until)| until.to_string()),
            digest: copy.map(|copy| copy.digest.to_string()),
            final_url: copy
                .map(|c| c.final_url.as_ref().map_or_else(|| life.origin().robots_url(), CrawlUrl::clone).to_string()),
            bytes: copy.map(|copy| copy.bytes),
            truncated: copy.is_some_and(|copy| copy.truncated),
            crawl_delay_ms: life.asked_pace().delay_at(now).map(millis),
            failing: life.failing().map(FailingReport::of),
            due: life.is_due(now),
        }
    }
}

impl FailingReport {
    fn of(failing: &Failing) -> Self {
        Self {
            since: failing.since.to_string(),
            attempts: failing.attempts,
            witnessed_s: failing.witnessed.as_secs(),
            next_try: failing.next_try.to_string(),
            cause: failing.cause.code(),
            status: failing.status,
        }
    }
}

impl ClockReport {
    const fn none() -> Self {
        Self { clock: Reason::Ok.code(), wait_ms: Some(0), delay_ms: None }
    }
}

impl AddressReport {
    fn of(clocks: &OriginClocks, now: Instant) -> Option<Self> {
        let clock = clocks.address?;
        Some(Self {
            address: clock.address,
            gap_ms: millis(clock.gap),
            wait_ms: wait(clock.free, now),
            in_flight: clock.in_flight,
            most: Some(clock.most).filter(|most| *most < u32::MAX),
        })
    }
}

fn readings(clocks: &OriginClocks, now: Instant) -> Vec<ClockReport> {
    let report = |reading: &comity_policy::ClockReading| ClockReport {
        clock: reading.clock.code(),
        wait_ms: wait(reading.until, now),
        delay_ms: Some(millis(reading.delay)).filter(|delay| *delay > 0),
    };
    clocks.readings.iter().map(report).collect()
}

/// Rounded up: who waits as told is never early.
fn wait(until: Instant, now: Instant) -> Option<u64> {
    (until != Instant::NEVER).then(|| u64::try_from(until.since(now).as_micros().div_ceil(1000)).unwrap_or(u64::MAX))
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
