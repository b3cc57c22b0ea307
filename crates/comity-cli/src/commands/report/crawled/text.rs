//! The short form, and how numbers are written.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Report;
use super::origins::Origin;
use super::totals::Example;
use crate::commands::many;
use crate::commands::visible::visible;

/// Rows of a list that are shown.
const SHOWN: usize = 5;

pub(super) fn text(report: &Report) -> String {
    let Report { totals, origins, evidence, .. } = report;
    let pages = &totals.pages;
    let mut lines = vec![
        ("crawl", totals.crawl.clone()),
        ("requests", requests(&totals.requests)),
        (
            "pages",
            format!(
                "{} answered, {} redirects, {} not asked for, {} failed; {} of bodies",
                pages.answered,
                pages.redirects,
                pages.skipped,
                pages.failed,
                bytes(pages.bytes)
            ),
        ),
        ("statuses", totals.statuses.iter().map(|(status, n)| format!("{status}: {n}")).collect::<Vec<_>>().join(", ")),
    ];
    if let Some((first, last)) = totals.span {
        let at = |ms| comity::policy::WallTime::from_unix_millis(ms).to_string();
        lines.push(("time", format!("{} to {}", at(first), at(last))));
    }
    lines.extend(examples("skipped", &totals.skipped));
    lines.extend(examples("withheld", &totals.withheld));
    lines.extend(examples("failed", &totals.failed));
    lines.push(("origins", origins.all.len().to_string()));
    lines.push(("politeness", politeness(report)));
    lines.extend(waited(report));
    for one in report.standing.waiting.iter().take(SHOWN) {
        lines.push(("waits", format!("{} ({}): {}", one.origin, many(one.queued, "URL"), one.says)));
    }
    if let Some(left) = report.standing.left {
        lines.push(("left", many(left, "URL")));
    }
    let denied = totals.signals.iter().filter(|((_, _, verdict), _)| verdict == "denied").map(|(_, n)| n).sum::<u64>();
    lines.push((
        "signals",
        format!("{} of statement; {} of a use", many(totals.signals.len() as u64, "kind"), many(denied, "denial")),
    ));
    for (id, used) in &report.exceptions.overrides {
        lines.push(("override", format!("{id}: {}", many(used.requests, "request"))));
    }
    for (grant, records) in &report.exceptions.grants {
        lines.push(("grant", format!("{grant}: {}", many(*records, "record"))));
    }
    for (kind, of) in &evidence.kinds {
        lines.push(("evidence", format!("{kind}: {}, {}", many(of.sightings, "sighting"), many(of.copies, "copy"))));
    }
    if report.chain.tombstones > 0 {
        lines.push(("erased", format!("{} records", report.chain.tombstones)));
    }
    let mut text = String::new();
    for (label, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(text, "{label:10} {}", visible(value));
    }
    text
}

fn requests(by_errand: &BTreeMap<String, u64>) -> String {
    let all: u64 = by_errand.values().sum();
    let each: Vec<String> = by_errand.iter().map(|(errand, n)| format!("{n} {errand}")).collect();
    format!("{all} ({})", each.join(", "))
}

fn examples<'a>(
    label: &'static str,
    counts: &'a BTreeMap<String, Example>,
) -> impl Iterator<Item = (&'static str, String)> + 'a {
    let mut all: Vec<(&String, &Example)> = counts.iter().collect();
    all.sort_by_key(|(_, one)| std::cmp::Reverse(one.count));
    all.into_iter().take(SHOWN).map(move |(reason, one)| (label, format!("{} {reason}, as {}", one.count, one.url)))
}

/// The audit in one line.
pub(super) fn politeness(report: &Report) -> String {
    let origins = &report.origins;
    let measured: u64 = origins.all.iter().map(|origin| origin.gaps.measured).sum();
    let tightest = origins.all.iter().filter_map(|origin| origin.gaps.tightest).min_by_key(|(gap, due)| gap - due);
    let tightest = tightest.map_or_else(
        || "none where a delay was due".to_owned(),
        |(gap, due)| format!("the tightest {} where {} were due", seconds(&gap), seconds(&due)),
    );
    let (early, against) = (origins.violations(), origins.against_rule);
    let unknown = match origins.floor_unknown {
        0 => String::new(),
        n => format!("; for {} requests the own floor is not known", grouped(n)),
    };
    format!(
        "{} gaps between requests, {tightest}; {early} too early, {against} against a rule{unknown}",
        grouped(measured)
    )
}

/// `12,345`.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1.2 MB`: thousands, not powers of two.
pub(super) fn bytes(n: u64) -> String {
    let mut size = n as f64;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if size < 1000.0 {
            return if unit == "B" { format!("{n} B") } else { format!("{size:.1} {unit}") };
        }
        size /= 1000.0;
    }
    format!("{size:.1} PB")
}

/// Milliseconds as people read them.
pub(super) fn seconds(ms: &i64) -> String {
    let s = *ms as f64 / 1000.0;
    match ms.abs() {
        0..10_000 => format!("{s:.2} s"),
        10_000..600_000 => format!("{s:.0} s"),
        600_000..36_000_000 => format!("{:.0} min", s / 60.0),
        _ => format!("{:.1} h", s / 3600.0),
    }
}

/// The longest pause of each origin that a clock made, longest first, with what all of its gaps come to.
fn waited(report: &Report) -> impl Iterator<Item = (&'static str, String)> {
    let paused = report.origins.all.iter().filter_map(|one| Some((one.gaps.longest?, one)));
    let mut paused: Vec<_> = paused.collect();
    paused.sort_by_key(|(pause, one)| (std::cmp::Reverse(pause.gap_ms), one.origin.as_str()));
    paused.truncate(SHOWN);
    paused.into_iter().map(|(pause, Origin { origin, gaps, .. })| {
        let (longest, all) = (seconds(&pause.gap_ms), seconds(&i64::try_from(gaps.sum_ms).unwrap_or(i64::MAX)));
        let what = pause.clock.text();
        ("waited", format!("{longest} at most, {origin}: {what}; {}, {all} in all", many(gaps.measured, "gap")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        let groups = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (n, text) in groups {
            assert_eq!(grouped(n), text);
        }
        let sizes = [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1_500_000, "1.5 MB"), (u64::MAX, "18446.7 PB")];
        for (n, text) in sizes {
            assert_eq!(bytes(n), text);
        }
        let times = [
            (0, "0.00 s"),
            (-5, "-0.01 s"),
            (1049, "1.05 s"),
            (12_345, "12 s"),
            (1_200_000, "20 min"),
            (90_000_000, "25.0 h"),
        ];
        for (ms, text) in times {
            assert_eq!(seconds(&ms), text);
        }
    }
}
