//! The path part of a SURT.

use super::escapes::{escaped_lower, unescaped};

/// The letters and digits of a session id in a path of ASP.NET.
const ID_LENGTH: usize = 24;

/// Unescaped, dot segments and double slashes resolved, escaped, lower case, without session ids of
/// ASP.NET and without a trailing slash.
pub(super) fn path_key(path: &str) -> String {
    finished(escaped_lower(&resolved(&unescaped(path))))
}

/// As [`path_key`], for what follows the scheme of a URI without a host: it has no segments to resolve.
pub(super) fn opaque_path_key(path: &str) -> String {
    finished(escaped_lower(&unescaped(path)))
}

fn finished(path: String) -> String {
    let path = without_session(path, parenthesised_ids);
    let mut path = without_session(path, bare_id);
    if path.len() > 1 && path.ends_with('/') {
        path.pop();
    }
    path
}

/// Resolves dot segments, then leaves empty segments out, but for an empty last one. A `..` with nothing
/// left to go up from stays.
fn resolved(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&byte| byte == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => drop(kept.pop()),
            _ => kept.push(segment),
        }
    }
    let last = kept.pop().unwrap_or_default();
    let mut out = vec![b'/'];
    for segment in kept.iter().filter(|segment| !segment.is_empty()) {
        out.extend_from_slice(segment);
        out.push(b'/');
    }
    out.extend_from_slice(last);
    out
}

/// Cuts the last segment that `session` knows and behind which a name ending in `.aspx` follows:
/// `/(s(0123456789abcdefghijklmn))/page.aspx` becomes `/page.aspx`.
///
/// `session` gets the text behind a slash and gives the length of the session segment with its slash.
/// Between the segment and `.aspx` there stands at least one byte and no `?`, so both lie in one piece
/// between question marks, and the search is linear.
fn without_session(mut path: String, session: fn(&str) -> Option<usize>) -> String {
    let mut piece_end = path.len();
    for piece in path.rsplit('?') {
        let piece_start = piece_end - piece.len();
        if let Some((from, len)) = last_session(piece, session) {
            let from = piece_start + from;
            path.replace_range(from..from + len, "");
            return path;
        }
        piece_end = piece_start.saturating_sub(1);
    }
    path
}

/// Where the last session segment before a `.aspx` begins in `piece`, and its length.
fn last_session(piece: &str, session: fn(&str) -> Option<usize>) -> Option<(usize, usize)> {
    let aspx = piece.rfind(".aspx")?;
    let slashes = piece.rmatch_indices('/').map(|(at, _)| at + 1);
    slashes.filter_map(|from| Some((from, session(piece.get(from..)?)?))).find(|&(from, len)| from + len < aspx)
}

/// `(s(…24…)f(…24…))/`
fn parenthesised_ids(text: &str) -> Option<usize> {
    let mut rest = text.strip_prefix('(')?;
    let mut ids = 0;
    while let Some(tail) = rest.strip_prefix(|c: char| c.is_ascii_lowercase()).and_then(after_bare_id) {
        rest = tail;
        ids += 1;
    }
    let rest = rest.strip_prefix(")/").filter(|_| ids > 0)?;
    Some(text.len() - rest.len())
}

/// `(…24…)/`
fn bare_id(text: &str) -> Option<usize> {
    let rest = after_bare_id(text)?.strip_prefix('/')?;
    Some(text.len() - rest.len())
}

/// What follows 24 letters and digits in parentheses. The text is in lower case already.
fn after_bare_id(text: &str) -> Option<&str> {
    let (id, rest) = text.strip_prefix('(')?.split_at_checked(ID_LENGTH)?;
    rest.strip_prefix(')').filter(|_| id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}
