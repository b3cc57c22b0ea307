use std::collections::BTreeMap;

use comity::policy::Reason;
use comity::{End, Summary, UrlEnding};
use comity_testweb::Auditor;

use crate::hostile;
use crate::run::{Run, Told};

/// The laws that a run breaks, each with its evidence.
pub(crate) fn broken(run: &Run) -> Vec<String> {
    let mut broken = polite(run);
    if run.panics > 0 {
        broken.push(format!("{} panics", run.panics));
    }
    match &run.summary {
        Err(error) => broken.push(error.clone()),
        Ok(summary) => {
            broken.extend((summary.end != End::Finished).then(|| format!("ended as {:?}", summary.end)));
            broken.extend(run.misread.iter().map(|url| format!("{url}: its body is not what came")));
            broken.extend(nothing_lost(run, summary));
            broken.extend(told_as_counted(run, summary));
        }
    }
    broken.extend(told_as_seen(run));
    broken.extend(hostile::broken(run));
    broken
}

/// No violation: early requests at no tolerance, refused paths, robots.txt twice in a life, closed origins, pauses.
fn polite(run: &Run) -> Vec<String> {
    let auditor = Auditor::new()
        .floor(run.settings.delay)
        .address_gap(run.settings.address_gap)
        .per_address(usize::try_from(run.settings.per_address).unwrap());
    let audit = auditor.examine(&run.observer);
    if audit.is_clean() { Vec::new() } else { vec![audit.to_string()] }
}

/// Every queued URL has one outcome or is left; every URL that the web has shown is among them.
fn nothing_lost(run: &Run, summary: &Summary) -> Vec<String> {
    let mut broken = Vec::new();
    let mut told: BTreeMap<&str, u32> = BTreeMap::new();
    for outcome in &run.outcomes {
        *told.entry(&outcome.url).or_default() += 1;
    }
    broken
        .extend(told.iter().filter(|(_, times)| **times > 1).map(|(url, times)| format!("{url} ended {times} times")));
    if told.len() as u64 + summary.left != summary.queued {
        broken.push(format!("{} queued, {} ended, {} left", summary.queued, told.len(), summary.left));
    }
    let shown = run.observer.shown();
    // The hops of a robots.txt are shown to the gate alone.
    let pages = shown.iter().filter(|url| !url.ends_with(".txt"));
    let missing: Vec<_> = pages.filter(|url| !told.contains_key(url.as_str())).collect();
    if missing.len() as u64 > summary.left {
        broken.push(format!("shown and neither ended nor left ({} left): {missing:?}", summary.left));
    }
    broken
}

/// The summary counts what was told.
fn told_as_counted(run: &Run, summary: &Summary) -> Vec<String> {
    let count = |is: fn(&UrlEnding) -> bool| run.outcomes.iter().filter(|told| is(&told.ending)).count() as u64;
    let rows = [
        ("fetched", count(|ending| matches!(ending, UrlEnding::Fetched(_))), summary.pages()),
        ("redirected", count(|ending| matches!(ending, UrlEnding::Redirected(_))), summary.redirects),
        ("refused", count(|ending| matches!(ending, UrlEnding::Refused(_))), summary.refusals()),
        ("failed", count(|ending| matches!(ending, UrlEnding::Failed(_))), summary.failed.values().sum()),
    ];
    let unlike = rows.into_iter().filter(|(_, told, counted)| told != counted);
    unlike.map(|(name, told, counted)| format!("{told} {name} were told, {counted} counted")).collect()
}

/// The web saw what was told: the status of the last answer, and no more requests than attempts.
fn told_as_seen(run: &Run) -> Vec<String> {
    let mut seen: BTreeMap<String, (u32, Option<u16>)> = BTreeMap::new();
    for sighting in run.observer.log() {
        let target = sighting.request.target_text();
        let Some(url) = sighting.site.and_then(|site| run.observer.url(site, &target)) else { continue };
        let (times, last) = seen.entry(url).or_default();
        *times += 1;
        *last = sighting.status;
    }
    let mut broken = Vec::new();
    // Sites beside the web are looked at by `hostile.rs`.
    for Told { url, ending, attempt, .. } in run.outcomes.iter().filter(|told| !told.url.contains(".hostile.test")) {
        let (times, last) = seen.get(url).copied().unwrap_or_default();
        let fits = match ending {
            UrlEnding::Fetched(status) | UrlEnding::Redirected(status) => last == Some(*status),
            UrlEnding::Refused(Reason::RobotsDisallow) if *attempt == 1 => times == 0,
            UrlEnding::Failed(Reason::FetchCancelled) => false,
            UrlEnding::Refused(_) | UrlEnding::Failed(_) => true,
        };
        if !fits || times > *attempt {
            broken.push(format!("{url}: told {ending} at attempt {attempt}, seen {times} times, last {last:?}"));
        }
    }
    broken
}
