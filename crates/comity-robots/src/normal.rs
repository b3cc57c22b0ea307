//! Escaping and the normal form of paths.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::Dialect;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// A rule as it is compared and ranked: bytes from 0x80 on escaped, hex digits raised (Google's parser), in the standard
/// dialect escaped unreserved characters decoded as well (RFC 9309 §2.2.2). Nothing else changes.
pub(crate) fn rule_form(raw: &[u8], dialect: Dialect) -> Cow<'_, [u8]> {
    normal_form(raw, dialect == Dialect::Standard)
}

/// A target as it is compared: as written in the google dialect, in normal form in the standard one.
pub(crate) fn target_form(raw: &[u8], dialect: Dialect) -> Cow<'_, [u8]> {
    match dialect {
        Dialect::Google => Cow::Borrowed(raw),
        Dialect::Standard => normal_form(raw, true),
    }
}

fn normal_form(raw: &[u8], decode: bool) -> Cow<'_, [u8]> {
    if raw.is_ascii() && memchr::memchr(b'%', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len() + 8);
    let mut rest = raw;
    loop {
        match rest {
            [b'%', high, low, tail @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                push_octet(&mut out, nibble(*high) << 4 | nibble(*low), decode);
                rest = tail;
            }
            [byte, tail @ ..] if !byte.is_ascii() => {
                push_octet(&mut out, *byte, false);
                rest = tail;
            }
            [byte, tail @ ..] => {
                out.push(*byte);
                rest = tail;
            }
            [] => return Cow::Owned(out),
        }
    }
}

fn push_octet(out: &mut Vec<u8>, octet: u8, decode: bool) {
    if decode && is_unreserved(octet) {
        out.push(octet);
    } else {
        let digit = |value: u8| HEX.get(usize::from(value)).copied().unwrap_or_default();
        out.extend([b'%', digit(octet >> 4), digit(octet & 0x0F)]);
    }
}

/// RFC 3986 §2.3.
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// The value of a hex digit; the caller has checked that it is one.
const fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20).wrapping_sub(b'a' - 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let rows: &[(&[u8], &[u8], &[u8])] = &[
            (b"/a b\"{<|", b"/a b\"{<|", b"/a b\"{<|"),
            (b"/%c3%a9", b"/%C3%A9", b"/%C3%A9"),
            ("/é".as_bytes(), b"/%C3%A9", b"/%C3%A9"),
            (b"/\xE9", b"/%E9", b"/%E9"),
            (b"/%7euser", b"/%7Euser", b"/~user"),
            (b"/%2f%3F%2a%24", b"/%2F%3F%2A%24", b"/%2F%3F%2A%24"),
            (b"/%2561", b"/%2561", b"/%2561"),
            (b"/%%361", b"/%%361", b"/%61"),
            (b"/%g1%4", b"/%g1%4", b"/%g1%4"),
            (b"%", b"%", b"%"),
        ];
        for (raw, google, standard) in rows {
            assert_eq!(rule_form(raw, Dialect::Google).as_ref(), *google, "{}", raw.escape_ascii());
            assert_eq!(rule_form(raw, Dialect::Standard).as_ref(), *standard, "{}", raw.escape_ascii());
            assert_eq!(target_form(raw, Dialect::Google).as_ref(), *raw, "{}", raw.escape_ascii());
            assert_eq!(target_form(raw, Dialect::Standard).as_ref(), *standard, "{}", raw.escape_ascii());
        }
    }
}
