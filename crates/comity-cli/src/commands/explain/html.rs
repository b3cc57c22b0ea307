//! The explanation as a page on its own feet: no script, nothing loaded, every text from outside escaped.

use std::fmt::Write as _;

use comity_url::CrawlUrl;
use htmlize::escape_text;

use super::copy::{Copy, Mark};
use super::found::Found;
use super::text::facts;
use crate::commands::visible::visible;

/// Lines of a robots.txt that are shown; those around the marked ones are shown of a longer one, too.
const MAX_LINES: usize = 5_000;

pub(super) fn page(url: &CrawlUrl, found: &[Found], today: &[String]) -> String {
    let mut body =
        format!("<h1>Why this URL was or was not fetched</h1>\n<p><code>{}</code></p>\n", safe(url.as_str()));
    if found.is_empty() {
        body.push_str("<p>No record: it was not found by this crawl, or was out of scope, or is still queued.</p>\n");
    }
    for one in found {
        record(one, &mut body);
    }
    if !today.is_empty() {
        body.push_str("<h2>When this page was made</h2>\n<ul>\n");
        for line in today {
            let line = line.trim_start().trim_start_matches("today").trim_start();
            let _ = writeln!(body, "<li>{}</li>", safe(line));
        }
        body.push_str("</ul>\n");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Why {title}</title>\n<style>\n{css}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
         <footer>Made by comity {version} from the crawl's directory alone. <code>comity verify</code> tells whether that still \
         holds what was written.</footer>\n</body>\n</html>\n",
        title = safe(url.as_str()),
        css = include_str!("page.css"),
        version = env!("CARGO_PKG_VERSION"),
    )
}

fn record(found: &Found, body: &mut String) {
    let record = &found.record;
    let class = match record.outcome.as_str() {
        "fetched" => "fetched",
        "not_fetched" => "refused",
        _ => "failed",
    };
    let _ = writeln!(
        body,
        "<h2>Record {} of {}</h2>\n<p class=\"outcome {class}\">{}: <code>{}</code></p>\n<dl>",
        found.seq,
        safe(&record.time.started),
        safe(&record.outcome.replace('_', " ")),
        safe(&record.reason)
    );
    for (label, value) in facts(found) {
        let _ = writeln!(body, "<dt>{}</dt><dd>{}</dd>", safe(label), safe(&value));
    }
    body.push_str("</dl>\n");
    match &found.copy {
        Ok(copy) => robots(copy, body),
        Err(why) => {
            let _ = writeln!(body, "<p>No robots.txt is shown: {}.</p>", safe(why));
        }
    }
}

fn robots(copy: &Copy, body: &mut String) {
    let _ = writeln!(
        body,
        "<h3>The robots.txt that decided</h3>\n<p><code>{}</code>, {} lines. Marked: the rule that decided, its group, \
         statements about use.</p>\n<pre class=\"robots\">",
        safe(&copy.path),
        copy.lines.len()
    );
    let all = copy.lines.len() <= MAX_LINES;
    let last = u32::try_from(copy.lines.len()).unwrap_or(u32::MAX);
    let shown = if all { (1..=last).collect() } else { copy.around() };
    let mut before = 0;
    for number in shown {
        if number > before + 1 {
            body.push_str("<span class=\"line\">…</span>");
        }
        before = number;
        let (class, note) = match copy.mark(number) {
            Some(Mark::Decided) => (" decided", "decided"),
            Some(Mark::Group) => (" group", "group"),
            Some(Mark::Signal) => (" signal", "signal"),
            None => ("", ""),
        };
        let text = safe(copy.line(number));
        let _ = write!(
            body,
            "<span class=\"line{class}\"><span class=\"note\">{note:>7}</span> <span class=\"number\">{number:>5}</span>  {text}</span>"
        );
    }
    body.push_str("</pre>\n");
}

/// A text from outside, as it may stand in a page.
fn safe(text: &str) -> String {
    escape_text(visible(text)).into_owned()
}
