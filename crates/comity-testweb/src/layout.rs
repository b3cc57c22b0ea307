use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use comity_url::{CrawlUrl, Origin};

use crate::{Site, Target};

/// How a web is laid out for one carrier: which origin each site has and where it listens.
#[derive(Debug)]
pub(crate) struct Layout {
    origins: Vec<Origin>,
    addresses: Vec<SocketAddr>,
    by_authority: HashMap<String, usize>,
}

/// Where sites are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Names and addresses of their own, port 80.
    Memory,
    /// An address of 127.0.0.0/8 each, one port.
    Addresses(u16),
    /// Names on 127.0.0.1, told apart by the Host field, one port.
    Names(u16),
}

/// Why a web cannot be built. `Display` is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WebError {
    /// A site's name is no host name.
    Name {
        /// Number of the site.
        site: usize,
        /// The name.
        name: String,
    },
    /// Two sites have one name.
    NameTwice {
        /// Number of the second site.
        site: usize,
        /// The name.
        name: String,
    },
    /// More sites than addresses.
    TooMany {
        /// Sites asked for.
        sites: usize,
        /// The bound.
        max: usize,
    },
}

/// More origins than this are refused: the addresses below are used up then.
pub const MAX_SITES: usize = 4_000_000;

impl Layout {
    pub(crate) fn new(sites: &[Site], placement: Placement) -> Result<Self, WebError> {
        if sites.len() > MAX_SITES {
            return Err(WebError::TooMany { sites: sites.len(), max: MAX_SITES });
        }
        let addresses = addresses(sites, placement);
        let mut layout = Self { origins: Vec::new(), addresses, by_authority: HashMap::new() };
        let mut crowd: HashMap<SocketAddr, usize> = HashMap::new();
        for address in &layout.addresses {
            *crowd.entry(*address).or_default() += 1;
        }
        for (number, (site, address)) in sites.iter().zip(layout.addresses.clone()).enumerate() {
            let alone = crowd.get(&address) == Some(&1) && matches!(placement, Placement::Addresses(_));
            let host = match &site.name {
                Some(name) => name.clone(),
                None if alone => match address.ip() {
                    IpAddr::V6(v6) => format!("[{v6}]"),
                    IpAddr::V4(v4) => v4.to_string(),
                },
                None => format!("o{number}.demo.test"),
            };
            layout.add(number, &host, address.port())?;
        }
        Ok(layout)
    }

    fn add(&mut self, site: usize, host: &str, port: u16) -> Result<(), WebError> {
        let wrong = |_| WebError::Name { site, name: host.to_owned() };
        let origin = Origin::parse(&format!("http://{host}:{port}")).map_err(wrong)?;
        if self.by_authority.insert(origin.authority().to_owned(), site).is_some() {
            return Err(WebError::NameTwice { site, name: host.to_owned() });
        }
        self.origins.push(origin);
        Ok(())
    }

    pub(crate) fn origins(&self) -> &[Origin] {
        &self.origins
    }

    pub(crate) fn origin(&self, site: usize) -> Option<&Origin> {
        self.origins.get(site)
    }

    pub(crate) fn address(&self, site: usize) -> Option<SocketAddr> {
        self.addresses.get(site).copied()
    }

    /// Each address with the sites on it.
    pub(crate) fn listeners(&self) -> BTreeMap<SocketAddr, Vec<usize>> {
        let mut listeners: BTreeMap<SocketAddr, Vec<usize>> = BTreeMap::new();
        for (site, address) in self.addresses.iter().enumerate() {
            listeners.entry(*address).or_default().push(site);
        }
        listeners
    }

    /// Addresses of the hosts that have names.
    pub(crate) fn names(&self) -> BTreeMap<String, Vec<IpAddr>> {
        let hosts = self.origins.iter().zip(&self.addresses);
        let named = hosts.filter(|(origin, _)| matches!(origin.host_kind(), comity_url::HostKind::Domain(_)));
        named.map(|(origin, address)| (origin.host().to_owned(), vec![address.ip()])).collect()
    }

    /// The site of an origin.
    pub(crate) fn site_of(&self, origin: &Origin) -> Option<usize> {
        let site = *self.by_authority.get(origin.authority())?;
        (self.origin(site) == Some(origin)).then_some(site)
    }

    /// The site that a request meant: by its Host field among the sites of the address it came to.
    pub(crate) fn route(&self, host: Option<&str>, local: SocketAddr) -> Option<usize> {
        let host = host?.to_ascii_lowercase();
        let host = host.strip_suffix(":80").unwrap_or(&host);
        let site = *self.by_authority.get(host)?;
        (self.address(site)? == local).then_some(site)
    }

    /// A target found on `base`, as text of a link or Location.
    pub(crate) fn href(&self, target: &Target) -> String {
        match target {
            Target::Here(reference) | Target::Verbatim(reference) => reference.clone(),
            Target::At(site, path) => {
                self.origin(*site).map_or_else(|| path.clone(), |origin| format!("{origin}{path}"))
            }
        }
    }

    /// A target found on `base`, resolved.
    pub(crate) fn resolve(&self, base: &CrawlUrl, target: &Target) -> Option<CrawlUrl> {
        base.join(&self.href(target)).ok()
    }
}

fn addresses(sites: &[Site], placement: Placement) -> Vec<SocketAddr> {
    let mut replaced: HashMap<IpAddr, IpAddr> = HashMap::new();
    let place = |(number, site): (usize, &Site)| match placement {
        Placement::Memory => SocketAddr::new(site.address.unwrap_or_else(|| numbered(10, number)), 80),
        Placement::Names(port) => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port),
        Placement::Addresses(port) => {
            let own = numbered(127, number);
            let address = site
                .address
                .map_or(own, |asked| if asked.is_loopback() { asked } else { *replaced.entry(asked).or_insert(own) });
            SocketAddr::new(address, port)
        }
    };
    sites.iter().enumerate().map(place).collect()
}

/// Address number `number` of a /8 network, away from its ends: 127.64.0.1, 127.64.0.2, …
fn numbered(network: u8, number: usize) -> IpAddr {
    let part = |value: usize| u8::try_from(value % 250).unwrap_or(0);
    let second = part(64 + number / (250 * 250));
    Ipv4Addr::new(network, second, part(number / 250), part(number) + 1).into()
}

impl fmt::Display for WebError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { site, name } => write!(f, "site {site}: {name:?} is no host name"),
            Self::NameTwice { site, name } => write!(f, "site {site}: host {name:?} is taken by an earlier site"),
            Self::TooMany { sites, max } => write!(f, "{sites} sites, at most {max} can be laid out"),
        }
    }
}

impl std::error::Error for WebError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_placement_names_its_origins() {
        let shared: IpAddr = "203.0.113.9".parse().unwrap();
        let sites = [Site::new(), Site::new().name("a.test"), Site::new().address(shared), Site::new().address(shared)];
        let rows = [
            (Placement::Memory, ["http://o0.demo.test", "http://a.test", "http://o2.demo.test", "http://o3.demo.test"]),
            (
                Placement::Addresses(81),
                ["http://127.64.0.1:81", "http://a.test:81", "http://o2.demo.test:81", "http://o3.demo.test:81"],
            ),
            (
                Placement::Names(81),
                ["http://o0.demo.test:81", "http://a.test:81", "http://o2.demo.test:81", "http://o3.demo.test:81"],
            ),
        ];
        for (placement, origins) in rows {
            let layout = Layout::new(&sites, placement).unwrap();
            assert_eq!(layout.origins().iter().map(Origin::as_str).collect::<Vec<_>>(), origins, "{placement:?}");
            assert_eq!(layout.address(2), layout.address(3), "{placement:?}");
            for site in 0..sites.len() {
                let origin = layout.origin(site).unwrap();
                let address = layout.address(site).unwrap();
                assert_eq!(layout.route(Some(&origin.authority().to_uppercase()), address), Some(site));
                assert_eq!(layout.site_of(origin), Some(site));
            }
        }
    }

    #[test]
    fn wrong_names_are_refused() {
        let wrong = Layout::new(&[Site::new().name("a b")], Placement::Memory);
        assert_eq!(wrong.unwrap_err().to_string(), "site 0: \"a b\" is no host name");
        let twice = Layout::new(&[Site::new().name("a.test"), Site::new().name("A.test")], Placement::Memory);
        assert_eq!(twice.unwrap_err(), WebError::NameTwice { site: 1, name: "A.test".to_owned() });
    }

    #[test]
    fn addresses_never_repeat() {
        let mut seen = std::collections::HashSet::new();
        for number in (0..200_000).chain(3_990_000..4_000_000) {
            assert!(seen.insert(numbered(127, number)), "{number}");
        }
    }
}
