use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use comity_policy::{
    AskedPace, Hold, Judgement, OptOuts, Reason, Refusal, Reviews, RobotsLife, RobotsPolicy, SiteFile, SiteFiles,
    Standing, Terms, Turn, Vantage, WallTime,
};
use comity_url::{CrawlUrl, Origin};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use crate::files::{AskFiles, FileCache, FileKey, Known};
use crate::trail::Trail;
use crate::waiting::Waiting;

/// What the cache is keyed by: sites answer by country, so a copy belongs to the vantage it was fetched from.
pub(crate) type RobotsKey = (Origin, Vantage);

/// How a robots.txt flight ended, for whoever waited.
#[derive(Clone, Debug)]
pub struct RobotsNews {
    /// The origin it was for.
    pub origin: Origin,
    /// When the origin may be asked next.
    pub turn: Turn,
    /// Set when the origin has to wait all the same: its robots.txt could not be asked yet.
    pub hold: Option<Hold>,
    /// What was asked on the way; `None` when nothing had to be.
    pub(crate) trail: Option<Arc<Trail>>,
}

/// robots.txt of every origin: lives behind a moka cache, which only bounds bytes and shares entries (invariant 13).
#[derive(Debug)]
pub(crate) struct RobotsCache {
    entries: Cache<RobotsKey, Arc<Entry>>,
    /// Those that were learnt for a judgement that is still to come.
    waiting: Waiting<Arc<Entry>>,
    policy: Arc<RobotsPolicy>,
    idle: Idle,
    stores: AtomicU64,
    /// The files of sites, where any is asked for.
    files: Option<FileCache>,
}

/// What becomes of the entries of origins that nobody asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// They stay as long as there is room: nothing else remembers them.
    Stays,
    /// They go, and cost nothing: the state directory remembers them.
    Goes,
}

/// One origin's entry: never changed, only replaced.
#[derive(Debug)]
pub(crate) struct Entry {
    life: RobotsLife,
    /// The name does not exist, or no address may be connected to: nothing is asked until then.
    barred: Option<Box<Barred>>,
    /// When it was last judged by, in milliseconds of civil time.
    judged: AtomicI64,
    /// It waits for its first judgement, whatever the cache lets go until then.
    waits: AtomicBool,
    /// The licences that its robots.txt names, where they are asked for.
    licences: Box<[CrawlUrl]>,
}

/// Why an origin cannot be connected to at all.
#[derive(Clone, Debug)]
pub(crate) struct Barred {
    pub(crate) reason: Reason,
    pub(crate) until: WallTime,
}

impl RobotsCache {
    pub(crate) fn new(policy: Arc<RobotsPolicy>, most_bytes: u64, idle: Idle) -> Self {
        // By age alone: the newest was asked for because a page waits for it. What is asked for often must not keep it out.
        let entries = Cache::builder()
            .eviction_policy(EvictionPolicy::lru())
            .weigher(|_: &RobotsKey, entry: &Arc<Entry>| entry.weight())
            .max_capacity(most_bytes)
            .build();
        let waiting = Waiting::new(most_bytes / 4);
        Self { entries, waiting, policy, idle, stores: AtomicU64::new(0), files: None }
    }

    /// The same, which asks for files of sites before the first page of an origin.
    pub(crate) fn asking(mut self, asks: AskFiles, tdmrep: bool) -> Self {
        self.files = FileCache::new(asks, tdmrep);
        self
    }

    /// The files of sites, where any is asked for.
    pub(crate) const fn files(&self) -> Option<&FileCache> {
        self.files.as_ref()
    }

    /// The files that a judgement of `key` needs, and what is known of each. None where robots.txt is not known: what it names
    /// is not, either.
    pub(crate) fn files_needed(
        &self,
        key: &RobotsKey,
        reviews: &Reviews,
        now: WallTime,
    ) -> Vec<(FileKey, Option<Arc<SiteFile>>)> {
        let (Some(files), Some(entry)) = (&self.files, self.get(key)) else { return Vec::new() };
        if entry.barred.is_some() { Vec::new() } else { files.needed(key, &entry.licences, reviews, now) }
    }

    /// All that a judgement of `key` needs was looked at: it has these, and what its pages named is asked for.
    pub(crate) fn files_known(&self, key: RobotsKey, found: Vec<(FileKey, Arc<SiteFile>)>, now: WallTime) {
        if let Some(files) = &self.files {
            files.want(&key, |_| Some(false));
            files.keep_for(key, found, now);
        }
    }

    /// Judges by access alone, whatever the files of the site say: for these files themselves.
    pub(crate) fn judge_access(
        &self,
        url: &CrawlUrl,
        vantage: Vantage,
        terms: &Terms,
        optouts: &OptOuts,
        now: WallTime,
    ) -> Judgement {
        match self.get(&(url.origin().clone(), vantage)) {
            None => Judgement::NeedsRobots(url.origin().clone()),
            Some(entry) => match entry.judge(url, SiteFiles::NONE, terms, optouts, now) {
                Judgement::Allow(allowance) => Judgement::Allow(allowance.seen_from(vantage)),
                other => other,
            },
        }
    }

    /// Judges from what is known; never fetches.
    pub(crate) fn judge(
        &self,
        url: &CrawlUrl,
        vantage: Vantage,
        terms: &Terms,
        optouts: &OptOuts,
        now: WallTime,
    ) -> Judgement {
        let key = (url.origin().clone(), vantage);
        let Some(entry) = self.get(&key) else { return Judgement::NeedsRobots(key.0) };
        let known = self.files.as_ref().map(|files| files.known(&key, &entry.licences, &terms.reviews, now));
        let Known { files, is_due, had_any, terms_due } = known.unwrap_or_default();
        let judgement = match entry.judge(url, &files, terms, optouts, now) {
            // What robots.txt refuses is refused; what it allows waits for what else the site says of use.
            Judgement::Allow(_) if is_due => Judgement::NeedsRobots(key.0.clone()),
            Judgement::Refuse(refusal) if (is_due && had_any || terms_due) && refusal.reason().is_signal() => {
                Judgement::NeedsRobots(key.0.clone())
            }
            Judgement::Allow(allowance) => Judgement::Allow(allowance.seen_from(vantage)),
            other => other,
        };
        if !matches!(judgement, Judgement::NeedsRobots(_)) && entry.waits.swap(false, Ordering::Relaxed) {
            self.no_longer_waits(key);
        }
        judgement
    }

    /// What is known of one origin.
    fn get(&self, key: &RobotsKey) -> Option<Arc<Entry>> {
        self.entries.get(key).or_else(|| self.waiting.look(key))
    }

    /// The next judgement of `key` has what is known now, whatever the cache lets go until then.
    pub(crate) fn hold(&self, key: &RobotsKey, now: WallTime) {
        if let Some(entry) = self.get(key) {
            entry.waits.store(true, Ordering::Relaxed);
            // Where there is no room, a later try has it.
            let _kept = self.waiting.keep(key.clone(), entry.clone(), entry.weight().into(), now);
        }
    }

    /// It was judged: from here on it is the cache's alone, as the newest one there.
    fn no_longer_waits(&self, key: RobotsKey) {
        if let Some(entry) = self.waiting.take(&key) {
            // Nothing, where it is held already, or another one by now.
            let _held = self.entries.entry(key).or_insert(entry);
        }
    }

    /// The life of one origin as it is now; a new one when nothing is known.
    pub(crate) fn life(&self, key: &RobotsKey) -> RobotsLife {
        self.get(key).map_or_else(
            || {
                #[expect(clippy::disallowed_methods, reason = "this is the gate: the one place where lives begin")]
                RobotsLife::new(key.0.clone(), self.policy.clone())
            },
            |entry| entry.life.clone(),
        )
    }

    /// What robots.txt of one origin asks about pace.
    pub(crate) fn asked_pace(&self, key: &RobotsKey) -> AskedPace {
        self.get(key).map(|entry| entry.life.asked_pace()).unwrap_or_default()
    }

    /// True when nothing is held in memory for `key`: it may still be remembered elsewhere.
    pub(crate) fn is_unknown(&self, key: &RobotsKey) -> bool {
        !self.entries.contains_key(key) && self.waiting.look(key).is_none()
    }

    /// True when the copy is worth asking anew ahead of its end.
    pub(crate) fn is_worth_refreshing(&self, key: &RobotsKey, now: WallTime) -> bool {
        self.get(key).is_some_and(|entry| entry.barred.is_none() && entry.life.is_worth_refreshing(now))
    }

    /// True when robots.txt has to be asked: unknown, at the end of its life, or the next try has come.
    pub(crate) fn is_due(&self, key: &RobotsKey, now: WallTime) -> bool {
        self.get(key).is_none_or(|entry| {
            entry.barred.as_ref().map_or_else(|| entry.life.is_due(now), |barred| barred.until <= now)
        })
    }

    /// Puts a life back after an event; the entry is weighed anew.
    pub(crate) fn store(&self, key: RobotsKey, life: RobotsLife, barred: Option<Barred>, now: WallTime) {
        let judged = AtomicI64::new(now.unix_millis());
        let licences = match (&self.files, life.standing(now)) {
            (Some(files), Standing::Rules { copy, .. }) => files.licences(&copy.rules),
            _ => Box::default(),
        };
        let waits = AtomicBool::new(true);
        let entry = Arc::new(Entry { life, barred: barred.map(Box::new), judged, waits, licences });
        // Where there is no room, a later try has it.
        let _kept = self.waiting.keep(key.clone(), entry.clone(), entry.weight().into(), now);
        self.entries.insert(key, entry);
        // A sweep looks at every entry, so it runs once in as many stores: memory follows the origins in use, and where
        // no new ones come, nothing has to wake up.
        let stores = self.stores.fetch_add(1, Ordering::Relaxed) + 1;
        if self.idle == Idle::Goes && stores.is_multiple_of(self.entries.entry_count().max(Self::SWEEP_EVERY)) {
            self.let_idle_go(now);
        }
    }

    /// Stores between two sweeps, at least.
    const SWEEP_EVERY: u64 = 1024;
    /// An origin that was not asked about for so long is idle (our choice: some Crawl-delays of the longest kind).
    const IDLE_AFTER: Duration = Duration::from_secs(900);

    fn let_idle_go(&self, now: WallTime) {
        self.waiting.let_old_go(now);
        let is_idle = |entry: &Entry| {
            let judged = WallTime::from_unix_millis(entry.judged.load(Ordering::Relaxed));
            entry.barred.is_none() && now.since(judged) > Self::IDLE_AFTER
        };
        for (key, entry) in &self.entries {
            if is_idle(&entry) {
                self.entries.invalidate(&*key);
            }
        }
    }
}

impl Entry {
    fn judge(&self, url: &CrawlUrl, files: &SiteFiles, terms: &Terms, optouts: &OptOuts, now: WallTime) -> Judgement {
        self.judged.store(now.unix_millis(), Ordering::Relaxed);
        match &self.barred {
            Some(barred) if barred.until > now => Judgement::Refuse(Refusal::before_robots(barred.reason, now)),
            Some(_) => Judgement::NeedsRobots(url.origin().clone()),
            None => comity_policy::judge_site(url, &self.life, files, terms, optouts, now),
        }
    }

    fn weight(&self) -> u32 {
        /// Key, entry and bookkeeping of the cache, as an allocator counts them: the bound is one of memory, also where most
        /// origins have no rules.
        const FIXED: usize = 768;
        let named: usize = self.licences.iter().map(|url| size_of::<CrawlUrl>() + url.as_str().len()).sum();
        u32::try_from(self.life.heap_bytes() + named + FIXED).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests;
