//! The forms that files have.

use comity_extract::{ChangeFreq, EntryKind, MediaKind, SitemapFormat};

use super::{gzip, locs, read, read_in};

/// What it is, the file, its format, its locations.
const FORMS: [(&str, &str, SitemapFormat, &[&str]); 11] = [
    (
        "plain",
        "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://h.test/1</loc></url></urlset>",
        SitemapFormat::UrlSet,
        &["http://h.test/1"],
    ),
    ("without a namespace", "<urlset><url><loc>/1</loc></url></urlset>", SitemapFormat::UrlSet, &["http://h.test/1"]),
    (
        "prefixed, of 0.84",
        "<s:urlset xmlns:s='http://www.google.com/schemas/sitemap/0.84'><s:url><s:loc>2</s:loc></s:url></s:urlset>",
        SitemapFormat::UrlSet,
        &["http://h.test/s/2"],
    ),
    (
        "two locations in one element",
        "<sitemapindex><sitemap><loc>http://h/1.xml</loc><loc>http://h/2.xml</loc></sitemap></sitemapindex>",
        SitemapFormat::Index,
        &["http://h/1.xml", "http://h/2.xml"],
    ),
    (
        "prefixed index",
        "<x:sitemapindex xmlns:x='http://www.google.com/schemas/sitemap/0.84'><x:sitemap><x:loc>http://h/1.xml</x:loc></x:sitemap></x:sitemapindex>",
        SitemapFormat::Index,
        &["http://h/1.xml"],
    ),
    (
        "CDATA and references",
        "<urlset><url><loc> <![CDATA[http://h/a?b=1&c=2]]>\n</loc></url><url><loc>http://h/a?b&amp;c&#38;d&#x26;e</loc></url></urlset>",
        SitemapFormat::UrlSet,
        &["http://h/a?b=1&c=2", "http://h/a?b&c&d&e"],
    ),
    (
        "comments within",
        "<urlset><!-- <url><loc>/no</loc></url> --><url><loc>/a<!-- x -->b</loc></url></urlset>",
        SitemapFormat::UrlSet,
        &["http://h.test/ab"],
    ),
    (
        "other hosts, other schemes",
        "<urlset><url><loc>https://other/1</loc></url><url><loc>ftp://h/2</loc></url><url><loc>mailto:x</loc></url></urlset>",
        SitemapFormat::UrlSet,
        &["https://other/1"],
    ),
    (
        "a list",
        "http://h/1\r\n\n  https://h/2  \nhttp://h/3",
        SitemapFormat::Text,
        &["http://h/1", "https://h/2", "http://h/3"],
    ),
    ("one line", "http://h/1", SitemapFormat::Text, &["http://h/1"]),
    ("empty", "<urlset/>", SitemapFormat::UrlSet, &[]),
];

#[test]
fn sitemaps_and_indexes_of_any_namespace_and_prefix() {
    for (what, text, format, wanted) in FORMS {
        let found = read(text);
        assert_eq!((found.format, locs(&found)), (format, wanted.to_vec()), "{what}: {}", found.notes);
        assert!(!found.is_damaged(), "{what}: {}", found.notes);
        let packed = read(gzip(text.as_bytes()));
        assert_eq!(packed, found, "{what}, packed");
        for (name, label) in [("UTF-16LE", "utf-16le"), ("UTF-16BE", "utf-16be")] {
            assert_eq!(read(utf16(text, label)), found, "{what}, in {name} with its mark");
        }
        assert_eq!(read([b"\xEF\xBB\xBF\n".to_vec(), text.as_bytes().to_vec()].concat()), found, "{what}, with a mark");
    }
}

fn utf16(text: &str, label: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(|unit: u16| if label == "utf-16le" { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect()
}

#[test]
fn what_an_entry_says() {
    let found = read(
        "<urlset><url><loc>/1</loc><lastmod>2026-11-30</lastmod><priority>0.8</priority><changefreq>daily</changefreq></url>\
         <sitemap><loc>/2.xml</loc><lastmod> 2026-11-30T10:00:00+00:00 </lastmod></sitemap><url><loc>/3</loc><priority>2</priority><lastmod>soon</lastmod><changefreq>now</changefreq></url><url><loc>/4</loc><changefreq> Never </changefreq></url></urlset>",
    );
    let said: Vec<_> = found
        .entries
        .iter()
        .map(|entry| {
            let date = entry.lastmod.as_ref().map(|date| &*date.text);
            (entry.kind, date, entry.priority.map(|priority| priority.thousandths()), entry.changefreq)
        })
        .collect();
    assert_eq!(
        said,
        [
            (EntryKind::Url, Some("2026-11-30"), Some(800), Some(ChangeFreq::Daily)),
            (EntryKind::Sitemap, Some("2026-11-30T10:00:00+00:00"), None, None),
            (EntryKind::Url, None, None, None),
            (EntryKind::Url, None, None, Some(ChangeFreq::Never)),
        ]
    );
    assert_eq!((found.notes.bad_dates, found.notes.bad_priorities), (1, 1));
}

#[test]
fn pictures_films_and_news_are_no_pages() {
    let found = read(
        "<urlset xmlns:image='i' xmlns:video='v' xmlns:news='n' xmlns:xhtml='x'><url><loc>/1</loc>\
         <image:image><image:loc>/i.png</image:loc><image:title>x</image:title></image:image>\
         <video:video><video:thumbnail_loc>/t.png</video:thumbnail_loc><video:content_loc>/v.mp4</video:content_loc></video:video>\
         <news:news><news:publication_date>2026-11-30</news:publication_date><news:title>t</news:title></news:news>\
         <xhtml:link rel='alternate' hreflang='de' href='/de?a&amp;b'/><xhtml:link rel='alternate' hreflang='x-default' href='/'/>\
         <xhtml:link rel='stylesheet' href='/no.css'/></url></urlset>",
    );
    assert_eq!(locs(&found), ["http://h.test/1"]);
    let entry = &found.entries[0];
    let media: Vec<_> = entry.media.iter().map(|media| (media.kind, media.url.path())).collect();
    assert_eq!(media, [(MediaKind::Image, "/i.png"), (MediaKind::Video, "/v.mp4")]);
    let alternates: Vec<_> = entry.alternates.iter().map(|one| (&*one.language, one.url.request_target())).collect();
    assert_eq!(alternates, [("de", "/de?a&b"), ("x-default", "/")]);
    assert!(found.notes.is_empty(), "{}", found.notes);
}

#[test]
fn packed_is_told_by_its_bytes_in_any_number_of_members() {
    let (head, tail) = ("<urlset><url><loc>/1</loc></url>", "<url><loc>/2</loc></url></urlset>");
    let members = [gzip(head.as_bytes()), gzip(tail.as_bytes())].concat();
    assert_eq!(locs(&read(&members)), ["http://h.test/1", "http://h.test/2"]);
    for piece in [1, 2, 3, 7, 1024] {
        assert_eq!(read_in(&members, piece), read(&members), "pieces of {piece}");
    }
    let list = gzip(b"http://h/1\nhttp://h/2\n");
    assert_eq!(locs(&read(list)), ["http://h/1", "http://h/2"]);
}

#[test]
fn what_is_none_of_these() {
    let page = "<!doctype html><html><body><code>&lt;urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"&gt;</code>\
        <a href=/1>1</a><a href=/2>2</a><url><loc>http://h/no</loc></url></html>";
    let rows: [(&str, &[u8], SitemapFormat); 9] = [
        ("a page about sitemaps", page.as_bytes(), SitemapFormat::Html),
        ("nothing", b"", SitemapFormat::Unknown),
        ("white space", b" \n\n ", SitemapFormat::Unknown),
        ("prose", b"These are\nour pages:\nhttp://h/1\nsee there\n", SitemapFormat::Unknown),
        ("another XML", b"<svg><url><loc>http://h/1</loc></url></svg>", SitemapFormat::Unknown),
        ("another JSON", b"{\"a\": [1, 2]}", SitemapFormat::Unknown),
        ("a list in JSON", b"[{\"url\": \"http://h/1\"}]", SitemapFormat::Unknown),
        ("a picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", SitemapFormat::Unknown),
        ("NULs", &[0; 100], SitemapFormat::Unknown),
    ];
    for (what, bytes, format) in rows {
        let found = read(bytes);
        assert_eq!((found.format, found.entries.len()), (format, 0), "{what}");
    }
}
