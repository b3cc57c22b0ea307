//! What holds today: the configuration in the crawl's directory, and what its state remembers.

use comity::config::{ConfigFile, CrawlConfig};
use comity::control::own_optouts;
use comity::policy::{Clock as _, WallTime};
use comity_gate::{OptOutReading, RememberedOrigin, StateDir};
use comity_url::CrawlUrl;

use crate::commands::many;

/// What the crawl's configuration holds for the URL's origin today: its records tell what held when they were written.
pub(super) fn in_force(dir: &std::path::Path, url: &CrawlUrl) -> Vec<String> {
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

/// What the crawl's state remembers of the URL's origin: its robots.txt, and who asked to be left alone until when.
fn clocks(dir: &std::path::Path, config: &CrawlConfig, url: &CrawlUrl, now: WallTime) -> Vec<String> {
    let state = config.state_dir.clone().unwrap_or_else(|| dir.join("state")).join("gate");
    if !state.is_dir() {
        return Vec::new();
    }
    match StateDir::open(&state, now).and_then(|state| state.look_up(url.origin())) {
        Ok(found) => found.map_or_else(Vec::new, |found| told(&found, now)),
        Err(error) if error.is_held() => {
            vec!["  today     a crawl is running on its state: clocks are not shown".to_owned()]
        }
        Err(error) => vec![format!("  today     {error}")],
    }
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
