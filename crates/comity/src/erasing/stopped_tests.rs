use comity_frontier::{Frontier as _, Local, Offer, RecordMark, SchedulerConfig, Settlement};
use comity_policy::{
    Instant, Judge, Judgement, OptOuts, Ready, Reason, RobotsEvent, RobotsLife, RobotsPolicy, SeededRandom, Terms,
    WallTime,
};
use comity_url::KeyHasher;

use super::*;

const CONFIG: &str = "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\n[crawl]\n\
                      seeds = [\"http://a.test/\", \"http://b.test/\"]\n[archive]\nmin_free = \"1MB\"\n";

fn crawl(more: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("crawl.toml"), format!("{CONFIG}{more}")).unwrap();
    dir
}

fn gone() -> Named {
    Named::Origin(Origin::parse("http://a.test").unwrap())
}

/// A queue in memory and a state directory elsewhere: nothing of the crawl is locked but the directory. Nor is anything else of
/// one that is just starting.
#[test]
fn a_running_crawl_is_left_alone_wherever_its_queue_is() {
    let elsewhere = tempfile::tempdir().unwrap();
    let dir = crawl(&format!("[frontier]\nstore = \"memory\"\n[state]\ndir = {:?}\n", elsewhere.path()));
    let running = CrawlLock::take(dir.path(), Use::Crawl).unwrap();
    for forget in [None, Some(gone())] {
        let error = StoppedCrawl::open(dir.path(), forget.as_ref()).unwrap_err();
        assert!(error.is_held(), "{error:?}");
        assert!(error.to_string().contains("a crawl runs in it"), "{error}");
        assert_eq!(error.advice(), Some("stop it, or wait for its end"));
        assert!(!dir.path().join("records").exists(), "it was looked at first");
    }
    drop(running);
    let stopped = StoppedCrawl::open(dir.path(), Some(&gone())).unwrap();
    let error = CrawlLock::take(dir.path(), Use::Crawl).unwrap_err();
    assert!(error.to_string().contains("an erasure changes it"), "no crawl starts meanwhile: {error}");
    drop(stopped);
    CrawlLock::take(dir.path(), Use::Crawl).unwrap();
}

/// The archive is looked at first: where it is damaged, nothing was forgotten.
#[test]
fn nothing_is_forgotten_beside_a_damaged_archive() {
    let dir = crawl("");
    let (state, chain) = (dir.path().join("state"), dir.path().join("chain"));
    fs::create_dir(&state).unwrap();
    let seeds = state.join("scope-seeds");
    fs::write(&seeds, "http://a.test/\nhttp://b.test/\n").unwrap();
    fs::write(&chain, format!("{{\"v\":1,\"seq\":5,\"link\":\"{}\"}}\n", "ab".repeat(32))).unwrap();
    assert!(StoppedCrawl::open(dir.path(), Some(&gone())).is_err());
    assert_eq!(fs::read_to_string(&seeds).unwrap(), "http://a.test/\nhttp://b.test/\n");
    assert!(fs::read_to_string(dir.path().join("crawl.toml")).unwrap().contains("a.test"));
    fs::remove_file(&chain).unwrap();
    let stopped = StoppedCrawl::open(dir.path(), Some(&gone())).unwrap();
    assert_eq!(stopped.forgotten, 1);
    assert_eq!(fs::read_to_string(&seeds).unwrap(), "http://b.test/\n");
}

/// Denies everything: a URL leaves the queue without a request.
struct Closed;

impl Judge for Closed {
    #[expect(clippy::disallowed_methods, reason = "the test plays the gate")]
    fn judge(&self, url: &CrawlUrl) -> Judgement {
        let wall = WallTime::from_unix_millis(1_796_000_000_000);
        let policy = RobotsPolicy { strict_4xx: vec![403], ..RobotsPolicy::default() };
        let mut life = RobotsLife::new(url.origin().clone(), policy.into());
        life.apply(RobotsEvent::Absent { status: 403, max_age: None }, wall, &SeededRandom::new(1));
        comity_policy::judge(url, &life, &Terms::default(), OptOuts::nobody(), wall)
    }
}

/// A power cut took the records, and left the queue's commit in which their URLs left it (invariant 9).
#[tokio::test]
async fn what_lost_its_record_is_queued_again_before_the_queue_is_copied() {
    let dir = crawl("");
    let path = dir.path().join("state").join("frontier");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let on_disk = || DiskStore::open(&path, DiskSettings::default()).unwrap();
    let ready = Ready { at: Instant::START, clock: Reason::Ok };
    let opened = || Local::open(on_disk(), SchedulerConfig::default(), ready).unwrap();
    let (mut queue, mark) = (opened(), RecordMark::default());
    queue.records_end_at(0, mark.clone()).unwrap();
    let offer = |text: &str| {
        let url = CrawlUrl::parse(text).unwrap();
        let key = KeyHasher::new([7; 16]).key(&url);
        Offer { depth: 1, seed: false, priority: 1, ..Offer::seed(url, key) }
    };
    queue.offer(vec![offer("http://a.test/1"), offer("http://b.test/1"), offer("http://b.test/2")]).await.unwrap();
    let mut left = 0;
    for millis in 0..100 {
        let now = Instant::from_micros(millis * 1000);
        for url in queue.lease(9, &Closed, now).await.unwrap().refused {
            left += 1;
            mark.written(left);
            queue.settle(vec![Settlement::Refused { lease: url.id }], now).await.unwrap();
        }
    }
    assert_eq!(left, 3);
    drop(queue.into_store().unwrap());
    drop(StoppedCrawl::open(dir.path(), Some(&gone())).unwrap());
    let queued = opened().stats(Instant::START).await.unwrap().queued;
    assert_eq!(queued, 2, "those of the other origin");
}
