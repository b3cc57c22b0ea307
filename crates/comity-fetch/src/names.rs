use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use comity_policy::{Clock, Instant, Reason};
use comity_url::{HostKind, Origin};

#[cfg(feature = "proxy")]
use crate::fetcher::House;
use crate::net::{Net, ResolveError, Resolved};
use crate::proxy;
use crate::{AddressGuard, FetchConfig};

/// Why an origin has no address to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// `fetch.dns`, `fetch.dns.timeout`, `address.private` or `address.none`.
    pub reason: Reason,
    /// More for people: the name, and what was found.
    pub detail: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.detail)
    }
}

impl std::error::Error for Refused {}

/// Answers of the resolver, kept as long as they say, within bounds of ours: long enough that robots.txt and the first
/// page share one look-up, short enough to follow a move, whatever a zone claims.
#[derive(Debug, Default)]
pub(crate) struct NameCache {
    entries: Mutex<BTreeMap<String, Entry>>,
}

#[derive(Clone, Debug)]
struct Entry {
    until: Instant,
    answer: Result<Vec<IpAddr>, ResolveError>,
    /// How long the look-up took, until the first connection that rests on it has told it.
    took: Option<Duration>,
}

/// The least life of an answer, and that of one that tells none (our choice).
const LEAST: Duration = Duration::from_secs(60);
/// The longest life of an answer (our choice).
const LONGEST: Duration = Duration::from_secs(3600);
const NEGATIVE: Duration = Duration::from_secs(10);
/// A resolver that fails for now is asked again soon: only a burst of questions is kept from it.
const PASSING: Duration = Duration::from_secs(1);
const MOST_ENTRIES: usize = 4096;
/// Addresses of one name that are looked at.
const MOST_ADDRESSES: usize = 16;

impl NameCache {
    fn find(&self, host: &str, now: Instant) -> Option<Result<Vec<IpAddr>, ResolveError>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(host).filter(|entry| entry.until > now).map(|entry| entry.answer.clone())
    }

    /// How long the look-up of this origin's name took; told once, to the first who asks.
    pub(crate) fn take_took(&self, origin: &Origin) -> Option<Duration> {
        let HostKind::Domain(name) = origin.host_kind() else { return None };
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).get_mut(name)?.took.take()
    }

    fn keep(&self, host: &str, answer: &Result<Resolved, ResolveError>, (begun, now): (Instant, Instant)) {
        let life = match answer {
            Ok(found) => found.life.map_or(LEAST, |life| life.clamp(LEAST, LONGEST)),
            Err(ResolveError::Temporary(_) | ResolveError::Timeout) => PASSING,
            Err(_) => NEGATIVE,
        };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MOST_ENTRIES {
            entries.retain(|_, entry| entry.until > now);
        }
        if entries.len() >= MOST_ENTRIES {
            // All alive: half of them go, the soonest to end first, so that this stays rare.
            let mut ends: Vec<Instant> = entries.values().map(|entry| entry.until).collect();
            ends.sort_unstable();
            let median = ends.get(ends.len() / 2).copied().unwrap_or(now);
            entries.retain(|_, entry| entry.until > median);
        }
        let answer = answer.as_ref().map(|found| found.addresses.clone()).map_err(Clone::clone);
        entries.insert(host.to_owned(), Entry { until: now.after(life), answer, took: Some(now.since(begun)) });
    }
}

/// The guarded addresses of `origin`, in the order in which they should be tried.
pub(crate) async fn candidates(
    origin: &Origin,
    (net, clock): (&dyn Net, &dyn Clock),
    config: &FetchConfig,
    guard: &AddressGuard,
    cache: &NameCache,
) -> Result<Vec<SocketAddr>, Refused> {
    let found = match origin.host_kind() {
        HostKind::V4(address) => vec![IpAddr::V4(address)],
        HostKind::V6(address) => vec![IpAddr::V6(address)],
        HostKind::Domain(name) => match config.resolve.get(name) {
            Some(mapped) => mapped.clone(),
            None => resolve(name, net, clock, config.limits.dns, cache).await.map_err(|error| refuse(name, &error))?,
        },
    };
    admit(origin, found, guard)
}

/// What may be known here of an origin whose name an exit looks up: its addresses where it is written as one or mapped,
/// else none, once the name has passed the check of names.
pub(crate) fn told(origin: &Origin, config: &FetchConfig, guard: &AddressGuard) -> Result<Vec<SocketAddr>, Refused> {
    let found = match origin.host_kind() {
        HostKind::V4(address) => vec![IpAddr::V4(address)],
        HostKind::V6(address) => vec![IpAddr::V6(address)],
        HostKind::Domain(name) => match config.resolve.get(name) {
            Some(mapped) => mapped.clone(),
            None => {
                let refused =
                    |reason| Refused { reason, detail: format!("{name}: not a name that may be looked up elsewhere") };
                return proxy::check_name(name, guard).map(|()| Vec::new()).map_err(refused);
            }
        },
    };
    admit(origin, found, guard)
}

/// The addresses of a proxy: not guarded, since the operator names it.
#[cfg(feature = "proxy")]
pub(crate) async fn look_up(name: &str, house: &House) -> Result<Vec<IpAddr>, ResolveError> {
    if let Some(mapped) = house.config.resolve.get(name) {
        return Ok(mapped.clone());
    }
    resolve(name, &*house.net, &*house.clock, house.config.limits.dns, &house.names).await
}

async fn resolve(
    name: &str,
    net: &dyn Net,
    clock: &dyn Clock,
    patience: Duration,
    cache: &NameCache,
) -> Result<Vec<IpAddr>, ResolveError> {
    let begun = clock.now();
    if let Some(answer) = cache.find(name, begun) {
        return answer;
    }
    let answer = tokio::time::timeout(patience, net.resolve(name)).await.unwrap_or(Err(ResolveError::Timeout));
    let answer = answer.map(|mut found| {
        found.addresses.truncate(MOST_ADDRESSES);
        found
    });
    cache.keep(name, &answer, (begun, clock.now()));
    answer.map(|found| found.addresses)
}

/// All answers pass the guard; what it refuses is left out, and nothing left is a refusal.
fn admit(origin: &Origin, found: Vec<IpAddr>, guard: &AddressGuard) -> Result<Vec<SocketAddr>, Refused> {
    let host = origin.host();
    if found.is_empty() {
        return Err(Refused { reason: Reason::AddressNone, detail: format!("{host} has no address") });
    }
    let (passed, refused): (Vec<_>, Vec<_>) =
        found.into_iter().take(MOST_ADDRESSES).partition(|address| guard.check(*address).is_ok());
    if passed.is_empty() {
        let list = refused.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        return Err(Refused { reason: Reason::AddressPrivate, detail: format!("{host} is at {list}, not public") });
    }
    Ok(interleave(passed).into_iter().map(|address| SocketAddr::new(address, origin.port())).collect())
}

fn refuse(name: &str, error: &ResolveError) -> Refused {
    let reason = match error {
        ResolveError::NoSuchName | ResolveError::NoAddress => Reason::FetchDns,
        ResolveError::Temporary(_) | ResolveError::Timeout => Reason::FetchDnsTimeout,
    };
    Refused { reason, detail: format!("{name}: {error}") }
}

/// Takes turns between the address families, the first answer's first (RFC 8305 §4), each address once: a family
/// that does not work costs one attempt, not all.
fn interleave(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let first_is_v4 = addresses.first().is_some_and(IpAddr::is_ipv4);
    let (same, other): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|a| a.is_ipv4() == first_is_v4);
    let (mut same, mut other) = (same.into_iter(), other.into_iter());
    let mut turns: Vec<IpAddr> = Vec::new();
    loop {
        let pair = [same.next(), other.next()];
        if pair == [None, None] {
            return turns;
        }
        for address in pair.into_iter().flatten() {
            if !turns.contains(&address) {
                turns.push(address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns() {
        let parse = |list: &[&str]| list.iter().map(|a| a.parse().unwrap()).collect::<Vec<IpAddr>>();
        let rows: [(&[&str], &[&str]); 3] = [
            (&["::1", "::2", "1.1.1.1", "2.2.2.2"], &["::1", "1.1.1.1", "::2", "2.2.2.2"]),
            (&["1.1.1.1", "1.1.1.1", "::1"], &["1.1.1.1", "::1"]),
            (&["1.1.1.1", "2.2.2.2"], &["1.1.1.1", "2.2.2.2"]),
        ];
        for (given, expected) in rows {
            assert_eq!(interleave(parse(given)), parse(expected), "{given:?}");
        }
    }

    #[test]
    fn the_cache_is_bounded_and_forgets_in_time() {
        let cache = NameCache::default();
        let now = Instant::from_micros(1);
        for n in 0..3 * MOST_ENTRIES {
            cache.keep(
                &format!("{n}.test"),
                &Ok(Resolved::default()),
                (now, now.after(Duration::from_micros(n as u64))),
            );
            assert!(cache.entries.lock().unwrap().len() <= MOST_ENTRIES);
        }
        let cache = NameCache::default();
        let living = |seconds| Ok(Resolved { addresses: vec![], life: Some(Duration::from_secs(seconds)) });
        cache.keep("good.test", &Ok(Resolved::default()), (now, now));
        cache.keep("zero.test", &living(0), (now, now));
        cache.keep("known.test", &living(300), (now, now));
        cache.keep("decade.test", &living(315_360_000), (now, now));
        cache.keep("bad.test", &Err(ResolveError::NoSuchName), (now, now));
        cache.keep("slow.test", &Err(ResolveError::Timeout), (now, now));
        let found = |host, after| cache.find(host, now.after(Duration::from_secs(after))).is_some();
        assert!(found("good.test", 59) && !found("good.test", 60));
        assert!(found("zero.test", 59) && !found("zero.test", 60));
        assert!(found("known.test", 299) && !found("known.test", 300));
        assert!(found("decade.test", 3599) && !found("decade.test", 3600));
        assert!(found("bad.test", 9) && !found("bad.test", 10));
        assert!(found("slow.test", 0) && !found("slow.test", 1));
    }

    #[test]
    fn how_long_a_look_up_took_is_told_once() {
        let cache = NameCache::default();
        let origin = |text| Origin::parse(text).unwrap();
        let now = Instant::from_micros(1);
        let took = Duration::from_millis(30);
        cache.keep("a.test", &Ok(Resolved::default()), (now, now.after(took)));
        assert_eq!(cache.take_took(&origin("http://127.0.0.1")), None, "not looked up");
        assert_eq!(cache.take_took(&origin("https://a.test")), Some(took));
        assert_eq!(cache.take_took(&origin("http://a.test")), None, "told already");
        cache.keep("a.test", &Ok(Resolved::default()), (now, now));
        assert_eq!(cache.take_took(&origin("http://a.test")), Some(Duration::ZERO), "looked up anew");
    }
}
