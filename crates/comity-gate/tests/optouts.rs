//! Opt-out files while a gate works: live, never lost, written by many at once; and overrides that run out at the door.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use comity_fetch::{Collect, FetchConfig, Fetcher, ResolveError, SystemClock};
use comity_gate::{Admission, Gate, GateConfig, OptOutFault, OptOutFiles, OptOutReading, append_optout};
use comity_policy::{
    Identity, Judge, Judgement, OptOutAction, OptOutLine, OriginPace, OverrideDraft, Overrides, Politeness, Reason,
    SeededRandom, WallTime,
};
use comity_testweb::{Answer, MemoryNet, Observer, Site, Target, Web};
use comity_url::{CrawlUrl, Origin};
use tempfile::TempDir;

/// Somewhat more than the time between two looks.
const LOOK: Duration = Duration::from_millis(251);

fn start() -> WallTime {
    "2026-11-30T09:00:00Z".parse().unwrap()
}

fn open(net: &MemoryNet, change: impl FnOnce(&mut GateConfig)) -> (Gate, Fetcher) {
    let clock = Arc::new(SystemClock::paused_at(start()));
    let own = vec!["10.0.0.0/8".parse().unwrap()];
    let identity = Identity::new("TestBot/1.0", "a@example.com", &[], Vec::new()).unwrap();
    let mut fetch = FetchConfig::new(identity.user_agent());
    fetch.allow_addresses.clone_from(&own);
    let fetcher = Fetcher::new(Arc::new(net.clone()), clock.clone(), fetch).unwrap();
    let mut config = GateConfig {
        politeness: Politeness { own_networks: own, ..Politeness::default() },
        ..GateConfig::new(identity)
    };
    change(&mut config);
    (Gate::new(fetcher.clone(), clock, Arc::new(SeededRandom::new(1)), config), fetcher)
}

fn web(sites: impl IntoIterator<Item = Site>) -> (MemoryNet, Observer) {
    sites.into_iter().fold(Web::builder(1), |web, site| web.site(site)).build().unwrap().in_memory()
}

fn line(action: OptOutAction, target: &str) -> OptOutLine {
    OptOutLine::new(action, target.parse().unwrap(), "owner@a.test", "letter", start()).unwrap()
}

fn add(path: &Path, target: &str) {
    append_optout(path, &line(OptOutAction::Add, target)).unwrap();
}

fn remove(path: &Path, target: &str) {
    append_optout(path, &line(OptOutAction::Remove, target)).unwrap();
}

fn raw(path: &Path, text: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn file() -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("optout.jsonl");
    (dir, path)
}

/// A gate over the file, with nobody to ask.
fn gate_over(path: &Path) -> Gate {
    let (net, _observer) = web([Site::new().name("a.test")]);
    let files = OptOutFiles::open(&[path.to_owned()]).unwrap();
    open(&net, |config| config.optouts = files).0
}

fn is_out(gate: &Gate, origin: &str) -> bool {
    let url = CrawlUrl::parse(&format!("{origin}/x")).unwrap();
    match gate.judge(&url) {
        Judgement::Refuse(refusal) => refusal.reason() == Reason::Optout,
        Judgement::NeedsRobots(_) => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_line_is_written_as_documented_and_read_back() {
    let (dir, path) = file();
    add(&path, "Bücher.test.");
    remove(&path, "HTTPS://A.test:443/");
    let expected = "{\"action\":\"add\",\"target\":\"xn--bcher-kva.test\",\"requested_by\":\"owner@a.test\",\"reason\":\"letter\",\
                    \"at\":\"2026-11-30T09:00:00.000Z\"}\n";
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.split_inclusive('\n').next().unwrap(), expected);
    assert!(text.contains("{\"action\":\"remove\",\"target\":\"https://a.test\""), "{text}");
    let reading = OptOutReading::of(&path).unwrap();
    assert_eq!((reading.optouts.len(), reading.faults.len(), reading.unfinished), (1, 0, None));
    let nested = dir.path().join("new/folder/optout.jsonl");
    add(&nested, "a.test");
    assert_eq!(OptOutReading::of(&nested).unwrap().optouts.len(), 1, "the folder is made");
}

#[test]
fn every_bad_line_is_refused_by_file_and_number() {
    let good = r#"{"action":"add","target":"a.test","requested_by":"o","reason":"r","at":"2026-11-30T09:00:00Z"}"#;
    let rows = [
        ("no json", "no JSON object"),
        ("{no json}", "key must be a string"),
        ("{}", "missing field `action`"),
        ("[\"add\",\"a.test\",\"o\",\"r\",\"2026-11-30T09:00:00Z\"]", "no JSON object"),
        (r#"{"action":"add"}"#, "missing field `target`"),
        (&good.replace("add", "block"), "unknown variant `block`"),
        (&good.replace(r#""a.test""#, r#""*.a.test""#), "covers its sub-domains"),
        (&good.replace("a.test", "a.test/x"), "neither"),
        (&good.replace(r#""o""#, r#""""#), "requested_by: it is empty"),
        (&good.replace(r#""r""#, r#"" ""#), "reason: it is empty"),
        (&good.replace(r#","reason":"r""#, ""), "missing field `reason`"),
        (&good.replace("2026-11-30T09:00:00Z", "yesterday"), "RFC 3339"),
        (&good.replace('}', r#","ticket":7}"#), "unknown field `ticket`"),
        (&good.replace("add", &"x".repeat(20_000)), "longer than"),
        (&format!("{good}{good}"), "trailing"),
    ];
    for (bad, says) in rows {
        let (_dir, path) = file();
        fs::write(&path, format!("{good}\n\n  \n{bad}\n{good}\n")).unwrap();
        let OptOutFault { place, what } = OptOutFiles::open(std::slice::from_ref(&path)).unwrap_err();
        assert_eq!(place, format!("{}:4", path.display()), "{what}");
        assert!(what.contains(says), "{bad}: {what}");
        assert!(!what.contains("column"), "the place is named once: {what}");
    }
    let (dir, path) = file();
    fs::write(&path, b"\xff\xfe\n").unwrap();
    assert!(OptOutFiles::open(std::slice::from_ref(&path)).unwrap_err().what.contains("UTF-8"));
    assert!(OptOutFiles::open(&[dir.path().to_owned()]).is_err(), "a folder");
    fs::File::create(&path).unwrap().set_len((64 << 20) + 1).unwrap();
    assert!(OptOutFiles::open(&[path]).unwrap_err().what.contains("larger than 64 MiB"));
}

#[test]
fn a_last_line_without_an_end_is_not_read_yet_and_spoils_nobody_elses() {
    let (_dir, path) = file();
    add(&path, "a.test");
    let whole = fs::read_to_string(&path).unwrap().replace("a.test", "b.test");
    raw(&path, whole.trim_end());
    let files = OptOutFiles::open(std::slice::from_ref(&path)).unwrap();
    assert_eq!(files.optouts().len(), 1);
    assert!(files.notes()[0].contains(":2 has no line end yet"), "{:?}", files.notes());
    add(&path, "c.test");
    let reading = OptOutReading::of(&path).unwrap();
    assert_eq!((reading.optouts.len(), reading.faults.len(), reading.unfinished), (3, 0, None));
    raw(&path, "{\"action\":\"ad");
    add(&path, "d.test");
    let reading = OptOutReading::of(&path).unwrap();
    assert_eq!((reading.optouts.len(), reading.faults.len()), (4, 1), "the torn one is named, the others hold");
}

#[tokio::test(start_paused = true)]
async fn files_that_grow_hold_at_once_and_are_not_looked_at_more_often_than_needed() {
    let (_dir, path) = file();
    let gate = gate_over(&path);
    assert!(!is_out(&gate, "http://a.test"), "no file yet");
    add(&path, "a.test");
    assert!(!is_out(&gate, "http://a.test"), "looked at just now");
    tokio::time::advance(LOOK).await;
    assert!(is_out(&gate, "http://a.test") && is_out(&gate, "https://www.a.test:8443"));
    remove(&path, "a.test");
    add(&path, "https://b.test");
    tokio::time::advance(LOOK).await;
    assert!(!is_out(&gate, "http://a.test") && is_out(&gate, "https://b.test"));
    let Judgement::Refuse(refusal) = gate.judge(&CrawlUrl::parse("https://b.test/x").unwrap()) else { panic!("out") };
    let found = refusal.decision().optout.clone().unwrap();
    assert_eq!((&*found.file, found.number), (path.to_str().unwrap(), 3));
    let told = serde_json::to_value(gate.explain(&CrawlUrl::parse("https://b.test/x").unwrap())).unwrap();
    assert_eq!((&told["reason"], &told["origin"]["optout"]["line"]), (&"optout".into(), &3.into()), "{told}");
}

#[test]
fn who_looks_now_sees_what_was_written_before_whoever_else_looks() {
    let (_dir, path) = file();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let gate = gate_over(&path);
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    drop((gate.optouts(), gate.look_at_optouts()));
                }
            });
        }
        let missed = (0..40).find(|n| {
            add(&path, &format!("o{n}.test"));
            let origin = Origin::parse(&format!("http://o{n}.test")).unwrap();
            gate.look_at_optouts().covering(&origin).is_none() || gate.optouts().covering(&origin).is_none()
        });
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(missed, None);
    });
}

#[tokio::test(start_paused = true)]
async fn what_holds_is_not_lost_by_bad_lines_shorter_files_or_missing_ones() {
    let (dir, path) = file();
    add(&path, "a.test");
    add(&path, "b.test");
    let gate = gate_over(&path);
    let check = async |what: &str, holds: &[&str]| {
        tokio::time::advance(LOOK).await;
        for origin in ["a", "b", "c", "d"] {
            assert_eq!(is_out(&gate, &format!("http://{origin}.test")), holds.contains(&origin), "{what}: {origin}");
        }
    };
    raw(&path, "garbage\n");
    add(&path, "c.test");
    check("good lines hold", &["a", "b", "c"]).await;
    fs::write(&path, "").unwrap();
    check("cut to nothing", &["a", "b", "c"]).await;
    fs::remove_file(&path).unwrap();
    check("gone", &["a", "b", "c"]).await;
    fs::create_dir(&path).unwrap();
    check("a folder in its place", &["a", "b", "c"]).await;
    fs::remove_dir(&path).unwrap();
    remove(&path, "b.test");
    add(&path, "d.test");
    check("begun anew", &["a", "c", "d"]).await;
    drop(dir);
}

#[test]
fn an_opt_out_of_any_file_holds_and_a_remove_counts_in_its_own() {
    let (dir, first) = file();
    let second = dir.path().join("second.jsonl");
    add(&first, "a.test");
    remove(&second, "a.test");
    add(&second, "b.test");
    let files = OptOutFiles::open(&[first.clone(), second, first]).unwrap();
    let all = files.optouts();
    let targets: Vec<String> = all.standing().iter().map(|one| one.line.target.to_string()).collect();
    assert_eq!(targets, ["a.test", "b.test"]);
}

/// Not a test by itself: the process that `many_writers_lose_nothing_and_readers_see_whole_lines` starts twice.
#[test]
fn writer() {
    let Ok(path) = std::env::var("OPTOUT_TEST_FILE") else { return };
    let who = std::env::var("OPTOUT_TEST_WHO").unwrap();
    for n in 0..WRITES {
        add(Path::new(&path), &format!("{who}{n}.test"));
    }
}

const WRITES: usize = 200;

#[test]
fn many_writers_lose_nothing_and_readers_see_whole_lines() {
    let (_dir, path) = file();
    let mut writers: Vec<_> = ["x", "y", "z"]
        .map(|who| {
            Command::new(std::env::current_exe().unwrap())
                .args(["writer", "--exact"])
                .env("OPTOUT_TEST_FILE", &path)
                .env("OPTOUT_TEST_WHO", who)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .into();
    let mut seen = 0;
    while writers.iter_mut().any(|writer| writer.try_wait().unwrap().is_none()) {
        let reading = OptOutReading::of(&path).unwrap();
        assert!(reading.faults.is_empty(), "{:?}", reading.faults);
        assert!(reading.optouts.len() >= seen, "what was there stays");
        seen = reading.optouts.len();
    }
    for writer in &mut writers {
        assert!(writer.wait().unwrap().success());
    }
    assert_eq!(OptOutReading::of(&path).unwrap().optouts.len(), 3 * WRITES);
}

#[tokio::test(start_paused = true)]
async fn an_allowance_of_before_the_opt_out_gets_no_permit_and_no_robots_is_asked() {
    let (_dir, path) = file();
    let (net, observer) = web([Site::new().name("a.test"), Site::new().name("b.test")]);
    let files = OptOutFiles::open(std::slice::from_ref(&path)).unwrap();
    let (gate, _fetcher) = open(&net, |config| config.optouts = files);
    let url = CrawlUrl::parse("http://a.test/").unwrap();
    gate.robots(url.origin()).await;
    let Judgement::Allow(allowance) = gate.judge(&url) else { panic!("allowed") };
    add(&path, "test");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let Admission::OptedOut(refusal) = gate.admit(allowance, OriginPace::default()).await else { panic!("opted out") };
    assert_eq!(refusal.decision().optout.as_ref().unwrap().line.target.to_string(), "test");
    assert_eq!(gate.in_flight(), 0, "the slot was given back");
    let news = gate.robots(&Origin::parse("http://b.test").unwrap()).await;
    assert_eq!(news.hold, None, "the judge refuses it by itself");
    assert_eq!(observer.log().len(), 1, "robots.txt of a.test, before the opt-out");
}

#[tokio::test(start_paused = true)]
async fn a_robots_txt_that_redirects_to_an_opted_out_origin_stays_unreachable() {
    let (_dir, path) = file();
    add(&path, "b.test");
    let (net, observer) = web([
        Site::new().name("a.test").robots_answer(Answer::redirect(302, Target::at(1, "/robots.txt"))),
        Site::new().name("b.test").robots("User-agent: *\nAllow: /\n"),
    ]);
    let files = OptOutFiles::open(&[path]).unwrap();
    let (gate, _fetcher) = open(&net, |config| config.optouts = files);
    let url = CrawlUrl::parse("http://a.test/").unwrap();
    net.set_resolve_fault("b.test", Some(ResolveError::NoSuchName));
    gate.robots(url.origin()).await;
    assert!(matches!(gate.judge(&url), Judgement::Hold(hold) if hold.reason == Reason::ParkRobots));
    assert_eq!(observer.log().len(), 1, "b.test saw nothing");
    let cause = gate.robots_life(url.origin()).failing().unwrap().cause;
    assert_eq!(cause, Reason::Optout, "not even its name was asked for");
}

fn ending_at(expires: &str) -> Overrides {
    Overrides::new(&[OverrideDraft {
        origins: vec!["http://a.test".into()],
        scope: vec!["robots".into()],
        basis: Some("own_site".into()),
        justification: Some("Our own site, checked before release".into()),
        approved_by: Some("Ann".into()),
        created: Some("2026-11-01T00:00:00Z".parse().unwrap()),
        expires: Some(expires.parse().unwrap()),
        ..OverrideDraft::default()
    }])
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_override_ends_at_its_instant_for_allowances_and_permits_too() {
    let (net, observer) = web([Site::new().name("a.test").robots("User-agent: *\nDisallow: /\n")]);
    let (gate, fetcher) = open(&net, |config| config.overrides = ending_at("2026-11-30T09:00:10Z"));
    let url = CrawlUrl::parse("http://a.test/").unwrap();
    gate.robots(url.origin()).await;
    let allowance = || match gate.judge(&url) {
        Judgement::Allow(allowance) => allowance,
        other => panic!("{other:?}"),
    };
    let (first, second) = (allowance(), allowance());
    assert_eq!(first.decision().reason, Reason::OkOverride);
    let told = serde_json::to_value(gate.explain(&url)).unwrap();
    assert_eq!((&told["reason"], &told["lifted"][0]), (&"ok.override".into(), &"robots.disallow".into()));
    assert_eq!(told["origin"]["override"]["id"], "a.test-20261101", "{told}");
    tokio::time::sleep(Duration::from_secs(9)).await;
    let Admission::Permit(permit) = gate.admit(first, OriginPace::default()).await else { panic!("in force") };
    tokio::time::sleep(Duration::from_secs(2)).await;
    let fetched = fetcher.fetch(permit, &mut Collect::default()).await;
    assert_eq!(fetched.capture.fault, Some(Reason::PermitStale), "a permit is of no use after its override");
    drop(fetched);
    let Admission::Wait(turn) = gate.admit(second, OriginPace::default()).await else { panic!("ran out") };
    assert!(turn.ready.at <= gate.clock().now(), "judged anew at once");
    assert!(matches!(gate.judge(&url), Judgement::Refuse(refusal) if refusal.reason() == Reason::RobotsDisallow));
    assert_eq!(observer.log().len(), 1, "robots.txt only");
}
