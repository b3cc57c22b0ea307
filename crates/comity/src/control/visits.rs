//! What is known of a URL that was visited, as it travels to another crawl: when it is due again, how often it changes, with what it can be
//! asked for anew.

use std::time::Duration;

use comity_frontier::{Ending, LONGEST_VALIDATOR, QueuedUrl, Scheduled, VisitPlace, Visited};
use comity_policy::{Digest, Validators, WallTime};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::moves::{bytes, hex_of};
use super::rows::queued_row;
use super::{Answer, Control, ControlError};

/// The field `visit` of a line of an export. Where the body of the last visit lies is not in it: that archive is another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VisitLine {
    /// When the next visit is due, RFC 3339; it is due now where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// How the last one ended: `done`, `refused`, `failed`.
    #[serde(default)]
    ended: Ended,
    /// When that was, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<String>,
    /// From one visit to the next.
    #[serde(default)]
    interval_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_modified: Option<Box<str>>,
    /// SHA-256 of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    /// Answers 404 or 410 in a row.
    #[serde(default)]
    gone: u8,
    /// Its answer said nothing of its own use.
    #[serde(default)]
    silent: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ended {
    #[default]
    Done,
    Refused,
    Failed,
}

impl VisitLine {
    /// Of a URL that is queued again already, or waits until `next`.
    pub(super) fn of(visited: &Visited, next: Option<(WallTime, Ending)>) -> Self {
        let ended = match next.map(|(_, ending)| ending) {
            None | Some(Ending::Done) => Ended::Done,
            Some(Ending::Refused) => Ended::Refused,
            Some(Ending::Failed) => Ended::Failed,
        };
        Self {
            next: next.map(|(at, _)| at.to_string()),
            ended,
            last: visited.at.map(|at| at.to_string()),
            interval_ms: u64::try_from(visited.interval.as_millis()).unwrap_or(u64::MAX),
            etag: visited.validators.etag.clone(),
            last_modified: visited.validators.last_modified.clone(),
            payload: visited.payload.map(|digest| digest.to_string()),
            gone: visited.gone,
            silent: visited.is_silent,
        }
    }

    /// The visit that is due then, of `queued`.
    pub(super) fn scheduled(self, priority: u8, queued: QueuedUrl) -> Result<Scheduled, String> {
        let moment = |field: &str, text: Option<String>| {
            let read = |text: String| text.parse::<WallTime>().map_err(|e| format!("visit.{field}: {text:?}: {e}"));
            text.map(read).transpose()
        };
        let (next, last) = (moment("next", self.next)?, moment("last", self.last)?);
        let payload = self.payload.map(|text| text.parse::<Digest>().map_err(|_| format!("visit.payload: {text:?}")));
        let short = |text: &Option<Box<str>>| text.as_ref().is_none_or(|text| text.len() <= LONGEST_VALIDATOR);
        if !short(&self.etag) || !short(&self.last_modified) {
            return Err(format!("visit: a validator is longer than {LONGEST_VALIDATOR} bytes"));
        }
        let interval = Duration::from_millis(self.interval_ms);
        let visited = Visited {
            at: last,
            interval,
            validators: Validators { etag: self.etag, last_modified: self.last_modified },
            payload: payload.transpose()?,
            capture: None,
            gone: self.gone,
            is_silent: self.silent,
            user_data: queued.visited.and_then(|visited| visited.user_data),
        };
        let ending = match self.ended {
            Ended::Done => Ending::Done,
            Ended::Refused => Ending::Refused,
            Ended::Failed => Ending::Failed,
        };
        // Without a time it waits no longer: it was queued.
        let at = next.or(last).unwrap_or(WallTime::from_unix_millis(0));
        Ok(Scheduled { at, priority, ending, queued: QueuedUrl { visited: Some(Box::new(visited)), ..queued } })
    }
}

impl Control {
    /// `visits`: the URLs that wait for their next visit.
    pub(super) async fn visits(&self, after: Option<String>, n: usize) -> Result<Answer, ControlError> {
        let held = self.subject.hold()?;
        let place = |text: String| {
            let read = bytes(&text).map(VisitPlace::from_bytes);
            read.ok_or_else(|| ControlError::usage(format!("{text:?} is no place of a list of visits")))
        };
        let page = held.frontier().visits(after.map(place).transpose()?, n).await?;
        let rows = page.rows.iter().map(row).collect();
        let next = page.next.map(|place| hex_of(place.as_bytes()));
        Ok(Answer { rows, about: serde_json::json!({"next": next}) })
    }
}

/// A line of an export.
fn row(visit: &Scheduled) -> Value {
    let mut row = queued_row(&visit.queued, visit.priority, None);
    if let (Some(visited), Some(fields)) = (&visit.queued.visited, row.as_object_mut()) {
        let line = VisitLine::of(visited, Some((visit.at, visit.ending)));
        fields.insert("visit".to_owned(), serde_json::json!(line));
    }
    row
}
