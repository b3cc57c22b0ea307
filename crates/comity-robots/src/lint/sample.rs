//! Paths that a pattern matches, and patterns that swallow others.

use alloc::string::String;
use alloc::vec::Vec;

/// A path that `pattern` matches: each `*` gives a letter, a final `$` nothing. In the pattern's own form.
pub(super) fn sample(pattern: &[u8]) -> Vec<u8> {
    let (pattern, _) = split(pattern);
    let mut path = Vec::with_capacity(pattern.len() + 2);
    if pattern.first() == Some(&b'*') {
        path.push(b'/');
    }
    path.extend(pattern.iter().map(|byte| if *byte == b'*' { b'x' } else { *byte }));
    path
}

/// A path as text; patterns are ASCII in the form in which they are compared.
pub(super) fn text(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// Whether every path that `inner` matches is matched by `outer` too. Never says so wrongly.
///
/// `inner` is read as a word in which a `*` can only be swallowed by a `*` of `outer`; an open end is one more `*`.
pub(super) fn covers(outer: &[u8], inner: &[u8]) -> bool {
    let (outer, inner) = (closed(outer), closed(inner));
    let (mut at, mut place, mut retry) = (0, 0, None);
    while let Some(byte) = inner.get(place) {
        match outer.get(at) {
            Some(b'*') => {
                retry = Some((at, place));
                at += 1;
            }
            Some(literal) if literal == byte => (at, place) = (at + 1, place + 1),
            _ => {
                let Some((star, from)) = retry else { return false };
                retry = Some((star, from + 1));
                (at, place) = (star + 1, from + 1);
            }
        }
    }
    outer.get(at..).unwrap_or_default().iter().all(|byte| *byte == b'*')
}

/// A pattern that has to match whole: an open one with a `*` at its end.
fn closed(pattern: &[u8]) -> Vec<u8> {
    let (pattern, anchored) = split(pattern);
    let mut pattern = pattern.to_vec();
    if !anchored {
        pattern.push(b'*');
    }
    pattern
}

/// A pattern without its final `$`, and whether it had one.
pub(super) const fn split(pattern: &[u8]) -> (&[u8], bool) {
    match pattern {
        [rest @ .., b'$'] => (rest, true),
        _ => (pattern, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples() {
        for (pattern, wanted) in [("/a", "/a"), ("/*.pdf$", "/x.pdf"), ("*/x", "/x/x"), ("/$", "/")] {
            assert_eq!(text(&sample(pattern.as_bytes())), wanted, "{pattern}");
        }
    }

    #[test]
    fn what_swallows_what() {
        let rows = [
            ("/a*", "/a", true),
            ("/a", "/a*", true),
            ("/a", "/ab", true),
            ("/ab", "/a", false),
            ("/a$", "/a", false),
            ("/a", "/a$", true),
            ("/*", "/", true),
            ("/*b", "/a", false),
            ("/*.php", "/*.php$", true),
            ("/*.php$", "/*.php", false),
            ("/*?", "/x?", true),
            ("/*b*c", "/ab*c*", true),
            ("/*/a", "/b*", false),
            ("*$", "/x", true),
        ];
        for (outer, inner, wanted) in rows {
            assert_eq!(covers(outer.as_bytes(), inner.as_bytes()), wanted, "{outer} over {inner}");
        }
    }
}
