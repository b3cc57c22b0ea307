use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Once;

use comity::Summary;
use comity::policy::Reason;
use comity_testweb::Observer;
use comity_testweb::hostile::{Asked, Scenario, Speech};

use crate::faults::Ordered;
use crate::life::{LifeEnd, Lived};
use crate::plan::{Plan, Settings};
use crate::records::{self, Kept};
use crate::stage::{Heard, Stage, Told};

/// How one seed went.
pub(crate) struct Run {
    pub(crate) settings: Settings,
    pub(crate) handlers_wait: bool,
    pub(crate) observer: Observer,
    /// The processes of the crawl, in order; the last was left alone.
    pub(crate) lives: Vec<Lived>,
    pub(crate) outcomes: Vec<Told>,
    /// Pages that were handed to the handler, with what was wrong with them at last.
    pub(crate) pages: BTreeMap<String, Option<Reason>>,
    /// Pages whose body, read again, was not what had been received.
    pub(crate) misread: Vec<String>,
    /// What the hostile sites saw.
    pub(crate) asked: Vec<Asked>,
    /// Connections to where no site may lead.
    pub(crate) inside: u64,
    /// URLs that the queue's disk holds at the end, and URLs that it ever took in; `None` without one.
    pub(crate) stored: Option<(u64, u64)>,
    /// The records; `None` when none were kept, and what is wrong with them when they cannot be read.
    pub(crate) records: Option<Result<Kept, String>>,
    /// When the machine's clock was set, and how far ahead it was then.
    pub(crate) clock_errors: Vec<(u64, i64)>,
    /// Panics anywhere in the run, caught or not, but those that were ordered.
    pub(crate) panics: u64,
    pub(crate) ordered_panics: u64,
    /// Everything that happened, as text: the same seed gives the same bytes.
    pub(crate) log: String,
}

impl Run {
    pub(crate) fn of(plan: &Plan) -> Self {
        count_panics();
        PANICS.set((0, 0));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let mut run = runtime.block_on(play(plan));
        // Servers and whatever else is left end here.
        drop(runtime);
        (run.panics, run.ordered_panics) = PANICS.get();
        run
    }

    /// True when the site's requests came by HTTP/2.
    pub(crate) fn asked_by_frames(&self, scenario: Scenario) -> bool {
        scenario.speech() == Speech::Http2
    }

    /// The summary of the process that ended the crawl.
    pub(crate) fn summary(&self) -> Option<&Summary> {
        match &self.lives.last()?.end {
            LifeEnd::Ended(summary) => Some(summary),
            _ => None,
        }
    }

    /// How often what was under way may have been dropped.
    pub(crate) fn breaks(&self) -> impl Iterator<Item = &Lived> {
        self.lives.iter().filter(|life| life.breaks_off())
    }
}

async fn play(plan: &Plan) -> Run {
    let stage = Stage::set(plan);
    let mut lives = Vec::new();
    for (number, life) in plan.faults.lives.iter().enumerate() {
        lives.push(stage.live(number, Some(life)).await);
        if let Some(ahead) = life.clock {
            stage.machine.set(ahead);
        }
        tokio::time::sleep(life.pause).await;
    }
    lives.push(stage.live(plan.faults.lives.len(), None).await);
    let Heard { outcomes, pages } = std::mem::take(&mut *stage.heard.lock().unwrap());
    let asked = stage.servers.asked();
    let mut log = log(&stage.observer, &outcomes, &lives);
    let (mut faults, mut misread) = (BTreeMap::new(), Vec::new());
    for (url, fault, read) in pages {
        writeln!(log, "page {url} {}", fault.map_or("whole", Reason::code)).unwrap();
        misread.extend((!read).then(|| url.clone()));
        faults.insert(url, fault);
    }
    for (at, ahead) in &stage.machine.errors() {
        writeln!(log, "{at:>12} the machine's clock is {ahead} ms ahead").unwrap();
    }
    for Asked { scenario, request, at } in &asked {
        writeln!(log, "{:>12} {} was asked for {request:?}", at.as_micros(), scenario.name()).unwrap();
    }
    let dir = stage.dir.as_ref();
    Run {
        settings: plan.settings.clone(),
        handlers_wait: plan.faults.handlers_wait,
        lives,
        outcomes,
        pages: faults,
        misread,
        asked,
        inside: stage.net.inside(),
        stored: dir.map(|_| (stage.store.queued(), stage.store.seen())),
        records: dir.map(|dir| records::read(dir.path())),
        clock_errors: stage.machine.errors(),
        panics: 0,
        ordered_panics: 0,
        observer: stage.observer,
        log,
    }
}

fn log(observer: &Observer, outcomes: &[Told], lives: &[Lived]) -> String {
    let mut log = String::new();
    for seen in observer.log() {
        let target = String::from_utf8_lossy(seen.request.target()).into_owned();
        let url = seen.site.and_then(|site| observer.url(site, &target)).unwrap_or(target);
        let (arrived, head, ended) = (seen.arrived_us, seen.head_sent_us, seen.ended_us);
        let (peer, status, cut) = (seen.peer, seen.status, seen.cut);
        writeln!(log, "{arrived:>12} {peer} {url} status {status:?} head {head:?} end {ended:?} cut {cut}").unwrap();
    }
    for Told { life, at_us, url, ending, attempt } in outcomes {
        writeln!(log, "{at_us:>12} {life} {url} {ending}, attempt {attempt}").unwrap();
    }
    for Lived { began_us, ended_us, end, planned, cut, exposed, was_full } in lives {
        writeln!(
            log,
            "{began_us:>12} to {ended_us}, planned {planned:?}, {cut:?}, exposed {exposed:?}, full {was_full}"
        )
        .unwrap();
        match end {
            LifeEnd::Ended(summary) => writeln!(log, "{summary}").unwrap(),
            LifeEnd::Storage(error) | LifeEnd::Broken(error) => writeln!(log, "{error}").unwrap(),
            LifeEnd::Killed => writeln!(log, "killed").unwrap(),
        }
    }
    log
}

thread_local! {
    /// Panics of this thread: tasks run on it, and their panics are caught elsewhere. Beside them those that were ordered.
    static PANICS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let (panics, ordered) = PANICS.get();
            if info.payload().is::<Ordered>() {
                return PANICS.set((panics, ordered + 1));
            }
            PANICS.set((panics + 1, ordered));
            before(info);
        }));
    });
}
