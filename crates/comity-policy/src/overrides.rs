//! Written exceptions: per origin, with a basis, a justification and an end (docs/decisions/0016).

mod draft;
mod lifting;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use comity_url::Origin;

use crate::{AskedPace, Floor, WallTime};

pub use draft::{OverrideDraft, OverrideError};
pub(crate) use lifting::Lifting;
pub use lifting::{Lifted, Overridden};

/// A written, expiring exception for named origins: the only thing that bends a rule of a site.
///
/// One type for crawler and gateway. Made by [`Overrides::new`], which checks it; it holds from `created` (included)
/// to `expires` (excluded). It never lifts the address guard, the rules of identity, or an opt-out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    id: Arc<str>,
    origins: Vec<Origin>,
    scope: Vec<OverrideScope>,
    basis: OverrideBasis,
    justification: String,
    approved_by: String,
    created: WallTime,
    expires: WallTime,
}

/// What an override lifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OverrideScope {
    /// `robots`: a Disallow, a strict 4xx or an unreachable robots.txt does not refuse.
    Robots,
    /// `robots_5xx_as_404`: a robots.txt whose last answer was HTTP 5xx counts as absent.
    Robots5xxAs404,
    /// `rate`: the least floors bend, and a Crawl-delay gives way to the own delay, or is cut to the longest accepted.
    Rate,
    /// `signals`: denied purposes do not refuse; the record holds them all the same.
    Signals,
}

/// Why the operator may do so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverrideBasis {
    /// `own_site`: the operator answers for the site.
    OwnSite,
    /// `written_permission`: the site's owner agreed in writing.
    WrittenPermission,
    /// `statutory`: a law says so.
    Statutory,
}

/// Every override of a configuration. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    all: Arc<[Arc<Override>]>,
    /// Of one origin the periods do not overlap, so that one override at most is in force.
    by_origin: Arc<HashMap<Origin, Vec<Arc<Override>>>>,
}

impl Override {
    /// Days from `created` to `expires`, at most.
    pub const MOST_DAYS: u64 = 366;
    /// Characters of a justification, at least.
    pub const LEAST_JUSTIFICATION: usize = 20;

    /// Its name in decisions and records.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The origins it holds for: exactly these.
    #[must_use]
    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }

    /// What it lifts, in the order of [`OverrideScope`].
    #[must_use]
    pub fn scope(&self) -> &[OverrideScope] {
        &self.scope
    }

    /// Why the operator may do so.
    #[must_use]
    pub const fn basis(&self) -> OverrideBasis {
        self.basis
    }

    /// The operator's words.
    #[must_use]
    pub fn justification(&self) -> &str {
        &self.justification
    }

    /// Who answers for it.
    #[must_use]
    pub fn approved_by(&self) -> &str {
        &self.approved_by
    }

    /// From when it holds.
    #[must_use]
    pub const fn created(&self) -> WallTime {
        self.created
    }

    /// From when it holds no longer.
    #[must_use]
    pub const fn expires(&self) -> WallTime {
        self.expires
    }

    /// True from `created` to just before `expires`.
    #[must_use]
    pub fn is_in_force(&self, now: WallTime) -> bool {
        self.created <= now && now < self.expires
    }

    /// True when it lifts this.
    #[must_use]
    pub fn lifts(&self, scope: OverrideScope) -> bool {
        self.scope.contains(&scope)
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.created < other.expires && other.created < self.expires
    }
}

/// One line: id, scope, origins, period, basis, who approved it and why.
impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope: Vec<&str> = self.scope.iter().map(|scope| scope.as_str()).collect();
        let origins: Vec<&str> = self.origins.iter().map(Origin::as_str).collect();
        let (scope, origins, basis) = (scope.join(", "), origins.join(", "), self.basis.as_str());
        write!(f, "{}: {scope} for {origins}, from {} until {}; ", self.id, self.created, self.expires)?;
        write!(f, "{basis}, approved by {}: {}", self.approved_by, self.justification)
    }
}

impl OverrideScope {
    /// The word of configuration and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Robots => "robots",
            Self::Robots5xxAs404 => "robots_5xx_as_404",
            Self::Rate => "rate",
            Self::Signals => "signals",
        }
    }
}

impl OverrideBasis {
    /// Every basis, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::OwnSite, Self::WrittenPermission, Self::Statutory];

    /// The word of configuration and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OwnSite => "own_site",
            Self::WrittenPermission => "written_permission",
            Self::Statutory => "statutory",
        }
    }
}

impl Overrides {
    /// Every override, in the order of the configuration.
    #[must_use]
    pub fn all(&self) -> &[Arc<Override>] {
        &self.all
    }

    /// The override that holds for `origin` at `now`, if any: one look into a table.
    #[must_use]
    pub fn in_force(&self, origin: &Origin, now: WallTime) -> Option<&Arc<Override>> {
        if self.all.is_empty() {
            return None;
        }
        self.by_origin.get(origin)?.iter().find(|one| one.is_in_force(now))
    }

    /// What holds at `now` where robots.txt of `origin` asks for `asked`: with a rate override a delay above `most` is
    /// cut to it, and every other gives way to the own delay; Visit-times stay (docs/decisions/0016).
    #[must_use]
    pub fn pace(&self, origin: &Origin, asked: AskedPace, most: Duration, now: WallTime) -> AskedPace {
        match self.floor(origin, now) {
            Floor::Least => asked,
            Floor::AsSet => asked.bent(most),
        }
    }

    /// Whether the least floors hold for `origin` at `now`.
    #[must_use]
    pub fn floor(&self, origin: &Origin, now: WallTime) -> Floor {
        match self.in_force(origin, now) {
            Some(one) if one.lifts(OverrideScope::Rate) => Floor::AsSet,
            _ => Floor::Least,
        }
    }
}
