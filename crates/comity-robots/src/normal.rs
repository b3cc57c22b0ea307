//! Escaping and the normal form of paths.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::Dialect;
use crate::bytes::{any, equals, non_ascii};

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

#[inline]
fn normal_form(raw: &[u8], decode: bool) -> Cow<'_, [u8]> {
    if is_plain(raw) { Cow::Borrowed(raw) } else { Cow::Owned(escaped(raw, decode)) }
}

/// Whether nothing needs escaping, raising or decoding: ASCII without `%`.
#[inline]
fn is_plain(bytes: &[u8]) -> bool {
    !any(bytes, |word| equals(word, b'%') | non_ascii(word))
}

/// Targets whose rewritten form may have up to so many bytes cost no allocation: three bytes for one, and a slash.
const ON_STACK: usize = 8192;

/// Nearly all targets that need rewriting; less to clear.
const SHORT: usize = 512;

/// Lends `target` in the form in which it is compared, with `/` in front if it has none.
#[inline]
pub(crate) fn with_target<R>(target: &[u8], dialect: Dialect, ask: impl FnOnce(&[u8]) -> R) -> R {
    let is_rooted = matches!(target, [b'/', ..]);
    if is_rooted && (dialect == Dialect::Google || is_plain(target)) {
        return ask(target);
    }
    with_rewritten(target, dialect == Dialect::Standard, ask)
}

#[cold]
fn with_rewritten<R>(target: &[u8], escapes: bool, ask: impl FnOnce(&[u8]) -> R) -> R {
    let room = target.len().saturating_mul(3).saturating_add(1);
    if room <= SHORT {
        ask(rewrite(target, escapes, &mut [0; SHORT]))
    } else if room <= ON_STACK {
        ask(rewrite(target, escapes, &mut [0; ON_STACK]))
    } else {
        ask(rewrite(target, escapes, &mut alloc::vec![0; room]))
    }
}

/// Writes the form into `room`, which is long enough.
fn rewrite<'r>(target: &[u8], escapes: bool, room: &'r mut [u8]) -> &'r [u8] {
    let mut length = 0;
    let mut push = |bytes: &[u8]| {
        let end = length + bytes.len();
        if let Some(place) = room.get_mut(length..end) {
            place.copy_from_slice(bytes);
            length = end;
        }
    };
    if !matches!(target, [b'/', ..]) {
        push(b"/");
    }
    if escapes {
        escape(target, true, push);
    } else {
        push(target);
    }
    room.get(..length).unwrap_or_default()
}

#[cold]
fn escaped(raw: &[u8], decode: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len() + 8);
    escape(raw, decode, |bytes| out.extend_from_slice(bytes));
    out
}

/// Gives the form piece by piece.
fn escape(raw: &[u8], decode: bool, mut push: impl FnMut(&[u8])) {
    let mut rest = raw;
    loop {
        let plain = rest.iter().position(|byte| *byte == b'%' || !byte.is_ascii()).unwrap_or(rest.len());
        let (before, special) = rest.split_at(plain);
        push(before);
        rest = match special {
            [b'%', high, low, tail @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                push_octet(&mut push, nibble(*high) << 4 | nibble(*low), decode);
                tail
            }
            [b'%', tail @ ..] => {
                push(b"%");
                tail
            }
            [byte, tail @ ..] => {
                push_octet(&mut push, *byte, false);
                tail
            }
            [] => return,
        }
    }
}

fn push_octet(push: &mut impl FnMut(&[u8]), octet: u8, decode: bool) {
    if decode && is_unreserved(octet) {
        push(&[octet]);
    } else {
        let digit = |value: u8| HEX.get(usize::from(value)).copied().unwrap_or_default();
        push(&[b'%', digit(octet >> 4), digit(octet & 0x0F)]);
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
            (b"?a=b c", b"?a=b c", b"?a=b c"),
        ];
        for (raw, google, standard) in rows {
            assert_eq!(rule_form(raw, Dialect::Google).as_ref(), *google, "{}", raw.escape_ascii());
            assert_eq!(rule_form(raw, Dialect::Standard).as_ref(), *standard, "{}", raw.escape_ascii());
            assert_eq!(target_form(raw, Dialect::Google).as_ref(), *raw, "{}", raw.escape_ascii());
            assert_eq!(target_form(raw, Dialect::Standard).as_ref(), *standard, "{}", raw.escape_ascii());
            for (dialect, wanted) in [(Dialect::Google, raw), (Dialect::Standard, standard)] {
                // Also a target that needs more room.
                for copies in [1, 100, 1000] {
                    let target = raw.repeat(copies);
                    let slash: &[u8] = if raw.starts_with(b"/") { b"" } else { b"/" };
                    let wanted = [slash, &wanted.repeat(copies)].concat();
                    with_target(&target, dialect, |form| assert!(form == wanted, "{}", raw.escape_ascii()));
                }
            }
        }
    }
}
