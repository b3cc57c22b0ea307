//! Laws of sitemaps and feeds.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a law that fails panics, which is the finding")]

use comity_extract::{Sitemap, SitemapFormat, SitemapLimits, SitemapReader};
use comity_url::CrawlUrl;

/// Any bytes end, and what is found of them does not depend on where they were cut.
pub fn sitemap(bytes: &[u8]) {
    let whole = read(bytes, usize::MAX);
    for piece in [1, 2, 7, 64, 1000] {
        assert_eq!(read(bytes, piece), whole, "pieces of {piece}");
    }
    assert!(whole.entries.len() <= bytes.len().max(1) * 64);
    assert!(whole.format.is_known() || whole.entries.is_empty());
    for entry in &whole.entries {
        assert!(matches!(entry.loc.origin().scheme().as_str(), "http" | "https"));
        assert!(entry.priority.is_none_or(|priority| priority.thousandths() <= 1000));
    }
}

/// Any bytes as items of each kind of feed.
pub fn feed(bytes: &[u8]) {
    let frames: [(&[u8], &[u8]); 4] = [
        (b"<rss><channel><item><link>", b"</link></item></channel></rss>"),
        (b"<feed><entry><link href='", b"'/></entry></feed>"),
        (b"<rdf:RDF><item rdf:about='/1'>", b"</item></rdf:RDF>"),
        (b"{\"items\":[{\"url\":\"/1\"},", b"]}"),
    ];
    for (head, tail) in frames {
        let framed = [head, bytes, tail].concat();
        sitemap(&framed);
        let found = read(&framed, usize::MAX);
        // gzip and byte order marks stand at the start of a file: what the frame begins is what it is.
        assert!(matches!(
            found.format,
            SitemapFormat::Rss | SitemapFormat::Atom | SitemapFormat::Rdf | SitemapFormat::JsonFeed
        ));
    }
}

fn read(bytes: &[u8], piece: usize) -> Sitemap {
    let url = CrawlUrl::parse("http://h.test/s/map.xml").unwrap();
    let mut reader = SitemapReader::new(&url, None, SitemapLimits::default());
    bytes.chunks(piece).for_each(|chunk| reader.push(chunk));
    reader.finish()
}
