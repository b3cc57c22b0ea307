//! The other parts of the page.

use std::collections::BTreeMap;

use super::super::Report;
use super::super::origins::{MOST_PAUSES, Origin};
use super::super::pauses::Clock;
use super::super::series::Powers;
use super::super::text::{bytes, grouped, politeness as in_a_line, seconds};
use super::super::totals::{Example, Totals};
use super::chart::{Bar, bars, clock, timeline};
use super::table::{list, paragraph, table};
use comity::policy::Reason;

/// Rows of lists that could be longer.
const MOST: usize = 100;

pub(super) fn span(totals: &Totals) -> String {
    let all: u64 = totals.requests.values().sum();
    let span =
        totals.span.map_or_else(String::new, |(first, last)| format!(", from {} to {} UTC", clock(first), clock(last)));
    format!("{}{span}", grouped(all))
}

pub(super) fn politeness(report: &Report, body: &mut String) {
    let origins = &report.origins;
    paragraph(&format!("{}.", in_a_line(report)), body);
    let adjusted = origins.all.iter().filter(|origin| origin.gaps.violations > 0).count();
    if origins.floor_unknown > 0 {
        paragraph(
            "The configuration of some requests is not kept, or does not say their delay: these are held against Crawl-delay alone.",
            body,
        );
    } else if adjusted == 0 && origins.against_rule == 0 {
        paragraph(
            "No request came earlier than a Crawl-delay that its record names, or our own floor, had asked, and none against a Disallow.",
            body,
        );
    }
    if adjusted > 0 || origins.against_rule > 0 {
        let columns = [("origin", false), ("when (UTC)", false), ("gap", true), ("due", true), ("record", true)];
        let rows = origins.violations.iter().map(|one| {
            let pause = &one.pause;
            vec![
                one.origin.clone(),
                clock(pause.at),
                seconds(&pause.gap_ms),
                seconds(&pause.due_ms),
                pause.seq.to_string(),
            ]
        });
        table("Requests that came too early", &columns, rows, body);
        let more = origins.violations().saturating_sub(origins.violations.len() as u64);
        if more > 0 {
            paragraph(&format!("and {} more: see --json", grouped(more)), body);
        }
    }
    paragraph(
        "A delay runs from the head of the answer before. This is read from the records alone; comity audit makes it again from WARC files \
         and evidence, with every clock (Retry-After, the gap of addresses and robots.txt itself too) and every rule.",
        body,
    );
}

pub(super) fn time(report: &Report, body: &mut String) {
    timeline(&report.totals.timeline, body);
}

pub(super) fn outcomes(report: &Report, body: &mut String) {
    let totals = &report.totals;
    let class = |status: u16| match status {
        200..=299 => "ok",
        300..=399 => "skip",
        _ => "bad",
    };
    let statuses: Vec<Bar> =
        totals.statuses.iter().map(|(status, n)| Bar::new(status.to_string(), *n, class(*status))).collect();
    bars("Answers by status", &statuses, body);
    reasons("What was not asked for, and why, with the first URL of each", &totals.skipped, "skip", body);
    reasons("Answered, and by its own words not kept", &totals.withheld, "skip", body);
    reasons("Asked for, without a full answer", &totals.failed, "bad", body);
    let pages = &totals.pages;
    list(
        &[
            ("redirects", grouped(pages.redirects)),
            ("found as before", grouped(pages.unchanged)),
            ("visits that were a retry", grouped(pages.retries)),
            ("records erased", grouped(report.chain.tombstones)),
        ],
        body,
    );
}

fn reasons(caption: &str, counts: &BTreeMap<String, Example>, class: &'static str, body: &mut String) {
    let mut all: Vec<(&String, &Example)> = counts.iter().collect();
    all.sort_by_key(|(_, one)| std::cmp::Reverse(one.count));
    let bar = |(code, one): &(&String, &Example)| Bar {
        more: format!("{}; {}", Reason::from_code(code).map_or("", Reason::text), one.url),
        ..Bar::new(code.as_str(), one.count, class)
    };
    bars(caption, &all.iter().take(MOST).map(bar).collect::<Vec<_>>(), body);
    if all.len() > MOST {
        paragraph(&format!("and {} more reasons: see --json", all.len() - MOST), body);
    }
}

pub(super) fn sizes(report: &Report, body: &mut String) {
    let totals = &report.totals;
    body.push_str("<div class=\"columns\">\n");
    powers("Bodies of pages, as received", &totals.sizes, bytes, body);
    powers("Milliseconds from the written request to the head of the answer", &totals.latencies, grouped, body);
    let depths: Vec<Bar> = totals.depths.iter().map(|(depth, n)| Bar::new(depth.to_string(), *n, "ok")).collect();
    bars("Pages by their links from a seed", &depths, body);
    body.push_str("</div>\n");
}

/// In steps of four.
fn powers(caption: &str, counts: &Powers, write: fn(u64) -> String, body: &mut String) {
    let mut steps: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (_, most, n) in counts.rows() {
        let (top, count) = steps.entry((u64::BITS - most.leading_zeros()).div_ceil(2)).or_default();
        (*top, *count) = (most.max(*top), *count + n);
    }
    let bar =
        |(top, n): &(u64, u64)| Bar::new(if *top == 0 { write(0) } else { format!("to {}", write(*top)) }, *n, "ok");
    bars(caption, &steps.values().map(bar).collect::<Vec<_>>(), body);
}

pub(super) fn waits(report: &Report, body: &mut String) {
    let pauses = &report.origins.pauses.by_clock;
    let columns = [("what bound", false), ("pauses", true), ("in all", true)];
    let millis = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    let rows = Clock::ALL.iter().filter_map(|clock| {
        let (count, ms) = pauses.get(clock)?;
        Some(vec![clock.text().to_owned(), grouped(*count), seconds(&millis(*ms))])
    });
    table("Pauses between two requests to an origin, by the clock that fits them", &columns, rows, body);
    if !report.standing.held.is_empty() {
        let rows = report.standing.held.iter();
        let rows =
            rows.map(|one| vec![one.says.to_owned(), grouped(one.turns), seconds(&((one.seconds * 1000.0) as i64))]);
        table(
            "Turns that a clock held back in the last run, as the crawl counted them",
            &[("clock", false), ("turns", true), ("in all", true)],
            rows,
            body,
        );
    }
    longest(&report.origins.all, body);
    if report.standing.waiting.is_empty() {
        return;
    }
    let columns = [("origin", false), ("URLs", true), ("why", false)];
    let rows = report.standing.waiting.iter().take(MOST);
    let rows = rows.map(|one| vec![one.origin.clone(), grouped(one.queued), one.says.clone()]);
    table("Origins that wait still", &columns, rows, body);
}

/// Of each origin one: of a site that is asked once a second all are alike.
fn longest(all: &[Origin], body: &mut String) {
    let mut paused: Vec<_> = all.iter().filter_map(|one| Some((one.gaps.longest.as_ref()?, one))).collect();
    if paused.is_empty() {
        return;
    }
    paused.sort_unstable_by(|a, b| b.0.gap_ms.cmp(&a.0.gap_ms).then_with(|| a.1.origin.cmp(&b.1.origin)));
    paused.truncate(MOST_PAUSES);
    let columns = [
        ("origin", false),
        ("wait", true),
        ("due", true),
        ("until (UTC)", false),
        ("what bound", false),
        ("record", true),
    ];
    let rows = paused.into_iter().map(|(pause, one)| {
        let what = match (pause.clock, one.address) {
            (Clock::Address, Some(address)) => format!("{} {address}", pause.clock.text()),
            (clock, _) => clock.text().to_owned(),
        };
        vec![
            one.origin.clone(),
            seconds(&pause.gap_ms),
            seconds(&pause.due_ms),
            clock(pause.at),
            what,
            pause.seq.to_string(),
        ]
    });
    table(
        "The longest pause of each origin, and the record (the line of the chain) that ended it",
        &columns,
        rows,
        body,
    );
}

pub(super) fn signals(report: &Report, body: &mut String) {
    let totals = &report.totals;
    if totals.signals.is_empty() {
        paragraph("Nothing that took part in a decision.", body);
    } else {
        let columns = [("where", false), ("use", false), ("verdict", false), ("records", true)];
        let rows = totals
            .signals
            .iter()
            .map(|((source, purpose, verdict), n)| vec![source.clone(), purpose.clone(), verdict.clone(), grouped(*n)]);
        table("Statements by carrier, use and verdict, and in how many records each takes part", &columns, rows, body);
    }
    let columns =
        [("declared use", false), ("proceed", true), ("refuse", true), ("where nobody had said anything", true)];
    let rows = totals.purposes_decided.iter().map(|(purpose, [proceed, refuse, unspecified])| {
        vec![purpose.clone(), grouped(*proceed), grouped(*refuse), grouped(*unspecified)]
    });
    table("What was decided", &columns, rows, body);
    let states: Vec<Bar> = totals.robots.iter().map(|(state, n)| Bar::new(state.replace('_', " "), *n, "ok")).collect();
    bars("Decisions by the standing of robots.txt", &states, body);
}

pub(super) fn exceptions(report: &Report, body: &mut String) {
    let found = &report.exceptions;
    if found.written.is_empty() {
        paragraph("No configuration of this crawl holds an override or a grant.", body);
    }
    for one in found.written.iter().take(MOST) {
        body.push_str("<div class=\"box\">\n");
        let kind = ("kind", one.kind.to_owned());
        let keys = one.keys.iter().map(|(key, value)| (key.as_str(), value.clone()));
        list(&std::iter::once(kind).chain(keys).collect::<Vec<_>>(), body);
        body.push_str("</div>\n");
    }
    if found.written.len() > MOST {
        paragraph(&format!("and {} more: see --json", found.written.len() - MOST), body);
    }
    if !found.overrides.is_empty() {
        let columns = [("override", false), ("requests", true), ("what it lifted", false)];
        let rows = found.overrides.iter().take(MOST).map(|(id, used)| {
            let lifted: Vec<String> = used.lifted.iter().map(|(what, n)| format!("{what} ({n})")).collect();
            vec![id.clone(), grouped(used.requests), lifted.join(", ")]
        });
        table("What overrides did", &columns, rows, body);
    }
    if !found.grants.is_empty() {
        let rows = found.grants.iter().take(MOST).map(|(grant, n)| vec![grant.clone(), grouped(*n)]);
        table("What grants did", &[("grant", false), ("records", true)], rows, body);
    }
    if found.configs_gone > 0 {
        paragraph(&format!("{} configurations are named by records and not kept.", found.configs_gone), body);
    }
}

pub(super) fn evidence(report: &Report, body: &mut String) {
    let found = &report.evidence;
    if found.kinds.is_empty() {
        paragraph("None.", body);
        return;
    }
    let columns = [
        ("kind", false),
        ("sightings", true),
        ("answers without a file", true),
        ("different copies", true),
        ("bytes of copies", true),
    ];
    let rows = found.kinds.iter().map(|(kind, of)| {
        vec![kind.clone(), grouped(of.sightings), grouped(of.absent), grouped(of.copies), bytes(of.bytes)]
    });
    table("Dated copies of what decisions rest on", &columns, rows, body);
    let columns = [("seen at", false), ("when (UTC)", false), ("status", true), ("sha256", false), ("bytes", true)];
    let rows = found.latest.iter().rev().map(|one| {
        let digest = one.digest.as_deref().unwrap_or("no file");
        let when = one.fetched.get(..19).unwrap_or(&one.fetched).replace('T', " ");
        vec![one.url.clone(), when, one.status.to_string(), digest.to_owned(), grouped(one.bytes)]
    });
    body.push_str("<details>\n<summary>The latest sightings</summary>\n");
    table("The latest sightings", &columns, rows, body);
    body.push_str("</details>\n");
    let more = found.sightings.saturating_sub(found.latest.len() as u64);
    if more > 0 {
        paragraph(&format!("and {} earlier ones, in evidence/index.jsonl", grouped(more)), body);
    }
}
