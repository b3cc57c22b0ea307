use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use comity_fetch::{ConfigError, FetchConfig, Fetcher, SystemClock, SystemNet, SystemRandom};
use comity_policy::{
    Answered, Clock, Content, Decision, Grants, Identity, Judge, Judgement, NamedLicence, OptOuts, OriginClocks,
    OriginPace, Outcome, Overrides, Pacer, Parked, Politeness, Random, Receipt, Refusal, Reviews, RobotsLife,
    RobotsPolicy, Silence, Terms, Turn, Vantage, WallTime,
};
use comity_robots::ProductToken;
use comity_signals::{Declared, Remarks, RslConditions, SignalOptions, Statement, UseCeiling};
use comity_url::{CrawlUrl, Origin};
use tokio::sync::{Semaphore, watch};

#[cfg(feature = "disk")]
use crate::StateDir;
use crate::cache::{Idle, RobotsCache, RobotsKey};
use crate::change::places;
use crate::compiler::Compiler;
use crate::files::{AskFiles, FileKey, FileNews};
use crate::flight::Flight;
use crate::optouts::LiveOptOuts;
use crate::overrides::Expiry;
use crate::parks::Parks;
use crate::queues::Queues;
use crate::rates::Rates;
use crate::{NoRecorder, OptOutFiles, Rate, Recorder, RobotsNews};

/// The settings of a gate.
#[derive(Clone, Debug)]
pub struct GateConfig {
    /// Who we are: tokens and purposes.
    pub identity: Identity,
    /// Ordered lists of product tokens to judge by instead of the identity's own list; the strictest answer wins. A
    /// proxy gives its customer's tokens and its own. Empty (default): the identity's list alone.
    pub token_lists: Vec<Vec<ProductToken>>,
    /// Callers of [`Gate::permit`] that may wait at once. Default 10,000; above it `conc.total`.
    pub max_waiting: usize,
    /// Pacing.
    pub politeness: Politeness,
    /// How robots.txt answers are read.
    pub robots: RobotsPolicy,
    /// Written exceptions; none by default.
    pub overrides: Overrides,
    /// What is done where nobody says anything about a declared purpose; by default it is taken.
    pub silence: Silence,
    /// Uses that a licence, a contract or a law permits; none by default.
    pub grants: Grants,
    /// What was read in the terms of sites; nothing by default.
    pub reviews: Reviews,
    /// How far signals are read beyond their own words; by default the cautious profile.
    pub options: SignalOptions,
    /// Which conditions of RSL licences are met; none by default.
    pub conditions: RslConditions,
    /// The most that is done with content, where that is declared; by default it is not.
    pub level: Option<UseCeiling>,
    /// Which files about use are asked for before the first page of a site; none by default.
    pub ask: AskFiles,
    /// Who is not to be visited at all; nobody by default.
    pub optouts: OptOutFiles,
    /// The crawl's rate in all; none by default.
    pub max_rate: Option<Rate>,
    /// The rate per registrable domain; none by default.
    pub max_rate_domain: Option<Rate>,
    /// Bytes of robots.txt lives held at most, names and the cache's own parts counted. Default 64 MiB: about 64,000 origins
    /// whose files have few rules. Beyond it the origin that was not judged for longest goes. What was just learnt is held until it
    /// was judged by, in a quarter of that beside.
    pub robots_cache_bytes: u64,
    /// What outlives the process; by default nothing does, and a life that the cache lets go is asked for anew.
    #[cfg(feature = "disk")]
    pub state: Option<Arc<StateDir>>,
    /// Another process of this agent may have asked anybody right before: every origin waits one full delay first. False by
    /// default; where there is a `state`, that knows, and says so by itself.
    pub follows: bool,
    /// Where robots.txt exchanges are recorded; nowhere by default.
    pub recorder: Arc<dyn Recorder>,
}

impl GateConfig {
    /// The defaults of design §7 for one identity.
    #[must_use]
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            token_lists: Vec::new(),
            max_waiting: 10_000,
            politeness: Politeness::default(),
            robots: RobotsPolicy::default(),
            overrides: Overrides::default(),
            silence: Silence::Proceed,
            grants: Grants::default(),
            reviews: Reviews::default(),
            options: SignalOptions::default(),
            conditions: RslConditions::default(),
            level: None,
            ask: AskFiles::default(),
            optouts: OptOutFiles::default(),
            max_rate: None,
            max_rate_domain: None,
            robots_cache_bytes: 64 << 20,
            #[cfg(feature = "disk")]
            state: None,
            follows: false,
            recorder: Arc::new(NoRecorder),
        }
    }

    /// Something is remembered beyond the process.
    const fn remembers(&self) -> bool {
        #[cfg(feature = "disk")]
        return self.state.is_some();
        #[cfg(not(feature = "disk"))]
        return false;
    }

    /// Another process may have asked anybody right before.
    fn is_second(&self) -> bool {
        #[cfg(feature = "disk")]
        let by_state = self.state.as_ref().is_some_and(|state| state.follows_another_process());
        #[cfg(not(feature = "disk"))]
        let by_state = false;
        self.follows || by_state
    }
}

/// The one door. Cheap to clone; all clones share cache, paces and flights.
#[derive(Clone, Debug)]
pub struct Gate {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) fetcher: Fetcher,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) pacer: Pacer,
    pub(crate) terms: RwLock<Arc<Terms>>,
    pub(crate) optouts: LiveOptOuts,
    pub(crate) expiry: Expiry,
    pub(crate) compiler: Compiler,
    pub(crate) cache: RobotsCache,
    pub(crate) flights: Mutex<HashMap<RobotsKey, Flight<RobotsNews>>>,
    /// For the files of sites: a map of its own, so that no robots.txt ever waits for one.
    pub(crate) file_flights: Mutex<HashMap<FileKey, Flight<FileNews>>>,
    /// True once nothing more is to be asked for.
    pub(crate) closing: watch::Sender<bool>,
    pub(crate) places: Arc<Semaphore>,
    pub(crate) queues: Queues,
    pub(crate) rates: RwLock<Arc<Rates>>,
    pub(crate) parks: Parks,
    #[cfg(feature = "disk")]
    pub(crate) state: Option<Arc<StateDir>>,
    pub(crate) recorder: Arc<dyn Recorder>,
    /// When the resolver last answered for a name, in microseconds of the clock; 0 = never.
    pub(crate) resolved: AtomicU64,
}

impl Gate {
    /// Opens a gate: nothing is known, nothing is in flight.
    #[must_use]
    pub fn new(fetcher: Fetcher, clock: Arc<dyn Clock>, random: Arc<dyn Random>, config: GateConfig) -> Self {
        let purposes = match config.identity.purposes() {
            [] => Terms::default().purposes, // whoever declares nothing is not let through by declaring nothing
            declared => declared.to_vec(),
        };
        let (follows, idle) = (config.is_second(), if config.remembers() { Idle::Goes } else { Idle::Stays });
        let terms = Terms {
            purposes,
            max_crawl_delay: config.politeness.max_crawl_delay,
            delay: config.politeness.delay,
            overrides: config.overrides,
            silence: config.silence,
            grants: config.grants,
            reviews: config.reviews,
            options: config.options,
            conditions: config.conditions,
            level: config.level,
        };
        let own = [config.identity.tokens().to_vec()];
        let lists = if config.token_lists.is_empty() { &own[..] } else { &config.token_lists };
        let text = |list: &Vec<ProductToken>| list.iter().map(|token| token.as_str().to_owned()).collect();
        let total = places(config.politeness.total);
        #[expect(clippy::disallowed_methods, reason = "this is the gate: the one owner of the pacer")]
        let pacer = if follows {
            Pacer::after_restart(config.politeness, random.clone(), clock.now())
        } else {
            Pacer::new(config.politeness, random.clone())
        };
        let robots = Arc::new(config.robots);
        let inner = Inner {
            pacer,
            optouts: LiveOptOuts::new(config.optouts),
            expiry: Expiry::new(&terms.overrides),
            cache: RobotsCache::new(robots.clone(), config.robots_cache_bytes, idle)
                .asking(config.ask, config.ask.tdmrep.asks(&terms.purposes)),
            terms: RwLock::new(Arc::new(terms)),
            compiler: Compiler::new(robots, lists.iter().map(text).collect(), config.options),
            flights: Mutex::default(),
            file_flights: Mutex::default(),
            closing: watch::Sender::new(false),
            places: Arc::new(Semaphore::new(total)),
            queues: Queues::new(config.max_waiting),
            rates: RwLock::new(Arc::new(Rates::new(config.max_rate, config.max_rate_domain, clock.clone()))),
            parks: Parks::default(),
            #[cfg(feature = "disk")]
            state: config.state,
            recorder: config.recorder,
            resolved: AtomicU64::new(0),
            fetcher,
            clock,
            random,
        };
        Self { inner: Arc::new(inner) }
    }

    /// A gate over this machine's network, clock and randomness.
    ///
    /// # Errors
    /// Settings of the fetcher that cannot work.
    pub fn system(config: GateConfig, fetch: FetchConfig) -> Result<Self, ConfigError> {
        let clock = Arc::new(SystemClock::new());
        let fetcher = Fetcher::new(Arc::new(SystemNet::new()), clock.clone(), fetch)?;
        Ok(Self::new(fetcher, clock, Arc::new(SystemRandom::new()), config))
    }

    /// Ends an exchange: the new pace of its origin, and when it may be asked next.
    #[must_use = "pace and turn go back to the frontier"]
    pub fn settle(&self, receipt: Receipt, outcome: Outcome) -> (OriginPace, Turn) {
        let now = self.inner.clock.now();
        let origin = receipt.url().origin().clone();
        let before = self.inner.pacer.pace(&origin, now);
        let pace = self.inner.pacer.settle(receipt, outcome, now);
        self.remember_pace(&origin, before, pace);
        (pace, self.inner.pacer.turn(&origin, now))
    }

    /// From where `origin` is asked now: its robots.txt is read, and holds, for that vantage.
    #[must_use]
    pub fn vantage(&self, origin: &Origin) -> Vantage {
        self.inner.fetcher.vantage(origin)
    }

    /// What is known of `origin`'s robots.txt is kept under this.
    pub(crate) fn key(&self, origin: &Origin) -> RobotsKey {
        (origin.clone(), self.vantage(origin))
    }

    /// When `origin` may be asked next, by everything known.
    #[must_use]
    pub fn turn(&self, origin: &Origin) -> Turn {
        self.inner.pacer.turn(origin, self.inner.clock.now())
    }

    /// The pace of `origin` as the pacer holds it.
    #[must_use]
    pub fn pace(&self, origin: &Origin) -> OriginPace {
        self.inner.pacer.pace(origin, self.inner.clock.now())
    }

    /// Every clock of `origin` and of the address last charged for it; `None` when it has no past here.
    #[must_use]
    pub fn clocks(&self, origin: &Origin) -> Option<OriginClocks> {
        self.inner.pacer.clocks(origin, self.inner.clock.now())
    }

    /// Origins that are parked or outside their hours: those that come back first, `most` of them.
    #[must_use]
    pub fn parked(&self, most: usize) -> Vec<Parked> {
        self.inner.pacer.parked(self.inner.clock.now(), most)
    }

    /// What is known of an origin's robots.txt, as a value.
    #[must_use]
    pub fn robots_life(&self, origin: &Origin) -> RobotsLife {
        self.inner.cache.life(&self.key(origin))
    }

    /// The opt-outs in force, by the files as they are now.
    #[must_use]
    pub fn optouts(&self) -> Arc<OptOuts> {
        self.inner.optouts.current(&*self.inner.clock).unwrap_or_default()
    }

    /// Every override, in force or not.
    #[must_use]
    pub fn overrides(&self) -> Overrides {
        self.terms().overrides.clone()
    }

    /// The refusal of everything on `origin`, if it is opted out now.
    pub(crate) fn opted_out(&self, origin: &Origin) -> Option<Refusal> {
        self.inner.optouts.current(&*self.inner.clock)?.refusal(origin, self.inner.clock.wall())
    }

    /// The pacing settings in force.
    #[must_use]
    pub fn politeness(&self) -> Arc<Politeness> {
        self.inner.pacer.rules()
    }

    /// The clock it reads.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// Requests open now, robots.txt included.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.inner.pacer.in_flight()
    }

    /// Sleeps until `at` of the gate's clock.
    pub(crate) async fn sleep_until(&self, at: comity_policy::Instant) {
        let wait = at.since(self.inner.clock.now());
        tokio::time::sleep(wait.min(Self::LONGEST_SLEEP)).await;
    }

    /// tokio's timer takes about two years at most; nothing here waits that long.
    pub(crate) const LONGEST_SLEEP: Duration = Duration::from_secs(24 * 3600);
}

impl Judge for Gate {
    fn judge(&self, url: &CrawlUrl) -> Judgement {
        self.judge_by(url, &self.terms())
    }
}

impl Gate {
    /// Judges `url` for other purposes than the gate's own; everything else that counts is the same.
    #[must_use]
    pub fn judge_for(&self, url: &CrawlUrl, purposes: &[Declared]) -> Judgement {
        self.judge_by(url, &Terms { purposes: purposes.to_vec(), ..Terms::clone(&self.terms()) })
    }

    /// Decides a second time, by what the answer from `origin` to a request that `before` let through has said so far.
    #[must_use]
    pub fn judge_content(&self, before: &Arc<Decision>, said: Answered, origin: &Origin) -> Content {
        comity_policy::judge_content(before, said, origin, &self.terms(), self.inner.clock.wall())
    }

    /// How far signals are read beyond their own words.
    #[must_use]
    pub fn options(&self) -> SignalOptions {
        self.terms().options
    }

    /// What `licences` say of `url`, under the conditions that are met, and what is to be remarked.
    #[must_use]
    pub fn licensed(&self, licences: &[NamedLicence], url: &CrawlUrl) -> (Vec<Statement>, Remarks) {
        let (terms, target) = (self.terms(), url.request_target().as_bytes());
        let readings = licences.iter().map(|one| one.read(url.origin(), target, &terms));
        readings.fold((Vec::new(), Remarks::NONE), |(mut said, remarks), one| {
            let remarks = remarks.with(&one);
            said.extend(one.statements);
            (said, remarks)
        })
    }

    /// Judges a file that speaks about use: whether it may be asked for at all.
    pub(crate) fn judge_access(&self, url: &CrawlUrl) -> Judgement {
        let terms = Terms { purposes: vec![Declared::Other], level: None, ..Terms::clone(&self.terms()) };
        self.judge_with(url, |optouts, now| {
            self.inner.cache.judge_access(url, self.vantage(url.origin()), &terms, optouts, now)
        })
    }

    fn judge_by(&self, url: &CrawlUrl, terms: &Terms) -> Judgement {
        self.inner.expiry.tell(&terms.overrides, &*self.inner.clock);
        self.judge_with(url, |optouts, now| {
            self.inner.cache.judge(url, self.vantage(url.origin()), terms, optouts, now)
        })
    }

    fn judge_with(&self, url: &CrawlUrl, judge: impl FnOnce(&OptOuts, WallTime) -> Judgement) -> Judgement {
        let now = self.inner.clock.wall();
        let held = self.inner.optouts.current(&*self.inner.clock);
        let optouts = held.as_deref().unwrap_or_else(|| OptOuts::nobody());
        // Before the cache: who is opted out, or parked by the operator, is not even asked for robots.txt.
        if let Some(refusal) = optouts.refusal(url.origin(), now) {
            return Judgement::Refuse(refusal);
        }
        match self.parked_by_operator(url.origin()) {
            Some(hold) => Judgement::Hold(hold),
            None => judge(optouts, now),
        }
    }
}
