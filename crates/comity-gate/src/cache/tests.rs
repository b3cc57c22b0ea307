use super::*;
use crate::files::FileKey;
use comity_policy::{Digest, RobotsCopy, RobotsEvent, SeededRandom, SiteCopy, SiteFileKind, SiteFileState, SiteRules};
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
