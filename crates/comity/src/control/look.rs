//! What a crawl holds.

use comity_frontier::{OriginFilter, QueuePlace};
use comity_url::{CrawlUrl, Origin};
use serde_json::{Value, json};

use super::op::{Filter, PlaceText};
use super::rows::{self, origin_row, park_row, url_row, waiting_row};
use super::{Answer, Control, ControlError};
use crate::engine::robots_faults;

/// Rows of a page when nobody says.
const USUAL: usize = 100;
/// Rows of a page at most.
const MOST: usize = 1000;

impl Control {
    /// `stats`: counts of the queue, and who waits longest.
    pub(super) async fn stats(&self) -> Result<Answer, ControlError> {
        let held = self.subject.hold()?;
        let now = held.clock().now();
        let stats = held.frontier().stats(now).await?;
        let faults = held.gate().map_or_else(Vec::new, |gate| robots_faults(gate, &stats.waiting, held.clock().wall()));
        let waiting: Vec<Value> = stats.waiting.iter().map(|one| waiting_row(one, now, &faults)).collect();
        let parks = held.parks().all().filter(|park| park.is_in_force(held.clock().wall())).count();
        Ok(Answer::of(json!({
            "running": self.is_running(),
            "queued": stats.queued,
            "leased": stats.leased,
            "done": stats.done,
            "refused": stats.refused,
            "failed": stats.failed,
            "damaged": stats.damaged,
            "taken": stats.seen,
            "scheduled": stats.scheduled,
            "next_visit_ms": stats.next_visit.map(|at| rows::millis(at.since(now))),
            "origins": stats.origins,
            "stuck": stats.stuck,
            "parked": parks,
            "turned_away": stats.turned_away,
            "next_due_ms": stats.next_due.map(|at| rows::millis(at.since(now))),
            "in_flight": held.gate().map(comity_gate::Gate::in_flight),
            "waiting": waiting,
        })))
    }

    /// `list`: origins.
    pub(super) async fn list(
        &self,
        filter: Filter,
        after: Option<String>,
        n: Option<usize>,
    ) -> Result<Answer, ControlError> {
        let held = self.subject.hold()?;
        let (after, now) = (after.map(|text| origin(&text)).transpose()?, held.clock().now());
        let filter = match filter {
            Filter::Queued => OriginFilter::Queued,
            Filter::Stuck => OriginFilter::Stuck,
            Filter::All => OriginFilter::All,
        };
        let page = held.frontier().origins(filter, after, rows_wanted(n), now).await?;
        let rows = page.rows.iter().map(|standing| origin_row(standing, now)).collect();
        Ok(Answer { rows, about: json!({"next": page.next.map(|origin| origin.to_string())}) })
    }

    /// `urls`: the queue itself.
    pub(super) async fn urls(
        &self,
        of: Option<String>,
        after: Option<PlaceText>,
        n: Option<usize>,
    ) -> Result<Answer, ControlError> {
        let held = self.subject.hold()?;
        let (of, after) = (of.map(|text| origin(&text)).transpose()?, after.map(|text| place(&text)).transpose()?);
        let page = held.frontier().urls(of, after, rows_wanted(n)).await?;
        let rows = page.rows.iter().map(url_row).collect();
        let next = page.next.map(|place| PlaceText {
            origin: place.origin.to_string(),
            priority: place.priority,
            sequence: place.sequence,
        });
        Ok(Answer { rows, about: json!({"next": next}) })
    }

    /// `parks`: what the operator parked.
    pub(super) fn parks(&self) -> Result<Answer, ControlError> {
        let held = self.subject.hold()?;
        let now = held.clock().wall();
        let rows = held.parks().all().filter(|park| park.is_in_force(now)).map(park_row).collect();
        Ok(Answer { rows, about: json!({"next": null}) })
    }
}

/// An origin as it was typed: a URL's is taken too.
pub(super) fn origin(text: &str) -> Result<Origin, ControlError> {
    let wrong = |error| {
        ControlError::usage(format!("{text:?} is no origin: {error}"))
            .hint("write scheme and host: https://example.org")
    };
    match (Origin::parse(text), CrawlUrl::parse(text)) {
        (Ok(origin), _) => Ok(origin),
        (Err(_), Ok(url)) => Ok(url.origin().clone()),
        (Err(error), Err(_)) => Err(wrong(error)),
    }
}

fn place(text: &PlaceText) -> Result<QueuePlace, ControlError> {
    let PlaceText { origin: name, priority, sequence } = text;
    Ok(QueuePlace { origin: origin(name)?, priority: *priority, sequence: *sequence })
}

pub(super) fn rows_wanted(n: Option<usize>) -> usize {
    n.unwrap_or(USUAL).clamp(1, MOST)
}
