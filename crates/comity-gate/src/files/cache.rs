use std::sync::Arc;

use comity_policy::{NamedLicence, Reviews, SiteFile, SiteFileKind, SiteFiles, WallTime};
use comity_robots::RuleSet;
use comity_signals::{HeadFacts, RslCarrier, RslPointers};
use comity_url::CrawlUrl;
use moka::ops::compute::Op;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use super::{AskFiles, FileKey};
use crate::cache::RobotsKey;
use crate::waiting::Waiting;

/// Bytes of such files held at most (our choice: a few hundred an origin). Beyond it the one that was not looked at for longest
/// goes: into the state directory, where there is one, else it is asked for again.
pub(crate) const MOST_BYTES: u64 = 32 << 20;
/// Bytes of those that wait for their judgement, at most.
const MOST_WAITING_BYTES: u64 = 32 << 20;
/// Bytes of what the pages of origins have named, at most (our choice: ten thousand origins and more with usual licences). Beyond it the
/// origin that was not looked at for longest is forgotten.
const MOST_NAMING_BYTES: u64 = 8 << 20;
/// Files of one kind that are asked for because pages of one origin name them, at most: nobody can send a crawl everywhere by naming
/// a licence of its own on each page (our choice). Copies of terms take no room from licences, which decide.
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
    waiting: Waiting<Vec<(FileKey, Arc<SiteFile>)>>,
    /// What pages have named.
    named: Cache<RobotsKey, Arc<[Named]>>,
}

/// Bytes that an entry takes, those of the cache counted.
fn weight(key: &FileKey, file: &Arc<SiteFile>) -> u32 {
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
        let naming = |_: &RobotsKey, all: &Arc<[Named]>| {
            let bytes: usize = all.iter().map(|one| size_of::<Named>() + one.key.url_bytes()).sum();
            u32::try_from(bytes + 192).unwrap_or(u32::MAX)
        };
        // By age alone: the newest was asked for because a page waits for it, and would be asked for again at once.
        let entries = Cache::builder().eviction_policy(EvictionPolicy::lru()).weigher(weight).max_capacity(MOST_BYTES);
        let asks_any = tdmrep || asks.ai_txt || asks.trust_txt || asks.licences || asks.terms;
        asks_any.then(|| Self {
            asks,
            tdmrep,
            entries: entries.build(),
            waiting: Waiting::new(MOST_WAITING_BYTES),
            // By age alone, too: an origin that is not admitted would have two dozen files anew with every page.
            named: Cache::builder()
                .eviction_policy(EvictionPolicy::lru())
                .weigher(naming)
                .max_capacity(MOST_NAMING_BYTES)
                .build(),
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
        let bytes = files.iter().map(|(key, file)| u64::from(weight(key, file))).sum();
        // Where there is no room, a later try has it.
        let _kept = self.waiting.keep(key, files, bytes, now);
    }

    /// Pages of `key` have named these: those of them that may be asked for.
    pub(crate) fn name(&self, key: &RobotsKey, files: Vec<FileKey>) -> Vec<Option<FileKey>> {
        let mut admitted = Vec::new();
        self.change_named(key, |all| {
            let before = all.len();
            for file in files {
                let is_known = all.iter().any(|one| one.key == file);
                let has_room = all.iter().filter(|one| one.key.kind == file.kind).count() < MOST_NAMED;
                if !is_known && has_room {
                    all.push(Named { key: file.clone(), wanted: false });
                }
                admitted.push((is_known || has_room).then_some(file));
            }
            all.len() > before
        });
        admitted
    }

    /// Of what pages have named, what `is` says yes to is asked for before the next page of their origin, and what it says no to is
    /// not; what it knows nothing of stays as it is: another page may want it.
    pub(crate) fn want(&self, key: &RobotsKey, is: impl Fn(&FileKey) -> Option<bool>) {
        self.change_named(key, |all| {
            let mut has_changed = false;
            for one in all {
                let wanted = is(&one.key).unwrap_or(one.wanted);
                has_changed |= wanted != one.wanted;
                one.wanted = wanted;
            }
            has_changed
        });
    }

    /// Changes what the pages of `key` have named, one change after the other; `change` says whether there is one.
    fn change_named(&self, key: &RobotsKey, change: impl FnOnce(&mut Vec<Named>) -> bool) {
        self.named.entry_by_ref(key).and_compute_with(|all| {
            let mut all = all.map(|all| all.into_value().to_vec()).unwrap_or_default();
            if change(&mut all) { Op::Put(all.into()) } else { Op::Nop }
        });
    }

    /// What is known of the files of `key`, whose robots.txt names `licences`.
    pub(crate) fn known(&self, key: &RobotsKey, licences: &[CrawlUrl], reviews: &Reviews, now: WallTime) -> Known {
        let mut known = Known::default();
        let (origin, vantage) = key;
        let kept = self.waiting.take(key).unwrap_or_default();
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
        let trust_txt = if self.asks.trust_txt { look(own(SiteFileKind::TrustTxt)) } else { None };
        let named = |url: &CrawlUrl| {
            let file = look(FileKey::at(SiteFileKind::Licence, url.clone()))?;
            Some(NamedLicence { url: url.clone(), carrier: RslCarrier::Robots, file })
        };
        let licences = licences.iter().filter_map(named).collect();
        known.files = SiteFiles { tdmrep, ai_txt, trust_txt, licences };
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
        all.extend(self.asks.trust_txt.then(|| own(SiteFileKind::TrustTxt)));
        all.extend(licences.iter().map(|url| FileKey::at(SiteFileKind::Licence, url.clone())));
        if self.asks.terms {
            let reviewed = reviews.of(origin).iter();
            all.extend(reviewed.map(|one| FileKey::at(SiteFileKind::Terms, one.url().clone())));
        }
        let named = self.named.get(key);
        all.extend(named.iter().flat_map(|all| &**all).filter(|one| one.wanted).map(|one| one.key.clone()));
        let kept = self.waiting.look(key).unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use comity_policy::{SiteFileState, Vantage};
    use comity_url::Origin;

    use super::*;

    const NOW: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

    fn cache() -> FileCache {
        let asks = AskFiles { licences: true, terms: true, ..AskFiles::default() };
        FileCache::new(asks, false).unwrap()
    }

    fn site(n: usize) -> RobotsKey {
        (Origin::parse(&format!("https://host-{n}.example")).unwrap(), Vantage::Direct)
    }

    fn at(kind: SiteFileKind, path: &str) -> FileKey {
        FileKey::at(kind, CrawlUrl::parse(&format!("https://lic.example/{path}")).unwrap())
    }

    fn wanted(cache: &FileCache, key: &RobotsKey) -> Vec<FileKey> {
        let named = cache.named.get(key).unwrap();
        named.iter().filter(|one| one.wanted).map(|one| one.key.clone()).collect()
    }

    #[test]
    fn copies_of_terms_take_no_room_from_licences_nor_licences_from_terms() {
        let [terms, licences] = [SiteFileKind::Terms, SiteFileKind::Licence];
        for [first, second] in [[terms, licences], [licences, terms]] {
            let cache = cache();
            let of = |kind| (0..40).map(|n| at(kind, &n.to_string())).collect::<Vec<_>>();
            for kind in [first, second, first] {
                let admitted = cache.name(&site(0), of(kind));
                assert_eq!(admitted.iter().flatten().count(), MOST_NAMED, "{kind:?}");
                assert!(admitted.iter().take(MOST_NAMED).all(Option::is_some), "{kind:?}: those that came first");
            }
        }
    }

    #[test]
    fn one_page_takes_no_wish_of_another_back() {
        let (cache, key) = (cache(), site(0));
        let [one, other] = ["1", "2"].map(|path| at(SiteFileKind::Licence, path));
        let terms = at(SiteFileKind::Terms, "t");
        let of = |files: &[&FileKey], is: bool| {
            let _admitted = cache.name(&key, files.iter().copied().cloned().collect());
            cache.want(&key, |file| files.contains(&file).then_some(is));
        };
        of(&[&one], true);
        of(&[&other], true);
        of(&[&terms], false);
        assert_eq!(wanted(&cache, &key), [one.clone(), other.clone()]);
        of(&[&one, &terms], false);
        assert_eq!(wanted(&cache, &key), [other]);
        cache.want(&key, |_| Some(false));
        assert!(wanted(&cache, &key).is_empty());
    }

    #[test]
    fn pages_that_name_at_once_lose_no_name() {
        let (cache, key) = (cache(), site(0));
        std::thread::scope(|scope| {
            for n in 0..MOST_NAMED {
                let (cache, key) = (&cache, &key);
                scope.spawn(move || cache.name(key, vec![at(SiteFileKind::Licence, &n.to_string())]));
            }
        });
        assert_eq!(cache.named.get(&key).unwrap().len(), MOST_NAMED);
    }

    /// Names count, too, wherever they stand, and however long sites make them.
    #[test]
    fn long_urls_are_counted() {
        let (cache, long) = (cache(), "x".repeat(60_000));
        let file = SiteFile {
            state: SiteFileState::Read,
            status: Some(200),
            asked: NOW,
            until: NOW.after(Duration::from_secs(3600)),
            final_url: Some(CrawlUrl::parse(&format!("https://lic.example/{long}")).unwrap()),
            copy: None,
        };
        let file = Arc::new(file);
        for n in 0..1000 {
            cache.store(FileKey::of(SiteFileKind::Tdmrep, site(n).0, Vantage::Direct), file.clone());
            cache.settle();
        }
        for n in 0..20 {
            let named = (0..MOST_NAMED).map(|n| at(SiteFileKind::Terms, &format!("{n}{long}"))).collect();
            assert_eq!(cache.name(&site(n), named).iter().flatten().count(), MOST_NAMED);
            cache.named.run_pending_tasks();
            assert!(cache.named.contains_key(&site(n)), "{n}: the newest is admitted");
        }
        let held = cache.entries.entry_count() * 60_000;
        assert!(held <= MOST_BYTES && held > MOST_BYTES / 2, "{held}");
        let held = cache.named.entry_count() * MOST_NAMED as u64 * 60_000;
        assert!(held <= MOST_NAMING_BYTES && held > MOST_NAMING_BYTES / 2, "{held}");
    }
}
