//! Parks of the operator's: obeyed by the gate, kept in the crawl directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use comity_gate::{Gate, OperatorPark};
use comity_policy::{Reason, WallTime};
use comity_url::Origin;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::look::origin;
use super::{Answer, Control, ControlError};
use crate::{Error, directory};

/// `D/state/parks.jsonl`: a JSON line for each park. It outlives the process, and a kill: an origin that was parked stays so
/// until it is released or its time is over.
#[derive(Debug, Default)]
pub(crate) struct ParkFile {
    /// `None` for a crawl without a directory: its parks end with it.
    path: Option<PathBuf>,
    parks: BTreeMap<Origin, OperatorPark>,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParkLine {
    origin: String,
    until: Option<String>,
    why: String,
    at: String,
}

/// What became of a park.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parked {
    /// Requests to the origin that left before and are still open; with 0 nothing arrives there any more.
    pub open: u32,
}

/// Parks at most: each is looked up for every judgement, and the file is written as a whole.
const MOST: usize = 10_000;
/// Longest reason.
const LONGEST_WHY: usize = 500;
/// Longest file read.
const LONGEST_FILE: u64 = 32 << 20;
/// A request that was permitted before a park has left by then, or never will: permits go stale after 30 s.
const PATIENCE: Duration = Duration::from_secs(35);
/// Looks whether the last request is over.
const LOOK_EVERY: Duration = Duration::from_millis(10);

impl ParkFile {
    /// Opens the file of the crawl in `dir`; parks whose time is over are left out.
    ///
    /// # Errors
    /// When it cannot be read, or holds what was never written there: to crawl on would be to forget somebody's park.
    pub(crate) fn open(dir: &Path, now: WallTime) -> Result<Self, Error> {
        let path = dir.join("state").join("parks.jsonl");
        let shown = path.display().to_string();
        let wrong = |what: String| Error::directory(format!("{shown}{what}; mend it, or remove it to end every park"));
        let mut parks = BTreeMap::new();
        if path.exists() {
            let size = fs::metadata(&path).map_err(|e| wrong(format!(" cannot be read: {e}")))?.len();
            if size > LONGEST_FILE {
                return Err(wrong(format!(": it is longer than {LONGEST_FILE} bytes")));
            }
            let text = fs::read_to_string(&path).map_err(|e| wrong(format!(" cannot be read: {e}")))?;
            for (number, line) in (1..).zip(text.lines()) {
                let park = ParkLine::read(line).map_err(|what| wrong(format!(":{number}: {what}")))?;
                if park.is_in_force(now) {
                    parks.insert(park.origin.clone(), park);
                }
            }
        }
        Ok(Self { path: Some(path), parks })
    }

    /// Every park, in the order of the origins.
    pub(crate) fn all(&self) -> impl Iterator<Item = &OperatorPark> {
        self.parks.values()
    }

    /// Writes the file anew: the old one stands until the new one is whole.
    fn write(&self) -> Result<(), ControlError> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut text = String::new();
        for park in self.parks.values() {
            text += &ParkLine::of(park)?;
            text.push('\n');
        }
        let new = path.with_extension("jsonl.new");
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| directory::put(&new, path, &text));
        written.map_err(|e| ControlError::storage(format!("{} cannot be written: {e}", path.display())))
    }
}

impl ParkLine {
    fn of(park: &OperatorPark) -> Result<String, ControlError> {
        let line = Self {
            origin: park.origin.to_string(),
            until: park.until.map(|until| until.to_string()),
            why: park.why.clone(),
            at: park.at.to_string(),
        };
        serde_json::to_string(&line).map_err(|e| ControlError::storage(e.to_string()))
    }

    fn read(line: &str) -> Result<OperatorPark, String> {
        let Self { origin, until, why, at } = serde_json::from_str(line).map_err(|e| e.to_string())?;
        let moment = |text: String| text.parse::<WallTime>().map_err(|e| e.to_string());
        Ok(OperatorPark {
            origin: Origin::parse(&origin).map_err(|e| format!("{origin:?}: {e}"))?,
            until: until.map(moment).transpose()?,
            why,
            at: moment(at)?,
        })
    }
}

impl Control {
    /// Parks an origin: from now on nothing is sent to it, robots.txt included, until `until` or until it is released. Its URLs
    /// stay queued. Kept in the crawl directory.
    ///
    /// Waits until what left before is over, at most some 35 s; [`Parked::open`] tells.
    ///
    /// # Errors
    /// A text that is no origin, a moment that has passed, or a file that cannot be written: then the origin is parked in this
    /// process alone.
    pub async fn park(&self, name: String, until: Option<String>, why: &str) -> Result<Parked, ControlError> {
        let held = self.subject.hold()?;
        let (wall, now) = (held.clock().wall(), held.clock().now());
        let park =
            OperatorPark { origin: origin(&name)?, until: moment(until.as_deref())?, why: reason(why)?, at: wall };
        if !park.is_in_force(wall) {
            return Err(
                ControlError::usage("the park would be over already").hint("give a moment that is still to come")
            );
        }
        let (origin, until) = (park.origin.clone(), park.until.map(|until| now.after(until.since(wall))));
        let written = {
            let mut parks = held.parks();
            parks.parks.retain(|_, park| park.is_in_force(wall));
            if parks.parks.len() >= MOST && !parks.parks.contains_key(&origin) {
                return Err(ControlError::usage(format!("{MOST} origins are parked, and no more can be"))
                    .hint("exclude them from the crawl instead ([crawl] exclude, comity reload)"));
            }
            // Obeyed first: what cannot be written down is parked all the same, for as long as this process lives.
            if let Some(gate) = held.gate() {
                gate.park(park.clone());
            }
            tracing::info!(%origin, until = ?park.until, why = park.why, "parked by the operator");
            parks.parks.insert(origin.clone(), park);
            parks.write()
        };
        held.frontier().park(origin.clone(), Reason::ParkOperator, until, now).await?;
        written?;
        let open = match held.gate() {
            Some(gate) => last_request(gate, |other| *other == origin).await,
            None => 0,
        };
        Ok(Parked { open })
    }

    /// `optouts`: looks at the opt-out files now, and waits until nothing is open to whom they cover.
    pub(super) async fn optouts(&self) -> Result<Answer, ControlError> {
        let held = self.subject.hold()?;
        let Some(gate) = held.gate() else { return Ok(Answer::of(json!({"open": 0}))) };
        let optouts = gate.look_at_optouts();
        let open = last_request(gate, |origin| optouts.covering(origin).is_some()).await;
        held.poke();
        Ok(Answer::of(json!({"open": open})))
    }

    /// Ends a park: the origin is asked again in its turn, by its own clocks.
    pub(super) async fn release(&self, name: &str) -> Result<Answer, ControlError> {
        let held = self.subject.hold()?;
        let origin = origin(name)?;
        let park = {
            let mut parks = held.parks();
            let park = parks.parks.remove(&origin);
            // Written first: what cannot be written down stays parked.
            if let (Err(error), Some(park)) = (parks.write(), &park) {
                parks.parks.insert(origin.clone(), park.clone());
                return Err(error);
            }
            park
        };
        if let Some(gate) = held.gate() {
            gate.release(&origin);
        }
        tracing::info!(%origin, "released by the operator");
        held.frontier().release(origin.clone(), held.clock().now()).await?;
        held.poke();
        Ok(Answer::of(json!({"origin": origin.to_string(), "was_parked": park.is_some()})))
    }
}

impl Parked {
    pub(super) fn answer(self) -> Answer {
        Answer::of(json!({"open": self.open}))
    }
}

/// Waits until nothing that was permitted is open to the chosen origins; tells how much is when that takes too long.
pub(super) async fn last_request(gate: &Gate, chosen: impl Fn(&Origin) -> bool) -> u32 {
    let until = gate.clock().now().after(PATIENCE);
    loop {
        let open = gate.open_to(&chosen);
        if open == 0 || gate.clock().now() >= until {
            return open;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn moment(text: Option<&str>) -> Result<Option<WallTime>, ControlError> {
    let Some(text) = text else { return Ok(None) };
    let wrong = |_| {
        ControlError::usage(format!("{text:?} is no moment")).hint("write a moment with its zone: 2026-11-30T09:00:00Z")
    };
    text.parse().map(Some).map_err(wrong)
}

fn reason(why: &str) -> Result<String, ControlError> {
    match why.trim() {
        "" => Err(ControlError::usage("a park needs a reason").hint("say why: it stands in every list")),
        why if why.chars().count() > LONGEST_WHY => {
            Err(ControlError::usage(format!("the reason has more than {LONGEST_WHY} characters")))
        }
        why => Ok(why.to_owned()),
    }
}
