//! What documents are served as.

/// What pages are served as. A robots.txt may name one, of anybody's, as its sitemap.
pub const PAGE_TYPES: [&str; 2] = ["text/html", "application/xhtml+xml"];

/// What sitemaps and feeds are served as. Others that are XML (SVG, XHTML) are none, and a sitemap that was asked for is read whatever it
/// says of itself.
pub const LIST_TYPES: [&str; 7] = [
    "application/xml",
    "text/xml",
    "application/rss+xml",
    "application/atom+xml",
    "application/rdf+xml",
    "application/feed+json",
    "application/x-rss+xml",
];
