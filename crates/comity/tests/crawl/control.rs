//! A crawl that is steered while it runs, and between two runs.

use std::sync::Arc;
use std::time::Duration;

use comity::control::{Control, ControlFault, Op};
use comity::policy::Clock;
use comity::{Crawler, CrawlerBuilder, Progress, Summary};
use comity_testweb::{Answer, Site, Target};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::{Notify, watch};

use crate::support::{arrivals, asked, assert_clean, crawler, requests, web};

/// Pages `/0` to `/n`, each reached from the first.
fn pages(name: &str, n: usize) -> Site {
    let path = |i: usize| format!("/{i}");
    let first = Site::new().name(name).page("/", Answer::page((0..n).map(|i| Target::here(path(i)))));
    (0..n).fold(first, |site, i| site.page(path(i), Answer::text("x")))
}

/// Until so many pages were fetched.
pub(super) async fn fetched(progress: &mut watch::Receiver<Progress>, pages: u64) {
    progress.wait_for(|progress| progress.pages >= pages).await.unwrap();
}

/// A crawl under way, and what steers it.
pub(super) struct Steered {
    pub(super) control: Control,
    pub(super) progress: watch::Receiver<Progress>,
    pub(super) clock: Arc<dyn Clock>,
    began: u64,
    run: tokio::task::JoinHandle<Summary>,
}

impl Steered {
    pub(super) fn start(builder: CrawlerBuilder) -> Self {
        let crawler: Crawler = builder.build().unwrap();
        let (control, progress, clock) = (crawler.control(), crawler.progress(), crawler.clock());
        let began = clock.now().as_micros();
        let run = tokio::spawn(async move { crawler.run().await.unwrap() });
        Self { control, progress, clock, began, run }
    }

    /// Microseconds since the web was put up.
    pub(super) fn now(&self) -> u64 {
        self.clock.now().as_micros() - self.began
    }

    async fn ask(&self, op: Op) -> (Vec<Value>, Value) {
        let answer = self.control.ask(op).await.unwrap();
        (answer.rows, answer.about)
    }

    pub(super) async fn end(self) -> Summary {
        let summary = self.run.await.unwrap();
        eprintln!("{summary}");
        summary
    }
}

fn park(origin: &str) -> Op {
    Op::Park { origin: origin.into(), until: None, why: "its operator called".into() }
}

fn list(filter: &str) -> Op {
    serde_json::from_value(serde_json::json!({"op": "list", "filter": filter})).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_parked_origin_sees_nothing_from_the_answer_to_its_release() {
    let (net, observer) = web([pages("a.test", 20), pages("b.test", 60)]);
    let mut crawl = Steered::start(crawler(&net, &["http://a.test/", "http://b.test/"]));
    fetched(&mut crawl.progress, 8).await;
    let (_, about) = crawl.ask(park("http://a.test")).await;
    let parked = crawl.now();
    assert_eq!(about["open"], 0, "what was open is over when it is answered");
    tokio::time::sleep(Duration::from_secs(20)).await;
    let (rows, _) = crawl.ask(list("stuck")).await;
    assert_eq!(
        (rows.len(), &rows[0]["origin"], &rows[0]["reason"]),
        (1, &"http://a.test".into(), &"park.operator".into())
    );
    assert_eq!((&rows[0]["state"], &rows[0]["wait_ms"]), (&"stuck".into(), &Value::Null));
    let (rows, _) = crawl.ask(Op::Parks).await;
    assert_eq!((&rows[0]["why"], &rows[0]["until"]), (&"its operator called".into(), &Value::Null));
    let released = crawl.now();
    let (_, about) = crawl.ask(Op::Release { origin: "http://a.test".into() }).await;
    assert_eq!(about["was_parked"], true);
    let (_, about) = crawl.ask(Op::Release { origin: "http://a.test".into() }).await;
    assert_eq!(about["was_parked"], false);
    let summary = crawl.end().await;
    assert_eq!((summary.pages(), summary.left), (82, 0), "nothing is lost by it");
    let a: Vec<u64> =
        arrivals(&observer).into_iter().filter(|(url, _)| url.contains("a.test")).map(|(_, at)| at).collect();
    let between = a.iter().filter(|at| (parked..released).contains(at)).count();
    assert_eq!(between, 0, "{parked}..{released}: {a:?}");
    assert!(a.iter().any(|at| *at < parked) && a.iter().any(|at| *at > released), "{parked}..{released}: {a:?}");
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn a_park_that_ends_by_itself_ends_at_its_moment() {
    let (net, observer) = web([pages("a.test", 10), pages("b.test", 60)]);
    let mut crawl = Steered::start(crawler(&net, &["http://a.test/", "http://b.test/"]));
    fetched(&mut crawl.progress, 4).await;
    let until = crawl.clock.wall().after(Duration::from_secs(30)).to_string();
    let park = Op::Park { origin: "http://a.test/some/page".into(), until: Some(until), why: "lunch".into() };
    let (parked, ends) = (crawl.now(), crawl.now() + 30_000_000);
    crawl.ask(park).await;
    let answered = crawl.now();
    let summary = crawl.end().await;
    assert_eq!((summary.pages(), summary.left), (72, 0));
    let a: Vec<u64> =
        arrivals(&observer).into_iter().filter(|(url, _)| url.contains("a.test")).map(|(_, at)| at).collect();
    assert!(a.iter().all(|at| *at <= answered || *at >= ends - 1000), "{parked} {answered}..{ends}: {a:?}");
    let first = a.iter().find(|at| **at > answered).unwrap();
    assert!(*first < ends + 2_000_000, "it goes on then: {ends}: {a:?}");
}

#[tokio::test(start_paused = true)]
async fn who_is_parked_before_the_first_request_is_not_even_asked_for_robots_txt_in_any_run() {
    let sites = || [pages("a.test", 2), pages("b.test", 2)];
    let dir = TempDir::new().unwrap();
    let crawl = dir.path().join("d");
    let builder = |net| {
        crawler(net, &["http://a.test/", "http://b.test/"])
            .dir(&crawl)
            .configure(|file| file.archive.min_free = Some(comity::config::ByteSize(0)))
    };
    let (net, observer) = web(sites());
    let first = builder(&net).build().unwrap();
    first.control().park("http://b.test".into(), None, "ask legal first").await.unwrap();
    let summary = first.run().await.unwrap();
    assert_eq!((summary.pages(), summary.left, summary.exit_code()), (3, 1, 4));
    assert!(
        summary.to_string().contains("waits      http://b.test (1 URL): waiting: parked by the operator"),
        "{summary}"
    );
    assert!(requests(&observer).iter().all(|url| !url.contains("b.test")), "{:?}", requests(&observer));

    // The next run knows.
    let (net, observer) = web(sites());
    let summary = builder(&net).build().unwrap().run().await.unwrap();
    assert_eq!((summary.pages(), summary.left), (0, 1));
    assert_eq!(requests(&observer), [""; 0]);

    // Between two runs it is read from the directory, and released there.
    let stopped = Control::stopped(&crawl).unwrap();
    let error = Control::stopped(&crawl).unwrap_err();
    assert!(error.is_held(), "one at a time: {error}");
    let rows = stopped.ask(Op::Parks).await.unwrap().rows;
    assert_eq!(rows[0]["why"], "ask legal first");
    let stats = stopped.ask(Op::Stats).await.unwrap().about;
    assert_eq!(
        (&stats["running"], &stats["queued"], &stats["done"], &stats["parked"]),
        (&false.into(), &1.into(), &3.into(), &1.into())
    );
    stopped.ask(Op::Release { origin: "http://b.test".into() }).await.unwrap();
    drop(stopped);
    let (net, observer) = web(sites());
    let summary = builder(&net).build().unwrap().run().await.unwrap();
    assert_eq!((summary.pages(), summary.left), (3, 0));
    assert_eq!(asked(&observer, "http://b.test/robots.txt"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_robots_txt_on_its_way_ends_the_park_of_nobody() {
    // Its robots.txt redirects to the parked origin: that one sees nothing, and the rules are unknown, so closed.
    let moved = Site::new().name("a.test").robots_answer(Answer::redirect(302, Target::at(1, "/robots.txt")));
    let (net, observer) = web([moved.page("/", Answer::text("x")), pages("b.test", 2), pages("c.test", 5)]);
    let builder = crawler(&net, &["http://a.test/", "http://b.test/", "http://c.test/"]);
    let crawler = builder.build().unwrap();
    crawler.control().park("http://b.test".into(), None, "maintenance").await.unwrap();
    let summary = crawler.run().await.unwrap();
    assert_eq!((summary.pages(), summary.left), (6, 2), "{summary}");
    assert!(requests(&observer).iter().all(|url| !url.contains("b.test")), "{:?}", requests(&observer));
}

#[tokio::test(start_paused = true)]
async fn seeds_are_added_while_it_runs_and_belong_to_it() {
    let dir = TempDir::new().unwrap();
    let crawl = dir.path().join("d");
    let (net, observer) = web([pages("a.test", 20), pages("b.test", 3)]);
    let builder = crawler(&net, &["http://a.test/"])
        .dir(&crawl)
        .exclude(["/left/"])
        .configure(|file| file.archive.min_free = Some(comity::config::ByteSize(0)));
    let mut steered = Steered::start(builder);
    fetched(&mut steered.progress, 3).await;
    let seeds = |texts: &[&str]| Op::Seed { urls: texts.iter().map(ToString::to_string).collect() };
    // One that a pattern leaves out opens no scope either; the others have their answers in their order.
    let (rows, _) = steered.ask(seeds(&["http://c.test/left/x", "http://b.test/", "http://a.test/"])).await;
    assert_eq!((&rows[0]["outcome"], &rows[0]["reason"]), (&"refused".into(), &"url.scope".into()));
    assert_eq!((&rows[1]["outcome"], &rows[2]["outcome"]), (&"new".into(), &"seen".into()));
    let error = steered.control.ask(seeds(&["http://b.test/new", "b.test"])).await.unwrap_err();
    assert_eq!(error.fault, ControlFault::Usage);
    assert!(error.what.starts_with("\"b.test\": "), "{error}");
    let control = steered.control.clone();
    let summary = steered.end().await;
    assert_eq!((summary.pages(), summary.left), (25, 0), "its links too: its origin is in the scope");
    assert_clean(&observer);
    let error = control.ask(Op::Stats).await.unwrap_err();
    assert_eq!(error.fault, ControlFault::Engine, "the crawl is over: {error}");
    // Stopped, a crawl takes seeds too.
    let stopped = Control::stopped(&crawl).unwrap();
    let rows =
        stopped.ask(seeds(&["http://b.test/", "http://a.test/left/", "http://a.test/later"])).await.unwrap().rows;
    let outcomes: Vec<&Value> = rows.iter().map(|row| &row["outcome"]).collect();
    assert_eq!(outcomes, ["seen", "refused", "new"]);
    let rows = stopped.ask(Op::Urls { origin: None, after: None, n: None }).await.unwrap().rows;
    assert_eq!((rows.len(), &rows[0]["url"], &rows[0]["seed"]), (1, &"http://a.test/later".into(), &true.into()));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_done_is_told_by_whose_fault_it_is() {
    let (net, _observer) = web([pages("a.test", 1)]);
    let crawler = crawler(&net, &["http://a.test/"]).build().unwrap();
    let control = crawler.control();
    let past = Op::Park { origin: "http://a.test".into(), until: Some("2020-01-01T00:00:00Z".into()), why: "x".into() };
    let table = [
        (park("a.test"), "\"a.test\" is no origin"),
        (past, "over already"),
        (
            Op::Park { origin: "http://a.test".into(), until: Some("soon".into()), why: "x".into() },
            "\"soon\" is no moment",
        ),
        (Op::Park { origin: "http://a.test".into(), until: None, why: " ".into() }, "needs a reason"),
        (Op::Park { origin: "http://a.test".into(), until: None, why: "x".repeat(501) }, "more than 500"),
        (Op::Seed { urls: Vec::new() }, "0 seeds"),
    ];
    for (op, says) in table {
        let error = control.ask(op.clone()).await.unwrap_err();
        assert_eq!(error.fault, ControlFault::Usage, "{op:?}");
        assert!(error.what.contains(says), "{op:?}: {error}");
    }
    assert_eq!(control.ask(Op::Parks).await.unwrap().rows, [Value::Null; 0], "none of them parked anybody");
    let missing = TempDir::new().unwrap();
    assert!(Control::stopped(missing.path()).unwrap_err().is_storage());
}

/// However near the end of the crawl a seed comes: it is taken and fetched, or refused. The end takes six seconds: a robots.txt that
/// was asked ahead is on its way when nothing is left to do.
#[tokio::test(start_paused = true)]
async fn a_late_seed_is_fetched_or_told_that_the_crawl_is_over() {
    let (mut taken, mut over) = (0, 0);
    for wait_ms in [0, 1, 100, 1000, 3000, 5000] {
        // The last of its pages comes in the last tenth of five minutes.
        let rules = || Answer::text("User-agent: *\nCrawl-delay: 5\n").field("Cache-Control", "max-age=300");
        let asked_ahead = pages("a.test", 53).robots_answers([rules(), rules().delay(Duration::from_secs(9))]);
        let last = Site::new().name("b.test").robots("User-agent: *\nCrawl-delay: 139\n");
        let last = last.page("/", Answer::page(["/last"])).page("/last", Answer::text("x"));
        let (net, observer) = web([asked_ahead, last]);
        let done = Arc::new(Notify::new());
        let telling = done.clone();
        let builder = crawler(&net, &["http://a.test/", "http://b.test/"])
            .on_outcome(move |outcome| {
                if outcome.url.path() == "/last" {
                    telling.notify_one()
                }
            })
            .configure(|file| file.crawl.linger = Some(comity::config::Span(Duration::from_secs(300))));
        let crawler = builder.build().unwrap();
        let (control, clock) = (crawler.control(), crawler.clock());
        let late = async {
            done.notified().await;
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            (control.ask(Op::Seed { urls: vec!["http://b.test/late".into()] }).await, clock.now())
        };
        let ((answer, seeded), (summary, ended)) =
            tokio::join!(biased; late, async { (crawler.run().await.unwrap(), clock.now()) });
        assert!(seeded < ended, "{wait_ms} ms later the crawl still ends");
        assert_eq!(summary.left, 0, "{wait_ms} ms later");
        let was_asked = asked(&observer, "http://b.test/late");
        match answer {
            Ok(answer) => {
                assert_eq!((&answer.rows[0]["outcome"], was_asked), (&"new".into(), 1), "{wait_ms} ms later");
                taken += 1;
            }
            Err(error) => {
                assert_eq!((error.fault, was_asked), (ControlFault::Engine, 0), "{wait_ms} ms later: {error}");
                over += 1;
            }
        }
    }
    assert!(taken > 0 && over > 0, "{taken} taken, {over} refused");
}
