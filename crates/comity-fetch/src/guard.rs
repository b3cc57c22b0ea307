use std::net::IpAddr;
use std::sync::LazyLock;

use comity_policy::{Network, Reason};

/// Decides which addresses may be connected to (invariant 11): public ones, and the networks that the operator lists.
#[derive(Clone, Debug, Default)]
pub struct AddressGuard {
    allow: Vec<Network>,
}

impl AddressGuard {
    /// A guard that also lets `allow` through. An IPv4-mapped address counts as the IPv4 address that it is.
    #[must_use]
    pub const fn new(allow: Vec<Network>) -> Self {
        Self { allow }
    }

    /// Checks one address. Some 30 comparisons at most.
    ///
    /// # Errors
    /// [`Reason::AddressPrivate`] for everything that is not public and not listed: private, loopback, link-local
    /// (cloud metadata among them), shared (CGNAT), multicast, broadcast, unspecified, documentation, benchmarking,
    /// reserved, and every form that stands for another address (mapped, NAT64, 6to4, Teredo).
    pub fn check(&self, address: IpAddr) -> Result<(), Reason> {
        let listed = self.allow.iter().any(|network| network.contains(address));
        if listed || is_public(address) { Ok(()) } else { Err(Reason::AddressPrivate) }
    }

    /// True when `range` holds a public address: such a range cannot be listed, since listing lifts politeness floors.
    #[must_use]
    pub fn is_public_range(range: &Network) -> bool {
        !SPECIAL.iter().any(|special| range.within(special))
    }
}

/// What is not public: IANA special-purpose registries (RFC 6890 and its updates) and cloud metadata addresses.
///
/// In IPv6 only 2000::/3 is global unicast; the first three rows are everything else: ::, ::1, 64:ff9b::/96 and
/// 64:ff9b:1::/48 (NAT64), 100::/64 (discard), fc00::/7 (with fd00:ec2::254, metadata), fe80::/10, fec0::/10, ff00::/8.
const SPECIAL_TEXT: [&str; 25] = [
    "::/3",
    "4000::/2",
    "8000::/1",
    "2001::/23",        // IETF protocols: Teredo, benchmarking, ORCHID (RFC 2928)
    "2001:db8::/32",    // documentation (RFC 3849)
    "2002::/16",        // 6to4 (RFC 3056)
    "3fff::/20",        // documentation (RFC 9637)
    "0.0.0.0/8",        // this network (RFC 791)
    "10.0.0.0/8",       // private (RFC 1918)
    "100.64.0.0/10",    // shared, CGNAT (RFC 6598)
    "127.0.0.0/8",      // loopback (RFC 1122)
    "168.63.129.16/32", // Azure's platform address: metadata
    "169.254.0.0/16",   // link-local (RFC 3927), 169.254.169.254 among them
    "172.16.0.0/12",    // private
    "192.0.0.0/24",     // IETF protocols (RFC 6890)
    "192.0.2.0/24",     // documentation (RFC 5737)
    "192.31.196.0/24",  // AS112 (RFC 7535)
    "192.52.193.0/24",  // AMT (RFC 7450)
    "192.88.99.0/24",   // 6to4 relays, deprecated (RFC 7526)
    "192.168.0.0/16",   // private
    "198.18.0.0/15",    // benchmarking (RFC 2544)
    "198.51.100.0/24",  // documentation
    "203.0.113.0/24",   // documentation
    "224.0.0.0/4",      // multicast (RFC 5771)
    "240.0.0.0/4",      // reserved (RFC 1112), 255.255.255.255 among them
];

static SPECIAL: LazyLock<Vec<Network>> =
    LazyLock::new(|| SPECIAL_TEXT.iter().filter_map(|text| text.parse().ok()).collect());

fn is_public(address: IpAddr) -> bool {
    let mapped = matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some());
    !mapped && !SPECIAL.iter().any(|special| special.contains(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_of_the_table_parses() {
        assert_eq!(SPECIAL.len(), SPECIAL_TEXT.len());
    }

    #[test]
    fn public_addresses_pass_and_all_others_do_not() {
        let rows = [
            ("8.8.8.8", true),
            ("100.63.255.255", true),
            ("100.128.0.0", true),
            ("172.15.0.1", true),
            ("172.32.0.1", true),
            ("198.17.0.1", true),
            ("223.255.255.255", true),
            ("2606:4700::1111", true),
            ("2a00:1450::1", true),
            ("2001:4860:4860::8888", true),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("10.0.0.1", false),
            ("100.64.0.1", false),
            ("100.100.100.200", false),
            ("127.0.0.1", false),
            ("127.255.255.254", false),
            ("168.63.129.16", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.0.0.192", false),
            ("192.0.2.1", false),
            ("192.168.1.1", false),
            ("198.18.0.1", false),
            ("198.19.255.255", false),
            ("198.51.100.1", false),
            ("203.0.113.1", false),
            ("224.0.0.1", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::7f00:1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:8.8.8.8", false),
            ("::ffff:0:8.8.8.8", false),
            ("64:ff9b::8.8.8.8", false),
            ("64:ff9b:1::1", false),
            ("100::1", false),
            ("2001::1", false),
            ("2001:2::1", false),
            ("2001:10::1", false),
            ("2001:20::1", false),
            ("2001:db8::1", false),
            ("2002:7f00:1::1", false),
            ("3fff::1", false),
            ("5f00::1", false),
            ("fc00::1", false),
            ("fd00:ec2::254", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ];
        let guard = AddressGuard::default();
        for (address, public) in rows {
            assert_eq!(guard.check(address.parse().unwrap()).is_ok(), public, "{address}");
        }
    }

    #[test]
    fn listed_networks_pass_and_nothing_beside_them() {
        let guard = AddressGuard::new(vec!["127.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()]);
        for (address, passes) in
            [("127.9.9.9", true), ("::ffff:127.0.0.1", true), ("fd00::1", true), ("10.0.0.1", false), ("::1", false)]
        {
            assert_eq!(guard.check(address.parse().unwrap()).is_ok(), passes, "{address}");
        }
    }

    #[test]
    fn ranges_with_public_addresses_are_known() {
        let rows = [
            ("127.0.0.0/8", false),
            ("127.0.0.1", false),
            ("10.1.0.0/16", false),
            ("::1", false),
            ("fd00::/8", false),
            ("64:ff9b::/96", false),
            ("0.0.0.0/0", true),
            ("10.0.0.0/7", true),
            ("8.8.8.8", true),
            ("::/0", true),
            ("2606:4700::/32", true),
        ];
        for (range, public) in rows {
            assert_eq!(AddressGuard::is_public_range(&range.parse().unwrap()), public, "{range}");
        }
    }
}
