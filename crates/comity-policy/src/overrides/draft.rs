use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use comity_url::Origin;

use super::{Override, OverrideBasis, OverrideScope, Overrides};
use crate::WallTime;
use crate::words::{Words, plain};

/// An override as a configuration states it, unchecked: every field optional, so that a missing one is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverrideDraft {
    /// Its name; without one it is made of the first origin and the day of `created`.
    pub id: Option<String>,
    /// Exact origins, at least one.
    pub origins: Vec<String>,
    /// `robots`, `rate`, `signals`; may be empty only with `robots_5xx_as_404`.
    pub scope: Vec<String>,
    /// A robots.txt that answers 5xx counts as absent.
    pub robots_5xx_as_404: bool,
    /// `own_site`, `written_permission` or `statutory`.
    pub basis: Option<String>,
    /// At least 20 characters of text.
    pub justification: Option<String>,
    /// Who answers for it.
    pub approved_by: Option<String>,
    /// From when it holds.
    pub created: Option<WallTime>,
    /// From when it holds no longer: at most 366 days after `created`.
    pub expires: Option<WallTime>,
}

/// An override that cannot be used: which one, which field, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverrideError {
    /// Which one, counted from 1.
    pub number: usize,
    /// Its first origin as written, if it has one.
    pub origin: Option<String>,
    /// The field of it.
    pub field: &'static str,
    /// What is wrong.
    pub what: String,
    /// What to write instead.
    pub write: &'static str,
}

const SCOPES: [OverrideScope; 3] = [OverrideScope::Robots, OverrideScope::Rate, OverrideScope::Signals];
const DAY: Duration = Duration::from_secs(24 * 3600);
const ORIGINS: &str = "origins = [\"https://my.example\"]: each one exactly, scheme included";
const ID: &str = "id = \"my-site\": 1 to 300 of A-Z a-z 0-9 . _ : -";
/// Bytes of an id, at most: a host name with port and day fits.
const ID_LENGTH: usize = 300;
const CREATED: &str = "created = 2026-11-30: the day on which it was approved";
const EXPIRES: &str = "expires = 2027-01-01: at most 366 days after created, and not in the past";

impl Overrides {
    /// Checks and takes in the overrides of a configuration.
    ///
    /// # Errors
    /// The first field that is missing or cannot be used; an id that stands twice; an origin of which two overrides
    /// hold at the same time.
    pub fn new(drafts: &[OverrideDraft]) -> Result<Self, OverrideError> {
        let mut all: Vec<Arc<Override>> = Vec::with_capacity(drafts.len());
        let mut by_origin: HashMap<Origin, Vec<Arc<Override>>> = HashMap::new();
        for (n, draft) in drafts.iter().enumerate() {
            let wrong = |fault: Fault| fault.of(n, draft);
            let one = Arc::new(draft.check().map_err(wrong)?);
            if all.iter().any(|other| other.id == one.id) {
                return Err(wrong(Fault::new("id", format!("{:?} is the id of two overrides", one.id), ID)));
            }
            for origin in &one.origins {
                let held = by_origin.entry(origin.clone()).or_default();
                if let Some(other) = held.iter().find(|other| other.overlaps(&one)) {
                    let what = format!("{origin} has override {:?} for the same time already", other.id);
                    return Err(wrong(Fault::new("origins", what, "one override with the whole scope")));
                }
                held.push(one.clone());
            }
            all.push(one);
        }
        Ok(Self { all: all.into(), by_origin: Arc::new(by_origin) })
    }

    /// Refuses overrides that have run out: at the start of a crawl they are mistakes, later they just end.
    ///
    /// # Errors
    /// The first whose `expires` is not after `now`.
    pub fn check_none_is_past(&self, now: WallTime) -> Result<(), OverrideError> {
        match self.all.iter().enumerate().find(|(_, one)| one.expires <= now) {
            None => Ok(()),
            Some((n, one)) => Err(OverrideError {
                number: n + 1,
                origin: one.origins.first().map(ToString::to_string),
                field: "expires",
                what: format!("it ran out at {}", one.expires),
                write: "a later day, once it was approved again; or take the override out",
            }),
        }
    }
}

/// What is wrong with one field.
struct Fault {
    field: &'static str,
    what: String,
    write: &'static str,
}

impl Fault {
    fn new(field: &'static str, what: impl Into<String>, write: &'static str) -> Self {
        Self { field, what: what.into(), write }
    }

    fn of(self, n: usize, draft: &OverrideDraft) -> OverrideError {
        let origin = draft.origins.first().cloned();
        OverrideError { number: n + 1, origin, field: self.field, what: self.what, write: self.write }
    }
}

impl OverrideDraft {
    fn check(&self) -> Result<Override, Fault> {
        let origins = self.check_origins()?;
        let scope = self.check_scope()?;
        let basis = self.check_basis()?;
        let justification = required("justification", self.justification.as_deref(), JUSTIFICATION)?;
        let approved_by = required("approved_by", self.approved_by.as_deref(), APPROVED_BY)?;
        let created = self.created.ok_or_else(|| Fault::new("created", "it is missing", CREATED))?;
        let expires = self.expires.ok_or_else(|| Fault::new("expires", "it is missing", EXPIRES))?;
        check_period(created, expires)?;
        let id = self.check_id(&origins, created)?;
        Ok(Override { id, origins, scope, basis, justification, approved_by, created, expires })
    }

    fn check_origins(&self) -> Result<Vec<Origin>, Fault> {
        let mut origins = BTreeSet::new();
        for text in &self.origins {
            if text.contains('*') {
                return Err(Fault::new("origins", format!("{text:?} has a wildcard"), ORIGINS));
            }
            let origin = Origin::parse(text).map_err(|e| Fault::new("origins", format!("{text:?}: {e}"), ORIGINS))?;
            if !origins.insert(origin) {
                return Err(Fault::new("origins", format!("{text:?} stands twice"), ORIGINS));
            }
        }
        if origins.is_empty() {
            return Err(Fault::new("origins", "it is missing", ORIGINS));
        }
        Ok(origins.into_iter().collect())
    }

    fn check_scope(&self) -> Result<Vec<OverrideScope>, Fault> {
        const WRITE: &str = "scope = [\"robots\"]: any of \"robots\", \"rate\", \"signals\"";
        let mut scope = BTreeSet::new();
        for word in &self.scope {
            let known = SCOPES.into_iter().find(|known| known.as_str() == word);
            scope.insert(known.ok_or_else(|| Fault::new("scope", format!("unknown value {word:?}"), WRITE))?);
        }
        if self.robots_5xx_as_404 {
            scope.insert(OverrideScope::Robots5xxAs404);
        }
        if scope.is_empty() {
            return Err(Fault::new("scope", "it is missing", WRITE));
        }
        Ok(scope.into_iter().collect())
    }

    fn check_basis(&self) -> Result<OverrideBasis, Fault> {
        const WRITE: &str = "basis = \"own_site\", \"written_permission\" or \"statutory\"";
        let word = self.basis.as_deref().ok_or_else(|| Fault::new("basis", "it is missing", WRITE))?;
        let known = OverrideBasis::ALL.into_iter().find(|known| known.as_str() == word);
        known.ok_or_else(|| Fault::new("basis", format!("unknown value {word:?}"), WRITE))
    }

    fn check_id(&self, origins: &[Origin], created: WallTime) -> Result<Arc<str>, Fault> {
        match self.id.as_deref() {
            // Made of what does not change while the override stands: the same file gives the same id.
            None => {
                let host = origins.first().map(Origin::authority).unwrap_or_default();
                let host: String = host.chars().filter(|c| *c != '[' && *c != ']').take(ID_LENGTH - 9).collect();
                Ok(format!("{host}-{}", created.digits14().get(..8).unwrap_or_default()).into())
            }
            Some(id) if is_id(id) => Ok(id.into()),
            Some(id) => Err(Fault::new("id", format!("{id:?} is no id"), ID)),
        }
    }
}

const JUSTIFICATION: (Words, &str) = (
    Words { least: Override::LEAST_JUSTIFICATION, most: 2000 },
    "justification = \"…\": in your words, 20 to 2000 characters of text",
);
const APPROVED_BY: (Words, &str) =
    (Words { least: 1, most: 200 }, "approved_by = \"…\": the person who answers for it, up to 200 characters");

fn required(field: &'static str, typed: Option<&str>, (words, write): (Words, &'static str)) -> Result<String, Fault> {
    let text = typed.ok_or_else(|| Fault::new(field, "it is missing", write))?;
    plain(text, words).map_err(|what| Fault::new(field, what, write))
}

fn check_period(created: WallTime, expires: WallTime) -> Result<(), Fault> {
    if expires <= created {
        return Err(Fault::new("expires", format!("{expires} is not after created, {created}"), EXPIRES));
    }
    let days = expires.since(created).as_millis().div_ceil(DAY.as_millis());
    if days > u128::from(Override::MOST_DAYS) {
        return Err(Fault::new("expires", format!("{expires} is {days} days after created, {created}"), EXPIRES));
    }
    Ok(())
}

fn is_id(id: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-');
    (1..=ID_LENGTH).contains(&id.len()) && id.bytes().all(fits)
}

/// `override 2 (https://my.example), expires: it is missing`.
impl fmt::Display for OverrideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "override {}", self.number)?;
        if let Some(origin) = &self.origin {
            write!(f, " ({origin})")?;
        }
        write!(f, ", {}: {}", self.field, self.what)
    }
}

impl std::error::Error for OverrideError {}
