//! What a disk does to a frontier: kills in the middle of everything, logs whose end is torn, disks that are full, stores
//! of another version. The frontier under the kill runs in a child process, which is this test binary again.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use comity_frontier::{
    DiskSettings, DiskStore, Ending, Frontier, Keyspace, LeaseId, Local, Offer, Offered, OtherRules, Revisit,
    SchedulerConfig, Settled, Settlement, Spent, Store as _, StoreError, Visited, WriteBatch,
};
use comity_policy::{Instant, OriginPace, Ready, Reason, WallTime};
use comity_url::KeyRules;

use common::*;

/// Set for the child: which store it works on.
const STORE: &str = "COMITY_TEST_FRONTIER_STORE";
const ORIGINS: usize = 40;
const PAGES: usize = 2000;

/// Few origins in memory, so that they sleep and wake all the time.
fn config() -> SchedulerConfig {
    SchedulerConfig { resident_origins: 8, resident_per_origin: 4, ..SchedulerConfig::default() }
}

fn open(path: &Path) -> Local<DiskStore> {
    let store = DiskStore::open(path, DiskSettings::default()).unwrap();
    Local::open_on_thread(store, config(), Ready { at: at(0), clock: Reason::Ok }).unwrap()
}

/// A web in which page n links to pages 2n + 1 and 2n + 2, spread over the origins.
fn page(number: usize) -> String {
    format!("http://o{}.test/{number}", number % ORIGINS)
}

fn links(number: usize) -> impl Iterator<Item = usize> {
    [2 * number + 1, 2 * number + 2].into_iter().filter(|link| *link < PAGES)
}

/// The child: crawls the web, and tells each page before it settles it ("fetched") and after ("settled").
#[tokio::test]
async fn child() {
    let Ok(path) = std::env::var(STORE) else { return };
    let frontier = open(Path::new(&path));
    let judge = TestJudge::default();
    let mut out = std::io::stdout().lock();
    writeln!(out, "opened").unwrap();
    let seed = frontier.offer(vec![offer(&page(0))]).await.unwrap();
    assert!(seed == [Offered::New] || seed == [Offered::Seen]);
    let mut now = 1;
    loop {
        let leased = frontier.lease(8, &judge, at(now)).await.unwrap();
        if leased.leases.is_empty() {
            let Some(wake) = leased.wake_at else { break };
            now = now.max(wake.as_micros().div_ceil(1000));
            continue;
        }
        for lease in &leased.leases {
            writeln!(out, "fetched {}", lease.url).unwrap();
        }
        out.flush().unwrap();
        for lease in leased.leases {
            let number: usize = lease.url.path().trim_start_matches('/').parse().unwrap();
            let found = links(number).map(page).collect::<Vec<_>>();
            let links = offers(found.iter().map(String::as_str));
            let end = if number.is_multiple_of(3) {
                again(lease.id, links, now + 1)
            } else {
                done_with(lease.id, links, turn(now + 1))
            };
            let settled = frontier.settle(vec![end], at(now)).await.unwrap();
            assert!(matches!(settled.as_slice(), [Settled::Applied { .. }]));
            writeln!(out, "settled {}", lease.url).unwrap();
            out.flush().unwrap();
        }
    }
    writeln!(out, "finished").unwrap();
}

/// A page of three is to be visited anew, long after the test.
fn again(lease: LeaseId, links: Vec<Offer>, next: u64) -> Settlement {
    let visited = Visited { at: Some(WallTime::from_unix_millis(1)), ..Visited::default() };
    let revisit = Box::new(Revisit { at: WallTime::from_unix_millis(YEAR), priority: 3, visited });
    let told = Some((OriginPace::default(), turn(next)));
    Settlement::Again { lease, spent: Spent::default(), ending: Ending::Done, links, told, revisit }
}

const YEAR: i64 = 365 * 24 * 3600 * 1000;

/// What comes back a year later.
async fn returned(path: &Path) -> BTreeSet<String> {
    let config = SchedulerConfig { epoch: Some(WallTime::from_unix_millis(0)), ..config() };
    let store = DiskStore::open(path, DiskSettings::default()).unwrap();
    let frontier = Local::open(store, config, Ready { at: at(0), clock: Reason::Ok }).unwrap();
    let (judge, mut now, mut found) = (TestJudge::default(), YEAR as u64, BTreeSet::new());
    loop {
        let leased = frontier.lease(64, &judge, at(now)).await.unwrap();
        for lease in leased.leases {
            assert!(lease.visited.is_some_and(|visited| visited.is_visited()), "{}", lease.url);
            assert!(found.insert(lease.url.to_string()), "{} comes back twice", lease.url);
            settle(&frontier, done(lease.id, turn(now)), at(now)).await;
        }
        match leased.wake_at {
            Some(wake) => now = now.max(wake.as_micros().div_ceil(1000)),
            None => return found,
        }
    }
}

fn start(path: &Path) -> Child {
    let me = std::env::current_exe().unwrap();
    let mut child = Command::new(me);
    child.args(["--exact", "child", "--nocapture"]).env(STORE, path).stdout(Stdio::piped()).stderr(Stdio::null());
    child.spawn().unwrap()
}

/// What the children told in all their lives.
#[derive(Default)]
struct Told {
    fetched: BTreeMap<String, usize>,
    settled: BTreeSet<String>,
    is_finished: bool,
}

impl Told {
    /// Runs a child, and kills it once it told `after` lines.
    fn run(&mut self, path: &Path, after: usize) {
        let mut child = start(path);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (mut opened, mut killed) = (false, false);
        for (count, line) in lines.map_while(Result::ok).enumerate() {
            opened |= line.ends_with("opened");
            self.is_finished |= line == "finished";
            if let Some(url) = line.strip_prefix("fetched ") {
                *self.fetched.entry(url.to_owned()).or_default() += 1;
            }
            if let Some(url) = line.strip_prefix("settled ") {
                assert!(self.settled.insert(url.to_owned()), "{url} was settled twice");
            }
            if count == after && !killed {
                killed = true;
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(opened || killed, "the store opens every time, unless the kill came first");
    }
}

fn instants() -> usize {
    if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") { 50 } else { 8 }
}

/// Where to kill: any line of what is left. Unlike at each run, and told when the test fails.
fn random_lines(count: usize) -> Vec<usize> {
    let most = (2 * 2 * PAGES / count) as u64;
    (0..count).map(|_| (RandomState::new().hash_one(0) % most) as usize).collect()
}

/// Field reports 33 and 34: kills at random instants, each followed by a start.
fn survives(between: impl Fn(&Path)) {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut told) = (dir.path().join("store"), Told::default());
    let kills = random_lines(instants());
    for after in &kills {
        told.run(&path, *after);
        between(&path);
    }
    told.run(&path, usize::MAX);
    assert!(told.is_finished, "killed after {kills:?} lines");
    let fetched: BTreeSet<String> = told.fetched.keys().cloned().collect();
    let all: BTreeSet<String> = (0..PAGES).map(page).collect();
    assert_eq!(fetched, all, "no page is lost; killed after {kills:?} lines");
    let repeats: usize = told.fetched.values().map(|times| times - 1).sum();
    // At most what was in flight: eight leases at once.
    assert!(repeats <= 8 * kills.len(), "{repeats} repeats; killed after {kills:?} lines");
    let scheduled: BTreeSet<String> = (0..PAGES).step_by(3).map(page).collect();
    let returned = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(returned(&path));
    assert_eq!(returned, scheduled, "no next visit is lost or doubled; killed after {kills:?} lines");
}

#[test]
fn killed_at_any_instant_it_loses_nothing_and_repeats_what_was_in_flight() {
    survives(|_| {});
}

#[test]
fn killed_with_garbage_at_the_end_of_its_log_it_goes_on() {
    survives(|path| {
        // A kill before the first line may leave no store yet, and then no log.
        if !path.exists() {
            return;
        }
        let log = youngest_log(path);
        let end = end_of_data(&log);
        let mut file = std::fs::OpenOptions::new().write(true).open(&log).unwrap();
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(end)).unwrap();
        // A batch that began and did not end, as a power cut may leave it.
        file.write_all(&[1, 7, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 2, 2, 2]).unwrap();
    });
}

fn youngest_log(path: &Path) -> PathBuf {
    let files = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let logs = files.filter(|file| file.extension().is_some_and(|end| end == "jnl"));
    let number = |file: &PathBuf| file.file_stem().unwrap().to_str().unwrap().parse::<u64>().unwrap();
    logs.max_by_key(number).unwrap()
}

/// Behind the last byte that is not 0: the file is longer than what was written.
fn end_of_data(log: &Path) -> u64 {
    let bytes = std::fs::read(log).unwrap();
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1)
}

/// A log that lost its end loses the commits that it held, each as a whole: what is left agrees with itself.
#[tokio::test]
async fn a_log_that_lost_its_end_holds_whole_commits() {
    for cut in [1, 7, 100, 1000] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let frontier = open(&path);
        for number in 0..200 {
            let names: Vec<String> = (0..3).map(|part| format!("http://o{number}.test/{part}")).collect();
            add(&frontier, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        }
        drop(frontier);
        let log = youngest_log(&path);
        let end = end_of_data(&log);
        std::fs::OpenOptions::new().write(true).open(&log).unwrap().set_len(end.saturating_sub(cut)).unwrap();
        let frontier = open(&path);
        let stats = frontier.stats(at(0)).await.unwrap();
        assert!(stats.seen < 600 && stats.seen % 3 == 0 && stats.seen > 500, "{cut} bytes cut: {}", stats.seen);
        let mut leased = 0;
        let judge = TestJudge::default();
        let mut now = 1;
        while let Some(wake) = {
            let out = frontier.lease(64, &judge, at(now)).await.unwrap();
            leased += out.leases.len() as u64;
            for lease in &out.leases {
                settle(&frontier, done(lease.id, turn(now + 1)), at(now)).await;
            }
            out.wake_at
        } {
            now = now.max(wake.as_micros().div_ceil(1000));
        }
        // Links and counts agree: each URL that counts comes out, once.
        assert_eq!(leased, stats.seen, "{cut} bytes cut");
        let missing = (0..200).filter(|number| number * 3 >= stats.seen as usize).count();
        assert!(missing < 34, "{cut} bytes cut {missing} commits");
    }
}

#[tokio::test]
async fn a_disk_without_room_refuses_by_name_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let frontier = open(&path);
    add(&frontier, &["http://a.test/1"]).await;
    drop(frontier);
    // More in reserve than any disk has: the same as a disk that is full.
    let full = DiskSettings { reserve: u64::MAX / 2, ..DiskSettings::default() };
    let store = DiskStore::open(&path, full).unwrap();
    let error = Local::open(store, config(), Ready { at: at(0), clock: Reason::Ok }).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("no space left") && cause.contains("make room"), "{cause}");
    let frontier = open(&path);
    let leased = frontier.lease(1, &TestJudge::default(), at(1)).await.unwrap();
    assert_eq!(urls(&leased), ["http://a.test/1"], "with room again it goes on");
}

#[test]
fn the_key_of_the_fingerprints_stays_with_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let key = |fresh| open(dir.path()).fingerprint_key(fresh, KeyRules::default(), OtherRules::Refuse).unwrap();
    assert_eq!(key([1; 16]), [1; 16]);
    assert_eq!(key([2; 16]), [1; 16]);
}

#[tokio::test]
async fn fingerprints_of_other_key_rules_are_gone_on_with_only_where_that_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let with = |tracking, others| {
        let rules = KeyRules { tracking, ..KeyRules::default() };
        open(dir.path()).fingerprint_key([1; 16], rules, others)
    };
    let refused = |tracking| {
        let error = with(tracking, OtherRules::Refuse).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("\"none\"") && cause.contains(":tracking\"") && cause.contains("accept"), "{cause}");
    };
    with(true, OtherRules::Refuse).unwrap();
    assert_eq!(with(false, OtherRules::Refuse).unwrap(), [1; 16], "without fingerprints nothing mixes");
    open(dir.path()).offer(offers(["http://a.test/1"])).await.unwrap();
    assert_eq!(with(false, OtherRules::Refuse).unwrap(), [1; 16]);
    refused(true);
    assert_eq!(with(true, OtherRules::Accept).unwrap(), [1; 16]);
    assert_eq!(with(true, OtherRules::Refuse).unwrap(), [1; 16], "what was accepted stands in the store");
    refused(false);
}

/// Dropped at any point, a call is done as a whole or not at all: what was handed to the thread is done.
#[tokio::test]
async fn a_call_that_is_dropped_is_done_or_not_begun() {
    let dir = tempfile::tempdir().unwrap();
    let frontier = open(dir.path());
    for number in 0..20 {
        let name = format!("http://a.test/{number}");
        let call = frontier.offer(vec![offer(&name)]);
        let outcome = tokio::time::timeout(Duration::ZERO, call).await;
        let again = frontier.offer(vec![offer(&name)]).await.unwrap();
        assert!(outcome.is_err() || again == [Offered::Seen], "{again:?}");
    }
    let stats = frontier.stats(Instant::START).await.unwrap();
    assert_eq!((stats.seen, stats.queued), (20, 20));
}

/// A log that is being written reads like a damaged one: whoever comes second must be told that the store is held, and must
/// not touch it, whatever loss it would accept.
#[test]
fn a_store_that_is_held_is_never_read_as_a_damaged_one() {
    let dir = tempfile::tempdir().unwrap();
    let lossy = DiskSettings { accept_loss: true, ..DiskSettings::default() };
    let mut held = DiskStore::open(dir.path(), DiskSettings::default()).unwrap();
    for number in 0_u32..300 {
        let mut batch = WriteBatch::default();
        batch.insert(Keyspace::Meta, number.to_be_bytes().to_vec(), vec![7; 64]);
        held.commit(batch).unwrap();
        if number % 60 == 0 {
            held.sync().unwrap();
        }
        for settings in [DiskSettings::default(), lossy] {
            assert!(matches!(DiskStore::open(dir.path(), settings), Err(StoreError::Held(_))), "after {number}");
        }
    }
    drop(held);
    let again = DiskStore::open(dir.path(), DiskSettings::default()).unwrap();
    for number in 0_u32..300 {
        assert!(again.get(Keyspace::Meta, &number.to_be_bytes()).unwrap().is_some(), "{number}");
    }
}

/// The files of a store, in the order of their names.
fn all_under(path: &Path, found: &mut Vec<PathBuf>) {
    let mut entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    entries.sort();
    for entry in entries {
        found.push(entry.clone());
        if entry.is_dir() {
            all_under(&entry, found);
        }
    }
}

/// It may hold something, and is no store that was never whole.
#[test]
fn a_store_that_lost_its_mark_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = DiskStore::open(dir.path(), DiskSettings::default()).unwrap();
    let mut batch = WriteBatch::default();
    batch.insert(Keyspace::Meta, b"row".to_vec(), b"value".to_vec());
    store.commit(batch).unwrap();
    store.sync().unwrap();
    drop(store);
    std::fs::remove_file(dir.path().join("version")).unwrap();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    all_under(dir.path(), &mut before);
    let refused = DiskStore::open(dir.path(), DiskSettings::default()).unwrap_err();
    assert!(matches!(refused, StoreError::Io(_) | StoreError::Format(_)), "{refused}");
    all_under(dir.path(), &mut after);
    assert_eq!(before, after);
    assert!(std::fs::read(dir.path().join("0.jnl")).unwrap().windows(5).any(|bytes| bytes == b"value"));
}

#[test]
fn one_that_another_process_makes_is_held() {
    let dir = tempfile::tempdir().unwrap();
    let theirs = std::fs::File::create(dir.path().join("lock")).unwrap();
    theirs.try_lock().unwrap();
    let refused = DiskStore::open(dir.path(), DiskSettings::default()).unwrap_err();
    assert!(matches!(refused, StoreError::Held(_)), "{refused}");
}

/// What is called safe rests on files that are: no mark of a store that is not safe outlives the first sync.
#[test]
fn a_new_store_is_safe_itself_when_the_first_sync_has_returned() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = DiskStore::open(dir.path(), DiskSettings::default()).unwrap();
    store.sync().unwrap();
    assert!(!dir.path().join("version.unsafe").exists());
}

/// Before the machine went down nothing of it was safe: it is made anew, with what its owner wrote beside it.
#[test]
fn a_store_that_was_not_safe_when_the_machine_went_down_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let mut store = DiskStore::open(dir.path(), DiskSettings::default()).unwrap();
        assert_eq!(store.get(Keyspace::Meta, b"row").unwrap(), None);
        let mut batch = WriteBatch::default();
        batch.insert(Keyspace::Meta, b"row".to_vec(), b"value".to_vec());
        store.commit(batch).unwrap();
        store.sync().unwrap();
        drop(store);
        std::fs::write(dir.path().join("version.unsafe"), "boot an earlier one\n").unwrap();
        // Logs and tables may be anything then.
        std::fs::write(dir.path().join("0.jnl"), "garbage").unwrap();
    }
}
