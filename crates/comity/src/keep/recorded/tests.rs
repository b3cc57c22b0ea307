use std::fs::File;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use comity_archive::{Archive, ArchiveConfig, Backing, CrawlFacts, CrawlLock, Disk, OsEntropy, Use};
use comity_policy::{Clock, Identity, WallTime};

use super::*;
use crate::config::{SitemapSettings, Sitemaps};
use crate::events::Listeners;
use crate::sites::Sites;

/// Seconds that the test sets.
#[derive(Debug, Default)]
struct SetClock(AtomicU64);

impl SetClock {
    fn set(&self, seconds: u64) {
        self.0.store(seconds * 1_000_000, Ordering::Relaxed);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Instant {
        Instant::from_micros(self.0.load(Ordering::Relaxed))
    }

    fn wall(&self) -> WallTime {
        WallTime::from_unix_millis(1_700_000_000_000)
    }
}

/// Real files; during each sync somebody else writes and says so.
#[derive(Clone, Debug, Default)]
struct BusyDisk(Arc<Busy>);

#[derive(Debug, Default)]
struct Busy {
    other: OnceLock<Keeper>,
    syncs: AtomicUsize,
}

#[derive(Debug)]
struct BusyFile(File, BusyDisk);

impl Disk for BusyDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Backing>> {
        Ok(Box::new(BusyFile(File::create_new(path)?, self.clone())))
    }

    fn free(&self, _: &Path) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

impl Write for BusyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Backing for BusyFile {
    fn cut(&mut self, len: u64) -> io::Result<()> {
        Backing::cut(&mut self.0, len)
    }

    fn sync(&self) -> io::Result<()> {
        let busy = &self.1.0;
        if let Some(other) = busy.other.get() {
            busy.syncs.fetch_add(1, Ordering::Relaxed);
            other.wrote();
        }
        self.0.sync_all()
    }
}

fn keeper(dir: &Path, disk: &BusyDisk, clock: &Arc<SetClock>) -> Keeper {
    let identity = Identity::new("TestBot/1.0", "https://bot.example/about", &[], Vec::new()).unwrap();
    let lock = Arc::new(CrawlLock::take(dir, Use::Crawl).unwrap());
    let settings = ArchiveConfig { lock: Some(lock.clone()), ..ArchiveConfig::new(CrawlFacts::new("test", identity)) };
    let archive =
        Archive::create_on(Arc::new(disk.clone()), dir, settings, clock.clone(), Box::new(OsEntropy)).unwrap();
    let archive = SharedArchive::new(archive, Box::new(OsEntropy)).unwrap();
    let evidence = EvidenceStore::open(dir).unwrap();
    let store = Store::new(
        archive,
        evidence,
        dir.to_owned(),
        Work::Inline,
        Remembered::default(),
        (clock.now(), comity_frontier::RecordMark::default(), Arc::new(Exposed::new(clock.clone()))),
        lock,
    );
    let settings = SitemapSettings { mode: Sitemaps::Off, most: 0 };
    Keeper::new(Some(store), clock.clone(), Arc::new(Sites::new(settings, false)), Listeners::default())
}

fn refused() -> Event {
    Event::NotFetched(Box::new(NotFetched {
        target: Target::Text("http://a.test/x".to_owned()),
        reason: Reason::UrlScope,
        basis: Basis::Rule,
        at: WallTime::from_unix_millis(1_700_000_000_000),
        until: None,
        detail: None,
        context: Context::default(),
    }))
}

/// Whatever is written while a sync is under way is not covered by it: its own sync is due a second later.
#[tokio::test]
async fn what_is_written_during_a_sync_is_due_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let (disk, clock) = (BusyDisk::default(), Arc::new(SetClock::default()));
    clock.set(1);
    let keeper = keeper(dir.path(), &disk, &clock);
    keeper.append(refused()).await.unwrap();
    assert_eq!(keeper.sync_due(), Some(Instant::from_micros(2_000_000)), "written, and nothing synced yet");
    keeper.sync().await.unwrap();
    assert_eq!(keeper.sync_due(), None, "nothing is written that is not safe");
    disk.0.other.set(keeper.clone()).unwrap();
    // A sync that the loop asks for, and one that the next record brings with it.
    clock.set(5);
    keeper.append(refused()).await.unwrap();
    assert!(disk.0.syncs.load(Ordering::Relaxed) > 0 && keeper.has_synced());
    assert_eq!(keeper.sync_due(), Some(Instant::from_micros(6_000_000)));
    clock.set(9);
    keeper.sync().await.unwrap();
    assert_eq!(keeper.sync_due(), Some(Instant::from_micros(10_000_000)));
}
