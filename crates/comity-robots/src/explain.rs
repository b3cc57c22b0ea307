//! Why a verdict is what it is, and which reader would answer otherwise.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;

use crate::normal::target_form;
use crate::target::slash_before;
use crate::token::token_note;
use crate::verdict::{Basis, MatchedRule, RuleKind, RuleVia, Verdict};
use crate::{Chain, Dialect, Group, Pattern, Robots, RuleLine, Selected};

/// A verdict with everything that led to it, and what three other readers would say.
///
/// Made by [`Chain::explain`]. Owned; every list is bounded by the lines of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The dialect that decided.
    pub dialect: Dialect,
    /// Which groups were selected.
    pub selected: Selected,
    /// The selected groups, in file order, unmerged.
    pub groups: Vec<SelectedGroup>,
    /// Every rule of them that matches, in order of priority: the longest first, allow before disallow, then by line. The
    /// first one decided, unless the target is `/robots.txt` in the standard dialect.
    pub matches: Vec<MatchedRule>,
    /// The verdict; the same as [`crate::RuleSet::verdict`] gives.
    pub verdict: Verdict,
    /// What made the winner win.
    pub why: Why,
    /// The 1994 convention: of the same groups, the first rule in file order that matches decides.
    pub first_match: Reading,
    /// A reader that takes the first group listed that names the agent or `*`, and looks at no other.
    pub first_group: Reading,
    /// The other dialect.
    pub other_dialect: Reading,
}

/// A selected group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedGroup {
    /// Line of its first user-agent line, from 1.
    pub line: u32,
    /// Its user-agent lines: the token as cut, or the value when it names nobody, and the line.
    pub agents: Vec<(String, u32)>,
    /// Its rules, those that can never match included.
    pub rules: usize,
}

/// What another reader answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Its answer.
    pub allowed: bool,
    /// The rule that it goes by.
    pub rule: Option<MatchedRule>,
    /// Whether its answer is another than the verdict.
    pub differs: bool,
}

/// Why the winner won.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// No group names the agent, and none is for everybody: nothing is forbidden (RFC 9309 §2.2.1).
    NoGroup,
    /// No rule of the selected groups matches: allowed (RFC 9309 §2.2.2).
    NoRule,
    /// The target is `/robots.txt` itself (RFC 9309 §2.2.2; standard dialect).
    RobotsTxt,
    /// Every rule that matches says the same.
    Unopposed,
    /// The winner is longer than every rule against it (RFC 9309 §2.2.2), of which this is the longest.
    Longer(MatchedRule),
    /// An allow rule beats a disallow rule of the same length (RFC 9309 §2.2.2).
    AllowAtTie(MatchedRule),
}

impl Why {
    /// A stable word for machines.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NoGroup => "no_group",
            Self::NoRule => "no_rule",
            Self::RobotsTxt => "robots_txt",
            Self::Unopposed => "unopposed",
            Self::Longer(_) => "longer",
            Self::AllowAtTie(_) => "allow_at_tie",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (how, rule) = match self {
            Self::NoGroup => return f.write_str("no group applies, so nothing is forbidden"),
            Self::NoRule => return f.write_str("no rule of the group matches, so it is allowed"),
            Self::RobotsTxt => return f.write_str("/robots.txt is always allowed (RFC 9309 §2.2.2)"),
            Self::Unopposed => return f.write_str("no matching rule says otherwise"),
            Self::Longer(rule) => ("longer than", rule),
            Self::AllowAtTie(rule) => ("allow wins at equal length over", rule),
        };
        let octets = if rule.priority == 1 { "octet" } else { "octets" };
        let (kind, priority) = (rule.kind.as_str(), rule.priority);
        write!(f, "{how} {kind}: {} of line {} ({priority} {octets})", rule.pattern, rule.line)
    }
}

impl Chain<'_> {
    /// Explains the verdict for a target: path and query in bytes, as for [`crate::RuleSet::verdict`].
    ///
    /// Cost: every rule of the selected groups is held against the target, twice.
    ///
    /// ```
    /// # use comity_robots::{Chain, Dialect, Robots, Why};
    /// let robots = Robots::parse(b"User-agent: *\nDisallow: /\nAllow: /p\n");
    /// let explained = Chain::new(&["ExampleBot"]).explain(&robots, Dialect::Standard, b"/page");
    /// assert!(explained.verdict.allowed && matches!(explained.why, Why::Longer(_)));
    /// assert!(explained.first_match.differs, "a first-match reader stops at line 2");
    /// ```
    #[must_use]
    pub fn explain(&self, robots: &Robots, dialect: Dialect, target: &[u8]) -> Explanation {
        let target = match target {
            [b'/', ..] => Cow::Borrowed(target),
            _ => Cow::Owned(slash_before(target)),
        };
        let verdict = self.rules(robots, dialect).verdict(&target);
        let (selected, groups) = self.select(robots);
        let matches = ranked(groups.iter().copied(), dialect, &target);
        let why = why(&verdict, &matches, &selected);
        let exempt = verdict.basis == Basis::RobotsTxt;
        let reading = |rule: Option<MatchedRule>| Reading::of(rule.filter(|_| !exempt), &verdict);
        let other = if dialect == Dialect::Standard { Dialect::Google } else { Dialect::Standard };
        let other = self.rules(robots, other).verdict(&target);
        Explanation {
            first_match: reading(first_match(&groups, dialect, &target)),
            first_group: reading(
                self.first_group(robots).and_then(|g| ranked([g].into_iter(), dialect, &target).into_iter().next()),
            ),
            other_dialect: Reading::of(other.rule, &verdict),
            groups: groups.iter().map(SelectedGroup::of).collect(),
            dialect,
            selected,
            matches,
            why,
            verdict,
        }
    }

    /// The groups that apply, as the compiled rules select them.
    fn select<'r>(&self, robots: &'r Robots) -> (Selected, Vec<Group<'r>>) {
        for token in self.tokens().iter().filter(|token| token_note(token).is_none()) {
            let groups: Vec<_> = robots.groups().filter(|group| names(group, token)).collect();
            if let Some(written) = groups.first().and_then(|group| written(group, token)) {
                return (Selected::Token(written.into()), groups);
            }
        }
        let groups: Vec<_> = robots.groups().filter(|group| self.takes_global() && names(group, "*")).collect();
        (if groups.is_empty() { Selected::None } else { Selected::Global }, groups)
    }

    fn first_group<'r>(&self, robots: &'r Robots) -> Option<Group<'r>> {
        let ours = |group: &Group<'_>| self.tokens().iter().any(|token| *token != "*" && names(group, token));
        robots.groups().find(|group| ours(group) || (self.takes_global() && names(group, "*")))
    }
}

impl Reading {
    fn of(rule: Option<MatchedRule>, verdict: &Verdict) -> Self {
        let allowed = rule.as_ref().is_none_or(|rule| rule.kind == RuleKind::Allow);
        Self { allowed, rule, differs: allowed != verdict.allowed }
    }
}

impl SelectedGroup {
    fn of(group: &Group<'_>) -> Self {
        let name = |agent: crate::AgentLine<'_>| agent.token().map_or_else(|| agent.text().into_owned(), String::from);
        Self {
            line: group.line(),
            agents: group.agents().map(|agent| (name(agent), agent.line())).collect(),
            rules: group.rules().count(),
        }
    }
}

fn names(group: &Group<'_>, token: &str) -> bool {
    written(group, token).is_some()
}

/// The token as the group writes it, when the group names it.
fn written<'r>(group: &Group<'r>, token: &str) -> Option<&'r str> {
    group.agents().filter_map(|agent| agent.token()).find(|named| named.eq_ignore_ascii_case(token))
}

fn why(verdict: &Verdict, matches: &[MatchedRule], selected: &Selected) -> Why {
    let winner = match (verdict.basis, &verdict.rule) {
        (Basis::RobotsTxt, _) => return Why::RobotsTxt,
        (_, Some(rule)) => rule,
        _ if *selected == Selected::None => return Why::NoGroup,
        _ => return Why::NoRule,
    };
    match matches.iter().find(|rule| rule.kind != winner.kind) {
        None => Why::Unopposed,
        Some(against) if against.priority == winner.priority => Why::AllowAtTie(against.clone()),
        Some(against) => Why::Longer(against.clone()),
    }
}

/// Every rule that matches, the one that decides first.
fn ranked<'a>(groups: impl Iterator<Item = Group<'a>>, dialect: Dialect, target: &[u8]) -> Vec<MatchedRule> {
    let of_group = |group: Group<'a>| group.rules().filter_map(move |rule| matched(&rule, &group, dialect, target));
    let mut matches: Vec<_> = groups.flat_map(of_group).collect();
    matches.sort_by_key(|rule| (Reverse(rule.priority), rule.kind, rule.line));
    matches
}

fn first_match(groups: &[Group<'_>], dialect: Dialect, target: &[u8]) -> Option<MatchedRule> {
    groups.iter().find_map(|group| group.rules().find_map(|rule| matched(&rule, group, dialect, target)))
}

/// The rule as it matches the target, if it does; an empty one never does (RFC 9309 §2.2.2, Google's parser).
fn matched(rule: &RuleLine<'_>, group: &Group<'_>, dialect: Dialect, target: &[u8]) -> Option<MatchedRule> {
    let pattern = Pattern::new(rule.value(), dialect);
    let (priority, via) = if pattern.priority() > 0 && pattern.matches(target) {
        (pattern.priority(), RuleVia::Pattern)
    } else {
        let directory = index_directory(rule.kind(), &pattern)?;
        // The pattern is in its compared form already, so the target is brought to its own here.
        directory.matches(&target_form(target, dialect)).then_some((directory.priority(), RuleVia::IndexHtml))?
    };
    Some(MatchedRule {
        kind: rule.kind(),
        pattern: rule.text().into_owned(),
        line: rule.line(),
        group_line: group.line(),
        priority,
        via,
    })
}

/// What an allow rule for `…/index.htm…` allows besides: exactly the directory (Google's parser).
fn index_directory(kind: RuleKind, pattern: &Pattern) -> Option<Pattern> {
    let text = pattern.as_bytes();
    let (directory, name) = text.split_at_checked(memchr::memrchr(b'/', text)? + 1)?;
    let applies = kind == RuleKind::Allow && name.starts_with(b"index.htm");
    applies.then(|| Pattern::new(&[directory, b"$"].concat(), Dialect::Google))
}
