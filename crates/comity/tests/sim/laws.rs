use std::collections::BTreeMap;
use std::time::Duration;

use comity::policy::Reason;
use comity::{End, Summary, UrlEnding};
use comity_testweb::Auditor;

use crate::faults::Fault;
use crate::life::{LifeEnd, Lived};
use crate::run::Run;
use crate::stage::Told;
use crate::{hostile, survival};

/// The laws that a run breaks, each with its evidence.
pub(crate) fn broken(run: &Run) -> Vec<String> {
    let mut broken = polite(run);
    if run.panics > 0 {
        broken.push(format!("{} panics", run.panics));
    }
    for (number, life) in run.lives.iter().enumerate() {
        broken.extend(ended_as_planned(run, life).map(|what| format!("process {number}: {what}")));
        if let LifeEnd::Ended(summary) = &life.end {
            broken.extend(told_as_counted(run, number, summary));
        }
    }
    broken.extend(run.misread.iter().map(|url| format!("{url}: its body is not what came")));
    broken.extend(nothing_lost(run));
    broken.extend(told_as_seen(run));
    broken.extend(survival::broken(run));
    broken.extend(hostile::broken(run));
    broken
}

/// No violation: early requests at no tolerance, refused paths, robots.txt twice in a life, closed origins, pauses.
fn polite(run: &Run) -> Vec<String> {
    let auditor = Auditor::new()
        .floor(run.settings.delay)
        .address_gap(run.settings.address_gap)
        .per_address(usize::try_from(run.settings.per_address).unwrap());
    let told_time = |auditor: Auditor, (at, ahead): &(u64, i64)| auditor.clock_error(*at, *ahead);
    let audit = run.clock_errors.iter().fold(auditor, told_time).examine(&run.observer);
    if audit.is_clean() { Vec::new() } else { vec![audit.to_string()] }
}

/// A process ends as it was made to, or finishes before.
fn ended_as_planned(run: &Run, life: &Lived) -> Option<String> {
    match (&life.end, life.planned) {
        (LifeEnd::Broken(error), _) => Some(error.clone()),
        (LifeEnd::Killed, Some(Fault::Kill | Fault::PowerCut)) => None,
        (LifeEnd::Storage(_), Some(Fault::StoreFull | Fault::ArchiveFull(_))) if life.was_full => None,
        (LifeEnd::Ended(summary), Some(Fault::Drain | Fault::Stop)) if summary.end == End::Stopped => None,
        // Nothing needed to be written any more, or not before it finished.
        (LifeEnd::Ended(summary), planned) if summary.end == End::Finished => {
            let unsaid = life.was_full && matches!(planned, Some(Fault::StoreFull | Fault::ArchiveFull(_)));
            unsaid.then(|| {
                format!(
                    "a write was refused, and it says nothing: {} left of the lives {}",
                    summary.left,
                    run.lives.len()
                )
            })
        }
        (end, planned) => Some(format!("ended as {end:?}, planned {planned:?}")),
    }
}

/// Every queued URL has one outcome or is left; every URL that the web has shown is among them.
fn nothing_lost(run: &Run) -> Vec<String> {
    let Some(summary) = run.summary() else { return Vec::new() };
    let mut broken = Vec::new();
    let mut told: BTreeMap<&str, u32> = BTreeMap::new();
    for outcome in &run.outcomes {
        *told.entry(&outcome.url).or_default() += 1;
    }
    let ended = told.len() as u64;
    if !survival::forgets(run) {
        let twice = told.iter().filter(|(_, times)| **times > 1);
        broken.extend(twice.map(|(url, times)| format!("{url} ended {times} times")));
    }
    match run.stored {
        None if ended + summary.left != summary.queued => {
            broken.push(format!("{} queued, {ended} ended, {} left", summary.queued, summary.left));
        }
        None => {}
        Some(stored) => broken.extend(survival::nothing_lost(run, ended, summary.left, stored)),
    }
    let shown = run.observer.shown();
    // The hops of a robots.txt are shown to the gate alone.
    let pages = shown.iter().filter(|url| !url.ends_with(".txt"));
    let missing: Vec<_> = pages.filter(|url| !told.contains_key(url.as_str())).collect();
    if missing.len() as u64 > summary.left + survival::untold(run) {
        broken.push(format!("shown and neither ended nor left ({} left): {missing:?}", summary.left));
    }
    broken
}

/// The summary of a process counts what it told.
fn told_as_counted(run: &Run, life: usize, summary: &Summary) -> Vec<String> {
    let told = || run.outcomes.iter().filter(|told| told.life == life);
    let count = |is: fn(&UrlEnding) -> bool| told().filter(|told| is(&told.ending)).count() as u64;
    let rows = [
        ("fetched", count(|ending| matches!(ending, UrlEnding::Fetched(_))), summary.fetched.values().sum()),
        ("withheld", count(|ending| matches!(ending, UrlEnding::Withheld(_))), summary.withheld.values().sum()),
        ("redirected", count(|ending| matches!(ending, UrlEnding::Redirected(_))), summary.redirects),
        ("refused", count(|ending| matches!(ending, UrlEnding::Refused(_))), summary.refusals()),
        ("failed", count(|ending| matches!(ending, UrlEnding::Failed(_))), summary.failed.values().sum()),
    ];
    let unlike = rows.into_iter().filter(|(_, told, counted)| told != counted);
    unlike.map(|(name, told, counted)| format!("process {life}: {told} {name} were told, {counted} counted")).collect()
}

/// The web saw what was told: the status of the last answer, and no more requests than attempts, but for what broke off.
fn told_as_seen(run: &Run) -> Vec<String> {
    let mut seen: BTreeMap<String, (u32, Option<u16>)> = BTreeMap::new();
    for sighting in run.observer.log() {
        let target = sighting.request.target_text();
        let Some(url) = sighting.site.and_then(|site| run.observer.url(site, &target)) else { continue };
        let (times, last) = seen.entry(url).or_default();
        *times += 1;
        *last = sighting.status;
    }
    let breaks = u32::try_from(run.breaks().count()).unwrap();
    let last: BTreeMap<&str, &Told> = run.outcomes.iter().map(|told| (told.url.as_str(), told)).collect();
    let (mut broken, mut repeated) = (Vec::new(), 0);
    // Sites beside the web are looked at by `hostile.rs`.
    for Told { url, ending, attempt, .. } in last.into_values().filter(|told| !told.url.contains(".hostile.test")) {
        let (times, last) = seen.get(url).copied().unwrap_or_default();
        let fits = match ending {
            UrlEnding::Fetched(status) | UrlEnding::Redirected(status) => last == Some(*status),
            // Before a process broke off it may have been allowed.
            UrlEnding::Refused(Reason::RobotsDisallow) if *attempt == 1 => times <= breaks,
            UrlEnding::Failed(Reason::FetchCancelled) => false,
            UrlEnding::Withheld(_) | UrlEnding::Refused(_) | UrlEnding::Failed(_) => true,
            _ => false,
        };
        if !fits || times > *attempt + breaks {
            broken.push(format!("{url}: told {ending} at attempt {attempt}, seen {times} times, last {last:?}"));
        }
        repeated += u64::from(times.saturating_sub(*attempt));
    }
    if repeated > survival::repeats(run) {
        broken.push(format!("{repeated} pages were asked for again, {} may have been", survival::repeats(run)));
    }
    broken
}

/// What a power cut may cost (docs/durability.md).
pub(crate) const SYNCED_EVERY: Duration = Duration::from_secs(1);
/// Timers end up to a millisecond late.
pub(crate) const TICK: Duration = Duration::from_millis(1);
