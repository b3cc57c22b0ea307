//! The table of origins.

use super::super::Report;
use super::super::origins::Origin;
use super::super::text::{bytes, grouped, seconds};
use super::table::{paragraph, table};

/// Origins that are listed: a page of some hundred kilobytes (our choice).
const MOST: usize = 500;

const COLUMNS: [(&str, bool); 10] = [
    ("origin", false),
    ("pages", true),
    ("not asked", true),
    ("failed", true),
    ("bytes", true),
    ("Crawl-delay", true),
    ("kept", true),
    ("least gap / due", true),
    ("longest wait", false),
    ("robots.txt", false),
];

pub(super) fn origins(report: &Report, body: &mut String) {
    let all = report.origins.sorted();
    if all.is_empty() {
        paragraph("None.", body);
        return;
    }
    let caption = "Origins, those with a violation first, then by requests. Kept: the least time before a request for which a Crawl-delay \
                   held. Gap and due: where they were nearest to each other";
    table(caption, &COLUMNS, all.iter().take(MOST).map(|origin| row(origin)), body);
    if all.len() > MOST {
        paragraph(&format!("and {} more: see --json", grouped((all.len() - MOST) as u64)), body);
    }
}

fn row(origin: &Origin) -> Vec<String> {
    let Origin { pages, gaps, .. } = origin;
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let asked = origin.asked_ms.map(|ms| seconds(&i64::try_from(ms).unwrap_or(i64::MAX)));
    let marked = if gaps.violations > 0 { format!(" ({} violations)", gaps.violations) } else { String::new() };
    let tight = gaps.tightest.map(|(gap, due)| format!("{} / {}{marked}", seconds(&gap), seconds(&due)));
    let longest = gaps.longest.map(|one| format!("{}: {}", seconds(&one.gap_ms), one.clock.text()));
    let robots = origin.robots.as_ref().map(|state| {
        let digest = origin.digest.as_deref().and_then(|hex| hex.get(..12));
        let state = state.replace('_', " ");
        digest.map_or_else(|| state.clone(), |digest| format!("{state} {digest}…"))
    });
    vec![
        origin.origin.clone(),
        grouped(pages.answered),
        grouped(pages.skipped),
        grouped(pages.failed),
        bytes(pages.bytes),
        or_dash(asked),
        or_dash(gaps.kept_ms.as_ref().map(seconds)),
        or_dash(tight),
        or_dash(longest),
        or_dash(robots),
    ]
}
