//! Path patterns in files about one origin.

use comity_robots::{Dialect, Pattern};

/// The path pattern of a location: as written when it begins with `/` or `*`, or what stands behind the origin when that is
/// ours, as in `https://example.com/a`. `None` for anything else, which matches nothing here (our choice).
pub(crate) fn path_on<'a>(origin: &str, location: &'a str) -> Option<&'a str> {
    let (own, path) = split(location)?;
    own.is_none_or(|own| own.eq_ignore_ascii_case(origin)).then_some(path)
}

/// The origin that a location names, if it does, and its path pattern.
fn split(location: &str) -> Option<(Option<&str>, &str)> {
    let location = location.trim();
    if location.starts_with(['/', '*']) {
        return Some((None, location));
    }
    let host = location.find("://")? + 3;
    let end = location.get(host..)?.find('/').map_or(location.len(), |slash| host + slash);
    let (origin, path) = location.split_at_checked(end)?;
    Some((Some(origin), if path.is_empty() { "/" } else { path }))
}

/// A location in compiled form, for whoever asks it for many resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlacePattern {
    /// The origin as written; `None` where any is meant.
    origin: Option<Box<str>>,
    pattern: Pattern,
}

impl PlacePattern {
    /// `None` for a location that matches nothing anywhere.
    pub(crate) fn new(location: &str) -> Option<Self> {
        let (origin, path) = split(location)?;
        Some(Self { origin: origin.map(Into::into), pattern: Pattern::new(path.as_bytes(), Dialect::Standard) })
    }

    /// Octets of the pattern when it matches the resource at `target` of `origin`.
    pub(crate) fn match_length(&self, origin: &str, target: &[u8]) -> Option<u32> {
        let is_ours = self.origin.as_deref().is_none_or(|own| own.eq_ignore_ascii_case(origin));
        (is_ours && self.pattern.matches(target)).then(|| self.pattern.priority())
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.pattern.as_bytes().len() + self.origin.as_deref().map_or(0, str::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations() {
        let rows = [
            ("/", Some("/")),
            ("/a/*.jpg$", Some("/a/*.jpg$")),
            ("*", Some("*")),
            (" /a ", Some("/a")),
            ("https://example.com", Some("/")),
            ("HTTPS://Example.com/A", Some("/A")),
            ("https://example.com.evil.test/", None),
            ("https://example.community/", None),
            ("http://example.com/", None),
            ("https://other.test/", None),
            ("https://example.com?x", None),
            ("://", None),
            ("a/b", None),
            ("", None),
        ];
        for (location, wanted) in rows {
            assert_eq!(path_on("https://example.com", location), wanted, "{location:?}");
            let compiled = PlacePattern::new(location).is_some_and(|place| {
                place.match_length("https://example.com", b"/A") == Some(place.pattern.priority())
            });
            let matches = |path: &str| Pattern::new(path.as_bytes(), Dialect::Standard).matches(b"/A");
            assert_eq!(compiled, wanted.is_some_and(matches), "{location:?}");
        }
        assert_eq!(path_on("", "x"), None);
    }
}
