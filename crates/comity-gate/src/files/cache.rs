use std::sync::Arc;

use comity_policy::{NamedLicence, Reviews, SiteFile, SiteFileKind, SiteFiles, WallTime};
use comity_robots::RuleSet;
use comity_signals::{HeadFacts, RslCarrier, RslPointers};
use comity_url::CrawlUrl;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use super::waiting::Waiting;
use super::{AskFiles, FileKey};
use crate::cache::RobotsKey;

/// Bytes of such files held at most (our choice: a few hundred an origin). Beyond it the one that was not looked at for longest
/// goes: into the state directory, where there is one, else it is asked for again.
pub(crate) const MOST_BYTES: u64 = 32 << 20;
/// Origins of which it is remembered what their pages have named, at most.
const MOST_NAMING: u64 = 10_000;
/// Files that are asked for because pages of one origin name them, at most: nobody can send a crawl everywhere by naming a
/// licence of its own on each page (our choice).
const MOST_NAMED: usize = 24;

/// A file that a page has named.
#[derive(Clone, Debug)]
struct Named {
    key: FileKey,
    /// It could not be learnt then, and is asked for before the next page.
    wanted: bool,
}

/// What is known of the files of all sites.
#[derive(Debug)]
pub(crate) struct FileCache {
    asks: AskFiles,
    tdmrep: bool,
    entries: Cache<FileKey, Arc<SiteFile>>,
    /// Those of origins that are about to be judged.
    waiting: Waiting,
    /// What pages have named.
    named: Cache<RobotsKey, Arc<[Named]>>,
}

/// Bytes that an entry takes, those of the cache counted.
pub(super) fn weight(key: &FileKey, file: &Arc<SiteFile>) -> u32 {
    u32::try_from(file.heap_bytes() + key.url_bytes() + 320).unwrap_or(u32::MAX)
}

/// What is known for a judgement.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) files: SiteFiles,
    /// One of them has to be asked for.
    pub(crate) is_due: bool,
    /// One of those has been known, and may say something else by now; or is only kept, and decides nothing.
    pub(crate) had_any: bool,
    /// Terms that were reviewed have to be asked for: they are, also where nothing else of their origin is.
    pub(crate) terms_due: bool,
}

impl FileCache {
    /// `tdmrep` says whether that is asked for under the declared purposes. `None` when nothing is asked for at all.
    pub(crate) fn new(asks: AskFiles, tdmrep: bool) -> Option<Self> {
        // By age alone: the newest was asked for because a page waits for it, and would be asked for again at once.
        let entries = Cache::builder().eviction_policy(EvictionPolicy::lru()).weigher(weight).max_capacity(MOST_BYTES);
        let asks_any = tdmrep || asks.ai_txt || asks.licences || asks.terms;
        asks_any.then(|| Self {
            asks,
            tdmrep,
            entries: entries.build(),
            waiting: Waiting::default(),
            named: Cache::builder().max_capacity(MOST_NAMING).build(),
        })
    }

    pub(crate) const fn asks(&self) -> AskFiles {
        self.asks
    }

    pub(crate) fn get(&self, key: &FileKey) -> Option<Arc<SiteFile>> {
        self.entries.get(key)
    }

    pub(crate) fn store(&self, key: FileKey, file: Arc<SiteFile>) {
        self.entries.insert(key, file);
    }

    /// What is known of a file, within its life.
    pub(crate) fn in_life(&self, key: &FileKey, now: WallTime) -> Option<Arc<SiteFile>> {
        self.entries.get(key).filter(|file| !file.is_due(now))
    }

    #[cfg(test)]
    pub(crate) fn is_due(&self, key: &FileKey, now: WallTime) -> bool {
        self.in_life(key, now).is_none()
    }

    /// The next judgement of `key` has these, whatever the cache lets go until then.
    pub(crate) fn keep_for(&self, key: RobotsKey, files: Vec<(FileKey, Arc<SiteFile>)>, now: WallTime) {
        self.waiting.keep(key, files, now);
    }

    /// Pages of `key` have named these: those of them that may be asked for.
    pub(crate) fn name(&self, key: &RobotsKey, files: Vec<FileKey>) -> Vec<Option<FileKey>> {
        let mut all = self.named.get(key).map(|all| all.to_vec()).unwrap_or_default();
        let before = all.len();
        let admit = |file: FileKey| {
            if !all.iter().any(|one| one.key == file) {
                if all.len() >= MOST_NAMED {
                    return None;
                }
                all.push(Named { key: file.clone(), wanted: false });
            }
            Some(file)
        };
        let admitted = files.into_iter().map(admit).collect();
        if all.len() > before {
            self.named.insert(key.clone(), all.into());
        }
        admitted
    }

    /// What pages named and `is` says yes to is asked for before the next page of their origin; nothing else is.
    pub(crate) fn want(&self, key: &RobotsKey, is: impl Fn(&FileKey) -> bool) {
        if let Some(all) = self.named.get(key) {
            let want = |one: &Named| Named { key: one.key.clone(), wanted: is(&one.key) };
            self.named.insert(key.clone(), all.iter().map(want).collect());
        }
    }

    /// What is known of the files of `key`, whose robots.txt names `licences`.
    pub(crate) fn known(&self, key: &RobotsKey, licences: &[CrawlUrl], reviews: &Reviews, now: WallTime) -> Known {
        let mut known = Known::default();
        let (origin, vantage) = key;
        let kept = self.waiting.take(key);
        let find = |file: &FileKey| self.find(file, &kept, now);
        let mut look = |file: FileKey| {
            let found = find(&file);
            let is_due = found.as_ref().is_none_or(|file| file.is_due(now));
            known.is_due |= is_due;
            known.had_any |= is_due && found.is_some();
            found
        };
        let own = |kind| FileKey::of(kind, origin.clone(), *vantage);
        let tdmrep = if self.tdmrep { look(own(SiteFileKind::Tdmrep)) } else { None };
        let ai_txt = if self.asks.ai_txt { look(own(SiteFileKind::AiTxt)) } else { None };
        let named = |url: &CrawlUrl| {
            let file = look(FileKey::at(SiteFileKind::Licence, url.clone()))?;
            Some(NamedLicence { url: url.clone(), carrier: RslCarrier::Robots, file })
        };
        let licences = licences.iter().filter_map(named).collect();
        known.files = SiteFiles { tdmrep, ai_txt, licences };
        let is_due = |file: &FileKey| find(file).is_none_or(|file| file.is_due(now));
        if self.asks.terms {
            let reviewed = reviews.of(origin).iter().map(|one| FileKey::at(SiteFileKind::Terms, one.url().clone()));
            known.terms_due = reviewed.fold(false, |due, file| due | is_due(&file));
            known.is_due |= known.terms_due;
        }
        if let Some(named) = self.named.get(key) {
            known.is_due |= named.iter().any(|one| one.wanted && is_due(&one.key));
        }
        known
    }

    /// One file for a judgement, which `kept` was waiting for. What is only there comes back into the cache: it is in use.
    fn find(&self, key: &FileKey, kept: &[(FileKey, Arc<SiteFile>)], now: WallTime) -> Option<Arc<SiteFile>> {
        let held = self.entries.get(key);
        if held.as_ref().is_some_and(|file| !file.is_due(now)) {
            return held;
        }
        let Some((_, file)) = kept.iter().find(|(one, file)| one == key && !file.is_due(now)) else { return held };
        self.entries.insert(key.clone(), file.clone());
        Some(file.clone())
    }

    /// The files that a judgement of `key` needs, in the order in which they are asked for, and what is known of each.
    pub(crate) fn needed(
        &self,
        key: &RobotsKey,
        licences: &[CrawlUrl],
        reviews: &Reviews,
        now: WallTime,
    ) -> Vec<(FileKey, Option<Arc<SiteFile>>)> {
        let (origin, vantage) = key;
        let mut all = Vec::new();
        let own = |kind| FileKey::of(kind, origin.clone(), *vantage);
        all.extend(self.tdmrep.then(|| own(SiteFileKind::Tdmrep)));
        all.extend(self.asks.ai_txt.then(|| own(SiteFileKind::AiTxt)));
        all.extend(licences.iter().map(|url| FileKey::at(SiteFileKind::Licence, url.clone())));
        if self.asks.terms {
            let reviewed = reviews.of(origin).iter();
            all.extend(reviewed.map(|one| FileKey::at(SiteFileKind::Terms, one.url().clone())));
        }
        let named = self.named.get(key);
        all.extend(named.iter().flat_map(|all| &**all).filter(|one| one.wanted).map(|one| one.key.clone()));
        let kept = self.waiting.look(key);
        let found = |file: FileKey| {
            let known = self.find(&file, &kept, now).filter(|file| !file.is_due(now));
            (file, known)
        };
        all.into_iter().map(found).collect()
    }

    /// The licences that the groups for us name, each once.
    pub(crate) fn licences(&self, rules: &[RuleSet]) -> Box<[CrawlUrl]> {
        let mut urls: Vec<CrawlUrl> = Vec::new();
        if self.asks.licences {
            let named = |set| RslPointers::read::<&str, &str>(Some(set), &[], &HeadFacts::default()).documents;
            for pointer in rules.iter().flat_map(named) {
                let url = CrawlUrl::parse(&pointer.url).ok().filter(|url| !urls.contains(url));
                urls.extend(url.filter(|_| urls.len() < NamedLicence::MOST));
            }
        }
        urls.into()
    }

    #[cfg(test)]
    pub(crate) fn settle(&self) {
        self.entries.run_pending_tasks();
    }
}
