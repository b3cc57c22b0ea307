use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use comity_policy::Network;

use crate::AddressGuard;
#[cfg(feature = "proxy")]
use crate::proxy::{self, Proxy};
use crate::signature::Signer;

/// Bounds of one exchange; the defaults are those of design §7.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Name resolution. Default 10 s; then `fetch.dns.timeout`.
    pub dns: Duration,
    /// Connecting to all candidates together, TLS included. Default 10 s; then `fetch.timeout.connect`.
    pub connect: Duration,
    /// From the written request to the end of the response head. Default 15 s; then `fetch.timeout.head`.
    pub head: Duration,
    /// The longest pause in a body. Default 15 s; then `fetch.timeout.idle`.
    pub idle: Duration,
    /// The whole exchange, connecting included. Default 60 s; then `fetch.timeout.total`.
    pub total: Duration,
    /// The least average rate of a body in bytes as received per second, once [`Limits::rate_grace`] has passed.
    /// Default 1 KiB/s; below it `fetch.slow`.
    pub least_rate: u64,
    /// How long after the head a body may be slower. Default 10 s.
    pub rate_grace: Duration,
    /// The largest body, in decoded bytes and in bytes as received. Default 10 MiB; above `fetch.too_large`.
    pub max_body: u64,
    /// The largest body sent along by [`crate::Fetcher::send`]. Default 10 MiB; above `fetch.request_body`.
    pub max_request_body: u64,
    /// The largest ratio of decoded to received bytes, once 64 KiB are decoded. Default 200; above `fetch.ratio`.
    pub max_ratio: u64,
    /// The largest response head in bytes, interim responses included. Default 64 KiB; above `fetch.headers`.
    pub max_head_bytes: usize,
    /// The most fields of a response head. Default 100; above `fetch.headers`.
    pub max_fields: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            dns: Duration::from_secs(10),
            connect: Duration::from_secs(10),
            head: Duration::from_secs(15),
            idle: Duration::from_secs(15),
            total: Duration::from_secs(60),
            least_rate: 1024,
            rate_grace: Duration::from_secs(10),
            max_body: 10 << 20,
            max_request_body: 10 << 20,
            max_ratio: 200,
            max_head_bytes: 64 << 10,
            max_fields: 100,
        }
    }
}

/// Which versions of HTTP are offered to sites over TLS; without TLS it is always HTTP/1.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Http {
    /// HTTP/2 where the site speaks it, else HTTP/1.1 (RFC 7301).
    #[default]
    Auto,
    /// HTTP/1.1 alone: for archives that are to hold heads as they were on the wire.
    Only11,
}

/// What becomes of the cookies that sites set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cookies {
    /// They are ignored.
    #[default]
    Off,
    /// They are kept in memory as long as the fetcher lives, and sent by the rules of RFC 6265bis (docs/decisions/0027):
    /// 50 of a registrable domain and 16 MiB in all at most. Never written to a file.
    Memory,
}

/// Settings of a [`crate::Fetcher`]: the `[fetch]` section, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchConfig {
    /// The User-Agent as sent; required (`comity_policy::Identity::user_agent`).
    pub user_agent: String,
    /// The From field (RFC 9110 §10.1.2), an e-mail address. Default none.
    pub from: Option<String>,
    /// Signs every request over TLS, robots.txt included. Default none.
    pub signer: Option<Signer>,
    /// Proxies that everything leaves through; default none: everything leaves directly.
    #[cfg(feature = "proxy")]
    pub proxies: Vec<Proxy>,
    /// Bounds of an exchange.
    pub limits: Limits,
    /// Non-public networks that may be connected to. Default none.
    pub allow_addresses: Vec<Network>,
    /// Addresses of names that no resolver is asked for, keys in lower case. Default none.
    pub resolve: BTreeMap<String, Vec<IpAddr>>,
    /// PEM files of roots trusted beside those of webpki. Default none.
    pub extra_roots_pem: Vec<Vec<u8>>,
    /// The versions of HTTP that are spoken over TLS. Default [`Http::Auto`].
    pub http: Http,
    /// Whether cookies are kept. Default [`Cookies::Off`].
    pub cookies: Cookies,
    /// The Accept field. Default `*/*`.
    pub accept: Option<String>,
    /// Where bodies go that outgrow their memory. Default: the system's folder for temporary files.
    pub spool_dir: Option<PathBuf>,
    /// Bytes of a body as received that are kept in memory; more go to a file. Default 1 MiB.
    pub spool_in_memory: usize,
    /// Bytes of all such files at once; above, bodies are cut as `fetch.spool`. Default 2 GiB.
    pub spool_max: u64,
    /// Idle connections kept per origin. Default 2.
    pub max_idle_per_origin: usize,
    /// Idle connections kept in all. Default 256.
    pub max_idle_total: usize,
    /// How long an idle connection is kept. Default 15 s (our choice: below the keep-alive of common servers).
    pub idle_timeout: Duration,
}

impl FetchConfig {
    /// The defaults with this User-Agent.
    #[must_use]
    pub fn new(user_agent: impl Into<String>) -> Self {
        Self {
            user_agent: user_agent.into(),
            from: None,
            signer: None,
            #[cfg(feature = "proxy")]
            proxies: Vec::new(),
            limits: Limits::default(),
            allow_addresses: Vec::new(),
            resolve: BTreeMap::new(),
            extra_roots_pem: Vec::new(),
            http: Http::Auto,
            cookies: Cookies::Off,
            accept: None,
            spool_dir: None,
            spool_in_memory: 1 << 20,
            spool_max: 2 << 30,
            max_idle_per_origin: 2,
            max_idle_total: 256,
            idle_timeout: Duration::from_secs(15),
        }
    }
}

/// Why a [`FetchConfig`] is refused.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The User-Agent is empty or cannot be sent.
    UserAgent(String),
    /// The From field cannot be sent.
    From(String),
    /// The Accept field cannot be sent.
    Accept(String),
    /// Two proxies, counted from 0, that nothing tells apart.
    #[cfg(feature = "proxy")]
    SameProxy(usize, usize),
    /// So many proxies are too many.
    #[cfg(feature = "proxy")]
    Proxies(usize),
    /// The weight of a proxy is out of range.
    #[cfg(feature = "proxy")]
    Weight(u32),
    /// A network to be allowed holds public addresses.
    PublicRange(Network),
    /// A file of roots, counted from 0, holds no certificate that can be used; what is wrong with it.
    Roots(usize, String),
    /// TLS cannot be set up; what the library says.
    Tls(String),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UserAgent(text) => write!(f, "user agent {text:?} cannot be sent: printable ASCII, not empty"),
            Self::From(text) => write!(f, "from {text:?} cannot be sent: printable ASCII, not empty"),
            Self::Accept(text) => write!(f, "accept {text:?} cannot be sent: printable ASCII"),
            #[cfg(feature = "proxy")]
            Self::SameProxy(first, second) => {
                write!(f, "proxies {first} and {second} have the same URL, country and pool")
            }
            #[cfg(feature = "proxy")]
            Self::Proxies(count) => write!(f, "{count} proxies, {} at most", Proxy::MOST),
            #[cfg(feature = "proxy")]
            Self::Weight(weight) => write!(f, "weight {weight} of a proxy: 1 to {}", Proxy::MOST_WEIGHT),
            Self::PublicRange(range) => {
                write!(f, "allow_addresses: {range} holds public addresses, only non-public ranges can be allowed")
            }
            Self::Roots(index, cause) => write!(f, "roots, file {index}: {cause}"),
            Self::Tls(cause) => write!(f, "tls: {cause}"),
        }
    }
}

impl std::error::Error for ConfigError {}

/// Refuses what would only show while fetching.
pub(crate) fn check(config: &FetchConfig) -> Result<(), ConfigError> {
    if config.user_agent.trim().is_empty() || !is_plain(&config.user_agent) {
        return Err(ConfigError::UserAgent(config.user_agent.clone()));
    }
    if let Some(from) = config.from.as_ref().filter(|from| from.trim().is_empty() || !is_plain(from)) {
        return Err(ConfigError::From(from.clone()));
    }
    if let Some(accept) = config.accept.as_ref().filter(|accept| !is_plain(accept)) {
        return Err(ConfigError::Accept(accept.clone()));
    }
    #[cfg(feature = "proxy")]
    check_proxies(&config.proxies)?;
    match config.allow_addresses.iter().find(|range| AddressGuard::is_public_range(range)) {
        Some(range) => Err(ConfigError::PublicRange(*range)),
        None => Ok(()),
    }
}

#[cfg(feature = "proxy")]
fn check_proxies(proxies: &[Proxy]) -> Result<(), ConfigError> {
    if proxies.len() > Proxy::MOST {
        return Err(ConfigError::Proxies(proxies.len()));
    }
    if let Some(proxy) = proxies.iter().find(|proxy| !(1..=Proxy::MOST_WEIGHT).contains(&proxy.weight)) {
        return Err(ConfigError::Weight(proxy.weight));
    }
    let mut seen = BTreeMap::new();
    for (at, proxy) in proxies.iter().enumerate() {
        if let Some(first) = seen.insert(proxy::identity(proxy), at) {
            return Err(ConfigError::SameProxy(first, at));
        }
    }
    Ok(())
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_refused_at_once() {
        type Spoil = fn(&mut FetchConfig);
        let rows: [(Spoil, &str); 6] = [
            (|c| c.from = Some("a@b.c\r\nX: y".into()), "from"),
            (|c| c.user_agent = " ".into(), "user agent"),
            (|c| c.user_agent = "My\r\nBot".into(), "user agent"),
            (|c| c.accept = Some("text/html\n".into()), "accept"),
            (|c| c.allow_addresses = vec!["0.0.0.0/0".parse().unwrap()], "allow_addresses"),
            (|c| c.allow_addresses = vec!["::1".parse().unwrap(), "8.8.8.8".parse().unwrap()], "allow_addresses"),
        ];
        assert_eq!(check(&FetchConfig::new("MyBot/1.0 (+https://example.com/bot)")), Ok(()));
        for (spoil, place) in rows {
            let mut config = FetchConfig::new("MyBot/1.0");
            spoil(&mut config);
            let error = check(&config).unwrap_err().to_string();
            assert!(error.starts_with(place) && !error.ends_with('.'), "{place}: {error}");
        }
    }
}
