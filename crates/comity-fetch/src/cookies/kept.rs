use std::fmt;
use std::time::Duration;

use comity_policy::WallTime;
use comity_url::{CrawlUrl, HostKind, Origin, Scheme};
use cookie::{Cookie, Expiration};

/// One cookie as it is kept.
pub(super) struct Kept {
    pub(super) name: String,
    pub(super) value: String,
    /// The host it belongs to, and those below it unless it is `host_only`.
    domain: String,
    host_only: bool,
    pub(super) path: String,
    pub(super) secure: bool,
    /// `None`: as long as the jar lives.
    expires: Option<WallTime>,
    /// In which order cookies were first set.
    pub(super) created: u64,
}

/// RFC 6265bis §5.6: bytes of name and value together, and of an attribute's value.
const MOST_BYTES: usize = 4096;
const MOST_OF_ATTRIBUTE: usize = 1024;
/// RFC 6265bis §5.5: no cookie lives longer.
const LONGEST_LIFE: Duration = Duration::from_secs(400 * 24 * 3600);

impl Kept {
    /// Reads a Set-Cookie value that came from `url` (RFC 6265bis §5.6 and §5.7); `None` when it may not be set from there,
    /// is too large, has no name, or is not printable ASCII, in which no field could send it back.
    pub(super) fn read(text: &str, url: &CrawlUrl, now: WallTime) -> Option<Self> {
        let parsed = Cookie::parse(text).ok()?;
        let (name, value) = (parsed.name(), parsed.value());
        let fits = name.len() + value.len() <= MOST_BYTES && text.bytes().all(|b| matches!(b, b'\t' | b' '..=b'~'));
        let over_tls = url.origin().scheme() == Scheme::Https;
        let secure = parsed.secure() == Some(true);
        if !fits || (secure && !over_tls) {
            return None;
        }
        let attribute = |value: Option<&str>| value.filter(|value| value.len() <= MOST_OF_ATTRIBUTE).map(str::to_owned);
        let asked = attribute(parsed.domain()).map(|domain| domain.to_ascii_lowercase());
        let (domain, host_only) = belongs(url.origin(), asked.as_deref())?;
        let path = attribute(parsed.path()).filter(|path| path.starts_with('/'));
        let rooted = path.as_deref() == Some("/");
        let prefixed = |prefix: &str| name.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
        // RFC 6265bis §4.1.3: names that promise how they were set.
        let promised = (prefixed("__Secure-"), prefixed("__Host-"));
        let of_host = secure && rooted && asked.as_deref().is_none_or(str::is_empty);
        let honest = (!promised.0 || secure) && (!promised.1 || of_host);
        honest.then(|| Self {
            name: name.to_owned(),
            value: value.to_owned(),
            domain,
            host_only,
            path: path.unwrap_or_else(|| default_path(url.path()).to_owned()),
            secure,
            expires: expires(&parsed, now),
            created: 0,
        })
    }

    /// RFC 6265bis §5.8.3: whether a request for `url` carries it.
    pub(super) fn belongs_to(&self, url: &CrawlUrl) -> bool {
        let host = url.origin().host();
        let reaches = if self.host_only { host == self.domain } else { lies_in(host, &self.domain) };
        reaches && covers(&self.path, url.path()) && (!self.secure || url.origin().scheme() == Scheme::Https)
    }

    /// The same cookie, to be replaced (RFC 6265bis §5.7).
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.name, &self.domain, self.host_only, &self.path)
            == (&other.name, &other.domain, other.host_only, &other.path)
    }

    /// True when both would reach one request, so that a site could not tell this one from `kept`.
    pub(super) fn would_hide(&self, kept: &Self) -> bool {
        let meet = lies_in(&self.domain, &kept.domain) || lies_in(&kept.domain, &self.domain);
        self.name == kept.name && meet && covers(&kept.path, &self.path)
    }

    pub(super) fn is_over(&self, now: WallTime) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    pub(super) fn bytes(&self) -> usize {
        self.name.len() + self.value.len() + self.domain.len() + self.path.len()
    }
}

/// Whom a cookie of `origin` belongs to that asks for a domain: that domain if it is the host or above it, not above its
/// registrable domain, and no public suffix; `None` when it asks for more (RFC 6265bis §5.7).
fn belongs(origin: &Origin, asked: Option<&str>) -> Option<(String, bool)> {
    let host = origin.host();
    match asked.filter(|domain| !domain.is_empty()) {
        None => Some((host.to_owned(), true)),
        Some(domain) => match origin.registrable_domain() {
            Some(site) if lies_in(host, domain) && lies_in(domain, site) => Some((domain.to_owned(), false)),
            // An address, a single label or a public suffix may name itself, and nobody else.
            None if domain == host || is_address(origin, domain) => Some((host.to_owned(), true)),
            _ => None,
        },
    }
}

/// An IPv6 address is written without its brackets, too.
fn is_address(origin: &Origin, domain: &str) -> bool {
    matches!(origin.host_kind(), HostKind::V6(address) if domain.parse() == Ok(address))
}

/// RFC 6265bis §5.1.3: `host` is `domain` or below it.
fn lies_in(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// RFC 6265bis §5.1.4: paths match at slashes.
fn covers(path: &str, asked: &str) -> bool {
    asked.strip_prefix(path).is_some_and(|rest| rest.is_empty() || path.ends_with('/') || rest.starts_with('/'))
}

/// RFC 6265bis §5.1.4: the path up to its last slash.
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        Some(1..) => path.rsplit_once('/').map_or("/", |(folder, _)| folder),
        _ => "/",
    }
}

/// Max-Age wins over Expires (RFC 6265bis §5.7).
fn expires(parsed: &Cookie<'_>, now: WallTime) -> Option<WallTime> {
    let latest = now.after(LONGEST_LIFE);
    let at = match (parsed.max_age(), parsed.expires()) {
        (Some(life), _) => now.after(Duration::try_from(life).unwrap_or_default().min(LONGEST_LIFE)),
        (None, Some(Expiration::DateTime(at))) => WallTime::from_unix_millis(at.unix_timestamp().saturating_mul(1000)),
        (None, Some(Expiration::Session) | None) => return None,
    };
    Some(at.min(latest))
}

/// Without its value.
impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").field("name", &self.name).field("domain", &self.domain).finish_non_exhaustive()
    }
}
