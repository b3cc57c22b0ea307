//! Pairs of rules: one that another swallows, and contests that a reader would decide otherwise.

use alloc::format;
use alloc::vec::Vec;

use super::rules::{Lists, Rule};
use super::sample::{covers, sample, split};
use super::sink::Sink;
use super::{LintCode, Severity};
use crate::RuleKind;

pub(super) fn check(lists: &mut Lists, at: usize, sink: &mut Sink) {
    // Taken out, so that the budget can be spent meanwhile.
    let rules = lists.lists.get_mut(at).map(|list| core::mem::take(&mut list.rules)).unwrap_or_default();
    let short: Vec<&Rule> = rules.iter().filter(|rule| lists.fits(&rule.form)).collect();
    shadowed(lists, &short, sink);
    contests(lists, at, &short, sink);
    if let Some(list) = lists.lists.get_mut(at) {
        list.rules = rules;
    }
}

/// Rules that never decide. Only a pattern with a star, or an equal one, can swallow a shorter pattern and be longer.
fn shadowed(lists: &mut Lists, rules: &[&Rule], sink: &mut Sink) {
    let stars: Vec<&Rule> = rules.iter().copied().filter(|rule| rule.form.contains(&b'*')).collect();
    let mut sorted: Vec<&Rule> = rules.to_vec();
    sorted.sort_by(|a, b| a.form.cmp(&b.form).then(a.kind.cmp(&b.kind)).then(a.place.cmp(&b.place)));
    for twins in sorted.chunk_by(|a, b| a.form == b.form) {
        let Some((first, rest)) = twins.split_first() else { continue };
        // Allow sorts first: at equal length it wins over a disallow rule.
        rest.iter().filter(|rule| rule.kind != first.kind).for_each(|rule| report(rule, first, sink));
    }
    for rule in rules {
        for other in &stars {
            let stronger = (other.form.len(), rule.kind) > (rule.form.len(), other.kind);
            if !stronger || other.form == rule.form {
                continue;
            }
            if !lists.afford(rule.form.len() + other.form.len()) {
                return;
            }
            if covers(&other.form, &rule.form) {
                report(rule, other, sink);
                break;
            }
        }
    }
}

fn report(rule: &Rule, other: &Rule, sink: &mut Sink) {
    let same = rule.kind == other.kind;
    let why = match (same, rule.form.len() == other.form.len()) {
        (true, _) => "says the same of every path, and is longer",
        (_, true) => "is as long, and allow wins at equal length",
        (_, false) => "matches wherever it does, and is longer",
    };
    let severity = if same { Severity::Info } else { LintCode::Shadowed.severity() };
    let message = format!("{} never decides: {} {why}", rule.shown(), other.with_line());
    sink.add_as(
        LintCode::Shadowed,
        severity,
        rule.place,
        message,
        Some(format!("remove one of lines {} and {}", rule.place.0, other.place.0)),
    );
}

/// For each rule that decides about its own paths: an earlier rule against it, and a contest that the `$` decided.
fn contests(lists: &mut Lists, at: usize, rules: &[&Rule], sink: &mut Sink) {
    let kinds = [RuleKind::Allow, RuleKind::Disallow].map(|kind| rules.iter().any(|rule| rule.kind == kind));
    if kinds != [true, true] {
        return;
    }
    for winner in rules {
        if !lists.afford_questions(at, 1) {
            return;
        }
        let path = sample(&winner.form);
        if lists.lists.get(at).and_then(|list| list.decides(&path)) != Some(winner.place.0) {
            continue;
        }
        let mut earlier = true;
        let mut reported = false;
        for other in rules {
            earlier &= other.place.0 < winner.place.0;
            if other.kind == winner.kind {
                continue;
            }
            if !lists.afford(path.len()) {
                return;
            }
            if !other.pattern.matches(&path) {
                continue;
            }
            if earlier && !reported {
                order_reliant(winner, other, sink);
                reported = true;
            }
            dollar_length(winner, other, sink);
        }
    }
}

fn order_reliant(winner: &Rule, other: &Rule, sink: &mut Sink) {
    let octets =
        |rule: &Rule| if rule.form.len() == 1 { "1 octet".into() } else { format!("{} octets", rule.form.len()) };
    let why = if winner.form.len() == other.form.len() {
        format!("allow wins at equal length ({})", octets(winner))
    } else {
        format!("the longest rule counts ({} against {})", octets(winner), octets(other))
    };
    let message = format!("{} wins over {}, which stands first: {why}", winner.shown(), other.with_line());
    let fix = format!("# the next line wins over \"{}\": {why}", other.shown());
    sink.add(LintCode::OrderReliant, winner.place, message, Some(fix));
}

/// A `$` is one octet: without it the other rule would have won.
fn dollar_length(winner: &Rule, other: &Rule, sink: &mut Sink) {
    let (open, anchored) = split(&winner.form);
    let without = match winner.kind {
        RuleKind::Allow => open.len() < other.form.len(),
        RuleKind::Disallow => open.len() <= other.form.len(),
    };
    if anchored && without {
        let message =
            format!("{} wins over {} only because its $ counts as an octet", winner.shown(), other.with_line());
        sink.add(LintCode::DollarLength, winner.place, message, None);
    }
}
