//! References that hold another URL behind stray text.

use std::fmt;

/// Why a reference is not followed by default: by the WHATWG rules it resolves, to a page its author
/// never meant (`1.⇥https://other/` becomes `/1.https://other/`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SuspiciousReference {
    /// An absolute URL behind list numbers, quotes, words: `1.⇥https://other/`, `“https://other/”`.
    UrlBehindText,
    /// A scheme in front of a scheme, so that `http` would be the host: `http://https://other/`.
    SchemeTwice,
}

impl SuspiciousReference {
    /// The reason code that records carry.
    #[must_use]
    pub fn code(self) -> &'static str {
        "url.suspicious"
    }
}

impl fmt::Display for SuspiciousReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UrlBehindText => "link: an absolute URL stands behind other text",
            Self::SchemeTwice => "link: the scheme is written twice",
        })
    }
}

/// Looks at a reference as the page has it, before it is resolved; `None` is an ordinary reference.
///
/// Our choice: an `http://` or `https://` in the first path segment of a relative reference is a slip of
/// the author. Behind a `/`, `\`, `?` or `#` it is left alone: archives and redirectors write
/// `/web/2020/https://other/` and `?to=https://other/` on purpose. Linear.
///
/// ```
/// use comity_url::{SuspiciousReference, looks_suspicious};
///
/// assert_eq!(looks_suspicious("1.\thttps://other/"), Some(SuspiciousReference::UrlBehindText));
/// assert_eq!(looks_suspicious("/web/2020/https://other/"), None);
/// ```
#[must_use]
pub fn looks_suspicious(reference: &str) -> Option<SuspiciousReference> {
    if is_plain(reference) { None } else { looked_at(reference) }
}

fn looked_at(reference: &str) -> Option<SuspiciousReference> {
    let seen = as_the_parser_sees(reference);
    if let Some(rest) = behind_slashes(without_scheme(&seen).unwrap_or(&seen)) {
        return is_absolute(rest).then_some(SuspiciousReference::SchemeTwice);
    }
    let segment = seen.find(['/', '\\', '?', '#']).map_or(&*seen, |end| &seen[..end]);
    let text = ["https:", "http:"].iter().find_map(|scheme| segment.strip_suffix(scheme))?;
    // `view-source:https://…` is of another scheme, and refused as such.
    (!has_scheme(text) && is_absolute(&seen[text.len()..])).then_some(SuspiciousReference::UrlBehindText)
}

/// Whether nothing can be wrong: there is no colon, or only the usual start of an absolute URL before something that
/// is no second one. Only a shortcut; most references of most pages take it.
fn is_plain(reference: &str) -> bool {
    if !reference.contains(':') {
        return true;
    }
    let rest = reference.strip_prefix("https://").or_else(|| reference.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.starts_with(|c: char| matches!(c, 'h' | 'H') || c <= ' '))
}

/// Without outer controls and blanks, without tabs and line breaks, in lower case: WHATWG URL §4.4.
fn as_the_parser_sees(reference: &str) -> String {
    let trimmed = reference.trim_matches(|c: char| c <= ' ');
    trimmed.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).map(|c| c.to_ascii_lowercase()).collect()
}

fn without_scheme(text: &str) -> Option<&str> {
    text.strip_prefix("https:").or_else(|| text.strip_prefix("http:"))
}

/// What follows two slashes; backslashes count as slashes.
fn behind_slashes(text: &str) -> Option<&str> {
    text.strip_prefix(['/', '\\'])?.strip_prefix(['/', '\\'])
}

fn is_absolute(text: &str) -> bool {
    without_scheme(text).and_then(behind_slashes).is_some()
}

/// Whether `text` begins with a scheme (RFC 3986 §3.1).
fn has_scheme(text: &str) -> bool {
    let rest = text.split_once(':').and_then(|(name, _)| name.strip_prefix(|c: char| c.is_ascii_alphabetic()));
    rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text of up to six pieces that matter.
    #[test]
    fn what_looks_plain_is_plain() {
        let pieces = ["http", "https", ":", "/", "\\", "\t", " ", "h", "H", "x", "1.", "?"];
        let mut texts = vec![String::new()];
        let mut start = 0;
        for _ in 0..5 {
            let end = texts.len();
            for at in start..end {
                texts.extend(pieces.iter().map(|piece| format!("{}{piece}", texts[at])).collect::<Vec<_>>());
            }
            start = end;
        }
        for text in texts.iter().flat_map(|text| [text.clone(), format!("https://{text}"), format!("http://{text}")]) {
            assert!(!is_plain(&text) || looked_at(&text).is_none(), "{text:?}");
        }
    }
}
