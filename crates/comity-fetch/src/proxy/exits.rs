use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use comity_policy::{Form, Instant, Names, Vantage, Via};
use comity_url::Origin;
use sha2::{Digest, Sha256};

use crate::FetchConfig;
use crate::fault::Fault;
use crate::proxy::health::{Evidence, Health};
use crate::proxy::{Proxy, Shown};

/// The exits of a fetcher, their health, and who leaves through which.
///
/// An origin keeps its exit: the choice is a rendezvous hash of both, weighted, among those that are in use. So it outlives
/// restarts, and a change of the set moves only the origins of the exits that came or went.
#[derive(Debug)]
pub(crate) struct Exits {
    list: Vec<Exit>,
    health: Mutex<Vec<Health>>,
}

#[derive(Debug)]
struct Exit {
    proxy: Proxy,
    seed: u64,
}

/// One of the exits, by its place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExitId(usize);

/// Why there is no exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoExit {
    /// None of those that would do is in use; when the first may be tried again.
    Until(Instant),
    /// None would do.
    Never,
}

impl Exits {
    /// Those of a configuration.
    pub(crate) fn of(config: &FetchConfig) -> Option<Self> {
        Self::new(&config.proxies)
    }

    /// `None` when there are none: then every request leaves directly.
    pub(crate) fn new(proxies: &[Proxy]) -> Option<Self> {
        let list: Vec<Exit> = proxies.iter().map(|proxy| Exit { proxy: proxy.clone(), seed: seed(proxy) }).collect();
        let health = Mutex::new(vec![Health::default(); list.len()]);
        (!list.is_empty()).then_some(Self { list, health })
    }

    /// From where `origin` is asked now; where none of its exits is in use, from where it would be.
    pub(crate) fn vantage(&self, origin: &Origin, now: Instant) -> Vantage {
        let key = key(origin);
        let health = self.lock();
        let in_use = self.best(key, |at, _| health.get(at).is_some_and(|health| health.available(now).is_ok()));
        let best = in_use.or_else(|| self.best(key, |_, _| true));
        best.map_or(Vantage::Exit, |exit| exit.proxy.vantage)
    }

    /// The exit of `origin` among those that are in use and `would_do`.
    pub(crate) fn pick(
        &self,
        origin: &Origin,
        would_do: impl Fn(&Proxy) -> bool,
        now: Instant,
    ) -> Result<ExitId, NoExit> {
        let health = self.lock();
        let available = |at: usize| health.get(at).map_or(Err(now), |health| health.available(now));
        let found = self.best_at(key(origin), |at, proxy| would_do(proxy) && available(at).is_ok());
        found.ok_or_else(|| {
            let out = self.list.iter().enumerate().filter(|(_, exit)| would_do(&exit.proxy));
            out.filter_map(|(at, _)| available(at).err()).min().map_or(NoExit::Never, NoExit::Until)
        })
    }

    /// Whether a request for `origin` may leave from `vantage` now; else when to look again.
    pub(crate) fn way_out(&self, origin: &Origin, vantage: Vantage, now: Instant) -> Result<(), Instant> {
        let until = |none| match none {
            NoExit::Until(at) => at,
            NoExit::Never => Instant::NEVER,
        };
        let there = self.pick(origin, |proxy| proxy.vantage == vantage, now).map_err(until);
        // Whichever exit comes back first, the origin may be asked through it, by what its robots.txt says there.
        let first = || self.pick(origin, |_| true, now).map_or_else(until, |_| Instant::NEVER);
        there.map(drop).map_err(|at| at.min(first()))
    }

    /// Who looks up the name of `origin` when it is asked from `vantage`.
    pub(crate) fn names(&self, origin: &Origin, vantage: Vantage, now: Instant) -> Names {
        let from_there = |proxy: &Proxy| proxy.vantage == vantage;
        let in_use = self.pick(origin, from_there, now).ok();
        let found = in_use.or_else(|| self.best_at(key(origin), |_, proxy| from_there(proxy)));
        found.and_then(|id| self.proxy(id)).map_or(Names::Here, |proxy| proxy.kind().names())
    }

    pub(crate) fn proxy(&self, id: ExitId) -> Option<&Proxy> {
        self.list.get(id.0).map(|exit| &exit.proxy)
    }

    /// A request is about to leave through it.
    pub(crate) fn begin(&self, id: ExitId, now: Instant) {
        if let Some(health) = self.lock().get_mut(id.0) {
            health.begin(now);
        }
    }

    /// Takes evidence from an exchange for `origin`.
    pub(crate) fn report(&self, id: ExitId, evidence: Evidence, origin: &Origin, now: Instant) {
        let mut all = self.lock();
        let out = all.iter().filter(|health| health.is_ejected()).count();
        // Doubtful faults send out at most half: many sites that fail at once look the same.
        let may_eject = (out + 1) * 2 <= all.len();
        let Some(health) = all.get_mut(id.0) else { return };
        if health.on(evidence, key(origin), may_eject, now) {
            let wait = health.available(now).err().map_or(0, |until| until.since(now).as_secs());
            drop(all);
            tracing::warn!(
                exit = self.label(id),
                seconds = wait,
                out = out + 1,
                of = self.list.len(),
                "exit out of use"
            );
        }
    }

    /// What records may tell of an exchange through it.
    pub(crate) fn via(&self, id: ExitId, names: Names, form: Form) -> Option<Arc<Via>> {
        let proxy = self.proxy(id)?;
        let exit = (proxy.shown == Shown::Address).then(|| proxy.url().into());
        Some(Arc::new(Via { pool: proxy.pool.clone(), asn: proxy.asn, exit, names, form }))
    }

    /// A fault as records may tell it: what was said of an exit whose address is nobody's business stays out.
    pub(crate) fn told(&self, id: ExitId, fault: Fault) -> Fault {
        match self.proxy(id) {
            Some(proxy) if proxy.shown == Shown::PoolOnly => Fault::new(fault.reason, fault.reason.text()),
            _ => fault,
        }
    }

    /// How many are out of use or on probation, and how many there are.
    pub(crate) fn out(&self) -> (usize, usize) {
        let health = self.lock();
        (health.iter().filter(|health| health.is_ejected()).count(), health.len())
    }

    fn label(&self, id: ExitId) -> String {
        match self.proxy(id) {
            Some(proxy) if proxy.shown == Shown::Address => proxy.url(),
            Some(proxy) => format!("#{} of pool {}", id.0, proxy.pool.as_deref().unwrap_or("unnamed")),
            None => String::new(),
        }
    }

    fn best(&self, origin: u64, would_do: impl Fn(usize, &Proxy) -> bool) -> Option<&Exit> {
        self.best_at(origin, would_do).and_then(|id| self.list.get(id.0))
    }

    fn best_at(&self, origin: u64, would_do: impl Fn(usize, &Proxy) -> bool) -> Option<ExitId> {
        let scored = self.list.iter().enumerate().filter(|(at, exit)| would_do(*at, &exit.proxy));
        let scored = scored.map(|(at, exit)| (at, score(exit, origin)));
        scored.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| ExitId(at))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Health>> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What tells an exit from others, whatever its place in the list, weight and credentials.
pub(crate) fn identity(proxy: &Proxy) -> String {
    format!("{} {} {}", proxy.url(), proxy.vantage, proxy.pool.as_deref().unwrap_or_default())
}

fn seed(proxy: &Proxy) -> u64 {
    first_bytes(&identity(proxy))
}

fn key(origin: &Origin) -> u64 {
    first_bytes(&origin.to_string())
}

fn first_bytes(text: &str) -> u64 {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    digest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Weighted rendezvous: the largest of `-weight / ln(u)` wins, u drawn from both by a hash. Each exit then gets its
/// weight's share of all origins, and nobody moves who need not.
fn score(exit: &Exit, origin: u64) -> f64 {
    let mut mixed = exit.seed ^ origin;
    // The finaliser of SplitMix64.
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    let drawn = (f64::from(u32::try_from(mixed >> 32).unwrap_or(u32::MAX)) + 0.5) / 4_294_967_296.0;
    -f64::from(exit.proxy.weight) / drawn.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_micros(1);

    fn proxy(n: usize, country: &str, weight: u32) -> Proxy {
        let mut proxy: Proxy = format!("http://10.0.0.{n}:3128").parse().unwrap();
        proxy.vantage = Vantage::country(country).unwrap();
        proxy.weight = weight;
        proxy
    }

    fn origins() -> impl Iterator<Item = Origin> {
        (0..2000).map(|n| Origin::parse(&format!("https://host-{n}.example")).unwrap())
    }

    fn chosen(exits: &Exits) -> Vec<String> {
        origins().map(|origin| exits.proxy(exits.pick(&origin, |_| true, NOW).unwrap()).unwrap().url()).collect()
    }

    #[test]
    fn each_origin_keeps_its_exit_and_weights_are_shares() {
        let list: Vec<Proxy> = (1..=4).map(|n| proxy(n, "DE", if n == 4 { 2 } else { 1 })).collect();
        let before = chosen(&Exits::new(&list).unwrap());
        let share = |url: &str| before.iter().filter(|chosen| *chosen == url).count();
        for n in 1..=3 {
            assert!((300..500).contains(&share(&format!("http://10.0.0.{n}:3128"))), "a fifth of 2000 each");
        }
        assert!((700..900).contains(&share("http://10.0.0.4:3128")), "twice the weight, twice the share");
        let mut turned = list.clone();
        turned.reverse();
        assert_eq!(chosen(&Exits::new(&turned).unwrap()), before, "the order of the list is nothing");
        let fewer = chosen(&Exits::new(&list[1..]).unwrap());
        let moved = before.iter().zip(&fewer).filter(|(a, b)| a != b);
        assert!(moved.into_iter().all(|(was, _)| was == "http://10.0.0.1:3128"), "only those move whose exit went");
    }

    #[test]
    fn an_exit_that_is_out_gives_its_origins_to_the_others_and_gets_them_back() {
        let exits = Exits::new(&[proxy(1, "DE", 1), proxy(2, "DE", 1), proxy(3, "US", 1)]).unwrap();
        let origin = origins().next().unwrap();
        let first = exits.pick(&origin, |_| true, NOW).unwrap();
        (0..5).for_each(|_| exits.report(first, Evidence::Down, &origin, NOW));
        let second = exits.pick(&origin, |_| true, NOW).unwrap();
        assert_ne!(first, second);
        assert_eq!(exits.vantage(&origin, NOW), exits.proxy(second).unwrap().vantage);
        let later = NOW.after(std::time::Duration::from_secs(30));
        assert_eq!(exits.pick(&origin, |_| true, later), Ok(first), "on probation");
        exits.begin(first, later);
        assert_eq!(exits.pick(&origin, |_| true, later), Ok(second), "one probe at a time");
        exits.report(first, Evidence::Works, &origin, later);
        assert_eq!(exits.pick(&origin, |_| true, later), Ok(first));
    }

    #[test]
    fn when_none_is_left_it_says_until_when() {
        let exits = Exits::new(&[proxy(1, "DE", 1), proxy(2, "US", 1)]).unwrap();
        let origin = origins().next().unwrap();
        let before = exits.vantage(&origin, NOW);
        for _ in 0..5 {
            (0..2).for_each(|at| exits.report(ExitId(at), Evidence::Down, &origin, NOW));
        }
        let until = NOW.after(std::time::Duration::from_secs(30));
        assert_eq!(exits.pick(&origin, |_| true, NOW), Err(NoExit::Until(until)));
        assert_eq!(exits.pick(&origin, |_| false, NOW), Err(NoExit::Never));
        assert_eq!((exits.vantage(&origin, NOW), exits.out()), (before, (2, 2)));
    }

    #[test]
    fn doubtful_faults_never_send_out_more_than_half() {
        let exits = Exits::new(&(1..=4).map(|n| proxy(n, "DE", 1)).collect::<Vec<_>>()).unwrap();
        for origin in origins().take(20) {
            (0..4).for_each(|at| exits.report(ExitId(at), Evidence::Doubtful, &origin, NOW));
        }
        assert_eq!(exits.out(), (2, 4));
    }
}
