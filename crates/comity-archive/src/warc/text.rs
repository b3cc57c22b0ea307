use std::borrow::Cow;
use std::fmt::Write as _;

use memchr::memmem;

/// A value on one line of `application/warc-fields`: controls are written as escapes, a backslash is doubled.
///
/// Nothing from outside can end a line or start a field (archive reference §10: "escape CR/LF, fold nothing"). Other
/// characters stay as they are, as UTF-8.
pub(crate) fn one_line(value: &str) -> Cow<'_, str> {
    if is_plain(value) && !value.contains('\\') {
        return Cow::Borrowed(value);
    }
    let mut line = String::with_capacity(value.len() + 16);
    for c in value.chars() {
        match c {
            '\\' => line.push_str("\\\\"),
            '\r' => line.push_str("\\r"),
            '\n' => line.push_str("\\n"),
            '\t' => line.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                let _ = write!(line, "\\u{{{:x}}}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    Cow::Owned(line)
}

/// True for ASCII without controls: nearly every value, which needs no look at each character.
pub(crate) fn is_plain(value: &str) -> bool {
    // Without an early end, so that the compiler takes many bytes at a time: values are short.
    value.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~'))
}

/// A crawl URL as RFC 3986 writes it: what the grammar forbids after the authority is percent-encoded.
///
/// A WHATWG serialisation still holds `|`, `^`, `` ` ``, `[`, `]`, `{`, `}`, `"`, `\`, bare `%`; the request line keeps
/// these, `WARC-Target-URI` may not (archive reference §1).
pub(crate) fn target_uri(url: &str) -> String {
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    let rest_at =
        url.get(after_scheme..).and_then(|rest| rest.find(['/', '?', '#'])).map_or(url.len(), |n| after_scheme + n);
    let (head, rest) = url.split_at(rest_at);
    let mut uri = String::with_capacity(url.len() + 16);
    uri.extend(head.chars().map(|c| if c.is_ascii_graphic() { c } else { '_' }));
    let bytes = rest.as_bytes();
    for (at, byte) in bytes.iter().copied().enumerate() {
        if is_uri_byte(byte) || (byte == b'%' && is_escape(bytes, at)) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// How many bytes of `piece` belong to a head that ends with an empty line, of which `held` came before; `None` where it does
/// not end in this piece.
pub(crate) fn end_of_head(held: &[u8], piece: &[u8]) -> Option<usize> {
    const END: &[u8] = b"\r\n\r\n";
    let begun = held.get(held.len().saturating_sub(END.len() - 1)..).unwrap_or_default();
    if !begun.is_empty() {
        let both: Vec<u8> = begun.iter().chain(piece.iter().take(END.len() - 1)).copied().collect();
        if let Some(at) = memmem::find(&both, END) {
            return Some(at + END.len() - begun.len());
        }
    }
    memmem::find(piece, END).map(|at| at + END.len())
}

/// RFC 3986 §3.3 and §3.4: pchar, `/` and `?`, without the `%` of an escape.
const fn is_uri_byte(byte: u8) -> bool {
    matches!(byte,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~'
        | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' | b'/' | b'?')
}

fn is_escape(bytes: &[u8], at: usize) -> bool {
    bytes.get(at + 1..at + 3).is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_on_its_line() {
        let rows = [
            ("plain ü", "plain ü"),
            ("a\r\nWARC-Type: response", "a\\r\\nWARC-Type: response"),
            ("a\\n", "a\\\\n"),
            ("\0\u{85}\u{2028}\t", "\\u{0}\\u{85}\\u{2028}\\t"),
        ];
        for (value, line) in rows {
            assert_eq!(one_line(value), line, "{value:?}");
        }
    }

    #[test]
    fn a_head_ends_at_its_first_empty_line_wherever_pieces_end() {
        for text in ["a: b\r\n\r\nbody\r\n\r\n", "\r\n\r\n\r\n", "\r\r\n\r\nx", "a\n\nb\r\n\r"] {
            let end = text.find("\r\n\r\n").map(|at| at + 4);
            for size in 1..text.len() {
                let (mut held, mut found) = (Vec::new(), None);
                for piece in text.as_bytes().chunks(size) {
                    found = end_of_head(&held, piece).map(|of_piece| held.len() + of_piece);
                    if found.is_some() {
                        break;
                    }
                    held.extend_from_slice(piece);
                }
                assert_eq!(found, end, "{text:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn target_uris_follow_rfc_3986() {
        let rows = [
            ("http://a.test/", "http://a.test/"),
            ("http://[::1]:8080/a[1]|b^c`d", "http://[::1]:8080/a%5B1%5D%7Cb%5Ec%60d"),
            ("http://a.test/%zz%4?x=%41%", "http://a.test/%25zz%254?x=%41%25"),
            ("http://a.test/?q={a}\\b\"c?d", "http://a.test/?q=%7Ba%7D%5Cb%22c?d"),
            ("http://a.test/é\r\n", "http://a.test/%C3%A9%0D%0A"),
            ("http://a.test?x=1|2", "http://a.test?x=1%7C2"),
        ];
        for (url, uri) in rows {
            assert_eq!(target_uri(url), uri, "{url:?}");
        }
    }
}
