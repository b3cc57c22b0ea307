use std::sync::Arc;
use std::time::Duration;

use comity_robots::{Evidence, RuleRef, RuleSet};
use comity_signals::{Declared, Preferences};
use comity_url::{CrawlUrl, Origin};

use crate::{Digest, Reason, RobotsLife, Standing, WallTime};

/// May this URL be fetched? Synchronous, answered from the gate's cache; the scheduler asks it before every dispatch.
pub trait Judge: Send + Sync {
    /// Judges one URL by what is known now.
    fn judge(&self, url: &CrawlUrl) -> Judgement;
}

/// The answer of [`Judge`].
#[derive(Debug)]
pub enum Judgement {
    /// It may be fetched, in its turn.
    Allow(Allowance),
    /// It may not; the evidence goes into its record.
    Refuse(Refusal),
    /// robots.txt of the origin has to be fetched first.
    NeedsRobots(Origin),
    /// Not now: robots.txt is unreachable, or the origin is parked.
    Hold(Hold),
}

/// Proof that `judge` let a URL through. Private fields, no `Clone`: it cannot be made or used twice.
///
/// ```compile_fail
/// fn reuse(allowance: comity_policy::Allowance) -> [comity_policy::Allowance; 2] {
///     [allowance.clone(), allowance] // no Clone
/// }
/// ```
#[derive(Debug)]
pub struct Allowance {
    url: CrawlUrl,
    decision: Arc<Decision>,
}

impl Allowance {
    /// The URL that was judged.
    #[must_use]
    pub const fn url(&self) -> &CrawlUrl {
        &self.url
    }

    /// The decision with its evidence.
    #[must_use]
    pub const fn decision(&self) -> &Arc<Decision> {
        &self.decision
    }

    pub(crate) fn into_parts(self) -> (CrawlUrl, Arc<Decision>) {
        (self.url, self.decision)
    }
}

/// A URL that is not fetched, and why.
#[derive(Clone, Debug)]
pub struct Refusal {
    decision: Arc<Decision>,
}

impl Refusal {
    /// A refusal that needs no robots.txt: the name does not exist, or no address may be connected to.
    #[must_use]
    pub fn before_robots(reason: Reason, decided: WallTime) -> Self {
        Self { decision: Arc::new(Decision::bare(reason, RobotsEvidence::none(), decided)) }
    }

    /// The decision with its evidence.
    #[must_use]
    pub const fn decision(&self) -> &Arc<Decision> {
        &self.decision
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.decision.reason
    }
}

/// An origin that has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Why.
    pub reason: Reason,
    /// How long from the moment of the judgement; `None` when only a change of the site's robots.txt or of the
    /// configuration can end it. A duration, because the scheduler's clock is not the wall.
    pub wait: Option<Duration>,
}

/// A judgement with everything that a reader needs to check it years later.
#[derive(Clone, Debug)]
pub struct Decision {
    /// `ok`, `ok.no_rules` or the reason of the refusal.
    pub reason: Reason,
    /// When it was decided.
    pub decided: WallTime,
    /// The robots.txt that it rests on.
    pub robots: RobotsEvidence,
    /// The rule that decided; `None` when none matched.
    pub rule: Option<RuleEvidence>,
    /// What the site says about each purpose in its robots.txt.
    pub preferences: Preferences,
}

/// The robots.txt behind a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsEvidence {
    /// What kind of standing it had.
    pub state: RobotsState,
    /// SHA-256 of the bytes; `None` when there were none.
    pub digest: Option<Digest>,
    /// When it was received.
    pub fetched: Option<WallTime>,
    /// Until when it lives.
    pub expires: Option<WallTime>,
    /// HTTP status of the final answer.
    pub status: Option<u16>,
    /// Where the chain of redirects ended.
    pub final_url: Option<CrawlUrl>,
    /// Decoded bytes read.
    pub bytes: u64,
    /// True when the file was longer than what is parsed.
    pub truncated: bool,
    /// Tokens of the merged groups as written; `["*"]` for the global one; empty when no group applies.
    pub group: Vec<String>,
    /// The first line of the first of these groups.
    pub group_line: Option<u32>,
    /// The Crawl-delay of the group.
    pub crawl_delay: Option<Duration>,
}

impl RobotsEvidence {
    /// robots.txt was not asked and plays no part.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            state: RobotsState::NotApplicable,
            digest: None,
            fetched: None,
            expires: None,
            status: None,
            final_url: None,
            bytes: 0,
            truncated: false,
            group: Vec::new(),
            group_line: None,
            crawl_delay: None,
        }
    }
}

/// The state words of records (design §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RobotsState {
    /// Within its life.
    Fresh,
    /// Past its life, used because robots.txt has been unreachable for long.
    StaleOk,
    /// 4xx: no rules (or a refusal, where the operator is strict).
    Absent,
    /// Too many redirects: no rules.
    RedirectLimit,
    /// Disallow all.
    Unreachable,
    /// robots.txt plays no part: an override, or a robots.txt itself.
    NotApplicable,
}

impl RobotsState {
    /// The word in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::StaleOk => "stale_ok",
            Self::Absent => "absent",
            Self::RedirectLimit => "redirect_limit",
            Self::Unreachable => "unreachable",
            Self::NotApplicable => "not_applicable",
        }
    }
}

/// The rule that decided, as a record keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleEvidence {
    /// `allow` or `disallow`.
    pub kind: &'static str,
    /// The pattern as written.
    pub pattern: String,
    /// Its line, counted from 1.
    pub line: u32,
    /// The first line of its group.
    pub group_line: u32,
    /// Its priority: octets of the escaped pattern.
    pub priority: u32,
}

/// Judges `url` by the life of its origin's robots.txt. The one decision engine (invariant 14).
///
/// Order: standing of robots.txt, its rules (the strictest of all token lists), Crawl-delay ceiling, purposes.
/// Never a guess: what is unknown answers [`Judgement::NeedsRobots`], what is unreachable [`Judgement::Hold`].
/// A life of another origin than the URL's answers [`Judgement::NeedsRobots`] too.
#[must_use]
pub fn judge(url: &CrawlUrl, life: &RobotsLife, terms: &Terms, now: WallTime) -> Judgement {
    if life.origin() != url.origin() {
        return Judgement::NeedsRobots(url.origin().clone());
    }
    match life.standing(now) {
        Standing::Unknown => Judgement::NeedsRobots(life.origin().clone()),
        Standing::Unreachable(_) if life.is_due(now) => Judgement::NeedsRobots(life.origin().clone()),
        Standing::Unreachable(failing) => {
            Judgement::Hold(Hold { reason: Reason::ParkRobots, wait: Some(failing.next_try.since(now)) })
        }
        Standing::Rules { copy, stale } => by_rules(url, &copy.rules, evidence(life, stale), terms, now),
        Standing::Denied => refuse(Decision::bare(Reason::RobotsDisallowAll, evidence(life, false), now)),
        Standing::Absent | Standing::RedirectLimit | Standing::Open => {
            allow(url, Decision::bare(Reason::OkNoRules, evidence(life, false), now))
        }
    }
}

/// What the operator wants and accepts: the settings of a judgement.
#[derive(Clone, Debug)]
pub struct Terms {
    /// What the content is wanted for.
    pub purposes: Vec<Declared>,
    /// The longest Crawl-delay that is honoured; above it the origin is held.
    pub max_crawl_delay: Duration,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            purposes: vec![Declared::Judged(comity_signals::Purpose::Search)],
            max_crawl_delay: Duration::from_secs(300),
        }
    }
}

impl Terms {
    /// The reason to refuse when every judged purpose is denied and nothing else is declared; design §7 "purposes".
    fn refusal(&self, preferences: &Preferences) -> Option<Reason> {
        use comity_signals::{Purpose, Verdict};
        let denied = |p: &Declared| p.judged().filter(|p| preferences.verdict(*p) == Verdict::Denied);
        let first = self.purposes.first().and_then(denied)?;
        self.purposes.iter().all(|p| denied(p).is_some()).then_some(match first {
            Purpose::Search => Reason::SignalSearch,
            Purpose::AiInput => Reason::SignalAiInput,
            Purpose::AiTrain => Reason::SignalAiTrain,
            Purpose::Tdm => Reason::SignalTdm,
        })
    }
}

impl Decision {
    const fn bare(reason: Reason, robots: RobotsEvidence, decided: WallTime) -> Self {
        Self { reason, decided, robots, rule: None, preferences: Preferences::none() }
    }
}

fn by_rules(url: &CrawlUrl, lists: &[RuleSet], mut robots: RobotsEvidence, terms: &Terms, now: WallTime) -> Judgement {
    let target = url.request_target().as_bytes();
    let Some(set) = lists.iter().find(|set| !set.allows(target)).or_else(|| lists.first()) else {
        // A copy without a rule set cannot be judged by: fail closed, ask again.
        return Judgement::NeedsRobots(url.origin().clone());
    };
    let verdict = set.evidence(target);
    robots.group = set.group_tokens().iter().map(ToString::to_string).collect();
    robots.group_line = set.group_line();
    robots.crawl_delay = asked_delay(lists);
    if robots.crawl_delay.is_some_and(|delay| delay > terms.max_crawl_delay) && !url.is_robots_txt() {
        return Judgement::Hold(Hold { reason: Reason::ParkCrawlDelay, wait: None });
    }
    let (reason, rule) = match verdict {
        Evidence::Rule(rule) => (Reason::Ok, Some(RuleEvidence::from(rule))),
        Evidence::RobotsTxt => (Reason::Ok, None),
        Evidence::NoRule if robots.group.is_empty() => (Reason::OkNoRules, None),
        Evidence::NoRule => (Reason::Ok, None),
    };
    let preferences = strictest_preferences(lists, target);
    let mut decision = Decision { reason, decided: now, robots, rule, preferences };
    if !verdict.allowed() {
        decision.reason = Reason::RobotsDisallow;
        return refuse(decision);
    }
    match terms.refusal(&decision.preferences) {
        Some(reason) => {
            decision.reason = reason;
            refuse(decision)
        }
        None => allow(url, decision),
    }
}

/// The preferences of all token lists: any denial denies.
fn strictest_preferences(lists: &[RuleSet], target: &[u8]) -> Preferences {
    let read = |set| comity_signals::robots_preferences(set, target);
    match lists {
        [only] => read(only),
        several => {
            let statements: Vec<_> = several.iter().flat_map(|set| read(set).statements().to_vec()).collect();
            Preferences::combine(&statements)
        }
    }
}

/// The delay that robots.txt asks for: the largest Crawl-delay or Request-rate of all token lists.
pub(crate) fn asked_delay(lists: &[RuleSet]) -> Option<Duration> {
    let one = |set: &RuleSet| set.crawl_delay().max(set.request_rate().map(|rate| rate.delay()));
    lists.iter().filter_map(one).max()
}

fn allow(url: &CrawlUrl, decision: Decision) -> Judgement {
    Judgement::Allow(Allowance { url: url.clone(), decision: Arc::new(decision) })
}

fn refuse(decision: Decision) -> Judgement {
    Judgement::Refuse(Refusal { decision: Arc::new(decision) })
}

/// What a record says of the robots.txt that `life` stands on.
fn evidence(life: &RobotsLife, stale: bool) -> RobotsEvidence {
    let copy = life.copy();
    let fetched = life.fetched();
    RobotsEvidence {
        state: match (copy, stale) {
            (Some(_), true) => RobotsState::StaleOk,
            (Some(_), false) => RobotsState::Fresh,
            (None, _) => life.state_without_copy(),
        },
        digest: copy.map(|c| c.digest),
        fetched: fetched.map(|f| f.0),
        expires: fetched.map(|f| f.2),
        status: fetched.map(|f| f.1),
        final_url: copy.map(|c| c.final_url.clone()),
        bytes: copy.map_or(0, |c| c.bytes),
        truncated: copy.is_some_and(|c| c.truncated),
        group: Vec::new(),
        group_line: None,
        crawl_delay: None,
    }
}

impl From<RuleRef<'_>> for RuleEvidence {
    fn from(rule: RuleRef<'_>) -> Self {
        Self {
            kind: rule.kind().as_str(),
            pattern: rule.pattern().into_owned(),
            line: rule.line(),
            group_line: rule.group_line(),
            priority: rule.priority(),
        }
    }
}
