//! Faults of keys: typos, missing colons, rules outside every group.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::file::Form;
use super::sink::{Place, Sink, shown};
use super::values::sitemap;
use super::{LintCode, Severity};
use crate::Robots;
use crate::bytes::{is_blank, split_while, trim};
use crate::lines::Lines;
use crate::record::{Kind, classify};
use crate::verdict::RuleKind;

/// Keys that people mean, as they are best written.
const MEANT: [&str; 10] = [
    "User-agent",
    "Disallow",
    "Allow",
    "Sitemap",
    "Crawl-delay",
    "Request-rate",
    "Visit-time",
    "Content-Signal",
    "Content-Usage",
    "Noindex",
];

/// A line with what stands before its first colon, or before the gap between its words.
struct Keyed<'a> {
    place: Place,
    key: &'a [u8],
    value: &'a [u8],
    colon: bool,
}

pub(super) fn check(robots: &Robots, form: Form, host: Option<&str>, sink: &mut Sink) {
    let mut in_group = false;
    let mut own_host = host.map(String::from);
    for line in Lines::new(robots.text()) {
        // A byte-order mark counts as bytes of the first line.
        let before = if line.number == 1 { line.start } else { 0 };
        let Some(keyed) = Keyed::of(line.number, before, line.bytes) else { continue };
        let [kind, extension] = classify(keyed.key);
        in_group |= kind == Some(Kind::Agent) && keyed.is_read();
        match (kind, extension) {
            (None, None) if form == Form::Text && keyed.colon => unknown(&keyed, sink),
            (Some(kind), None) => {
                known(kind, &keyed, in_group, sink);
                if kind == Kind::Sitemap && keyed.is_read() {
                    sitemap(keyed.value, keyed.value_place(before, line.bytes), &mut own_host, sink);
                }
            }
            _ => {}
        }
    }
}

impl<'a> Keyed<'a> {
    fn of(number: u32, before: usize, line: &'a [u8]) -> Option<Self> {
        let end = memchr::memchr2(b'#', 0, line).unwrap_or(line.len());
        let content = line.get(..end)?;
        let (key, value, colon) = match memchr::memchr(b':', content) {
            Some(at) => (content.get(..at)?, content.get(at + 1..)?, true),
            None => {
                let (key, rest) = split_while(trim(content), |byte| !is_blank(byte));
                (key, rest, false)
            }
        };
        let (key, value) = (trim(key), trim(value));
        let indent = line.iter().take_while(|byte| crate::bytes::is_space(**byte)).count();
        let column = u32::try_from(before + indent + 1).unwrap_or(u32::MAX);
        (!key.is_empty()).then_some(Self { place: (number, column), key, value, colon })
    }

    fn value_place(&self, before: usize, line: &[u8]) -> Place {
        let at = before + (self.value.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize);
        (self.place.0, u32::try_from(at).map_or(u32::MAX, |at| at.saturating_add(1)))
    }

    /// Whether a parser takes the line: it has a colon, or two words.
    fn is_read(&self) -> bool {
        self.colon || (!self.value.is_empty() && !self.value.iter().copied().any(is_blank))
    }
}

fn known(kind: Kind, keyed: &Keyed<'_>, in_group: bool, sink: &mut Sink) {
    let label = match kind {
        Kind::Agent => "User-agent",
        Kind::Rule(RuleKind::Allow) => "Allow",
        Kind::Rule(RuleKind::Disallow) => "Disallow",
        Kind::Sitemap => "Sitemap",
        Kind::Extension(_) => return,
    };
    let (key, fix) = (shown(keyed.key), Some(format!("{label}: {}", shown(keyed.value))));
    if !keyed.colon {
        // A word alone, or text that only begins like a key, is prose.
        if keyed.value.is_empty() || !keyed.key.eq_ignore_ascii_case(label.as_bytes()) {
            return;
        }
        let (severity, what) = match keyed.is_read() {
            true => (Severity::Warning, "only lenient readers take the line"),
            false => (Severity::Error, "the line is ignored"),
        };
        return sink.add_as(
            LintCode::MissingColon,
            severity,
            keyed.place,
            format!("no colon after {key}: {what}"),
            fix,
        );
    }
    if !keyed.key.eq_ignore_ascii_case(label.as_bytes()) {
        let message = format!("{key:?} is read as {label} by lenient readers only, Google's parser among them");
        sink.add(LintCode::KeyTypo, keyed.place, message, fix);
    }
    if matches!(kind, Kind::Rule(_)) && !in_group && !keyed.value.is_empty() {
        let message =
            format!("{label}: {} stands before the first User-agent line, so it belongs to nobody", shown(keyed.value));
        sink.add(LintCode::OutsideGroup, keyed.place, message, Some("put User-agent: * above it".to_string()));
    }
}

fn unknown(keyed: &Keyed<'_>, sink: &mut Sink) {
    let Ok(key) = core::str::from_utf8(keyed.key) else { return };
    let lower = key.to_ascii_lowercase();
    let near = MEANT.iter().find(|meant| {
        let most = if meant.len() > 5 { 2 } else { 1 };
        distance(&lower, &meant.to_ascii_lowercase()).is_some_and(|distance| distance <= most)
    });
    let Some(meant) = near else { return };
    let message = format!("{:?} is no key that any reader knows; {meant} was probably meant", shown(keyed.key));
    sink.add(LintCode::UnknownKey, keyed.place, message, Some(format!("{meant}: {}", shown(keyed.value))));
}

/// Single-byte changes from one word to another; `None` when the lengths alone are too far apart.
fn distance(one: &str, other: &str) -> Option<usize> {
    if one.len().abs_diff(other.len()) > 2 {
        return None;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, from) in one.bytes().enumerate() {
        let mut diagonal = core::mem::replace(row.first_mut()?, at + 1);
        for (place, to) in other.bytes().enumerate() {
            let left = row.get(place).copied()?;
            let above = row.get_mut(place + 1)?;
            let cost = (diagonal + usize::from(from != to)).min(*above + 1).min(left + 1);
            diagonal = core::mem::replace(above, cost);
        }
    }
    row.last().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let rows = [("", "", 0), ("disllow", "disallow", 1), ("user_agent", "user-agent", 1), ("alow", "allow", 1)];
        for (one, other, wanted) in rows {
            assert_eq!(distance(one, other), Some(wanted), "{one} {other}");
        }
        assert_eq!(distance("a", "allow"), None);
        assert_eq!(distance(&String::from("aollw"), "allow"), Some(2));
    }
}
