//! Other readers as judges: the tree that html5ever builds with scripting off, and Chromium.
//!
//! The judge finds links and resolves them by code of its own here, with the `url` crate alone.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod browser;
mod cases;
mod docs;
mod seeds;
mod soup;
mod tree;

use comity_extract::{Page, PageLimits, PageReader};
use comity_url::CrawlUrl;

/// What a reader found on a page.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    /// `tag url` of each link, sorted, each once: a tree moves what stands at odd places, and opens an `a` again where
    /// another element ends.
    links: Vec<String>,
    title: Option<String>,
    language: Option<String>,
    base: String,
}

fn ours(page: &Page) -> Found {
    let mut links: Vec<String> = page.links.iter().map(|link| format!("{} {}", link.tag.as_str(), link.url)).collect();
    links.sort();
    links.dedup();
    let head = &page.head;
    Found { links, title: head.title.clone(), language: head.language.clone(), base: page.base.clone() }
}

fn read(url: &str, html: &[u8]) -> Page {
    let mut reader = PageReader::new(&CrawlUrl::parse(url).unwrap(), Some("text/html"), PageLimits::default());
    reader.push(html);
    reader.finish()
}

/// Whether the long forms run.
fn is_long() -> bool {
    std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all")
}
