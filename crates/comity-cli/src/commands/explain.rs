use comity::config::{ConfigFile, CrawlConfig};
use comity::control::own_optouts;
use comity::policy::Clock as _;
use comity::policy::WallTime;
use comity_archive::{Record, read_records};
use comity_gate::{OptOutReading, RememberedOrigin, StateDir};
use comity_url::CrawlUrl;

use super::print;
use crate::args::ExplainArgs;
use crate::exit::{Exit, Failure};

/// `comity explain URL --dir D`: why this URL was or was not fetched, from the records of a crawl.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let url = CrawlUrl::parse(&args.url).map_err(|e| Failure::usage(format!("{:?}: {e}", args.url)))?;
    let found = records_of(&args.dir, |record| record.url == url.as_str())?;
    if found.is_empty() {
        print(&format!("{url}\n  no record: it was not found by this crawl, or was out of scope, or is still queued"))?;
        in_force(&args.dir, &url).iter().try_for_each(|line| print(line))?;
        return Ok(Exit::Findings);
    }
    for record in &found {
        if args.json {
            let text = serde_json::to_string(record).map_err(|e| Failure::unavailable(e.to_string()))?;
            print(&text)?;
        } else {
            print(&text(record))?;
        }
    }
    if !args.json {
        in_force(&args.dir, &url).iter().try_for_each(|line| print(line))?;
    }
    Ok(Exit::Done)
}

/// What the crawl's configuration holds for the URL's origin today: its records tell what held when they were written.
fn in_force(dir: &std::path::Path, url: &CrawlUrl) -> Vec<String> {
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
            "robots.txt unreachable since {} ({}), {} tries, the next {}",
            failing.since, failing.cause, failing.attempts, failing.next_try
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

/// The records that `wanted` picks, in the order of their chain.
pub(crate) fn records_of(
    dir: &std::path::Path,
    mut wanted: impl FnMut(&Record) -> bool,
) -> Result<Vec<Record>, Failure> {
    if !dir.join("records").is_dir() {
        return Err(Failure::usage(format!("{} holds no crawl", dir.display())).hint("give the folder of the crawl"));
    }
    let mut found = Vec::new();
    for line in read_records(dir).map_err(|e| Failure::storage(e.to_string()))? {
        let line = line.map_err(|e| Failure::storage(e.to_string()))?;
        if let Some(record) = line.record().map_err(|e| Failure::storage(e.to_string()))?
            && wanted(&record)
        {
            found.push(record);
        }
    }
    Ok(found)
}

/// One record for people: the outcome first, then everything it rests on.
fn text(record: &Record) -> String {
    let mut lines = vec![record.url.clone()];
    let mut say = |label: &str, value: String| lines.push(format!("  {label:9} {value}"));
    let answer = record.response.as_ref().map(|response| format!(", answered {}", response.status));
    say("outcome", format!("{}, {}{}", record.outcome, record.reason, answer.unwrap_or_default()));
    if let Some(rule) = &record.rule {
        let kind = if rule.kind == "allow" { "Allow" } else { "Disallow" };
        say("rule", format!("{kind}: {} (line {}, priority {})", rule.pattern, rule.line, rule.priority));
    } else {
        say("rule", "none matched".to_owned());
    }
    if let Some(robots) = &record.robots {
        let group = record.group.as_deref().filter(|group| !group.is_empty());
        say("group", group.map_or_else(|| "none applies".to_owned(), |group| group.join(", ")));
        let status = robots.status.map(|status| format!(", status {status}")).unwrap_or_default();
        let fetched = robots.fetched.as_deref().map(|at| format!(", fetched {at}")).unwrap_or_default();
        say("robots", format!("{}/robots.txt: {}{status}{fetched}", robots.for_origin, robots.state));
        if let Some(digest) = &robots.digest {
            say("copy", format!("sha256 {digest}"));
        }
        if let Some(delay) = robots.crawl_delay_ms {
            say("delay", format!("Crawl-delay {} s", delay as f64 / 1000.0));
        }
    }
    if let Some(found) = record.decision.as_ref().and_then(|decision| decision.r#override.as_ref()) {
        let lifted: Vec<String> = found.lifted.iter().map(|one| format!("{} ({})", one.reason, one.scope)).collect();
        say("override", format!("{} lifted {}", found.id, lifted.join(", ")));
        say("", format!("{}, approved by {}, until {}", found.basis, found.approved_by, found.expires));
    }
    if let Some(found) = record.decision.as_ref().and_then(|decision| decision.optout.as_ref()) {
        say(
            "optout",
            format!(
                "{} asked for {} at {} ({}:{})",
                found.requested_by, found.target, found.at, found.file, found.line
            ),
        );
    }
    for signal in &record.signals {
        say("signal", format!("{} {}: {} ({})", signal.source, signal.purpose, signal.verdict, signal.raw));
    }
    if let Some(detail) = &record.detail {
        say("detail", detail.clone());
    }
    say("found", found(record));
    say("decided", record.decision.as_ref().map_or(&record.time.started, |decision| &decision.at).clone());
    lines.join("\n")
}

fn found(record: &Record) -> String {
    let discovery = &record.discovery;
    match (&discovery.via, discovery.seed) {
        (None, true) => "a seed".to_owned(),
        (Some(via), _) => format!("on {via}, {} links from a seed, attempt {}", discovery.depth, discovery.attempt),
        (None, false) => format!("attempt {}", discovery.attempt),
    }
}
