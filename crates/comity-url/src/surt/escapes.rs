//! Unescaping until nothing is left to unescape, then escaping once.

use std::fmt::Write;

use crate::canonical::escape;

/// Unescapes `text` until it holds no valid escape: `%25%32%35` becomes `%`.
///
/// One pass over a stack. Escapes do not overlap, so the order in which they are resolved does not matter
/// and this equals unescaping the whole text again and again, which would be quadratic for `%25252525…`.
pub(super) fn unescaped(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        out.push(byte);
        while let Some(value) = out.len().checked_sub(3).and_then(|at| escape(out.get(at..)?)) {
            out.truncate(out.len() - 3);
            out.push(value);
        }
    }
    out
}

/// Escapes what the `surt` package escapes, everything but graphic ASCII, `#` and `%`, in lower-case hex,
/// and lowers the case of the rest.
pub(super) fn escaped_lower(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_graphic() && !matches!(byte, b'#' | b'%') {
            out.push(char::from(byte.to_ascii_lowercase()));
        } else {
            push_escape(&mut out, byte);
        }
    }
    out
}

/// `text` with blanks and controls escaped, all else as it is.
pub(super) fn without_blanks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character <= ' ' || character == '\u{7f}' {
            push_escape(&mut out, character as u8);
        } else {
            out.push(character);
        }
    }
    out
}

fn push_escape(out: &mut String, byte: u8) {
    // Writing to a String cannot fail.
    let _ = write!(out, "%{byte:02x}");
}
