//! How much of a page is read and kept.

/// Bounds on one page. Each has a named outcome in [`Notes`](crate::Notes); none of them is an error.
///
/// The defaults are our choice: with them a page of any content needs less than 32 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageLimits {
    /// Bytes read, before charset decoding. Default 64 MiB: above the body bound of a crawl (10 MiB), so
    /// that it binds only where the caller has none.
    pub bytes: u64,
    /// Page links kept, and resource links kept, counted apart, so that a gallery cannot push out the
    /// pages. Default 25,000 each (our choice: the
    /// largest pages of the Rust documentation have 22,000).
    pub links: usize,
    /// Bytes of one reference, decoded. Default 8,192: four times what a crawl takes as a URL.
    pub reference_bytes: usize,
    /// Bytes of all references together. Default 4 MiB.
    pub references_bytes: usize,
    /// Bytes of all resolved URLs together: with a long base, short references make long URLs. Default 8 MiB.
    pub url_bytes: usize,
    /// Metas kept per kind as written. Default 64. Beyond it each directive is kept once for each name, at most so many more for
    /// names other than `robots`.
    pub metas: usize,
    /// Bytes of one tag that are held until it ends. Default 4 MiB (our choice: pictures within a tag are seldom larger).
    pub memory: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            links: 25_000,
            reference_bytes: 8192,
            references_bytes: 4 << 20,
            url_bytes: 8 << 20,
            metas: 64,
            memory: 4 << 20,
        }
    }
}
