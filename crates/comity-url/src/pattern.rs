//! What `include` and `exclude` take: robots-style patterns over whole URLs.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use crate::canonical::{canonical_form, normal_escapes};
use crate::glob::Glob;
use crate::{CrawlUrl, Origin, UrlError};

/// The most bytes a pattern may have. Our choice: about twice the longest URL a crawl takes by default.
pub const MAX_PATTERN_BYTES: usize = 4096;

/// A pattern in the manner of robots.txt rules (RFC 9309 §2.2.3): `*` is any run of bytes, also of `/` and
/// `?`; a `$` at the end means that the URL ends there; otherwise the pattern is a prefix.
///
/// A pattern that begins with `/` is matched on path and query, any other on the URL from its scheme on.
/// URL and pattern are compared in [`canonical`](crate::canonical) form: `/ü`, `/%c3%bc` and `/%C3%BC` are
/// one, and `/%61dmin` does not slip past `/admin`. The scheme and a host are lower-cased, a host without `*`
/// is brought to the form of an [`Origin`] and complete: `https://example.com` does not match
/// `https://example.com.other.test/`. Linear in URL and pattern. `Clone` counts a reference.
///
/// ```
/// use comity_url::{CrawlUrl, UrlPattern};
///
/// let pdf: UrlPattern = "*.pdf$".parse()?;
/// assert!(pdf.matches(&CrawlUrl::parse("https://h/a.pdf")?));
/// assert!(!pdf.matches(&CrawlUrl::parse("https://h/a.pdf?x")?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct UrlPattern(Arc<Parts>);

struct Parts {
    written: Box<str>,
    on: Subject,
    glob: Glob,
}

/// What a pattern is matched on.
enum Subject {
    WholeUrl,
    RequestTarget,
}

/// Why a text is no pattern. Each is a pattern that could never match, or not as it was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// The text is empty.
    Empty,
    /// Longer than [`MAX_PATTERN_BYTES`].
    Length {
        /// Length found, in bytes.
        len: usize,
        /// The bound, in bytes.
        max: usize,
    },
    /// It begins like no crawl URL and no path.
    Start(String),
    /// It has a `#`, which no crawl URL has.
    Fragment(String),
    /// Its host can be no host.
    Host(String, UrlError),
}

impl UrlPattern {
    /// Reads a pattern as a configuration writes it.
    ///
    /// # Errors
    /// [`PatternError`], when no crawl URL could match.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        check_text(text)?;
        let (body, anchored) = text.strip_suffix('$').map_or((text, false), |body| (body, true));
        let (on, body) = if body.starts_with('/') {
            (Subject::RequestTarget, normal_target(body))
        } else {
            (Subject::WholeUrl, normal_url(body).map_err(|error| PatternError::Host(text.to_owned(), error))?)
        };
        Ok(Self(Arc::new(Parts { written: text.into(), on, glob: Glob::new(&body, anchored) })))
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.written
    }

    /// Whether `url` matches.
    #[must_use]
    pub fn matches(&self, url: &CrawlUrl) -> bool {
        self.matches_canonical(&canonical_form(url), url.origin())
    }

    /// As [`UrlPattern::matches`], for a URL in canonical form that many patterns are matched on.
    pub(crate) fn matches_canonical(&self, canonical: &str, origin: &Origin) -> bool {
        self.0.glob.matches(match self.0.on {
            Subject::WholeUrl => canonical,
            // The canonical form of a URL begins with its origin, unchanged.
            Subject::RequestTarget => canonical.get(origin.as_str().len()..).unwrap_or(canonical),
        })
    }
}

impl FromStr for UrlPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        Self::parse(text)
    }
}

impl PartialEq for UrlPattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for UrlPattern {}

impl Hash for UrlPattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for UrlPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for UrlPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UrlPattern({self})")
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("pattern: it is empty; `*` matches every URL"),
            Self::Length { len, max } => write!(f, "pattern: {len} bytes, at most {max} are taken"),
            Self::Start(text) => {
                write!(f, "pattern {text:?}: it must begin with `/`, `*`, `http://` or `https://`, or no URL matches")
            }
            Self::Fragment(text) => write!(f, "pattern {text:?}: it has a `#`, and crawled URLs have no fragment"),
            Self::Host(text, error) => write!(f, "pattern {text:?}: {error}"),
        }
    }
}

impl std::error::Error for PatternError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let Self::Host(_, error) = self { Some(error) } else { None }
    }
}

fn check_text(text: &str) -> Result<(), PatternError> {
    if text.is_empty() {
        return Err(PatternError::Empty);
    }
    if text.len() > MAX_PATTERN_BYTES {
        return Err(PatternError::Length { len: text.len(), max: MAX_PATTERN_BYTES });
    }
    if text.contains('#') {
        return Err(PatternError::Fragment(text.to_owned()));
    }
    if text.starts_with('/') || begins_like_a_url(text) { Ok(()) } else { Err(PatternError::Start(text.to_owned())) }
}

/// Whether what stands before the first `*` could be the beginning of a crawl URL.
fn begins_like_a_url(text: &str) -> bool {
    let (head, starred) = text.split_once('*').map_or((text, false), |(head, _)| (head, true));
    let head = head.to_ascii_lowercase();
    ["http://", "https://"].iter().any(|scheme| head.starts_with(scheme) || (starred && scheme.starts_with(&head)))
}

/// A pattern from the scheme on, with scheme and host as crawl URLs have them.
fn normal_url(body: &str) -> Result<String, UrlError> {
    let parts = body.split_once("://").filter(|(scheme, _)| !scheme.contains(['/', '?']));
    let Some((scheme, rest)) = parts else { return Ok(normal_target(body)) };
    let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let scheme = scheme.to_ascii_lowercase();
    let starred = authority.contains('*');
    let authority = if starred { starred_host(authority)? } else { whole_host(&scheme, authority)? };
    // A whole host is followed by a path in every crawl URL.
    let slash = if starred || target.starts_with('/') { "" } else { "/" };
    Ok(format!("{scheme}://{authority}{slash}{}", normal_target(target)))
}

fn whole_host(scheme: &str, authority: &str) -> Result<String, UrlError> {
    let scheme = if scheme == "https" { "https" } else { "http" };
    Ok(Origin::parse(&format!("{scheme}://{authority}"))?.authority().to_owned())
}

fn starred_host(authority: &str) -> Result<String, UrlError> {
    if authority.is_ascii() {
        Ok(authority.to_ascii_lowercase())
    } else {
        Err(UrlError::Syntax("a host with `*` must be written in ASCII, with xn-- labels"))
    }
}

/// Path and query with what the WHATWG parser escapes escaped, in canonical form. From the first `?` on the
/// rules of queries hold.
fn normal_target(target: &str) -> String {
    let mut out = String::with_capacity(target.len());
    let mut in_query = false;
    for character in target.chars() {
        in_query |= character == '?';
        let only_here = if in_query { "'" } else { "`{}" };
        if character.is_ascii_graphic() && !"\"<>".contains(character) && !only_here.contains(character) {
            out.push(character);
        } else {
            let mut buffer = [0; 4];
            for byte in character.encode_utf8(&mut buffer).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    normal_escapes(&out).into_owned()
}
