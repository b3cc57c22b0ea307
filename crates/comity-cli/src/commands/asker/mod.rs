//! Asks sites for their robots.txt as the user: with the identity, the pacing and the address guard of a crawl.

pub(crate) mod get;
mod turns;
pub(crate) mod words;

use std::sync::Arc;
use std::time::Duration;

use comity::config::{ConfigFile, CrawlConfig};
use comity_fetch::{ConfigError, FetchConfig, Fetcher, SystemNet};
use comity_gate::{AskFiles, AskRobots, FetchedRobots, Gate, RobotsClass, RobotsFetch};
use comity_robots::{MAX_BYTES, Robots};
use comity_url::{CrawlUrl, Origin};
use tokio::runtime::Runtime;

pub(crate) use get::{Got, get_within};

use self::turns::Turns;
use crate::args::AskerArgs;
use crate::commands::runtime;
use crate::exit::Failure;
use crate::settings;

/// One gate for all questions of a command, so that every site is paced as one.
pub(crate) struct Asker {
    runtime: Runtime,
    gate: Gate,
    fetch: FetchConfig,
    user_agent: String,
    turns: Turns,
}

impl Asker {
    pub(crate) fn open(args: &AskerArgs, origin: &Origin) -> Result<Self, Failure> {
        Self::of_config(CrawlConfig::resolve(settings::of_asker(args, origin)?)?)
    }

    /// One that asks so many origins at the same time; what holds for each of them and for each address stays.
    pub(crate) fn open_wide(args: &AskerArgs, origin: &Origin, at_once: u32) -> Result<Self, Failure> {
        let mut config = CrawlConfig::resolve(settings::of_asker(args, origin)?)?;
        config.politeness.total = at_once;
        Self::of_config(config)
    }

    /// As [`Asker::open_wide`], by the robots rules of a crawl and under its name, unless the arguments give another.
    pub(crate) fn open_as(
        args: &AskerArgs,
        origin: &Origin,
        at_once: u32,
        crawl: &ConfigFile,
    ) -> Result<Self, Failure> {
        let mut file = settings::of_asker(args, origin)?;
        file.robots = crawl.robots.clone();
        if args.name.is_none() {
            (file.agent.name, file.agent.tokens) = (crawl.agent.name.clone(), crawl.agent.tokens.clone());
        }
        if args.contact.is_none() && crawl.agent.contact.is_some() {
            file.agent.contact.clone_from(&crawl.agent.contact);
        }
        let mut config = CrawlConfig::resolve(file)?;
        config.politeness.total = at_once;
        Self::of_config(config)
    }

    /// One that asks what the crawl of this configuration would ask before its first page: tdmrep.json, too.
    pub(crate) fn of_crawl(config: &CrawlConfig) -> Result<Self, Failure> {
        let mut fetch = settings_of(config.clone());
        fetch.gate.ask = AskFiles { tdmrep: config.signals.ask.tdmrep, ..AskFiles::default() };
        fetch.gate.silence = config.signals.silence;
        fetch.gate.options = config.signals.options;
        fetch.gate.level = config.signals.level;
        fetch.gate.conditions = config.signals.conditions.clone();
        fetch.gate.grants = config.grants.clone();
        fetch.gate.reviews = config.reviews.clone();
        fetch.gate.max_rate = config.max_rate;
        fetch.gate.max_rate_domain = config.max_rate_domain;
        Self::of_settings(fetch, config.identity.user_agent())
    }

    fn of_config(config: CrawlConfig) -> Result<Self, Failure> {
        let user_agent = config.identity.user_agent();
        Self::of_settings(settings_of(config), user_agent)
    }

    fn of_settings(fetch: RobotsFetch, user_agent: String) -> Result<Self, Failure> {
        let config = fetch.fetch.clone();
        let gate = fetch.open().map_err(|error| Failure::usage(error.to_string()))?;
        let turns = Turns::new(settings::user_state("turns"));
        Ok(Self { runtime: runtime()?, gate, fetch: config, user_agent, turns })
    }

    pub(crate) const fn gate(&self) -> &Gate {
        &self.gate
    }

    pub(crate) const fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// A fetcher of pages by the same settings.
    pub(crate) fn fetcher(&self) -> Result<Arc<Fetcher>, ConfigError> {
        let clock = Arc::clone(self.gate.clock());
        Fetcher::new(Arc::new(SystemNet::new()), clock, self.fetch.clone()).map(Arc::new)
    }

    /// Who asks, as sent.
    pub(crate) fn user_agent(&self) -> &str {
        &self.user_agent
    }

    /// Asks now, whatever is known already.
    pub(crate) fn ask(&self, origin: &Origin) -> FetchedRobots {
        let left = self.left(origin);
        if !left.is_zero() {
            eprintln!("waiting {}: an earlier run asked this site", words::span(left));
        }
        self.ask_after(left, origin)
    }

    /// Asks once more within this run: the gate keeps the delay, and tells one that is longer than a minute.
    pub(crate) fn ask_again(&self, origin: &Origin) -> FetchedRobots {
        self.ask_after(Duration::ZERO, origin)
    }

    fn ask_after(&self, left: Duration, origin: &Origin) -> FetchedRobots {
        let found = self.runtime.block_on(after(left, self.gate.clone(), origin.clone()));
        self.note(origin);
        found
    }

    /// Asks several origins, each at its own pace.
    pub(crate) fn ask_all(&self, origins: &[Origin]) -> Vec<FetchedRobots> {
        self.runtime.block_on(async {
            let asked =
                origins.iter().map(|origin| tokio::spawn(after(self.left(origin), self.gate.clone(), origin.clone())));
            let asked: Vec<_> = asked.collect();
            let mut found = Vec::new();
            for answer in asked {
                // A flight that panicked has told so on stderr; the others are told all the same.
                found.extend(answer.await);
            }
            origins.iter().for_each(|origin| self.note(origin));
            found
        })
    }

    /// What an earlier run of the command left of the delay of `origin`.
    pub(crate) fn left(&self, origin: &Origin) -> Duration {
        self.turns.left(origin, self.gate.clock().wall(), self.gate.politeness().max_crawl_delay)
    }

    /// Notes for later runs when `origin` may be asked again.
    pub(crate) fn note(&self, origin: &Origin) {
        self.turns.note(origin, self.gate.clock().wall().after(self.wait(origin)));
    }

    /// How long `origin` wants to be left alone from now on.
    pub(crate) fn wait(&self, origin: &Origin) -> Duration {
        self.gate.turn(origin).ready.at.since(self.gate.clock().now())
    }
}

/// The settings of a crawl, as far as they count for who asks by hand.
fn settings_of(config: CrawlConfig) -> RobotsFetch {
    let mut fetch = RobotsFetch::new(config.identity);
    fetch.gate.politeness = config.politeness;
    fetch.gate.robots = config.robots;
    fetch.gate.overrides = config.overrides;
    fetch.gate.optouts = config.optouts;
    fetch.fetch = config.fetch;
    fetch
}

/// Asks when the delay of an earlier run has run.
async fn after(left: Duration, gate: Gate, origin: Origin) -> FetchedRobots {
    tokio::time::sleep(left).await;
    gate.fetch_robots(&origin, AskRobots::Anew).await
}

/// The robots.txt of `origin`, for the commands that could as well read a file.
///
/// One that does not exist is read as an empty file, and said; one that cannot be had ends the command.
pub(crate) fn robots(args: &AskerArgs, origin: &Origin) -> Result<Robots, Failure> {
    let found = Asker::open(args, origin)?.ask(origin);
    let Some(robots) = found.robots() else { return Err(failure(&found)) };
    let url = origin.robots_url();
    match found.class {
        RobotsClass::Parsed { .. } if found.life.copy().is_some_and(|copy| copy.truncated) => {
            eprintln!("warning: {url}: only the first {MAX_BYTES} bytes are read, the file is longer");
        }
        RobotsClass::Parsed { .. } => {}
        _ => eprintln!("note: {url}: {}; read as an empty file", words::end(&found)),
    }
    Ok(robots)
}

/// What cannot be had, and what to do about it: exit 6.
pub(crate) fn failure(found: &FetchedRobots) -> Failure {
    let failure = Failure::unavailable(format!("{}: {}", found.origin.robots_url(), words::end(found)));
    match words::hint(found) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// An origin as a person types it: scheme and host, and a port that is not the scheme's own.
pub(crate) fn parse_site(text: &str) -> Result<Origin, Failure> {
    Origin::parse(text).map_err(|error| {
        let meant = CrawlUrl::parse(text).or_else(|_| CrawlUrl::parse(&format!("https://{text}")));
        let meant = meant.map_or_else(|_| "https://example.com".to_owned(), |url| url.origin().to_string());
        Failure::usage(format!("{text:?} is no origin: {error}")).hint(format!("{meant}, without path"))
    })
}
