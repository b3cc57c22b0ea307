use std::net::IpAddr;
use std::time::Duration;

use crate::net::Network;

/// The operator's pacing settings, already resolved: what [`crate::OriginPace`] and [`crate::Pacer`] compute with.
///
/// Defaults are design §7. One may slow down freely; below [`Politeness::LEAST_DELAY`] only for the networks in
/// `own_networks`, which the operator has named as their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Politeness {
    /// Own floor between two requests to one origin. Default 1 s.
    pub delay: Duration,
    /// The longest Crawl-delay that is honoured; above it the origin is parked. Default 300 s.
    pub max_crawl_delay: Duration,
    /// Requests open at once in all. Default 32.
    pub total: u32,
    /// Requests open at once per origin; with a delay only bodies overlap. Default 1.
    pub per_origin: u32,
    /// Requests open at once per address. Default 2.
    pub per_address: u32,
    /// Gap between two requests to one address, from the written request. Default 0.5 s.
    pub address_gap: Duration,
    /// Gap on shared addresses (CDNs) that the operator has listed. Default 50 ms.
    pub shared_address_gap: Duration,
    /// Networks whose addresses serve many sites: [`Politeness::shared_address_gap`] holds there.
    pub shared_addresses: Vec<Network>,
    /// Non-public networks that may be fetched at all, and where the least floors do not hold.
    pub own_networks: Vec<Network>,
    /// Whether gap and concurrency per address hold on own networks too: so when the operator set them explicitly.
    pub address_limits: AddressLimits,
    /// Whether twice the smoothed latency is a clock of its own. Default on.
    pub adaptive: Adaptive,
}

/// Where the per-address gap and concurrency hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressLimits {
    /// Everywhere but on own networks (the default).
    #[default]
    PublicOnly,
    /// On own networks too: the operator set one of them explicitly.
    Everywhere,
}

/// Whether the least delay and the least gap hold for an origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Floor {
    /// They do, but on own networks (the default).
    #[default]
    Least,
    /// A rate override is in force: delay and gap hold as they are set.
    AsSet,
}

/// Whether a slow origin is asked more slowly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adaptive {
    /// Twice the smoothed latency, capped at 30 s, is one of the clocks.
    #[default]
    On,
    /// Only floor, Crawl-delay and back-off count.
    Off,
}

impl Politeness {
    /// No configured delay below this holds on a public address (our choice: design §7 "floor").
    pub const LEAST_DELAY: Duration = Duration::from_millis(200);
    /// No configured gap below this holds on a public address.
    pub const LEAST_GAP: Duration = Duration::from_millis(50);
    /// No page on a public address is visited anew within this of the last visit, whatever is configured or hinted (our choice).
    pub const LEAST_REVISIT: Duration = Duration::from_secs(3600);
    /// The adaptive delay never exceeds this.
    pub const ADAPTIVE_CAP: Duration = Duration::from_secs(30);
    /// Jitter added to a binding floor or adaptive delay, in thousandths: 0 to this.
    pub const JITTER_PERMILLE: u64 = 200;
    /// First back-off after a 429, 503 or transport failure without Retry-After; doubles.
    pub const BACKOFF_BASE: Duration = Duration::from_secs(2);
    /// Largest back-off after a 429 or 503 without Retry-After.
    pub const BACKOFF_CAP: Duration = Duration::from_secs(300);
    /// Largest back-off after transport failures.
    pub const TRANSPORT_CAP: Duration = Duration::from_secs(3600);
    /// A Retry-After up to this is a pause; above it the origin is parked.
    pub const RETRY_AFTER_PAUSE: Duration = Duration::from_secs(3600);
    /// A Retry-After above this is cut to it, then one probe is sent.
    pub const RETRY_AFTER_CAP: Duration = Duration::from_secs(24 * 3600);

    /// The own floor that holds for an origin on these candidate addresses.
    ///
    /// Without any address (a proxy resolves) the least floor holds.
    #[must_use]
    pub fn floor_for(&self, addresses: &[IpAddr], floor: Floor) -> Duration {
        if floor == Floor::AsSet || self.all_own(addresses) { self.delay } else { self.delay.max(Self::LEAST_DELAY) }
    }

    /// The shortest time between two visits of a page that was found at this address; without one (behind a proxy) as for a
    /// public one.
    #[must_use]
    pub fn revisit_floor_for(&self, address: Option<IpAddr>, floor: Floor) -> Duration {
        let is_own = address.is_some_and(|address| self.is_own(address));
        if floor == Floor::AsSet || is_own { Duration::ZERO } else { Self::LEAST_REVISIT }
    }

    /// The gap that holds on one address for an origin with this floor.
    #[must_use]
    pub fn gap_for(&self, address: IpAddr, floor: Floor) -> Duration {
        if self.is_own(address) {
            return match self.address_limits {
                AddressLimits::PublicOnly => Duration::ZERO,
                AddressLimits::Everywhere => self.address_gap,
            };
        }
        let shared = self.shared_addresses.iter().any(|network| network.contains(address));
        let gap = if shared { self.shared_address_gap.min(self.address_gap) } else { self.address_gap };
        if floor == Floor::AsSet { gap } else { gap.max(Self::LEAST_GAP) }
    }

    /// How many requests may be open at one address.
    #[must_use]
    pub fn concurrency_for(&self, address: IpAddr) -> u32 {
        let unlimited = self.is_own(address) && self.address_limits == AddressLimits::PublicOnly;
        let shared = self.shared_addresses.iter().any(|network| network.contains(address));
        if unlimited || shared { u32::MAX } else { self.per_address.max(1) }
    }

    fn is_own(&self, address: IpAddr) -> bool {
        self.own_networks.iter().any(|network| network.contains(address))
    }

    fn all_own(&self, addresses: &[IpAddr]) -> bool {
        !addresses.is_empty() && addresses.iter().all(|address| self.is_own(*address))
    }
}

impl Default for Politeness {
    fn default() -> Self {
        Self {
            delay: Duration::from_secs(1),
            max_crawl_delay: Duration::from_secs(300),
            total: 32,
            per_origin: 1,
            per_address: 2,
            address_gap: Duration::from_millis(500),
            shared_address_gap: Duration::from_millis(50),
            shared_addresses: Vec::new(),
            own_networks: Vec::new(),
            address_limits: AddressLimits::default(),
            adaptive: Adaptive::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_bend_only_on_own_networks() {
        let own = Politeness {
            delay: Duration::ZERO,
            address_gap: Duration::ZERO,
            own_networks: vec!["127.0.0.0/8".parse().unwrap()],
            shared_addresses: vec!["192.0.2.0/24".parse().unwrap()],
            ..Politeness::default()
        };
        let (loopback, public): (IpAddr, IpAddr) = ("127.0.0.1".parse().unwrap(), "198.51.100.1".parse().unwrap());
        assert_eq!(own.floor_for(&[loopback], Floor::Least), Duration::ZERO);
        assert_eq!(own.floor_for(&[public], Floor::Least), Politeness::LEAST_DELAY);
        assert_eq!(own.floor_for(&[loopback, public], Floor::Least), Politeness::LEAST_DELAY);
        assert_eq!(own.floor_for(&[], Floor::Least), Politeness::LEAST_DELAY);
        assert_eq!(own.gap_for(public, Floor::Least), Politeness::LEAST_GAP);
        assert_eq!(own.gap_for(loopback, Floor::Least), Duration::ZERO);
        assert_eq!(own.floor_for(&[public], Floor::AsSet), Duration::ZERO, "a rate override");
        assert_eq!(own.gap_for(public, Floor::AsSet), Duration::ZERO, "a rate override");
        let revisit = |address, floor| own.revisit_floor_for(address, floor);
        assert_eq!(revisit(Some(loopback), Floor::Least), Duration::ZERO);
        assert_eq!(revisit(Some(public), Floor::AsSet), Duration::ZERO, "a rate override");
        assert_eq!(revisit(Some(public), Floor::Least), Politeness::LEAST_REVISIT);
        assert_eq!(revisit(None, Floor::Least), Politeness::LEAST_REVISIT);
        assert_eq!(own.concurrency_for(loopback), u32::MAX);
        assert_eq!(own.concurrency_for(public), 2);
    }

    #[test]
    fn explicit_address_limits_hold_on_own_networks_too() {
        let own = Politeness {
            own_networks: vec!["127.0.0.0/8".parse().unwrap()],
            address_limits: AddressLimits::Everywhere,
            ..Politeness::default()
        };
        let loopback = "127.0.0.1".parse().unwrap();
        assert_eq!(own.gap_for(loopback, Floor::Least), Duration::from_millis(500));
        assert_eq!(own.concurrency_for(loopback), 2);
    }

    #[test]
    fn shared_addresses_have_their_own_gap() {
        let cdn = Politeness { shared_addresses: vec!["198.51.100.0/24".parse().unwrap()], ..Politeness::default() };
        let shared = "198.51.100.7".parse().unwrap();
        assert_eq!(cdn.gap_for(shared, Floor::Least), Duration::from_millis(50));
        assert_eq!(cdn.concurrency_for(shared), u32::MAX);
    }
}
