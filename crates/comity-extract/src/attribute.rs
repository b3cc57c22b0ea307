//! Character references in attribute values and in text.

use std::borrow::Cow;

use htmlize::Context;
use memchr::memchr3;

/// Decodes an attribute value by the attribute rules of the HTML standard ("named character reference
/// state"): `&copy=` stays, `&copy"` decodes. NUL becomes U+FFFD ("attribute value states"), line ends become line feeds
/// ("preprocessing the input stream").
pub(crate) fn attribute_value(raw: &str) -> Cow<'_, str> {
    decode(raw, Context::Attribute)
}

/// Decodes the text of a `title`.
pub(crate) fn text(raw: &str) -> Cow<'_, str> {
    decode(raw, Context::General)
}

fn decode(raw: &str, context: Context) -> Cow<'_, str> {
    if memchr3(b'&', b'\0', b'\r', raw.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    let is_odd = raw.contains(['\0', '\r']);
    let raw = if is_odd {
        Cow::Owned(raw.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(raw)
    };
    match raw {
        Cow::Borrowed(raw) => htmlize::unescape_in(raw, context),
        Cow::Owned(raw) => Cow::Owned(htmlize::unescape_in(raw, context).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attribute_values_decode_as_in_browsers() {
        let rows = [
            ("?a=1&amp;b=2", "?a=1&b=2"),
            ("?a=1&b=2", "?a=1&b=2"),
            ("?x&copy=1", "?x&copy=1"),
            ("?x&copy", "?x\u{a9}"),
            ("?x&copy;=1", "?x\u{a9}=1"),
            ("?x&copyright=1", "?x&copyright=1"),
            ("?x&copy/1", "?x\u{a9}/1"),
            ("&amp;amp;", "&amp;"),
            ("&ampamp;", "&ampamp;"),
            ("&notit;", "&notit;"),
            ("&notin;", "\u{2209}"),
            ("&not;it", "\u{ac}it"),
            ("&lang=de&lang;", "&lang=de\u{27e8}"),
            ("&section=1", "&section=1"),
            ("&sect=1", "&sect=1"),
            ("&#x26;&#38;&#X26;", "&&&"),
            ("&#38x", "&x"),
            ("&#x26g", "&g"),
            ("&#128;&#x92;&#159;", "\u{20ac}\u{2019}\u{178}"),
            ("&#129;", "\u{81}"),
            ("&#0;&#xD800;&#x110000;&#99999999999;", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ("&#;&#x;&;&", "&#;&#x;&;&"),
            ("&acE;", "\u{223e}\u{333}"),
            ("&CounterClockwiseContourIntegral;", "\u{2233}"),
            ("&AMP&GT", "&>"),
            ("&Amp;", "&Amp;"),
            ("a\0b", "a\u{fffd}b"),
            ("a\r\nb\rc&#13;", "a\nb\nc\r"),
        ];
        for (raw, decoded) in rows {
            assert_eq!(attribute_value(raw), decoded, "{raw:?}");
        }
    }

    #[test]
    fn text_decodes_without_the_attribute_exception() {
        assert_eq!(text("&copy=1 &notit; &amp;amp;"), "\u{a9}=1 \u{ac}it; &amp;");
    }
}
