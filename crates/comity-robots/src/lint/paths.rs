//! Paths next to a rule that it refuses, or leaves open, against what a reader expects.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::LintCode;
use super::rules::{List, Lists, Rule};
use super::sample::{sample, split, text};
use super::sink::{Sink, shown};

pub(super) fn check(lists: &mut Lists, at: usize, sink: &mut Sink) {
    // Five questions about a path, at most, for each rule.
    let rules = lists.lists.get(at).map_or(0, |list| list.rules.len());
    let affordable = (0..rules).take_while(|_| lists.afford_questions(at, 5)).count();
    let Some(list) = lists.lists.get(at) else { return };
    let mut spellings: BTreeMap<Vec<u8>, &Rule> = BTreeMap::new();
    for rule in list.rules.iter().take(affordable).filter(|rule| rule.is_disallow()) {
        prefix_bleed(list, rule, sink);
        dollar_query(list, rule, sink);
        parameter_position(list, rule, sink);
        case(list, rule, &mut spellings, sink);
    }
}

/// `/search` refuses `/searchable` too.
fn prefix_bleed(list: &List, rule: &Rule, sink: &mut Sink) {
    let name = rule.form.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let is_word =
        name.last().is_some_and(u8::is_ascii_alphanumeric) && !name.iter().any(|byte| b".?=&*%".contains(byte));
    if !is_word {
        return;
    }
    let path = sample(&rule.form);
    let longer = [&path[..], b"able"].concat();
    if list.decides(&longer) != Some(rule.place.0) {
        return;
    }
    let raw = rule.shown();
    let message = format!("{raw} also refuses {} and whatever else begins so", shown(&longer));
    let fix = format!("{raw}$ and {raw}/ and {raw}? refuse just that page and what is below it");
    sink.add(LintCode::PrefixBleed, rule.place, message, Some(fix));
}

/// `/*.pdf$` leaves `/x.pdf?download=1` open.
fn dollar_query(list: &List, rule: &Rule, sink: &mut Sink) {
    let (open, anchored) = split(&rule.form);
    let extension = open.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let named = extension.len() < open.len() && (1..=5).contains(&extension.len());
    if !anchored || !named || !extension.iter().all(u8::is_ascii_alphanumeric) || open.contains(&b'?') {
        return;
    }
    let slipped = [&sample(&rule.form)[..], b"?x=1"].concat();
    if list.decides(&sample(&rule.form)) == Some(rule.place.0) && list.allows(&slipped) {
        let message = format!("{} leaves {} open: $ ends the query as well", rule.shown(), shown(&slipped));
        sink.add(LintCode::DollarQuery, rule.place, message, Some(format!("add Disallow: {}?", shown(open))));
    }
}

/// `/*?sort=` misses `?color=red&sort=price`.
fn parameter_position(list: &List, rule: &Rule, sink: &mut Sink) {
    let Some(mark) = memchr::memchr(b'?', &rule.form) else { return };
    let (before, parameter) = rule.form.split_at(mark);
    let parameter = parameter.get(1..).unwrap_or_default();
    let name = parameter.iter().take_while(|byte| !matches!(byte, b'=' | b'*' | b'&' | b'$')).count();
    if name == 0 || list.decides(&sample(&rule.form)) != Some(rule.place.0) {
        return;
    }
    let moved = [before, b"?z=1&", parameter].concat();
    if list.allows(&sample(&moved)) {
        let parameter = shown(parameter.get(..name).unwrap_or_default());
        let message = format!(
            "{} misses {parameter} behind another parameter: {} stays open",
            rule.shown(),
            shown(&sample(&moved))
        );
        let star = if before.ends_with(b"*") { "" } else { "?*" };
        let rest = shown(rule.form.get(mark + 1..).unwrap_or_default());
        let fix = format!("add Disallow: {}{star}&{rest}", shown(before));
        sink.add(LintCode::ParameterPosition, rule.place, message, Some(fix));
    }
}

/// `/Category/` leaves `/category/` open; both together are said as well.
fn case<'l>(list: &List, rule: &'l Rule, spellings: &mut BTreeMap<Vec<u8>, &'l Rule>, sink: &mut Sink) {
    let lower = lower(&rule.form);
    if let Some(first) = spellings.get(&lower).filter(|first| first.form != rule.form) {
        let message =
            format!("{} and {} differ in case only: other spellings stay open", rule.shown(), first.with_line());
        let fix = String::from("redirect all spellings to one, then one rule is enough");
        sink.add(LintCode::CaseTwins, rule.place, message, Some(fix));
    } else if lower != rule.form && list.allows(&sample(&lower)) {
        let message = format!(
            "{} leaves {} open: paths are compared with case",
            rule.shown(),
            shown(text(&sample(&lower)).as_bytes())
        );
        let fix = format!("add Disallow: {}, if the server takes both for the same page", shown(&lower));
        sink.add(LintCode::CaseOpen, rule.place, message, Some(fix));
    }
    spellings.entry(lower).or_insert(rule);
}

/// Lower-case letters, the digits of escapes left alone.
fn lower(form: &[u8]) -> Vec<u8> {
    let mut escaped = 0;
    let letter = |byte: &u8| {
        escaped = if *byte == b'%' { 3_u8 } else { escaped.saturating_sub(1) };
        if escaped > 0 { *byte } else { byte.to_ascii_lowercase() }
    };
    form.iter().map(letter).collect()
}
