use comity_frontier::{Offer, QueuedUrl, Row, WriteBatch};
use comity_url::UrlKey;

use super::*;

const KEY: &[u8] = b"http://b.test\0\x01\0\0\0\0\0\0\0\x02";

/// A crawl without records, of which the queue knows that one was written: a power cut took it.
fn cut_short() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let text = "[agent]\nname = \"MyBot/1.0\"\ncontact = \"https://example.com/bot\"\n[crawl]\nseeds = [\"http://a.test/\", \"http://b.test/\"]\n";
    let config = CrawlConfig::resolve(ConfigFile::parse(text, None).unwrap()).unwrap();
    fs::write(dir.path().join("crawl.toml"), crate::marking::resolved_text(&config).unwrap()).unwrap();
    let path = dir.path().join("state").join("frontier");
    let url = QueuedUrl::from(Offer::seed(CrawlUrl::parse("http://b.test/").unwrap(), UrlKey::from_bytes([1; 16])));
    // Version, done, length of the key.
    let left = [&[1, 0, 0, u8::try_from(KEY.len()).unwrap()], KEY, &url.encode()].concat();
    let mut batch = WriteBatch::default();
    batch.insert(Keyspace::Left, [1_u64.to_be_bytes(), [0; 8]].concat(), left);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let store = DiskStore::open(&path, DiskSettings::default()).unwrap();
    let mut store = open::on_store(store, &config, &clock).unwrap().into_store().unwrap();
    store.commit(batch).unwrap();
    drop(store);
    (dir, path)
}

fn rows(path: &Path, space: Keyspace) -> Vec<Row> {
    DiskStore::open(path, DiskSettings::default()).unwrap().peek(space, &[], &[0xff; 64], 9).unwrap()
}

/// An erasure takes the number of the record that was lost: the start after it would not miss that any more.
#[test]
fn what_a_power_cut_took_is_queued_again_before_anything_is_erased() {
    let other = Named::Origin(Origin::parse("http://a.test").unwrap());
    let page = Named::Url(CrawlUrl::parse("http://a.test/page").unwrap());
    for forget in [None, Some(&other), Some(&page)] {
        let (dir, path) = cut_short();
        drop(StoppedCrawl::open(dir.path(), forget).unwrap());
        assert_eq!(rows(&path, Keyspace::Left), []);
        let queued: Vec<Vec<u8>> = rows(&path, Keyspace::Queue).into_iter().map(|(key, _)| key).collect();
        assert_eq!(queued, [KEY], "{forget:?}");
    }
    for named in ["http://b.test/", "http://b.test"] {
        let (dir, path) = cut_short();
        let named = match Origin::parse(named) {
            Ok(origin) if !named.ends_with('/') => Named::Origin(origin),
            _ => Named::Url(CrawlUrl::parse(named).unwrap()),
        };
        drop(StoppedCrawl::open(dir.path(), Some(&named)).unwrap());
        assert_eq!((rows(&path, Keyspace::Left), rows(&path, Keyspace::Queue)), (vec![], vec![]), "{named:?}");
    }
}

/// `comity erase --resume`, and the same erasure once more.
#[test]
fn a_kill_between_the_renames_is_gone_on_with() {
    let named = Named::Origin(Origin::parse("http://a.test").unwrap());
    for forget in [None, Some(&named)] {
        let (dir, path) = cut_short();
        let beside = |end: &str| path.with_file_name(format!("frontier.{end}"));
        fs::rename(&path, beside("new")).unwrap();
        fs::create_dir(beside("old")).unwrap();
        fs::write(beside("old").join("0.jnl"), "http://a.test/").unwrap();
        let held = StoppedCrawl::open(dir.path(), forget).unwrap();
        assert!(path.is_dir() && !beside("new").exists() && !beside("old").exists());
        assert!(DiskStore::open(&path, DiskSettings::default()).is_err(), "it is held");
        drop(held);
        assert_eq!(rows(&path, Keyspace::Queue).len(), 1);
    }
}
