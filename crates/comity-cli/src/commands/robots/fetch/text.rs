//! The report for people.

use std::collections::BTreeMap;
use std::time::Duration;

use comity::policy::Capture;
use comity_gate::{HopMeaning, NotFollowed, RobotsClass, RobotsHop};
use comity_robots::{Lint, Severity};

use super::again::Again;
use super::changes::{self, Line};
use super::siblings::{Relation, Sibling};
use super::{Report, copies, meaning};
use crate::commands::asker::words::{self, safe, when};
use crate::commands::robots::lint;

/// A file of more lines is shown around its marks only.
const MOST_LINES: usize = 120;
/// Lines shown around a mark of a longer file.
const AROUND: usize = 2;
/// Lines of a diff shown.
const MOST_CHANGES: usize = 400;
/// Characters of a line shown.
const LONGEST_LINE: usize = 160;

/// The whole report.
pub(super) fn report(report: &Report<'_>) -> String {
    let mut parts = vec![facts(report), sentences(report)];
    if let (Some((_, bytes)), Some(found)) = (&report.found.file, &report.lint) {
        parts.extend(file(bytes, found));
        parts.push(findings(found));
    }
    if !report.advice.is_empty() {
        let lines = report.advice.iter().map(|advice| format!("  {:18} {}", advice.code, fold(&advice.message, 21)));
        parts.push(format!("advice\n{}", lines.collect::<Vec<_>>().join("\n")));
    }
    parts.extend(report.wants_diff.then(|| changed(report)));
    parts.extend(report.siblings.as_deref().map(siblings));
    parts.join("\n\n")
}

fn facts(report: &Report<'_>) -> String {
    let found = report.found;
    let mut lines = vec![found.origin.robots_url().to_string()];
    let mut say = |label: &str, value: String| lines.push(format!("  {label:10} {value}"));
    say("asked", format!("{} by {}", when(found.at), report.user_agent));
    for (at, hop) in found.hops.iter().enumerate() {
        say(if at == 0 { "chain" } else { "" }, format!("{}  {}", safe(hop.url.as_str()), result(hop)));
        if let Some(capture) = &hop.capture {
            say("", format!("  {}", exchange(capture)));
        }
    }
    say("class", class(report));
    if let (Some((digest, _)), Some(copy), Some(answer)) = (&found.file, found.life.copy(), found.answer()) {
        say("size", size(copy.bytes, copy.truncated, answer));
        say("type", answer.field("content-type").map_or_else(|| "not said".to_owned(), |kind| safe(kind).into_owned()));
        say("sha256", digest.to_string());
    }
    if !matches!(found.class, RobotsClass::Unreachable { .. })
        && let Some(life) = meaning::life(found)
    {
        let age = meaning::age(found).map(|age| format!("; it was {} old when it came", words::span(age)));
        say("life", life + &age.unwrap_or_default());
    }
    if let Some(validators) = found.validators() {
        let etag = validators.etag.as_deref().map(|tag| format!("ETag {}", safe(tag)));
        let modified = validators.last_modified.as_deref().map(|at| format!("Last-Modified {}", safe(at)));
        say("validators", [etag, modified].into_iter().flatten().collect::<Vec<_>>().join(", "));
    }
    match &report.again {
        None => {}
        Some(Again::Same) => say("again", "the same answer the second time".to_owned()),
        Some(Again::Differs(second)) => {
            say("again", format!("ANOTHER answer the second time: {}", words::answer(second)))
        }
        Some(Again::NotAsked(why)) => say("again", format!("not asked a second time: {why}")),
    }
    if let Some(history) = &report.history {
        say("copies", kept(history));
    }
    lines.join("\n")
}

/// What a hop came to.
fn result(hop: &RobotsHop) -> String {
    let status = hop.capture.as_ref().and_then(|capture| capture.status);
    let status = status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
    match &hop.meaning {
        HopMeaning::Redirect(_) => format!("{status}, goes on"),
        HopMeaning::NotFollowed(NotFollowed::TooMany) => format!("{status}, the sixth redirect: not followed"),
        HopMeaning::NotFollowed(NotFollowed::Loop) => format!("{status}, back to what was asked: not followed"),
        HopMeaning::NotFollowed(NotFollowed::NoTarget) => format!("{status}, to no http or https URL: not followed"),
        HopMeaning::Answer => status,
        HopMeaning::NotAsked(refused) => format!("not asked: {}", safe(&refused.to_string())),
    }
}

/// Times, protocol and peer of one exchange.
fn exchange(capture: &Capture) -> String {
    let time = |label: &str, span: Option<Duration>| span.map(|span| format!("{label} {}", words::span(span)));
    let parts = [
        time("dns", capture.timings.dns),
        time("connect", capture.timings.connect),
        time("tls", capture.timings.tls),
        time("first byte", capture.timings.head),
        time("body", capture.timings.body),
        capture.peer.map(|peer| peer.to_string()),
        Some(capture.protocol.as_str().to_owned()),
        capture.tls.as_ref().map(|tls| format!("{} {}", tls.version, tls.cipher)),
        capture.fault.map(|fault| fault.to_string()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn class(report: &Report<'_>) -> String {
    let class = &report.found.class;
    match class.status() {
        Some(status) => format!("{} ({status})", class.as_str()),
        None => class.as_str().to_owned(),
    }
}

fn size(bytes: u64, truncated: bool, answer: &Capture) -> String {
    let rest = if truncated { " or more, of which the first 512,000 are read" } else { "" };
    let coding = answer
        .field("content-encoding")
        .map(|coding| format!(" ({}, {} sent)", safe(coding), words::bytes(answer.body.len())));
    format!("{}{}{rest}", words::bytes(bytes), coding.unwrap_or_default())
}

fn kept(history: &copies::History) -> String {
    let place = history.folder.display();
    match (history.count(), history.before()) {
        (1, _) | (_, None) => format!("the first one, kept in {place}"),
        (_, Some(_)) if history.since() < history.now.fetched() => {
            format!("the same since {}, kept in {place}", when(history.since()))
        }
        (_, Some(before)) => format!("CHANGED since {}; kept in {place}", when(before.fetched())),
    }
}

fn sentences(report: &Report<'_>) -> String {
    let before = report.history.as_ref().and_then(meaning::before);
    std::iter::once(meaning::sentence(report.found))
        .chain(before)
        .map(|text| fold(&text, 0))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The file with its marks; only what is around them when it is long.
fn file(bytes: &[u8], found: &Lint) -> Option<String> {
    let lines = changes::lines(bytes);
    let mut marks = BTreeMap::new();
    for finding in &found.findings {
        let worst = marks.entry(finding.line as usize).or_insert(finding.severity);
        *worst = finding.severity.max(*worst);
    }
    let mark = |number: usize| marks.get(&number).copied();
    let shown = |number: usize| {
        lines.len() <= MOST_LINES
            || number <= 2 * AROUND
            || (number.saturating_sub(AROUND)..=number + AROUND).any(|near| mark(near) > Some(Severity::Info))
    };
    let (mut text, mut left_out) = (Vec::new(), 0);
    for (at, line) in lines.iter().enumerate() {
        if !shown(at + 1) {
            left_out += 1;
            continue;
        }
        if left_out > 0 {
            text.push(gap(left_out));
            left_out = 0;
        }
        text.push(format!("{} {:>5}  {}", letter(mark(at + 1)), at + 1, cut(line)).trim_end().to_owned());
    }
    if left_out > 0 {
        text.push(gap(left_out));
    }
    (!text.is_empty()).then(|| text.join("\n"))
}

fn gap(lines: usize) -> String {
    format!("        … {lines} lines without a warning")
}

const fn letter(severity: Option<Severity>) -> char {
    match severity {
        Some(Severity::Error) => 'E',
        Some(Severity::Warning) => 'W',
        Some(Severity::Info) => 'i',
        None => ' ',
    }
}

/// The reasons of the marks, below the file.
fn findings(found: &Lint) -> String {
    let mut lines = Vec::new();
    for finding in &found.findings {
        let (mark, code) = (letter(Some(finding.severity)), finding.code);
        let message = format!("{code} {}: {}", code.name(), safe(&finding.message));
        lines.push(format!("{mark} {:>5}  {}", finding.line, fold(&message, 9)));
        lines.extend(finding.fix.as_ref().map(|fix| format!("         fix: {}", safe(fix))));
    }
    lines.push(lint::summary(found));
    lines.join("\n")
}

/// The line diff to the copy before.
fn changed(report: &Report<'_>) -> String {
    let Some(before) = report.history.as_ref().and_then(copies::History::before) else {
        return "changes\n  no earlier copy to compare with: the next time there is one".to_owned();
    };
    let Some(changes) = &report.changes else {
        return "changes\n  nothing to compare: robots.txt gave no answer".to_owned();
    };
    let head = format!("changes since {}", when(before.fetched()));
    if !changes.differ {
        return format!("{head}\n  none");
    }
    if changes.groups.is_empty() {
        return format!("{head}\n  line ends, or bytes that are no text");
    }
    let mut lines = Vec::new();
    for (at, group) in changes.groups.iter().enumerate() {
        lines.extend((at > 0).then(|| "      …".to_owned()));
        lines.extend(group.iter().map(changed_line));
    }
    let more = lines.len().saturating_sub(MOST_CHANGES);
    lines.truncate(MOST_CHANGES);
    lines.extend((more > 0).then(|| format!("      … {more} lines more (--json has them all)")));
    format!("{head}\n{}", lines.join("\n"))
}

fn changed_line(line: &Line) -> String {
    format!("{} {:>5}  {}", line.sign, line.number, cut(&line.text)).trim_end().to_owned()
}

fn siblings(siblings: &[Sibling]) -> String {
    let row = |sibling: &Sibling| {
        let found = &sibling.found;
        let word = match sibling.relation {
            Relation::Same => "same",
            Relation::Differs => "DIFFERS",
            Relation::NotThere => "not there",
        };
        let to = sibling.redirects_to().map(|to| format!(", redirected to {}", safe(to))).unwrap_or_default();
        let size = found.life.copy().map(|copy| format!(", {}", words::bytes(copy.bytes))).unwrap_or_default();
        format!("  {word:9} {}  {}{size}{to}", found.origin, words::end(found))
    };
    let rows: Vec<String> = siblings.iter().map(row).collect();
    let rows = if rows.is_empty() {
        "  none: no other scheme and no other name goes with it".to_owned()
    } else {
        rows.join("\n")
    };
    format!("siblings\n{rows}\n  Each origin has a robots.txt of its own: none inherits from another (RFC 9309 §2.3).")
}

fn cut(line: &str) -> String {
    let text = safe(line);
    match text.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into_owned(),
    }
}

/// Breaks a text into lines of a hundred characters, the later ones indented.
fn fold(text: &str, indent: usize) -> String {
    const WIDTH: usize = 100;
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(' ') {
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines.join(&format!("\n{}", " ".repeat(indent)))
}
