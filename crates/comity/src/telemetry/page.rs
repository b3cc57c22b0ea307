//! The live page: no script, nothing loaded from elsewhere; the browser asks for it anew every two seconds.

use std::collections::VecDeque;
use std::fmt::Write as _;

use comity_policy::Reason;
use htmlize::escape_text;

use super::PAGE_STYLE;
use super::snapshot::{Mark, Snapshot};

const STYLE: &str = include_str!("page.css");
/// Seconds between two pages.
const REFRESH: u32 = 2;
/// Reasons of a list.
const MOST: usize = 12;

pub(super) fn page(snapshot: &Snapshot, marks: &VecDeque<Mark>) -> String {
    let Snapshot { summary, stats, .. } = snapshot;
    let mut body = format!("<h1>{}</h1>\n", escape_text(&snapshot.agent));
    let cards = [
        (summary.pages(), "pages answered"),
        (stats.queued, "queued"),
        (snapshot.in_flight, "open requests"),
        (summary.refusals(), "not asked for"),
        (summary.failed.values().sum(), "failed"),
        (stats.origins, "origins"),
    ];
    body.push_str("<ul class=\"cards\">\n");
    for (number, label) in cards {
        let _ = writeln!(body, "<li><b>{number}</b> {label}</li>");
    }
    body.push_str("</ul>\n");
    rates(snapshot, marks, &mut body);
    waiting(snapshot, &mut body);
    let mut list = |title: &str, counts: &std::collections::BTreeMap<Reason, u64>| reasons(title, counts, &mut body);
    list("Not asked for", &summary.refused);
    list("Withheld", &summary.withheld);
    list("Failed", &summary.failed);
    list("Links that were not queued", &summary.links_left);
    held(snapshot, &mut body);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"{REFRESH}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{} pages, {} queued</title>\n\
         <style>\n{PAGE_STYLE}{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n<footer>comity {}; this page asks for itself every \
         {REFRESH} seconds. What happened in full: <code>comity report DIR</code>.</footer>\n</body>\n</html>\n",
        summary.pages(),
        stats.queued,
        env!("CARGO_PKG_VERSION"),
    )
}

fn rates(snapshot: &Snapshot, marks: &VecDeque<Mark>, body: &mut String) {
    let seconds = snapshot.uptime.as_secs_f64();
    let per = |n: u64, s: f64| if s > 0.0 { n as f64 / s } else { 0.0 };
    let (pages, bytes) = (snapshot.summary.pages(), snapshot.summary.bytes);
    let _ = writeln!(
        body,
        "<dl><dt>runs for</dt><dd>{seconds:.0} s</dd><dt>since the start</dt><dd>{:.1} pages and {:.0} kB a second</dd>",
        per(pages, seconds),
        per(bytes, seconds) / 1000.0
    );
    if let (Some(first), Some(last)) = (marks.front(), marks.back())
        && last.at > first.at
    {
        let span = last.at.saturating_sub(first.at).as_secs_f64();
        let _ = writeln!(
            body,
            "<dt>last {span:.0} s</dt><dd>{:.1} pages and {:.0} kB a second; {} not asked for, {} failed</dd>",
            per(last.pages.saturating_sub(first.pages), span),
            per(last.bytes.saturating_sub(first.bytes), span) / 1000.0,
            last.refused.saturating_sub(first.refused),
            last.failed.saturating_sub(first.failed)
        );
    }
    let _ = writeln!(body, "<dt>robots.txt</dt><dd>{} requests</dd>", snapshot.robots_requests);
    if snapshot.archive_bytes > 0 {
        let _ = writeln!(body, "<dt>archive</dt><dd>{:.1} MB</dd>", snapshot.archive_bytes as f64 / 1e6);
    }
    body.push_str("</dl>\n");
    plot(marks, body);
}

/// Pages a second between two looks.
fn plot(marks: &VecDeque<Mark>, body: &mut String) {
    let steps: Vec<f64> = marks
        .iter()
        .zip(marks.iter().skip(1))
        .map(|(a, b)| b.pages.saturating_sub(a.pages) as f64 / b.at.saturating_sub(a.at).as_secs_f64().max(0.1))
        .collect();
    if steps.len() < 2 {
        return;
    }
    let most = steps.iter().copied().fold(0.1, f64::max);
    let width = 600.0 / steps.len() as f64;
    let _ = write!(
        body,
        "<svg class=\"plot\" viewBox=\"0 0 600 80\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Pages a second as this page \
         looked at it, at most {most:.1}\">"
    );
    for (n, rate) in steps.iter().enumerate() {
        let height = rate / most * 80.0;
        let _ = write!(
            body,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
            n as f64 * width,
            80.0 - height,
            width * 0.9
        );
    }
    let _ = writeln!(body, "</svg>\n<p class=\"quiet\">Pages a second, from look to look; at most {most:.1}.</p>");
}

fn waiting(snapshot: &Snapshot, body: &mut String) {
    let Snapshot { stats, parked, .. } = snapshot;
    let _ = writeln!(
        body,
        "<h2>Origins that wait</h2>\n<p>{} wait until told, {parked} are parked or outside their hours. Those that are due next:</p>",
        stats.stuck
    );
    if snapshot.waiting.is_empty() {
        body.push_str("<p>None.</p>\n");
        return;
    }
    body.push_str(
        "<table>\n<thead><tr><th scope=\"col\">origin</th><th scope=\"col\">URLs</th><th scope=\"col\">why</th></tr></thead>\n<tbody>\n",
    );
    for (origin, queued, says) in &snapshot.waiting {
        let _ = writeln!(
            body,
            "<tr><th scope=\"row\">{}</th><td>{queued}</td><td>{}</td></tr>",
            escape_text(origin),
            escape_text(says)
        );
    }
    body.push_str("</tbody>\n</table>\n");
}

fn reasons(title: &str, counts: &std::collections::BTreeMap<Reason, u64>, body: &mut String) {
    if counts.is_empty() {
        return;
    }
    let mut all: Vec<(&Reason, &u64)> = counts.iter().collect();
    all.sort_by_key(|(reason, n)| (std::cmp::Reverse(**n), **reason));
    let _ = writeln!(body, "<h2>{title}</h2>\n<dl>");
    for (reason, n) in all.into_iter().take(MOST) {
        let _ = writeln!(body, "<dt>{n} {}</dt><dd>{}</dd>", reason.code(), escape_text(reason.text()));
    }
    body.push_str("</dl>\n");
}

fn held(snapshot: &Snapshot, body: &mut String) {
    if snapshot.summary.waited.is_empty() {
        return;
    }
    body.push_str("<h2>Turns that a clock held back</h2>\n<dl>\n");
    for (clock, (turns, held)) in &snapshot.summary.waited {
        let _ = writeln!(body, "<dt>{turns}, {:.0} s</dt><dd>{}</dd>", held.as_secs_f64(), escape_text(clock.text()));
    }
    body.push_str("</dl>\n");
}
