/// Bounds on one sitemap or feed. Each has a named outcome in [`SitemapNotes`](crate::SitemapNotes); none is an error.
///
/// The first two are the protocol's own (sitemaps.org, "Sitemap file"), the others our choice: with them a file of any
/// content needs less than 64 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SitemapLimits {
    /// Bytes read, unpacked. Default 52,428,800.
    pub bytes: u64,
    /// Entries kept. Default 50,000.
    pub entries: usize,
    /// Bytes of one value (a location, a date). Default 8,192: four times what a crawl takes as a URL.
    pub value_bytes: usize,
    /// Bytes of all URLs together, those of alternates and media with them. Default 16 MiB.
    pub url_bytes: usize,
    /// Alternates and media kept per entry, each. Default 100.
    pub extensions: usize,
    /// Bytes of a feed in JSON, which is read as a whole. Default 10 MiB, the body bound of a crawl.
    pub json_bytes: usize,
}

impl Default for SitemapLimits {
    fn default() -> Self {
        Self {
            bytes: 52_428_800,
            entries: 50_000,
            value_bytes: 8192,
            url_bytes: 16 << 20,
            extensions: 100,
            json_bytes: 10 << 20,
        }
    }
}
