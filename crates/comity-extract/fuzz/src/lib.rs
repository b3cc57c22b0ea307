//! Laws that hold for any bytes: run by the fuzzer, and on the seeds by a plain test.

#![allow(clippy::unwrap_used, reason = "a law that fails panics, which is the finding")]

// As a plain test they run apart (tests/sitemaps/seeds.rs).
#[cfg(not(test))]
mod sitemaps;

use comity_extract::{LinkTag, Page, PageLimits, PageReader};
use comity_url::{BaseUrl, CrawlUrl, KeyHasher, UrlError, canonical, looks_suspicious};
use url::{Position, Url};

#[cfg(not(test))]
pub use sitemaps::{feed, sitemap};

const PAGE: &str = "http://h.test/a/b/c?d";

fn page(content_type: Option<&str>, limits: PageLimits, chunks: &mut dyn Iterator<Item = &[u8]>) -> Page {
    let mut reader = PageReader::new(&CrawlUrl::parse(PAGE).unwrap(), content_type, limits);
    chunks.for_each(|chunk| reader.push(chunk));
    reader.finish()
}

/// Where the bytes are cut changes nothing, and what is found is bounded and stands for itself.
pub fn html(bytes: &[u8]) {
    let mut small = PageLimits::default();
    (small.links, small.memory, small.bytes) = (3, 0, 2000);
    for content_type in [None, Some("text/html"), Some("text/html;charset=utf-8"), Some("text/html;charset=shift_jis")]
    {
        for limits in [PageLimits::default(), small] {
            let whole = page(content_type, limits, &mut std::iter::once(bytes));
            for len in [1, 2, 7, 64, 1021] {
                assert_eq!(page(content_type, limits, &mut bytes.chunks(len)), whole, "in chunks of {len}");
            }
            assert!(whole.links.len() <= limits.links.saturating_mul(2).min(bytes.len()));
            for link in &whole.links {
                assert_eq!(CrawlUrl::parse(link.url.as_str()).as_ref(), Ok(&link.url));
                assert_eq!(link.suspicious, looks_suspicious(&link.reference));
            }
        }
    }
}

/// Words that are embedded in a document: where the bytes are cut changes nothing, and what is kept is bounded.
pub fn embedded(bytes: &[u8]) {
    for content_type in ["application/pdf", "application/epub+zip"] {
        let of = |len: usize| page(Some(content_type), PageLimits::default(), &mut bytes.chunks(len)).head.embedded;
        let whole = of(bytes.len().max(1));
        for len in [1, 7, 64, 1021] {
            assert_eq!(of(len), whole, "in chunks of {len}");
        }
        for values in [&whole.tdm_reservation, &whole.tdm_policy, &whole.data_mining] {
            assert!(values.len() <= 16 && values.iter().all(|value| value.len() <= 2048 && !value.is_empty()));
        }
    }
}

/// A value within quotes, as it stands in a page; `None` for what a page cannot carry unaltered.
fn attribute(bytes: &[u8]) -> Option<(&str, String)> {
    let value = std::str::from_utf8(bytes).ok().filter(|value| !value.contains(['\0', '\r']))?;
    Some((value, value.replace('&', "&amp;").replace('"', "&quot;")))
}

fn links(html: &str) -> Vec<comity_extract::Link> {
    page(Some("text/html;charset=utf-8"), PageLimits::default(), &mut std::iter::once(html.as_bytes())).links
}

/// The candidates of a `srcset` are those of the standard's steps, taken one character at a time.
pub fn srcset(bytes: &[u8]) {
    let Some((value, escaped)) = attribute(bytes) else { return };
    let base = CrawlUrl::parse(PAGE).unwrap();
    let wanted: Vec<_> = candidates(value).iter().filter_map(|candidate| base.join(candidate).ok()).collect();
    let found: Vec<_> = links(&format!("<img srcset=\"{escaped}\">")).into_iter().map(|link| link.url).collect();
    assert_eq!(found, wanted, "{value:?}");
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

/// Source: the HTML standard, "parse a srcset attribute".
fn candidates(value: &str) -> Vec<String> {
    let mut urls = Vec::new();
    let mut chars = value.chars().peekable();
    loop {
        while chars.next_if(|c| is_space(*c) || *c == ',').is_some() {}
        let mut url = String::new();
        while let Some(c) = chars.next_if(|c| !is_space(*c)) {
            url.push(c);
        }
        if url.is_empty() {
            return urls;
        }
        let ends = url.ends_with(',');
        urls.push(url.trim_end_matches(',').to_owned());
        let mut parentheses = false;
        while !ends && let Some(c) = chars.next() {
            match c {
                '(' => parentheses = true,
                ')' => parentheses = false,
                ',' if !parentheses => break,
                _ => {}
            }
        }
    }
}

/// A refresh goes where the standard's steps say, taken one character at a time.
pub fn refresh(bytes: &[u8]) {
    let Some((value, escaped)) = attribute(bytes) else { return };
    let base = CrawlUrl::parse(PAGE).unwrap();
    let wanted = refreshed(value).filter(|(_, reference)| !reference.is_empty());
    let wanted = wanted.and_then(|(delay, reference)| Some((delay, base.join(&reference).ok()?)));
    let found = links(&format!("<meta http-equiv=refresh content=\"{escaped}\">")).into_iter().next();
    let found = found.map(|link| match link.tag {
        LinkTag::Meta { delay } => (delay, link.url),
        other => panic!("{other:?}"),
    });
    assert_eq!(found, wanted, "{value:?}");
}

/// Source: the HTML standard, "shared declarative refresh steps".
fn refreshed(value: &str) -> Option<(u32, String)> {
    let chars: Vec<char> = value.chars().collect();
    let at = |place: usize| chars.get(place).copied();
    let skip = |mut place: usize, skipped: fn(char) -> bool| {
        while at(place).is_some_and(skipped) {
            place += 1;
        }
        place
    };
    let start = skip(0, is_space);
    let end = skip(start, |c| c.is_ascii_digit());
    if start == end && at(end) != Some('.') {
        return None;
    }
    let digits: String = chars[start..end].iter().collect();
    let delay = if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u32::MAX) };
    let mut place = skip(end, |c| c.is_ascii_digit() || c == '.');
    match at(place) {
        None => return Some((delay, String::new())),
        Some(c) if c == ';' || c == ',' || is_space(c) => {}
        Some(_) => return None,
    }
    place = skip(place, is_space);
    if matches!(at(place), Some(';' | ',')) {
        place += 1;
    }
    place = skip(place, is_space);
    let whole = place;
    let is = |place: usize, letter: char| at(place).is_some_and(|c| c.eq_ignore_ascii_case(&letter));
    if is(place, 'u') {
        let equals = skip(place + 3, is_space);
        if !(is(place + 1, 'r') && is(place + 2, 'l') && at(equals) == Some('=')) {
            return Some((delay, chars[whole..].iter().collect()));
        }
        place = skip(equals + 1, is_space);
    }
    let quote = at(place).filter(|c| matches!(c, '"' | '\''));
    let start = if quote.is_some() { place + 1 } else { place };
    let reference = chars.get(start..).unwrap_or_default().iter().take_while(|c| Some(**c) != quote);
    Some((delay, reference.collect()))
}

/// A reference is read as the `url` crate reads it, with what the crawl form drops dropped; the base is the first line.
pub fn url(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (base, reference) = text.split_once('\n').unwrap_or((PAGE, &text));
    alike(CrawlUrl::parse(reference), Url::parse(reference).ok(), reference);
    let Ok(base) = CrawlUrl::parse(base) else { return };
    let joined = Url::parse(base.as_str()).unwrap().join(&two_slashes(reference)).ok();
    alike(base.join(reference), joined.clone(), reference);
    let mut shared = BaseUrl::new(base);
    for _ in 0..2 {
        alike(shared.join(reference), joined.clone(), reference);
    }
}

fn alike(found: Result<CrawlUrl, UrlError>, whole: Option<Url>, text: &str) {
    let wanted = whole.clone().filter(|url| matches!(url.scheme(), "http" | "https")).and_then(crawl_form);
    match found {
        Ok(found) => {
            let wanted = wanted.unwrap();
            assert_eq!(found.as_str(), wanted.as_str(), "{text:?}");
            assert_eq!(found.request_target(), &wanted[Position::BeforePath..]);
            assert_eq!((found.path(), found.query()), (wanted.path(), wanted.query()));
            assert_eq!(found.origin().as_str(), &wanted[..Position::AfterPort]);
            assert_eq!(Some(found.origin().port()), wanted.port_or_known_default());
            let form = CrawlUrl::parse(&canonical(&found)).unwrap();
            let hasher = KeyHasher::new([7; 16]);
            assert_eq!(hasher.key(&form), hasher.key(&found));
        }
        // Ours alone: names that end in an empty label, and what http cannot carry or is too long.
        Err(UrlError::Syntax(_) | UrlError::Scheme(_)) => {
            let host = whole.as_ref().and_then(Url::host_str).unwrap_or_default();
            let is_ours = host.is_empty() || host == "." || host.ends_with("..") || host.len() > 253;
            assert!(wanted.is_none() || is_ours, "{text:?}");
        }
        Err(_) => {}
    }
}

fn crawl_form(mut url: Url) -> Option<Url> {
    url.set_fragment(None);
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    let dotless = url.host_str().and_then(|host| host.strip_suffix('.')).map(str::to_owned);
    if let Some(host) = dotless {
        url.set_host(Some(&host)).ok()?;
    }
    Some(url)
}

/// `///h` is `//h` by the URL standard; the `url` crate has it otherwise.
fn two_slashes(reference: &str) -> String {
    let trimmed = reference.trim_start_matches(|c: char| c <= ' ');
    let slashes = trimmed.len() - trimmed.trim_start_matches(['/', '\\']).len();
    if slashes > 2 && trimmed.starts_with("//") { format!("//{}", &trimmed[slashes..]) } else { reference.to_owned() }
}
