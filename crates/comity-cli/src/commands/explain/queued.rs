//! What is known of a URL that has no record yet: its place in the queue, and what its origin waits for.

use std::path::Path;

use comity::control::{Filter, Op, PlaceText};
use comity::policy::Reason;
use comity::url::{CrawlUrl, Origin};
use serde_json::{Value, json};

use super::since::Since;
use crate::commands::frontier::Crawl;
use crate::commands::many;
use crate::exit::Failure;

/// Rows asked for at once.
const PAGE: usize = 1000;
/// Pages that are looked through: of an origin with more URLs than that, the first million are.
const MOST_PAGES: usize = 1000;

/// A URL in the queue.
#[derive(Debug)]
pub(super) struct Queued {
    /// Its row, as `comity frontier list --origin` prints it.
    url: Value,
    /// Its origin's row, as `comity frontier list` prints it.
    origin: Value,
    /// URLs of its origin that come before it.
    before: usize,
    /// The operator's park of its origin, as `comity frontier list --parked` prints it; `null` without one. A stopped queue does
    /// not know of parks.
    park: Value,
    /// Since when, by the records.
    since: Since,
    /// Where the crawl is stopped, its folder: nothing is asked until somebody runs it again.
    stopped: Option<String>,
}

/// Looks into the queue of the crawl in `dir`, running or stopped. `None` where the URL is not in it, and where there is none.
///
/// # Errors
/// When the queue cannot be reached or read.
pub(super) fn look(dir: &Path, url: &CrawlUrl) -> Result<Option<Queued>, Failure> {
    let is_there = dir.join("state").join("frontier").exists();
    let mut crawl = match Crawl::running(dir)? {
        Some(running) => running,
        None if is_there => Crawl::reach(dir)?,
        None => return Ok(None),
    };
    let (mut after, mut before): (Option<PlaceText>, usize) = (None, 0);
    for _ in 0..MOST_PAGES {
        let origin = Some(url.origin().to_string());
        let answer = crawl.ask(Op::Urls { origin, after: after.take(), n: Some(PAGE) })?;
        let rows = answer.rows.len();
        if let Some((at, row)) = answer.rows.into_iter().enumerate().find(|(_, row)| row["url"] == url.as_str()) {
            let origin = standing(&mut crawl, url.origin())?;
            let park = crawl.ask(Op::Parks)?.rows.into_iter().find(|park| park["origin"] == url.origin().as_str());
            let stopped = (!crawl.is_running()).then(|| dir.display().to_string());
            let since = Since::of(dir, url.origin(), row["via"].as_str())?;
            return Ok(Some(Queued {
                url: row,
                origin,
                before: before + at,
                park: park.unwrap_or_default(),
                since,
                stopped,
            }));
        }
        before += rows;
        after = serde_json::from_value(answer.about["next"].clone()).unwrap_or_default();
        if after.is_none() {
            break;
        }
    }
    Ok(None)
}

/// The row of one origin; `null` where it is not told.
fn standing(crawl: &mut Crawl, origin: &Origin) -> Result<Value, Failure> {
    let mut after = before(origin);
    for _ in 0..MOST_PAGES {
        let answer = crawl.ask(Op::List { filter: Filter::All, after: after.take(), n: Some(PAGE) })?;
        let row = answer.rows.into_iter().find(|row| row["origin"] == origin.as_str());
        after = answer.about["next"].as_str().map(ToOwned::to_owned);
        if let Some(row) = row {
            return Ok(row);
        }
        if after.as_deref().is_none_or(|after| after > origin.as_str()) {
            break;
        }
    }
    Ok(Value::Null)
}

/// An origin that stands shortly before this one in a list, which is in the order of the bytes.
fn before(origin: &Origin) -> Option<String> {
    let text = origin.as_str();
    let cuts = (1..text.len()).rev().filter_map(|end| text.get(..end));
    let mut spelled = cuts.filter_map(|cut| Origin::parse(cut).ok().filter(|shorter| shorter.as_str() == cut));
    spelled.next().map(|shorter| shorter.to_string())
}

impl Queued {
    /// For programs.
    pub(super) fn json(&self) -> Value {
        json!({
            "queued": self.url,
            "origin": self.origin,
            "before": self.before,
            "park": self.park,
            "since": self.since.queued,
            "asked_last": self.since.asked_last,
            "running": self.stopped.is_none(),
        })
    }

    /// Labels and what they say.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let n = |key: &str| self.url[key].as_u64().unwrap_or_default();
        let found = match self.url["via"].as_str() {
            _ if self.url["seed"] == true => "a seed".to_owned(),
            Some(via) => format!("found on {via}, {} from a seed", many(n("depth"), "link")),
            None => format!("{} from a seed", many(n("depth"), "link")),
        };
        let tried = match n("attempts") {
            0 => "not asked for yet".to_owned(),
            tries => format!("asked for {}, comes again", many(tries, "time")),
        };
        let mut facts = vec![("queued", format!("{found}; priority {} of 255; {tried}", n("priority")))];
        let ahead = match self.before {
            0 => "it is the next of its origin".to_owned(),
            some => format!(
                "{} of its origin {} before it",
                many(some as u64, "URL"),
                if some == 1 { "comes" } else { "come" }
            ),
        };
        if let Some(since) = &self.since.queued {
            let event =
                if self.since.was_read_again { "at the earliest: that was read again" } else { "when that was read" };
            facts.push(("since", format!("{since}, {event}")));
        }
        facts.push(("turn", ahead));
        facts.extend(self.waits().map(|waits| ("waits", waits)));
        facts
    }

    /// What its origin waits for.
    fn waits(&self) -> Option<String> {
        let text = |key: &str| self.origin[key].as_str();
        let name = text("origin")?;
        let (queued, done) = (&self.origin["queued"], &self.origin["done"]);
        if let Some(why) = self.park["why"].as_str() {
            let until = self.park["until"].as_str().unwrap_or("it is released");
            let since = self.park["at"].as_str().map(|at| format!("since {at}, ")).unwrap_or_default();
            return Some(format!("{name}: {since}until {until} (park.operator): {why}; {queued} queued, {done} done"));
        }
        let why = text("reason").filter(|why| !matches!(*why, "ok" | "robots"));
        let clock = why.and_then(Reason::from_code).map(|reason| format!(": {}", reason.text())).unwrap_or_default();
        let why = why.map(|why| format!(" ({why}{clock})")).unwrap_or_default();
        let asked = self.since.asked_last.as_deref();
        let asked = asked.map(|at| format!("; last asked at {at}")).unwrap_or_default();
        let seconds = self.origin["wait_ms"].as_f64().map_or(0.0, |wait| wait / 1000.0);
        let state = match text("state")? {
            // What its clocks would say is counted anew by whoever asks, until somebody runs it.
            "robots" | "waits" | "due" if self.stopped.is_some() => {
                let dir = self.stopped.as_deref().unwrap_or_default();
                format!(
                    "until `comity crawl --dir {dir}` goes on, since the crawl is stopped; then a whole delay first"
                )
            }
            "robots" => "its robots.txt comes first".to_owned(),
            "waits" => format!("due in {seconds:.1} s{why}"),
            "stuck" => format!("until it is told otherwise{why}"),
            "due" => "due now".to_owned(),
            _ => format!("another URL of it is under way{why}"),
        };
        Some(format!("{name}: {state}{asked}; {queued} queued, {done} done"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_entered_shortly_before_an_origin() {
        let rows = [
            ("https://example.com", Some("https://example.co")),
            ("http://127.64.0.2:7878", Some("http://127.64.0.2:787")),
            ("http://a", None),
        ];
        for (text, wanted) in rows {
            let origin = Origin::parse(text).unwrap();
            let found = before(&origin);
            assert_eq!(found.as_deref(), wanted, "{text}");
            assert!(found.is_none_or(|found| found.as_str() < text), "{text}");
        }
    }

    #[test]
    fn what_it_waits_for_is_said_in_words() {
        let url = json!({"url": "http://a.test/x", "priority": 128, "depth": 1, "attempts": 0, "seed": false, "via": "http://a.test/"});
        let rows = [
            (
                json!({"origin": "http://a.test", "state": "waits", "reason": "rate.origin", "wait_ms": 1500, "queued": 2, "done": 1}),
                "due in 1.5 s (rate.origin: our own floor, or the adaptive delay, runs for the origin); last asked at 2026-12-01T02:08:43Z; 2 queued",
            ),
            (
                json!({"origin": "http://a.test", "state": "robots", "reason": "robots", "queued": 2, "done": 1}),
                "robots.txt comes first; last asked",
            ),
            (
                json!({"origin": "http://a.test", "state": "stuck", "reason": "park.operator", "queued": 2, "done": 1}),
                "until it is told otherwise (park.operator: ",
            ),
        ];
        for (origin, wanted) in rows {
            let since = Since {
                queued: Some("2026-12-01T02:08:20Z".to_owned()),
                was_read_again: false,
                asked_last: Some("2026-12-01T02:08:43Z".to_owned()),
            };
            let facts = Queued { url: url.clone(), origin, before: 1, park: Value::Null, since, stopped: None }.facts();
            assert_eq!(
                facts[0].1,
                "found on http://a.test/, 1 link from a seed; priority 128 of 255; not asked for yet"
            );
            assert_eq!(facts[1], ("since", "2026-12-01T02:08:20Z, when that was read".to_owned()));
            assert_eq!(facts[2].1, "1 URL of its origin comes before it");
            assert!(facts[3].1.contains(wanted), "{}", facts[3].1);
        }
        let waits = json!({"origin": "http://a.test", "state": "waits", "reason": "rate.origin", "wait_ms": 900, "queued": 2, "done": 1});
        let stopped = Some("d".to_owned());
        let queued = Queued { url, origin: waits, before: 0, park: Value::Null, since: Since::default(), stopped };
        let facts = queued.facts();
        assert!(facts[2].1.contains("until `comity crawl --dir d` goes on"), "{}", facts[2].1);
        assert!(!facts[2].1.contains("0.9 s"), "{}", facts[2].1);
        let seed =
            json!({"url": "http://a.test/", "priority": 128, "depth": 0, "attempts": 2, "seed": true, "via": null});
        let facts = Queued {
            url: seed,
            origin: Value::Null,
            before: 0,
            park: Value::Null,
            since: Since::default(),
            stopped: None,
        }
        .facts();
        assert_eq!(facts.len(), 2, "what is not told is not said");
        assert!(facts[0].1.contains("a seed") && facts[0].1.contains("2 times"), "{}", facts[0].1);
    }
}
