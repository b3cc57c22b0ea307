//! Which URLs belong to a crawl.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::ops::Bound;
use std::str::FromStr;

use crate::canonical::canonical_form;
use crate::{CrawlUrl, Origin, UrlPattern};

/// How far a crawl goes from its seeds (design §7, `[crawl] scope`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScopeKind {
    /// `origins`: scheme, host and port of a seed. The default.
    Origins,
    /// `hosts`: the host of a seed, under either scheme and on any port.
    Hosts,
    /// `domains`: the registrable domain of a seed; for a host that has none, that host.
    Domains,
    /// `prefix`: the origin of a seed, and its path up to the last slash (as Browsertrix and Heritrix).
    Prefix,
    /// `any`: every http and https URL.
    Any,
}

impl ScopeKind {
    /// All kinds, in the order of the configuration's documentation.
    pub const ALL: [Self; 5] = [Self::Origins, Self::Hosts, Self::Domains, Self::Prefix, Self::Any];

    /// The name that the configuration uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Origins => "origins",
            Self::Hosts => "hosts",
            Self::Domains => "domains",
            Self::Prefix => "prefix",
            Self::Any => "any",
        }
    }
}

impl fmt::Display for ScopeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ScopeKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kind = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        kind.ok_or_else(|| format!("scope {text:?}: it must be origins, hosts, domains, prefix or any"))
    }
}

/// Which URLs belong to a crawl: near enough to a seed, not excluded, and included where anything is.
/// Without a seed nothing belongs to it, except under [`ScopeKind::Any`].
#[derive(Debug, Clone)]
pub struct Scope {
    kind: ScopeKind,
    near: Near,
    include: Vec<UrlPattern>,
    exclude: Vec<UrlPattern>,
}

/// What the seeds open, one form for each kind.
#[derive(Debug, Clone)]
enum Near {
    Origins(HashSet<Origin>),
    /// Hosts or registrable domains.
    Names(HashSet<Box<str>>),
    /// Canonical URLs up to a slash, none the beginning of another.
    Prefixes(BTreeSet<Box<str>>),
    Everything,
}

impl Scope {
    /// A scope without seeds. An empty `include` includes everything that the kind admits.
    #[must_use]
    pub fn new(kind: ScopeKind, include: Vec<UrlPattern>, exclude: Vec<UrlPattern>) -> Self {
        let near = match kind {
            ScopeKind::Origins => Near::Origins(HashSet::new()),
            ScopeKind::Hosts | ScopeKind::Domains => Near::Names(HashSet::new()),
            ScopeKind::Prefix => Near::Prefixes(BTreeSet::new()),
            ScopeKind::Any => Near::Everything,
        };
        Self { kind, near, include, exclude }
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> ScopeKind {
        self.kind
    }

    /// Opens the scope around a seed. The seed itself is judged by `include` and `exclude` as any URL.
    /// A seed counts after its own redirects, so a scope grows while a crawl runs.
    pub fn add_seed(&mut self, seed: &CrawlUrl) {
        match &mut self.near {
            Near::Origins(origins) => {
                origins.insert(seed.origin().clone());
            }
            Near::Names(names) => {
                names.insert(name(self.kind, seed.origin()).into());
            }
            Near::Prefixes(prefixes) => add_prefix(prefixes, &folder(seed)),
            Near::Everything => {}
        }
    }

    /// Takes the patterns of another scope; what seeds opened stays.
    pub fn set_patterns(&mut self, other: &Self) {
        self.include.clone_from(&other.include);
        self.exclude.clone_from(&other.exclude);
    }

    /// Whether `url` belongs to the crawl. Costs a look-up, and one match for each pattern.
    ///
    /// # Errors
    /// [`OutOfScope`]: the kind is looked at first, then `exclude`, then `include`.
    pub fn admits(&self, url: &CrawlUrl) -> Result<(), OutOfScope> {
        if self.is_near(url) { self.admits_by_patterns(url) } else { Err(self.out(ScopeMiss::Kind)) }
    }

    /// Whether the origin of a URL alone says whether it is near enough to a seed, so that [`Scope::reaches`] and
    /// [`Scope::admits_by_patterns`] together are [`Scope::admits`]: under all kinds but [`ScopeKind::Prefix`].
    #[must_use]
    pub fn goes_by_origin(&self) -> bool {
        !matches!(self.near, Near::Prefixes(_))
    }

    /// Whether `exclude` and `include` let `url` through, however near it is.
    ///
    /// # Errors
    /// [`OutOfScope`]: `exclude` is looked at first.
    pub fn admits_by_patterns(&self, url: &CrawlUrl) -> Result<(), OutOfScope> {
        let out = |why| Err(self.out(why));
        if self.exclude.is_empty() && self.include.is_empty() {
            return Ok(());
        }
        let canonical = canonical_form(url);
        let matches = |pattern: &&UrlPattern| pattern.matches_canonical(&canonical, url.origin());
        if let Some(pattern) = self.exclude.iter().find(matches) {
            return out(ScopeMiss::Exclude(pattern.clone()));
        }
        if self.include.is_empty() || self.include.iter().any(|pattern| matches(&pattern)) {
            Ok(())
        } else {
            out(ScopeMiss::NotIncluded)
        }
    }

    /// Whether any URL of `origin` is near enough to a seed; patterns are not asked.
    #[must_use]
    pub fn reaches(&self, origin: &Origin) -> bool {
        match &self.near {
            Near::Origins(origins) => origins.contains(origin),
            Near::Names(names) => names.contains(name(self.kind, origin)),
            Near::Prefixes(prefixes) => {
                let root = format!("{origin}/");
                let from = (Bound::Included(&*root), Bound::Unbounded);
                prefixes.range::<str, _>(from).next().is_some_and(|prefix| prefix.starts_with(&root))
            }
            Near::Everything => true,
        }
    }

    /// Whether an `exclude` pattern matches.
    #[must_use]
    pub fn excludes(&self, url: &CrawlUrl) -> bool {
        if self.exclude.is_empty() {
            return false;
        }
        let canonical = canonical_form(url);
        self.exclude.iter().any(|pattern| pattern.matches_canonical(&canonical, url.origin()))
    }

    fn out(&self, why: ScopeMiss) -> OutOfScope {
        OutOfScope { kind: self.kind, why }
    }

    fn is_near(&self, url: &CrawlUrl) -> bool {
        match &self.near {
            Near::Origins(origins) => origins.contains(url.origin()),
            Near::Names(names) => names.contains(name(self.kind, url.origin())),
            Near::Prefixes(prefixes) => is_covered(prefixes, &canonical_form(url)),
            Near::Everything => true,
        }
    }
}

/// A URL does not belong to the crawl: a refusal with its evidence, not an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfScope {
    /// The kind of the scope.
    pub kind: ScopeKind,
    /// What the URL failed.
    pub why: ScopeMiss,
}

/// What a URL outside a scope failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScopeMiss {
    /// No seed is near enough for the kind of the scope.
    Kind,
    /// This `exclude` pattern matches: the first one, in the order of the configuration.
    Exclude(UrlPattern),
    /// There are `include` patterns, and none matches.
    NotIncluded,
}

impl OutOfScope {
    /// The reason code that records carry: `url.scope`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "url.scope"
    }
}

impl fmt::Display for OutOfScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            ScopeMiss::Kind => write!(f, "scope {:?}: no seed is near enough", self.kind.as_str()),
            ScopeMiss::Exclude(pattern) => write!(f, "scope: excluded by {:?}", pattern.as_str()),
            ScopeMiss::NotIncluded => f.write_str("scope: no include pattern matches"),
        }
    }
}

/// Host or registrable domain: what a scope of that kind compares.
fn name(kind: ScopeKind, origin: &Origin) -> &str {
    let domain = if kind == ScopeKind::Domains { origin.registrable_domain() } else { None };
    domain.unwrap_or(origin.host())
}

/// The canonical URL up to the last slash of its path.
fn folder(seed: &CrawlUrl) -> String {
    let mut folder = canonical_form(seed).into_owned();
    folder.truncate(folder.find('?').unwrap_or(folder.len()));
    folder.truncate(folder.rfind('/').map_or(folder.len(), |at| at + 1));
    folder
}

/// Keeps the set free of prefixes of each other, so that one look-up tells whether a URL is covered.
fn add_prefix(prefixes: &mut BTreeSet<Box<str>>, prefix: &str) {
    if is_covered(prefixes, prefix) {
        return;
    }
    let from = (Bound::Included(prefix), Bound::Unbounded);
    let longer: Vec<Box<str>> =
        prefixes.range::<str, _>(from).take_while(|other| other.starts_with(prefix)).cloned().collect();
    for other in &longer {
        prefixes.remove(other);
    }
    prefixes.insert(prefix.into());
}

/// In a set without prefixes of each other, the one that covers `text` is the greatest not above it.
fn is_covered(prefixes: &BTreeSet<Box<str>>, text: &str) -> bool {
    let up_to = (Bound::Unbounded, Bound::Included(text));
    prefixes.range::<str, _>(up_to).next_back().is_some_and(|prefix| text.starts_with(&**prefix))
}
