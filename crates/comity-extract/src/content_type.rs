//! The Content-Type of a response: is it HTML, and in which charset.

use encoding_rs::Encoding;

/// Whether the body is read as HTML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentKind {
    /// `text/html` or `application/xhtml+xml`.
    Html,
    /// No usable Content-Type, and the first character that is no white space is `<` (our choice: the
    /// smallest sniff that finds the pages of misconfigured servers).
    Sniffed,
    /// Anything else: it has no links and is not read.
    Other,
}

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declared {
    Html,
    /// No header, or none with a `/`: look at the content.
    Nothing,
    Other,
}

pub(crate) fn kind(content_type: Option<&str>) -> Declared {
    let essence = content_type.unwrap_or("").split([';', ',']).next().unwrap_or("").trim();
    let is = |name: &str| essence.eq_ignore_ascii_case(name);
    if is("text/html") || is("application/xhtml+xml") {
        Declared::Html
    } else if essence.contains('/') {
        Declared::Other
    } else {
        Declared::Nothing
    }
}

/// The charset parameter, where it names a charset; the first one counts.
pub(crate) fn charset(content_type: &str) -> Option<&'static Encoding> {
    let mut rest = content_type;
    while let Some((_, behind)) = rest.split_once(';') {
        let (name, value) = behind.split_once('=').unwrap_or((behind, ""));
        if name.trim().eq_ignore_ascii_case("charset") {
            return Encoding::for_label(unquoted(value).as_bytes());
        }
        rest = behind;
    }
    None
}

/// A value up to its closing quote, or up to the next parameter; single quotes are a slip that servers
/// make and browsers do not forgive, and are left in place.
fn unquoted(value: &str) -> &str {
    let value = value.trim_start();
    match value.strip_prefix('"') {
        Some(inner) => inner.split('"').next().unwrap_or(inner),
        None => value.split([';', ',']).next().unwrap_or(value).trim_end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        let rows = [
            ("text/html", Declared::Html, None),
            ("Text/HTML ; Charset=\"ISO-8859-1\"", Declared::Html, Some("windows-1252")),
            ("text/html;charset=shift_jis;x=y", Declared::Html, Some("Shift_JIS")),
            ("text/html;x=y; charset = utf-8 ", Declared::Html, Some("UTF-8")),
            ("text/html;charset=nonsense;charset=utf-8", Declared::Html, None),
            ("text/html, text/html;charset=utf-8", Declared::Html, Some("UTF-8")),
            ("application/xhtml+xml", Declared::Html, None),
            ("application/xml", Declared::Other, None),
            ("text/plain;charset=koi8-r", Declared::Other, Some("KOI8-R")),
            ("text/htmlx", Declared::Other, None),
            ("", Declared::Nothing, None),
            ("html", Declared::Nothing, None),
            (";charset=utf-8", Declared::Nothing, Some("UTF-8")),
        ];
        for (header, wanted, name) in rows {
            assert_eq!(kind(Some(header)), wanted, "{header:?}");
            assert_eq!(charset(header).map(Encoding::name), name, "{header:?}");
        }
        assert_eq!(kind(None), Declared::Nothing);
    }
}
