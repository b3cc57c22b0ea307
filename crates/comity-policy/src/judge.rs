use std::sync::Arc;
use std::time::Duration;

use comity_robots::{Evidence, RuleSet};
use comity_signals::{
    Declared, HeadFacts, Preferences, Purpose, Remarks, RobotsReading, RslConditions, RslPointers, SignalOptions,
    TdmReading, UseCeiling,
};
use comity_url::{CrawlUrl, Origin};

use crate::{
    AskedPace, Decision, Grant, Grants, Lifting, OptOuts, OverrideScope, Overrides, Politeness, Reason, Reviews,
    RobotsBasis, RobotsCopy, RobotsLife, RobotsState, RuleEvidence, Silence, SiteFile, SiteFiles, Standing, Vantage,
    WallTime,
    content::{self, Doubt},
};

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
    vantage: Vantage,
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

    /// From where the rules were read that let it through: only from there may it be sent.
    #[must_use]
    pub const fn vantage(&self) -> Vantage {
        self.vantage
    }

    /// The same allowance, by rules that were read from `vantage`: for whoever keeps one life of robots.txt per vantage.
    #[must_use]
    pub const fn seen_from(mut self, vantage: Vantage) -> Self {
        self.vantage = vantage;
        self
    }

    pub(crate) fn into_parts(self) -> (CrawlUrl, Arc<Decision>, Vantage) {
        (self.url, self.decision, self.vantage)
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
        Self::of(Decision::bare(reason, RobotsBasis::none(), decided))
    }

    pub(crate) fn of(decision: Decision) -> Self {
        Self { decision: Arc::new(decision) }
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

/// Judges `url` by the life of its origin's robots.txt. The one decision engine (invariant 14).
///
/// Order: opt-outs, standing of robots.txt, Crawl-delay ceiling, its rules (the strictest of all token lists), purposes.
/// Never a guess: what is unknown answers [`Judgement::NeedsRobots`], what is unreachable [`Judgement::Hold`].
/// A life of another origin than the URL's answers [`Judgement::NeedsRobots`] too. An override lifts what its scope
/// names, never an opt-out and never [`Judgement::NeedsRobots`]; what it lifted stands in the decision.
#[must_use]
pub fn judge(url: &CrawlUrl, life: &RobotsLife, terms: &Terms, optouts: &OptOuts, now: WallTime) -> Judgement {
    judge_site(url, life, SiteFiles::NONE, terms, optouts, now)
}

/// [`judge`] where the site's files about use are known, too: what they say of `url` counts like the signals of robots.txt.
/// Whoever has none judges by none; that one has to be fetched first is not said here.
#[must_use]
pub fn judge_site(
    url: &CrawlUrl,
    life: &RobotsLife,
    site: &SiteFiles,
    terms: &Terms,
    optouts: &OptOuts,
    now: WallTime,
) -> Judgement {
    if let Some(refusal) = optouts.refusal(url.origin(), now) {
        return Judgement::Refuse(refusal);
    }
    if life.origin() != url.origin() {
        return Judgement::NeedsRobots(url.origin().clone());
    }
    let mut lifting = Lifting::of(life, terms, now);
    let open = |url, robots, lifting, now| open(url, robots, (site, terms), lifting, now);
    match life.standing(now) {
        Standing::Unknown => Judgement::NeedsRobots(life.origin().clone()),
        Standing::Unreachable(_) if life.is_due(now) => Judgement::NeedsRobots(life.origin().clone()),
        Standing::Unreachable(failing) if lifting.lifts_unreachable(failing) => {
            open(url, RobotsBasis::unreachable(failing), lifting, now)
        }
        Standing::Unreachable(failing) => {
            Judgement::Hold(Hold { reason: Reason::ParkRobots, wait: Some(failing.next_try.since(now)) })
        }
        Standing::Rules { copy, stale } => {
            let state = if stale { RobotsState::StaleOk } else { RobotsState::Fresh };
            by_rules(url, copy, |list| life.basis(state, list), (site, terms), lifting, now)
        }
        Standing::Denied if lifting.lifts(OverrideScope::Robots, Reason::RobotsDisallowAll) => {
            open(url, life.basis(RobotsState::Absent, 0), lifting, now)
        }
        Standing::Denied => refuse(Decision::bare(Reason::RobotsDisallowAll, life.basis(RobotsState::Absent, 0), now)),
        Standing::Absent => open(url, life.basis(RobotsState::Absent, 0), lifting, now),
        Standing::RedirectLimit => open(url, life.basis(RobotsState::RedirectLimit, 0), lifting, now),
        Standing::Open => open(url, life.basis(RobotsState::Unreachable, 0), lifting, now),
    }
}

/// What is known of the site's files, and the settings.
type Basis<'a> = (&'a SiteFiles, &'a Terms);

/// Allowed, as far as no rule is known: what the site's files and its terms say stays.
fn open(
    url: &CrawlUrl,
    robots: RobotsBasis,
    (site, terms): Basis<'_>,
    mut lifting: Lifting,
    now: WallTime,
) -> Judgement {
    let (preferences, remarks) = with_site((Preferences::none(), Remarks::NONE), (site, terms), url);
    let above = terms.is_above(&remarks);
    let grants = content::granted(&preferences, Doubt { above, ..Doubt::default() }, terms, url.origin(), now);
    let refusal = terms.refusal(&preferences, above, &grants);
    let refusal = refusal.filter(|denied| !lifting.lifts(OverrideScope::Signals, *denied));
    let reason = refusal.unwrap_or(Reason::OkNoRules);
    let (site, level) = (site.clone(), terms.level);
    let bare = Decision::bare(reason, robots, now);
    let decision = lifting.settle(Decision { preferences, remarks, level, site, grants, ..bare });
    if refusal.is_some() { refuse(decision) } else { allow(url, decision) }
}

/// What is said of a URL, and what is to be remarked.
type Said = (Preferences, Remarks);

fn with_site((known, remarks): Said, (site, terms): Basis<'_>, url: &CrawlUrl) -> Said {
    let (origin, target) = (url.origin(), url.request_target().as_bytes());
    let (known, remarks) = match site.tdmrep.as_deref().and_then(SiteFile::tdmrep) {
        Some(rules) => {
            let said = TdmReading::of_file(rules, target, terms.options);
            (said.preferences(known), remarks.with(&said))
        }
        None => (known, remarks),
    };
    let (said, of_files) = if site.is_none() { Default::default() } else { site.read(origin, target, terms) };
    (known.with(said).with(terms.reviews.statements(origin)), remarks.with(of_files))
}

/// What the operator wants and accepts: the settings of a judgement.
#[derive(Clone, Debug)]
pub struct Terms {
    /// What the content is wanted for.
    pub purposes: Vec<Declared>,
    /// The longest Crawl-delay that is honoured; above it the origin is held.
    pub max_crawl_delay: Duration,
    /// The own delay between two requests to an origin, as configured: what a rate override puts in the place of a
    /// Crawl-delay.
    pub delay: Duration,
    /// Written exceptions.
    pub overrides: Overrides,
    /// What is done where nobody says anything about a declared purpose.
    pub silence: Silence,
    /// Uses that a licence, a contract or a law permits.
    pub grants: Grants,
    /// What was read in the terms of sites: denials count like statements.
    pub reviews: Reviews,
    /// How far signals are read beyond their own words.
    pub options: SignalOptions,
    /// Which conditions of RSL licences are met.
    pub conditions: RslConditions,
    /// The most that is done with content, where that is declared: a lower `use=` refuses.
    pub level: Option<UseCeiling>,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            purposes: vec![Declared::Judged(comity_signals::Purpose::Search)],
            max_crawl_delay: Politeness::default().max_crawl_delay,
            delay: Politeness::default().delay,
            overrides: Overrides::default(),
            silence: Silence::Proceed,
            grants: Grants::default(),
            reviews: Reviews::default(),
            options: SignalOptions::default(),
            conditions: RslConditions::default(),
            level: None,
        }
    }
}

impl Terms {
    /// The reason to refuse before anything is sent. The answer may break a silence: it refuses nothing yet.
    fn refusal(&self, preferences: &Preferences, above: bool, grants: &[(Purpose, Arc<Grant>)]) -> Option<Reason> {
        content::refusal(&self.purposes, preferences, (Silence::Proceed, above), grants)
    }

    /// Whether more is to be done with the content than `use=` permits.
    pub(crate) fn is_above(&self, remarks: &Remarks) -> bool {
        self.level.is_some_and(|level| remarks.constraints.use_ceiling.is_some_and(|ceiling| level > ceiling))
    }
}

fn by_rules(
    url: &CrawlUrl,
    copy: &RobotsCopy,
    basis: impl Fn(usize) -> RobotsBasis,
    (site, terms): Basis<'_>,
    mut lifting: Lifting,
    now: WallTime,
) -> Judgement {
    let (target, lists) = (url.request_target().as_bytes(), &*copy.rules);
    let Some((list, set, verdict)) = strictest(lists, target) else {
        // A copy without a rule set cannot be judged by: fail closed, ask again.
        return Judgement::NeedsRobots(url.origin().clone());
    };
    // A delay of some hours only closes these hours; that is the pacer's to say.
    let asked = AskedPace::of(lists).delay();
    let too_long = asked.is_some_and(|delay| delay > terms.max_crawl_delay) && !url.is_robots_txt();
    if too_long && !lifting.lifts(OverrideScope::Rate, Reason::ParkCrawlDelay) {
        return Judgement::Hold(Hold { reason: Reason::ParkCrawlDelay, wait: None });
    }
    let (reason, rule) = match verdict {
        Evidence::Rule(rule) => (Reason::Ok, Some(RuleEvidence::from(rule))),
        Evidence::RobotsTxt => (Reason::Ok, None),
        Evidence::NoRule if set.group_tokens().is_empty() => (Reason::OkNoRules, None),
        Evidence::NoRule => (Reason::Ok, None),
    };
    let lifted = !verdict.allowed() && lifting.lifts(OverrideScope::Robots, Reason::RobotsDisallow);
    let access = if lifted { Access::Lifted } else { Access::ByRules };
    let is_open = verdict.allowed() || lifted;
    let (preferences, remarks) = strictest_reading(copy, target, access, terms.options);
    // A path that may not be crawled has no preferences.
    let (preferences, remarks) = match is_open {
        true => with_site((preferences, remarks), (site, terms), url),
        false => (Preferences::none(), remarks),
    };
    let above = is_open && terms.is_above(&remarks);
    let grants = content::granted(&preferences, Doubt { above, ..Doubt::default() }, terms, url.origin(), now);
    let refusal = if is_open {
        let denied = terms.refusal(&preferences, above, &grants);
        denied.filter(|denied| !lifting.lifts(OverrideScope::Signals, *denied))
    } else {
        Some(Reason::RobotsDisallow)
    };
    let reason = refusal.unwrap_or(reason);
    let (site, level) = (site.clone(), terms.level);
    let bare = Decision::bare(reason, basis(list), now);
    let decision = lifting.settle(Decision { rule, preferences, remarks, level, site, grants, ..bare });
    if refusal.is_some() { refuse(decision) } else { allow(url, decision) }
}

/// Whether a target may be fetched by the rules, or because an override lifted their refusal.
#[derive(Clone, Copy)]
enum Access {
    ByRules,
    Lifted,
}

/// The first rule set that refuses, else the first: its place, itself, its evidence.
fn strictest<'a>(lists: &'a [RuleSet], target: &[u8]) -> Option<(usize, &'a RuleSet, Evidence<'a>)> {
    let mut first = None;
    for (place, set) in lists.iter().enumerate() {
        let evidence = set.evidence(target);
        if !evidence.allowed() {
            return Some((place, set, evidence));
        }
        if place == 0 {
            first = Some((place, set, evidence));
        }
    }
    first
}

/// What all token lists and the groups for other tokens say: any denial denies. Of a target that a list refuses nobody asks.
fn strictest_reading(copy: &RobotsCopy, target: &[u8], access: Access, options: SignalOptions) -> Said {
    let read = |set: &RuleSet| {
        let said = match access {
            Access::ByRules => RobotsReading::of_usage(set, target, options),
            Access::Lifted => RobotsReading::despite_refusal(set, target, options),
        };
        let remarks = Remarks::from(&said);
        // Most files have no line that is no rule.
        let remarks = if set.signals().is_empty() && set.file_signals().is_empty() {
            remarks
        } else {
            remarks.with(&RslPointers::read::<&str, &str>(Some(set), &[], &HeadFacts::default()))
        };
        (said.preferences, remarks)
    };
    let join = |(said, remarks): Said, (more, others): Said| {
        (said.with(more.statements().iter().cloned()), remarks.with(others))
    };
    let (said, remarks) = copy.rules.iter().map(read).reduce(join).unwrap_or_default();
    (said.with(copy.policies.denials(target)).with(copy.agents.denials(target, options)), remarks)
}

fn allow(url: &CrawlUrl, decision: Decision) -> Judgement {
    Judgement::Allow(Allowance { url: url.clone(), decision: Arc::new(decision), vantage: Vantage::Direct })
}

fn refuse(decision: Decision) -> Judgement {
    Judgement::Refuse(Refusal::of(decision))
}
