//! From references to URLs: the document's base, and its charset.

use comity_url::{BaseUrl, CrawlUrl, UrlError, looks_suspicious};
use encoding_rs::Encoding;
use url::Url;

use crate::collect::Found;
use crate::notes::bump;
use crate::{Link, Notes, query};

/// What references of a page are resolved against.
#[derive(Debug)]
pub(crate) enum Base {
    Crawl(BaseUrl),
    /// A base that is no crawl URL (`ftp://h/`, `mailto:x`): what it makes of a reference is checked anew.
    Foreign(Url),
}

impl Base {
    /// The first base element's `href`, resolved against the document; without one, or where it does not
    /// count, the document itself.
    ///
    /// Source: the HTML standard, "set the frozen base URL": no URL, `data:` and `javascript:` do not count.
    pub(crate) fn of(document: &CrawlUrl, href: Option<&str>) -> Self {
        let crawl = |url: &CrawlUrl| Self::Crawl(BaseUrl::new(url.clone()));
        let Some(href) = href else { return crawl(document) };
        if let Ok(url) = document.join(href) {
            return crawl(&url);
        }
        match Url::parse(document.as_str()).and_then(|document| document.join(href)) {
            Ok(url) if !matches!(url.scheme(), "data" | "javascript") => Self::Foreign(url),
            _ => crawl(document),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Crawl(base) => base.url().as_str(),
            Self::Foreign(url) => url.as_str(),
        }
    }

    fn join(&mut self, reference: &str) -> Result<CrawlUrl, UrlError> {
        match self {
            Self::Crawl(base) => base.join(reference),
            Self::Foreign(url) => CrawlUrl::parse(url.join(reference)?.as_str()),
        }
    }
}

/// Resolves what was found, as long as the URLs fit into `room` bytes, which are used up; what resolves to no crawl URL
/// is counted.
pub(crate) fn links(
    found: Vec<Found>,
    base: &mut Base,
    charset: &'static Encoding,
    room: &mut usize,
    notes: &mut Notes,
) -> Vec<Link> {
    let mut links = Vec::with_capacity(found.len());
    for Found { tag, rel, reference, hreflang, media_type } in found {
        if *room == 0 {
            bump(&mut notes.links_cut);
            continue;
        }
        match base.join(&query::in_charset(&reference, charset)) {
            Ok(url) => {
                *room = room.saturating_sub(url.as_str().len());
                let suspicious = looks_suspicious(&reference);
                links.push(Link { url, reference, tag, rel, hreflang, media_type, suspicious });
            }
            Err(why) => notes.refuse(&why),
        }
    }
    links
}
