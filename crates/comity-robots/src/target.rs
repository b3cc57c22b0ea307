//! From a URL as written to what rules are held against.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use memchr::memchr3;
use memchr::memmem;

/// Cuts path, parameters and query out of a URL, byte for byte as Google's parser does; the fragment is left out, nothing
/// is decoded or resolved. A URL without a path gives `/`.
///
/// For questions about a URL *as somebody wrote it*. A crawler that sends requests passes the target that it sends.
///
/// ```
/// # use comity_robots::request_target;
/// assert_eq!(request_target("https://example.com/a/../b?c#d").as_ref(), b"/a/../b?c");
/// assert_eq!(request_target("example.com?c").as_ref(), b"/?c");
/// assert_eq!(request_target("https://example.com").as_ref(), b"/");
/// ```
#[must_use]
pub fn request_target<U: AsRef<[u8]> + ?Sized>(url: &U) -> Cow<'_, [u8]> {
    let url = url.as_ref();
    let start = if url.starts_with(b"//") { 2 } else { 0 };
    let from = |at: usize| url.get(at..).unwrap_or_default();
    let path_from = |at: usize| memchr3(b'/', b'?', b';', from(at)).map(|place| place + at);
    let early = path_from(start);
    let scheme = memmem::find(from(start), b"://").map(|place| place + start);
    // A path, parameter or query before `://` makes `://` part of it.
    let authority = match (scheme, early) {
        (Some(scheme), Some(early)) if early > scheme => scheme + 3,
        _ => start,
    };
    let fragment = memchr::memchr(b'#', from(start)).map_or(url.len(), |place| place + start);
    match path_from(authority).and_then(|path| url.get(path..fragment)) {
        None | Some([]) => Cow::Borrowed(b"/"),
        Some(target @ [b'/', ..]) => Cow::Borrowed(target),
        Some(target) => Cow::Owned(slash_before(target)),
    }
}

/// `target` with `/` in front.
pub(crate) fn slash_before(target: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(target.len() + 1);
    out.push(b'/');
    out.extend_from_slice(target);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let rows = [
            ("", "/"),
            ("http://www.example.com", "/"),
            ("http://www.example.com/", "/"),
            ("http://www.example.com/a", "/a"),
            ("http://www.example.com/a/", "/a/"),
            ("http://www.example.com/a/b?c=http://d.e/", "/a/b?c=http://d.e/"),
            ("http://www.example.com/a/b?c=d&e=f#fragment", "/a/b?c=d&e=f"),
            ("example.com", "/"),
            ("example.com/", "/"),
            ("example.com/a", "/a"),
            ("example.com/a/b?c=d&e=f#fragment", "/a/b?c=d&e=f"),
            ("a", "/"),
            ("a/", "/"),
            ("/a", "/a"),
            ("a/b", "/b"),
            ("example.com?a", "/?a"),
            ("example.com/a;b#c", "/a;b"),
            ("//a/b/c", "/b/c"),
            ("example.com;p", "/;p"),
            ("http://e.com#/a", "/"),
            ("http://u:p@e.com:80/x", "/x"),
            ("#", "/"),
            ("//", "/"),
            ("://", "/"),
            ("/x://y", "/x://y"),
        ];
        for (url, wanted) in rows {
            assert_eq!(request_target(url).as_ref(), wanted.as_bytes(), "{url}");
        }
    }
}
