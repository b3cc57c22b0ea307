use std::fmt;
use std::str::FromStr;

/// Media types that are wanted: `text/html`, `text/*`, `*/*`. An empty list wants all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediaTypes(Vec<MediaRange>);

/// A media range (RFC 9110 §12.5.1) without parameters, lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaRange {
    kind: String,
    subtype: String,
}

impl MediaTypes {
    /// The types of this list.
    #[must_use]
    pub const fn new(ranges: Vec<MediaRange>) -> Self {
        Self(ranges)
    }

    /// The ranges, in the order given.
    #[must_use]
    pub fn ranges(&self) -> &[MediaRange] {
        &self.0
    }

    /// True when a body of this Content-Type is wanted; parameters do not count. A response that does not say its
    /// type, or says none that can be read, is wanted (our choice: what it is shows in its bytes).
    #[must_use]
    pub fn want(&self, content_type: Option<&str>) -> bool {
        let said = content_type.and_then(|text| text.split(';').next()).map(|text| text.trim().to_ascii_lowercase());
        match said.as_deref().and_then(|text| text.split_once('/')) {
            Some((kind, subtype)) if !self.0.is_empty() => self.0.iter().any(|range| range.holds(kind, subtype)),
            _ => true,
        }
    }
}

impl MediaRange {
    fn holds(&self, kind: &str, subtype: &str) -> bool {
        (self.kind == "*" || self.kind == kind) && (self.subtype == "*" || self.subtype == subtype)
    }
}

/// A text that is no media range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoMediaRange(String);

impl fmt::Display for NoMediaRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no media type, as `text/html` or `text/*`", self.0)
    }
}

impl std::error::Error for NoMediaRange {}

impl FromStr for MediaRange {
    type Err = NoMediaRange;

    fn from_str(text: &str) -> Result<Self, NoMediaRange> {
        let token = |part: &str| {
            let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b);
            part == "*" || (!part.is_empty() && part.bytes().all(allowed))
        };
        match text.split_once('/') {
            Some((kind, subtype)) if token(kind) && token(subtype) && (kind != "*" || subtype == "*") => {
                Ok(Self { kind: kind.to_ascii_lowercase(), subtype: subtype.to_ascii_lowercase() })
            }
            _ => Err(NoMediaRange(text.to_owned())),
        }
    }
}

impl fmt::Display for MediaRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.subtype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_held_against_ranges() {
        let types = |list: &[&str]| MediaTypes::new(list.iter().map(|text| text.parse().unwrap()).collect());
        let pages = ["text/html", "application/xhtml+xml"];
        let rows: [(&[&str], Option<&str>, bool); 11] = [
            (&[], Some("image/png"), true),
            (&pages, Some("text/html"), true),
            (&pages, Some("Text/HTML; charset=utf-8"), true),
            (&pages, Some("application/xhtml+xml"), true),
            (&pages, Some("text/plain"), false),
            (&pages, Some("image/png"), false),
            (&pages, None, true),
            (&pages, Some("nonsense"), true),
            (&["TEXT/*"], Some("text/plain"), true),
            (&["text/*"], Some("image/png"), false),
            (&["*/*"], Some("image/png"), true),
        ];
        for (list, said, wanted) in rows {
            assert_eq!(types(list).want(said), wanted, "{list:?} {said:?}");
        }
        for bad in ["", "html", "text/", "/html", "*/html", "text/html;q=1", "te xt/html"] {
            assert!(bad.parse::<MediaRange>().is_err(), "{bad:?}");
        }
    }
}
