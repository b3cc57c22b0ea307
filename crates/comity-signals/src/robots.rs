//! Usage preferences that stand in robots.txt.

use std::borrow::Cow;

use comity_robots::{Dialect, ExtensionKind, Pattern, Robots, RuleSet, Signal};

use crate::agents::{AgentClass, AgentGroups};
use crate::diagnostic::DiagnosticCode;
use crate::found::{Carried, Found, Ground};
use crate::policy_tokens::PolicyGroups;
use crate::{
    Diagnostics, OthersTokens, Place, Preferences, Profile, Purpose, SignalOptions, Source, UseCeiling, Verdict,
    aipref, content_signal,
};

/// Everything that a robots.txt says about uses, compiled once per file and list of own tokens: the selected group, the groups
/// of policy tokens, the groups for the agents of others.
#[derive(Clone, Debug)]
pub struct RobotsSignals {
    rules: RuleSet,
    policies: PolicyGroups,
    others: AgentGroups,
}

/// What a robots.txt says about uses of one resource, and what was odd about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RobotsReading {
    /// The verdict per purpose, with the lines that took part.
    pub preferences: Preferences,
    /// The lowest `use=` of the lines that took part.
    pub use_ceiling: Option<UseCeiling>,
    /// What agents of others meet at the URL; empty unless read by [`RobotsSignals::read`].
    pub others: Vec<AgentClass>,
    /// What was odd.
    pub diagnostics: Diagnostics,
}

/// What the selected group of a robots.txt says about uses of the resource at `target` (path and query in bytes, as
/// they are sent), by the default [`SignalOptions`]: the short form of [`RobotsReading::preferences`]. Groups of policy tokens are
/// no part of a rule set: see [`PolicyGroups`].
#[must_use]
pub fn robots_preferences(rules: &RuleSet, target: &[u8]) -> Preferences {
    RobotsReading::preferences(rules, target, SignalOptions::default())
}

impl RobotsReading {
    /// Reads `Content-Usage`, `Content-Signal` and (cautious profile) `DisallowAITraining` of the selected group.
    ///
    /// - A target that may not be crawled has no preferences (draft-ietf-aipref-attach-05; for the others our choice).
    ///   The access verdict counts; where the usage grouping disagrees with it, `group_ambiguity` is noted.
    /// - Of each kind the longest matching path replaces shorter ones whole; no path is the shortest; equally long ones
    ///   combine to the strictest (attach-05; for Content-Signal our choice).
    /// - A `Content-Signal` line before the first user-agent line is file-wide and counts only when the selected group
    ///   has none; a `Content-Usage` line there belongs to nobody (our choice).
    ///
    /// [`crate::Statement::raw`] holds the value without its path; the path is beside it. Cost: one match per usage
    /// line, of which a rule set holds at most 1000; nothing to speak of for a file without any.
    #[must_use]
    pub fn read(rules: &RuleSet, target: &[u8], options: SignalOptions) -> Self {
        let mut found = Found::default();
        let allowed = rules.evidence(target).allowed();
        if rules.usage_verdict(target).allowed != allowed {
            found.note(DiagnosticCode::GroupAmbiguity, whole(Source::RobotsAccess), "");
        }
        if rules.signals_omitted() > 0 {
            let omitted = rules.signals_omitted().to_string();
            found.note(DiagnosticCode::RobotsTruncated, whole(Source::RobotsAccess), &omitted);
        }
        let use_ceiling = if allowed { read_group(&mut found, rules, target, options) } else { None };
        let Found { statements, diagnostics } = found;
        Self { preferences: Preferences::none().with(statements), use_ceiling, others: Vec::new(), diagnostics }
    }

    /// As [`Self::read`], at no cost for a file without a usage line, whose groups nobody compares then.
    #[must_use]
    pub fn of_usage(rules: &RuleSet, target: &[u8], options: SignalOptions) -> Self {
        if is_silent(rules) { Self::default() } else { Self::read(rules, target, options) }
    }

    /// The preferences of [`Self::read`] alone.
    #[must_use]
    pub fn preferences(rules: &RuleSet, target: &[u8], options: SignalOptions) -> Preferences {
        Self::of_usage(rules, target, options).preferences
    }

    /// The same of a target that will be fetched although the rules refuse it: an override lifts the refusal of access, and what
    /// the group says of uses holds all the same.
    #[must_use]
    pub fn despite_refusal(rules: &RuleSet, target: &[u8], options: SignalOptions) -> Self {
        if is_silent(rules) {
            return Self::default();
        }
        let mut found = Found::default();
        let use_ceiling = read_group(&mut found, rules, target, options);
        let Found { statements, diagnostics } = found;
        Self { preferences: Preferences::none().with(statements), use_ceiling, others: Vec::new(), diagnostics }
    }
}

fn is_silent(rules: &RuleSet) -> bool {
    rules.signals().is_empty() && rules.file_signals().is_empty()
}

impl RobotsSignals {
    /// Compiles a file for an ordered list of own tokens, as [`Robots::rules`] takes them.
    #[must_use]
    pub fn compile(robots: &Robots, tokens: &[&str], dialect: Dialect) -> Self {
        Self {
            rules: robots.rules(tokens, dialect),
            policies: PolicyGroups::compile(robots, dialect),
            others: AgentGroups::compile(robots, dialect),
        }
    }

    /// The rules for us: access, and the lines of the selected group.
    #[must_use]
    pub const fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// As [`RobotsReading::read`], with the groups of policy tokens and of the agents of others. Neither changes access; of
    /// a resource that may not be crawled they say nothing either (our choice, as for the lines of the group).
    #[must_use]
    pub fn read(&self, target: &[u8], options: SignalOptions) -> RobotsReading {
        let mut reading = RobotsReading::read(&self.rules, target, options);
        if options.others_tokens != OthersTokens::Off && !self.others.is_empty() {
            reading.others = self.others.classes(target);
        }
        if !self.rules.allows(target) {
            return reading;
        }
        let mut found = Found::default();
        self.policies.read(&mut found, target);
        found.statements.extend(AgentClass::inferred(&reading.others, options));
        reading.preferences = reading.preferences.with(found.statements);
        reading
    }
}

fn read_group(found: &mut Found, rules: &RuleSet, target: &[u8], options: SignalOptions) -> Option<UseCeiling> {
    let scope = Scope::new(rules, target);
    note_outside(found, rules.file_signals());
    for line in scope.longest(of_kind(rules.signals(), ExtensionKind::ContentUsage)) {
        aipref::read(found, carried(line, Source::RobotsContentUsage), line.value.as_bytes(), options);
    }
    if options.profile == Profile::Cautious {
        read_training(found, &scope, rules.signals());
    }
    let group: Vec<_> = of_kind(rules.signals(), ExtensionKind::ContentSignal).collect();
    let lines = if group.is_empty() {
        scope.longest(of_kind(rules.file_signals(), ExtensionKind::ContentSignal))
    } else {
        scope.longest(group.into_iter())
    };
    lines.into_iter().fold(None, |ceiling, line| {
        let named = content_signal::read(found, carried(line, Source::RobotsContentSignal), &line.value, options);
        UseCeiling::lower(ceiling, named)
    })
}

/// Lines before the first user-agent line, recorded whether they count or not.
fn note_outside(found: &mut Found, lines: &[Signal]) {
    for line in lines {
        let source = match line.kind {
            ExtensionKind::ContentSignal => Source::RobotsContentSignal,
            ExtensionKind::ContentUsage => Source::RobotsContentUsage,
            _ => continue,
        };
        found.note(DiagnosticCode::SignalOutsideGroup, carried(line, source), &line.value);
    }
}

/// `DisallowAITraining` of draft-canel-robots-ai-control-00 (expired): a denial is read, a grant never. A longer
/// `AllowAITraining` exempts its path; a tie denies (our choice, as for ai.txt).
fn read_training(found: &mut Found, scope: &Scope<'_>, signals: &[Signal]) {
    let (deny, exempt) = (ExtensionKind::DisallowAiTraining, ExtensionKind::AllowAiTraining);
    let lines = signals.iter().filter(|line| line.kind == deny || line.kind == exempt);
    for line in scope.longest(lines).into_iter().filter(|line| line.kind == deny) {
        let at = Carried { path: Some(&line.value), ..carried(line, Source::RobotsAiTraining) };
        found.state(at, Purpose::AiTrain, Verdict::Denied, Ground::Said);
    }
}

/// What paths are held against.
struct Scope<'a> {
    target: Cow<'a, [u8]>,
    dialect: Dialect,
}

impl<'a> Scope<'a> {
    fn new(rules: &RuleSet, target: &'a [u8]) -> Self {
        let target = match target {
            [b'/', ..] => Cow::Borrowed(target),
            // As the access rules take it.
            _ => Cow::Owned([b"/", target].concat()),
        };
        Self { target, dialect: rules.dialect() }
    }

    /// The matching lines with the longest path, in file order.
    fn longest<'s>(&self, lines: impl Iterator<Item = &'s Signal>) -> Vec<&'s Signal> {
        let (mut length, mut kept) = (0, Vec::new());
        for line in lines {
            let Some(own) = self.match_length(line) else { continue };
            if own > length {
                length = own;
                kept.clear();
            }
            if own == length {
                kept.push(line);
            }
        }
        kept
    }

    /// Octets of the line's path when it matches; zero without a path.
    fn match_length(&self, line: &Signal) -> Option<u32> {
        let path = match line.kind {
            // The whole value is a rule; as for access rules one that starts with neither `/` nor `*` has no effect.
            ExtensionKind::DisallowAiTraining | ExtensionKind::AllowAiTraining => {
                Some(line.value.as_str()).filter(|value| value.starts_with(['/', '*']))?
            }
            _ => match &line.path {
                Some(path) => path,
                None => return Some(0),
            },
        };
        let pattern = Pattern::new(path.as_bytes(), self.dialect);
        pattern.matches(&self.target).then(|| pattern.priority())
    }
}

fn of_kind(signals: &[Signal], kind: ExtensionKind) -> impl Iterator<Item = &Signal> {
    signals.iter().filter(move |signal| signal.kind == kind)
}

fn carried(line: &Signal, source: Source) -> Carried<'_> {
    Carried { source, place: Place::Line(line.line), raw: &line.value, path: line.path.as_deref() }
}

const fn whole(source: Source) -> Carried<'static> {
    Carried { source, place: Place::Whole, raw: "", path: None }
}
