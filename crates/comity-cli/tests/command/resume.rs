//! Crawls that are killed, interrupted or changed, and go on: field reports 33 and 34, over real sockets and processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use comity_archive::verify::VerifyOptions;
use comity_archive::{ChainHead, ChainVerifier, read_records};
use comity_testweb::{Auditor, Generated, Observer, Served, Site, Web};
use tempfile::TempDir;

use super::{WHO, comity, stderr};

/// How large the test is.
#[derive(Clone, Copy)]
struct Size {
    origins: u32,
    pages: u32,
    kills: u32,
    /// The last instant at which a run is killed.
    longest: Duration,
}

const SHORT: Size = Size { origins: 12, pages: 40, kills: 5, longest: Duration::from_millis(900) };
const WHOLE: Size = Size { origins: 25, pages: 200, kills: 50, longest: Duration::from_millis(1500) };

/// Requests at once.
const TOTAL: usize = 16;
const FLOOR: Duration = Duration::from_millis(20);

fn size() -> Size {
    if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") { WHOLE } else { SHORT }
}

fn web(size: Size) -> Web {
    let site = |_| {
        let rules = "User-agent: *\nDisallow: /no\n";
        Site::new().robots(rules).generated(Generated::new(size.pages, 8).off_origin_percent(10).bytes(800))
    };
    (0..size.origins).fold(Web::builder(5), |web, n| web.site(site(n))).build().unwrap()
}

/// The arguments of a crawl of the served web into `dir`.
fn arguments(served: &Served, dir: &Path) -> Vec<String> {
    let mut args: Vec<String> =
        ["crawl", "--dir", dir.to_str().unwrap(), "--total", &TOTAL.to_string()].map(str::to_owned).into();
    args.extend(WHO.map(str::to_owned));
    let fixed = ["--allow-address", "127.0.0.0/8", "--delay", "20ms", "--config"];
    args.extend(fixed.map(str::to_owned));
    args.push(dir.with_extension("toml").to_str().unwrap().to_owned());
    for (name, addresses) in served.names() {
        args.extend(["--resolve".to_owned(), format!("{name}={}", addresses[0])]);
    }
    fs::write(dir.with_extension("toml"), "[archive]\nmin_free = \"1MB\"\n").unwrap();
    args.push(served.seeds()[0].clone());
    args.extend(["--scope".to_owned(), "any".to_owned()]);
    args
}

fn start(home: &Path, args: &[String]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
    command.args(args).env("HOME", home).env_remove("XDG_CONFIG_HOME");
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// How often each page was asked for, robots.txt files apart.
fn asked(observer: &Observer) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for seen in observer.log().iter().filter(|seen| !seen.request.is_robots_txt()) {
        let target = String::from_utf8_lossy(seen.request.target()).into_owned();
        *asked.entry(format!("{:?} {target}", seen.site)).or_default() += 1;
    }
    asked
}

/// The chain of the records from its first line to the head that is stated. Gives the URLs that were fetched.
fn verified(dir: &Path) -> BTreeSet<String> {
    let (mut chain, mut urls) = (ChainVerifier::default(), BTreeSet::new());
    for line in read_records(dir).unwrap() {
        let line = line.unwrap();
        chain.step(&line).unwrap();
        let text: serde_json::Value = serde_json::from_str(&line.to_text()).unwrap();
        urls.extend(text["body"]["url"].as_str().map(str::to_owned));
    }
    assert_eq!(chain.report().head, ChainHead::load(dir).unwrap(), "the head that is stated is the last line");
    let found = comity_archive::verify::verify(dir, &VerifyOptions::default()).unwrap();
    assert!(found.holds(), "{found:#?}");
    urls
}

/// A pause of up to `longest`, another at each run.
fn some_time(longest: Duration) -> Duration {
    let random = RandomState::new().hash_one(0);
    longest * u32::try_from(random % 1000).unwrap() / 1000
}

#[test]
fn killed_at_any_instant_a_crawl_goes_on_and_misses_no_page() {
    let (size, home) = (size(), TempDir::new().unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let unbroken = {
        let served = runtime.block_on(web(size).serve_loopback()).unwrap();
        let dir = home.path().join("unbroken");
        let output = start(home.path(), &arguments(&served, &dir)).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        verified(&dir);
        asked(&runtime.block_on(served.shutdown()))
    };
    assert_eq!(unbroken.len() as u32, size.origins * size.pages, "every page can be reached");
    assert!(unbroken.values().all(|times| *times == 1));

    let served = runtime.block_on(web(size).serve_loopback()).unwrap();
    let dir = home.path().join("killed");
    let args = arguments(&served, &dir);
    let mut kills = Vec::new();
    for _ in 0..size.kills {
        let mut child = start(home.path(), &args);
        let pause = some_time(size.longest);
        std::thread::sleep(pause);
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        // Killed, unless it was over before.
        assert!(output.status.code().is_none_or(|code| code == 0), "after {kills:?}: {}", stderr(&output));
        kills.push(pause);
    }
    let output = start(home.path(), &args).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "killed after {kills:?}: {}", stderr(&output));
    let observer = runtime.block_on(served.shutdown());
    let asked = asked(&observer);
    let names = |asked: &BTreeMap<String, usize>| asked.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&asked), names(&unbroken), "killed after {kills:?}");
    let repeats: usize = asked.values().map(|times| times - 1).sum();
    eprintln!("{} pages, {repeats} asked for again; killed after {kills:?}", asked.len());
    assert!(repeats <= TOTAL * kills.len(), "{repeats} repeats; killed after {kills:?}");
    let audit = Auditor::new().floor(FLOOR).examine(&observer);
    // A robots.txt that was on its way is asked for again, like any page; nothing else about politeness suffers.
    let again = audit.count("robots_again");
    assert_eq!(audit.violation_count(), again, "killed after {kills:?}: {audit}");
    assert!(again <= (TOTAL * kills.len()) as u64, "killed after {kills:?}: {audit}");
    assert_eq!(verified(&dir).len() as u32, size.origins * (size.pages + 1), "a record of every page and robots.txt");
    let verify = start(home.path(), &["verify".to_owned(), dir.display().to_string()]).wait_with_output().unwrap();
    assert_eq!(verify.status.code(), Some(0), "killed after {kills:?}: {}", stderr(&verify));
}

/// The lines that are stated as safe in the directory of a crawl.
fn stated(dir: &Path) -> u64 {
    ChainHead::load(dir).unwrap().map_or(0, |head| head.seq + 1)
}

/// Number, URL, and place of the metadata in the WARC, of every line of the records.
fn lines(dir: &Path) -> Vec<(u64, String, u64)> {
    let Ok(lines) = read_records(dir) else { return Vec::new() };
    let fields = |line: comity_archive::Line| {
        let text: serde_json::Value = serde_json::from_str(&line.to_text()).unwrap();
        let url = text["body"]["url"].as_str().unwrap_or_default().to_owned();
        (line.seq, url, text["body"]["warc"]["metadata_offset"].as_u64().unwrap_or(u64::MAX))
    };
    lines.map_while(Result::ok).map(fields).collect()
}

/// Cuts the open file of a folder.
fn cut(dir: &Path, folder: &str, length: impl Fn(u64) -> u64) {
    let files = fs::read_dir(dir.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let file = files.filter(|file| file.to_string_lossy().ends_with(".open")).max().unwrap();
    let file = fs::OpenOptions::new().write(true).open(file).unwrap();
    file.set_len(length(file.metadata().unwrap().len())).unwrap();
}

/// Invariant 9 under a power cut, which leaves the queue as it was, and takes half of what was not yet safe of the records, or
/// of the WARC beside whole records.
#[test]
fn pages_whose_records_a_power_cut_took_are_fetched_again() {
    let (size, home) = (SHORT, TempDir::new().unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for folder in ["records", "warc"] {
        let served = runtime.block_on(web(size).serve_loopback()).unwrap();
        let dir = home.path().join(folder);
        let args = arguments(&served, &dir);
        let mut child = start(home.path(), &args);
        while lines(&dir).len() < 60 + usize::try_from(stated(&dir)).unwrap() {
            assert!(child.try_wait().unwrap().is_none(), "over before so much was left unsafe");
            std::thread::sleep(Duration::from_millis(10));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let (stated, before) = (stated(&dir), lines(&dir));
        let middle = stated.midpoint(before.len() as u64);
        let (lost, at) =
            before.iter().find(|line| line.0 >= middle && line.2 < u64::MAX).map(|line| (line.0, line.2)).unwrap();
        match folder {
            "records" => {
                while lines(&dir).len() as u64 > lost {
                    cut(&dir, folder, |length| length - 2048);
                }
            }
            _ => cut(&dir, folder, |_| at),
        }
        let kept = lost.min(lines(&dir).len() as u64);
        assert!(kept >= stated, "what was safe is there");
        let output = comity(home.path(), &args.iter().map(String::as_str).collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(said.contains("URLs are queued again"), "{folder}: {said}");
        runtime.block_on(served.shutdown());
        let pages = verified(&dir).into_iter().filter(|url| !url.ends_with("/robots.txt")).count();
        assert_eq!(pages as u32, size.origins * size.pages, "{folder}: a record of every page");
        let again: BTreeSet<String> =
            lines(&dir).into_iter().filter(|line| line.0 >= kept).map(|line| line.1).collect();
        let missing: Vec<_> = before.iter().filter(|line| line.0 >= kept && !line.1.ends_with("/robots.txt")).collect();
        assert!(missing.len() > 5 && missing.iter().all(|line| again.contains(&line.1)), "{folder}: {missing:?}");
    }
}

/// A small disk in memory. Unmounted when it is dropped.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    /// `None` where mounting is not permitted.
    fn mount(at: &Path, megabytes: u32) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let options = format!("size={megabytes}m");
        let output = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "comity-test"]).arg(at).output();
        output.is_ok_and(|output| output.status.success()).then(|| Self(at.to_owned()))
    }

    fn grow(&self, megabytes: u32) {
        let options = format!("remount,size={megabytes}m");
        assert!(Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap().success());
    }

    /// Leaves not a byte.
    fn fill(&self) {
        let mut ballast = fs::File::create(self.0.join("ballast")).unwrap();
        while std::io::Write::write(&mut ballast, &[7; 4096]).is_ok_and(|written| written > 0) {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Whatever is written when the last byte of the disk is gone: the crawl ends with exit 5, and goes on once there is room.
#[test]
fn a_crawl_whose_disk_is_full_stops_with_exit_5_and_goes_on() {
    let (size, home) = (SHORT, TempDir::new().unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let Some(disk) = SmallDisk::mount(&home.path().join("small"), 48) else {
        eprintln!(
            "a_crawl_whose_disk_is_full_stops_with_exit_5_and_goes_on: SKIPPED, mounting a tmpfs is not permitted"
        );
        return;
    };
    let served = runtime.block_on(web(size).serve_loopback()).unwrap();
    let dir = disk.0.join("d");
    let args = arguments(&served, &dir);
    let mut child = start(home.path(), &args);
    while lines(&dir).len() < 100 {
        assert!(child.try_wait().unwrap().is_none(), "over before the disk was full");
        std::thread::sleep(Duration::from_millis(10));
    }
    disk.fill();
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("space") || said.contains("full") || said.contains("free"), "{said}");
    // Without room it does not begin, and loses nothing by that.
    let again = start(home.path(), &args).wait_with_output().unwrap();
    assert_eq!(again.status.code(), Some(5), "{}", stderr(&again));
    disk.grow(200);
    let output = start(home.path(), &args).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let asked = asked(&runtime.block_on(served.shutdown()));
    assert_eq!(asked.len() as u32, size.origins * size.pages, "every page");
    let repeats: usize = asked.values().map(|times| times - 1).sum();
    assert!(repeats <= TOTAL, "{repeats} repeats: what was in flight");
    let pages = verified(&dir).into_iter().filter(|url| !url.ends_with("/robots.txt")).count();
    assert_eq!(pages as u32, size.origins * size.pages, "a record of every page");
}

#[test]
fn interrupted_it_ends_with_exit_4_and_goes_on() {
    interrupted_by("-INT");
}

#[test]
fn a_supervisor_that_stops_it_loses_nothing() {
    interrupted_by("-TERM");
}

fn interrupted_by(signal: &str) {
    let (size, home) = (SHORT, TempDir::new().unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let served = runtime.block_on(web(size).serve_loopback()).unwrap();
    let dir = home.path().join("d");
    let args = arguments(&served, &dir);
    let child = start(home.path(), &args);
    while !dir.join("records").is_dir() {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(200));
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    // As it began: the directory knows everything.
    let go_on: Vec<String> = ["crawl", "--dir", dir.to_str().unwrap()].map(str::to_owned).into();
    let output = start(home.path(), &go_on).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let asked = asked(&runtime.block_on(served.shutdown()));
    assert_eq!(asked.len() as u32, size.origins * size.pages);
    assert!(asked.values().all(|times| *times == 1), "what was in flight was finished: {asked:?}");
    verified(&dir);
}

#[test]
fn a_crawl_that_would_mean_something_else_is_refused_unless_accepted() {
    let (home, runtime) = (TempDir::new().unwrap(), tokio::runtime::Runtime::new().unwrap());
    let size = Size { origins: 1, pages: 3, ..SHORT };
    let served = runtime.block_on(web(size).serve_loopback()).unwrap();
    let dir = home.path().join("d");
    let mut args = arguments(&served, &dir);
    args.extend(["--max-pages".to_owned(), "1".to_owned()]);
    assert_eq!(start(home.path(), &args).wait_with_output().unwrap().status.code(), Some(3));
    let mark = || fs::read_to_string(dir.join("crawl.toml")).unwrap();
    let before = mark();

    let flags = ["crawl", "--dir", dir.to_str().unwrap(), "--scope", "prefix", "--max-pages", "2"];
    let output = comity(home.path(), &flags);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("crawl.scope: \"any\" -> \"prefix\"") && said.contains("--accept-config"), "{said}");
    assert_eq!(mark(), before, "nothing was written");

    let output = comity(home.path(), &[&flags[..], &["--accept-config"]].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("crawl.max_pages: 1 -> 2") && said.contains("crawl.scope"), "{said} {}", stderr(&output));
    assert_ne!(mark(), before);

    // Another seed adds to what the crawl is about, and takes nothing from it.
    let first = served.seeds()[0].to_string();
    let second = format!("{first}another");
    comity(home.path(), &["crawl", &second, "--dir", dir.to_str().unwrap(), "--max-pages", "1"]);
    assert!(mark().contains(&format!("\"{first}\"")) && mark().contains(&format!("\"{second}\"")), "{}", mark());
    runtime.block_on(served.shutdown());
}

#[test]
fn two_crawls_in_one_directory_are_one_too_many() {
    let (home, runtime) = (TempDir::new().unwrap(), tokio::runtime::Runtime::new().unwrap());
    let served = runtime.block_on(web(SHORT).serve_loopback()).unwrap();
    let dir = home.path().join("d");
    let args = arguments(&served, &dir);
    let mut first = start(home.path(), &args);
    while !dir.join("records").is_dir() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let before = fs::read_to_string(dir.join("crawl.toml")).unwrap();
    let other = [&args[..], &["--max-pages".to_owned(), "7".to_owned()]].concat();
    let second = start(home.path(), &other).wait_with_output().unwrap();
    assert_eq!(second.status.code(), Some(5), "{}", stderr(&second));
    assert!(stderr(&second).contains("in use: a crawl runs in it (process "), "{}", stderr(&second));
    assert_eq!(fs::read_to_string(dir.join("crawl.toml")).unwrap(), before, "the configuration of the one that runs");
    first.kill().unwrap();
    first.wait().unwrap();
    runtime.block_on(served.shutdown());
}

/// Crawls killed while they begin, at any instant: each goes on as if it were new, and nothing of how its stores were made is left, in
/// memory neither.
#[test]
fn killed_while_it_begins_a_crawl_begins_anew_and_leaves_nothing_in_memory() {
    let home = TempDir::new().unwrap();
    let small = Size { origins: 1, pages: 3, kills: 0, longest: Duration::from_millis(250) };
    let kills = if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") { 100 } else { 8 };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let served = runtime.block_on(web(small).serve_loopback()).unwrap();
    let mut half_made = 0;
    for kill in 0..kills {
        let dir = home.path().join(format!("killed-{kill}"));
        let args = arguments(&served, &dir);
        let mut child = start(home.path(), &args);
        std::thread::sleep(some_time(small.longest));
        child.kill().unwrap();
        child.wait().unwrap();
        let marks = ["frontier", "gate"].map(|store| dir.join("state").join(store).join("version.making"));
        let drafts = marks.iter().filter_map(|mark| fs::read_to_string(mark).ok());
        let drafts = drafts.filter_map(|mark| Some(mark.split_once("\ndraft ")?.1.trim_end().to_owned()));
        let drafts = drafts.collect::<Vec<_>>();
        half_made += usize::from(!drafts.is_empty());
        let output = start(home.path(), &args).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        verified(&dir);
        assert!(drafts.iter().all(|draft| !Path::new(draft).exists()), "{drafts:?}");
        assert!(!dir.join("crawl.toml.new").exists() && dir.join("crawl.toml").exists());
        let left = |mark: &str| ["frontier", "gate"].map(|store| dir.join("state").join(store).join(mark).exists());
        assert_eq!((left("version.making"), left("version.unsafe")), ([false; 2], [false; 2]));
        // The next crawl is another one.
        std::thread::sleep(FLOOR);
    }
    eprintln!("{half_made} of {kills} were killed while a store was made");
    let observer = runtime.block_on(served.shutdown());
    // Each origin waits one delay after a start: also where the process before asked and had not recorded anything.
    assert_eq!(Auditor::new().floor(FLOOR).examine(&observer).count("too_soon"), 0);
}
