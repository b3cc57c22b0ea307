//! What holds today: the configuration in the crawl's directory, and what its state remembers.

use std::path::{Path, PathBuf};

use comity::config::{ConfigFile, CrawlConfig};
use comity::control::own_optouts;
use comity::policy::{Clock as _, Floor, WallTime};
use comity_gate::{OptOutReading, RememberedOrigin, StateDir};
use comity_robots::RuleSet;
use comity_url::{CrawlUrl, Origin};

use crate::commands::many;

/// What the crawl's configuration holds for the URL's origin today: its records tell what held when they were written.
pub(super) fn in_force(dir: &Path, url: &CrawlUrl) -> Vec<String> {
    let file = ConfigFile::read(&dir.join("crawl.toml"));
    // A configuration that cannot be read any more says nothing about today.
    let Ok(config) = file.and_then(CrawlConfig::resolve) else { return Vec::new() };
    let now = comity_fetch::SystemClock::new().wall();
    let overridden = config.overrides.in_force(url.origin(), now).map(|one| format!("  today     override {one}"));
    let own = OptOutReading::of(&own_optouts(dir)).map(|reading| reading.optouts).unwrap_or_default();
    let optouts = config.optouts.optouts();
    let out = optouts.covering(url.origin()).or_else(|| own.covering(url.origin())).map(|one| {
        let line = &one.line;
        format!(
            "  today     opted out: {} asked for {} at {} ({}:{})",
            line.requested_by, line.target, line.at, one.file, one.number
        )
    });
    out.into_iter().chain(overridden).chain(clocks(dir, &config, url, now)).collect()
}

/// Of each of these origins of a crawl that nobody runs: why its robots.txt could not be had when it was asked last, or keeps the crawl
/// away by a Crawl-delay, in words.
pub(crate) fn robots_faults(dir: &Path, origins: &[String]) -> Vec<Option<String>> {
    let none = || vec![None; origins.len()];
    if origins.is_empty() {
        // Nothing is opened for nothing: a crawl that begins just then would be told that its state is in use.
        return none();
    }
    let Ok(config) = ConfigFile::read(&dir.join("crawl.toml")).and_then(CrawlConfig::resolve) else { return none() };
    let now = comity_fetch::SystemClock::new().wall();
    let Some(Ok(state)) = state_folder(dir, &config).map(|state| StateDir::open(&state, now)) else { return none() };
    let fault = |origin: &String| {
        let origin = Origin::parse(origin).ok()?;
        match state.look_up(&origin).ok()??.life.failing {
            Some(failing) => {
                Some(format!("robots.txt unreachable ({}, {})", failing.cause, many(failing.attempts.into(), "try")))
            }
            None => asks_too_much(&state, (&config, now), &origin),
        }
    };
    origins.iter().map(fault).collect()
}

/// Where the crawl remembers sites, when it has begun to.
fn state_folder(dir: &Path, config: &CrawlConfig) -> Option<PathBuf> {
    let folder = config.state_dir.clone().unwrap_or_else(|| dir.join("state")).join("gate");
    folder.is_dir().then_some(folder)
}

/// What the crawl's state remembers of the URL's origin: its robots.txt, and who asked to be left alone until when.
fn clocks(dir: &Path, config: &CrawlConfig, url: &CrawlUrl, now: WallTime) -> Vec<String> {
    let Some(state) = state_folder(dir, config) else { return Vec::new() };
    let look = |state: StateDir| {
        let found = state.look_up(url.origin())?;
        Ok((found, asks_too_much(&state, (config, now), url.origin())))
    };
    match StateDir::open(&state, now).and_then(look) {
        Ok((found, too_much)) => {
            let told = found.map_or_else(Vec::new, |found| told(&found, now));
            told.into_iter().chain(too_much.map(|asks| format!("  today     {asks}"))).collect()
        }
        Err(error) if error.is_held() => {
            vec!["  today     a crawl is running on its state: clocks are not shown".to_owned()]
        }
        Err(error) => vec![format!("  today     {error}")],
    }
}

/// A Crawl-delay above the longest that is kept: no run of the crawl asks for anything, but under an override of the rate.
fn asks_too_much(state: &StateDir, (config, now): (&CrawlConfig, WallTime), origin: &Origin) -> Option<String> {
    if config.overrides.floor(origin, now) == Floor::AsSet {
        return None;
    }
    let tokens: Vec<&str> = config.identity.tokens().iter().map(AsRef::as_ref).collect();
    let copies = state.last_copies(origin).ok()?;
    let asked = copies.iter().filter_map(|copy| RuleSet::parse(copy, &tokens, config.robots.dialect).crawl_delay());
    let delay = asked.max()?;
    let most = config.politeness.max_crawl_delay;
    (delay > most).then(|| {
        let (delay, most) = (delay.as_secs_f64(), most.as_secs_f64());
        format!("asks for {delay} s between requests, above max_crawl_delay ({most} s): not asked until that is raised")
    })
}

fn told(found: &RememberedOrigin, now: WallTime) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |text: String| lines.push(format!("  today     {text}"));
    if let Some(known) = &found.life.known {
        let fresh = if known.expires > now { "fresh until" } else { "to be asked anew since" };
        say(format!("robots.txt of {}, status {}, {fresh} {}", known.fetched, known.status, known.expires));
    }
    if let Some(failing) = &found.life.failing {
        say(format!(
            "robots.txt unreachable since {} ({}), {}, the next {}",
            failing.since,
            failing.cause,
            many(failing.attempts.into(), "try"),
            failing.next_try
        ));
    }
    let left_alone = [("parked", found.pace.parked_until), ("backs off", found.pace.backoff_until)];
    for (what, until) in left_alone {
        if let Some(until) = until.filter(|until| *until > now) {
            say(format!("{what} until {until}"));
        }
    }
    lines
}
