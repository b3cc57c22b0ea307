//! Plots as SVG of our own making. Each says in words what it shows; what it draws stands in a table, or in `--json`, too.

use std::fmt::Write as _;

use super::super::series::Timeline;
use super::super::text::grouped;
use crate::commands::page::safe;
use comity::policy::WallTime;

/// One bar: its name, how many, more about it (a text from outside).
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) count: u64,
    pub(super) more: String,
    pub(super) class: &'static str,
}

impl Bar {
    pub(super) fn new(name: impl Into<String>, count: u64, class: &'static str) -> Self {
        Self { name: name.into(), count, more: String::new(), class }
    }
}

/// Bars beside their numbers: a table.
pub(super) fn bars(caption: &str, bars: &[Bar], body: &mut String) {
    if bars.is_empty() {
        return;
    }
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    let _ = write!(
        body,
        "<table class=\"bars\">\n<caption>{}</caption>\n<thead class=\"aloud\"><tr><th scope=\"col\">what</th><th scope=\"col\">number</th>\
         <th scope=\"col\">bar</th></tr></thead>\n<tbody>\n",
        safe(caption)
    );
    for bar in bars {
        let width = (bar.count as f64 / most as f64 * 100.0).max(if bar.count > 0 { 0.5 } else { 0.0 });
        let more = if bar.more.is_empty() { String::new() } else { format!("<small>{}</small>", safe(&bar.more)) };
        let _ = writeln!(
            body,
            "<tr><th scope=\"row\">{}{more}</th><td class=\"n\">{}</td><td class=\"bar\"><svg viewBox=\"0 0 100 10\" \
             preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"{}\" width=\"{width:.1}\" height=\"10\"/></svg></td></tr>",
            safe(&bar.name),
            grouped(bar.count),
            bar.class,
        );
    }
    body.push_str("</tbody>\n</table>\n");
}

/// A drawing is so wide and high in its own units. It is stretched over the room that the page has; names and numbers stand beside
/// it as text of the page, which no drawing makes small.
pub(super) const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 100.0;

/// Answers, failures and what was not asked for, stacked, in each span of time.
pub(super) fn timeline(line: &Timeline, body: &mut String) {
    let rows = line.rows();
    let most = rows.iter().map(|(_, one)| one.answered + one.failed + one.skipped).max().unwrap_or(0);
    let (Some((first, _)), Some((last, _))) = (rows.first(), rows.last()) else {
        body.push_str("<p>Nothing happened.</p>\n");
        return;
    };
    let seconds = line.width_ms as f64 / 1000.0;
    let (from, to) = (clock(*first), clock(last.saturating_add(line.width_ms)));
    let told = format!(
        "Visits settled from {from} to {to} UTC, in steps of {seconds} s; at most {} in one step.",
        grouped(most)
    );
    body.push_str("<figure>\n<div class=\"plot\">");
    numbers(most, body);
    open("time-plot", &told, HEIGHT, body);
    let _ = write!(body, "<path class=\"grid\" d=\"M0 0H{WIDTH}M0 {}H{WIDTH}M0 {HEIGHT}H{WIDTH}\"/>", HEIGHT / 2.0);
    let step = WIDTH / rows.len() as f64;
    let scale = HEIGHT / top(most) as f64;
    for (n, (_, one)) in rows.iter().enumerate() {
        let (x, mut y) = (n as f64 * step, HEIGHT);
        for (class, count) in [("ok", one.answered), ("skip", one.skipped), ("bad", one.failed)] {
            let height = count as f64 * scale;
            if count > 0 {
                y -= height;
                let width = (step * 0.92).max(0.6);
                let _ = write!(
                    body,
                    "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"/>"
                );
            }
        }
    }
    let _ = writeln!(
        body,
        "</svg><div class=\"along\"><span>{from}</span><span>{to}</span></div></div>\n\
         <figcaption>{} <span class=\"key\"><i class=\"ok\"></i>answered <i class=\"skip\"></i>not asked for <i class=\"bad\"></i>failed</span>\
         </figcaption>\n</figure>",
        safe(&told)
    );
}

/// A drawing with its words for whoever does not see it.
pub(super) fn open(id: &str, told: &str, height: f64, body: &mut String) {
    let _ = write!(
        body,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" preserveAspectRatio=\"none\" role=\"img\" aria-labelledby=\"{id}\"><title id=\"{id}\">{}</title>",
        safe(told)
    );
}

/// The most, the half and nothing, beside the lines that are drawn there.
fn numbers(most: u64, body: &mut String) {
    let top = top(most);
    let half = if top >= 2 { grouped(top / 2) } else { String::new() };
    let _ = write!(body, "<div class=\"up\"><span>{}</span><span>{half}</span><span>0</span></div>", grouped(top));
}

/// The upper end of the scale: even, so that the line in the middle stands for the number beside it.
const fn top(most: u64) -> u64 {
    if most < 2 { 1 } else { most.saturating_add(most % 2) }
}

/// `2026-11-30 13:36:54`.
pub(super) fn clock(ms: i64) -> String {
    let text = WallTime::from_unix_millis(ms).to_string();
    text.get(..19).unwrap_or_default().replace('T', " ")
}
