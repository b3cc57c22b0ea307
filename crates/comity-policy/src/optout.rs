//! Opt-outs: origins and domains that are not to be visited at all (docs/decisions/0017).

use std::collections::HashMap;
use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use comity_url::{HostKind, Origin};

use crate::words::{Words, plain};
use crate::{Decision, Reason, Refusal, WallTime};

/// What an opt-out covers.
///
/// As text: an origin with its scheme (`https://a.test:8443`), or a domain without (`a.test`). Hosts are brought to the
/// form of `comity-url`: lower case, A-labels, no trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OptOutTarget {
    /// Exactly this origin.
    Origin(Origin),
    /// Every origin on this host, of any scheme and port; of a name its sub-domains too.
    Domain(Box<str>),
}

/// Whether a line of an opt-out file begins an opt-out or ends one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptOutAction {
    /// `add`
    Add,
    /// `remove`
    Remove,
}

/// What one line of an opt-out file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptOutLine {
    /// Begins or ends.
    pub action: OptOutAction,
    /// What it covers.
    pub target: OptOutTarget,
    /// Who asked for it: 1 to 200 characters.
    pub requested_by: String,
    /// Why, or in which letter: 1 to 1,000 characters.
    pub reason: String,
    /// When it was written down.
    pub at: WallTime,
}

/// An opt-out that holds: the line that began it, and where it stands. The evidence of its refusals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptOut {
    /// What the line says.
    pub line: OptOutLine,
    /// The file, as it is named in the configuration.
    pub file: Arc<str>,
    /// The line's number in it, from 1.
    pub number: u64,
}

/// The opt-outs that hold at one moment. A look costs one hash for the origin and one for each label of its host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptOuts {
    origins: HashMap<Origin, Arc<OptOut>>,
    domains: HashMap<Box<str>, Arc<OptOut>>,
}

/// A text that is no target of an opt-out, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptOutTargetError {
    text: String,
    what: String,
}

impl OptOutLine {
    /// Checks the words of a line.
    ///
    /// # Errors
    /// The field, and what is wrong with it.
    pub fn new(
        action: OptOutAction,
        target: OptOutTarget,
        requested_by: &str,
        reason: &str,
        at: WallTime,
    ) -> Result<Self, (&'static str, String)> {
        let words = |field, text, most| plain(text, Words { least: 1, most }).map_err(|what| (field, what));
        let requested_by = words("requested_by", requested_by, 200)?;
        let reason = words("reason", reason, 1000)?;
        Ok(Self { action, target, requested_by, reason, at })
    }
}

impl OptOutAction {
    /// The word of opt-out files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Remove => "remove",
        }
    }
}

impl OptOuts {
    /// Those of a house that has no opt-out files.
    #[must_use]
    pub fn nobody() -> &'static Self {
        static NOBODY: LazyLock<OptOuts> = LazyLock::new(OptOuts::default);
        &NOBODY
    }

    /// The opt-out that covers `origin`, if any: its own before that of a domain, a longer domain before a shorter.
    #[must_use]
    pub fn covering(&self, origin: &Origin) -> Option<&Arc<OptOut>> {
        if self.is_empty() {
            return None;
        }
        self.origins.get(origin).or_else(|| match origin.host_kind() {
            HostKind::Domain(name) => domains_of(name).find_map(|domain| self.domains.get(domain)),
            HostKind::V4(_) | HostKind::V6(_) => self.domains.get(origin.host()),
        })
    }

    /// The refusal of everything on `origin`, if it is opted out.
    #[must_use]
    pub fn refusal(&self, origin: &Origin, now: WallTime) -> Option<Refusal> {
        let found = self.covering(origin)?;
        let refused = Refusal::before_robots(Reason::Optout, now).decision().as_ref().clone();
        Some(Refusal::of(Decision { optout: Some(found.clone()), ..refused }))
    }

    /// Takes in one more line. What is opted out already stays with its first line.
    pub fn apply(&mut self, line: OptOutLine, file: &Arc<str>, number: u64) {
        match line.action {
            OptOutAction::Remove => self.remove(&line.target),
            OptOutAction::Add => self.insert(Arc::new(OptOut { line, file: file.clone(), number })),
        }
    }

    /// Takes in the opt-outs of another file; what is opted out already stays with its line.
    pub fn join(&mut self, other: &Self) {
        other.standing().into_iter().for_each(|one| self.insert(one.clone()));
    }

    /// The opt-out of exactly this target.
    #[must_use]
    pub fn get(&self, target: &OptOutTarget) -> Option<&Arc<OptOut>> {
        match target {
            OptOutTarget::Origin(origin) => self.origins.get(origin),
            OptOutTarget::Domain(host) => self.domains.get(host),
        }
    }

    /// Every opt-out, by file and line.
    #[must_use]
    pub fn standing(&self) -> Vec<&Arc<OptOut>> {
        let mut all: Vec<_> = self.origins.values().chain(self.domains.values()).collect();
        all.sort_by(|a, b| (&a.file, a.number).cmp(&(&b.file, b.number)));
        all
    }

    /// How many hold.
    #[must_use]
    pub fn len(&self) -> usize {
        self.origins.len() + self.domains.len()
    }

    /// True when none holds.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.origins.is_empty() && self.domains.is_empty()
    }

    fn insert(&mut self, one: Arc<OptOut>) {
        match &one.line.target {
            OptOutTarget::Origin(origin) => drop(self.origins.entry(origin.clone()).or_insert(one)),
            OptOutTarget::Domain(host) => drop(self.domains.entry(host.clone()).or_insert(one)),
        }
    }

    fn remove(&mut self, target: &OptOutTarget) {
        match target {
            OptOutTarget::Origin(origin) => drop(self.origins.remove(origin)),
            OptOutTarget::Domain(host) => drop(self.domains.remove(host)),
        }
    }
}

/// A name and each domain above it: `a.b.test`, `b.test`, `test`.
fn domains_of(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, above)| above))
}

impl FromStr for OptOutTarget {
    type Err = OptOutTargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |what: &str| OptOutTargetError { text: text.chars().take(256).collect(), what: what.to_owned() };
        let trimmed = text.trim();
        if trimmed.contains('*') {
            return Err(wrong("a wildcard is not needed: a domain covers its sub-domains, so write \"a.test\""));
        }
        if trimmed.contains("://") {
            let origin = Origin::parse(trimmed);
            return origin
                .map(Self::Origin)
                .map_err(|e| wrong(&format!("{e}; write \"https://a.test\" or \"a.test\"")));
        }
        let bracketed = trimmed.parse::<Ipv6Addr>().map(|address| format!("[{address}]"));
        let host = bracketed.as_deref().unwrap_or(trimmed);
        let is_host = !host.is_empty()
            && !host.starts_with('.')
            && (host.starts_with('[') || !host.contains(':'))
            && !host.contains(|c: char| c.is_whitespace() || matches!(c, '/' | '\\' | '?' | '#' | '@'));
        let no_domain = "neither an origin nor a domain; write \"https://a.test\" or \"a.test\"";
        let origin = is_host.then(|| Origin::parse(&format!("http://{host}"))).ok_or_else(|| wrong(no_domain))?;
        match origin {
            Ok(origin) if origin.port() == 80 => Ok(Self::Domain(origin.host().into())),
            Ok(_) => Err(wrong("a port belongs to an origin, write \"http://a.test:8080\"")),
            Err(error) => Err(wrong(&format!("{error}; write \"https://a.test\" or \"a.test\""))),
        }
    }
}

impl fmt::Display for OptOutTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Origin(origin) => origin.fmt(f),
            Self::Domain(host) => f.write_str(host),
        }
    }
}

impl fmt::Display for OptOutTargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.text, self.what)
    }
}

impl std::error::Error for OptOutTargetError {}
