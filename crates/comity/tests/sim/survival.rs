//! What a crawl owes to whoever starts it again: docs/durability.md as laws.

use std::collections::BTreeMap;

use comity::UrlEnding;
use comity_testweb::Sighting;

use crate::laws::{SYNCED_EVERY, TICK};
use crate::life::Lived;
use crate::run::Run;
use crate::stage::HANDLERS_AT_ONCE;

/// The laws of ends and beginnings that a run breaks.
pub(crate) fn broken(run: &Run) -> Vec<String> {
    let mut broken = quiet_between(run);
    for (number, life) in run.lives.iter().enumerate() {
        let age = life.cut.age.max(life.cut.archived_age);
        if age > SYNCED_EVERY {
            broken.push(format!("process {number}: the power cut took {age:?} of work"));
        }
        // Also where the power did not fail: one moment of a crawl is drawn, and all of them count.
        if life.exposed > SYNCED_EVERY + TICK {
            broken
                .push(format!("process {number}: a power cut would have taken {:?} of the queue's work", life.exposed));
        }
    }
    match &run.records {
        None => {}
        Some(Err(error)) => broken.push(format!("the records cannot be read: {error}")),
        Some(Ok(_)) => broken.extend(on_record(run)),
    }
    broken
}

/// Between two processes nothing is sent.
fn quiet_between(run: &Run) -> Vec<String> {
    let log = run.observer.log();
    let gaps = run.lives.windows(2).map(|pair| (pair[0].ended_us, pair[1].began_us));
    let sent = |(from, until): (u64, u64)| log.iter().filter(move |seen| (from + 1..until).contains(&seen.arrived_us));
    gaps.flat_map(sent).map(|seen| format!("sent at {} by a process that had ended", seen.arrived_us)).collect()
}

/// Every outcome that was told is on record, and every request that the web saw, but for what was under way at a break.
fn on_record(run: &Run) -> Vec<String> {
    let Some(Ok(kept)) = &run.records else { return Vec::new() };
    let mut broken = Vec::new();
    for told in &run.outcomes {
        let wanted = match told.ending {
            UrlEnding::Fetched(_) | UrlEnding::Redirected(_) => ["fetched", "failed"],
            UrlEnding::Withheld(_) => ["withheld", "withheld"],
            UrlEnding::Refused(_) => ["not_fetched", "not_fetched"],
            UrlEnding::Failed(_) => ["failed", "not_fetched"],
            other => panic!("{other}: no law says what is on record of it"),
        };
        let records = kept.pages.get(&told.url).map_or(&[][..], Vec::as_slice);
        let is_lost = run.lives.get(told.life).is_some_and(|life| may_be_lost(life, told.at_us));
        if !is_lost && !records.iter().any(|(outcome, _)| wanted.contains(&outcome.as_str())) {
            broken.push(format!("{}: told {} at {}, on record {records:?}", told.url, told.ending, told.at_us));
        }
    }
    let mut pages: BTreeMap<String, u64> = BTreeMap::new();
    let mut robots = pages.clone();
    for sighting in run.observer.log() {
        let target = sighting.request.target_text();
        let Some(url) = sighting.site.and_then(|site| run.observer.url(site, &target)) else { continue };
        // What leads from a robots.txt is asked for as one.
        let seen = if url.ends_with(".txt") { &mut robots } else { &mut pages };
        *seen.entry(url).or_default() += 1;
    }
    let total = u64::from(run.settings.total);
    let visits = under_way(run);
    let breaks = run.breaks().count() as u64;
    let missing = |seen: &BTreeMap<String, u64>, on_record: &dyn Fn(&str) -> u64| -> u64 {
        seen.iter().map(|(url, times)| times.saturating_sub(on_record(url))).sum()
    };
    let page = missing(&pages, &|url| kept.pages.get(url).map_or(0, |records| records.len() as u64));
    let file = missing(&robots, &|url| u64::from(kept.robots.get(url).copied().unwrap_or(0)));
    // Beside the visits fly as many for robots.txt as there are origins.
    let (lost_pages, lost_files) = lost(run);
    let (most_pages, most_files) = (breaks * visits + lost_pages, breaks * total * 4 + lost_files);
    for (what, unrecorded, most) in [("pages", page, most_pages), ("robots.txt", file, most_files)] {
        if unrecorded > most + run.ordered_panics {
            broken.push(format!("{unrecorded} requests for {what} are not on record, {most} may have been under way"));
        }
    }
    broken
}

/// The record of what ended at that moment of the process may be gone: a power cut took it.
fn may_be_lost(life: &Lived, at_us: u64) -> bool {
    let age_us = u64::try_from(life.cut.archived_age.as_micros()).unwrap();
    life.cut.archived > 0 && (life.ended_us.saturating_sub(age_us)..=life.ended_us).contains(&at_us)
}

/// Requests for pages and for robots.txt whose records power cuts may have taken.
fn lost(run: &Run) -> (u64, u64) {
    let log = run.observer.log();
    let is_lost = |seen: &&Sighting| {
        seen.ended_us.is_some_and(|ended_us| run.lives.iter().any(|life| may_be_lost(life, ended_us)))
    };
    let (files, pages): (Vec<_>, Vec<_>) =
        log.iter().filter(is_lost).partition(|seen| seen.request.target_text().ends_with(".txt"));
    (pages.len() as u64, files.len() as u64)
}

/// Some process forgot what it had told: pages may end twice.
pub(crate) fn forgets(run: &Run) -> bool {
    run.lives.iter().any(|life| life.cut.commits > 0 || life.cut.archived > 0)
}

/// Pages that may be under way at once: visits, and pages at their handlers.
fn under_way(run: &Run) -> u64 {
    let at_handlers = if run.handlers_wait { HANDLERS_AT_ONCE as u64 } else { 0 };
    u64::from(run.settings.total) + at_handlers
}

/// URLs that may have left the queue without being told: the process died between the two.
pub(crate) fn untold(run: &Run) -> u64 {
    run.breaks().count() as u64 * under_way(run)
}

/// Requests for pages that may have been made in vain: what was under way at a break, and what a power cut took.
pub(crate) fn repeats(run: &Run) -> u64 {
    run.breaks().map(|life| under_way(run) + life.cut.urls).sum::<u64>() + lost(run).0
}

/// Of all URLs that the queue's disk took in, every one was told or is left.
pub(crate) fn nothing_lost(run: &Run, ended: u64, left: u64, (queued, seen): (u64, u64)) -> Vec<String> {
    let mut broken = Vec::new();
    if queued != left {
        broken.push(format!("{left} left, {queued} on the disk"));
    }
    let lost = seen.saturating_sub(ended + queued);
    if lost > untold(run) {
        broken.push(format!("{seen} taken in, {ended} ended, {queued} left: {lost} lost"));
    }
    if ended + queued > seen && !forgets(run) {
        broken.push(format!("{seen} taken in, but {ended} ended and {queued} left"));
    }
    broken
}
