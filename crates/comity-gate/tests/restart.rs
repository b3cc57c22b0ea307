//! What outlives a process, a cache entry and a life: copies, failures, back-offs, parks. On paused time.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod crowded;
mod site_files;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use comity_fetch::{BoxFuture, Collect, FetchConfig, Fetched, Fetcher, SystemClock};
use comity_gate::{
    Admission, AskFiles, AskTdmrep, Gate, GateConfig, RecalledFile, RecalledRobots, Recorder, RobotsVisit,
    SiteFileVisit, StateDir,
};
use comity_policy::{
    Clock, Identity, Judge, Judgement, OriginPace, Politeness, Reason, SeededRandom, Standing, WallTime,
};
use comity_testweb::{Answer, MemoryNet, Observer, Site, Target, Web};
use comity_url::{CrawlUrl, Origin};
use site_files::{TDMREP, Told, tdmrep_requests};

const RULES: &str = "User-agent: *\nCrawl-delay: 2\nDisallow: /private\n";
const HOUR: Duration = Duration::from_secs(3600);
const START: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

/// One process: a gate on a clock of its own.
#[derive(Clone)]
struct Process {
    gate: Gate,
    fetcher: Fetcher,
    clock: Arc<SystemClock>,
}

impl Process {
    /// Starts at `wall` on the same web; `state` is what it shares with the processes before it.
    fn start(net: &MemoryNet, state: Option<&Path>, wall: WallTime, cache_bytes: u64) -> Self {
        Self::with(net, state, wall, |config| GateConfig { robots_cache_bytes: cache_bytes, ..config })
    }

    /// One that asks every site for its tdmrep.json, and tells what an earlier process had received.
    fn asking(net: &MemoryNet, state: &Path, wall: WallTime, told: &Arc<Told>) -> Self {
        let ask = AskFiles { tdmrep: AskTdmrep::Always, ..AskFiles::default() };
        Self::with(net, Some(state), wall, |config| GateConfig { ask, recorder: told.clone(), ..config })
    }

    fn with(
        net: &MemoryNet,
        state: Option<&Path>,
        wall: WallTime,
        more: impl FnOnce(GateConfig) -> GateConfig,
    ) -> Self {
        let clock = Arc::new(SystemClock::paused_at(wall));
        let own = vec!["10.0.0.0/8".parse().unwrap()];
        let identity = Identity::new("TestBot/1.0", "a@example.com", &[], Vec::new()).unwrap();
        let mut fetch = FetchConfig::new(identity.user_agent());
        fetch.allow_addresses.clone_from(&own);
        let fetcher = Fetcher::new(Arc::new(net.clone()), clock.clone(), fetch).unwrap();
        let config = GateConfig {
            politeness: Politeness { own_networks: own, ..Politeness::default() },
            state: state.map(|dir| Arc::new(StateDir::open(dir, wall).unwrap())),
            ..GateConfig::new(identity)
        };
        let gate = Gate::new(fetcher.clone(), clock.clone(), Arc::new(SeededRandom::new(1)), more(config));
        Self { gate, fetcher, clock }
    }

    fn plain(net: &MemoryNet, state: &Path, wall: WallTime) -> Self {
        Self::start(net, Some(state), wall, 1 << 20)
    }

    fn wall(&self) -> WallTime {
        self.clock.wall()
    }

    async fn admit(&self, path: &str) -> Option<Admission> {
        self.admit_url(&page(path)).await
    }

    /// What others took the room for is looked at again.
    async fn admit_url(&self, url: &CrawlUrl) -> Option<Admission> {
        let allowance = loop {
            let news = self.gate.robots(url.origin()).await;
            match self.gate.judge(url) {
                Judgement::Allow(allowance) => break allowance,
                Judgement::NeedsRobots(_) if news.hold.is_none() => tokio::task::yield_now().await,
                _ => return None,
            }
        };
        Some(self.gate.admit(allowance, OriginPace::default()).await)
    }

    /// One page as a crawler asks for it, waiting as told.
    async fn visit(&self, path: &str) -> Option<Fetched> {
        self.visit_url(&page(path)).await
    }

    async fn visit_url(&self, url: &CrawlUrl) -> Option<Fetched> {
        loop {
            match self.admit_url(url).await? {
                Admission::Wait(turn) => tokio::time::sleep(turn.ready.at.since(self.clock.now())).await,
                never @ (Admission::Refuse(_) | Admission::OptedOut(_)) => panic!("{never:?}"),
                Admission::Permit(permit) => {
                    let mut fetched = self.fetcher.fetch(permit, &mut Collect::default()).await;
                    let receipt = fetched.receipt.take().unwrap();
                    let _paced = self.gate.settle(receipt, fetched.outcome);
                    return Some(fetched);
                }
            }
        }
    }
}

fn web(site: Site) -> (MemoryNet, Observer) {
    Web::builder(1).site(site.name("a.test")).build().unwrap().in_memory()
}

fn page(path: &str) -> CrawlUrl {
    CrawlUrl::parse(&format!("http://a.test{path}")).unwrap()
}

fn origin() -> Origin {
    Origin::parse("http://a.test").unwrap()
}

fn robots_requests(observer: &Observer) -> usize {
    observer.log().iter().filter(|seen| seen.request.target() == b"/robots.txt").count()
}

#[tokio::test(start_paused = true)]
async fn a_restart_asks_no_robots_again_within_its_life_and_waits_one_full_delay() {
    let dir = tempfile::tempdir().unwrap();
    let (net, observer) = web(Site::new().robots(RULES).page("/", Answer::text("x")));
    let first = Process::plain(&net, dir.path(), START);
    assert!(first.visit("/").await.is_some());
    assert!(first.visit("/private").await.is_none());
    let wall = first.wall();
    drop(first);

    let second = Process::plain(&net, dir.path(), wall.after(HOUR * 20));
    let Some(Admission::Wait(turn)) = second.admit("/").await else { panic!("waits one full delay") };
    assert_eq!(turn.ready.clock, Reason::RateCrawlDelay);
    assert_eq!(turn.ready.at.since(second.clock.now()), Duration::from_secs(2));
    assert!(second.visit("/").await.is_some());
    assert!(second.visit("/private").await.is_none(), "the rules are those of the copy");
    assert_eq!(robots_requests(&observer), 1);
    drop(second);

    let third = Process::plain(&net, dir.path(), wall.after(HOUR * 25));
    assert!(third.visit("/").await.is_some());
    assert_eq!(robots_requests(&observer), 2, "its life is over");
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_an_origin_that_nobody_remembers_waits_one_delay_too() {
    let dir = tempfile::tempdir().unwrap();
    let there = Answer::redirect(301, Target::at(1, "/robots.txt"));
    let (net, observer) = Web::builder(1)
        .site(Site::new().name("a.test").robots_answer(there))
        .site(Site::new().name("b.test").robots(""))
        .build()
        .unwrap()
        .in_memory();
    let first = Process::plain(&net, dir.path(), START);
    first.gate.robots(&origin()).await;
    drop(first);
    // b.test was asked on the way to the rules of a.test; the books of its own know nothing of that.
    let second = Process::plain(&net, dir.path(), START);
    let begun = second.clock.now();
    second.gate.robots(&Origin::parse("http://b.test").unwrap()).await;
    assert!(second.clock.now().since(begun) >= Duration::from_secs(1), "{:?}", second.clock.now().since(begun));
    let arrivals: Vec<u64> = observer.log().iter().filter(|seen| seen.site == Some(1)).map(|s| s.arrived_us).collect();
    assert!(arrivals.len() == 2 && arrivals[1] - arrivals[0] >= 1_000_000, "{arrivals:?}");
}

#[tokio::test(start_paused = true)]
async fn absence_is_remembered_like_a_copy() {
    let dir = tempfile::tempdir().unwrap();
    let (net, observer) = web(Site::new().page("/", Answer::text("x")));
    let first = Process::plain(&net, dir.path(), START);
    first.gate.robots(&origin()).await;
    drop(first);
    let second = Process::plain(&net, dir.path(), START.after(HOUR));
    second.gate.robots(&origin()).await;
    assert!(matches!(second.gate.judge(&page("/")), Judgement::Allow(_)));
    assert_eq!(robots_requests(&observer), 1);
}

#[tokio::test(start_paused = true)]
async fn a_park_and_its_civil_end_survive_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let (net, _observer) = web(Site::new().robots("").page("/", Answer::retry_after(503, 4 * 3600)));
    let first = Process::plain(&net, dir.path(), START);
    assert_eq!(first.visit("/").await.unwrap().capture.status, Some(503));
    let parked = first.wall();
    drop(first);

    let second = Process::plain(&net, dir.path(), parked.after(HOUR));
    let Some(Admission::Wait(turn)) = second.admit("/").await else { panic!("parked") };
    assert_eq!(turn.ready.clock, Reason::ParkRetryAfter);
    let left = turn.ready.at.since(second.clock.now());
    assert!(left >= HOUR * 3 && left < HOUR * 3 + Duration::from_secs(1), "{left:?}");
    drop(second);

    let third = Process::plain(&net, dir.path(), parked.after(HOUR * 5));
    let Some(Admission::Wait(turn)) = third.admit("/").await else { panic!("one delay") };
    assert_eq!(turn.ready.clock, Reason::RateOrigin, "the park is over");
}

/// The pause was told to one origin's robots.txt by way of another's: the next process keeps it, whosever robots.txt leads there.
#[tokio::test(start_paused = true)]
async fn a_pause_told_behind_a_redirect_survives_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let leads = |name: &str| Site::new().name(name).robots_answer(Answer::redirect(302, "http://b.test/robots.txt"));
    let busy = Site::new().name("b.test").robots_answers([Answer::retry_after(429, 50), Answer::text("")]);
    let sites = [leads("a.test"), busy, leads("c.test")];
    let (net, observer) =
        sites.into_iter().fold(Web::builder(1), |web, site| web.site(site)).build().unwrap().in_memory();
    let first = Process::plain(&net, dir.path(), START);
    first.gate.robots(&origin()).await;
    let told = first.wall();
    drop(first);
    let second = Process::plain(&net, dir.path(), told.after(Duration::from_secs(10)));
    let begun = observer.now_us();
    second.gate.robots(&Origin::parse("http://c.test").unwrap()).await;
    let log = observer.log();
    let [_, _, third, last] = &log[..] else { panic!("a, b, c, b: {log:?}") };
    assert_eq!([third, last].map(|seen| seen.request.target()), [b"/robots.txt", b"/robots.txt"]);
    let waited = Duration::from_micros(last.arrived_us - begun);
    assert!(waited >= Duration::from_secs(39) && waited < Duration::from_secs(42), "{waited:?}");
}

/// A process whose clock is ahead takes a pause for over; the next one, by whose clock it is not, keeps what is left of it.
#[tokio::test(start_paused = true)]
async fn a_clock_that_was_ahead_for_a_while_ends_no_pause() {
    let moved = || Answer::redirect(302, "/r.txt").field("Retry-After", "400");
    let long_ago = WallTime::from_unix_millis(3_600_000);
    for (name, answer) in [("a redirect", moved()), ("too many", Answer::retry_after(429, 400))] {
        for (told, ahead) in [(START, START.after(HOUR * 72)), (long_ago, START)] {
            let dir = tempfile::tempdir().unwrap();
            let (net, observer) = web(Site::new().robots_answers([answer.clone(), Answer::text("")]));
            let first = Process::plain(&net, dir.path(), told);
            first.gate.robots(&origin()).await;
            drop(first);
            assert_eq!(robots_requests(&observer), 1, "{name}");
            drop(Process::plain(&net, dir.path(), ahead));
            let third = Process::plain(&net, dir.path(), told.after(Duration::from_secs(77)));
            let news = third.gate.robots(&origin()).await;
            assert_eq!(robots_requests(&observer), 1, "{name}, {told}: {news:?}");
            let left = news.hold.and_then(|hold| hold.wait).unwrap_or(news.turn.ready.at.since(third.clock.now()));
            assert!(left > Duration::from_secs(300) && left < Duration::from_secs(330), "{name}, {told}: {left:?}");
        }
    }
}

/// The delay that a robots.txt asked for holds in the next process, whosever robots.txt leads there, and whatever became of its life.
#[tokio::test(start_paused = true)]
async fn a_delay_asked_for_holds_behind_a_redirect_of_the_next_process() {
    let rows = [
        ("within its life", START.after(HOUR)),
        ("its life is over", START.after(HOUR * 25)),
        ("a clock in 1970", WallTime::from_unix_millis(0)),
    ];
    for (name, wall) in rows {
        let dir = tempfile::tempdir().unwrap();
        let leads = Site::new().name("c.test").robots_answer(Answer::redirect(302, "http://a.test/robots.txt"));
        let slow = Site::new().name("a.test").robots("User-agent: *\nCrawl-delay: 20\n");
        let (net, observer) = Web::builder(1).site(leads).site(slow).build().unwrap().in_memory();
        let first = Process::plain(&net, dir.path(), START);
        first.gate.robots(&origin()).await;
        drop(first);
        let second = Process::plain(&net, dir.path(), wall);
        let begun = observer.now_us();
        second.gate.robots(&Origin::parse("http://c.test").unwrap()).await;
        let log = observer.log();
        let [_, _, last] = &log[..] else { panic!("{name}: a, c, a: {log:?}") };
        let waited = Duration::from_micros(last.arrived_us - begun);
        assert!(waited >= Duration::from_secs(20) && waited < Duration::from_secs(22), "{name}: {waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn thirty_days_of_tries_at_an_unreachable_robots_count_over_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let answers = [Answer::text(RULES), Answer::status(503)];
    let (net, _observer) = web(Site::new().robots_answers(answers).page("/", Answer::text("x")));
    let days = |n: u32| START.after(HOUR * 24 * n);
    let first = Process::plain(&net, dir.path(), START);
    first.gate.robots(&origin()).await;
    drop(first);
    let mut seen = Vec::new();
    // A month between two of them is a day's witness; then a try each day.
    for day in [2, 3, 33].into_iter().chain(34..=62) {
        let process = Process::plain(&net, dir.path(), days(day));
        process.gate.robots(&origin()).await;
        let life = process.gate.robots_life(&origin());
        seen.push((
            day,
            match life.standing(process.wall()) {
                Standing::Unreachable(_) => "closed",
                Standing::Rules { stale: true, .. } => "stale copy",
                other => panic!("day {day}: {other:?}"),
            },
        ));
        let since = life.failing().unwrap().since.since(days(2));
        assert!(since < Duration::from_secs(10), "day {day}: the first failure is that of day 2");
    }
    let opened: Vec<_> = seen.iter().filter(|(_, word)| *word == "stale copy").map(|(day, _)| *day).collect();
    assert_eq!(opened, [61, 62], "30 days of tries: {seen:?}");
}

#[test]
fn a_second_process_is_refused_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let _first = StateDir::open(dir.path(), START).unwrap();
    let refused = StateDir::open(dir.path(), START).unwrap_err();
    assert!(refused.is_held(), "{refused}");
    assert!(refused.to_string().ends_with("is in use by another process"), "{refused}");
    assert!(refused.hint().contains("[state] dir"));
}

#[tokio::test(start_paused = true)]
async fn what_the_cache_lets_go_is_recalled_and_without_a_state_directory_asked_anew() {
    for (keeps, requests) in [(true, 1), (false, 2)] {
        let dir = tempfile::tempdir().unwrap();
        let (net, observer) = web(Site::new().robots(RULES).page("/", Answer::text("x")));
        let process = Process::start(&net, keeps.then(|| dir.path()), START, 0);
        process.gate.robots(&origin()).await;
        // A cache of no bytes lets everything go; when, is its own affair, so wait for it.
        while !matches!(process.gate.judge(&page("/")), Judgement::NeedsRobots(_)) {
            std::thread::yield_now();
        }
        process.gate.robots(&origin()).await;
        assert_eq!(robots_requests(&observer), requests, "state directory: {keeps}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_is_asked_anew_with_its_validators_and_a_304_keeps_it() {
    let tagged = Answer::text(RULES).field("etag", "\"v1\"").field("last-modified", "Mon, 30 Nov 2026 00:00:00 GMT");
    let answers = [tagged, Answer::status(304)];
    let (net, observer) = web(Site::new().robots_answers(answers).page("/", Answer::text("x")));
    let process = Process::start(&net, None, START, 1 << 20);
    process.visit("/").await.unwrap();
    tokio::time::advance(HOUR * 25).await;
    assert!(process.visit("/").await.is_some());
    assert!(process.visit("/private").await.is_none(), "the copy lives on");
    let log = observer.log();
    let asked: Vec<_> = log.iter().filter(|seen| seen.request.target() == b"/robots.txt").collect();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].request.field("if-none-match"), None);
    assert_eq!(asked[1].request.field("if-none-match").as_deref(), Some("\"v1\""));
    assert_eq!(asked[1].request.field("if-modified-since").as_deref(), Some("Mon, 30 Nov 2026 00:00:00 GMT"));
}

#[tokio::test(start_paused = true)]
async fn a_304_that_nobody_asked_for_allows_nothing() {
    let (net, _observer) = web(Site::new().robots_answer(Answer::status(304)).page("/", Answer::text("x")));
    let process = Process::start(&net, None, START, 1 << 20);
    process.gate.robots(&origin()).await;
    assert!(matches!(process.gate.judge(&page("/")), Judgement::Hold(hold) if hold.reason == Reason::ParkRobots));
}

#[tokio::test(start_paused = true)]
async fn traffic_in_the_last_tenth_of_a_life_asks_ahead_and_nobody_waits_for_it() {
    let slow = Answer::text(RULES).delay(Duration::from_secs(9));
    let answers = [Answer::text(RULES), Answer::status(500), slow];
    let (net, observer) = web(Site::new().robots_answers(answers).page("/", Answer::text("x")));
    let process = Process::start(&net, None, START, 1 << 20);
    process.visit("/").await.unwrap();
    tokio::time::advance(HOUR * 21).await;
    process.visit("/").await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(robots_requests(&observer), 1, "not yet in the last tenth");
    tokio::time::advance(HOUR).await;
    process.visit("/").await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(robots_requests(&observer), 2, "asked ahead, and failed");
    assert!(matches!(process.gate.judge(&page("/")), Judgement::Allow(_)), "which changes nothing before the end");
    tokio::time::sleep(Duration::from_secs(120)).await;
    process.visit("/").await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(robots_requests(&observer), 3, "the next try, in its turn");
    tokio::time::advance(HOUR * 4).await;
    assert!(matches!(process.gate.judge(&page("/")), Judgement::Allow(_)), "the new life has begun");
    assert_eq!(robots_requests(&observer), 3);
}

#[tokio::test(start_paused = true)]
async fn a_life_that_seems_to_begin_in_the_future_is_over() {
    for back in [Duration::from_secs(60), HOUR, HOUR * 24 * 365 * 50] {
        let dir = tempfile::tempdir().unwrap();
        let rules = Answer::text(RULES).field("Cache-Control", "max-age=600");
        let (net, observer) = web(Site::new().robots_answer(rules).page("/", Answer::text("x")));
        let first = Process::plain(&net, dir.path(), START);
        assert!(first.visit("/").await.is_some());
        drop(first);
        let earlier = START.unix_millis() - i64::try_from(back.as_millis()).unwrap();
        let second = Process::plain(&net, dir.path(), WallTime::from_unix_millis(earlier));
        assert!(second.visit("/").await.is_some());
        assert_eq!(robots_requests(&observer), 2, "{back:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_in_1970_makes_the_next_one_forget_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (net, _) = web(Site::new().robots(RULES).page("/", Answer::text("x")));
    let first = Process::plain(&net, dir.path(), START);
    assert!(first.visit("/").await.is_some());
    drop(first);
    net.set_resolve_fault("a.test", Some(comity_fetch::ResolveError::Timeout));
    let second = Process::plain(&net, dir.path(), WallTime::from_unix_millis(0));
    second.gate.robots(&origin()).await;
    drop(second);
    let remembered = StateDir::open(dir.path(), START.after(HOUR)).unwrap().look_up(&origin()).unwrap();
    assert!(remembered.is_some_and(|remembered| remembered.life.known.is_some()), "the copy, and its Crawl-delay");
}

/// What was learnt first while the clock stood at 1970 is not forgotten as old when it is right again, whether the directory began
/// then or had seen a better time before.
#[tokio::test(start_paused = true)]
async fn what_was_learnt_first_in_1970_is_not_old_when_the_clock_is_right() {
    let (long_ago, day) = (WallTime::from_unix_millis(3_600_000), HOUR * 24);
    for before in [&[START][..], &[]] {
        let dir = tempfile::tempdir().unwrap();
        let (net, _) = web(Site::new().robots(RULES).page("/", Answer::text("x")));
        before.iter().for_each(|wall| drop(Process::plain(&net, dir.path(), *wall)));
        let learning = Process::plain(&net, dir.path(), long_ago);
        learning.gate.robots(&origin()).await;
        drop(learning);
        // The second of these reads what the first wrote.
        for later in [START.after(day), START.after(day * 2)] {
            let remembered = StateDir::open(dir.path(), later).unwrap().look_up(&origin()).unwrap();
            assert!(remembered.is_some_and(|remembered| remembered.life.known.is_some()), "{before:?}");
        }
        let much_later = START.after(day + StateDir::KEPT * 2);
        let remembered = StateDir::open(dir.path(), much_later).unwrap().look_up(&origin()).unwrap();
        assert_eq!(remembered, None, "nobody asked for it in {:?}", StateDir::KEPT);
    }
}
