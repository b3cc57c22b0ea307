//! What each origin asked for, and the least time that was kept: a point above the line is politer than it had to be.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::Report;
use super::super::text::{grouped, seconds};
use super::chart::open;
use super::table::{paragraph, table};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 80.0;
const BELOW: f64 = 24.0;
/// Cells of the plot along each side: origins in one cell are one point.
const CELLS: f64 = 60.0;
/// Different Crawl-delays that are listed.
const MOST_ASKED: usize = 25;

pub(super) fn delays(report: &Report, body: &mut String) {
    let tight =
        || report.origins.all.iter().filter_map(|origin| Some((origin.gaps.tightest?, origin.gaps.violations > 0)));
    let Some(scale) = Scale::of(tight().flat_map(|((gap, due), _)| [gap, due])) else {
        paragraph("No origin was asked twice where a delay was due.", body);
        return;
    };
    let mut cells: BTreeMap<(i64, i64), (u64, bool)> = BTreeMap::new();
    for ((gap, due), is_bad) in tight() {
        let (number, bad) = cells.entry((scale.cell(due), scale.cell(gap))).or_default();
        *number += 1;
        *bad |= is_bad;
    }
    let told = format!(
        "{} origins: across, the delay that was due (Crawl-delay or own floor); up, the time that was left between two requests where \
         it was nearest to that. On the line is as asked, above it is politer.",
        grouped(cells.values().map(|(number, _)| number).sum())
    );
    body.push_str("<figure>\n");
    open("delay-plot", &told, WIDTH, HEIGHT + BELOW, body);
    scale.grid(body);
    for ((x, y), (number, bad)) in cells {
        let (x, y) = (LEFT + (x as f64 + 0.5) / CELLS * (WIDTH - LEFT), HEIGHT - (y as f64 + 0.5) / CELLS * HEIGHT);
        let radius = 3.0 + (number as f64).ln().min(6.0);
        let class = if bad { "bad" } else { "ok" };
        let _ = write!(body, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>");
    }
    let _ = writeln!(body, "</svg>\n<figcaption>{told}</figcaption>\n</figure>");
    asked(report, body);
}

/// Decades of milliseconds along each side: from that of the least to that of the greatest.
struct Scale {
    first: i32,
    last: i32,
}

impl Scale {
    fn of(all: impl Iterator<Item = i64>) -> Option<Self> {
        let (least, most) = all.fold(None, |found: Option<(i64, i64)>, ms| {
            Some(found.map_or((ms, ms), |(a, b)| (a.min(ms), b.max(ms))))
        })?;
        let first = log(least).floor() as i32;
        Some(Self { first, last: (log(most).ceil() as i32).max(first + 1) })
    }

    fn part(&self, decades: f64) -> f64 {
        ((decades - f64::from(self.first)) / f64::from(self.last - self.first)).clamp(0.0, 1.0)
    }

    fn cell(&self, ms: i64) -> i64 {
        ((self.part(log(ms)) * CELLS) as i64).min(CELLS as i64 - 1)
    }

    fn grid(&self, body: &mut String) {
        for decade in self.first..=self.last {
            let part = self.part(f64::from(decade));
            let (x, y) = (LEFT + part * (WIDTH - LEFT), HEIGHT * (1.0 - part));
            let name = 10_f64.powi(decade - 3);
            let end = if decade == self.first { "start" } else { "end" };
            let _ = write!(
                body,
                "<path class=\"grid\" d=\"M{x:.1} 0V{HEIGHT}M{LEFT} {y:.1}H{WIDTH}\"/><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{name} s</text>\
                 <text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"{end}\">{name} s</text>",
                LEFT - 6.0,
                y + 4.0,
                HEIGHT + 20.0
            );
        }
        let _ = write!(body, "<path class=\"even\" d=\"M{LEFT} {HEIGHT}L{WIDTH} 0\"/>");
    }
}

fn log(ms: i64) -> f64 {
    (ms.max(1) as f64).log10()
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
