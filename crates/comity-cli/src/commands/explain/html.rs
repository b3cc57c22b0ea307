//! The explanation as a page on its own feet: no script, nothing loaded, every text from outside escaped.

use std::fmt::Write as _;

use comity_url::CrawlUrl;

use super::copy::Copy;
use super::found::Found;
use super::queued::Queued;
use super::text::facts;
use crate::commands::page::{self, class, safe};

/// The records of the URL; where it has none, its place in the queue, or why there is none.
pub(super) fn page(
    url: &CrawlUrl,
    (found, queued, unknown): (&[Found], Option<&Queued>, &str),
    today: &[String],
) -> String {
    let mut body =
        format!("<h1>Why this URL was or was not fetched</h1>\n<p><code>{}</code></p>\n", safe(url.as_str()));
    if let Some(queued) = queued {
        body.push_str("<p>Not fetched yet: it waits in the queue.</p>\n<dl>\n");
        for (label, value) in queued.facts() {
            let _ = writeln!(body, "<dt>{}</dt><dd>{}</dd>", safe(label), safe(&value));
        }
        body.push_str("</dl>\n");
    } else if found.is_empty() {
        let _ = writeln!(body, "<p>No record: {}.</p>", safe(unknown));
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
    let foot = format!(
        "Made by comity {} from the crawl's directory alone. <code>comity verify</code> tells whether that still holds what was \
         written.",
        env!("CARGO_PKG_VERSION")
    );
    page::document(&format!("Why {url}"), &body, &foot)
}

fn record(found: &Found, body: &mut String) {
    let record = &found.record;
    let class = class(&record.outcome);
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
         statements about use.</p>",
        safe(&copy.path),
        copy.lines.len()
    );
    page::robots(copy, body);
}
