//! Faults of Content-Signal, Content-Usage and License lines.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::LintCode;
use super::rules::Lists;
use super::sink::{Place, Sink, listed, shown};
use crate::bytes::starts_with_ignore_case;
use crate::signal::Signal;
use crate::{ExtensionKind, Robots};

const CONTENT_SIGNAL: [(&str, &[&str]); 4] = [
    ("search", &["yes", "no"]),
    ("ai-input", &["yes", "no"]),
    ("ai-train", &["yes", "no"]),
    ("use", &["immediate", "reference", "full"]),
];

const CONTENT_USAGE: [(&str, &[&str]); 3] =
    [("train-ai", &["y", "n"]), ("ai-use", &["y", "n"]), ("search", &["y", "n"])];

pub(super) fn check_values(robots: &Robots, sink: &mut Sink) {
    for extension in robots.extensions() {
        let place = (extension.line(), extension.value_column());
        let signal = Signal::read(extension.kind(), extension.value(), extension.line());
        match extension.kind() {
            ExtensionKind::ContentSignal => pairs(&signal.value, "Content-Signal", &CONTENT_SIGNAL, true, place, sink),
            ExtensionKind::ContentUsage => pairs(&signal.value, "Content-Usage", &CONTENT_USAGE, false, place, sink),
            ExtensionKind::License if !is_url(extension.value()) => {
                let message = format!("License: {} is no absolute URL: nobody can fetch it", shown(extension.value()));
                sink.add(LintCode::SignalValue, place, message, None);
            }
            _ => {}
        }
    }
}

fn is_url(value: &[u8]) -> bool {
    starts_with_ignore_case(value, b"https://") || starts_with_ignore_case(value, b"http://")
}

/// The pairs of a line. Content-Signal is read without case and white space (our choice, its policy has no grammar);
/// Content-Usage is an RFC 9651 dictionary, in which either spoils the whole line.
fn pairs(value: &str, label: &str, keys: &[(&str, &[&str])], lenient: bool, place: Place, sink: &mut Sink) {
    for pair in value.split(',').map(str::trim) {
        let (key, said) = pair.split_once('=').unwrap_or((pair, ""));
        if !lenient && (pair.is_empty() != value.is_empty() || spoils(key, said)) {
            let message = format!("{label}: {} cannot be read: the whole line says nothing", shown(value.as_bytes()));
            return sink.add(LintCode::SignalValue, place, message, Some(format!("{label}: {}", example(keys))));
        }
        let said = if lenient { said } else { said.split(';').next().unwrap_or_default() };
        let (key, said) = (key.trim(), said.trim());
        let is = |known: &str, text: &str| if lenient { known.eq_ignore_ascii_case(text) } else { known == text };
        match keys.iter().find(|(known, _)| is(known, key)) {
            None if key.is_empty() => {}
            None => {
                let known: Vec<&str> = keys.iter().map(|(known, _)| *known).collect();
                let message = format!("{label} has no key {:?}: known are {}", shown(key.as_bytes()), known.join(", "));
                sink.add(LintCode::SignalKey, place, message, None);
            }
            Some((known, values)) if !values.iter().any(|value| is(value, said)) => {
                let message =
                    format!("{label}: {} says nothing: {known} takes {}", shown(pair.as_bytes()), values.join(" or "));
                sink.add(LintCode::SignalValue, place, message, None);
            }
            Some(_) => {}
        }
    }
}

/// Whether a dictionary member is none (RFC 9651 §4.2.2): capitals or blanks in the key, blanks around `=`.
fn spoils(key: &str, value: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(&byte);
    let key = key.split(';').next().unwrap_or_default();
    !key.bytes().all(good)
        || value.starts_with([' ', '\t'])
        || value.split(';').next().is_some_and(|value| value.trim().contains([' ', '\t']))
}

fn example(keys: &[(&str, &[&str])]) -> String {
    let pairs: Vec<_> = keys.iter().filter_map(|(key, values)| Some(format!("{key}={}", values.first()?))).collect();
    pairs.join(", ")
}

/// Signal lines of the `*` group that agents with a group of their own never see.
pub(super) fn check_hidden(lists: &mut Lists, sink: &mut Sink) {
    let Some(global) = lists.global() else { return };
    let mut first: BTreeMap<ExtensionKind, u32> = BTreeMap::new();
    for signal in global.set.signals() {
        first.entry(signal.kind).or_insert(signal.line);
    }
    for (kind, line) in first {
        let blind = lists.named().into_iter().filter(|agent| {
            let list = lists.lists.get(agent.list);
            list.is_some_and(|list| list.allows(b"/") && !list.set.signals().iter().any(|signal| signal.kind == kind))
        });
        let blind: Vec<&str> = blind.map(|agent| agent.token.as_str()).collect();
        if !blind.is_empty() {
            let message = format!(
                "{} of the * group does not reach {}: a named group replaces it whole",
                kind.as_str(),
                listed(&blind)
            );
            let fix = Some(format!("repeat the line in the groups of {}", listed(&blind)));
            sink.add(LintCode::SignalHidden, (line, 1), message, fix);
        }
    }
}
