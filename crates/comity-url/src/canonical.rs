//! The canonical form: what "the same page" means to the seen-set, and nothing else.

use std::borrow::Cow;

use memchr::memchr;

use crate::CrawlUrl;

/// The canonical form of `url`: the crawl URL with the case of escapes raised, escaped unreserved
/// characters (RFC 3986 §2.3: letters, digits, `-._~`) decoded and an empty query dropped.
///
/// Nothing that could change the meaning: `/x` and `/x/` stay two, the order of a query and its tracking
/// parameters stay, `%2f` becomes `%2F` and never `/`, an invalid `%` stays as it is. Idempotent.
///
/// ```
/// use comity_url::{CrawlUrl, canonical};
///
/// let url = CrawlUrl::parse("http://h/%7euser/caf%e9/a%2fb?")?;
/// assert_eq!(canonical(&url), "http://h/~user/caf%E9/a%2Fb");
/// # Ok::<(), comity_url::UrlError>(())
/// ```
#[must_use]
pub fn canonical(url: &CrawlUrl) -> String {
    canonical_form(url).into_owned()
}

/// As [`canonical`], without a copy where the crawl URL is canonical already: the common case.
pub(crate) fn canonical_form(url: &CrawlUrl) -> Cow<'_, str> {
    let text = url.as_str();
    // A serialised query of "" is a `?` at the very end; the fragment is off already.
    let text = if url.query() == Some("") { text.strip_suffix('?').unwrap_or(text) } else { text };
    normal_escapes(text)
}

/// Raises the case of valid escapes and decodes those of unreserved characters.
///
/// One limit keeps it idempotent and two different texts apart: an escaped hex digit within two bytes
/// after a stray `%` stays escaped, as `%%34%31` would turn into the escape `%41`.
pub(crate) fn normal_escapes(text: &str) -> Cow<'_, str> {
    // Most have none.
    let Some(first) = memchr(b'%', text.as_bytes()) else { return Cow::Borrowed(text) };
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    copy(&mut out, &mut rest, first);
    let mut stray = None;
    while let [byte, tail @ ..] = rest {
        match escape(rest) {
            Some(value) if is_unreserved(value) && !completes_escape(&out, stray, value) => {
                out.push(value);
                rest = rest.get(3..).unwrap_or_default();
            }
            Some(_) => {
                let start = out.len();
                copy(&mut out, &mut rest, 3);
                out.iter_mut().skip(start).for_each(u8::make_ascii_uppercase);
            }
            None => {
                if *byte == b'%' {
                    stray = Some(out.len());
                }
                out.push(*byte);
                rest = tail;
            }
        }
    }
    // Only ASCII escapes were replaced, by ASCII: what was UTF-8 still is.
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The octet that `%XX` at the start of `text` stands for; `None` when there is no valid escape.
pub(crate) fn escape(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = *text else { return None };
    Some(hex(high)? << 4 | hex(low)?)
}

fn hex(digit: u8) -> Option<u8> {
    // to_digit(16) is below 16, so the cast loses nothing.
    char::from(digit).to_digit(16).map(|value| value as u8)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Whether `value` after `out` could become part of an escape begun by the stray `%` at `stray`.
fn completes_escape(out: &[u8], stray: Option<usize>, value: u8) -> bool {
    let Some(after) = stray.and_then(|at| out.get(at + 1..)) else { return false };
    value.is_ascii_hexdigit() && after.len() < 2 && after.iter().all(u8::is_ascii_hexdigit)
}

fn copy<'a>(out: &mut Vec<u8>, rest: &mut &'a [u8], count: usize) {
    let (head, tail): (&'a [u8], &'a [u8]) = rest.split_at(count.min(rest.len()));
    out.extend_from_slice(head);
    *rest = tail;
}
