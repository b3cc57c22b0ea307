//! `comity crawl --plan`: what the seeds' sites allow and ask for, and how long a crawl of them takes. robots.txt is asked for, and
//! tdmrep.json where the crawl would ask for it; nothing else.

use std::collections::BTreeMap;
use std::time::Duration;

use comity::config::CrawlConfig;
use comity::policy::{Decision, Judge as _, Judgement};
use comity_gate::{AskRobots, FetchedRobots};
use comity_url::{CrawlUrl, Origin};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::shown;
use crate::args::CrawlArgs;
use crate::commands::asker::{Asker, words};
use crate::commands::{many, print};
use crate::exit::{Exit, Failure};
use crate::settings;

/// Origins that are asked (our choice: a plan is for people; `comity survey` is for lists).
const MOST_ORIGINS: usize = 10_000;
/// What a plan is told for where no `max_pages` is set.
const USUAL_PAGES: u64 = 1_000;

/// What one site said.
struct Site {
    found: FetchedRobots,
    /// What the next page would wait for, and for how long at most.
    delay: Duration,
    asked: Option<Duration>,
    hours: bool,
    sitemaps: Vec<String>,
    tdmrep: Option<&'static str>,
    allowed: u64,
}

/// A seed and what was decided.
struct Seed {
    url: CrawlUrl,
    verdict: Result<(), String>,
}

pub(super) fn run(args: &CrawlArgs) -> Result<Exit, Failure> {
    let config = CrawlConfig::resolve(settings::of_crawl(&args.layers)?)?;
    let asker = Asker::of_crawl(&config)?;
    let mut origins: Vec<Origin> = Vec::new();
    for seed in &config.seeds {
        if !origins.contains(seed.origin()) && origins.len() < MOST_ORIGINS {
            origins.push(seed.origin().clone());
        }
    }
    let found = asker.runtime().block_on(ask(&asker, &origins, config.politeness.total));
    let mut sites: BTreeMap<Origin, Site> =
        found.into_iter().map(|one| (one.origin.clone(), site(one, &config))).collect();
    let seeds: Vec<Seed> = config.seeds.iter().map(|url| judged(&asker, url, &mut sites)).collect();
    for origin in &origins {
        asker.note(origin);
    }
    let pages = config.limits.max_pages;
    if args.json {
        print(&object(&seeds, &sites, pages, &config).to_string())?;
    } else {
        print(text(&seeds, &sites, pages, &config).trim_end())?;
    }
    Ok(if seeds.iter().any(|seed| seed.verdict.is_ok()) { Exit::Done } else { Exit::Findings })
}

/// robots.txt of each, and tdmrep.json where the crawl would ask for it: several at once, each in its turn.
async fn ask(asker: &Asker, origins: &[Origin], at_once: u32) -> Vec<FetchedRobots> {
    let (mut asked, mut found, mut left) = (JoinSet::new(), Vec::new(), origins.iter());
    loop {
        while asked.len() < at_once as usize
            && let Some(origin) = left.next()
        {
            let (gate, origin, wait) = (asker.gate().clone(), origin.clone(), asker.left(origin));
            asked.spawn(async move {
                tokio::time::sleep(wait).await;
                let robots = gate.fetch_robots(&origin, AskRobots::IfDue).await;
                gate.robots(&origin).await;
                robots
            });
        }
        match asked.join_next().await {
            None => return found,
            Some(Ok(robots)) => found.push(robots),
            Some(Err(error)) => eprintln!("note: an origin was lost: {error}"),
        }
    }
}

fn site(found: FetchedRobots, config: &CrawlConfig) -> Site {
    let pace = found.life.asked_pace();
    let asked = pace.delay();
    let sitemaps =
        found.robots().map(|robots| robots.sitemaps().map(|(url, _)| url.into_owned()).collect()).unwrap_or_default();
    let delay = asked.unwrap_or_default().max(config.politeness.delay);
    Site { asked, delay, hours: !pace.holds_at_all_hours(), sitemaps, tdmrep: None, allowed: 0, found }
}

fn judged(asker: &Asker, url: &CrawlUrl, sites: &mut BTreeMap<Origin, Site>) -> Seed {
    let Some(site) = sites.get_mut(url.origin()) else {
        return Seed { url: url.clone(), verdict: Err(format!("not asked: a plan asks {MOST_ORIGINS} origins")) };
    };
    let verdict = match asker.gate().judge(url) {
        Judgement::Allow(allowance) => {
            site.tdmrep = tdmrep(allowance.decision());
            site.allowed += 1;
            Ok(())
        }
        Judgement::Refuse(refusal) => {
            site.tdmrep = tdmrep(refusal.decision());
            Err(why(refusal.decision()))
        }
        Judgement::NeedsRobots(_) => Err(format!("its robots.txt is not known: {}", words::end(&site.found))),
        Judgement::Hold(hold) => {
            let until = hold.wait.map(|wait| format!(", tried again in {}", words::span(wait))).unwrap_or_default();
            Err(format!("{}{until}", hold.reason.text()))
        }
    };
    Seed { url: url.clone(), verdict }
}

fn tdmrep(decision: &Decision) -> Option<&'static str> {
    decision.site.tdmrep.as_deref().map(|file| file.state.as_str())
}

fn why(decision: &Decision) -> String {
    match &decision.rule {
        Some(rule) => {
            let kind = if rule.kind == "allow" { "Allow" } else { "Disallow" };
            format!("{}: line {} says {kind}: {}", decision.reason, rule.line, rule.pattern)
        }
        None => format!("{}: {}", decision.reason, decision.reason.text()),
    }
}

/// Pages a second that the allowed sites ask for together, and the bounds of the crawl let through.
fn rate(sites: &BTreeMap<Origin, Site>) -> f64 {
    sites.values().filter(|site| site.allowed > 0).map(|site| 1.0 / site.delay.as_secs_f64().max(0.001)).sum()
}

/// Seconds for so many pages, each site at its own pace, none beyond the pages of an origin.
fn seconds(pages: u64, rate: f64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let pages = pages as f64;
    (rate > 0.0).then(|| pages / rate)
}

fn text(seeds: &[Seed], sites: &BTreeMap<Origin, Site>, pages: Option<u64>, config: &CrawlConfig) -> String {
    let mut lines = Vec::new();
    for site in sites.values() {
        let asks = match site.asked {
            Some(asked) if asked < config.politeness.delay => {
                let ours = words::span(config.politeness.delay);
                format!("asks for {} between requests, ours is longer: {ours}", words::span(asked))
            }
            Some(asked) => format!("asks for {} between requests", words::span(asked)),
            None => format!("asks for no delay, ours is {}", words::span(config.politeness.delay)),
        };
        lines.push(format!("{}  {}; {asks}", site.found.origin, words::end(&site.found)));
        if site.hours {
            lines.push("  only at some hours, or slower at some".to_owned());
        }
        if site.asked.is_some_and(|asked| asked > config.politeness.max_crawl_delay) {
            lines.push(format!(
                "  longer than max_crawl_delay, {}: it would be parked",
                words::span(config.politeness.max_crawl_delay)
            ));
        }
        if let Some(state) = site.tdmrep {
            lines.push(format!("  tdmrep.json: {state}"));
        }
        if !site.sitemaps.is_empty() {
            lines.push(format!("  sitemaps: {}", site.sitemaps.len()));
        }
    }
    lines.push(String::new());
    let (allowed, refused): (Vec<&Seed>, Vec<&Seed>) = seeds.iter().partition(|seed| seed.verdict.is_ok());
    for seed in refused.iter().take(100) {
        lines.push(format!("not allowed  {}: {}", seed.url, seed.verdict.as_ref().err().map_or("", String::as_str)));
    }
    for seed in allowed.iter().take(100) {
        lines.push(format!("allowed      {}", seed.url));
    }
    lines.push(String::new());
    lines.push(format!(
        "{} of {} may be fetched, on {}",
        allowed.len(),
        many(seeds.len() as u64, "seed"),
        many(open(sites) as u64, "site")
    ));
    let rate = rate(sites);
    let told = pages.unwrap_or(USUAL_PAGES);
    if let Some(seconds) = seconds(told, rate) {
        lines.push(format!(
            "{}{} take at least {}: {rate:.2} pages a second, each site at the longer of what it asks for and our own delay",
            many(told, "page"),
            if pages.is_some() { "" } else { " (no max_pages is set)" },
            shown::words(seconds)
        ));
        lines.push(
            "nothing but robots.txt and tdmrep.json was asked for; the same line without --plan crawls".to_owned(),
        );
    }
    lines.join("\n")
}

fn open(sites: &BTreeMap<Origin, Site>) -> usize {
    sites.values().filter(|site| site.allowed > 0).count()
}

fn object(seeds: &[Seed], sites: &BTreeMap<Origin, Site>, pages: Option<u64>, config: &CrawlConfig) -> Value {
    let seeds: Vec<Value> = seeds
        .iter()
        .map(|seed| json!({"url": seed.url.as_str(), "allowed": seed.verdict.is_ok(), "why": seed.verdict.as_ref().err()}))
        .collect();
    let origins: Vec<Value> = sites
        .values()
        .map(|site| {
            json!({
                "origin": site.found.origin.to_string(),
                "robots": site.found.class.as_str(),
                "status": site.found.class.status(),
                "asked_delay_s": site.asked.map(|asked| asked.as_secs_f64()),
                "delay_s": site.delay.as_secs_f64(),
                "parked": site.asked.is_some_and(|asked| asked > config.politeness.max_crawl_delay),
                "hours": site.hours,
                "sitemaps": site.sitemaps,
                "tdmrep": site.tdmrep,
                "allowed_seeds": site.allowed,
            })
        })
        .collect();
    let rate = rate(sites);
    let told = pages.unwrap_or(USUAL_PAGES);
    json!({
        "seeds": seeds,
        "origins": origins,
        "pages": told,
        "max_pages": pages,
        "pages_per_second": rate,
        "days": seconds(told, rate).map(|seconds| seconds / 86_400.0),
    })
}
