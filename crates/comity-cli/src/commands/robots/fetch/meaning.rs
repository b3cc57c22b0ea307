//! What an answer means for crawlers, in one sentence.

use std::time::Duration;

use comity::policy::{Reason, RobotsLife, Standing};
use comity_gate::{FetchedRobots, HopMeaning, RobotsClass};
use comity_robots::Robots;

use super::copies::History;
use crate::commands::asker::words::{self, when};

/// One sentence: what crawlers may do, until when.
pub(super) fn sentence(found: &FetchedRobots) -> String {
    let end = words::end(found);
    let until = found.life.fetched().map(|(_, _, expires)| when(expires)).unwrap_or_default();
    match &found.class {
        RobotsClass::Parsed { .. } if found.robots().is_some_and(|robots| has_rules(&robots)) => {
            format!("Crawlers follow these rules until {until} at the latest, then ask again.")
        }
        RobotsClass::Parsed { .. } => {
            format!("The file has no rules: everything is allowed to everybody until {until}, then crawlers ask again.")
        }
        RobotsClass::Absent { .. } if matches!(found.life.standing(found.at), Standing::Denied) => {
            format!(
                "robots.txt: {end}; your configuration ([robots] strict_4xx) reads that as a refusal of everything."
            )
        }
        RobotsClass::Absent { .. } => {
            format!("robots.txt: {end}; everything is allowed to everybody until {until}, then crawlers ask again.")
        }
        RobotsClass::RedirectLimit { .. } => {
            format!("robots.txt: {end}; crawlers read that as none, so everything is allowed until {until}.")
        }
        RobotsClass::Unreachable { .. } if !was_asked(found) => {
            format!("robots.txt: {end}. The site was not asked, so this says nothing about it.")
        }
        RobotsClass::Unreachable { .. } => closed(found, &end),
        _ => format!("robots.txt: {end}."),
    }
}

/// False when the site itself was not asked, by the address guard, an opt-out, or a turn that is far ahead: that says
/// nothing about it.
pub(super) fn was_asked(found: &FetchedRobots) -> bool {
    if matches!(found.class, RobotsClass::Later(_)) {
        return false;
    }
    let refused = |reason| matches!(reason, Reason::AddressPrivate | Reason::AddressNone | Reason::Optout);
    !matches!(found.hops.first().map(|hop| &hop.meaning), Some(HopMeaning::NotAsked(no)) if refused(no.reason))
}

fn closed(found: &FetchedRobots, end: &str) -> String {
    let next = found.life.failing().map(|failing| format!("; comity would ask again at {}", when(failing.next_try)));
    let next = next.unwrap_or_default();
    format!("robots.txt: {end}; everything is disallowed to crawlers until it answers{next}.")
}

fn has_rules(robots: &Robots) -> bool {
    robots.groups().any(|group| group.rules().next().is_some())
}

/// What a crawler that asked before this may still go by; `None` when nothing else than the answer of now.
pub(super) fn before(history: &History) -> Option<String> {
    let old = history.old();
    let until = old.zip(history.old_until()).map(|(old, until)| {
        let what = if old.file.is_some() { "the copy" } else { "the answer" };
        format!(
            "A crawler that asked just before {} may go by {what} of {} until {}",
            when(history.since()),
            when(old.fetched()),
            when(until)
        )
    });
    if history.now.expires().is_some() {
        return until.map(|until| format!("{until}, 24 h at most (RFC 9309 §2.4)."));
    }
    let days = RobotsLife::PATIENCE.as_secs() / 86_400;
    let closed_until = when(history.since().after(RobotsLife::PATIENCE));
    let google = words::span(RobotsLife::GOOGLE_PATIENCE);
    let last = match old {
        Some(old) => format!("the copy of {} applies again; Google takes it after {google}", when(old.fetched())),
        None => "everything is open, if robots.txt itself still answers with a status".to_owned(),
    };
    let start = until.map(|until| format!("{until}. ")).unwrap_or_default();
    Some(format!(
        "{start}Should it go on, everything stays disallowed for {days} days, until {closed_until} (RFC 9309 §2.3.1.4); then {last}."
    ))
}

/// `24 h (nothing said)`: how long an answer lives, and who said so.
pub(super) fn life(found: &FetchedRobots) -> Option<String> {
    let (fetched, _, expires) = found.life.fetched()?;
    let life = expires.since(fetched);
    let said = match found.max_age {
        None => "the answer names no max-age".to_owned(),
        Some(max_age) if max_age == life => "as the answer's max-age asks".to_owned(),
        Some(max_age) => format!(
            "the answer asks for {}; {} to {} are kept to",
            words::span(max_age),
            words::span(RobotsLife::LEAST_LIFE),
            words::span(RobotsLife::LIFE)
        ),
    };
    Some(format!("{}, until {} ({said})", words::span(life), when(expires)))
}

/// The `Age` of the answer: how old it was in a cache on the way when it came.
pub(super) fn age(found: &FetchedRobots) -> Option<Duration> {
    let seconds = found.answer()?.field("age")?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}
