//! What comity-extract does with a corpus.

use comity_extract::{PageLimits, PageReader};
use comity_url::{BaseUrl, CrawlUrl, KeyHasher, UrlKey};

use crate::corpus::{Corpus, Page, References};
use crate::rounds::Contestant;

fn read(page: &Page) -> comity_extract::Page {
    let mut reader = PageReader::new(&page.url, Some("text/html; charset=utf-8"), PageLimits::default());
    reader.push(&page.html);
    reader.finish()
}

/// Links of every page, decoded and resolved.
pub(crate) fn links(corpus: &Corpus) -> Contestant<'_> {
    Contestant::new("comity-extract: links as crawl URLs", || {
        corpus.pages.iter().map(|page| read(page).links.len() as u64).sum()
    })
}

/// The same, and the key of each, as a crawl needs them.
pub(crate) fn keys(corpus: &Corpus) -> Contestant<'_> {
    let hasher = KeyHasher::new([7; 16]);
    Contestant::new("comity-extract: links as crawl URLs, and their keys", move || {
        let keys = |page: &Page| -> u64 {
            let links = read(page).links;
            links.iter().fold(links.len() as u64, |sum, link| sum ^ low_byte(hasher.key(&link.url)) << 48)
        };
        corpus.pages.iter().map(keys).sum()
    })
}

fn low_byte(key: UrlKey) -> u64 {
    u64::from(key.to_bytes()[15])
}

/// References against their page, to crawl URLs.
pub(crate) fn join<'a>(references: &'a [References<'a>]) -> Contestant<'a> {
    Contestant::new("comity-url: join", || joined(references, |url| url.as_str().len() as u64))
}

/// References against their page, to keys.
pub(crate) fn join_and_key<'a>(references: &'a [References<'a>]) -> Contestant<'a> {
    let hasher = KeyHasher::new([7; 16]);
    Contestant::new("comity-url: join and key", move || joined(references, |url| low_byte(hasher.key(url))))
}

fn joined(references: &[References], each: impl Fn(&CrawlUrl) -> u64) -> u64 {
    let on_page = |(page, references): &References| -> u64 {
        let mut base = BaseUrl::new(page.url.clone());
        references.iter().filter_map(|reference| base.join(reference).ok()).map(|url| each(&url)).sum()
    };
    references.iter().map(on_page).sum()
}

/// Absolute texts to keys.
pub(crate) fn parse_and_key(texts: &[String]) -> Contestant<'_> {
    let hasher = KeyHasher::new([7; 16]);
    Contestant::new("comity-url: a text to its key", move || {
        texts.iter().filter_map(|text| CrawlUrl::parse(text).ok()).map(|url| low_byte(hasher.key(&url))).sum()
    })
}

/// Crawl URLs to keys.
pub(crate) fn key(urls: &[CrawlUrl]) -> Contestant<'_> {
    let hasher = KeyHasher::new([7; 16]);
    Contestant::new("comity-url: a crawl URL to its key", move || {
        urls.iter().map(|url| low_byte(hasher.key(url))).sum()
    })
}
