use std::sync::Arc;

use comity_robots::RuleSet;
use comity_signals::{AgentGroups, PolicyGroups};
use comity_url::{CrawlUrl, Origin};

use crate::robots_life::{Found, Known};
use crate::{Digest, Failing, RobotsCopy, RobotsLife, RobotsPolicy, Validators, WallTime};

/// A [`RobotsLife`] as it outlives its process: plain values, without the rules, which are compiled anew from the
/// bytes that [`Remembered::Copy`] names. Civil times only, so that it holds on another machine's clock as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LifeMemory {
    /// The last good answer.
    pub known: Option<KnownMemory>,
    /// The unbroken run of failures, if the last try failed.
    pub failing: Option<Failing>,
    /// When robots.txt was last answered with any HTTP status.
    pub answered: Option<WallTime>,
}

/// The last good answer, remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownMemory {
    /// What it was.
    pub what: Remembered,
    /// HTTP status of the final answer.
    pub status: u16,
    /// When it was received.
    pub fetched: WallTime,
    /// When it was last said to hold: at `fetched`, or by a later 304.
    pub confirmed: WallTime,
    /// Until when it lives.
    pub expires: WallTime,
}

/// What kind of answer it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// A file, kept under its digest.
    Copy {
        /// SHA-256 of the kept bytes.
        digest: Digest,
        /// Decoded bytes read.
        bytes: u64,
        /// True when the file was longer than what is parsed.
        truncated: bool,
        /// Where the chain of redirects ended, if not at the origin's own `/robots.txt`.
        final_url: Option<CrawlUrl>,
        /// What to ask anew with.
        validators: Option<Box<Validators>>,
    },
    /// 4xx: read by the policy in force when it is recalled.
    Absent,
    /// Too many redirects, a loop, or a target that is no http(s) URL.
    RedirectLimit,
}

impl LifeMemory {
    /// The digest of the bytes that [`RobotsLife::recall`] needs; `None` when it needs none.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        match &self.known.as_ref()?.what {
            Remembered::Copy { digest, .. } => Some(*digest),
            _ => None,
        }
    }
}

impl RobotsLife {
    /// This life as it is to be remembered.
    #[must_use]
    pub fn memory(&self) -> LifeMemory {
        LifeMemory {
            known: self.known.as_deref().map(Known::memory),
            failing: self.failing().cloned(),
            answered: self.answered,
        }
    }

    /// A life as it was remembered. Only the gate may make one (invariant 1), as with [`RobotsLife::new`].
    ///
    /// `rules` are those of the bytes that [`LifeMemory::digest`] names, per token list, and its groups of policy tokens and of the agents of others; without them a remembered copy
    /// is forgotten, so that the file is asked anew. A run of failures is kept in any case.
    #[must_use]
    pub fn recall(
        origin: Origin,
        policy: Arc<RobotsPolicy>,
        memory: LifeMemory,
        rules: Option<(Box<[RuleSet]>, PolicyGroups, AgentGroups)>,
    ) -> Self {
        let known = memory.known.and_then(|known| Known::recall(known, &origin, &policy, rules));
        Self {
            origin,
            policy,
            known: known.map(Arc::new),
            failing: memory.failing.map(Box::new),
            answered: memory.answered,
        }
    }
}

impl Known {
    fn memory(&self) -> KnownMemory {
        let what = match &self.what {
            Found::Copy(copy) => Remembered::Copy {
                digest: copy.digest,
                bytes: copy.bytes,
                truncated: copy.truncated,
                final_url: copy.final_url.clone(),
                validators: copy.validators.clone(),
            },
            Found::Absent | Found::Denied => Remembered::Absent,
            Found::RedirectLimit => Remembered::RedirectLimit,
        };
        let Self { status, fetched, confirmed, expires, .. } = *self;
        KnownMemory { what, status, fetched, confirmed, expires }
    }

    fn recall(
        memory: KnownMemory,
        origin: &Origin,
        policy: &RobotsPolicy,
        rules: Option<(Box<[RuleSet]>, PolicyGroups, AgentGroups)>,
    ) -> Option<Self> {
        let KnownMemory { what, status, fetched, confirmed, expires } = memory;
        let what = match what {
            Remembered::Copy { digest, bytes, truncated, final_url, validators } => {
                let (rules, policies, agents) = rules?;
                Found::Copy(RobotsCopy { digest, bytes, truncated, final_url, validators, rules, policies, agents })
            }
            Remembered::Absent if policy.strict_4xx.contains(&status) => Found::Denied,
            Remembered::Absent => Found::Absent,
            Remembered::RedirectLimit => Found::RedirectLimit,
        };
        Some(Self { origin: origin.clone(), what, status, fetched, confirmed, expires })
    }
}
