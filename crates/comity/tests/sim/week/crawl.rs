//! The loop of the week: what the engine does, with every page again a day later instead of once.

use std::sync::Arc;
use std::time::Duration;

use comity::policy::{Clock, Identity, Instant, Politeness, Reason, SeededRandom, WallTime};
use comity_fetch::{Collect, FetchConfig, Fetched, Fetcher, SystemClock};
use comity_frontier::{
    Frontier, Lease, Leased, Local, Offer, Offered, RefusedLease, SchedulerConfig, Settlement, Spent, TurnNews,
};
use comity_gate::{Admission, Gate, GateConfig, RobotsNews};
use comity_url::{CrawlUrl, KeyHasher, Origin};
use tokio::task::JoinSet;

use super::net::{WeekNet, url};
use super::watch::Watch;
use super::{DAY, Size};

/// Visits under way at once.
const TOTAL: usize = 64;
const START: WallTime = WallTime::from_unix_millis(1_795_996_800_000);

/// What the crawl counted.
#[derive(Debug, Default)]
pub(crate) struct Crawled {
    pub(crate) pages: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
    /// Turns that had not come when the origin was thought due.
    pub(crate) snoozed: u64,
}

/// What one task did.
enum Done {
    Page,
    Failed,
    Refused,
    Snoozed,
    Robots,
}

struct Shared {
    frontier: Local<comity_frontier::MemoryStore>,
    gate: Gate,
    fetcher: Fetcher,
    clock: Arc<SystemClock>,
}

/// Crawls for as long as the size says.
pub(crate) async fn crawl(size: Size, watch: &Watch) -> Crawled {
    let shared = Arc::new(Shared::new(size, watch));
    shared.offer(size).await;
    let ends = shared.clock.now().after(size.lasts);
    let (mut tasks, mut crawled) = (JoinSet::new(), Crawled::default());
    loop {
        let now = shared.clock.now();
        let room = TOTAL.saturating_sub(tasks.len());
        let mut wake_at = None;
        if now < ends && room > 0 {
            let leased = shared.frontier.lease(room, &shared.gate, now).await.unwrap();
            wake_at = shared.start(leased, &mut tasks);
        }
        let wake_at = wake_at.unwrap_or(ends).min(ends);
        if tasks.is_empty() && now >= ends {
            return crawled;
        }
        tokio::select! {
            biased;
            Some(done) = tasks.join_next() => {
                crawled.count(&done.unwrap());
                while let Some(done) = tasks.try_join_next() {
                    crawled.count(&done.unwrap());
                }
            }
            () = tokio::time::sleep(wake_at.since(now).max(Duration::from_micros(100))) => {}
        }
    }
}

impl Crawled {
    fn count(&mut self, done: &Done) {
        let counted = match done {
            Done::Page => &mut self.pages,
            Done::Failed => &mut self.failed,
            Done::Refused => &mut self.refused,
            Done::Snoozed => &mut self.snoozed,
            Done::Robots => return,
        };
        *counted += 1;
    }
}

impl Shared {
    fn new(size: Size, watch: &Watch) -> Self {
        let clock = Arc::new(SystemClock::paused_at(START));
        let identity = Identity::new("WeekBot/1.0", "https://example.com/bot", &[], Vec::new()).unwrap();
        let net = WeekNet { watch: watch.clone(), clock: clock.clone(), origins: size.origins };
        let fetcher = Fetcher::new(Arc::new(net), clock.clone(), FetchConfig::new(identity.user_agent())).unwrap();
        let total = u32::try_from(TOTAL).unwrap();
        let politeness = Politeness { total, ..Politeness::default() };
        let config = GateConfig { politeness, ..GateConfig::new(identity) };
        let gate = Gate::new(fetcher.clone(), clock.clone(), Arc::new(SeededRandom::new(7)), config);
        Self { frontier: Local::in_memory(SchedulerConfig::default()), gate, fetcher, clock }
    }

    async fn offer(&self, size: Size) {
        let hasher = KeyHasher::new([7; 16]);
        for origin in 0..size.origins {
            let urls = (0..=size.pages).map(|page| CrawlUrl::parse(&url(origin, page, size.pages)).unwrap());
            let offers = urls.map(|url| Offer::seed(url.clone(), hasher.key(&url))).collect();
            let offered = self.frontier.offer(offers).await.unwrap();
            assert!(offered.iter().all(|offered| *offered == Offered::New));
        }
    }

    /// Starts a task for each thing to do; says when to look again.
    fn start(self: &Arc<Self>, leased: Leased, tasks: &mut JoinSet<Done>) -> Option<Instant> {
        let Leased { leases, refused, needs_robots, wake_at } = leased;
        for lease in leases {
            tasks.spawn(self.clone().visit(lease));
        }
        for refused in refused {
            tasks.spawn(self.clone().refuse(refused));
        }
        for origin in needs_robots {
            tasks.spawn(self.clone().ask_robots(origin));
        }
        wake_at
    }

    async fn visit(self: Arc<Self>, lease: Lease) -> Done {
        let (id, deadline) = (lease.id, lease.deadline);
        let permit = match self.gate.admit(lease.allowance, lease.pace).await {
            Admission::Permit(permit) => permit.until(deadline),
            Admission::Wait(turn) => {
                let pace = self.gate.pace(lease.url.origin());
                let (until, reason) = (turn.ready.at, turn.ready.clock);
                self.settle(Settlement::Snooze { lease: id, pace, turn, until, reason }).await;
                return Done::Snoozed;
            }
            never @ (Admission::Refuse(_) | Admission::OptedOut(_)) => panic!("{never:?}"),
        };
        let Fetched { receipt, outcome, capture } = self.fetcher.fetch(permit, &mut Collect::default()).await;
        let (pace, turn) = self.gate.settle(receipt.unwrap(), outcome);
        // Until pages are visited again by a policy of the crawl's own: a place in the queue that comes due a day later.
        let again = self.clock.now().after(DAY);
        self.settle(Settlement::Retry { lease: id, spent: Spent::default(), pace, turn, not_before: again }).await;
        if capture.status == Some(200) && capture.fault.is_none() { Done::Page } else { Done::Failed }
    }

    async fn refuse(self: Arc<Self>, refused: RefusedLease) -> Done {
        assert_eq!(refused.refusal.reason(), Reason::RobotsDisallow, "{}", refused.url);
        self.settle(Settlement::Refused { lease: refused.id }).await;
        Done::Refused
    }

    async fn ask_robots(self: Arc<Self>, origin: Origin) -> Done {
        let RobotsNews { turn, hold, .. } = self.gate.robots(&origin).await;
        let now = self.clock.now();
        let news = match hold {
            Some(hold) => TurnNews::Hold { until: hold.wait.map(|wait| now.after(wait)), reason: hold.reason },
            None => TurnNews::RobotsReady { turn },
        };
        self.frontier.turn(origin, news, now).await.unwrap();
        Done::Robots
    }

    async fn settle(&self, settlement: Settlement) {
        self.frontier.settle(vec![settlement], self.clock.now()).await.unwrap();
    }
}
