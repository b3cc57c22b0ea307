//! Why a text is not a [`CrawlUrl`](crate::CrawlUrl) or an [`Origin`](crate::Origin).

use std::fmt;

use url::ParseError;

/// Why a text is no crawlable URL. A value for records: [`UrlError::code`] is the recorded reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlError {
    /// The WHATWG URL parser refuses the text, or its host cannot be a host; the phrase says why.
    Syntax(&'static str),
    /// A well-formed URL of a scheme other than http and https; the scheme, at most 32 bytes of it.
    Scheme(String),
    /// A byte that `http::Uri` would refuse to carry: the URL cannot be sent as it was judged.
    Unsendable {
        /// The offending byte.
        byte: u8,
        /// Its offset in the WHATWG serialisation, in bytes from 0.
        position: usize,
    },
    /// The text, or its serialisation, is longer than [`MAX_CRAWL_URL_BYTES`](crate::MAX_CRAWL_URL_BYTES).
    Length {
        /// Length found, in bytes.
        len: usize,
        /// The bound, in bytes.
        max: usize,
    },
}

impl UrlError {
    /// The reason code that records carry (design: one vocabulary): `url.syntax` (foreign schemes too),
    /// `url.unsendable` or `url.length`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax(_) | Self::Scheme(_) => "url.syntax",
            Self::Unsendable { .. } => "url.unsendable",
            Self::Length { .. } => "url.length",
        }
    }

    /// A [`UrlError::Scheme`] with the scheme cut to 32 bytes (scheme characters are ASCII).
    pub(crate) fn scheme(scheme: &str) -> Self {
        Self::Scheme(scheme.chars().take(32).collect())
    }
}

impl From<ParseError> for UrlError {
    fn from(error: ParseError) -> Self {
        Self::Syntax(match error {
            ParseError::EmptyHost => "the host is empty",
            ParseError::IdnaError | ParseError::InvalidDomainCharacter => "the host is no valid domain name",
            ParseError::InvalidPort => "the port is not a number from 0 to 65535",
            ParseError::InvalidIpv4Address => "the host is no valid IPv4 address",
            ParseError::InvalidIpv6Address => "the host is no valid IPv6 address",
            ParseError::RelativeUrlWithoutBase => "the scheme is missing",
            _ => "not a URL",
        })
    }
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(phrase) => write!(f, "URL: {phrase}"),
            Self::Scheme(scheme) => write!(f, "URL: scheme {scheme:?} is neither http nor https"),
            Self::Unsendable { byte, position } => {
                write!(f, "URL, byte {position}: {:?} (0x{byte:02x}) cannot be sent in a request", char::from(*byte))
            }
            Self::Length { len, max } => write!(f, "URL: {len} bytes, at most {max} are taken"),
        }
    }
}

impl std::error::Error for UrlError {}
