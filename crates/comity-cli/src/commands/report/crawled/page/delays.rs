//! What each origin asked for, and the least time that was kept: a point right of the line is politer than it had to be.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::Report;
use super::super::text::{grouped, seconds};
use super::chart::{WIDTH, open};
use super::table::{paragraph, table};

/// Units of the drawing of one row.
const HEIGHT: f64 = 20.0;
/// Places across: origins in one place are one point.
const CELLS: f64 = 100.0;
/// Rows at most: of more different delays, those of one power of two share a row.
const MOST_ROWS: usize = 12;
/// Multiples of what was due, as powers of two: from the left to the right end.
const FROM: f64 = -1.0;
const TO: f64 = 3.0;
/// Where they are named, in percent, and whether there is room for it on a phone.
const TICKS: [(u32, &str, &str); 5] =
    [(0, "half of it", "wide"), (25, "as asked", ""), (50, "twice", ""), (75, "4 times", "wide"), (100, "8 times", "")];
/// Different Crawl-delays that are listed.
const MOST_ASKED: usize = 25;

/// One row: the least and the greatest delay that was due, and points: how many origins, whether one was asked too early.
#[derive(Default)]
struct Row {
    due: Option<(i64, i64)>,
    origins: u64,
    cells: BTreeMap<u32, (u64, bool)>,
}

pub(super) fn delays(report: &Report, body: &mut String) {
    let tight = || {
        let kept = report.origins.all.iter().filter_map(|one| Some((one.gaps.tightest?, one.gaps.violations > 0)));
        // Where nothing was due, there is nothing to compare with.
        kept.filter(|((_, due), _)| *due > 0)
    };
    let all = tight().count() as u64;
    if all == 0 {
        paragraph("No origin was asked twice where a delay was due.", body);
        return;
    }
    let mut rows: BTreeMap<i64, Row> = BTreeMap::new();
    for ((gap, due), is_bad) in tight() {
        rows.entry(due).or_default().add(gap, due, is_bad);
    }
    if rows.len() > MOST_ROWS {
        rows = BTreeMap::new();
        for ((gap, due), is_bad) in tight() {
            rows.entry(i64::from(due.ilog2())).or_default().add(gap, due, is_bad);
        }
    }
    let told = format!(
        "{}, a row for each delay that was due (Crawl-delay or own floor): the time that was left between two requests where it \
         was nearest to that, as a multiple of it. On the line is as asked, to the right is politer.",
        if all == 1 { "1 origin".to_owned() } else { format!("{} origins", grouped(all)) }
    );
    body.push_str("<figure>\n<div class=\"plot delays\">");
    for (n, row) in rows.values().enumerate() {
        row.draw(n, body);
    }
    body.push_str("<div class=\"ticks\">");
    for (at, name, class) in TICKS {
        let _ = write!(body, "<span class=\"{class}\" style=\"left:{at}%\">{name}</span>");
    }
    let _ = writeln!(body, "</div></div>\n<figcaption>{told}</figcaption>\n</figure>");
    asked(report, body);
}

impl Row {
    fn add(&mut self, gap: i64, due: i64, is_bad: bool) {
        let (least, most) = self.due.unwrap_or((due, due));
        self.due = Some((least.min(due), most.max(due)));
        self.origins += 1;
        let (number, bad) = self.cells.entry(cell(gap, due)).or_default();
        *number += 1;
        *bad |= is_bad;
    }

    fn draw(&self, n: usize, body: &mut String) {
        let (least, most) = self.due.unwrap_or_default();
        let due = if least == most { seconds(&least) } else { format!("{} to {}", seconds(&least), seconds(&most)) };
        let many = if self.origins == 1 { "origin" } else { "origins" };
        let _ = write!(body, "<div class=\"due\">{due} <small>{} {many}</small></div>", grouped(self.origins));
        let told = format!("{} {many} at {due}", grouped(self.origins));
        open(&format!("delays-{n}"), &told, HEIGHT, body);
        let (line, middle) = (part(1.0) * WIDTH, HEIGHT / 2.0);
        let _ = write!(
            body,
            "<rect class=\"early\" width=\"{line}\" height=\"{HEIGHT}\"/><path class=\"grid\" d=\"M0 {middle}H{WIDTH}\"/>\
             <path class=\"even\" d=\"M{line} 0V{HEIGHT}\"/>"
        );
        for (place, (number, bad)) in &self.cells {
            let x = (f64::from(*place) + 0.5) / CELLS * WIDTH;
            let width = 8.0 + 2.0 * (*number as f64).ln().min(6.0);
            let class = if *bad { "bad" } else { "ok" };
            // A line of no length with round ends is a point that no stretching makes an egg.
            let _ = write!(
                body,
                "<path class=\"dot {class}\" style=\"stroke-width:{width:.1}px\" d=\"M{x:.1} {middle}h.01\"/>"
            );
        }
        body.push_str("</svg>");
    }
}

/// How far to the right a multiple of what was due lies, from 0 to 1.
fn part(times: f64) -> f64 {
    ((times.max(f64::MIN_POSITIVE).log2() - FROM) / (TO - FROM)).clamp(0.0, 1.0)
}

fn cell(gap: i64, due: i64) -> u32 {
    let at = part(gap.max(0) as f64 / due.max(1) as f64) * CELLS;
    at.min(CELLS - 1.0) as u32
}

/// The Crawl-delays that were asked for: how many origins did, and the least that each got.
fn asked(report: &Report, body: &mut String) {
    let mut by_delay: BTreeMap<u64, (u64, u64, Option<i64>)> = BTreeMap::new();
    for origin in &report.origins.all {
        let Some(asked) = origin.asked_ms else { continue };
        let (origins, requests, least) = by_delay.entry(asked).or_default();
        *origins += 1;
        *requests += origin.requests;
        if let Some(kept) = origin.gaps.kept_ms {
            *least = Some(least.map_or(kept, |least| least.min(kept)));
        }
    }
    if by_delay.is_empty() {
        paragraph("No robots.txt that a decision rested on asks for a Crawl-delay.", body);
        return;
    }
    let columns = [("Crawl-delay", false), ("origins", true), ("requests to them", true), ("least time kept", true)];
    let rows = by_delay.iter().take(MOST_ASKED).map(|(asked, (origins, requests, least))| {
        let least = least.as_ref().map_or_else(|| "none asked twice".to_owned(), seconds);
        vec![seconds(&i64::try_from(*asked).unwrap_or(i64::MAX)), grouped(*origins), grouped(*requests), least]
    });
    table("Crawl-delays that robots.txt asks for, the greatest of each origin", &columns, rows, body);
    if by_delay.len() > MOST_ASKED {
        paragraph(&format!("and {} more delays: see --json", by_delay.len() - MOST_ASKED), body);
    }
}
