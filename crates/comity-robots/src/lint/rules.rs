//! The rules of a file by agent: each distinct list of groups once.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::LintCode;
use super::sink::{Place, Sink, shown};
use super::values::label;
use crate::normal::rule_form;
use crate::verdict::Evidence;
use crate::{Dialect, Group, Pattern, Robots, RuleKind, RuleSet};

/// Distinct lists that are examined at most; real files have fewer than a hundred.
const MAX_LISTS: usize = 300;

/// Octets of a pattern that is compared with others, at most.
const MAX_PATTERN: usize = 512;

/// Comparisons of two rules that are made for a file, at most.
const MAX_COMPARISONS: u64 = 3_000_000;

/// A rule that can match, in the form in which the standard dialect compares it.
pub(super) struct Rule {
    pub(super) kind: RuleKind,
    pub(super) form: Vec<u8>,
    pub(super) place: Place,
    pub(super) pattern: Pattern,
    raw: Vec<u8>,
}

/// An agent: the token as first written, where, and which list of rules holds for it.
pub(super) struct Agent {
    pub(super) token: String,
    pub(super) place: Place,
    pub(super) list: usize,
}

/// The rules that hold for some agents, in file order, and compiled.
pub(super) struct List {
    pub(super) rules: Vec<Rule>,
    pub(super) set: RuleSet,
    /// Whether an empty disallow rule, or an allow rule for everything, opens it on purpose.
    pub(super) opened: bool,
    /// Rules with a star: those that a question about a path has to be held against one by one.
    stars: usize,
}

pub(super) struct Lists {
    pub(super) lists: Vec<List>,
    /// By token in lower case; `*` among them.
    pub(super) agents: BTreeMap<String, Agent>,
    budget: u64,
    /// Whether something was left out.
    limited: bool,
}

impl Lists {
    pub(super) fn of(robots: &Robots) -> Self {
        let mut named: BTreeMap<String, (String, Place, Vec<usize>)> = BTreeMap::new();
        let groups: Vec<Group<'_>> = robots.groups().collect();
        for (at, group) in groups.iter().enumerate() {
            for agent in group.agents() {
                let Some(token) = agent.token() else { continue };
                let place = (agent.line(), agent.value_column());
                let entry =
                    named.entry(token.to_ascii_lowercase()).or_insert_with(|| (token.into(), place, Vec::new()));
                if entry.2.last() != Some(&at) {
                    entry.2.push(at);
                }
            }
        }
        let mut lists = Self { lists: Vec::new(), agents: BTreeMap::new(), budget: MAX_COMPARISONS, limited: false };
        let mut known: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        for (key, (token, place, of_groups)) in named {
            let list = match known.get(&of_groups) {
                Some(list) => *list,
                None if lists.lists.len() >= MAX_LISTS => {
                    lists.limited = true;
                    continue;
                }
                None => {
                    lists.lists.push(lists.list(robots, &token, of_groups.iter().filter_map(|at| groups.get(*at))));
                    lists.lists.len() - 1
                }
            };
            known.insert(of_groups, list);
            lists.agents.insert(key, Agent { token, place, list });
        }
        lists
    }

    fn list<'r>(&self, robots: &Robots, token: &str, groups: impl Iterator<Item = &'r Group<'r>>) -> List {
        let mut list =
            List { rules: Vec::new(), set: robots.rules(&[token], Dialect::Standard), opened: false, stars: 0 };
        for rule in groups.flat_map(Group::rules) {
            let value = rule.value();
            let form = rule_form(value, Dialect::Standard).into_owned();
            list.opened |= match rule.kind() {
                RuleKind::Disallow => value.is_empty(),
                RuleKind::Allow => matches!(form.as_slice(), b"/" | b"*" | b"/*"),
            };
            if !matches!(form.first(), Some(b'/' | b'*')) || self.budget == 0 {
                continue;
            }
            list.stars += usize::from(form.contains(&b'*'));
            list.rules.push(Rule {
                kind: rule.kind(),
                place: (rule.line(), rule.value_column()),
                pattern: Pattern::new(value, Dialect::Standard),
                raw: value.to_vec(),
                form,
            });
        }
        list
    }

    /// Takes a comparison off the budget; `false` when it is spent.
    pub(super) fn afford(&mut self, cost: usize) -> bool {
        let left = self.budget.checked_sub(1 + cost as u64 / 64);
        self.limited |= left.is_none();
        self.budget = left.unwrap_or(0);
        left.is_some()
    }

    /// Takes so many questions about paths off the budget.
    pub(super) fn afford_questions(&mut self, at: usize, count: usize) -> bool {
        let cost = self.lists.get(at).map_or(0, |list| list.set.rule_count() + 64 * list.stars);
        self.afford((cost + 64).saturating_mul(count))
    }

    /// Whether a rule is short enough to be compared with others.
    pub(super) fn fits(&mut self, form: &[u8]) -> bool {
        self.limited |= form.len() > MAX_PATTERN;
        form.len() <= MAX_PATTERN
    }

    pub(super) fn global(&self) -> Option<&List> {
        self.lists.get(self.agents.get("*")?.list)
    }

    /// Agents other than `*`, in file order.
    pub(super) fn named(&self) -> Vec<&Agent> {
        let mut agents: Vec<_> = self.agents.values().filter(|agent| agent.token != "*").collect();
        agents.sort_by_key(|agent| agent.place);
        agents
    }

    pub(super) fn report_limits(&self, sink: &mut Sink) {
        if self.limited {
            let message = "the file has too many groups, or too many or too long rules, to compare every pair of them"
                .to_string();
            sink.add(LintCode::NotExamined, (1, 1), message, None);
        }
    }
}

impl List {
    /// Whether the path may be fetched.
    pub(super) fn allows(&self, path: &[u8]) -> bool {
        self.set.allows(path)
    }

    /// The line of the rule that decides about the path.
    pub(super) fn decides(&self, path: &[u8]) -> Option<u32> {
        match self.set.evidence(path) {
            Evidence::Rule(rule) => Some(rule.line()),
            _ => None,
        }
    }
}

impl Rule {
    /// `Disallow: /path`, as written.
    pub(super) fn shown(&self) -> String {
        format!("{}: {}", label(self.kind), shown(&self.raw))
    }

    /// The same with its line.
    pub(super) fn with_line(&self) -> String {
        format!("{} of line {}", self.shown(), self.place.0)
    }

    pub(super) fn is_disallow(&self) -> bool {
        self.kind == RuleKind::Disallow
    }
}
