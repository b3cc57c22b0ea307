use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Duration;

use comity_frontier::{Fill, Lease, LeaseId, QueuedUrl, Scheduler, SchedulerConfig, Settlement, Spent, Step, TurnNews};
use comity_policy::{
    Allowance, Instant, Judgement, OptOuts, OriginPace, Overlap, Ready, Reason, RobotsEvent, RobotsLife, RobotsPolicy,
    SeededRandom, Terms, Turn, WallTime,
};
use comity_url::{CrawlUrl, KeyHasher};

/// Records of each origin that its queue holds from the start; one is added for each that is taken.
const BACKLOG: u64 = 3;
/// A step of the simulated clock.
const STEP: Duration = Duration::from_millis(1);

/// Many origins with full queues, each with a delay of its own.
pub(crate) struct Crowd {
    scheduler: Scheduler,
    /// By number of the origin. That stands in the depth of its URLs, and its delay in their attempts, so that nothing has to
    /// be looked up while time is measured.
    sites: Vec<Site>,
    now: Instant,
    answer: Duration,
    /// Leases by when they are answered.
    running: VecDeque<(Instant, LeaseId, u32, Duration)>,
    /// Of the step under way; kept for their room.
    granted: Vec<Lease>,
    moved: Vec<Lease>,
    settled: Vec<u32>,
    life: RobotsLife,
    any: CrawlUrl,
    bytes_per_origin: u64,
}

struct Site {
    url: QueuedUrl,
    /// Of the URL that is appended next.
    sequence: u64,
    delay: Duration,
    /// Not to be leased before; while it is leased, what will be told.
    told: Instant,
}

/// What a stretch of simulated time came to.
#[derive(Default)]
pub(crate) struct Round {
    turning: Duration,
    appending: Duration,
    /// Of the turns, what the driver does by itself: see [`Crowd::drive`].
    driving: Duration,
    pub(crate) turns: u64,
    /// Reads from the store.
    pub(crate) fills: u64,
    pub(crate) early: u64,
    /// Turns that fit into the time, over all origins, if each began at its instant.
    pub(crate) offered: u64,
}

impl Crowd {
    pub(crate) fn new(origins: u32, answer_millis: u64) -> Self {
        let sites: Vec<Site> = (0..origins).map(Site::new).collect();
        let before = resident_bytes();
        // Room to hold some URLs of each ready, as the default has for a tenth as many origins.
        let config =
            SchedulerConfig { origins: u64::MAX, queued: u64::MAX, resident: 4_000_000, ..SchedulerConfig::default() };
        let mut scheduler = Scheduler::new(config);
        for site in &sites {
            let turn = Turn { ready: Ready { at: site.told, clock: Reason::RateOrigin }, overlap: Overlap::AfterHead };
            scheduler.turn(site.url.url.origin(), TurnNews::RobotsReady { turn }, Instant::START);
            for sequence in 0..BACKLOG {
                scheduler.append(site.url.url.origin(), 1, sequence);
            }
        }
        let bytes_per_origin = resident_bytes().saturating_sub(before) / u64::from(origins);
        let any = CrawlUrl::parse("http://any.example/").unwrap();
        let answer = Duration::from_millis(answer_millis);
        let running = VecDeque::new();
        let (granted, moved, settled, life, now) = (Vec::new(), Vec::new(), Vec::new(), life(&any), Instant::START);
        Self { scheduler, sites, now, answer, running, granted, moved, settled, life, any, bytes_per_origin }
    }

    pub(crate) const fn bytes_per_origin(&self) -> u64 {
        self.bytes_per_origin
    }

    /// Lets `millis` of simulated time pass, serving everything that comes due.
    pub(crate) fn run(&mut self, millis: u64) -> Round {
        let end = self.now.after(Duration::from_millis(millis));
        let offered = self.sites.iter().map(|site| site.slots(end, self.answer)).sum();
        let mut round = Round { offered, ..Round::default() };
        let mut allowances: Vec<Allowance> = Vec::new();
        while self.now < end {
            self.now = self.now.after(STEP);
            self.step(&mut round, &mut allowances);
        }
        round
    }

    /// Everything of one step: the turns in one measured stretch, then the new URLs in another.
    fn step(&mut self, round: &mut Round, allowances: &mut Vec<Allowance>) {
        let (mut granted, mut settled) = (std::mem::take(&mut self.granted), std::mem::take(&mut self.settled));
        loop {
            allowances.extend((allowances.len()..256).map(|_| self.allow()));
            let start = cpu_time();
            let fills = self.scheduler.fills(self.now, allowances.len());
            round.turning += cpu_time() - start;
            let rows: Vec<_> = fills.iter().map(|fill| self.rows(fill)).collect();
            round.fills += fills.len() as u64;
            let (start, first) = (cpu_time(), granted.len());
            fills.iter().zip(rows).for_each(|(fill, rows)| self.scheduler.filled(fill, rows));
            let is_done = self.lease(allowances, &mut granted);
            for lease in &granted[first..] {
                let delay = Duration::from_micros(u64::from(lease.attempt - 1));
                self.running.push_back((self.now.after(self.answer), lease.id, lease.depth, delay));
            }
            self.answer(&mut settled);
            round.turning += cpu_time() - start;
            round.driving += self.drive(&mut granted, first, allowances);
            if is_done {
                break;
            }
        }
        round.turns += granted.len() as u64;
        for lease in &granted {
            let site = &mut self.sites[lease.depth as usize];
            round.early += u64::from(site.told > self.now);
            site.told = self.now.after(self.answer + site.delay);
        }
        let start = cpu_time();
        for number in settled.drain(..) {
            let site = &mut self.sites[number as usize];
            self.scheduler.append(site.url.url.origin(), 1, site.sequence);
            site.sequence += 1;
        }
        round.appending += cpu_time() - start;
        granted.clear();
        (self.granted, self.settled) = (granted, settled);
    }

    /// What a measured stretch costs without the scheduler: the clock is read, leases are moved into a list and noted, allowances
    /// are taken, settlements made and dropped. All of it is a part of a turn's figure, and none of it is the scheduler's.
    fn drive(&mut self, granted: &mut Vec<Lease>, first: usize, allowances: &mut Vec<Allowance>) -> Duration {
        let (now, answer, mut noted) = (self.now, self.answer, VecDeque::with_capacity(granted.len() - first));
        let start = cpu_time();
        black_box(cpu_time());
        while granted.len() > first {
            let Some(lease) = granted.pop() else { break };
            self.moved.push(black_box(lease));
            let Some(allowance) = allowances.pop() else { continue };
            allowances.push(black_box(allowance));
        }
        for lease in &self.moved {
            let delay = Duration::from_micros(u64::from(lease.attempt - 1));
            noted.push_back((now.after(answer), lease.id, lease.depth, delay));
        }
        while let Some((at, lease, _, delay)) = noted.pop_front() {
            drop(black_box(done(lease, at.after(delay))));
        }
        let spent = cpu_time() - start;
        granted.extend(self.moved.drain(..).rev());
        spent
    }

    /// Leases while something is due and allowances last; true when nothing is due any more.
    fn lease(&mut self, allowances: &mut Vec<Allowance>, granted: &mut Vec<Lease>) -> bool {
        while let Some(allowance) = allowances.pop() {
            match self.scheduler.next(self.now) {
                Step::Idle => {
                    allowances.push(allowance);
                    return true;
                }
                Step::Recall => panic!("all origins are in memory"),
                Step::Fill(fill) => panic!("{fill:?} was read ahead"),
                Step::Judge(candidate) => granted.push(self.scheduler.grant(candidate, allowance, self.now)),
            }
        }
        false
    }

    /// Settles what is answered by now.
    fn answer(&mut self, settled: &mut Vec<u32>) {
        let over = self.running.iter().take_while(|(at, ..)| *at <= self.now);
        let ends = over.map(|(_, lease, _, delay)| (*lease, Some(self.now.after(*delay))));
        self.scheduler.look_ahead(ends);
        while let Some((_, lease, number, delay)) = self.running.pop_front_if(|(at, ..)| *at <= self.now) {
            let done = done(lease, self.now.after(delay));
            self.scheduler.settle(&done, self.now);
            settled.push(number);
        }
    }

    /// What the store would read: the origin's one URL, for every record that was appended and not read yet.
    fn rows(&self, fill: &Fill) -> Vec<(u64, Option<QueuedUrl>)> {
        let host = self.scheduler.origin_of(fill).unwrap().host();
        let number: usize = host[1..host.len() - ".example".len()].parse().unwrap();
        let Site { url, sequence, .. } = &self.sites[number];
        (fill.from()..*sequence).take(fill.limit()).map(|row| (row, Some(url.clone()))).collect()
    }

    fn allow(&self) -> Allowance {
        match comity_policy::judge(&self.any, &self.life, &Terms::default(), OptOuts::nobody(), WALL) {
            Judgement::Allow(allowance) => allowance,
            other => panic!("{other:?}"),
        }
    }
}

/// Its page was fetched; the origin is due at an instant.
fn done(lease: LeaseId, at: Instant) -> Settlement {
    let turn = Turn { ready: Ready { at, clock: Reason::RateOrigin }, overlap: Overlap::AfterHead };
    Settlement::Done { lease, spent: Spent::default(), links: Vec::new(), pace: OriginPace::default(), turn }
}

impl Site {
    fn new(number: u32) -> Self {
        let url = CrawlUrl::parse(&format!("http://s{number}.example/page")).unwrap();
        let via = Some(CrawlUrl::parse(&format!("http://s{number}.example/")).unwrap());
        let key = KeyHasher::new([7; 16]).key(&url);
        // Spread evenly, and no two neighbours alike.
        let delay = Duration::from_micros(1_000_000 + u64::from(number).wrapping_mul(7_368_787) % 29_000_000);
        let micros = u32::try_from(delay.as_micros()).unwrap();
        let url = QueuedUrl { url, key, depth: number, hops: 0, via, seed: false, attempts: micros, visited: None };
        let phase = u64::from(number).wrapping_mul(2_654_435_761) % u64::from(micros);
        Self { url, sequence: BACKLOG, delay, told: Instant::from_micros(phase) }
    }

    /// Turns that fit in up to and with `end`.
    fn slots(&self, end: Instant, answer: Duration) -> u64 {
        if self.told > end {
            0
        } else {
            1 + (end.since(self.told).as_micros() / (self.delay + answer).as_micros()) as u64
        }
    }
}

impl Round {
    pub(crate) fn turn_nanos(&self) -> f64 {
        self.turning.as_secs_f64() * 1e9 / self.turns.max(1) as f64
    }

    pub(crate) fn drive_nanos(&self) -> f64 {
        self.driving.as_secs_f64() * 1e9 / self.turns.max(1) as f64
    }

    pub(crate) fn append_nanos(&self) -> f64 {
        self.appending.as_secs_f64() * 1e9 / self.turns.max(1) as f64
    }
}

const WALL: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

/// A life without rules.
#[expect(clippy::disallowed_methods, reason = "the bench plays the gate")]
fn life(url: &CrawlUrl) -> RobotsLife {
    let mut life = RobotsLife::new(url.origin().clone(), RobotsPolicy::default().into());
    life.apply(RobotsEvent::Absent { status: 404, max_age: None }, WALL, &SeededRandom::new(1));
    life
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap(), now.tv_nsec.try_into().unwrap())
}

/// Memory of this process in RAM; 0 where there is no `/proc`.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0);
    pages * 4096
}
