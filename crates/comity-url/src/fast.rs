//! The common shapes of references, resolved without the parser of the `url` crate.
//!
//! Each function answers `None` for whatever it is not sure of, and the caller asks the `url` crate. What they take
//! they resolve as that crate does: `tests/properties.rs` holds them against it.

use std::net::Ipv4Addr;

use crate::{CrawlUrl, MAX_CRAWL_URL_BYTES, MAX_HOST_BYTES, Origin, Scheme};

/// Path, query, or both: graphic ASCII that the URL standard leaves as it is, without dot segments.
#[derive(Clone, Copy)]
struct Target {
    /// Bytes up to the fragment.
    len: usize,
    /// Bytes of the path.
    path: usize,
}

/// Resolves `reference` against `base`. `text` is room to work in; `neighbour` is an origin that may come again.
pub(crate) fn join(
    base: &CrawlUrl,
    reference: &str,
    text: &mut String,
    neighbour: &mut Option<Origin>,
) -> Option<CrawlUrl> {
    if reference.len() > MAX_CRAWL_URL_BYTES {
        return None;
    }
    match reference.as_bytes() {
        [] | [b'#', ..] => Some(base.clone()),
        [b'?', ..] => on_path(base, base.path(), reference, text),
        [b'/', b'/', ..] => at_authority(base.origin().scheme(), reference.get(2..)?, neighbour, base.origin()),
        [b'/', ..] => on_path(base, "", reference, text),
        [b'.', ..] => from_dots(base, reference, text),
        [first, ..] => {
            if let Some(found) = absolute(reference, neighbour, base.origin()) {
                return Some(found);
            }
            let may_be_scheme = first.is_ascii_alphabetic();
            let is_path = !may_be_scheme || !has_scheme(reference.as_bytes());
            if is_path { on_path(base, folder(base.path()), reference, text) } else { None }
        }
    }
}

/// An absolute URL of http or https. `own` is an origin that is likely.
pub(crate) fn absolute(text: &str, neighbour: &mut Option<Origin>, own: &Origin) -> Option<CrawlUrl> {
    let (scheme, rest) = split_scheme(text)?;
    at_authority(scheme, rest, neighbour, own)
}

/// An absolute URL of http or https, nothing known before.
pub(crate) fn parse(text: &str) -> Option<CrawlUrl> {
    if text.len() > MAX_CRAWL_URL_BYTES {
        return None;
    }
    let (scheme, rest) = split_scheme(text)?;
    let authority = Authority::read(scheme, rest)?;
    on_authority(authority.origin(scheme), rest.get(authority.text.len()..)?)
}

fn split_scheme(text: &str) -> Option<(Scheme, &str)> {
    let rest = text.strip_prefix("http")?;
    match rest.strip_prefix("s://") {
        Some(rest) => Some((Scheme::Https, rest)),
        None => Some((Scheme::Http, rest.strip_prefix("://")?)),
    }
}

/// `rest` is what follows the two slashes.
fn at_authority(scheme: Scheme, rest: &str, neighbour: &mut Option<Origin>, own: &Origin) -> Option<CrawlUrl> {
    for known in [Some(own), neighbour.as_ref()].into_iter().flatten() {
        if known.scheme() == scheme
            && let Some(target) = rest.strip_prefix(known.authority())
            && matches!(target.as_bytes(), [] | [b'/' | b'?' | b'#', ..])
        {
            return on_authority(known.clone(), target);
        }
    }
    let authority = Authority::read(scheme, rest)?;
    let origin = authority.origin(scheme);
    *neighbour = Some(origin.clone());
    on_authority(origin, rest.get(authority.text.len()..)?)
}

/// `target` begins with `/`, `?` or `#`, or is empty.
fn on_authority(origin: Origin, target: &str) -> Option<CrawlUrl> {
    let found = Target::read(target.as_bytes())?;
    let slash = if found.path == 0 { "/" } else { "" };
    let start = origin.as_str();
    let mut text = String::with_capacity(start.len() + slash.len() + found.len);
    text.push_str(start);
    text.push_str(slash);
    text.push_str(target.get(..found.len)?);
    let path_end = start.len() + slash.len() + found.path;
    (text.len() <= MAX_CRAWL_URL_BYTES).then(|| CrawlUrl::of_text(text, path_end, origin))
}

/// `reference` behind `path` of the base, which is empty or ends in a whole segment.
fn on_path(base: &CrawlUrl, path: &str, reference: &str, text: &mut String) -> Option<CrawlUrl> {
    let found = Target::read(reference.as_bytes())?;
    let start = base.origin().as_str();
    text.clear();
    text.push_str(start);
    text.push_str(path);
    text.push_str(reference.get(..found.len)?);
    let path_end = start.len() + path.len() + found.path;
    (text.len() <= MAX_CRAWL_URL_BYTES).then(|| CrawlUrl::of_text(text.as_str(), path_end, base.origin().clone()))
}

/// `./x` and `../x`, also repeated.
fn from_dots(base: &CrawlUrl, reference: &str, text: &mut String) -> Option<CrawlUrl> {
    let mut path = folder(base.path());
    // How an empty segment counts when it is left again is better asked of the parser.
    if path.contains("//") {
        return None;
    }
    let mut rest = reference;
    loop {
        if let Some(behind) = rest.strip_prefix("../") {
            path = folder(path.strip_suffix('/')?);
            path = if path.is_empty() { "/" } else { path };
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix("./") {
            rest = behind;
        } else {
            break;
        }
    }
    if rest.starts_with('/') { None } else { on_path(base, path, rest, text) }
}

/// A path up to its last slash.
fn folder(path: &str) -> &str {
    path.rfind('/').and_then(|slash| path.get(..=slash)).unwrap_or("")
}

/// Whether a `:` stands before whatever would end a first segment. What begins so may be a scheme.
fn has_scheme(text: &[u8]) -> bool {
    let end = text.iter().find(|byte| matches!(byte, b':' | b'/' | b'?' | b'#' | b'\\'));
    end == Some(&b':')
}

const PATH: u8 = 1;
const QUERY: u8 = 2;
const HOST: u8 = 4;

/// What may stand where, unchanged. Source: the URL standard, "path percent-encode set" and "special-query
/// percent-encode set", without what `http::Uri` refuses.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = b'!';
    while byte <= b'~' {
        if !matches!(byte, b'"' | b'#' | b'<' | b'>' | b'?' | b'`' | b'{' | b'}' | b'\\') {
            classes[byte as usize] |= PATH;
        }
        if !matches!(byte, b'"' | b'#' | b'<' | b'>' | b'\'') {
            classes[byte as usize] |= QUERY;
        }
        if byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_' || byte == b'.' {
            classes[byte as usize] |= HOST;
        }
        byte += 1;
    }
    classes
};

fn is(byte: u8, class: u8) -> bool {
    CLASSES[usize::from(byte)] & class != 0
}

impl Target {
    /// `bytes` start at the start of a segment, or with a slash.
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut in_segment = false;
        let mut place = 0;
        while let Some(byte) = bytes.get(place).copied() {
            if !is(byte, PATH) {
                break;
            }
            if !in_segment && is_dots(bytes.get(place..)?) {
                return None;
            }
            in_segment = byte != b'/';
            place += 1;
        }
        let path = place;
        match bytes.get(place) {
            None | Some(b'#') => return Some(Self { len: path, path }),
            Some(b'?') => {}
            Some(_) => return None,
        }
        let query = bytes.get(place + 1..)?;
        let len = query.iter().position(|byte| !is(*byte, QUERY)).unwrap_or(query.len());
        let ended = matches!(query.get(len), None | Some(b'#'));
        ended.then_some(Self { len: path + 1 + len, path })
    }
}

/// Whether a segment may be a dot segment, of dots or of their escapes.
fn is_dots(segment: &[u8]) -> bool {
    match segment {
        [b'.', rest @ ..] => matches!(rest, [] | [b'.' | b'/' | b'%' | b'?' | b'#', ..]),
        [b'%', b'2', b'e' | b'E', ..] => true,
        _ => false,
    }
}

/// Host and port as they stand in a crawl URL.
struct Authority<'a> {
    text: &'a str,
    port: Option<u16>,
    address: Option<Ipv4Addr>,
}

impl<'a> Authority<'a> {
    /// Names, the last label of which begins with a letter, so that it is no number, and no label is an A-label, which
    /// may be a false one; and IPv4 addresses as they are serialised: four decimal numbers without zeros before them.
    fn read(scheme: Scheme, text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let len = bytes.iter().position(|byte| !is(*byte, HOST)).unwrap_or(bytes.len());
        let host = text.get(..len)?;
        let address = host.parse().ok();
        if len == 0 || len > MAX_HOST_BYTES || (address.is_none() && !are_plain_labels(host)) {
            return None;
        }
        match bytes.get(len) {
            None | Some(b'/' | b'?' | b'#') => Some(Self { text: host, port: None, address }),
            Some(b':') => {
                let digits = bytes.get(len + 1..)?.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
                let end = len + 1 + digits;
                let port = text.get(len + 1..end)?;
                let is_written_so = !port.starts_with('0') && matches!(bytes.get(end), None | Some(b'/' | b'?' | b'#'));
                let port: u16 = port.parse().ok()?;
                let kept = is_written_so && port != scheme.default_port();
                kept.then_some(Self { text: text.get(..end)?, port: Some(port), address })
            }
            Some(_) => None,
        }
    }

    fn origin(&self, scheme: Scheme) -> Origin {
        Origin::of_authority(scheme, self.text, self.port, self.address)
    }
}

fn are_plain_labels(host: &str) -> bool {
    let mut last = "";
    for label in host.split('.') {
        if label.is_empty() || label.starts_with("xn--") {
            return false;
        }
        last = label;
    }
    last.starts_with(|c: char| c.is_ascii_alphabetic())
}
