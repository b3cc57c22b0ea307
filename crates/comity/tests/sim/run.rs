use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use comity::config::{ByteSize, Span};
use comity::policy::{Clock, Reason, SeededRandom};
use comity::{Crawler, CrawlerBuilder, Summary, UrlEnding};
use comity_fetch::SystemClock;
use comity_testweb::hostile::{Asked, Scenario, Speech};
use comity_testweb::{MemoryNet, Observer};

use crate::hostile;
use crate::net::{HOSTILE_NETWORK, SimNet};
use crate::plan::{NetFault, Outage, Plan, Settings};

/// How one seed went.
pub(crate) struct Run {
    pub(crate) settings: Settings,
    pub(crate) observer: Observer,
    pub(crate) outcomes: Vec<Told>,
    /// Pages that were handed to the handler, with what was wrong with them at last.
    pub(crate) faults: BTreeMap<String, Option<Reason>>,
    /// Pages whose body, read again, was not what had been received.
    pub(crate) misread: Vec<String>,
    /// What the hostile sites saw.
    pub(crate) asked: Vec<Asked>,
    /// Connections to where no site may lead.
    pub(crate) inside: u64,
    /// `Err`: the crawl did not end, or ended with an error.
    pub(crate) summary: Result<Summary, String>,
    /// Panics anywhere in the run, caught or not.
    pub(crate) panics: u64,
    /// Everything that happened, as text: the same seed gives the same bytes.
    pub(crate) log: String,
}

/// An outcome as it was told.
pub(crate) struct Told {
    pub(crate) at_us: u64,
    pub(crate) url: String,
    pub(crate) ending: UrlEnding,
    pub(crate) attempt: u32,
}

/// No crawl of a plan lasts longer: what still waits then waits for ever.
const TOO_LONG: Duration = Duration::from_secs(7 * 86_400);

impl Run {
    pub(crate) fn of(plan: &Plan) -> Self {
        count_panics();
        PANICS.set(0);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let mut run = runtime.block_on(play(plan));
        // Servers and whatever else is left end here.
        drop(runtime);
        run.panics = PANICS.get();
        run
    }

    /// True when the site's requests came by HTTP/2.
    pub(crate) fn asked_by_frames(&self, scenario: Scenario) -> bool {
        scenario.speech() == Speech::Http2
    }
}

async fn play(plan: &Plan) -> Run {
    let (web, observer) = plan.web.in_memory();
    let servers = hostile::servers();
    let net = SimNet::new(web.clone(), servers.net());
    let pages = Arc::new(Mutex::new(Vec::new()));
    let clock = Arc::new(SystemClock::paused_at(plan.start));
    let told = Arc::new(Mutex::new(Vec::new()));
    let builder = crawler(plan, &net, clock.clone()).on_outcome({
        let (told, clock, begun) = (told.clone(), clock.clone(), clock.now());
        move |outcome| {
            let at_us = u64::try_from(clock.now().since(begun).as_micros()).unwrap();
            let (url, ending, attempt) = (outcome.url.to_string(), outcome.ending, outcome.attempt);
            told.lock().unwrap().push(Told { at_us, url, ending, attempt });
        }
    });
    let builder = builder.on_page({
        let pages = pages.clone();
        move |page| {
            let capture = page.capture();
            let lossy = matches!(capture.fault, Some(Reason::FetchCoding | Reason::FetchSpool));
            let read = lossy || page.body().len() as u64 == capture.decoded_len;
            pages.lock().unwrap().push((page.url().to_string(), capture.fault, read));
        }
    });
    for outage in plan.outages.clone() {
        tokio::spawn(befall(web.clone(), outage));
    }
    let crawler = builder.build().unwrap();
    let summary = match tokio::time::timeout(TOO_LONG, crawler.run()).await {
        Ok(ended) => ended.map_err(|error| error.to_string()),
        Err(_) => Err("the crawl did not end within a week".to_owned()),
    };
    let outcomes = std::mem::take(&mut *told.lock().unwrap());
    let asked = servers.asked();
    let mut log = log(&observer, &outcomes, &summary);
    let (mut faults, mut misread) = (BTreeMap::new(), Vec::new());
    for (url, fault, read) in std::mem::take(&mut *pages.lock().unwrap()) {
        writeln!(log, "page {url} {}", fault.map_or("whole", Reason::code)).unwrap();
        misread.extend((!read).then(|| url.clone()));
        faults.insert(url, fault);
    }
    for Asked { scenario, request, at } in &asked {
        writeln!(log, "{:>12} {} was asked for {request:?}", at.as_micros(), scenario.name()).unwrap();
    }
    let inside = net.inside();
    let settings = plan.settings.clone();
    Run { settings, observer, outcomes, faults, misread, asked, inside, summary, panics: 0, log }
}

fn crawler(plan: &Plan, net: &SimNet, clock: Arc<SystemClock>) -> CrawlerBuilder {
    let Settings { also, .. } = plan.settings.clone();
    let builder = Crawler::builder("SimBot/1.0", "https://example.com/bot")
        .net(Arc::new(net.clone()))
        .clock(clock)
        .random(Arc::new(SeededRandom::new(plan.seed)))
        .configure(|file| {
            let Settings {
                delay,
                total,
                per_origin,
                per_address,
                address_gap,
                adaptive,
                max_rate,
                max_rate_domain,
                ..
            } = plan.settings;
            file.crawl.scope = Some("any".into());
            file.fetch.max_body = Some(ByteSize(hostile::MAX_BODY));
            file.fetch.roots = Some(vec![hostile::root()]);
            file.fetch.allow_addresses = Some(vec![HOSTILE_NETWORK.into()]);
            file.politeness.delay = Some(Span(delay));
            file.politeness.total = Some(total);
            file.politeness.per_origin = Some(per_origin);
            file.politeness.per_address = Some(per_address);
            file.politeness.address_gap = Some(Span(address_gap));
            file.politeness.adaptive = Some(adaptive);
            file.politeness.max_rate = Some(max_rate.into());
            file.politeness.max_rate_domain = Some(max_rate_domain.into());
        });
    let fronts = std::iter::once(0).chain(also).map(|site| format!("http://{}/", plan.names[site]));
    let beside = plan.hostile.iter().flat_map(|scenario| hostile::seeds(*scenario));
    fronts.chain(beside).fold(builder, |builder, seed| builder.seed(&seed))
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

fn log(observer: &Observer, outcomes: &[Told], summary: &Result<Summary, String>) -> String {
    let mut log = String::new();
    for seen in observer.log() {
        let target = String::from_utf8_lossy(seen.request.target()).into_owned();
        let url = seen.site.and_then(|site| observer.url(site, &target)).unwrap_or(target);
        let (arrived, head, ended) = (seen.arrived_us, seen.head_sent_us, seen.ended_us);
        let (peer, status, cut) = (seen.peer, seen.status, seen.cut);
        writeln!(log, "{arrived:>12} {peer} {url} status {status:?} head {head:?} end {ended:?} cut {cut}").unwrap();
    }
    for Told { at_us, url, ending, attempt } in outcomes {
        writeln!(log, "{at_us:>12} {url} {ending}, attempt {attempt}").unwrap();
    }
    match summary {
        Ok(summary) => writeln!(log, "{summary}").unwrap(),
        Err(error) => writeln!(log, "{error}").unwrap(),
    }
    log
}

thread_local! {
    static PANICS: Cell<u64> = const { Cell::new(0) };
}

/// Counts panics of this thread: tasks run on it, and their panics are caught elsewhere.
fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.set(PANICS.get() + 1);
            before(info);
        }));
    });
}
