//! Everything around a crawl that outlives its process: the web, the network, the machine's disk and clock.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use comity::config::{ByteSize, Span};
use comity::policy::{Clock as _, Reason, SeededRandom, WallTime};
use comity::{Crawler, CrawlerBuilder, HandlerResult, Page, UrlEnding};
use comity_fetch::SystemClock;
use comity_testweb::hostile::Hostile;
use comity_testweb::{MemoryNet, Observer};
use tempfile::TempDir;

use crate::disk::{SimFiles, SimStore};
use crate::faults::perhaps_panic;
use crate::hostile;
use crate::net::{HOSTILE_NETWORK, SimNet};
use crate::plan::{NetFault, Outage, Plan, Settings};

pub(crate) struct Stage<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) observer: Observer,
    pub(crate) servers: Hostile,
    pub(crate) net: SimNet,
    pub(crate) store: SimStore,
    pub(crate) files: SimFiles,
    pub(crate) dir: Option<TempDir>,
    pub(crate) machine: Machine,
    pub(crate) heard: Arc<Mutex<Heard>>,
    calls: [Arc<AtomicU64>; 2],
}

/// What the handlers were told.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) outcomes: Vec<Told>,
    /// URL, what was wrong with the page, whether its body is what came.
    pub(crate) pages: Vec<(String, Option<Reason>, bool)>,
}

/// An outcome as it was told.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// By which process of the crawl.
    pub(crate) life: usize,
    pub(crate) at_us: u64,
    pub(crate) url: String,
    pub(crate) ending: UrlEnding,
    pub(crate) attempt: u32,
}

/// The machine's civil clock, which may be set.
#[derive(Clone)]
pub(crate) struct Machine {
    start: WallTime,
    observer: Observer,
    ahead: Arc<AtomicI64>,
    /// What it was ahead, in milliseconds, from which moment of the web on.
    set: Arc<Mutex<Vec<(u64, i64)>>>,
    /// The clock of the process that runs.
    read_by: Arc<Mutex<Weak<SystemClock>>>,
}

impl Machine {
    fn new(start: WallTime, observer: Observer) -> Self {
        Self { start, observer, ahead: Arc::default(), set: Arc::default(), read_by: Arc::default() }
    }

    fn read(&self) -> WallTime {
        let truly = self.start.after(Duration::from_micros(self.observer.now_us()));
        WallTime::from_unix_millis(truly.unix_millis() + self.ahead.load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, ahead: i64) {
        self.ahead.store(ahead, Ordering::Relaxed);
        self.set.lock().unwrap().push((self.observer.now_us(), ahead));
        // A time that nobody reads is none: a process that runs has read this one.
        if let Some(clock) = self.read_by.lock().unwrap().upgrade() {
            clock.wall();
        }
    }

    /// The clock of a process that begins.
    fn clock(&self) -> Arc<SystemClock> {
        let machine = self.clone();
        let clock = Arc::new(SystemClock::following(move || machine.read()));
        *self.read_by.lock().unwrap() = Arc::downgrade(&clock);
        clock
    }

    pub(crate) fn errors(&self) -> Vec<(u64, i64)> {
        self.set.lock().unwrap().clone()
    }
}

impl<'a> Stage<'a> {
    /// Puts everything up, and lets what is planned befall the network and the clock in its time.
    pub(crate) fn set(plan: &'a Plan) -> Self {
        let (web, observer) = plan.web.in_memory();
        let servers = hostile::servers();
        let net = SimNet::new((web.clone(), servers.net()), (plan.seed, plan.faults.panics.network));
        for outage in plan.outages.clone() {
            tokio::spawn(befall(web.clone(), outage));
        }
        let machine = Machine::new(plan.start, observer.clone());
        for (at, ahead) in plan.faults.clock.clone() {
            let machine = machine.clone();
            tokio::spawn(async move {
                tokio::time::sleep(at).await;
                machine.set(ahead);
            });
        }
        let dir = plan.faults.kept.then(in_memory_dir);
        let path = dir.as_ref().map(TempDir::path);
        let (store, files) = (SimStore::default(), SimFiles::new(path, observer.clone()));
        Self {
            plan,
            observer,
            servers,
            net,
            store,
            files,
            dir,
            machine,
            heard: Arc::default(),
            calls: Default::default(),
        }
    }

    /// A process of the crawl, the `life`th.
    pub(crate) fn crawler(&self, life: usize) -> CrawlerBuilder {
        // Another process draws other jitter.
        let random = SeededRandom::new(self.plan.seed ^ (life as u64).rotate_left(48));
        let builder = Crawler::builder("SimBot/1.0 (+https://example.com/bot)")
            .net(Arc::new(self.net.clone()))
            .clock(self.machine.clock())
            .random(Arc::new(random))
            .configure(|file| settle(file, &self.plan.settings, self.plan.faults.warc));
        let builder = self.listening(builder, life);
        let builder = match &self.dir {
            Some(dir) => builder
                .dir(dir.path())
                .frontier_store(Box::new(self.store.clone()))
                .archive_disk(Arc::new(self.files.clone())),
            None => builder,
        };
        let also = &self.plan.settings.also;
        let fronts =
            std::iter::once(0).chain(also.iter().copied()).map(|site| format!("http://{}/", self.plan.names[site]));
        let beside = self.plan.hostile.iter().flat_map(|scenario| hostile::seeds(*scenario));
        fronts.chain(beside).fold(builder, |builder, seed| builder.seed(&seed))
    }

    fn listening(&self, builder: CrawlerBuilder, life: usize) -> CrawlerBuilder {
        let (seed, panics, [pages, outcomes]) = (self.plan.seed, self.plan.faults.panics, self.calls.clone());
        let (heard, observer) = (self.heard.clone(), self.observer.clone());
        let builder = builder.on_outcome(move |outcome| {
            let (url, ending, attempt) = (outcome.url.to_string(), outcome.ending, outcome.attempt);
            heard.lock().unwrap().outcomes.push(Told { life, at_us: observer.now_us(), url, ending, attempt });
            perhaps_panic(seed, 1, outcomes.fetch_add(1, Ordering::Relaxed), panics.on_outcome);
        });
        let heard = self.heard.clone();
        let hear = move |page: &Page| {
            let capture = page.capture();
            let lossy = matches!(capture.fault, Some(Reason::FetchCoding | Reason::FetchSpool));
            let read = lossy || page.body().len() as u64 == capture.decoded_len;
            heard.lock().unwrap().pages.push((page.url().to_string(), capture.fault, read));
        };
        if !self.plan.faults.handlers_wait {
            return builder.each_page(move |page| {
                hear(page);
                perhaps_panic(seed, 2, pages.fetch_add(1, Ordering::Relaxed), panics.on_page);
            });
        }
        let builder = builder.handlers_at_once(HANDLERS_AT_ONCE);
        builder.on_page(move |page, ctx| {
            hear(&page);
            let nth = pages.fetch_add(1, Ordering::Relaxed);
            // At the call, or after a while: a place to die at, with what it enqueued.
            if nth.is_multiple_of(2) {
                perhaps_panic(seed, 2, nth, panics.on_page);
            }
            async move {
                if let Some(link) = page.links().last() {
                    ctx.enqueue(&link.url)?.user_data(&nth)?;
                }
                tokio::time::sleep(Duration::from_millis(nth * 37 % 2500)).await;
                perhaps_panic(seed, 2, nth, panics.on_page);
                HandlerResult::Ok(())
            }
        })
    }
}

/// Pages at asynchronous handlers at once.
pub(crate) const HANDLERS_AT_ONCE: usize = 4;

fn settle(file: &mut comity::config::ConfigFile, settings: &Settings, warc: bool) {
    file.crawl.scope = Some("any".into());
    file.agent.purposes = Some(vec![settings.purpose.into()]);
    file.fetch.max_body = Some(ByteSize(hostile::MAX_BODY));
    file.fetch.roots = Some(vec![hostile::root()]);
    file.fetch.allow_addresses = Some(vec![HOSTILE_NETWORK.into()]);
    file.politeness.delay = Some(Span(settings.delay));
    file.politeness.total = Some(settings.total);
    file.politeness.per_origin = Some(settings.per_origin);
    file.politeness.per_address = Some(settings.per_address);
    file.politeness.address_gap = Some(Span(settings.address_gap));
    file.politeness.adaptive = Some(settings.adaptive);
    file.politeness.max_rate = Some(settings.max_rate.into());
    file.politeness.max_rate_domain = Some(settings.max_rate_domain.into());
    file.archive.warc = Some(warc);
    file.archive.min_free = Some(ByteSize(0));
}

/// A directory that is no disk's, where the machine has such a place.
fn in_memory_dir() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

async fn befall(net: MemoryNet, outage: Outage) {
    tokio::time::sleep(outage.from).await;
    match &outage.fault {
        NetFault::Connect(address, fault) => net.set_connect_fault(*address, Some(*fault)),
        NetFault::Resolve(name, error) => net.set_resolve_fault(name, Some(error.clone())),
        NetFault::Move(name, address) => net.set_address(name, Some(*address)),
    }
    tokio::time::sleep(outage.until - outage.from).await;
    match &outage.fault {
        NetFault::Connect(address, _) => net.set_connect_fault(*address, None),
        NetFault::Resolve(name, _) => net.set_resolve_fault(name, None),
        NetFault::Move(name, _) => net.set_address(name, None),
    }
}
