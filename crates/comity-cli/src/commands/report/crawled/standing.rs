//! What the queue says at the moment of the report: what is left, and what it waits for.

use std::path::Path;

use comity::Summary;
use comity::control::Op;
use serde::Serialize;

use crate::commands::explain::robots_faults;
use crate::commands::frontier::Crawl;

/// Where a crawl stands.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Standing {
    /// URLs that are queued or under way; `None` where nobody could be asked, and then why.
    pub(super) left: Option<u64>,
    pub(super) why_unknown: Option<String>,
    pub(super) is_running: bool,
    /// The origins that wait.
    pub(super) waiting: Vec<Waits>,
    /// How the crawl ended, and what its clocks held back: known at its end only.
    pub(super) end: Option<String>,
    pub(super) held: Vec<Held>,
}

/// An origin that waits.
#[derive(Debug, Serialize)]
pub(super) struct Waits {
    pub(super) origin: String,
    pub(super) queued: u64,
    pub(super) says: String,
}

/// Turns that a clock held back.
#[derive(Debug, Serialize)]
pub(super) struct Held {
    pub(super) clock: &'static str,
    pub(super) says: &'static str,
    pub(super) turns: u64,
    pub(super) seconds: f64,
}

impl Standing {
    /// At the end of a run.
    pub(crate) fn of(summary: &Summary) -> Self {
        let waits = |(waiting, says): (&comity::frontier::Waiting, String)| Waits {
            origin: waiting.origin.to_string(),
            queued: waiting.queued,
            says,
        };
        let held = |(clock, (turns, held)): (&comity::policy::Reason, &(u64, std::time::Duration))| Held {
            clock: clock.code(),
            says: clock.text(),
            turns: *turns,
            seconds: held.as_secs_f64(),
        };
        let end = match summary.end {
            comity::End::Finished => "nothing more could become due".to_owned(),
            comity::End::Limit(key) => format!("the limit {key} was reached"),
            comity::End::Stopped => "it was asked to stop".to_owned(),
            _ => "in another way".to_owned(),
        };
        Self {
            left: Some(summary.left),
            why_unknown: None,
            is_running: false,
            waiting: summary.waits().map(waits).collect(),
            end: Some(end),
            held: summary.waited.iter().map(held).collect(),
        }
    }

    /// Asks the crawl in `dir`, running or stopped. A queue that cannot be asked is said to be so, and ends nothing.
    pub(crate) fn ask(dir: &Path) -> Self {
        let answer = match Crawl::reach(dir).and_then(|mut crawl| crawl.ask(Op::Stats)) {
            Ok(answer) => answer.about,
            Err(failure) => return Self { why_unknown: Some(failure.what().to_owned()), ..Self::default() },
        };
        let is_running = answer["running"] == true;
        let rows: Vec<&serde_json::Value> = answer["waiting"].as_array().into_iter().flatten().collect();
        let names: Vec<String> = rows.iter().map(|row| row["origin"].as_str().unwrap_or_default().to_owned()).collect();
        let faults = if is_running { vec![None; rows.len()] } else { robots_faults(dir, &names) };
        let n = |key: &str| answer[key].as_u64().unwrap_or_default();
        let waits = |(row, fault): (&serde_json::Value, Option<String>)| {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            // Own clocks of a stopped crawl are counted from now each time that it is asked, and nobody waits for them.
            let is_counted_anew = !is_running && row["wait_ms"].is_u64() && text("reason").starts_with("rate.");
            let says = if is_counted_anew { "until the crawl goes on".to_owned() } else { text("says") };
            let says = fault.map(|fault| format!("{says}; {fault}")).unwrap_or(says);
            Waits { origin: text("origin"), queued: row["queued"].as_u64().unwrap_or_default(), says }
        };
        Self {
            left: Some(n("queued") + n("leased")),
            is_running,
            waiting: rows.into_iter().zip(faults).map(waits).collect(),
            ..Self::default()
        }
    }
}
