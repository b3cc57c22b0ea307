//! One robots.txt, asked for by hand: what is told of it, within a gate and without one.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use comity_fetch::{BoxFuture, FetchConfig, Fetcher, SystemClock};
use comity_gate::{
    AskRobots, Gate, GateConfig, HopMeaning, RecalledRobots, Recorder, RobotsClass, RobotsFetch, RobotsVisit,
    fetch_robots,
};
use comity_policy::{Identity, Judge, Judgement, Politeness, Reason, SeededRandom, WallTime};
use comity_testweb::{Answer, MemoryNet, Observer, Site, Target, Web};
use comity_url::{CrawlUrl, Origin};

/// Keeps the URL of each recorded exchange.
#[derive(Debug, Default)]
struct Seen(Mutex<Vec<String>>);

impl Recorder for Seen {
    fn robots_visit(&self, visit: RobotsVisit) -> BoxFuture<'_, ()> {
        self.0.lock().unwrap().push(visit.capture.url.to_string());
        Box::pin(async {})
    }

    fn site_file_recalled(&self, _recalled: comity_gate::RecalledFile) -> comity_fetch::BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn site_file_visit(&self, _visit: comity_gate::SiteFileVisit) -> comity_fetch::BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn robots_recalled(&self, _recalled: RecalledRobots) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

fn identity() -> Identity {
    Identity::new("TestBot/1.0", "a@example.com", &[], Vec::new()).unwrap()
}

fn open(sites: impl IntoIterator<Item = Site>) -> (Gate, MemoryNet, Observer, Arc<Seen>) {
    let web = sites.into_iter().fold(Web::builder(1), |web, site| web.site(site)).build().unwrap();
    let (net, observer) = web.in_memory();
    let clock = Arc::new(SystemClock::paused_at(WallTime::from_unix_millis(1_796_000_000_000)));
    let own = vec!["10.0.0.0/8".parse().unwrap()];
    let fetch = FetchConfig { allow_addresses: own.clone(), ..FetchConfig::new(identity().user_agent()) };
    let fetcher = Fetcher::new(Arc::new(net.clone()), clock.clone(), fetch).unwrap();
    let seen = Arc::new(Seen::default());
    let politeness = Politeness { own_networks: own, ..Politeness::default() };
    let config = GateConfig { politeness, recorder: seen.clone(), ..GateConfig::new(identity()) };
    (Gate::new(fetcher, clock, Arc::new(SeededRandom::new(1)), config), net, observer, seen)
}

fn origin(text: &str) -> Origin {
    Origin::parse(text).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_chain_is_told_hop_by_hop_and_recorded_like_any_other() {
    let file = Answer::text("User-agent: *\nDisallow: /p\n")
        .field("ETag", "\"1\"")
        .field("Cache-Control", "max-age=7200")
        .delay(Duration::from_millis(40));
    let (gate, _net, observer, seen) = open([
        Site::new().name("a.test").robots_answer(Answer::redirect(301, Target::at(1, "/robots.txt"))),
        Site::new().name("b.test").robots_answer(file),
    ]);
    let found = gate.fetch_robots(&origin("http://a.test"), AskRobots::IfDue).await;
    assert_eq!(found.class, RobotsClass::Parsed { status: 200 });
    let target = CrawlUrl::parse("http://b.test/robots.txt").unwrap();
    let meanings: Vec<_> = found.hops.iter().map(|hop| hop.meaning.clone()).collect();
    assert_eq!(meanings, [HopMeaning::Redirect(target.clone()), HopMeaning::Answer]);
    assert_eq!(found.hops[0].capture.as_ref().unwrap().status, Some(301));
    assert!(found.answer().unwrap().timings.head.unwrap() >= Duration::from_millis(40));
    let (digest, bytes) = found.file.clone().unwrap();
    let copy = found.life.copy().unwrap();
    assert_eq!((copy.digest, copy.bytes, &copy.final_url), (digest, bytes.len() as u64, &Some(target)));
    assert_eq!(found.validators().unwrap().etag.as_deref(), Some("\"1\""));
    assert_eq!((found.max_age, found.age()), (Some(Duration::from_secs(7200)), Some(Duration::ZERO)));
    assert!(!found.rules().unwrap()[0].verdict(b"/p").allowed);
    assert!(!found.robots().unwrap().rules(&["Other"], comity_robots::Dialect::Standard).verdict(b"/p").allowed);
    // The rules are a.test's: what stands at b.test was not asked for b.test.
    assert!(matches!(gate.judge(&CrawlUrl::parse("http://a.test/p").unwrap()), Judgement::Refuse(_)));
    assert!(matches!(gate.judge(&CrawlUrl::parse("http://b.test/p").unwrap()), Judgement::NeedsRobots(_)));
    assert_eq!(*seen.0.lock().unwrap(), ["http://a.test/robots.txt", "http://b.test/robots.txt"]);
    assert_eq!(observer.log().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn within_its_life_it_is_at_hand_and_anew_it_is_asked_whole_and_paced() {
    let file = |text: &str| Answer::text(text.to_owned()).field("ETag", format!("\"{}\"", text.len()));
    let site = Site::new()
        .name("a.test")
        .robots_answers([file("User-agent: *\nCrawl-delay: 7\n"), file("User-agent: *\nDisallow: /\n")]);
    let (gate, _net, observer, _) = open([site]);
    let here = origin("http://a.test");
    let first = gate.fetch_robots(&here, AskRobots::IfDue).await;
    let again = gate.fetch_robots(&here, AskRobots::IfDue).await;
    assert_eq!((again.class.clone(), again.hops.len()), (RobotsClass::AtHand, 0));
    assert_eq!(again.life.copy().unwrap().digest, first.life.copy().unwrap().digest);
    let anew = gate.fetch_robots(&here, AskRobots::Anew).await;
    assert_eq!(anew.class, RobotsClass::Parsed { status: 200 });
    assert_ne!(anew.file.unwrap().0, first.file.unwrap().0);
    let log = observer.log();
    assert_eq!(log.len(), 2);
    assert!(log[1].request.field("if-none-match").is_none(), "asked whole");
    assert!(log[1].arrived_us - log[0].arrived_us >= 7_000_000, "a Crawl-delay of 7 s holds for it too");
    assert!(matches!(gate.judge(&CrawlUrl::parse("http://a.test/").unwrap()), Judgement::Refuse(_)), "in force");
}

#[tokio::test(start_paused = true)]
async fn a_failed_question_is_told_and_changes_no_life_that_holds() {
    let site = Site::new().name("a.test").robots_answers([Answer::text(""), Answer::status(500)]);
    let (gate, ..) = open([site]);
    let here = origin("http://a.test");
    gate.fetch_robots(&here, AskRobots::IfDue).await;
    let anew = gate.fetch_robots(&here, AskRobots::Anew).await;
    let unreachable =
        RobotsClass::Unreachable { cause: Reason::RobotsUnreachable, status: Some(500), retry_after: None };
    assert_eq!(anew.class, unreachable);
    assert!(matches!(gate.judge(&CrawlUrl::parse("http://a.test/").unwrap()), Judgement::Allow(_)));
}

#[tokio::test(start_paused = true)]
async fn whom_the_guard_refuses_is_not_asked_and_who_asked_for_long_is_left_alone() {
    let (gate, _net, observer, _) = open([
        Site::new().name("private.test").address("192.168.0.1".parse().unwrap()).robots(""),
        Site::new().name("slow.test").robots("User-agent: *\nCrawl-delay: 200\n"),
    ]);
    let found = gate.fetch_robots(&origin("http://private.test"), AskRobots::Anew).await;
    assert_eq!(
        found.class,
        RobotsClass::Unreachable { cause: Reason::AddressPrivate, status: None, retry_after: None }
    );
    assert!(matches!(&found.hops[0].meaning, HopMeaning::NotAsked(refused) if refused.detail.contains("192.168.0.1")));
    assert!(observer.log().is_empty());
    let slow = origin("http://slow.test");
    gate.fetch_robots(&slow, AskRobots::Anew).await;
    let later = gate.fetch_robots(&slow, AskRobots::Anew).await;
    assert!(matches!(later.class, RobotsClass::Later(ready) if ready.clock == Reason::RateCrawlDelay), "{later:?}");
    assert_eq!((later.hops.len(), observer.log().len()), (0, 1));
}

#[tokio::test]
async fn one_call_over_the_machines_network() {
    let served = Web::builder(1).site(Site::new()).build().unwrap().serve_loopback().await.unwrap();
    let here = origin(&served.origins()[0]);
    let refused = fetch_robots(&here, identity()).await.unwrap();
    assert!(matches!(refused.class, RobotsClass::Unreachable { cause: Reason::AddressPrivate, .. }));
    let allowed = RobotsFetch::new(identity()).allow(["127.0.0.0/8".parse().unwrap()]);
    assert_eq!(fetch_robots(&here, allowed).await.unwrap().class, RobotsClass::Absent { status: 404 });
    assert!(fetch_robots(&here, RobotsFetch::new(identity()).allow(["8.8.8.8".parse().unwrap()])).await.is_err());
}
