use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};

#[cfg(feature = "warc")]
use comity_archive::Disk;
use comity_fetch::{BoxFuture, Fetcher, Net, SystemClock, SystemNet, SystemRandom};
use comity_frontier::{Frontier, OtherRules, Store};
use comity_gate::{Gate, GateConfig};
use comity_policy::{Clock, Random};
use comity_url::{CrawlUrl, KeyHasher, Scope, UrlPattern};
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinSet;

use crate::builder::AgentText;
use crate::config::{ConfigError, ConfigFile, CrawlConfig, RevisitPolicy, Span, expiring, use_notes};
use crate::context::Handles;
use crate::control::server::serve;
use crate::control::socket::{self, Door, NoDoor};
use crate::control::{Control, Running};
use crate::directory::ScopeSeeds;
use crate::engine::{Desk, Engine, HandlerBounds, Handlers, Keys, Live, Shared, Tally, Traps};
use crate::events::{Events, Listeners};
use crate::handler::PageHandler;
use crate::keep::Keeper;
use crate::open::{Accepted, Work};
use crate::parts::{Opened, Stores, open_all};
use crate::pause::PauseHandle;
use crate::recording::Files;
use crate::remembered::Remembered;
use crate::seeds::{SeedWith, SeedsWith};
use crate::sites::Sites;
use crate::telemetry::{self, Doors, Meters};
use crate::{Error, Progress, StopHandle, Summary, UrlOutcome, marking};

/// A crawl that is ready to run.
#[derive(Debug)]
pub struct Crawler {
    engine: Engine,
    seeds: Vec<CrawlUrl>,
    notes: Vec<String>,
    stop: StopHandle,
    pause: PauseHandle,
    listeners: Listeners,
    progress: watch::Receiver<Progress>,
    clock: Arc<dyn Clock>,
    control: Control,
    /// Where others reach it.
    door: Option<Door>,
    telemetry: Doors,
}

/// Builds a [`Crawler`]. Every setting has the default of the configuration file's key of the same name.
#[derive(Debug, Default)]
#[must_use]
pub struct CrawlerBuilder {
    pub(crate) file: ConfigFile,
    agent: AgentText,
    dir: Option<PathBuf>,
    accept_config: bool,
    accept_loss: bool,
    pub(crate) handlers: Handlers,
    pub(crate) asked: Asked,
    pub(crate) listeners: Listeners,
    parts: Parts,
}

/// What was asked for in code alone, not read yet.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) bounds: HandlerBounds,
    /// A sink was given after another one.
    pub(crate) has_two_sinks: bool,
    /// Patterns as written.
    pub(crate) routes: Vec<(String, PageHandler)>,
    /// URLs as written.
    pub(crate) seeds_with: Vec<(String, SeedWith)>,
}

/// The outside world, replaceable for tests and simulation.
#[derive(Debug, Default)]
struct Parts {
    net: Option<Arc<dyn Net>>,
    clock: Option<Arc<dyn Clock>>,
    random: Option<Arc<dyn Random>>,
    store: Option<Box<dyn Store>>,
    frontier: Option<(Arc<dyn Frontier>, [u8; 16])>,
    files: Files,
}

impl Crawler {
    /// A crawler by a name and a contact, in the form of the User-Agent that it sends: `"MyBot/1.0 (+https://example.com/bot)"`, or an
    /// e-mail address in its brackets. Sites must be able to tell who asks and to reach you: [`CrawlerBuilder::build`] refuses
    /// an agent without a contact, and says what to write.
    pub fn builder(agent: &str) -> CrawlerBuilder {
        let mut builder = CrawlerBuilder::default();
        builder.agent = AgentText::read(agent, &mut builder.file);
        builder
    }

    /// A crawler by a configuration, layers already laid over each other.
    pub fn from_config(file: ConfigFile) -> CrawlerBuilder {
        CrawlerBuilder { file, ..CrawlerBuilder::default() }
    }

    /// Runs the crawl to its end.
    ///
    /// Cancel-safe in this sense: dropped at any point, nothing more is sent, and the files written so far are whole.
    ///
    /// Where CPU counts, give it a task of its own (`tokio::spawn(crawler.run())`): awaited in `main` it runs on a thread beside the
    /// runtime's workers, which is woken for each page; that is about a tenth of all CPU where pages come as fast as they can be read.
    ///
    /// # Errors
    /// When the archive or the frontier cannot be written. Sites' faults are outcomes, never errors.
    #[must_use = "nothing is fetched until it is awaited"]
    pub fn run(self) -> BoxFuture<'static, Result<Summary, Error>> {
        // Boxed here, the whole engine is compiled in this crate, once, and not again in every program.
        Box::pin(self.through())
    }

    async fn through(self) -> Result<Summary, Error> {
        let mut answering = JoinSet::new();
        let (end, ended) = oneshot::channel::<()>();
        if let Some(door) = self.door {
            answering.spawn(serve(door, self.control, async { drop(ended.await) }));
        }
        let (over, telling) = (Notify::new(), self.engine.shared());
        let over = Arc::new(over);
        if !self.telemetry.is_empty() {
            let over = over.clone();
            answering.spawn(telemetry::serve(self.telemetry, telling, async move { over.notified().await }));
        }
        let outcome = self.engine.run(&self.seeds).await;
        // Nobody holds the queue, and the socket is gone, when this returns.
        drop(end);
        over.notify_one();
        while answering.join_next().await.is_some() {}
        let mut summary = outcome?;
        summary.notes.splice(0..0, self.notes);
        Ok(summary)
    }

    /// Asks the crawl to end, from anywhere.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Holds the crawl and lets it go on, from anywhere.
    #[must_use]
    pub fn pause_handle(&self) -> PauseHandle {
        self.pause.clone()
    }

    /// What happens in the crawl, from here on. Nothing waits for whoever reads it: see [`Events`] for what a slow reader loses.
    #[must_use]
    pub fn events(&self) -> Events {
        self.listeners.events()
    }

    /// Gives the pages that have no handler to this one.
    pub(crate) fn deliver_to(&self, handler: PageHandler) {
        self.engine.deliver_to(handler);
    }

    /// Looks at the crawl and steers it, from anywhere, until it is over. A crawl in a directory, on this machine's clock,
    /// answers to other processes too, through the socket in it ([`crate::control::socket`]).
    #[must_use]
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Where it answers by `[telemetry]`: metrics, then the page.
    #[must_use]
    pub fn listens(&self) -> Vec<std::net::SocketAddr> {
        self.telemetry.addresses()
    }

    /// Watches the crawl.
    #[must_use]
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    /// The crawl's clock: instants of [`Progress`] are its.
    #[must_use]
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }
}

impl CrawlerBuilder {
    /// Visits pages anew, by this policy; see `[crawl] revisit` and `[revisit]`. The crawl ends when nothing is due within
    /// `linger` all the same: set that above the longest interval for one that goes on.
    pub fn revisit(mut self, policy: RevisitPolicy) -> Self {
        let (name, intervals) = match policy {
            RevisitPolicy::Never => ("never".to_owned(), None),
            RevisitPolicy::Fixed(interval) => (Span(interval).to_string(), None),
            RevisitPolicy::Adaptive(intervals) => ("adaptive".to_owned(), Some(intervals)),
            RevisitPolicy::Sitemap(intervals) => ("sitemap".to_owned(), Some(intervals)),
        };
        self.file.crawl.revisit = Some(name);
        if let Some(intervals) = intervals {
            self.file.revisit.min = Some(Span(intervals.min));
            self.file.revisit.max = Some(Span(intervals.max));
            self.file.revisit.start = Some(Span(intervals.start));
        }
        self
    }

    /// Keeps queue, records, WARC files and evidence in this directory; without it nothing is kept. A crawl that is in it
    /// goes on.
    #[cfg(feature = "warc")]
    pub fn dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Goes on with a crawl although its configuration means something else now: another agent, purpose, scope, dialect or
    /// override. Without it, such a crawl is refused. Other settings may change from run to run.
    #[cfg(feature = "disk")]
    pub const fn accept_config(mut self, accept: bool) -> Self {
        self.accept_config = accept;
        self
    }

    /// Goes on with a crawl although its queue lost a part of what was safe on the disk: pages may be fetched again, and pages
    /// that only the lost part knew are not found until something links to them again. Without it, such a crawl is refused.
    #[cfg(feature = "disk")]
    pub const fn accept_loss(mut self, accept: bool) -> Self {
        self.accept_loss = accept;
        self
    }

    /// Is told how every URL left the queue, once for each, and once for each visit where pages are visited anew: fetched,
    /// redirected, refused or failed. What is still queued when
    /// the crawl ends is [`Summary::left`]. Runs on the crawl's own threads, as [`CrawlerBuilder::each_page`].
    pub fn on_outcome(mut self, handler: impl Fn(UrlOutcome<'_>) + Send + Sync + 'static) -> Self {
        self.handlers.on_outcome = Some(Arc::new(handler));
        self
    }

    /// Sends through this network instead of the machine's.
    pub fn net(mut self, net: Arc<dyn Net>) -> Self {
        self.parts.net = Some(net);
        self
    }

    /// Reads this clock instead of the machine's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.parts.clock = Some(clock);
        self
    }

    /// Draws jitter, and the key of the seen-set's fingerprints, from here. A generator that a site can guess is for tests.
    pub fn random(mut self, random: Arc<dyn Random>) -> Self {
        self.parts.random = Some(random);
        self
    }

    /// Keeps the queue of [`CrawlerBuilder::dir`] in this store instead of in files of comity's own: another key-value engine, or a disk
    /// that fails on purpose. It outlives the crawl, which goes on with what is in it; what an implementation owes is the contract of
    /// [`Store`], which `comity-frontier/tests/conformance/suite.rs` holds it to. Without a directory nothing is kept in it.
    #[cfg(feature = "disk")]
    pub fn frontier_store(mut self, store: Box<dyn Store>) -> Self {
        self.parts.store = Some(store);
        self
    }

    /// Keeps the queue in this frontier instead of one of comity's own: another database, or a service. `key` is that of the
    /// fingerprints, and has to be the same for as long as the frontier holds them. What its implementation owes is the contract of
    /// [`Frontier`]; pages whose records a power cut took are not queued again, since only comity's own stores know of them.
    ///
    /// Another process may have used it right before: every origin waits one delay first (invariant 4). Longer waits that sites asked
    /// for are remembered in the directory of [`CrawlerBuilder::dir`] or `[state] dir`, and only there. Budgets of origins and domains,
    /// their classes and the clock of revisits are settings of its own: those keys of the configuration have no effect, and a note says so.
    pub fn frontier(mut self, frontier: Arc<dyn Frontier>, key: [u8; 16]) -> Self {
        self.parts.frontier = Some((frontier, key));
        self
    }

    /// Writes records and WARC files through this disk: for a simulation.
    #[cfg(feature = "warc")]
    pub fn archive_disk(mut self, disk: Arc<dyn Disk>) -> Self {
        self.parts.files = Some(disk);
        self
    }

    /// Checks everything and opens the crawl directory; nothing is sent yet.
    ///
    /// # Errors
    /// A setting that cannot be used, or a directory that holds something else already.
    pub fn build(self) -> Result<Crawler, Error> {
        let Self { file, agent, dir, accept_config, accept_loss, mut handlers, asked, listeners, parts } = self;
        agent.check(&file).and_then(|()| asked.check())?;
        handlers.routes = routed(asked.routes)?;
        let mut config = with_nonces(CrawlConfig::resolve(file)?, parts.random.as_ref());
        let work = if parts.clock.is_some() { Work::Inline } else { Work::OnThread };
        let telemetry = Doors::bind(&config.telemetry)?;
        let clock = parts.clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
        let mut notes = notes(&config, &*clock)?;
        // Whoever passes randomness in gets all of it from there: one seed, one run (invariant 13).
        let key = parts.random.as_deref().map_or_else(marking::fresh_key, |random| Ok(drawn_key(random)))?;
        let random = parts.random.unwrap_or_else(|| Arc::new(SystemRandom::new()));
        let net = parts.net.unwrap_or_else(|| Arc::new(SystemNet::new()));
        let fetcher = Fetcher::new(net, clock.clone(), config.fetch.clone())?;
        let stores = Stores { queue: parts.store, frontier: parts.frontier, files: parts.files, work };
        let accepted = Accepted { rules: rules(accept_config), loss: accept_loss };
        let opened = open_all(dir.as_deref(), &mut config, &clock, (key, accepted), stores)?;
        let Opened { frontier, key, kept, state, notes: found, follows } = opened;
        notes.extend(found);
        let traps = Traps::open(&config.traps, dir.as_deref())?;
        let mut scope = config.scope.clone();
        let scope_seeds = widened(dir.as_deref(), &mut scope, &traps)?;
        let sites = Arc::new(Sites::new(config.sitemaps, config.keys.clean_param));
        let keeper = Keeper::new(kept, clock.clone(), sites.clone(), listeners.clone());
        let gate = Gate::new(fetcher.clone(), clock.clone(), random, gate_config(&config, &keeper, (state, follows)));
        let seeds = taken_seeds(&mut config);
        let control = Running::open(dir.as_deref(), (config.clone(), key), &gate, &*clock)?;
        let ((stop, stopped), (published, progress)) = (StopHandle::new(), watch::channel(Progress::default()));
        let desk = Desk::new(asked.bounds, Handles { stop: stop.clone(), progress: progress.clone() });
        let shared = Arc::new(Shared {
            frontier,
            keys: Keys::new(KeyHasher::new(key), config.keys),
            sites,
            keeper,
            gate,
            fetcher,
            clock: clock.clone(),
            identity: config.identity.clone(),
            live: RwLock::new(Arc::new(Live::of(&config))),
            traps,
            types: Arc::new(config.types.clone()),
            page: config.page,
            scope: Mutex::new(scope),
            scope_seeds,
            tally: Mutex::new(Tally::of(&config.overrides)),
            handlers,
            seeds_with: seeds_with_urls(asked.seeds_with),
            desk,
            listeners: listeners.clone(),
            control,
            poke: Notify::new(),
            meters: Meters::default(),
        });
        let (handle, door) = (Control::running(&shared), door(dir.as_deref(), work, &mut notes)?);
        let (pause, paused) = PauseHandle::new();
        let engine = Engine::new(shared, (stopped, paused), published);
        Ok(Crawler { engine, seeds, notes, stop, pause, listeners, progress, clock, control: handle, door, telemetry })
    }
}

/// Opens the socket of the crawl in `dir`. One that cannot be made is a note: the crawl goes on, and answers to its own process
/// alone. On a clock that is not the machine's nobody outside is answered: it does not know their time.
///
/// # Errors
/// When another process answers there.
fn door(dir: Option<&Path>, work: Work, notes: &mut Vec<String>) -> Result<Option<Door>, Error> {
    let Some(dir) = dir.filter(|_| work == Work::OnThread) else { return Ok(None) };
    match socket::bind(dir) {
        Ok(door) => Ok(Some(door)),
        Err(NoDoor::Taken(what)) => Err(Error::directory(what)),
        Err(NoDoor::Cannot(error)) => {
            notes.push(format!("no control socket, so `comity frontier` waits for the end of the crawl: {error}"));
            Ok(None)
        }
    }
}

/// One seed is one run, nonces included.
fn with_nonces(mut config: CrawlConfig, random: Option<&Arc<dyn Random>>) -> CrawlConfig {
    if let Some(random) = random {
        config.fetch.signer = config.fetch.signer.map(|signer| signer.with_nonces(random.clone()));
    }
    config
}

/// What is said before anything else.
///
/// # Errors
/// An override that has run out.
fn notes(config: &CrawlConfig, clock: &dyn Clock) -> Result<Vec<String>, ConfigError> {
    let mut notes = config.notes.clone();
    notes.extend(expiring(&config.overrides, clock.wall())?);
    notes.extend(use_notes(config, clock.wall()));
    Ok(notes)
}

const fn rules(accept_config: bool) -> OtherRules {
    if accept_config { OtherRules::Accept } else { OtherRules::Refuse }
}

/// A list of a million seeds is held once: the configuration keeps the first.
fn taken_seeds(config: &mut CrawlConfig) -> Vec<CrawlUrl> {
    let seeds = std::mem::take(&mut config.seeds);
    config.seeds.extend(seeds.first().cloned());
    config.file.crawl.seeds = None;
    seeds
}

/// By URL. What is no URL is among the seeds, too, and refused there.
fn seeds_with_urls(seeds: Vec<(String, SeedWith)>) -> SeedsWith {
    seeds.into_iter().filter_map(|(text, with)| Some((CrawlUrl::parse(&text).ok()?, with))).collect()
}

/// The routes, their patterns read.
///
/// # Errors
/// The first pattern that no URL could match.
fn routed(routes: Vec<(String, PageHandler)>) -> Result<Vec<(UrlPattern, PageHandler)>, ConfigError> {
    let read = |(text, handler): (String, PageHandler)| match UrlPattern::parse(&text) {
        Ok(pattern) => Ok((pattern, handler)),
        Err(error) => {
            Err(ConfigError::new(error).at("route").hint("a pattern is written as those of [crawl] include are"))
        }
    };
    routes.into_iter().map(read).collect()
}

/// The key of the seen-set's fingerprints, as [`marking::fresh_key`].
fn drawn_key(random: &dyn Random) -> [u8; 16] {
    let bits = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
    bits.to_be_bytes()
}

fn gate_config(config: &CrawlConfig, keeper: &Keeper, (state, follows): (Remembered, bool)) -> GateConfig {
    let mut gate = GateConfig {
        politeness: config.politeness.clone(),
        overrides: config.overrides.clone(),
        optouts: config.optouts.clone(),
        robots: config.robots.clone(),
        silence: config.signals.silence,
        grants: config.grants.clone(),
        reviews: config.reviews.clone(),
        ask: config.signals.ask,
        options: config.signals.options,
        level: config.signals.level,
        conditions: config.signals.conditions.clone(),
        max_rate: config.max_rate,
        max_rate_domain: config.max_rate_domain,
        follows,
        recorder: Arc::new(keeper.clone()),
        ..GateConfig::new(config.identity.clone())
    };
    state.put(&mut gate);
    gate
}

/// Adds what the redirects of seeds added to the scope of the crawl in `dir`; the list, for what comes now.
fn widened(dir: Option<&Path>, scope: &mut Scope, traps: &Traps) -> Result<Option<Mutex<ScopeSeeds>>, Error> {
    let Some(dir) = dir else { return Ok(None) };
    let (list, seeds) = ScopeSeeds::open(dir)?;
    for seed in &seeds {
        scope.add_seed(seed);
        traps.add_seed(seed);
    }
    Ok(Some(Mutex::new(list)))
}
