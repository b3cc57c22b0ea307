//! A crawl that nobody runs, opened from its directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use comity_archive::{CrawlLock, Use};
use comity_fetch::SystemClock;
use comity_frontier::{DiskStore, Frontier, OtherRules};
use comity_policy::Clock;
use comity_url::{CrawlUrl, KeyHasher, Scope, UrlKey};

use super::{ParkFile, Prints};
use crate::config::{ConfigFile, CrawlConfig, QueueStore};
use crate::directory::{self, Claim};
use crate::engine::Keys;
use crate::open::{self, Accepted, Work};
use crate::remembered::Remembered;
use crate::sites::Sites;
use crate::{Error, marking};

/// The queue of a crawl that nobody runs.
#[derive(Debug)]
pub(super) struct Stopped {
    dir: PathBuf,
    frontier: Arc<dyn Frontier>,
    clock: Arc<dyn Clock>,
    keys: Keys,
    /// Its patterns are those that the crawl goes on under; what its seeds opened is not in it.
    scope: Scope,
    sites: Sites,
    parks: Mutex<ParkFile>,
    prints: Prints,
    /// Keeps crawls from starting meanwhile.
    _state: Remembered,
    _lock: CrawlLock,
}

impl Stopped {
    pub(super) fn frontier(&self) -> &dyn Frontier {
        &*self.frontier
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(super) const fn parks(&self) -> &Mutex<ParkFile> {
        &self.parks
    }

    pub(super) fn key(&self, url: &CrawlUrl) -> UrlKey {
        self.keys.key(url, &self.sites)
    }

    pub(super) const fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) const fn prints(&self) -> &Prints {
        &self.prints
    }

    pub(super) fn open(dir: &Path) -> Result<Self, Error> {
        let shown = dir.display();
        if !DiskStore::exists(&dir.join("state").join("frontier")) {
            return Err(Error::directory(format!(
                "{shown} holds no crawl whose queue is on disk; give the folder of a crawl (--dir D of comity crawl)"
            )));
        }
        let lock = CrawlLock::take(dir, Use::Steer)?;
        let text = fs::read_to_string(dir.join("crawl.toml"))
            .map_err(|e| Error::directory(format!("{shown}/crawl.toml cannot be read: {e}")))?;
        let file = ConfigFile::of_text(&text)
            .map_err(|e| directory::no_resume(dir, &format!("its crawl.toml cannot be read: {}", e.message())))?;
        let config = CrawlConfig { store: QueueStore::Disk, ..CrawlConfig::resolve(file)? };
        Self::over(dir, &config, marking::fresh_key()?, lock)
    }

    pub(super) fn create(dir: &Path, file: ConfigFile, prints: Option<&Prints>) -> Result<Self, Error> {
        let config = CrawlConfig::resolve(file)?;
        if config.store != QueueStore::Disk {
            return Err(Error::directory("[frontier] store: a crawl that is to be gone on with has its queue on disk"));
        }
        let Claim::Fresh = directory::claim(dir)? else {
            return Err(Error::directory(format!("{} holds a crawl already", dir.display())));
        };
        let lock = CrawlLock::take(dir, Use::Steer)?;
        // Somebody may have crawled into it until now.
        let Claim::Fresh = directory::claim(dir)? else {
            return Err(Error::directory(format!("{} holds a crawl already", dir.display())));
        };
        let fresh = marking::fresh_key()?;
        let of_export = prints.and_then(Prints::key).filter(|key| prints == Some(&Prints::of(config.keys, *key)));
        open::mark(dir, &config, None)?;
        Self::over(dir, &config, of_export.unwrap_or(fresh), lock)
    }

    fn over(dir: &Path, config: &CrawlConfig, fresh: [u8; 16], lock: CrawlLock) -> Result<Self, Error> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        // Held first, as a crawl does: the files of a queue mean nothing to who looks while another process writes them. A state
        // directory that crawls share tells nothing about this one.
        let state = match config.state_dir {
            None => Remembered::open(Some(dir), config, &clock, Work::OnThread)?,
            Some(_) => Remembered::default(),
        };
        let accepted = Accepted { rules: OtherRules::Refuse, loss: false };
        let (queue, key) = open::queue(Some(dir), config, &clock, (fresh, accepted), (None, Work::OnThread, None))?;
        // What a power cut may have taken stays kept until a crawl holds the queue to its records.
        let frontier = queue.frontier();
        Ok(Self {
            dir: dir.to_owned(),
            frontier,
            keys: Keys::new(KeyHasher::new(key), config.keys),
            scope: config.scope.clone(),
            sites: Sites::new(config.sitemaps, config.keys.clean_param),
            parks: Mutex::new(ParkFile::open(dir, clock.wall())?),
            prints: Prints::of(config.keys, key),
            _state: state,
            _lock: lock,
            clock,
        })
    }
}
