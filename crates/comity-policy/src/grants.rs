//! Grants: what a site's owner, a contract or a law lets the operator do although signals deny it (docs/decisions/0053).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use comity_signals::{Declared, Purpose};
use comity_url::Origin;

use crate::WallTime;

/// A permission for uses of exact origins. It lifts a denial of use, never one of access, and changes nothing of what is
/// recorded as said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    origins: Vec<Origin>,
    purposes: Vec<Purpose>,
    basis: GrantBasis,
    reference: String,
    approved_by: String,
    expires: WallTime,
}

/// What a grant rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantBasis {
    /// `licence`
    Licence,
    /// `contract`
    Contract,
    /// `art3_research`: Article 3 of the EU CDSM directive.
    Art3Research,
    /// `own_content`
    OwnContent,
}

impl GrantBasis {
    /// Every basis, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Licence, Self::Contract, Self::Art3Research, Self::OwnContent];

    /// The word of configuration and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Licence => "licence",
            Self::Contract => "contract",
            Self::Art3Research => "art3_research",
            Self::OwnContent => "own_content",
        }
    }
}

/// A grant as typed, not yet checked.
#[derive(Clone, Debug, Default)]
pub struct GrantDraft {
    /// Exact origins.
    pub origins: Vec<String>,
    /// Judged purposes.
    pub purposes: Vec<String>,
    /// A word of [`GrantBasis`].
    pub basis: Option<String>,
    /// Number of the licence or contract, or where it is found.
    pub reference: Option<String>,
    /// Who answers for it.
    pub approved_by: Option<String>,
    /// From when it holds no longer.
    pub expires: Option<WallTime>,
}

/// Why a grant cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantError {
    /// Which one, from 1.
    pub number: usize,
    /// The key.
    pub key: &'static str,
    /// What is wrong, and what to write.
    pub what: String,
}

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)
    }
}

impl std::error::Error for GrantError {}

/// Every grant of a configuration. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    all: Arc<[Arc<Grant>]>,
    by_origin: Arc<HashMap<Origin, Vec<Arc<Grant>>>>,
}

/// Characters of a reference or a name, at most.
const MOST_TEXT: usize = 500;

impl Grants {
    /// Checks drafts.
    ///
    /// # Errors
    /// The first that cannot be used.
    pub fn new(drafts: &[GrantDraft]) -> Result<Self, GrantError> {
        let check = |(n, draft): (usize, &GrantDraft)| {
            Grant::check(draft).map(Arc::new).map_err(|(key, what)| GrantError { number: n + 1, key, what })
        };
        let all: Vec<Arc<Grant>> = drafts.iter().enumerate().map(check).collect::<Result<_, _>>()?;
        let mut by_origin: HashMap<Origin, Vec<Arc<Grant>>> = HashMap::new();
        for one in &all {
            for origin in &one.origins {
                by_origin.entry(origin.clone()).or_default().push(one.clone());
            }
        }
        Ok(Self { all: all.into(), by_origin: Arc::new(by_origin) })
    }

    /// Every grant, in the order of the configuration.
    #[must_use]
    pub fn all(&self) -> &[Arc<Grant>] {
        &self.all
    }

    /// The grant that permits `purpose` on `origin` at `now`, if there is one.
    #[must_use]
    pub fn find(&self, origin: &Origin, purpose: Purpose, now: WallTime) -> Option<&Arc<Grant>> {
        let holds = |one: &&Arc<Grant>| now < one.expires && one.purposes.contains(&purpose);
        self.by_origin.get(origin)?.iter().find(holds)
    }
}

impl Grant {
    /// The origins it holds for: exactly these.
    #[must_use]
    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }

    /// The uses it permits.
    #[must_use]
    pub fn purposes(&self) -> &[Purpose] {
        &self.purposes
    }

    /// What it rests on.
    #[must_use]
    pub const fn basis(&self) -> GrantBasis {
        self.basis
    }

    /// Where it is found.
    #[must_use]
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// Who answers for it.
    #[must_use]
    pub fn approved_by(&self) -> &str {
        &self.approved_by
    }

    /// From when it holds no longer.
    #[must_use]
    pub const fn expires(&self) -> WallTime {
        self.expires
    }

    fn check(draft: &GrantDraft) -> Result<Self, (&'static str, String)> {
        let origins = draft.origins.iter().map(|text| {
            Origin::parse(text).map_err(|error| ("origins", format!("{text:?}: {error}; write https://example.com")))
        });
        let origins: Vec<Origin> = origins.collect::<Result<_, _>>()?;
        let purposes = draft.purposes.iter().map(|text| match text.parse::<Declared>() {
            Ok(Declared::Judged(purpose)) => Ok(purpose),
            _ => Err(("purposes", format!("{text:?} is none of search, ai_input, ai_train, tdm"))),
        });
        let purposes: Vec<Purpose> = purposes.collect::<Result<_, _>>()?;
        let missing = |key: &'static str| (key, format!("a grant needs {key}"));
        if origins.is_empty() {
            return Err(missing("origins"));
        }
        if purposes.is_empty() {
            return Err(missing("purposes"));
        }
        let basis = draft.basis.as_deref().ok_or_else(|| missing("basis"))?;
        let known = GrantBasis::ALL.into_iter().find(|known| known.as_str() == basis);
        let words = GrantBasis::ALL.map(GrantBasis::as_str).join(", ");
        let basis = known.ok_or_else(|| ("basis", format!("unknown basis {basis:?}; known: {words}")))?;
        let text = |key: &'static str, value: &Option<String>| {
            let value = value.as_deref().map(str::trim).filter(|text| !text.is_empty()).ok_or_else(|| missing(key))?;
            let is_line = value.chars().count() <= MOST_TEXT && !value.chars().any(char::is_control);
            is_line
                .then(|| value.to_owned())
                .ok_or_else(|| (key, format!("one line of {MOST_TEXT} characters at most")))
        };
        Ok(Self {
            origins,
            purposes,
            basis,
            reference: text("reference", &draft.reference)?,
            approved_by: text("approved_by", &draft.approved_by)?,
            expires: draft.expires.ok_or_else(|| missing("expires"))?,
        })
    }
}

/// One line: purposes, origins, basis, reference, until when, who approved it.
impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let purposes: Vec<&str> = self.purposes.iter().map(|purpose| purpose.as_str()).collect();
        let origins: Vec<&str> = self.origins.iter().map(Origin::as_str).collect();
        let (purposes, origins, basis) = (purposes.join(", "), origins.join(", "), self.basis.as_str());
        write!(f, "{purposes} for {origins}, until {}; {basis} {}, ", self.expires, self.reference)?;
        write!(f, "approved by {}", self.approved_by)
    }
}
