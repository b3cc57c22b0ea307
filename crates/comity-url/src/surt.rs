//! SURT: the sorting key of archive indexes (CDX, CDXJ).

use std::fmt;

use url::{Host, Url};

use crate::CrawlUrl;

mod escapes;
mod path;
mod query;

/// Version of the rules that make a [`Surt`]. An index on disk carries it; a change of a rule raises it.
pub const SURT_RULES_VERSION: u16 = 1;

/// The key under which archive tools look a URL up: `com,example)/path?a=1&b=2`.
///
/// Exactly what the `surt` package 0.3.1 makes of the same URL, which pywb, cdxj-indexer and py-wacz use;
/// so the key is also as lossy as theirs: case, `www`, session ids, double and trailing slashes and the
/// order of the query are gone, an IPv6 host runs into its port. Right for looking a capture up, wrong
/// for de-duplicating a frontier: that is what [`UrlKey`](crate::UrlKey) is for. ASCII for every URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Surt(String);

impl Surt {
    /// The key of a crawl URL. Linear but for the sort of the query's arguments.
    #[must_use]
    pub fn of(url: &CrawlUrl) -> Self {
        let origin = url.origin();
        // IPv6 loses its brackets; that makes it ambiguous with a port, and it is what the tools do.
        let host = origin.host().trim_start_matches('[').trim_end_matches(']');
        let port = (origin.port() != origin.scheme().default_port()).then(|| origin.port());
        Self::of_parts(host, port, url.path(), url.query())
    }

    /// The key of any record's target URI. An http, https or ftp URL as [`Surt::of`] makes it (the default
    /// port of ftp is dropped, where the package keeps a written `:21`); a text like `dns:example.com` or
    /// `urn:x:y` stays whole, scheme included, but for what the package does to every path: unescaped,
    /// escaped, lower case. `filedesc:` and what is no URI stay as they are, blanks and controls escaped, so
    /// that the key is one field of an index line. An empty text is `-`.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        if text.is_empty() {
            return Self("-".to_owned());
        }
        if let Ok(url) = CrawlUrl::parse(text) {
            return Self::of(&url);
        }
        match Url::parse(text) {
            Ok(url) if url.scheme() == "ftp" => Self::of_ftp(&url),
            Ok(url) if url.cannot_be_a_base() && url.scheme() != "filedesc" => Self::of_opaque(text),
            _ => Self(escapes::without_blanks(text)),
        }
    }

    /// The key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn of_ftp(url: &Url) -> Self {
        let host = match url.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => String::new(),
        };
        Self::of_parts(&host, url.port(), url.path(), url.query())
    }

    fn of_opaque(text: &str) -> Self {
        let text = text.trim_matches(|c: char| c <= ' ');
        let text: String = text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
        let text = text.split('#').next().unwrap_or_default();
        let (path, query) = text.split_once('?').map_or((text, None), |(path, query)| (path, Some(query)));
        let (scheme, path) = path.split_once(':').unwrap_or_default();
        let mut key = format!("{scheme}:{}", path::opaque_path_key(path));
        push_query(&mut key, query);
        Self(key)
    }

    fn of_parts(host: &str, port: Option<u16>, path: &str, query: Option<&str>) -> Self {
        let mut key = reversed_host(host);
        // Port 0 counts as none, as for the tools.
        if let Some(port) = port.filter(|&port| port != 0) {
            key.push_str(&format!(":{port}"));
        }
        key.push(')');
        key.push_str(&path::path_key(path));
        push_query(&mut key, query);
        Self(key)
    }
}

impl AsRef<str> for Surt {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Surt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn push_query(key: &mut String, query: Option<&str>) {
    if let Some(query) = query.and_then(query::query_key) {
        key.push('?');
        key.push_str(&query);
    }
}

/// `www.example.com` becomes `com,example`, and 192.0.2.1 becomes `1,2,0,192`.
fn reversed_host(host: &str) -> String {
    let host = host.replace("..", ".");
    let host = without_www(host.trim_matches('.'));
    let labels: Vec<&str> = host.rsplit('.').collect();
    labels.join(",")
}

/// Without `www`, any digits and the dot after them.
fn without_www(host: &str) -> &str {
    let rest = host.strip_prefix("www").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    rest.and_then(|rest| rest.strip_prefix('.')).unwrap_or(host)
}
