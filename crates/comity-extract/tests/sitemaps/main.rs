//! Sitemaps and feeds: what is read of sound, flawed and hostile files.

#![expect(clippy::unwrap_used, reason = "the URLs of the tests are constants")]

mod feeds;
mod flaws;
mod forms;
mod hostile;
mod seeds;

use std::io::Write as _;

use comity_extract::{Sitemap, SitemapLimits, SitemapReader};
use comity_url::CrawlUrl;

/// Reads a file at `http://h.test/s/map.xml`, in one piece.
fn read(bytes: impl AsRef<[u8]>) -> Sitemap {
    read_in(bytes.as_ref(), usize::MAX)
}

/// In pieces of so many bytes.
fn read_in(bytes: &[u8], piece: usize) -> Sitemap {
    let url = CrawlUrl::parse("http://h.test/s/map.xml").unwrap();
    let mut reader = SitemapReader::new(&url, None, SitemapLimits::default());
    bytes.chunks(piece.max(1)).for_each(|chunk| reader.push(chunk));
    reader.finish()
}

/// Its locations.
fn locs(sitemap: &Sitemap) -> Vec<&str> {
    sitemap.entries.iter().map(|entry| entry.loc.as_str()).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
