use std::fmt;

use comity_policy::Reason;
use comity_url::{CrawlUrl, UrlError};
use http::Request;
use http::header::HOST;

/// Why a request cannot be judged as it stands: the URL judged has to be the URL sent (invariant 3).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsendable {
    /// Its URI is no absolute http or https URL.
    Url(UrlError),
    /// The crawl URL of its URI is another text. [`CrawlUrl::parse`] first, and send what that gives.
    Altered {
        /// The URI of the request.
        given: String,
        /// What would have been judged.
        judged: String,
    },
    /// It carries a Host field that names another host than its URI: one would be judged and the other asked.
    Host {
        /// The Host field, not printable bytes escaped.
        given: String,
        /// What the URI says.
        judged: String,
    },
}

impl Unsendable {
    /// `url.syntax`, `url.length` or `url.unsendable`.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Url(error) => Reason::from_code(error.code()).unwrap_or(Reason::UrlSyntax),
            Self::Altered { .. } | Self::Host { .. } => Reason::UrlUnsendable,
        }
    }
}

impl fmt::Display for Unsendable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(error) => error.fmt(f),
            Self::Altered { given, judged } => write!(f, "{given:?} would be judged as {judged:?}: ask for the latter"),
            Self::Host { given, judged } => write!(f, "the Host field says {given:?} and the URI {judged:?}"),
        }
    }
}

impl std::error::Error for Unsendable {}

/// The URL that a request asks for, if that is the very URL that would be judged.
pub(crate) fn target<B>(request: &Request<B>) -> Result<CrawlUrl, Unsendable> {
    let given = request.uri().to_string();
    let url = CrawlUrl::parse(&given).map_err(Unsendable::Url)?;
    if url.as_str() != given {
        return Err(Unsendable::Altered { given, judged: url.as_str().to_owned() });
    }
    let authority = url.origin().authority();
    let other = |value: &&http::HeaderValue| !value.as_bytes().eq_ignore_ascii_case(authority.as_bytes());
    match request.headers().get_all(HOST).iter().find(other) {
        None => Ok(url),
        Some(host) => {
            let given = host.as_bytes().escape_ascii().to_string();
            Err(Unsendable::Host { given, judged: authority.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_judged_is_sent() {
        let rows: [(&str, Option<&str>, Result<(), Reason>); 14] = [
            ("http://a.test/x?y=1", None, Ok(())),
            ("http://a.test", None, Ok(())),
            ("http://a.test:8080/", Some("A.test:8080"), Ok(())),
            ("http://a.test/%7Efoo", None, Ok(())),
            ("/x", None, Err(Reason::UrlSyntax)),
            ("a.test:443", None, Err(Reason::UrlSyntax)),
            ("ftp://a.test/", None, Err(Reason::UrlSyntax)),
            ("http://A.test/", None, Err(Reason::UrlUnsendable)),
            ("http://a.test:80/", None, Err(Reason::UrlUnsendable)),
            ("http://u:p@a.test/", None, Err(Reason::UrlUnsendable)),
            ("http://a.test/public/../private", None, Err(Reason::UrlUnsendable)),
            ("http://a.test/public/%2e%2e/private", None, Err(Reason::UrlUnsendable)),
            ("http://0x7f.1/", None, Err(Reason::UrlUnsendable)),
            ("http://a.test/", Some("b.test"), Err(Reason::UrlUnsendable)),
        ];
        for (uri, host, expected) in rows {
            let mut request = Request::builder().uri(uri);
            if let Some(host) = host {
                request = request.header(HOST, host);
            }
            let found = target(&request.body(()).unwrap());
            assert_eq!(found.map(|_| ()).map_err(|e| e.reason()), expected, "{uri} {host:?}");
        }
        let twice = Request::builder().uri("http://a.test/").header(HOST, "a.test").header(HOST, "b.test");
        assert!(matches!(target(&twice.body(()).unwrap()), Err(Unsendable::Host { .. })));
    }
}
