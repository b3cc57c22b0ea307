//! The page: what was asked of the origin, what it had said, what speaks for that. Outcomes first.

use std::fmt::Write as _;
use std::path::Path;

use comity_archive::{DossierCopy, DossierFacts};

use super::gathered::Gathered;
use crate::commands::explain::Copy;
use crate::commands::page::{self, class, safe};

/// Copies that are shown whole, the latest first.
const MAX_COPIES: usize = 20;

pub(super) fn page(dir: &Path, facts: &DossierFacts, found: &Gathered) -> String {
    let origin = facts.origin.as_str();
    let mut body = format!("<h1>What this crawl holds about your site</h1>\n<p><code>{}</code></p>\n", safe(origin));
    summary(facts, found, &mut body);
    copies(dir, facts, found, &mut body);
    signals(found, &mut body);
    terms(found, &mut body);
    requests(facts, found, &mut body);
    proof(facts, &mut body);
    let foot = format!("Made by comity {} from the crawl's directory alone.", env!("CARGO_PKG_VERSION"));
    page::document(&format!("Dossier: {origin}"), &body, &foot)
}

fn list(rows: &[(&str, String)], body: &mut String) {
    body.push_str("<dl>\n");
    for (label, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(body, "<dt>{}</dt><dd>{}</dd>", safe(label), safe(value));
    }
    body.push_str("</dl>\n");
}

fn summary(facts: &DossierFacts, found: &Gathered, body: &mut String) {
    let count = |outcome: &str| found.outcomes.get(outcome).copied().unwrap_or(0);
    let mut rows = vec![
        ("asked and answered", count("fetched").to_string()),
        ("asked, not changed", count("not_modified").to_string()),
        ("asked, and nothing kept by what it says", count("withheld").to_string()),
        ("asked, no full answer", count("failed").to_string()),
        ("not asked", count("not_fetched").to_string()),
        ("first", found.first.clone().unwrap_or_default()),
        ("last", found.last.clone().unwrap_or_default()),
        ("received", format!("{} bytes of bodies", found.bytes)),
    ];
    if let Some(agent) = &found.agent {
        rows.push(("User-Agent", agent.user_agent.clone()));
        rows.push(("contact", agent.contact.clone()));
        rows.push(("operator", agent.operator.clone().unwrap_or_default()));
        rows.push(("wanted for", agent.purposes.join(", ")));
    }
    rows.push(("crawl", facts.crawl.clone().unwrap_or_default()));
    list(&rows, body);
}

fn copies(dir: &Path, facts: &DossierFacts, found: &Gathered, body: &mut String) {
    body.push_str("<h2>What your site had said</h2>\n");
    if facts.copies.is_empty() {
        body.push_str("<p>No copy of a robots.txt: none was there, or none was asked for.</p>\n");
    }
    let mut all: Vec<&DossierCopy> = facts.copies.iter().collect();
    all.sort_by(|a, b| last_seen(b).cmp(&last_seen(a)).then(a.digest.cmp(&b.digest)));
    for (n, copy) in all.iter().enumerate() {
        let (hex, kind) = (copy.digest.to_string(), copy.seen.last().map_or("", |seen| seen.url.as_str()));
        let _ =
            writeln!(body, "<h3>{}</h3>", safe(if kind.is_empty() { "A copy that decisions rest on" } else { kind }));
        let times = match copy.seen.as_slice() {
            [] => {
                "not seen at this site itself: a redirect of its robots.txt led elsewhere, or an earlier crawl had it"
                    .to_owned()
            }
            [one] => format!("{}, status {}", one.fetched, one.status),
            [first, .., last] => {
                format!(
                    "{} times, first {}, last {}, status {}",
                    copy.seen.len(),
                    first.fetched,
                    last.fetched,
                    last.status
                )
            }
        };
        let bytes = copy.bytes.map_or_else(|| "not there any more".to_owned(), |bytes| format!("{bytes}"));
        list(&[("seen", times), ("sha256", hex.clone()), ("bytes", bytes)], body);
        if n >= MAX_COPIES {
            continue;
        }
        let marks = found.marks.get(&hex).cloned().unwrap_or_default();
        match Copy::marked(dir, &hex, marks) {
            Ok(copy) => {
                body.push_str("<p>Marked: rules that decided, their groups, statements about use.</p>\n");
                page::robots(&copy, body);
            }
            Err(why) => {
                let _ = writeln!(body, "<p>It is not shown: {}.</p>", safe(&why));
            }
        }
    }
}

fn last_seen(copy: &DossierCopy) -> Option<&str> {
    copy.seen.last().map(|seen| seen.fetched.as_str())
}

fn signals(found: &Gathered, body: &mut String) {
    if found.signals.is_empty() {
        return;
    }
    body.push_str("<h2>What it said about use</h2>\n");
    head(&["purpose", "verdict", "where", "text", "took part in"], body);
    for ([source, purpose, verdict, raw], times) in &found.signals {
        row(&[("", purpose), ("", verdict), ("", source), ("", raw), ("", &format!("{times} decisions"))], body);
    }
    body.push_str("</tbody>\n</table>\n");
}

fn terms(found: &Gathered, body: &mut String) {
    if found.terms.is_empty() {
        return;
    }
    body.push_str("<h2>Terms and licences that its pages link to</h2>\n");
    head(&["link", "where it leads", "on"], body);
    for ([rel, url], times) in &found.terms {
        row(&[("", rel), ("", url), ("", &format!("{times} pages"))], body);
    }
    body.push_str("</tbody>\n</table>\n");
}

fn requests(facts: &DossierFacts, found: &Gathered, body: &mut String) {
    body.push_str("<h2>Every URL, in the order in which it was settled</h2>\n");
    if (found.rows.len() as u64) < facts.records {
        let _ = writeln!(
            body,
            "<p>The first {} of {}; all of them are in <code>records.jsonl</code>.</p>",
            found.rows.len(),
            facts.records
        );
    }
    head(&["line", "when (UTC)", "path", "outcome", "why"], body);
    let origin = facts.origin.as_str();
    for one in &found.rows {
        let outcome = format!("{}: {}", one.outcome.replace('_', " "), one.answer);
        let class = format!("outcome {}", class(&one.outcome));
        let seq = one.seq.to_string();
        let (at, path) = (clock(&one.at), below(&one.url, origin));
        let why = one.via.as_deref().map(|via| format!("found on {}", below(via, origin)));
        let why = [Some(one.why.clone()).filter(|why| !why.is_empty()), why]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; ");
        row(&[("number", &seq), ("time", &at), ("", path), (&class, &outcome), ("", &why)], body);
    }
    body.push_str("</tbody>\n</table>\n");
}

/// `2026-11-30 13:36:54`: the record has the milliseconds.
fn clock(at: &str) -> String {
    at.split('.').next().unwrap_or_default().replacen('T', " ", 1)
}

/// A URL of the site without its origin.
fn below<'a>(url: &'a str, origin: &str) -> &'a str {
    url.strip_prefix(origin).filter(|path| !path.is_empty()).unwrap_or(url)
}

fn head(names: &[&str], body: &mut String) {
    body.push_str("<table>\n<thead><tr>");
    for name in names {
        let _ = write!(body, "<th>{}</th>", safe(name));
    }
    body.push_str("</tr></thead>\n<tbody>\n");
}

/// A row of cells: the class of each, one of our own, and its text.
fn row(cells: &[(&str, &str)], body: &mut String) {
    body.push_str("<tr>");
    for (class, text) in cells {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = write!(body, "<td{class}>{}</td>", safe(text));
    }
    body.push_str("</tr>\n");
}

fn proof(facts: &DossierFacts, body: &mut String) {
    body.push_str(
        "<h2>What speaks for it</h2>\n<p>Every outcome of the crawl is a line of a chain: each line carries the digest of the one \
         before. Of the lines of other sites this file holds digests only. <code>README.txt</code> says how to check all of it, by \
         hand or by a script.</p>\n",
    );
    let last = facts.checkpoints.last();
    let signed = last.and_then(|last| last.signed.as_ref());
    let mut rows = vec![
        ("lines of the chain", facts.lines.to_string()),
        ("of your site", facts.records.to_string()),
        ("last link", facts.head.map(|head| head.link.to_string()).unwrap_or_default()),
        ("checkpoints", facts.checkpoints.len().to_string()),
        (
            "last checkpoint",
            last.map(|last| format!("{} of {}, at {} lines", last.n, last.at, last.lines)).unwrap_or_default(),
        ),
        ("signed by", signed.map_or_else(|| "nobody".to_owned(), |signed| signed.key.clone())),
        ("WARC records", facts.members.to_string()),
    ];
    if facts.withheld > 0 {
        let text = format!(
            "{}: they name other sites, which is left out; their places are proven, not their content",
            facts.withheld
        );
        rows.push(("shown in part", text));
    }
    if facts.gone > 0 {
        rows.push(("WARC records gone", facts.gone.to_string()));
    }
    if facts.erased > 0 {
        rows.push((
            "erased lines",
            format!("{} of the whole chain, of sites that are not known any more", facts.erased),
        ));
    }
    list(&rows, body);
}
