//! A configuration that changes while a crawl runs: what is queued is held to it too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use comity::config::{ByteSize, ConfigFile, Moment, OverrideSection, Span};
use comity::control::{ControlFault, Reload};
use comity::policy::{OptOutAction, OptOutLine, Reason, WallTime};
use comity::{CrawlerBuilder, End};
use comity_gate::append_optout;
use comity_testweb::{Answer, Auditor, MemoryNet, Observer, Site, Target};
use tempfile::TempDir;

use crate::control::{Steered, fetched};
use crate::support::{START, arrivals, assert_clean, crawler, requests, web};

/// Pages `/keep/n` and `/drop/n` in turn, each reached from the first.
fn both(name: &str, n: usize) -> Site {
    let paths = move || (0..n).flat_map(|i| [format!("/keep/{i}"), format!("/drop/{i}")]);
    let first = Site::new().name(name).page("/", Answer::page(paths().map(Target::here)));
    paths().fold(first, |site, path| site.page(path, Answer::text("x")))
}

fn kept(net: &MemoryNet, seeds: &[&str], dir: &Path) -> CrawlerBuilder {
    crawler(net, seeds).dir(dir).configure(|file| file.archive.min_free = Some(ByteSize(0)))
}

/// The configuration in force, changed.
fn changed(dir: &Path, change: impl FnOnce(&mut ConfigFile)) -> ConfigFile {
    let mut file = ConfigFile::read(&dir.join("crawl.toml")).unwrap();
    change(&mut file);
    file
}

fn texts(texts: &[&str]) -> Option<Vec<String>> {
    Some(texts.iter().map(ToString::to_string).collect())
}

async fn reload(crawl: &Steered, dir: &Path, change: impl FnOnce(&mut ConfigFile)) -> Vec<String> {
    let answer = crawl.control.reload(changed(dir, change), Reload::Apply).await.unwrap();
    assert_eq!(answer.about["open"], 0, "what began before is over");
    answer.rows.iter().map(|row| row["change"].as_str().unwrap().to_owned()).collect()
}

/// URLs with this in them that arrived after an instant.
fn after(observer: &Observer, part: &str, at: u64) -> Vec<String> {
    arrivals(observer)
        .into_iter()
        .filter(|(url, arrived)| url.contains(part) && *arrived > at)
        .map(|(url, _)| url)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn excluded_urls_leave_the_queue_with_a_record_and_without_a_request() {
    let dir = TempDir::new().unwrap();
    let d = dir.path().join("d");
    // The second origin is excluded before anybody asked it: it does not even see a request for robots.txt.
    let slow = both("b.test", 3).robots_answer(Answer::status(500));
    let (net, observer) = web([both("a.test", 20), slow]);
    let mut crawl = Steered::start(kept(&net, &["http://a.test/"], &d));
    fetched(&mut crawl.progress, 8).await;
    let before = std::fs::read_to_string(d.join("crawl.toml")).unwrap();
    let exclude = texts(&["http://a.test/drop/*"]);
    let told = reload(&crawl, &d, |file| file.crawl.exclude = exclude).await;
    let at = crawl.now();
    assert_eq!(told, ["crawl.exclude: (not set) -> [\"http://a.test/drop/*\"]"]);
    let summary = crawl.end().await;
    assert_eq!(after(&observer, "/drop/", at), [""; 0]);
    let dropped = summary.refused.get(&Reason::UrlScope).copied().unwrap();
    assert!(dropped >= 16, "{dropped}");
    assert_eq!((summary.pages() + dropped, summary.left), (41, 0), "each has its outcome");
    assert!(summary.to_string().contains("crawl.exclude: (not set)"), "{summary}");
    assert_clean(&observer);

    // Records name the configuration that they were decided under, and each of them can still be read.
    let now = std::fs::read_to_string(d.join("crawl.toml")).unwrap();
    let records = comity_archive::read_records(&d).unwrap().map(|line| line.unwrap().record().unwrap().unwrap());
    let mut texts = std::collections::BTreeSet::new();
    for record in records {
        let digest = record.agent.config_digest.clone().unwrap();
        let text = std::fs::read_to_string(d.join("configs").join(format!("{digest}.toml"))).unwrap();
        if record.reason == "url.scope" {
            assert_eq!(text, now, "{}", record.url);
        }
        texts.insert(text);
    }
    assert_eq!(texts, [before, now].into());
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_cannot_be_written_down_changes_nothing() {
    let dir = TempDir::new().unwrap();
    let d = dir.path().join("d");
    let (net, observer) = web([both("a.test", 10)]);
    let mut crawl = Steered::start(kept(&net, &["http://a.test/"], &d));
    fetched(&mut crawl.progress, 5).await;
    let before = std::fs::read_to_string(d.join("crawl.toml")).unwrap();
    // In the way of the new file's first name.
    std::fs::create_dir(d.join("crawl.toml.new")).unwrap();
    let file = changed(&d, |file| file.crawl.exclude = texts(&["http://a.test/*"]));
    let error = crawl.control.reload(file, Reload::Apply).await.unwrap_err();
    assert!(error.what.contains("crawl.toml cannot be written"), "{error}");
    assert_eq!(crawl.end().await.pages(), 21);
    assert_eq!(std::fs::read_to_string(d.join("crawl.toml")).unwrap(), before);
    let digests: std::collections::BTreeSet<_> = comity_archive::read_records(&d)
        .unwrap()
        .map(|line| line.unwrap().record().unwrap().unwrap().agent.config_digest)
        .collect();
    assert_eq!(digests.len(), 1, "records name the one that stayed in force: {digests:?}");
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn an_excluded_origin_costs_no_robots_txt_and_the_next_run_knows() {
    let dir = TempDir::new().unwrap();
    let d = dir.path().join("d");
    let linked = Site::new()
        .name("a.test")
        .page("/", Answer::page([Target::at(1, "/"), Target::here("/1"), Target::here("/2")]));
    let a = linked.page("/1", Answer::text("x")).page("/2", Answer::text("x"));
    let (net, observer) = web([a, both("b.test", 3)]);
    let crawl = kept(&net, &["http://a.test/"], &d)
        .configure(|file| (file.crawl.scope, file.crawl.max_pages) = (Some("any".into()), Some(1)));
    assert_eq!(crawl.build().unwrap().run().await.unwrap().pages(), 1);
    let file = changed(&d, |file| (file.crawl.exclude, file.crawl.max_pages) = (texts(&["http://b.test/*"]), None));
    let crawl = kept(&net, &["http://a.test/"], &d).configure(|own| *own = file).accept_config(true);
    let summary = crawl.build().unwrap().run().await.unwrap();
    assert_eq!((summary.pages(), summary.refused.get(&Reason::UrlScope), summary.left), (2, Some(&1), 0), "{summary}");
    assert!(requests(&observer).iter().all(|url| !url.contains("b.test")), "{:?}", requests(&observer));
}

#[tokio::test(start_paused = true)]
async fn what_is_included_no_more_leaves_the_queue_and_seeds_stay() {
    let dir = TempDir::new().unwrap();
    let d = dir.path().join("d");
    let (net, observer) = web([both("a.test", 20)]);
    let mut crawl = Steered::start(kept(&net, &["http://a.test/"], &d));
    fetched(&mut crawl.progress, 8).await;
    let include = texts(&["http://a.test/keep/*"]);
    reload(&crawl, &d, |file| file.crawl.include = include).await;
    let at = crawl.now();
    let summary = crawl.end().await;
    assert_eq!(after(&observer, "/drop/", at), [""; 0]);
    let dropped = summary.refused.get(&Reason::UrlScope).copied().unwrap();
    assert_eq!((summary.pages() + dropped, summary.left), (41, 0));
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn an_opt_out_file_that_is_named_later_ends_everything_at_once() {
    let dir = TempDir::new().unwrap();
    let (d, file) = (dir.path().join("d"), dir.path().join("optout.jsonl"));
    let line = OptOutLine::new(OptOutAction::Add, "a.test".parse().unwrap(), "owner", "letter", WallTime::default());
    append_optout(&file, &line.unwrap()).unwrap();
    let (net, observer) = web([both("a.test", 20), both("b.test", 20)]);
    let mut crawl = Steered::start(kept(&net, &["http://a.test/", "http://b.test/"], &d));
    fetched(&mut crawl.progress, 8).await;
    reload(&crawl, &d, |config| config.optout.files = Some(vec![file.clone()])).await;
    let at = crawl.now();
    // The file stays: an opt-out ends by a line only.
    let gone = crawl.control.reload(changed(&d, |config| config.optout.files = None), Reload::Apply).await.unwrap_err();
    assert_eq!(gone.fault, ControlFault::Usage);
    assert!(gone.what.contains("is not named any more; nothing was changed"), "{gone}");
    let summary = crawl.end().await;
    assert_eq!(after(&observer, "a.test", at), [""; 0]);
    let out = summary.refused.get(&Reason::Optout).copied().unwrap();
    assert_eq!((summary.pages() + out, summary.left), (82, 0));
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn a_longer_delay_holds_from_the_next_request_on() {
    let dir = TempDir::new().unwrap();
    let d = dir.path().join("d");
    let (net, observer) = web([both("a.test", 10)]);
    let mut crawl = Steered::start(kept(&net, &["http://a.test/"], &d));
    fetched(&mut crawl.progress, 8).await;
    let told = reload(&crawl, &d, |file| file.politeness.delay = Some(Span(Duration::from_secs(7)))).await;
    let at = crawl.now();
    assert_eq!(told, ["politeness.delay: \"1s\" -> \"7s\""]);
    let summary = crawl.end().await;
    assert_eq!(summary.pages(), 21);
    let times: Vec<u64> = arrivals(&observer).into_iter().map(|(_, at)| at).collect();
    let gaps = |late: bool| -> Vec<u64> {
        times.windows(2).filter(|pair| (pair[1] > at) == late).map(|pair| pair[1] - pair[0]).collect()
    };
    assert!(gaps(false).iter().all(|gap| *gap < 2_000_000), "{:?}", gaps(false));
    assert!(gaps(true).len() >= 12 && gaps(true).iter().all(|gap| *gap >= 7_000_000), "{:?}", gaps(true));
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn a_rate_of_the_crawl_begins_when_it_is_set() {
    let dir = TempDir::new().unwrap();
    let d = dir.path().join("d");
    let (net, observer) = web([both("a.test", 8), both("b.test", 8), both("c.test", 8)]);
    let mut crawl = Steered::start(kept(&net, &["http://a.test/", "http://b.test/", "http://c.test/"], &d));
    fetched(&mut crawl.progress, 9).await;
    reload(&crawl, &d, |file| file.politeness.max_rate = Some("30/m".into())).await;
    let at = crawl.now();
    let summary = crawl.end().await;
    assert_eq!(summary.pages(), 51);
    let times: Vec<u64> = arrivals(&observer).into_iter().map(|(_, at)| at).filter(|arrived| *arrived > at).collect();
    assert!(times.len() > 30 && times.windows(2).all(|pair| pair[1] - pair[0] >= 2_000_000), "{times:?}");
    assert_clean(&observer);
}

/// An override for `http://a.test`.
fn excepted(scope: &str) -> OverrideSection {
    let day = |days: i64| Some(Moment(WallTime::from_unix_millis(START.unix_millis() + days * 86_400_000)));
    OverrideSection {
        id: Some("own".into()),
        origins: texts(&["http://a.test"]),
        scope: texts(&[scope]),
        basis: Some("own_site".into()),
        justification: Some("Our own site, looked at before release".into()),
        approved_by: Some("Ann".into()),
        created: day(-1),
        expires: day(30),
        ..OverrideSection::default()
    }
}

#[tokio::test(start_paused = true)]
async fn an_override_comes_and_goes() {
    let dir = TempDir::new().unwrap();
    let d = dir.path().join("d");
    let closed = both("a.test", 20).robots("User-agent: *\nDisallow: /drop/\n");
    let (net, observer) = web([closed, both("b.test", 60)]);
    let mut crawl = Steered::start(kept(&net, &["http://a.test/", "http://b.test/"], &d));
    fetched(&mut crawl.progress, 10).await;
    reload(&crawl, &d, |file| file.overrides = Some(vec![excepted("robots")])).await;
    let came = crawl.now();
    fetched(&mut crawl.progress, 20).await;
    reload(&crawl, &d, |file| file.overrides = Some(Vec::new())).await;
    let went = crawl.now();
    let summary = crawl.end().await;
    let dropped: Vec<u64> =
        arrivals(&observer).into_iter().filter(|(url, _)| url.contains("a.test/drop")).map(|(_, at)| at).collect();
    assert!(!dropped.is_empty() && dropped.iter().all(|at| *at > came && *at < went), "{came}..{went}: {dropped:?}");
    assert_eq!(summary.overrides[0].urls, dropped.len() as u64, "what it lifted is told after its end too");
    let refused = summary.refused.get(&Reason::RobotsDisallow).copied().unwrap();
    assert_eq!((refused + dropped.len() as u64, summary.left), (20, 0));
}

#[tokio::test(start_paused = true)]
async fn who_was_held_until_told_is_judged_by_the_new_settings() {
    type Change = fn(&mut ConfigFile);
    let table: [(&str, Change); 2] = [
        ("a longer max_crawl_delay", |file| file.politeness.max_crawl_delay = Some(Span(Duration::from_secs(900)))),
        ("an override of the rate", |file| file.overrides = Some(vec![excepted("rate")])),
    ];
    for (name, change) in table {
        let dir = TempDir::new().unwrap();
        let d = dir.path().join("d");
        let slow = |name| both(name, 1).robots("User-agent: *\nCrawl-delay: 600\n");
        let (net, observer) = web([slow("a.test"), slow("c.test"), both("b.test", 40)]);
        let seeds = ["http://a.test/", "http://c.test/", "http://b.test/"];
        let patient =
            kept(&net, &seeds, &d).configure(|file| file.crawl.linger = Some(Span(Duration::from_secs(3600))));
        let mut crawl = Steered::start(patient);
        fetched(&mut crawl.progress, 10).await;
        crawl.control.park("http://c.test".into(), None, "the owner asked").await.unwrap();
        let asked = |host: &str| requests(&observer).iter().filter(|url| url.contains(host)).count();
        let robots = (asked("a.test/robots.txt"), asked("c.test/robots.txt"));
        assert_eq!(robots, (1, 1), "{name}");
        assert_eq!((asked("a.test/"), asked("c.test/")), robots, "{name}");
        reload(&crawl, &d, change).await;
        crawl.end().await;
        assert_eq!(asked("a.test/") - asked("a.test/robots.txt"), 3, "{name}: {:?}", requests(&observer));
        assert_eq!(asked("c.test/"), 1, "{name}: it is parked");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lower_limit_ends_the_crawl_and_what_is_queued_stays() {
    let dir = TempDir::new().unwrap();
    let d = dir.path().join("d");
    let (net, _observer) = web([both("a.test", 20)]);
    let mut crawl = Steered::start(kept(&net, &["http://a.test/"], &d));
    fetched(&mut crawl.progress, 5).await;
    reload(&crawl, &d, |file| file.crawl.max_pages = Some(7)).await;
    let summary = crawl.end().await;
    assert_eq!((summary.pages(), summary.end, summary.left), (7, End::Limit("max_pages"), 34));
}

#[tokio::test(start_paused = true)]
async fn what_may_not_change_is_refused_by_name_and_changes_nothing() {
    let dir = TempDir::new().unwrap();
    let d = dir.path().join("d");
    let (net, observer) = web([both("a.test", 6)]);
    let crawl = Steered::start(kept(&net, &["http://a.test/"], &d));
    let before = std::fs::read_to_string(d.join("crawl.toml")).unwrap();
    type Change = fn(&mut ConfigFile);
    let table: [(Change, &str, &str); 8] = [
        (|file| file.agent.contact = Some("b@example.com".into()), "agent.contact", "--accept-config"),
        (|file| file.crawl.scope = Some("any".into()), "crawl.scope", "--accept-config"),
        (|file| file.robots.dialect = Some("google".into()), "robots.dialect", "--accept-config"),
        (|file| file.crawl.revisit = Some("adaptive".into()), "crawl.revisit", "comity crawl --dir"),
        (|file| file.archive.warc = Some(false), "archive.warc", "comity crawl --dir"),
        (|file| file.crawl.seeds = texts(&["http://b.test/"]), "is a new seed", "comity frontier seed"),
        (|file| file.politeness.max_rate = Some("fast".into()), "max_rate", ""),
        (
            |file| {
                let mut past = excepted("robots");
                past.expires = Some(Moment(START));
                file.overrides = Some(vec![past]);
            },
            "it ran out",
            "",
        ),
    ];
    for (change, names, hint) in table {
        // Beside something that could change: all or nothing.
        let file = changed(&d, |file| {
            change(file);
            file.politeness.delay = Some(Span(Duration::from_secs(50)));
        });
        let error = crawl.control.reload(file, Reload::Apply).await.unwrap_err();
        assert_eq!(error.fault, ControlFault::Usage, "{error}");
        assert!(error.what.contains(names), "{names}: {error}");
        assert!(error.hint.unwrap_or_default().contains(hint), "{names}");
    }
    // Shown is not applied; the same is no change.
    let slower = changed(&d, |file| file.politeness.delay = Some(Span(Duration::from_secs(50))));
    let shown = crawl.control.reload(slower, Reload::Show).await.unwrap();
    assert_eq!(shown.rows[0]["change"], "politeness.delay: \"1s\" -> \"50s\"");
    let same = crawl.control.reload(changed(&d, |_| {}), Reload::Apply).await.unwrap();
    assert_eq!(same.rows.len(), 0);
    assert_eq!(std::fs::read_to_string(d.join("crawl.toml")).unwrap(), before);
    let summary = crawl.end().await;
    assert_eq!(summary.pages(), 13);
    assert!(summary.elapsed < Duration::from_secs(20), "at the old pace: {summary}");
    assert!(Auditor::new().floor(Duration::from_secs(1)).examine(&observer).is_clean());
}

#[tokio::test(start_paused = true)]
async fn fewer_places_hold_from_the_next_visit_on() {
    let dir = TempDir::new().unwrap();
    let d = dir.path().join("d");
    let slow = |name| both(name, 15).latency(Duration::from_millis(700));
    let (net, observer) = web([slow("a.test"), slow("b.test"), slow("c.test")]);
    let mut crawl = Steered::start(kept(&net, &["http://a.test/", "http://b.test/", "http://c.test/"], &d));
    fetched(&mut crawl.progress, 20).await;
    let told = reload(&crawl, &d, |file| {
        file.politeness.total = Some(1);
        file.crawl.retries = Some(0);
    });
    assert_eq!(told.await.len(), 2);
    let at = crawl.now();
    crawl.end().await;
    let log = observer.log();
    let open =
        |at: u64| log.iter().filter(move |seen| seen.arrived_us <= at && seen.ended_us.is_some_and(|end| end > at));
    let most = |late: bool| {
        let arrivals = log.iter().map(|seen| seen.arrived_us).filter(|arrived| (*arrived > at) == late);
        arrivals.map(|arrived| open(arrived).count()).max().unwrap()
    };
    assert_eq!((most(false), most(true)), (3, 1));
}

/// Requests, not visits alone: the gate has places of its own.
#[tokio::test(start_paused = true)]
async fn more_places_hold_from_the_next_visit_on() {
    let dir = TempDir::new().unwrap();
    let d = dir.path().join("d");
    let slow = |name| both(name, 15).latency(Duration::from_millis(700));
    let (net, observer) = web([slow("a.test"), slow("b.test"), slow("c.test")]);
    let builder = kept(&net, &["http://a.test/", "http://b.test/", "http://c.test/"], &d);
    let mut crawl = Steered::start(builder.configure(|file| file.politeness.total = Some(1)));
    fetched(&mut crawl.progress, 10).await;
    reload(&crawl, &d, |file| file.politeness.total = Some(3)).await;
    let at = crawl.now();
    crawl.end().await;
    let log = observer.log();
    let open =
        |at: u64| log.iter().filter(move |seen| seen.arrived_us <= at && seen.ended_us.is_some_and(|end| end > at));
    let most = |late: bool| {
        let arrivals = log.iter().map(|seen| seen.arrived_us).filter(|arrived| (*arrived > at) == late);
        arrivals.map(|arrived| open(arrived).count()).max().unwrap()
    };
    assert_eq!((most(false), most(true)), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn another_interval_holds_for_what_is_visited_from_then_on() {
    const HOUR: u64 = 3_600_000_000;
    let dir = TempDir::new().unwrap();
    let d = dir.path().join("d");
    let (net, observer) = web([both("a.test", 2)]);
    let hours = |hours: u64| Some(Span(Duration::from_secs(hours * 3600)));
    let builder = kept(&net, &["http://a.test/"], &d).configure(|file| {
        file.crawl.revisit = Some("1h".into());
        (file.crawl.linger, file.crawl.max_duration) = (hours(10), hours(20));
    });
    let mut crawl = Steered::start(builder);
    fetched(&mut crawl.progress, 12).await;
    reload(&crawl, &d, |file| file.crawl.revisit = Some("4h".into())).await;
    let at = crawl.now();
    crawl.end().await;
    let mut visits: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (url, arrived) in arrivals(&observer).into_iter().filter(|(url, _)| !url.ends_with(".txt")) {
        visits.entry(url).or_default().push(arrived);
    }
    let gaps = |late: bool| {
        let pairs = visits.values().flat_map(|times| times.windows(2)).filter(move |pair| (pair[0] > at) == late);
        pairs.map(|pair| (pair[1] - pair[0]) / HOUR).collect::<BTreeSet<_>>()
    };
    assert_eq!((gaps(false), gaps(true)), (BTreeSet::from([1]), BTreeSet::from([4])), "{visits:?}");
}

/// Requests of one origin that are open at once, before an instant and after.
fn most_open(observer: &Observer, at: u64) -> (usize, usize) {
    let log = observer.log();
    let open =
        |at: u64| log.iter().filter(move |seen| seen.arrived_us <= at && seen.ended_us.is_some_and(|end| end > at));
    let most = |late: bool| {
        let arrivals = log.iter().map(|seen| seen.arrived_us).filter(|arrived| (*arrived > at) == late);
        arrivals.map(|arrived| open(arrived).count()).max().unwrap()
    };
    (most(false), most(true))
}

/// More and fewer: where more is under way than a lower limit allows, leases that are not sent wait for its end.
#[tokio::test(start_paused = true)]
async fn another_number_of_requests_of_an_origin_holds_from_the_next_one_on() {
    for (first, second) in [(1, 3), (3, 1)] {
        let dir = TempDir::new().unwrap();
        let d = dir.path().join("d");
        let links: Vec<String> = (0..40).map(|n| format!("/b{n}")).collect();
        let root = Site::new().name("a.test").page("/", Answer::page(links.iter().map(String::as_str)));
        let slow = || Answer::text("x".repeat(40_000)).trickle(4_000, Duration::from_millis(400));
        let site = links.iter().fold(root, |site, path| site.page(path.clone(), slow()));
        let (net, observer) = web([site]);
        let builder = kept(&net, &["http://a.test/"], &d);
        let mut crawl = Steered::start(builder.configure(move |file| file.politeness.per_origin = Some(first)));
        fetched(&mut crawl.progress, 12).await;
        let told = reload(&crawl, &d, |file| file.politeness.per_origin = Some(second)).await;
        assert_eq!(told, [format!("politeness.per_origin: {first} -> {second}")]);
        let at = crawl.now();
        assert_eq!(crawl.end().await.pages(), 41);
        assert_eq!(most_open(&observer, at), (first as usize, second as usize));
        assert!(Auditor::new().floor(Duration::from_secs(1)).examine(&observer).is_clean());
    }
}

/// Budgets of origins and of domains, higher and lower: for what is found from then on, and for bytes for what is queued too.
#[tokio::test(start_paused = true)]
async fn other_budgets_of_an_origin_hold_for_what_is_found_from_then_on() {
    type Change = fn(&mut ConfigFile, u64);
    let pages: Change = |file, most| file.crawl.max_pages_per_origin = Some(most);
    let domain: Change = |file, most| file.crawl.max_pages_per_domain = Some(most);
    let bytes: Change = |file, most| file.crawl.max_bytes_per_origin = Some(ByteSize(most * 1000));
    for change in [pages, domain, bytes] {
        for (first, second) in [(10, 15), (20, 8)] {
            let dir = TempDir::new().unwrap();
            let d = dir.path().join("d");
            // A chain: each page is known when the one before has been read.
            let page = |n: usize| {
                let body = format!("<a href=\"/{}\">next</a>", n + 1);
                Answer::content(Answer::status(200), "text/html", format!("{body:<1000}"))
            };
            let site = (0..40).fold(Site::new().name("a.test"), |site, n| site.page(format!("/{n}"), page(n)));
            let (net, _) = web([site]);
            let builder = kept(&net, &["http://a.test/0"], &d);
            let mut crawl = Steered::start(builder.configure(move |file| change(file, first)));
            fetched(&mut crawl.progress, 5).await;
            assert_eq!(reload(&crawl, &d, move |file| change(file, second)).await.len(), 1);
            assert_eq!(crawl.end().await.pages() as u64, second, "{first} -> {second}");
        }
    }
}
