//! Answers with their evidence.

use alloc::borrow::Cow;
use alloc::string::String;

use crate::table::Table;

/// Whether a rule allows or disallows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuleKind {
    /// `Allow`; wins over a disallow rule of equal length (RFC 9309 §2.2.2).
    Allow,
    /// `Disallow`.
    Disallow,
}

impl RuleKind {
    /// `allow` or `disallow`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Disallow => "disallow",
        }
    }
}

/// How a rule came to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleVia {
    /// Its pattern matched.
    Pattern,
    /// An allow rule for `…/index.htm…` also allows exactly the directory (Google's parser; not in RFC 9309).
    IndexHtml,
}

/// The answer for one target, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the file lets the target be fetched.
    pub allowed: bool,
    /// The rule that decided, when one did.
    pub rule: Option<MatchedRule>,
    /// What kind of evidence decided.
    pub basis: Basis,
}

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Basis {
    /// A rule matched.
    Rule,
    /// No rule matched, or no group applies: allowed (RFC 9309 §2.2.2).
    NoRule,
    /// The target is `/robots.txt` itself, which is always allowed (RFC 9309 §2.2.2; standard dialect).
    RobotsTxt,
}

/// The rule that decided a verdict, as it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedRule {
    /// Allow or disallow.
    pub kind: RuleKind,
    /// The pattern as written; bytes that are not UTF-8 replaced.
    pub pattern: String,
    /// Line of the rule, from 1.
    pub line: u32,
    /// Line of the first user-agent line of the rule's group, from 1.
    pub group_line: u32,
    /// Length in octets of what matched, in the form in which it was compared (RFC 9309 §2.2.2).
    pub priority: u32,
    /// How it came to match.
    pub via: RuleVia,
}

/// The answer for one target, borrowed from the rule set: nothing is allocated.
#[derive(Clone, Copy, Debug)]
pub enum Evidence<'a> {
    /// This rule decided.
    Rule(RuleRef<'a>),
    /// No rule matched, or no group applies.
    NoRule,
    /// The target is `/robots.txt` itself.
    RobotsTxt,
}

impl Evidence<'_> {
    /// Whether the target may be fetched.
    #[must_use]
    pub const fn allowed(&self) -> bool {
        match self {
            Self::Rule(rule) => matches!(rule.kind, RuleKind::Allow),
            Self::NoRule | Self::RobotsTxt => true,
        }
    }

    /// What the answer rests on.
    #[must_use]
    pub const fn basis(&self) -> Basis {
        match self {
            Self::Rule(_) => Basis::Rule,
            Self::NoRule => Basis::NoRule,
            Self::RobotsTxt => Basis::RobotsTxt,
        }
    }

    /// The owned form; allocates for the pattern of a rule.
    #[must_use]
    pub fn to_verdict(&self) -> Verdict {
        let rule = match self {
            Self::Rule(rule) => Some(rule.to_matched()),
            Self::NoRule | Self::RobotsTxt => None,
        };
        Verdict { allowed: self.allowed(), rule, basis: self.basis() }
    }
}

/// A rule of a rule set, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct RuleRef<'a> {
    pub(crate) kind: RuleKind,
    pub(crate) table: &'a Table,
    pub(crate) at: u32,
    pub(crate) line: u32,
    pub(crate) group_line: u32,
    pub(crate) priority: u32,
    pub(crate) via: RuleVia,
}

impl<'a> RuleRef<'a> {
    /// Allow or disallow.
    #[must_use]
    pub const fn kind(&self) -> RuleKind {
        self.kind
    }

    /// The pattern as written, in bytes. Put together on demand: allocates unless it differs from the form in which it is
    /// compared.
    #[must_use]
    pub fn pattern_bytes(&self) -> Cow<'a, [u8]> {
        self.table.written(self.at)
    }

    /// The pattern as written; bytes that are not UTF-8 replaced. Allocates.
    #[must_use]
    pub fn pattern(&self) -> Cow<'a, str> {
        match self.pattern_bytes() {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Line of the rule, from 1.
    #[must_use]
    pub const fn line(&self) -> u32 {
        self.line
    }

    /// Line of the first user-agent line of the rule's group, from 1.
    #[must_use]
    pub const fn group_line(&self) -> u32 {
        self.group_line
    }

    /// Length in octets of what matched, in the form in which it was compared.
    #[must_use]
    pub const fn priority(&self) -> u32 {
        self.priority
    }

    /// How it came to match.
    #[must_use]
    pub const fn via(&self) -> RuleVia {
        self.via
    }

    /// The owned form.
    #[must_use]
    pub fn to_matched(&self) -> MatchedRule {
        MatchedRule {
            kind: self.kind,
            pattern: self.pattern().into_owned(),
            line: self.line,
            group_line: self.group_line,
            priority: self.priority,
            via: self.via,
        }
    }
}
