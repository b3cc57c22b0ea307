use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use comity_policy::{Names, Vantage};
use comity_url::{HostKind, Origin};

use crate::proxy::Credentials;

/// One exit: a proxy that requests leave through. From text: `scheme://host:port`.
///
/// Its own address may be private or loopback, since the operator names it: the address guard is for what sites name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    kind: ProxyKind,
    /// The host and port, in the form of an origin.
    place: Origin,
    /// From where sites see it; default [`Vantage::Exit`].
    pub vantage: Vantage,
    /// The operator's name of its pool.
    pub pool: Option<Arc<str>>,
    /// Its autonomous system, as its operator claims; for records.
    pub asn: Option<u32>,
    /// Its share of the origins, against the weights of the others: 1 (default) to [`Proxy::MOST_WEIGHT`].
    pub weight: u32,
    /// Whether records may name it; default [`Shown::Address`].
    pub shown: Shown,
    /// What it asks for before it serves us; default none.
    pub credentials: Option<Credentials>,
    /// How an HTTP proxy is asked for a site over plain http; default [`PlainHttp::Forward`].
    pub plain_http: PlainHttp,
}

/// What is spoken with an exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProxyKind {
    /// `http`: an HTTP proxy (RFC 9110 §9.3.6, RFC 9112 §3.2.2). It looks names up.
    Http,
    /// `https`: the same over TLS.
    Https,
    /// `socks5`: SOCKS5 (RFC 1928), told addresses that were looked up and checked here.
    Socks5,
    /// `socks5h`: SOCKS5, told names.
    Socks5h,
}

/// Whether records may name an exit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Scheme, host and port.
    #[default]
    Address,
    /// Country, ASN and pool only: exits of residential pools are people's homes (design §10).
    PoolOnly,
}

/// How an HTTP proxy is asked for a site over plain http. For https it is always a tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlainHttp {
    /// The request itself, in absolute-form (RFC 9112 §3.2.2).
    #[default]
    Forward,
    /// `CONNECT` to the site's port: what answers is the site for certain. Many proxies allow it for port 443 alone.
    Tunnel,
}

impl ProxyKind {
    /// The scheme of its URL.
    #[must_use]
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Socks5 => "socks5",
            Self::Socks5h => "socks5h",
        }
    }

    pub(crate) const fn names(self) -> Names {
        match self {
            Self::Socks5 => Names::Here,
            Self::Http | Self::Https | Self::Socks5h => Names::Exit,
        }
    }

    pub(crate) const fn is_http(self) -> bool {
        matches!(self, Self::Http | Self::Https)
    }
}

impl Proxy {
    /// The largest weight.
    pub const MOST_WEIGHT: u32 = 1000;
    /// Exits of one fetcher at most: each is looked at for each URL.
    pub const MOST: usize = 1024;

    /// What is spoken with it.
    #[must_use]
    pub const fn kind(&self) -> ProxyKind {
        self.kind
    }

    /// `scheme://host:port`: never holds credentials.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}:{}", self.kind.scheme(), self.place.host(), self.place.port())
    }

    pub(crate) const fn place(&self) -> &Origin {
        &self.place
    }

    /// The address, when it is written as one.
    pub(crate) fn literal(&self) -> Option<IpAddr> {
        match self.place.host_kind() {
            HostKind::V4(address) => Some(address.into()),
            HostKind::V6(address) => Some(address.into()),
            HostKind::Domain(_) => None,
        }
    }
}

/// Why a text names no exit. Never repeats the text, which may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoProxy {
    /// It is no URL of a scheme that is known.
    Scheme,
    /// It holds a user name or password.
    Credentials,
    /// Its host is no host.
    Host,
    /// It names no port.
    Port,
    /// It goes on after the port.
    Path,
}

impl FromStr for Proxy {
    type Err = NoProxy;

    fn from_str(text: &str) -> Result<Self, NoProxy> {
        let (scheme, rest) = text.split_once("://").ok_or(NoProxy::Scheme)?;
        let kinds = [ProxyKind::Http, ProxyKind::Https, ProxyKind::Socks5, ProxyKind::Socks5h];
        let kind = kinds.into_iter().find(|kind| kind.scheme().eq_ignore_ascii_case(scheme)).ok_or(NoProxy::Scheme)?;
        if rest.contains('@') {
            return Err(NoProxy::Credentials);
        }
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#', '\\']) {
            return Err(NoProxy::Path);
        }
        // The colon of a port comes after the bracket of an IPv6 address.
        let port = authority.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map(|(_, port)| port);
        let is_port = |port: &str| port.bytes().all(|b| b.is_ascii_digit()) && port.parse().is_ok_and(|n: u16| n > 0);
        port.filter(|port| is_port(port)).ok_or(NoProxy::Port)?;
        let place = Origin::parse(&format!("http://{authority}")).map_err(|_| NoProxy::Host)?;
        Ok(Self {
            kind,
            place,
            vantage: Vantage::Exit,
            pool: None,
            asn: None,
            weight: 1,
            shown: Shown::Address,
            credentials: None,
            plain_http: PlainHttp::Forward,
        })
    }
}

impl NoProxy {
    /// What to do next.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Scheme => "http://host:port, https://host:port, socks5://host:port or socks5h://host:port",
            Self::Credentials => {
                "a secret has no place in a configuration: put user:password into a file and name it in \
                 credentials_file, or into the environment and name the variable in credentials_env"
            }
            Self::Host => "a name or an address; an IPv6 address in brackets",
            Self::Port => "write the port: http://host:3128",
            Self::Path => "end after the port: http://host:3128",
        }
    }
}

impl fmt::Display for NoProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "no URL of a proxy",
            Self::Credentials => "the URL of a proxy holds credentials",
            Self::Host => "the URL of a proxy names no host",
            Self::Port => "the URL of a proxy names no port",
            Self::Path => "the URL of a proxy has a path",
        })
    }
}

impl std::error::Error for NoProxy {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_proxies_are_read_strictly() {
        let good = [
            ("http://Proxy.Example:3128", "http://proxy.example:3128"),
            ("https://proxy.example:443/", "https://proxy.example:443"),
            ("socks5://127.0.0.1:1080", "socks5://127.0.0.1:1080"),
            ("SOCKS5H://[::1]:1080", "socks5h://[::1]:1080"),
            ("http://proxy.example:80", "http://proxy.example:80"),
        ];
        for (text, url) in good {
            assert_eq!(text.parse::<Proxy>().map(|proxy| proxy.url()).as_deref(), Ok(url), "{text}");
        }
        let bad = [
            ("proxy.example:3128", NoProxy::Scheme),
            ("socks4://a:1", NoProxy::Scheme),
            ("ftp://a:1", NoProxy::Scheme),
            ("http://user:secret@a:1", NoProxy::Credentials),
            ("http://a", NoProxy::Port),
            ("http://a:", NoProxy::Port),
            ("http://a:0", NoProxy::Port),
            ("http://a:+1", NoProxy::Port),
            ("http://a:65536", NoProxy::Port),
            ("http://[::1]", NoProxy::Port),
            ("http://:3128", NoProxy::Host),
            ("http://a b:1", NoProxy::Host),
            ("http://::1:3128", NoProxy::Host),
            ("http://a:1/x", NoProxy::Path),
            ("http://a:1?x", NoProxy::Path),
        ];
        for (text, error) in bad {
            assert_eq!(text.parse::<Proxy>(), Err(error), "{text}");
            assert!(!error.to_string().contains("secret") && !error.hint().is_empty());
        }
    }
}
