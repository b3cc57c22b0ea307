//! What a page says: its charset, its links, the facts of its head; and what sitemaps and feeds list.
//!
//! What it is: a streaming reader of HTML as it is found, not as it should be. Bytes go in as they arrive,
//! in chunks cut anywhere; a [`Page`] comes out. Links are what a browser without scripts would find:
//! character references decoded once, the first of repeated attributes taken, the first `base` counted
//! for the whole document, queries written in the document's charset; `noscript` is read, scripts,
//! comments and templates are not.
//!
//! What it is not: no DOM, no I/O, no clock, and no policy: which links are followed is decided by the
//! caller ([`Link::is_page`] says what is usual). It parses no robots rules and obeys none.
//!
//! ```
//! use comity_extract::{LinkTag, PageLimits, PageReader};
//! use comity_url::CrawlUrl;
//!
//! let url = CrawlUrl::parse("https://example.com/a/b")?;
//! let mut reader = PageReader::new(&url, Some("text/html; charset=utf-8"), PageLimits::default());
//! reader.push(b"<title>One &amp; two</title><base href=/docs/><a hre");
//! reader.push(b"f='?a=1&amp;b=2' rel=nofollow>next</a><img src=logo.png>");
//! let page = reader.finish();
//!
//! assert_eq!(page.head.title.as_deref(), Some("One & two"));
//! assert_eq!(page.base, "https://example.com/docs/");
//! let link = &page.links[0];
//! assert_eq!(link.url.as_str(), "https://example.com/docs/?a=1&b=2");
//! assert!(link.is_page() && link.is_nofollow());
//! assert_eq!(page.links[1].tag, LinkTag::Img);
//! assert!(!page.links[1].is_page());
//! # Ok::<(), comity_url::UrlError>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `page` | [`PageReader`], [`Page`]: the way through |
//! | `charset`, `prescan`, `content_type` | [`Charset`], [`ContentKind`]: how the bytes are read |
//! | `html` | the tokeniser, and what is open around a tag |
//! | `collect` | what elements say |
//! | `attribute`, `srcset`, `refresh`, `rel` | the small languages within attributes; [`Rel`] |
//! | `form`, `text_urls` | what is read as a link only where [`PageOptions`] ask for it |
//! | `resolve`, `query`, `link` | from references to [`Link`]s |
//! | `sitemap` | [`SitemapReader`], [`Sitemap`]: sitemaps, indexes, lists of URLs, RSS, Atom, JSON Feed |
//! | `likeness` | [`TextSketch`], [`Likeness`], [`DuplicateBudget`]: pages that are one page under many names |
//! | `limits`, `options`, `notes` | [`PageLimits`], [`PageOptions`], and [`Notes`] on what was left out |

mod attribute;
mod charset;
mod collect;
mod content_type;
mod embedded;
mod epub;
mod form;
mod held;
mod html;
mod kinds;
mod likeness;
mod limits;
mod link;
mod notes;
mod options;
mod page;
mod prescan;
mod query;
mod refresh;
mod rel;
mod resolve;
#[cfg(feature = "select")]
mod select;
mod sitemap;
mod srcset;
mod text_urls;
mod xmp;

pub use charset::{Charset, CharsetSource};
pub use content_type::ContentKind;
pub use kinds::{LIST_TYPES, PAGE_TYPES};
pub use likeness::{DuplicateBudget, Likeness, LinkAllowance, TextSketch};
pub use limits::PageLimits;
pub use link::{Link, LinkTag};
pub use notes::{Notes, Stopped};
pub use options::PageOptions;
pub use page::{Page, PageReader};
pub use rel::Rel;
#[cfg(feature = "select")]
pub use select::{SelectError, Selected, select};
pub use sitemap::{
    Alternate, BrokenFile, ChangeFreq, EntryKind, LastMod, Media, MediaKind, Sitemap, SitemapEntry, SitemapFormat,
    SitemapLimits, SitemapNotes, SitemapPriority, SitemapReader, SitemapStop,
};
