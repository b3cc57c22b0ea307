use std::sync::Arc;
use std::time::Duration;

use comity_robots::RuleRef;
use comity_signals::{AgentClass, Preferences, Remarks, UseCeiling};
use comity_url::CrawlUrl;

use crate::robots_life::Known;
use crate::{Digest, Failing, Grant, OptOut, Overridden, Reason, Silence, SiteFiles, Stage, WallTime};

/// A judgement with everything that a reader needs to check it years later.
#[derive(Clone, Debug)]
pub struct Decision {
    /// `ok`, `ok.no_rules`, `ok.override` or the reason of the refusal.
    pub reason: Reason,
    /// When it was decided.
    pub decided: WallTime,
    /// The robots.txt that it rests on.
    pub robots: RobotsBasis,
    /// The rule that decided; `None` when none matched.
    pub rule: Option<RuleEvidence>,
    /// What the site says about each purpose in its robots.txt.
    pub preferences: Preferences,
    /// The override that was in force, and what it lifted; `None` when nothing was lifted. The rule, the standing and
    /// the preferences that it lifted stand in the other fields.
    pub overridden: Option<Arc<Overridden>>,
    /// The opt-out that refused.
    pub optout: Option<Arc<OptOut>>,
    /// What was known of the files in which the site speaks about use.
    pub site: SiteFiles,
    /// What it rests on.
    pub stage: Stage,
    /// Of a second decision: when it was made, and the first, whose `decided` and robots.txt stand here, too.
    pub again: WallTime,
    /// The decision before the request, if this one was made after it.
    pub before: Option<Arc<Self>>,
    /// What was done where nobody spoke.
    pub silence: Silence,
    /// What was read beside: constraints, and what was odd.
    pub remarks: Remarks,
    /// The most that is done with content, where that is declared.
    pub level: Option<UseCeiling>,
    /// The grants that it relies on: each denied, or silent, purpose with the one that permits it.
    pub grants: Vec<(comity_signals::Purpose, Arc<Grant>)>,
}

impl Decision {
    pub(crate) const fn bare(reason: Reason, robots: RobotsBasis, decided: WallTime) -> Self {
        Self {
            reason,
            decided,
            robots,
            rule: None,
            preferences: Preferences::none(),
            overridden: None,
            optout: None,
            site: SiteFiles { tdmrep: None, ai_txt: None, trust_txt: None, licences: Vec::new() },
            stage: Stage::Before,
            again: decided,
            before: None,
            silence: Silence::Proceed,
            remarks: Remarks::NONE,
            level: None,
            grants: Vec::new(),
        }
    }

    /// True when the answer was read and nothing of its body may be kept.
    #[must_use]
    pub const fn is_withheld(&self) -> bool {
        self.before.is_some() && !self.reason.is_ok()
    }
}

/// What of robots.txt a decision rests on: shared with the life it was judged by, and read out as
/// [`RobotsEvidence`] when a record needs it. Cloning counts a reference: a decision on a warm origin copies nothing.
#[derive(Clone, Debug)]
pub struct RobotsBasis(Basis);

#[derive(Clone, Debug)]
enum Basis {
    /// robots.txt plays no part.
    None,
    /// A life as it stood, and which of its rule sets answered.
    Life { known: Option<Arc<Known>>, state: RobotsState, list: usize },
    /// Told by somebody else, for instance a test.
    Told(Arc<RobotsEvidence>),
}

impl RobotsBasis {
    /// robots.txt was not asked and plays no part.
    #[must_use]
    pub const fn none() -> Self {
        Self(Basis::None)
    }

    pub(crate) const fn of(known: Option<Arc<Known>>, state: RobotsState, list: usize) -> Self {
        Self(Basis::Life { known, state, list })
    }

    /// robots.txt could not be had: no copy took part.
    pub(crate) fn unreachable(failing: &Failing) -> Self {
        let (state, status) = (RobotsState::Unreachable, failing.status);
        RobotsEvidence { state, status, ..RobotsEvidence::none() }.into()
    }

    /// What kind of standing robots.txt had.
    #[must_use]
    pub fn state(&self) -> RobotsState {
        match &self.0 {
            Basis::None => RobotsState::NotApplicable,
            Basis::Life { state, .. } => *state,
            Basis::Told(evidence) => evidence.state,
        }
    }

    /// SHA-256 of the bytes; `None` when there were none.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        match &self.0 {
            Basis::None => None,
            Basis::Life { known, .. } => known.as_ref().and_then(|known| known.copy()).map(|copy| copy.digest),
            Basis::Told(evidence) => evidence.digest,
        }
    }

    /// What the agents of others that the file names meet at `target`, by class, where they are looked at. Evidence of intent.
    #[must_use]
    pub fn others(&self, target: &[u8]) -> Vec<AgentClass> {
        match &self.0 {
            Basis::Life { known: Some(known), .. } => {
                known.copy().map(|copy| copy.agents.classes(target)).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// Everything a record says of it. Cost: a copy of the group's tokens.
    #[must_use]
    pub fn evidence(&self) -> RobotsEvidence {
        match &self.0 {
            Basis::None => RobotsEvidence::none(),
            Basis::Life { known: None, state, .. } => RobotsEvidence { state: *state, ..RobotsEvidence::none() },
            Basis::Life { known: Some(known), state, list } => known.evidence(*state, *list),
            Basis::Told(evidence) => RobotsEvidence::clone(evidence),
        }
    }
}

impl From<RobotsEvidence> for RobotsBasis {
    fn from(told: RobotsEvidence) -> Self {
        Self(Basis::Told(Arc::new(told)))
    }
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
    /// robots.txt plays no part: an opt-out, an address that is refused, or a robots.txt itself.
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
