//! The rows of lists, as JSON. Their keys are part of the protocol: they are added to, and never change their meaning.

use std::time::Duration;

use comity_frontier::{OriginStanding, QueuedAt, QueuedUrl, Waiting, Why};
use comity_gate::OperatorPark;
use comity_policy::Instant;
use serde_json::{Value, json};

use super::moves::UserDataLine;
use super::visits::VisitLine;
use crate::progress::{RobotsFault, describe};

/// An origin.
pub(super) fn origin_row(standing: &OriginStanding, now: Instant) -> Value {
    let waiting = &standing.waiting;
    json!({
        "origin": waiting.origin.to_string(),
        "state": state(standing, now),
        "reason": reason(waiting.why),
        "wait_ms": wait(waiting, now),
        "queued": standing.queued(),
        "leased": standing.leased,
        "done": standing.done,
        "refused": standing.refused,
        "failed": standing.failed,
    })
}

/// An origin that waits, for `stats`.
pub(super) fn waiting_row(waiting: &Waiting, now: Instant, unreachable: &[RobotsFault]) -> Value {
    json!({
        "origin": waiting.origin.to_string(),
        "reason": reason(waiting.why),
        "wait_ms": wait(waiting, now),
        "queued": waiting.queued,
        "says": describe(waiting, now, unreachable),
    })
}

/// A URL of the queue.
pub(super) fn url_row(row: &QueuedAt) -> Value {
    let place = &row.place;
    let Some(queued) = &row.url else {
        return json!({
            "damaged": true,
            "origin": place.origin.to_string(),
            "priority": place.priority,
            "sequence": place.sequence,
        });
    };
    let mut row = queued_row(queued, place.priority, Some(place.sequence));
    // A visit anew: by this another crawl asks as this one would.
    let visited = queued.visited.as_deref().filter(|visited| visited.is_visited());
    if let (Some(visited), Some(row)) = (visited, row.as_object_mut()) {
        row.insert("visit".to_owned(), json!(VisitLine::of(visited, None)));
    }
    row
}

/// What is known of a URL beside its visits.
pub(super) fn queued_row(queued: &QueuedUrl, priority: u8, sequence: Option<u64>) -> Value {
    let user_data = queued.visited.as_ref().and_then(|visited| visited.user_data.as_ref());
    let mut row = json!({
        "url": queued.url.to_string(),
        "priority": priority,
        "sequence": sequence,
        "depth": queued.depth,
        "hops": queued.hops,
        "attempts": queued.attempts,
        "seed": queued.seed,
        "via": queued.via.as_ref().map(ToString::to_string),
    });
    // Only where there is some: most URLs have none.
    if let (Some(user_data), Some(row)) = (user_data.map(UserDataLine::of), row.as_object_mut()) {
        row.insert("user_data".to_owned(), json!(user_data));
    }
    row
}

/// A park of the operator's.
pub(super) fn park_row(park: &OperatorPark) -> Value {
    json!({
        "origin": park.origin.to_string(),
        "until": park.until.map(|until| until.to_string()),
        "why": park.why,
        "at": park.at.to_string(),
    })
}

/// Rounded up: who waits as told is never early.
pub(super) fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_micros().div_ceil(1000)).unwrap_or(u64::MAX)
}

/// `empty`, `leased` (all that it has), `robots` (robots.txt is being fetched), `due`, `waits` (until an instant), `stuck`
/// (until told).
fn state(standing: &OriginStanding, now: Instant) -> &'static str {
    let waiting = &standing.waiting;
    match waiting.until {
        _ if standing.queued() == 0 => "empty",
        _ if waiting.why == Why::AwaitingRobots => "robots",
        _ if waiting.queued == 0 => "leased",
        None if standing.is_stuck() => "stuck",
        None if standing.leased > 0 => "leased",
        Some(until) if until > now => "waits",
        _ => "due",
    }
}

fn reason(why: Why) -> &'static str {
    match why {
        Why::AwaitingRobots => "robots",
        Why::Reason(reason) => reason.code(),
    }
}

/// `null`: until told, or nothing waits.
fn wait(waiting: &Waiting, now: Instant) -> Option<u64> {
    waiting.until.map(|until| millis(until.since(now)))
}
