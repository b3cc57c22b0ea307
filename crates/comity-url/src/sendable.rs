//! From what the WHATWG parser gives to what may be queued, judged, sent and recorded.

use url::{Host, Position, Url};

use crate::UrlError;

/// The most bytes a [`CrawlUrl`](crate::CrawlUrl) may have, and the most a text may have that is
/// parsed into one. Source: `http::Uri` takes at most 65,534 bytes (`u16::MAX - 1`). This is the hard
/// bound; what a crawl takes is the policy bound of [`TrapLimits`](crate::TrapLimits), 2,083.
pub const MAX_CRAWL_URL_BYTES: usize = 65_534;

/// The most bytes a host may have. Source: RFC 1035 §2.3.4, 255 octets on the wire, which is 253 in
/// text without the trailing dot. The WHATWG parser sets no bound; no longer name can be resolved.
pub const MAX_HOST_BYTES: usize = 253;

/// Parses `text`, against `base` when there is one, and brings it to the form of a crawl URL.
pub(crate) fn parse(text: &str, base: Option<&Url>) -> Result<Url, UrlError> {
    bound(text.len())?;
    normal(Url::options().base_url(base).parse(text)?)
}

/// Drops fragment, user info and one trailing host dot; refuses what cannot be sent as it stands.
fn normal(mut url: Url) -> Result<Url, UrlError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlError::scheme(url.scheme()));
    }
    if url.fragment().is_some() {
        url.set_fragment(None);
    }
    drop_user_info(&mut url)?;
    drop_host_dot(&mut url)?;
    check_host_length(&url)?;
    bound(url.as_str().len())?;
    check_bytes(&url)?;
    Ok(url)
}

fn bound(len: usize) -> Result<(), UrlError> {
    let max = MAX_CRAWL_URL_BYTES;
    if len > max { Err(UrlError::Length { len, max }) } else { Ok(()) }
}

fn drop_user_info(url: &mut Url) -> Result<(), UrlError> {
    if url.username().is_empty() && url.password().is_none() {
        return Ok(());
    }
    let cleared = url.set_username("").and_then(|()| url.set_password(None));
    cleared.map_err(|()| UrlError::Syntax("the host is empty"))
}

/// `example.com.` and `example.com` are one host (design, invariant 3). A name that still ends in a
/// dot, or is empty, after one dot is off is no name at all.
fn drop_host_dot(url: &mut Url) -> Result<(), UrlError> {
    let Some(Host::Domain(name)) = url.host() else { return Ok(()) };
    let Some(name) = name.strip_suffix('.') else { return Ok(()) };
    if name.is_empty() || name.ends_with('.') {
        return Err(UrlError::Syntax("the host ends in an empty label"));
    }
    let name = name.to_owned();
    Ok(url.set_host(Some(&name))?)
}

fn check_host_length(url: &Url) -> Result<(), UrlError> {
    match url.host_str() {
        None | Some("") => Err(UrlError::Syntax("the host is empty")),
        Some(host) if host.len() > MAX_HOST_BYTES => Err(UrlError::Syntax("the host is longer than 253 bytes")),
        Some(_) => Ok(()),
    }
}

/// The rules of `http::Uri` (http 1.5, `uri/authority.rs` and `uri/path.rs`), which the property tests
/// hold against the crate itself. In the serialisation of the WHATWG parser only host bytes can break
/// them; path and query are checked all the same, so that a change of either library is a refusal.
fn check_bytes(url: &Url) -> Result<(), UrlError> {
    check_part(url, Position::BeforeHost, Position::AfterPort, host_byte)?;
    check_part(url, Position::BeforePath, Position::AfterPath, path_byte)?;
    check_part(url, Position::BeforeQuery, Position::AfterQuery, query_byte)
}

fn check_part(url: &Url, from: Position, to: Position, allowed: fn(u8) -> bool) -> Result<(), UrlError> {
    let bad = url[from..to].bytes().enumerate().find(|&(_, byte)| !allowed(byte));
    match bad {
        None => Ok(()),
        Some((offset, byte)) => Err(UrlError::Unsendable { byte, position: url[..from].len() + offset }),
    }
}

fn host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!$&'()*+,-.:;=[]_~".contains(&byte)
}

fn path_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"#<>?`".contains(&byte)
}

fn query_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"#<>".contains(&byte)
}
