use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An address block in CIDR form, IPv4 or IPv6; a lone address is a block of one.
///
/// IPv4-mapped IPv6 addresses are compared as the IPv4 addresses that they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    base: IpAddr,
    prefix: u8,
}

impl Network {
    /// True when `address` lies in the block.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.base, plain(address)) {
            (IpAddr::V4(base), IpAddr::V4(address)) => same_prefix4(base, address, self.prefix),
            (IpAddr::V6(base), IpAddr::V6(address)) => same_prefix6(base, address, self.prefix),
            _ => false,
        }
    }

    /// The first address of the block as it was given.
    #[must_use]
    pub const fn base(&self) -> IpAddr {
        self.base
    }

    /// The number of fixed bits.
    #[must_use]
    pub const fn prefix(&self) -> u8 {
        self.prefix
    }

    /// True when every address of this block lies in `outer`.
    #[must_use]
    pub fn within(&self, outer: &Self) -> bool {
        self.prefix >= outer.prefix && outer.contains(self.base)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || NetworkError(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse::<u8>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let base = plain(address.trim().parse::<IpAddr>().map_err(|_| wrong())?);
        let bits = if base.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.unwrap_or(bits);
        if prefix > bits { Err(wrong()) } else { Ok(Self { base, prefix }) }
    }
}

/// A text that is no address block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkError(String);

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no address block, write for instance 127.0.0.0/8 or ::1", self.0)
    }
}

impl std::error::Error for NetworkError {}

/// An IPv4-mapped IPv6 address as IPv4.
fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

fn same_prefix4(a: Ipv4Addr, b: Ipv4Addr, prefix: u8) -> bool {
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
    (a.to_bits() ^ b.to_bits()) & mask == 0
}

fn same_prefix6(a: Ipv6Addr, b: Ipv6Addr, prefix: u8) -> bool {
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
    (a.to_bits() ^ b.to_bits()) & mask == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_contain_what_they_should() {
        let rows = [
            ("127.0.0.0/8", "127.255.0.1", true),
            ("127.0.0.0/8", "128.0.0.1", false),
            ("127.0.0.0/8", "::ffff:127.0.0.1", true),
            ("::1", "::1", true),
            ("::1", "::2", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("fc00::/7", "fdff::1", true),
            ("10.0.0.1", "10.0.0.1", true),
        ];
        for (network, address, inside) in rows {
            let network: Network = network.parse().unwrap();
            assert_eq!(network.contains(address.parse().unwrap()), inside, "{network} {address}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "x", "127.0.0.0/33", "127.0.0.0/", "::/129", "127.0.0/8", "localhost"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
