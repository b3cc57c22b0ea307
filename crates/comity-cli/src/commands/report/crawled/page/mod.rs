//! The page: one file, no script, nothing loaded from elsewhere, every text from outside escaped.

mod chart;
mod delays;
mod origins;
mod parts;
mod table;

use std::fmt::Write as _;

use super::Report;
use super::text::{bytes, grouped};
use crate::commands::page::{document_with, safe};

const STYLE: &str = include_str!("report.css");

/// Writes a part of the page.
type Part = fn(&Report, &mut String);

/// What the page holds: id and title of each part.
const PARTS: [(&str, &str, Part); 10] = [
    ("politeness", "Politeness", parts::politeness),
    ("time", "Over time", parts::time),
    ("outcomes", "What became of it", parts::outcomes),
    ("delays", "Delays asked and kept", delays::delays),
    ("sizes", "Sizes, times, depth", parts::sizes),
    ("origins", "Origins", origins::origins),
    ("waits", "Waits", parts::waits),
    ("signals", "What sites said about use", parts::signals),
    ("exceptions", "Overrides and grants", parts::exceptions),
    ("evidence", "Evidence", parts::evidence),
];

pub(super) fn page(report: &Report) -> String {
    let name = or_unnamed(&report.totals.crawl);
    let mut body = format!("<h1>Crawl {}</h1>\n", safe(name));
    head(report, &mut body);
    body.push_str("<nav aria-label=\"Parts of this page\">");
    for (id, title, _) in PARTS {
        let _ = write!(body, "<a href=\"#{id}\">{title}</a> ");
    }
    body.push_str("</nav>\n");
    for (id, title, part) in PARTS {
        let _ =
            writeln!(body, "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>");
        part(report, &mut body);
        body.push_str("</section>\n");
    }
    let foot = format!(
        "Made by comity {} at {} from the crawl's directory alone: {} lines of its chain were read and hold. <code>comity verify</code> \
         checks WARC files and signatures as well, <code>comity report DIR --json</code> has all numbers.",
        env!("CARGO_PKG_VERSION"),
        safe(&report.made),
        grouped(report.chain.lines)
    );
    document_with(&format!("Crawl {name}"), STYLE, &body, &foot)
}

fn or_unnamed(name: &str) -> &str {
    if name.is_empty() { "without a record" } else { name }
}

fn head(report: &Report, body: &mut String) {
    let (totals, pages) = (&report.totals, &report.totals.pages);
    let violations = report.origins.violations() + report.origins.against_rule;
    let class = match (violations, report.origins.floor_unknown) {
        (0, 0) => "good",
        // Nobody knows whether it is.
        (0, _) => "",
        _ => "bad",
    };
    let cards = [
        ("", grouped(pages.answered), "pages answered, each try of a URL counted"),
        ("", grouped(report.origins.all.len() as u64), "origins"),
        ("", bytes(pages.bytes), "of bodies"),
        ("", grouped(pages.skipped), "not asked for"),
        ("", grouped(pages.failed), "failed"),
        (class, grouped(violations), "requests too early, or against a Disallow"),
    ];
    body.push_str("<ul class=\"cards\">\n");
    for (class, number, label) in cards {
        let _ = writeln!(body, "<li class=\"{class}\"><b>{number}</b> {label}</li>");
    }
    body.push_str("</ul>\n");
    let agents: Vec<&str> = totals.agents.keys().map(String::as_str).collect();
    let standing = &report.standing;
    let state = match (&standing.end, standing.is_running) {
        (Some(end), _) => format!("ended: {end}"),
        (None, true) => "it runs".to_owned(),
        (None, false) if standing.left == Some(0) => "ended: nothing is left".to_owned(),
        (None, false) => "stopped".to_owned(),
    };
    let left = standing.left.map_or_else(
        || format!("not known: {}", standing.why_unknown.as_deref().unwrap_or("the queue was not asked")),
        |left| format!("{} URLs", grouped(left)),
    );
    let rows = [
        ("requests sent", parts::span(totals)),
        ("User-Agent", agents.join("; ")),
        ("contact", totals.contact.clone()),
        ("wanted for", totals.purposes.join(", ")),
        ("state", state),
        ("still queued", left),
    ];
    table::list(&rows, body);
}
