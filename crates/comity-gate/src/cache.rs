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
mod tests {
    use super::*;
    use crate::files::FileKey;
    use comity_policy::{
        Digest, RobotsCopy, RobotsEvent, SeededRandom, SiteCopy, SiteFileKind, SiteFileState, SiteRules,
    };
    use comity_robots::RuleSet;

    const NOW: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

    fn life(origin: &Origin, policy: &Arc<RobotsPolicy>, rules: &RuleSet) -> RobotsLife {
        let copy = RobotsCopy {
            digest: Digest::from_bytes([1; 32]),
            bytes: 100,
            truncated: false,
            final_url: None,
            validators: None,
            rules: [rules.clone()].into(),
            policies: comity_signals::PolicyGroups::default(),
            agents: comity_signals::AgentGroups::default(),
        };
        #[expect(clippy::disallowed_methods, reason = "the test plays the flight")]
        let mut life = RobotsLife::new(origin.clone(), policy.clone());
        life.apply(RobotsEvent::Parsed { status: 200, copy, max_age: None }, NOW, &SeededRandom::new(1));
        life
    }

    fn judge(cache: &RobotsCache, origin: &Origin) -> Judgement {
        let url = origin.robots_url().join("/").unwrap();
        cache.judge(&url, Vantage::Direct, &Terms::default(), OptOuts::nobody(), NOW)
    }

    /// What one cache gives back waits until nobody reads any other one: bytes are counted by one test at a time.
    static COUNTING: std::sync::Mutex<()> = std::sync::Mutex::new(());

    /// A cache of so many origins with one rule set, and the bytes that each costs beside it.
    fn filled(origins: u32, idle: Idle, then: impl FnOnce(&RobotsCache)) -> (RobotsCache, i64) {
        let policy = Arc::new(RobotsPolicy::default());
        let rules = RuleSet::parse(b"User-agent: *\nDisallow: /p\n", &["MyBot"], policy.dialect);
        let mut kept = None;
        let counted = allocation_counter::measure(|| {
            let cache = RobotsCache::new(policy.clone(), u64::MAX, idle);
            for n in 0..origins {
                let origin = Origin::parse(&format!("https://www.host-{n}.example")).unwrap();
                cache.store((origin.clone(), Vantage::Direct), life(&origin, &policy, &rules), None, NOW);
                judge(&cache, &origin);
            }
            cache.entries.run_pending_tasks();
            then(&cache);
            kept = Some(cache);
        });
        (kept.unwrap(), counted.bytes_current / i64::from(origins))
    }

    #[test]
    fn an_idle_origin_costs_little_beside_its_rule_set() {
        let _alone = COUNTING.lock().unwrap();
        let later = NOW.after(RobotsCache::IDLE_AFTER + Duration::from_secs(1));
        let sweep = |cache: &RobotsCache| {
            cache.let_idle_go(later);
            cache.entries.run_pending_tasks();
        };
        let (stays, bytes) = filled(10_000, Idle::Stays, |_| {});
        let (goes, idle_bytes) = filled(10_000, Idle::Goes, sweep);
        eprintln!("bytes an origin beside its rule set: {bytes} in the cache, {idle_bytes} once idle");
        assert_eq!((stays.entries.entry_count(), goes.entries.entry_count()), (10_000, 0));
        assert!(idle_bytes <= 256 && bytes <= 640, "{idle_bytes} {bytes}");
    }

    /// Also where a site has hardly any rules, and all have the same ones.
    #[test]
    fn a_full_cache_takes_what_it_was_given() {
        let _alone = COUNTING.lock().unwrap();
        let most = 8 << 20;
        for text in ["", "User-agent: *\nDisallow: /p\nAllow: /p/q\nDisallow: /r\n"] {
            let policy = Arc::new(RobotsPolicy::default());
            let mut kept = None;
            let counted = allocation_counter::measure(|| {
                let cache = RobotsCache::new(policy.clone(), most, Idle::Stays);
                for n in 0..20_000 {
                    let origin = Origin::parse(&format!("https://www.host-{n}.example")).unwrap();
                    let rules = RuleSet::parse(text.as_bytes(), &["MyBot"], policy.dialect);
                    cache.store((origin.clone(), Vantage::Direct), life(&origin, &policy, &rules), None, NOW);
                    judge(&cache, &origin);
                    cache.entries.run_pending_tasks();
                }
                kept = Some(cache);
            });
            let entries = kept.map_or(0, |cache| cache.entries.entry_count());
            let bytes = u64::try_from(counted.bytes_current).unwrap();
            eprintln!("{entries} origins in {most} bytes: {bytes} bytes held");
            assert!(entries < 20_000 && entries > 5_000, "{entries}: it is full");
            assert!(bytes < most + most / 8, "{bytes} of {most} bytes for {entries} origins");
        }
    }

    /// Also where a cache that counts how often its entries are asked for would rather keep those it has; and where it has room for one.
    #[test]
    fn whoever_is_learnt_is_judged_however_often_the_others_are_asked() {
        let policy = Arc::new(RobotsPolicy::default());
        let rules = RuleSet::parse(b"User-agent: *\nDisallow: /p\n", &["MyBot"], policy.dialect);
        let origin = |n: usize| Origin::parse(&format!("https://www.host-{n}.example")).unwrap();
        for room in [1, 40, 20 << 10] {
            let cache = RobotsCache::new(policy.clone(), room, Idle::Stays);
            let learn = |n: usize| {
                let key = (origin(n), Vantage::Direct);
                cache.store(key.clone(), life(&key.0, &policy, &rules), None, NOW);
                cache.entries.run_pending_tasks();
                key
            };
            (0..20).for_each(|n| drop(learn(n)));
            for _ in 0..50 {
                (0..20).for_each(|n| drop(judge(&cache, &origin(n))));
                cache.entries.run_pending_tasks();
            }
            for n in 20..60 {
                let key = learn(n);
                assert!(!cache.is_unknown(&key) && !cache.is_due(&key, NOW), "{n}, {room} bytes: forgotten at once");
                let judged = judge(&cache, &key.0);
                assert!(matches!(judged, Judgement::Allow(_)), "{n}, {room} bytes: {judged:?}");
            }
            let held = cache.entries.weighted_size();
            assert!(held <= room, "{held} of {room}");
        }
    }

    /// Why it is so: by the usual policy, who was never asked for is not let in among those who often are.
    #[test]
    fn a_cache_that_counts_would_not_let_the_newest_in() {
        let policy = Arc::new(RobotsPolicy::default());
        let rules = RuleSet::parse(b"User-agent: *\nDisallow: /p\n", &["MyBot"], policy.dialect);
        let key = |n: usize| (Origin::parse(&format!("https://www.host-{n}.example")).unwrap(), Vantage::Direct);
        for is_counting in [true, false] {
            let builder = Cache::builder().weigher(|_: &RobotsKey, entry: &Arc<Entry>| entry.weight());
            let builder = builder.max_capacity(20 << 10);
            let entries = if is_counting { builder } else { builder.eviction_policy(EvictionPolicy::lru()) }.build();
            let learn = |n: usize| {
                let life = life(&key(n).0, &policy, &rules);
                let (judged, waits) = (AtomicI64::new(0), AtomicBool::new(false));
                entries.insert(key(n), Arc::new(Entry { life, barred: None, judged, waits, licences: Box::default() }));
                entries.run_pending_tasks();
            };
            (0..20).for_each(learn);
            for _ in 0..50 {
                (0..20).for_each(|n| drop(entries.get(&key(n))));
                entries.run_pending_tasks();
            }
            let refused = (20..60).filter(|n| {
                learn(*n);
                !entries.contains_key(&key(*n))
            });
            assert_eq!(refused.count(), if is_counting { 40 } else { 0 });
        }
    }

    /// Those that wait take no more than they may, and none of them pushes another one out.
    #[test]
    fn they_wait_in_bounded_room_and_in_their_order() {
        let policy = Arc::new(RobotsPolicy::default());
        let rules = RuleSet::parse(b"User-agent: *\nDisallow: /p\n", &["MyBot"], policy.dialect);
        let most = 64 << 10;
        let cache = RobotsCache::new(policy.clone(), most, Idle::Stays);
        let origins = (0..400).map(|n| Origin::parse(&format!("https://www.host-{n}.example")).unwrap());
        let origins: Vec<Origin> = origins.collect();
        let mut unjudged: Vec<&Origin> = origins.iter().collect();
        for round in 0..20 {
            for origin in &unjudged {
                cache.store(((*origin).clone(), Vantage::Direct), life(origin, &policy, &rules), None, NOW);
                cache.entries.run_pending_tasks();
            }
            let before = unjudged.len();
            unjudged.retain(|origin| matches!(judge(&cache, origin), Judgement::NeedsRobots(_)));
            assert!(unjudged.len() < before || before == 0, "round {round}: {before} wait for ever");
        }
        assert!(unjudged.is_empty(), "{} wait", unjudged.len());
    }

    #[test]
    fn the_newest_tdmrep_json_has_room_however_often_the_others_are_asked() {
        let rule = "{\"location\":\"/\",\"tdm-reservation\":1,\"x\":\"".to_owned() + &"x".repeat(2000) + "\"}";
        let body = format!("[{}]", vec![rule; 500].join(","));
        let rules = Arc::new(comity_signals::Tdmrep::parse(body.as_bytes(), "https://a.test"));
        let copy = SiteCopy { digest: Digest::from_bytes([1; 32]), fetched: NOW, rules: SiteRules::Tdmrep(rules) };
        let file = Arc::new(SiteFile {
            state: SiteFileState::Read,
            status: Some(200),
            asked: NOW,
            until: NOW.after(Duration::from_secs(3600)),
            final_url: None,
            copy: Some(copy),
        });
        let (policy, most) = (Arc::new(RobotsPolicy::default()), crate::files::MOST_BYTES / file.heap_bytes() as u64);
        let cache = RobotsCache::new(policy, u64::MAX, Idle::Stays).asking(AskFiles::default(), true);
        let cache = cache.files().unwrap();
        let key = |n: u64| {
            let origin = Origin::parse(&format!("https://www.host-{n}.example")).unwrap();
            FileKey::of(SiteFileKind::Tdmrep, origin, Vantage::Direct)
        };
        let settle = || cache.settle();
        for n in 0..most {
            cache.store(key(n), file.clone());
        }
        for _ in 0..20 {
            (0..most).for_each(|n| drop(cache.get(&key(n))));
            settle();
        }
        for n in most..most + 3 {
            cache.store(key(n), file.clone());
            settle();
            assert!(!cache.is_due(&key(n), NOW), "{n} of {most}: asked for, and forgotten at once");
        }
        let held = (0..most + 3).filter(|n| cache.get(&key(*n)).is_some()).count() as u64;
        assert!(held <= most && held > 0, "{held} of {most}");
    }

    #[test]
    fn an_origin_in_use_and_a_barred_one_stay() {
        let (cache, _) = filled(3, Idle::Goes, |_| {});
        let later = NOW.after(RobotsCache::IDLE_AFTER + Duration::from_secs(1));
        let key = |n: u32| (Origin::parse(&format!("https://www.host-{n}.example")).unwrap(), Vantage::Direct);
        let barred = Barred { reason: Reason::FetchDns, until: later.after(Duration::from_secs(60)) };
        cache.store(key(1), cache.life(&key(1)), Some(barred), NOW);
        let used = CrawlUrl::parse("https://www.host-2.example/").unwrap();
        drop(cache.judge(&used, Vantage::Direct, &Terms::default(), OptOuts::nobody(), later));
        cache.let_idle_go(later);
        assert_eq!([0, 1, 2].map(|n| cache.is_unknown(&key(n))), [true, false, false]);
    }
}
