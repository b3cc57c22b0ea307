//! Faults between groups: what a named group hides, and groups that run together.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::rules::{Agent, List, Lists};
use super::sample::sample;
use super::sink::{Sink, listed};
use super::{LintCode, Severity};
use crate::{ExtensionKind, Robots};

pub(super) fn check(robots: &Robots, lists: &mut Lists, sink: &mut Sink) {
    joined(robots, sink);
    hidden(lists, sink);
}

/// Records between the user-agent lines of one group: a reader of the file sees two groups there.
fn joined(robots: &Robots, sink: &mut Sink) {
    for group in robots.groups() {
        let Some(last) = group.agents().last() else { continue };
        let splits = |kind| !matches!(kind, ExtensionKind::Host | ExtensionKind::CleanParam);
        let Some(between) =
            group.extensions().find(|extension| splits(extension.kind()) && extension.line() < last.line())
        else {
            continue;
        };
        let names = |above: bool| {
            let agents = group.agents().filter(|agent| (agent.line() < between.line()) == above);
            agents.filter_map(|agent| agent.token()).collect::<Vec<_>>()
        };
        let message = format!(
            "{} and {} are one group: only Allow and Disallow lines end a list of agents, {} does not",
            listed(&names(true)),
            listed(&names(false)),
            between.kind().as_str()
        );
        let fix = Some(String::from("put a rule above the next User-agent line: an empty Disallow: will do"));
        sink.add(LintCode::GroupsJoined, (between.line(), between.key_column()), message, fix);
    }
}

/// Named groups that let their agent fetch what the `*` group refuses.
fn hidden(lists: &mut Lists, sink: &mut Sink) {
    let Some(at) = lists.agents.get("*").map(|agent| agent.list) else { return };
    let rules = lists.lists.get(at).map_or(0, |list| list.rules.len());
    if !lists.afford_questions(at, rules) {
        return;
    }
    let Some(global) = lists.lists.get(at) else { return };
    let refused: Vec<_> = global
        .rules
        .iter()
        .filter(|rule| rule.is_disallow())
        .map(|rule| (sample(&rule.form), rule.shown(), rule.place.0))
        .filter(|(path, _, line)| global.decides(path) == Some(*line))
        .collect();
    // Every agent of a list is answered alike.
    let open: Vec<Vec<usize>> = (0..lists.lists.len())
        .map(|at| {
            let asked = lists.afford_questions(at, refused.len());
            let list = lists.lists.get(at).filter(|_| asked);
            let allows = |path: &[u8]| list.is_some_and(|list| list.allows(path));
            (0..refused.len()).filter(|rule| refused.get(*rule).is_some_and(|(path, ..)| allows(path))).collect()
        })
        .collect();
    for agent in lists.named() {
        let open = open.get(agent.list).into_iter().flatten().filter_map(|rule| refused.get(*rule));
        let (Some((_, _, line)), Some(list)) = (open.clone().next(), lists.lists.get(agent.list)) else { continue };
        let rules: Vec<&str> = open.map(|(_, rule, _)| rule.as_str()).collect();
        report(agent, list, &rules, *line, sink);
    }
}

fn report(agent: &Agent, list: &List, rules: &[&str], line: u32, sink: &mut Sink) {
    let token = &agent.token;
    let message = format!(
        "{token} does not obey the * group, which its own group replaces whole: it may fetch what {} refuse{} (from line {line} on)",
        listed(rules),
        if rules.len() == 1 { "s" } else { "" },
    );
    let severity = if list.opened { Severity::Info } else { LintCode::HidesGlobal.severity() };
    let fix = format!("repeat in the group of {token}: {}", listed(rules));
    sink.add_as(LintCode::HidesGlobal, severity, agent.place, message, Some(fix));
}
