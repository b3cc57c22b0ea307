//! Origins: the unit of robots.txt and of pacing.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;

use url::{Host, Position, Url};

use crate::{CrawlUrl, UrlError, sendable};

/// The two schemes comity crawls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// `http`, port 80.
    Http,
    /// `https`, port 443.
    Https,
}

impl Scheme {
    /// `"http"` or `"https"`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// 80 or 443.
    #[must_use]
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a host is, after WHATWG parsing: `127.1`, `0x7f.1` and `2130706433` are all
/// [`HostKind::V4`]. Address guards look here and never at the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostKind<'a> {
    /// A name in lower-case A-label form, without trailing dot.
    Domain(&'a str),
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address, also one that maps an IPv4 address (`::ffff:127.0.0.1`).
    V6(Ipv6Addr),
}

/// Scheme, host and port: what one robots.txt governs (RFC 9309 §2.3) and what is paced as one.
///
/// Text form `https://host[:port]`: lower case, default port omitted, IDN as A-labels, IPv6 bracketed
/// and compressed, user info and one trailing host dot dropped (design, invariant 3). Equality, order
/// and hash are those of the text. `Clone` counts a reference.
#[derive(Clone)]
pub struct Origin(Arc<Parts>);

struct Parts {
    /// `https://host[:port]`.
    text: Box<str>,
    scheme: Scheme,
    /// Where the host ends.
    host_end: u16,
    port: u16,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Domain,
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

impl Origin {
    /// Parses an origin, or any absolute URL's text with nothing after the authority but an optional `/`.
    ///
    /// # Errors
    /// As [`CrawlUrl::parse`]; a path, query or fragment is [`UrlError::Syntax`].
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        // The `#` is looked for in the text, as the crawl form no longer has the fragment; a host
        // cannot hold one, so no origin is lost by it.
        let url = sendable::parse(text, None)?;
        if url.path() != "/" || url.query().is_some() || text.contains('#') {
            return Err(UrlError::Syntax("an origin has no path, query or fragment"));
        }
        Ok(Self::of_url(&url))
    }

    /// `https://host[:port]`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// The scheme.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.0.scheme
    }

    /// The host as it stands in a URL: an IPv6 address in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.text.get(self.host_start()..usize::from(self.0.host_end)).unwrap_or("")
    }

    /// The host, told apart by kind.
    #[must_use]
    pub fn host_kind(&self) -> HostKind<'_> {
        match self.0.kind {
            Kind::Domain => HostKind::Domain(self.host()),
            Kind::V4(address) => HostKind::V4(address),
            Kind::V6(address) => HostKind::V6(address),
        }
    }

    /// The effective port: the scheme's default where the text has none.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// `host` or `host:port`, as a Host header or `:authority` carries it (RFC 9110 §7.2).
    #[must_use]
    pub fn authority(&self) -> &str {
        self.0.text.get(self.host_start()..).unwrap_or("")
    }

    /// The registrable domain by the public suffix list, ICANN and private rules (`a.github.io` is its own).
    /// `None` for addresses, single labels and names that are themselves public suffixes. A suffix the
    /// list does not have counts as one label (the list's prevailing rule `*`). About 0.2 µs.
    #[must_use]
    pub fn registrable_domain(&self) -> Option<&str> {
        match self.host_kind() {
            // Lower-case A-labels without dot: what psl asks for. An address would be split like a name.
            // `a..b` would give `.b`, which is no domain.
            HostKind::Domain(name) => psl::domain_str(name).filter(|domain| !domain.starts_with('.')),
            HostKind::V4(_) | HostKind::V6(_) => None,
        }
    }

    /// Where this origin's robots.txt stands (RFC 9309 §2.3).
    #[must_use]
    pub fn robots_url(&self) -> CrawlUrl {
        let text = format!("{self}/robots.txt");
        let path_end = text.len();
        CrawlUrl::of_text(text, path_end, self.clone())
    }

    /// `url` is in the form [`sendable::parse`] gives; its path and query are not looked at.
    pub(crate) fn of_url(url: &Url) -> Self {
        let scheme = if url.scheme() == "https" { Scheme::Https } else { Scheme::Http };
        let kind = match url.host() {
            Some(Host::Ipv4(address)) => Kind::V4(address),
            Some(Host::Ipv6(address)) => Kind::V6(address),
            // http and https URLs have a host.
            Some(Host::Domain(_)) | None => Kind::Domain,
        };
        Self::of_text(url[..Position::AfterPort].into(), scheme, url.port(), kind)
    }

    /// `authority` is a name, or this address, and, where it is not the scheme's default, a port, as they stand in a crawl URL.
    pub(crate) fn of_authority(scheme: Scheme, authority: &str, port: Option<u16>, address: Option<Ipv4Addr>) -> Self {
        let text = [scheme.as_str(), "://", authority].concat();
        Self::of_text(text.into(), scheme, port, address.map_or(Kind::Domain, Kind::V4))
    }

    fn of_text(text: Box<str>, scheme: Scheme, port: Option<u16>, kind: Kind) -> Self {
        let port_len = port.and_then(|_| text.rfind(':')).map_or(0, |colon| text.len() - colon);
        // A host has at most 253 bytes, and so an origin fits into a u16.
        let host_end = u16::try_from(text.len() - port_len).unwrap_or(u16::MAX);
        Self(Arc::new(Parts { text, scheme, host_end, port: port.unwrap_or(scheme.default_port()), kind }))
    }

    fn host_start(&self) -> usize {
        self.0.scheme.as_str().len() + 3
    }
}

impl FromStr for Origin {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        Self::parse(text)
    }
}

impl PartialEq for Origin {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.as_str() == other.as_str()
    }
}

impl Eq for Origin {}

impl PartialOrd for Origin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Origin {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Origin {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origin({})", self.as_str())
    }
}
