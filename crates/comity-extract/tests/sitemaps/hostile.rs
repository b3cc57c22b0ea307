//! Hostile files end in bounded time and memory, with a note; no entity is resolved.

use comity_extract::{SitemapLimits, SitemapReader, SitemapStop};
use comity_url::CrawlUrl;

use super::{gzip, locs, read};

/// 10 MiB with `COMITY_TEST_SIZE=all`, 256 KiB otherwise.
fn size() -> usize {
    if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") { 10 << 20 } else { 256 << 10 }
}

fn repeated(piece: &str) -> Vec<u8> {
    [b"<urlset>".to_vec(), piece.as_bytes().repeat(size() / piece.len())].concat()
}

#[test]
fn files_of_one_piece_end() {
    let pieces = [
        "<",
        "<a",
        "<!--",
        "<![CDATA[",
        "<!DOCTYPE [",
        "<?",
        "<!",
        "<a b=\"",
        "&",
        "&a;",
        "&#",
        "</",
        "<url>",
        "<url><loc>",
        "<loc>x",
        "</url>",
        "<url><loc>/",
        "<!x>",
        "<a b='c' ",
        "\"",
        ">",
        "]]>",
        "<url/>",
        "\u{e9}",
        "\n",
        "<x:y z:w='&amp;'/>",
    ];
    for piece in pieces {
        let file = repeated(piece);
        let counted = allocation_counter::measure(|| {
            let found = read(&file);
            assert!(found.entries.len() <= 50_000, "{piece}");
        });
        eprintln!("{piece:20} {} bytes at once", counted.bytes_max);
        assert!(counted.bytes_max < 64 << 20, "{piece}: {} bytes at once", counted.bytes_max);
    }
}

#[test]
fn whole_files_of_one_piece_end() {
    for piece in ["{\"items\":[", "[", "{\"a\":", "http://h/", "http://h/\n", "\0", "x\n"] {
        let found = read(piece.repeat(size() / piece.len()));
        assert!(found.entries.len() <= 50_000, "{piece}");
    }
}

#[test]
fn markup_without_end_gives_the_file_up() {
    let found = read(repeated("<a b=\""));
    assert_eq!(found.notes.stopped, Some(SitemapStop::Markup));
}

#[test]
fn bombs_of_entities_are_kept_as_written() {
    let laughs = "<?xml version='1.0'?><!DOCTYPE urlset [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>\
        <!ENTITY c SYSTEM 'file:///etc/passwd'><!ENTITY % d SYSTEM 'http://h/d.dtd'>%d;]>\
        <urlset><url><loc>http://h/&b;</loc></url><url><loc>http://h/&c;</loc></url></urlset>";
    let found = read(laughs);
    assert_eq!(locs(&found), ["http://h/&b;", "http://h/&c;"]);
    assert_eq!((found.notes.doctypes, found.notes.odd_references), (1, 2));
}

#[test]
fn a_packed_bomb_is_cut_at_the_byte_limit() {
    let mut limits = SitemapLimits::default();
    limits.bytes = 2 << 20;
    let read = |bytes: &[u8]| {
        let mut reader = SitemapReader::new(&CrawlUrl::parse("http://h.test/").unwrap(), None, limits);
        reader.push(bytes);
        reader.finish()
    };
    let packed = gzip(&vec![b' '; 64 << 20]);
    let counted = allocation_counter::measure(|| {
        let found = read(&packed);
        assert_eq!(found.notes.stopped, Some(SitemapStop::Bytes));
    });
    assert!(counted.bytes_max < 16 << 20, "{} bytes at once", counted.bytes_max);
    let entry = b"<url><loc>/x</loc></url>";
    let entries = [b"<urlset>".to_vec(), entry.repeat(200_000)].concat();
    let found = read(&gzip(&entries));
    let (kept, cut) = (found.entries.len(), found.notes.entries_cut as usize);
    assert_eq!((kept, found.notes.stopped, found.notes.broken), (50_000, Some(SitemapStop::Bytes), None));
    assert!(kept + cut <= (2 << 20) / entry.len() + 1, "{cut}");
}

#[test]
fn extensions_are_bounded() {
    let alternates = "<xhtml:link rel='alternate' hreflang='de' href='/de'/>".repeat(10_000);
    let images = "<image:image><image:loc>/i</image:loc></image:image>".repeat(10_000);
    let found = read(format!("<urlset><url><loc>/1</loc>{alternates}{images}</url></urlset>"));
    let entry = &found.entries[0];
    assert_eq!((entry.alternates.len(), entry.media.len(), found.notes.extensions_cut), (100, 100, 19_800));
    let deep = format!("<urlset>{}<url><loc>/1</loc></url>", "<a>".repeat(1000));
    assert_eq!((read(&deep).entries.len(), read(&deep).notes.too_deep > 0), (0, true));
}

#[test]
fn a_long_location_is_no_location() {
    let long = "x".repeat(1 << 20);
    let found =
        read(format!("<urlset><url><loc>{long}</loc></url><url><loc>{}/2</loc></url></urlset>", " ".repeat(1 << 20)));
    assert_eq!((locs(&found), found.notes.too_long), (vec!["http://h.test/2"], 1));
}
